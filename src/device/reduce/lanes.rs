//! The register that the tile loop works on, as a trait, and its portable form, an array that the compiler
//! vectorises.

use std::mem::MaybeUninit;

/// Accumulators for `N` neighbouring elements.
///
/// The methods of an implementation for an instruction set may be called only where that set is enabled:
/// inside the `#[target_feature]` functions of its module. They are `#[inline(always)]` so that they become
/// part of those.
pub(super) trait Lanes: Copy {
    /// Elements a register holds.
    const N: usize;
    /// Bytes of one element in memory.
    const SIZE: usize;

    /// # Safety
    /// `N` elements are readable at `p`, of any alignment.
    unsafe fn load(p: *const u8) -> Self;
    /// # Safety
    /// `N` elements are writable at `p`, of any alignment.
    unsafe fn store(self, p: *mut u8);
    /// All lanes the element with these low bits.
    fn splat(bits: u64) -> Self;
    fn sum(self, b: Self) -> Self;
    fn prod(self, b: Self) -> Self;
    fn max(self, b: Self) -> Self;
    fn min(self, b: Self) -> Self;
    /// Products rounded to the element type.
    fn scale(self, factor: Self) -> Self;

    /// The first `n` lanes from memory, the others 0.
    ///
    /// # Safety
    /// `n <= N` elements are readable at `p`.
    #[inline(always)]
    unsafe fn load_part(p: *const u8, n: usize) -> Self {
        let mut buffer = [0u8; MAX_BYTES];
        // SAFETY: the caller vouches for `n` elements at `p`; `N` elements fit in the buffer.
        unsafe {
            p.copy_to_nonoverlapping(buffer.as_mut_ptr(), n * Self::SIZE);
            Self::load(buffer.as_ptr())
        }
    }

    /// The first `n` lanes to memory.
    ///
    /// # Safety
    /// `n <= N` elements are writable at `p`.
    #[inline(always)]
    unsafe fn store_part(self, p: *mut u8, n: usize) {
        let mut buffer = MaybeUninit::<[u8; MAX_BYTES]>::uninit();
        let bytes = buffer.as_mut_ptr().cast::<u8>();
        // SAFETY: `N` elements fit in the buffer and `store` writes all of them; the caller vouches for `n`
        // at `p`.
        unsafe {
            self.store(bytes);
            bytes.copy_to_nonoverlapping(p, n * Self::SIZE);
        }
    }
}

/// Upper bound of `N * SIZE`.
const MAX_BYTES: usize = 64;
