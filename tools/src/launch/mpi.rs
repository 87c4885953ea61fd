//! Six functions of MPI from a library opened at run time, for the two ABIs in use: Open MPI's and MPICH's (Intel MPI, MVAPICH).
//!
//! Open MPI's handles are addresses of exported objects, MPICH's are integers of the common ABI. Which one a library has is seen from its
//! symbols, not from its name.

use std::ffi::{c_int, c_void};

use super::detect::{Family, Launcher};
use crate::error::{Error, Result};
use crate::load::{self, Opened};

const OPEN_MPI_NAMES: [&str; 3] = ["libmpi.so.40", "libmpi.so.80", "libmpi.so"];
const MPICH_NAMES: [&str; 4] = ["libmpich.so.12", "libmpi.so.12", "libmpich.so", "libmpi.so"];
const INTEL_NAMES: [&str; 3] = ["libmpi.so.12", "libmpich.so.12", "libmpi.so"];
const MPICH_COMM_WORLD: usize = 0x4400_0000;
const MPICH_BYTE: usize = 0x4c00_010d;
/// Overrides the choice of library by name or path.
const LIBRARY_VARIABLE: &str = "MCCL_TESTS_MPI_LIB";

/// A handle of either ABI: MPICH reads the low 32 bits of the register, Open MPI all of it.
type Handle = usize;
type Init = unsafe extern "C" fn(*mut c_int, *mut *mut *mut i8) -> c_int;
type OfComm = unsafe extern "C" fn(Handle, *mut c_int) -> c_int;
type Allgather =
    unsafe extern "C" fn(*const c_void, c_int, Handle, *mut c_void, c_int, Handle, Handle) -> c_int;
type Barrier = unsafe extern "C" fn(Handle) -> c_int;
type Finalize = unsafe extern "C" fn() -> c_int;

/// MPI, started.
pub struct Mpi {
    pub rank: usize,
    pub size: usize,
    allgather: Allgather,
    barrier: Barrier,
    finalize: Finalize,
    world: Handle,
    byte: Handle,
}

impl Mpi {
    /// Opens the launcher's library, starts MPI and checks that both agree on the number of processes.
    pub fn start(launcher: &Launcher) -> Result<Self> {
        let library = open(launcher)?;
        // SAFETY: the two objects are only used by address.
        let objects = unsafe {
            let world = library.find::<*const c_void>("ompi_mpi_comm_world");
            world.zip(library.find::<*const c_void>("ompi_mpi_byte"))
        };
        let (world, byte) = objects.map_or((MPICH_COMM_WORLD, MPICH_BYTE), |(w, b)| (w as usize, b as usize));
        // SAFETY: the types are those of the MPI standard; handles are described above.
        let (init, get_rank, get_size, allgather, barrier, finalize) = unsafe {
            (
                library.need::<Init>("MPI_Init")?,
                library.need::<OfComm>("MPI_Comm_rank")?,
                library.need::<OfComm>("MPI_Comm_size")?,
                library.need::<Allgather>("MPI_Allgather")?,
                library.need::<Barrier>("MPI_Barrier")?,
                library.need::<Finalize>("MPI_Finalize")?,
            )
        };
        let (mut rank, mut size) = (0, 0);
        // SAFETY: MPI_Init accepts null; the pointers are to locals that live through the calls.
        unsafe {
            check("MPI_Init", init(std::ptr::null_mut(), std::ptr::null_mut()))?;
            check("MPI_Comm_rank", get_rank(world, &mut rank))?;
            check("MPI_Comm_size", get_size(world, &mut size))?;
        }
        let (rank, size) = (rank as usize, size as usize);
        if launcher.size.is_some_and(|said| said != size) {
            return Err(Error::failed(format!(
                "{}: says {} processes but {} says {size}: not the MPI of this launcher; set {LIBRARY_VARIABLE} to its library",
                launcher.variable,
                launcher.size.unwrap_or(0),
                library.name
            )));
        }
        Ok(Self { rank, size, allgather, barrier, finalize, world, byte })
    }

    /// The bytes of every process, in rank order; all give the same length.
    pub fn all_gather(&self, mine: &[u8]) -> Result<Vec<Vec<u8>>> {
        if mine.is_empty() {
            self.barrier()?;
            return Ok(vec![Vec::new(); self.size]);
        }
        let count = c_int::try_from(mine.len())
            .map_err(|_| Error::failed(format!("MPI_Allgather: {} bytes, too many, allowed 2^31 - 1", mine.len())))?;
        let mut all = vec![0u8; mine.len() * self.size];
        // SAFETY: `all` has room for `count` bytes of each process, and all processes give the same count.
        let rc = unsafe {
            let to = all.as_mut_ptr().cast();
            (self.allgather)(mine.as_ptr().cast(), count, self.byte, to, count, self.byte, self.world)
        };
        check("MPI_Allgather", rc)?;
        Ok(all.chunks(mine.len()).map(<[u8]>::to_vec).collect())
    }

    pub fn barrier(&self) -> Result<()> {
        // SAFETY: the world communicator lives until MPI_Finalize.
        check("MPI_Barrier", unsafe { (self.barrier)(self.world) })
    }

    pub fn finalize(self) -> Result<()> {
        // SAFETY: the value is consumed, so no MPI call follows.
        check("MPI_Finalize", unsafe { (self.finalize)() })
    }
}

fn open(launcher: &Launcher) -> Result<Opened> {
    let chosen = std::env::var(LIBRARY_VARIABLE).ok().filter(|v| !v.is_empty());
    let names: Vec<&str> = match (&chosen, launcher.family) {
        (Some(name), _) => vec![name],
        (None, Family::OpenMpi) => OPEN_MPI_NAMES.to_vec(),
        (None, Family::Mpich) => MPICH_NAMES.to_vec(),
        (None, Family::Intel) => INTEL_NAMES.to_vec(),
    };
    // Open MPI's own plug-ins look for its symbols among the global ones.
    load::open_global(&names).map_err(|error| {
        Error::failed(format!(
            "started by MPI ({} is set) but its library was not found: tried {}; set {LIBRARY_VARIABLE} to its path, or unset {} to run alone ({error})",
            launcher.variable,
            names.join(", "),
            launcher.variable
        ))
    })
}

fn check(call: &str, rc: c_int) -> Result<()> {
    if rc == 0 { Ok(()) } else { Err(Error::failed(format!("{call}: error {rc}"))) }
}
