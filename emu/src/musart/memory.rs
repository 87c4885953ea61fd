//! Memory of the runtime face.

use std::ffi::{c_int, c_uint, c_void};

use super::types::{Handle, musaPointerAttributes};
use crate::core::error::{Error, Result};
use crate::core::memory as mem;
use crate::core::ranges::{self, Memory};
use crate::core::runtime::runtime;
use crate::core::stream::resolve;
use crate::core::{device, thread};
use crate::guard::{entry, put, required};

/// # Safety
/// `out` is null or writable.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn musaMalloc(out: *mut *mut c_void, size: usize) -> c_int {
    // SAFETY: the caller's promise.
    entry("musaMalloc", || unsafe { allocate_into(out, || mem::allocate(size, false)) })
}

/// Fills `out` with what `allocate` makes, and makes nothing if it is null.
///
/// # Safety
/// `out` is null or writable.
unsafe fn allocate_into(out: *mut *mut c_void, allocate: impl FnOnce() -> Result<usize>) -> Result<()> {
    required(out)?;
    // SAFETY: the caller's promise.
    unsafe { put(out, allocate()? as *mut c_void) }
}

/// Waits for the work of the device, then frees.
#[unsafe(no_mangle)]
pub extern "C" fn musaFree(address: *mut c_void) -> c_int {
    entry("musaFree", || mem::free(address as usize))
}

/// # Safety
/// `out` is null or writable.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn musaMallocManaged(out: *mut *mut c_void, size: usize, flags: c_uint) -> c_int {
    entry("musaMallocManaged", || {
        if !(flags == 1 || flags == 2) || size == 0 {
            return Err(Error::INVALID_VALUE);
        }
        // SAFETY: the caller's promise.
        unsafe { allocate_into(out, || mem::allocate(size, true)) }
    })
}

/// # Safety
/// `out` is null or writable.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn musaMallocAsync(out: *mut *mut c_void, size: usize, stream: Handle) -> c_int {
    entry("musaMallocAsync", || {
        let stream = resolve(stream)?;
        crate::core::capture::forbid_on(stream)?;
        // SAFETY: the caller's promise.
        unsafe { allocate_into(out, || mem::allocate_in_order(size, false)) }
    })
}

/// Frees when the stream gets there.
#[unsafe(no_mangle)]
pub extern "C" fn musaFreeAsync(address: *mut c_void, stream: Handle) -> c_int {
    entry("musaFreeAsync", || mem::free_in_order(address as usize, resolve(stream)?))
}

/// # Safety
/// `out` is null or writable.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn musaMallocHost(out: *mut *mut c_void, size: usize) -> c_int {
    // SAFETY: the caller's promise.
    entry("musaMallocHost", || unsafe { allocate_into(out, || mem::allocate_host(size, 0)) })
}

/// # Safety
/// `out` is null or writable.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn musaHostAlloc(out: *mut *mut c_void, size: usize, flags: c_uint) -> c_int {
    entry("musaHostAlloc", || {
        if flags > 7 {
            return Err(Error::INVALID_VALUE);
        }
        // SAFETY: the caller's promise.
        unsafe { allocate_into(out, || mem::allocate_host(size, flags)) }
    })
}

/// Frees memory of `musaMallocHost` or `musaHostAlloc`.
#[unsafe(no_mangle)]
pub extern "C" fn musaFreeHost(address: *mut c_void) -> c_int {
    entry("musaFreeHost", || mem::free_host(address as usize))
}

/// Tells the runtime of pageable memory that asynchronous copies will use.
#[unsafe(no_mangle)]
pub extern "C" fn musaHostRegister(address: *mut c_void, size: usize, flags: c_uint) -> c_int {
    entry("musaHostRegister", || mem::register_host(address as usize, size, flags))
}

/// Undoes `musaHostRegister`.
#[unsafe(no_mangle)]
pub extern "C" fn musaHostUnregister(address: *mut c_void) -> c_int {
    entry("musaHostUnregister", || mem::unregister_host(address as usize))
}

/// # Safety
/// `out` is null or writable.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn musaHostGetDevicePointer(
    out: *mut *mut c_void,
    host: *mut c_void,
    flags: c_uint,
) -> c_int {
    entry("musaHostGetDevicePointer", || {
        let pinned = ranges::locate(host as usize).memory == Memory::Host;
        if flags != 0 || !pinned {
            return Err(Error::INVALID_VALUE);
        }
        // SAFETY: the caller's promise.
        unsafe { put(out, host) }
    })
}

/// # Safety
/// `out` is null or writable.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn musaHostGetFlags(out: *mut c_uint, host: *mut c_void) -> c_int {
    entry("musaHostGetFlags", || {
        let info = ranges::find(host as usize).filter(|i| i.host).ok_or(Error::INVALID_VALUE)?;
        // SAFETY: the caller's promise.
        unsafe { put(out, info.flags) }
    })
}

/// # Safety
/// `free` and `total` are null or writable.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn musaMemGetInfo(free: *mut usize, total: *mut usize) -> c_int {
    entry("musaMemGetInfo", || {
        required(free)?;
        required(total)?;
        let info = runtime()?.heap.info(thread::device());
        // SAFETY: the caller's promise.
        unsafe {
            put(free, info.0)?;
            put(total, info.1)
        }
    })
}

/// # Safety
/// `out` is null or writable.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn musaPointerGetAttributes(
    out: *mut musaPointerAttributes,
    address: *const c_void,
) -> c_int {
    entry("musaPointerGetAttributes", || {
        let place = ranges::locate(address as usize);
        let here = address.cast_mut();
        let (kind, device, on_device, on_host) = match place.memory {
            Memory::Unknown => (0, -1, std::ptr::null_mut(), here),
            Memory::Host => (1, place.device as c_int, here, here),
            Memory::Device => (2, place.device as c_int, here, std::ptr::null_mut()),
            Memory::Managed => (3, place.device as c_int, here, here),
        };
        let attributes =
            musaPointerAttributes { r#type: kind, device, devicePointer: on_device, hostPointer: on_host };
        // SAFETY: the caller's promise.
        unsafe { put(out, attributes) }
    })
}

/// # Safety
/// Both ranges are valid for `count` bytes.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn musaMemcpy(
    dst: *mut c_void,
    src: *const c_void,
    count: usize,
    kind: c_int,
) -> c_int {
    // SAFETY: the caller's promise.
    entry("musaMemcpy", || unsafe { copy_on(dst, src, count, kind, std::ptr::null_mut()) })
}

/// A synchronous copy behind the work of a default stream.
///
/// # Safety
/// Both ranges are valid for `count` bytes.
pub(super) unsafe fn copy_on(
    dst: *mut c_void,
    src: *const c_void,
    count: usize,
    kind: c_int,
    stream: Handle,
) -> Result<()> {
    mem::check_kind(kind)?;
    // SAFETY: the caller's promise.
    unsafe { mem::copy_now(dst, src, count, resolve(stream)?) }
}

/// # Safety
/// Both ranges stay valid for `count` bytes until the copy is done.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn musaMemcpyAsync(
    dst: *mut c_void,
    src: *const c_void,
    count: usize,
    kind: c_int,
    stream: Handle,
) -> c_int {
    entry("musaMemcpyAsync", || {
        mem::check_kind(kind)?;
        mem::copy(dst as usize, src as usize, count, resolve(stream)?)
    })
}

/// # Safety
/// Both ranges are valid for `count` bytes.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn musaMemcpyPeer(
    dst: *mut c_void,
    dst_device: c_int,
    src: *const c_void,
    src_device: c_int,
    count: usize,
) -> c_int {
    entry("musaMemcpyPeer", || {
        device::checked(dst_device)?;
        device::checked(src_device)?;
        // SAFETY: the caller's promise.
        unsafe { mem::copy_now(dst, src, count, resolve(std::ptr::null_mut())?) }
    })
}

/// # Safety
/// Both ranges stay valid for `count` bytes until the copy is done.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn musaMemcpyPeerAsync(
    dst: *mut c_void,
    dst_device: c_int,
    src: *const c_void,
    src_device: c_int,
    count: usize,
    stream: Handle,
) -> c_int {
    entry("musaMemcpyPeerAsync", || {
        device::checked(dst_device)?;
        device::checked(src_device)?;
        mem::copy(dst as usize, src as usize, count, resolve(stream)?)
    })
}

/// # Safety
/// The range stays valid for `count` bytes until the fill is done.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn musaMemset(dst: *mut c_void, value: c_int, count: usize) -> c_int {
    entry("musaMemset", || {
        crate::core::capture::forbid_unsafe()?;
        mem::fill(dst as usize, value as u8, count, resolve(std::ptr::null_mut())?)
    })
}

/// # Safety
/// As `musaMemset`.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn musaMemsetAsync(
    dst: *mut c_void,
    value: c_int,
    count: usize,
    stream: Handle,
) -> c_int {
    entry("musaMemsetAsync", || mem::fill(dst as usize, value as u8, count, resolve(stream)?))
}
