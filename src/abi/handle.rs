//! Live-handle tables: a C handle is the address of a slot that is never freed, so any bit pattern can be looked up safely.
//!
//! A slot's state word holds a live bit, a tag and a count of users. While a slot is live, the table itself is one user.
//! A lookup adds a user by compare-and-swap, and only to a live slot with the handle's tag; removal clears the live
//! bit and gives the table's use back. Whoever gives the last use back owns the slot alone, empties it and moves the
//! tag on. So a thread that looks up while another removes gets either the value or nothing, without any lock.
//!
//! The tag shows in the handle's low address bits. A freed slot waits behind [`QUARANTINE`] others and comes back with
//! another tag, so that a stale handle is told from its successor for some thousand reuses.
use std::cell::UnsafeCell;
use std::sync::atomic::{AtomicU32, AtomicU64, Ordering, fence};
use std::sync::{Arc, Mutex, PoisonError};

/// Bytes from one slot to the next: one cache line, so that users of different handles do not disturb each other.
const STRIDE: usize = 64;
/// Bytes between two tags, the least alignment of a pointer.
const TAG_STEP: usize = 8;
const TAGS: u64 = (STRIDE / TAG_STEP) as u64;
const TAG_SHIFT: u32 = 32;
const TAG_MASK: u64 = (TAGS - 1) << TAG_SHIFT;
const LIVE: u64 = 1 << 63;
const USERS: u64 = (1 << TAG_SHIFT) - 1;
/// Freed slots that are kept back before one is used again.
const QUARANTINE: u32 = 256;

/// A table of at most `N` live values. Meant for a `static`; all bytes of a new one are zero.
pub struct Table<T, const N: usize> {
    slots: [Slot<T>; N],
    free: Mutex<FreeList>,
}

/// A slot that waits for its value; given back when dropped unfilled.
pub struct Vacant<T: Send + Sync + 'static, const N: usize> {
    table: &'static Table<T, N>,
    index: usize,
}

#[repr(C, align(64))]
struct Slot<T> {
    state: AtomicU64,
    value: UnsafeCell<Option<Arc<T>>>,
    /// The next slot of the free list plus one. Only touched under the list's lock.
    next: AtomicU32,
}

/// Freed slots, first in first out; positions are index plus one, zero is none.
struct FreeList {
    head: u32,
    tail: u32,
    len: u32,
    /// Slots that were ever handed out.
    used: u32,
}

// SAFETY: values are shared between threads as `Arc<T>` with `T: Send + Sync`; a slot's cell is written only by the
// thread that owns the slot alone (see `Vacant::fill` and `release`).
unsafe impl<T: Send + Sync, const N: usize> Sync for Table<T, N> {}

impl<T: Send + Sync + 'static, const N: usize> Table<T, N> {
    pub const fn new() -> Self {
        const { assert!(size_of::<Slot<T>>() == STRIDE && N < u32::MAX as usize) };
        let free = Mutex::new(FreeList { head: 0, tail: 0, len: 0, used: 0 });
        Self { slots: [const { Slot::new() }; N], free }
    }

    /// Takes a slot for a value to come; `None` when `N` values live.
    pub fn reserve(&'static self) -> Option<Vacant<T, N>> {
        let mut free = self.free.lock().unwrap_or_else(PoisonError::into_inner);
        let index = if free.len > QUARANTINE || (free.used as usize == N && free.len > 0) {
            let index = free.head as usize - 1;
            free.head = self.slots[index].next.load(Ordering::Relaxed);
            free.len -= 1;
            index
        } else if (free.used as usize) < N {
            free.used += 1;
            free.used as usize - 1
        } else {
            return None;
        };
        Some(Vacant { table: self, index })
    }

    /// The value of a live handle.
    #[inline]
    pub fn get(&'static self, address: usize) -> Option<Arc<T>> {
        let (index, tag) = self.locate(address)?;
        let slot = &self.slots[index];
        slot.enter(tag, |state| state + 1)?;
        // SAFETY: this thread is a user of a slot that was live when it entered, so the value stays until `leave`.
        let value = unsafe { (*slot.value.get()).clone() };
        self.leave(index);
        value
    }

    /// Ends a handle and returns its value. Exactly one of several concurrent calls gets it.
    pub fn remove(&'static self, address: usize) -> Option<Arc<T>> {
        let (index, tag) = self.locate(address)?;
        let slot = &self.slots[index];
        slot.enter(tag, |state| state & !LIVE)?;
        // SAFETY: the table's own use passed to this thread with the live bit, so the value stays until `leave`.
        let value = unsafe { (*slot.value.get()).clone() };
        self.leave(index);
        value
    }

    /// Slot and tag of an address; `None` for one that is no handle of this table.
    #[inline]
    fn locate(&self, address: usize) -> Option<(usize, u64)> {
        let offset = address.wrapping_sub(self.slots.as_ptr().addr());
        let (index, rest) = (offset / STRIDE, offset % STRIDE);
        (index < N && rest % TAG_STEP == 0).then_some((index, (rest / TAG_STEP) as u64))
    }

    /// Gives a use back; the last one empties the slot.
    #[inline]
    fn leave(&self, index: usize) {
        let slot = &self.slots[index];
        // Release: pairs with the fence below in the thread that leaves last; its emptying comes after our reading.
        let before = slot.state.fetch_sub(1, Ordering::Release);
        if before & USERS == 1 {
            self.empty(index, before);
        }
    }

    #[cold]
    fn empty(&self, index: usize, before: u64) {
        let slot = &self.slots[index];
        // Acquire: pairs with the release of every earlier `leave`.
        fence(Ordering::Acquire);
        // SAFETY: the slot is not live and has no users; `enter` refuses it, so this thread owns it alone.
        drop(unsafe { (*slot.value.get()).take() });
        let tag = (before & TAG_MASK) >> TAG_SHIFT;
        slot.state.store(((tag + 1) % TAGS) << TAG_SHIFT, Ordering::Relaxed);
        self.give_back(index);
    }

    fn give_back(&self, index: usize) {
        let mut free = self.free.lock().unwrap_or_else(PoisonError::into_inner);
        let position = index as u32 + 1;
        if free.len == 0 {
            free.head = position;
        } else {
            self.slots[free.tail as usize - 1].next.store(position, Ordering::Relaxed);
        }
        free.tail = position;
        free.len += 1;
    }
}

impl<T: Send + Sync + 'static, const N: usize> Default for Table<T, N> {
    fn default() -> Self {
        Self::new()
    }
}

impl<T: Send + Sync + 'static, const N: usize> Vacant<T, N> {
    /// Makes the slot live with this value and returns its handle, never zero.
    pub fn fill(self, value: Arc<T>) -> usize {
        let (table, index) = (self.table, self.index);
        std::mem::forget(self);
        let slot = &table.slots[index];
        // SAFETY: a reserved slot is not live, has no users and is in no list: this thread owns it alone.
        unsafe { *slot.value.get() = Some(value) };
        let tag = slot.state.load(Ordering::Relaxed) & TAG_MASK;
        // Release: pairs with the acquire of `enter`; who sees the live bit sees the value.
        slot.state.store(LIVE | tag | 1, Ordering::Release);
        std::ptr::from_ref(slot).addr() + (tag >> TAG_SHIFT) as usize * TAG_STEP
    }
}

impl<T: Send + Sync + 'static, const N: usize> Drop for Vacant<T, N> {
    fn drop(&mut self) {
        self.table.give_back(self.index);
    }
}

impl<T> Slot<T> {
    const fn new() -> Self {
        Self { state: AtomicU64::new(0), value: UnsafeCell::new(None), next: AtomicU32::new(0) }
    }

    /// Changes the state of a slot that is live with this tag; `None` when it is not.
    #[inline]
    fn enter(&self, tag: u64, change: impl Fn(u64) -> u64) -> Option<()> {
        let mut state = self.state.load(Ordering::Relaxed);
        while state & (LIVE | TAG_MASK) == LIVE | (tag << TAG_SHIFT) {
            // Acquire: pairs with the release store in `fill`.
            let swap =
                self.state.compare_exchange_weak(state, change(state), Ordering::Acquire, Ordering::Relaxed);
            match swap {
                Ok(_) => return Some(()),
                Err(now) => state = now,
            }
        }
        None
    }
}

#[cfg(test)]
mod tests {
    use std::sync::atomic::AtomicUsize;

    use super::*;

    /// A value that counts how many of it live.
    struct Counted(u64, &'static AtomicUsize);

    impl Counted {
        fn new(number: u64, count: &'static AtomicUsize) -> Arc<Self> {
            count.fetch_add(1, Ordering::SeqCst);
            Arc::new(Self(number, count))
        }
    }

    impl Drop for Counted {
        fn drop(&mut self) {
            self.1.fetch_sub(1, Ordering::SeqCst);
        }
    }

    #[test]
    fn a_handle_lives_from_fill_to_remove() {
        static TABLE: Table<u32, 8> = Table::new();
        let handle = TABLE.reserve().unwrap().fill(Arc::new(7));
        assert_eq!(TABLE.get(handle).as_deref(), Some(&7));
        assert_eq!(TABLE.remove(handle).as_deref(), Some(&7));
        assert!(TABLE.get(handle).is_none() && TABLE.remove(handle).is_none());
    }

    #[test]
    fn wild_addresses_are_no_handles() {
        static TABLE: Table<u32, 8> = Table::new();
        let handle = TABLE.reserve().unwrap().fill(Arc::new(7));
        for wild in [0, 1, 8, handle + 1, handle + 8, handle - 8, handle - 64, handle + 8 * 64, usize::MAX] {
            assert!(TABLE.get(wild).is_none(), "{wild:#x}");
        }
        assert!(TABLE.get(handle).is_some());
    }

    #[test]
    fn a_full_table_refuses_and_an_unfilled_slot_comes_back() {
        static TABLE: Table<u32, 2> = Table::new();
        let first = TABLE.reserve().unwrap();
        let second = TABLE.reserve().unwrap();
        assert!(TABLE.reserve().is_none());
        drop(first);
        let handle = TABLE.reserve().unwrap().fill(Arc::new(1));
        assert_eq!(TABLE.get(handle).as_deref(), Some(&1));
        drop(second);
    }

    #[test]
    fn a_stale_handle_stays_stale_over_many_reuses_and_nothing_is_left_over() {
        static TABLE: Table<Counted, 1024> = Table::new();
        static COUNT: AtomicUsize = AtomicUsize::new(0);
        let stale = TABLE.reserve().unwrap().fill(Counted::new(0, &COUNT));
        TABLE.remove(stale);
        for number in 1..2000 {
            let handle = TABLE.reserve().unwrap().fill(Counted::new(number, &COUNT));
            assert_ne!(handle, stale);
            assert!(TABLE.get(stale).is_none());
            assert_eq!(TABLE.remove(handle).unwrap().0, number);
        }
        assert_eq!(COUNT.load(Ordering::SeqCst), 0);
    }

    #[test]
    fn lookups_race_with_removal_without_a_use_after_free() {
        static TABLE: Table<Counted, 4> = Table::new();
        static COUNT: AtomicUsize = AtomicUsize::new(0);
        static CURRENT: AtomicUsize = AtomicUsize::new(0);
        let rounds: u64 = if cfg!(miri) { 50 } else { 2_000 };
        std::thread::scope(|scope| {
            for _ in 0..3 {
                scope.spawn(|| {
                    loop {
                        match CURRENT.load(Ordering::SeqCst) {
                            usize::MAX => break,
                            handle => drop(TABLE.get(handle).map(|value| assert!(value.0 < u64::MAX))),
                        }
                    }
                });
            }
            for number in 0..rounds {
                let handle = TABLE.reserve().unwrap().fill(Counted::new(number, &COUNT));
                CURRENT.store(handle, Ordering::SeqCst);
                assert_eq!(TABLE.get(handle).unwrap().0, number);
                std::thread::scope(|racers| {
                    let race = || racers.spawn(move || TABLE.remove(handle).is_some());
                    let (one, two) = (race(), race());
                    assert!(one.join().unwrap() ^ two.join().unwrap(), "exactly one removal wins");
                });
            }
            CURRENT.store(usize::MAX, Ordering::SeqCst);
        });
        assert_eq!(COUNT.load(Ordering::SeqCst), 0);
    }
}
