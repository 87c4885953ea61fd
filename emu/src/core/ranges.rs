//! Address ranges of known kinds besides the heap: pinned host memory, memory of other processes, mapped handles.

use std::collections::BTreeMap;
use std::sync::Mutex;

use super::error::{Error, Result};
use super::lock;
use super::runtime::started;
use crate::sys::map::Mapping;

/// What a range is; its memory goes away with it where the range owns it.
#[derive(Debug)]
pub enum Kind {
    /// Pinned memory that the runtime made.
    HostAllocated(Mapping),
    /// Memory of the program.
    HostRegistered,
    /// An allocation of another process.
    Imported,
    /// Physical memory mapped at a reserved address.
    Placed,
}

#[derive(Debug)]
struct Range {
    size: usize,
    device: usize,
    flags: u32,
    kind: Kind,
}

/// Copy of a range's data.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Info {
    pub base: usize,
    pub size: usize,
    pub device: usize,
    pub flags: u32,
    pub host: bool,
    pub registered: bool,
}

static RANGES: Mutex<BTreeMap<usize, Range>> = Mutex::new(BTreeMap::new());

/// Adds a range; fails if it touches one that exists.
pub fn insert(base: usize, size: usize, device: usize, flags: u32, kind: Kind) -> Result<()> {
    let end = base.checked_add(size).filter(|_| size > 0).ok_or(Error::INVALID_VALUE)?;
    let mut ranges = lock(&RANGES);
    let clash = ranges.range(..end).next_back().is_some_and(|(&start, range)| start + range.size > base);
    if clash {
        return Err(Error::HOST_MEMORY_ALREADY_REGISTERED);
    }
    ranges.insert(base, Range { size, device, flags, kind });
    Ok(())
}

/// Removes the range that starts at `base` if `wanted` says so. Memory that the range owns is unmapped.
pub fn remove(base: usize, wanted: impl FnOnce(&Kind) -> bool) -> Option<Info> {
    let mut ranges = lock(&RANGES);
    let info = ranges.get(&base).filter(|range| wanted(&range.kind)).map(|range| range.info(base))?;
    let range = ranges.remove(&base);
    drop(ranges);
    drop(range);
    Some(info)
}

/// The range that contains `address`.
pub fn find(address: usize) -> Option<Info> {
    let ranges = lock(&RANGES);
    let (&base, range) = ranges.range(..=address).next_back()?;
    (address - base < range.size).then(|| range.info(base))
}

impl Range {
    fn info(&self, base: usize) -> Info {
        Info {
            base,
            size: self.size,
            device: self.device,
            flags: self.flags,
            host: matches!(self.kind, Kind::HostAllocated(_) | Kind::HostRegistered),
            registered: matches!(self.kind, Kind::HostRegistered),
        }
    }
}

/// What an address is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Memory {
    Unknown,
    /// Pinned host memory.
    Host,
    Device,
    Managed,
}

/// Kind, device, start, size and identity of the allocation around an address.
#[derive(Clone, Copy, Debug)]
pub struct Place {
    pub memory: Memory,
    pub device: usize,
    pub base: usize,
    pub size: usize,
    pub id: u64,
}

pub fn locate(address: usize) -> Place {
    if let Some(block) = started().and_then(|r| r.heap.find(address)) {
        let memory = if block.managed { Memory::Managed } else { Memory::Device };
        return Place { memory, device: block.device, base: block.base, size: block.size, id: block.id };
    }
    match find(address) {
        Some(info) => Place {
            memory: if info.host { Memory::Host } else { Memory::Device },
            device: info.device,
            base: info.base,
            size: info.size,
            id: 1 << 63 | info.base as u64,
        },
        None => Place { memory: Memory::Unknown, device: 0, base: 0, size: 0, id: 0 },
    }
}
