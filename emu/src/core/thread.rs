//! What the runtime remembers for each thread of the program.

use std::cell::{Cell, RefCell};
use std::ffi::c_void;

use super::error::{Error, Result};
use super::runtime::runtime;
use super::slab::StreamRef;
use super::stream;

thread_local! {
    static STATE: State = const {
        State {
            device: Cell::new(0),
            last_error: Cell::new(0),
            capture_mode: Cell::new(0),
            in_host_function: Cell::new(false),
            in_poll: Cell::new(false),
        }
    };
    static DEFAULT_STREAMS: RefCell<DefaultStreams> = const { RefCell::new(DefaultStreams(Vec::new())) };
}

/// Keeps an array for the calling thread until its next call of this; returns where it is.
pub fn keep_nodes(nodes: Vec<*mut c_void>) -> *const *mut c_void {
    thread_local! {
        static KEPT: RefCell<Vec<*mut c_void>> = const { RefCell::new(Vec::new()) };
    }
    KEPT.try_with(|kept| {
        *kept.borrow_mut() = nodes;
        kept.borrow().as_ptr()
    })
    .unwrap_or(std::ptr::null())
}

/// Plain cells: no destructor, usable at any moment of a thread's life.
pub struct State {
    pub device: Cell<i32>,
    /// Code of the last failed call, 0 for none.
    pub last_error: Cell<i32>,
    /// Mode set by an exchange of the capture mode; 0 global, 1 thread-local, 2 relaxed.
    pub capture_mode: Cell<i32>,
    pub in_host_function: Cell<bool>,
    pub in_poll: Cell<bool>,
}

pub fn with<R>(f: impl FnOnce(&State) -> R) -> R {
    STATE.with(f)
}

/// Ordinal of the calling thread's device.
pub fn device() -> usize {
    with(|s| s.device.get()) as usize
}

pub fn set_device(ordinal: i32) -> Result<()> {
    let known = usize::try_from(ordinal).is_ok_and(|d| runtime().is_ok_and(|r| d < r.devices.len()));
    if !known {
        runtime()?;
        return Err(Error::INVALID_DEVICE);
    }
    with(|s| s.device.set(ordinal));
    Ok(())
}

/// Runs `f` with a cell set, and sets it back whatever happens.
pub fn scoped<R>(pick: impl Fn(&State) -> &Cell<bool>, f: impl FnOnce() -> R) -> R {
    struct Reset<P: Fn(&State) -> &Cell<bool>>(P, bool);
    impl<P: Fn(&State) -> &Cell<bool>> Drop for Reset<P> {
        fn drop(&mut self) {
            with(|s| (self.0)(s).set(self.1));
        }
    }
    let before = with(|s| pick(s).replace(true));
    let _reset = Reset(pick, before);
    f()
}

/// The per-thread default stream of the calling thread on its device, made on first use.
pub fn default_stream() -> Result<StreamRef> {
    let device = device();
    DEFAULT_STREAMS
        .try_with(|cell| {
            let mut streams = cell.borrow_mut();
            if let Some(&(_, stream)) = streams.0.iter().find(|(d, _)| *d == device) {
                return Ok(stream);
            }
            let made = stream::create(device, stream::Kind::Blocking, 0)?;
            streams.0.push((device, made));
            Ok(made)
        })
        .unwrap_or(Err(Error::INVALID_RESOURCE_HANDLE))
}

struct DefaultStreams(Vec<(usize, StreamRef)>);

impl Drop for DefaultStreams {
    /// Lets the streams finish by themselves; never waits.
    fn drop(&mut self) {
        for (_, stream) in self.0.drain(..) {
            stream::retire(stream);
        }
    }
}
