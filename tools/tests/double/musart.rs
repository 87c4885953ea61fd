//! A stand-in for the device runtime, for tests of the tools: host memory, streams with a worker thread each, graphs as lists of work.
//!
//! `doubleEnqueue` lets the stand-in library put work on streams.
#![allow(non_snake_case, reason = "the names are those of the C interface")]

use std::cell::Cell;
use std::ffi::{c_char, c_int, c_void};
use std::sync::mpsc::{Sender, channel};
use std::sync::{Arc, Mutex, OnceLock};
use std::time::Instant;

const DEVICES: c_int = 8;
const INVALID: c_int = 1;
const TOTAL: usize = 1 << 30;

/// Work as C passes it: a function and its context, run any number of times.
type Job = (extern "C" fn(*mut c_void), usize);

thread_local! {
    static DEVICE: Cell<c_int> = const { Cell::new(0) };
}

struct Stream {
    queue: Sender<Command>,
    recording: Mutex<Option<Vec<Job>>>,
}

enum Command {
    Run(Job),
    Tell(Sender<Instant>),
}

impl Stream {
    fn new() -> Self {
        let (queue, commands) = channel();
        std::thread::spawn(move || {
            for command in commands {
                match command {
                    Command::Run((function, context)) => function(context as *mut c_void),
                    Command::Tell(answer) => drop(answer.send(Instant::now())),
                }
            }
        });
        Self { queue, recording: Mutex::new(None) }
    }

    fn enqueue(&self, job: Job) {
        match &mut *self.recording.lock().unwrap() {
            Some(jobs) => jobs.push(job),
            None => self.queue.send(Command::Run(job)).unwrap(),
        }
    }

    fn reached(&self) -> std::sync::mpsc::Receiver<Instant> {
        let (answer, wait) = channel();
        self.queue.send(Command::Tell(answer)).unwrap();
        wait
    }
}

fn stream(handle: *mut c_void) -> &'static Stream {
    static NULL_STREAMS: OnceLock<Vec<Stream>> = OnceLock::new();
    if handle.is_null() {
        let streams = NULL_STREAMS.get_or_init(|| (0..DEVICES).map(|_| Stream::new()).collect());
        return &streams[DEVICE.get() as usize];
    }
    // SAFETY: handles come from `musaStreamCreateWithFlags`, which leaks its streams.
    unsafe { &*handle.cast::<Stream>() }
}

#[unsafe(no_mangle)]
extern "C" fn doubleEnqueue(handle: *mut c_void, function: extern "C" fn(*mut c_void), context: *mut c_void) {
    stream(handle).enqueue((function, context as usize));
}

#[unsafe(no_mangle)]
unsafe extern "C" fn musaGetDeviceCount(count: *mut c_int) -> c_int {
    // SAFETY: the caller passes room for a number.
    unsafe { *count = DEVICES };
    0
}

#[unsafe(no_mangle)]
extern "C" fn musaSetDevice(device: c_int) -> c_int {
    if !(0..DEVICES).contains(&device) {
        return INVALID;
    }
    DEVICE.set(device);
    0
}

#[unsafe(no_mangle)]
unsafe extern "C" fn musaMalloc(out: *mut *mut c_void, bytes: usize) -> c_int {
    // SAFETY: the caller passes room for an address.
    unsafe { *out = libc::calloc(1, bytes) };
    0
}

#[unsafe(no_mangle)]
unsafe extern "C" fn musaFree(pointer: *mut c_void) -> c_int {
    // SAFETY: the caller passes what `musaMalloc` returned.
    unsafe { libc::free(pointer) };
    0
}

#[unsafe(no_mangle)]
unsafe extern "C" fn musaMemcpy(to: *mut c_void, from: *const c_void, bytes: usize, _kind: c_int) -> c_int {
    // SAFETY: the caller passes memory of that size.
    unsafe { libc::memmove(to, from, bytes) };
    0
}

#[unsafe(no_mangle)]
extern "C" fn musaMemcpyAsync(to: *mut c_void, from: *const c_void, n: usize, _kind: c_int, s: *mut c_void) -> c_int {
    extern "C" fn copy(context: *mut c_void) {
        // SAFETY: the context was leaked below and the memory outlives the stream's work.
        unsafe {
            let (to, from, n) = *context.cast::<(usize, usize, usize)>();
            libc::memmove(to as *mut c_void, from as *const c_void, n);
        }
    }
    let context = Box::into_raw(Box::new((to as usize, from as usize, n)));
    stream(s).enqueue((copy, context as usize));
    0
}

#[unsafe(no_mangle)]
unsafe extern "C" fn musaMemset(to: *mut c_void, value: c_int, bytes: usize) -> c_int {
    // SAFETY: the caller passes memory of that size.
    unsafe { libc::memset(to, value, bytes) };
    0
}

#[unsafe(no_mangle)]
extern "C" fn musaDeviceSynchronize() -> c_int {
    0
}

#[unsafe(no_mangle)]
unsafe extern "C" fn musaStreamCreateWithFlags(out: *mut *mut c_void, _flags: u32) -> c_int {
    // SAFETY: the caller passes room for a handle.
    unsafe { *out = Box::into_raw(Box::new(Stream::new())).cast() };
    0
}

#[unsafe(no_mangle)]
extern "C" fn musaStreamDestroy(_stream: *mut c_void) -> c_int {
    0
}

#[unsafe(no_mangle)]
extern "C" fn musaStreamSynchronize(handle: *mut c_void) -> c_int {
    stream(handle).reached().recv().map_or(INVALID, |_| 0)
}

#[unsafe(no_mangle)]
extern "C" fn musaGetErrorString(_code: c_int) -> *const c_char {
    c"an error of the double".as_ptr()
}

#[unsafe(no_mangle)]
unsafe extern "C" fn musaDeviceGetPCIBusId(out: *mut c_char, _len: c_int, device: c_int) -> c_int {
    let text = format!("0000:{:02x}:00.0\0", device + 16);
    // SAFETY: the caller passes room for at least 13 characters.
    unsafe { std::ptr::copy_nonoverlapping(text.as_ptr().cast(), out, text.len()) };
    0
}

#[unsafe(no_mangle)]
unsafe extern "C" fn musaGetDeviceProperties(out: *mut c_char, _device: c_int) -> c_int {
    // SAFETY: the caller passes room for a structure that begins with a name.
    unsafe { std::ptr::copy_nonoverlapping(c"double device".as_ptr(), out, 14) };
    0
}

#[unsafe(no_mangle)]
unsafe extern "C" fn musaMemGetInfo(free: *mut usize, total: *mut usize) -> c_int {
    // SAFETY: the caller passes room for two numbers.
    unsafe { (*free, *total) = (TOTAL / 2, TOTAL) };
    0
}

#[unsafe(no_mangle)]
extern "C" fn musaStreamBeginCapture(handle: *mut c_void, _mode: c_int) -> c_int {
    *stream(handle).recording.lock().unwrap() = Some(Vec::new());
    0
}

#[unsafe(no_mangle)]
unsafe extern "C" fn musaStreamEndCapture(handle: *mut c_void, out: *mut *mut c_void) -> c_int {
    let Some(jobs) = stream(handle).recording.lock().unwrap().take() else { return INVALID };
    // SAFETY: the caller passes room for a handle.
    unsafe { *out = Box::into_raw(Box::new(jobs)).cast() };
    0
}

#[unsafe(no_mangle)]
unsafe extern "C" fn musaGraphInstantiate(out: *mut *mut c_void, graph: *mut c_void) -> c_int {
    // SAFETY: the graph is the leaked list of `musaStreamEndCapture`, which also serves as its launchable form.
    unsafe { *out = graph };
    0
}

#[unsafe(no_mangle)]
unsafe extern "C" fn musaGraphLaunch(exec: *mut c_void, handle: *mut c_void) -> c_int {
    // SAFETY: as above.
    let jobs = unsafe { &*exec.cast::<Vec<Job>>() };
    jobs.iter().for_each(|job| stream(handle).enqueue(*job));
    0
}

/// When a stream got to an event.
type Moment = Arc<Mutex<Option<std::sync::mpsc::Receiver<Instant>>>>;

#[unsafe(no_mangle)]
unsafe extern "C" fn musaEventCreate(out: *mut *mut c_void) -> c_int {
    // SAFETY: the caller passes room for a handle.
    unsafe { *out = Box::into_raw(Box::new(Moment::default())).cast() };
    0
}

#[unsafe(no_mangle)]
unsafe extern "C" fn musaEventRecord(event: *mut c_void, handle: *mut c_void) -> c_int {
    // SAFETY: the event is the leaked one of `musaEventCreate`.
    let event = unsafe { &*event.cast::<Moment>() };
    *event.lock().unwrap() = Some(stream(handle).reached());
    0
}

#[unsafe(no_mangle)]
unsafe extern "C" fn musaEventElapsedTime(out: *mut f32, start: *mut c_void, end: *mut c_void) -> c_int {
    // SAFETY: events as above.
    let at = |event: *mut c_void| unsafe {
        let mut moment = (*event.cast::<Moment>()).lock().unwrap();
        let instant = moment.as_ref().map(|wait| wait.recv().unwrap());
        let (answer, wait) = channel();
        // Put back, since an event may be asked twice.
        instant.inspect(|i| answer.send(*i).unwrap());
        *moment = Some(wait);
        instant
    };
    let (Some(start), Some(end)) = (at(start), at(end)) else { return INVALID };
    // SAFETY: the caller passes room for a number.
    unsafe { *out = end.saturating_duration_since(start).as_secs_f32() * 1e3 };
    0
}
