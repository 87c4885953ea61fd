//! Semantics of the emulated runtime, free of C names.

pub mod alloc;
pub mod capture;
pub mod config;
pub mod device;
pub mod driver;
pub mod engine;
pub mod error;
pub mod event;
pub mod fence;
pub mod graph;
pub mod graph_run;
pub mod heap;
pub mod ipc;
pub mod ipc_event;
pub mod memory;
pub mod order;
pub mod pollable;
pub mod ranges;
pub mod ready;
pub mod registry;
pub mod runtime;
pub mod slab;
pub mod stream;
pub mod sync;
pub mod thread;
pub mod user_object;
pub mod vmm;
pub mod work;
pub mod worker;

use std::sync::{Mutex, MutexGuard, PoisonError};

/// Locks and goes on after a panic of another holder: every critical section leaves its data consistent.
pub(crate) fn lock<T: ?Sized>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}
