//! Handles by which other processes map an allocation or share an event.
//!
//! A handle names a memory file by process, descriptor and key; the opener goes through `/proc/<pid>/fd/<n>` and
//! compares the file's name with the key, so that a recycled process number is noticed.

use std::collections::HashMap;
use std::ffi::c_void;
use std::os::fd::AsRawFd;
use std::sync::Mutex;

use super::error::{Error, Result};
use super::event::{self, Event};
use super::heap;
use super::ipc_event::IpcEvent;
use super::lock;
use super::ranges::{self, Kind};
use super::runtime::runtime;
use crate::sys::fd::open_memfd_of;
use crate::sys::map::{Mapping, PAGE};

const MEMORY_MAGIC: u32 = 0x4d43_4d31;
const EVENT_MAGIC: u32 = 0x4d43_4531;
/// Largest allocation that a handle may speak of.
const MAX_SIZE: u64 = 1 << 46;

/// The 64 bytes that programs pass between processes.
#[repr(C)]
#[derive(Clone, Copy)]
struct Ticket {
    magic: u32,
    pid: i32,
    fd: i32,
    device: u32,
    key: u64,
    offset: u64,
    size: u64,
    id: u64,
    unused: [u64; 2],
}

const _: () = assert!(size_of::<Ticket>() == 64);

pub type Handle = [u8; 64];

impl Ticket {
    fn to_bytes(self) -> Handle {
        // SAFETY: numbers without padding, 64 bytes.
        unsafe { std::mem::transmute(self) }
    }

    fn from_bytes(bytes: Handle) -> Self {
        // SAFETY: every bit pattern is a value of every field.
        unsafe { std::mem::transmute(bytes) }
    }
}

/// A handle of the allocation that contains `address`.
pub fn export_memory(address: usize) -> Result<Handle> {
    let runtime = runtime()?;
    let block = runtime.heap.find(address).ok_or(Error::INVALID_VALUE)?;
    let ticket = Ticket {
        magic: MEMORY_MAGIC,
        pid: std::process::id() as i32,
        fd: runtime.heap.fd(),
        device: block.device as u32,
        key: runtime.heap.key(),
        offset: (block.base - runtime.heap.base()) as u64,
        size: block.size as u64,
        id: block.id,
        unused: [0; 2],
    };
    Ok(ticket.to_bytes())
}

/// An allocation of another process, mapped here once however often it is opened.
struct Opened {
    key: u64,
    id: u64,
    references: usize,
    _map: Mapping,
}

/// By address.
static OPENED: Mutex<Option<HashMap<usize, Opened>>> = Mutex::new(None);

/// Maps the allocation of a handle; returns where it starts.
pub fn open_memory(handle: Handle) -> Result<usize> {
    let ticket = Ticket::from_bytes(handle);
    let runtime = runtime()?;
    let plausible =
        ticket.magic == MEMORY_MAGIC && ticket.size > 0 && ticket.size.max(ticket.offset) <= MAX_SIZE;
    if !plausible {
        return Err(Error::INVALID_RESOURCE_HANDLE);
    }
    if ticket.key == runtime.heap.key() {
        return Err(Error::DEVICE_UNINITIALIZED);
    }
    let mut guard = lock(&OPENED);
    let opened = guard.get_or_insert_with(HashMap::new);
    if let Some((&address, known)) = opened.iter_mut().find(|(_, o)| (o.key, o.id) == (ticket.key, ticket.id))
    {
        known.references += 1;
        return Ok(address);
    }
    let map = map_allocation(&ticket)?;
    let address = map.base() as usize + ticket.offset as usize % PAGE;
    // A device that this process does not have is still a device of the exporter: report the first one.
    let device = if (ticket.device as usize) < runtime.devices.len() { ticket.device as usize } else { 0 };
    ranges::insert(address, ticket.size as usize, device, 0, Kind::Imported)?;
    opened.insert(address, Opened { key: ticket.key, id: ticket.id, references: 1, _map: map });
    Ok(address)
}

fn map_allocation(ticket: &Ticket) -> Result<Mapping> {
    let file = open_memfd_of(ticket.pid, ticket.fd, &heap::name(ticket.key));
    let file = file.map_err(|_| Error::MAP_BUFFER_OBJECT_FAILED)?;
    let start = ticket.offset as usize / PAGE * PAGE;
    let end = ticket.offset.saturating_add(ticket.size);
    // Pages behind the end of a file fault when touched.
    let length = file.metadata().map_err(|_| Error::MAP_BUFFER_OBJECT_FAILED)?.len();
    if end > length {
        return Err(Error::INVALID_RESOURCE_HANDLE);
    }
    Ok(Mapping::shared(file.as_raw_fd(), start, end as usize - start)?)
}

/// Undoes one opening.
pub fn close_memory(address: usize) -> Result<()> {
    let mut guard = lock(&OPENED);
    let opened = guard.get_or_insert_with(HashMap::new);
    let known = opened.get_mut(&address).ok_or(Error::INVALID_VALUE)?;
    known.references -= 1;
    if known.references == 0 {
        ranges::remove(address, |kind| matches!(kind, Kind::Imported));
        opened.remove(&address);
    }
    Ok(())
}

pub fn export_event(event: &Event) -> Result<Handle> {
    let shared = event.shared().ok_or(Error::INVALID_RESOURCE_HANDLE)?;
    let ticket = Ticket {
        magic: EVENT_MAGIC,
        pid: std::process::id() as i32,
        fd: shared.fd(),
        device: 0,
        key: shared.key(),
        offset: 0,
        size: 0,
        id: 0,
        unused: [0; 2],
    };
    Ok(ticket.to_bytes())
}

/// An event handle of this process's own for an event of another one.
pub fn open_event(handle: Handle) -> Result<*mut c_void> {
    let ticket = Ticket::from_bytes(handle);
    runtime()?;
    if ticket.magic != EVENT_MAGIC {
        return Err(Error::INVALID_RESOURCE_HANDLE);
    }
    if ticket.pid == std::process::id() as i32 {
        return Err(Error::DEVICE_UNINITIALIZED);
    }
    Ok(event::adopt(IpcEvent::open(ticket.pid, ticket.fd, ticket.key)?))
}
