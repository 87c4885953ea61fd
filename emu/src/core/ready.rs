//! The set of streams whose head wants to be polled: a bitmap and a count, cheap to test when empty.

use std::sync::atomic::{AtomicU32, AtomicU64, Ordering};

use super::slab::{MAX_STREAMS, StreamRef, initialised, slot};

const WORDS: usize = MAX_STREAMS / 64;

static BITS: [AtomicU64; WORDS] = [const { AtomicU64::new(0) }; WORDS];
static COUNT: AtomicU32 = AtomicU32::new(0);

/// Streams in the set.
#[inline]
pub fn count() -> u32 {
    COUNT.load(Ordering::SeqCst)
}

/// Adds a stream; only its owner of the moment (holder of the poll lock or of the claim) calls this.
pub fn insert(stream: StreamRef) {
    let (word, bit) = place(stream);
    if BITS[word].load(Ordering::Relaxed) & bit == 0 {
        BITS[word].fetch_or(bit, Ordering::SeqCst);
        COUNT.fetch_add(1, Ordering::SeqCst);
    }
}

/// Removes a stream; called by its owner of the moment.
pub fn remove(stream: StreamRef) {
    let (word, bit) = place(stream);
    if BITS[word].load(Ordering::Relaxed) & bit == 0 {
        return;
    }
    BITS[word].fetch_and(!bit, Ordering::SeqCst);
    COUNT.fetch_sub(1, Ordering::SeqCst);
}

/// Calls `visit` for each stream in the set, starting behind `start` and going round.
pub fn for_each(start: u32, mut visit: impl FnMut(StreamRef)) {
    if count() == 0 {
        return;
    }
    let words = initialised().div_ceil(64).max(1);
    let first = start as usize / 64 % words;
    for word in (first..words).chain(0..first) {
        visit_word(word, start, &mut visit);
    }
}

fn visit_word(word: usize, start: u32, visit: &mut impl FnMut(StreamRef)) {
    let bits = BITS[word].load(Ordering::SeqCst);
    let shift = start % 64;
    let mut turned = bits.rotate_right(shift);
    while turned != 0 {
        let bit = (turned.trailing_zeros() + shift) % 64;
        turned &= turned - 1;
        visit(slot(word * 64 + bit as usize));
    }
}

fn place(stream: StreamRef) -> (usize, u64) {
    let index = stream.index as usize;
    (index / 64, 1 << (index % 64))
}
