//! Events of the runtime face.

use std::ffi::{c_int, c_uint};

use super::types::Handle;
use crate::core::error::{Error, Result};
use crate::core::event as ev;
use crate::core::slab::StreamRef;
use crate::core::stream::resolve;
use crate::guard::{entry, put, required};

/// # Safety
/// `event` is null or writable.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn musaEventCreate(event: *mut Handle) -> c_int {
    // SAFETY: the caller's promise.
    entry("musaEventCreate", || unsafe { create(event, 0) })
}

/// # Safety
/// `event` is null or writable.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn musaEventCreateWithFlags(event: *mut Handle, flags: c_uint) -> c_int {
    // SAFETY: the caller's promise.
    entry("musaEventCreateWithFlags", || unsafe { create(event, flags) })
}

/// # Safety
/// `out` is null or writable.
unsafe fn create(out: *mut Handle, flags: c_uint) -> Result<()> {
    required(out)?;
    // SAFETY: the caller's promise.
    unsafe { put(out, ev::create(flags)?) }
}

/// Marks the end of what is on the stream now.
#[unsafe(no_mangle)]
pub extern "C" fn musaEventRecord(event: Handle, stream: Handle) -> c_int {
    entry("musaEventRecord", || record(event, resolve(stream)?, 0))
}

/// As `musaEventRecord`; flag 1 makes a node of it in a capture.
#[unsafe(no_mangle)]
pub extern "C" fn musaEventRecordWithFlags(event: Handle, stream: Handle, flags: c_uint) -> c_int {
    entry("musaEventRecordWithFlags", || record(event, resolve(stream)?, flags))
}

pub(super) fn record(event: Handle, stream: StreamRef, flags: c_uint) -> Result<()> {
    if flags > 1 {
        return Err(Error::INVALID_VALUE);
    }
    ev::get(event)?.record(stream, flags == 1)
}

/// `musaErrorNotReady` until the latest record is passed.
#[unsafe(no_mangle)]
pub extern "C" fn musaEventQuery(event: Handle) -> c_int {
    entry("musaEventQuery", || ev::get(event)?.query())
}

/// Waits until the latest record is passed.
#[unsafe(no_mangle)]
pub extern "C" fn musaEventSynchronize(event: Handle) -> c_int {
    entry("musaEventSynchronize", || ev::get(event)?.synchronize())
}

/// Destroys the event; pending records complete.
#[unsafe(no_mangle)]
pub extern "C" fn musaEventDestroy(event: Handle) -> c_int {
    entry("musaEventDestroy", || ev::destroy(event))
}

/// # Safety
/// `milliseconds` is null or writable.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn musaEventElapsedTime(milliseconds: *mut f32, start: Handle, end: Handle) -> c_int {
    entry("musaEventElapsedTime", || {
        let (start, end) = (ev::get(start)?, ev::get(end)?);
        // SAFETY: the caller's promise.
        unsafe { put(milliseconds, ev::elapsed(&start, &end)?) }
    })
}
