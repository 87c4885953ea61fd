//! The shared-memory transport: a FIFO of the host's region per direction.
use std::os::fd::RawFd;

use crate::base::Result;
use crate::channel::Region;
use crate::channel::fifo::{FifoReceiver, FifoSender};
use crate::channel::layout::FifoId;
use crate::transport::{Interest, Message, RecvEnd, SendEnd};

/// Sending end through shared memory.
pub struct ShmSend(FifoSender);

/// Receiving end through shared memory.
pub struct ShmRecv(FifoReceiver);

impl ShmSend {
    pub fn new(region: Region, which: FifoId) -> Self {
        Self(FifoSender::new(region, which))
    }
}

impl ShmRecv {
    pub fn new(region: Region, which: FifoId) -> Self {
        Self(FifoReceiver::new(region, which))
    }
}

impl SendEnd for ShmSend {
    fn slot_bytes(&self) -> usize {
        self.0.slot_bytes()
    }

    fn acquire(&mut self) -> Result<Option<&mut [u8]>> {
        Ok(self.0.acquire())
    }

    fn post(&mut self, len: usize, tag: u64) -> Result<()> {
        self.0.post(len, tag);
        Ok(())
    }

    fn flushed(&mut self) -> Result<bool> {
        Ok(true)
    }

    fn buffers(&self) -> bool {
        false
    }

    fn drained(&mut self) -> Result<bool> {
        Ok(self.0.unreleased() == 0)
    }

    fn poll_fd(&self) -> Option<(RawFd, Interest)> {
        None
    }
}

impl RecvEnd for ShmRecv {
    fn peek(&mut self) -> Result<Option<Message<'_>>> {
        Ok(self.0.peek().map(|(data, tag)| Message { data, tag }))
    }

    fn release(&mut self) -> Result<()> {
        self.0.release();
        Ok(())
    }

    fn poll_fd(&self) -> Option<(RawFd, Interest)> {
        None
    }
}
