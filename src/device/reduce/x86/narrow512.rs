//! AVX-512: everything that is computed in f32, which is f32 itself and the narrow floats.

use std::arch::x86_64 as x86;
use std::arch::x86_64::{__m128i, __m256i, __m512, __m512i};
use std::marker::PhantomData;

use super::super::element::{E4M3, E5M2, Element, F16};
use super::super::lanes::Lanes;
use super::avx512::{Raw, max_ps, min_ps};

/// How sixteen elements lie in memory, and their way to f32 and back. The same bits as `convert` makes, NaNs
/// included.
pub(super) trait Format: Copy {
    type Element: Element<Acc = f32>;
    /// The register that holds sixteen elements.
    type Raw: Raw;

    /// # Safety
    /// AVX-512 is enabled.
    unsafe fn widen(raw: Self::Raw) -> __m512;
    /// # Safety
    /// AVX-512 is enabled.
    unsafe fn narrow(x: __m512) -> Self::Raw;
}

/// Sixteen accumulators of elements that lie in memory as `S`.
#[derive(Clone, Copy)]
pub(super) struct Single<S>(__m512, PhantomData<S>);

impl<S: Format> Single<S> {
    #[inline(always)]
    fn new(x: __m512) -> Self {
        Self(x, PhantomData)
    }
}

// In each `unsafe` block below: `Lanes` methods run only where AVX-512 is enabled; memory is as the method's
// caller promises.
impl<S: Format> Lanes for Single<S> {
    const N: usize = 16;
    const SIZE: usize = size_of::<S::Raw>() / 16;

    #[inline(always)]
    unsafe fn load(p: *const u8) -> Self {
        // SAFETY: as above.
        Self::new(unsafe { S::widen(p.cast::<S::Raw>().read_unaligned()) })
    }
    #[inline(always)]
    unsafe fn store(self, p: *mut u8) {
        // SAFETY: as above.
        unsafe { p.cast::<S::Raw>().write_unaligned(S::narrow(self.0)) }
    }
    #[inline(always)]
    unsafe fn load_part(p: *const u8, n: usize) -> Self {
        // SAFETY: as above.
        Self::new(unsafe { S::widen(S::Raw::load_part(p, n * Self::SIZE)) })
    }
    #[inline(always)]
    unsafe fn store_part(self, p: *mut u8, n: usize) {
        // SAFETY: as above.
        unsafe { S::narrow(self.0).store_part(p, n * Self::SIZE) }
    }
    #[inline(always)]
    fn splat(bits: u64) -> Self {
        let value = S::Element::from_bits(bits).widen();
        // SAFETY: as above.
        Self::new(unsafe { x86::_mm512_set1_ps(value) })
    }
    #[inline(always)]
    fn sum(self, b: Self) -> Self {
        // SAFETY: as above.
        Self::new(unsafe { x86::_mm512_add_ps(self.0, b.0) })
    }
    #[inline(always)]
    fn prod(self, b: Self) -> Self {
        // SAFETY: as above.
        Self::new(unsafe { x86::_mm512_mul_ps(self.0, b.0) })
    }
    #[inline(always)]
    fn max(self, b: Self) -> Self {
        // SAFETY: as above.
        Self::new(unsafe { max_ps(self.0, b.0) })
    }
    #[inline(always)]
    fn min(self, b: Self) -> Self {
        // SAFETY: as above.
        Self::new(unsafe { min_ps(self.0, b.0) })
    }
    #[inline(always)]
    fn scale(self, factor: Self) -> Self {
        // SAFETY: as above.
        Self::new(unsafe { S::widen(S::narrow(self.prod(factor).0)) })
    }
}

/// f32 itself.
#[derive(Clone, Copy)]
pub(super) struct Plain;

impl Format for Plain {
    type Element = f32;
    type Raw = __m512i;

    #[inline(always)]
    unsafe fn widen(raw: __m512i) -> __m512 {
        // SAFETY: the caller's promise.
        unsafe { x86::_mm512_castsi512_ps(raw) }
    }
    #[inline(always)]
    unsafe fn narrow(x: __m512) -> __m512i {
        // SAFETY: the caller's promise.
        unsafe { x86::_mm512_castps_si512(x) }
    }
}

/// f16, by the hardware's conversions (which regard neither flush-to-zero nor denormals-are-zero).
#[derive(Clone, Copy)]
pub(super) struct Half;

const NEAREST: i32 = x86::_MM_FROUND_TO_NEAREST_INT | x86::_MM_FROUND_NO_EXC;

impl Format for Half {
    type Element = F16;
    type Raw = __m256i;

    #[inline(always)]
    unsafe fn widen(raw: __m256i) -> __m512 {
        // SAFETY: the caller's promise.
        unsafe { x86::_mm512_cvtph_ps(raw) }
    }
    #[inline(always)]
    unsafe fn narrow(x: __m512) -> __m256i {
        // SAFETY: the caller's promise.
        unsafe { x86::_mm512_cvtps_ph::<NEAREST>(x) }
    }
}

/// E4M3, by way of f16.
#[derive(Clone, Copy)]
pub(super) struct Fp8E4M3;

impl Format for Fp8E4M3 {
    type Element = E4M3;
    type Raw = __m128i;

    #[inline(always)]
    unsafe fn widen(raw: __m128i) -> __m512 {
        // SAFETY: the caller's promise.
        unsafe {
            // As an f16, which has 8 times the exponent range, the same bits are worth 2^-8 as much, except
            // for NaN.
            let wide = x86::_mm256_cvtepi8_epi16(raw);
            let magnitude =
                x86::_mm256_slli_epi16::<7>(x86::_mm256_and_si256(wide, x86::_mm256_set1_epi16(0x7f)));
            let nan = x86::_mm256_cmpeq_epi16_mask(magnitude, x86::_mm256_set1_epi16(0x7f << 7));
            let number = x86::_mm256_mask_mov_epi16(magnitude, nan, x86::_mm256_set1_epi16(0x7e00));
            let sign = x86::_mm256_and_si256(wide, x86::_mm256_set1_epi16(i16::MIN));
            let half = x86::_mm256_or_si256(number, sign);
            x86::_mm512_mul_ps(x86::_mm512_cvtph_ps(half), x86::_mm512_set1_ps(256.0))
        }
    }
    #[inline(always)]
    unsafe fn narrow(x: __m512) -> __m128i {
        // SAFETY: the caller's promise.
        unsafe { narrow_fp8::<20, 120>(x, 448.0) }
    }
}

/// E5M2, the upper half of an f16.
#[derive(Clone, Copy)]
pub(super) struct Fp8E5M2;

impl Format for Fp8E5M2 {
    type Element = E5M2;
    type Raw = __m128i;

    #[inline(always)]
    unsafe fn widen(raw: __m128i) -> __m512 {
        // SAFETY: the caller's promise.
        unsafe { x86::_mm512_cvtph_ps(x86::_mm256_slli_epi16::<8>(x86::_mm256_cvtepu8_epi16(raw))) }
    }
    #[inline(always)]
    unsafe fn narrow(x: __m512) -> __m128i {
        // SAFETY: the caller's promise.
        unsafe { narrow_fp8::<21, 112>(x, 57344.0) }
    }
}

/// f32 to an fp8 with `23 - SHIFT` bits of mantissa whose exponents are `REBIAS` less, step by step as
/// `convert` does it.
///
/// # Safety
/// AVX-512 is enabled.
#[inline(always)]
unsafe fn narrow_fp8<const SHIFT: u32, const REBIAS: i32>(x: __m512, largest: f32) -> __m128i {
    // SAFETY: the caller's promise.
    unsafe {
        let bits = x86::_mm512_castps_si512(x);
        let nan = x86::_mm512_cmp_ps_mask::<{ x86::_CMP_UNORD_Q }>(x, x);
        let magnitude = x86::_mm512_and_si512(bits, x86::_mm512_set1_epi32(i32::MAX));
        let abs = x86::_mm512_min_epu32(magnitude, x86::_mm512_set1_epi32(largest.to_bits() as i32));

        let odd = x86::_mm512_and_si512(x86::_mm512_srli_epi32::<SHIFT>(abs), x86::_mm512_set1_epi32(1));
        let bias = x86::_mm512_set1_epi32((1 << (SHIFT - 1)) - 1 - (REBIAS << 23));
        let normal =
            x86::_mm512_srli_epi32::<SHIFT>(x86::_mm512_add_epi32(abs, x86::_mm512_add_epi32(odd, bias)));
        let magic = (REBIAS + 1 + SHIFT as i32) << 23;
        let sum = x86::_mm512_add_ps(
            x86::_mm512_castsi512_ps(abs),
            x86::_mm512_castsi512_ps(x86::_mm512_set1_epi32(magic)),
        );
        let subnormal = x86::_mm512_sub_epi32(x86::_mm512_castps_si512(sum), x86::_mm512_set1_epi32(magic));

        let small = x86::_mm512_cmplt_epi32_mask(abs, x86::_mm512_set1_epi32((REBIAS + 1) << 23));
        let number = x86::_mm512_mask_mov_epi32(normal, small, subnormal);
        let sign = x86::_mm512_and_si512(x86::_mm512_srli_epi32::<24>(bits), x86::_mm512_set1_epi32(0x80));
        let result =
            x86::_mm512_mask_mov_epi32(x86::_mm512_or_si512(number, sign), nan, x86::_mm512_set1_epi32(0x7f));
        x86::_mm512_cvtepi32_epi8(result)
    }
}
