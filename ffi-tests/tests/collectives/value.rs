//! Test data that every reduction leaves exact, and what is expected of them: a naive reference in integers.

/// Elements of a type, by its number in the header.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct DType(pub u8);

/// Numbers of the built-in reductions in the header.
pub const SUM: u8 = 0;
pub const PROD: u8 = 1;
pub const MAX: u8 = 2;
pub const MIN: u8 = 3;
pub const AVG: u8 = 4;

/// A binary floating-point format.
struct Format {
    exponent: u32,
    mantissa: u32,
}

/// What an element must be.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Expected {
    Bits(u64),
    /// A float within this distance: averages by a factor that is not a power of two.
    Near(f64, f64),
}

impl DType {
    pub fn size(self) -> usize {
        [1, 1, 4, 4, 8, 8, 2, 4, 8, 2, 1, 1][self.0 as usize]
    }

    fn signed(self) -> bool {
        !matches!(self.0, 1 | 3 | 5)
    }

    fn format(self) -> Option<Format> {
        let (exponent, mantissa) = match self.0 {
            6 => (5, 10),
            7 => (8, 23),
            8 => (11, 52),
            9 => (8, 7),
            10 => (4, 3),
            11 => (5, 2),
            _ => return None,
        };
        Some(Format { exponent, mantissa })
    }

    fn mask(self) -> u64 {
        u64::MAX >> (64 - 8 * self.size())
    }

    /// The bits of a small whole number.
    fn encode(self, value: i64) -> u64 {
        self.format().map_or(value as u64 & self.mask(), |format| format.encode(value))
    }

    /// The bits at element `index` of some bytes.
    pub fn read(self, bytes: &[u8], index: usize) -> u64 {
        let mut word = [0; 8];
        word[..self.size()].copy_from_slice(&bytes[index * self.size()..][..self.size()]);
        u64::from_le_bytes(word)
    }

    pub fn matches(self, bits: u64, expected: Expected) -> bool {
        match (expected, self.format()) {
            (Expected::Bits(want), _) => bits == want,
            (Expected::Near(want, distance), Some(format)) => (format.decode(bits) - want).abs() <= distance,
            (Expected::Near(..), None) => false,
        }
    }
}

impl Format {
    fn bias(&self) -> i64 {
        (1 << (self.exponent - 1)) - 1
    }

    fn encode(&self, value: i64) -> u64 {
        let sign = u64::from(value < 0) << (self.exponent + self.mantissa);
        let magnitude = value.unsigned_abs();
        if magnitude == 0 {
            return 0;
        }
        let power = magnitude.ilog2();
        let mantissa = (u128::from(magnitude) << self.mantissa) >> power;
        assert_eq!((mantissa << power) >> self.mantissa, u128::from(magnitude), "{value} is not exact");
        let fraction = mantissa as u64 & ((1 << self.mantissa) - 1);
        sign | ((i64::from(power) + self.bias()) as u64) << self.mantissa | fraction
    }

    fn decode(&self, bits: u64) -> f64 {
        let fraction = bits & ((1 << self.mantissa) - 1);
        let exponent = (bits >> self.mantissa) & ((1 << self.exponent) - 1);
        let sign = if bits >> (self.exponent + self.mantissa) & 1 == 1 { -1.0 } else { 1.0 };
        let scale = |power: i64| 2f64.powi((power - self.bias() - i64::from(self.mantissa)) as i32);
        match exponent {
            0 => sign * fraction as f64 * scale(1),
            _ => sign * (fraction | 1 << self.mantissa) as f64 * scale(exponent as i64),
        }
    }
}

/// Input data of one operation over `ranks` ranks.
#[derive(Clone, Copy, Debug)]
pub struct Data {
    pub dtype: DType,
    /// None: elements are only moved, so any bits do.
    pub op: Option<u8>,
    pub ranks: usize,
    pub seed: u64,
}

impl Data {
    /// The bits of an input element.
    pub fn element(&self, rank: usize, index: usize) -> u64 {
        let noise = self.noise(rank, index);
        match self.op {
            None => noise & self.dtype.mask(),
            Some(_) => self.dtype.encode(self.number(rank, index, noise)),
        }
    }

    /// What the reduction of an element over all ranks must be.
    pub fn reduced(&self, index: usize) -> Expected {
        let numbers = (0..self.ranks).map(|rank| self.number(rank, index, self.noise(rank, index)));
        let sum = |numbers: &mut dyn Iterator<Item = i64>| numbers.fold(0i64, i64::wrapping_add);
        let mut numbers = numbers;
        let exact = match self.op.unwrap_or(SUM) {
            SUM => sum(&mut numbers),
            PROD => numbers.fold(1, i64::wrapping_mul),
            MAX => numbers.max().unwrap_or(0),
            MIN => numbers.min().unwrap_or(0),
            _ => return self.average(sum(&mut numbers)),
        };
        Expected::Bits(self.dtype.encode(exact))
    }

    fn average(&self, sum: i64) -> Expected {
        let ranks = self.ranks as i64;
        let Some(format) = self.dtype.format() else {
            return Expected::Bits(self.dtype.encode(sum / ranks));
        };
        let step = 2f64.powi(-(format.mantissa as i32));
        let largest = self.limit() as f64;
        Expected::Near(sum as f64 / ranks as f64, largest * step * (ranks + 2) as f64)
    }

    /// A whole number such that every partial result of the reduction is exact in the type.
    fn number(&self, rank: usize, index: usize, noise: u64) -> i64 {
        let op = self.op.unwrap_or(SUM);
        let sign = if self.dtype.signed() && noise & 1 == 1 { -1 } else { 1 };
        let integer = self.dtype.format().is_none();
        if op == PROD && !integer {
            // At most three factors of two.
            let two = (self.noise(usize::MAX, index) as usize + rank) % self.ranks < 3;
            return sign * if two { 2 } else { 1 };
        }
        if integer && op != AVG {
            return self.wide(noise);
        }
        sign * ((noise >> 1) % (self.limit() as u64 + 1)) as i64
    }

    /// Any value of an integer type, so that sums and products wrap. Values of 64-bit types without a sign stay below 2^62,
    /// where an order of signed numbers is the right one.
    fn wide(&self, noise: u64) -> i64 {
        let bits = 8 * self.dtype.size() as u32;
        match (self.dtype.signed(), bits) {
            (_, 64) => (noise >> 2) as i64,
            (true, _) => (noise as i64) << (64 - bits) >> (64 - bits),
            (false, _) => (noise & self.dtype.mask()) as i64,
        }
    }

    /// The largest magnitude that all ranks may have without rounding or overflow.
    fn limit(&self) -> i64 {
        let top = match self.dtype.format() {
            Some(format) => 1i64 << (format.mantissa + 1).min(13),
            None if self.dtype.size() == 1 => 127,
            None => 1 << 20,
        };
        (top / self.ranks as i64).max(1)
    }

    fn noise(&self, rank: usize, index: usize) -> u64 {
        let mut z = self.seed ^ (rank as u64).wrapping_mul(0x9e37_79b9_7f4a_7c15) ^ (index as u64) << 20;
        z = (z ^ z >> 30).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        z = (z ^ z >> 27).wrapping_mul(0x94d0_49bb_1331_11eb);
        z ^ z >> 31
    }
}

#[test]
fn small_numbers_are_encoded_as_the_formats_say() {
    let bits =
        [(6, 0x3c00), (7, 0x3f80_0000), (8, 0x3ff0_0000_0000_0000), (9, 0x3f80), (10, 0x38), (11, 0x3c)];
    for (dtype, one) in bits {
        assert_eq!(DType(dtype).encode(1), one);
        let format = DType(dtype).format().unwrap();
        for value in [-4i64, -1, 0, 1, 2, 3, 6] {
            assert_eq!(format.decode(format.encode(value)), value as f64);
        }
    }
    assert_eq!(f64::from_bits(DType(8).encode(-777)), -777.0);
    assert_eq!(DType(0).encode(-1), 0xff);
}
