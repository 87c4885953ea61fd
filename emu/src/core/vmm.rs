//! Physical memory apart from addresses: memory files placed into reserved ranges.

use std::collections::BTreeMap;
use std::ffi::c_void;
use std::os::fd::{AsRawFd, IntoRawFd, OwnedFd};
use std::sync::{Arc, Mutex};

use super::error::{Error, Result};
use super::lock;
use super::ranges::{self, Kind};
use super::registry::Registry;
use super::runtime::runtime;
use crate::sys::fd::{duplicate, memfd, size_of_file};
use crate::sys::map::Mapping;

/// Sizes and addresses are multiples of this.
pub const GRANULARITY: usize = 2 << 20;

/// Physical memory; gone with its last handle and its last placement.
pub struct Physical {
    fd: OwnedFd,
    pub size: usize,
    pub device: usize,
}

static HANDLES: Registry<Physical> = Registry::new();

/// Reserved ranges by start.
static RESERVED: Mutex<BTreeMap<usize, Mapping>> = Mutex::new(BTreeMap::new());
/// What is placed where, by start.
static PLACED: Mutex<BTreeMap<usize, Arc<Physical>>> = Mutex::new(BTreeMap::new());

pub fn create(size: usize, device: usize) -> Result<*mut c_void> {
    if !whole(size) {
        return Err(Error::INVALID_VALUE);
    }
    if size > runtime()?.heap.info(device).0 {
        return Err(Error::MEMORY_ALLOCATION);
    }
    Ok(HANDLES.insert(Arc::new(Physical { fd: memfd("mccl-emu-physical", size)?, size, device })))
}

pub fn get(handle: *mut c_void) -> Result<Arc<Physical>> {
    HANDLES.get(handle).map_err(|_| Error::INVALID_VALUE)
}

pub fn release(handle: *mut c_void) -> Result<()> {
    HANDLES.remove(handle).map(drop).map_err(|_| Error::INVALID_VALUE)
}

/// A descriptor that another process can import; the caller closes it.
pub fn export(handle: *mut c_void) -> Result<i32> {
    Ok(duplicate(get(handle)?.fd.as_raw_fd())?.into_raw_fd())
}

/// Physical memory of a descriptor that `export` made, perhaps elsewhere; the caller keeps the descriptor.
pub fn import(fd: i32, device: usize) -> Result<*mut c_void> {
    let fd = duplicate(fd).map_err(|_| Error::INVALID_VALUE)?;
    let size = size_of_file(&fd).ok().filter(|&size| whole(size)).ok_or(Error::INVALID_VALUE)?;
    Ok(HANDLES.insert(Arc::new(Physical { fd, size, device })))
}

/// A new handle of what is placed at `address`.
pub fn retain(address: usize) -> Result<*mut c_void> {
    let placed = lock(&PLACED);
    let (&start, physical) = placed.range(..=address).next_back().ok_or(Error::INVALID_VALUE)?;
    if address - start >= physical.size {
        return Err(Error::INVALID_VALUE);
    }
    Ok(HANDLES.insert(physical.clone()))
}

pub fn reserve(size: usize, align: usize) -> Result<usize> {
    if !whole(size) || !(align == 0 || align.is_power_of_two()) {
        return Err(Error::INVALID_VALUE);
    }
    let map = Mapping::reserve(size, align.max(GRANULARITY)).map_err(|_| Error::MEMORY_ALLOCATION)?;
    let base = map.base() as usize;
    lock(&RESERVED).insert(base, map);
    Ok(base)
}

/// Frees a reservation in which nothing is placed.
pub fn unreserve(address: usize, size: usize) -> Result<()> {
    let mut reserved = lock(&RESERVED);
    reserved.get(&address).filter(|map| map.len() == size).ok_or(Error::INVALID_VALUE)?;
    if lock(&PLACED).range(address..address + size).next().is_some() {
        return Err(Error::INVALID_VALUE);
    }
    reserved.remove(&address);
    Ok(())
}

/// Places the whole of `handle` at `address` inside a reservation.
pub fn map(address: usize, size: usize, handle: *mut c_void) -> Result<()> {
    let physical = get(handle)?;
    if size != physical.size || !address.is_multiple_of(GRANULARITY) {
        return Err(Error::INVALID_VALUE);
    }
    let reserved = lock(&RESERVED);
    let (_, reservation) = reserved.range(..=address).next_back().ok_or(Error::INVALID_VALUE)?;
    ranges::insert(address, size, physical.device, 0, Kind::Placed).map_err(|_| Error::INVALID_VALUE)?;
    if reservation.place(address, size, physical.fd.as_raw_fd(), 0).is_err() {
        ranges::remove(address, |_| true);
        return Err(Error::INVALID_VALUE);
    }
    lock(&PLACED).insert(address, physical);
    Ok(())
}

/// Takes away what was placed at `address`.
pub fn unmap(address: usize, size: usize) -> Result<()> {
    let reserved = lock(&RESERVED);
    let mut placed = lock(&PLACED);
    placed.get(&address).filter(|physical| physical.size == size).ok_or(Error::INVALID_VALUE)?;
    let (_, reservation) = reserved.range(..=address).next_back().ok_or(Error::INVALID_VALUE)?;
    reservation.clear(address, size)?;
    ranges::remove(address, |kind| matches!(kind, Kind::Placed));
    placed.remove(&address);
    Ok(())
}

/// Whether memory is placed at the whole of a range. Access is always read and write.
pub fn is_mapped(address: usize, size: usize) -> bool {
    let placed = lock(&PLACED);
    let Some(end) = address.checked_add(size) else { return false };
    let mut at = address;
    while at < end {
        match placed.range(..=at).next_back() {
            Some((&start, physical)) if at - start < physical.size => at = start + physical.size,
            _ => return false,
        }
    }
    true
}

fn whole(size: usize) -> bool {
    size > 0 && size.is_multiple_of(GRANULARITY)
}
