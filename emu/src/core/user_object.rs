//! Reference-counted objects of the program which graphs keep alive.

use std::ffi::c_void;
use std::sync::atomic::{AtomicU32, Ordering};
use std::sync::{Arc, Mutex};

use super::error::{Error, Result};
use super::lock;
use super::registry::Registry;
use super::work::HostFn;

pub struct UserObject {
    object: usize,
    destroy: HostFn,
    references: AtomicU32,
    /// Those of `references` that the program holds, as opposed to graphs.
    of_caller: Mutex<u32>,
}

static OBJECTS: Registry<UserObject> = Registry::new();

pub fn create(object: usize, destroy: HostFn, count: u32) -> Result<*mut c_void> {
    if count == 0 || count > i32::MAX as u32 {
        return Err(Error::INVALID_VALUE);
    }
    let references = AtomicU32::new(count);
    Ok(OBJECTS.insert(Arc::new(UserObject { object, destroy, references, of_caller: Mutex::new(count) })))
}

pub fn get(handle: *mut c_void) -> Result<Arc<UserObject>> {
    OBJECTS.get(handle)
}

pub fn retain(handle: *mut c_void, count: u32) -> Result<()> {
    let object = get(handle)?;
    if count == 0 || count > i32::MAX as u32 {
        return Err(Error::INVALID_VALUE);
    }
    *lock(&object.of_caller) += count;
    object.references.fetch_add(count, Ordering::SeqCst);
    Ok(())
}

pub fn release(handle: *mut c_void, count: u32) -> Result<()> {
    let object = get(handle)?;
    take_from_caller(&object, handle, count)?;
    object.drop_references(count);
    Ok(())
}

/// References of a graph; given back when dropped.
pub struct Held {
    object: Arc<UserObject>,
    pub handle: usize,
    pub count: u32,
}

impl Held {
    /// Takes `count` references for a graph: the caller's own with `transfer`, new ones without.
    pub fn new(handle: *mut c_void, count: u32, transfer: bool) -> Result<Self> {
        let object = get(handle)?;
        if count == 0 || count > i32::MAX as u32 {
            return Err(Error::INVALID_VALUE);
        }
        if transfer {
            take_from_caller(&object, handle, count)?;
        } else {
            object.references.fetch_add(count, Ordering::SeqCst);
        }
        Ok(Self { object, handle: handle as usize, count })
    }

    /// Gives back only `count` of the references.
    pub fn shrink(&mut self, count: u32) {
        self.count -= count;
        self.object.drop_references(count);
    }
}

impl Clone for Held {
    fn clone(&self) -> Self {
        self.object.references.fetch_add(self.count, Ordering::SeqCst);
        Self { object: self.object.clone(), handle: self.handle, count: self.count }
    }
}

impl Drop for Held {
    fn drop(&mut self) {
        self.object.drop_references(self.count);
    }
}

fn take_from_caller(object: &UserObject, handle: *mut c_void, count: u32) -> Result<()> {
    let mut of_caller = lock(&object.of_caller);
    if count == 0 || count > *of_caller {
        return Err(Error::INVALID_VALUE);
    }
    *of_caller -= count;
    if *of_caller == 0 {
        // Nobody but graphs knows it from here on.
        let _ = OBJECTS.remove(handle);
    }
    Ok(())
}

impl UserObject {
    fn drop_references(&self, count: u32) {
        if count > 0 && self.references.fetch_sub(count, Ordering::SeqCst) == count {
            // SAFETY: the creator promised a function that takes the object once, after the last reference.
            unsafe { (self.destroy)(self.object as *mut c_void) };
        }
    }
}
