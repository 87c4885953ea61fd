//! How long to wait, and what ends a wait early.
use std::fmt;
use std::os::fd::BorrowedFd;
use std::sync::Arc;
use std::time::{Duration, Instant};

use crate::bail;
use crate::base::{Error, Result};
use crate::sys::poll::{self, Interest};

/// Asked again and again during waits; true ends them.
pub type AbortCheck = Arc<dyn Fn() -> bool + Send + Sync>;

/// An abort is seen within this time.
const SLICE: Duration = Duration::from_millis(20);

/// As good as for ever, and far from the end of the clock.
const CENTURY: Duration = Duration::from_secs(100 * 366 * 86_400);

/// How long a caller is willing to wait, and how it says that it no longer is.
#[derive(Clone)]
pub struct Patience {
    pub timeout: Duration,
    pub abort: Option<AbortCheck>,
}

impl Patience {
    pub fn new(timeout: Duration) -> Self {
        Self { timeout, abort: None }
    }

    pub fn with_abort(self, abort: impl Fn() -> bool + Send + Sync + 'static) -> Self {
        Self { abort: Some(Arc::new(abort)), ..self }
    }

    /// Starts the clock of one wait.
    pub fn start(&self) -> Wait<'_> {
        Wait { patience: self, deadline: Instant::now() + self.timeout.min(CENTURY) }
    }
}

impl fmt::Debug for Patience {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Patience").field("timeout", &self.timeout).finish_non_exhaustive()
    }
}

/// A wait in progress.
#[derive(Clone, Debug)]
pub struct Wait<'a> {
    patience: &'a Patience,
    deadline: Instant,
}

impl Wait<'_> {
    pub fn timeout(&self) -> Duration {
        self.patience.timeout
    }

    pub fn remaining(&self) -> Duration {
        self.deadline.saturating_duration_since(Instant::now())
    }

    /// The same wait with a later end.
    pub fn extended_by(&self, more: Duration) -> Self {
        Self { patience: self.patience, deadline: self.deadline + more }
    }

    /// Fails once the deadline is over or the abort is set. `what` says in the message what did not happen.
    pub fn check(&self, what: impl FnOnce() -> String) -> Result<()> {
        self.check_abort()?;
        if self.remaining().is_zero() {
            bail!(Timeout, "{} within {}", what(), seconds(self.patience.timeout));
        }
        Ok(())
    }

    pub fn check_abort(&self) -> Result<()> {
        if self.patience.abort.as_ref().is_some_and(|abort| abort()) {
            bail!(Aborted, "the wait was aborted");
        }
        Ok(())
    }

    /// Sleeps until `fd` is ready, at most for the short time after which the caller must check again.
    pub fn ready(&self, fd: BorrowedFd<'_>, interest: Interest) -> Result<()> {
        self.any_ready(&[(fd, interest)])
    }

    /// As [`ready`](Self::ready), for several descriptors.
    pub fn any_ready(&self, fds: &[(BorrowedFd<'_>, Interest)]) -> Result<()> {
        match poll::wait(fds, SLICE.min(self.remaining())) {
            Ok(_) => Ok(()),
            Err(error) => Err(Error::system("poll", &error)),
        }
    }

    /// Sleeps for `pause`, or until the deadline or an abort.
    pub fn sleep(&self, pause: Duration) {
        let end = Instant::now() + pause.min(self.remaining());
        while self.check_abort().is_ok() {
            let left = end.saturating_duration_since(Instant::now());
            if left.is_zero() {
                return;
            }
            std::thread::sleep(left.min(SLICE));
        }
    }
}

/// `600 s`, `0.25 s`.
pub fn seconds(time: Duration) -> String {
    format!("{} s", time.as_millis() as f64 / 1000.0)
}

#[cfg(test)]
mod tests {
    use std::sync::atomic::{AtomicBool, Ordering};

    use super::*;
    use crate::base::ErrorKind;

    #[test]
    fn a_wait_ends_by_its_deadline_with_the_given_words() {
        let patience = Patience::new(Duration::from_millis(5));
        let wait = patience.start();
        wait.sleep(Duration::from_secs(60));
        let error = wait.check(|| "nothing came".to_string()).unwrap_err();
        assert_eq!((error.kind, error.message.as_str()), (ErrorKind::Timeout, "nothing came within 0.005 s"));
    }

    #[test]
    fn an_abort_ends_a_long_sleep() {
        let flag = Arc::new(AtomicBool::new(false));
        let seen = flag.clone();
        let patience =
            Patience::new(Duration::from_secs(3600)).with_abort(move || seen.load(Ordering::Relaxed));
        let wait = patience.start();
        std::thread::scope(|scope| {
            scope.spawn(|| flag.store(true, Ordering::Relaxed));
            wait.sleep(Duration::from_secs(3600));
        });
        assert_eq!(wait.check(String::new).unwrap_err().kind, ErrorKind::Aborted);
    }
}
