//! The collectives that are measured: their counts, bandwidths and what else differs between the programs.

pub mod issue;
pub mod layout;
pub mod traffic;

use traffic::Traffic;

/// A measured operation; each program has one.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Collective {
    AllReduce,
    AllGather,
    ReduceScatter,
    Broadcast,
    Reduce,
    AllToAll,
    AllToAllV,
    Gather,
    Scatter,
    SendRecv,
    HyperCube,
}

impl Collective {
    /// The name of the program that measures it.
    pub const fn program(self) -> &'static str {
        match self {
            Self::AllReduce => "all_reduce_perf",
            Self::AllGather => "all_gather_perf",
            Self::ReduceScatter => "reduce_scatter_perf",
            Self::Broadcast => "broadcast_perf",
            Self::Reduce => "reduce_perf",
            Self::AllToAll => "alltoall_perf",
            Self::AllToAllV => "alltoallv_perf",
            Self::Gather => "gather_perf",
            Self::Scatter => "scatter_perf",
            Self::SendRecv => "sendrecv_perf",
            Self::HyperCube => "hypercube_perf",
        }
    }

    /// What the program does, for its help.
    pub const fn about(self) -> &'static str {
        match self {
            Self::AllReduce => "Measures and checks AllReduce",
            Self::AllGather => "Measures and checks AllGather",
            Self::ReduceScatter => "Measures and checks ReduceScatter",
            Self::Broadcast => "Measures and checks Broadcast",
            Self::Reduce => "Measures and checks Reduce",
            Self::AllToAll => "Measures and checks AlltoAll",
            Self::AllToAllV => "Measures and checks AllToAllv",
            Self::Gather => "Measures and checks Gather",
            Self::Scatter => "Measures and checks Scatter",
            Self::SendRecv => "Measures and checks Send and Recv around a ring",
            Self::HyperCube => "Measures and checks an all-gather of Send and Recv over a hypercube (a power of two ranks)",
        }
    }

    /// Whether it reduces, so that `-o` applies.
    pub const fn reduces(self) -> bool {
        matches!(self, Self::AllReduce | Self::ReduceScatter | Self::Reduce)
    }

    /// Whether it has a root, so that `-r` applies.
    pub const fn has_root(self) -> bool {
        matches!(self, Self::Broadcast | Self::Reduce | Self::Gather | Self::Scatter)
    }

    /// Whether send and receive buffer may be one.
    pub const fn has_in_place(self) -> bool {
        !matches!(self, Self::AllToAll | Self::AllToAllV | Self::SendRecv)
    }
}

/// Elements of one operation on one rank.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Counts {
    pub send: usize,
    pub recv: usize,
    /// The count argument of the call.
    pub param: usize,
    /// In place, rank r sends from `r * send_in_place` in the receive buffer …
    pub send_in_place: usize,
    /// … and finds its result at `r * recv_in_place`.
    pub recv_in_place: usize,
}

/// A collective among a number of ranks.
#[derive(Clone, Debug, PartialEq)]
pub struct Plan {
    pub collective: Collective,
    pub nranks: usize,
    /// Who sends how much to whom; used by `AllToAllV` only.
    pub traffic: Traffic,
}

impl Plan {
    /// Counts for `count` elements of `size` bytes in all. Per-rank parts are rounded down to 16 bytes.
    pub fn counts(&self, count: usize, size: usize) -> Counts {
        let n = self.nranks;
        let part = (count / n) & !(16 / size - 1);
        let all = part * n;
        match self.collective {
            Collective::AllReduce | Collective::Broadcast | Collective::Reduce | Collective::SendRecv => {
                Counts { send: count, recv: count, param: count, ..Counts::default() }
            }
            Collective::AllGather | Collective::Gather | Collective::HyperCube => {
                Counts { send: part, recv: all, param: part, send_in_place: part, recv_in_place: 0 }
            }
            Collective::ReduceScatter | Collective::Scatter => {
                Counts { send: all, recv: part, param: part, send_in_place: 0, recv_in_place: part }
            }
            Collective::AllToAll => Counts { send: all, recv: all, param: part, ..Counts::default() },
            Collective::AllToAllV => {
                let param = if self.traffic.is_matrix() { 0 } else { part };
                let (send, recv) = self.traffic.largest(n, param * n * size, size);
                Counts { send, recv, param, ..Counts::default() }
            }
        }
    }

    /// Algorithm and bus bandwidth in GB/s of an operation with count argument `param` that took `seconds`.
    pub fn bandwidth(&self, param: usize, size: usize, seconds: f64) -> (f64, f64) {
        let n = self.nranks as f64;
        let unit = (param * size) as f64;
        let (bytes, factor) = match self.collective {
            Collective::AllReduce => (unit, 2.0 * (n - 1.0) / n),
            Collective::Broadcast | Collective::Reduce | Collective::SendRecv => (unit, 1.0),
            Collective::HyperCube => (unit * (n - 1.0), 1.0),
            Collective::AllToAllV => {
                let (send, recv) = self.traffic.largest(self.nranks, param * self.nranks * size, size);
                ((send.max(recv) * size) as f64, (n - 1.0) / n)
            }
            Collective::AllGather
            | Collective::ReduceScatter
            | Collective::AllToAll
            | Collective::Gather
            | Collective::Scatter => (unit * n, (n - 1.0) / n),
        };
        let algbw = bytes / 1e9 / seconds;
        (algbw, algbw * factor)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn plan(collective: Collective, nranks: usize) -> Plan {
        Plan { collective, nranks, traffic: Traffic::default() }
    }

    #[test]
    fn parts_are_rounded_down_to_sixteen_bytes() {
        let counts = |size: usize, bytes: usize| plan(Collective::AllGather, 4).counts(bytes / size, size);
        assert_eq!(counts(4, 8).send, 0);
        assert_eq!(counts(4, 64), Counts { send: 4, recv: 16, param: 4, send_in_place: 4, recv_in_place: 0 });
        assert_eq!(counts(1, 127).send, 16);
        assert_eq!(counts(8, 128).send, 4);
        assert_eq!(counts(2, 100).send, 8);
    }

    #[test]
    fn whole_message_collectives_keep_their_count() {
        for collective in [Collective::AllReduce, Collective::Broadcast, Collective::Reduce, Collective::SendRecv] {
            let counts = plan(collective, 3).counts(7, 4);
            assert_eq!((counts.send, counts.recv, counts.param), (7, 7, 7));
        }
    }

    #[test]
    fn no_buffer_needs_more_than_the_size_asked_for() {
        for collective in [
            Collective::AllReduce,
            Collective::AllGather,
            Collective::ReduceScatter,
            Collective::Reduce,
            Collective::AllToAll,
            Collective::AllToAllV,
            Collective::Gather,
            Collective::Scatter,
            Collective::HyperCube,
        ] {
            for nranks in 1..10 {
                for size in [1, 2, 4, 8] {
                    for count in [0, 1, 15, 100, 4097] {
                        let plan = plan(collective, nranks);
                        let c = plan.counts(count, size);
                        assert!(c.send <= count && c.recv <= count, "{collective:?} {nranks} {size} {count}");
                        let last = nranks - 1;
                        assert!(last * c.send_in_place + c.send <= count);
                        assert!(last * c.recv_in_place + c.recv <= count);
                    }
                }
            }
        }
    }

    #[test]
    fn bandwidth_factors_follow_the_number_of_ranks() {
        let check = |collective, n: usize, alg: f64, bus: f64| {
            let (a, b) = plan(collective, n).bandwidth(1, 4, 4e-9);
            assert!((a - alg).abs() < 1e-9 && (b - bus).abs() < 1e-9, "{collective:?} {n}: {a} {b}");
        };
        check(Collective::AllReduce, 4, 1.0, 1.5);
        check(Collective::AllReduce, 1, 1.0, 0.0);
        check(Collective::AllGather, 4, 4.0, 3.0);
        check(Collective::ReduceScatter, 2, 2.0, 1.0);
        check(Collective::AllToAll, 8, 8.0, 7.0);
        check(Collective::Gather, 1, 1.0, 0.0);
        check(Collective::Broadcast, 8, 1.0, 1.0);
        check(Collective::Reduce, 8, 1.0, 1.0);
        check(Collective::SendRecv, 8, 1.0, 1.0);
        check(Collective::HyperCube, 8, 7.0, 7.0);
    }
}
