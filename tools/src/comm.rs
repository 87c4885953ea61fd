//! A communicator's calls, with checked results.

use std::ffi::{c_int, c_void};

use crate::api::{CommHandle, Mccl, RedOp};
use crate::dtype::DType;
use crate::error::{Error, Result};
use crate::memory::View;
use crate::musart::Stream;

const SCALAR_HOST_IMMEDIATE: c_int = 1;
const WIN_COLL_SYMMETRIC: c_int = 1;
const IN_PROGRESS: c_int = 7;

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
    /// Takes over a handle that `api` made for `rank`.
    pub(crate) fn new(api: &'static Mccl, handle: CommHandle, rank: usize) -> Self {
        Self { api, handle, rank }
    }

    pub fn all_reduce(
        &self,
        send: View,
        recv: View,
        count: usize,
        ty: DType,
        op: RedOp,
        s: &Stream,
    ) -> Result<()> {
        // SAFETY: both views are memory of this rank's device that outlives the stream's work (see `local::LocalRank`).
        let rc = unsafe {
            (self.api.table.all_reduce)(
                send.ptr(),
                recv.ptr(),
                count,
                ty as c_int,
                op.0,
                self.handle,
                s.raw(),
            )
        };
        self.check("mcclAllReduce", rc)
    }

    pub fn reduce_scatter(
        &self,
        send: View,
        recv: View,
        count: usize,
        ty: DType,
        op: RedOp,
        s: &Stream,
    ) -> Result<()> {
        // SAFETY: as in `all_reduce`.
        let rc = unsafe {
            (self.api.table.reduce_scatter)(
                send.ptr(),
                recv.ptr(),
                count,
                ty as c_int,
                op.0,
                self.handle,
                s.raw(),
            )
        };
        self.check("mcclReduceScatter", rc)
    }

    pub fn reduce(
        &self,
        send: View,
        recv: View,
        count: usize,
        ty: DType,
        (op, root): (RedOp, usize),
        s: &Stream,
    ) -> Result<()> {
        // SAFETY: as in `all_reduce`.
        let rc = unsafe {
            let root = root as c_int;
            (self.api.table.reduce)(
                send.ptr(),
                recv.ptr(),
                count,
                ty as c_int,
                op.0,
                root,
                self.handle,
                s.raw(),
            )
        };
        self.check("mcclReduce", rc)
    }

    pub fn broadcast(
        &self,
        send: View,
        recv: View,
        count: usize,
        ty: DType,
        root: usize,
        s: &Stream,
    ) -> Result<()> {
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
        let rc = unsafe {
            (self.api.table.send)(data.ptr(), count, ty as c_int, peer as c_int, self.handle, s.raw())
        };
        self.check("mcclSend", rc)
    }

    pub fn recv(&self, data: View, count: usize, ty: DType, peer: usize, s: &Stream) -> Result<()> {
        // SAFETY: as in `all_reduce`.
        let rc = unsafe {
            (self.api.table.recv)(data.ptr(), count, ty as c_int, peer as c_int, self.handle, s.raw())
        };
        self.check("mcclRecv", rc)
    }

    /// `None` if the library does not have the call.
    pub fn all_to_all(
        &self,
        send: View,
        recv: View,
        count: usize,
        ty: DType,
        s: &Stream,
    ) -> Option<Result<()>> {
        let call = self.api.table.all_to_all?;
        // SAFETY: as in `all_reduce`.
        let rc = unsafe { call(send.ptr(), recv.ptr(), count, ty as c_int, self.handle, s.raw()) };
        Some(self.check("mcclAlltoAll", rc))
    }

    /// `None` if the library does not have the call.
    pub fn gather(
        &self,
        send: View,
        recv: View,
        count: usize,
        ty: DType,
        root: usize,
        s: &Stream,
    ) -> Option<Result<()>> {
        let call = self.api.table.gather?;
        // SAFETY: as in `all_reduce`.
        let rc =
            unsafe { call(send.ptr(), recv.ptr(), count, ty as c_int, root as c_int, self.handle, s.raw()) };
        Some(self.check("mcclGather", rc))
    }

    /// `None` if the library does not have the call.
    pub fn scatter(
        &self,
        send: View,
        recv: View,
        count: usize,
        ty: DType,
        root: usize,
        s: &Stream,
    ) -> Option<Result<()>> {
        let call = self.api.table.scatter?;
        // SAFETY: as in `all_reduce`.
        let rc =
            unsafe { call(send.ptr(), recv.ptr(), count, ty as c_int, root as c_int, self.handle, s.raw()) };
        Some(self.check("mcclScatter", rc))
    }

    /// `None` if the library does not have the call.
    pub fn all_to_all_v(
        &self,
        send: View,
        recv: View,
        v: &VectorCounts,
        ty: DType,
        s: &Stream,
    ) -> Option<Result<()>> {
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
        let missing =
            |name: &str| Error::usage(format!("-R, --local_register: {} has no {name}", self.api.name));
        if symmetric {
            let name = "mcclCommWindowRegister";
            let call = self.api.table.window_register.ok_or_else(|| missing(name))?;
            // SAFETY: the buffer outlives its registration; `out` lives until the group around this call has ended.
            let rc =
                unsafe { call(self.handle, buffer.ptr(), buffer.len(), &mut out.handle, WIN_COLL_SYMMETRIC) };
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
        if state == IN_PROGRESS {
            Ok(())
        } else {
            self.check("asynchronous error of the communicator", state)
        }
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

    fn check(&self, call: &str, rc: c_int) -> Result<()> {
        if rc == 0 {
            Ok(())
        } else {
            self.api.check(call, rc).map_err(|e| e.at(format!("rank {}", self.rank)))
        }
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
