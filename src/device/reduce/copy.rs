//! Copies, and the writing of large results past the caches.

use super::job::{Job, Kernel};

/// Copies `bytes` from `src` to `dst`.
///
/// # Safety
/// `bytes` are readable at `src` and writable at `dst`; the ranges are the same or do not overlap.
pub unsafe fn copy(dst: *mut u8, src: *const u8, bytes: usize) {
    // SAFETY: the caller's promise, unchanged.
    unsafe { copy_streaming(dst, src, bytes, bytes.saturating_mul(2)) }
}

/// [`copy`] as a piece of something larger: `footprint` is the number of bytes which the whole operation reads and writes. It
/// decides whether the stores bypass the caches.
///
/// # Safety
/// As [`copy`].
pub unsafe fn copy_streaming(dst: *mut u8, src: *const u8, bytes: usize, footprint: usize) {
    let _ = footprint;
    if !std::ptr::eq(dst, src) {
        // SAFETY: the caller vouches for both ranges; not being the same, they do not overlap.
        unsafe { src.copy_to_nonoverlapping(dst, bytes) }
    }
}

/// Copies one input to all outputs.
///
/// # Safety
/// As [`copy`], for each output.
pub(super) unsafe fn copy_many(src: *const u8, outputs: &[*mut u8], bytes: usize, footprint: usize) {
    for &output in outputs {
        // SAFETY: the caller's promise.
        unsafe { copy_streaming(output, src, bytes, footprint) }
    }
}

/// Runs a kernel over a job.
///
/// # Safety
/// What [`super::reduce_many`] asks; `kernel` is for elements of the job's size.
pub(super) unsafe fn reduce(kernel: Kernel, job: &Job<'_>, footprint: usize) {
    let _ = footprint;
    // SAFETY: the caller's promise, unchanged.
    unsafe { kernel(job) }
}
