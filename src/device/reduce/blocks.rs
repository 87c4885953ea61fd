//! The portable kernel: block by block through an accumulator in the first-level cache, in loops that the
//! compiler vectorises for whatever instruction set is enabled where they are inlined.

use std::mem::MaybeUninit;

use super::Input;
use super::element::Element;
use super::func::Func;
use super::job::Job;

/// Elements in a block: the accumulators take 2 KiB at most.
const BLOCK: usize = 256;

/// Reduces a whole job.
///
/// # Safety
/// What [`super::reduce_many`] asks, for elements of type `E`.
#[inline(always)]
pub(super) unsafe fn reduce<E: Element, F: Func>(job: &Job<'_>) {
    let mut acc = [const { MaybeUninit::<E::Acc>::uninit() }; BLOCK];
    for at in (0..job.count).step_by(BLOCK) {
        let len = BLOCK.min(job.count - at);
        // SAFETY: `len` elements from `at` are within the `count` that the caller vouches for. All inputs are
        // read before any output is written, so an output may be an input.
        unsafe { block::<E, F>(job, &mut acc[..len], at) }
    }
}

/// Reduces the `acc.len()` elements from element `at`.
///
/// # Safety
/// As [`reduce`], and `at + acc.len() <= count`.
#[inline(always)]
unsafe fn block<E: Element, F: Func>(job: &Job<'_>, acc: &mut [MaybeUninit<E::Acc>], at: usize) {
    // SAFETY: the elements are within what the caller vouches for; the first input initialises the
    // accumulators, which the others and the outputs read.
    unsafe {
        each::<E>(
            &job.inputs[0],
            at,
            acc,
            #[inline(always)]
            |a, x| _ = a.write(x),
        );
        for input in &job.inputs[1..] {
            each::<E>(
                input,
                at,
                acc,
                #[inline(always)]
                |a, x| _ = a.write(F::element::<E>(a.assume_init(), x)),
            );
        }
        if let Some(d) = job.divisor {
            for a in &mut *acc {
                a.write(E::divide(a.assume_init(), d));
            }
        }
        for &output in job.outputs {
            let out = output.cast::<E>().add(at);
            for (i, a) in acc.iter().enumerate() {
                out.add(i).write_unaligned(E::narrow(a.assume_init()));
            }
        }
    }
}

/// Calls `f` with every accumulator and its element of `input`, scaled if the input asks for it.
///
/// # Safety
/// `acc.len()` elements are readable from element `at` of the input.
#[inline(always)]
unsafe fn each<E: Element>(
    input: &Input,
    at: usize,
    acc: &mut [MaybeUninit<E::Acc>],
    f: impl Fn(&mut MaybeUninit<E::Acc>, E::Acc),
) {
    // SAFETY: the caller's promise.
    let start = unsafe { input.ptr.cast::<E>().add(at) };
    // SAFETY: as above; `i` is below `acc.len()`.
    let read = move |i| unsafe { start.add(i).read_unaligned() }.widen();
    match input.scale {
        None => {
            for (i, a) in acc.iter_mut().enumerate() {
                f(a, read(i));
            }
        }
        Some(scale) => {
            let factor = E::from_bits(scale.0).widen();
            for (i, a) in acc.iter_mut().enumerate() {
                f(a, E::scale(read(i), factor));
            }
        }
    }
}
