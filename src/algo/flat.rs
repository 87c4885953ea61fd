//! Flat algorithms: every rank reads every other rank's memory itself. One or two hops whatever the rank count.
//!
//! *One-shot*: everybody publishes its whole input and computes what it needs from everybody's. Small operations, where inputs
//! travel inside the operation slots and nobody has to wait at the end.
//! *Two-shot*: each rank reduces one slice out of all inputs into all outputs. Each input is read once, each output
//! written once; buffers are used in place, so there is a second meeting at the end.
//!
//! Reductions run in rank order: same bits on every rank and in every run.
use super::{Block, Peers, Program, Split, Step, input, output};
use crate::base::types::{Collective, Rank};

/// How a flat program cuts the input and the output.
pub fn splits(coll: Collective, one_shot: bool) -> (Split, Split) {
    match coll {
        Collective::AllReduce | Collective::Reduce if one_shot => (Split::Whole, Split::Whole),
        Collective::AllReduce | Collective::Reduce => (Split::Sliced, Split::Sliced),
        Collective::ReduceScatter => (Split::PerRank, Split::Whole),
        Collective::AllGather | Collective::Gather => (Split::Whole, Split::PerRank),
        Collective::Scatter => (Split::PerRank, Split::Whole),
        Collective::AlltoAll | Collective::AlltoAllv => (Split::PerRank, Split::PerRank),
        Collective::Broadcast | Collective::Send | Collective::Recv => (Split::Whole, Split::Whole),
    }
}

/// The program of `me` among `n` ranks. With `inline`, inputs are copied into the operation slots at publication, so buffers are
/// free again as soon as the rank itself is done.
pub fn program(coll: Collective, me: Rank, n: usize, root: Rank, inline: bool) -> Option<Program> {
    let mut steps = vec![Step::Publish];
    let work = match coll {
        Collective::AllReduce if inline => reduce(Peers::All, input(0), output(0), Peers::One(me)),
        Collective::AllReduce => reduce(Peers::All, input(me), output(me), Peers::All),
        Collective::Reduce if inline && me != root => vec![],
        Collective::Reduce if inline => reduce(Peers::All, input(0), output(0), Peers::One(me)),
        Collective::Reduce => reduce(Peers::All, input(me), output(me), Peers::One(root)),
        Collective::ReduceScatter => reduce(Peers::All, input(me), output(0), Peers::One(me)),
        Collective::AllGather => from_each(me, n, |q| (input(0), output(q))),
        Collective::AlltoAll => from_each(me, n, |q| (input(me), output(q))),
        Collective::Gather if me == root => from_each(me, n, |q| (input(0), output(q))),
        Collective::Gather => vec![],
        Collective::Broadcast => from_root(me, root, input(0)),
        Collective::Scatter => from_root(me, root, input(me)),
        Collective::AlltoAllv | Collective::Send | Collective::Recv => return None,
    };
    steps.extend(work);
    steps.push(Step::Finish);
    if !inline {
        steps.extend(wait_for_readers(coll, me, root));
    }
    Some(Program::one_lane(steps))
}

fn reduce(wait: Peers, src: Block, dst: Block, to: Peers) -> Vec<Step> {
    vec![Step::WaitPublished(wait), Step::ReduceAll { src, dst, to }]
}

/// Own block first, then the peers starting with the next higher rank, so that not all read the same one at once.
fn from_each(me: Rank, n: usize, blocks: impl Fn(Rank) -> (Block, Block)) -> Vec<Step> {
    let (src, dst) = blocks(me);
    let mut steps = vec![Step::Copy { src, dst }];
    for q in (1..n).map(|k| (me + k) % n) {
        let (src, dst) = blocks(q);
        steps.push(Step::WaitPublished(Peers::One(q)));
        steps.push(Step::Pull { from: q, src, dst });
    }
    steps
}

fn from_root(me: Rank, root: Rank, src: Block) -> Vec<Step> {
    let dst = output(0);
    if me == root {
        return vec![Step::Copy { src, dst }];
    }
    vec![Step::WaitPublished(Peers::One(root)), Step::Pull { from: root, src, dst }]
}

/// Who still uses this rank's buffers after its own work: everyone who may read its input or write its output.
fn wait_for_readers(coll: Collective, me: Rank, root: Rank) -> Option<Step> {
    match coll {
        Collective::Broadcast | Collective::Scatter if me != root => None,
        Collective::Gather if me == root => None,
        Collective::Gather => Some(Step::WaitFinished(Peers::One(root))),
        _ => Some(Step::WaitFinished(Peers::All)),
    }
}

#[cfg(test)]
mod tests {
    use super::super::model::prove;
    use super::*;

    #[test]
    fn every_flat_program_is_right_for_every_rank_count() {
        let all = [
            Collective::AllReduce,
            Collective::Reduce,
            Collective::ReduceScatter,
            Collective::AllGather,
            Collective::AlltoAll,
            Collective::Gather,
            Collective::Scatter,
            Collective::Broadcast,
        ];
        for coll in all {
            for inline in [false, true] {
                for n in 1..=33 {
                    for root in [0, n / 2, n - 1] {
                        let programs: Vec<_> =
                            (0..n).map(|me| program(coll, me, n, root, inline).unwrap()).collect();
                        prove(coll, n, root, splits(coll, inline), &programs);
                    }
                }
            }
        }
    }
}
