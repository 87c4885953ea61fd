//! Operation slots: what a rank publishes about the collective it has entered.
//!
//! Rank r writes slot `seq % OP_SLOTS` of its own row, then stores `seq` (release). Any other rank that loads that number
//! (acquire) may read the record, the inline payload, and the buffers that the record names, until it stores
//! `done = seq` in its own control block.
//!
//! **Reuse.** A rank enters operations in order, so one that has published `s` has finished reading everything up to
//! `s - 1`. A slot is written again only when every rank is known to be done with the operation that used it before.
use super::atomic::Ordering;
use super::layout::{OP_INLINE, OP_SLOTS, Region};

/// Where a buffer is, for a peer that wants to read or write it in place.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Default)]
#[repr(C)]
pub struct Place {
    /// Address in the owner's address space.
    pub addr: u64,
    /// Offset in the owner's exported memory plus one, or 0: plain host memory.
    pub export: u64,
}

/// What a rank says about an operation.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Default)]
#[repr(C)]
pub struct Record {
    /// Collective, type, reduction and root, packed: must be equal on all ranks.
    pub signature: u64,
    /// Elements, as passed to the call: must be equal on all ranks.
    pub count: u64,
    /// The factor of this rank's input, if the operation has one.
    pub scale: u64,
    pub input: Place,
    pub output: Place,
}

/// One rank's view of everybody's slots.
pub struct Slots {
    region: Region,
    me: usize,
    /// Number of the operation in progress or, between operations, of the last one. The first is 1.
    seq: u64,
    /// Per rank, the newest operation which it is known to have finished.
    known_done: Vec<u64>,
}

impl Slots {
    pub fn new(region: Region, me: usize) -> Self {
        let ranks = region.layout().ranks;
        Self { region, me, seq: 0, known_done: vec![0; ranks] }
    }

    pub fn ranks(&self) -> usize {
        self.known_done.len()
    }

    pub fn seq(&self) -> u64 {
        self.seq
    }

    /// Whether the slot of the next operation may be written; if not, a rank whose reading is awaited.
    pub fn ready_to_publish(&mut self) -> Result<(), usize> {
        let Some(oldest) = (self.seq + 1).checked_sub(OP_SLOTS as u64).filter(|s| *s > 0) else {
            return Ok(());
        };
        for rank in 0..self.known_done.len() {
            if rank != self.me && self.known_done[rank] < oldest && self.load_done(rank) < oldest {
                return Err(rank);
            }
        }
        Ok(())
    }

    /// Enters the next operation: writes the record and up to [`OP_INLINE`] payload bytes, then the number.
    /// Call only after [`Self::ready_to_publish`] said yes.
    ///
    /// # Safety
    /// `payload` is readable for its length. The buffers that the record names stay valid until every rank is done.
    pub unsafe fn publish(&mut self, record: &Record, payload: Option<(*const u8, usize)>) {
        self.seq += 1;
        let (head, data) = self.region.slot(self.me, self.seq);
        if let Some((src, len)) = payload {
            assert!(len <= OP_INLINE);
            // SAFETY: the slot holds OP_INLINE bytes and no reader is left in it; the caller vouches for the source.
            unsafe { std::ptr::copy_nonoverlapping(src, data, len) };
        }
        // SAFETY: only this rank writes its row, and no reader is left in this slot (`ready_to_publish`).
        unsafe { *head.record.get() = *record };
        // Pairs with the acquire in `record_of`: record and payload before the number.
        head.seq.store(self.seq, Ordering::Release);
    }

    /// The record of `rank` for the operation in progress, once it has published it.
    pub fn record_of(&mut self, rank: usize) -> Option<Record> {
        let (head, _) = self.region.slot(rank, self.seq);
        // Pairs with the release in `publish`.
        if head.seq.load(Ordering::Acquire) != self.seq {
            return None;
        }
        self.known_done[rank] = self.known_done[rank].max(self.seq - 1);
        // SAFETY: the number was seen, and the owner does not write the slot again before we store `done`.
        Some(unsafe { *head.record.get() })
    }

    /// The record of a rank that [`Self::record_of`] has given before in this operation.
    pub fn seen_record(&self, rank: usize) -> Option<Record> {
        let (head, _) = self.region.slot(rank, self.seq);
        // Pairs with the release in `publish`.
        // SAFETY: as in `record_of`.
        (head.seq.load(Ordering::Acquire) == self.seq).then(|| unsafe { *head.record.get() })
    }

    /// The inline payload of `rank`; readable once [`Self::record_of`] gave a record, until [`Self::finish`].
    pub fn payload_of(&self, rank: usize) -> *const u8 {
        self.region.slot(rank, self.seq).1
    }

    /// Says that this rank has read everything it needs of the operation in progress.
    pub fn finish(&self) {
        // Pairs with the acquire in `load_done`: our reads of peers' buffers, and our writes into them, before the word.
        self.region.control(self.me).done.store(self.seq, Ordering::Release);
    }

    /// Whether `rank` has finished the operation in progress.
    pub fn finished(&mut self, rank: usize) -> bool {
        self.known_done[rank] >= self.seq || self.load_done(rank) >= self.seq
    }

    fn load_done(&mut self, rank: usize) -> u64 {
        // Pairs with the release in `finish`.
        let done = self.region.control(rank).done.load(Ordering::Acquire);
        self.known_done[rank] = self.known_done[rank].max(done);
        self.known_done[rank]
    }
}

#[cfg(test)]
mod tests {
    use super::super::layout::test_region;
    use super::*;

    fn record(count: u64) -> Record {
        Record { signature: 7, count, ..Record::default() }
    }

    fn publish(s: &mut Slots, count: u64, payload: &[u8]) {
        s.ready_to_publish().unwrap();
        // SAFETY: the payload is a live slice; the record names no buffers.
        unsafe { s.publish(&record(count), Some((payload.as_ptr(), payload.len()))) };
    }

    #[test]
    fn a_published_record_and_payload_are_seen_by_the_peer() {
        let region = test_region(2, 4096);
        let (mut a, mut b) = (Slots::new(region.clone(), 0), Slots::new(region, 1));
        publish(&mut b, 5, b"own");
        assert_eq!(b.record_of(0), None);
        publish(&mut a, 5, b"hello");
        assert_eq!(b.record_of(0).unwrap().count, 5);
        // SAFETY: five bytes were published inline.
        assert_eq!(unsafe { std::slice::from_raw_parts(b.payload_of(0), 5) }, b"hello");
    }

    #[test]
    fn a_slot_is_not_reused_before_its_readers_are_done() {
        let region = test_region(2, 4096);
        let (mut a, mut b) = (Slots::new(region.clone(), 0), Slots::new(region, 1));
        for _ in 0..OP_SLOTS {
            publish(&mut a, 1, b"x");
        }
        assert_eq!(a.ready_to_publish(), Err(1));
        publish(&mut b, 1, b"y");
        b.record_of(0).unwrap();
        b.finish();
        assert_eq!(a.ready_to_publish(), Ok(()));
        assert!(!a.finished(1));
    }

    #[test]
    fn seeing_a_publication_implies_the_earlier_operations_are_done() {
        let region = test_region(2, 4096);
        let (mut a, mut b) = (Slots::new(region.clone(), 0), Slots::new(region, 1));
        for i in 0..100 {
            publish(&mut a, i, b"x");
            publish(&mut b, i, b"y");
            a.record_of(1).unwrap();
            b.record_of(0).unwrap();
        }
        assert_eq!(a.known_done[1], a.seq() - 1);
    }
}
