//! Streams as their callers see them: life, submission, claims.

use std::ffi::c_void;
use std::sync::atomic::Ordering;

use mccl_emu_ext::{CLAIM_BUSY, CLAIM_CAPTURING, CLAIM_INVALID, CLAIM_OK};

use super::engine::{kick, retire_if_dead, wake_sleepers};
use super::error::{Error, Result};
use super::pollable::OwnedPollable;
use super::runtime::runtime;
use super::slab::{
    ALWAYS_LOOK, CAPTURING, CLAIMED, FAILED, LIVE, LOOK, QUEUED, StreamRef, allocate, busy, lookup,
};
use super::work::Work;
use super::{capture, driver, lock, order, ready, thread};

/// How a stream is ordered with the null stream of its device.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
#[repr(u32)]
pub enum Kind {
    /// The legacy default stream itself.
    Null = 0,
    Blocking = 1,
    NonBlocking = 2,
}

/// Handle of the legacy default stream of the caller's device, besides null.
pub const LEGACY: usize = 1;
/// Handle of the calling thread's own default stream.
pub const PER_THREAD: usize = 2;
/// Priorities go from 0, the least, to this.
pub const GREATEST_PRIORITY: i32 = -5;

pub fn create(device: usize, kind: Kind, priority: i32) -> Result<StreamRef> {
    let home = &runtime()?.devices[device];
    let stream = allocate(|s| {
        describe(s, device, kind, priority);
        if kind == Kind::Blocking {
            s.rival.store(std::ptr::from_ref(&home.null.state).cast_mut(), Ordering::Relaxed);
        }
    })?;
    if kind == Kind::Blocking {
        home.blocking.fetch_add(1, Ordering::SeqCst);
    }
    Ok(stream)
}

/// The null stream of a device that is being made.
pub fn create_null(device: usize) -> Result<StreamRef> {
    allocate(|s| {
        describe(s, device, Kind::Null, 0);
        s.rival.store(std::ptr::from_ref(&ALWAYS_LOOK).cast_mut(), Ordering::Relaxed);
    })
}

fn describe(stream: StreamRef, device: usize, kind: Kind, priority: i32) {
    stream.device.store(device as u32, Ordering::Relaxed);
    stream.kind.store(kind as u32, Ordering::Relaxed);
    stream.priority.store(priority.clamp(GREATEST_PRIORITY, 0) as u32, Ordering::Relaxed);
}

/// Destroys a stream that the program made. Work that is pending still runs.
pub fn destroy(handle: *mut c_void) -> Result<()> {
    let stream = lookup(handle).ok_or(Error::INVALID_RESOURCE_HANDLE)?;
    if stream.is(Kind::Null) {
        return Err(Error::INVALID_RESOURCE_HANDLE);
    }
    if stream.state.load(Ordering::Acquire) & CAPTURING != 0 {
        capture::abandon(stream);
    }
    retire(stream).then_some(()).ok_or(Error::INVALID_RESOURCE_HANDLE)
}

/// Ends the life of the stream for its callers; false if it was dead before.
pub fn retire(stream: StreamRef) -> bool {
    // The kind is read first: the slot may be another stream's as soon as it is dead.
    let (blocking, device) = (stream.is(Kind::Blocking), stream.device());
    if stream.state.fetch_and(!(LIVE | CAPTURING), Ordering::SeqCst) & LIVE == 0 {
        return false;
    }
    if blocking && let Ok(runtime) = runtime() {
        runtime.devices[device].blocking.fetch_sub(1, Ordering::SeqCst);
    }
    retire_if_dead(stream);
    true
}

/// The stream behind a handle; null and 1 are the legacy default stream of the caller's device, 2 is the thread's own.
#[inline]
pub fn resolve(handle: *mut c_void) -> Result<StreamRef> {
    match handle as usize {
        0 | LEGACY => Ok(runtime()?.devices[thread::device()].null),
        PER_THREAD => thread::default_stream(),
        _ => lookup(handle).ok_or(Error::INVALID_RESOURCE_HANDLE),
    }
}

/// Puts work behind everything on the stream, or into the capture in progress.
pub fn submit(stream: StreamRef, work: Work) -> Result<()> {
    if stream.state.load(Ordering::Acquire) & CAPTURING != 0 {
        return capture::record(stream, work);
    }
    capture::forbid_legacy(stream)?;
    order::precede(stream);
    push(stream, work)
}

/// As `submit`, for pollable work: on failure the context goes back to the caller.
pub fn submit_pollable(
    stream: StreamRef,
    work: OwnedPollable,
) -> std::result::Result<(), (Error, OwnedPollable)> {
    if stream.state.load(Ordering::Acquire) & CAPTURING != 0 {
        return capture::record_pollable(stream, work);
    }
    if let Err(error) = capture::forbid_legacy(stream) {
        return Err((error, work));
    }
    order::precede(stream);
    match push_or_return(stream, Work::Poll(work)) {
        None => Ok(()),
        Some(Work::Poll(work)) => Err((Error::INVALID_RESOURCE_HANDLE, work)),
        Some(_) => unreachable!("the work that was pushed comes back"),
    }
}

/// Queues work without ordering it against other streams.
pub fn push(stream: StreamRef, work: Work) -> Result<()> {
    match push_or_return(stream, work) {
        None => Ok(()),
        Some(_) => Err(Error::INVALID_RESOURCE_HANDLE),
    }
}

/// Gives the work back if the stream is dead and dry.
fn push_or_return(stream: StreamRef, work: Work) -> Option<Work> {
    let mut queue = lock(&stream.queue);
    let alive = |state: u32| (state & (LIVE | QUEUED | CLAIMED) != 0).then_some(state | QUEUED);
    let Ok(old) = stream.state.fetch_update(Ordering::SeqCst, Ordering::SeqCst, alive) else {
        return Some(work);
    };
    queue.push_back(work);
    drop(queue);
    if !busy(old) {
        kick(stream);
    }
    None
}

/// Takes an idle stream for the calling thread. Returns `CLAIM_*`.
#[inline]
pub fn claim(handle: *mut c_void) -> i32 {
    let Ok(stream) = resolve(handle) else { return CLAIM_INVALID };
    // SAFETY: `rival` points to a static or to the state of a slot, which is never unmapped.
    let rival = unsafe { (*stream.rival.load(Ordering::Relaxed)).load(Ordering::Acquire) };
    if rival & (CLAIMED | QUEUED | LOOK) == 0
        && stream.state.compare_exchange(LIVE, LIVE | CLAIMED, Ordering::SeqCst, Ordering::Acquire).is_ok()
    {
        return CLAIM_OK;
    }
    claim_slowly(stream)
}

#[cold]
fn claim_slowly(stream: StreamRef) -> i32 {
    let state = stream.state.load(Ordering::Acquire);
    if state & LIVE == 0 {
        return CLAIM_INVALID;
    }
    if state & CAPTURING != 0 {
        return CLAIM_CAPTURING;
    }
    if busy(state) || order::has_elders(stream) || capture::forbid_legacy(stream).is_err() {
        return CLAIM_BUSY;
    }
    // What remains besides LIVE is an untold failure, which stays for the next wait.
    match stream.state.compare_exchange(state, state | CLAIMED, Ordering::SeqCst, Ordering::Acquire) {
        Ok(_) => CLAIM_OK,
        Err(_) => CLAIM_BUSY,
    }
}

/// Ends a claim with nothing left to run.
#[inline]
pub fn release(handle: *mut c_void) {
    let Some(stream) = claimed(handle) else { return };
    let before = stream.state.fetch_sub(CLAIMED, Ordering::SeqCst);
    if before != LIVE | CLAIMED || stream.sleepers.load(Ordering::SeqCst) > 0 {
        after_claim(stream, before);
    }
}

#[cold]
fn after_claim(stream: StreamRef, before: u32) {
    if before & QUEUED != 0 {
        kick(stream);
    }
    wake_sleepers(stream);
    retire_if_dead(stream);
}

/// Ends a claim by making `work` the next work of the stream.
pub fn hand_over(handle: *mut c_void, work: OwnedPollable) {
    let Some(stream) = claimed(handle) else { return };
    // SAFETY: the caller has claimed the stream, so it alone may touch the head; the head of a claimed stream is empty.
    unsafe { *stream.head() = Some(Work::Poll(work)) };
    ready::insert(stream);
    // Release for the head; pairs with the load in `engine::advance_locked`.
    let _ = stream.state.fetch_update(Ordering::SeqCst, Ordering::SeqCst, |s| Some((s & !CLAIMED) | QUEUED));
    wake_sleepers(stream);
    driver::notify();
}

/// The stream of a claim, which may have been destroyed meanwhile.
#[inline]
fn claimed(handle: *mut c_void) -> Option<StreamRef> {
    let stream = match resolve(handle) {
        Ok(stream) => stream,
        Err(_) => super::slab::lookup_dying(handle)?,
    };
    (stream.state.load(Ordering::Relaxed) & CLAIMED != 0).then_some(stream)
}

/// Success when all work is done, `NOT_READY` otherwise; a failure is told once.
#[inline]
pub fn query(stream: StreamRef) -> Result<()> {
    let state = stream.state.load(Ordering::Acquire);
    if state & (CAPTURING | FAILED) == 0 && !busy(state) && !order::has_elders(stream) {
        return Ok(());
    }
    if state & CAPTURING != 0 {
        capture::invalidate(stream);
        return Err(Error::STREAM_CAPTURE_UNSUPPORTED);
    }
    capture::forbid_legacy(stream)?;
    if busy(state) || order::has_elders(stream) {
        return Err(Error::NOT_READY);
    }
    take_failure(stream)
}

/// Reports a failure of earlier work, once.
pub fn take_failure(stream: StreamRef) -> Result<()> {
    if stream.state.load(Ordering::Acquire) & FAILED == 0 {
        return Ok(());
    }
    match stream.state.fetch_and(!FAILED, Ordering::SeqCst) & FAILED {
        0 => Ok(()),
        _ => Err(Error::LAUNCH_FAILURE),
    }
}

impl super::slab::Stream {
    #[inline]
    pub fn is(&self, kind: Kind) -> bool {
        self.kind.load(Ordering::Relaxed) == kind as u32
    }
}
