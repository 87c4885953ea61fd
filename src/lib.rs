//! `libmccl.so.2`: NCCL-class collectives behind the MCCL (and HCCL) C interfaces.
//!
//! ```text
//! C caller → abi → group → plan → exec → transport → channel
//!                    │       └ algo        └ device
//!                    └ comm → bootstrap, topo
//! ```
//! A module may name only what stands below it in this list (checked by `ffi-tests/tests/tidy.rs`):
//! abi, group, comm, exec, plan, algo, transport, channel, device, topo, bootstrap, sys, base.

pub mod abi;
pub mod algo;
pub mod base;
pub mod bootstrap;
pub mod channel;
pub mod comm;
pub mod device;
pub mod exec;
pub mod group;
pub mod plan;
pub mod sys;
pub mod topo;
pub mod transport;
