//! The shared-memory transport: a FIFO of the host's region per direction.
use std::os::fd::RawFd;

use crate::bail;
use crate::base::Result;
use crate::channel::Region;
use crate::channel::fifo::{FifoReceiver, FifoSender};
use crate::channel::layout::FifoId;
use crate::transport::{Interest, Message, RecvEnd, SendEnd};

/// Sending end through shared memory.
pub struct ShmSend {
    fifo: FifoSender,
    /// A slot was handed out and not posted yet.
    acquired: bool,
}

/// Receiving end through shared memory.
pub struct ShmRecv {
    fifo: FifoReceiver,
    /// A message was handed out and not released yet.
    peeked: bool,
}

impl ShmSend {
    pub fn new(region: Region, which: FifoId) -> Self {
        Self { fifo: FifoSender::new(region, which), acquired: false }
    }
}

impl ShmRecv {
    pub fn new(region: Region, which: FifoId) -> Self {
        Self { fifo: FifoReceiver::new(region, which), peeked: false }
    }
}

impl SendEnd for ShmSend {
    fn slot_bytes(&self) -> usize {
        self.fifo.slot_bytes()
    }

    fn acquire(&mut self) -> Result<Option<&mut [u8]>> {
        let slot = self.fifo.acquire();
        self.acquired = slot.is_some();
        Ok(slot)
    }

    fn post(&mut self, len: usize, tag: u64) -> Result<()> {
        if !self.acquired || len > self.fifo.slot_bytes() {
            let (acquired, most) = (self.acquired, self.fifo.slot_bytes());
            bail!(Internal, "shared memory: post of {len} bytes (0 to {most}), slot acquired: {acquired}");
        }
        self.acquired = false;
        self.fifo.post(len, tag);
        Ok(())
    }

    fn flushed(&mut self) -> Result<bool> {
        Ok(true)
    }

    fn buffers(&self) -> bool {
        false
    }

    fn drained(&mut self) -> Result<bool> {
        Ok(self.fifo.unreleased() == 0)
    }

    fn poll_fd(&self) -> Option<(RawFd, Interest)> {
        None
    }
}

impl RecvEnd for ShmRecv {
    fn peek(&mut self) -> Result<Option<Message<'_>>> {
        let message = self.fifo.peek();
        self.peeked = message.is_some();
        Ok(message.map(|(data, tag)| Message { data, tag }))
    }

    fn release(&mut self) -> Result<()> {
        if !self.peeked {
            bail!(Internal, "shared memory: release without a message");
        }
        self.peeked = false;
        self.fifo.release();
        Ok(())
    }

    fn poll_fd(&self) -> Option<(RawFd, Interest)> {
        None
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::channel::layout::{FIFO_SLOTS, test_region};
    use crate::transport::conformance;

    #[test]
    fn shared_memory_keeps_the_contract_of_transports() {
        let which = FifoId { lane: 0, from: 0, to: 1 };
        conformance::run(&|slot_bytes, slots| {
            assert!(slots <= FIFO_SLOTS);
            let region = test_region(2, slot_bytes);
            (Box::new(ShmSend::new(region.clone(), which)), Box::new(ShmRecv::new(region, which)))
        });
    }
}
