//! The functions of `mccl.h`: each is one public symbol, its `pmccl` twin, and one private body which both call.
//!
//! Bodies parse into engine types, act through `comm` and `group`, and write outputs only on success.
#![allow(
    non_snake_case,
    clippy::too_many_arguments,
    reason = "names and signatures are those of the C interface"
)]
use std::collections::BTreeSet;
use std::panic::Location;
use std::sync::{Mutex, PoisonError};

use crate::base::{ErrorKind, Result, log};

mod args;
pub mod coll;
pub mod comm;
mod config;
pub mod extra;
pub mod group;
pub mod info;
pub mod mem;
pub mod p2p;
pub mod profile;
pub mod redop;
pub mod types;
pub mod vector;
pub mod window;

use types::mcclResult_t;

/// What a body returns when it did not fail.
trait Outcome {
    fn code(self) -> mcclResult_t;
}

impl Outcome for () {
    fn code(self) -> mcclResult_t {
        mcclResult_t::SUCCESS
    }
}

impl Outcome for mcclResult_t {
    fn code(self) -> mcclResult_t {
        self
    }
}

/// Runs the body of the function `name` inside the guard and turns its end into a result code.
#[track_caller]
fn entry<R: Outcome>(name: &'static str, act: impl FnOnce() -> Result<R>) -> mcclResult_t {
    super::guard::run(name, act).map_or_else(code, Outcome::code)
}

/// The answer of a function that this version does not offer: told once per function, and the last-error text each time.
#[track_caller]
fn unsupported(name: &'static str) -> mcclResult_t {
    static TOLD: Mutex<BTreeSet<&str>> = Mutex::new(BTreeSet::new());
    let first = TOLD.lock().unwrap_or_else(PoisonError::into_inner).insert(name);
    let text = format_args!("{name} is not supported by this version");
    if first {
        log::warn_at(Location::caller(), name, text);
    } else {
        log::set_last_error(text);
    }
    code(ErrorKind::Unsupported)
}

/// The result code of each kind of error.
fn code(kind: ErrorKind) -> mcclResult_t {
    match kind {
        ErrorKind::Device => mcclResult_t::UNHANDLED_MUSA_ERROR,
        ErrorKind::System => mcclResult_t::SYSTEM_ERROR,
        ErrorKind::Internal => mcclResult_t::INTERNAL_ERROR,
        ErrorKind::InvalidArgument => mcclResult_t::INVALID_ARGUMENT,
        ErrorKind::InvalidUsage | ErrorKind::Aborted | ErrorKind::Unsupported => mcclResult_t::INVALID_USAGE,
        // A deadline passes because a peer did not come or the network did not carry.
        ErrorKind::Remote | ErrorKind::Timeout => mcclResult_t::REMOTE_ERROR,
        ErrorKind::InProgress => mcclResult_t::IN_PROGRESS,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::err;

    #[test]
    fn every_kind_of_error_has_its_one_code() {
        let table = [
            (ErrorKind::Device, 1),
            (ErrorKind::System, 2),
            (ErrorKind::Internal, 3),
            (ErrorKind::InvalidArgument, 4),
            (ErrorKind::InvalidUsage, 5),
            (ErrorKind::Aborted, 5),
            (ErrorKind::Unsupported, 5),
            (ErrorKind::Remote, 6),
            (ErrorKind::Timeout, 6),
            (ErrorKind::InProgress, 7),
        ];
        for (kind, expected) in table {
            assert_eq!(code(kind).0, expected, "{kind:?}");
        }
    }

    #[test]
    fn an_entry_ends_with_success_an_own_code_or_the_code_of_its_error() {
        assert_eq!(entry("mcclTest", || Ok(())), mcclResult_t::SUCCESS);
        assert_eq!(entry("mcclTest", || Ok(mcclResult_t::IN_PROGRESS)), mcclResult_t::IN_PROGRESS);
        let failed = entry::<()>("mcclTest", || Err(err!(System, "open /dev/x: no such file")));
        assert_eq!(failed, mcclResult_t::SYSTEM_ERROR);
        assert_eq!(entry::<()>("mcclTest", || panic!("lost")), mcclResult_t::INTERNAL_ERROR);
    }

    #[test]
    fn work_in_the_background_leaves_the_last_error_alone() {
        let before = log::last_error();
        let code = entry::<()>("mcclQuietTest", || Err(err!(InProgress, "still connecting")));
        assert_eq!(code, mcclResult_t::IN_PROGRESS);
        assert!(!log::last_error().contains("mcclQuietTest"), "{before}");
    }
}
