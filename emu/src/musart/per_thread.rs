//! Twins of the calls that take a stream, for programs compiled with a default stream per thread: the null handle
//! means the calling thread's own default stream. Everything else is as in the call without the suffix.

use std::ffi::{c_int, c_uint, c_ulonglong, c_void};

use super::event::{musaEventRecord, musaEventRecordWithFlags};
use super::graph::musaGraphLaunch;
use super::memory::{
    self, musaFreeAsync, musaMallocAsync, musaMemcpyAsync, musaMemcpyPeerAsync, musaMemsetAsync,
};
use super::stream::{
    musaLaunchHostFunc, musaStreamAddCallback, musaStreamBeginCapture, musaStreamEndCapture,
    musaStreamGetCaptureInfo, musaStreamGetCaptureInfo_v2, musaStreamGetFlags, musaStreamGetId,
    musaStreamGetPriority, musaStreamIsCapturing, musaStreamQuery, musaStreamSynchronize,
    musaStreamUpdateCaptureDependencies, musaStreamWaitEvent,
};
use super::types::Handle;
use crate::core::memory::fill;
use crate::core::stream::{PER_THREAD, resolve};
use crate::core::work::{CallbackFn, HostFn};
use crate::core::{capture, sync};
use crate::guard::entry;

/// The handle with null replaced by the thread's own stream.
fn own(stream: Handle) -> Handle {
    if stream.is_null() { PER_THREAD as Handle } else { stream }
}

/// As `musaStreamQuery`.
#[unsafe(no_mangle)]
pub extern "C" fn musaStreamQuery_ptsz(stream: Handle) -> c_int {
    musaStreamQuery(own(stream))
}

/// As `musaStreamSynchronize`.
#[unsafe(no_mangle)]
pub extern "C" fn musaStreamSynchronize_ptsz(stream: Handle) -> c_int {
    musaStreamSynchronize(own(stream))
}

/// As `musaStreamWaitEvent`.
#[unsafe(no_mangle)]
pub extern "C" fn musaStreamWaitEvent_ptsz(stream: Handle, event: Handle, flags: c_uint) -> c_int {
    musaStreamWaitEvent(own(stream), event, flags)
}

/// # Safety
/// As `musaStreamGetFlags`.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn musaStreamGetFlags_ptsz(stream: Handle, flags: *mut c_uint) -> c_int {
    // SAFETY: the caller's promise.
    unsafe { musaStreamGetFlags(own(stream), flags) }
}

/// # Safety
/// As `musaStreamGetPriority`.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn musaStreamGetPriority_ptsz(stream: Handle, priority: *mut c_int) -> c_int {
    // SAFETY: the caller's promise.
    unsafe { musaStreamGetPriority(own(stream), priority) }
}

/// # Safety
/// As `musaStreamGetId`.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn musaStreamGetId_ptsz(stream: Handle, id: *mut c_ulonglong) -> c_int {
    // SAFETY: the caller's promise.
    unsafe { musaStreamGetId(own(stream), id) }
}

/// # Safety
/// As `musaStreamAddCallback`.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn musaStreamAddCallback_ptsz(
    stream: Handle,
    call: Option<CallbackFn>,
    arg: *mut c_void,
    flags: c_uint,
) -> c_int {
    // SAFETY: the caller's promise.
    unsafe { musaStreamAddCallback(own(stream), call, arg, flags) }
}

/// # Safety
/// As `musaLaunchHostFunc`.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn musaLaunchHostFunc_ptsz(
    stream: Handle,
    call: Option<HostFn>,
    arg: *mut c_void,
) -> c_int {
    // SAFETY: the caller's promise.
    unsafe { musaLaunchHostFunc(own(stream), call, arg) }
}

/// As `musaStreamBeginCapture`.
#[unsafe(no_mangle)]
pub extern "C" fn musaStreamBeginCapture_ptsz(stream: Handle, mode: c_int) -> c_int {
    musaStreamBeginCapture(own(stream), mode)
}

/// # Safety
/// As `musaStreamEndCapture`.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn musaStreamEndCapture_ptsz(stream: Handle, graph: *mut Handle) -> c_int {
    // SAFETY: the caller's promise.
    unsafe { musaStreamEndCapture(own(stream), graph) }
}

/// # Safety
/// As `musaStreamIsCapturing`.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn musaStreamIsCapturing_ptsz(stream: Handle, status: *mut c_int) -> c_int {
    // SAFETY: the caller's promise.
    unsafe { musaStreamIsCapturing(own(stream), status) }
}

/// # Safety
/// As `musaStreamGetCaptureInfo`.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn musaStreamGetCaptureInfo_ptsz(
    stream: Handle,
    status: *mut c_int,
    id: *mut c_ulonglong,
) -> c_int {
    // SAFETY: the caller's promise.
    unsafe { musaStreamGetCaptureInfo(own(stream), status, id) }
}

/// # Safety
/// As `musaStreamGetCaptureInfo_v2`.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn musaStreamGetCaptureInfo_v2_ptsz(
    stream: Handle,
    status: *mut c_int,
    id: *mut c_ulonglong,
    graph: *mut Handle,
    nodes: *mut *const Handle,
    count: *mut usize,
) -> c_int {
    // SAFETY: the caller's promise.
    unsafe { musaStreamGetCaptureInfo_v2(own(stream), status, id, graph, nodes, count) }
}

/// # Safety
/// As `musaStreamUpdateCaptureDependencies`.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn musaStreamUpdateCaptureDependencies_ptsz(
    stream: Handle,
    nodes: *mut Handle,
    count: usize,
    flags: c_uint,
) -> c_int {
    // SAFETY: the caller's promise.
    unsafe { musaStreamUpdateCaptureDependencies(own(stream), nodes, count, flags) }
}

/// As `musaEventRecord`.
#[unsafe(no_mangle)]
pub extern "C" fn musaEventRecord_ptsz(event: Handle, stream: Handle) -> c_int {
    musaEventRecord(event, own(stream))
}

/// As `musaEventRecordWithFlags`.
#[unsafe(no_mangle)]
pub extern "C" fn musaEventRecordWithFlags_ptsz(event: Handle, stream: Handle, flags: c_uint) -> c_int {
    musaEventRecordWithFlags(event, own(stream), flags)
}

/// # Safety
/// As `musaMallocAsync`.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn musaMallocAsync_ptsz(out: *mut *mut c_void, size: usize, stream: Handle) -> c_int {
    // SAFETY: the caller's promise.
    unsafe { musaMallocAsync(out, size, own(stream)) }
}

/// As `musaFreeAsync`.
#[unsafe(no_mangle)]
pub extern "C" fn musaFreeAsync_ptsz(address: *mut c_void, stream: Handle) -> c_int {
    musaFreeAsync(address, own(stream))
}

/// # Safety
/// As `musaMemcpyAsync`.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn musaMemcpyAsync_ptsz(
    dst: *mut c_void,
    src: *const c_void,
    count: usize,
    kind: c_int,
    stream: Handle,
) -> c_int {
    // SAFETY: the caller's promise.
    unsafe { musaMemcpyAsync(dst, src, count, kind, own(stream)) }
}

/// # Safety
/// As `musaMemcpyPeerAsync`.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn musaMemcpyPeerAsync_ptsz(
    dst: *mut c_void,
    dst_device: c_int,
    src: *const c_void,
    src_device: c_int,
    count: usize,
    stream: Handle,
) -> c_int {
    // SAFETY: the caller's promise.
    unsafe { musaMemcpyPeerAsync(dst, dst_device, src, src_device, count, own(stream)) }
}

/// # Safety
/// As `musaMemsetAsync`.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn musaMemsetAsync_ptsz(
    dst: *mut c_void,
    value: c_int,
    count: usize,
    stream: Handle,
) -> c_int {
    // SAFETY: the caller's promise.
    unsafe { musaMemsetAsync(dst, value, count, own(stream)) }
}

/// As `musaGraphLaunch`.
#[unsafe(no_mangle)]
pub extern "C" fn musaGraphLaunch_ptsz(executable: Handle, stream: Handle) -> c_int {
    musaGraphLaunch(executable, own(stream))
}

/// # Safety
/// As `musaMemcpy`.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn musaMemcpy_ptds(
    dst: *mut c_void,
    src: *const c_void,
    count: usize,
    kind: c_int,
) -> c_int {
    // SAFETY: the caller's promise.
    entry("musaMemcpy_ptds", || unsafe { memory::copy_on(dst, src, count, kind, PER_THREAD as Handle) })
}

/// # Safety
/// As `musaMemset`.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn musaMemset_ptds(dst: *mut c_void, value: c_int, count: usize) -> c_int {
    entry("musaMemset_ptds", || {
        capture::forbid_unsafe()?;
        let stream = resolve(PER_THREAD as Handle)?;
        fill(dst as usize, value as u8, count, stream)?;
        sync::synchronize(stream)
    })
}
