//! Moving messages between two ranks: the contract that every transport keeps, and the transports.
//!
//! A connection goes one way, from a [`SendEnd`] of one rank to a [`RecvEnd`] of another. Its duties:
//!
//! 1. **Ordered and lossless.** Messages arrive once each, in the order of posting, byte for byte, with their tag.
//! 2. **Bounded.** A message has at most `slot_bytes` bytes, 0 included. The sender owns a fixed number of slots; when
//!    all are in flight, `acquire` gives None until the receiver has made room. Nobody buffers without limit.
//! 3. **Never blocks.** Every method returns at once and moves things on as far as it can. A connection that is not
//!    made yet behaves like one whose peer is slow.
//! 4. **Idempotent.** `acquire` gives the same slot until `post`; `peek` gives the same message until `release`.
//! 5. **In place.** The slot is where the transport sends from, the message where it arrived: no hidden copy of bulk data.
//! 6. **A lost peer is an error** of kind `Remote` with its rank in the message, on the methods that would otherwise say
//!    "not yet" for ever, if the transport can notice it. What arrived before is still delivered.
//! 7. **Misuse is an error** of kind `Internal`: posting without a slot or beyond its size, releasing nothing.
//! 8. **Nothing from outside is trusted**: lengths are checked against `slot_bytes` before they are used.
//! 9. Once `flushed`, the peer gets everything posted so far even if the sender never polls again, or drops its end.
//!
//! The module `conformance` (built for tests) proves these duties for any pair of ends; each transport calls it.
use std::os::fd::RawFd;

use crate::base::Result;

#[cfg(test)]
pub(crate) mod conformance;
pub mod shm;
pub mod socket;

pub use crate::sys::poll::Interest;

/// Sending end of a one-way, ordered, lossless connection to one peer. Never blocks.
pub trait SendEnd: Send {
    /// Capacity of one message.
    fn slot_bytes(&self) -> usize;

    /// A free slot to fill, `slot_bytes` long; None while all are in flight. The content is unspecified at first and
    /// kept until [`post`](Self::post).
    fn acquire(&mut self) -> Result<Option<&mut [u8]>>;

    /// Sends the first `len` bytes of the acquired slot (0 allowed) with a tag word.
    fn post(&mut self, len: usize, tag: u64) -> Result<()>;

    /// Everything posted is out of our hands: the peer will get it even if we never poll again.
    fn flushed(&mut self) -> Result<bool>;

    /// Posted messages may stay on this side, so that somebody has to go on calling [`flushed`](Self::flushed).
    fn buffers(&self) -> bool {
        true
    }

    /// The peer has released everything posted. Only transports that can tell answer; others say no for ever, and
    /// nobody lends buffers over them.
    fn drained(&mut self) -> Result<bool> {
        Ok(false)
    }

    /// What to sleep on when there is nothing else to do. None when no descriptor tells: shared memory, or a pause
    /// between attempts to connect. A hint: sleep for some milliseconds at most, then poll the end again.
    fn poll_fd(&self) -> Option<(RawFd, Interest)>;
}

/// Receiving end of such a connection. Never blocks.
pub trait RecvEnd: Send {
    /// The oldest unread message; None when none has come yet.
    fn peek(&mut self) -> Result<Option<Message<'_>>>;

    /// Frees the slot of the peeked message.
    fn release(&mut self) -> Result<()>;

    /// As [`SendEnd::poll_fd`].
    fn poll_fd(&self) -> Option<(RawFd, Interest)>;
}

/// A message where it arrived.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Message<'a> {
    pub data: &'a [u8],
    pub tag: u64,
}
