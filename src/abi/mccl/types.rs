//! The C types of `mccl.h`. Enums are integers here, because C may pass any bit pattern; the header has real enums.
#![allow(non_camel_case_types, non_snake_case, reason = "the names are those of the C interface")]
use std::ffi::{c_char, c_int, c_uint, c_void};

use crate::comm::UniqueId;

/// A stream of the device runtime; NULL is the default stream.
pub type musaStream_t = *mut c_void;

/// What stands behind a communicator handle; never looked into.
pub enum mcclComm {}
/// A communicator of one rank.
pub type mcclComm_t = *mut mcclComm;

/// What stands behind a window handle.
pub enum mcclWindow {}
/// A window of memory that peers can reach.
pub type mcclWindow_t = *mut mcclWindow;

/// Result of a call.
#[repr(transparent)]
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct mcclResult_t(pub c_int);

impl mcclResult_t {
    pub const SUCCESS: Self = Self(0);
    pub const UNHANDLED_MUSA_ERROR: Self = Self(1);
    pub const SYSTEM_ERROR: Self = Self(2);
    pub const INTERNAL_ERROR: Self = Self(3);
    pub const INVALID_ARGUMENT: Self = Self(4);
    pub const INVALID_USAGE: Self = Self(5);
    pub const REMOTE_ERROR: Self = Self(6);
    pub const IN_PROGRESS: Self = Self(7);
}

/// Element type of a buffer.
#[repr(transparent)]
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct mcclDataType_t(pub c_int);

/// Reduction operation.
#[repr(transparent)]
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct mcclRedOp_t(pub c_int);

/// Where the scalar of a user-made reduction lies.
#[repr(transparent)]
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct mcclScalarResidence_t(pub c_int);

impl mcclScalarResidence_t {
    pub const DEVICE: Self = Self(0);
    pub const HOST_IMMEDIATE: Self = Self(1);
}

/// Names a communicator; made by mcclGetUniqueId on one rank and carried to the others by the program.
#[repr(C)]
#[derive(Clone, Copy)]
pub struct mcclUniqueId {
    pub internal: [c_char; 128],
}

impl From<UniqueId> for mcclUniqueId {
    fn from(id: UniqueId) -> Self {
        Self { internal: id.0.map(|byte| byte as c_char) }
    }
}

impl From<mcclUniqueId> for UniqueId {
    fn from(id: mcclUniqueId) -> Self {
        Self(id.internal.map(|byte| byte as u8))
    }
}

/// Settings of a communicator. Start from MCCL_CONFIG_INITIALIZER and set what differs.
#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub struct mcclConfig_t {
    /// Set by the initializer; do not change.
    pub size: usize,
    /// Set by the initializer; do not change.
    pub magic: c_uint,
    /// Set by the initializer; do not change.
    pub version: c_uint,
    /// 1 (default): calls return when their work is done; 0: they may return mcclInProgress.
    pub blocking: c_int,
    /// Blocks per cluster, 0 to 8.
    pub cgaClusterSize: c_int,
    /// Fewest blocks per operation, 1 or more.
    pub minCTAs: c_int,
    /// Most blocks per operation, 1 or more and not below minCTAs.
    pub maxCTAs: c_int,
    /// Network to use, or NULL.
    pub netName: *const c_char,
    /// 1: children of mcclCommSplit share this communicator's resources.
    pub splitShare: c_int,
    /// Traffic class of the network.
    pub trafficClass: c_int,
    /// Name of the communicator in logs, or NULL.
    pub commName: *const c_char,
    /// 1: use collectives of the network.
    pub collnetEnable: c_int,
    /// MCCL_CTA_POLICY_ flags.
    pub CTAPolicy: c_int,
    /// 1: children of mcclCommShrink share this communicator's resources.
    pub shrinkShare: c_int,
    /// Blocks for reductions in the switch, 1 or more.
    pub nvlsCTAs: c_int,
    /// Channels to one peer on another host, 1 to 64.
    pub nChannelsPerNetPeer: c_int,
    /// 1: schedule for use of the device links.
    pub nvlinkCentricSched: c_int,
}

/// Receives the estimate of mcclGroupSimulateEnd. Start from MCCL_SIM_INFO_INITIALIZER.
#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub struct mcclSimInfo_t {
    /// Set by the initializer; do not change.
    pub size: usize,
    /// Set by the initializer; do not change.
    pub magic: c_uint,
    /// Set by the initializer; do not change.
    pub version: c_uint,
    /// Time of the group in microseconds.
    pub estimatedTime: f32,
}

/// What marks an initialized [`mcclConfig_t`].
pub(super) const CONFIG_MAGIC: c_uint = 0xcafe_beef;
/// What marks an initialized [`mcclSimInfo_t`].
pub(super) const SIM_INFO_MAGIC: c_uint = 0x7468_5283;
/// The value of a field that was not set.
pub(super) const UNDEF_INT: c_int = c_int::MIN;
