//! Kernels for x86-64: AVX-512 for every type; AVX2 where its registers pay, and the portable blocks compiled
//! for AVX2 elsewhere.
//!
//! Every function below but the kernels themselves is `#[inline(always)]` and runs only inside them, where
//! the instruction set is enabled: that is the promise behind each `unsafe` block that does nothing but call
//! intrinsics.

mod avx2;
mod avx512;
mod brain512;
mod narrow512;

pub(super) use avx2::TABLE as AVX2;
pub(super) use avx512::TABLE as AVX512;

/// A `Lanes` method that is one function of two registers.
macro_rules! binary {
    ($method:ident, $f:path) => {
        #[inline(always)]
        fn $method(self, b: Self) -> Self {
            // SAFETY: `Lanes` methods run only where the instruction set is enabled.
            Self(unsafe { $f(self.0, b.0) })
        }
    };
}

/// `Lanes::N`, `SIZE`, `load`, `store` and `splat` of a register `$reg` that holds elements `$elem` as they
/// lie in memory.
macro_rules! memory {
    ($reg:ty, $elem:ty, $splat:path, |$bits:ident| $lane:expr) => {
        const N: usize = size_of::<$reg>() / size_of::<$elem>();
        const SIZE: usize = size_of::<$elem>();

        #[inline(always)]
        unsafe fn load(p: *const u8) -> Self {
            // SAFETY: the caller vouches for `N` elements, which are the size of the register.
            Self(unsafe { p.cast::<$reg>().read_unaligned() })
        }
        #[inline(always)]
        unsafe fn store(self, p: *mut u8) {
            // SAFETY: the caller vouches for `N` elements, which are the size of the register.
            unsafe { p.cast::<$reg>().write_unaligned(self.0) }
        }
        #[inline(always)]
        fn splat($bits: u64) -> Self {
            // SAFETY: `Lanes` methods run only where the instruction set is enabled.
            Self(unsafe { $splat($lane) })
        }
    };
}

use {binary, memory};
