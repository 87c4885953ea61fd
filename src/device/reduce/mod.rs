//! Host kernels that combine and copy elements: every collective's arithmetic goes through here.
//!
//! What a caller may rely on:
//!
//! - Inputs are combined strictly in the order given, so the same inputs give the same bits on every rank and
//!   in every run, whatever the instruction set, alignment or count (but for NaNs, see below).
//! - Integers wrap. `post_divide` divides once, after the last input, and truncates towards zero.
//! - f32 and f64 are combined in their own precision. f16, bf16 and fp8 are widened to f32, combined over all
//!   inputs of one call, and rounded once, to nearest even. f16 and bf16 overflow to infinity; fp8 saturates
//!   to its largest finite value (448 for E4M3, 57344 for E5M2), infinities included, as CUDA's
//!   `__NV_SATFINITE` conversions do.
//! - A `scale` product is rounded to the element type before it is combined, as if the type had a multiply of
//!   its own.
//! - Max and Min of floats return the operand that is a number; only NaN with NaN gives NaN. −0 is less than
//!   +0, so the result does not depend on the order of the inputs.
//! - Which NaN a NaN result is, is unspecified for f64, f32, f16 and bf16; for fp8 it is `0x7f`.
//!
//! Inside: `element` is the arithmetic of one element and `convert` that of the narrow floats; `blocks` is
//! the kernel for any machine; `tiles` is the one over the registers of an instruction set, which `lanes`
//! describes and `x86` has; `dispatch` chooses.

mod blocks;
mod convert;
mod copy;
mod dispatch;
mod element;
mod func;
mod job;
#[cfg(target_arch = "x86_64")]
mod lanes;
#[cfg(target_arch = "x86_64")]
mod tiles;
#[cfg(target_arch = "x86_64")]
mod x86;

use crate::base::types::{DataType, ReduceFn, Scalar};

pub use copy::{copy, copy_streaming};
pub use dispatch::instruction_set;
use job::Job;

/// How elements are combined: the type, the function, and what happens to the result.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Reduction {
    pub dtype: DataType,
    pub func: ReduceFn,
    /// Divide integer results by this many ranks (integer Avg). Must be `None` for floats and never
    /// `Some(0)`.
    pub post_divide: Option<u32>,
}

/// One input of [`reduce_many`]: the elements at `ptr`, each multiplied by `scale` first if given.
#[derive(Clone, Copy, Debug)]
pub struct Input {
    pub ptr: *const u8,
    /// A factor in the element type; the product is rounded to the element type.
    pub scale: Option<Scalar>,
}

/// `out[j][i] = in[0][i] ∘ in[1][i] ∘ …` for every output `j` and every `i < count`.
///
/// One input is a copy (bit for bit unless scaled or divided). `apply_post` is true on the last reduction of
/// a chain only: then, and only then, `r.post_divide` acts. `count` is in elements; no alignment is needed;
/// nothing is allocated. Each input is read once and each output written once. `count` 0 and an empty
/// `outputs` do nothing.
///
/// # Panics
/// With no input and something to write; with a `post_divide` of 0 or on a float type.
///
/// # Safety
/// Every input is readable and every output writable for `count` elements, and nobody else writes the inputs
/// or touches the outputs meanwhile. An output may start exactly where an input starts; any other overlap of
/// an output with an input or another output is undefined.
pub unsafe fn reduce_many(
    r: &Reduction,
    apply_post: bool,
    inputs: &[Input],
    outputs: &[*mut u8],
    count: usize,
) {
    let footprint = count.saturating_mul(r.dtype.size()).saturating_mul(inputs.len() + outputs.len());
    // SAFETY: the caller's promise, unchanged.
    unsafe { reduce_streaming(r, apply_post, inputs, outputs, count, footprint) }
}

/// [`reduce_many`] as a piece of something larger: `footprint` is the number of bytes which the whole
/// operation reads and writes. It decides whether the outputs bypass the caches; the results are the same.
///
/// # Panics
/// As [`reduce_many`].
///
/// # Safety
/// As [`reduce_many`].
pub unsafe fn reduce_streaming(
    r: &Reduction,
    apply_post: bool,
    inputs: &[Input],
    outputs: &[*mut u8],
    count: usize,
    footprint: usize,
) {
    if count == 0 || outputs.is_empty() {
        return;
    }
    assert!(!inputs.is_empty(), "reduce_many: no input for {count} elements");
    let divisor = if apply_post { r.post_divide } else { None };
    if let Some(d) = divisor {
        assert!(
            d != 0 && !r.dtype.is_float(),
            "post_divide: {d} on {:?}, integers by at least 1 only",
            r.dtype
        );
    }
    let job = Job { inputs, outputs, count, divisor };
    // SAFETY: the caller's promise is the one `Job` asks for; the kernel is the one for this type.
    unsafe {
        if inputs.len() == 1 && inputs[0].scale.is_none() && divisor.is_none() {
            copy::copy_many(inputs[0].ptr, outputs, count * r.dtype.size(), footprint);
        } else {
            copy::reduce(dispatch::kernel(r.dtype, r.func), &job, r.dtype.size(), footprint);
        }
    }
}

/// `1 / nranks` rounded to the element type: the `scale` of every input in a float Avg.
///
/// # Panics
/// On an integer type (integer Avg divides the sum, see [`Reduction::post_divide`]) and on 0 ranks.
pub fn reciprocal(dtype: DataType, nranks: usize) -> Scalar {
    assert!(nranks > 0, "reciprocal: 0 ranks, at least 1");
    let x = 1.0 / nranks as f64;
    // That some are rounded twice, by way of f32, does not change them: a test looks at rank counts up to
    // 4096.
    let bits = match dtype {
        DataType::Float64 => x.to_bits(),
        DataType::Float32 => u64::from((x as f32).to_bits()),
        DataType::Float16 => u64::from(half::f16::from_f64(x).to_bits()),
        DataType::Bfloat16 => u64::from(half::bf16::from_f64(x).to_bits()),
        DataType::Fp8E4M3 => u64::from(convert::f32_to_e4m3(x as f32)),
        DataType::Fp8E5M2 => u64::from(convert::f32_to_e5m2(x as f32)),
        integer => panic!("reciprocal: {integer:?}, float types only"),
    };
    Scalar(bits)
}

#[cfg(test)]
mod tests;
