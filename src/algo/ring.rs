//! Ring algorithms over messages: rank r receives from r-1 and sends to r+1. Bandwidth-optimal; 2(n-1) or n-1 hops.
//!
//! Broadcast and reduce are chains: the ring cut before or after the root.
use super::{Block, Program, Split, Step, input, output};
use crate::base::types::{Collective, Rank};

/// How a ring program cuts the input and the output.
pub fn splits(coll: Collective) -> (Split, Split) {
    match coll {
        Collective::AllReduce => (Split::Sliced, Split::Sliced),
        Collective::ReduceScatter => (Split::PerRank, Split::Whole),
        Collective::AllGather => (Split::Whole, Split::PerRank),
        _ => (Split::Whole, Split::Whole),
    }
}

/// The program of the rank at position `me` of a ring whose position p is held by rank `order[p]`.
pub fn program(coll: Collective, order: &[Rank], me: Rank, root: Rank) -> Option<Program> {
    let at = |rank| order.iter().position(|r| *r == rank);
    let ring = Ring { order, pos: at(me)?, n: order.len() };
    let steps = match coll {
        Collective::AllReduce => ring.all_reduce(),
        Collective::ReduceScatter => ring.reduce_scatter(),
        Collective::AllGather => ring.all_gather(),
        Collective::Broadcast => ring.broadcast(at(root)?),
        Collective::Reduce => ring.reduce(at(root)?),
        _ => return None,
    };
    Some(Program::one_lane(steps))
}

struct Ring<'a> {
    order: &'a [Rank],
    pos: usize,
    n: usize,
}

impl Ring<'_> {
    /// The rank `back` positions before this one.
    fn behind(&self, back: usize) -> Rank {
        self.order[(self.pos + self.n - back % self.n) % self.n]
    }

    fn prev(&self) -> Rank {
        self.behind(1)
    }

    fn next(&self) -> Rank {
        self.behind(self.n - 1)
    }

    fn all_reduce(&self) -> Vec<Step> {
        let (n, from, to) = (self.n, self.prev(), self.next());
        if n == 1 {
            return vec![Step::Copy { src: input(0), dst: output(0) }];
        }
        // Slice s starts at the rank after its owner and is complete when it reaches the owner.
        let slice = |back| self.behind(back);
        let mut steps = vec![Step::Send { to, src: input(slice(1)) }];
        for k in 2..n {
            steps.push(Step::RecvReduceSend { from, to, src: input(slice(k)) });
        }
        let own = slice(n);
        steps.push(Step::RecvReduceCopySend { from, to, src: input(own), dst: output(own) });
        for k in 1..n - 1 {
            steps.push(Step::RecvCopySend { from, to, dst: output(slice(k)) });
        }
        steps.push(Step::Recv { from, dst: output(slice(n - 1)) });
        steps
    }

    fn reduce_scatter(&self) -> Vec<Step> {
        let (n, from, to) = (self.n, self.prev(), self.next());
        let own = self.behind(0);
        if n == 1 {
            return vec![Step::Copy { src: input(0), dst: output(0) }];
        }
        let mut steps = vec![Step::Send { to, src: input(self.behind(1)) }];
        for k in 2..n {
            steps.push(Step::RecvReduceSend { from, to, src: input(self.behind(k)) });
        }
        steps.push(Step::RecvReduceCopy { from, src: input(own), dst: output(0) });
        steps
    }

    fn all_gather(&self) -> Vec<Step> {
        let (n, from, to) = (self.n, self.prev(), self.next());
        let own = self.behind(0);
        let mut steps = vec![Step::Copy { src: input(0), dst: output(own) }];
        if n == 1 {
            return steps;
        }
        steps.push(Step::Send { to, src: input(0) });
        for k in 1..n - 1 {
            steps.push(Step::RecvCopySend { from, to, dst: output(self.behind(k)) });
        }
        steps.push(Step::Recv { from, dst: output(self.behind(n - 1)) });
        steps
    }

    fn broadcast(&self, root: usize) -> Vec<Step> {
        let distance = (self.pos + self.n - root) % self.n;
        let (from, to) = (self.prev(), self.next());
        let copy = Step::Copy { src: input(0), dst: output(0) };
        match distance {
            0 if self.n == 1 => vec![copy],
            0 => vec![Step::Send { to, src: input(0) }, copy],
            d if d == self.n - 1 => vec![Step::Recv { from, dst: output(0) }],
            _ => vec![Step::RecvCopySend { from, to, dst: output(0) }],
        }
    }

    fn reduce(&self, root: usize) -> Vec<Step> {
        // The chain starts behind the root and ends in it.
        let distance = (self.pos + self.n - root) % self.n;
        let (from, to) = (self.prev(), self.next());
        let src: Block = input(0);
        match distance {
            0 if self.n == 1 => vec![Step::Copy { src, dst: output(0) }],
            0 => vec![Step::RecvReduceCopy { from, src, dst: output(0) }],
            1 => vec![Step::Send { to, src }],
            _ => vec![Step::RecvReduceSend { from, to, src }],
        }
    }
}

#[cfg(test)]
mod tests {
    use super::super::model::prove;
    use super::*;

    #[test]
    fn every_ring_program_is_right_for_every_rank_count_and_order() {
        let all = [
            Collective::AllReduce,
            Collective::ReduceScatter,
            Collective::AllGather,
            Collective::Broadcast,
            Collective::Reduce,
        ];
        for coll in all {
            for n in 1..=33 {
                let forward: Vec<Rank> = (0..n).collect();
                let mut shuffled = forward.clone();
                shuffled.sort_by_key(|r| (r * 7919 + 13) % 31);
                for order in [forward, shuffled] {
                    for root in [0, n / 2, n - 1] {
                        let programs: Vec<_> =
                            (0..n).map(|me| program(coll, &order, me, root).unwrap()).collect();
                        prove(coll, n, root, splits(coll), &programs);
                    }
                }
            }
        }
    }
}
