//! First-fit allocation inside one device's span, with knowledge of which pages became free.

use std::collections::BTreeMap;
use std::ops::Range;

use crate::sys::map::PAGE;

/// Alignment of small allocations.
const SMALL: usize = 512;
/// Allocations from here on own whole pages.
const PAGED: usize = 64 << 10;
/// Allocations from here on start at a multiple of this.
const LARGE: usize = 2 << 20;

/// Offsets are relative to the span. Free ranges are maximal: two never touch.
pub struct SpanAllocator {
    free: BTreeMap<usize, usize>,
    live: BTreeMap<usize, Entry>,
    used: usize,
    next_id: u64,
}

#[derive(Clone, Copy, Debug)]
pub struct Entry {
    pub offset: usize,
    /// Bytes asked for.
    pub size: usize,
    pub id: u64,
    pub managed: bool,
    taken: usize,
}

impl SpanAllocator {
    pub fn new(span: usize) -> Self {
        Self { free: BTreeMap::from([(0, span)]), live: BTreeMap::new(), used: 0, next_id: 1 }
    }

    /// Bytes taken by live allocations, rounding included.
    pub fn used(&self) -> usize {
        self.used
    }

    /// Offset of a range of at least `size` bytes, or none when no free range is long enough. `size` is not 0.
    pub fn allocate(&mut self, size: usize, managed: bool) -> Option<usize> {
        let (align, unit) = shape(size);
        let taken = size.checked_next_multiple_of(unit)?;
        let (start, len, offset) = self.free.iter().find_map(|(&start, &len)| {
            let offset = start.next_multiple_of(align);
            (offset - start <= len && len - (offset - start) >= taken).then_some((start, len, offset))
        })?;
        self.free.remove(&start);
        if offset > start {
            self.free.insert(start, offset - start);
        }
        if start + len > offset + taken {
            self.free.insert(offset + taken, start + len - offset - taken);
        }
        let id = self.next_id;
        self.next_id += 1;
        self.live.insert(offset, Entry { offset, size, id, managed, taken });
        self.used += taken;
        Some(offset)
    }

    /// Frees the allocation at exactly `offset`. Returns the whole pages which hold no live byte any more
    /// because of this; none if there is no such allocation.
    pub fn free(&mut self, offset: usize) -> Option<Range<usize>> {
        let entry = self.live.remove(&offset)?;
        self.used -= entry.taken;
        let (mut start, mut end) = (offset, offset + entry.taken);
        if let Some((&before, &len)) = self.free.range(..offset).next_back()
            && before + len == offset
        {
            self.free.remove(&before);
            start = before;
        }
        if let Some(len) = self.free.remove(&end) {
            end += len;
        }
        self.free.insert(start, end - start);
        let first = start.next_multiple_of(PAGE).max(offset / PAGE * PAGE);
        let last = (end / PAGE * PAGE).min((offset + entry.taken).next_multiple_of(PAGE));
        Some(first..last.max(first))
    }

    /// The live allocation that contains `offset`.
    pub fn find(&self, offset: usize) -> Option<Entry> {
        let (_, entry) = self.live.range(..=offset).next_back()?;
        (offset - entry.offset < entry.size).then_some(*entry)
    }
}

/// Alignment of the start and of the length.
fn shape(size: usize) -> (usize, usize) {
    match size {
        0..PAGED => (SMALL, SMALL),
        PAGED..LARGE => (PAGE, PAGE),
        _ => (LARGE, PAGE),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn freeing_everything_leaves_one_free_range() {
        let mut a = SpanAllocator::new(64 << 20);
        let mut offsets: Vec<_> =
            [1, 511, 513, 70_000, 3 << 20, 4096, 1].iter().map(|&n| a.allocate(n, false).unwrap()).collect();
        offsets.rotate_left(3);
        for o in offsets {
            a.free(o).unwrap();
        }
        assert_eq!(a.free, BTreeMap::from([(0, 64 << 20)]));
        assert_eq!(a.used(), 0);
    }

    #[test]
    fn a_page_is_given_back_only_with_its_last_small_allocation() {
        let mut a = SpanAllocator::new(1 << 20);
        let first = a.allocate(600, false).unwrap();
        let second = a.allocate(600, false).unwrap();
        let keeper = a.allocate(4096, false).unwrap();
        assert!(a.free(first).unwrap().is_empty());
        assert!(a.free(second).unwrap().is_empty(), "the keeper still has bytes on this page");
        assert_eq!(a.free(keeper).unwrap(), 0..8192);
    }

    #[test]
    fn large_allocations_are_aligned_and_give_back_all_their_pages() {
        let mut a = SpanAllocator::new(64 << 20);
        a.allocate(1, false).unwrap();
        let paged = a.allocate(100_000, false).unwrap();
        let large = a.allocate((2 << 20) + 1, false).unwrap();
        assert_eq!((paged % PAGE, large % LARGE), (0, 0));
        assert_eq!(a.free(large).unwrap(), large..large + (2 << 20) + PAGE);
        assert_eq!(a.free(paged).unwrap(), paged..paged + 100_000usize.next_multiple_of(PAGE));
    }

    #[test]
    fn find_knows_interior_addresses_and_ends() {
        let mut a = SpanAllocator::new(1 << 20);
        let o = a.allocate(1000, true).unwrap();
        assert!(a.find(o + 999).is_some_and(|e| e.offset == o && e.managed));
        assert!(a.find(o + 1000).is_none());
        assert!(a.free(o + 512).is_none());
    }

    #[test]
    fn a_full_span_refuses() {
        let mut a = SpanAllocator::new(1 << 20);
        assert!(a.allocate((1 << 20) + 1, false).is_none());
        assert!(a.allocate(usize::MAX, false).is_none());
        assert!(a.allocate(1 << 19, false).is_some());
    }
}
