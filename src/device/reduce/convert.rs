//! Exact conversions between f32 and the narrow floats, free of branches so that loops over them vectorise.
//!
//! No step has a subnormal f32 operand or result that matters, so a caller who has set flush-to-zero or
//! denormals-are-zero (programs built with `-ffast-math` do) gets the same bits.

/// The layout of a binary float of at most 16 bits.
struct Narrow {
    mantissa_bits: u32,
    bias: u32,
}

const F16: Narrow = Narrow { mantissa_bits: 10, bias: 15 };
const E4M3: Narrow = Narrow { mantissa_bits: 3, bias: 7 };
const E5M2: Narrow = Narrow { mantissa_bits: 2, bias: 15 };

impl Narrow {
    /// |x| in f32 of the narrow magnitude bits `m`, special values of the top exponent not regarded.
    #[inline(always)]
    const fn widen(&self, m: u32) -> f32 {
        let shift = 23 - self.mantissa_bits;
        let normal = f32::from_bits((m << shift).wrapping_add((127 - self.bias) << 23));
        // A subnormal is its integer value times the smallest one, which is a normal f32.
        let smallest = f32::from_bits((127 + 1 - self.bias - self.mantissa_bits) << 23);
        let subnormal = m as i32 as f32 * smallest;
        if m < 1 << self.mantissa_bits { subnormal } else { normal }
    }

    /// The narrow magnitude bits of `abs` (f32 magnitude bits), rounded to nearest even, overflow and NaN not
    /// regarded.
    #[inline(always)]
    const fn round(&self, abs: u32) -> u32 {
        let shift = 23 - self.mantissa_bits;
        let rebias = (127 - self.bias) << 23;
        let half = (1 << (shift - 1)) - 1 + ((abs >> shift) & 1);
        let normal = abs.wrapping_sub(rebias).wrapping_add(half) >> shift;
        // The ulp of `magic` is the smallest subnormal, so the addition rounds to a multiple of it.
        let magic = (127 + 1 - self.bias + shift) << 23;
        let subnormal = (f32::from_bits(abs) + f32::from_bits(magic)).to_bits().wrapping_sub(magic);
        if abs < (127 + 1 - self.bias) << 23 { subnormal } else { normal }
    }
}

const INFINITY: u32 = 0x7f80_0000;
const QUIET: u32 = 0x7fc0_0000;
const MAGNITUDE: u32 = 0x7fff_ffff;

/// f16 bits to f32; NaNs are quieted and keep sign and payload.
#[inline(always)]
pub(super) const fn f16_to_f32(h: u16) -> f32 {
    let m = (h & 0x7fff) as u32;
    let sign = ((h & 0x8000) as u32) << 16;
    let special = (m << 13) | if m > 0x7c00 { QUIET } else { INFINITY };
    f32::from_bits(sign | if m >= 0x7c00 { special } else { F16.widen(m).to_bits() })
}

/// f32 to f16 bits, to nearest even, overflow to infinity; NaNs are quieted and keep sign and top payload
/// bits.
#[inline(always)]
pub(super) const fn f32_to_f16(x: f32) -> u16 {
    let abs = x.to_bits() & MAGNITUDE;
    let sign = (x.to_bits() >> 16) & 0x8000;
    let nan = 0x7e00 | ((abs >> 13) & 0x3ff);
    // 65520 is half way between the largest finite value and the next step.
    let number = if abs >= 0x477f_f000 { 0x7c00 } else { F16.round(abs) };
    (sign | if abs > INFINITY { nan } else { number }) as u16
}

/// bf16 bits to f32: the upper half of its bits.
#[inline(always)]
pub(super) const fn bf16_to_f32(b: u16) -> f32 {
    f32::from_bits((b as u32) << 16)
}

/// f32 to bf16 bits, to nearest even, overflow to infinity; NaNs are quieted and keep sign and top payload
/// bits.
#[inline(always)]
pub(super) const fn f32_to_bf16(x: f32) -> u16 {
    let bits = x.to_bits();
    let rounded = bits.wrapping_add(0x7fff + ((bits >> 16) & 1));
    let nan = bits | 0x0040_0000;
    ((if bits & MAGNITUDE > INFINITY { nan } else { rounded }) >> 16) as u16
}

/// E4M3 (OCP e4m3fn: no infinities, NaN is `s1111111`) to f32.
#[inline(always)]
pub(super) const fn e4m3_to_f32(b: u8) -> f32 {
    let m = (b & 0x7f) as u32;
    let sign = ((b & 0x80) as u32) << 24;
    f32::from_bits(sign | if m == 0x7f { QUIET } else { E4M3.widen(m).to_bits() })
}

/// f32 to E4M3, to nearest even; all beyond ±448, infinities included, becomes ±448, NaN becomes `0x7f`.
#[inline(always)]
pub(super) const fn f32_to_e4m3(x: f32) -> u8 {
    let abs = x.to_bits() & MAGNITUDE;
    let sign = (x.to_bits() >> 24) & 0x80;
    let largest = 448f32.to_bits();
    let number = E4M3.round(if abs > largest { largest } else { abs });
    (if abs > INFINITY { 0x7f } else { sign | number }) as u8
}

/// E5M2 (IEEE-like, the upper half of an f16) to f32.
#[inline(always)]
pub(super) const fn e5m2_to_f32(b: u8) -> f32 {
    let m = (b & 0x7f) as u32;
    let sign = ((b & 0x80) as u32) << 24;
    let special = if m > 0x7c { QUIET } else { INFINITY };
    f32::from_bits(sign | if m >= 0x7c { special } else { E5M2.widen(m).to_bits() })
}

/// f32 to E5M2, to nearest even; all beyond ±57344, infinities included, becomes ±57344, NaN becomes `0x7f`.
#[inline(always)]
pub(super) const fn f32_to_e5m2(x: f32) -> u8 {
    let abs = x.to_bits() & MAGNITUDE;
    let sign = (x.to_bits() >> 24) & 0x80;
    let largest = 57344f32.to_bits();
    let number = E5M2.round(if abs > largest { largest } else { abs });
    (if abs > INFINITY { 0x7f } else { sign | number }) as u8
}
