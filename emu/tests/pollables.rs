//! Resumable work through the extension table.

mod common;

use std::ffi::c_void;
use std::ptr::null_mut;
use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering};

use common::{Gate, ext, stream, until, until_idle};
use mccl_emu_ext::{CLAIM_BUSY, CLAIM_INVALID, CLAIM_OK, HeapInfo, StreamInfo};
use musart::musart::event::{musaEventCreate, musaEventQuery, musaEventRecord, musaEventSynchronize};
use musart::musart::memory::{musaMalloc, musaMemsetAsync};
use musart::musart::stream::{
    musaLaunchHostFunc, musaStreamDestroy, musaStreamQuery, musaStreamSynchronize, musaStreamWaitEvent,
};

fn claim(stream: *mut c_void) -> i32 {
    // SAFETY: any handle may be asked for.
    unsafe { (ext().stream_claim)(stream) }
}

fn release(stream: *mut c_void) {
    // SAFETY: claimed by the caller.
    unsafe { (ext().stream_release)(stream) }
}

fn enqueue(stream: *mut c_void, gate: &Arc<Gate>) {
    // SAFETY: a fresh context.
    assert_eq!(unsafe { (ext().stream_enqueue)(stream, gate.work()) }, 0);
}

fn hand_over(stream: *mut c_void, gate: &Arc<Gate>) {
    assert_eq!(claim(stream), CLAIM_OK);
    // SAFETY: claimed just now; a fresh context.
    unsafe { (ext().stream_hand_over)(stream, gate.work()) };
}

#[test]
fn an_idle_stream_is_claimed_once() {
    let s = stream(1);
    assert_eq!(claim(s), CLAIM_OK);
    assert_eq!(claim(s), CLAIM_BUSY);
    assert_eq!(musaStreamQuery(s), 600);
    release(s);
    assert_eq!(musaStreamQuery(s), 0);
    assert_eq!(claim(s), CLAIM_OK);
    release(s);
}

#[test]
fn stale_and_wild_handles_are_refused() {
    let s = stream(1);
    assert_eq!(musaStreamDestroy(s), 0);
    assert_eq!(musaStreamDestroy(s), 400);
    let wild = [3usize, 0xdead_beef, s as usize + 8, usize::MAX, s as usize - (1 << 40)];
    for handle in wild.into_iter().chain([s as usize]) {
        assert_eq!(claim(handle as *mut c_void), CLAIM_INVALID, "{handle:#x}");
        assert_eq!(musaStreamSynchronize(handle as *mut c_void), 400, "{handle:#x}");
    }
}

#[test]
fn handed_over_work_finishes_without_anybody_waiting() {
    let (s, gate) = (stream(1), Gate::new());
    hand_over(s, &gate);
    until("the driver polls", || Gate::count(&gate.polls) > 0);
    assert_eq!(musaStreamQuery(s), 600);
    gate.open();
    until_idle(s);
    assert!(gate.is_done());
    assert_eq!(Gate::count(&gate.dropped), 1);
}

#[test]
fn a_synchronising_thread_polls_all_streams() {
    let (a, b) = (stream(1), stream(1));
    let (first, second) = (Gate::new(), Gate::new());
    hand_over(a, &first);
    hand_over(b, &second);
    let opener = second.clone();
    let chain = first.clone();
    std::thread::spawn(move || {
        until("b is polled", || Gate::count(&opener.polls) > 3);
        opener.open();
        until("b is done", || opener.is_done());
        chain.open();
    });
    assert_eq!(musaStreamSynchronize(a), 0);
    assert!(first.is_done() && second.is_done());
    assert_eq!(musaStreamSynchronize(b), 0);
}

#[test]
fn work_submitted_during_a_claim_comes_after_what_is_handed_over() {
    let (s, clock) = (stream(1), Arc::new(AtomicU32::new(0)));
    let (inner, behind) = (Gate::timed(&clock), Gate::timed(&clock));
    assert_eq!(claim(s), CLAIM_OK);
    enqueue(s, &behind);
    behind.open();
    std::thread::sleep(std::time::Duration::from_millis(5));
    assert_eq!(Gate::count(&behind.polls), 0, "it waits behind the claim");
    // SAFETY: claimed above; a fresh context.
    unsafe { (ext().stream_hand_over)(s, inner.work()) };
    inner.open();
    assert_eq!(musaStreamSynchronize(s), 0);
    assert_eq!((Gate::count(&inner.stamp), Gate::count(&behind.stamp)), (1, 2));
}

#[test]
fn work_submitted_during_a_claim_runs_after_its_release() {
    let (s, gate) = (stream(1), Gate::new());
    assert_eq!(claim(s), CLAIM_OK);
    enqueue(s, &gate);
    gate.open();
    release(s);
    until_idle(s);
    assert!(gate.is_done());
}

#[test]
fn failures_are_told_once_by_a_wait() {
    let (s, gate) = (stream(1), Gate::new());
    enqueue(s, &gate);
    gate.fail();
    assert_eq!(musaStreamSynchronize(s), 719);
    assert_eq!(musaStreamSynchronize(s), 0);
}

unsafe extern "C" fn note(arg: *mut c_void) {
    // SAFETY: the tests pass counters that live for the whole process.
    unsafe { (*arg.cast::<AtomicU32>()).fetch_add(1, Ordering::SeqCst) };
}

#[test]
fn copies_host_functions_and_polls_keep_their_order() {
    let (s, clock) = (stream(1), Arc::new(AtomicU32::new(0)));
    let (one, three) = (Gate::timed(&clock), Gate::timed(&clock));
    let mut memory = null_mut();
    // SAFETY: a valid place, and a function with its argument that lives long enough.
    unsafe {
        assert_eq!(musaMalloc(&mut memory, 64), 0);
        enqueue(s, &one);
        assert_eq!(musaLaunchHostFunc(s, Some(note), Arc::as_ptr(&clock).cast_mut().cast()), 0);
        assert_eq!(musaMemsetAsync(memory, 7, 64, s), 0);
    }
    enqueue(s, &three);
    three.open();
    std::thread::sleep(std::time::Duration::from_millis(3));
    assert_eq!(Gate::count(&three.polls), 0);
    one.open();
    assert_eq!(musaStreamSynchronize(s), 0);
    assert_eq!((Gate::count(&one.stamp), Gate::count(&three.stamp)), (1, 3));
    // SAFETY: 64 bytes of unified memory that the stream has filled.
    assert_eq!(unsafe { std::slice::from_raw_parts(memory.cast::<u8>(), 64) }, [7; 64]);
}

#[test]
fn events_carry_the_order_to_other_streams_and_threads() {
    let (a, b, clock) = (stream(1), stream(1), Arc::new(AtomicU32::new(0)));
    let (first, second) = (Gate::timed(&clock), Gate::timed(&clock));
    let mut event = null_mut();
    // SAFETY: a valid place.
    assert_eq!(unsafe { musaEventCreate(&mut event) }, 0);
    assert_eq!(musaStreamWaitEvent(b, event, 0), 0, "never recorded: nothing to wait for");
    enqueue(a, &first);
    assert_eq!(musaEventRecord(event, a), 0);
    assert_eq!(musaStreamWaitEvent(b, event, 0), 0);
    enqueue(b, &second);
    second.open();
    assert_eq!(musaEventQuery(event), 600);
    std::thread::sleep(std::time::Duration::from_millis(3));
    assert_eq!(Gate::count(&second.polls), 0);
    first.open();
    assert_eq!(musaEventSynchronize(event), 0);
    assert_eq!(musaStreamSynchronize(b), 0);
    assert_eq!((Gate::count(&first.stamp), Gate::count(&second.stamp)), (1, 2));
}

#[test]
fn the_null_stream_waits_for_blocking_streams_and_they_for_it() {
    let (blocking, free, clock) = (stream(0), stream(1), Arc::new(AtomicU32::new(0)));
    let gates: Vec<_> = (0..4).map(|_| Gate::timed(&clock)).collect();
    enqueue(blocking, &gates[0]);
    assert_eq!(claim(null_mut()), CLAIM_BUSY);
    enqueue(null_mut(), &gates[1]);
    assert_eq!(claim(blocking), CLAIM_BUSY);
    enqueue(blocking, &gates[2]);
    enqueue(free, &gates[3]);
    gates[1..].iter().for_each(|g| g.open());
    assert_eq!(musaStreamSynchronize(free), 0);
    assert!(gates[3].is_done(), "non-blocking streams are exempt");
    assert_eq!(musaStreamQuery(null_mut()), 600);
    assert_eq!(Gate::count(&gates[1].polls) + Gate::count(&gates[2].polls), 0);
    gates[0].open();
    assert_eq!(musaStreamSynchronize(null_mut()), 0);
    assert_eq!(musaStreamSynchronize(blocking), 0);
    assert_eq!(gates[..3].iter().map(|g| Gate::count(&g.stamp)).collect::<Vec<_>>(), [2, 3, 4]);
    assert_eq!(claim(null_mut()), CLAIM_OK);
    assert_eq!(claim(blocking), CLAIM_BUSY, "a claim of the null stream is work of it");
    release(null_mut());
}

#[test]
fn many_threads_on_many_streams_poll_each_context_alone() {
    let threads: Vec<_> = (0..4)
        .map(|t| {
            std::thread::spawn(move || {
                let streams: Vec<_> = (0..3).map(|_| stream(t % 2)).collect();
                for round in 0..200 {
                    let gates: Vec<_> = streams.iter().map(|_| Gate::new()).collect();
                    for (&s, gate) in streams.iter().zip(&gates) {
                        if claim(s) == CLAIM_OK {
                            // SAFETY: claimed just now; a fresh context.
                            unsafe { (ext().stream_hand_over)(s, gate.work()) };
                        } else {
                            enqueue(s, gate);
                        }
                        if round % 3 == 0 {
                            gate.open();
                        }
                    }
                    gates.iter().for_each(|g| g.open());
                    for &s in &streams {
                        assert_eq!(musaStreamSynchronize(s), 0);
                    }
                    for gate in &gates {
                        assert!(gate.is_done());
                        assert_eq!(Gate::count(&gate.overlaps), 0);
                        until("the context is dropped", || Gate::count(&gate.dropped) == 1);
                    }
                }
            })
        })
        .collect();
    threads.into_iter().for_each(|t| t.join().unwrap());
}

#[test]
fn a_destroyed_stream_finishes_its_work() {
    let (s, gate) = (stream(1), Gate::new());
    enqueue(s, &gate);
    assert_eq!(musaStreamDestroy(s), 0);
    assert_eq!(musaStreamQuery(s), 400);
    gate.open();
    until("the work is done", || Gate::count(&gate.dropped) == 1);
}

#[test]
fn the_heap_is_one_file_that_a_peer_can_map() {
    let mut info = HeapInfo { base: null_mut(), len: 0, device_span: 0, devices: 0, fd: -1 };
    let (mut memory, mut what) = (null_mut(), StreamInfo::default());
    // SAFETY: valid places.
    unsafe {
        assert_eq!((ext().heap)(&mut info), 0);
        assert_eq!(musaMalloc(&mut memory, 64 << 10), 0);
        assert_eq!((ext().stream_info)(null_mut(), &mut what), 0);
    }
    assert_eq!(info.len, info.device_span * info.devices as usize);
    let offset = memory as usize - info.base as usize;
    assert!(offset < info.device_span, "device 0 owns the first span");
    let peer = musart::sys::map::Mapping::shared(info.fd, offset, 4096).unwrap();
    // SAFETY: 4096 bytes of both mappings, which no other thread touches.
    unsafe {
        memory.cast::<u8>().add(100).write(42);
        assert_eq!(peer.base().add(100).read(), 42);
    }
    assert_eq!((what.device, what.capture, what.capture_id), (0, 0, 0));
}
