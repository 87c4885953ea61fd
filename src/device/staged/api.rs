//! The functions that staging needs of a MUSA runtime, beyond those that every use of one needs.
use std::ffi::{CStr, c_int, c_uint, c_void};
use std::ptr::NonNull;

use crate::base::Result;
use crate::device::Stream;
use crate::device::musa::MusaApi;
use crate::err;

type Code = c_int;
type Handle = *mut c_void;
/// What a stream calls on the host.
pub type HostFn = unsafe extern "C" fn(*mut c_void);

type OneHandle = unsafe extern "C" fn(Handle) -> Code;
type NewHandle = unsafe extern "C" fn(*mut Handle, c_uint) -> Code;
type HandleInt = unsafe extern "C" fn(Handle, c_int) -> Code;
type Register = unsafe extern "C" fn(*mut c_void, usize, c_uint) -> Code;
type DeviceView = unsafe extern "C" fn(*mut *mut c_void, *mut c_void, c_uint) -> Code;
type CopyAsync = unsafe extern "C" fn(*mut c_void, *const c_void, usize, c_int, Handle) -> Code;
type LaunchHost = unsafe extern "C" fn(Handle, HostFn, *mut c_void) -> Code;
type Attributes = unsafe extern "C" fn(*mut PointerAttributes, *const c_void) -> Code;
type CaptureStatus = unsafe extern "C" fn(Handle, *mut c_int) -> Code;
type StreamId = unsafe extern "C" fn(Handle, *mut u64) -> Code;
type IntPlace = unsafe extern "C" fn(*mut c_int) -> Code;
type HandlePlace = unsafe extern "C" fn(Handle, *mut Handle) -> Code;
type CaptureInfo =
    unsafe extern "C" fn(Handle, *mut c_int, *mut u64, *mut Handle, *mut *const Handle, *mut usize) -> Code;
type NewUserObject = unsafe extern "C" fn(*mut Handle, *mut c_void, HostFn, c_uint, c_uint) -> Code;
type RetainUserObject = unsafe extern "C" fn(Handle, Handle, c_uint, c_uint) -> Code;
/// `muStreamWaitValue32(stream, address, value, flags)`.
pub type WaitValue = unsafe extern "C" fn(Handle, u64, u32, c_uint) -> Code;

const COPY_BY_ADDRESS: c_int = 4;
const PORTABLE_AND_MAPPED: c_uint = 3;
const RELAXED: c_int = 2;
const NON_BLOCKING: c_uint = 1;
const NO_DESTRUCTOR_SYNC: c_uint = 1;
const MOVE: c_uint = 1;
const INVALID_VALUE: Code = 1;
const LAST_DEFAULT_STREAM: u64 = 2;
const NOT_READY: &CStr = c"musaErrorNotReady";

/// The documented 24 bytes, and room in case a version has more.
#[repr(C)]
#[derive(Default)]
struct PointerAttributes {
    kind: c_int,
    device: c_int,
    more: [u64; 7],
}

const KIND_DEVICE: c_int = 2;

/// Whether a stream is being captured.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Capture {
    None,
    Active,
    Invalidated,
}

/// `libmusart.so` as staging uses it.
pub struct Api {
    pub musa: MusaApi,
    host_register: Register,
    host_unregister: OneHandle,
    host_get_device_pointer: Option<DeviceView>,
    memcpy_async: CopyAsync,
    launch_host_func: LaunchHost,
    pointer_get_attributes: Attributes,
    get_last_error: unsafe extern "C" fn() -> Code,
    get_error_name: unsafe extern "C" fn(Code) -> *const std::ffi::c_char,
    stream_is_capturing: CaptureStatus,
    stream_create: NewHandle,
    stream_query: OneHandle,
    stream_destroy: OneHandle,
    stream_get_id: Option<StreamId>,
    exchange_capture_mode: Option<IntPlace>,
    begin_capture: Option<HandleInt>,
    end_capture: Option<HandlePlace>,
    graph_destroy: Option<OneHandle>,
    capture_info: Option<CaptureInfo>,
    user_object_create: Option<NewUserObject>,
    graph_retain: Option<RetainUserObject>,
    pub wait_value: Option<WaitValue>,
}

impl Api {
    /// Looks the functions up: `find` in the runtime, `find_driver` in the driver library beside it.
    ///
    /// # Errors
    /// The first function that staging cannot do without and that is missing, by its name.
    pub fn load(
        find: impl Fn(&CStr) -> Option<NonNull<c_void>>,
        find_driver: impl Fn(&CStr) -> Option<NonNull<c_void>>,
    ) -> Result<Self> {
        let need = |name: &CStr| {
            find(name).ok_or_else(|| err!(Device, "the device runtime has no {}", name.to_string_lossy()))
        };
        // A field's type is the signature of its symbol in every MUSA runtime library.
        macro_rules! need {
            ($name:literal) => {
                // SAFETY: as said above.
                unsafe { function(need($name)?) }
            };
        }
        macro_rules! may {
            ($find:ident, $name:literal) => {
                // SAFETY: as said above.
                $find($name).map(|at| unsafe { function(at) })
            };
        }
        Ok(Self {
            musa: MusaApi::load(&find)?,
            host_register: need!(c"musaHostRegister"),
            host_unregister: need!(c"musaHostUnregister"),
            host_get_device_pointer: may!(find, c"musaHostGetDevicePointer"),
            memcpy_async: need!(c"musaMemcpyAsync"),
            launch_host_func: need!(c"musaLaunchHostFunc"),
            pointer_get_attributes: need!(c"musaPointerGetAttributes"),
            get_last_error: need!(c"musaGetLastError"),
            get_error_name: need!(c"musaGetErrorName"),
            stream_is_capturing: need!(c"musaStreamIsCapturing"),
            stream_create: need!(c"musaStreamCreateWithFlags"),
            stream_query: need!(c"musaStreamQuery"),
            stream_destroy: need!(c"musaStreamDestroy"),
            stream_get_id: may!(find, c"musaStreamGetId"),
            exchange_capture_mode: may!(find, c"musaThreadExchangeStreamCaptureMode"),
            begin_capture: may!(find, c"musaStreamBeginCapture"),
            end_capture: may!(find, c"musaStreamEndCapture"),
            graph_destroy: may!(find, c"musaGraphDestroy"),
            capture_info: may!(find, c"musaStreamGetCaptureInfo_v2"),
            user_object_create: may!(find, c"musaUserObjectCreate"),
            graph_retain: may!(find, c"musaGraphRetainUserObject"),
            wait_value: may!(find_driver, c"muStreamWaitValue32"),
        })
    }

    /// Runs calls that a capture in another stream would forbid: they concern no stream.
    pub fn relaxed<R>(&self, act: impl FnOnce() -> R) -> R {
        let Some(exchange) = self.exchange_capture_mode else { return act() };
        let mut mode = RELAXED;
        // SAFETY: a valid place for one int.
        let changed = unsafe { exchange(&mut mode) } == 0;
        let result = act();
        if changed {
            // SAFETY: as above; it holds the mode from before.
            unsafe { exchange(&mut mode) };
        }
        result
    }

    /// Whether the host must not touch `ptr`: device memory that is not managed.
    pub fn on_device(&self, ptr: *const u8) -> Result<bool> {
        let mut attributes = PointerAttributes::default();
        // SAFETY: a valid place; any address may be asked about.
        match unsafe { (self.pointer_get_attributes)(&mut attributes, ptr.cast()) } {
            0 => Ok(attributes.kind == KIND_DEVICE),
            // How older versions say "not mine"; it must not stay the last error of the program's thread.
            INVALID_VALUE => {
                self.forget_error();
                Ok(false)
            }
            code => self.musa.check("musaPointerGetAttributes", code).map(|()| false),
        }
    }

    /// Locks pages for the device; returns their address on the device.
    ///
    /// # Safety
    /// The pages stay mapped until `unregister`.
    pub unsafe fn register(&self, ptr: *mut u8, len: usize) -> Result<u64> {
        // SAFETY: the caller's promise.
        let code = unsafe { (self.host_register)(ptr.cast(), len, PORTABLE_AND_MAPPED) };
        self.musa.check("musaHostRegister", code)?;
        let mut view = ptr.cast();
        if let Some(get) = self.host_get_device_pointer {
            // SAFETY: a valid place, and memory that was just registered.
            let code = unsafe { get(&mut view, ptr.cast(), 0) };
            if let Err(error) = self.musa.check("musaHostGetDevicePointer", code) {
                self.unregister(ptr)?;
                return Err(error);
            }
        }
        Ok(view as u64)
    }

    pub fn unregister(&self, ptr: *mut u8) -> Result<()> {
        // SAFETY: an address that is not registered is answered with a code.
        self.musa.check("musaHostUnregister", unsafe { (self.host_unregister)(ptr.cast()) })
    }

    /// # Safety
    /// Both ranges stay valid until the stream has come past the copy.
    pub unsafe fn copy(&self, stream: Stream, dst: *mut u8, src: *const u8, len: usize) -> Result<()> {
        // SAFETY: the caller's promise; the kind is found out by the runtime.
        let code = unsafe { (self.memcpy_async)(dst.cast(), src.cast(), len, COPY_BY_ADDRESS, stream.0) };
        self.musa.check("musaMemcpyAsync", code)
    }

    /// # Safety
    /// `call` may be called with `context` on any thread when the stream comes to it (or at each launch, if captured).
    pub unsafe fn call(&self, stream: Stream, call: HostFn, context: *mut c_void) -> Result<()> {
        // SAFETY: the caller's promise.
        self.musa.check("musaLaunchHostFunc", unsafe { (self.launch_host_func)(stream.0, call, context) })
    }

    pub fn capture(&self, stream: Stream) -> Result<Capture> {
        let mut status = 0;
        // SAFETY: a valid place; the runtime checks the handle.
        let code = unsafe { (self.stream_is_capturing)(stream.0, &mut status) };
        self.musa.check("musaStreamIsCapturing", code)?;
        Ok(match status {
            0 => Capture::None,
            1 => Capture::Active,
            _ => Capture::Invalidated,
        })
    }

    /// Makes the graph that is being captured on `stream` call `end(context)` when it and all that was made of it are gone.
    /// `false`: this runtime cannot.
    ///
    /// # Safety
    /// `end` may be called with `context` on any thread.
    pub unsafe fn end_with_graph(&self, stream: Stream, end: HostFn, context: *mut c_void) -> Result<bool> {
        let (Some(info), Some(create), Some(retain)) =
            (self.capture_info, self.user_object_create, self.graph_retain)
        else {
            return Ok(false);
        };
        let (mut status, mut id, mut graph, mut object) = (0, 0, std::ptr::null_mut(), std::ptr::null_mut());
        let (mut nodes, mut count) = (std::ptr::null(), 0);
        // SAFETY: valid places.
        let code = unsafe { info(stream.0, &mut status, &mut id, &mut graph, &mut nodes, &mut count) };
        self.musa.check("musaStreamGetCaptureInfo_v2", code)?;
        // SAFETY: a valid place; the caller's promise about `end`.
        let code = unsafe { create(&mut object, context, end, 1, NO_DESTRUCTOR_SYNC) };
        self.musa.check("musaUserObjectCreate", code)?;
        // SAFETY: both were just handed out; the one reference moves to the graph. If that fails it stays with nobody, and
        // the context is never ended.
        self.musa.check("musaGraphRetainUserObject", unsafe { retain(graph, object, 1, MOVE) }).map(|()| true)
    }

    /// A number that no other stream has as long as this one has work; `None`: the runtime has none for it.
    pub fn stream_id(&self, stream: Stream) -> Option<u64> {
        let Some(get) = self.stream_get_id else {
            // The handles of default streams mean different streams on different devices and threads.
            return (stream.0 as u64 > LAST_DEFAULT_STREAM).then_some(stream.0 as u64);
        };
        let mut id = 0;
        // SAFETY: a valid place; the runtime checks the handle.
        let found = unsafe { get(stream.0, &mut id) } == 0;
        if !found {
            self.forget_error();
        }
        found.then_some(id)
    }

    /// A stream of the library's own.
    pub fn new_stream(&self) -> Result<Stream> {
        let mut stream = std::ptr::null_mut();
        // SAFETY: a valid place.
        let code = unsafe { (self.stream_create)(&mut stream, NON_BLOCKING) };
        self.musa.check("musaStreamCreateWithFlags", code).map(|()| Stream(stream))
    }

    pub fn destroy_stream(&self, stream: Stream) -> Result<()> {
        // SAFETY: the runtime checks the handle.
        self.musa.check("musaStreamDestroy", unsafe { (self.stream_destroy)(stream.0) })
    }

    /// Whether the stream is past all its work.
    pub fn idle(&self, stream: Stream) -> Result<bool> {
        // SAFETY: the runtime checks the handle.
        match unsafe { (self.stream_query)(stream.0) } {
            0 => Ok(true),
            code if self.is_not_ready(code) => {
                self.forget_error();
                Ok(false)
            }
            code => self.musa.check("musaStreamQuery", code).map(|()| false),
        }
    }

    /// Captures what `act` puts on the stream, and throws it away. `None`: this runtime has no capture.
    pub fn try_capture(&self, stream: Stream, act: impl FnOnce() -> Result<()>) -> Option<Result<()>> {
        let (begin, end, destroy) = (self.begin_capture?, self.end_capture?, self.graph_destroy?);
        // SAFETY: the runtime checks the handle.
        let began = self.musa.check("musaStreamBeginCapture", unsafe { begin(stream.0, RELAXED) });
        if let Err(error) = began {
            return Some(Err(error));
        }
        let result = act();
        let mut graph = std::ptr::null_mut();
        // SAFETY: a valid place.
        let ended = self.musa.check("musaStreamEndCapture", unsafe { end(stream.0, &mut graph) });
        if !graph.is_null() {
            // SAFETY: the graph was just handed out, and nobody else knows it.
            unsafe { destroy(graph) };
        }
        Some(result.and(ended))
    }

    /// Takes an expected error back, so that the program does not find it as its own.
    pub fn forget_error(&self) {
        // SAFETY: no argument.
        unsafe { (self.get_last_error)() };
    }

    /// Error numbers differ between runtimes, names do not.
    fn is_not_ready(&self, code: Code) -> bool {
        // SAFETY: returns a static text, or null.
        let name = unsafe { (self.get_error_name)(code) };
        // SAFETY: not null, so a static text.
        !name.is_null() && unsafe { CStr::from_ptr(name) } == NOT_READY
    }
}

/// # Safety
/// `F` is a function pointer type, and `at` a function of that signature which stays loaded.
unsafe fn function<F: Copy>(at: NonNull<c_void>) -> F {
    const { assert!(size_of::<F>() == size_of::<NonNull<c_void>>()) };
    // SAFETY: same size; the caller's promise about the type.
    unsafe { std::mem::transmute_copy(&at) }
}
