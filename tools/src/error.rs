//! The one error type of the tools, and the exit status that goes with each kind.

use std::fmt;

/// Exit status of a run that ended, with wrong elements or too little bandwidth.
pub const EXIT_WRONG: i32 = 1;
/// Exit status of a command line, variable or file that cannot be used.
pub const EXIT_USAGE: i32 = 2;
/// Exit status of a call that failed or a rank that was lost.
pub const EXIT_FAILED: i32 = 3;
/// Exit status when nobody reads the output any more: what a shell shows for death by SIGPIPE.
pub const EXIT_PIPE: i32 = 141;

/// What went wrong, in one sentence, and how the program ends.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Error {
    text: String,
    status: i32,
}

pub type Result<T> = std::result::Result<T, Error>;

impl Error {
    /// The user asked for something that cannot be done: `what: value, why, allowed range`.
    pub fn usage(text: impl Into<String>) -> Self {
        Self { text: text.into(), status: EXIT_USAGE }
    }

    /// A call or a peer failed.
    pub fn failed(text: impl Into<String>) -> Self {
        Self { text: text.into(), status: EXIT_FAILED }
    }

    /// The same error with `prefix: ` in front.
    pub fn at(self, prefix: impl fmt::Display) -> Self {
        Self { text: format!("{prefix}: {}", self.text), status: self.status }
    }

    /// The exit status of a program that ends with this error.
    pub fn status(&self) -> i32 {
        self.status
    }
}

impl fmt::Display for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.text)
    }
}

impl std::error::Error for Error {}
