//! The one guard around every exported function: errors and panics become codes, and the last error is kept.

use std::panic::{AssertUnwindSafe, catch_unwind};

use crate::core::error::{Error, Result};
use crate::core::runtime::is_forked_child;
use crate::core::thread;

/// Runs a runtime call. Not ready is an answer and leaves the last error alone.
#[inline]
pub fn entry(call: &'static str, act: impl FnOnce() -> Result<()>) -> i32 {
    match guarded(call, act) {
        Ok(()) => 0,
        Err(error) => {
            if error != Error::NOT_READY {
                thread::with(|s| s.last_error.set(error.0));
            }
            error.0
        }
    }
}

/// Runs a driver call, which keeps no last error.
#[inline]
pub fn driver_entry(call: &'static str, act: impl FnOnce() -> Result<()>) -> i32 {
    guarded(call, act).map_or_else(|error| error.0, |()| 0)
}

#[inline]
fn guarded(call: &'static str, act: impl FnOnce() -> Result<()>) -> Result<()> {
    if thread::with(|s| s.in_host_function.get()) {
        return Err(Error::NOT_PERMITTED);
    }
    if is_forked_child() {
        return Err(Error::INITIALIZATION_ERROR);
    }
    catch_unwind(AssertUnwindSafe(act)).unwrap_or_else(|_| {
        eprintln!("mccl-emu: {call}: internal error, see the panic message above");
        Err(Error::UNKNOWN)
    })
}

/// Writes an output of a call; a null address is the caller's error.
///
/// # Safety
/// `out` is null or valid for writing a `T`.
#[inline]
pub unsafe fn put<T>(out: *mut T, value: T) -> Result<()> {
    if out.is_null() {
        return Err(Error::INVALID_VALUE);
    }
    // SAFETY: not null, so valid by the caller's promise.
    unsafe { out.write(value) };
    Ok(())
}

/// Refuses a null output before anything is done.
#[inline]
pub fn required<T>(out: *mut T) -> Result<()> {
    if out.is_null() { Err(Error::INVALID_VALUE) } else { Ok(()) }
}
