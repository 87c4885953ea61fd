//! Emulated device runtime: devices, streams, events, graphs and inter-process handles on plain memory and threads.
//!
//! `core` holds the semantics; `musart` (`musa*`) and `musa` (`mu*`) are thin faces that parse, act and write outputs
//! inside one guard; `ext` is the table by which libmccl puts resumable work on streams; `sys` is the only home of libc.
// The faces carry the names of a C interface.
#![allow(non_snake_case, non_camel_case_types)]

pub mod core;
pub mod ext;
mod guard;
pub mod musa;
pub mod musart;
pub mod sys;
