//! Pinned memory that operations on one stream use one after the other.
//!
//! A program may queue any number of operations. Those of a stream run in order, from the first copy to the last, so they
//! can all use the same memory; what is pinned then depends on the number of streams and not on the length of the queues.
use std::collections::HashMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError, Weak};

use crate::base::Result;
use crate::device::staged::pinned::{Pinned, Pool};

/// Entries beyond which those of idle streams are forgotten.
const MANY: usize = 64;

/// All streams that have been used, by number.
#[derive(Default)]
pub struct Lanes(Mutex<HashMap<u64, Arc<Lane>>>);

/// One stream.
#[derive(Default)]
pub struct Lane {
    /// The buffer of the latest operation, while any operation still holds it.
    recent: Mutex<Weak<Pinned>>,
    /// Held while an operation is put on the stream: its parts must not mix with those of another that has the same buffer.
    order: Mutex<()>,
}

impl Lanes {
    pub fn lane(&self, stream: u64) -> Arc<Lane> {
        let mut lanes = lock(&self.0);
        if lanes.len() >= MANY {
            lanes.retain(|_, lane| Arc::strong_count(lane) > 1 || lock(&lane.recent).strong_count() > 0);
        }
        Arc::clone(lanes.entry(stream).or_default())
    }
}

impl Lane {
    /// At least `len` bytes, for an operation that is put on the stream.
    pub fn buffer(&self, pool: &Arc<Pool>, len: usize) -> Result<Arc<Pinned>> {
        let mut recent = lock(&self.recent);
        if let Some(buffer) = recent.upgrade().filter(|buffer| buffer.len() >= len) {
            return Ok(buffer);
        }
        let buffer = Arc::new(pool.take(len)?);
        *recent = Arc::downgrade(&buffer);
        Ok(buffer)
    }

    pub fn enter(&self) -> MutexGuard<'_, ()> {
        lock(&self.order)
    }
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}
