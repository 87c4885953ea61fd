//! Steps that use peers' memory in place, meeting through the operation slots.
use smallvec::SmallVec;

use crate::algo::{Block, Buf, Peers, Step};
use crate::base::Result;
use crate::base::types::{Collective, DataType, Rank, Scalar};
use crate::channel::slots::{Record, Slots};
use crate::device::reduce::{self, Input};
use crate::exec::access::Access;
use crate::exec::engine::Engine;
use crate::exec::job::{BoundOp, LaneState};
use crate::exec::machine::Outcome;
use crate::plan::Algorithm;
use crate::{bail, err};

/// Bytes per input that are fetched at a time from a process whose memory is not mapped; they stay in the cache.
const FETCH_BYTES: usize = 64 << 10;

fn slots(engine: &mut Engine) -> Result<&mut Slots> {
    engine.slots.as_mut().ok_or_else(|| err!(Internal, "direct access without a common host"))
}

/// Lets peers see this operation: its signature, and its input either inline or as a place to read.
pub fn publish(engine: &mut Engine, op: &mut BoundOp) -> Result<Outcome> {
    if slots(engine)?.ready_to_publish().is_err() {
        return Ok(Outcome::Waiting);
    }
    let inline = op.plan.algorithm == Algorithm::OneShot;
    let scale = op.own_scale().map_or(0, |s| s.0);
    let (signature, count) = (op.signature(), stamped(op.count, engine.history));
    let mut record = Record { signature, count, scale, ..Record::default() };
    let payload = inline.then(|| (op.input, op.plan.input.extent(op.nranks) * op.elem()));
    if !inline {
        record.input = engine.place(op.input);
        record.output = engine.place(op.output);
    }
    let reads_input = !matches!(op.coll, Collective::Broadcast | Collective::Scatter) || op.root == engine.me;
    let payload = payload.filter(|_| reads_input);
    // SAFETY: the caller's input is readable for the extent of its blocks (API contract), and the buffers stay untouched
    // until the operation is complete, which is after every reader has finished.
    unsafe { slots(engine)?.publish(&record, payload) };
    engine.published = (signature, count);
    engine.history = remember(engine.history, signature, op.count);
    engine.rang = true;
    Ok(Outcome::Done)
}

/// The count with a digest of all earlier calls above it. Ranks that need nothing from each other in one call (the others
/// of a broadcast) find out in the next that they had made different ones.
fn stamped(count: usize, history: u16) -> u64 {
    count as u64 & COUNT | u64::from(history) << COUNT_BITS
}

fn remember(history: u16, signature: u64, count: usize) -> u16 {
    let mixed = (signature ^ (count as u64).rotate_left(17) ^ u64::from(history).rotate_left(40))
        .wrapping_mul(0x9e37_79b9_7f4a_7c15);
    (mixed >> 48) as u16
}

const COUNT_BITS: u32 = 48;
const COUNT: u64 = (1 << COUNT_BITS) - 1;

/// Waits until peers have published, and checks that they made the same call.
pub fn wait_published(
    engine: &mut Engine,
    op: &BoundOp,
    lane: &mut LaneState,
    who: Peers,
) -> Result<Outcome> {
    let (me, spins, published) = (engine.me, engine.spins, engine.published);
    let slots = slots(engine)?;
    let ranks = match who {
        Peers::All => 0..slots.ranks(),
        Peers::One(q) => q..q + 1,
    };
    for rank in ranks.skip(lane.seen) {
        if rank != me {
            let Some(record) = spin(spins, || slots.record_of(rank)) else { return Ok(Outcome::Waiting) };
            if (record.signature, record.count) != published {
                bail!(InvalidUsage, "{}", mismatch(rank, &record, op));
            }
        }
        lane.seen += 1;
    }
    Ok(Outcome::Done)
}

/// Looks a few times in a row: a peer in step is often less than a microsecond behind.
fn spin<T>(spins: u32, mut look: impl FnMut() -> Option<T>) -> Option<T> {
    let mut seen = look();
    for _ in 0..spins {
        if seen.is_some() {
            break;
        }
        std::hint::spin_loop();
        seen = look();
    }
    seen
}

pub fn finish(engine: &mut Engine) -> Result<Outcome> {
    slots(engine)?.finish();
    engine.rang = true;
    Ok(Outcome::Done)
}

pub fn wait_finished(engine: &mut Engine, lane: &mut LaneState, who: Peers) -> Result<Outcome> {
    let (me, spins) = (engine.me, engine.spins);
    let slots = slots(engine)?;
    let ranks = match who {
        Peers::All => 0..slots.ranks(),
        Peers::One(q) => q..q + 1,
    };
    for rank in ranks.skip(lane.seen) {
        if rank != me && spin(spins, || slots.finished(rank).then_some(())).is_none() {
            return Ok(Outcome::Waiting);
        }
        lane.seen += 1;
    }
    Ok(Outcome::Done)
}

/// Local copy of a block, or of the lane's piece of it.
pub fn copy(op: &BoundOp, lane: &LaneState, src: Block, dst: Block) {
    let total = op.block(src).1;
    let skip = if lane.piece_len == usize::MAX { 0 } else { (lane.piece * lane.piece_len).min(total) };
    let len = (total - skip).min(lane.piece_len);
    let (from, to) = (op.at(src, skip), op.at(dst, skip));
    let scale = op.own_scale().filter(|_| op.coll.reduces());
    if from == to && scale.is_none() && op.reduction.post_divide.is_none() {
        return;
    }
    let input = [Input { ptr: from, scale }];
    // SAFETY: both blocks lie in the caller's buffers (API contract); they start at the same place or do not overlap.
    unsafe { reduce::reduce_many(&op.reduction, op.coll.reduces(), &input, &[to], len) };
}

/// Copies a block of a peer.
pub fn pull(engine: &mut Engine, op: &BoundOp, from: Rank, src: Block, dst: Block) -> Result<Outcome> {
    let (start, len) = op.block(src);
    let bytes = len * op.elem();
    if bytes > 0 {
        let access = open(engine, op, from, src, start, bytes)?;
        // SAFETY: the destination block lies in the caller's output; the peer keeps its input until we finish.
        unsafe { access.read(op.at(dst, 0), bytes)? };
    }
    Ok(Outcome::Done)
}

/// Reduces a block out of all ranks' inputs into one rank's or every rank's output.
pub fn reduce_all(engine: &mut Engine, op: &BoundOp, src: Block, dst: Block, to: Peers) -> Result<Outcome> {
    let (src_at, len) = op.block(src);
    let dst_at = op.block(dst).0;
    let bytes = len * op.elem();
    if len == 0 {
        return Ok(Outcome::Done);
    }
    let scaled = op.own_scale().is_some();
    let mut inputs: SmallVec<[(Access<'_>, Option<Scalar>); 8]> = SmallVec::new();
    let mut outputs: SmallVec<[Access<'_>; 8]> = SmallVec::new();
    let me = engine.me;
    for rank in 0..op.nranks {
        let record = (rank != me)
            .then(|| slots(engine)?.record_of(rank).ok_or_else(|| unpublished(rank)))
            .transpose()?;
        let scale = match record {
            Some(record) => scaled.then_some(Scalar(record.scale)),
            None => op.own_scale(),
        };
        inputs.push((Access::Here(std::ptr::null_mut()), scale));
    }
    let engine = &*engine;
    for (rank, slot) in inputs.iter_mut().enumerate() {
        slot.0 = if rank == me {
            Access::Here(op.at(src, 0))
        } else {
            open_seen(engine, op, rank, src.buf, src_at, bytes)?
        };
    }
    let targets = match to {
        Peers::All => 0..op.nranks,
        Peers::One(q) => q..q + 1,
    };
    for rank in targets {
        outputs.push(if rank == me {
            Access::Here(op.at(dst, 0))
        } else {
            open_seen(engine, op, rank, Buf::Output, dst_at, bytes)?
        });
    }
    combine(engine, op, &inputs, &outputs, len)?;
    Ok(Outcome::Done)
}

/// ⊕ of all inputs into all outputs: at once when everything is mapped, else piece by piece through a buffer.
fn combine(
    engine: &Engine,
    op: &BoundOp,
    inputs: &[(Access<'_>, Option<Scalar>)],
    outputs: &[Access<'_>],
    len: usize,
) -> Result<()> {
    let here = |a: &Access<'_>| match a {
        Access::Here(ptr) => Some(*ptr),
        Access::There(..) => None,
    };
    let mapped: Option<SmallVec<[Input; 8]>> =
        inputs.iter().map(|(a, scale)| here(a).map(|ptr| Input { ptr, scale: *scale })).collect();
    let targets: Option<SmallVec<[*mut u8; 8]>> = outputs.iter().map(here).collect();
    if let (Some(mapped), Some(targets)) = (&mapped, &targets) {
        // SAFETY: blocks of published buffers, which their owners keep until all have finished; this rank alone writes
        // this block of the outputs, and reads of it by this rank come first (in-place buffers start at the same place).
        unsafe { reduce::reduce_many(&op.reduction, true, mapped, targets, len) };
        return Ok(());
    }
    combine_fetched(engine, op, inputs, outputs, len)
}

fn combine_fetched(
    engine: &Engine,
    op: &BoundOp,
    inputs: &[(Access<'_>, Option<Scalar>)],
    outputs: &[Access<'_>],
    len: usize,
) -> Result<()> {
    let elem = op.elem();
    let step = FETCH_BYTES / elem;
    let scratch = engine.scratch(FETCH_BYTES * (inputs.len() + 1))?;
    let result = scratch.wrapping_add(FETCH_BYTES * inputs.len());
    for at in (0..len).step_by(step) {
        let count = step.min(len - at);
        let (skip, bytes) = (at * elem, count * elem);
        let mut ready: SmallVec<[Input; 8]> = SmallVec::new();
        for (index, (access, scale)) in inputs.iter().enumerate() {
            let ptr: *const u8 = match access {
                Access::Here(ptr) => ptr.wrapping_add(skip),
                Access::There(process, addr) => {
                    let part = scratch.wrapping_add(FETCH_BYTES * index);
                    // SAFETY: the part holds FETCH_BYTES; the peer keeps its buffer until we finish.
                    unsafe { Access::There(process, addr + skip).read(part, bytes)? };
                    part
                }
            };
            ready.push(Input { ptr, scale: *scale });
        }
        let mut targets: SmallVec<[*mut u8; 8]> = SmallVec::new();
        let mut far = false;
        for access in outputs {
            match access {
                Access::Here(ptr) => targets.push(ptr.wrapping_add(skip)),
                Access::There(..) => far = true,
            }
        }
        if far {
            targets.push(result);
        }
        // SAFETY: as in `combine`; the parts of the scratch memory are distinct.
        unsafe { reduce::reduce_many(&op.reduction, true, &ready, &targets, count) };
        for access in outputs {
            if let Access::There(process, addr) = access {
                // SAFETY: `result` holds the piece; this rank alone writes this block of the peer's output.
                unsafe { Access::There(process, addr + skip).write(result, bytes)? };
            }
        }
    }
    Ok(())
}

/// A stretch of a peer's buffer: in its slot for inline operations, else where its record says.
fn open<'a>(
    engine: &'a mut Engine,
    op: &BoundOp,
    rank: Rank,
    block: Block,
    at: usize,
    bytes: usize,
) -> Result<Access<'a>> {
    slots(engine)?.record_of(rank).ok_or_else(|| unpublished(rank))?;
    open_seen(engine, op, rank, block.buf, at, bytes)
}

fn open_seen<'a>(
    engine: &'a Engine,
    op: &BoundOp,
    rank: Rank,
    buf: Buf,
    at: usize,
    bytes: usize,
) -> Result<Access<'a>> {
    let slots = engine.slots.as_ref().ok_or_else(|| err!(Internal, "direct access without a common host"))?;
    if op.plan.algorithm == Algorithm::OneShot {
        return Ok(Access::Here(slots.payload_of(rank).cast_mut().wrapping_add(at)));
    }
    let record = slots.seen_record(rank).ok_or_else(|| unpublished(rank))?;
    let place = if buf == Buf::Input { record.input } else { record.output };
    engine.peers[rank].open(place, at, bytes)
}

fn unpublished(rank: Rank) -> crate::base::Error {
    err!(Internal, "rank {rank} is read before it has published")
}

/// Ranks that a step of this module waits for.
pub fn awaited(engine: &mut Engine, step: &Step) -> Vec<Rank> {
    let me = engine.me;
    let Some(slots) = engine.slots.as_mut() else { return Vec::new() };
    match step {
        Step::Publish => slots.ready_to_publish().err().into_iter().collect(),
        Step::WaitPublished(_) => {
            (0..slots.ranks()).filter(|q| *q != me).filter(|q| slots.record_of(*q).is_none()).collect()
        }
        Step::WaitFinished(_) => (0..slots.ranks()).filter(|q| *q != me && !slots.finished(*q)).collect(),
        _ => Vec::new(),
    }
}

fn mismatch(rank: Rank, theirs: &Record, op: &BoundOp) -> String {
    let count = theirs.count & COUNT;
    if (theirs.signature, count) == (op.signature(), op.count as u64 & COUNT) {
        let call = describe(theirs.signature, count);
        return format!(
            "the ranks made different calls before this {call}: those of rank {rank} differ from this rank's"
        );
    }
    format!(
        "the ranks made different calls: rank {rank} called {}, this rank {}",
        describe(theirs.signature, count),
        describe(op.signature(), op.count as u64)
    )
}

/// `AllReduce(count 5, type 7, op 0, root 0)` of a signature.
pub fn describe(signature: u64, count: u64) -> String {
    let code = (signature >> 56) as u8;
    let name =
        Collective::ALL.into_iter().find(|c| *c as u8 == code).map_or("an unknown function", |c| c.name());
    let dtype =
        DataType::ALL.get((signature >> 48) as usize & 0xff).map_or("unknown".into(), |d| format!("{d:?}"));
    let op = ["sum", "prod", "max", "min", "avg", "premulsum"];
    let op = op.get((signature >> 40) as usize & 0xff).unwrap_or(&"unknown");
    format!("{name}(count {count}, type {dtype}, op {op}, root {})", signature as u32)
}
