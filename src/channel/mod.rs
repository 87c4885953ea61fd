//! Shared memory between the ranks of one host: the home of every cross-process atomic.
//!
//! One memory region per host and communicator holds, in this order, a header, a control block per rank, operation
//! slots per rank and a FIFO per ordered pair of ranks ([`layout`]). Three protocols live on it:
//! - [`slots`]: what a collective publishes about itself: signature, buffers, and small payloads inline;
//! - [`fifo`]: ordered messages between two ranks, Simple protocol (a sequence word in front of each slot);
//! - [`bell`]: how a rank that sleeps is woken.
//!
//! Every acquire and release names its partner.

pub mod atomic;
pub mod bell;
pub mod fifo;
pub mod layout;
pub mod slots;

pub use layout::{Layout, Region};
