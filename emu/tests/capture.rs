//! Capture, graphs and their launches, with resumable work among the nodes.

mod common;

use std::ffi::{CString, c_void};
use std::ptr::{null, null_mut};
use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering};

use common::{Gate, ext, stream, until};
use mccl_emu_ext::{CLAIM_BUSY, CLAIM_CAPTURING, PollableVTable, StreamInfo};
use musart::musart::event::{
    musaEventCreate, musaEventQuery, musaEventRecord, musaEventRecordWithFlags, musaEventSynchronize,
};
use musart::musart::graph::{
    musaGraphAddDependencies, musaGraphAddEmptyNode, musaGraphAddHostNode, musaGraphAddMemcpyNode1D,
    musaGraphAddMemsetNode, musaGraphCreate, musaGraphDebugDotPrint, musaGraphDestroy, musaGraphExecDestroy,
    musaGraphGetNodes, musaGraphInstantiate, musaGraphLaunch, musaGraphRetainUserObject,
    musaUserObjectCreate, musaUserObjectRelease,
};
use musart::musart::memory::{musaMalloc, musaMemcpyAsync, musaMemsetAsync};
use musart::musart::stream::{
    musaLaunchHostFunc, musaStreamBeginCapture, musaStreamEndCapture, musaStreamGetCaptureInfo_v2,
    musaStreamIsCapturing, musaStreamQuery, musaStreamSynchronize, musaStreamUpdateCaptureDependencies,
    musaStreamWaitEvent, musaThreadExchangeStreamCaptureMode,
};
use musart::musart::types::{musaHostNodeParams, musaMemsetParams};

const THREAD_LOCAL: i32 = 1;
const RELAXED: i32 = 2;

type Handle = *mut c_void;

fn made(make: impl FnOnce(*mut Handle) -> i32) -> Handle {
    let mut handle = null_mut();
    assert_eq!(make(&mut handle), 0);
    handle
}

fn event() -> Handle {
    // SAFETY: a valid place.
    made(|out| unsafe { musaEventCreate(out) })
}

fn end(s: Handle) -> Handle {
    // SAFETY: a valid place.
    made(|out| unsafe { musaStreamEndCapture(s, out) })
}

fn instantiate(graph: Handle) -> Handle {
    // SAFETY: a valid place.
    made(|out| unsafe { musaGraphInstantiate(out, graph) })
}

fn memory(len: usize) -> Handle {
    // SAFETY: a valid place.
    made(|out| unsafe { musaMalloc(out, len) })
}

fn enqueue(s: Handle, gate: &Arc<Gate>) -> i32 {
    // SAFETY: a fresh context, which a failure leaves to us; the test leaks it then.
    unsafe { (ext().stream_enqueue)(s, gate.work()) }
}

fn byte(at: Handle) -> u8 {
    // SAFETY: the tests pass live allocations and wait for their streams.
    unsafe { at.cast::<u8>().read_volatile() }
}

unsafe extern "C" fn count(arg: Handle) {
    // SAFETY: the tests pass counters that outlive the streams' work.
    unsafe { (*arg.cast::<AtomicU32>()).fetch_add(1, Ordering::SeqCst) };
}

fn counter_argument(counter: &Arc<AtomicU32>) -> Handle {
    Arc::as_ptr(counter).cast_mut().cast()
}

#[test]
fn captured_work_runs_at_each_launch_and_not_before() {
    let (s, clock) = (stream(1), Arc::new(AtomicU32::new(0)));
    let (a, b) = (memory(64), memory(64));
    assert_eq!(musaStreamBeginCapture(s, RELAXED), 0);
    // SAFETY: live allocations and a counter that outlives the work.
    unsafe {
        assert_eq!(musaMemsetAsync(a, 5, 64, s), 0);
        assert_eq!(musaMemcpyAsync(b, a, 64, 3, s), 0);
        assert_eq!(musaLaunchHostFunc(s, Some(count), counter_argument(&clock)), 0);
    }
    let graph = end(s);
    assert_eq!((byte(b), clock.load(Ordering::SeqCst)), (0, 0));
    let executable = instantiate(graph);
    assert_eq!(musaGraphDestroy(graph), 0);
    for launch in 1..=3 {
        assert_eq!(musaGraphLaunch(executable, s), 0);
        assert_eq!(musaStreamSynchronize(s), 0);
        assert_eq!((byte(b), clock.load(Ordering::SeqCst)), (5, launch));
    }
    assert_eq!(musaGraphExecDestroy(executable), 0);
    assert_eq!(musaGraphLaunch(executable, s), 400);
}

#[test]
fn a_captured_pollable_is_rearmed_for_each_launch_and_dropped_once_each() {
    let (s, gate) = (stream(1), Gate::new());
    assert_eq!(musaStreamBeginCapture(s, THREAD_LOCAL), 0);
    let mut info = StreamInfo::default();
    // SAFETY: a live stream and a valid place.
    unsafe {
        assert_eq!((ext().stream_claim)(s), CLAIM_CAPTURING);
        assert_eq!((ext().stream_info)(s, &mut info), 0);
    }
    assert_eq!(info.capture, 1);
    assert_ne!(info.capture_id, 0);
    assert_eq!(enqueue(s, &gate), 0);
    let graph = end(s);
    let executable = instantiate(graph);
    for _ in 0..3 {
        assert_eq!(musaGraphLaunch(executable, s), 0);
    }
    assert_eq!(Gate::count(&gate.rearmed), 3, "on the launching thread");
    assert_eq!(musaGraphExecDestroy(executable), 0);
    assert_eq!(musaGraphDestroy(graph), 0);
    assert_eq!(musaStreamQuery(s), 600);
    gate.open();
    assert_eq!(musaStreamSynchronize(s), 0);
    assert_eq!((Gate::count(&gate.done), Gate::count(&gate.overlaps)), (3, 0));
    until("all four contexts are dropped", || Gate::count(&gate.dropped) == 4);
}

#[test]
fn work_without_rearm_invalidates_the_capture_and_stays_with_its_owner() {
    let (s, gate) = (stream(1), Gate::new());
    let mut work = gate.work();
    // SAFETY: the vtable of the gate is static.
    let full = unsafe { &*work.vtable };
    let bare = PollableVTable { poll: full.poll, idle: full.idle, rearm: None, drop: full.drop };
    work.vtable = &bare;
    assert_eq!(musaStreamBeginCapture(s, RELAXED), 0);
    // SAFETY: a fresh context, which the refusal leaves to us.
    unsafe {
        assert_eq!((ext().stream_enqueue)(s, work), 900);
        assert_eq!(Gate::count(&gate.dropped), 0);
        (full.drop)(work.ctx);
        let mut graph = null_mut();
        assert_eq!(musaStreamEndCapture(s, &mut graph), 901);
    }
    assert_eq!(musaStreamQuery(s), 0);
}

#[test]
fn streams_fork_and_join_through_events_and_branches_advance_together() {
    let (a, b) = (stream(1), stream(1));
    let (fork, join) = (event(), event());
    let (first, second) = (Gate::new(), Gate::new());
    assert_eq!(musaStreamBeginCapture(a, RELAXED), 0);
    assert_eq!(musaEventRecord(fork, a), 0);
    assert_eq!(musaStreamWaitEvent(b, fork, 0), 0);
    assert_eq!(enqueue(a, &first), 0);
    assert_eq!(enqueue(b, &second), 0);
    assert_eq!(musaEventRecord(join, b), 0);
    assert_eq!(musaEventQuery(join), 907);
    assert_eq!(musaEventSynchronize(join), 907);
    assert_eq!(musaStreamWaitEvent(a, join, 0), 0);
    let executable = instantiate(end(a));
    let mut status = -1;
    // SAFETY: a valid place.
    assert_eq!(unsafe { musaStreamIsCapturing(b, &mut status) }, 0);
    assert_eq!(status, 0, "the other stream is free too");
    assert_eq!(musaGraphLaunch(executable, a), 0);
    second.open();
    until("the second branch is done", || second.is_done());
    assert!(!first.is_done());
    first.open();
    assert_eq!(musaStreamSynchronize(a), 0);
}

#[test]
fn unjoined_work_and_foreign_streams_are_errors_at_the_end() {
    let (a, b, fork) = (stream(1), stream(1), event());
    assert_eq!(musaStreamBeginCapture(a, RELAXED), 0);
    assert_eq!(musaStreamBeginCapture(a, RELAXED), 401);
    assert_eq!(enqueue(a, &Gate::new()), 0);
    assert_eq!(musaEventRecord(fork, a), 0);
    assert_eq!(musaStreamWaitEvent(b, fork, 0), 0);
    assert_eq!(enqueue(b, &Gate::new()), 0);
    let mut graph = null_mut();
    // SAFETY: a valid place.
    assert_eq!(unsafe { musaStreamEndCapture(a, &mut graph) }, 904);
    assert!(graph.is_null());
    // SAFETY: a valid place.
    assert_eq!(unsafe { musaStreamEndCapture(a, &mut graph) }, 401);

    assert_eq!(musaStreamBeginCapture(a, RELAXED), 0);
    assert_eq!(musaEventRecord(fork, a), 0);
    assert_eq!(musaStreamWaitEvent(b, fork, 0), 0);
    // SAFETY: a valid place.
    unsafe {
        assert_eq!(musaStreamEndCapture(b, &mut graph), 903);
        assert_eq!(musaStreamEndCapture(a, &mut graph), 901);
    }
}

#[test]
fn waits_on_a_capturing_stream_invalidate_its_capture() {
    let s = stream(1);
    for call in [musaStreamQuery as extern "C" fn(Handle) -> i32, musaStreamSynchronize] {
        assert_eq!(musaStreamBeginCapture(s, RELAXED), 0);
        assert_eq!(call(s), 900);
        let mut graph = null_mut();
        // SAFETY: a valid place.
        assert_eq!(unsafe { musaStreamEndCapture(s, &mut graph) }, 901);
    }
}

#[test]
fn unsafe_calls_follow_the_mode_of_capture_and_thread() {
    let s = stream(1);
    let allocate = || {
        let mut out = null_mut();
        // SAFETY: a valid place.
        unsafe { musaMalloc(&mut out, 64) }
    };
    assert_eq!(musaStreamBeginCapture(s, THREAD_LOCAL), 0);
    assert_eq!(std::thread::spawn(allocate_elsewhere).join().unwrap(), 0, "other threads are free");
    let mut mode = RELAXED;
    // SAFETY: a valid place.
    assert_eq!(unsafe { musaThreadExchangeStreamCaptureMode(&mut mode) }, 0);
    assert_eq!((mode, allocate()), (0, 0));
    // SAFETY: a valid place.
    assert_eq!(unsafe { musaThreadExchangeStreamCaptureMode(&mut mode) }, 0);
    assert_eq!((mode, allocate()), (RELAXED, 900));
    let mut graph = null_mut();
    // SAFETY: a valid place.
    assert_eq!(unsafe { musaStreamEndCapture(s, &mut graph) }, 901);
}

fn allocate_elsewhere() -> i32 {
    let mut out = null_mut();
    // SAFETY: a valid place.
    unsafe { musaMalloc(&mut out, 64) }
}

#[test]
fn capture_info_tells_the_graph_and_dependencies_can_be_changed() {
    let s = stream(1);
    let a = memory(64);
    assert_eq!(musaStreamBeginCapture(s, RELAXED), 0);
    // SAFETY: a live allocation and valid places.
    unsafe {
        assert_eq!(musaMemsetAsync(a, 1, 64, s), 0);
        let (mut status, mut id, mut graph, mut nodes, mut number) = (-1, 0, null_mut(), null(), 0);
        let read = musaStreamGetCaptureInfo_v2(s, &mut status, &mut id, &mut graph, &mut nodes, &mut number);
        assert_eq!((read, status, number), (0, 1, 1));
        let counter = Arc::new(AtomicU32::new(0));
        let params = musaHostNodeParams { r#fn: Some(count), userData: counter_argument(&counter) };
        let mut own = made(|out| musaGraphAddHostNode(out, graph, nodes, number, &params));
        assert_eq!(musaStreamUpdateCaptureDependencies(s, &mut own, 1, 1), 0);
        assert_eq!(
            musaStreamGetCaptureInfo_v2(s, &mut status, null_mut(), null_mut(), &mut nodes, &mut number),
            0
        );
        assert_eq!((number, *nodes), (1, own));
        assert_eq!(musaGraphDestroy(graph), 900, "the capture has it");
        assert_eq!(end(s), graph);
        assert_eq!(musaGraphLaunch(instantiate(graph), s), 0);
        assert_eq!(musaStreamSynchronize(s), 0);
        assert_eq!((byte(a), counter.load(Ordering::SeqCst)), (1, 1));
    }
}

#[test]
fn graphs_are_built_by_hand_sorted_and_checked_for_cycles() {
    let (s, a, b) = (stream(1), memory(64), memory(64));
    // SAFETY: live allocations and valid places throughout.
    unsafe {
        let graph = made(|out| musaGraphCreate(out, 0));
        let copy = made(|out| musaGraphAddMemcpyNode1D(out, graph, null(), 0, b, a, 64, 3));
        let params = musaMemsetParams { dst: a, pitch: 0, value: 9, elementSize: 1, width: 64, height: 1 };
        let fill = made(|out| musaGraphAddMemsetNode(out, graph, null(), 0, &params));
        let last = made(|out| musaGraphAddEmptyNode(out, graph, &copy, 1));
        assert_eq!(musaGraphAddDependencies(graph, &fill, &copy, 1), 0);
        let mut number = 0;
        assert_eq!(musaGraphGetNodes(graph, null_mut(), &mut number), 0);
        assert_eq!(number, 3);
        let executable = instantiate(graph);
        assert_eq!(musaGraphLaunch(executable, s), 0);
        assert_eq!(musaStreamSynchronize(s), 0);
        assert_eq!(byte(b), 9);

        let path = std::env::temp_dir().join(format!("mccl-emu-{}.dot", std::process::id()));
        let text = CString::new(path.to_str().unwrap()).unwrap();
        assert_eq!(musaGraphDebugDotPrint(graph, text.as_ptr(), 0), 0);
        let dot = std::fs::read_to_string(&path).unwrap();
        std::fs::remove_file(&path).unwrap();
        assert!(
            dot.starts_with("digraph") && dot.contains("n1 -> n0") && dot.contains("fill 64 bytes"),
            "{dot}"
        );

        assert_eq!(musaGraphAddDependencies(graph, &last, &fill, 1), 0);
        let mut refused = null_mut();
        assert_eq!(musaGraphInstantiate(&mut refused, graph), 1);
    }
}

#[test]
fn user_objects_live_until_graph_and_executable_are_gone() {
    let destroyed = Arc::new(AtomicU32::new(0));
    // SAFETY: valid places; the counter outlives everything.
    unsafe {
        let graph = made(|out| musaGraphCreate(out, 0));
        let object = made(|out| musaUserObjectCreate(out, counter_argument(&destroyed), Some(count), 2, 1));
        assert_eq!(musaGraphRetainUserObject(graph, object, 1, 1), 0);
        assert_eq!(musaUserObjectRelease(object, 2), 1, "one reference was moved");
        assert_eq!(musaUserObjectRelease(object, 1), 0);
        let executable = instantiate(graph);
        assert_eq!(musaGraphDestroy(graph), 0);
        assert_eq!(destroyed.load(Ordering::SeqCst), 0);
        assert_eq!(musaGraphExecDestroy(executable), 0);
        assert_eq!(destroyed.load(Ordering::SeqCst), 1);
    }
}

#[test]
fn a_launch_inside_a_capture_becomes_part_of_it() {
    let (s, counter) = (stream(1), Arc::new(AtomicU32::new(0)));
    assert_eq!(musaStreamBeginCapture(s, RELAXED), 0);
    // SAFETY: a counter that outlives the work.
    assert_eq!(unsafe { musaLaunchHostFunc(s, Some(count), counter_argument(&counter)) }, 0);
    let inner = instantiate(end(s));
    assert_eq!(musaStreamBeginCapture(s, RELAXED), 0);
    assert_eq!(musaGraphLaunch(inner, s), 0);
    assert_eq!(musaGraphLaunch(inner, s), 0);
    let outer = instantiate(end(s));
    assert_eq!(musaGraphExecDestroy(inner), 0);
    assert_eq!(musaGraphLaunch(outer, s), 0);
    assert_eq!(musaStreamSynchronize(s), 0);
    assert_eq!(counter.load(Ordering::SeqCst), 2);
}

#[test]
fn external_event_nodes_signal_at_each_launch() {
    let (s, e, gate) = (stream(1), event(), Gate::new());
    assert_eq!(musaStreamBeginCapture(s, RELAXED), 0);
    assert_eq!(enqueue(s, &gate), 0);
    assert_eq!(musaEventRecordWithFlags(e, s, 1), 0);
    let executable = instantiate(end(s));
    assert_eq!(musaEventQuery(e), 0, "never recorded");
    assert_eq!(musaGraphLaunch(executable, s), 0);
    assert_eq!(musaEventQuery(e), 600);
    gate.open();
    assert_eq!(musaEventSynchronize(e), 0);
    assert_eq!(musaStreamSynchronize(s), 0);
}

#[test]
fn a_host_node_and_a_pollable_branch_both_finish() {
    let (a, b, fork, join) = (stream(1), stream(1), event(), event());
    let (gate, counter) = (Gate::new(), Arc::new(AtomicU32::new(0)));
    assert_eq!(musaStreamBeginCapture(a, RELAXED), 0);
    assert_eq!(musaEventRecord(fork, a), 0);
    assert_eq!(musaStreamWaitEvent(b, fork, 0), 0);
    assert_eq!(enqueue(a, &gate), 0);
    // SAFETY: a counter that outlives the work.
    assert_eq!(unsafe { musaLaunchHostFunc(b, Some(count), counter_argument(&counter)) }, 0);
    assert_eq!(musaEventRecord(join, b), 0);
    assert_eq!(musaStreamWaitEvent(a, join, 0), 0);
    let executable = instantiate(end(a));
    assert_eq!(musaGraphLaunch(executable, a), 0);
    // SAFETY: a live stream.
    assert_eq!(unsafe { (ext().stream_claim)(a) }, CLAIM_BUSY);
    let opener = {
        let (gate, counter) = (gate.clone(), counter.clone());
        std::thread::spawn(move || {
            until("the host function runs beside the pollable", || counter.load(Ordering::SeqCst) == 1);
            gate.open();
        })
    };
    assert_eq!(musaStreamSynchronize(a), 0);
    opener.join().unwrap();
}
