//! The twelve element types and six reductions: names, C values, and conversion of bit patterns.

/// An element type; the discriminant is the C value of `mcclDataType_t`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[repr(i32)]
pub enum DType {
    Int8 = 0,
    Uint8 = 1,
    Int32 = 2,
    Uint32 = 3,
    Int64 = 4,
    Uint64 = 5,
    Half = 6,
    Float = 7,
    Double = 8,
    Bfloat16 = 9,
    F8E4M3 = 10,
    F8E5M2 = 11,
}

impl DType {
    /// All types in the order in which `-d all` runs them.
    pub const ALL: [DType; 12] = [
        Self::Int8,
        Self::Uint8,
        Self::Int32,
        Self::Uint32,
        Self::Int64,
        Self::Uint64,
        Self::Half,
        Self::Float,
        Self::Double,
        Self::Bfloat16,
        Self::F8E4M3,
        Self::F8E5M2,
    ];

    /// The name in options and in the table.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Int8 => "int8",
            Self::Uint8 => "uint8",
            Self::Int32 => "int32",
            Self::Uint32 => "uint32",
            Self::Int64 => "int64",
            Self::Uint64 => "uint64",
            Self::Half => "half",
            Self::Float => "float",
            Self::Double => "double",
            Self::Bfloat16 => "bfloat16",
            Self::F8E4M3 => "f8e4m3",
            Self::F8E5M2 => "f8e5m2",
        }
    }

    /// Bytes of one element.
    pub const fn size(self) -> usize {
        match self {
            Self::Int8 | Self::Uint8 | Self::F8E4M3 | Self::F8E5M2 => 1,
            Self::Half | Self::Bfloat16 => 2,
            Self::Int32 | Self::Uint32 | Self::Float => 4,
            Self::Int64 | Self::Uint64 | Self::Double => 8,
        }
    }

    /// The layout of a floating type; `None` for integers.
    pub const fn float(self) -> Option<FloatFormat> {
        let (exponent, mantissa, finite) = match self {
            Self::Half => (5, 10, false),
            Self::Float => (8, 23, false),
            Self::Double => (11, 52, false),
            Self::Bfloat16 => (8, 7, false),
            Self::F8E4M3 => (4, 3, true),
            Self::F8E5M2 => (5, 2, false),
            _ => return None,
        };
        Some(FloatFormat { exponent, mantissa, finite })
    }

    /// Whether an integer type has negative values.
    pub const fn is_signed_int(self) -> bool {
        matches!(self, Self::Int8 | Self::Int32 | Self::Int64)
    }

    /// All the bits of one element set.
    pub const fn mask(self) -> u64 {
        u64::MAX >> (64 - 8 * self.size())
    }

    /// The value of integer bits, sign-extended where the type is signed.
    pub const fn int_value(self, bits: u64) -> i128 {
        let shift = 64 - 8 * self.size() as u32;
        if self.is_signed_int() {
            (((bits << shift) as i64) >> shift) as i128
        } else {
            (bits & self.mask()) as i128
        }
    }

    /// The bits of a small integer in any type (exact for those the format holds).
    pub fn bits_of(self, value: i64) -> u64 {
        match self.float() {
            Some(format) => format.encode(value as f64),
            None => value as u64 & self.mask(),
        }
    }
}

/// A binary floating format of at most 64 bits.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct FloatFormat {
    pub exponent: u32,
    pub mantissa: u32,
    /// The highest exponent holds numbers too; only all ones is a NaN and there is no infinity.
    pub finite: bool,
}

impl FloatFormat {
    const fn bias(self) -> i32 {
        (1 << (self.exponent - 1)) - 1
    }

    /// The sign bit.
    pub const fn sign(self) -> u64 {
        1 << (self.exponent + self.mantissa)
    }

    /// The exponent field of `bits`.
    pub const fn exponent_of(self, bits: u64) -> u64 {
        (bits >> self.mantissa) & ((1 << self.exponent) - 1)
    }

    /// Whether `bits` is a normal number: not zero, subnormal, infinite or NaN.
    pub const fn is_normal(self, bits: u64) -> bool {
        let exponent = self.exponent_of(bits);
        let top = (1 << self.exponent) - 1;
        let ones = (1 << self.mantissa) - 1;
        exponent != 0 && (exponent != top || (self.finite && bits & ones != ones))
    }

    /// The value of a finite bit pattern.
    pub fn decode(self, bits: u64) -> f64 {
        if self.mantissa == 52 {
            return f64::from_bits(bits);
        }
        let fraction = (bits & ((1 << self.mantissa) - 1)) as f64;
        let field = self.exponent_of(bits) as i32;
        let scale = |e: i32| 2f64.powi(e - self.mantissa as i32);
        let magnitude = match field {
            0 => fraction * scale(1 - self.bias()),
            e => ((1u64 << self.mantissa) as f64 + fraction) * scale(e - self.bias()),
        };
        if bits & self.sign() != 0 { -magnitude } else { magnitude }
    }

    /// The nearest number, ties to even; beyond the largest number, the largest number.
    pub fn encode(self, value: f64) -> u64 {
        if self.mantissa == 52 {
            return value.to_bits();
        }
        let sign = if value.is_sign_negative() { self.sign() } else { 0 };
        let magnitude = value.abs();
        if magnitude == 0.0 {
            return sign;
        }
        let exponent = ((magnitude.to_bits() >> 52) as i32 - 1023).max(1 - self.bias());
        let units = (magnitude * 2f64.powi(self.mantissa as i32 - exponent)).round_ties_even() as u64;
        // A carry out of the mantissa moves into the exponent by itself.
        let normal = 1u64 << self.mantissa;
        let bits = match units < normal {
            true => units,
            false => (((exponent + self.bias()) as u64) << self.mantissa) + (units - normal),
        };
        sign | bits.min(self.largest())
    }

    fn largest(self) -> u64 {
        if self.finite { self.sign() - 2 } else { (((1 << self.exponent) - 1) << self.mantissa) - 1 }
    }

    /// How many representable numbers lie between two bit patterns (0 for equal values, +0 equals -0).
    pub fn distance(self, a: u64, b: u64) -> u64 {
        let ordered = |bits: u64| {
            let magnitude = (bits & (self.sign() - 1)) as i128;
            if bits & self.sign() != 0 { -magnitude } else { magnitude }
        };
        ordered(a).abs_diff(ordered(b)) as u64
    }
}

/// A reduction as the options name it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Op {
    Sum,
    Prod,
    Max,
    Min,
    Avg,
    /// Each input times a scalar of its rank (`premul_scalar`), then the sum.
    MulSum,
}

impl Op {
    /// All reductions in the order in which `-o all` runs them.
    pub const ALL: [Op; 6] = [Self::Sum, Self::Prod, Self::Max, Self::Min, Self::Avg, Self::MulSum];

    /// The name in options and in the table.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Sum => "sum",
            Self::Prod => "prod",
            Self::Max => "max",
            Self::Min => "min",
            Self::Avg => "avg",
            Self::MulSum => "mulsum",
        }
    }

    /// The C value of a built-in `mcclRedOp_t`; `None` where the operation is made per communicator.
    pub const fn builtin(self) -> Option<i32> {
        match self {
            Self::Sum => Some(0),
            Self::Prod => Some(1),
            Self::Max => Some(2),
            Self::Min => Some(3),
            Self::Avg => Some(4),
            Self::MulSum => None,
        }
    }

    /// The scalar of `rank` for `MulSum`.
    pub const fn premul_scalar(rank: usize) -> i64 {
        1 + (rank % 2) as i64
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn formats() -> Vec<FloatFormat> {
        DType::ALL.iter().filter_map(|t| t.float()).collect()
    }

    #[test]
    fn every_small_normal_pattern_survives_decode_and_encode() {
        for format in formats().into_iter().filter(|f| f.mantissa <= 10) {
            for bits in 0..(2 * format.sign()) {
                if format.is_normal(bits) {
                    assert_eq!(format.encode(format.decode(bits)), bits, "{format:?} {bits:#x}");
                }
            }
        }
    }

    #[test]
    fn half_and_bfloat16_round_like_the_half_crate() {
        let (f16, bf16) = (DType::Half.float().unwrap(), DType::Bfloat16.float().unwrap());
        for i in 1..20_000 {
            let x = i as f64 * 0.013_7 - 120.0;
            assert_eq!(f16.encode(x), u64::from(half::f16::from_f64(x).to_bits()), "{x}");
            assert_eq!(bf16.encode(x), u64::from(half::bf16::from_f64(x).to_bits()), "{x}");
            assert_eq!(f16.decode(f16.encode(x)), half::f16::from_f64(x).to_f64());
        }
    }

    #[test]
    fn float_encodes_like_the_machine() {
        let format = DType::Float.float().unwrap();
        for x in [1.0, -2.5, 1.0 / 3.0, 16_777_217.0, 1e-40, 3.0e38] {
            assert_eq!(format.encode(x), u64::from((x as f32).to_bits()), "{x}");
        }
    }

    #[test]
    fn fp8_knows_its_largest_numbers() {
        let (e4m3, e5m2) = (DType::F8E4M3.float().unwrap(), DType::F8E5M2.float().unwrap());
        assert_eq!(e4m3.decode(e4m3.encode(1e9)), 448.0);
        assert_eq!(e5m2.decode(e5m2.encode(1e9)), 57_344.0);
        assert!(!e4m3.is_normal(0x7f) && e4m3.is_normal(0x7e));
        assert!(!e5m2.is_normal(0x7c) && !e5m2.is_normal(0x7d));
    }

    #[test]
    fn distance_counts_numbers_across_zero() {
        let format = DType::Half.float().unwrap();
        assert_eq!(format.distance(0, format.sign()), 0);
        assert_eq!(format.distance(1, format.sign() | 1), 2);
        assert_eq!(format.distance(format.encode(1.0), format.encode(1.0) + 3), 3);
    }

    #[test]
    fn integers_extend_their_sign() {
        assert_eq!(DType::Int8.int_value(0xff), -1);
        assert_eq!(DType::Uint8.int_value(0xff), 255);
        assert_eq!(DType::Int64.int_value(u64::MAX), -1);
        assert_eq!(DType::Int32.bits_of(-2), 0xffff_fffe);
        assert_eq!(DType::F8E5M2.bits_of(2), 0x40);
    }
}
