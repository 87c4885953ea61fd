//! Arithmetic of one element: what each type is computed in, and what each function means.

use super::convert;

/// An element as it lies in memory, and the accumulator it is computed in.
pub(super) trait Element: Copy {
    type Acc: Copy;

    /// The element whose bits are the low ones of `bits`.
    fn from_bits(bits: u64) -> Self;
    fn widen(self) -> Self::Acc;
    /// Rounds to nearest even where it rounds.
    fn narrow(acc: Self::Acc) -> Self;
    fn sum(a: Self::Acc, b: Self::Acc) -> Self::Acc;
    fn prod(a: Self::Acc, b: Self::Acc) -> Self::Acc;
    fn max(a: Self::Acc, b: Self::Acc) -> Self::Acc;
    fn min(a: Self::Acc, b: Self::Acc) -> Self::Acc;
    /// The product, rounded to the element type.
    fn scale(a: Self::Acc, factor: Self::Acc) -> Self::Acc;
    /// The quotient, truncated towards zero. Integers only; `divisor` is not 0.
    fn divide(a: Self::Acc, divisor: u32) -> Self::Acc;
}

macro_rules! integer {
    ($t:ty, |$a:ident, $d:ident| $quotient:expr) => {
        impl Element for $t {
            type Acc = $t;

            #[inline(always)]
            fn from_bits(bits: u64) -> Self {
                bits as $t
            }
            #[inline(always)]
            fn widen(self) -> Self {
                self
            }
            #[inline(always)]
            fn narrow(acc: Self) -> Self {
                acc
            }
            #[inline(always)]
            fn sum(a: Self, b: Self) -> Self {
                a.wrapping_add(b)
            }
            #[inline(always)]
            fn prod(a: Self, b: Self) -> Self {
                a.wrapping_mul(b)
            }
            #[inline(always)]
            fn max(a: Self, b: Self) -> Self {
                if a > b { a } else { b }
            }
            #[inline(always)]
            fn min(a: Self, b: Self) -> Self {
                if a < b { a } else { b }
            }
            #[inline(always)]
            fn scale(a: Self, factor: Self) -> Self {
                a.wrapping_mul(factor)
            }
            #[inline(always)]
            fn divide($a: Self, $d: u32) -> Self {
                $quotient
            }
        }
    };
}

// A quotient of two 32-bit integers that is not an integer is at least 1/divisor away from one, far more than
// half an ulp of an f64, so the division in f64 truncates to the right value; and it vectorises, which an
// integer division does not.
integer!(i8, |a, d| truncate(f64::from(a) / f64::from(d)) as i8);
integer!(u8, |a, d| truncate(f64::from(a) / f64::from(d)) as u8);
integer!(i32, |a, d| truncate(f64::from(a) / f64::from(d)) as i32);
integer!(u32, |a, d| truncate(f64::from(a) / f64::from(d)) as u32);
integer!(i64, |a, d| a / i64::from(d));
integer!(u64, |a, d| a / u64::from(d));

#[inline(always)]
fn truncate(quotient: f64) -> i64 {
    // SAFETY: the quotient of a 32-bit integer and a divisor of at least 1 is finite and fits.
    unsafe { quotient.to_int_unchecked() }
}

/// `max` and `min` of a float type: numbers win over NaN, −0 < +0.
macro_rules! float_order {
    ($t:ty) => {
        #[inline(always)]
        fn max(a: $t, b: $t) -> $t {
            let larger = if a > b { a } else { b };
            let ordered = if a == b { <$t>::from_bits(a.to_bits() & b.to_bits()) } else { larger };
            if b.is_nan() { a } else { ordered }
        }
        #[inline(always)]
        fn min(a: $t, b: $t) -> $t {
            let smaller = if a < b { a } else { b };
            let ordered = if a == b { <$t>::from_bits(a.to_bits() | b.to_bits()) } else { smaller };
            if b.is_nan() { a } else { ordered }
        }
    };
}

/// A float type stored as `$bits` in `$store` and computed in `$acc`.
macro_rules! float {
    ($store:ty, $bits:ty, $acc:ty, $make:expr, |$x:ident| $widen:expr, |$y:ident| $narrow:expr) => {
        impl Element for $store {
            type Acc = $acc;

            #[inline(always)]
            fn from_bits(bits: u64) -> Self {
                $make(bits as $bits)
            }
            #[inline(always)]
            fn widen(self) -> $acc {
                let $x = self;
                $widen
            }
            #[inline(always)]
            fn narrow($y: $acc) -> Self {
                $narrow
            }
            #[inline(always)]
            fn sum(a: $acc, b: $acc) -> $acc {
                a + b
            }
            #[inline(always)]
            fn prod(a: $acc, b: $acc) -> $acc {
                a * b
            }
            float_order!($acc);
            #[inline(always)]
            fn scale(a: $acc, factor: $acc) -> $acc {
                Self::narrow(a * factor).widen()
            }
            #[inline(always)]
            fn divide(_: $acc, _: u32) -> $acc {
                unreachable!("integers only: `reduce_many` has checked")
            }
        }
    };
}

/// The bits of an f16.
#[derive(Clone, Copy)]
#[repr(transparent)]
pub(super) struct F16(pub(super) u16);

/// The bits of a bf16.
#[derive(Clone, Copy)]
#[repr(transparent)]
pub(super) struct Bf16(pub(super) u16);

/// The bits of an OCP e4m3fn.
#[derive(Clone, Copy)]
#[repr(transparent)]
pub(super) struct E4M3(pub(super) u8);

/// The bits of an OCP e5m2.
#[derive(Clone, Copy)]
#[repr(transparent)]
pub(super) struct E5M2(pub(super) u8);

float!(f32, u32, f32, f32::from_bits, |x| x, |y| y);
float!(f64, u64, f64, f64::from_bits, |x| x, |y| y);
float!(F16, u16, f32, F16, |x| convert::f16_to_f32(x.0), |y| F16(convert::f32_to_f16(y)));
float!(Bf16, u16, f32, Bf16, |x| convert::bf16_to_f32(x.0), |y| Bf16(convert::f32_to_bf16(y)));
float!(E4M3, u8, f32, E4M3, |x| convert::e4m3_to_f32(x.0), |y| E4M3(convert::f32_to_e4m3(y)));
float!(E5M2, u8, f32, E5M2, |x| convert::e5m2_to_f32(x.0), |y| E5M2(convert::f32_to_e5m2(y)));
