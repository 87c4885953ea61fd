//! One element of a reduction, computed step by step in rank order.

use std::ffi::c_int;

use mccl_tools::dtype::DType;

/// The stand-in's value for every pre-multiplied sum.
pub const MULSUM: c_int = 100;

/// Reduces the ranks' elements with the operation of that C value.
pub fn reduce_one(dtype: DType, op: c_int, values: Vec<u64>) -> u64 {
    let n = values.len();
    if let Some(format) = dtype.float() {
        let inverse = format.decode(format.encode(1.0 / n as f64));
        let factor = |rank: usize| match op {
            4 => inverse,
            MULSUM => 1.0 + (rank % 2) as f64,
            _ => 1.0,
        };
        let round = |x: f64| format.decode(format.encode(x));
        let terms = values.iter().enumerate().map(|(rank, v)| round(format.decode(*v) * factor(rank)));
        let combine = |a: f64, b: f64| match op {
            1 => a * b,
            2 => a.max(b),
            3 => a.min(b),
            _ => a + b,
        };
        return format.encode(terms.reduce(|a, b| round(combine(a, b))).unwrap());
    }
    let terms = values.iter().enumerate().map(|(rank, v)| match op {
        MULSUM => dtype.int_value(v.wrapping_mul(1 + (rank as u64 % 2)) & dtype.mask()),
        _ => dtype.int_value(*v),
    });
    let total = terms.reduce(|a, b| match op {
        1 => dtype.int_value((a as u64).wrapping_mul(b as u64) & dtype.mask()),
        2 => a.max(b),
        3 => a.min(b),
        _ => a + b,
    });
    let total = total.unwrap();
    (if op == 4 { total / n as i128 } else { total }) as u64 & dtype.mask()
}
