//! Questions that need no communicator: version, texts of results, last warning.
use std::cell::RefCell;
use std::ffi::{CStr, CString, c_char, c_int};

use super::args::Out;
use super::entry;
use super::types::{mcclComm_t, mcclResult_t};
use crate::base::log;
use crate::comm;

/// Writes the version of the library as major * 10000 + minor * 100 + patch.
///
/// # Safety
/// Output pointers must be good to write.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn mcclGetVersion(version: *mut c_int) -> mcclResult_t {
    // SAFETY: the caller keeps the promises of this function, which are those of the body.
    unsafe { get_version(version) }
}

/// The sentence for a result code; a static string, never NULL.
///
/// # Safety
/// Any value has a text.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn mcclGetErrorString(result: mcclResult_t) -> *const c_char {
    // SAFETY: the caller keeps the promises of this function, which are those of the body.
    unsafe { error_string(result) }
}

/// The last warning of the process, at most 1023 bytes; comm is not looked at.
/// The text stays until the calling thread asks again.
///
/// # Safety
/// Any handle is fine.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn mcclGetLastError(comm: mcclComm_t) -> *const c_char {
    // SAFETY: the caller keeps the promises of this function, which are those of the body.
    unsafe { last_error(comm) }
}

/// Deprecated: the log is set up once per process. Does nothing.
///
/// # Safety
/// Always safe.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn mcclResetDebugInit() {
    // SAFETY: the caller keeps the promises of this function, which are those of the body.
    unsafe { reset_debug_init() }
}

/// Longest last-error text, without its closing zero.
const MAX_TEXT: usize = 1023;

/// # Safety
/// As for the public name.
pub(super) unsafe fn get_version(version: *mut c_int) -> mcclResult_t {
    entry("mcclGetVersion", || {
        // SAFETY: the caller's output pointer.
        let out = unsafe { Out::new("version", version) }?;
        out.write(comm::version());
        Ok(())
    })
}

/// # Safety
/// None is needed; the shape is that of all bodies.
pub(super) unsafe fn error_string(result: mcclResult_t) -> *const c_char {
    text_of(result).as_ptr()
}

/// # Safety
/// None is needed; the shape is that of all bodies.
pub(super) unsafe fn last_error(_comm: mcclComm_t) -> *const c_char {
    thread_local! {
        static TEXT: RefCell<CString> = RefCell::default();
    }
    let mut text = log::last_error().replace('\0', " ");
    text.truncate(text.floor_char_boundary(MAX_TEXT));
    TEXT.with_borrow_mut(|kept| {
        // No zero byte is left, so the conversion always succeeds.
        *kept = CString::new(text).unwrap_or_default();
        kept.as_ptr()
    })
}

/// # Safety
/// None is needed; the shape is that of all bodies.
pub(super) unsafe fn reset_debug_init() {}

fn text_of(result: mcclResult_t) -> &'static CStr {
    match result.0 {
        0 => c"no error",
        1 => c"unhandled musa error (run with MCCL_DEBUG=INFO for details)",
        2 => c"unhandled system error (run with MCCL_DEBUG=INFO for details)",
        3 => c"internal error - please report this issue to the MCCL developers",
        4 => c"invalid argument (run with MCCL_DEBUG=WARN for details)",
        5 => c"invalid usage (run with MCCL_DEBUG=WARN for details)",
        6 => c"remote process exited or there was a network error",
        7 => c"MCCL operation in progress",
        _ => c"unknown result code",
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn results_have_the_sentences_that_programs_print() {
        // SAFETY: any value is allowed; the result is a static C string.
        let text = |code| unsafe { CStr::from_ptr(mcclGetErrorString(mcclResult_t(code))) }.to_str().unwrap();
        assert_eq!(text(0), "no error");
        assert_eq!(text(4), "invalid argument (run with MCCL_DEBUG=WARN for details)");
        assert_eq!(text(7), "MCCL operation in progress");
        assert_eq!((text(8), text(-1)), ("unknown result code", "unknown result code"));
    }

    #[test]
    fn a_long_last_error_is_cut_between_characters() {
        log::warn_at(std::panic::Location::caller(), "test", format_args!("{}é", "x".repeat(1022)));
        // SAFETY: the handle is not looked at; the text stays until this thread asks again.
        let text = unsafe { CStr::from_ptr(mcclGetLastError(std::ptr::null_mut())) };
        assert!(text.count_bytes() <= 1023 && text.to_str().is_ok());
    }

    #[test]
    fn the_version_needs_a_place_to_go() {
        let mut version = 0;
        // SAFETY: a local variable, then a null pointer, which is refused.
        unsafe {
            assert_eq!(mcclGetVersion(&raw mut version), mcclResult_t::SUCCESS);
            assert_eq!(mcclGetVersion(std::ptr::null_mut()), mcclResult_t::INVALID_ARGUMENT);
        }
        assert_eq!(version, 22809);
    }
}
