//! Looks after the timed threads from outside, so that their loops need not: `-T`, and errors that communicators find on their own.

use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, Mutex, mpsc};
use std::time::{Duration, Instant};

use crate::error::Error;
use crate::local::LocalRank;
use crate::output::die;

const LOOK: Duration = Duration::from_millis(100);
/// Time for a thread to report an asynchronous error itself, in its own words.
const YIELD_TO_CALLER: Duration = Duration::from_millis(500);
const ABORT_LIMIT: Duration = Duration::from_secs(2);

/// What one thread waits for.
pub struct Watch {
    epoch: Instant,
    /// Milliseconds after `epoch`, plus one, at which the wait began; 0 when there is none.
    since: AtomicU64,
    what: Mutex<String>,
    ranks: Mutex<Vec<Arc<LocalRank>>>,
}

impl Watch {
    pub fn new() -> Self {
        Self { epoch: Instant::now(), since: AtomicU64::new(0), what: Mutex::default(), ranks: Mutex::default() }
    }

    /// The ranks whose communicators are asked for errors and aborted.
    pub fn set_ranks(&self, ranks: Vec<Arc<LocalRank>>) {
        *lock(&self.ranks) = ranks;
    }

    /// From now on the thread waits for `what`.
    pub fn begin(&self, what: impl FnOnce() -> String) {
        *lock(&self.what) = what();
        self.again();
    }

    /// The wait begins anew: something was completed.
    pub fn again(&self) {
        self.since.store(self.epoch.elapsed().as_millis() as u64 + 1, Ordering::Relaxed);
    }

    /// The thread waits for nothing.
    pub fn end(&self) {
        self.since.store(0, Ordering::Relaxed);
    }

    fn waited(&self) -> Option<Duration> {
        let since = self.since.load(Ordering::Relaxed).checked_sub(1)?;
        Some(self.epoch.elapsed().saturating_sub(Duration::from_millis(since)))
    }

    fn describe(&self) -> String {
        let ranks: Vec<String> = lock(&self.ranks).iter().map(|r| r.rank.to_string()).collect();
        format!("rank {} in {}", ranks.join(","), lock(&self.what))
    }

    fn async_error(&self) -> Option<Error> {
        lock(&self.ranks).iter().find_map(|rank| rank.comm.async_error().err())
    }
}

impl Default for Watch {
    fn default() -> Self {
        Self::new()
    }
}

/// Looks at `watches` until `stop` is set; ends the process when one has waited longer than `timeout` or a communicator has failed.
pub fn guard(watches: &[Watch], timeout: Option<Duration>, stop: &AtomicBool) {
    while !stop.load(Ordering::Acquire) {
        std::thread::park_timeout(LOOK);
        for watch in watches {
            if let Some(text) = overdue(watch, timeout) {
                abort_all(watches);
                die(&watch.describe(), &Error::failed(text));
            }
            if let Some(error) = watch.async_error().filter(|_| !stop.load(Ordering::Acquire)) {
                std::thread::sleep(YIELD_TO_CALLER);
                if !stop.load(Ordering::Acquire) {
                    abort_all(watches);
                    die(&watch.describe(), &error);
                }
            }
        }
    }
}

fn overdue(watch: &Watch, timeout: Option<Duration>) -> Option<String> {
    let timeout = timeout?;
    let waited = watch.waited().filter(|waited| *waited > timeout)?;
    Some(format!("Test timeout ({}s): waited {:.1} s (-T, --timeout)", timeout.as_secs(), waited.as_secs_f64()))
}

/// Aborts every communicator, as far as that comes back within a limit.
fn abort_all(watches: &[Watch]) {
    let ranks: Vec<Arc<LocalRank>> = watches.iter().flat_map(|w| lock(&w.ranks).clone()).collect();
    let (done, wait) = mpsc::channel();
    std::thread::spawn(move || {
        // The process ends with an error already; failures to abort add nothing.
        ranks.iter().for_each(|rank| drop(rank.comm.abort()));
        let _ = done.send(());
    });
    let _ = wait.recv_timeout(ABORT_LIMIT);
}

fn lock<T>(mutex: &Mutex<T>) -> std::sync::MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(|poisoned| poisoned.into_inner())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_a_wait_that_has_begun_can_be_overdue() {
        let watch = Watch::new();
        let limit = Some(Duration::from_millis(1));
        assert_eq!(overdue(&watch, limit), None);
        watch.begin(|| "all_reduce_perf float sum 8 B".to_string());
        std::thread::sleep(Duration::from_millis(5));
        assert!(overdue(&watch, limit).unwrap().contains("Test timeout"));
        assert_eq!(overdue(&watch, None), None);
        assert!(watch.describe().ends_with("in all_reduce_perf float sum 8 B"));
        watch.end();
        assert_eq!(overdue(&watch, limit), None);
    }
}
