//! Host memory that devices copy from and to, kept for reuse.
//!
//! The pages are ordinary ones that were registered with the runtime, so that peers in other processes can read them with the
//! kernel's help. What is held never exceeds the most that was in use at one time.
use std::sync::atomic::AtomicU32;
use std::sync::{Arc, Mutex, PoisonError};

use crate::base::{Error, Result};
use crate::device::staged::api::Api;
use crate::sys::Scratch;
use crate::trace;

/// Bytes in front of the data: the flag, on a cache line of its own.
const HEAD: usize = 64;
const SMALLEST: usize = 4096;

/// All pinned memory of the process.
pub struct Pool {
    api: Arc<Api>,
    held: Mutex<Held>,
}

#[derive(Default)]
struct Held {
    idle: Vec<Block>,
    /// Bytes in use, the most that ever were, and all bytes.
    used: usize,
    peak: usize,
    total: usize,
}

struct Block {
    memory: Scratch,
    /// Its address on the device.
    view: u64,
}

/// A pinned buffer with a flag; goes back to the pool when dropped, on any thread.
pub struct Pinned {
    pool: Arc<Pool>,
    /// None only while it is dropped.
    block: Option<Block>,
}

impl Pool {
    pub fn new(api: Arc<Api>) -> Arc<Self> {
        Arc::new(Self { api, held: Mutex::default() })
    }

    /// A buffer of at least `len` bytes, with what was last in it.
    ///
    /// # Errors
    /// No memory, or the runtime cannot register it.
    pub fn take(self: &Arc<Self>, len: usize) -> Result<Pinned> {
        let size = rounded(len.saturating_add(HEAD));
        if let Some(block) = self.reuse(size) {
            return Ok(Pinned { pool: Arc::clone(self), block: Some(block) });
        }
        let block = self.api.relaxed(|| {
            self.make_room(size);
            self.make(size)
        })?;
        let mut held = self.lock();
        held.total += size;
        held.start_use(size);
        drop(held);
        Ok(Pinned { pool: Arc::clone(self), block: Some(block) })
    }

    fn reuse(&self, size: usize) -> Option<Block> {
        let mut held = self.lock();
        let fits = |b: &Block| (size..=size.saturating_mul(2)).contains(&b.memory.len());
        let candidates = held.idle.iter().enumerate().filter(|(_, b)| fits(b));
        let best = candidates.min_by_key(|(_, b)| b.memory.len()).map(|(index, _)| index)?;
        let block = held.idle.swap_remove(best);
        held.start_use(block.memory.len());
        Some(block)
    }

    fn make(&self, size: usize) -> Result<Block> {
        let memory = Scratch::new(size)
            .map_err(|e| Error::system(format_args!("host memory of {size} bytes for staging"), &e))?;
        // SAFETY: the pages stay mapped until `Block` is taken apart in `give_up`, which unregisters first.
        let view = unsafe { self.api.register(memory.as_ptr(), size)? };
        Ok(Block { memory, view })
    }

    /// Gives idle memory up where `size` bytes more would make the pool larger than its use ever was.
    fn make_room(&self, size: usize) {
        loop {
            let mut held = self.lock();
            let bound = held.peak.max(held.used + size);
            if held.total + size <= bound {
                return;
            }
            let Some(block) = held.idle.pop() else { return };
            held.total -= block.memory.len();
            drop(held);
            self.give_up(block);
        }
    }

    fn give_up(&self, block: Block) {
        if let Err(error) = self.api.unregister(block.memory.as_ptr()) {
            trace!(Alloc, "staging memory: {error}");
            // The device may still know the pages.
            std::mem::forget(block);
        }
    }

    fn lock(&self) -> std::sync::MutexGuard<'_, Held> {
        self.held.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Bytes in use, and all bytes.
    #[cfg(test)]
    pub fn sizes(&self) -> (usize, usize) {
        let held = self.lock();
        (held.used, held.total)
    }
}

impl Held {
    fn start_use(&mut self, size: usize) {
        self.used += size;
        self.peak = self.peak.max(self.used);
    }
}

/// Sizes come in four steps per power of two, so that most buffers fit the next call too.
fn rounded(len: usize) -> usize {
    let step = (len.next_power_of_two() / 8).max(SMALLEST);
    len.max(1).next_multiple_of(step)
}

impl Pinned {
    /// First byte of the data.
    pub fn data(&self) -> *mut u8 {
        self.block().memory.as_ptr().wrapping_add(HEAD)
    }

    /// Bytes of data.
    pub fn len(&self) -> usize {
        self.block().memory.len() - HEAD
    }

    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// The word by which the stream learns that the work is done.
    pub fn flag(&self) -> &AtomicU32 {
        // SAFETY: the head of the block is zeroed or was a flag before, page aligned, lives as long as `self`, and is used
        // as an atomic only (the device reads it).
        unsafe { &*self.block().memory.as_ptr().cast::<AtomicU32>() }
    }

    /// The flag's address on the device.
    pub fn flag_view(&self) -> u64 {
        self.block().view
    }

    fn block(&self) -> &Block {
        match &self.block {
            Some(block) => block,
            None => unreachable!("the block leaves in drop only"),
        }
    }
}

impl Drop for Pinned {
    fn drop(&mut self) {
        if let Some(block) = self.block.take() {
            // No call of the runtime here: this may be a host function.
            let mut held = self.pool.lock();
            held.used -= block.memory.len();
            held.idle.push(block);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sizes_waste_at_most_a_quarter_above_the_smallest() {
        for len in [1, 4096, 4097, 70_000, 1 << 20, (1 << 20) + 1, 123_456_789] {
            let size = rounded(len);
            assert!(size >= len && size.is_multiple_of(4096), "{len} → {size}");
            assert!(size <= 32 << 10 || size - len <= len / 4, "{len} → {size}");
        }
    }
}
