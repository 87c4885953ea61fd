//! Allocation, pinned memory, copies and fills.

use std::ffi::c_void;

use super::error::{Error, Result};
use super::ranges::{self, Kind};
use super::runtime::runtime;
use super::slab::StreamRef;
use super::work::Work;
use super::{capture, stream, sync, thread};
use crate::sys::map::{Mapping, PAGE};

/// Device memory of the caller's device; null for 0 bytes.
pub fn allocate(size: usize, managed: bool) -> Result<usize> {
    capture::forbid_unsafe()?;
    allocate_in_order(size, managed)
}

/// As `allocate`, for calls that captures do not forbid.
pub fn allocate_in_order(size: usize, managed: bool) -> Result<usize> {
    let runtime = runtime()?;
    if size == 0 {
        return Ok(0);
    }
    runtime.heap.allocate(thread::device(), size, managed)
}

/// Frees device memory after all work of its device; null is fine.
pub fn free(address: usize) -> Result<()> {
    if address == 0 {
        return runtime().map(drop);
    }
    capture::forbid_unsafe()?;
    let runtime = runtime()?;
    let block = runtime.heap.find(address).filter(|b| b.base == address).ok_or(Error::INVALID_VALUE)?;
    if !thread::with(|s| s.in_poll.get()) && sync::device_is_busy(block.device) {
        // Failures stay for the calls that wait for the work itself.
        sync::drain_device(block.device);
    }
    runtime.heap.free(address)
}

/// Frees device memory when the stream gets there.
pub fn free_in_order(address: usize, stream: StreamRef) -> Result<()> {
    if address == 0 {
        return Ok(());
    }
    runtime()?.heap.find(address).filter(|b| b.base == address).ok_or(Error::INVALID_VALUE)?;
    stream::submit(stream, Work::Free { address })
}

/// Zeroed pinned host memory, page-aligned; null for 0 bytes.
pub fn allocate_host(size: usize, flags: u32) -> Result<usize> {
    capture::forbid_unsafe()?;
    runtime()?;
    if size == 0 {
        return Ok(0);
    }
    let len = size.checked_next_multiple_of(PAGE).ok_or(Error::MEMORY_ALLOCATION)?;
    let map = Mapping::anonymous(len).map_err(|_| Error::MEMORY_ALLOCATION)?;
    let base = map.base() as usize;
    ranges::insert(base, size, thread::device(), flags, Kind::HostAllocated(map))?;
    Ok(base)
}

pub fn free_host(address: usize) -> Result<()> {
    if address == 0 {
        return Ok(());
    }
    capture::forbid_unsafe()?;
    let info = ranges::find(address).filter(|i| i.base == address && i.host && !i.registered);
    let info = info.ok_or(Error::INVALID_VALUE)?;
    if sync::device_is_busy(info.device) {
        sync::drain_device(info.device);
    }
    ranges::remove(address, |kind| matches!(kind, Kind::HostAllocated(_)))
        .map(drop)
        .ok_or(Error::INVALID_VALUE)
}

pub fn register_host(address: usize, size: usize, flags: u32) -> Result<()> {
    runtime()?;
    if address == 0 {
        return Err(Error::INVALID_VALUE);
    }
    ranges::insert(address, size, thread::device(), flags, Kind::HostRegistered)
}

pub fn unregister_host(address: usize) -> Result<()> {
    ranges::remove(address, |kind| matches!(kind, Kind::HostRegistered))
        .map(drop)
        .ok_or(Error::HOST_MEMORY_NOT_REGISTERED)
}

/// Copies after all earlier work of the caller's default stream and returns when done.
///
/// # Safety
/// Both ranges are valid for `len` bytes.
pub unsafe fn copy_now(dst: *mut c_void, src: *const c_void, len: usize, stream: StreamRef) -> Result<()> {
    check_ranges(dst as usize, src as usize, len)?;
    capture::forbid_unsafe()?;
    sync::synchronize(stream)?;
    // SAFETY: the caller's promise; `copy` allows overlap.
    unsafe { std::ptr::copy(src.cast::<u8>(), dst.cast::<u8>(), len) };
    Ok(())
}

/// Queues a copy. The ranges stay valid until it is done: the caller's promise.
pub fn copy(dst: usize, src: usize, len: usize, stream: StreamRef) -> Result<()> {
    check_ranges(dst, src, len)?;
    if len == 0 {
        return Ok(());
    }
    stream::submit(stream, Work::Copy { dst, src, len })
}

/// Queues a fill. The range stays valid until it is done: the caller's promise.
pub fn fill(dst: usize, value: u8, len: usize, stream: StreamRef) -> Result<()> {
    if len == 0 {
        return Ok(());
    }
    if dst == 0 {
        return Err(Error::INVALID_VALUE);
    }
    stream::submit(stream, Work::Fill { dst, value, len })
}

/// Kind of a copy, as programs state it: 0 host to host … 4 by the addresses.
pub fn check_kind(kind: i32) -> Result<()> {
    if (0..=4).contains(&kind) { Ok(()) } else { Err(Error::INVALID_MEMCPY_DIRECTION) }
}

fn check_ranges(dst: usize, src: usize, len: usize) -> Result<()> {
    let fits = |at: usize| at != 0 && at.checked_add(len).is_some();
    if len == 0 || (fits(dst) && fits(src)) { Ok(()) } else { Err(Error::INVALID_VALUE) }
}
