//! Threads that wait: they drive the streams of the process instead of sleeping where they can.

use std::sync::atomic::Ordering;
use std::time::Duration;

use super::driver::{Helping, count_finished, help_others};
use super::engine::{Left, PollLock, advance_locked, retire_if_dead, settle};
use super::error::{Error, Result};
use super::fence::Fence;
use super::slab::{CAPTURING, FAILED, Stream, StreamRef, busy, slots};
use super::stream::{Kind, take_failure};
use super::work::{Effects, Mode, rest};
use super::{capture, order, ready};
use crate::sys::{Scope, futex_wait};

/// Rounds of spinning and yielding before a waiter sleeps.
const AWAKE_ROUNDS: u32 = 50;
/// Longest sleep when nothing in the process wants to be polled.
const LONG: Duration = Duration::from_millis(5);
/// Longest sleep while other streams may need polling.
const SHORT: Duration = Duration::from_micros(100);

/// Returns when all work submitted to the stream before is done.
#[inline]
pub fn synchronize(stream: StreamRef) -> Result<()> {
    let state = stream.state.load(Ordering::Acquire);
    if state & (CAPTURING | FAILED) == 0 && !busy(state) && !order::has_elders(stream) {
        return Ok(());
    }
    synchronize_slowly(stream)
}

fn synchronize_slowly(stream: StreamRef) -> Result<()> {
    if stream.state.load(Ordering::Acquire) & CAPTURING != 0 {
        capture::invalidate(stream);
        return Err(Error::STREAM_CAPTURE_UNSUPPORTED);
    }
    capture::forbid_legacy(stream)?;
    if stream.is(Kind::Null) {
        let mut elders = Vec::new();
        order::for_elders(stream, |elder| {
            elders.push(elder);
            true
        });
        elders.into_iter().for_each(drain);
    }
    drain(stream);
    take_failure(stream)
}

/// Returns when all work of the device is done.
pub fn synchronize_device(device: usize) -> Result<()> {
    let ours = |s: &StreamRef| {
        s.state.load(Ordering::Acquire) & FAILED != 0 || busy(s.state.load(Ordering::Acquire))
    };
    let mut result = Ok(());
    for stream in slots().filter(ours).filter(|s| s.device() == device) {
        drain(stream);
        result = result.and(take_failure(stream));
    }
    result
}

/// As `synchronize_device`, leaving failures untold.
pub fn drain_device(device: usize) {
    slots().filter(|s| busy(s.state.load(Ordering::Acquire)) && s.device() == device).for_each(drain);
}

/// Whether any stream of the device has work.
pub fn device_is_busy(device: usize) -> bool {
    slots().any(|s| busy(s.state.load(Ordering::Acquire)) && s.device() == device)
}

/// Waits until the stream has no work, whoever does it.
fn drain(stream: StreamRef) {
    let id = stream.id.load(Ordering::Relaxed);
    let over = || !busy(stream.state.load(Ordering::Acquire)) || stream.id.load(Ordering::Relaxed) != id;
    wait(Some(stream), Mode::Attend, over, |limit| sleep_on(stream, limit));
}

/// Waits until the fence is passed; `stream` is where it was recorded.
pub fn wait_fence(fence: &Fence, stream: Option<StreamRef>) {
    wait(stream, Mode::Help, || fence.is_done(), |limit| fence.sleep(limit));
}

/// Attends `stream` and helps the others until `over`.
pub fn wait(stream: Option<StreamRef>, mode: Mode, over: impl Fn() -> bool, sleep: impl Fn(Duration)) {
    if over() {
        return;
    }
    let _helping = Helping::enter();
    let mut round = 0u32;
    while !over() {
        let attended = stream.map_or((Left::Idle, 0), |s| attend(s, mode, round));
        let finished = attended.1 + if attended.0 == Left::Pending { 0 } else { help_others(stream) };
        if finished > 0 {
            round = 0;
            continue;
        }
        if attended.0 != Left::Pending {
            pause(round, &sleep);
        }
        round = round.saturating_add(1);
    }
}

/// Polls the stream once and, while it is pending, the others too; then pauses as its head likes. The poll lock is held
/// throughout, so the context cannot go away under the pause.
fn attend(stream: StreamRef, mode: Mode, round: u32) -> (Left, u32) {
    let mut finished = 0;
    loop {
        let Some(held) = PollLock::try_take(stream, mode) else { return (Left::Busy, finished) };
        stream.kicked.store(false, Ordering::SeqCst);
        let mut effects = Effects::default();
        let left = advance_locked(stream, mode, &mut effects);
        settle(effects.kicks);
        finished += effects.finished;
        count_finished(effects.finished);
        if left == Left::Pending {
            finished += help_others(Some(stream));
            if finished == 0 {
                // SAFETY: the poll lock is held, and a pending stream is queued, hence not claimed.
                if let Some(head) = unsafe { stream.head() } {
                    head.idle(round);
                }
            }
        }
        drop(held);
        if left == Left::Idle {
            retire_if_dead(stream);
        }
        if !stream.kicked.load(Ordering::SeqCst) {
            return (left, finished);
        }
    }
}

fn pause(round: u32, sleep: &impl Fn(Duration)) {
    match round {
        0..AWAKE_ROUNDS => rest(round),
        _ if ready::count() > 0 => sleep(SHORT),
        _ => sleep(LONG),
    }
}

/// Sleeps until the state of the stream changes or the time is over.
fn sleep_on(stream: &Stream, limit: Duration) {
    stream.sleepers.fetch_add(1, Ordering::SeqCst);
    let state = stream.state.load(Ordering::SeqCst);
    if busy(state) {
        futex_wait(&stream.state, state, Some(limit), Scope::Private);
    }
    stream.sleepers.fetch_sub(1, Ordering::SeqCst);
}
