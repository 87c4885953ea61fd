//! Threads that poll work on behalf of streams: started when first needed, one for each work that is active.
//!
//! A real runtime may run the host functions of all its streams on one thread, so none of them may wait; and works of
//! different streams may wait for each other through their peers, so each needs its own progress and its own way of waiting.
use std::collections::VecDeque;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::atomic::{AtomicU32, Ordering};
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use crate::device::staged::pinned::Pinned;
use crate::device::{Work, WorkState};
use crate::{sys, warn_};

/// How long a thread without work stays.
const LINGER: Duration = Duration::from_secs(10);

/// Values of the flag that a stream waits on.
pub const RUNNING: u32 = 0;
pub const DONE: u32 = 1;

/// The process's threads.
pub static PROXIES: Proxies =
    Proxies { state: Mutex::new(State { queue: VecDeque::new(), ready: 0 }), wake: Condvar::new() };

pub struct Proxies {
    state: Mutex<State>,
    wake: Condvar,
}

struct State {
    queue: VecDeque<Assignment>,
    /// Threads that will take from the queue: they sleep, or are about to start.
    ready: usize,
}

struct Assignment {
    work: Box<dyn Work>,
    signal: Signal,
}

/// Lets the stream go on when dropped, whatever became of the work: a failed work must not hold the stream.
pub struct Signal(Arc<Pinned>);

impl Signal {
    /// Sets the buffer's flag back, for the wait that follows on the stream.
    pub fn new(buffer: Arc<Pinned>) -> Self {
        buffer.flag().store(RUNNING, Ordering::Relaxed);
        Self(buffer)
    }
}

impl Drop for Signal {
    fn drop(&mut self) {
        // Pairs with the wait of the stream (or the load in `wait_for`): the results before the flag.
        self.0.flag().store(DONE, Ordering::Release);
        let _ = sys::futex::wake_all(self.0.flag());
    }
}

/// Blocks until the flag is set. The work behind it has a deadline and sees aborts, so this ends.
pub fn wait_for(flag: &AtomicU32) {
    // Pairs with the store when the signal drops.
    while flag.load(Ordering::Acquire) != DONE {
        let _ = sys::futex::wait(flag, RUNNING, Duration::from_millis(100));
    }
}

impl Proxies {
    /// Has the work polled to its end, then dropped, then signalled. Never blocks.
    pub fn start(&'static self, work: Box<dyn Work>, signal: Signal) {
        let mut state = self.lock();
        state.queue.push_back(Assignment { work, signal });
        if state.queue.len() <= state.ready {
            drop(state);
            return self.wake.notify_one();
        }
        state.ready += 1;
        drop(state);
        if let Err(error) = sys::thread::spawn("mccl-proxy", move || self.serve()) {
            let mut state = self.lock();
            state.ready -= 1;
            // Another thread may have taken it; what is left over is given up, which its communicator reports.
            let lost = (state.queue.len() > state.ready).then(|| state.queue.pop_back());
            drop(state);
            warn_!("a thread for staged operations: {error}");
            drop(lost);
        }
    }

    fn serve(&self) {
        let mut state = self.lock();
        loop {
            if let Some(Assignment { work, signal }) = state.queue.pop_front() {
                state.ready -= 1;
                drop(state);
                run(work);
                drop(signal);
                state = self.lock();
                state.ready += 1;
                continue;
            }
            let (next, waited) =
                self.wake.wait_timeout(state, LINGER).unwrap_or_else(PoisonError::into_inner);
            state = next;
            if waited.timed_out() && state.queue.is_empty() {
                state.ready -= 1;
                return;
            }
        }
    }

    fn lock(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// A work that panics is dropped like one that failed; its communicator says so.
fn run(mut work: Box<dyn Work>) {
    let poll = || {
        let mut round = 0;
        while work.poll() == WorkState::Pending {
            work.idle(round);
            round = round.saturating_add(1);
        }
    };
    let _ = catch_unwind(AssertUnwindSafe(poll));
    let _ = catch_unwind(AssertUnwindSafe(|| drop(work)));
}
