//! The reference interpreter: runs the programs of all ranks over symbolic blocks, and checks a collective's definition.
//!
//! A value is the multiset of (rank, element) contributions that a block piece holds, so a lost, doubled or misplaced
//! contribution shows, for any reduction.
use super::{Block, Buf, Peers, Program, Split, Step};
use crate::base::types::{Collective, Rank};
use std::collections::{BTreeMap, HashMap, VecDeque};

/// Contributions: (rank, element index in that rank's input) → how many times.
type Value = BTreeMap<(Rank, usize), u32>;

/// Panics with the place if the programs deadlock, leave messages behind, or compute anything but `coll`.
pub fn prove(coll: Collective, n: usize, root: Rank, splits: (Split, Split), programs: &[Program]) {
    let mut world = World::new(n, splits, programs);
    while world.round() {}
    world.check_finished(coll);
    world.check_results(coll, root);
}

struct RankState<'a> {
    program: &'a Program,
    pc: Vec<usize>,
    output: HashMap<u32, Value>,
    published: bool,
    finished: bool,
}

struct World<'a> {
    n: usize,
    splits: (Split, Split),
    ranks: Vec<RankState<'a>>,
    wires: HashMap<(Rank, Rank), VecDeque<Value>>,
}

impl<'a> World<'a> {
    fn new(n: usize, splits: (Split, Split), programs: &'a [Program]) -> Self {
        let ranks = programs
            .iter()
            .map(|program| RankState {
                program,
                pc: vec![0; program.lanes.len()],
                output: HashMap::new(),
                published: false,
                finished: false,
            })
            .collect();
        Self { n, splits, ranks, wires: HashMap::new() }
    }

    /// One step of every lane of every rank that can make one; false when none could.
    fn round(&mut self) -> bool {
        let mut moved = false;
        for me in 0..self.n {
            for lane in 0..self.ranks[me].pc.len() {
                let pc = self.ranks[me].pc[lane];
                let Some(step) = self.ranks[me].program.lanes[lane].steps.get(pc).copied() else { continue };
                if self.step(me, step) {
                    self.ranks[me].pc[lane] += 1;
                    moved = true;
                }
            }
        }
        moved
    }

    fn step(&mut self, me: Rank, step: Step) -> bool {
        match step {
            Step::Send { to, src } => {
                let value = self.read(me, src);
                self.wire(me, to).push_back(value);
            }
            Step::Recv { from, dst } => {
                let Some(got) = self.wire(from, me).pop_front() else { return false };
                self.write(me, dst, got);
            }
            Step::RecvReduceSend { from, to, src } => {
                let Some(got) = self.wire(from, me).pop_front() else { return false };
                let sum = add(got, &self.read(me, src));
                self.wire(me, to).push_back(sum);
            }
            Step::RecvReduceCopy { from, src, dst } => {
                let Some(got) = self.wire(from, me).pop_front() else { return false };
                let sum = add(got, &self.read(me, src));
                self.write(me, dst, sum);
            }
            Step::RecvReduceCopySend { from, to, src, dst } => {
                let Some(got) = self.wire(from, me).pop_front() else { return false };
                let sum = add(got, &self.read(me, src));
                self.write(me, dst, sum.clone());
                self.wire(me, to).push_back(sum);
            }
            Step::RecvCopySend { from, to, dst } => {
                let Some(got) = self.wire(from, me).pop_front() else { return false };
                self.write(me, dst, got.clone());
                self.wire(me, to).push_back(got);
            }
            Step::Copy { src, dst } => {
                let value = self.read(me, src);
                self.write(me, dst, value);
            }
            direct => return self.direct_step(me, direct),
        }
        true
    }

    fn direct_step(&mut self, me: Rank, step: Step) -> bool {
        match step {
            Step::Publish => self.ranks[me].published = true,
            Step::Finish => self.ranks[me].finished = true,
            Step::WaitPublished(who) => return self.each(who).all(|q| self.ranks[q].published),
            Step::WaitFinished(who) => return self.each(who).all(|q| self.ranks[q].finished),
            Step::ReduceAll { src, dst, to } => {
                let sum = (0..self.n).fold(Value::new(), |sum, q| add(sum, &self.open(q, src)));
                for q in self.each(to).collect::<Vec<_>>() {
                    self.write(q, dst, sum.clone());
                }
            }
            Step::Pull { from, src, dst } => {
                let value = self.open(from, src);
                self.write(me, dst, value);
            }
            other => unreachable!("{other:?} is a message step"),
        }
        true
    }

    fn each(&self, who: Peers) -> impl Iterator<Item = Rank> + use<> {
        match who {
            Peers::All => 0..self.n,
            Peers::One(q) => q..q + 1,
        }
    }

    fn wire(&mut self, from: Rank, to: Rank) -> &mut VecDeque<Value> {
        assert_ne!(from, to, "a rank sends itself a message");
        self.wires.entry((from, to)).or_default()
    }

    /// A block of a peer, which must have published it.
    fn open(&self, q: Rank, block: Block) -> Value {
        assert!(self.ranks[q].published, "rank {q} is read before it has published");
        self.read(q, block)
    }

    fn read(&self, q: Rank, block: Block) -> Value {
        match block.buf {
            Buf::Input => BTreeMap::from([((q, self.element(self.splits.0, block.index)), 1)]),
            Buf::Output => {
                self.ranks[q].output.get(&block.index).cloned().expect("output is read before it is written")
            }
        }
    }

    fn write(&mut self, q: Rank, block: Block, value: Value) {
        assert_eq!(block.buf, Buf::Output, "an input is written");
        self.ranks[q].output.insert(block.index, value);
    }

    /// The element that stands for a block.
    fn element(&self, split: Split, block: u32) -> usize {
        assert!(
            (block as usize) < if split == Split::Whole { 1 } else { self.n },
            "block {block} is out of range"
        );
        block as usize
    }

    fn check_finished(&self, coll: Collective) {
        for (me, rank) in self.ranks.iter().enumerate() {
            for (lane, pc) in rank.pc.iter().enumerate() {
                let steps = &rank.program.lanes[lane].steps;
                assert_eq!(
                    *pc,
                    steps.len(),
                    "{coll:?} n={}: rank {me} is stuck at {:?}",
                    self.n,
                    steps.get(*pc)
                );
            }
        }
        assert!(self.wires.values().all(VecDeque::is_empty), "{coll:?} n={}: messages left behind", self.n);
    }

    fn check_results(&self, coll: Collective, root: Rank) {
        let everyone = |element: usize| (0..self.n).map(|q| ((q, element), 1)).collect::<Value>();
        let one = |q: Rank, element: usize| BTreeMap::from([((q, element), 1)]);
        let blocks = |split| if split == Split::Whole { 1 } else { self.n };
        for (me, rank) in self.ranks.iter().enumerate() {
            for b in 0..blocks(self.splits.1) {
                let want = match coll {
                    Collective::AllReduce => everyone(b),
                    Collective::Reduce if me == root => everyone(b),
                    Collective::ReduceScatter => everyone(me),
                    Collective::AllGather => one(b, 0),
                    Collective::AlltoAll => one(b, me),
                    Collective::Gather if me == root => one(b, 0),
                    Collective::Broadcast => one(root, 0),
                    Collective::Scatter => one(root, me),
                    _ => continue,
                };
                assert_eq!(
                    rank.output.get(&(b as u32)),
                    Some(&want),
                    "{coll:?} n={}: rank {me} block {b}",
                    self.n
                );
            }
        }
    }
}

fn add(mut a: Value, b: &Value) -> Value {
    for (k, v) in b {
        *a.entry(*k).or_default() += v;
    }
    a
}
