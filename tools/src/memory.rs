//! Device memory: buffers with one owner, and bounds-checked ranges of them.

use std::ffi::c_void;
use std::marker::PhantomData;

use crate::api::Mccl;
use crate::error::{Error, Result};
use crate::musart::Musart;

/// Device memory with one owner, freed when dropped.
pub struct Buffer {
    runtime: &'static Musart,
    library: Option<&'static Mccl>,
    base: *mut c_void,
    len: usize,
}

// SAFETY: device memory belongs to no thread.
unsafe impl Send for Buffer {}
// SAFETY: as above; the address is only passed on.
unsafe impl Sync for Buffer {}

impl Buffer {
    /// Takes over `len` bytes that `library`, or else the runtime, allocated at `base`.
    pub(crate) fn new(
        runtime: &'static Musart,
        library: Option<&'static Mccl>,
        base: *mut c_void,
        len: usize,
    ) -> Self {
        Self { runtime, library, base, len }
    }

    /// All of it.
    pub fn view(&self) -> View<'_> {
        View { base: self.base.cast(), len: self.len, owner: PhantomData }
    }
}

impl Drop for Buffer {
    fn drop(&mut self) {
        match self.library {
            Some(library) => drop(library.mem_free(self.base)),
            None => self.runtime.free(self.base),
        }
    }
}

/// A range of a buffer's device memory.
#[derive(Clone, Copy)]
pub struct View<'a> {
    base: *mut u8,
    len: usize,
    owner: PhantomData<&'a Buffer>,
}

impl<'a> View<'a> {
    /// `len` bytes from `offset` on; an error if they are not all inside.
    #[inline]
    pub fn sub(self, offset: usize, len: usize) -> Result<View<'a>> {
        match offset.checked_add(len) {
            Some(end) if end <= self.len => {
                // SAFETY: the offset is inside the buffer (checked above).
                Ok(View { base: unsafe { self.base.add(offset) }, len, owner: PhantomData })
            }
            _ => {
                Err(Error::failed(format!("buffer: {len} bytes at {offset} of {}: beyond its end", self.len)))
            }
        }
    }

    pub(crate) fn ptr(self) -> *mut c_void {
        self.base.cast()
    }

    pub fn len(self) -> usize {
        self.len
    }

    pub fn is_empty(self) -> bool {
        self.len == 0
    }

    /// Whether both begin at the same byte.
    pub fn starts_with(self, other: View) -> bool {
        self.base == other.base
    }
}
