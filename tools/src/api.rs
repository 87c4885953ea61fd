//! The C interface of `libmccl`, written by hand: any library with these names can be measured.
//!
//! [`Table`] holds the function addresses as they are; [`Mccl`] and [`Comm`] are the safe face used by everything else.

use std::ffi::{CStr, c_char, c_int, c_void};

use crate::dtype::DType;
use crate::error::{Error, Result};
use crate::load::Opened;
use crate::musart::{Stream, View};

pub const UNIQUE_ID_BYTES: usize = 128;
const IN_PROGRESS: c_int = 7;
const WIN_COLL_SYMMETRIC: c_int = 1;
const SCALAR_HOST_IMMEDIATE: c_int = 1;
const UNDEFINED: c_int = c_int::MIN;

type CommHandle = *mut c_void;
type StreamHandle = *mut c_void;
type Buffer = *mut c_void;
/// `mcclResult_t`
type Rc = c_int;

/// `mcclUniqueId`: passed by value.
#[repr(C)]
#[derive(Clone, Copy, PartialEq, Eq)]
pub struct UniqueId {
    pub internal: [u8; UNIQUE_ID_BYTES],
}

/// `mcclConfig_t` of 2.28.
#[repr(C)]
pub(crate) struct Config {
    size: usize,
    magic: u32,
    version: u32,
    blocking: c_int,
    cga_cluster_size: c_int,
    min_ctas: c_int,
    max_ctas: c_int,
    net_name: *const c_char,
    split_share: c_int,
    traffic_class: c_int,
    comm_name: *const c_char,
    collnet_enable: c_int,
    cta_policy: c_int,
    shrink_share: c_int,
    nvls_ctas: c_int,
    channels_per_net_peer: c_int,
    link_centric_sched: c_int,
}

impl Config {
    fn with_cta_policy(cta_policy: c_int) -> Self {
        Self {
            size: size_of::<Self>(),
            magic: 0xcafe_beef,
            version: crate::HEADER_VERSION as u32,
            blocking: UNDEFINED,
            cga_cluster_size: UNDEFINED,
            min_ctas: UNDEFINED,
            max_ctas: UNDEFINED,
            net_name: std::ptr::null(),
            split_share: UNDEFINED,
            traffic_class: UNDEFINED,
            comm_name: std::ptr::null(),
            collnet_enable: UNDEFINED,
            cta_policy,
            shrink_share: UNDEFINED,
            nvls_ctas: UNDEFINED,
            channels_per_net_peer: UNDEFINED,
            link_centric_sched: UNDEFINED,
        }
    }
}

/// Declares a table of C functions, and how it is filled from an opened library: `required` ones must be there.
macro_rules! function_table {
    ($table:ident {
        required { $($rf:ident = $rs:literal ($($ra:ty),*) -> $rr:ty;)* }
        optional { $($of:ident = $os:literal ($($oa:ty),*) -> $or:ty;)* }
    }) => {
        pub(crate) struct $table {
            $(pub(crate) $rf: unsafe extern "C" fn($($ra),*) -> $rr,)*
            $(pub(crate) $of: Option<unsafe extern "C" fn($($oa),*) -> $or>,)*
        }

        impl $table {
            pub(crate) fn of(library: &$crate::load::Opened) -> $crate::error::Result<Self> {
                // SAFETY: the types above are those of the C header for these names.
                unsafe {
                    Ok(Self {
                        $($rf: library.need($rs)?,)*
                        $($of: library.find($os),)*
                    })
                }
            }
        }
    };
}
pub(crate) use function_table;

function_table! { Table {
    required {
        get_version = "mcclGetVersion" (*mut c_int) -> Rc;
        get_unique_id = "mcclGetUniqueId" (*mut UniqueId) -> Rc;
        get_error_string = "mcclGetErrorString" (Rc) -> *const c_char;
        comm_init_rank = "mcclCommInitRank" (*mut CommHandle, c_int, UniqueId, c_int) -> Rc;
        comm_destroy = "mcclCommDestroy" (CommHandle) -> Rc;
        comm_abort = "mcclCommAbort" (CommHandle) -> Rc;
        comm_get_async_error = "mcclCommGetAsyncError" (CommHandle, *mut Rc) -> Rc;
        red_op_create = "mcclRedOpCreatePreMulSum" (*mut c_int, *mut c_void, c_int, c_int, CommHandle) -> Rc;
        red_op_destroy = "mcclRedOpDestroy" (c_int, CommHandle) -> Rc;
        reduce = "mcclReduce" (Buffer, Buffer, usize, c_int, c_int, c_int, CommHandle, StreamHandle) -> Rc;
        broadcast = "mcclBroadcast" (Buffer, Buffer, usize, c_int, c_int, CommHandle, StreamHandle) -> Rc;
        all_reduce = "mcclAllReduce" (Buffer, Buffer, usize, c_int, c_int, CommHandle, StreamHandle) -> Rc;
        reduce_scatter = "mcclReduceScatter" (Buffer, Buffer, usize, c_int, c_int, CommHandle, StreamHandle) -> Rc;
        all_gather = "mcclAllGather" (Buffer, Buffer, usize, c_int, CommHandle, StreamHandle) -> Rc;
        send = "mcclSend" (Buffer, usize, c_int, c_int, CommHandle, StreamHandle) -> Rc;
        recv = "mcclRecv" (Buffer, usize, c_int, c_int, CommHandle, StreamHandle) -> Rc;
        group_start = "mcclGroupStart" () -> Rc;
        group_end = "mcclGroupEnd" () -> Rc;
    }
    optional {
        get_last_error = "mcclGetLastError" (CommHandle) -> *const c_char;
        comm_init_rank_config = "mcclCommInitRankConfig" (*mut CommHandle, c_int, UniqueId, c_int, *mut Config) -> Rc;
        mem_alloc = "mcclMemAlloc" (*mut Buffer, usize) -> Rc;
        mem_free = "mcclMemFree" (Buffer) -> Rc;
        comm_register = "mcclCommRegister" (CommHandle, Buffer, usize, *mut *mut c_void) -> Rc;
        comm_deregister = "mcclCommDeregister" (CommHandle, *mut c_void) -> Rc;
        window_register = "mcclCommWindowRegister" (CommHandle, Buffer, usize, *mut *mut c_void, c_int) -> Rc;
        window_deregister = "mcclCommWindowDeregister" (CommHandle, *mut c_void) -> Rc;
        all_to_all = "mcclAlltoAll" (Buffer, Buffer, usize, c_int, CommHandle, StreamHandle) -> Rc;
        gather = "mcclGather" (Buffer, Buffer, usize, c_int, c_int, CommHandle, StreamHandle) -> Rc;
        scatter = "mcclScatter" (Buffer, Buffer, usize, c_int, c_int, CommHandle, StreamHandle) -> Rc;
        all_to_all_v = "mcclAllToAllv" (Buffer, *const usize, *const usize, Buffer, *const usize, *const usize, c_int, CommHandle, StreamHandle) -> Rc;
    }
} }

/// The measured library.
pub struct Mccl {
    table: Table,
    /// Path or name under which it was opened.
    pub name: String,
}

/// A built-in or made reduction, as the C calls take it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct RedOp(c_int);

impl RedOp {
    pub fn builtin(value: i32) -> Self {
        Self(value)
    }
}

impl Mccl {
    /// Reads the function addresses of an opened library and keeps them for the process's life.
    pub fn of(opened: &Opened) -> Result<&'static Self> {
        Ok(Box::leak(Box::new(Self { table: Table::of(opened)?, name: opened.name.clone() })))
    }

    /// The library's version code, such as 22809.
    pub fn version(&self) -> Result<i32> {
        let mut version = 0;
        // SAFETY: the pointer is to a local that lives through the call.
        self.check("mcclGetVersion", unsafe { (self.table.get_version)(&mut version) })?;
        Ok(version)
    }

    pub fn unique_id(&self) -> Result<UniqueId> {
        let mut id = UniqueId { internal: [0; UNIQUE_ID_BYTES] };
        // SAFETY: the pointer is to a local that lives through the call.
        self.check("mcclGetUniqueId", unsafe { (self.table.get_unique_id)(&mut id) })?;
        Ok(id)
    }

    /// Runs `calls` between GroupStart and GroupEnd.
    pub fn group(&self, calls: impl FnOnce() -> Result<()>) -> Result<()> {
        // SAFETY: no arguments.
        self.check("mcclGroupStart", unsafe { (self.table.group_start)() })?;
        calls()?;
        // SAFETY: no arguments.
        self.check("mcclGroupEnd", unsafe { (self.table.group_end)() })
    }

    /// Makes one communicator per entry of `ranks` in one group; `select` makes the entry's device current before its call.
    pub fn init_comms(
        &'static self,
        ranks: &[(usize, i32)],
        nranks: usize,
        id: UniqueId,
        cta_policy: Option<i32>,
        select: impl Fn(i32) -> Result<()>,
    ) -> Result<Vec<Comm>> {
        let mut handles = vec![std::ptr::null_mut(); ranks.len()];
        let mut config = cta_policy.map(Config::with_cta_policy);
        self.group(|| {
            for (handle, &(rank, device)) in handles.iter_mut().zip(ranks) {
                select(device)?;
                self.init_one(handle, nranks, id, rank, config.as_mut())?;
            }
            Ok(())
        })?;
        Ok(handles.into_iter().zip(ranks).map(|(h, &(rank, _))| Comm { api: self, handle: h, rank }).collect())
    }

    fn init_one(
        &self,
        out: &mut CommHandle,
        n: usize,
        id: UniqueId,
        rank: usize,
        config: Option<&mut Config>,
    ) -> Result<()> {
        let (n, rank) = (n as c_int, rank as c_int);
        match (config, self.table.comm_init_rank_config) {
            // SAFETY: `out` and the configuration live until the group around this call has ended.
            (None, _) => self.check("mcclCommInitRank", unsafe { (self.table.comm_init_rank)(out, n, id, rank) }),
            // SAFETY: as above.
            (Some(config), Some(init)) => {
                self.check("mcclCommInitRankConfig", unsafe { init(out, n, id, rank, config) })
            }
            (Some(_), None) => Err(Error::usage(format!(
                "-x, --cta_policy: {} has no mcclCommInitRankConfig",
                self.name
            ))),
        }
    }

    /// Memory from the library's allocator on the current device; `None` if the library has none.
    pub(crate) fn mem_alloc(&self, bytes: usize) -> Option<Result<*mut c_void>> {
        let (alloc, _) = self.table.mem_alloc.zip(self.table.mem_free)?;
        let mut pointer = std::ptr::null_mut();
        // SAFETY: the pointer is to a local that lives through the call.
        Some(self.check("mcclMemAlloc", unsafe { alloc(&mut pointer, bytes) }).map(|()| pointer))
    }

    /// Gives back what `mem_alloc` returned.
    pub(crate) fn mem_free(&self, pointer: *mut c_void) -> Result<()> {
        let Some(free) = self.table.mem_free else { return Ok(()) };
        // SAFETY: the one owner of memory from `mem_alloc` passes it here once.
        self.check("mcclMemFree", unsafe { free(pointer) })
    }

    /// The library's text about its last failure, if it says any.
    pub fn last_error(&self) -> Option<String> {
        let get = self.table.get_last_error?;
        // SAFETY: a null communicator is accepted; the text is copied at once.
        let text = unsafe { text_of(get(std::ptr::null_mut())) };
        (!text.is_empty()).then_some(text)
    }

    /// Turns a result code into an error: call, error string, last error.
    fn check(&self, call: &str, rc: Rc) -> Result<()> {
        if rc == 0 {
            return Ok(());
        }
        // SAFETY: the function takes any code and returns a static string.
        let text = unsafe { text_of((self.table.get_error_string)(rc)) };
        let last = self.last_error().unwrap_or_else(|| "no further text".to_string());
        Err(Error::failed(format!("{call}: {text} ({rc}): {last}")))
    }
}

/// # Safety
/// `text` is null or a terminated string that stays valid during the call.
unsafe fn text_of(text: *const c_char) -> String {
    if text.is_null() {
        return String::new();
    }
    // SAFETY: promised by the caller.
    unsafe { CStr::from_ptr(text) }.to_string_lossy().into_owned()
}

/// A communicator of one rank. Dropping it without `destroy` leaves it to the end of the process.
pub struct Comm {
    api: &'static Mccl,
    handle: CommHandle,
    rank: usize,
}

// SAFETY: a handle may be used from any thread, by one at a time; each lives in the state of one thread, and the watchdog only asks for
// the asynchronous error or aborts, which the interface allows from elsewhere.
unsafe impl Send for Comm {}
// SAFETY: as above.
unsafe impl Sync for Comm {}

impl Comm {
    pub fn all_reduce(&self, send: View, recv: View, count: usize, ty: DType, op: RedOp, s: &Stream) -> Result<()> {
        // SAFETY: both views are memory of this rank's device that outlives the stream's work (see `local::LocalRank`).
        let rc = unsafe {
            (self.api.table.all_reduce)(send.ptr(), recv.ptr(), count, ty as c_int, op.0, self.handle, s.raw())
        };
        self.check("mcclAllReduce", rc)
    }

    pub fn reduce_scatter(&self, send: View, recv: View, count: usize, ty: DType, op: RedOp, s: &Stream) -> Result<()> {
        // SAFETY: as in `all_reduce`.
        let rc = unsafe {
            (self.api.table.reduce_scatter)(send.ptr(), recv.ptr(), count, ty as c_int, op.0, self.handle, s.raw())
        };
        self.check("mcclReduceScatter", rc)
    }

    pub fn reduce(&self, send: View, recv: View, count: usize, ty: DType, (op, root): (RedOp, usize), s: &Stream) -> Result<()> {
        // SAFETY: as in `all_reduce`.
        let rc = unsafe {
            let root = root as c_int;
            (self.api.table.reduce)(send.ptr(), recv.ptr(), count, ty as c_int, op.0, root, self.handle, s.raw())
        };
        self.check("mcclReduce", rc)
    }

    pub fn broadcast(&self, send: View, recv: View, count: usize, ty: DType, root: usize, s: &Stream) -> Result<()> {
        // SAFETY: as in `all_reduce`.
        let rc = unsafe {
            let root = root as c_int;
            (self.api.table.broadcast)(send.ptr(), recv.ptr(), count, ty as c_int, root, self.handle, s.raw())
        };
        self.check("mcclBroadcast", rc)
    }

    pub fn all_gather(&self, send: View, recv: View, count: usize, ty: DType, s: &Stream) -> Result<()> {
        // SAFETY: as in `all_reduce`.
        let rc = unsafe {
            (self.api.table.all_gather)(send.ptr(), recv.ptr(), count, ty as c_int, self.handle, s.raw())
        };
        self.check("mcclAllGather", rc)
    }

    pub fn send(&self, data: View, count: usize, ty: DType, peer: usize, s: &Stream) -> Result<()> {
        // SAFETY: as in `all_reduce`.
        let rc = unsafe { (self.api.table.send)(data.ptr(), count, ty as c_int, peer as c_int, self.handle, s.raw()) };
        self.check("mcclSend", rc)
    }

    pub fn recv(&self, data: View, count: usize, ty: DType, peer: usize, s: &Stream) -> Result<()> {
        // SAFETY: as in `all_reduce`.
        let rc = unsafe { (self.api.table.recv)(data.ptr(), count, ty as c_int, peer as c_int, self.handle, s.raw()) };
        self.check("mcclRecv", rc)
    }

    /// `None` if the library does not have the call.
    pub fn all_to_all(&self, send: View, recv: View, count: usize, ty: DType, s: &Stream) -> Option<Result<()>> {
        let call = self.api.table.all_to_all?;
        // SAFETY: as in `all_reduce`.
        let rc = unsafe { call(send.ptr(), recv.ptr(), count, ty as c_int, self.handle, s.raw()) };
        Some(self.check("mcclAlltoAll", rc))
    }

    /// `None` if the library does not have the call.
    pub fn gather(&self, send: View, recv: View, count: usize, ty: DType, root: usize, s: &Stream) -> Option<Result<()>> {
        let call = self.api.table.gather?;
        // SAFETY: as in `all_reduce`.
        let rc = unsafe { call(send.ptr(), recv.ptr(), count, ty as c_int, root as c_int, self.handle, s.raw()) };
        Some(self.check("mcclGather", rc))
    }

    /// `None` if the library does not have the call.
    pub fn scatter(&self, send: View, recv: View, count: usize, ty: DType, root: usize, s: &Stream) -> Option<Result<()>> {
        let call = self.api.table.scatter?;
        // SAFETY: as in `all_reduce`.
        let rc = unsafe { call(send.ptr(), recv.ptr(), count, ty as c_int, root as c_int, self.handle, s.raw()) };
        Some(self.check("mcclScatter", rc))
    }

    /// `None` if the library does not have the call.
    pub fn all_to_all_v(&self, send: View, recv: View, v: &VectorCounts, ty: DType, s: &Stream) -> Option<Result<()>> {
        let call = self.api.table.all_to_all_v?;
        // SAFETY: as in `all_reduce`; the count vectors have an entry per rank, the displacement matrix a row per rank, and
        // they live in the plan of the run.
        let rc = unsafe {
            let (sc, sd, rc, rd) =
                (v.send.as_ptr(), v.send_displs.as_ptr(), v.recv.as_ptr(), v.recv_displs.as_ptr());
            call(send.ptr(), sc, sd, recv.ptr(), rc, rd, ty as c_int, self.handle, s.raw())
        };
        Some(self.check("mcclAllToAllv", rc))
    }

    /// Makes the reduction that multiplies this rank's input by `scalar` (bits of one element).
    pub fn premul_sum(&self, scalar: u64, ty: DType) -> Result<RedOp> {
        let (mut op, mut scalar) = (0, scalar);
        let pointer = (&raw mut scalar).cast();
        // SAFETY: both pointers are to locals that live through the call; the scalar is read in it (host immediate).
        let rc = unsafe {
            (self.api.table.red_op_create)(&mut op, pointer, ty as c_int, SCALAR_HOST_IMMEDIATE, self.handle)
        };
        self.check("mcclRedOpCreatePreMulSum", rc)?;
        Ok(RedOp(op))
    }

    pub fn free_op(&self, op: RedOp) -> Result<()> {
        // SAFETY: plain values; an operation made by `premul_sum` on this communicator.
        self.check("mcclRedOpDestroy", unsafe { (self.api.table.red_op_destroy)(op.0, self.handle) })
    }

    /// Registers a buffer, as a symmetric window if `symmetric`. The handle is for `deregister`.
    pub fn register(&self, buffer: View, symmetric: bool, out: &mut Registration) -> Result<()> {
        out.symmetric = symmetric;
        let missing = |name: &str| Error::usage(format!("-R, --local_register: {} has no {name}", self.api.name));
        if symmetric {
            let name = "mcclCommWindowRegister";
            let call = self.api.table.window_register.ok_or_else(|| missing(name))?;
            // SAFETY: the buffer outlives its registration; `out` lives until the group around this call has ended.
            let rc = unsafe { call(self.handle, buffer.ptr(), buffer.len(), &mut out.handle, WIN_COLL_SYMMETRIC) };
            return self.check(name, rc);
        }
        let name = "mcclCommRegister";
        let call = self.api.table.comm_register.ok_or_else(|| missing(name))?;
        // SAFETY: as above.
        self.check(name, unsafe { call(self.handle, buffer.ptr(), buffer.len(), &mut out.handle) })
    }

    pub fn deregister(&self, registration: &Registration) -> Result<()> {
        let (name, call) = match registration.symmetric {
            true => ("mcclCommWindowDeregister", self.api.table.window_deregister),
            false => ("mcclCommDeregister", self.api.table.comm_deregister),
        };
        match call {
            Some(call) if !registration.handle.is_null() => {
                // SAFETY: the handle came from the matching call on this communicator and is used once.
                self.check(name, unsafe { call(self.handle, registration.handle) })
            }
            _ => Ok(()),
        }
    }

    /// The error that the communicator found on its own, if any.
    pub fn async_error(&self) -> Result<()> {
        let mut state = 0;
        // SAFETY: the pointer is to a local that lives through the call.
        let rc = unsafe { (self.api.table.comm_get_async_error)(self.handle, &mut state) };
        self.check("mcclCommGetAsyncError", rc)?;
        if state == IN_PROGRESS { Ok(()) } else { self.check("asynchronous error of the communicator", state) }
    }

    /// Stops the communicator's work; its handle is not used afterwards.
    pub fn abort(&self) -> Result<()> {
        // SAFETY: the process ends after an abort and makes no further call on this communicator.
        self.check("mcclCommAbort", unsafe { (self.api.table.comm_abort)(self.handle) })
    }

    pub fn destroy(self) -> Result<()> {
        // SAFETY: the value is consumed, so the handle is used for the last time.
        self.check("mcclCommDestroy", unsafe { (self.api.table.comm_destroy)(self.handle) })
    }

    pub fn rank(&self) -> usize {
        self.rank
    }

    fn check(&self, call: &str, rc: Rc) -> Result<()> {
        if rc == 0 { Ok(()) } else { self.api.check(call, rc).map_err(|e| e.at(format!("rank {}", self.rank))) }
    }
}

/// The counts of one rank's vector all-to-all, in elements.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct VectorCounts {
    pub send: Vec<usize>,
    /// All ranks' send displacements, a row per rank.
    pub send_displs: Vec<usize>,
    pub recv: Vec<usize>,
    pub recv_displs: Vec<usize>,
}

/// What a registration call returned.
pub struct Registration {
    handle: *mut c_void,
    symmetric: bool,
}

impl Default for Registration {
    fn default() -> Self {
        Self { handle: std::ptr::null_mut(), symmetric: false }
    }
}

// SAFETY: an opaque value that only the library interprets; it moves with its rank.
unsafe impl Send for Registration {}
// SAFETY: as above.
unsafe impl Sync for Registration {}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_config_has_the_layout_of_the_c_struct() {
        assert_eq!(size_of::<Config>(), 80);
        assert_eq!(std::mem::offset_of!(Config, blocking), 16);
        assert_eq!(std::mem::offset_of!(Config, net_name), 32);
        assert_eq!(std::mem::offset_of!(Config, comm_name), 48);
        assert_eq!(std::mem::offset_of!(Config, cta_policy), 60);
        assert_eq!(size_of::<UniqueId>(), 128);
    }
}
