//! One operation with everything that may vary, and where each element of its outputs comes from.
use proptest::prelude::{Just, Strategy, any, prop_oneof};

use crate::value::{DType, Data, Expected};

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Coll {
    AllReduce,
    Reduce,
    Broadcast,
    Bcast,
    AllGather,
    ReduceScatter,
    AlltoAll,
    AllToAllv,
    Gather,
    Scatter,
    SendRecv,
}

const COLLS: [Coll; 11] = [
    Coll::AllReduce,
    Coll::Reduce,
    Coll::Broadcast,
    Coll::Bcast,
    Coll::AllGather,
    Coll::ReduceScatter,
    Coll::AlltoAll,
    Coll::AllToAllv,
    Coll::Gather,
    Coll::Scatter,
    Coll::SendRecv,
];

/// Where buffers lie.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Memory {
    Device,
    /// The program's own, from its allocator.
    Plain,
    /// From mcclMemAlloc.
    Library,
}

#[derive(Clone, Copy, Debug)]
pub struct Case {
    pub coll: Coll,
    pub dtype: DType,
    pub op: u8,
    /// The count argument; for AllToAllv the most that one rank sends another.
    pub count: usize,
    pub in_place: bool,
    pub root: usize,
    pub memory: Memory,
    /// Bytes by which buffers are off their alignment.
    pub skew: usize,
    /// One thread calls all ranks of its process in a group; else each has a thread.
    pub grouped: bool,
    pub seed: u64,
    pub ranks: usize,
}

/// Cases for a number of ranks.
pub fn cases(ranks: usize) -> impl Strategy<Value = Case> {
    let what = (proptest::sample::select(COLLS.to_vec()), 0u8..12, 0u8..5, any::<bool>(), 0..ranks);
    let memory = proptest::sample::select(vec![Memory::Device, Memory::Plain, Memory::Library]);
    let skew = prop_oneof![3 => Just(0usize), 1 => 1usize..16];
    let how = (memory, skew, any::<bool>(), any::<u64>());
    (what, how, any::<u64>()).prop_flat_map(move |(what, how, seed)| {
        let (coll, dtype, op, in_place, root) = what;
        let (memory, skew, grouped, _) = how;
        counts(ranks, DType(dtype)).prop_map(move |count| {
            let dtype = DType(dtype);
            Case { coll, dtype, op, count, in_place, root, memory, skew, grouped, seed, ranks }
        })
    })
}

/// Nothing, one, odd, prime, around powers of two, and now and then more than a mebibyte.
fn counts(ranks: usize, dtype: DType) -> impl Strategy<Value = usize> {
    let large = ((1 << 20) + 4096) / dtype.size();
    prop_oneof![
        2 => Just(0usize),
        2 => Just(1usize),
        6 => (0usize..600).prop_map(|n| 2 * n + 1),
        4 => proptest::sample::select(vec![2usize, 3, 7, 127, 251, 1021, 4093, 16381, 65521]),
        4 => (0u32..15, 0usize..3).prop_map(|(power, off)| ((1usize << power) + off).saturating_sub(1)),
        1 => (0usize..1000).prop_map(move |n| large / (ranks.div_ceil(4)) + n),
    ]
}

/// Where an element of an output comes from.
enum From {
    /// The reduction of all ranks' elements of this index.
    All(usize),
    /// One rank's element.
    One(usize, usize),
    /// It is not written.
    Nothing,
}

impl Case {
    pub fn data(&self) -> Data {
        let reduces = matches!(self.coll, Coll::AllReduce | Coll::Reduce | Coll::ReduceScatter);
        Data { dtype: self.dtype, op: reduces.then_some(self.op), ranks: self.ranks, seed: self.seed }
    }

    /// Elements of a rank's input.
    pub fn input_len(&self, rank: usize) -> usize {
        match self.coll {
            Coll::ReduceScatter | Coll::AlltoAll => self.count * self.ranks,
            Coll::Scatter if rank == self.root => self.count * self.ranks,
            Coll::Broadcast | Coll::Bcast | Coll::Scatter if rank != self.root => 0,
            Coll::AllToAllv => self.send_at(rank, self.ranks),
            _ => self.count,
        }
    }

    /// Elements of a rank's output.
    pub fn output_len(&self, rank: usize) -> usize {
        match self.coll {
            Coll::AllGather | Coll::AlltoAll => self.count * self.ranks,
            Coll::Gather if rank == self.root => self.count * self.ranks,
            Coll::Reduce | Coll::Gather if rank != self.root => 0,
            Coll::AllToAllv => self.recv_at(rank, self.ranks),
            _ => self.count,
        }
    }

    /// In place: elements from the output's beginning to the input's (negative: the input begins first). None: apart.
    pub fn overlap(&self, rank: usize) -> Option<isize> {
        let block = (self.count * rank) as isize;
        match self.coll {
            Coll::Bcast => Some(0),
            _ if !self.in_place => None,
            Coll::AllReduce | Coll::Broadcast => Some(0),
            Coll::AllGather => Some(block),
            Coll::ReduceScatter => Some(-block),
            Coll::Reduce if rank == self.root => Some(0),
            Coll::Gather if rank == self.root => Some(block),
            Coll::Scatter if rank == self.root => Some(-block),
            _ => None,
        }
    }

    /// What an element of a rank's output must be; None: as it was.
    pub fn expected(&self, rank: usize, index: usize) -> Option<Expected> {
        let data = self.data();
        match self.from(rank, index) {
            From::All(at) => Some(data.reduced(at)),
            From::One(of, at) => Some(Expected::Bits(data.element(of, at))),
            From::Nothing => None,
        }
    }

    fn from(&self, rank: usize, index: usize) -> From {
        let count = self.count.max(1);
        match self.coll {
            Coll::AllReduce | Coll::Reduce => From::All(index),
            Coll::ReduceScatter => From::All(rank * count + index),
            Coll::Broadcast | Coll::Bcast => From::One(self.root, index),
            Coll::AllGather | Coll::Gather => From::One(index / count, index % count),
            Coll::AlltoAll => From::One(index / count, rank * count + index % count),
            Coll::Scatter => From::One(self.root, rank * count + index),
            Coll::SendRecv => From::One((rank + self.ranks - 1) % self.ranks, index),
            Coll::AllToAllv => {
                let sender = (0..self.ranks).rev().find(|&r| self.recv_at(rank, r) <= index).unwrap_or(0);
                let within = index - self.recv_at(rank, sender);
                match within < self.pair(sender, rank) {
                    true => From::One(sender, self.send_at(sender, rank) + within),
                    false => From::Nothing,
                }
            }
        }
    }

    /// AllToAllv: what rank `a` sends rank `b`.
    pub fn pair(&self, a: usize, b: usize) -> usize {
        let noise = self.seed.wrapping_mul((a * 31 + b * 7 + 1) as u64) >> 17;
        match noise % 4 {
            0 => 0,
            _ => noise as usize % (self.count + 1),
        }
    }

    /// AllToAllv: where rank `a`'s elements for rank `b` begin. There is a gap behind each part.
    pub fn send_at(&self, a: usize, b: usize) -> usize {
        (0..b).map(|k| self.pair(a, k) + 1).sum()
    }

    /// AllToAllv: where rank `b` puts what comes from rank `a`.
    pub fn recv_at(&self, b: usize, a: usize) -> usize {
        (0..a).map(|k| self.pair(k, b) + 2).sum()
    }
}
