//! Contexts of the driver face. A device has one context, whose handle is a number made from its ordinal; the current
//! context is the calling thread's device.

use std::ffi::{c_int, c_uint};
use std::sync::atomic::Ordering;

use super::types::{MUcontext, MUdevice};
use crate::core::device::checked;
use crate::core::error::{Error, Result};
use crate::core::{capture, sync, thread};
use crate::guard::{driver_entry, put};

/// Distance of context handles from ordinals: never null, never an address.
const FIRST: usize = 0xc0;

fn handle(device: usize) -> MUcontext {
    std::ptr::without_provenance_mut(FIRST + device)
}

fn device_of(context: MUcontext) -> Result<c_int> {
    let device = (context as usize).wrapping_sub(FIRST);
    let device = c_int::try_from(device).map_err(|_| Error::DEVICE_UNINITIALIZED)?;
    checked(device).map_err(|_| Error::DEVICE_UNINITIALIZED)?;
    Ok(device)
}

/// # Safety
/// `context` is null or writable.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn muCtxGetCurrent(context: *mut MUcontext) -> c_int {
    // SAFETY: the caller's promise.
    driver_entry("muCtxGetCurrent", || unsafe { put(context, handle(thread::device())) })
}

/// Null is accepted and changes nothing: a thread always has a device.
#[unsafe(no_mangle)]
pub extern "C" fn muCtxSetCurrent(context: MUcontext) -> c_int {
    driver_entry("muCtxSetCurrent", || {
        if context.is_null() { Ok(()) } else { thread::set_device(device_of(context)?) }
    })
}

/// # Safety
/// `device` is null or writable.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn muCtxGetDevice(device: *mut MUdevice) -> c_int {
    // SAFETY: the caller's promise.
    driver_entry("muCtxGetDevice", || unsafe { put(device, thread::device() as c_int) })
}

/// Waits for all work of the current device.
#[unsafe(no_mangle)]
pub extern "C" fn muCtxSynchronize() -> c_int {
    driver_entry("muCtxSynchronize", || {
        capture::forbid_unsafe()?;
        sync::synchronize_device(thread::device())
    })
}

/// # Safety
/// `context` is null or writable.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn muDevicePrimaryCtxRetain(context: *mut MUcontext, device: MUdevice) -> c_int {
    // SAFETY: the caller's promise.
    driver_entry("muDevicePrimaryCtxRetain", || unsafe { put(context, handle(checked(device)?.1)) })
}

/// The context of a device stays.
#[unsafe(no_mangle)]
pub extern "C" fn muDevicePrimaryCtxRelease(device: MUdevice) -> c_int {
    driver_entry("muDevicePrimaryCtxRelease", || checked(device).map(drop))
}

/// # Safety
/// `flags` and `active` are null or writable.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn muDevicePrimaryCtxGetState(
    device: MUdevice,
    flags: *mut c_uint,
    active: *mut c_int,
) -> c_int {
    driver_entry("muDevicePrimaryCtxGetState", || {
        let (runtime, device) = checked(device)?;
        // SAFETY: the caller's promise.
        unsafe {
            put(flags, runtime.devices[device].flags.load(Ordering::Relaxed))?;
            put(active, 1)
        }
    })
}
