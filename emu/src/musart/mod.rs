//! The runtime face: exported `musa*` functions.

pub mod device;
pub mod error;
pub mod event;
pub mod graph;
pub mod ipc;
pub mod memory;
pub mod per_thread;
pub mod stream;
pub mod types;
