//! The threads of this process and, through the first of them, the other processes: barriers and shared figures.

use std::sync::{Arc, Barrier, Mutex};

use crate::error::Result;
use crate::launch::World;

type Rows = Arc<Vec<Vec<f64>>>;

/// The meeting point of all threads of all processes. A thread that fails ends the process, so nobody waits for it.
pub struct Team<'w> {
    world: &'w World,
    threads: usize,
    barrier: Barrier,
    mine: Mutex<Vec<Vec<f64>>>,
    all: Mutex<Rows>,
}

impl<'w> Team<'w> {
    pub fn new(world: &'w World, threads: usize) -> Self {
        let mine = Mutex::new(vec![Vec::new(); threads]);
        Self { world, threads, barrier: Barrier::new(threads), mine, all: Mutex::default() }
    }

    /// Returns when every thread of every process has called it.
    pub fn barrier(&self, thread: usize) -> Result<()> {
        self.meet();
        if thread == 0 {
            self.world.barrier()?;
        }
        self.meet();
        Ok(())
    }

    /// The figures of every thread of every process, a row each, in rank order; all give as many.
    pub fn share(&self, thread: usize, figures: &[f64]) -> Result<Rows> {
        lock(&self.mine)[thread] = figures.to_vec();
        self.meet();
        if thread == 0 {
            let mine = lock(&self.mine).concat();
            let all = self.world.all_gather_numbers(&mine)?;
            let rows = all.iter().flat_map(|process| process.chunks(figures.len().max(1)).map(<[f64]>::to_vec));
            *lock(&self.all) = Arc::new(rows.collect());
        }
        self.meet();
        Ok(Arc::clone(&lock(&self.all)))
    }

    /// One figure of all, combined.
    pub fn combine(&self, thread: usize, figure: f64, how: Combine) -> Result<f64> {
        let rows = self.share(thread, &[figure])?;
        Ok(how.of(rows.iter().flatten().copied()))
    }

    fn meet(&self) {
        if self.threads > 1 {
            self.barrier.wait();
        }
    }
}

/// How figures of many ranks become one.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Combine {
    First,
    Mean,
    Min,
    Max,
    Sum,
}

impl Combine {
    /// The meaning of the values of `-a`.
    pub fn average(option: usize) -> Self {
        [Self::First, Self::Mean, Self::Min, Self::Max][option.min(3)]
    }

    /// Of at least one figure.
    pub fn of(self, figures: impl Iterator<Item = f64>) -> f64 {
        let figures: Vec<f64> = figures.collect();
        let sum: f64 = figures.iter().sum();
        match self {
            Self::First => figures[0],
            Self::Mean => sum / figures.len() as f64,
            Self::Min => figures.iter().copied().fold(f64::INFINITY, f64::min),
            Self::Max => figures.iter().copied().fold(f64::NEG_INFINITY, f64::max),
            Self::Sum => sum,
        }
    }
}

fn lock<T>(mutex: &Mutex<T>) -> std::sync::MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(|poisoned| poisoned.into_inner())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn threads_share_their_figures_in_order() {
        let world = World::alone();
        let team = Team::new(&world, 3);
        std::thread::scope(|scope| {
            for thread in 0..3 {
                let team = &team;
                scope.spawn(move || {
                    for round in 0..50 {
                        let base = f64::from(round);
                        let rows = team.share(thread, &[base + thread as f64, -1.0]).unwrap();
                        assert_eq!(*rows, [[base, -1.0], [base + 1.0, -1.0], [base + 2.0, -1.0]]);
                        team.barrier(thread).unwrap();
                    }
                });
            }
        });
    }

    #[test]
    fn figures_combine_as_option_a_says() {
        let of = |option| Combine::average(option).of([3.0, 1.0, 5.0].into_iter());
        assert_eq!((of(0), of(1), of(2), of(3)), (3.0, 3.0, 1.0, 5.0));
        assert_eq!(Combine::Sum.of([1.0, 2.0].into_iter()), 3.0);
    }
}
