//! Copies, and the writing of large results past the caches.
//!
//! A plain store first reads the line it writes. When the data of an operation does not fit in the caches
//! anyway, storing past them saves that third of the traffic; when it does fit, it would throw out what the
//! reader is about to need. So the footprint of the whole operation decides, see [`STREAM_FROM`].

use std::mem::MaybeUninit;

use super::Input;
use super::job::{Job, Kernel};

/// Footprint from which stores bypass the caches. Measured on a server with 1.25 MiB of second-level and 48
/// MiB of shared third-level cache: storing past the caches halves the speed of a copy at 512 KiB, is neutral
/// from 2 to 16 MiB and gives 1.5 times the speed at 128 MiB.
const STREAM_FROM: usize = 24 << 20;

/// Bytes of a result that are computed in the first-level cache before they are stored past it.
const BLOCK: usize = 8 << 10;

/// Copies `bytes` from `src` to `dst`.
///
/// # Safety
/// `bytes` are readable at `src` and writable at `dst`; the ranges are the same or do not overlap.
pub unsafe fn copy(dst: *mut u8, src: *const u8, bytes: usize) {
    // SAFETY: the caller's promise, unchanged.
    unsafe { copy_streaming(dst, src, bytes, bytes.saturating_mul(2)) }
}

/// [`copy`] as a piece of something larger: `footprint` is the number of bytes which the whole operation
/// reads and writes. It decides whether the stores bypass the caches.
///
/// # Safety
/// As [`copy`].
pub unsafe fn copy_streaming(dst: *mut u8, src: *const u8, bytes: usize, footprint: usize) {
    if std::ptr::eq(dst, src) {
        return;
    }
    // SAFETY: the caller vouches for both ranges; not being the same, they do not overlap.
    unsafe {
        if footprint < STREAM_FROM {
            src.copy_to_nonoverlapping(dst, bytes);
        } else {
            stream(dst, src, bytes);
            fence();
        }
    }
}

/// Copies one input to all outputs.
///
/// # Safety
/// As [`copy`], for each output.
pub(super) unsafe fn copy_many(src: *const u8, outputs: &[*mut u8], bytes: usize, footprint: usize) {
    // Piece by piece, so that the input comes from memory once. One output needs no pieces.
    let piece = if outputs.len() == 1 { bytes } else { BLOCK };
    for at in (0..bytes).step_by(piece.max(1)) {
        let len = piece.min(bytes - at);
        for &output in outputs.iter().filter(|o| !std::ptr::eq(**o, src)) {
            // SAFETY: the caller's promise; the piece is within `bytes`; an output other than the input does
            // not overlap it.
            unsafe {
                if footprint < STREAM_FROM {
                    src.add(at).copy_to_nonoverlapping(output.add(at), len);
                } else {
                    stream(output.add(at), src.add(at), len);
                }
            }
        }
    }
    fence();
}

/// Runs a kernel over a job whose elements have `size` bytes.
///
/// # Safety
/// What [`super::reduce_many`] asks; `kernel` is for elements of this size.
pub(super) unsafe fn reduce(kernel: Kernel, job: &Job<'_>, size: usize, footprint: usize) {
    // SAFETY: the caller's promise, unchanged.
    unsafe {
        // The line of an output that is also an input has been read already: nothing to save.
        if footprint < STREAM_FROM
            || job.outputs.iter().all(|&o| job.reads(o))
            || job.inputs.len() > MAX_STREAMED
        {
            kernel(job);
        } else {
            reduce_streamed(kernel, job, size);
            fence();
        }
    }
}

/// Inputs that [`reduce_streamed`] can advance through without allocating.
const MAX_STREAMED: usize = 64;

/// Reduces block by block into the first-level cache, and streams each block to the outputs that are no
/// inputs.
///
/// # Safety
/// As [`reduce`], with at most `MAX_STREAMED` inputs.
unsafe fn reduce_streamed(kernel: Kernel, job: &Job<'_>, size: usize) {
    #[repr(align(64))]
    struct Block(MaybeUninit<[u8; BLOCK]>);
    let mut block = Block(MaybeUninit::uninit());
    let result = block.0.as_mut_ptr().cast::<u8>();
    let mut advanced = [const { Input { ptr: std::ptr::null(), scale: None } }; MAX_STREAMED];
    let inputs = &mut advanced[..job.inputs.len()];
    inputs.copy_from_slice(job.inputs);
    let step = BLOCK / size;
    for at in (0..job.count).step_by(step) {
        let count = step.min(job.count - at);
        // SAFETY: `count` elements from `at` are within the job's; they fit in the block, which the kernel
        // fills before it is copied; the block overlaps nothing.
        unsafe {
            kernel(&Job { inputs, outputs: &[result], count, divisor: job.divisor });
            for &output in job.outputs {
                let here = output.add(at * size);
                if job.reads(output) {
                    result.copy_to_nonoverlapping(here, count * size);
                } else {
                    stream(here, result, count * size);
                }
            }
        }
        for input in &mut *inputs {
            input.ptr = input.ptr.wrapping_add(count * size);
        }
    }
}

/// Copies with stores that bypass the caches where the machine has them. [`fence`] must follow before another
/// thread is told.
///
/// # Safety
/// `bytes` are readable at `src` and writable at `dst`; the ranges do not overlap.
unsafe fn stream(dst: *mut u8, src: *const u8, bytes: usize) {
    #[cfg(target_arch = "x86_64")]
    // SAFETY: the caller's promise; SSE2 is part of x86-64.
    unsafe {
        use std::arch::x86_64::{__m128i, _mm_loadu_si128, _mm_stream_si128};

        let head = dst.align_offset(LINE).min(bytes);
        src.copy_to_nonoverlapping(dst, head);
        let lines = (bytes - head) / LINE;
        for line in 0..lines {
            let from = src.add(head + line * LINE).cast::<__m128i>();
            let to = dst.add(head + line * LINE).cast::<__m128i>();
            let quarters = [0, 1, 2, 3].map(|q| _mm_loadu_si128(from.add(q)));
            for (q, value) in quarters.into_iter().enumerate() {
                _mm_stream_si128(to.add(q), value);
            }
        }
        let done = head + lines * LINE;
        src.add(done).copy_to_nonoverlapping(dst.add(done), bytes - done);
    }
    #[cfg(not(target_arch = "x86_64"))]
    // SAFETY: the caller's promise.
    unsafe {
        src.copy_to_nonoverlapping(dst, bytes);
    }
}

#[cfg(target_arch = "x86_64")]
const LINE: usize = 64;

/// Orders streamed stores before all later stores, in particular before the one that tells another thread.
fn fence() {
    #[cfg(target_arch = "x86_64")]
    // SAFETY: SSE is part of x86-64.
    unsafe {
        std::arch::x86_64::_mm_sfence();
    }
}
