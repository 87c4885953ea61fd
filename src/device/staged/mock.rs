//! A double of a real runtime for tests: device addresses are no addresses of the process, streams are threads, and all
//! host functions of streams that share run on one thread. Whoever dereferences device memory on the host dies.
use std::cell::Cell;
use std::ffi::{CStr, c_char, c_int, c_uint, c_void};
use std::ptr::NonNull;
use std::sync::atomic::{AtomicU32, AtomicUsize, Ordering};
use std::sync::mpsc::{Sender, channel};
use std::sync::{Arc, LazyLock, Mutex, OnceLock, PoisonError};
use std::time::{Duration, Instant};

use crate::device::Stream;
use crate::device::staged::Staged;
use crate::device::staged::api::HostFn;
use crate::sys::Scratch;

/// Not canonical on x86-64 and far above every mapping elsewhere: no access to it succeeds.
const DEVICE: usize = 0x0D00_0000_0000_0000;
const DEVICE_LEN: usize = 256 << 20;
/// Registered host memory has other addresses on the device.
const VIEW: u64 = 0x0E00_0000_0000_0000;
const INVALID: c_int = 1;
const NOT_READY: c_int = 600;
const NOT_PERMITTED: c_int = 800;

/// How the streams of a double behave.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    /// Stream memory operations, and one thread for all host functions.
    WaitsByValue,
    /// No stream memory operations, and a thread for the host functions of each stream.
    WaitsInHostFunctions,
}

pub const KINDS: [Kind; 2] = [Kind::WaitsByValue, Kind::WaitsInHostFunctions];

#[derive(Clone)]
enum Step {
    Copy { dst: usize, src: usize, len: usize },
    Host { call: HostFn, context: usize },
    Wait { flag: usize, value: u32 },
}

struct MockStream {
    steps: Sender<Step>,
    pending: Arc<AtomicUsize>,
    captured: Mutex<Option<Graph>>,
}

#[derive(Default)]
pub struct Graph {
    steps: Vec<Step>,
    ends: Vec<(HostFn, usize)>,
}

struct Device {
    memory: Scratch,
    used: AtomicUsize,
}

// SAFETY: the memory is only copied from and to, in ranges that tests hand out once.
unsafe impl Sync for Device {}
// SAFETY: as above.
unsafe impl Send for Device {}

static MEMORY: LazyLock<Device> =
    LazyLock::new(|| Device { memory: Scratch::new(DEVICE_LEN).unwrap(), used: AtomicUsize::new(0) });
static REGISTERED: Mutex<Vec<(usize, usize)>> = Mutex::new(Vec::new());

thread_local! {
    static IN_HOST_FUNCTION: Cell<bool> = const { Cell::new(false) };
    static DEVICE_NUMBER: Cell<c_int> = const { Cell::new(0) };
}

/// A runtime of this kind, through the same table that a real one fills.
pub fn runtime(kind: Kind) -> &'static Staged {
    static MADE: [OnceLock<Staged>; 2] = [OnceLock::new(), OnceLock::new()];
    MADE[kind as usize].get_or_init(|| {
        let driver = move |name: &CStr| (kind == Kind::WaitsByValue).then(|| find(name)).flatten();
        Staged::with(find, driver).unwrap()
    })
}

/// A new stream; it lives as long as the process.
pub fn stream(kind: Kind) -> Stream {
    static SHARED: LazyLock<Sender<Box<dyn FnOnce() + Send>>> = LazyLock::new(|| {
        let (give, take) = channel::<Box<dyn FnOnce() + Send>>();
        std::thread::spawn(move || take.into_iter().for_each(|call| call()));
        give
    });
    let (steps, todo) = channel();
    let pending = Arc::new(AtomicUsize::new(0));
    let left = Arc::clone(&pending);
    std::thread::spawn(move || {
        for step in todo {
            match step {
                Step::Host { call, context } if kind == Kind::WaitsByValue => {
                    let (done, wait) = channel();
                    let run = move || {
                        run(Step::Host { call, context });
                        done.send(()).unwrap();
                    };
                    SHARED.send(Box::new(run)).unwrap();
                    wait.recv().unwrap();
                }
                step => run(step),
            }
            left.fetch_sub(1, Ordering::SeqCst);
        }
    });
    Stream(Box::into_raw(Box::new(MockStream { steps, pending, captured: Mutex::new(None) })).cast())
}

fn run(step: Step) {
    match step {
        // SAFETY: the submitter promised both ranges; device ranges were checked.
        Step::Copy { dst, src, len } => unsafe {
            std::ptr::copy(real(src, len).unwrap() as *const u8, real(dst, len).unwrap() as *mut u8, len);
        },
        Step::Host { call, context } => {
            IN_HOST_FUNCTION.set(true);
            // SAFETY: the submitter promised a function that takes this context.
            unsafe { call(context as *mut c_void) };
            IN_HOST_FUNCTION.set(false);
        }
        Step::Wait { flag, value } => {
            // SAFETY: the submitter promised a word that lives until this is over.
            let flag = unsafe { &*(flag as *const AtomicU32) };
            while flag.load(Ordering::Acquire) != value {
                std::thread::sleep(Duration::from_micros(50));
            }
        }
    }
}

fn of(stream: Stream) -> &'static MockStream {
    // SAFETY: streams are never freed.
    unsafe { &*stream.0.cast::<MockStream>() }
}

/// Where a device range really is; the address itself for host memory.
fn real(at: usize, len: usize) -> Option<usize> {
    let Some(offset) = at.checked_sub(DEVICE).filter(|_| at < VIEW as usize) else { return Some(at) };
    (offset + len <= MEMORY.used.load(Ordering::SeqCst)).then(|| MEMORY.memory.as_ptr() as usize + offset)
}

/// Device memory with these elements.
pub fn device_copy(data: &[i64]) -> *mut i64 {
    let len = size_of_val(data).next_multiple_of(256) + 256;
    let offset = MEMORY.used.fetch_add(len, Ordering::SeqCst);
    assert!(offset + len <= DEVICE_LEN);
    let at = (DEVICE + offset) as *mut i64;
    write(at, data);
    at
}

pub fn write(at: *mut i64, data: &[i64]) {
    let to = real(at as usize, size_of_val(data)).unwrap();
    // SAFETY: the range was checked; the test has synchronised with the stream.
    unsafe { std::ptr::copy_nonoverlapping(data.as_ptr(), to as *mut i64, data.len()) };
}

pub fn read(at: *const i64, len: usize) -> Vec<i64> {
    let from = real(at as usize, len * 8).unwrap() as *const i64;
    // SAFETY: as for `write`.
    (0..len).map(|i| unsafe { from.add(i).read() }).collect()
}

/// Waits until the stream is past everything.
pub fn synchronize(stream: Stream) {
    let start = Instant::now();
    while of(stream).pending.load(Ordering::SeqCst) > 0 {
        assert!(start.elapsed() < Duration::from_secs(60), "the stream hangs");
        std::thread::sleep(Duration::from_micros(100));
    }
}

pub fn begin_capture(stream: Stream) {
    *of(stream).captured.lock().unwrap() = Some(Graph::default());
}

pub fn end_capture(stream: Stream) -> Graph {
    of(stream).captured.lock().unwrap().take().unwrap()
}

impl Graph {
    pub fn launch(&self, stream: Stream) {
        self.steps.iter().for_each(|step| put(stream, step.clone()));
    }
}

impl Drop for Graph {
    fn drop(&mut self) {
        for (end, context) in self.ends.drain(..) {
            // SAFETY: the maker promised a function that takes this context, once.
            unsafe { end(context as *mut c_void) };
        }
    }
}

fn put(stream: Stream, step: Step) {
    let stream = of(stream);
    let mut captured = stream.captured.lock().unwrap_or_else(PoisonError::into_inner);
    match &mut *captured {
        Some(graph) => graph.steps.push(step),
        None => {
            stream.pending.fetch_add(1, Ordering::SeqCst);
            stream.steps.send(step).unwrap();
        }
    }
}

/// Runs a call, except on a thread that is in a host function.
fn permitted(act: impl FnOnce() -> c_int) -> c_int {
    if IN_HOST_FUNCTION.get() { NOT_PERMITTED } else { act() }
}

/// The table, by name.
fn find(name: &CStr) -> Option<NonNull<c_void>> {
    let at = match name.to_str().ok()? {
        "musaGetDeviceCount" => get_device_count as *const c_void,
        "musaGetDevice" => get_device as *const c_void,
        "musaSetDevice" => set_device as *const c_void,
        "musaRuntimeGetVersion" => get_version as *const c_void,
        "musaHostRegister" => host_register as *const c_void,
        "musaHostUnregister" => host_unregister as *const c_void,
        "musaHostGetDevicePointer" => device_view as *const c_void,
        "musaMemcpyAsync" => memcpy_async as *const c_void,
        "musaLaunchHostFunc" => launch_host_func as *const c_void,
        "musaPointerGetAttributes" => pointer_attributes as *const c_void,
        "musaGetLastError" => last_error as *const c_void,
        "musaGetErrorName" | "musaGetErrorString" => error_name as *const c_void,
        "musaStreamIsCapturing" => is_capturing as *const c_void,
        "musaStreamCreateWithFlags" => stream_create as *const c_void,
        "musaStreamQuery" => stream_query as *const c_void,
        "musaStreamGetCaptureInfo_v2" => capture_info as *const c_void,
        "musaUserObjectCreate" => user_object as *const c_void,
        "musaGraphRetainUserObject" => retain as *const c_void,
        "musaStreamBeginCapture" => begin as *const c_void,
        "musaStreamEndCapture" => end as *const c_void,
        "musaGraphDestroy" => graph_destroy as *const c_void,
        "muStreamWaitValue32" => wait_value as *const c_void,
        // What the tests do not come to.
        "musaDeviceGetPCIBusId" | "musaMalloc" | "musaFree" | "musaStreamDestroy" => {
            last_error as *const c_void
        }
        _ => return None,
    };
    NonNull::new(at.cast_mut())
}

// Places are those of the code under test; a wrong one would be its fault and ends the test.

unsafe extern "C" fn get_device_count(count: *mut c_int) -> c_int {
    // SAFETY: the caller's place.
    permitted(|| unsafe { store(count, 8) })
}

/// # Safety
/// `place` is good to write.
unsafe fn store<T>(place: *mut T, value: T) -> c_int {
    // SAFETY: the caller's promise.
    unsafe { place.write(value) };
    0
}

unsafe extern "C" fn get_device(device: *mut c_int) -> c_int {
    // SAFETY: the caller's place.
    permitted(|| unsafe { store(device, DEVICE_NUMBER.get()) })
}

unsafe extern "C" fn set_device(device: c_int) -> c_int {
    permitted(|| {
        DEVICE_NUMBER.set(device);
        0
    })
}

unsafe extern "C" fn get_version(version: *mut c_int) -> c_int {
    // SAFETY: the caller's place.
    permitted(|| unsafe { store(version, 50_200) })
}

unsafe extern "C" fn host_register(at: *mut c_void, len: usize, _: c_uint) -> c_int {
    permitted(|| {
        REGISTERED.lock().unwrap().push((at as usize, len));
        0
    })
}

unsafe extern "C" fn host_unregister(at: *mut c_void) -> c_int {
    permitted(|| {
        let mut all = REGISTERED.lock().unwrap();
        let before = all.len();
        all.retain(|(start, _)| *start != at as usize);
        if all.len() < before { 0 } else { INVALID }
    })
}

unsafe extern "C" fn device_view(out: *mut *mut c_void, at: *mut c_void, _: c_uint) -> c_int {
    // SAFETY: the caller's place.
    permitted(|| unsafe { store(out, (VIEW + at as u64) as *mut c_void) })
}

unsafe extern "C" fn memcpy_async(
    dst: *mut c_void,
    src: *const c_void,
    len: usize,
    _: c_int,
    stream: *mut c_void,
) -> c_int {
    permitted(|| {
        let registered = |at: usize| {
            let all = REGISTERED.lock().unwrap();
            at >= DEVICE || all.iter().any(|(start, size)| *start <= at && at + len <= start + size)
        };
        let (dst, src) = (dst as usize, src as usize);
        if real(dst, len).is_none() || real(src, len).is_none() || !registered(dst) || !registered(src) {
            return INVALID;
        }
        put(Stream(stream), Step::Copy { dst, src, len });
        0
    })
}

unsafe extern "C" fn launch_host_func(stream: *mut c_void, call: HostFn, context: *mut c_void) -> c_int {
    permitted(|| {
        put(Stream(stream), Step::Host { call, context: context as usize });
        0
    })
}

unsafe extern "C" fn pointer_attributes(out: *mut c_int, at: *const c_void) -> c_int {
    permitted(|| match at as usize >= DEVICE {
        // SAFETY: the caller's place, which begins with the kind.
        true => unsafe { store(out, 2) },
        // As older versions answer for memory that is not theirs.
        false => INVALID,
    })
}

unsafe extern "C" fn last_error() -> c_int {
    0
}

unsafe extern "C" fn error_name(code: c_int) -> *const c_char {
    match code {
        NOT_READY => c"musaErrorNotReady",
        INVALID => c"musaErrorInvalidValue",
        _ => c"musaErrorUnknown",
    }
    .as_ptr()
}

unsafe extern "C" fn is_capturing(stream: *mut c_void, status: *mut c_int) -> c_int {
    let capturing = of(Stream(stream)).captured.lock().unwrap().is_some();
    // SAFETY: the caller's place.
    permitted(|| unsafe { store(status, capturing.into()) })
}

unsafe extern "C" fn stream_create(out: *mut *mut c_void, _: c_uint) -> c_int {
    // SAFETY: the caller's place.
    permitted(|| unsafe { store(out, stream(Kind::WaitsByValue).0) })
}

unsafe extern "C" fn stream_query(stream: *mut c_void) -> c_int {
    let pending = of(Stream(stream)).pending.load(Ordering::SeqCst);
    permitted(|| if pending == 0 { 0 } else { NOT_READY })
}

/// The graph of a stream that captures is named by the stream.
unsafe extern "C" fn capture_info(
    stream: *mut c_void,
    status: *mut c_int,
    _: *mut u64,
    graph: *mut *mut c_void,
    _: *mut *const *mut c_void,
    _: *mut usize,
) -> c_int {
    // SAFETY: the caller's places.
    permitted(|| unsafe { store(status, 1) + store(graph, stream) })
}

unsafe extern "C" fn user_object(
    out: *mut *mut c_void,
    context: *mut c_void,
    end: HostFn,
    _: c_uint,
    _: c_uint,
) -> c_int {
    // SAFETY: the caller's place.
    permitted(|| unsafe { store(out, Box::into_raw(Box::new((end, context as usize))).cast()) })
}

unsafe extern "C" fn retain(graph: *mut c_void, object: *mut c_void, _: c_uint, _: c_uint) -> c_int {
    permitted(|| {
        // SAFETY: made by `user_object`, and its one reference is moved here.
        let object = unsafe { Box::from_raw(object.cast::<(HostFn, usize)>()) };
        let mut captured = of(Stream(graph)).captured.lock().unwrap();
        captured.as_mut().map_or(INVALID, |graph| {
            graph.ends.push(*object);
            0
        })
    })
}

unsafe extern "C" fn begin(stream: *mut c_void, _: c_int) -> c_int {
    permitted(|| {
        begin_capture(Stream(stream));
        0
    })
}

unsafe extern "C" fn end(stream: *mut c_void, out: *mut *mut c_void) -> c_int {
    // SAFETY: the caller's place.
    permitted(|| unsafe { store(out, Box::into_raw(Box::new(end_capture(Stream(stream)))).cast()) })
}

unsafe extern "C" fn graph_destroy(graph: *mut c_void) -> c_int {
    permitted(|| {
        // SAFETY: made by `end`.
        drop(unsafe { Box::from_raw(graph.cast::<Graph>()) });
        0
    })
}

unsafe extern "C" fn wait_value(stream: *mut c_void, address: u64, value: u32, flags: c_uint) -> c_int {
    permitted(|| {
        let Some(flag) = address.checked_sub(VIEW).filter(|_| flags == 1) else { return INVALID };
        put(Stream(stream), Step::Wait { flag: flag as usize, value });
        0
    })
}
