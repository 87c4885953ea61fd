//! Leaf types that every layer shares: errors, data types, the environment, the log.
#![forbid(unsafe_code)]

pub mod env;
pub mod error;
pub mod log;
pub mod types;

pub use error::{Error, ErrorKind, Result};
