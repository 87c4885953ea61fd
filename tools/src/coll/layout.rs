//! What each buffer holds before an operation and must hold after it, as a list of segments.

use super::{Collective, Counts, Plan};
use crate::pattern::Source;

/// `count` elements at element `at` of a buffer.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Segment {
    pub at: usize,
    pub count: usize,
    pub source: Source,
}

/// Where one operation of one rank reads and writes.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Layout {
    /// Segments of the buffer that is sent (in place: counted from the start of the receive buffer).
    pub input: Vec<Segment>,
    /// Element of the receive buffer where the checked part begins.
    pub result_at: usize,
    /// The checked part: `Counts::recv` elements from `result_at` on. The rest of the receive buffer was zeroed.
    pub expected: Vec<Segment>,
}

/// One rank's place in an operation.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Place {
    pub rank: usize,
    pub root: usize,
    pub in_place: bool,
    /// Bytes of one element.
    pub size: usize,
}

impl Plan {
    /// The layout of an operation with these counts for the rank at `place`.
    pub fn layout(&self, counts: &Counts, place: Place) -> Layout {
        let sends = self.collective != Collective::Broadcast && self.collective != Collective::Scatter;
        let at = if place.in_place { place.rank * counts.send_in_place } else { 0 };
        let send = if self.collective == Collective::AllToAllV {
            self.traffic.vectors(place.rank, self.nranks, self.total(counts, place), place.size).send.iter().sum()
        } else {
            counts.send
        };
        let mut input = Vec::new();
        if sends || place.rank == place.root {
            input.push(Segment { at, count: send, source: Source::Input { rank: place.rank, start: 0 } });
        }
        let result_at = if place.in_place { place.rank * counts.recv_in_place } else { 0 };
        let mut expected = self.expected(counts, place, &input);
        expected.retain(|s| s.count > 0);
        Layout { input, result_at, expected }
    }

    fn expected(&self, counts: &Counts, place: Place, input: &[Segment]) -> Vec<Segment> {
        let (n, rank, part) = (self.nranks, place.rank, counts.param);
        let one = |source| vec![Segment { at: 0, count: counts.recv, source }];
        let from_each = |start: usize| {
            let segment = move |i: usize| Segment { at: i * part, count: part, source: Source::Input { rank: i, start } };
            (0..n).map(segment).collect::<Vec<_>>()
        };
        match self.collective {
            Collective::AllReduce => one(Source::Reduced { start: 0 }),
            Collective::ReduceScatter => one(Source::Reduced { start: rank * part }),
            Collective::Reduce if rank == place.root => one(Source::Reduced { start: 0 }),
            Collective::Broadcast => one(Source::Input { rank: place.root, start: 0 }),
            Collective::Scatter => one(Source::Input { rank: place.root, start: rank * part }),
            Collective::SendRecv => one(Source::Input { rank: (rank + n - 1) % n, start: 0 }),
            Collective::AllGather | Collective::HyperCube => from_each(0),
            Collective::Gather if rank == place.root => from_each(0),
            Collective::AllToAll => from_each(rank * part),
            Collective::AllToAllV => self.expected_v(counts, place),
            Collective::Reduce | Collective::Gather => untouched(counts, place, input),
        }
    }

    fn expected_v(&self, counts: &Counts, place: Place) -> Vec<Segment> {
        let total = self.total(counts, place);
        let mine = self.traffic.vectors(place.rank, self.nranks, total, place.size);
        let mut segments: Vec<Segment> = (0..self.nranks)
            .map(|peer| {
                // Row `peer` of the displacement matrix says where the peer keeps what it sends here.
                let start = mine.send_displs[peer * self.nranks + place.rank];
                let source = Source::Input { rank: peer, start };
                Segment { at: mine.recv_displs[peer], count: mine.recv[peer], source }
            })
            .collect();
        let end = mine.recv.iter().sum::<usize>();
        segments.push(Segment { at: end, count: counts.recv - end, source: Source::Zero });
        segments
    }

    /// Bytes that a rank sends in all under a generated pattern.
    pub fn total(&self, counts: &Counts, place: Place) -> usize {
        counts.param * self.nranks * place.size
    }
}

/// The receive buffer of a rank that receives nothing: its own input where it lies in place, zeros elsewhere.
fn untouched(counts: &Counts, place: Place, input: &[Segment]) -> Vec<Segment> {
    let zeros = |at: usize, end: usize| Segment { at, count: end - at, source: Source::Zero };
    match input.first().filter(|_| place.in_place) {
        Some(own) => vec![zeros(0, own.at), *own, zeros(own.at + own.count, counts.recv)],
        None => vec![zeros(0, counts.recv)],
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::coll::traffic::Traffic;

    const ALL: [Collective; 11] = [
        Collective::AllReduce,
        Collective::AllGather,
        Collective::ReduceScatter,
        Collective::Broadcast,
        Collective::Reduce,
        Collective::AllToAll,
        Collective::AllToAllV,
        Collective::Gather,
        Collective::Scatter,
        Collective::SendRecv,
        Collective::HyperCube,
    ];

    fn each(mut f: impl FnMut(&Plan, &Counts, Place)) {
        for collective in ALL {
            for nranks in 1..6 {
                let plan = Plan { collective, nranks, traffic: Traffic::Spread(0.5) };
                let counts = plan.counts(1000, 4);
                for rank in 0..nranks {
                    for in_place in [false, true] {
                        if !in_place || collective.has_in_place() {
                            f(&plan, &counts, Place { rank, root: nranks - 1, in_place, size: 4 });
                        }
                    }
                }
            }
        }
    }

    #[test]
    fn expected_segments_cover_the_result_once_and_in_order() {
        each(|plan, counts, place| {
            let layout = plan.layout(counts, place);
            let mut at = 0;
            for segment in &layout.expected {
                assert_eq!(segment.at, at, "{plan:?} {place:?}");
                at += segment.count;
            }
            assert_eq!(at, counts.recv, "{plan:?} {place:?}");
        });
    }

    #[test]
    fn expected_inputs_were_really_sent() {
        each(|plan, counts, place| {
            for segment in plan.layout(counts, place).expected {
                let Source::Input { rank, start } = segment.source else { continue };
                let sent = plan.layout(counts, Place { rank, ..place }).input;
                let count: usize = sent.iter().map(|s| s.count).sum();
                assert!(start + segment.count <= count, "{plan:?} {place:?} {segment:?}");
            }
        });
    }

    #[test]
    fn a_gather_leaves_other_ranks_alone() {
        let plan = Plan { collective: Collective::Gather, nranks: 3, traffic: Traffic::default() };
        let counts = plan.counts(12, 4);
        let place = Place { rank: 1, root: 0, in_place: true, size: 4 };
        let sources: Vec<Source> = plan.layout(&counts, place).expected.iter().map(|s| s.source).collect();
        assert_eq!(sources, [Source::Zero, Source::Input { rank: 1, start: 0 }, Source::Zero]);
    }

    #[test]
    fn only_the_root_has_something_to_broadcast() {
        let plan = Plan { collective: Collective::Broadcast, nranks: 2, traffic: Traffic::default() };
        let counts = plan.counts(8, 4);
        let place = Place { rank: 0, root: 1, in_place: false, size: 4 };
        assert!(plan.layout(&counts, place).input.is_empty());
        assert_eq!(plan.layout(&counts, Place { rank: 1, ..place }).input.len(), 1);
    }
}
