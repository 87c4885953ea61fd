//! Communicators: their life from rendezvous to destruction, and what is registered with them.
#![forbid(unsafe_code)]

mod collect;
mod config;
mod info;
mod init;
mod life;
mod links;
mod probe;
mod redop;
mod report;
mod split;

pub use config::Config;
pub use init::{InitRequest, UniqueId, init, unique_id};

pub use redop::PreMul;

use std::collections::HashMap;
use std::ffi::c_void;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, OnceLock};

use crate::base::types::Rank;
use crate::base::{Error, ErrorKind, Result};
use crate::device::{self, Runtime};
use crate::exec::Core;
use crate::{bail, err};

/// API level: that of NCCL 2.28.9.
pub const fn version() -> i32 {
    22809
}

/// One rank of a communicator.
pub struct Comm {
    rank: Rank,
    nranks: usize,
    device: i32,
    config: Config,
    runtime: &'static dyn Runtime,
    /// Set when initialisation is over, one way or the other.
    core: OnceLock<Result<Arc<Core>>>,
    /// Stops an initialisation in progress.
    cancelled: Arc<std::sync::atomic::AtomicBool>,
    stage: Mutex<life::Stage>,
    redops: Mutex<redop::RedOps>,
    registered: Mutex<HashMap<u64, (usize, usize)>>,
    next_registration: AtomicU64,
}

impl Comm {
    pub fn rank(&self) -> Rank {
        self.rank
    }

    pub fn nranks(&self) -> usize {
        self.nranks
    }

    pub fn device(&self) -> i32 {
        self.device
    }

    pub fn config(&self) -> &Config {
        &self.config
    }

    pub fn runtime(&self) -> &'static dyn Runtime {
        self.runtime
    }

    /// The execution state.
    ///
    /// # Errors
    /// InvalidArgument while a non-blocking initialisation is in progress; the reason if it failed.
    pub fn core(&self) -> Result<&Arc<Core>> {
        match self.core.get() {
            Some(Ok(core)) => Ok(core),
            Some(Err(error)) => Err(error.clone()),
            None => Err(err!(
                InvalidArgument,
                "the communicator is used before its previous operation has succeeded (poll mcclCommGetAsyncError)"
            )),
        }
    }

    /// What `mcclCommGetAsyncError` tells: `None` is success.
    pub fn async_error(&self) -> Option<ErrorKind> {
        match self.core.get() {
            None => Some(ErrorKind::InProgress),
            Some(Err(error)) => Some(error.kind),
            Some(Ok(core)) => core.failure().map(|error| error.kind),
        }
    }

    /// The text of that error.
    pub fn async_error_text(&self) -> Option<Error> {
        match self.core.get()? {
            Err(error) => Some(error.clone()),
            Ok(core) => core.failure(),
        }
    }

    /// Remembers a buffer. Every memory that can be used in place is used in place without registration, so this checks and counts.
    pub fn register(&self, ptr: *mut c_void, len: usize) -> Result<u64> {
        self.core()?;
        if ptr.is_null() || len == 0 {
            bail!(InvalidArgument, "a buffer of {len} bytes at {ptr:p} cannot be registered");
        }
        let id = self.next_registration.fetch_add(1, Ordering::Relaxed) + 1;
        lock(&self.registered).insert(id, (ptr as usize, len));
        Ok(id)
    }

    pub fn deregister(&self, id: u64) -> Result<()> {
        match lock(&self.registered).remove(&id) {
            Some(_) => Ok(()),
            None => Err(err!(InvalidArgument, "registration {id:#x} is not one of this communicator's")),
        }
    }
}

/// Device memory that every rank of a host can use in place.
pub fn mem_alloc(len: usize) -> Result<*mut c_void> {
    device::runtime()?.alloc(len)
}

pub fn mem_free(ptr: *mut c_void) -> Result<()> {
    device::runtime()?.free(ptr)
}

/// Locks a mutex whose data are valid at every point where a panic could strike.
fn lock<T>(mutex: &Mutex<T>) -> std::sync::MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(std::sync::PoisonError::into_inner)
}
