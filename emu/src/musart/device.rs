//! Devices of the runtime face.

use std::ffi::{CStr, c_char, c_int, c_uint};
use std::mem::zeroed;
use std::sync::atomic::Ordering;

use super::types::{musaDeviceProp, musaUUID};
use crate::core::device::{self as dev, checked};
use crate::core::error::{Error, Result};
use crate::core::runtime::runtime;
use crate::core::stream::GREATEST_PRIORITY;
use crate::core::{capture, sync, thread};
use crate::guard::{entry, put, required};

/// # Safety
/// `count` is null or writable.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn musaGetDeviceCount(count: *mut c_int) -> c_int {
    // SAFETY: the caller's promise.
    entry("musaGetDeviceCount", || unsafe { put(count, runtime()?.devices.len() as c_int) })
}

/// # Safety
/// `device` is null or writable.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn musaGetDevice(device: *mut c_int) -> c_int {
    // SAFETY: the caller's promise.
    entry("musaGetDevice", || unsafe { put(device, thread::device() as c_int) })
}

/// Makes `device` the calling thread's device.
#[unsafe(no_mangle)]
pub extern "C" fn musaSetDevice(device: c_int) -> c_int {
    entry("musaSetDevice", || thread::set_device(device))
}

/// Waits for all work of the calling thread's device.
#[unsafe(no_mangle)]
pub extern "C" fn musaDeviceSynchronize() -> c_int {
    entry("musaDeviceSynchronize", || {
        runtime()?;
        capture::forbid_unsafe()?;
        sync::synchronize_device(thread::device())
    })
}

/// Waits for all work of the device. Memory and streams stay: other threads may use them.
#[unsafe(no_mangle)]
pub extern "C" fn musaDeviceReset() -> c_int {
    entry("musaDeviceReset", || {
        runtime()?;
        capture::forbid_unsafe()?;
        sync::synchronize_device(thread::device())
    })
}

/// # Safety
/// `properties` is null or writable.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn musaGetDeviceProperties(properties: *mut musaDeviceProp, device: c_int) -> c_int {
    // SAFETY: the caller's promise.
    entry("musaGetDeviceProperties", || unsafe { put(properties, describe(device)?) })
}

/// # Safety
/// As `musaGetDeviceProperties`, which it equals.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn musaGetDeviceProperties_v2(properties: *mut musaDeviceProp, device: c_int) -> c_int {
    // SAFETY: the caller's promise.
    unsafe { musaGetDeviceProperties(properties, device) }
}

fn describe(ordinal: c_int) -> Result<musaDeviceProp> {
    let (runtime, device) = checked(ordinal)?;
    let value = |number: c_int| dev::attribute(number, ordinal).unwrap_or(0);
    // SAFETY: the struct has numbers and arrays of numbers only.
    let mut p: musaDeviceProp = unsafe { zeroed() };
    for (to, from) in p.name.iter_mut().zip(dev::NAME.bytes()) {
        *to = from as c_char;
    }
    p.uuid = musaUUID { bytes: dev::uuid(device).map(|b| b as c_char) };
    p.totalGlobalMem = runtime.heap.info(device).1;
    p.sharedMemPerBlock = dev::SHARED_MEMORY as usize;
    p.sharedMemPerMultiprocessor = dev::SHARED_MEMORY as usize;
    p.sharedMemPerBlockOptin = dev::SHARED_MEMORY as usize;
    (p.regsPerBlock, p.regsPerMultiprocessor) = (value(12), value(82));
    p.warpSize = dev::WARP;
    p.memPitch = i32::MAX as usize;
    p.maxThreadsPerBlock = dev::MAX_THREADS;
    p.maxThreadsDim = [value(2), value(3), value(4)];
    p.maxGridSize = [value(5), value(6), value(7)];
    p.clockRate = dev::CLOCK_KHZ;
    p.totalConstMem = value(9) as usize;
    (p.major, p.minor) = (dev::MAJOR, dev::MINOR);
    p.textureAlignment = 512;
    p.multiProcessorCount = dev::PROCESSORS;
    (p.deviceOverlap, p.canMapHostMemory, p.concurrentKernels) = (1, 1, 1);
    p.pciBusID = dev::pci_bus(device);
    p.pciDeviceID = dev::PCI_DEVICE;
    p.pciDomainID = dev::PCI_DOMAIN;
    (p.asyncEngineCount, p.unifiedAddressing) = (value(40), 1);
    p.memoryClockRate = dev::MEMORY_CLOCK_KHZ;
    p.memoryBusWidth = dev::MEMORY_BUS_BITS;
    p.l2CacheSize = dev::L2_BYTES;
    p.maxThreadsPerMultiProcessor = value(39);
    (p.streamPrioritiesSupported, p.managedMemory) = (1, 1);
    (p.pageableMemoryAccess, p.concurrentManagedAccess) = (1, 1);
    Ok(p)
}

/// # Safety
/// `value` is null or writable.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn musaDeviceGetAttribute(value: *mut c_int, attribute: c_int, device: c_int) -> c_int {
    // SAFETY: the caller's promise.
    entry("musaDeviceGetAttribute", || unsafe { put(value, dev::attribute(attribute, device)?) })
}

/// # Safety
/// `text` is null or has room for `len` bytes.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn musaDeviceGetPCIBusId(text: *mut c_char, len: c_int, device: c_int) -> c_int {
    // SAFETY: the caller's promise.
    entry("musaDeviceGetPCIBusId", || unsafe { put_text(&dev::pci_bus_id(checked(device)?.1), text, len) })
}

/// Writes a nul-terminated text where it fits whole.
///
/// # Safety
/// `out` is null or has room for `len` bytes.
pub(crate) unsafe fn put_text(text: &str, out: *mut c_char, len: c_int) -> Result<()> {
    required(out)?;
    if usize::try_from(len).unwrap_or(0) <= text.len() {
        return Err(Error::INVALID_VALUE);
    }
    // SAFETY: the text and its nul fit, as just checked.
    unsafe {
        std::ptr::copy_nonoverlapping(text.as_ptr().cast(), out, text.len());
        out.add(text.len()).write(0);
    }
    Ok(())
}

/// # Safety
/// `device` is null or writable, `text` null or a C string.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn musaDeviceGetByPCIBusId(device: *mut c_int, text: *const c_char) -> c_int {
    entry("musaDeviceGetByPCIBusId", || {
        required(device)?;
        required(text.cast_mut())?;
        // SAFETY: a C string by the caller's promise.
        let text = unsafe { CStr::from_ptr(text) }.to_str().map_err(|_| Error::INVALID_VALUE)?;
        // SAFETY: the caller's promise.
        unsafe { put(device, dev::by_pci_bus_id(text)? as c_int) }
    })
}

/// # Safety
/// Each output is null, which is skipped, or writable.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn musaDeviceGetStreamPriorityRange(least: *mut c_int, greatest: *mut c_int) -> c_int {
    entry("musaDeviceGetStreamPriorityRange", || {
        for (out, value) in [(least, 0), (greatest, GREATEST_PRIORITY)] {
            if !out.is_null() {
                // SAFETY: the caller's promise.
                unsafe { put(out, value)? };
            }
        }
        Ok(())
    })
}

/// # Safety
/// `can` is null or writable.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn musaDeviceCanAccessPeer(can: *mut c_int, device: c_int, peer: c_int) -> c_int {
    // SAFETY: the caller's promise.
    entry("musaDeviceCanAccessPeer", || unsafe { put(can, dev::can_access_peer(device, peer)?.into()) })
}

/// Lets the calling thread's device use the memory of `peer`, as it always can.
#[unsafe(no_mangle)]
pub extern "C" fn musaDeviceEnablePeerAccess(peer: c_int, flags: c_uint) -> c_int {
    entry("musaDeviceEnablePeerAccess", || {
        if flags != 0 {
            return Err(Error::INVALID_VALUE);
        }
        dev::enable_peer(peer)
    })
}

/// Undoes `musaDeviceEnablePeerAccess`.
#[unsafe(no_mangle)]
pub extern "C" fn musaDeviceDisablePeerAccess(peer: c_int) -> c_int {
    entry("musaDeviceDisablePeerAccess", || dev::disable_peer(peer))
}

/// Remembers scheduling flags, which change nothing here.
#[unsafe(no_mangle)]
pub extern "C" fn musaSetDeviceFlags(flags: c_uint) -> c_int {
    entry("musaSetDeviceFlags", || {
        runtime()?.devices[thread::device()].flags.store(flags, Ordering::Relaxed);
        Ok(())
    })
}

/// # Safety
/// `flags` is null or writable.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn musaGetDeviceFlags(flags: *mut c_uint) -> c_int {
    entry("musaGetDeviceFlags", || {
        let value = runtime()?.devices[thread::device()].flags.load(Ordering::Relaxed);
        // SAFETY: the caller's promise.
        unsafe { put(flags, value) }
    })
}
