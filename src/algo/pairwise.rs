//! Personal exchanges over messages: a lane per peer and direction, so that no peer waits for another.
use super::{Block, Lane, Program, Split, Step, input, output};
use crate::base::types::{Collective, Rank};

/// How a pairwise program cuts the input and the output.
pub fn splits(coll: Collective) -> (Split, Split) {
    super::flat::splits(coll, false)
}

/// The program of `me` among `n` ranks. In round k a rank sends to `me + k` and receives from `me - k`.
pub fn program(coll: Collective, me: Rank, n: usize, root: Rank) -> Option<Program> {
    let mut lanes = Vec::new();
    let mut lane = |step: Step| lanes.push(Lane::new(vec![step]));
    let peers = |k: usize| ((me + k) % n, (me + n - k) % n);
    match coll {
        Collective::AlltoAll | Collective::AlltoAllv => {
            lane(Step::Copy { src: input(me), dst: output(me) });
            for (to, from) in (1..n).map(peers) {
                lane(Step::Send { to, src: input(to) });
                lane(Step::Recv { from, dst: output(from) });
            }
        }
        Collective::Gather if me == root => {
            lane(Step::Copy { src: input(0), dst: output(me) });
            (1..n).map(peers).for_each(|(_, from)| lane(Step::Recv { from, dst: output(from) }));
        }
        Collective::Gather => lane(Step::Send { to: root, src: input(0) }),
        Collective::Scatter if me == root => {
            lane(Step::Copy { src: input(me), dst: output(0) });
            (1..n).map(peers).for_each(|(to, _)| lane(Step::Send { to, src: input(to) }));
        }
        Collective::Scatter => lane(Step::Recv { from: root, dst: output(0) }),
        _ => return None,
    }
    Some(Program { lanes })
}

/// One block sent to one peer.
pub fn send(to: Rank) -> Step {
    Step::Send { to, src: WHOLE_IN }
}

/// One block received from one peer.
pub fn recv(from: Rank) -> Step {
    Step::Recv { from, dst: WHOLE_OUT }
}

const WHOLE_IN: Block = input(0);
const WHOLE_OUT: Block = output(0);

#[cfg(test)]
mod tests {
    use super::super::model::prove;
    use super::*;

    #[test]
    fn every_pairwise_program_is_right_for_every_rank_count() {
        for coll in [Collective::AlltoAll, Collective::Gather, Collective::Scatter] {
            for n in 1..=33 {
                for root in [0, n / 2, n - 1] {
                    let programs: Vec<_> = (0..n).map(|me| program(coll, me, n, root).unwrap()).collect();
                    prove(coll, n, root, splits(coll), &programs);
                }
            }
        }
    }
}
