//! Messages from one rank to another through shared memory: the Simple protocol.
//!
//! A FIFO has [`FIFO_SLOTS`] slots. The sender fills the slot of message m, then stores m + 1 in front of it (release); the
//! receiver that loads this number (acquire) owns the slot until it stores m + 1 in the credit word (release), which the
//! sender loads (acquire) before it fills the slot again.
use super::atomic::Ordering;
use super::layout::{FIFO_SLOTS, FifoId, Region};

/// Sending end. One per FIFO.
pub struct FifoSender {
    region: Region,
    which: FifoId,
    /// Messages posted so far.
    posted: u64,
    /// Messages known to be released by the receiver.
    released: u64,
}

impl FifoSender {
    pub fn new(region: Region, which: FifoId) -> Self {
        Self { region, which, posted: 0, released: 0 }
    }

    pub fn slot_bytes(&self) -> usize {
        self.region.layout().fifo_bytes
    }

    /// The free slot that the next message goes into, if there is one.
    pub fn acquire(&mut self) -> Option<&mut [u8]> {
        if self.posted - self.released >= FIFO_SLOTS as u64 && self.unreleased() >= FIFO_SLOTS as u64 {
            return None;
        }
        let (_, data) = self.region.fifo_slot(self.which, self.posted);
        // SAFETY: the receiver has released this slot (or it was never used), and this is the FIFO's only sender.
        Some(unsafe { std::slice::from_raw_parts_mut(data, self.slot_bytes()) })
    }

    /// Sends the first `len` bytes of the acquired slot.
    pub fn post(&mut self, len: usize, tag: u64) {
        assert!(len <= self.slot_bytes());
        let (head, _) = self.region.fifo_slot(self.which, self.posted);
        // SAFETY: the slot is ours until `seq` is stored.
        unsafe {
            *head.tag.get() = tag;
            *head.len.get() = len as u64;
        }
        self.posted += 1;
        // Pairs with the acquire in `FifoReceiver::peek`: payload, tag and length before the number.
        head.seq.store(self.posted, Ordering::Release);
    }

    /// Messages that the receiver has not released yet.
    pub fn unreleased(&mut self) -> u64 {
        // Pairs with the release in `FifoReceiver::release`: the receiver's reads before the slot is filled again.
        self.released = self.region.fifo_credit(self.which).load(Ordering::Acquire).min(self.posted);
        self.posted - self.released
    }
}

/// Receiving end. One per FIFO.
pub struct FifoReceiver {
    region: Region,
    which: FifoId,
    /// Messages released so far.
    taken: u64,
}

impl FifoReceiver {
    pub fn new(region: Region, which: FifoId) -> Self {
        Self { region, which, taken: 0 }
    }

    /// The oldest message that was not released: payload and tag.
    pub fn peek(&self) -> Option<(&[u8], u64)> {
        let (head, data) = self.region.fifo_slot(self.which, self.taken);
        // Pairs with the release in `FifoSender::post`.
        if head.seq.load(Ordering::Acquire) != self.taken + 1 {
            return None;
        }
        // SAFETY: the number was seen, so tag, length and payload are written and ours until `release`. The length is
        // bounded here because a peer wrote it.
        unsafe {
            let len = (*head.len.get() as usize).min(self.region.layout().fifo_bytes);
            Some((std::slice::from_raw_parts(data, len), *head.tag.get()))
        }
    }

    /// Gives the slot of the oldest message back to the sender.
    pub fn release(&mut self) {
        self.taken += 1;
        // Pairs with the acquire in `FifoSender::unreleased`.
        self.region.fifo_credit(self.which).store(self.taken, Ordering::Release);
    }
}

#[cfg(test)]
mod tests {
    use super::super::layout::test_region;
    use super::*;

    const ID: FifoId = FifoId { lane: 1, from: 0, to: 1 };

    #[test]
    fn messages_arrive_in_order_across_threads() {
        let region = test_region(2, 4096);
        let (mut tx, mut rx) = (FifoSender::new(region.clone(), ID), FifoReceiver::new(region, ID));
        let sender = std::thread::spawn(move || {
            for i in 0..5000u64 {
                loop {
                    if let Some(slot) = tx.acquire() {
                        slot[..8].copy_from_slice(&i.to_le_bytes());
                        break;
                    }
                    std::thread::yield_now();
                }
                tx.post(8, i * 3);
            }
        });
        for i in 0..5000u64 {
            loop {
                if let Some((data, tag)) = rx.peek() {
                    assert_eq!((data, tag), (&i.to_le_bytes()[..], i * 3));
                    break;
                }
                std::thread::yield_now();
            }
            rx.release();
        }
        sender.join().unwrap();
    }

    #[test]
    fn a_full_fifo_gives_no_slot_until_the_receiver_releases_one() {
        let region = test_region(2, 4096);
        let (mut tx, mut rx) = (FifoSender::new(region.clone(), ID), FifoReceiver::new(region, ID));
        for _ in 0..FIFO_SLOTS {
            tx.acquire().unwrap();
            tx.post(0, 0);
        }
        assert!(tx.acquire().is_none());
        assert_eq!(rx.peek().unwrap().0.len(), 0);
        rx.release();
        assert!(tx.acquire().is_some());
        assert_eq!(tx.unreleased(), FIFO_SLOTS as u64 - 1);
    }
}
