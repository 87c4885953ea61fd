//! TCP: for ranks on different hosts, and anywhere when shared memory is switched off.
//!
//! Each communicator has a [`SocketHub`] that listens; its addresses travel in the bootstrap payload. The sending side
//! connects when it is first polled and tries the peer's addresses in turn; the receiving side accepts whenever one of
//! its ends is polled, for all ends of the hub, after the handshake of [`crate::bootstrap::auth`]. There is no thread.
//!
//! A message is a 16-byte header and its bytes. Several messages go out with one system call; bulk bytes are received
//! right into their slot.
#![forbid(unsafe_code)]

use std::time::Duration;

mod frame;
mod hub;
mod recv;
mod send;
#[cfg(test)]
mod tests;

pub use hub::SocketHub;
pub use recv::SocketRecv;
pub use send::SocketSend;

/// The slots of one end. Both ends of a connection have equal `slot_bytes`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Shape {
    /// Capacity of one message, 1 byte to 1 GiB.
    pub slot_bytes: usize,
    /// Messages in flight, at least 1. Memory is taken when a slot is first used.
    pub slots: usize,
    /// A peer that cannot be reached for so long is an error.
    pub connect_timeout: Duration,
}

impl Default for Shape {
    fn default() -> Self {
        Self { slot_bytes: 512 << 10, slots: 8, connect_timeout: Duration::from_secs(60) }
    }
}

/// Largest `slot_bytes`.
pub const MAX_SLOT_BYTES: usize = 1 << 30;
