//! AVX-512 (F, BW, DQ, VL): the kernel, integers, f32 and f64.

use std::arch::x86_64 as x86;
use std::arch::x86_64::{__m128i, __m256i, __m512, __m512d, __m512i};

use super::super::blocks;
use super::super::dispatch::{Table, row};
use super::super::element::{Bf16, E4M3, E5M2, Element, F16};
use super::super::func::{Func, Max, Min, Prod, Sum};
use super::super::job::{Job, Kernel};
use super::super::lanes::Lanes;
use super::super::tiles;
use super::brain512::Brain;
use super::narrow512::{Fp8E4M3, Fp8E5M2, Half, Plain, Single};
use super::{binary, memory};

pub(in super::super) static TABLE: Table = Table {
    name: "AVX-512",
    kernels: [
        row!(kernel, i8, I8),
        row!(kernel, u8, U8),
        row!(kernel, i32, I32),
        row!(kernel, u32, U32),
        row!(kernel, i64, I64),
        row!(kernel, u64, U64),
        row!(kernel, F16, Single<Half>),
        row!(kernel, f32, Single<Plain>),
        row!(kernel, f64, F64),
        row!(kernel, Bf16, Brain),
        row!(kernel, E4M3, Single<Fp8E4M3>),
        row!(kernel, E5M2, Single<Fp8E5M2>),
    ],
};

/// # Safety
/// As [`super::super::reduce_many`]; `L` holds elements `E`; the machine has the features.
#[target_feature(enable = "avx512f,avx512bw,avx512dq,avx512vl,avx2,fma,f16c")]
unsafe fn kernel<E: Element, L: Lanes, F: Func>(job: &Job<'_>) {
    // SAFETY: the caller's promise.
    unsafe {
        match job.divisor {
            None => tiles::reduce::<L, F>(job),
            Some(_) => blocks::reduce::<E, F>(job),
        }
    }
}

/// A register as bytes in memory, of which the first few can be moved alone.
pub(super) trait Raw: Copy {
    /// # Safety
    /// `bytes` are readable at `p`, no more than the register holds.
    unsafe fn load_part(p: *const u8, bytes: usize) -> Self;
    /// # Safety
    /// `bytes` are writable at `p`, no more than the register holds.
    unsafe fn store_part(self, p: *mut u8, bytes: usize);
}

macro_rules! raw {
    ($reg:ty, $mask:ty, $load:path, $store:path) => {
        impl Raw for $reg {
            #[inline(always)]
            unsafe fn load_part(p: *const u8, bytes: usize) -> Self {
                // SAFETY: the caller's promise; bytes outside the mask are not touched.
                unsafe { $load(((1u128 << bytes) - 1) as $mask, p.cast()) }
            }
            #[inline(always)]
            unsafe fn store_part(self, p: *mut u8, bytes: usize) {
                // SAFETY: the caller's promise; bytes outside the mask are not touched.
                unsafe { $store(p.cast(), ((1u128 << bytes) - 1) as $mask, self) }
            }
        }
    };
}

raw!(__m512i, u64, x86::_mm512_maskz_loadu_epi8, x86::_mm512_mask_storeu_epi8);
raw!(__m256i, u32, x86::_mm256_maskz_loadu_epi8, x86::_mm256_mask_storeu_epi8);
raw!(__m128i, u16, x86::_mm_maskz_loadu_epi8, x86::_mm_mask_storeu_epi8);

macro_rules! integer {
    ($name:ident, $elem:ty, $splat:path, $lane:ty, $sum:path, $prod:path, $max:path, $min:path) => {
        #[derive(Clone, Copy)]
        struct $name(__m512i);

        impl Lanes for $name {
            memory!(__m512i, $elem, $splat, |bits| bits as $lane);
            binary!(sum, $sum);
            binary!(prod, $prod);
            binary!(max, $max);
            binary!(min, $min);
            binary!(scale, $prod);

            #[inline(always)]
            unsafe fn load_part(p: *const u8, n: usize) -> Self {
                // SAFETY: the caller's promise.
                Self(unsafe { Raw::load_part(p, n * Self::SIZE) })
            }
            #[inline(always)]
            unsafe fn store_part(self, p: *mut u8, n: usize) {
                // SAFETY: the caller's promise.
                unsafe { self.0.store_part(p, n * Self::SIZE) }
            }
        }
    };
}

integer!(
    I8,
    i8,
    x86::_mm512_set1_epi8,
    i8,
    x86::_mm512_add_epi8,
    multiply_bytes,
    x86::_mm512_max_epi8,
    x86::_mm512_min_epi8
);
integer!(
    U8,
    u8,
    x86::_mm512_set1_epi8,
    i8,
    x86::_mm512_add_epi8,
    multiply_bytes,
    x86::_mm512_max_epu8,
    x86::_mm512_min_epu8
);
integer!(
    I32,
    i32,
    x86::_mm512_set1_epi32,
    i32,
    x86::_mm512_add_epi32,
    x86::_mm512_mullo_epi32,
    x86::_mm512_max_epi32,
    x86::_mm512_min_epi32
);
integer!(
    U32,
    u32,
    x86::_mm512_set1_epi32,
    i32,
    x86::_mm512_add_epi32,
    x86::_mm512_mullo_epi32,
    x86::_mm512_max_epu32,
    x86::_mm512_min_epu32
);
integer!(
    I64,
    i64,
    x86::_mm512_set1_epi64,
    i64,
    x86::_mm512_add_epi64,
    x86::_mm512_mullo_epi64,
    x86::_mm512_max_epi64,
    x86::_mm512_min_epi64
);
integer!(
    U64,
    u64,
    x86::_mm512_set1_epi64,
    i64,
    x86::_mm512_add_epi64,
    x86::_mm512_mullo_epi64,
    x86::_mm512_max_epu64,
    x86::_mm512_min_epu64
);

/// The low bytes of the products of bytes: those at even places and those at odd places as 16-bit products.
///
/// # Safety
/// AVX-512 is enabled.
#[inline(always)]
unsafe fn multiply_bytes(a: __m512i, b: __m512i) -> __m512i {
    // SAFETY: the caller's promise.
    unsafe {
        let high = x86::_mm512_set1_epi16(0xff00u16 as i16);
        let even = x86::_mm512_mullo_epi16(a, b);
        let odd = x86::_mm512_mullo_epi16(x86::_mm512_srli_epi16::<8>(a), x86::_mm512_and_si512(b, high));
        x86::_mm512_or_si512(x86::_mm512_andnot_si512(high, even), odd)
    }
}

#[derive(Clone, Copy)]
struct F64(__m512d);

impl Lanes for F64 {
    memory!(__m512d, f64, x86::_mm512_set1_pd, |bits| f64::from_bits(bits));
    binary!(sum, x86::_mm512_add_pd);
    binary!(prod, x86::_mm512_mul_pd);
    binary!(max, max_pd);
    binary!(min, min_pd);
    binary!(scale, x86::_mm512_mul_pd);

    #[inline(always)]
    unsafe fn load_part(p: *const u8, n: usize) -> Self {
        // SAFETY: the caller's promise.
        Self(unsafe { x86::_mm512_castsi512_pd(Raw::load_part(p, n * Self::SIZE)) })
    }
    #[inline(always)]
    unsafe fn store_part(self, p: *mut u8, n: usize) {
        // SAFETY: the caller's promise.
        unsafe { x86::_mm512_castpd_si512(self.0).store_part(p, n * Self::SIZE) }
    }
}

/// `max` or `min` as [`Element`] defines it: equal numbers are zeros or the same, and the bits that
/// both have (max) or either has (min) order the zeros; where `b` is NaN, `a`.
macro_rules! ordered {
    ($name:ident, $reg:ty, $select:path, $bits:path, $compare:ident, $blend:path) => {
        /// # Safety
        /// AVX-512 is enabled.
        #[inline(always)]
        pub(super) unsafe fn $name(a: $reg, b: $reg) -> $reg {
            // SAFETY: the caller's promise.
            unsafe {
                let equal = x86::$compare::<{ x86::_CMP_EQ_OQ }>(a, b);
                let nan = x86::$compare::<{ x86::_CMP_UNORD_Q }>(b, b);
                $blend(nan, $bits($select(a, b), equal, a, b), a)
            }
        }
    };
}

ordered!(
    max_ps,
    __m512,
    x86::_mm512_max_ps,
    x86::_mm512_mask_and_ps,
    _mm512_cmp_ps_mask,
    x86::_mm512_mask_blend_ps
);
ordered!(
    min_ps,
    __m512,
    x86::_mm512_min_ps,
    x86::_mm512_mask_or_ps,
    _mm512_cmp_ps_mask,
    x86::_mm512_mask_blend_ps
);
ordered!(
    max_pd,
    __m512d,
    x86::_mm512_max_pd,
    x86::_mm512_mask_and_pd,
    _mm512_cmp_pd_mask,
    x86::_mm512_mask_blend_pd
);
ordered!(
    min_pd,
    __m512d,
    x86::_mm512_min_pd,
    x86::_mm512_mask_or_pd,
    _mm512_cmp_pd_mask,
    x86::_mm512_mask_blend_pd
);
