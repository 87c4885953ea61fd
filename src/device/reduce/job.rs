//! What a kernel is asked to do.

use super::Input;

/// A reduction of `count` elements. Whoever runs a kernel on it promises what [`super::reduce_many`] asks of
/// its caller.
pub(super) struct Job<'a> {
    /// At least one.
    pub(super) inputs: &'a [Input],
    pub(super) outputs: &'a [*mut u8],
    /// Elements.
    pub(super) count: usize,
    /// Divide the result by this, which is not 0; integers only.
    pub(super) divisor: Option<u32>,
}

impl Job<'_> {
    /// Whether an output is also an input.
    pub(super) fn reads(&self, output: *mut u8) -> bool {
        self.inputs.iter().any(|i| std::ptr::eq(i.ptr, output))
    }
}

/// Runs a job on elements of one type with one function.
pub(super) type Kernel = unsafe fn(&Job<'_>);
