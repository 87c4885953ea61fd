//! Algorithms as data: pure functions from (collective, rank, nranks, root) to a [`Program`].
//!
//! A program speaks of peers, and of blocks of the caller's input and output; it knows no bytes, devices or time. One
//! interpreter (`exec`) runs every program over every transport; another, thirty lines long (in [`model`]), proves each
//! algorithm for every rank count.
#![forbid(unsafe_code)]

pub mod flat;
pub mod model;
pub mod pairwise;
pub mod ring;

use crate::base::types::Rank;

/// The caller's two buffers.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Buf {
    Input,
    Output,
}

/// A block of a buffer. How many elements block b has, and where it starts, is the plan's business.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Block {
    pub buf: Buf,
    pub index: u32,
}

pub const fn input(index: usize) -> Block {
    Block { buf: Buf::Input, index: index as u32 }
}

pub const fn output(index: usize) -> Block {
    Block { buf: Buf::Output, index: index as u32 }
}

/// Which ranks a step is about.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Peers {
    All,
    One(Rank),
}

/// One step of one rank. "⊕" is the reduction; reading a block of an input applies the rank's factor, if the operation
/// has one; the last reduction of a block is marked `last` (integer averages divide there).
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Step {
    // Messages. Each moves one piece of a block.
    /// Send `src`.
    Send { to: Rank, src: Block },
    /// `dst` = received.
    Recv { from: Rank, dst: Block },
    /// Send (received ⊕ `src`).
    RecvReduceSend { from: Rank, to: Rank, src: Block },
    /// `dst` = received ⊕ `src`; the last reduction.
    RecvReduceCopy { from: Rank, src: Block, dst: Block },
    /// `dst` = received ⊕ `src`, the last reduction; send `dst`.
    RecvReduceCopySend { from: Rank, to: Rank, src: Block, dst: Block },
    /// `dst` = received; send it on.
    RecvCopySend { from: Rank, to: Rank, dst: Block },

    // Local.
    /// `dst` = `src` of this rank; the whole reduction when there is one rank.
    Copy { src: Block, dst: Block },

    // Direct access to peers' memory.
    /// Let peers see the operation and this rank's buffers.
    Publish,
    /// Wait until these ranks have published.
    WaitPublished(Peers),
    /// `dst` of the target ranks = ⊕ over all ranks' `src`, in rank order; the last reduction.
    ReduceAll { src: Block, dst: Block, to: Peers },
    /// `dst` of this rank = `src` of `from`.
    Pull { from: Rank, src: Block, dst: Block },
    /// Tell peers that this rank no longer uses their buffers.
    Finish,
    /// Wait until these ranks have finished.
    WaitFinished(Peers),
}

impl Step {
    /// Whether the step sends or receives a message, which carries one piece of a block.
    pub const fn is_message(&self) -> bool {
        use Step::{Recv, RecvCopySend, RecvReduceCopy, RecvReduceCopySend, RecvReduceSend, Send};
        matches!(
            self,
            Send { .. }
                | Recv { .. }
                | RecvReduceSend { .. }
                | RecvReduceCopy { .. }
                | RecvReduceCopySend { .. }
                | RecvCopySend { .. }
        )
    }

    /// The blocks of this rank that the step reads or writes.
    pub fn blocks(&self) -> impl Iterator<Item = Block> {
        let (a, b) = match *self {
            Step::Send { src, .. } | Step::RecvReduceSend { src, .. } => (Some(src), None),
            Step::Recv { dst, .. } | Step::RecvCopySend { dst, .. } | Step::Pull { dst, .. } => {
                (None, Some(dst))
            }
            Step::RecvReduceCopy { src, dst, .. }
            | Step::RecvReduceCopySend { src, dst, .. }
            | Step::Copy { src, dst }
            | Step::ReduceAll { src, dst, .. } => (Some(src), Some(dst)),
            Step::Publish | Step::WaitPublished(_) | Step::Finish | Step::WaitFinished(_) => (None, None),
        };
        a.into_iter().chain(b)
    }
}

/// Steps that run in order. A lane of messages runs all its steps once per piece of the blocks.
#[derive(Clone, Debug, PartialEq, Eq, Default)]
pub struct Lane {
    pub steps: Vec<Step>,
    pub messages: bool,
}

impl Lane {
    pub fn new(steps: Vec<Step>) -> Self {
        let messages = steps.iter().any(Step::is_message);
        Self { steps, messages }
    }
}

/// What one rank does. Lanes run independently of each other; the program ends when all have.
#[derive(Clone, Debug, PartialEq, Eq, Default)]
pub struct Program {
    pub lanes: Vec<Lane>,
}

impl Program {
    pub fn one_lane(steps: Vec<Step>) -> Self {
        Self { lanes: vec![Lane::new(steps)] }
    }
}

/// How a block number maps to elements, for one of the buffers.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Split {
    /// One block with everything.
    Whole,
    /// Blocks of equal count, one per rank, as the collective defines them.
    PerRank,
    /// The elements cut into one slice per rank, sizes differing by at most one grain.
    Sliced,
}
