//! Device runtimes, and the host's arithmetic.
//!
//! [`Runtime`] is what the engine needs of a runtime. Its duties:
//! - a stream runs its work in order; `claim` succeeds only on an idle stream, and what is submitted meanwhile waits;
//! - work is polled by one thread at a time, and dropped exactly once;
//! - `enqueue` on a capturing stream adds a graph node, and each launch of the graph runs what `rearm` returns then;
//! - `export_offset` is stable as long as the allocation lives;
//! - where `staging` is given, the host must not touch device memory: operations run on copies in pinned memory.

pub mod emulated;
pub mod musa;
pub mod reduce;
pub mod select;
pub mod staged;

pub use select::runtime;
pub use staged::Pinned;

use std::ffi::c_void;
use std::os::fd::RawFd;
use std::sync::Arc;

use crate::base::Result;

/// A stream handle of the runtime, as the caller passed it; only the runtime looks behind it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Stream(pub *mut c_void);

// SAFETY: an opaque value to this library; runtimes take handles on any thread.
unsafe impl Send for Stream {}

/// State of a piece of work.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum WorkState {
    Pending,
    Done,
    Failed,
}

/// Resumable work for a stream.
pub trait Work: Send {
    /// Makes what progress it can, without blocking.
    fn poll(&mut self) -> WorkState;
    /// One step of waiting after `round` polls in a row without progress.
    fn idle(&mut self, round: u32);
    /// The work of one launch of a graph that holds this as a node; `None` refuses the launch.
    fn rearm(&self) -> Option<Box<dyn Work>>;
}

/// What became of a claim.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Claim {
    /// The stream is this thread's until `release` or `hand_over`.
    Inline,
    /// Work is on the stream: `enqueue` instead.
    Busy,
    /// The stream is being captured: `enqueue` adds a node.
    Capturing,
}

/// Memory of this process that other processes can map.
#[derive(Clone, Copy, Debug)]
pub struct Export {
    pub fd: RawFd,
    pub len: usize,
}

/// A device runtime.
pub trait Runtime: Send + Sync {
    /// For the version banner: `musa5.2`.
    fn version_name(&self) -> String;
    fn device_count(&self) -> Result<i32>;
    fn current_device(&self) -> Result<i32>;
    fn set_device(&self, device: i32) -> Result<()>;
    fn bus_id(&self, device: i32) -> Result<String>;
    /// Device memory of the current device.
    fn alloc(&self, len: usize) -> Result<*mut c_void>;
    fn free(&self, ptr: *mut c_void) -> Result<()>;
    /// The memory that `export_offset` speaks of.
    fn export(&self) -> Result<Option<Export>>;
    /// Copies bytes into exported memory.
    fn store(&self, ptr: *mut c_void, bytes: &[u8]) -> Result<()>;
    /// Offset of `ptr` in the exported memory; `None`: plain host memory.
    fn export_offset(&self, ptr: *const u8) -> Option<u64>;

    fn claim(&self, stream: Stream) -> Result<Claim>;
    fn release(&self, stream: Stream);
    fn hand_over(&self, stream: Stream, work: Box<dyn Work>);
    fn enqueue(&self, stream: Stream, work: Box<dyn Work>) -> Result<()>;
    /// Polls other work of this process once.
    fn help(&self);
    /// How operations run whose buffers the host cannot reach; `None`: it reaches them all.
    fn staging(&self) -> Option<&dyn Staging> {
        None
    }
}

/// An asynchronous copy; either end may be device memory.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Transfer {
    pub dst: *mut u8,
    pub src: *const u8,
    pub len: usize,
}

/// Work that runs on host copies of device memory.
pub struct StagedWork {
    pub before: Vec<Transfer>,
    pub work: Box<dyn Work>,
    pub after: Vec<Transfer>,
    /// Holds the copies; the stream, or the graph that captured the work, keeps it as long as it needs it.
    pub buffer: Arc<Pinned>,
}

/// Pinned host memory, and work between asynchronous copies.
pub trait Staging {
    /// The host must not touch what is at `ptr`.
    fn on_device(&self, ptr: *const u8) -> Result<bool>;
    /// Pinned memory of at least `len` bytes, for one work that is submitted next. With a stream of the current device, works
    /// that are on this stream already may use the same memory: they are over when this one begins.
    fn buffer(&self, on: Option<Stream>, len: usize) -> Result<Arc<Pinned>>;
    /// Puts copies, work and copies on the stream of the current device. A stream that is being captured makes nodes of
    /// them, and each launch runs what `rearm` returns when the stream has come to the work.
    fn submit(&self, stream: Stream, staged: StagedWork) -> Result<()>;
}
