//! What addresses are, in the driver face.

use std::ffi::{c_int, c_uint, c_ulonglong, c_void};

use super::types::MUdeviceptr;
use crate::core::error::{Error, Result};
use crate::core::ranges::{Memory, Place, locate};
use crate::guard::{driver_entry, put, required};

/// Numbers of pointer attributes.
const CONTEXT: c_int = 1;
const MEMORY_TYPE: c_int = 2;
const DEVICE_POINTER: c_int = 3;
const HOST_POINTER: c_int = 4;
const SYNC_MEMOPS: c_int = 6;
const BUFFER_ID: c_int = 7;
const IS_MANAGED: c_int = 8;
const DEVICE_ORDINAL: c_int = 9;
const LEGACY_IPC_CAPABLE: c_int = 10;
const RANGE_START: c_int = 11;
const RANGE_SIZE: c_int = 12;
const MAPPED: c_int = 13;
const ALLOWED_HANDLE_TYPES: c_int = 14;
const GDR_CAPABLE: c_int = 15;

/// # Safety
/// `data` is null or has room for the attribute's value.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn muPointerGetAttribute(
    data: *mut c_void,
    attribute: c_int,
    address: MUdeviceptr,
) -> c_int {
    // SAFETY: the caller's promise.
    driver_entry("muPointerGetAttribute", || unsafe { attribute_into(data, attribute, address) })
}

/// # Safety
/// `attributes` and `data` are valid for `count` items, each of `data` with room for its attribute's value.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn muPointerGetAttributes(
    count: c_uint,
    attributes: *mut c_int,
    data: *mut *mut c_void,
    address: MUdeviceptr,
) -> c_int {
    driver_entry("muPointerGetAttributes", || {
        required(attributes)?;
        required(data)?;
        for i in 0..count as usize {
            // SAFETY: `i` is below the number of items that the caller promised.
            unsafe { attribute_into(data.add(i).read(), attributes.add(i).read(), address)? };
        }
        Ok(())
    })
}

/// # Safety
/// `data` is null or has room for the attribute's value.
unsafe fn attribute_into(data: *mut c_void, attribute: c_int, address: MUdeviceptr) -> Result<()> {
    required(data)?;
    let place = locate(address as usize);
    if place.memory == Memory::Unknown {
        return Err(Error::INVALID_VALUE);
    }
    let on_device = place.memory != Memory::Host;
    // SAFETY: room for the value by the caller's promise; the widths are those of the interface.
    unsafe {
        match attribute {
            CONTEXT => put(data.cast(), 0xc0usize + place.device),
            MEMORY_TYPE => put(data.cast(), if on_device { 2 as c_uint } else { 1 }),
            DEVICE_POINTER | HOST_POINTER => put(data.cast(), address),
            SYNC_MEMOPS | MAPPED => put(data.cast(), 1 as c_uint),
            BUFFER_ID => put(data.cast(), place.id),
            IS_MANAGED => put(data.cast(), c_uint::from(place.memory == Memory::Managed)),
            DEVICE_ORDINAL => put(data.cast(), place.device as c_int),
            LEGACY_IPC_CAPABLE => put(data.cast(), c_uint::from(is_heap(&place))),
            RANGE_START => put(data.cast(), place.base),
            RANGE_SIZE => put(data.cast(), place.size),
            ALLOWED_HANDLE_TYPES => put(data.cast(), c_ulonglong::from(!is_heap(&place) && on_device)),
            GDR_CAPABLE => put(data.cast(), 0 as c_uint),
            _ => Err(Error::INVALID_VALUE),
        }
    }
}

fn is_heap(place: &Place) -> bool {
    place.id >> 63 == 0
}

/// Only the wish for synchronous memory operations can be set, and it always holds: copies are seen in order.
///
/// # Safety
/// `value` is null or readable.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn muPointerSetAttribute(
    value: *const c_void,
    attribute: c_int,
    address: MUdeviceptr,
) -> c_int {
    driver_entry("muPointerSetAttribute", || {
        let known = matches!(locate(address as usize).memory, Memory::Device | Memory::Managed);
        if value.is_null() || attribute != SYNC_MEMOPS || !known {
            return Err(Error::INVALID_VALUE);
        }
        Ok(())
    })
}

/// # Safety
/// `base` and `size` are null, which are skipped, or writable.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn muMemGetAddressRange(
    base: *mut MUdeviceptr,
    size: *mut usize,
    address: MUdeviceptr,
) -> c_int {
    driver_entry("muMemGetAddressRange", || {
        let place = locate(address as usize);
        if !matches!(place.memory, Memory::Device | Memory::Managed) {
            return Err(Error::INVALID_VALUE);
        }
        // SAFETY: the caller's promise.
        unsafe {
            if !base.is_null() {
                put(base, place.base as MUdeviceptr)?;
            }
            if !size.is_null() {
                put(size, place.size)?;
            }
        }
        Ok(())
    })
}

/// # Safety
/// As `muMemGetAddressRange`, which it equals.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn muMemGetAddressRange_v2(
    base: *mut MUdeviceptr,
    size: *mut usize,
    address: MUdeviceptr,
) -> c_int {
    // SAFETY: the caller's promise.
    unsafe { muMemGetAddressRange(base, size, address) }
}

/// Device memory has no dma-buf here: always `MUSA_ERROR_NOT_SUPPORTED`.
#[unsafe(no_mangle)]
pub extern "C" fn muMemGetHandleForAddressRange(
    _handle: *mut c_void,
    _address: MUdeviceptr,
    _size: usize,
    _kind: c_int,
    _flags: c_ulonglong,
) -> c_int {
    driver_entry("muMemGetHandleForAddressRange", || Err(Error::NOT_SUPPORTED))
}
