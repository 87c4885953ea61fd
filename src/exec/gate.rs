//! Work on several streams at once: the job runs on the first stream, the others wait beside it.
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::time::Duration;

use crate::device::{Work, WorkState};

/// Where the streams of one group meet.
pub struct Gate {
    streams: usize,
    came: AtomicUsize,
    open: AtomicBool,
}

impl Gate {
    /// A gate for `streams` streams besides the one that the job runs on.
    pub fn new(streams: usize) -> Arc<Self> {
        Arc::new(Self { streams, came: AtomicUsize::new(0), open: AtomicBool::new(false) })
    }

    /// Every other stream has come to this point.
    pub fn all_came(&self) -> bool {
        // Pairs with the increment in `Joined::poll`: what those streams did before.
        self.came.load(Ordering::Acquire) >= self.streams
    }

    /// The job is complete: the other streams go on.
    pub fn open(&self) {
        // Pairs with the load in `Joined::poll`.
        self.open.store(true, Ordering::Release);
    }
}

/// What stands on the other streams.
pub struct Joined {
    gate: Arc<Gate>,
    came: bool,
}

impl Joined {
    pub fn new(gate: Arc<Gate>) -> Self {
        Self { gate, came: false }
    }
}

impl Work for Joined {
    fn poll(&mut self) -> WorkState {
        if !std::mem::replace(&mut self.came, true) {
            // Pairs with the load in `all_came`.
            self.gate.came.fetch_add(1, Ordering::Release);
        }
        // Pairs with the store in `open`.
        if self.gate.open.load(Ordering::Acquire) { WorkState::Done } else { WorkState::Pending }
    }

    fn idle(&mut self, round: u32) {
        if round < 100 {
            std::thread::yield_now();
        } else {
            std::thread::sleep(Duration::from_micros(50));
        }
    }

    /// A gate is for one meeting: a group on several capturing streams is refused at the launch of its graph.
    fn rearm(&self) -> Option<Box<dyn Work>> {
        None
    }
}
