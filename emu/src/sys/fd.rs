//! Memory files: creation, size, holes, reopening those of another process, random bytes.

use std::ffi::CString;
use std::fs::{File, OpenOptions, read_link};
use std::io::{Error, Read, Result};
use std::os::fd::{AsRawFd, FromRawFd, OwnedFd};

/// A new memory file of `len` bytes, all holes; closed on exec.
pub fn memfd(name: &str, len: usize) -> Result<OwnedFd> {
    let name = CString::new(name).map_err(|_| Error::from_raw_os_error(libc::EINVAL))?;
    // SAFETY: the name is a C string that outlives the call.
    let raw = unsafe { libc::memfd_create(name.as_ptr(), libc::MFD_CLOEXEC) };
    if raw < 0 {
        return Err(Error::last_os_error());
    }
    // SAFETY: a fresh descriptor that nobody else owns.
    let fd = unsafe { OwnedFd::from_raw_fd(raw) };
    let size = libc::off_t::try_from(len).map_err(|_| Error::from_raw_os_error(libc::EFBIG))?;
    // SAFETY: plain system call on a descriptor that we own.
    if unsafe { libc::ftruncate(raw, size) } != 0 {
        return Err(Error::last_os_error());
    }
    Ok(fd)
}

/// Gives the memory of `offset .. offset + len` back to the system; the bytes read as zero afterwards.
pub fn punch_hole(fd: i32, offset: usize, len: usize) -> Result<()> {
    let mode = libc::FALLOC_FL_PUNCH_HOLE | libc::FALLOC_FL_KEEP_SIZE;
    // SAFETY: plain system call; a bad descriptor is an error of the call.
    match unsafe { libc::fallocate(fd, mode, offset as libc::off_t, len as libc::off_t) } {
        0 => Ok(()),
        _ => Err(Error::last_os_error()),
    }
}

/// Opens descriptor `fd` of process `pid` if it is the memory file called `name`.
pub fn open_memfd_of(pid: i32, fd: i32, name: &str) -> Result<File> {
    let path = format!("/proc/{pid}/fd/{fd}");
    let target = read_link(&path)?;
    if target.to_string_lossy() != format!("/memfd:{name} (deleted)") {
        return Err(Error::from_raw_os_error(libc::ESTALE));
    }
    OpenOptions::new().read(true).write(true).open(path)
}

/// A second descriptor of the same open file, closed on exec.
pub fn duplicate(fd: i32) -> Result<OwnedFd> {
    // SAFETY: plain system call; a bad descriptor is an error of the call.
    let raw = unsafe { libc::fcntl(fd, libc::F_DUPFD_CLOEXEC, 0) };
    if raw < 0 {
        return Err(Error::last_os_error());
    }
    // SAFETY: a fresh descriptor that nobody else owns.
    Ok(unsafe { OwnedFd::from_raw_fd(raw) })
}

/// Size in bytes of the file behind `fd`.
pub fn size_of_file(fd: &OwnedFd) -> Result<usize> {
    Ok(File::from(duplicate(fd.as_raw_fd())?).metadata()?.len() as usize)
}

/// Eight random bytes of the system.
pub fn random_u64() -> Result<u64> {
    let mut bytes = [0u8; 8];
    File::open("/dev/urandom")?.read_exact(&mut bytes)?;
    Ok(u64::from_ne_bytes(bytes))
}
