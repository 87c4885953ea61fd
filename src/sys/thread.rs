//! Threads of the library inside somebody else's program.
use std::io;
use std::mem::MaybeUninit;
use std::thread::{Builder, JoinHandle};

/// Starts a thread that receives no signals: the program's handlers run on the program's own threads, and a signal that
/// the program blocks or waits for does not hit ours instead.
pub fn spawn(name: &str, body: impl FnOnce() + Send + 'static) -> io::Result<JoinHandle<()>> {
    let mut before = MaybeUninit::<libc::sigset_t>::uninit();
    let mut all = MaybeUninit::<libc::sigset_t>::uninit();
    // SAFETY: sigfillset initialises the set we own; pthread_sigmask reads it and stores this thread's mask into `before`.
    let failed = unsafe {
        libc::sigfillset(all.as_mut_ptr());
        libc::pthread_sigmask(libc::SIG_SETMASK, all.as_ptr(), before.as_mut_ptr())
    };
    if failed != 0 {
        return Err(io::Error::from_raw_os_error(failed));
    }
    // The new thread inherits the mask of this one.
    let spawned = Builder::new().name(name.to_string()).spawn(body);
    // SAFETY: `before` was stored by the successful call above.
    unsafe { libc::pthread_sigmask(libc::SIG_SETMASK, before.as_ptr(), std::ptr::null_mut()) };
    spawned
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The line of blocked signals in the calling thread's status.
    fn blocked() -> u64 {
        let status = std::fs::read_to_string("/proc/thread-self/status").unwrap();
        let line = status.lines().find_map(|line| line.strip_prefix("SigBlk:")).unwrap();
        u64::from_str_radix(line.trim(), 16).unwrap()
    }

    #[test]
    fn the_new_thread_blocks_signals_and_this_one_is_as_before() {
        let before = blocked();
        let (tell, told) = std::sync::mpsc::channel();
        spawn("mccl-test", move || tell.send(blocked()).unwrap()).unwrap().join().unwrap();
        let term = 1 << (libc::SIGTERM - 1);
        assert_eq!(told.recv().unwrap() & term, term);
        assert_eq!(blocked(), before);
    }
}
