//! Sleeping on, and waking sleepers of, a 32-bit word that may lie in memory shared between processes.
use std::io;
use std::sync::atomic::AtomicU32;
use std::time::Duration;

use rustix::event::Timespec;
use rustix::thread::futex;

/// How a wait ended. None of them promises that the word changed: look again.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Woken {
    /// Another thread called [`wake`], or a signal came.
    Wake,
    /// The word did not hold the expected value any more.
    Changed,
    TimedOut,
}

/// Sleeps while `*word == expected`, for at most `timeout`.
pub fn wait(word: &AtomicU32, expected: u32, timeout: Duration) -> io::Result<Woken> {
    let limit = Timespec { tv_sec: timeout.as_secs() as i64, tv_nsec: timeout.subsec_nanos() as i64 };
    match futex::wait(word, futex::Flags::empty(), expected, Some(&limit)) {
        Ok(()) | Err(rustix::io::Errno::INTR) => Ok(Woken::Wake),
        Err(rustix::io::Errno::AGAIN) => Ok(Woken::Changed),
        Err(rustix::io::Errno::TIMEDOUT) => Ok(Woken::TimedOut),
        Err(error) => Err(error.into()),
    }
}

/// Wakes at most `count` sleepers of `word`, in any process. Returns how many woke.
pub fn wake(word: &AtomicU32, count: u32) -> io::Result<usize> {
    Ok(futex::wake(word, futex::Flags::empty(), count.min(i32::MAX as u32))?)
}

/// Wakes every sleeper of `word`.
pub fn wake_all(word: &AtomicU32) -> io::Result<usize> {
    wake(word, i32::MAX as u32)
}

#[cfg(test)]
mod tests {
    use std::sync::atomic::Ordering;

    use super::*;
    use crate::sys::SharedMap;

    #[test]
    fn a_wait_on_another_value_returns_at_once() {
        let word = AtomicU32::new(1);
        assert_eq!(wait(&word, 0, Duration::from_secs(60)).unwrap(), Woken::Changed);
    }

    #[test]
    fn a_wait_without_wake_ends_by_its_time_out() {
        let word = AtomicU32::new(0);
        assert_eq!(wait(&word, 0, Duration::from_millis(5)).unwrap(), Woken::TimedOut);
    }

    #[test]
    fn a_wake_reaches_a_sleeper_through_another_mapping_of_the_page() {
        let map = SharedMap::create("futex-test", 4096).unwrap();
        let other = SharedMap::from_fd(map.fd().try_clone_to_owned().unwrap(), 4096).unwrap();
        // SAFETY: both mappings are page aligned, live to the end of the test, and only used as an atomic.
        let (here, there) =
            unsafe { (&*map.as_ptr().cast::<AtomicU32>(), &*other.as_ptr().cast::<AtomicU32>()) };
        std::thread::scope(|scope| {
            scope.spawn(|| {
                while there.load(Ordering::Acquire) == 0 {
                    wait(there, 0, Duration::from_secs(10)).unwrap();
                }
            });
            std::thread::sleep(Duration::from_millis(10));
            here.store(1, Ordering::Release);
            wake_all(here).unwrap();
        });
    }
}
