//! The last-error text, which is one per process: a single test in a process of its own.
use std::ffi::{CStr, c_int};
use std::ptr::null_mut;

use mccl::abi::mccl::comm::{mcclCommCount, mcclCommRevoke};
use mccl::abi::mccl::info::mcclGetLastError;

#[test]
fn the_last_error_is_the_sentence_of_the_last_refused_call() {
    let mut count: c_int = 7;
    // SAFETY: a local output; handles may be anything.
    let code = unsafe { mcclCommCount(null_mut(), &raw mut count) };
    assert_eq!((code.0, count), (4, 7), "an output is left alone on failure");
    assert_eq!(last_error(), "mcclCommCount: comm argument is NULL");

    let wild = std::ptr::without_provenance_mut(0x1000);
    // SAFETY: as above.
    unsafe { mcclCommCount(wild, &raw mut count) };
    let expected = "mcclCommCount: comm 0x1000 is not a live communicator (was it already destroyed?)";
    assert_eq!(last_error(), expected);

    for _ in 0..2 {
        // SAFETY: as above.
        assert_eq!(unsafe { mcclCommRevoke(wild, 0) }.0, 5);
        assert_eq!(last_error(), "mcclCommRevoke is not supported by this version");
    }
}

fn last_error() -> String {
    // SAFETY: the text stays until this thread asks again.
    unsafe { CStr::from_ptr(mcclGetLastError(null_mut())) }.to_str().unwrap().to_string()
}
