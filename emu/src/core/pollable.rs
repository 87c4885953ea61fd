//! Resumable work of another library: the owner of its context.

use std::ffi::c_void;

use mccl_emu_ext::{POLL_DONE, POLL_PENDING, Pollable};

use super::thread;

/// A context which is dropped exactly once.
pub struct OwnedPollable {
    raw: Pollable,
}

// SAFETY: the contract of the extension table lets any thread call the vtable, one at a time.
unsafe impl Send for OwnedPollable {}
// SAFETY: shared references are used by graphs only, for `rearm`, which the launching threads call under a lock.
unsafe impl Sync for OwnedPollable {}

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Poll {
    Pending,
    Done,
    Failed,
}

impl OwnedPollable {
    /// # Safety
    /// The context is handed over: nobody else calls its vtable any more. Context and vtable obey the table's contract.
    pub unsafe fn new(raw: Pollable) -> Self {
        Self { raw }
    }

    /// Gives the context back to the caller.
    pub fn into_raw(self) -> Pollable {
        let raw = self.raw;
        std::mem::forget(self);
        raw
    }

    pub fn poll(&mut self) -> Poll {
        // SAFETY: the context is ours, and `&mut` makes this the only call.
        match thread::scoped(|s| &s.in_poll, || unsafe { ((*self.raw.vtable).poll)(self.raw.ctx) }) {
            POLL_PENDING => Poll::Pending,
            POLL_DONE => Poll::Done,
            _ => Poll::Failed,
        }
    }

    pub fn idle(&mut self, round: u32) {
        // SAFETY: as in `poll`.
        unsafe { ((*self.raw.vtable).idle)(self.raw.ctx, round) }
    }

    pub fn can_rearm(&self) -> bool {
        // SAFETY: the vtable is static by contract.
        unsafe { (*self.raw.vtable).rearm.is_some() }
    }

    /// A fresh context for one launch; none when the owner refuses. Calls for one context do not overlap.
    pub fn rearm(&self) -> Option<OwnedPollable> {
        // SAFETY: the vtable is static by contract.
        let rearm = unsafe { (*self.raw.vtable).rearm }?;
        // SAFETY: the context is alive as long as `self`; the launch holds the graph's launch lock.
        let ctx: *mut c_void = unsafe { rearm(self.raw.ctx) };
        (!ctx.is_null()).then(|| Self { raw: Pollable { ctx, vtable: self.raw.vtable } })
    }
}

impl Drop for OwnedPollable {
    fn drop(&mut self) {
        // SAFETY: the last call for this context, made once because the owner ends here.
        unsafe { ((*self.raw.vtable).drop)(self.raw.ctx) }
    }
}
