//! Device memory: one memory file mapped once, each device owning a span of it.

use std::os::fd::{AsRawFd, OwnedFd};
use std::sync::Mutex;

use super::alloc::SpanAllocator;
use super::config::Config;
use super::error::{Error, Result};
use super::lock;
use crate::sys::fd::{memfd, punch_hole, random_u64};
use crate::sys::map::{Mapping, PAGE};

const SPAN: usize = 64 << 30;
const MIN_SPAN: usize = 1 << 20;

/// The heap of this process.
pub struct Heap {
    fd: OwnedFd,
    map: Mapping,
    key: u64,
    span: usize,
    limit: usize,
    devices: Vec<Mutex<SpanAllocator>>,
}

/// A live allocation.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Block {
    pub device: usize,
    pub base: usize,
    /// Bytes asked for.
    pub size: usize,
    /// Unique in the process.
    pub id: u64,
    pub managed: bool,
}

impl Heap {
    /// Makes the file and maps it, with smaller spans where address space is limited.
    pub fn new(config: &Config) -> Result<Self> {
        let key = random_u64()?;
        let mut span = SPAN.max(config.memory.next_power_of_two() * 2);
        loop {
            let len = span * config.devices;
            let fd = memfd(&name(key), len)?;
            match Mapping::shared(fd.as_raw_fd(), 0, len) {
                Ok(map) => {
                    let devices = (0..config.devices).map(|_| Mutex::new(SpanAllocator::new(span))).collect();
                    return Ok(Self { fd, map, key, span, limit: config.memory.min(span), devices });
                }
                Err(_) if span > MIN_SPAN => span /= 2,
                Err(error) => return Err(error.into()),
            }
        }
    }

    pub fn allocate(&self, device: usize, size: usize, managed: bool) -> Result<usize> {
        let mut allocator = lock(&self.devices[device]);
        if size > self.limit - allocator.used().min(self.limit) {
            return Err(Error::MEMORY_ALLOCATION);
        }
        let offset = allocator.allocate(size, managed).ok_or(Error::MEMORY_ALLOCATION)?;
        Ok(self.base() + device * self.span + offset)
    }

    /// Frees the allocation that starts at `address` and gives its whole pages back to the system.
    pub fn free(&self, address: usize) -> Result<()> {
        let (device, offset) = self.locate(address).ok_or(Error::INVALID_VALUE)?;
        let mut allocator = lock(&self.devices[device]);
        let hole = allocator.free(offset).ok_or(Error::INVALID_VALUE)?;
        if !hole.is_empty() {
            // The lock is held: nobody can be given these pages before they are gone.
            punch_hole(self.fd(), device * self.span + hole.start, hole.len())?;
        }
        Ok(())
    }

    /// The live allocation that contains `address`.
    pub fn find(&self, address: usize) -> Option<Block> {
        let (device, offset) = self.locate(address)?;
        let entry = lock(&self.devices[device]).find(offset)?;
        Some(Block {
            device,
            base: self.base() + device * self.span + entry.offset,
            size: entry.size,
            id: entry.id << 6 | device as u64,
            managed: entry.managed,
        })
    }

    /// Device and offset in its span of any address inside the heap.
    fn locate(&self, address: usize) -> Option<(usize, usize)> {
        let offset = address.checked_sub(self.base()).filter(|&offset| offset < self.map.len())?;
        Some((offset / self.span, offset % self.span))
    }

    pub fn contains(&self, address: usize) -> bool {
        self.locate(address).is_some()
    }

    /// Free and total bytes of a device.
    pub fn info(&self, device: usize) -> (usize, usize) {
        let used = lock(&self.devices[device]).used();
        (self.limit.saturating_sub(used), self.limit)
    }

    pub fn base(&self) -> usize {
        self.map.base() as usize
    }

    pub fn len(&self) -> usize {
        self.map.len()
    }

    pub fn is_empty(&self) -> bool {
        self.map.is_empty()
    }

    pub fn span(&self) -> usize {
        self.span
    }

    pub fn fd(&self) -> i32 {
        self.fd.as_raw_fd()
    }

    /// A random number that tells this heap from every other.
    pub fn key(&self) -> u64 {
        self.key
    }
}

/// Name of the memory file of a heap.
pub fn name(key: u64) -> String {
    format!("mccl-emu-heap-{key:016x}")
}

const _: () = assert!(MIN_SPAN.is_multiple_of(PAGE));
