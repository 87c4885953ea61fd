//! The ranks of one process: their communicators and streams, and how they run a case.
use std::ffi::{c_int, c_void};
use std::path::Path;
use std::ptr::null_mut;

use libloading::os::unix::{Library, RTLD_GLOBAL, RTLD_NOW};
use mccl::abi::mccl::comm::{mcclCommDestroy, mcclCommInitRank, mcclGetUniqueId};
use mccl::abi::mccl::group::{mcclGroupEnd, mcclGroupStart};
use mccl::abi::mccl::info::mcclGetLastError;
use mccl::abi::mccl::types::{mcclComm_t, mcclResult_t, mcclUniqueId};

use crate::case::Case;
use crate::rank::Prepared;

type Code = c_int;

/// The functions of the device runtime that the tests use.
pub struct Musart {
    pub set_device: unsafe extern "C" fn(c_int) -> Code,
    pub malloc: unsafe extern "C" fn(*mut *mut c_void, usize) -> Code,
    pub free: unsafe extern "C" fn(*mut c_void) -> Code,
    pub memcpy: unsafe extern "C" fn(*mut c_void, *const c_void, usize, c_int) -> Code,
    stream_create: unsafe extern "C" fn(*mut *mut c_void) -> Code,
    synchronize: unsafe extern "C" fn(*mut c_void) -> Code,
}

impl Musart {
    /// Opens the runtime for everybody in the process, so that the library finds it.
    pub fn open(path: &Path) -> &'static Self {
        // SAFETY: our own library, which stays open; the types are those of its header.
        unsafe {
            let library = Library::open(Some(path), RTLD_NOW | RTLD_GLOBAL).expect("open the runtime");
            let library: &'static Library = Box::leak(Box::new(library));
            Box::leak(Box::new(Self {
                set_device: *library.get(b"musaSetDevice").unwrap(),
                malloc: *library.get(b"musaMalloc").unwrap(),
                free: *library.get(b"musaFree").unwrap(),
                memcpy: *library.get(b"musaMemcpy").unwrap(),
                stream_create: *library.get(b"musaStreamCreate").unwrap(),
                synchronize: *library.get(b"musaStreamSynchronize").unwrap(),
            }))
        }
    }
}

/// One rank of this process.
pub struct Member {
    pub rank: usize,
    pub comm: mcclComm_t,
    pub stream: *mut c_void,
}

// SAFETY: handles, which any thread may use.
unsafe impl Sync for Member {}

pub struct World {
    pub musart: &'static Musart,
    pub members: Vec<Member>,
}

/// The devices of the emulated runtime.
const DEVICES: usize = 8;

impl World {
    /// Makes ranks `first .. first + count` of `size` in one group.
    pub fn new(musart: &'static Musart, id: mcclUniqueId, first: usize, count: usize, size: usize) -> Self {
        let mut comms = vec![null_mut(); count];
        let mut members = Vec::new();
        // SAFETY: outputs live until the group has ended.
        unsafe {
            check("mcclGroupStart", mcclGroupStart()).unwrap();
            for (i, comm) in comms.iter_mut().enumerate() {
                (musart.set_device)(((first + i) % DEVICES) as c_int);
                check("mcclCommInitRank", mcclCommInitRank(comm, size as c_int, id, (first + i) as c_int))
                    .unwrap();
            }
            check("mcclGroupEnd", mcclGroupEnd()).unwrap();
            for (i, comm) in comms.into_iter().enumerate() {
                let mut stream = null_mut();
                (musart.set_device)(((first + i) % DEVICES) as c_int);
                assert_eq!((musart.stream_create)(&mut stream), 0);
                members.push(Member { rank: first + i, comm, stream });
            }
        }
        Self { musart, members }
    }

    pub fn unique_id() -> mcclUniqueId {
        let mut id = mcclUniqueId { internal: [0; 128] };
        // SAFETY: a local output.
        check("mcclGetUniqueId", unsafe { mcclGetUniqueId(&mut id) }).unwrap();
        id
    }

    /// Runs a case on all ranks of this process, and compares their outputs with the reference.
    pub fn run(&self, case: &Case) -> Result<(), String> {
        let prepare = |member: &Member| Prepared::new(self.musart, case, member.rank);
        let prepared: Vec<Prepared> = self.members.iter().map(prepare).collect::<Result<_, _>>()?;
        let pairs = || self.members.iter().zip(&prepared);
        if case.grouped {
            // SAFETY: no arguments.
            check("mcclGroupStart", unsafe { mcclGroupStart() })?;
            pairs().try_for_each(|(member, ready)| ready.issue(case, member))?;
            // SAFETY: no arguments.
            check("mcclGroupEnd", unsafe { mcclGroupEnd() })?;
            pairs().try_for_each(|(member, _)| self.synchronize(member))?;
        } else {
            let each = |(member, ready): (&Member, &Prepared)| {
                ready.issue(case, member)?;
                self.synchronize(member)
            };
            std::thread::scope(|scope| {
                let threads: Vec<_> = pairs().map(|pair| scope.spawn(move || each(pair))).collect();
                threads.into_iter().try_for_each(|thread| thread.join().unwrap())
            })?;
        }
        pairs().try_for_each(|(member, ready)| ready.verify(self.musart, case, member.rank))
    }

    fn synchronize(&self, member: &Member) -> Result<(), String> {
        // SAFETY: a live stream.
        match unsafe { (self.musart.synchronize)(member.stream) } {
            0 => Ok(()),
            code => Err(format!("rank {}: musaStreamSynchronize: {code}: {}", member.rank, last_error())),
        }
    }

    pub fn destroy(self) {
        for member in self.members {
            // SAFETY: a live communicator, used for the last time.
            check("mcclCommDestroy", unsafe { mcclCommDestroy(member.comm) }).unwrap();
        }
    }
}

/// An error text for a call that did not succeed.
pub fn check(call: &str, code: mcclResult_t) -> Result<(), String> {
    match code {
        mcclResult_t::SUCCESS => Ok(()),
        other => Err(format!("{call}: {}: {}", other.0, last_error())),
    }
}

fn last_error() -> String {
    // SAFETY: the text stays until this thread asks again.
    unsafe { std::ffi::CStr::from_ptr(mcclGetLastError(null_mut())) }.to_string_lossy().into_owned()
}
