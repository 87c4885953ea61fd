//! placeholder until the net branch is merged
pub mod shm;
pub mod socket;

use crate::base::Result;
use std::os::fd::RawFd;

pub struct Message<'a> { pub data: &'a [u8], pub tag: u64 }
pub use crate::sys::poll::Interest;
pub trait SendEnd: Send {
    fn slot_bytes(&self) -> usize;
    fn acquire(&mut self) -> Result<Option<&mut [u8]>>;
    fn post(&mut self, len: usize, tag: u64) -> Result<()>;
    fn flushed(&mut self) -> Result<bool>;
    fn drained(&mut self) -> Result<bool>;
    fn poll_fd(&self) -> Option<(RawFd, Interest)>;
}
pub trait RecvEnd: Send {
    fn peek(&mut self) -> Result<Option<Message<'_>>>;
    fn release(&mut self) -> Result<()>;
    fn poll_fd(&self) -> Option<(RawFd, Interest)>;
}
