//! The loop over inputs: a tile of registers is filled from every input in turn and written to every output.

use super::Input;
use super::func::Func;
use super::job::Job;
use super::lanes::Lanes;

/// Registers in a tile: enough to hide the latency of the arithmetic.
const TILE: usize = 4;

/// Reduces a whole job.
///
/// # Safety
/// What [`super::reduce_many`] asks, for elements of the size `L` has; and the instruction set of `L` is
/// enabled in the function this is inlined into.
#[inline(always)]
pub(super) unsafe fn reduce<L: Lanes, F: Func>(job: &Job<'_>) {
    let scaled = job.inputs.iter().any(|i| i.scale.is_some());
    // SAFETY: the caller's promise; each loop and `rest` start where the one before has ended, and no step
    // reaches beyond `count`.
    unsafe {
        let mut done = match (job.inputs.len(), scaled) {
            (2, false) => tiles_of::<L, F, 2>(job),
            (3, false) => tiles_of::<L, F, 3>(job),
            (4, false) => tiles_of::<L, F, 4>(job),
            (8, false) => tiles_of::<L, F, 8>(job),
            _ => 0,
        };
        while job.count - done >= TILE * L::N {
            tile::<L, F, TILE>(job, done);
            done += TILE * L::N;
        }
        while job.count - done >= L::N {
            tile::<L, F, 1>(job, done);
            done += L::N;
        }
        if done < job.count {
            rest::<L, F>(job, done);
        }
    }
}

/// Reduces all full tiles of a job with `I` inputs, none of them scaled, and returns how many elements these
/// are.
///
/// # Safety
/// As [`reduce`]; the job has `I` inputs.
#[inline(always)]
unsafe fn tiles_of<L: Lanes, F: Func, const I: usize>(job: &Job<'_>) -> usize {
    let mut inputs = [Input { ptr: std::ptr::null(), scale: None }; I];
    for (copy, input) in inputs.iter_mut().zip(job.inputs) {
        copy.ptr = input.ptr;
    }
    let mut done = 0;
    while job.count - done >= TILE * L::N {
        let offset = done * L::SIZE;
        // SAFETY: a tile from `done` lies within `count`; all loads come before all stores, so an output may
        // be an input.
        unsafe {
            let mut acc = load::<L, TILE>(&inputs[0], offset);
            for input in &inputs[1..] {
                combine::<L, F, TILE>(&mut acc, load(input, offset));
            }
            store(&acc, job.outputs, offset);
        }
        done += TILE * L::N;
    }
    done
}

/// Reduces `W` full registers from element `at`.
///
/// # Safety
/// As [`reduce`], and `at + W * L::N <= count`.
#[inline(always)]
unsafe fn tile<L: Lanes, F: Func, const W: usize>(job: &Job<'_>, at: usize) {
    let offset = at * L::SIZE;
    // SAFETY: the registers lie within the `count` elements the caller vouches for. All loads come before all
    // stores, so an output may be an input.
    unsafe {
        let mut acc = load::<L, W>(&job.inputs[0], offset);
        for input in &job.inputs[1..] {
            combine::<L, F, W>(&mut acc, load(input, offset));
        }
        store(&acc, job.outputs, offset);
    }
}

#[inline(always)]
fn combine<L: Lanes, F: Func, const W: usize>(acc: &mut [L; W], next: [L; W]) {
    for k in 0..W {
        acc[k] = F::lanes(acc[k], next[k]);
    }
}

/// Writes registers to byte `offset` of every output.
///
/// # Safety
/// `W * L::N` elements are writable there.
#[inline(always)]
unsafe fn store<L: Lanes, const W: usize>(acc: &[L; W], outputs: &[*mut u8], offset: usize) {
    for &output in outputs {
        for (k, register) in acc.iter().enumerate() {
            // SAFETY: the caller's promise.
            unsafe { register.store(output.add(offset + k * L::N * L::SIZE)) }
        }
    }
}

/// `W` registers of an input from byte `offset`, scaled if the input asks for it.
///
/// # Safety
/// `W * L::N` elements are readable there.
#[inline(always)]
unsafe fn load<L: Lanes, const W: usize>(input: &Input, offset: usize) -> [L; W] {
    // SAFETY: the caller's promise. (A loop, as a closure would not always become part of the kernel.)
    let mut registers = [unsafe { L::load(input.ptr.add(offset)) }; W];
    for (k, r) in registers.iter_mut().enumerate().skip(1) {
        // SAFETY: the caller's promise.
        *r = unsafe { L::load(input.ptr.add(offset + k * L::N * L::SIZE)) };
    }
    if let Some(scale) = input.scale {
        let factor = L::splat(scale.0);
        for r in &mut registers {
            *r = r.scale(factor);
        }
    }
    registers
}

/// Reduces the last elements, fewer than a register holds.
///
/// # Safety
/// As [`reduce`], and `at < count < at + L::N`.
#[inline(always)]
unsafe fn rest<L: Lanes, F: Func>(job: &Job<'_>, at: usize) {
    let (offset, n) = (at * L::SIZE, job.count - at);
    // SAFETY: `n` elements remain from `at`; all loads come before all stores.
    unsafe {
        let mut acc = load_rest::<L>(&job.inputs[0], offset, n);
        for input in &job.inputs[1..] {
            acc = F::lanes(acc, load_rest(input, offset, n));
        }
        for &output in job.outputs {
            acc.store_part(output.add(offset), n);
        }
    }
}

/// `n` elements of an input from byte `offset`, scaled if the input asks for it.
///
/// # Safety
/// `n <= L::N` elements are readable there.
#[inline(always)]
unsafe fn load_rest<L: Lanes>(input: &Input, offset: usize, n: usize) -> L {
    // SAFETY: the caller's promise.
    let register = unsafe { L::load_part(input.ptr.add(offset), n) };
    match input.scale {
        Some(scale) => register.scale(L::splat(scale.0)),
        None => register,
    }
}
