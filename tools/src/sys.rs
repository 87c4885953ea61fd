//! The tools' home of libc: memory files, waits on shared words, process control, names and clocks.

use std::ffi::{CStr, c_char};
use std::io;
use std::os::fd::{AsRawFd, FromRawFd, OwnedFd, RawFd};
use std::ptr::NonNull;
use std::sync::atomic::AtomicU32;
use std::time::Duration;

/// A shared mapping of a memory file; zero when new.
pub struct SharedMap {
    base: NonNull<u8>,
    len: usize,
}

// SAFETY: the mapping is plain memory that stays until the value is dropped; all access goes through atomics or is ordered by
// them (see `launch::shared`), so any thread may hold it.
unsafe impl Send for SharedMap {}
// SAFETY: as above.
unsafe impl Sync for SharedMap {}

impl SharedMap {
    /// Maps `len` bytes of `fd` for reading and writing, shared with all who map it.
    pub fn of(fd: RawFd, len: usize) -> io::Result<Self> {
        let flags = libc::PROT_READ | libc::PROT_WRITE;
        // SAFETY: a fresh mapping chosen by the kernel touches no memory of ours; the result is checked.
        let base = unsafe { libc::mmap(std::ptr::null_mut(), len, flags, libc::MAP_SHARED, fd, 0) };
        if base == libc::MAP_FAILED {
            return Err(io::Error::last_os_error());
        }
        let base = NonNull::new(base.cast()).ok_or_else(|| io::Error::other("mapped at address 0"))?;
        Ok(Self { base, len })
    }

    /// Address of the byte at `offset`; `None` unless `len` bytes from there lie inside.
    pub fn at(&self, offset: usize, len: usize) -> Option<NonNull<u8>> {
        let end = offset.checked_add(len)?;
        // SAFETY: offset is inside the mapping, which is one object of `self.len` bytes.
        (end <= self.len).then(|| unsafe { self.base.add(offset) })
    }
}

impl Drop for SharedMap {
    fn drop(&mut self) {
        // SAFETY: base and len are those of a mapping made in `of`, and nobody borrows from a dropped value.
        unsafe { libc::munmap(self.base.as_ptr().cast(), self.len) };
    }
}

/// A memory file of `len` zero bytes, inherited by child processes.
pub fn memory_file(name: &CStr, len: usize) -> io::Result<OwnedFd> {
    // SAFETY: `name` is a terminated string; the result is checked.
    let fd = unsafe { libc::memfd_create(name.as_ptr(), 0) };
    if fd < 0 {
        return Err(io::Error::last_os_error());
    }
    // SAFETY: the descriptor was just made and nobody else owns it.
    let fd = unsafe { OwnedFd::from_raw_fd(fd) };
    // SAFETY: a system call on a descriptor that we own.
    if unsafe { libc::ftruncate(fd.as_raw_fd(), len as libc::off_t) } != 0 {
        return Err(io::Error::last_os_error());
    }
    Ok(fd)
}

/// Closes an inherited descriptor that the caller took over by number.
pub fn close(fd: RawFd) {
    // SAFETY: closing a number; the caller names one that was handed to this process for this purpose.
    unsafe { libc::close(fd) };
}

/// Sleeps until `word` differs from `seen`, a wake-up, or `limit`, also across processes.
pub fn futex_wait(word: &AtomicU32, seen: u32, limit: Duration) {
    let limit = libc::timespec {
        tv_sec: limit.as_secs() as libc::time_t,
        tv_nsec: libc::c_long::from(limit.subsec_nanos() as i32),
    };
    // SAFETY: the word is borrowed and lives through the call; every result is a reason to look again.
    unsafe { libc::syscall(libc::SYS_futex, word.as_ptr(), libc::FUTEX_WAIT, seen, &limit) };
}

/// Wakes everybody who sleeps on `word`.
pub fn futex_wake(word: &AtomicU32) {
    // SAFETY: the word is borrowed and lives through the call.
    unsafe { libc::syscall(libc::SYS_futex, word.as_ptr(), libc::FUTEX_WAKE, i32::MAX) };
}

/// Asks the kernel to kill this process when its parent ends; for use between fork and exec.
pub fn die_with_parent() -> io::Result<()> {
    // SAFETY: an async-signal-safe system call without pointers.
    match unsafe { libc::prctl(libc::PR_SET_PDEATHSIG, libc::SIGKILL) } {
        0 => Ok(()),
        _ => Err(io::Error::last_os_error()),
    }
}

/// Sends a signal to a child process.
pub fn kill(pid: u32, signal: i32) {
    // SAFETY: a system call without pointers; the caller names a child that it has not yet reaped.
    unsafe { libc::kill(pid as libc::pid_t, signal) };
}

/// The name of a signal, such as `Killed`.
pub fn signal_name(signal: i32) -> String {
    // SAFETY: strsignal returns a static or thread-local string, or null; it is copied before any other call.
    unsafe {
        let text = libc::strsignal(signal);
        if text.is_null() { String::new() } else { CStr::from_ptr(text).to_string_lossy().into_owned() }
    }
}

/// The host's name up to the first dot.
pub fn host_name() -> String {
    let mut buffer = [0 as c_char; 256];
    // SAFETY: the buffer is writable for the length given; the last byte stays zero.
    let name = unsafe {
        libc::gethostname(buffer.as_mut_ptr(), buffer.len() - 1);
        CStr::from_ptr(buffer.as_ptr()).to_string_lossy().into_owned()
    };
    name.split('.').next().unwrap_or_default().to_string()
}

/// Local time as `2026-01-31 23:59:59`.
pub fn now() -> String {
    let mut buffer = [0u8; 64];
    // SAFETY: all pointers are to locals that live through the calls; strftime writes at most the length given and returns how much.
    let len = unsafe {
        let clock = libc::time(std::ptr::null_mut());
        let mut fields: libc::tm = std::mem::zeroed();
        libc::localtime_r(&clock, &mut fields);
        let format = c"%Y-%m-%d %H:%M:%S";
        libc::strftime(buffer.as_mut_ptr().cast(), buffer.len(), format.as_ptr(), &fields)
    };
    String::from_utf8_lossy(&buffer[..len]).into_owned()
}

/// Resident memory of this process in bytes, 0 where the kernel does not tell.
pub fn resident_bytes() -> i64 {
    let text = std::fs::read_to_string("/proc/self/statm").unwrap_or_default();
    let pages = text.split_whitespace().nth(1).and_then(|w| w.parse::<i64>().ok()).unwrap_or(0);
    // SAFETY: a query without pointers.
    pages * unsafe { libc::sysconf(libc::_SC_PAGESIZE) }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn two_mappings_of_a_memory_file_show_the_same_bytes() {
        let fd = memory_file(c"test", 4096).unwrap();
        let (a, b) =
            (SharedMap::of(fd.as_raw_fd(), 4096).unwrap(), SharedMap::of(fd.as_raw_fd(), 4096).unwrap());
        // SAFETY: both addresses are inside mappings that live to the end of the test.
        unsafe {
            a.at(7, 1).unwrap().as_ptr().write(42);
            assert_eq!(b.at(7, 1).unwrap().as_ptr().read(), 42);
        }
        assert!(a.at(4096, 1).is_none() && a.at(usize::MAX, 2).is_none());
    }

    #[test]
    fn the_clock_and_the_host_have_text() {
        assert_eq!(now().len(), 19);
        assert!(!host_name().is_empty());
        assert!(resident_bytes() > 0);
    }
}
