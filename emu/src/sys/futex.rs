//! Futex wait and wake, within a process or across processes.

use std::sync::atomic::AtomicU32;
use std::time::Duration;

/// Who may wake the word.
#[derive(Clone, Copy, PartialEq, Eq)]
pub enum Scope {
    /// Threads of this process.
    Private,
    /// Any process that maps the page of the word.
    Shared,
}

impl Scope {
    fn flag(self) -> i32 {
        match self {
            Scope::Private => libc::FUTEX_PRIVATE_FLAG,
            Scope::Shared => 0,
        }
    }
}

/// Sleeps while `*word == expected`, until woken, a signal, or the timeout. Spurious returns are allowed.
/// Returns false only when the timeout passed.
pub fn futex_wait(word: &AtomicU32, expected: u32, timeout: Option<Duration>, scope: Scope) -> bool {
    let spec = timeout.map(|t| libc::timespec {
        tv_sec: t.as_secs() as libc::time_t,
        tv_nsec: t.subsec_nanos() as libc::c_long,
    });
    let spec_ptr = spec.as_ref().map_or(std::ptr::null(), std::ptr::from_ref);
    // SAFETY: the word and the timespec outlive the call; the kernel only reads them.
    let rc = unsafe {
        libc::syscall(libc::SYS_futex, word.as_ptr(), libc::FUTEX_WAIT | scope.flag(), expected, spec_ptr)
    };
    !(rc == -1 && std::io::Error::last_os_error().raw_os_error() == Some(libc::ETIMEDOUT))
}

/// Wakes up to `count` sleepers of the word.
pub fn futex_wake(word: &AtomicU32, count: i32, scope: Scope) {
    // SAFETY: a wake reads nothing through the pointer; it names the word only.
    unsafe { libc::syscall(libc::SYS_futex, word.as_ptr(), libc::FUTEX_WAKE | scope.flag(), count) };
}
