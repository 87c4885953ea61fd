//! Staged works on the double of a real runtime, without an engine.
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};

use super::mock::{self, KINDS, Kind};
use super::*;
use crate::device::WorkState;

/// Adds one to each element of the buffer, once `all` works have begun.
#[derive(Clone)]
struct Increment {
    data: usize,
    len: usize,
    began: Arc<AtomicUsize>,
    all: usize,
    counted: bool,
}

impl Work for Increment {
    fn poll(&mut self) -> WorkState {
        if !std::mem::replace(&mut self.counted, true) {
            self.began.fetch_add(1, Ordering::SeqCst);
        }
        if self.began.load(Ordering::SeqCst) < self.all {
            return WorkState::Pending;
        }
        // SAFETY: the data of the buffer that the stream keeps for this work.
        let data = unsafe { std::slice::from_raw_parts_mut(self.data as *mut i64, self.len) };
        data.iter_mut().for_each(|element| *element += 1);
        WorkState::Done
    }
    fn idle(&mut self, _: u32) {
        std::thread::yield_now();
    }
    fn rearm(&self) -> Option<Box<dyn Work>> {
        Some(Box::new(self.clone()))
    }
}

/// Pending until told to fail, then panics or fails.
struct Ends(Arc<Mutex<Option<bool>>>);

impl Work for Ends {
    fn poll(&mut self) -> WorkState {
        match *self.0.lock().unwrap() {
            None => WorkState::Pending,
            Some(false) => WorkState::Failed,
            Some(true) => panic!("planted"),
        }
    }
    fn idle(&mut self, _: u32) {
        std::thread::yield_now();
    }
    fn rearm(&self) -> Option<Box<dyn Work>> {
        None
    }
}

fn increment(
    runtime: &Staged,
    on: Option<Stream>,
    (at, len): (*mut i64, usize),
    meeting: (&Arc<AtomicUsize>, usize),
) -> StagedWork {
    let buffer = runtime.buffer(on, len * 8).unwrap();
    let data = buffer.data();
    let (began, all) = (Arc::clone(meeting.0), meeting.1);
    StagedWork {
        before: vec![Transfer { dst: data, src: at.cast(), len: len * 8 }],
        work: Box::new(Increment { data: data as usize, len, began, all, counted: false }),
        after: vec![Transfer { dst: at.cast(), src: data, len: len * 8 }],
        buffer,
    }
}

#[test]
fn works_of_many_streams_that_wait_for_each_other_all_run() {
    for kind in KINDS {
        let runtime = mock::runtime(kind);
        let began = Arc::new(AtomicUsize::new(0));
        let streams: Vec<_> = (0..6)
            .map(|i| {
                let (stream, at) = (mock::stream(kind), mock::device_copy(&[10 * i; 1000]));
                runtime.submit(stream, increment(runtime, Some(stream), (at, 1000), (&began, 6))).unwrap();
                (stream, at)
            })
            .collect();
        for (i, (stream, at)) in streams.into_iter().enumerate() {
            mock::synchronize(stream);
            assert_eq!(mock::read(at, 1000), vec![10 * i as i64 + 1; 1000], "{kind:?}");
        }
    }
}

#[test]
fn a_graph_runs_its_work_at_each_launch_and_gives_its_memory_back_at_its_end() {
    for kind in KINDS {
        let runtime = mock::runtime(kind);
        let (stream, at) = (mock::stream(kind), mock::device_copy(&[5; 300]));
        let began = Arc::new(AtomicUsize::new(0));
        mock::begin_capture(stream);
        let staged = increment(runtime, None, (at, 300), (&began, 1));
        let node = staged.buffer.data();
        runtime.submit(stream, staged).unwrap();
        let graph = mock::end_capture(stream);
        assert_eq!(began.load(Ordering::SeqCst), 0);
        (0..3).for_each(|_| graph.launch(stream));
        mock::synchronize(stream);
        assert_eq!(mock::read(at, 300), vec![8; 300], "{kind:?}");
        let meanwhile: Vec<_> = (0..4).map(|_| runtime.buffer(None, 2400).unwrap()).collect();
        assert!(meanwhile.iter().all(|buffer| buffer.data() != node));
        drop(graph);
        let began = std::time::Instant::now();
        let mut taken: Vec<Arc<Pinned>> = Vec::new();
        // Other tests may hold it for a while; it must come back.
        while !taken.iter().any(|buffer| buffer.data() == node) {
            assert!(began.elapsed().as_secs() < 60, "{kind:?}");
            taken.push(runtime.buffer(None, 2400).unwrap());
        }
    }
}

#[test]
fn a_work_that_fails_or_panics_lets_its_stream_go_on() {
    for (kind, panics) in KINDS.into_iter().flat_map(|kind| [(kind, false), (kind, true)]) {
        let runtime = mock::runtime(kind);
        let (stream, at) = (mock::stream(kind), mock::device_copy(&[1; 8]));
        let order = Arc::new(Mutex::new(None));
        runtime.enqueue(stream, Box::new(Ends(Arc::clone(&order)))).unwrap();
        let began = Arc::new(AtomicUsize::new(0));
        runtime.submit(stream, increment(runtime, Some(stream), (at, 8), (&began, 1))).unwrap();
        std::thread::sleep(std::time::Duration::from_millis(5));
        assert_eq!(began.load(Ordering::SeqCst), 0, "the stream did not wait");
        *order.lock().unwrap() = Some(panics);
        mock::synchronize(stream);
        assert_eq!(mock::read(at, 8), vec![2; 8], "{kind:?}");
    }
}

#[test]
fn a_copy_that_the_runtime_refuses_is_an_error_and_the_stream_stays_usable() {
    let runtime = mock::runtime(Kind::WaitsByValue);
    let (stream, at) = (mock::stream(Kind::WaitsByValue), mock::device_copy(&[1; 8]));
    let began = Arc::new(AtomicUsize::new(0));
    let mut staged = increment(runtime, Some(stream), (at, 8), (&began, 1));
    staged.after[0].dst = at.wrapping_add(100 << 20).cast();
    let error = runtime.submit(stream, staged).unwrap_err();
    assert!(error.to_string().contains("musaMemcpyAsync: musaErrorInvalidValue (1)"), "{error}");
    runtime.submit(stream, increment(runtime, Some(stream), (at, 8), (&Arc::default(), 1))).unwrap();
    mock::synchronize(stream);
    assert_eq!(mock::read(at, 8), vec![2; 8]);
}

#[test]
fn memory_is_reused_and_never_more_than_the_most_in_use() {
    let api = Arc::clone(&mock::runtime(Kind::WaitsByValue).api);
    let pool = Pool::new(api);
    let first = pool.take(1 << 20).unwrap();
    let at = first.data();
    drop(first);
    assert_eq!(pool.take(1 << 20).unwrap().data(), at);
    let size = pool.sizes().1;
    // Each of these is smaller than half of what is idle, so that it needs a block of its own.
    for shift in (12..19).rev() {
        drop(pool.take(1 << shift).unwrap());
        assert!(pool.sizes().0 == 0 && pool.sizes().1 <= size, "{:?}", pool.sizes());
    }
    let both = (pool.take(1 << 20).unwrap(), pool.take(1 << 20).unwrap());
    assert_eq!(pool.sizes(), (2 * size, 2 * size));
    drop(both);
    assert_eq!(pool.sizes(), (0, 2 * size));
}

#[test]
fn any_number_of_queued_works_of_a_stream_uses_one_buffer_and_each_sees_the_one_before() {
    for kind in KINDS {
        let runtime = mock::runtime(kind);
        let (stream, at) = (mock::stream(kind), mock::device_copy(&[0; 500]));
        let order = Arc::new(Mutex::new(None));
        runtime.enqueue(stream, Box::new(Ends(Arc::clone(&order)))).unwrap();
        let began = Arc::new(AtomicUsize::new(0));
        let mut places = Vec::new();
        for _ in 0..100 {
            let staged = increment(runtime, Some(stream), (at, 500), (&began, 1));
            places.push(staged.buffer.data());
            runtime.submit(stream, staged).unwrap();
        }
        places.dedup();
        assert_eq!((places.len(), began.load(Ordering::SeqCst)), (1, 0));
        *order.lock().unwrap() = Some(false);
        mock::synchronize(stream);
        assert_eq!(mock::read(at, 500), vec![100; 500], "{kind:?}");
    }
}

#[test]
fn threads_that_use_one_stream_do_not_mix_their_works() {
    let (kind, runtime) = (Kind::WaitsByValue, mock::runtime(Kind::WaitsByValue));
    let stream = mock::stream(kind);
    let places: Vec<usize> = (0..4).map(|_| mock::device_copy(&[0; 64]) as usize).collect();
    std::thread::scope(|scope| {
        for at in &places {
            let stream = Stream(stream.0);
            scope.spawn(move || {
                let (stream, at) = (stream, *at as *mut i64);
                for _ in 0..50 {
                    let staged = increment(runtime, Some(stream), (at, 64), (&Arc::default(), 1));
                    runtime.submit(stream, staged).unwrap();
                }
            });
        }
    });
    mock::synchronize(stream);
    for at in places {
        assert_eq!(mock::read(at as *const i64, 64), vec![50; 64]);
    }
}

#[test]
fn the_host_cannot_touch_device_addresses_of_the_double() {
    let at = mock::device_copy(&[1]);
    assert!(mock::runtime(Kind::WaitsByValue).on_device(at.cast()).unwrap());
    let here = 1i64;
    assert!(!mock::runtime(Kind::WaitsByValue).on_device((&raw const here).cast()).unwrap());
    let me = crate::sys::Process::open(std::process::id()).unwrap();
    assert!(me.read_bytes(at as usize, &mut [0; 8]).is_err());
}
