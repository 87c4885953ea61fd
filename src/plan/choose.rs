//! Which algorithm runs: a cost model over the algorithms that can run at all.
//!
//! The constants were measured on a two-core x86-64 virtual machine (one-way cache line 0.2 µs, yield hand-over 1.1 µs, both
//! cores together 30 GB/s of reads and writes out of memory, 4-6 GB/s and 12 µs a hop over loopback TCP).
use crate::base::types::Collective;
use crate::channel::layout::OP_INLINE;
use crate::plan::Allowed;
use std::fmt;

#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Algorithm {
    /// Everybody reads everybody's input out of the operation slots.
    OneShot,
    /// Buffers are read and written in place, a slice per rank.
    TwoShot,
    /// Neighbour to neighbour, as messages.
    Ring,
    /// A message per pair of ranks.
    Pairwise,
}

impl Algorithm {
    pub const ALL: [Self; 4] = [Self::OneShot, Self::TwoShot, Self::Ring, Self::Pairwise];
}

/// What every rank knows about the communicator.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Shape {
    pub nranks: usize,
    /// All ranks share one host's memory region.
    pub one_region: bool,
    /// Every rank can read and write every other rank's buffers in place.
    pub direct: bool,
    /// Processors that the ranks of a host share.
    pub cores: usize,
}

/// Seconds and bytes per second of the model.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Costs {
    /// One hop between ranks that both run.
    pub hop: f64,
    /// Extra for each further rank that shares a core.
    pub switch: f64,
    /// One message through shared memory or a socket.
    pub message_shm: f64,
    pub message_net: f64,
    /// Bytes moved (read + written) per second by one core.
    pub memory: f64,
    /// Bytes per second of one connection.
    pub net: f64,
}

impl Default for Costs {
    fn default() -> Self {
        Self {
            hop: 0.3e-6,
            switch: 1.1e-6,
            message_shm: 0.4e-6,
            message_net: 12e-6,
            memory: 15e9,
            net: 3.5e9,
        }
    }
}

/// The choice rule of one communicator.
#[derive(Clone, Debug, Default)]
pub struct Choice {
    pub costs: Costs,
    /// Algorithms that the user allows.
    pub allowed: Allowed,
}

impl Choice {
    /// The cheapest algorithm for `bytes`: count × element size, as passed to the call.
    pub fn pick(&self, shape: &Shape, coll: Collective, bytes: usize) -> Algorithm {
        let able = |a: &Algorithm| runs(*a, shape, coll, bytes);
        let allowed = |a: &Algorithm| self.allowed.admits(coll, *a);
        let cheapest = |only_allowed: bool| {
            let candidates = Algorithm::ALL.into_iter().filter(able).filter(|a| !only_allowed || allowed(a));
            candidates.min_by(|a, b| {
                self.cost(*a, shape, coll, bytes).total_cmp(&self.cost(*b, shape, coll, bytes))
            })
        };
        // Nothing allowed can run: what can run at all (ring or pairwise always can).
        cheapest(true).or_else(|| cheapest(false)).unwrap_or(Algorithm::Pairwise)
    }

    /// Predicted seconds.
    pub fn cost(&self, algorithm: Algorithm, shape: &Shape, coll: Collective, bytes: usize) -> f64 {
        let c = &self.costs;
        let n = shape.nranks as f64;
        let crowd = (shape.nranks as f64 / shape.cores.max(1) as f64).max(1.0);
        let hop = c.hop + (crowd - 1.0) * c.switch;
        let s = bytes as f64;
        // Bytes read and written by one rank.
        let (one_shot, two_shot) = match coll {
            Collective::AllReduce => ((n + 3.0) * s, (n + 1.0) / n * s + s),
            Collective::Reduce => ((n + 3.0) * s / 2.0, (n + 1.0) / n * s),
            Collective::ReduceScatter => (2.0 * n * s + (n + 1.0) * s, (n + 1.0) * s),
            Collective::AllGather => (2.0 * s + 2.0 * n * s, 2.0 * n * s),
            Collective::AlltoAll => (4.0 * n * s, 2.0 * n * s),
            _ => (4.0 * s, 2.0 * s),
        };
        let (message, rate) = match shape.one_region {
            true => (c.message_shm + (crowd - 1.0) * c.switch, c.memory / 3.0 / crowd),
            false => (c.message_net + (crowd - 1.0) * c.switch, c.net),
        };
        let (rounds, sent) = match coll {
            Collective::AllReduce => (2.0 * (n - 1.0), 2.0 * (n - 1.0) / n * s),
            Collective::AllGather | Collective::ReduceScatter | Collective::AlltoAll => {
                (n - 1.0, (n - 1.0) * s)
            }
            _ => (n - 1.0, s),
        };
        match algorithm {
            Algorithm::OneShot => hop + one_shot * crowd / c.memory,
            Algorithm::TwoShot => 2.0 * hop + two_shot * crowd / c.memory,
            Algorithm::Ring | Algorithm::Pairwise => rounds * message + sent / rate,
        }
    }
}

impl fmt::Display for Algorithm {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::OneShot => "Flat/one-shot",
            Self::TwoShot => "Flat/two-shot",
            Self::Ring => "Ring",
            Self::Pairwise => "Pairwise",
        })
    }
}

/// Whether an algorithm exists for this collective, shape and size.
pub fn runs(algorithm: Algorithm, shape: &Shape, coll: Collective, bytes: usize) -> bool {
    let pairs_only = matches!(coll, Collective::AlltoAllv | Collective::Send | Collective::Recv);
    let personal = matches!(coll, Collective::AlltoAll | Collective::Gather | Collective::Scatter);
    // Everything that a rank lets others see.
    let published = match coll {
        Collective::ReduceScatter | Collective::AlltoAll | Collective::Scatter => {
            bytes.saturating_mul(shape.nranks)
        }
        _ => bytes,
    };
    match algorithm {
        Algorithm::OneShot => shape.one_region && !pairs_only && published <= OP_INLINE,
        Algorithm::TwoShot => shape.one_region && shape.direct && !pairs_only,
        Algorithm::Ring => !pairs_only && !personal,
        Algorithm::Pairwise => pairs_only || personal,
    }
}

/// The table that INFO prints: per collective, the sizes where the choice changes.
pub fn table(choice: &Choice, shape: &Shape) -> Vec<(Collective, Vec<(usize, Algorithm)>)> {
    let all = [
        Collective::AllReduce,
        Collective::Reduce,
        Collective::Broadcast,
        Collective::AllGather,
        Collective::ReduceScatter,
        Collective::AlltoAll,
        Collective::Gather,
        Collective::Scatter,
    ];
    let row = |coll| {
        let mut changes: Vec<(usize, Algorithm)> = Vec::new();
        for bits in 2..=32 {
            let picked = choice.pick(shape, coll, 1 << bits);
            if changes.last().is_none_or(|(_, last)| *last != picked) {
                changes.push((1 << bits, picked));
            }
        }
        (coll, changes)
    };
    all.into_iter().map(row).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    const LOCAL: Shape = Shape { nranks: 4, one_region: true, direct: true, cores: 2 };

    #[test]
    fn small_all_reduce_is_one_shot_and_large_is_two_shot() {
        let choice = Choice::default();
        assert_eq!(choice.pick(&LOCAL, Collective::AllReduce, 8), Algorithm::OneShot);
        assert_eq!(choice.pick(&LOCAL, Collective::AllReduce, 64 << 20), Algorithm::TwoShot);
    }

    #[test]
    fn without_a_common_region_only_messages_are_chosen() {
        let shape = Shape { one_region: false, direct: false, ..LOCAL };
        for (_, changes) in table(&Choice::default(), &shape) {
            assert!(changes.iter().all(|(_, a)| matches!(a, Algorithm::Ring | Algorithm::Pairwise)));
        }
    }

    #[test]
    fn a_forced_algorithm_wins_where_it_can_run() {
        let choice = Choice { allowed: vec![Algorithm::Ring].into(), ..Choice::default() };
        assert_eq!(choice.pick(&LOCAL, Collective::AllReduce, 8), Algorithm::Ring);
        assert_eq!(choice.pick(&LOCAL, Collective::AlltoAllv, 8), Algorithm::Pairwise);
    }

    #[test]
    fn something_runs_for_every_collective_and_size() {
        for coll in [Collective::Send, Collective::AlltoAllv, Collective::Gather, Collective::AllReduce] {
            for bytes in [0, 1, 1 << 14, usize::MAX] {
                let picked = Choice::default().pick(&LOCAL, coll, bytes);
                assert!(runs(picked, &LOCAL, coll, bytes), "{coll:?} {bytes}: {picked:?}");
            }
        }
    }
}
