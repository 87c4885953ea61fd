//! Steps that send and receive: one message moves one piece of a block.
//!
//! Between ranks of one host a large send *lends* its buffer: the message says where it is, the receiver copies it from there
//! in one go and releases the message, and only then the send is complete.
use crate::algo::Block;
use crate::base::Result;
use crate::base::types::{Collective, Rank};
use crate::channel::slots::Place;
use crate::device::reduce::{self, Input};
use crate::exec::direct::describe;
use crate::exec::engine::Engine;
use crate::exec::job::{BoundOp, LaneState};
use crate::exec::machine::{Outcome, wire_of};
use crate::plan::Algorithm;
use crate::{bail, err};

const LENT: u64 = 1 << 63;

/// The lane's piece of a block: elements to skip, and elements in the piece.
fn piece(op: &BoundOp, lane: &LaneState, block: Block) -> (usize, usize) {
    let total = op.block(block).1;
    let skip = lane.piece.saturating_mul(lane.piece_len).min(total);
    (skip, (total - skip).min(lane.piece_len))
}

/// The word that both ends of a message must agree on. Point-to-point calls agree on bytes, collectives on the call.
fn tag(op: &BoundOp, block: Block) -> u64 {
    match op.coll {
        Collective::Send | Collective::Recv => {
            (Collective::Send as u64) << 56 | (op.block(block).1 * op.elem()) as u64
        }
        Collective::AlltoAllv => {
            (Collective::AlltoAllv as u64) << 56 | (op.block(block).1 * op.elem()) as u64
        }
        _ => {
            let signature = op.signature();
            let packed = (signature >> 40) & 0xf | (signature >> 48 & 0xf) << 4;
            (signature & 0xff << 56) | packed << 48 | (op.count as u64 & 0xffff_ffff_ffff)
        }
    }
}

pub fn send(
    engine: &mut Engine,
    op: &BoundOp,
    lane: &mut LaneState,
    to: Rank,
    src: Block,
) -> Result<Outcome> {
    let wire = wire_of(op.coll);
    if lane.lent {
        if !engine.send_end(to, wire)?.drained()? {
            return Ok(Outcome::Waiting);
        }
        lane.lent = false;
        lane.piece = lane.pieces - 1;
        return Ok(Outcome::Done);
    }
    let (skip, len) = piece(op, lane, src);
    let lend = lane.piece == 0 && may_lend(engine, op, to, src);
    let from = op.at(src, skip);
    let place = lend.then(|| engine.place(from));
    let end = engine.send_end(to, wire)?;
    let Some(slot) = end.acquire()? else { return Ok(Outcome::Waiting) };
    let (bytes, mark) = match place {
        Some(place) => (write_place(slot, place), LENT),
        None => {
            // SAFETY: the piece lies in the caller's input (API contract); the slot is ours and holds a piece.
            unsafe { scaled_copy(op, from, slot.as_mut_ptr(), len) };
            (len * op.elem(), 0)
        }
    };
    end.post(bytes, tag(op, src) | mark)?;
    engine.rang = true;
    lane.lent = place.is_some();
    Ok(if lane.lent { Outcome::Waiting } else { Outcome::Done })
}

/// Whether the peer can read the whole block in place, and whether that pays. In pairwise programs the other end is a plain
/// receive; elsewhere it may reduce or forward pieces.
fn may_lend(engine: &Engine, op: &BoundOp, to: Rank, src: Block) -> bool {
    op.plan.algorithm == Algorithm::Pairwise
        && op.block(src).1 * op.elem() >= engine.lend_bytes
        && engine.peers[to].reaches(engine.place(op.at(src, 0)))
}

pub fn recv(
    engine: &mut Engine,
    op: &BoundOp,
    lane: &mut LaneState,
    from: Rank,
    dst: Block,
) -> Result<Outcome> {
    let wire = wire_of(op.coll);
    let (skip, len) = piece(op, lane, dst);
    let want = tag(op, dst);
    let at = op.at(dst, skip);
    let Some(message) = engine.recv_end(from, wire)?.peek()? else { return Ok(Outcome::Waiting) };
    check(from, message.tag & !LENT, want)?;
    if message.tag & LENT != 0 {
        let place = read_place(message.data)?;
        let bytes = op.block(dst).1 * op.elem();
        let access = engine.peers[from].open(place, 0, bytes)?;
        // SAFETY: the block lies in the caller's output; the sender waits until we release the message.
        unsafe { access.read(at, bytes)? };
        lane.piece = lane.pieces - 1;
    } else {
        check_len(from, message.data.len(), len * op.elem())?;
        // SAFETY: the piece lies in the caller's output (API contract), and the message was checked to be as long.
        unsafe { reduce::copy(at, message.data.as_ptr(), message.data.len()) };
    }
    engine.recv_end(from, wire)?.release()?;
    engine.rang = true;
    Ok(Outcome::Done)
}

/// Sends received ⊕ `src`; with `dst` it is the last reduction, and is stored there too.
pub fn reduce_send(
    engine: &mut Engine,
    op: &BoundOp,
    lane: &mut LaneState,
    (from, to): (Rank, Rank),
    src: Block,
    dst: Option<Block>,
) -> Result<Outcome> {
    let (skip, len) = piece(op, lane, src);
    let bytes = len * op.elem();
    let (recv, send) = engine.both_ends(from, to, wire_of(op.coll))?;
    let Some(message) = recv.peek()? else { return Ok(Outcome::Waiting) };
    check(from, message.tag, tag(op, src))?;
    check_len(from, message.data.len(), bytes)?;
    let Some(slot) = send.acquire()? else { return Ok(Outcome::Waiting) };
    let inputs = [
        Input { ptr: message.data.as_ptr(), scale: None },
        Input { ptr: op.at(src, skip), scale: op.own_scale() },
    ];
    let outputs = [slot.as_mut_ptr(), dst.map_or(std::ptr::null_mut(), |d| op.at(d, skip))];
    let outputs = &outputs[..if dst.is_some() { 2 } else { 1 }];
    // SAFETY: message, slot, and the pieces of the caller's buffers are all as long as the piece; an in-place output
    // starts where the input does.
    unsafe { reduce::reduce_many(&op.reduction, dst.is_some(), &inputs, outputs, len) };
    send.post(bytes, tag(op, src))?;
    recv.release()?;
    engine.rang = true;
    Ok(Outcome::Done)
}

pub fn reduce_copy(
    engine: &mut Engine,
    op: &BoundOp,
    lane: &mut LaneState,
    from: Rank,
    src: Block,
    dst: Block,
) -> Result<Outcome> {
    let (skip, len) = piece(op, lane, src);
    let recv = engine.recv_end(from, wire_of(op.coll))?;
    let Some(message) = recv.peek()? else { return Ok(Outcome::Waiting) };
    check(from, message.tag, tag(op, src))?;
    check_len(from, message.data.len(), len * op.elem())?;
    let inputs = [
        Input { ptr: message.data.as_ptr(), scale: None },
        Input { ptr: op.at(src, skip), scale: op.own_scale() },
    ];
    // SAFETY: as in `reduce_send`.
    unsafe { reduce::reduce_many(&op.reduction, true, &inputs, &[op.at(dst, skip)], len) };
    recv.release()?;
    engine.rang = true;
    Ok(Outcome::Done)
}

pub fn copy_send(
    engine: &mut Engine,
    op: &BoundOp,
    lane: &mut LaneState,
    (from, to): (Rank, Rank),
    dst: Block,
) -> Result<Outcome> {
    let (skip, len) = piece(op, lane, dst);
    let bytes = len * op.elem();
    let (recv, send) = engine.both_ends(from, to, wire_of(op.coll))?;
    let Some(message) = recv.peek()? else { return Ok(Outcome::Waiting) };
    check(from, message.tag, tag(op, dst))?;
    check_len(from, message.data.len(), bytes)?;
    let Some(slot) = send.acquire()? else { return Ok(Outcome::Waiting) };
    // SAFETY: slot and output piece are at least as long as the message, which was checked.
    unsafe {
        reduce::copy(slot.as_mut_ptr(), message.data.as_ptr(), bytes);
        reduce::copy(op.at(dst, skip), message.data.as_ptr(), bytes);
    }
    send.post(bytes, tag(op, dst))?;
    recv.release()?;
    engine.rang = true;
    Ok(Outcome::Done)
}

/// Copies `len` elements of this rank's input, times its factor.
///
/// # Safety
/// Both are valid for `len` elements and do not overlap.
unsafe fn scaled_copy(op: &BoundOp, src: *const u8, dst: *mut u8, len: usize) {
    let scale = op.own_scale().filter(|_| op.coll.reduces());
    // SAFETY: the caller's promise.
    unsafe { reduce::reduce_many(&op.reduction, false, &[Input { ptr: src, scale }], &[dst], len) };
}

fn write_place(slot: &mut [u8], place: Place) -> usize {
    slot[..8].copy_from_slice(&place.addr.to_le_bytes());
    slot[8..16].copy_from_slice(&place.export.to_le_bytes());
    16
}

fn read_place(data: &[u8]) -> Result<Place> {
    let word = |at: usize| data.get(at..at + 8).and_then(|b| b.try_into().ok()).map(u64::from_le_bytes);
    match (word(0), word(8)) {
        (Some(addr), Some(export)) => Ok(Place { addr, export }),
        _ => Err(err!(Internal, "a message that lends a buffer has {} bytes, not 16", data.len())),
    }
}

fn check(from: Rank, got: u64, want: u64) -> Result<()> {
    if got == want {
        return Ok(());
    }
    let text = |tag: u64| {
        let count = tag & 0xffff_ffff_ffff;
        if matches!((tag >> 56) as u8, c if c == Collective::Send as u8 || c == Collective::AlltoAllv as u8) {
            return format!("a message of {} bytes", tag & 0x00ff_ffff_ffff_ffff);
        }
        let packed = tag >> 48 & 0xff;
        describe(tag & 0xff << 56 | (packed >> 4) << 48 | (packed & 0xf) << 40, count)
    };
    bail!(
        InvalidUsage,
        "the ranks made different calls: rank {from} sends {}, this rank expects {}",
        text(got),
        text(want)
    );
}

fn check_len(from: Rank, got: usize, want: usize) -> Result<()> {
    if got != want {
        bail!(InvalidUsage, "rank {from} sends {got} bytes of a piece where this rank expects {want}");
    }
    Ok(())
}
