//! The runtime face: exported `musa*` functions.

pub mod device;
pub mod error;
pub mod event;
pub mod graph;
pub mod memory;
pub mod stream;
pub mod types;
