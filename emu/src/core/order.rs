//! The legacy null stream's order against the blocking streams of its device.

use std::sync::Arc;
use std::sync::atomic::Ordering;

use super::fence::Fence;
use super::runtime::started;
use super::slab::{CLAIMED, LOOK, QUEUED, StreamRef, busy, slots};
use super::stream::{Kind, push};
use super::work::Work;

/// Makes what is submitted to `stream` next wait for the work that has to come first.
pub fn precede(stream: StreamRef) {
    for_elders(stream, |elder| {
        let fence = Arc::new(Fence::default());
        if push(elder, Work::Signal(fence.clone())).is_ok() {
            // The stream is live: its caller has just resolved it.
            let _ = push(stream, Work::Wait { fence, parked: false });
        }
        true
    });
}

/// Whether other streams have work that comes before new work of this one.
#[inline]
pub fn has_elders(stream: StreamRef) -> bool {
    // SAFETY: `rival` points to a static or to the state of a slot, which is never unmapped.
    let rival = unsafe { (*stream.rival.load(Ordering::Relaxed)).load(Ordering::Acquire) };
    if rival & (CLAIMED | QUEUED | LOOK) == 0 {
        return false;
    }
    // Work of the null stream does not make a blocking stream itself busy.
    let mut found = false;
    for_elders(stream, |_| {
        found = true;
        false
    });
    found
}

/// Visits the busy streams whose work comes first, until `visit` returns false.
pub fn for_elders(stream: StreamRef, mut visit: impl FnMut(StreamRef) -> bool) {
    // SAFETY: as in `has_elders`.
    let rival = unsafe { (*stream.rival.load(Ordering::Relaxed)).load(Ordering::Acquire) };
    if rival & (CLAIMED | QUEUED | LOOK) == 0 {
        return;
    }
    let Some(device) = started().map(|r| &r.devices[stream.device()]) else { return };
    if rival & LOOK == 0 {
        visit(device.null);
        return;
    }
    if device.blocking.load(Ordering::SeqCst) == 0 {
        return;
    }
    let ours = |s: &StreamRef| {
        busy(s.state.load(Ordering::Acquire)) && s.is(Kind::Blocking) && s.device() == stream.device()
    };
    for elder in slots().filter(ours) {
        if !visit(elder) {
            return;
        }
    }
}
