//! The plain twin: the documented meaning of a reduction, one element at a time, without regard to speed and
//! sharing no arithmetic with the kernels (narrow floats come from `half` or from the definition of their
//! format).

use std::sync::OnceLock;

use crate::base::types::{DataType, ReduceFn, Scalar};
use crate::device::reduce::Reduction;

/// The result of a reduction with its post-divide.
pub(super) fn reduce(r: &Reduction, sources: &[Vec<u8>], scales: &[Option<Scalar>], count: usize) -> Vec<u8> {
    let size = r.dtype.size();
    let mut result = Vec::with_capacity(count * size);
    for i in 0..count {
        let bits = |s: &Vec<u8>| {
            let mut le = [0; 8];
            le[..size].copy_from_slice(&s[i * size..][..size]);
            u64::from_le_bytes(le)
        };
        let inputs: Vec<_> = sources.iter().map(bits).zip(scales.iter().map(|s| s.map(|s| s.0))).collect();
        let element = if r.dtype.is_float() { float(r, &inputs) } else { integer(r, &inputs) };
        result.extend_from_slice(&element.to_le_bytes()[..size]);
    }
    result
}

/// The value an integer element stands for.
fn value(dtype: DataType, bits: u64) -> i128 {
    match dtype {
        DataType::Int8 => (bits as i8).into(),
        DataType::Uint8 => (bits as u8).into(),
        DataType::Int32 => (bits as i32).into(),
        DataType::Uint32 => (bits as u32).into(),
        DataType::Int64 => (bits as i64).into(),
        DataType::Uint64 => bits.into(),
        float => unreachable!("{float:?}"),
    }
}

fn integer(r: &Reduction, inputs: &[(u64, Option<u64>)]) -> u64 {
    let wrap = |x: i128| value(r.dtype, x as u64);
    let scaled = |&(x, s): &(u64, Option<u64>)| match s {
        Some(s) => wrap(value(r.dtype, x).wrapping_mul(value(r.dtype, s))),
        None => value(r.dtype, x),
    };
    let combine = |a: i128, b: i128| match r.func {
        ReduceFn::Sum => wrap(a + b),
        ReduceFn::Prod => wrap(a.wrapping_mul(b)),
        ReduceFn::Max => a.max(b),
        ReduceFn::Min => a.min(b),
    };
    let total = inputs.iter().map(scaled).reduce(combine).unwrap();
    (total / r.post_divide.map_or(1, i128::from)) as u64
}

fn float(r: &Reduction, inputs: &[(u64, Option<u64>)]) -> u64 {
    if r.dtype == DataType::Float64 {
        let one = |&(x, s): &(u64, Option<u64>)| f64::from_bits(x) * s.map_or(1.0, f64::from_bits);
        return inputs.iter().map(one).reduce(|a, b| combine_f64(r.func, a, b)).unwrap().to_bits();
    }
    let one = |&(x, s): &(u64, Option<u64>)| match s {
        Some(s) => widen(r.dtype, round(r.dtype, widen(r.dtype, x) * widen(r.dtype, s))),
        None => widen(r.dtype, x),
    };
    round(r.dtype, inputs.iter().map(one).reduce(|a, b| combine_f32(r.func, a, b)).unwrap())
}

macro_rules! combine {
    ($name:ident, $t:ty) => {
        fn $name(func: ReduceFn, a: $t, b: $t) -> $t {
            let positive = [a, b].into_iter().find(|x| x.is_sign_positive());
            let negative = [a, b].into_iter().find(|x| x.is_sign_negative());
            match func {
                ReduceFn::Sum => a + b,
                ReduceFn::Prod => a * b,
                ReduceFn::Max if a == 0.0 && b == 0.0 => positive.unwrap_or(-0.0),
                ReduceFn::Min if a == 0.0 && b == 0.0 => negative.unwrap_or(0.0),
                ReduceFn::Max => a.max(b),
                ReduceFn::Min => a.min(b),
            }
        }
    };
}

combine!(combine_f32, f32);
combine!(combine_f64, f64);

pub(super) fn widen(dtype: DataType, bits: u64) -> f32 {
    match dtype {
        DataType::Float32 => f32::from_bits(bits as u32),
        DataType::Float16 => half::f16::from_bits(bits as u16).to_f32(),
        DataType::Bfloat16 => half::bf16::from_bits(bits as u16).to_f32(),
        fp8 => fp8_value(fp8, bits as u8) as f32,
    }
}

pub(super) fn round(dtype: DataType, x: f32) -> u64 {
    match dtype {
        DataType::Float32 => x.to_bits().into(),
        DataType::Float16 => half::f16::from_f32(x).to_bits().into(),
        DataType::Bfloat16 => half::bf16::from_f32(x).to_bits().into(),
        fp8 => nearest_fp8(fp8, x.into()).into(),
    }
}

/// The value of an fp8 by the definition of its format.
pub(super) fn fp8_value(dtype: DataType, bits: u8) -> f64 {
    let (mantissa_bits, bias) = if dtype == DataType::Fp8E4M3 { (3, 7) } else { (2, 15) };
    let magnitude = bits & 0x7f;
    let exponent = i32::from(magnitude >> mantissa_bits);
    let fraction = f64::from(magnitude & ((1 << mantissa_bits) - 1)) / f64::from(1 << mantissa_bits);
    let x = match (dtype, magnitude) {
        (DataType::Fp8E4M3, 0x7f) | (DataType::Fp8E5M2, 0x7d..) => f64::NAN,
        (DataType::Fp8E5M2, 0x7c) => f64::INFINITY,
        _ if exponent == 0 => fraction * 2f64.powi(1 - bias),
        _ => (1.0 + fraction) * 2f64.powi(exponent - bias),
    };
    if bits & 0x80 != 0 { -x } else { x }
}

/// The nearest finite fp8 (of two, the one with an even mantissa), found by looking at all of them; NaN is
/// `0x7f`.
pub(super) fn nearest_fp8(dtype: DataType, x: f64) -> u8 {
    static FINITE: [OnceLock<Vec<f64>>; 2] = [OnceLock::new(), OnceLock::new()];
    if x.is_nan() {
        return 0x7f;
    }
    let finite = FINITE[usize::from(dtype == DataType::Fp8E4M3)]
        .get_or_init(|| (0..0x7f).map(|b| fp8_value(dtype, b)).take_while(|v| v.is_finite()).collect());
    let above = finite.partition_point(|&v| v < x.abs());
    let magnitude = match (above.checked_sub(1), finite.get(above)) {
        (Some(below), Some(&high)) => {
            let (down, up) = (x.abs() - finite[below], high - x.abs());
            if down < up || (down == up && below % 2 == 0) { below } else { above }
        }
        (_, None) => finite.len() - 1,
        (None, _) => 0,
    };
    magnitude as u8 | if x.is_sign_negative() { 0x80 } else { 0 }
}

/// Equal bits, except that any NaN equals any NaN of a type whose NaN results are unspecified.
pub(super) fn assert_same(dtype: DataType, got: &[u8], expected: &[u8], what: impl Fn() -> String) {
    if got == expected {
        return;
    }
    let size = dtype.size();
    for (i, (g, e)) in got.chunks(size).zip(expected.chunks(size)).enumerate() {
        assert!(
            g == e || (is_nan(dtype, g) && is_nan(dtype, e)),
            "{}: element {i}: {g:02x?}, not {e:02x?}",
            what()
        );
    }
}

fn is_nan(dtype: DataType, le: &[u8]) -> bool {
    match dtype {
        DataType::Float64 => f64::from_le_bytes(le.try_into().unwrap()).is_nan(),
        DataType::Float32 => f32::from_le_bytes(le.try_into().unwrap()).is_nan(),
        DataType::Float16 | DataType::Bfloat16 => {
            widen(dtype, u16::from_le_bytes(le.try_into().unwrap()).into()).is_nan()
        }
        _ => false,
    }
}

/// Xorshift, so that failures repeat.
pub(super) struct Random(u64);

impl Random {
    pub(super) fn new(seed: u64) -> Self {
        Self(seed.wrapping_mul(0x9E37_79B9_7F4A_7C15) | 1)
    }

    pub(super) fn next(&mut self) -> u64 {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        self.0
    }

    /// Elements of all kinds: random bits, small numbers, and every special value of floats.
    pub(super) fn elements(&mut self, dtype: DataType, bytes: usize) -> Vec<u8> {
        let size = dtype.size();
        (0..bytes / size).flat_map(|_| self.element(dtype).to_le_bytes().into_iter().take(size)).collect()
    }

    pub(super) fn scalar(&mut self, dtype: DataType) -> Scalar {
        Scalar(self.element(dtype))
    }

    fn element(&mut self, dtype: DataType) -> u64 {
        let kind = self.next() % 16;
        let bits = self.next();
        let small = (bits % 41) as f64 / 8.0 - 2.5;
        let special =
            [f64::NAN, f64::INFINITY, f64::NEG_INFINITY, 0.0, -0.0, 1.0, -1e4, 1e300][bits as usize % 8];
        let x = match kind {
            0..=6 => return bits >> (bits % 3),
            7..=8 => special,
            _ => small,
        };
        match dtype {
            DataType::Float64 => x.to_bits(),
            d if d.is_float() => round(d, x as f32),
            _ => (x * 8.0) as i64 as u64,
        }
    }
}
