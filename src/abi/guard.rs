//! The guard around every entry point: nothing unwinds into C, and every error is logged once, here.
use std::any::Any;
use std::panic::{AssertUnwindSafe, Location, catch_unwind};

use crate::base::{Error, ErrorKind, Result, log};

/// Runs the body of the entry point `name`. A panic is an internal error. An error is logged with the name in front and
/// becomes the last-error text; a call that goes on in the background is no error and leaves no line, and what the log has already is not repeated.
#[track_caller]
pub fn run<T>(name: &'static str, act: impl FnOnce() -> Result<T>) -> std::result::Result<T, ErrorKind> {
    let place = Location::caller();
    // What `act` leaves half done is behind locks that tell of it, or lost with its own values.
    let error = match catch_unwind(AssertUnwindSafe(act)) {
        Ok(Ok(done)) => return Ok(done),
        Ok(Err(error)) => error,
        Err(payload) => Error::new(ErrorKind::Internal, format!("panic: {}", panic_text(payload.as_ref()))),
    };
    if error.kind != ErrorKind::InProgress && !error.logged {
        log::warn_at(place, name, format_args!("{name}: {error}"));
    }
    Err(error.kind)
}

fn panic_text(payload: &(dyn Any + Send)) -> &str {
    let owned = || payload.downcast_ref::<String>().map(String::as_str);
    payload.downcast_ref::<&str>().copied().or_else(owned).unwrap_or("no text")
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::bail;

    #[test]
    fn a_panic_becomes_an_internal_error_with_its_text() {
        let result: std::result::Result<(), _> = run("mcclTest", || panic!("rank {} lost", 3));
        assert_eq!(result, Err(ErrorKind::Internal));
    }

    #[test]
    fn an_error_is_told_with_the_function_in_front() {
        let result: std::result::Result<(), _> = run("mcclTest", || bail!(InvalidUsage, "not in a group"));
        assert_eq!(result, Err(ErrorKind::InvalidUsage));
    }

    #[test]
    fn the_text_of_a_panic_is_found_in_both_its_forms() {
        assert_eq!(panic_text(&"fixed"), "fixed");
        assert_eq!(panic_text(&"made".to_string()), "made");
        assert_eq!(panic_text(&7), "no text");
    }
}
