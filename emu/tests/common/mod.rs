//! What the tests share: pollables that tell what happened to them, streams, checks.
#![allow(dead_code)]

use std::ffi::c_void;
use std::ptr::null_mut;
use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering};
use std::time::Duration;

use mccl_emu_ext::{ExtTable, POLL_DONE, POLL_FAILED, POLL_PENDING, Pollable, PollableVTable};
use musart::ext::mcclEmuExtension;
use musart::musart::stream::{musaStreamCreateWithFlags, musaStreamQuery};

pub fn ext() -> &'static ExtTable {
    // SAFETY: version 1 exists, and the table is static.
    unsafe { &*mcclEmuExtension(mccl_emu_ext::VERSION) }
}

/// A stream of the current device; flag 1 makes it non-blocking.
pub fn stream(flags: u32) -> *mut c_void {
    let mut stream = null_mut();
    // SAFETY: a valid place.
    assert_eq!(unsafe { musaStreamCreateWithFlags(&mut stream, flags) }, 0);
    stream
}

/// Waits without helping, so that only the runtime's own threads make progress.
pub fn until(what: &str, mut done: impl FnMut() -> bool) {
    for _ in 0..20_000 {
        if done() {
            return;
        }
        std::thread::sleep(Duration::from_micros(500));
    }
    panic!("never happened: {what}");
}

pub fn until_idle(stream: *mut c_void) {
    until("the stream becomes idle", || musaStreamQuery(stream) == 0);
}

/// A gate: pollable work stays pending until it is opened.
#[derive(Default)]
pub struct Gate {
    /// 0 closed, 1 open, 2 open and failing.
    pub open: AtomicU32,
    pub polls: AtomicU32,
    pub done: AtomicU32,
    pub dropped: AtomicU32,
    pub rearmed: AtomicU32,
    /// Contexts being polled at this moment.
    inside: AtomicU32,
    pub overlaps: AtomicU32,
    /// Value of a shared clock when done.
    pub stamp: AtomicU32,
    pub clock: Arc<AtomicU32>,
}

impl Gate {
    pub fn new() -> Arc<Self> {
        Arc::new(Self::default())
    }

    pub fn timed(clock: &Arc<AtomicU32>) -> Arc<Self> {
        Arc::new(Self { clock: clock.clone(), ..Self::default() })
    }

    pub fn work(self: &Arc<Self>) -> Pollable {
        let context = Box::new(Context { gate: self.clone() });
        Pollable { ctx: Box::into_raw(context).cast(), vtable: &VTABLE }
    }

    pub fn open(&self) {
        self.open.store(1, Ordering::SeqCst);
    }

    pub fn fail(&self) {
        self.open.store(2, Ordering::SeqCst);
    }

    pub fn is_done(&self) -> bool {
        self.done.load(Ordering::SeqCst) > 0
    }

    pub fn count(counter: &AtomicU32) -> u32 {
        counter.load(Ordering::SeqCst)
    }
}

struct Context {
    gate: Arc<Gate>,
}

static VTABLE: PollableVTable = PollableVTable { poll, idle, rearm: Some(rearm), drop: drop_context };

unsafe extern "C" fn poll(ctx: *mut c_void) -> i32 {
    // SAFETY: made by `work` or `rearm`, not dropped yet by the contract.
    let context = unsafe { &*ctx.cast::<Context>() };
    let gate = &context.gate;
    gate.polls.fetch_add(1, Ordering::SeqCst);
    if gate.inside.fetch_add(1, Ordering::SeqCst) > 0 {
        gate.overlaps.fetch_add(1, Ordering::SeqCst);
    }
    let open = gate.open.load(Ordering::SeqCst);
    gate.inside.fetch_sub(1, Ordering::SeqCst);
    if open == 0 {
        return POLL_PENDING;
    }
    gate.stamp.store(gate.clock.fetch_add(1, Ordering::SeqCst) + 1, Ordering::SeqCst);
    gate.done.fetch_add(1, Ordering::SeqCst);
    if open == 1 { POLL_DONE } else { POLL_FAILED }
}

unsafe extern "C" fn idle(_: *mut c_void, round: u32) {
    match round {
        0..10 => std::hint::spin_loop(),
        10..100 => std::thread::yield_now(),
        _ => std::thread::sleep(Duration::from_micros(100)),
    }
}

unsafe extern "C" fn rearm(ctx: *mut c_void) -> *mut c_void {
    // SAFETY: as in `poll`.
    let gate = unsafe { &(*ctx.cast::<Context>()).gate };
    gate.rearmed.fetch_add(1, Ordering::SeqCst);
    Box::into_raw(Box::new(Context { gate: gate.clone() })).cast()
}

unsafe extern "C" fn drop_context(ctx: *mut c_void) {
    // SAFETY: the last call for a box that was leaked for this.
    let context = unsafe { Box::from_raw(ctx.cast::<Context>()) };
    context.gate.dropped.fetch_add(1, Ordering::SeqCst);
}
