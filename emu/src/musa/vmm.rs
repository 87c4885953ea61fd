//! Virtual memory management of the driver face.

use std::ffi::{c_int, c_ulonglong, c_void};

use super::types::{
    ACCESS_READ_WRITE, HANDLE_NONE, HANDLE_POSIX_FD, LOCATION_DEVICE, MUdeviceptr, MUmemAccessDesc,
    MUmemAllocFlags, MUmemAllocationProp, MUmemGenericAllocationHandle, MUmemLocation, PINNED,
};
use crate::core::device::checked;
use crate::core::error::{Error, Result};
use crate::core::{thread, vmm};
use crate::guard::{driver_entry, put, required};

type Handle = MUmemGenericAllocationHandle;

/// # Safety
/// `handle` is null or writable, `properties` null or readable.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn muMemCreate(
    handle: *mut Handle,
    size: usize,
    properties: *const MUmemAllocationProp,
    flags: c_ulonglong,
) -> c_int {
    driver_entry("muMemCreate", || {
        required(handle)?;
        // SAFETY: the caller's promise.
        let device = unsafe { device_of(properties)? };
        if flags != 0 {
            return Err(Error::INVALID_VALUE);
        }
        // SAFETY: the caller's promise.
        unsafe { put(handle, vmm::create(size, device)? as Handle) }
    })
}

/// # Safety
/// `properties` is null or readable.
unsafe fn device_of(properties: *const MUmemAllocationProp) -> Result<usize> {
    required(properties.cast_mut())?;
    // SAFETY: the caller's promise.
    let p = unsafe { properties.read() };
    if p.r#type != PINNED || p.location.r#type != LOCATION_DEVICE {
        return Err(Error::INVALID_VALUE);
    }
    if !matches!(p.requestedHandleTypes, HANDLE_NONE | HANDLE_POSIX_FD) {
        return Err(Error::NOT_SUPPORTED);
    }
    Ok(checked(p.location.id)?.1)
}

/// Forgets the handle; the memory stays while it is mapped or has other handles.
#[unsafe(no_mangle)]
pub extern "C" fn muMemRelease(handle: Handle) -> c_int {
    driver_entry("muMemRelease", || vmm::release(handle as *mut c_void))
}

/// # Safety
/// `granularity` is null or writable, `properties` null or readable.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn muMemGetAllocationGranularity(
    granularity: *mut usize,
    properties: *const MUmemAllocationProp,
    option: c_int,
) -> c_int {
    driver_entry("muMemGetAllocationGranularity", || {
        if !(0..=1).contains(&option) {
            return Err(Error::INVALID_VALUE);
        }
        // SAFETY: the caller's promise.
        unsafe {
            device_of(properties)?;
            put(granularity, vmm::GRANULARITY)
        }
    })
}

/// # Safety
/// `properties` is null or writable.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn muMemGetAllocationPropertiesFromHandle(
    properties: *mut MUmemAllocationProp,
    handle: Handle,
) -> c_int {
    driver_entry("muMemGetAllocationPropertiesFromHandle", || {
        let device = vmm::get(handle as *mut c_void)?.device as c_int;
        let allocFlags =
            MUmemAllocFlags { compressionType: 0, gpuDirectRDMACapable: 0, usage: 0, reserved: [0; 4] };
        let value = MUmemAllocationProp {
            r#type: PINNED,
            requestedHandleTypes: HANDLE_POSIX_FD,
            location: MUmemLocation { r#type: LOCATION_DEVICE, id: device },
            win32HandleMetaData: std::ptr::null_mut(),
            allocFlags,
        };
        // SAFETY: the caller's promise.
        unsafe { put(properties, value) }
    })
}

/// # Safety
/// `address` is null or writable.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn muMemAddressReserve(
    address: *mut MUdeviceptr,
    size: usize,
    alignment: usize,
    _wish: MUdeviceptr,
    flags: c_ulonglong,
) -> c_int {
    driver_entry("muMemAddressReserve", || {
        required(address)?;
        if flags != 0 {
            return Err(Error::INVALID_VALUE);
        }
        // SAFETY: the caller's promise.
        unsafe { put(address, vmm::reserve(size, alignment)? as MUdeviceptr) }
    })
}

/// Frees a reservation in which nothing is mapped.
#[unsafe(no_mangle)]
pub extern "C" fn muMemAddressFree(address: MUdeviceptr, size: usize) -> c_int {
    driver_entry("muMemAddressFree", || vmm::unreserve(address as usize, size))
}

/// Maps the whole of the handle's memory at an address inside a reservation.
#[unsafe(no_mangle)]
pub extern "C" fn muMemMap(
    address: MUdeviceptr,
    size: usize,
    offset: usize,
    handle: Handle,
    flags: c_ulonglong,
) -> c_int {
    driver_entry("muMemMap", || {
        if offset != 0 || flags != 0 {
            return Err(Error::INVALID_VALUE);
        }
        vmm::map(address as usize, size, handle as *mut c_void)
    })
}

/// Undoes `muMemMap`.
#[unsafe(no_mangle)]
pub extern "C" fn muMemUnmap(address: MUdeviceptr, size: usize) -> c_int {
    driver_entry("muMemUnmap", || vmm::unmap(address as usize, size))
}

/// Mapped memory can be read and written by every device from the start; the call checks its arguments.
///
/// # Safety
/// `access` is valid for `count` items.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn muMemSetAccess(
    address: MUdeviceptr,
    size: usize,
    access: *const MUmemAccessDesc,
    count: usize,
) -> c_int {
    driver_entry("muMemSetAccess", || {
        required(access.cast_mut())?;
        for i in 0..count {
            // SAFETY: `i` is below the number of items that the caller promised.
            let one = unsafe { access.add(i).read() };
            checked(one.location.id)?;
            if one.location.r#type != LOCATION_DEVICE || !matches!(one.flags, 0 | 1 | ACCESS_READ_WRITE) {
                return Err(Error::INVALID_VALUE);
            }
        }
        if vmm::is_mapped(address as usize, size) { Ok(()) } else { Err(Error::INVALID_VALUE) }
    })
}

/// # Safety
/// `flags` is null or writable, `location` null or readable.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn muMemGetAccess(
    flags: *mut c_ulonglong,
    location: *const MUmemLocation,
    address: MUdeviceptr,
) -> c_int {
    driver_entry("muMemGetAccess", || {
        required(location.cast_mut())?;
        // SAFETY: the caller's promise.
        checked(unsafe { location.read() }.id)?;
        if !vmm::is_mapped(address as usize, 1) {
            return Err(Error::INVALID_VALUE);
        }
        // SAFETY: the caller's promise.
        unsafe { put(flags, ACCESS_READ_WRITE as c_ulonglong) }
    })
}

/// File descriptors only; the caller closes what it gets.
///
/// # Safety
/// `shareable` is null or has room for an `int`.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn muMemExportToShareableHandle(
    shareable: *mut c_void,
    handle: Handle,
    kind: c_int,
    flags: c_ulonglong,
) -> c_int {
    driver_entry("muMemExportToShareableHandle", || {
        required(shareable)?;
        match kind {
            HANDLE_POSIX_FD if flags == 0 => {
                // SAFETY: the caller's promise.
                unsafe { put(shareable.cast(), vmm::export(handle as *mut c_void)?) }
            }
            HANDLE_POSIX_FD => Err(Error::INVALID_VALUE),
            _ => Err(Error::NOT_SUPPORTED),
        }
    })
}

/// File descriptors only, passed in place of the pointer; the caller keeps the descriptor.
///
/// # Safety
/// `handle` is null or writable.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn muMemImportFromShareableHandle(
    handle: *mut Handle,
    shareable: *mut c_void,
    kind: c_int,
) -> c_int {
    driver_entry("muMemImportFromShareableHandle", || {
        required(handle)?;
        if kind != HANDLE_POSIX_FD {
            return Err(Error::NOT_SUPPORTED);
        }
        let fd = c_int::try_from(shareable as usize).map_err(|_| Error::INVALID_VALUE)?;
        // SAFETY: the caller's promise.
        unsafe { put(handle, vmm::import(fd, thread::device())? as Handle) }
    })
}

/// # Safety
/// `handle` is null or writable.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn muMemRetainAllocationHandle(handle: *mut Handle, address: *mut c_void) -> c_int {
    driver_entry("muMemRetainAllocationHandle", || {
        required(handle)?;
        // SAFETY: the caller's promise.
        unsafe { put(handle, vmm::retain(address as usize)? as Handle) }
    })
}
