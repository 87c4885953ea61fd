//! Threads that end with the process, fork notice, yielding, processor count.

use std::io::Result;
use std::mem::MaybeUninit;

/// Starts a detached thread which receives no signals of the program.
pub fn spawn_detached(name: String, main: impl FnOnce() + Send + 'static) -> Result<()> {
    let mut all = MaybeUninit::<libc::sigset_t>::uninit();
    let mut old = MaybeUninit::<libc::sigset_t>::uninit();
    // SAFETY: `sigfillset` initialises `all`, `pthread_sigmask` initialises `old`; both live on this frame.
    unsafe {
        libc::sigfillset(all.as_mut_ptr());
        libc::pthread_sigmask(libc::SIG_SETMASK, all.as_ptr(), old.as_mut_ptr());
    }
    let result = std::thread::Builder::new().name(name).spawn(main);
    // SAFETY: `old` was filled above.
    unsafe { libc::pthread_sigmask(libc::SIG_SETMASK, old.as_ptr(), std::ptr::null_mut()) };
    result.map(drop)
}

/// Calls `child` in every forked child from now on.
pub fn on_fork_in_child(child: extern "C" fn()) {
    // SAFETY: the handler is a function of this library, which is never unloaded, and it only stores an atomic.
    unsafe { libc::pthread_atfork(None, None, Some(child)) };
}

/// Lets timed sleeps of this thread end within a microsecond of their time.
pub fn precise_sleep() {
    // SAFETY: affects the calling thread alone.
    unsafe { libc::prctl(libc::PR_SET_TIMERSLACK, 1000usize, 0usize, 0usize, 0usize) };
}

/// Gives the processor to another runnable thread.
pub fn yield_now() {
    std::thread::yield_now();
}

/// Processors that this process may use.
pub fn processors() -> usize {
    std::thread::available_parallelism().map_or(1, usize::from)
}
