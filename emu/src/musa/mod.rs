//! The driver face: exported `mu*` functions. Handles of streams and events are those of the runtime face.

pub mod context;
pub mod device;
pub mod module;
pub mod pointer;
pub mod stream;
pub mod types;
pub mod vmm;
