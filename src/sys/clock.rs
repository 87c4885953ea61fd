//! The monotonic clock in nanoseconds, read without a system call.
use std::mem::MaybeUninit;

/// Nanoseconds since boot, suspension excluded; comparable between processes of one host.
pub fn now_ns() -> u64 {
    let mut now = MaybeUninit::<libc::timespec>::uninit();
    // SAFETY: the kernel (or its vdso) fills the timespec we own; CLOCK_MONOTONIC always exists on Linux.
    let now = unsafe {
        libc::clock_gettime(libc::CLOCK_MONOTONIC, now.as_mut_ptr());
        now.assume_init()
    };
    now.tv_sec as u64 * 1_000_000_000 + now.tv_nsec as u64
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_clock_advances_with_sleep() {
        let before = now_ns();
        std::thread::sleep(std::time::Duration::from_millis(2));
        assert!(now_ns() - before >= 2_000_000);
    }
}
