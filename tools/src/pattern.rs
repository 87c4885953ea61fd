//! Test data: inputs whose reduction is exact whatever the order, and the expected results, element by element.
//!
//! Every element depends on its position and its rank. Positions repeat with the prime period [`PERIOD`], so a whole buffer is
//! one small block written over and over, and a comparison is a memory compare; no power-of-two displacement of a
//! chunk maps onto the period.
//!
//! Ranks take *slots*, rotated at random from position to position. Floating sums hand out small
//! integers such that the magnitudes add up to at most 2^(significant bits): every partial sum is then exact. Products have one
//! odd factor and a few powers of two. Integer sums and products wrap and are exact anyway.

use crate::dtype::{DType, FloatFormat, Op};

/// Positions after which the data repeat: the largest prime below 2^16.
pub const PERIOD: usize = 65_521;
/// Cap of the magnitude of a sum, where the format could hold more.
const MAX_BUDGET: u64 = 1 << 30;
/// Factors of a floating product that are not ±1.
const PROD_POWERS: usize = 4;

/// What is reduced or moved, and with which seed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Case {
    pub dtype: DType,
    /// `None`: data are moved, and elements are arbitrary bits.
    pub op: Option<Op>,
    pub nranks: usize,
    pub seed: u64,
}

/// Where elements come from.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Source {
    /// Zero bytes: memory that nobody may have written.
    Zero,
    /// The input of `rank` from position `start` on.
    Input { rank: usize, start: usize },
    /// The reduction of all inputs from position `start` on.
    Reduced { start: usize },
}

impl Case {
    /// The bits of the input of `rank` at `position`.
    pub fn input(&self, rank: usize, position: usize) -> u64 {
        let position = position % PERIOD;
        let Some(op) = self.op else { return self.random(rank, position) & self.dtype.mask() };
        let slot = self.slot(rank, position);
        let h = self.random(slot, position);
        match (op, self.dtype.float()) {
            (Op::Max | Op::Min, Some(format)) => normal(h, format),
            (Op::Prod, Some(format)) => format.encode(float_factor(h, slot, format)),
            (Op::Avg, Some(format)) => format.encode(avg_share(h, slot, budget(format))),
            (Op::Sum, Some(format)) => format.encode(self.share(h, slot, budget(format)) * scale(position)),
            (Op::MulSum, Some(format)) => {
                format.encode(self.share(h, slot, budget(format) / 2) * scale(position))
            }
            (Op::Prod, None) => (h | u64::from(h >> 60 != 0)) & self.dtype.mask(),
            (Op::Avg, None) => self.int_share(h, slot),
            (_, None) => h & self.dtype.mask(),
        }
    }

    /// The bits of the reduction of all ranks' inputs at `position`.
    pub fn reduced(&self, position: usize) -> u64 {
        let op = self.op.unwrap_or(Op::Sum);
        let inputs = (0..self.nranks).map(|rank| self.input(rank, position));
        match self.dtype.float() {
            Some(format) => self.reduce_floats(op, format, inputs),
            None => self.reduce_ints(op, inputs),
        }
    }

    /// How far a result may be from the expected one, in representable numbers.
    pub fn tolerance(&self) -> u64 {
        match (self.op, self.dtype.float()) {
            (Some(Op::Avg), Some(_)) => 2,
            _ => 0,
        }
    }

    /// The elements of `source` at the first `count` positions (at most one period), as bytes.
    pub fn block(&self, source: Source, count: usize) -> Vec<u8> {
        let (size, count) = (self.dtype.size(), count.min(PERIOD));
        let mut out = Vec::with_capacity(count * size);
        for i in 0..count {
            let bits = match source {
                Source::Zero => 0,
                Source::Input { rank, start } => self.input(rank, start + i),
                Source::Reduced { start } => self.reduced(start + i),
            };
            out.extend_from_slice(&bits.to_le_bytes()[..size]);
        }
        out
    }

    fn reduce_floats(&self, op: Op, format: FloatFormat, inputs: impl Iterator<Item = u64>) -> u64 {
        let values = inputs.map(|bits| format.decode(bits));
        let inverse = format.decode(format.encode(1.0 / self.nranks as f64));
        let weighted = |(rank, x): (usize, f64)| x * Op::premul_scalar(rank) as f64;
        let round = |x: f64| format.decode(format.encode(x));
        let result = match op {
            Op::Sum => values.sum(),
            Op::Prod => values.product(),
            Op::Max => values.fold(f64::NEG_INFINITY, f64::max),
            Op::Min => values.fold(f64::INFINITY, f64::min),
            Op::Avg => values.map(|x| round(x * inverse)).sum(),
            Op::MulSum => values.enumerate().map(weighted).sum(),
        };
        format.encode(result + 0.0)
    }

    fn reduce_ints(&self, op: Op, inputs: impl Iterator<Item = u64>) -> u64 {
        let value = |bits: u64| self.dtype.int_value(bits);
        let bits = match op {
            Op::Sum => inputs.fold(0, u64::wrapping_add),
            Op::Prod => inputs.fold(1, u64::wrapping_mul),
            Op::Max => inputs.map(value).max().unwrap_or(0) as u64,
            Op::Min => inputs.map(value).min().unwrap_or(0) as u64,
            Op::Avg => (inputs.map(value).sum::<i128>() / self.nranks as i128) as u64,
            Op::MulSum => inputs
                .enumerate()
                .map(|(rank, x)| x.wrapping_mul(Op::premul_scalar(rank) as u64))
                .fold(0, u64::wrapping_add),
        };
        bits & self.dtype.mask()
    }

    /// The part of a position's budget that `rank` plays: a rotation of the ranks.
    fn slot(&self, rank: usize, position: usize) -> usize {
        let turn = hash(self.seed ^ 0x5107, position as u64) % self.nranks as u64;
        (rank + turn as usize) % self.nranks
    }

    fn random(&self, who: usize, position: usize) -> u64 {
        hash(self.seed.wrapping_mul(0x9e37_79b9).wrapping_add(who as u64), position as u64)
    }

    /// An integer of at most `budget / nranks` in magnitude; with more ranks than budget, ±1 in the first slots.
    fn share(&self, h: u64, slot: usize, budget: u64) -> f64 {
        match budget / self.nranks as u64 {
            0 if slot as u64 >= budget => 0.0,
            0 => sign(h),
            each => (h % (2 * each + 1)) as f64 - each as f64,
        }
    }

    /// The same for integers whose sum must stay in the type.
    fn int_share(&self, h: u64, slot: usize) -> u64 {
        let signed = self.dtype.is_signed_int();
        let budget = (self.dtype.mask() >> u32::from(signed)).min(MAX_BUDGET);
        let value = match budget / self.nranks as u64 {
            0 if slot as u64 >= budget => 0,
            0 => 1,
            each if signed => (h % (2 * each + 1)) as i64 - each as i64,
            each => (h % (each + 1)) as i64,
        };
        self.dtype.bits_of(value)
    }
}

/// The largest sum of magnitudes of which all partial sums are exact.
fn budget(format: FloatFormat) -> u64 {
    (1u64 << (format.mantissa + 1)).min(MAX_BUDGET)
}

/// A power of two that differs from position to position, and never leaves the small formats' range.
fn scale(position: usize) -> f64 {
    [0.25, 0.5, 1.0, 2.0, 4.0][position % 5]
}

/// For float averages, which round: two contributions, so that no order of additions rounds more often than another.
fn avg_share(h: u64, slot: usize, budget: u64) -> f64 {
    if slot < 2 { (1 + h % (budget / 2)) as f64 } else { 0.0 }
}

fn float_factor(h: u64, slot: usize, format: FloatFormat) -> f64 {
    let magnitude = match slot {
        0 => (1 + (h >> 8) % (budget(format).min(1 << 20) - 1)) as f64,
        s if s <= PROD_POWERS => [0.5, 1.0, 2.0][(h >> 8) as usize % 3],
        _ => 1.0,
    };
    magnitude * sign(h)
}

fn sign(h: u64) -> f64 {
    if h & 1 == 0 { 1.0 } else { -1.0 }
}

/// A normal number from random bits.
fn normal(h: u64, format: FloatFormat) -> u64 {
    let bits = h & (2 * format.sign() as u128 - 1) as u64;
    if format.is_normal(bits) { bits } else { format.encode(if h >> 63 == 0 { 1.5 } else { -1.5 }) }
}

/// A 64-bit mixer (the finisher of splitmix64) over two words.
fn hash(a: u64, b: u64) -> u64 {
    let mut x = a.wrapping_mul(0x9e37_79b9_7f4a_7c15) ^ b.wrapping_add(0x632b_e59b_d9b4_e019);
    x = (x ^ (x >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    x = (x ^ (x >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    x ^ (x >> 31)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn cases() -> impl Iterator<Item = Case> {
        DType::ALL.into_iter().flat_map(|dtype| {
            Op::ALL.into_iter().flat_map(move |op| {
                [1, 2, 3, 5, 8, 20].map(move |nranks| Case { dtype, op: Some(op), nranks, seed: 7 })
            })
        })
    }

    /// Adds or multiplies in the element type itself, rounding at each step, in the given order.
    fn step_by_step(case: &Case, position: usize, order: &[usize]) -> u64 {
        let format = case.dtype.float().unwrap();
        let n = case.nranks as f64;
        let term = |rank: usize| {
            let x = format.decode(case.input(rank, position));
            let inverse = format.decode(format.encode(1.0 / n));
            match case.op.unwrap() {
                Op::Avg => format.decode(format.encode(x * inverse)),
                Op::MulSum => x * Op::premul_scalar(rank) as f64,
                _ => x,
            }
        };
        let combine = |a: f64, b: f64| match case.op.unwrap() {
            Op::Prod => a * b,
            Op::Max => a.max(b),
            Op::Min => a.min(b),
            _ => a + b,
        };
        let result =
            order.iter().map(|&r| term(r)).reduce(|a, b| format.decode(format.encode(combine(a, b)))).unwrap();
        format.encode(result)
    }

    #[test]
    fn float_results_do_not_depend_on_the_order_of_ranks() {
        for case in cases().filter(|c| c.dtype.float().is_some()) {
            let format = case.dtype.float().unwrap();
            let forward: Vec<usize> = (0..case.nranks).collect();
            let backward: Vec<usize> = (0..case.nranks).rev().collect();
            let odd_first: Vec<usize> =
                (1..case.nranks).step_by(2).chain((0..case.nranks).step_by(2)).collect();
            for position in 0..200 {
                for order in [&forward, &backward, &odd_first] {
                    let got = step_by_step(&case, position, order);
                    let far = format.distance(got, case.reduced(position));
                    assert!(far <= case.tolerance(), "{case:?} at {position}: {far} apart");
                }
            }
        }
    }

    #[test]
    fn sums_stay_inside_the_exact_range_of_the_type() {
        for case in cases().filter(|c| c.op == Some(Op::Sum)) {
            let Some(format) = case.dtype.float() else { continue };
            for position in 0..200 {
                let total: f64 =
                    (0..case.nranks).map(|r| format.decode(case.input(r, position)).abs()).sum();
                assert!(total / scale(position) <= budget(format) as f64, "{case:?}");
            }
        }
    }

    #[test]
    fn every_rank_and_most_positions_matter() {
        for case in cases().filter(|c| c.nranks > 1) {
            for rank in 0..case.nranks {
                let distinct: std::collections::HashSet<u64> =
                    (0..400).map(|p| case.input(rank, p)).collect();
                assert!(distinct.len() > 1, "{case:?}: rank {rank} is constant");
            }
            let results: std::collections::HashSet<u64> = (0..400).map(|p| case.reduced(p)).collect();
            assert!(results.len() > 2, "{case:?}: {} results", results.len());
        }
    }

    #[test]
    fn integer_averages_do_not_overflow() {
        for case in cases().filter(|c| c.op == Some(Op::Avg) && c.dtype.float().is_none()) {
            for position in 0..200 {
                let sum: i128 =
                    (0..case.nranks).map(|r| case.dtype.int_value(case.input(r, position))).sum();
                let wrapped = case.dtype.int_value(sum as u64 & case.dtype.mask());
                assert_eq!(sum, wrapped, "{case:?}");
            }
        }
    }

    #[test]
    fn seeds_and_ranks_give_different_data() {
        let case = Case { dtype: DType::Int32, op: None, nranks: 4, seed: 1 };
        let other = Case { seed: 2, ..case };
        let block = |c: &Case, rank| c.block(Source::Input { rank, start: 0 }, 100);
        assert_ne!(block(&case, 0), block(&case, 1));
        assert_ne!(block(&case, 0), block(&other, 0));
        assert_eq!(case.input(2, 5), case.input(2, 5 + PERIOD));
    }
}
