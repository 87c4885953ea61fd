//! AVX-512: bf16, 32 elements at a time.
//!
//! A bf16 is the upper half of an f32, so in a register of pairs the second of each pair is there already and
//! the first is one shift away. The two halves stay apart while they are computed, and no lane has to move.

use std::arch::x86_64 as x86;
use std::arch::x86_64::{__m512, __m512i};

use super::super::element::{Bf16, Element};
use super::super::lanes::Lanes;
use super::avx512::{Raw, max_ps, min_ps};

/// The accumulators of the elements at even and at odd places.
#[derive(Clone, Copy)]
pub(super) struct Brain {
    even: __m512,
    odd: __m512,
}

/// A method on both halves.
macro_rules! both {
    ($method:ident, $f:path) => {
        #[inline(always)]
        fn $method(self, b: Self) -> Self {
            // SAFETY: `Lanes` methods run only where AVX-512 is enabled.
            unsafe { Self { even: $f(self.even, b.even), odd: $f(self.odd, b.odd) } }
        }
    };
}

// In each `unsafe` block below: `Lanes` methods run only where AVX-512 is enabled; memory is as the method's
// caller promises.
impl Lanes for Brain {
    const N: usize = 32;
    const SIZE: usize = 2;

    #[inline(always)]
    unsafe fn load(p: *const u8) -> Self {
        // SAFETY: as above.
        unsafe { widen(p.cast::<__m512i>().read_unaligned()) }
    }
    #[inline(always)]
    unsafe fn store(self, p: *mut u8) {
        // SAFETY: as above.
        unsafe { p.cast::<__m512i>().write_unaligned(narrow(self)) }
    }
    #[inline(always)]
    unsafe fn load_part(p: *const u8, n: usize) -> Self {
        // SAFETY: as above.
        unsafe { widen(Raw::load_part(p, n * Self::SIZE)) }
    }
    #[inline(always)]
    unsafe fn store_part(self, p: *mut u8, n: usize) {
        // SAFETY: as above.
        unsafe { narrow(self).store_part(p, n * Self::SIZE) }
    }
    #[inline(always)]
    fn splat(bits: u64) -> Self {
        // SAFETY: as above.
        let all = unsafe { x86::_mm512_set1_ps(Bf16::from_bits(bits).widen()) };
        Self { even: all, odd: all }
    }
    both!(sum, x86::_mm512_add_ps);
    both!(prod, x86::_mm512_mul_ps);
    both!(max, max_ps);
    both!(min, min_ps);
    #[inline(always)]
    fn scale(self, factor: Self) -> Self {
        // SAFETY: as above.
        unsafe { widen(narrow(self.prod(factor))) }
    }
}

/// # Safety
/// AVX-512 is enabled.
#[inline(always)]
unsafe fn widen(pairs: __m512i) -> Brain {
    // SAFETY: the caller's promise.
    unsafe {
        let upper = x86::_mm512_set1_epi32(0xffff_0000u32 as i32);
        Brain {
            even: x86::_mm512_castsi512_ps(x86::_mm512_slli_epi32::<16>(pairs)),
            odd: x86::_mm512_castsi512_ps(x86::_mm512_and_si512(pairs, upper)),
        }
    }
}

/// # Safety
/// AVX-512 is enabled.
#[inline(always)]
unsafe fn narrow(x: Brain) -> __m512i {
    // SAFETY: the caller's promise.
    unsafe {
        let even = x86::_mm512_srli_epi32::<16>(round(x.even));
        x86::_mm512_mask_blend_epi16(0xaaaa_aaaa, even, round(x.odd))
    }
}

/// The bits of f32 values, the upper half of each rounded to nearest even and the lower half to be dropped.
///
/// # Safety
/// AVX-512 is enabled.
#[inline(always)]
unsafe fn round(x: __m512) -> __m512i {
    // SAFETY: the caller's promise.
    unsafe {
        let bits = x86::_mm512_castps_si512(x);
        let odd = x86::_mm512_and_si512(x86::_mm512_srli_epi32::<16>(bits), x86::_mm512_set1_epi32(1));
        let rounded = x86::_mm512_add_epi32(bits, x86::_mm512_add_epi32(odd, x86::_mm512_set1_epi32(0x7fff)));
        let nan = x86::_mm512_cmp_ps_mask::<{ x86::_CMP_UNORD_Q }>(x, x);
        x86::_mm512_mask_or_epi32(rounded, nan, bits, x86::_mm512_set1_epi32(0x0040_0000))
    }
}
