//! Versions, last error, names and texts.

use std::ffi::{c_char, c_int};

use crate::core::device::VERSION;
use crate::core::error::Error;
use crate::core::thread;
use crate::guard::{entry, put};

/// The code of the last failed call of this thread, which is then forgotten.
#[unsafe(no_mangle)]
pub extern "C" fn musaGetLastError() -> c_int {
    thread::with(|s| s.last_error.replace(0))
}

/// The code of the last failed call of this thread.
#[unsafe(no_mangle)]
pub extern "C" fn musaPeekAtLastError() -> c_int {
    thread::with(|s| s.last_error.get())
}

/// `musaError…`, never null.
#[unsafe(no_mangle)]
pub extern "C" fn musaGetErrorName(error: c_int) -> *const c_char {
    Error(error).runtime_name().as_ptr().cast()
}

/// A sentence, never null.
#[unsafe(no_mangle)]
pub extern "C" fn musaGetErrorString(error: c_int) -> *const c_char {
    Error(error).text().unwrap_or("unrecognized error code\0").as_ptr().cast()
}

/// # Safety
/// `version` is null or writable.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn musaDriverGetVersion(version: *mut c_int) -> c_int {
    // SAFETY: the caller's promise.
    entry("musaDriverGetVersion", || unsafe { put(version, VERSION) })
}

/// # Safety
/// `version` is null or writable.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn musaRuntimeGetVersion(version: *mut c_int) -> c_int {
    // SAFETY: the caller's promise.
    entry("musaRuntimeGetVersion", || unsafe { put(version, VERSION) })
}
