//! The duties of `mccl::device::Runtime` as tests over any runtime; each implementation adds one line.
use std::ffi::{CStr, c_int, c_void};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

use mccl::device::emulated::Emulated;
use mccl::device::musa::Source;
use mccl::device::staged::Staged;
use mccl::device::{Claim, Runtime, Stream, Work, WorkState};
use mccl::sys::Library;

/// How long anything may take before the test says what it waits for.
const PATIENCE: Duration = Duration::from_secs(60);

#[test]
fn the_emulated_runtime_keeps_the_contract() {
    let source = Source::File(library());
    let runtime = Emulated::load(&source).unwrap().expect("the library has the extension");
    let api = Api::of(&source);
    an_idle_stream_can_be_claimed_and_what_comes_meanwhile_waits(&runtime, &api);
    exported_memory_has_stable_offsets(&runtime);
    every_runtime(&runtime, &api);
}

#[test]
fn the_staged_runtime_keeps_the_contract() {
    let source = Source::File(library());
    let runtime = Staged::load(&source).unwrap();
    let api = Api::of(&source);
    every_runtime(&runtime, &api);
}

fn every_runtime(runtime: &dyn Runtime, api: &Api) {
    devices_are_counted_and_named(runtime);
    work_runs_in_the_order_of_submission(runtime, api);
    handed_over_work_runs_to_its_end(runtime, api);
    captured_work_runs_once_per_launch_and_never_at_capture(runtime, api);
    a_wild_stream_is_an_error(runtime);
}

fn devices_are_counted_and_named(runtime: &dyn Runtime) {
    let count = runtime.device_count().unwrap();
    assert!(count > 0);
    runtime.set_device(count - 1).unwrap();
    assert_eq!(runtime.current_device().unwrap(), count - 1);
    assert_ne!(runtime.bus_id(0).unwrap(), runtime.bus_id(count - 1).unwrap());
    assert!(runtime.set_device(count).is_err());
    runtime.set_device(0).unwrap();
}

fn an_idle_stream_can_be_claimed_and_what_comes_meanwhile_waits(runtime: &dyn Runtime, api: &Api) {
    let (stream, log) = (api.stream(), Log::default());
    assert_eq!(runtime.claim(stream).unwrap(), Claim::Inline);
    assert_eq!(runtime.claim(stream).unwrap(), Claim::Busy);
    runtime.enqueue(stream, log.work(1, 3)).unwrap();
    std::thread::sleep(Duration::from_millis(20));
    assert_eq!(log.ended(), [], "work ran while the stream was claimed");
    runtime.release(stream);
    api.synchronize(stream);
    assert_eq!(log.ended(), [1]);
    assert_eq!(runtime.claim(stream).unwrap(), Claim::Inline);
    runtime.release(stream);
    log.wait_for_drops(1);
}

fn exported_memory_has_stable_offsets(runtime: &dyn Runtime) {
    let export = runtime.export().unwrap().expect("memory is exported");
    let ptr = runtime.alloc(4096).unwrap();
    let offset = runtime.export_offset(ptr.cast()).expect("device memory is in the export");
    assert!(offset + 4096 <= export.len as u64);
    assert_eq!(runtime.export_offset(ptr.cast::<u8>().wrapping_add(100)), Some(offset + 100));
    assert_eq!(runtime.export_offset((&raw const offset).cast()), None, "the stack is not");
    runtime.free(ptr).unwrap();
}

fn work_runs_in_the_order_of_submission(runtime: &dyn Runtime, api: &Api) {
    let (stream, log) = (api.stream(), Log::default());
    for number in 0..20 {
        runtime.enqueue(stream, log.work(number, number % 4)).unwrap();
    }
    api.synchronize(stream);
    assert_eq!(log.ended(), (0..20).collect::<Vec<_>>());
    log.wait_for_drops(20);
}

fn handed_over_work_runs_to_its_end(runtime: &dyn Runtime, api: &Api) {
    let (stream, log) = (api.stream(), Log::default());
    let _ = runtime.claim(stream).unwrap();
    runtime.hand_over(stream, log.work(7, 100));
    runtime.enqueue(stream, log.work(8, 0)).unwrap();
    // Nobody helps: the runtime has to go on by itself.
    let begin = Instant::now();
    while log.ended() != [7, 8] {
        assert!(begin.elapsed() < PATIENCE, "handed-over work stands still: {:?}", log.ended());
        std::thread::sleep(Duration::from_millis(1));
    }
    api.synchronize(stream);
    log.wait_for_drops(2);
}

fn captured_work_runs_once_per_launch_and_never_at_capture(runtime: &dyn Runtime, api: &Api) {
    let (stream, log) = (api.stream(), Log::default());
    let exec = api.capture(stream, || {
        assert_eq!(runtime.claim(stream).unwrap(), Claim::Capturing);
        runtime.enqueue(stream, log.work(5, 2)).unwrap();
    });
    std::thread::sleep(Duration::from_millis(20));
    assert_eq!(log.ended(), [], "capturing ran the work");
    for launches in 1..=3 {
        api.launch(exec, stream);
        api.synchronize(stream);
        assert_eq!(log.ended(), vec![5; launches]);
    }
}

fn a_wild_stream_is_an_error(runtime: &dyn Runtime) {
    let log = Log::default();
    assert!(runtime.enqueue(Stream(0x1234_5678 as *mut c_void), log.work(1, 0)).is_err());
    log.wait_for_drops(1);
}

/// What became of the work that was made from it.
#[derive(Clone, Default)]
struct Log {
    ended: Arc<Mutex<Vec<u32>>>,
    dropped: Arc<AtomicUsize>,
}

impl Log {
    /// Work that is pending for some polls.
    fn work(&self, number: u32, polls: u32) -> Box<dyn Work> {
        Box::new(Counted { number, polls, left: polls, log: self.clone() })
    }

    fn ended(&self) -> Vec<u32> {
        self.ended.lock().unwrap().clone()
    }

    /// Every piece of work was dropped, and none twice.
    fn wait_for_drops(&self, want: usize) {
        let begin = Instant::now();
        while self.dropped.load(Ordering::Acquire) < want {
            assert!(begin.elapsed() < PATIENCE, "work was not dropped");
            std::thread::sleep(Duration::from_millis(1));
        }
        assert_eq!(self.dropped.load(Ordering::Acquire), want);
    }
}

struct Counted {
    number: u32,
    polls: u32,
    left: u32,
    log: Log,
}

impl Work for Counted {
    fn poll(&mut self) -> WorkState {
        if self.left > 0 {
            self.left -= 1;
            return WorkState::Pending;
        }
        self.log.ended.lock().unwrap().push(self.number);
        WorkState::Done
    }

    fn idle(&mut self, _: u32) {
        std::thread::yield_now();
    }

    fn rearm(&self) -> Option<Box<dyn Work>> {
        Some(self.log.work(self.number, self.polls))
    }
}

impl Drop for Counted {
    fn drop(&mut self) {
        self.log.dropped.fetch_add(1, Ordering::Release);
    }
}

/// The runtime's own functions that a caller uses around the work.
struct Api {
    source: usize,
    find: fn(usize, &CStr) -> usize,
}

type Create = unsafe extern "C" fn(*mut *mut c_void) -> c_int;
type OnStream = unsafe extern "C" fn(*mut c_void) -> c_int;
type Begin = unsafe extern "C" fn(*mut c_void, c_int) -> c_int;
type Pair = unsafe extern "C" fn(*mut c_void, *mut *mut c_void) -> c_int;
type Instantiate =
    unsafe extern "C" fn(*mut *mut c_void, *mut c_void, *mut c_void, *mut c_void, usize) -> c_int;
type Launch = unsafe extern "C" fn(*mut c_void, *mut c_void) -> c_int;

macro_rules! call {
    ($api:expr, $name:literal, $signature:ty, $($arg:expr),*) => {{
        let address = ($api.find)($api.source, $name);
        // SAFETY: the symbol of this name has this signature in every MUSA runtime.
        let function = unsafe { std::mem::transmute::<usize, $signature>(address) };
        // SAFETY: the arguments are handles of the runtime and places for its results.
        assert_eq!(unsafe { function($($arg),*) }, 0, "{:?}", $name);
    }};
}

impl Api {
    fn of(source: &Source) -> Self {
        let find = |source: usize, name: &CStr| {
            // SAFETY: the source outlives the interface in every test.
            let source = unsafe { &*(source as *const Source) };
            source.find(name).map(|p| p.as_ptr() as usize).unwrap_or_else(|| panic!("{name:?} is missing"))
        };
        Self { source: std::ptr::from_ref(source) as usize, find }
    }

    fn stream(&self) -> Stream {
        let mut stream = std::ptr::null_mut();
        call!(self, c"musaStreamCreate", Create, &mut stream);
        Stream(stream)
    }

    fn synchronize(&self, stream: Stream) {
        call!(self, c"musaStreamSynchronize", OnStream, stream.0);
    }

    fn capture(&self, stream: Stream, act: impl FnOnce()) -> *mut c_void {
        let (mut graph, mut exec) = (std::ptr::null_mut(), std::ptr::null_mut());
        call!(self, c"musaStreamBeginCapture", Begin, stream.0, 0);
        act();
        call!(self, c"musaStreamEndCapture", Pair, stream.0, &mut graph);
        let null = std::ptr::null_mut();
        call!(self, c"musaGraphInstantiate", Instantiate, &mut exec, graph, null, null, 0);
        exec
    }

    fn launch(&self, exec: *mut c_void, stream: Stream) {
        call!(self, c"musaGraphLaunch", Launch, exec, stream.0);
    }
}

fn library() -> Library {
    let path = ffi_tests::cc::library_folder().join("libmusart.so");
    // SAFETY: the emulated runtime of this build.
    unsafe { Library::open(&path) }.unwrap_or_else(|e| panic!("{}: {e}", path.display()))
}
