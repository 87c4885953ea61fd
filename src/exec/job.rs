//! What a task has to do: operations bound to buffers, and how far each of their lanes has come.
use std::sync::Arc;

use smallvec::SmallVec;

use crate::algo::{Block, Buf, Lane};
use crate::base::types::{Collective, DataType, Rank, RedOp, ReduceFn, Scalar};
use crate::device::reduce::{Reduction, reciprocal};
use crate::plan::Plan;

/// The factor of this rank's input.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Scale {
    None,
    Value(Scalar),
    /// Read at execution from host-accessible device memory.
    At(*const u8),
}

/// One operation with its plan and buffers.
#[derive(Clone)]
pub struct BoundOp {
    pub coll: Collective,
    pub dtype: DataType,
    /// Elements as passed to the call.
    pub count: usize,
    /// Root of a rooted collective, the peer of a send or receive, else 0.
    pub root: Rank,
    pub nranks: usize,
    pub plan: Arc<Plan>,
    pub input: *const u8,
    pub output: *mut u8,
    pub reduction: Reduction,
    pub scale: Scale,
    /// Number of the reduction in signatures.
    pub op_code: u8,
}

// SAFETY: the pointers are the caller's buffers, which by the contract of the API stay valid, and are used by the library
// alone, until the operation is complete; a task that moves to another thread takes that right along.
unsafe impl Send for BoundOp {}

impl BoundOp {
    pub fn elem(&self) -> usize {
        self.dtype.size()
    }

    /// Start, in bytes, and length, in elements, of a block.
    pub fn block(&self, block: Block) -> (usize, usize) {
        let geometry = match block.buf {
            Buf::Input => &self.plan.input,
            Buf::Output => &self.plan.output,
        };
        let (start, len) = geometry.block(block.index as usize);
        (start * self.elem(), len)
    }

    /// The address of a block of this rank, `skip` elements in.
    pub fn at(&self, block: Block, skip: usize) -> *mut u8 {
        let base = match block.buf {
            Buf::Input => self.input.cast_mut(),
            Buf::Output => self.output,
        };
        base.wrapping_add(self.block(block).0 + skip * self.elem())
    }

    /// Factor to apply when this rank's input is read; moving operations have none.
    pub fn own_scale(&self) -> Option<Scalar> {
        match self.scale {
            Scale::None => None,
            Scale::Value(s) => Some(s),
            Scale::At(ptr) => {
                let mut bits = [0u8; 8];
                // SAFETY: the creator of the operation promised a scalar of this type in host-accessible memory that
                // lives until the operation is complete.
                unsafe { std::ptr::copy_nonoverlapping(ptr, bits.as_mut_ptr(), self.elem()) };
                Some(Scalar(u64::from_le_bytes(bits)))
            }
        }
    }

    /// Collective, type, reduction and root in one word, equal on all ranks of a correct program.
    pub fn signature(&self) -> u64 {
        let root = match self.coll {
            Collective::Send | Collective::Recv => 0,
            _ => self.root as u64,
        };
        (self.coll as u64) << 56 | (self.dtype as u64) << 48 | (self.op_code as u64) << 40 | root
    }
}

/// The reduction and the factor that implement an operation as the caller named it.
pub fn reduction(op: Option<RedOp>, dtype: DataType, nranks: usize) -> (Reduction, Scale, u8) {
    let plain = |func| (Reduction { dtype, func, post_divide: None }, Scale::None);
    let (code, (reduction, scale)) = match op {
        None | Some(RedOp::Sum) => (0, plain(ReduceFn::Sum)),
        Some(RedOp::Prod) => (1, plain(ReduceFn::Prod)),
        Some(RedOp::Max) => (2, plain(ReduceFn::Max)),
        Some(RedOp::Min) => (3, plain(ReduceFn::Min)),
        Some(RedOp::Avg) if dtype.is_float() => {
            (4, (plain(ReduceFn::Sum).0, Scale::Value(reciprocal(dtype, nranks))))
        }
        Some(RedOp::Avg) => {
            let post_divide = Some(nranks as u32);
            (4, (Reduction { dtype, func: ReduceFn::Sum, post_divide }, Scale::None))
        }
        Some(RedOp::PreMulSum(scalar)) => (5, (plain(ReduceFn::Sum).0, Scale::Value(scalar))),
        Some(RedOp::PreMulSumAt(at)) => (5, (plain(ReduceFn::Sum).0, Scale::At(at as *const u8))),
    };
    (reduction, scale, code)
}

/// How far a lane has come.
#[derive(Clone, Debug)]
pub struct LaneState {
    /// Index of the operation.
    pub op: usize,
    /// Index of the lane in that operation's program.
    pub lane: usize,
    pub pc: usize,
    /// Piece of the blocks that messages move now, and how many pieces there are.
    pub piece: usize,
    pub pieces: usize,
    /// Elements of one piece.
    pub piece_len: usize,
    /// Peers that the current wait has seen.
    pub seen: usize,
    /// The current send handed out the buffer itself and waits for the peer to have read it.
    pub lent: bool,
}

/// Operations in stages: all lanes of a stage run side by side, stages run in order.
#[derive(Clone, Default)]
pub struct Job {
    pub ops: SmallVec<[BoundOp; 1]>,
    pub lanes: SmallVec<[LaneState; 1]>,
    /// Per stage, the end of its lanes.
    pub stages: SmallVec<[usize; 1]>,
    /// The stage in progress.
    pub stage: usize,
}

impl Job {
    /// Adds an operation's lanes to the stage that is being built.
    pub fn push(&mut self, op: BoundOp, piece_bytes: usize) {
        let index = self.ops.len();
        for lane in 0..op.plan.program.lanes.len() {
            self.lanes.push(LaneState::new(&op, index, lane, piece_bytes));
        }
        self.ops.push(op);
    }

    /// Ends the stage that is being built; what is pushed later runs after it.
    pub fn end_stage(&mut self) {
        if self.lanes.len() > self.stages.last().copied().unwrap_or(0) {
            self.stages.push(self.lanes.len());
        }
    }

    pub fn is_empty(&self) -> bool {
        self.ops.is_empty()
    }

    /// The first operation that is not finished, for messages.
    pub fn current(&self) -> Option<&BoundOp> {
        let lane = self.lanes.get(self.stage_start())?;
        self.ops.get(lane.op)
    }

    pub fn stage_start(&self) -> usize {
        self.stage.checked_sub(1).map_or(0, |s| self.stages[s])
    }
}

impl LaneState {
    fn new(op: &BoundOp, index: usize, lane: usize, piece_bytes: usize) -> Self {
        let steps: &Lane = &op.plan.program.lanes[lane];
        let largest =
            || steps.steps.iter().flat_map(|s| s.blocks()).map(|b| op.block(b).1).max().unwrap_or(0);
        let (piece_len, pieces) = match steps.messages {
            true => {
                let piece_len = (piece_bytes / op.elem()).max(1);
                (piece_len, largest().div_ceil(piece_len).max(1))
            }
            false => (usize::MAX, 1),
        };
        Self { op: index, lane, pc: 0, piece: 0, pieces, piece_len, seen: 0, lent: false }
    }

    pub fn finished(&self) -> bool {
        self.piece >= self.pieces
    }
}
