//! Processors this process may run on, and giving one up.

/// Processors in the affinity mask of the calling thread, at least 1.
///
/// A cgroup quota is not looked at: it limits time, not places.
pub fn available() -> usize {
    match rustix::thread::sched_getaffinity(None) {
        Ok(set) => (set.count() as usize).max(1),
        // More than 1024 processors: the fixed-size mask is too small, the standard library asks differently.
        Err(_) => std::thread::available_parallelism().map_or(1, usize::from),
    }
}

/// The affinity mask of the calling thread, processor 0 in the lowest bit of the first word; all processors when the
/// system has more than 1024.
pub fn mask() -> [u64; 16] {
    let Ok(set) = rustix::thread::sched_getaffinity(None) else { return [u64::MAX; 16] };
    let mut words = [0u64; 16];
    for cpu in (0..1024).filter(|cpu| set.is_set(*cpu)) {
        words[cpu / 64] |= 1 << (cpu % 64);
    }
    words
}

/// Lets another runnable thread have this processor.
pub fn yield_now() {
    rustix::thread::sched_yield();
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn at_least_one_processor_is_available() {
        assert!(available() >= 1);
        yield_now();
    }
}
