//! One occurrence of an event: pending until the stream reaches it, then done for good.

use std::sync::Mutex;
use std::sync::atomic::{AtomicU32, AtomicU64, Ordering};
use std::time::{Duration, Instant};

use super::lock;
use super::slab::StreamRef;
use crate::sys::{Scope, futex_wait, futex_wake};

#[derive(Default)]
pub struct Fence {
    done: AtomicU32,
    sleepers: AtomicU32,
    /// Nanoseconds since the first look at the clock, valid once done.
    time: AtomicU64,
    parked: Mutex<Vec<StreamRef>>,
}

impl Fence {
    /// A fence that is passed already.
    pub fn passed() -> Self {
        let fence = Self::default();
        fence.time.store(now(), Ordering::Relaxed);
        fence.done.store(1, Ordering::Release);
        fence
    }

    pub fn is_done(&self) -> bool {
        // Pairs with the store in `signal`: work before the fence is visible after it.
        self.done.load(Ordering::Acquire) == 1
    }

    /// When it was passed, in nanoseconds of the process's clock.
    pub fn time(&self) -> u64 {
        self.time.load(Ordering::Relaxed)
    }

    /// Marks the fence passed and returns the streams that were parked on it; the caller advances them.
    pub fn signal(&self) -> Vec<StreamRef> {
        self.time.store(now(), Ordering::Relaxed);
        let parked = {
            let mut parked = lock(&self.parked);
            self.done.store(1, Ordering::SeqCst);
            std::mem::take(&mut *parked)
        };
        // Ordered with `sleep`: either the sleeper is counted here or it sees the fence done.
        if self.sleepers.load(Ordering::SeqCst) > 0 {
            futex_wake(&self.done, i32::MAX, Scope::Private);
        }
        parked
    }

    /// Registers a stream for `signal`, unless the fence is passed: then false.
    pub fn park(&self, stream: StreamRef) -> bool {
        let mut parked = lock(&self.parked);
        if self.is_done() {
            return false;
        }
        parked.push(stream);
        true
    }

    /// Sleeps until passed or until the time is over.
    pub fn sleep(&self, limit: Duration) {
        self.sleepers.fetch_add(1, Ordering::SeqCst);
        if self.done.load(Ordering::SeqCst) == 0 {
            futex_wait(&self.done, 0, Some(limit), Scope::Private);
        }
        self.sleepers.fetch_sub(1, Ordering::SeqCst);
    }
}

fn now() -> u64 {
    static START: std::sync::OnceLock<Instant> = std::sync::OnceLock::new();
    START.get_or_init(Instant::now).elapsed().as_nanos() as u64
}
