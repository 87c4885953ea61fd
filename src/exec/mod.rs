//! Runs plans: resumable tasks, one interpreter for every algorithm over every transport, waiting, and stopping.
//!
//! [`Task`] is one group of operations of one communicator on one stream. It is polled, never blocks, and ends early when
//! the communicator halts or its deadline passes. Tasks of a communicator run one after the other in the order of their
//! turns, which is the order of the calls; on streams that come up in another order, a task waits for its turn.

pub mod access;
pub mod direct;
pub mod engine;
mod gate;
pub mod job;
pub mod launch;
mod line;
pub mod machine;
pub mod messages;
mod staging;
pub mod task;

#[cfg(test)]
mod staging_tests;
#[cfg(test)]
mod tests;

pub use access::PeerMemory;
pub use engine::{Core, Engine, HostView, Links, Parts, Wire};
pub use job::{BoundOp, Job, Scale};
pub use launch::{Launch, launch_all, launch_one, run_now};
pub use task::Task;
