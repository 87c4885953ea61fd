//! Memory mappings: owned regions, fixed mappings inside reservations, page size, physical memory.

use std::io::{Error, Result};
use std::ptr::null_mut;

/// Bytes of a page on every machine this runs on.
pub const PAGE: usize = 4096;

/// An owned mapping, unmapped when dropped.
#[derive(Debug)]
pub struct Mapping {
    base: *mut u8,
    len: usize,
}

// SAFETY: a mapping is an address range; who may touch which bytes is the business of its users.
unsafe impl Send for Mapping {}
// SAFETY: as above.
unsafe impl Sync for Mapping {}

impl Mapping {
    /// Maps `len` bytes of `fd` from `offset` (a multiple of the page size), shared and without reserving swap.
    pub fn shared(fd: i32, offset: usize, len: usize) -> Result<Self> {
        Self::new(len, libc::PROT_READ | libc::PROT_WRITE, libc::MAP_SHARED | libc::MAP_NORESERVE, fd, offset)
    }

    /// Zeroed private memory, given page by page on first touch.
    pub fn anonymous(len: usize) -> Result<Self> {
        let flags = libc::MAP_PRIVATE | libc::MAP_ANONYMOUS | libc::MAP_NORESERVE;
        Self::new(len, libc::PROT_READ | libc::PROT_WRITE, flags, -1, 0)
    }

    /// Address space alone; any access faults. `align` is a power of two.
    pub fn reserve(len: usize, align: usize) -> Result<Self> {
        let flags = libc::MAP_PRIVATE | libc::MAP_ANONYMOUS | libc::MAP_NORESERVE;
        let align = align.max(PAGE);
        let padded = len.checked_add(align).ok_or_else(|| Error::from_raw_os_error(libc::ENOMEM))?;
        let wide = Self::new(padded, libc::PROT_NONE, flags, -1, 0)?;
        let start = (wide.base as usize).next_multiple_of(align);
        let (head, tail) = (start - wide.base as usize, wide.base as usize + padded - start - len);
        let base = wide.base;
        std::mem::forget(wide);
        // SAFETY: the two ends belong to the mapping made above and nobody has seen them.
        unsafe {
            if head > 0 {
                libc::munmap(base.cast(), head);
            }
            if tail > 0 {
                libc::munmap((start + len) as *mut _, tail);
            }
        }
        Ok(Self { base: start as *mut u8, len })
    }

    fn new(len: usize, prot: i32, flags: i32, fd: i32, offset: usize) -> Result<Self> {
        // SAFETY: the kernel picks an unused range; nothing that exists is replaced.
        let at = unsafe { libc::mmap(null_mut(), len, prot, flags, fd, offset as libc::off_t) };
        if at == libc::MAP_FAILED { Err(Error::last_os_error()) } else { Ok(Self { base: at.cast(), len }) }
    }

    pub fn base(&self) -> *mut u8 {
        self.base
    }

    pub fn len(&self) -> usize {
        self.len
    }

    pub fn is_empty(&self) -> bool {
        self.len == 0
    }

    /// Puts `len` bytes of `fd` at `at` inside this mapping, readable and writable.
    pub fn place(&self, at: usize, len: usize, fd: i32, offset: usize) -> Result<()> {
        self.check(at, len)?;
        self.fixed(
            at,
            len,
            libc::PROT_READ | libc::PROT_WRITE,
            libc::MAP_SHARED | libc::MAP_NORESERVE,
            fd,
            offset,
        )
    }

    /// Makes `len` bytes at `at` inaccessible again.
    pub fn clear(&self, at: usize, len: usize) -> Result<()> {
        self.check(at, len)?;
        let flags = libc::MAP_PRIVATE | libc::MAP_ANONYMOUS | libc::MAP_NORESERVE;
        self.fixed(at, len, libc::PROT_NONE, flags, -1, 0)
    }

    fn check(&self, at: usize, len: usize) -> Result<()> {
        let base = self.base as usize;
        let inside = at >= base && at.checked_add(len).is_some_and(|end| end <= base + self.len);
        if inside { Ok(()) } else { Err(Error::from_raw_os_error(libc::EINVAL)) }
    }

    fn fixed(&self, at: usize, len: usize, prot: i32, flags: i32, fd: i32, offset: usize) -> Result<()> {
        // SAFETY: `check` proved that the range lies inside this mapping, which we own.
        let got = unsafe {
            libc::mmap(at as *mut _, len, prot, flags | libc::MAP_FIXED, fd, offset as libc::off_t)
        };
        if got == libc::MAP_FAILED { Err(Error::last_os_error()) } else { Ok(()) }
    }

    /// Asks for zeroed memory in forked children instead of a copy.
    pub fn wipe_on_fork(&self) -> Result<()> {
        // SAFETY: advice about our own mapping; it changes nothing in this process.
        match unsafe { libc::madvise(self.base.cast(), self.len, libc::MADV_WIPEONFORK) } {
            0 => Ok(()),
            _ => Err(Error::last_os_error()),
        }
    }
}

impl Drop for Mapping {
    fn drop(&mut self) {
        // SAFETY: the range is ours; users of its bytes hold the owner of this mapping.
        unsafe { libc::munmap(self.base.cast(), self.len) };
    }
}

/// Physical memory of the host in bytes.
pub fn host_memory() -> usize {
    // SAFETY: plain queries.
    let (pages, size) = unsafe { (libc::sysconf(libc::_SC_PHYS_PAGES), libc::sysconf(libc::_SC_PAGESIZE)) };
    usize::try_from(pages).unwrap_or(0).saturating_mul(usize::try_from(size).unwrap_or(PAGE))
}
