//! Live objects behind opaque handles. A handle is a number that is never used twice, so a stale or wild one
//! is found to be unknown and nothing is dereferenced.

use std::collections::HashMap;
use std::ffi::c_void;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, PoisonError, RwLock};

use super::error::{Error, Result};

/// Handles of all registries come from one sequence: a handle of one kind is unknown to every other kind.
static NEXT: AtomicUsize = AtomicUsize::new(0x6d75_7300_0000);

pub struct Registry<T: ?Sized> {
    map: RwLock<Option<HashMap<usize, Arc<T>>>>,
}

impl<T: ?Sized> Registry<T> {
    pub const fn new() -> Self {
        Self { map: RwLock::new(None) }
    }

    pub fn insert(&self, object: Arc<T>) -> *mut c_void {
        let handle = new_handle();
        self.map
            .write()
            .unwrap_or_else(PoisonError::into_inner)
            .get_or_insert_with(HashMap::new)
            .insert(handle as usize, object);
        handle
    }

    pub fn get(&self, handle: *mut c_void) -> Result<Arc<T>> {
        let map = self.map.read().unwrap_or_else(PoisonError::into_inner);
        map.as_ref().and_then(|m| m.get(&(handle as usize))).cloned().ok_or(Error::INVALID_RESOURCE_HANDLE)
    }

    pub fn remove(&self, handle: *mut c_void) -> Result<Arc<T>> {
        let mut map = self.map.write().unwrap_or_else(PoisonError::into_inner);
        map.as_mut().and_then(|m| m.remove(&(handle as usize))).ok_or(Error::INVALID_RESOURCE_HANDLE)
    }
}

impl<T: ?Sized> Default for Registry<T> {
    fn default() -> Self {
        Self::new()
    }
}

/// A handle that no object has had.
pub fn new_handle() -> *mut c_void {
    std::ptr::without_provenance_mut(NEXT.fetch_add(16, Ordering::Relaxed))
}
