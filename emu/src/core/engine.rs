//! Moving a stream forward: whoever holds its poll lock runs its head, and leaves it in the care of somebody.
//!
//! A busy stream whose lock is free is always in exactly one of these states: its head is in the ready set (threads that
//! wait or the drivers poll it), its worker has been woken (blocking or bulk work), it is parked on a fence
//! (whoever signals advances it), or it is claimed.

use std::sync::atomic::Ordering;

use super::slab::{CLAIMED, FAILED, LIVE, QUEUED, StreamRef, recycle};
use super::work::{Effects, Mode, Step, Work};
use super::{driver, lock, ready, worker};
use crate::sys::{Scope, futex_wake};

/// How an advance left the stream.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Left {
    Idle,
    Pending,
    Parked,
    Heavy,
    Claimed,
    /// Another thread holds the poll lock.
    Busy,
}

/// The right to touch a stream's head.
pub struct PollLock(StreamRef);

impl PollLock {
    #[inline]
    pub fn try_take(stream: StreamRef, mode: Mode) -> Option<Self> {
        if mode != Mode::Worker && stream.reserved.load(Ordering::Relaxed) {
            return None;
        }
        let free = stream.poll_lock.load(Ordering::Relaxed) == 0
            && stream.poll_lock.compare_exchange(0, 1, Ordering::SeqCst, Ordering::Relaxed).is_ok();
        free.then(|| Self(stream))
    }
}

impl Drop for PollLock {
    fn drop(&mut self) {
        // Ordered before the look at `kicked` in `advance`, as `kicked` is before the attempt in `kick`.
        self.0.poll_lock.store(0, Ordering::SeqCst);
    }
}

/// Makes sure that somebody continues the stream; polls nothing.
pub fn kick(stream: StreamRef) {
    stream.kicked.store(true, Ordering::SeqCst);
    let mut effects = Effects::default();
    advance(stream, Mode::Classify, &mut effects);
    settle(effects.kicks);
}

/// Advances the streams that were parked on signalled fences, and those that these release in turn.
pub fn settle(mut kicks: Vec<StreamRef>) {
    while let Some(stream) = kicks.pop() {
        stream.kicked.store(true, Ordering::SeqCst);
        let mut effects = Effects::default();
        advance(stream, Mode::Classify, &mut effects);
        kicks.append(&mut effects.kicks);
    }
}

/// Runs the stream as far as `mode` allows, unless another thread does. The caller settles the kicks.
pub fn advance(stream: StreamRef, mode: Mode, effects: &mut Effects) -> Left {
    loop {
        let Some(held) = PollLock::try_take(stream, mode) else { return Left::Busy };
        stream.kicked.store(false, Ordering::SeqCst);
        let left = advance_locked(stream, mode, effects);
        drop(held);
        if left == Left::Idle {
            retire_if_dead(stream);
        }
        if !stream.kicked.load(Ordering::SeqCst) {
            return left;
        }
    }
}

/// As `advance`, for the holder of the lock.
pub fn advance_locked(stream: StreamRef, mode: Mode, effects: &mut Effects) -> Left {
    loop {
        // Pairs with the release in `hand_over` and `push`: the head before the state.
        let state = stream.state.load(Ordering::Acquire);
        if state & CLAIMED != 0 {
            return Left::Claimed;
        }
        if state & QUEUED == 0 {
            // The head may be a claimer's from here on.
            return Left::Idle;
        }
        // SAFETY: the caller holds the poll lock; a queued stream cannot be claimed, and only the holder of the lock
        // clears QUEUED.
        let head = unsafe { stream.head() };
        let work = match head {
            Some(work) => work,
            // An idle stream's head may be a claimer's: it is not touched after this.
            None => match next_or_idle(stream) {
                Some(next) => head.insert(next),
                None => return Left::Idle,
            },
        };
        match work.step(stream, mode, effects) {
            Step::Done => *head = None,
            Step::Failed => {
                stream.state.fetch_or(FAILED, Ordering::SeqCst);
                *head = None;
            }
            Step::Pending => {
                ready::insert(stream);
                if matches!(mode, Mode::Classify | Mode::Worker) {
                    driver::notify();
                }
                return Left::Pending;
            }
            Step::Parked => {
                ready::remove(stream);
                return Left::Parked;
            }
            Step::Heavy => {
                ready::remove(stream);
                worker::wake(stream);
                return Left::Heavy;
            }
        }
    }
}

/// The next work of the queue; with none, the stream is idle from here on and the caller leaves its head alone.
fn next_or_idle(stream: StreamRef) -> Option<Work> {
    let mut queue = lock(&stream.queue);
    if let Some(work) = queue.pop_front() {
        return Some(work);
    }
    // Before QUEUED: afterwards a claimer may hand work over and make the stream ready again.
    ready::remove(stream);
    stream.state.fetch_and(!QUEUED, Ordering::SeqCst);
    drop(queue);
    wake_sleepers(stream);
    None
}

/// Wakes the threads that sleep until the state changes.
#[inline]
pub fn wake_sleepers(stream: StreamRef) {
    // Ordered with `sync::sleep`: either the sleeper is counted here or it sees the new state.
    if stream.sleepers.load(Ordering::SeqCst) > 0 {
        futex_wake(&stream.state, i32::MAX, Scope::Private);
    }
}

/// Gives the slot back once a destroyed stream has run dry. Of all that see it dry, one recycles.
pub fn retire_if_dead(stream: StreamRef) {
    /// Stands for a slot that was given back.
    const RECYCLED: u32 = 1 << 31;
    let state = stream.state.load(Ordering::SeqCst);
    let dry = state & (LIVE | CLAIMED | QUEUED | RECYCLED) == 0;
    if dry && stream.state.compare_exchange(state, RECYCLED, Ordering::SeqCst, Ordering::Relaxed).is_ok() {
        worker::dismiss(stream);
        recycle(stream);
    }
}
