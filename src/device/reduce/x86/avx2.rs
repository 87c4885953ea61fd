//! AVX2 with FMA and F16C: the kernels, and the types whose loops are memory-bound in registers.

use std::arch::x86_64 as x86;
use std::arch::x86_64::{__m128i, __m256, __m256d, __m256i};
use std::marker::PhantomData;

use super::super::blocks;
use super::super::dispatch::{Table, row};
use super::super::element::{Bf16, E4M3, E5M2, Element, F16};
use super::super::func::{Func, Max, Min, Prod, Sum};
use super::super::job::{Job, Kernel};
use super::super::lanes::Lanes;
use super::super::tiles;
use super::{binary, memory};

pub(in super::super) static TABLE: Table = Table {
    name: "AVX2",
    kernels: [
        row!(kernel, i8, I8),
        row!(kernel, u8, U8),
        row!(kernel, i32, I32),
        row!(kernel, u32, U32),
        row!(portable, i64),
        row!(portable, u64),
        row!(kernel, F16, Single<Half>),
        row!(kernel, f32, Single<Plain>),
        row!(kernel, f64, F64),
        row!(kernel, Bf16, Single<Brain>),
        row!(portable, E4M3),
        row!(portable, E5M2),
    ],
};

/// # Safety
/// As [`super::super::reduce_many`]; `L` holds elements `E`; the machine has the features.
#[target_feature(enable = "avx2,fma,f16c")]
unsafe fn kernel<E: Element, L: Lanes, F: Func>(job: &Job<'_>) {
    // SAFETY: the caller's promise.
    unsafe {
        match job.divisor {
            None => tiles::reduce::<L, F>(job),
            Some(_) => blocks::reduce::<E, F>(job),
        }
    }
}

/// # Safety
/// As [`kernel`].
#[target_feature(enable = "avx2,fma,f16c")]
unsafe fn portable<E: Element, F: Func>(job: &Job<'_>) {
    // SAFETY: the caller's promise.
    unsafe { blocks::reduce::<E, F>(job) }
}

macro_rules! integer {
    ($name:ident, $elem:ty, $splat:path, $lane:ty, $sum:path, $prod:path, $max:path, $min:path) => {
        #[derive(Clone, Copy)]
        struct $name(__m256i);

        impl Lanes for $name {
            memory!(__m256i, $elem, $splat, |bits| bits as $lane);
            binary!(sum, $sum);
            binary!(prod, $prod);
            binary!(max, $max);
            binary!(min, $min);
            binary!(scale, $prod);
        }
    };
}

integer!(
    I8,
    i8,
    x86::_mm256_set1_epi8,
    i8,
    x86::_mm256_add_epi8,
    multiply_bytes,
    x86::_mm256_max_epi8,
    x86::_mm256_min_epi8
);
integer!(
    U8,
    u8,
    x86::_mm256_set1_epi8,
    i8,
    x86::_mm256_add_epi8,
    multiply_bytes,
    x86::_mm256_max_epu8,
    x86::_mm256_min_epu8
);
integer!(
    I32,
    i32,
    x86::_mm256_set1_epi32,
    i32,
    x86::_mm256_add_epi32,
    x86::_mm256_mullo_epi32,
    x86::_mm256_max_epi32,
    x86::_mm256_min_epi32
);
integer!(
    U32,
    u32,
    x86::_mm256_set1_epi32,
    i32,
    x86::_mm256_add_epi32,
    x86::_mm256_mullo_epi32,
    x86::_mm256_max_epu32,
    x86::_mm256_min_epu32
);

/// The low bytes of the products of bytes: those at even places and those at odd places as 16-bit products.
///
/// # Safety
/// AVX2 is enabled.
#[inline(always)]
unsafe fn multiply_bytes(a: __m256i, b: __m256i) -> __m256i {
    // SAFETY: the caller's promise.
    unsafe {
        let high = x86::_mm256_set1_epi16(0xff00u16 as i16);
        let even = x86::_mm256_mullo_epi16(a, b);
        let odd = x86::_mm256_mullo_epi16(x86::_mm256_srli_epi16::<8>(a), x86::_mm256_and_si256(b, high));
        x86::_mm256_or_si256(x86::_mm256_andnot_si256(high, even), odd)
    }
}

#[derive(Clone, Copy)]
struct F64(__m256d);

impl Lanes for F64 {
    memory!(__m256d, f64, x86::_mm256_set1_pd, |bits| f64::from_bits(bits));
    binary!(sum, x86::_mm256_add_pd);
    binary!(prod, x86::_mm256_mul_pd);
    binary!(max, max_pd);
    binary!(min, min_pd);
    binary!(scale, x86::_mm256_mul_pd);
}

/// `max` or `min` as [`Element`] defines it: equal numbers are zeros or the same, and the bits that both have
/// (max) or either has (min) order the zeros; where `b` is NaN, `a`.
macro_rules! ordered {
    ($name:ident, $reg:ty, $select:path, $bits:path, $compare:ident, $blend:path) => {
        /// # Safety
        /// AVX2 is enabled.
        #[inline(always)]
        unsafe fn $name(a: $reg, b: $reg) -> $reg {
            // SAFETY: the caller's promise.
            unsafe {
                let equal = x86::$compare::<{ x86::_CMP_EQ_OQ }>(a, b);
                let nan = x86::$compare::<{ x86::_CMP_UNORD_Q }>(b, b);
                $blend($blend($select(a, b), $bits(a, b), equal), a, nan)
            }
        }
    };
}

ordered!(max_ps, __m256, x86::_mm256_max_ps, x86::_mm256_and_ps, _mm256_cmp_ps, x86::_mm256_blendv_ps);
ordered!(min_ps, __m256, x86::_mm256_min_ps, x86::_mm256_or_ps, _mm256_cmp_ps, x86::_mm256_blendv_ps);
ordered!(max_pd, __m256d, x86::_mm256_max_pd, x86::_mm256_and_pd, _mm256_cmp_pd, x86::_mm256_blendv_pd);
ordered!(min_pd, __m256d, x86::_mm256_min_pd, x86::_mm256_or_pd, _mm256_cmp_pd, x86::_mm256_blendv_pd);

/// How eight elements lie in memory, and their way to f32 and back. The same bits as `convert` makes, NaNs
/// included.
trait Format: Copy {
    type Element: Element<Acc = f32>;
    /// The register that holds eight elements.
    type Raw: Copy;

    /// # Safety
    /// AVX2 and F16C are enabled.
    unsafe fn widen(raw: Self::Raw) -> __m256;
    /// # Safety
    /// AVX2 and F16C are enabled.
    unsafe fn narrow(x: __m256) -> Self::Raw;
}

/// Eight accumulators of elements that lie in memory as `S`.
#[derive(Clone, Copy)]
struct Single<S>(__m256, PhantomData<S>);

impl<S: Format> Single<S> {
    #[inline(always)]
    fn new(x: __m256) -> Self {
        Self(x, PhantomData)
    }
}

// In each `unsafe` block below: `Lanes` methods run only where AVX2 is enabled; memory is as the method's
// caller promises.
impl<S: Format> Lanes for Single<S> {
    const N: usize = 8;
    const SIZE: usize = size_of::<S::Raw>() / 8;

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
    fn splat(bits: u64) -> Self {
        let value = S::Element::from_bits(bits).widen();
        // SAFETY: as above.
        Self::new(unsafe { x86::_mm256_set1_ps(value) })
    }
    #[inline(always)]
    fn sum(self, b: Self) -> Self {
        // SAFETY: as above.
        Self::new(unsafe { x86::_mm256_add_ps(self.0, b.0) })
    }
    #[inline(always)]
    fn prod(self, b: Self) -> Self {
        // SAFETY: as above.
        Self::new(unsafe { x86::_mm256_mul_ps(self.0, b.0) })
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
struct Plain;

impl Format for Plain {
    type Element = f32;
    type Raw = __m256;

    #[inline(always)]
    unsafe fn widen(raw: __m256) -> __m256 {
        raw
    }
    #[inline(always)]
    unsafe fn narrow(x: __m256) -> __m256 {
        x
    }
}

/// f16, by the hardware's conversions (which regard neither flush-to-zero nor denormals-are-zero).
#[derive(Clone, Copy)]
struct Half;

impl Format for Half {
    type Element = F16;
    type Raw = __m128i;

    #[inline(always)]
    unsafe fn widen(raw: __m128i) -> __m256 {
        // SAFETY: the caller's promise.
        unsafe { x86::_mm256_cvtph_ps(raw) }
    }
    #[inline(always)]
    unsafe fn narrow(x: __m256) -> __m128i {
        // SAFETY: the caller's promise.
        unsafe { x86::_mm256_cvtps_ph::<{ x86::_MM_FROUND_TO_NEAREST_INT }>(x) }
    }
}

/// bf16.
#[derive(Clone, Copy)]
struct Brain;

impl Format for Brain {
    type Element = Bf16;
    type Raw = __m128i;

    #[inline(always)]
    unsafe fn widen(raw: __m128i) -> __m256 {
        // SAFETY: the caller's promise.
        unsafe { x86::_mm256_castsi256_ps(x86::_mm256_slli_epi32::<16>(x86::_mm256_cvtepu16_epi32(raw))) }
    }
    #[inline(always)]
    unsafe fn narrow(x: __m256) -> __m128i {
        // SAFETY: the caller's promise.
        unsafe {
            let bits = x86::_mm256_castps_si256(x);
            let odd = x86::_mm256_and_si256(x86::_mm256_srli_epi32::<16>(bits), x86::_mm256_set1_epi32(1));
            let rounded =
                x86::_mm256_add_epi32(bits, x86::_mm256_add_epi32(odd, x86::_mm256_set1_epi32(0x7fff)));
            let quiet = x86::_mm256_or_si256(bits, x86::_mm256_set1_epi32(0x0040_0000));
            let nan = x86::_mm256_castps_si256(x86::_mm256_cmp_ps::<{ x86::_CMP_UNORD_Q }>(x, x));
            let result = x86::_mm256_srli_epi32::<16>(x86::_mm256_blendv_epi8(rounded, quiet, nan));
            // The pack works within halves of 128 bits: bring quarters 0 and 2 together.
            let packed = x86::_mm256_permute4x64_epi64::<0b1000>(x86::_mm256_packus_epi32(result, result));
            x86::_mm256_castsi256_si128(packed)
        }
    }
}
