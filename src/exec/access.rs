//! How this rank reads and writes a peer's buffers.
use std::sync::Arc;

use crate::base::{Error, Result};
use crate::channel::slots::Place;
use crate::err;
use crate::sys;

/// What this rank may do with the memory of one peer.
#[derive(Clone)]
pub enum PeerMemory {
    /// Same process: its pointers are ours.
    Same,
    /// Another process of this host.
    Other {
        /// The peer's exported memory, mapped here.
        export: Option<Arc<sys::SharedMap>>,
        /// Process to read from and write to with the kernel's help, where that is permitted.
        process: Option<Arc<sys::Process>>,
    },
    /// Another host: messages only.
    Remote,
}

/// A stretch of a peer's buffer.
#[derive(Clone, Copy, Debug)]
pub enum Access<'a> {
    /// Mapped here.
    Here(*mut u8),
    /// At this address of that process.
    There(&'a sys::Process, usize),
}

impl PeerMemory {
    /// `len` bytes at `offset` of the buffer that the peer published as `place`.
    pub fn open(&self, place: Place, offset: usize, len: usize) -> Result<Access<'_>> {
        let at = place.addr.wrapping_add(offset as u64);
        match self {
            Self::Same => Ok(Access::Here(at as *mut u8)),
            Self::Other { export: Some(map), .. } if place.export != 0 => {
                let start = (place.export - 1).checked_add(offset as u64);
                let inside =
                    start.filter(|s| s.checked_add(len as u64).is_some_and(|end| end <= map.len() as u64));
                let start = inside.ok_or_else(|| {
                    err!(
                        Internal,
                        "a peer published {len} bytes at {:#x}, outside its exported memory",
                        place.export - 1
                    )
                })?;
                Ok(Access::Here(map.as_ptr().wrapping_add(start as usize)))
            }
            Self::Other { process: Some(process), .. } => Ok(Access::There(process, at as usize)),
            _ => Err(err!(Internal, "a buffer of a peer is out of reach: address {:#x}", place.addr)),
        }
    }

    /// Whether a buffer published as `place` can be opened.
    pub fn reaches(&self, place: Place) -> bool {
        match self {
            Self::Same => true,
            Self::Other { export, process } => (place.export != 0 && export.is_some()) || process.is_some(),
            Self::Remote => false,
        }
    }
}

impl Access<'_> {
    /// Copies the stretch to `dst`.
    ///
    /// # Safety
    /// `dst` is writable for `len` bytes, and the peer keeps the stretch, of at least `len` bytes, alive and unchanged.
    pub unsafe fn read(self, dst: *mut u8, len: usize) -> Result<()> {
        match self {
            // SAFETY: the caller vouches for both ends; `open` checked that the stretch lies in mapped memory.
            Self::Here(src) => unsafe { crate::device::reduce::copy(dst, src, len) },
            // SAFETY: the caller vouches for `dst`; the kernel checks the peer's side.
            Self::There(process, addr) => unsafe { process.read_memory(addr, dst, len) }.map_err(|e| {
                Error::system(format_args!("reading {len} bytes of process {}", process.pid()), &e)
            })?,
        }
        Ok(())
    }

    /// Copies `src` to the stretch.
    ///
    /// # Safety
    /// `src` is readable for `len` bytes, and the peer keeps the stretch, of at least `len` bytes, alive and untouched.
    pub unsafe fn write(self, src: *const u8, len: usize) -> Result<()> {
        match self {
            // SAFETY: the caller vouches for both ends; `open` checked that the stretch lies in mapped memory.
            Self::Here(dst) => unsafe { crate::device::reduce::copy(dst, src, len) },
            // SAFETY: the caller vouches for `src`; the kernel checks the peer's side.
            Self::There(process, addr) => unsafe { process.write_memory(addr, src, len) }.map_err(|e| {
                Error::system(format_args!("writing {len} bytes of process {}", process.pid()), &e)
            })?,
        }
        Ok(())
    }
}
