//! Mapped memory: pages shared between processes through a memfd, and private scratch pages.
use std::ffi::c_void;
use std::fs::File;
use std::io;
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::ptr::{self, NonNull};

use rustix::fs::{MemfdFlags, SealFlags};
use rustix::mm::{Advice, MapFlags, ProtFlags};

const HUGE_PAGE: usize = 2 << 20;

/// Memory shared with whoever holds its file descriptor. Zeroed and sparse at first: a page costs nothing until
/// it is touched. The file has no name in any file system, so nothing is left when its last holder is gone.
///
/// The type hands out a raw pointer only: other processes write these pages, so no reference to them may be made
/// except to atomics or under the caller's own protocol.
#[derive(Debug)]
pub struct SharedMap {
    pages: Pages,
    fd: OwnedFd,
}

impl SharedMap {
    /// A new region of `len` bytes (rounded up to pages by the kernel). `name` shows in `/proc/<pid>/maps`.
    ///
    /// The size is sealed: no holder of the descriptor can shrink the file under another's mapping.
    pub fn create(name: &str, len: usize) -> io::Result<Self> {
        let fd = rustix::fs::memfd_create(name, MemfdFlags::CLOEXEC | MemfdFlags::ALLOW_SEALING)?;
        rustix::fs::ftruncate(&fd, len as u64)?;
        rustix::fs::fcntl_add_seals(&fd, SealFlags::SHRINK | SealFlags::GROW | SealFlags::SEAL)?;
        Self::from_fd(fd, len)
    }

    /// Maps the first `len` bytes of a region that another process made.
    ///
    /// # Errors
    /// `InvalidData` when the file is shorter than `len`: touching such pages would kill the process.
    pub fn from_fd(fd: OwnedFd, len: usize) -> io::Result<Self> {
        let file_len = rustix::fs::fstat(&fd)?.st_size;
        if u64::try_from(file_len).unwrap_or(0) < len as u64 {
            let text = format!("shared memory: the file has {file_len} bytes, {len} are needed");
            return Err(io::Error::new(io::ErrorKind::InvalidData, text));
        }
        let pages = Pages::map(len, |len| {
            // SAFETY: a new mapping at an address the kernel chooses overlaps nothing that exists.
            unsafe {
                rustix::mm::mmap(
                    ptr::null_mut(),
                    len,
                    ProtFlags::READ | ProtFlags::WRITE,
                    MapFlags::SHARED,
                    &fd,
                    0,
                )
            }
        })?;
        Ok(Self { pages, fd })
    }

    /// First byte of the region, aligned to a page; valid for [`len`](Self::len) bytes while `self` lives.
    pub fn as_ptr(&self) -> *mut u8 {
        self.pages.start.as_ptr()
    }

    pub fn len(&self) -> usize {
        self.pages.len
    }

    pub fn is_empty(&self) -> bool {
        self.pages.len == 0
    }

    /// Copies `N` bytes at `offset` out; `None` when they are not inside. For values that nobody writes meanwhile.
    pub fn load<const N: usize>(&self, offset: usize) -> Option<[u8; N]> {
        if offset.checked_add(N)? > self.len() {
            return None;
        }
        let mut out = [0; N];
        // SAFETY: the range was checked to lie inside the mapping.
        unsafe { ptr::copy_nonoverlapping(self.as_ptr().add(offset), out.as_mut_ptr(), N) };
        Some(out)
    }

    pub fn fd(&self) -> SharedFd<'_> {
        SharedFd(self.fd.as_fd())
    }

    /// Asks for huge pages where the system gives them to shared memory; a hint without result.
    pub fn advise_huge(&self) {
        self.pages.advise_huge();
    }
}

/// The descriptor of a [`SharedMap`], to be passed to another process or cloned for another mapping.
#[derive(Clone, Copy, Debug)]
pub struct SharedFd<'a>(BorrowedFd<'a>);

impl SharedFd<'_> {
    pub fn try_clone_to_owned(&self) -> io::Result<OwnedFd> {
        self.0.try_clone_to_owned()
    }
}

impl AsFd for SharedFd<'_> {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.0
    }
}

/// Private zeroed memory, huge-page backed where the system allows it, for staging and bounce buffers.
#[derive(Debug)]
pub struct Scratch {
    pages: Pages,
    skip: usize,
    len: usize,
}

impl Scratch {
    /// `len` bytes, aligned to 2 MiB when at least that long, else to a page.
    pub fn new(len: usize) -> io::Result<Self> {
        let slack = if len >= HUGE_PAGE { HUGE_PAGE } else { 0 };
        let pages = Pages::map(len + slack, |len| {
            // SAFETY: a new mapping at an address the kernel chooses overlaps nothing that exists.
            unsafe {
                rustix::mm::mmap_anonymous(
                    ptr::null_mut(),
                    len,
                    ProtFlags::READ | ProtFlags::WRITE,
                    MapFlags::PRIVATE | MapFlags::NORESERVE,
                )
            }
        })?;
        let skip = if slack == 0 { 0 } else { pages.start.as_ptr().align_offset(HUGE_PAGE) };
        pages.advise_huge();
        Ok(Self { pages, skip, len })
    }

    /// First byte; valid for [`len`](Self::len) bytes while `self` lives.
    pub fn as_ptr(&self) -> *mut u8 {
        self.pages.start.as_ptr().wrapping_add(self.skip)
    }

    pub fn len(&self) -> usize {
        self.len
    }

    pub fn is_empty(&self) -> bool {
        self.len == 0
    }

    pub fn as_slice(&self) -> &[u8] {
        // SAFETY: the pages are private to this value, initialised (zero) and borrowed with it.
        unsafe { std::slice::from_raw_parts(self.as_ptr(), self.len) }
    }

    pub fn as_mut_slice(&mut self) -> &mut [u8] {
        // SAFETY: the pages are private to this value, initialised (zero) and borrowed mutably with it.
        unsafe { std::slice::from_raw_parts_mut(self.as_ptr(), self.len) }
    }
}

/// Asks the kernel to give back the whole pages inside `[start, start + len)`; they read as zero afterwards.
///
/// # Safety
/// The range lies in a private anonymous mapping of the caller, and nothing in it is needed any more.
pub unsafe fn discard(start: *mut u8, len: usize) -> io::Result<()> {
    // SAFETY: the caller owns the range and gives up its content.
    Ok(unsafe { rustix::mm::madvise(start.cast(), len, Advice::LinuxDontNeed) }?)
}

/// Descriptor of the file behind a region whose descriptor another process keeps: `/proc/<pid>/fd/<fd>`.
///
/// Works between processes of one user (the kernel asks for ptrace permission); the region's own name is not needed.
pub fn open_peer_fd(pid: u32, fd: i32) -> io::Result<OwnedFd> {
    let file = File::options().read(true).write(true).open(format!("/proc/{pid}/fd/{fd}"))?;
    Ok(file.into())
}

/// A mapping that is unmapped on drop; empty ones have no pages.
#[derive(Debug)]
struct Pages {
    start: NonNull<u8>,
    len: usize,
}

// SAFETY: the value only owns the address range; what may be done with the bytes is up to the users of its pointer.
unsafe impl Send for Pages {}
// SAFETY: as above, `&Pages` gives out an address and nothing else.
unsafe impl Sync for Pages {}

impl Pages {
    fn map(len: usize, map: impl FnOnce(usize) -> rustix::io::Result<*mut c_void>) -> io::Result<Self> {
        if len == 0 {
            return Ok(Self { start: NonNull::dangling(), len });
        }
        let start = NonNull::new(map(len)?.cast::<u8>())
            .ok_or_else(|| io::Error::other("mmap gave a mapping at address 0"))?;
        Ok(Self { start, len })
    }

    fn advise_huge(&self) {
        if self.len >= HUGE_PAGE {
            // SAFETY: the range is our own mapping; the advice changes no content. Refusal is harmless.
            let _ =
                unsafe { rustix::mm::madvise(self.start.as_ptr().cast(), self.len, Advice::LinuxHugepage) };
        }
    }
}

impl Drop for Pages {
    fn drop(&mut self) {
        if self.len != 0 {
            // SAFETY: the range was mapped by `map`, is unmapped only here, and its pointers died with the owner.
            let _ = unsafe { rustix::mm::munmap(self.start.as_ptr().cast(), self.len) };
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn two_mappings_of_one_region_see_the_same_bytes() {
        let first = SharedMap::create("memory-test", 1 << 16).unwrap();
        let second = SharedMap::from_fd(first.fd().try_clone_to_owned().unwrap(), 1 << 16).unwrap();
        assert_ne!(first.as_ptr(), second.as_ptr());
        // SAFETY: both mappings are 64 KiB long and only this thread uses them.
        unsafe {
            first.as_ptr().add(65_535).write(7);
            assert_eq!(second.as_ptr().add(65_535).read(), 7);
            assert_eq!(second.as_ptr().read(), 0);
        }
    }

    #[test]
    fn a_region_shorter_than_asked_is_refused() {
        let map = SharedMap::create("memory-test", 4096).unwrap();
        let error = SharedMap::from_fd(map.fd().try_clone_to_owned().unwrap(), 8192).unwrap_err();
        assert_eq!(error.kind(), io::ErrorKind::InvalidData);
    }

    #[test]
    fn the_size_of_a_region_is_sealed() {
        let map = SharedMap::create("memory-test", 8192).unwrap();
        let file = File::from(map.fd().try_clone_to_owned().unwrap());
        assert!(file.set_len(4096).is_err());
        assert!(file.set_len(16384).is_err());
    }

    #[test]
    fn a_large_sparse_region_costs_no_memory() {
        let map = SharedMap::create("memory-test", 1 << 36).unwrap();
        assert_eq!(rustix::fs::fstat(map.fd()).unwrap().st_blocks, 0);
    }

    #[test]
    fn scratch_is_zeroed_aligned_and_writable() {
        let mut scratch = Scratch::new(3 << 20).unwrap();
        assert_eq!(scratch.as_ptr() as usize % HUGE_PAGE, 0);
        assert!(scratch.as_slice().iter().all(|byte| *byte == 0));
        scratch.as_mut_slice().fill(9);
        assert_eq!(scratch.as_slice()[(3 << 20) - 1], 9);
        assert!(Scratch::new(0).unwrap().is_empty());
    }

    #[test]
    fn a_peer_descriptor_opens_through_proc() {
        let map = SharedMap::create("memory-test", 4096).unwrap();
        let raw = std::os::fd::AsRawFd::as_raw_fd(&map.fd().as_fd());
        let again = SharedMap::from_fd(open_peer_fd(std::process::id(), raw).unwrap(), 4096).unwrap();
        // SAFETY: both mappings are a page long and only this thread uses them.
        unsafe {
            map.as_ptr().write(3);
            assert_eq!(again.as_ptr().read(), 3);
        }
    }
}
