//! The operating system, behind small safe wrappers: the only home of `libc`, `rustix` and `libloading`.
//!
//! Each file is one concern. Functions return [`std::io::Result`]; callers add what they were doing
//! ([`crate::base::Error::system`]). Nothing here blocks for longer than the time-out it was given.

pub mod clock;
pub mod cpu;
pub mod dl;
pub mod futex;
pub mod host;
pub mod interfaces;
pub mod memory;
pub mod poll;
pub mod process;
pub mod random;
pub mod socket;
pub mod thread;

pub use dl::Library;
pub use memory::{Scratch, SharedMap};
pub use process::Process;
