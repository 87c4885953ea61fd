//! Streams of the runtime face.

use std::ffi::{c_int, c_uint, c_ulonglong, c_void};
use std::sync::atomic::Ordering;

use super::types::Handle;
use crate::core::error::{Error, Result};
use crate::core::slab::StreamRef;
use crate::core::stream::{self as st, Kind, resolve};
use crate::core::work::{CallbackFn, HostFn, Work};
use crate::core::{capture, event, runtime, sync, thread};
use crate::guard::{entry, put, required};

const NON_BLOCKING: c_uint = 1;

/// # Safety
/// `stream` is null or writable.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn musaStreamCreate(stream: *mut Handle) -> c_int {
    // SAFETY: the caller's promise.
    entry("musaStreamCreate", || unsafe { create(stream, 0, 0) })
}

/// # Safety
/// `stream` is null or writable.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn musaStreamCreateWithFlags(stream: *mut Handle, flags: c_uint) -> c_int {
    // SAFETY: the caller's promise.
    entry("musaStreamCreateWithFlags", || unsafe { create(stream, flags, 0) })
}

/// # Safety
/// `stream` is null or writable.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn musaStreamCreateWithPriority(
    stream: *mut Handle,
    flags: c_uint,
    priority: c_int,
) -> c_int {
    // SAFETY: the caller's promise.
    entry("musaStreamCreateWithPriority", || unsafe { create(stream, flags, priority) })
}

/// # Safety
/// `out` is null or writable.
unsafe fn create(out: *mut Handle, flags: c_uint, priority: c_int) -> Result<()> {
    required(out)?;
    runtime::runtime()?;
    let kind = match flags {
        0 => Kind::Blocking,
        NON_BLOCKING => Kind::NonBlocking,
        _ => return Err(Error::INVALID_VALUE),
    };
    // SAFETY: the caller's promise.
    unsafe { put(out, st::create(thread::device(), kind, priority)?.handle()) }
}

/// Destroys the stream once its work is done; returns at once.
#[unsafe(no_mangle)]
pub extern "C" fn musaStreamDestroy(stream: Handle) -> c_int {
    entry("musaStreamDestroy", || st::destroy(stream))
}

/// `musaErrorNotReady` while work is pending.
#[unsafe(no_mangle)]
pub extern "C" fn musaStreamQuery(stream: Handle) -> c_int {
    entry("musaStreamQuery", || st::query(resolve(stream)?))
}

/// Waits for all work of the stream.
#[unsafe(no_mangle)]
pub extern "C" fn musaStreamSynchronize(stream: Handle) -> c_int {
    entry("musaStreamSynchronize", || sync::synchronize(resolve(stream)?))
}

/// Makes later work of the stream wait for the event's latest record.
#[unsafe(no_mangle)]
pub extern "C" fn musaStreamWaitEvent(stream: Handle, event: Handle, flags: c_uint) -> c_int {
    entry("musaStreamWaitEvent", || wait_event(resolve(stream)?, event, flags))
}

pub(super) fn wait_event(stream: StreamRef, event: Handle, flags: c_uint) -> Result<()> {
    if flags > 1 {
        return Err(Error::INVALID_VALUE);
    }
    event::get(event)?.hold(stream, flags == 1)
}

/// # Safety
/// `flags` is null or writable.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn musaStreamGetFlags(stream: Handle, flags: *mut c_uint) -> c_int {
    entry("musaStreamGetFlags", || {
        let value = if resolve(stream)?.is(Kind::NonBlocking) { NON_BLOCKING } else { 0 };
        // SAFETY: the caller's promise.
        unsafe { put(flags, value) }
    })
}

/// # Safety
/// `priority` is null or writable.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn musaStreamGetPriority(stream: Handle, priority: *mut c_int) -> c_int {
    entry("musaStreamGetPriority", || {
        let value = resolve(stream)?.priority.load(Ordering::Relaxed) as c_int;
        // SAFETY: the caller's promise.
        unsafe { put(priority, value) }
    })
}

/// # Safety
/// `id` is null or writable.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn musaStreamGetId(stream: Handle, id: *mut c_ulonglong) -> c_int {
    entry("musaStreamGetId", || {
        let value = resolve(stream)?.id.load(Ordering::Relaxed);
        // SAFETY: the caller's promise.
        unsafe { put(id, value) }
    })
}

/// # Safety
/// `device` is null or writable.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn musaStreamGetDevice(stream: Handle, device: *mut c_int) -> c_int {
    // SAFETY: the caller's promise.
    entry("musaStreamGetDevice", || unsafe { put(device, resolve(stream)?.device() as c_int) })
}

/// # Safety
/// `call` may be called with the stream, a code and `arg` from another thread.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn musaStreamAddCallback(
    stream: Handle,
    call: Option<CallbackFn>,
    arg: *mut c_void,
    flags: c_uint,
) -> c_int {
    entry("musaStreamAddCallback", || {
        let call = call.filter(|_| flags == 0).ok_or(Error::INVALID_VALUE)?;
        st::submit(resolve(stream)?, Work::Callback { call, stream: stream as usize, arg: arg as usize })
    })
}

/// # Safety
/// `call` may be called with `arg` from another thread.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn musaLaunchHostFunc(stream: Handle, call: Option<HostFn>, arg: *mut c_void) -> c_int {
    entry("musaLaunchHostFunc", || launch_host(resolve(stream)?, call, arg))
}

pub(super) fn launch_host(stream: StreamRef, call: Option<HostFn>, arg: *mut c_void) -> Result<()> {
    let call = call.ok_or(Error::INVALID_VALUE)?;
    st::submit(stream, Work::Host { call, arg: arg as usize })
}

/// Begins to turn submissions into nodes of a graph.
#[unsafe(no_mangle)]
pub extern "C" fn musaStreamBeginCapture(stream: Handle, mode: c_int) -> c_int {
    entry("musaStreamBeginCapture", || capture::begin(resolve(stream)?, mode))
}

/// # Safety
/// `graph` is null or writable.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn musaStreamEndCapture(stream: Handle, graph: *mut Handle) -> c_int {
    entry("musaStreamEndCapture", || {
        required(graph)?;
        // SAFETY: the caller's promise.
        unsafe { put(graph, capture::end(resolve(stream)?)?) }
    })
}

/// # Safety
/// `status` is null or writable.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn musaStreamIsCapturing(stream: Handle, status: *mut c_int) -> c_int {
    // SAFETY: the caller's promise.
    entry("musaStreamIsCapturing", || unsafe { put(status, capture::status(resolve(stream)?).0) })
}

/// # Safety
/// `status` is null or writable; `id` is null, which is skipped, or writable.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn musaStreamGetCaptureInfo(
    stream: Handle,
    status: *mut c_int,
    id: *mut c_ulonglong,
) -> c_int {
    entry("musaStreamGetCaptureInfo", || {
        let (now, number) = capture::status(resolve(stream)?);
        // SAFETY: the caller's promise.
        unsafe {
            put(status, now)?;
            put_optional(id, number);
        }
        Ok(())
    })
}

/// # Safety
/// `out` is null or writable.
unsafe fn put_optional<T>(out: *mut T, value: T) {
    if !out.is_null() {
        // SAFETY: the caller's promise.
        unsafe { out.write(value) };
    }
}

/// # Safety
/// `status` is null or writable; the others are null, which are skipped, or writable. The array that `nodes` receives
/// stays valid until the next such call of this thread.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn musaStreamGetCaptureInfo_v2(
    stream: Handle,
    status: *mut c_int,
    id: *mut c_ulonglong,
    graph: *mut Handle,
    nodes: *mut *const Handle,
    count: *mut usize,
) -> c_int {
    entry("musaStreamGetCaptureInfo_v2", || {
        required(status)?;
        let info = capture::info(resolve(stream)?);
        let number = info.dependencies.len();
        // SAFETY: the caller's promise.
        unsafe {
            put(status, info.status)?;
            put_optional(id, info.id);
            put_optional(graph, info.graph);
            put_optional(nodes, thread::keep_nodes(info.dependencies));
            put_optional(count, number);
        }
        Ok(())
    })
}

/// # Safety
/// `nodes` is valid for `count` handles.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn musaStreamUpdateCaptureDependencies(
    stream: Handle,
    nodes: *mut Handle,
    count: usize,
    flags: c_uint,
) -> c_int {
    entry("musaStreamUpdateCaptureDependencies", || {
        // SAFETY: the caller's promise.
        let nodes = unsafe { super::graph::node_slice(nodes, count)? };
        capture::update_dependencies(resolve(stream)?, nodes, flags)
    })
}

/// # Safety
/// `mode` is null or readable and writable.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn musaThreadExchangeStreamCaptureMode(mode: *mut c_int) -> c_int {
    entry("musaThreadExchangeStreamCaptureMode", || {
        required(mode)?;
        // SAFETY: the caller's promise.
        unsafe { put(mode, capture::exchange_mode(mode.read())?) }
    })
}
