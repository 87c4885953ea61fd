//! Communicators: creation, division, end, and what they own.
#![forbid(unsafe_code)]
use std::ffi::c_void;
use std::sync::Arc;

use crate::base::types::{DataType, RedOp, Scalar};
use crate::base::{ErrorKind, Result};
use crate::err;

/// Names a communicator before it exists.
#[derive(Clone, Copy)]
pub struct UniqueId(pub [u8; 128]);

/// A fresh name, with a root that waits for ranks.
pub fn unique_id() -> Result<UniqueId> {
    Err(err!(Unsupported, "unique ids come with the engine"))
}

/// How a communicator behaves.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Config {
    pub blocking: bool,
    pub min_ctas: Option<u32>,
    pub max_ctas: Option<u32>,
    pub cga_cluster_size: Option<u32>,
    pub net_name: Option<String>,
    pub split_share: bool,
    pub traffic_class: Option<i32>,
    pub comm_name: Option<String>,
    pub collnet: bool,
    pub cta_policy: u32,
    pub shrink_share: bool,
    pub nvls_ctas: Option<u32>,
    pub channels_per_net_peer: Option<u32>,
    pub nvlink_centric: bool,
}

impl Default for Config {
    fn default() -> Self {
        Self {
            blocking: true,
            min_ctas: None,
            max_ctas: None,
            cga_cluster_size: None,
            net_name: None,
            split_share: false,
            traffic_class: None,
            comm_name: None,
            collnet: false,
            cta_policy: 0,
            shrink_share: false,
            nvls_ctas: None,
            channels_per_net_peer: None,
            nvlink_centric: false,
        }
    }
}

/// What a rank asks for when it joins.
pub struct InitRequest {
    pub nranks: usize,
    pub rank: usize,
    pub ids: Vec<UniqueId>,
    /// `None`: the calling thread's current device.
    pub device: Option<i32>,
    pub config: Config,
    pub call: &'static str,
}

/// Joins a communicator.
pub fn init(_req: InitRequest) -> Result<Arc<Comm>> {
    Err(err!(Unsupported, "communicators come with the engine"))
}

/// `MCCL_VERSION_CODE`.
pub fn version() -> i32 {
    22809
}

/// A factor of a user-made reduction.
pub enum PreMul {
    Host(Scalar),
    Device(*const c_void),
}

/// One rank of a communicator.
pub struct Comm {
    _engine: (),
}

impl Comm {
    pub fn nranks(&self) -> usize {
        1
    }

    pub fn rank(&self) -> usize {
        0
    }

    pub fn device(&self) -> i32 {
        0
    }

    pub fn async_error(&self) -> Option<ErrorKind> {
        None
    }

    pub fn finalize(&self) -> Result<()> {
        Err(err!(Unsupported, "finalize comes with the engine"))
    }

    pub fn destroy(self: &Arc<Self>) -> Result<()> {
        Err(err!(Unsupported, "destroy comes with the engine"))
    }

    pub fn abort(self: &Arc<Self>) -> Result<()> {
        Err(err!(Unsupported, "abort comes with the engine"))
    }

    pub fn split(
        self: &Arc<Self>,
        _color: i32,
        _key: i32,
        _config: Option<Config>,
    ) -> Result<Option<Arc<Comm>>> {
        Err(err!(Unsupported, "split comes with the engine"))
    }

    pub fn register(&self, _ptr: *mut c_void, _len: usize) -> Result<u64> {
        Err(err!(Unsupported, "registration comes with the engine"))
    }

    pub fn deregister(&self, _id: u64) -> Result<()> {
        Err(err!(Unsupported, "registration comes with the engine"))
    }

    pub fn create_pre_mul_sum(&self, _scalar: PreMul, _dtype: DataType) -> Result<i32> {
        Err(err!(Unsupported, "user-made reductions come with the engine"))
    }

    pub fn destroy_op(&self, _op: i32) -> Result<()> {
        Err(err!(Unsupported, "user-made reductions come with the engine"))
    }

    pub fn lookup_op(&self, _op: i32, _dtype: DataType) -> Result<RedOp> {
        Err(err!(Unsupported, "user-made reductions come with the engine"))
    }
}

pub fn mem_alloc(_len: usize) -> Result<*mut c_void> {
    Err(err!(Unsupported, "device memory comes with the engine"))
}

pub fn mem_free(_ptr: *mut c_void) -> Result<()> {
    Err(err!(Unsupported, "device memory comes with the engine"))
}
