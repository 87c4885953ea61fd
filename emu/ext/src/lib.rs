//! The C-ABI table by which the emulated runtime lets libmccl put resumable work on its streams.
//!
//! The runtime exports [`ENTRY`], a function `extern "C" fn(version: u32) -> *const ExtTable` which returns null for a
//! version it does not speak. The table is static: it stays valid as long as the library is loaded.
//!
//! **Streams.** A stream runs its work in order. Pollable work at the head of a stream is polled by exactly one
//! thread at a time: the stream's worker, or a thread that waits in a synchronise call and helps.
//! An idle stream can be *claimed* by the calling thread, which then runs work inline as if it were the
//! stream; everything submitted meanwhile waits behind the claim.
#![no_std]

use core::ffi::c_void;

/// Name of the exported function that returns the table.
pub const ENTRY: &str = "mcclEmuExtension";
/// Version of [`ExtTable`] described here.
pub const VERSION: u32 = 1;

/// Results of [`PollableVTable::poll`].
pub const POLL_PENDING: i32 = 0;
pub const POLL_DONE: i32 = 1;
/// The work failed; the runtime reports a launch failure from the next call that waits for the stream.
pub const POLL_FAILED: i32 = 2;

/// Results of [`ExtTable::stream_claim`].
pub const CLAIM_OK: i32 = 0;
/// The stream has work queued or running: use `stream_enqueue`.
pub const CLAIM_BUSY: i32 = 1;
/// The stream is being captured: use `stream_enqueue`, which then adds a graph node.
pub const CLAIM_CAPTURING: i32 = 2;
/// Not a stream of this runtime.
pub const CLAIM_INVALID: i32 = 3;

/// Work that never blocks its thread: polled until done.
#[repr(C)]
#[derive(Clone, Copy)]
pub struct Pollable {
    pub ctx: *mut c_void,
    pub vtable: *const PollableVTable,
}

#[repr(C)]
pub struct PollableVTable {
    /// Makes what progress it can, without blocking. Returns `POLL_*`. Not called again after DONE or FAILED.
    pub poll: unsafe extern "C" fn(ctx: *mut c_void) -> i32,
    /// One step of waiting after `poll` said pending for the `round`-th time in a row: a pause instruction, a yield,
    /// or a bounded sleep (at most some milliseconds). May return at once.
    pub idle: unsafe extern "C" fn(ctx: *mut c_void, round: u32),
    /// A fresh context for one launch of a graph which holds this work as a node, in launch order on the launching thread;
    /// null refuses the launch. Null function: the work cannot be captured.
    pub rearm: Option<unsafe extern "C" fn(ctx: *mut c_void) -> *mut c_void>,
    /// Frees the context. Called exactly once for each context, after its last other call.
    pub drop: unsafe extern "C" fn(ctx: *mut c_void),
}

/// The emulated device memory of this process: one memfd mapped once at `base`, device `d` owning
/// the bytes `d * device_span .. (d + 1) * device_span`. A peer that maps `fd` sees every allocation at the same offset.
#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub struct HeapInfo {
    pub base: *mut u8,
    pub len: usize,
    pub device_span: usize,
    pub devices: u32,
    pub fd: i32,
}

/// What a stream is at this moment.
#[repr(C)]
#[derive(Clone, Copy, Debug, Default)]
pub struct StreamInfo {
    /// Device ordinal the stream belongs to.
    pub device: i32,
    /// 0 not capturing, 1 capturing, 2 capture invalidated.
    pub capture: i32,
    /// Identifier of the capture, unique in the process; 0 when not capturing.
    pub capture_id: u64,
}

/// The table. Functions that return `i32` without `CLAIM_*` return a runtime error code, 0 for success.
#[repr(C)]
pub struct ExtTable {
    /// `size_of::<ExtTable>()` of the runtime that made it.
    pub size: usize,
    pub version: u32,
    /// Describes the heap, creating it on first use.
    pub heap: unsafe extern "C" fn(out: *mut HeapInfo) -> i32,
    /// Takes an idle stream for the calling thread. Returns `CLAIM_*`.
    pub stream_claim: unsafe extern "C" fn(stream: *mut c_void) -> i32,
    /// Ends a claim with nothing left to run.
    pub stream_release: unsafe extern "C" fn(stream: *mut c_void),
    /// Ends a claim by queueing `work` as the stream's next work.
    pub stream_hand_over: unsafe extern "C" fn(stream: *mut c_void, work: Pollable),
    /// Queues `work` behind everything on the stream, or adds it to the capture in progress. On failure the context was
    /// not taken and the caller still owns it.
    pub stream_enqueue: unsafe extern "C" fn(stream: *mut c_void, work: Pollable) -> i32,
    pub stream_info: unsafe extern "C" fn(stream: *mut c_void, out: *mut StreamInfo) -> i32,
    /// Polls, once each, the pollable heads of all streams that no other thread is polling. Returns how many finished.
    /// Must not be called from inside a poll.
    pub help: unsafe extern "C" fn() -> u32,
}

// SAFETY: the table is immutable plain data; its functions are callable from any thread by contract.
unsafe impl Sync for ExtTable {}
// SAFETY: as above.
unsafe impl Send for ExtTable {}
// SAFETY: immutable function pointers.
unsafe impl Sync for PollableVTable {}
// SAFETY: a context may be polled from any thread, by one at a time; that is the contract of the vtable.
unsafe impl Send for Pollable {}
