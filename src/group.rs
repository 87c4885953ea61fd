//! Groups of calls.
#![forbid(unsafe_code)]
use std::ffi::c_void;
use std::sync::Arc;

use crate::base::Result;
use crate::base::types::{Collective, DataType, RedOp};
use crate::comm::{Comm, InitRequest};
use crate::err;

pub fn start() -> Result<()> {
    Err(err!(Unsupported, "groups come with the engine"))
}

pub fn end() -> Result<()> {
    Err(err!(Unsupported, "groups come with the engine"))
}

/// Estimated time of the group, in microseconds.
pub fn simulate_end() -> Result<f32> {
    Err(err!(Unsupported, "groups come with the engine"))
}

/// One operation of one rank.
pub struct Op {
    pub coll: Collective,
    pub send: *const c_void,
    pub recv: *mut c_void,
    pub count: usize,
    pub dtype: DataType,
    pub op: Option<RedOp>,
    /// Root or peer, else 0.
    pub peer: usize,
    pub vector: Option<Box<VectorCounts>>,
    pub comm: Arc<Comm>,
    pub stream: *mut c_void,
}

/// Counts and displacements of this rank, in elements.
pub struct VectorCounts {
    pub send_counts: Vec<usize>,
    pub send_displs: Vec<usize>,
    pub recv_counts: Vec<usize>,
    pub recv_displs: Vec<usize>,
}

pub fn submit(_op: Op) -> Result<()> {
    Err(err!(Unsupported, "operations come with the engine"))
}

pub fn submit_init(_req: InitRequest, _out: Box<dyn FnOnce(Result<Arc<Comm>>) + Send>) -> Result<()> {
    Err(err!(Unsupported, "communicators come with the engine"))
}
