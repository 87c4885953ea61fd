//! Where everything stands in the shared region of a host: offsets as pure arithmetic, and typed views.
use super::atomic::{AtomicU32, AtomicU64};
use std::sync::Arc;

use crate::sys::SharedMap;

/// One cache line, the unit of everything here.
pub const LINE: usize = 64;
const PAGE: usize = 4096;
/// Operation slots per rank: a rank may be this many operations ahead of the slowest reader.
pub const OP_SLOTS: usize = 4;
/// Payload bytes that fit into an operation slot.
pub const OP_INLINE: usize = 16 << 10;
const OP_SLOT: usize = LINE + OP_INLINE;
/// FIFOs per ordered pair of ranks: one for collectives, one for point-to-point calls.
pub const FIFO_LANES: usize = 2;
/// Messages in flight per FIFO.
pub const FIFO_SLOTS: usize = 8;
/// Ranks per host above which FIFO slots shrink, to bound the address space (the pages are sparse).
const MANY_RANKS: usize = 64;

/// One FIFO of the region; ranks are numbered within the host.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct FifoId {
    pub lane: usize,
    pub from: usize,
    pub to: usize,
}

/// Offsets for `ranks` ranks on one host.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Layout {
    pub ranks: usize,
    /// Payload bytes of one FIFO slot.
    pub fifo_bytes: usize,
}

impl Layout {
    pub fn new(ranks: usize, fifo_bytes: usize) -> Self {
        let fifo_bytes = if ranks > MANY_RANKS { fifo_bytes.min(16 << 10) } else { fifo_bytes };
        Self { ranks, fifo_bytes }
    }

    /// Bytes of the part that every operation touches: header, control blocks, operation slots.
    pub fn hot_bytes(&self) -> usize {
        (self.slots() + self.ranks * OP_SLOTS * OP_SLOT).next_multiple_of(PAGE)
    }

    pub fn total_bytes(&self) -> usize {
        self.hot_bytes() + FIFO_LANES * self.ranks * self.ranks * self.fifo_stride()
    }

    fn controls(&self) -> usize {
        PAGE
    }

    fn slots(&self) -> usize {
        (self.controls() + self.ranks * size_of::<Control>()).next_multiple_of(PAGE)
    }

    fn fifo_stride(&self) -> usize {
        (LINE + FIFO_SLOTS * self.fifo_slot_stride()).next_multiple_of(PAGE)
    }

    pub(super) fn fifo_slot_stride(&self) -> usize {
        LINE + self.fifo_bytes.next_multiple_of(LINE)
    }
}

/// First page of the region.
#[repr(C, align(64))]
pub(super) struct Header {
    /// 0 while healthy, else what stopped the communicator (see [`super::bell::Halt`]). First writer wins.
    pub halt: AtomicU64,
    _pad: [u64; 7],
    /// Ranks that sleep on their bell now. A publisher with nobody to wake reads this line only.
    pub sleepers: AtomicU32,
    _pad2: [u32; 15],
    /// Ranks that mapped the region.
    pub arrived: AtomicU32,
    _pad3: [u32; 15],
}

/// What one rank says about itself; written by that rank, except the bell.
#[repr(C, align(64))]
pub(super) struct Control {
    /// Sequence number of the last slot operation whose reads this rank has finished.
    pub done: AtomicU64,
    _pad: [u64; 7],
    /// Futex word: anyone who wants to wake the rank adds one.
    pub bell: AtomicU32,
    /// Not 0 while the rank is about to sleep or sleeps.
    pub sleeping: AtomicU32,
    _pad2: [u32; 14],
}

/// First line of an operation slot. Written by its rank before `seq`, read by all after it.
#[repr(C, align(64))]
pub(super) struct SlotHead {
    /// Number of the operation that the slot describes; stored last.
    pub seq: AtomicU64,
    pub record: std::cell::UnsafeCell<super::slots::Record>,
}

/// First line of a message in a FIFO.
#[repr(C, align(64))]
pub(super) struct MessageHead {
    /// Number of the message in the slot, counted from 1; stored last.
    pub seq: AtomicU64,
    pub tag: std::cell::UnsafeCell<u64>,
    pub len: std::cell::UnsafeCell<u64>,
}

/// A mapped region. Clones share the mapping.
#[derive(Clone)]
pub struct Region {
    base: *mut u8,
    layout: Layout,
    /// Keeps the mapping alive.
    _owner: Arc<dyn Send + Sync>,
}

// SAFETY: the region is shared memory made for concurrent use; every access goes through atomics or through the slot
// protocols, which hand each byte range to one writer at a time.
unsafe impl Send for Region {}
// SAFETY: as above.
unsafe impl Sync for Region {}

impl Region {
    /// # Safety
    /// `base` is page-aligned, points to `layout.total_bytes()` readable and writable bytes that were zero when the first
    /// rank mapped them, and stays valid as long as `owner` lives. Every rank uses the same layout.
    pub unsafe fn new(base: *mut u8, layout: Layout, owner: Arc<dyn Send + Sync>) -> Self {
        Self { base, layout, _owner: owner }
    }

    /// The region in a shared mapping that was made for it.
    ///
    /// # Panics
    /// If the mapping is shorter than the layout.
    pub fn of_map(map: SharedMap, layout: Layout) -> Self {
        assert!(map.len() >= layout.total_bytes());
        let base = map.as_ptr();
        // SAFETY: a mapping is page-aligned, was zero when it was made, is as long as asserted, and lives in the owner.
        unsafe { Self::new(base, layout, Arc::new(map)) }
    }

    pub fn layout(&self) -> &Layout {
        &self.layout
    }

    pub(super) fn header(&self) -> &Header {
        // SAFETY: offset 0 is in bounds and page-aligned; all fields are atomics, valid for any bit pattern.
        unsafe { &*self.base.cast::<Header>() }
    }

    pub(super) fn control(&self, rank: usize) -> &Control {
        assert!(rank < self.layout.ranks);
        let at = self.layout.controls() + rank * size_of::<Control>();
        // SAFETY: in bounds by the assertion and the layout, 64-byte aligned; atomics, valid for any bit pattern.
        unsafe { &*self.base.add(at).cast::<Control>() }
    }

    /// Head and payload of slot `index % OP_SLOTS` of `rank`.
    pub(super) fn slot(&self, rank: usize, index: u64) -> (&SlotHead, *mut u8) {
        assert!(rank < self.layout.ranks);
        let at = self.layout.slots() + (rank * OP_SLOTS + (index as usize % OP_SLOTS)) * OP_SLOT;
        // SAFETY: in bounds by the assertion and the layout, 64-byte aligned; `seq` is an atomic and the record is a cell
        // that is only read after `seq` was seen.
        unsafe { (&*self.base.add(at).cast::<SlotHead>(), self.base.add(at + LINE)) }
    }

    /// The receiver's credit word of a FIFO: messages that it has released.
    pub(super) fn fifo_credit(&self, which: FifoId) -> &AtomicU64 {
        // SAFETY: in bounds by `fifo_at`, 64-byte aligned; an atomic, valid for any bit pattern.
        unsafe { &*self.base.add(self.fifo_at(which)).cast::<AtomicU64>() }
    }

    /// Head and payload of the slot for message number `index` (from 0) of a FIFO.
    pub(super) fn fifo_slot(&self, which: FifoId, index: u64) -> (&MessageHead, *mut u8) {
        let slot = index as usize % FIFO_SLOTS;
        let at = self.fifo_at(which) + LINE + slot * self.layout.fifo_slot_stride();
        // SAFETY: in bounds by the layout, 64-byte aligned; cells are read only after `seq` was seen.
        unsafe { (&*self.base.add(at).cast::<MessageHead>(), self.base.add(at + LINE)) }
    }

    fn fifo_at(&self, FifoId { lane, from, to }: FifoId) -> usize {
        let ranks = self.layout.ranks;
        assert!(lane < FIFO_LANES && from < ranks && to < ranks);
        self.layout.hot_bytes() + ((lane * ranks + from) * ranks + to) * self.layout.fifo_stride()
    }
}

#[cfg(test)]
pub fn test_region(ranks: usize, fifo_bytes: usize) -> Region {
    let layout = Layout::new(ranks, fifo_bytes);
    #[repr(align(4096))]
    #[derive(Clone, Copy)]
    struct Page(#[allow(dead_code)] [u8; PAGE]);
    let mut pages = vec![Page([0; PAGE]); layout.total_bytes() / PAGE];
    let base = pages.as_mut_ptr().cast();
    // SAFETY: the vector is page-aligned, zeroed, as long as the layout asks, and kept alive by the owner.
    unsafe { Region::new(base, layout, Arc::new(pages)) }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn parts_do_not_overlap_for_any_rank_count() {
        for ranks in [1, 2, 3, 8, 64, 65] {
            let l = Layout::new(ranks, 128 << 10);
            assert!(size_of::<Header>() <= PAGE);
            assert!(l.controls() + ranks * size_of::<Control>() <= l.slots());
            assert!(l.slots() + ranks * OP_SLOTS * OP_SLOT <= l.hot_bytes());
            assert!(LINE + FIFO_SLOTS * l.fifo_slot_stride() <= l.fifo_stride());
        }
    }

    #[test]
    fn heads_are_one_line_and_a_record_fits() {
        assert_eq!(size_of::<MessageHead>(), LINE);
        assert_eq!(size_of::<SlotHead>(), LINE);
        assert_eq!(size_of::<Control>(), 2 * LINE);
    }
}
