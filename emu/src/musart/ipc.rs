//! Inter-process handles of the runtime face.

use std::ffi::{c_int, c_uint, c_void};

use super::types::{Handle, musaIpcEventHandle, musaIpcMemHandle};
use crate::core::error::Error;
use crate::core::{event, ipc};
use crate::guard::{entry, put, required};

/// # Safety
/// `handle` is null or writable.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn musaIpcGetMemHandle(handle: *mut musaIpcMemHandle, address: *mut c_void) -> c_int {
    // SAFETY: the caller's promise.
    entry("musaIpcGetMemHandle", || unsafe {
        put(handle, musaIpcMemHandle { reserved: ipc::export_memory(address as usize)? })
    })
}

/// # Safety
/// `address` is null or writable.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn musaIpcOpenMemHandle(
    address: *mut *mut c_void,
    handle: musaIpcMemHandle,
    flags: c_uint,
) -> c_int {
    entry("musaIpcOpenMemHandle", || {
        required(address)?;
        if flags > 1 {
            return Err(Error::INVALID_VALUE);
        }
        // SAFETY: the caller's promise.
        unsafe { put(address, ipc::open_memory(handle.reserved)? as *mut c_void) }
    })
}

/// Unmaps what `musaIpcOpenMemHandle` mapped, with the last of equal openings.
#[unsafe(no_mangle)]
pub extern "C" fn musaIpcCloseMemHandle(address: *mut c_void) -> c_int {
    entry("musaIpcCloseMemHandle", || ipc::close_memory(address as usize))
}

/// # Safety
/// `handle` is null or writable.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn musaIpcGetEventHandle(handle: *mut musaIpcEventHandle, event: Handle) -> c_int {
    entry("musaIpcGetEventHandle", || {
        let reserved = ipc::export_event(&*event::get(event)?)?;
        // SAFETY: the caller's promise.
        unsafe { put(handle, musaIpcEventHandle { reserved }) }
    })
}

/// # Safety
/// `event` is null or writable.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn musaIpcOpenEventHandle(event: *mut Handle, handle: musaIpcEventHandle) -> c_int {
    entry("musaIpcOpenEventHandle", || {
        required(event)?;
        // SAFETY: the caller's promise.
        unsafe { put(event, ipc::open_event(handle.reserved)?) }
    })
}
