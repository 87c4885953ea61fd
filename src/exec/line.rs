//! The order of calls among tasks that take their turns only when their streams come to them.
//!
//! On a runtime whose graph launches the library does not see, a turn cannot be given out at the call: an earlier launch
//! on the same stream takes its turn when it runs, and would wait for the later call behind it. So a call takes a
//! place in this line, and its turn when its stream has come to it and all earlier calls have theirs.
use std::collections::VecDeque;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

/// Places given out, first come first.
#[derive(Default)]
pub struct Line(Mutex<Inner>);

#[derive(Default)]
struct Inner {
    waiting: VecDeque<u64>,
    next: u64,
}

/// A place in the line; left by dropping it.
pub struct Place {
    line: Arc<Line>,
    number: u64,
}

impl Line {
    pub fn join(self: &Arc<Self>) -> Place {
        let mut inner = self.lock();
        let number = inner.next;
        inner.next += 1;
        inner.waiting.push_back(number);
        Place { line: Arc::clone(self), number }
    }

    /// Nobody waits.
    pub fn is_empty(&self) -> bool {
        self.lock().waiting.is_empty()
    }

    fn lock(&self) -> MutexGuard<'_, Inner> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Place {
    /// All who came earlier have left.
    pub fn is_first(&self) -> bool {
        self.line.lock().waiting.front() == Some(&self.number)
    }
}

impl Drop for Place {
    fn drop(&mut self) {
        let mut inner = self.line.lock();
        inner.waiting.retain(|number| *number != self.number);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_first_to_come_is_first_whoever_leaves_in_between() {
        let line = Arc::new(Line::default());
        let (first, second, third) = (line.join(), line.join(), line.join());
        assert!(first.is_first() && !second.is_first());
        drop(second);
        assert!(!third.is_first());
        drop(first);
        assert!(third.is_first() && !line.is_empty());
        drop(third);
        assert!(line.is_empty());
    }
}
