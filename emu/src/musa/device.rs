//! Start, versions, errors and devices of the driver face.

use std::ffi::{c_char, c_int, c_uint};

use super::types::{MUdevice, MUuuid};
use crate::core::device::{self as dev, VERSION, checked};
use crate::core::error::Error;
use crate::core::runtime::runtime;
use crate::guard::{driver_entry, put};
use crate::musart::device::put_text;

/// `flags` is 0.
#[unsafe(no_mangle)]
pub extern "C" fn muInit(flags: c_uint) -> c_int {
    driver_entry("muInit", || if flags == 0 { runtime().map(drop) } else { Err(Error::INVALID_VALUE) })
}

/// # Safety
/// `version` is null or writable.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn muDriverGetVersion(version: *mut c_int) -> c_int {
    // SAFETY: the caller's promise.
    driver_entry("muDriverGetVersion", || unsafe { put(version, VERSION) })
}

/// # Safety
/// `text` is null or writable.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn muGetErrorString(error: c_int, text: *mut *const c_char) -> c_int {
    driver_entry("muGetErrorString", || {
        let found = Error(error).text().ok_or(Error::INVALID_VALUE)?;
        // SAFETY: the caller's promise.
        unsafe { put(text, found.as_ptr().cast()) }
    })
}

/// # Safety
/// `text` is null or writable.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn muGetErrorName(error: c_int, text: *mut *const c_char) -> c_int {
    driver_entry("muGetErrorName", || {
        let found = Error(error).driver_name().ok_or(Error::INVALID_VALUE)?;
        // SAFETY: the caller's promise.
        unsafe { put(text, found.as_ptr().cast()) }
    })
}

/// # Safety
/// `count` is null or writable.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn muDeviceGetCount(count: *mut c_int) -> c_int {
    // SAFETY: the caller's promise.
    driver_entry("muDeviceGetCount", || unsafe { put(count, runtime()?.devices.len() as c_int) })
}

/// # Safety
/// `device` is null or writable.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn muDeviceGet(device: *mut MUdevice, ordinal: c_int) -> c_int {
    // SAFETY: the caller's promise.
    driver_entry("muDeviceGet", || unsafe { put(device, checked(ordinal)?.1 as c_int) })
}

/// # Safety
/// `value` is null or writable.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn muDeviceGetAttribute(
    value: *mut c_int,
    attribute: c_int,
    device: MUdevice,
) -> c_int {
    // SAFETY: the caller's promise.
    driver_entry("muDeviceGetAttribute", || unsafe { put(value, dev::attribute(attribute, device)?) })
}

/// # Safety
/// `text` is null or has room for `len` bytes.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn muDeviceGetName(text: *mut c_char, len: c_int, device: MUdevice) -> c_int {
    driver_entry("muDeviceGetName", || {
        checked(device)?;
        // SAFETY: the caller's promise.
        unsafe { put_text(dev::NAME, text, len) }
    })
}

/// # Safety
/// `text` is null or has room for `len` bytes.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn muDeviceGetPCIBusId(text: *mut c_char, len: c_int, device: MUdevice) -> c_int {
    // SAFETY: the caller's promise.
    driver_entry("muDeviceGetPCIBusId", || unsafe {
        put_text(&dev::pci_bus_id(checked(device)?.1), text, len)
    })
}

/// # Safety
/// `uuid` is null or writable.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn muDeviceGetUuid(uuid: *mut MUuuid, device: MUdevice) -> c_int {
    driver_entry("muDeviceGetUuid", || {
        let bytes = dev::uuid(checked(device)?.1).map(|b| b as c_char);
        // SAFETY: the caller's promise.
        unsafe { put(uuid, MUuuid { bytes }) }
    })
}

/// # Safety
/// `bytes` is null or writable.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn muDeviceTotalMem(bytes: *mut usize, device: MUdevice) -> c_int {
    driver_entry("muDeviceTotalMem", || {
        let (runtime, device) = checked(device)?;
        // SAFETY: the caller's promise.
        unsafe { put(bytes, runtime.heap.info(device).1) }
    })
}
