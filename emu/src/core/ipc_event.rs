//! Events that several processes share: two counters in a memory file.
//!
//! A record takes the next ticket at the call and completes it when its stream gets there; a wait is for the latest
//! ticket at its call. Processes that die leave their tickets open, so sleeps are bounded and waits poll.

use std::os::fd::{AsRawFd, OwnedFd};
use std::sync::atomic::{AtomicU32, AtomicU64, Ordering};
use std::time::Duration;

use super::error::{Error, Result};
use crate::sys::fd::{memfd, open_memfd_of, random_u64};
use crate::sys::map::{Mapping, PAGE};
use crate::sys::{Scope, futex_wait, futex_wake};

/// Shared by all processes; zeroed memory is an event that was never recorded.
#[repr(C)]
struct Shared {
    issued: AtomicU64,
    completed: AtomicU64,
    /// Futex word that changes with every completion.
    changes: AtomicU32,
    sleepers: AtomicU32,
}

pub struct IpcEvent {
    fd: OwnedFd,
    key: u64,
    map: Mapping,
}

impl IpcEvent {
    pub fn new() -> Result<Self> {
        let key = random_u64()?;
        let fd = memfd(&name(key), PAGE)?;
        let map = Mapping::shared(fd.as_raw_fd(), 0, PAGE)?;
        Ok(Self { fd, key, map })
    }

    /// The event that process `pid` has under descriptor `fd`.
    pub fn open(pid: i32, fd: i32, key: u64) -> Result<Self> {
        let fd: OwnedFd =
            open_memfd_of(pid, fd, &name(key)).map_err(|_| Error::MAP_BUFFER_OBJECT_FAILED)?.into();
        let map = Mapping::shared(fd.as_raw_fd(), 0, PAGE)?;
        Ok(Self { fd, key, map })
    }

    pub fn fd(&self) -> i32 {
        self.fd.as_raw_fd()
    }

    pub fn key(&self) -> u64 {
        self.key
    }

    /// Ticket of a new record.
    pub fn issue(&self) -> u64 {
        self.shared().issued.fetch_add(1, Ordering::SeqCst) + 1
    }

    /// Ticket of the latest record, 0 for none.
    pub fn latest(&self) -> u64 {
        self.shared().issued.load(Ordering::SeqCst)
    }

    pub fn reached(&self, ticket: u64) -> bool {
        // Pairs with `complete`: work before the record is visible after it.
        self.shared().completed.load(Ordering::Acquire) >= ticket
    }

    pub fn complete(&self, ticket: u64) {
        let shared = self.shared();
        shared.completed.fetch_max(ticket, Ordering::SeqCst);
        shared.changes.fetch_add(1, Ordering::SeqCst);
        if shared.sleepers.load(Ordering::SeqCst) > 0 {
            futex_wake(&shared.changes, i32::MAX, Scope::Shared);
        }
    }

    /// Sleeps until a completion or until the time is over.
    pub fn sleep(&self, ticket: u64, limit: Duration) {
        let shared = self.shared();
        shared.sleepers.fetch_add(1, Ordering::SeqCst);
        let changes = shared.changes.load(Ordering::SeqCst);
        if !self.reached(ticket) && !limit.is_zero() {
            futex_wait(&shared.changes, changes, Some(limit), Scope::Shared);
        }
        shared.sleepers.fetch_sub(1, Ordering::SeqCst);
    }

    fn shared(&self) -> &Shared {
        // SAFETY: the mapping is a page, larger than `Shared`, aligned, and lives as long as `self`; all fields are
        // atomics for which every bit pattern is a value.
        unsafe { &*self.map.base().cast::<Shared>() }
    }
}

fn name(key: u64) -> String {
    format!("mccl-emu-event-{key:016x}")
}
