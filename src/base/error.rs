//! The one error type of the engine; each API maps [`ErrorKind`] to its own codes in one table.
use std::fmt;

pub type Result<T> = std::result::Result<T, Error>;

/// What went wrong, as callers tell errors apart.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum ErrorKind {
    /// A device runtime call failed.
    Device,
    /// An operating system call failed.
    System,
    /// A defect of this library.
    Internal,
    /// An argument has a value that it may never have.
    InvalidArgument,
    /// A legal argument at the wrong time or in the wrong combination.
    InvalidUsage,
    /// A peer is gone or the network failed.
    Remote,
    /// A non-blocking communicator has not finished its last call.
    InProgress,
    /// A deadline passed.
    Timeout,
    /// The communicator was aborted.
    Aborted,
    /// Not offered by this build or this runtime.
    Unsupported,
}

/// An error with the sentence that the log and `mcclGetLastError` show.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Error {
    pub kind: ErrorKind,
    pub message: String,
    /// The log has it already: it was decided while work was in progress, and a later call only passes it on.
    pub logged: bool,
}

impl Error {
    pub fn new(kind: ErrorKind, message: impl Into<String>) -> Self {
        Self { kind, message: message.into(), logged: false }
    }

    /// A failed system call: what was tried, then the system's own text.
    pub fn system(what: impl fmt::Display, source: &std::io::Error) -> Self {
        Self::new(ErrorKind::System, format!("{what}: {source}"))
    }
}

impl fmt::Display for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.message)
    }
}

impl std::error::Error for Error {}

/// `bail!(InvalidArgument, "root {root} is not a rank (0 to {})", n - 1)` returns that error.
#[macro_export]
macro_rules! bail {
    ($kind:ident, $($arg:tt)*) => {
        return Err($crate::err!($kind, $($arg)*))
    };
}

/// `err!(Internal, "…")` makes an [`Error`](crate::base::Error) of that kind.
#[macro_export]
macro_rules! err {
    ($kind:ident, $($arg:tt)*) => {
        $crate::base::Error::new($crate::base::ErrorKind::$kind, format!($($arg)*))
    };
}
