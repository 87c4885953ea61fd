//! Other processes of this host: are they alive, and reading or writing their memory.
use std::io;
use std::os::fd::OwnedFd;

use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::process::{Pid, PidfdFlags};

/// Bytes moved by one system call at most, so that an abort is seen soon between calls.
const MAX_TRANSFER: usize = 64 << 20;

/// Id of this process.
pub fn id() -> u32 {
    std::process::id()
}

/// Id of the calling thread, as logs and debuggers show it.
pub fn thread_id() -> u32 {
    rustix::thread::gettid().as_raw_nonzero().get() as u32
}

/// A process, held so that its id cannot be mistaken for a later process's where the kernel allows it.
#[derive(Debug)]
pub struct Process {
    pid: Pid,
    /// None where pidfds are not offered (old kernel, seccomp filter).
    handle: Option<OwnedFd>,
}

impl Process {
    /// The process with that id in this pid namespace.
    ///
    /// # Errors
    /// `NotFound` when there is none.
    pub fn open(pid: u32) -> io::Result<Self> {
        let pid = i32::try_from(pid)
            .ok()
            .and_then(Pid::from_raw)
            .ok_or_else(|| io::Error::from(io::ErrorKind::NotFound))?;
        let handle = match rustix::process::pidfd_open(pid, PidfdFlags::empty()) {
            Ok(handle) => Some(handle),
            Err(rustix::io::Errno::SRCH) => return Err(io::ErrorKind::NotFound.into()),
            Err(_) if exists(pid) => None,
            Err(_) => return Err(io::ErrorKind::NotFound.into()),
        };
        Ok(Self { pid, handle })
    }

    pub fn pid(&self) -> u32 {
        self.pid.as_raw_nonzero().get() as u32
    }

    /// False once the process has exited, also while its parent has not collected it.
    pub fn is_alive(&self) -> bool {
        match &self.handle {
            Some(handle) => {
                let mut fds = [PollFd::new(handle, PollFlags::IN)];
                // Readable means exited. A failing poll says nothing about the process: keep believing in it.
                !matches!(poll(&mut fds, Some(&Timespec { tv_sec: 0, tv_nsec: 0 })), Ok(count) if count > 0)
            }
            None => exists(self.pid),
        }
    }

    /// [`read_memory`](Self::read_memory) into a slice.
    pub fn read_bytes(&self, remote: usize, local: &mut [u8]) -> io::Result<()> {
        // SAFETY: the slice is writable for its length.
        unsafe { self.read_memory(remote, local.as_mut_ptr(), local.len()) }
    }

    /// Copies `len` bytes at `remote` in that process to `local`.
    ///
    /// # Errors
    /// `PermissionDenied` where the kernel forbids it (Yama, containers); `UnexpectedEof` when only part of the range
    /// is mapped there; the system's error otherwise.
    ///
    /// # Safety
    /// `local` is valid for writes of `len` bytes, which no other thread uses meanwhile.
    pub unsafe fn read_memory(&self, remote: usize, local: *mut u8, len: usize) -> io::Result<()> {
        // SAFETY: `transfer` names ranges inside `[local, local + len)` only, valid by the caller's promise.
        transfer(len, |done, step| unsafe {
            let (here, there) = vectors(local.add(done), remote + done, step);
            libc::process_vm_readv(self.pid.as_raw_nonzero().get(), &here, 1, &there, 1, 0)
        })
    }

    /// Copies `len` bytes at `local` to `remote` in that process. Errors as [`read_memory`](Self::read_memory).
    ///
    /// # Safety
    /// `local` is valid for reads of `len` bytes, which no other thread writes meanwhile; and the other process has
    /// given `[remote, remote + len)` to the caller to write.
    pub unsafe fn write_memory(&self, remote: usize, local: *const u8, len: usize) -> io::Result<()> {
        // SAFETY: `transfer` names ranges inside `[local, local + len)` only, valid by the caller's promise.
        transfer(len, |done, step| unsafe {
            let (here, there) = vectors(local.add(done).cast_mut(), remote + done, step);
            libc::process_vm_writev(self.pid.as_raw_nonzero().get(), &here, 1, &there, 1, 0)
        })
    }
}

/// Whether any process has that id; one that we may not signal exists too.
fn exists(pid: Pid) -> bool {
    !matches!(rustix::process::test_kill_process(pid), Err(rustix::io::Errno::SRCH))
}

fn vectors(local: *mut u8, remote: usize, len: usize) -> (libc::iovec, libc::iovec) {
    (
        libc::iovec { iov_base: local.cast(), iov_len: len },
        libc::iovec { iov_base: std::ptr::without_provenance_mut(remote), iov_len: len },
    )
}

/// Calls `step(done, bytes)` until `len` bytes have moved.
fn transfer(len: usize, mut step: impl FnMut(usize, usize) -> libc::ssize_t) -> io::Result<()> {
    let mut done = 0;
    while done < len {
        match step(done, (len - done).min(MAX_TRANSFER)) {
            moved if moved > 0 => done += moved as usize,
            0 => return Err(io::ErrorKind::UnexpectedEof.into()),
            _ => {
                let error = io::Error::last_os_error();
                match error.kind() {
                    io::ErrorKind::Interrupted => {}
                    // A range that is mapped in part moves in part first, then faults.
                    _ if done > 0 && error.raw_os_error() == Some(libc::EFAULT) => {
                        return Err(io::ErrorKind::UnexpectedEof.into());
                    }
                    _ => return Err(error),
                }
            }
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use std::process::{Command, Stdio};

    use super::*;

    #[test]
    fn an_exited_process_is_not_alive_even_before_it_is_collected() {
        let mut child = Command::new("cat").stdin(Stdio::piped()).spawn().unwrap();
        let process = Process::open(child.id()).unwrap();
        assert!(process.is_alive());
        drop(child.stdin.take());
        let patience = std::time::Instant::now() + std::time::Duration::from_secs(30);
        while process.is_alive() {
            assert!(std::time::Instant::now() < patience, "the zombie still counts as alive");
            std::thread::yield_now();
        }
        child.wait().unwrap();
        assert!(!process.is_alive());
    }

    #[test]
    fn a_process_that_never_was_is_not_found() {
        assert_eq!(Process::open(0).unwrap_err().kind(), io::ErrorKind::NotFound);
        assert_eq!(Process::open(u32::MAX).unwrap_err().kind(), io::ErrorKind::NotFound);
    }

    #[test]
    fn memory_moves_both_ways_and_bad_addresses_fail() {
        let this = Process::open(id()).unwrap();
        let mut there = vec![1u8, 2, 3, 4];
        let mut here = [0u8; 4];
        let address = there.as_mut_ptr() as usize;
        // SAFETY: both buffers are four bytes long and used by this thread only.
        unsafe {
            this.read_memory(address, here.as_mut_ptr(), 4).unwrap();
            assert_eq!(here, [1, 2, 3, 4]);
            this.write_memory(address, [9u8; 4].as_ptr(), 4).unwrap();
            assert!(this.read_memory(8, here.as_mut_ptr(), 4).is_err());
        }
        assert_eq!(there, [9; 4]);
    }
}
