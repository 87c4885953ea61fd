//! Operating-system calls of the emulated runtime, with their errors as `io::Error`.

pub mod fd;
pub mod map;
pub mod thread;

mod futex;

pub use futex::{Scope, futex_wait, futex_wake};
