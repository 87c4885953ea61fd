//! The C interfaces: the only `extern "C"` functions of the library. Parse, act, write outputs, inside one guard.
pub mod guard;
pub mod handle;
pub mod mccl;
