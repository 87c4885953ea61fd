//! Every kernel against a plain twin, bit for bit, on every instruction set of this machine.

mod convert;
mod twin;

use super::{
    Input, Job, Reduction, copy, copy_streaming, dispatch, reciprocal, reduce_many, reduce_streaming,
};
use crate::base::types::{DataType, ReduceFn, Scalar};
use twin::Random;

const FUNCS: [ReduceFn; 4] = [ReduceFn::Sum, ReduceFn::Prod, ReduceFn::Max, ReduceFn::Min];

/// Below, at and above every register and tile size; odd, prime and round.
const COUNTS: [usize; 15] = [0, 1, 2, 3, 5, 8, 15, 17, 31, 64, 65, 127, 256, 269, 523];

/// Buffers of one case: `sources` as generated, and the results the twin wants.
struct Case {
    r: Reduction,
    count: usize,
    sources: Vec<Vec<u8>>,
    scales: Vec<Option<Scalar>>,
    expected: Vec<u8>,
}

impl Case {
    fn new(r: Reduction, count: usize, inputs: usize, scaled: bool, random: &mut Random) -> Self {
        let bytes = count * r.dtype.size();
        let sources: Vec<_> = (0..inputs).map(|_| random.elements(r.dtype, bytes)).collect();
        // Every second input only, so that both kinds meet in one call.
        let scale = |i: usize| (scaled && i.is_multiple_of(2)).then(|| random.scalar(r.dtype));
        let scales: Vec<_> = (0..inputs).map(scale).collect();
        let expected = twin::reduce(&r, &sources, &scales, count);
        Self { r, count, sources, scales, expected }
    }

    /// Runs `kernel` with every buffer `shift` bytes off alignment; output 0 is input `alias` if given.
    fn check(
        &self,
        name: &str,
        run: impl FnOnce(&[Input], &[*mut u8]),
        shift: usize,
        outputs: usize,
        alias: Option<usize>,
    ) {
        let bytes = self.expected.len();
        let mut inputs: Vec<Vec<u8>> = self.sources.iter().map(|s| shifted(s, shift)).collect();
        let mut results: Vec<Vec<u8>> =
            (0..outputs).map(|j| shifted(&vec![0xAB; bytes], shift + j)).collect();
        let mut out: Vec<*mut u8> =
            results.iter_mut().enumerate().map(|(j, r)| r[shift + j..].as_mut_ptr()).collect();
        if let Some(i) = alias {
            out[0] = inputs[i][shift..].as_mut_ptr();
        }
        let ins: Vec<Input> = inputs
            .iter_mut()
            .zip(&self.scales)
            .map(|(b, &scale)| Input { ptr: b[shift..].as_mut_ptr().cast_const(), scale })
            .collect();
        run(&ins, &out);
        if let Some(i) = alias {
            results[0].clone_from(&inputs[i]);
        }
        for (j, result) in results.iter().enumerate() {
            let at = if j == 0 && alias.is_some() { shift } else { shift + j };
            let what = || {
                let (r, n, c) = (&self.r, self.sources.len(), self.count);
                format!(
                    "{name} {r:?} count {c} inputs {n} output {j} of {outputs} shift {shift} alias {alias:?}"
                )
            };
            assert!(result[..at].iter().all(|&b| b == GUARD), "{}: wrote before the start", what());
            assert!(result[at + bytes..].iter().all(|&b| b == GUARD), "{}: wrote past the end", what());
            twin::assert_same(self.r.dtype, &result[at..at + bytes], &self.expected, what);
        }
    }
}

const GUARD: u8 = 0x5A;

fn shifted(content: &[u8], shift: usize) -> Vec<u8> {
    let mut v = vec![GUARD; shift];
    v.extend_from_slice(content);
    v.resize(v.len() + 70, GUARD);
    v
}

/// All inputs × outputs × alignments of one type on all tables.
fn sweep(dtype: DataType) {
    let mut random = Random::new(dtype as u64 + 1);
    for func in FUNCS {
        for count in COUNTS {
            for inputs in 1..=9 {
                for (scaled, post) in [(false, None), (true, None), (false, Some(3)), (true, Some(7))] {
                    if post.is_some() && dtype.is_float() {
                        continue;
                    }
                    let r = Reduction { dtype, func, post_divide: post };
                    let case = Case::new(r, count, inputs, scaled, &mut random);
                    check_everywhere(&case, inputs);
                }
            }
        }
    }
}

fn check_everywhere(case: &Case, inputs: usize) {
    let Reduction { dtype, func, post_divide: divisor } = case.r;
    for table in dispatch::tables() {
        let kernel = table.kernel(dtype, func);
        for (outputs, shift, alias) in
            [(1, 0, None), (2, 0, Some(0)), (3, 1, None), (1, 3, Some(inputs - 1)), (2, 8, Some(inputs / 2))]
        {
            let run = |inputs: &[Input], outputs: &[*mut u8]| {
                let job = Job { inputs, outputs, count: case.count, divisor };
                // SAFETY: `check` made the buffers for this count; the table runs on this machine.
                unsafe { kernel(&job) }
            };
            case.check(table.name, run, shift, outputs, alias);
        }
    }
}

macro_rules! sweeps {
    ($($name:ident: $dtype:ident,)*) => {
        $(#[test]
        fn $name() {
            sweep(DataType::$dtype);
        })*
    };
}

sweeps! {
    every_kernel_equals_its_plain_twin_in_int8: Int8,
    every_kernel_equals_its_plain_twin_in_uint8: Uint8,
    every_kernel_equals_its_plain_twin_in_int32: Int32,
    every_kernel_equals_its_plain_twin_in_uint32: Uint32,
    every_kernel_equals_its_plain_twin_in_int64: Int64,
    every_kernel_equals_its_plain_twin_in_uint64: Uint64,
    every_kernel_equals_its_plain_twin_in_float16: Float16,
    every_kernel_equals_its_plain_twin_in_float32: Float32,
    every_kernel_equals_its_plain_twin_in_float64: Float64,
    every_kernel_equals_its_plain_twin_in_bfloat16: Bfloat16,
    every_kernel_equals_its_plain_twin_in_fp8_e4m3: Fp8E4M3,
    every_kernel_equals_its_plain_twin_in_fp8_e5m2: Fp8E5M2,
}

/// Everything through the public entry, once as a small operation and once as a piece of a huge one.
#[test]
fn a_piece_of_a_huge_operation_has_the_same_bits() {
    let mut random = Random::new(99);
    for dtype in DataType::ALL {
        let post = (!dtype.is_float()).then_some(3);
        let r = Reduction { dtype, func: ReduceFn::Sum, post_divide: post };
        for count in [0, 1, 63, 1000, 8192, 20011] {
            for inputs in [1, 2, 5] {
                // One input alone is scaled, as it would be a plain copy otherwise.
                let case = Case::new(r, count, inputs, inputs != 2, &mut random);
                for footprint in [0, usize::MAX] {
                    for (outputs, shift, alias) in
                        [(1, 0, None), (2, 5, Some(0)), (3, 8, None), (1, 3, Some(inputs - 1))]
                    {
                        // SAFETY: `check` made the buffers for this count.
                        let run = |i: &[Input], o: &[*mut u8]| unsafe {
                            reduce_streaming(&r, true, i, o, count, footprint)
                        };
                        case.check("public", run, shift, outputs, alias);
                    }
                }
            }
        }
    }
}

#[test]
fn copies_of_any_length_and_alignment_are_exact() {
    let source: Vec<u8> = (0..5000u32).map(|i| (i * 7 % 251) as u8).collect();
    for bytes in [0, 1, 15, 63, 64, 65, 127, 128, 1000, 4096, 4800] {
        for (from, to) in [(0, 0), (1, 0), (0, 1), (3, 61), (64, 7)] {
            for footprint in [0, usize::MAX] {
                let mut target = vec![GUARD; 5000];
                // SAFETY: both vectors are longer than any offset and length here.
                unsafe {
                    copy_streaming(target[to..].as_mut_ptr(), source[from..].as_ptr(), bytes, footprint)
                };
                assert_eq!(
                    target[to..to + bytes],
                    source[from..from + bytes],
                    "{bytes} bytes from {from} to {to}"
                );
                assert!(target[..to].iter().chain(&target[to + bytes..]).all(|&b| b == GUARD));
            }
        }
    }
    let mut same = source.clone();
    let p = same.as_mut_ptr();
    // SAFETY: a vector onto itself.
    unsafe { copy(p, p, same.len()) };
    assert_eq!(same, source);
}

fn reduce_f32(func: ReduceFn, inputs: &[&[f32]]) -> Vec<f32> {
    let ins: Vec<_> = inputs.iter().map(|s| Input { ptr: s.as_ptr().cast(), scale: None }).collect();
    let mut out = vec![0f32; inputs[0].len()];
    let r = Reduction { dtype: DataType::Float32, func, post_divide: None };
    // SAFETY: all slices have the length of the first.
    unsafe { reduce_many(&r, true, &ins, &[out.as_mut_ptr().cast()], out.len()) };
    out
}

#[test]
fn numbers_win_over_nan_and_zeros_are_ordered_in_max_and_min() {
    let (a, b) = ([f32::NAN, 1.0, -0.0, 0.0, f32::NAN], [2.0, f32::NAN, 0.0, -0.0, f32::NAN]);
    for inputs in [[&a[..], &b[..]], [&b[..], &a[..]]] {
        let max = reduce_f32(ReduceFn::Max, &inputs);
        assert_eq!(
            max[..4].iter().map(|x| x.to_bits()).collect::<Vec<_>>(),
            [2f32, 1.0, 0.0, 0.0].map(f32::to_bits)
        );
        let min = reduce_f32(ReduceFn::Min, &inputs);
        assert_eq!(
            min[..4].iter().map(|x| x.to_bits()).collect::<Vec<_>>(),
            [2f32, 1.0, -0.0, -0.0].map(f32::to_bits)
        );
        assert!(max[4].is_nan() && min[4].is_nan());
    }
}

#[test]
fn narrow_floats_are_rounded_once_over_all_inputs() {
    // In bf16, 256 + 1 = 256; summed one after another in bf16 the ones would all be lost.
    let bits = |x: f32| half::bf16::from_f32(x).to_bits();
    let values = [256.0, 1.0, 1.0, 1.0, 1.0].map(bits);
    let ins: Vec<_> = values.iter().map(|v| Input { ptr: (v as *const u16).cast(), scale: None }).collect();
    let mut out = 0u16;
    let r = Reduction { dtype: DataType::Bfloat16, func: ReduceFn::Sum, post_divide: None };
    // SAFETY: one element each.
    unsafe { reduce_many(&r, true, &ins, &[(&raw mut out).cast()], 1) };
    assert_eq!(out, bits(260.0));
}

#[test]
fn only_the_last_reduction_of_a_chain_divides() {
    let (a, b) = ([-7i32, 100], [0i32, -1]);
    let ins = [&a, &b].map(|s| Input { ptr: s.as_ptr().cast(), scale: None });
    let r = Reduction { dtype: DataType::Int32, func: ReduceFn::Sum, post_divide: Some(2) };
    let mut out = [0i32; 2];
    for (apply, expected) in [(false, [-7, 99]), (true, [-3, 49])] {
        // SAFETY: two elements each.
        unsafe { reduce_many(&r, apply, &ins, &[out.as_mut_ptr().cast()], 2) };
        assert_eq!(out, expected);
    }
}

#[test]
fn one_input_is_copied_bit_for_bit() {
    for dtype in DataType::ALL {
        let source: Vec<u8> = (0..=255).cycle().take(2048).collect();
        let mut out = [vec![0u8; 2048], vec![0u8; 2048]];
        let outputs = out.each_mut().map(|o| o.as_mut_ptr());
        let r = Reduction { dtype, func: ReduceFn::Max, post_divide: None };
        let input = [Input { ptr: source.as_ptr(), scale: None }];
        // SAFETY: 2048 bytes each.
        unsafe { reduce_many(&r, true, &input, &outputs, 2048 / dtype.size()) };
        assert!(out.iter().all(|o| *o == source), "{dtype:?}");
    }
}

#[test]
fn many_inputs_and_outputs_work() {
    let sources: Vec<Vec<f32>> = (0..100).map(|i| (0..333).map(|k| (i * k % 17) as f32).collect()).collect();
    let expected: Vec<f32> = (0..333).map(|k| sources.iter().map(|s| s[k]).sum()).collect();
    let ins: Vec<_> = sources.iter().map(|s| Input { ptr: s.as_ptr().cast(), scale: None }).collect();
    let mut outs = vec![vec![0f32; 333]; 100];
    let out: Vec<_> = outs.iter_mut().map(|o| o.as_mut_ptr().cast()).collect();
    let r = Reduction { dtype: DataType::Float32, func: ReduceFn::Sum, post_divide: None };
    // SAFETY: 333 elements each.
    unsafe { reduce_many(&r, true, &ins, &out, 333) };
    assert!(outs.iter().all(|o| *o == expected));
}

#[test]
fn the_reciprocal_is_one_over_n_rounded_once() {
    for n in 1..=4096usize {
        let exact = 1.0 / n as f64;
        let bits = |d| reciprocal(d, n).0;
        assert_eq!(bits(DataType::Float64), exact.to_bits());
        assert_eq!(bits(DataType::Float32), u64::from((1.0 / n as f32).to_bits()));
        for d in [DataType::Float16, DataType::Bfloat16] {
            let error = |b: u64| (f64::from(twin::widen(d, b)) - exact).abs();
            let (b, e) = (bits(d), error(bits(d)));
            let nearest = |other: u64| e < error(other) || e == error(other) && b % 2 == 0;
            assert!(nearest(b - 1) && nearest(b + 1), "{d:?} 1/{n}: {b:04x}");
        }
        assert_eq!(bits(DataType::Fp8E4M3), u64::from(twin::nearest_fp8(DataType::Fp8E4M3, exact)));
        assert_eq!(bits(DataType::Fp8E5M2), u64::from(twin::nearest_fp8(DataType::Fp8E5M2, exact)));
    }
}

#[test]
#[should_panic(expected = "integers by at least 1 only")]
fn dividing_floats_is_refused() {
    let r = Reduction { dtype: DataType::Float32, func: ReduceFn::Sum, post_divide: Some(2) };
    let mut x = 1f32;
    let p = (&raw mut x).cast::<u8>();
    // SAFETY: one element, in place.
    unsafe { reduce_many(&r, true, &[Input { ptr: p, scale: None }], &[p], 1) };
}
