//! What the machine looks like: host identity first, paths and graphs later.
#![forbid(unsafe_code)]

pub mod host;

pub use host::HostId;
