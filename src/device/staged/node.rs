//! What stands on a stream for one staged operation, and the host functions that the stream calls.
use std::ffi::c_void;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::{Arc, Mutex, PoisonError};

use crate::device::Work;
use crate::device::staged::pinned::Pinned;
use crate::device::staged::proxy::{self, PROXIES, Signal};
use crate::warn_;

/// Lives until `release` is called with it.
pub struct Node {
    source: Mutex<Source>,
    pub buffer: Arc<Pinned>,
}

enum Source {
    /// Runs once.
    Once(Option<Box<dyn Work>>),
    /// Each launch of the graph that holds the node runs what this makes.
    Template(Box<dyn Work>),
}

impl Node {
    pub fn once(work: Box<dyn Work>, buffer: Arc<Pinned>) -> Box<Self> {
        Box::new(Self { source: Mutex::new(Source::Once(Some(work))), buffer })
    }

    pub fn template(work: Box<dyn Work>, buffer: Arc<Pinned>) -> Box<Self> {
        Box::new(Self { source: Mutex::new(Source::Template(work)), buffer })
    }

    /// What runs now; `None`: nothing (any more).
    fn work(&self) -> Option<Box<dyn Work>> {
        match &mut *self.source.lock().unwrap_or_else(PoisonError::into_inner) {
            Source::Once(work) => work.take(),
            Source::Template(work) => {
                let made = work.rearm();
                if made.is_none() {
                    warn_!(
                        "a captured operation was launched although its communicator has failed or was destroyed: it does nothing"
                    );
                }
                made
            }
        }
    }

    /// Drops a work that was not started.
    pub fn cancel(&self) {
        if let Source::Once(work) = &mut *self.source.lock().unwrap_or_else(PoisonError::into_inner) {
            drop(work.take());
        }
    }
}

// The runtime calls these on a thread of its own. They call nothing of the runtime, and nothing may unwind into it.

/// Starts the work; returns at once.
///
/// # Safety
/// `node` is a [`Node`] that was not released.
pub unsafe extern "C" fn kick(node: *mut c_void) {
    // SAFETY: the caller's promise.
    let node = unsafe { &*node.cast::<Node>() };
    let _ = catch_unwind(AssertUnwindSafe(|| {
        let signal = Signal::new(Arc::clone(&node.buffer));
        if let Some(work) = node.work() {
            PROXIES.start(work, signal);
        }
    }));
}

/// Blocks until the work is done, where the runtime cannot make its stream wait.
///
/// # Safety
/// As `kick`.
pub unsafe extern "C" fn hold(node: *mut c_void) {
    // SAFETY: the caller's promise.
    let node = unsafe { &*node.cast::<Node>() };
    let _ = catch_unwind(AssertUnwindSafe(|| proxy::wait_for(node.buffer.flag())));
}

/// The stream (or the graph) is past everything of the node.
///
/// # Safety
/// `node` came from `Box::into_raw` and nobody uses it any more.
pub unsafe extern "C" fn release(node: *mut c_void) {
    // SAFETY: the caller's promise.
    let node = unsafe { Box::from_raw(node.cast::<Node>()) };
    let _ = catch_unwind(AssertUnwindSafe(|| drop(node)));
}
