//! From an operation's shape to what runs: algorithm, program and geometry. Pure: the plan depends only on data that
//! every rank has, so all ranks of a communicator choose alike without talking.
#![forbid(unsafe_code)]

pub mod allowed;
pub mod choose;
pub mod geometry;

pub use allowed::Allowed;
pub use choose::{Algorithm, Choice, Costs, Shape};
pub use geometry::Geometry;

use std::collections::HashMap;
use std::sync::Arc;

use crate::algo::{Program, flat, pairwise, ring};
use crate::base::types::{Collective, Protocol, Rank};

/// Programs of one rank of one communicator, made once each.
pub struct Planner {
    me: Rank,
    shape: Shape,
    choice: Choice,
    /// Ring order: ranks of a host stand together.
    order: Vec<Rank>,
    made: HashMap<(Collective, Algorithm, Rank), Arc<Program>>,
    /// The plan last made for each hash of a call: programs repeat the same few calls.
    recent: [Option<(Call, Arc<Plan>)>; RECENT],
}

const RECENT: usize = 64;

/// What a plan depends on.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Call {
    coll: Collective,
    root: Rank,
    count: usize,
    size: usize,
}

impl Call {
    fn place(&self) -> usize {
        let mixed = (self.count as u64)
            .wrapping_mul(0x9e37_79b9_7f4a_7c15)
            .wrapping_add((self.coll as u64) << 40 ^ (self.root as u64) << 8 ^ self.size as u64)
            .wrapping_mul(0xff51_afd7_ed55_8ccd);
        (mixed >> 56) as usize % RECENT
    }
}

/// What runs for one operation.
#[derive(Clone, Debug)]
pub struct Plan {
    pub algorithm: Algorithm,
    /// How its messages travel through shared memory; of no effect on other connections.
    pub protocol: Protocol,
    pub program: Arc<Program>,
    pub input: Geometry,
    pub output: Geometry,
}

impl Planner {
    pub fn new(me: Rank, shape: Shape, choice: Choice, order: Vec<Rank>) -> Self {
        Self { me, shape, choice, order, made: HashMap::new(), recent: [const { None }; RECENT] }
    }

    pub fn shape(&self) -> &Shape {
        &self.shape
    }

    pub fn choice(&self) -> &Choice {
        &self.choice
    }

    /// The plan of a collective of `count` elements (as passed to the call) of `size` bytes each.
    pub fn plan(&mut self, coll: Collective, root: Rank, count: usize, size: usize) -> Arc<Plan> {
        let call = Call { coll, root, count, size };
        let place = call.place();
        if let Some((known, plan)) = &self.recent[place]
            && *known == call
        {
            return Arc::clone(plan);
        }
        let plan = Arc::new(self.make(call));
        self.recent[place] = Some((call, Arc::clone(&plan)));
        plan
    }

    fn make(&mut self, Call { coll, root, count, size }: Call) -> Plan {
        let n = self.shape.nranks;
        let algorithm = self.choice.pick(&self.shape, coll, count.saturating_mul(size));
        let program = self.program(coll, algorithm, root);
        let (input, output) = match algorithm {
            Algorithm::OneShot => flat::splits(coll, true),
            Algorithm::TwoShot => flat::splits(coll, false),
            Algorithm::Ring => ring::splits(coll),
            Algorithm::Pairwise => pairwise::splits(coll),
        };
        let geometry = |split| Geometry::new(split, count, n, size);
        Plan {
            algorithm,
            protocol: Protocol::Simple,
            program,
            input: geometry(input),
            output: geometry(output),
        }
    }

    fn program(&mut self, coll: Collective, algorithm: Algorithm, root: Rank) -> Arc<Program> {
        let (me, n) = (self.me, self.shape.nranks);
        let order = &self.order;
        let made = self.made.entry((coll, algorithm, root)).or_insert_with(|| {
            let program = match algorithm {
                Algorithm::OneShot => flat::program(coll, me, n, root, true),
                Algorithm::TwoShot => flat::program(coll, me, n, root, false),
                Algorithm::Ring => ring::program(coll, order, me, root),
                Algorithm::Pairwise => pairwise::program(coll, me, n, root),
            };
            Arc::new(program.unwrap_or_else(|| unreachable!("{algorithm:?} is never chosen for {coll:?}")))
        });
        Arc::clone(made)
    }
}
