//! Prints nanoseconds of the paths that every small collective takes: idle streams, hand-over, wake-ups.

use std::ffi::c_void;
use std::hint::black_box;
use std::ptr::null_mut;
use std::sync::atomic::{AtomicU32, Ordering};
use std::time::{Duration, Instant};

use mccl_emu_ext::{CLAIM_OK, ExtTable, POLL_DONE, POLL_PENDING, Pollable, PollableVTable};
use musart::ext::mcclEmuExtension;
use musart::musart::memory::{musaMalloc, musaMemcpyAsync};
use musart::musart::stream::{musaStreamCreateWithFlags, musaStreamQuery, musaStreamSynchronize};

static VTABLE: PollableVTable = PollableVTable { poll, idle, rearm: None, drop: forget };

/// Done when the counter reaches zero; each poll takes one.
unsafe extern "C" fn poll(ctx: *mut c_void) -> i32 {
    // SAFETY: the context is a counter that outlives the work.
    let left = unsafe { &*ctx.cast::<AtomicU32>() };
    if left.fetch_sub(1, Ordering::Relaxed) > 1 { POLL_PENDING } else { POLL_DONE }
}

unsafe extern "C" fn idle(_: *mut c_void, round: u32) {
    if round > 20 { std::thread::yield_now() } else { std::hint::spin_loop() }
}

unsafe extern "C" fn forget(_: *mut c_void) {}

fn stream(flags: u32) -> *mut c_void {
    let mut stream = null_mut();
    // SAFETY: a valid place.
    assert_eq!(unsafe { musaStreamCreateWithFlags(&mut stream, flags) }, 0);
    stream
}

fn measure(name: &str, count: u32, mut f: impl FnMut()) {
    // The best of many short runs: what other programs on the machine take is not of interest.
    let count = (count / 50).max(1);
    let mut best = Duration::MAX;
    for _ in 0..100 {
        let start = Instant::now();
        (0..count).for_each(|_| f());
        best = best.min(start.elapsed());
    }
    println!("{name:<48} {:>9.1} ns", best.as_nanos() as f64 / f64::from(count));
}

fn main() {
    // SAFETY: version 1 exists, and the table is static.
    let ext: &ExtTable = unsafe { &*mcclEmuExtension(mccl_emu_ext::VERSION) };
    let (plain, free) = (stream(0), stream(1));
    for (name, s) in [("null", null_mut()), ("blocking", plain), ("non-blocking", free)] {
        measure(&format!("{name}: claim + release"), 1_000_000, || claim_release(ext, s));
        measure(&format!("{name}: claim + release + synchronize"), 1_000_000, || {
            claim_release(ext, s);
            black_box(musaStreamSynchronize(s));
        });
        measure(&format!("{name}: query"), 1_000_000, || {
            black_box(musaStreamQuery(s));
        });
    }
    for polls in [1, 20] {
        measure(&format!("hand over, {polls} polls, synchronize"), 100_000, || {
            hand_over(ext, &[free], polls)
        });
    }
    let eight: Vec<_> = (0..8).map(|_| stream(1)).collect();
    measure("8 streams: hand over, 20 polls, synchronize", 10_000, || hand_over(ext, &eight, 20));
    measure("hand over, left to the driver", 1_000, || unattended(ext, free));
    copies(free);
}

/// Looks without helping, so that the runtime's own thread has to finish the work.
fn unattended(ext: &ExtTable, stream: *mut c_void) {
    let counter = AtomicU32::new(1);
    let ctx = std::ptr::from_ref(&counter).cast_mut().cast();
    // SAFETY: the stream is live; the counter outlives the work, which the loop below waits for.
    unsafe {
        assert_eq!((ext.stream_claim)(stream), CLAIM_OK);
        (ext.stream_hand_over)(stream, Pollable { ctx, vtable: &VTABLE });
    }
    while musaStreamQuery(stream) != 0 {
        std::thread::yield_now();
    }
}

fn claim_release(ext: &ExtTable, stream: *mut c_void) {
    // SAFETY: a live stream, claimed here and released here.
    unsafe {
        assert_eq!((ext.stream_claim)(stream), CLAIM_OK);
        (ext.stream_release)(stream);
    }
}

fn hand_over(ext: &ExtTable, streams: &[*mut c_void], polls: u32) {
    let counters: Vec<_> = streams.iter().map(|_| AtomicU32::new(polls)).collect();
    for (&stream, counter) in streams.iter().zip(&counters) {
        let ctx = std::ptr::from_ref(counter).cast_mut().cast();
        // SAFETY: the stream is live; the counter outlives the work, which the loop below waits for.
        unsafe {
            assert_eq!((ext.stream_claim)(stream), CLAIM_OK);
            (ext.stream_hand_over)(stream, Pollable { ctx, vtable: &VTABLE });
        }
    }
    for &stream in streams {
        assert_eq!(musaStreamSynchronize(stream), 0);
    }
}

fn copies(stream: *mut c_void) {
    let (mut a, mut b) = (null_mut(), null_mut());
    // SAFETY: valid places.
    unsafe {
        assert_eq!(musaMalloc(&mut a, 4096), 0);
        assert_eq!(musaMalloc(&mut b, 4096), 0);
    }
    measure("copy of 4 KiB + synchronize", 20_000, || {
        // SAFETY: both allocations are that long and are not freed.
        unsafe { assert_eq!(musaMemcpyAsync(a, b, 4096, 3, stream), 0) };
        assert_eq!(musaStreamSynchronize(stream), 0);
    });
}
