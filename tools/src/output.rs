//! Standard output of the one process that reports, and the one way to end with an error.

use std::io::{ErrorKind, Write};
use std::sync::Mutex;

use crate::error::{EXIT_FAILED, EXIT_PIPE, Error};
use crate::sys;

/// Held for ever by the thread that ends the process, so that one error is told once.
static ENDING: Mutex<()> = Mutex::new(());

/// Standard output; silent in processes that do not report.
#[derive(Clone, Copy, Debug)]
pub struct Out {
    pub enabled: bool,
}

impl Out {
    /// Writes `text` at once. A reader that has gone away ends the process quietly, as SIGPIPE would.
    pub fn print(&self, text: &str) {
        if !self.enabled {
            return;
        }
        let mut stdout = std::io::stdout().lock();
        match stdout.write_all(text.as_bytes()).and_then(|()| stdout.flush()) {
            Ok(()) => {}
            Err(error) if error.kind() == ErrorKind::BrokenPipe => std::process::exit(EXIT_PIPE),
            Err(error) => {
                drop(stdout);
                die("standard output", &Error::failed(error.to_string()))
            }
        }
    }
}

/// Tells an error on standard error and ends the process with its status.
pub fn die(who: &str, error: &Error) -> ! {
    let _ending = ENDING.lock().unwrap_or_else(|poisoned| poisoned.into_inner());
    // Nothing can be done about a standard error that is closed.
    let _ = writeln!(std::io::stderr(), "{}: {who}: {error}", sys::host_name());
    std::process::exit(if error.status() == 0 { EXIT_FAILED } else { error.status() })
}
