//! One rank's buffers of a case: filled, handed to the call, compared with the reference.
use std::alloc::{Layout, alloc, dealloc};
use std::ffi::{c_int, c_void};
use std::ptr::null_mut;

use mccl::abi::mccl::coll::{
    mcclAllGather, mcclAllReduce, mcclAlltoAll, mcclBcast, mcclBroadcast, mcclGather, mcclReduce,
    mcclReduceScatter, mcclScatter,
};
use mccl::abi::mccl::group::{mcclGroupEnd, mcclGroupStart};
use mccl::abi::mccl::mem::{mcclMemAlloc, mcclMemFree};
use mccl::abi::mccl::p2p::{mcclRecv, mcclSend};
use mccl::abi::mccl::types::{mcclDataType_t, mcclRedOp_t};
use mccl::abi::mccl::vector::mcclAllToAllv;

use crate::case::{Case, Coll, Memory};
use crate::world::{Member, Musart, check};

/// Bytes before and behind a buffer that no operation may change.
const GUARD: usize = 64;
const PATTERN: u8 = 0xA5;
/// musaMemcpyDefault.
const ANY_DIRECTION: c_int = 4;

/// Memory of one kind, given back at the end.
struct Block {
    musart: &'static Musart,
    memory: Memory,
    at: *mut u8,
    len: usize,
}

// SAFETY: memory that this value owns.
unsafe impl Sync for Block {}

impl Block {
    fn new(musart: &'static Musart, memory: Memory, len: usize) -> Result<Self, String> {
        let mut at: *mut c_void = null_mut();
        // SAFETY: a local output; a layout that is not empty.
        unsafe {
            match memory {
                Memory::Device => assert_eq!((musart.malloc)(&mut at, len), 0, "musaMalloc of {len} bytes"),
                Memory::Library => check("mcclMemAlloc", mcclMemAlloc(&mut at, len))?,
                Memory::Plain => at = alloc(Self::layout(len)).cast(),
            }
        }
        assert!(!at.is_null(), "no memory");
        Ok(Self { musart, memory, at: at.cast(), len })
    }

    fn layout(len: usize) -> Layout {
        Layout::from_size_align(len, 64).expect("a sensible size")
    }

    fn write(&self, bytes: &[u8]) {
        assert_eq!(bytes.len(), self.len);
        // SAFETY: the block is as long as the bytes.
        let code =
            unsafe { (self.musart.memcpy)(self.at.cast(), bytes.as_ptr().cast(), self.len, ANY_DIRECTION) };
        assert_eq!(code, 0, "musaMemcpy");
    }

    fn read(&self) -> Vec<u8> {
        let mut bytes = vec![0; self.len];
        // SAFETY: as in `write`.
        let code = unsafe {
            (self.musart.memcpy)(bytes.as_mut_ptr().cast(), self.at.cast(), self.len, ANY_DIRECTION)
        };
        assert_eq!(code, 0, "musaMemcpy");
        bytes
    }
}

impl Drop for Block {
    fn drop(&mut self) {
        // SAFETY: allocated in `new` the same way.
        unsafe {
            match self.memory {
                Memory::Device => assert_eq!((self.musart.free)(self.at.cast()), 0, "musaFree"),
                Memory::Library => check("mcclMemFree", mcclMemFree(self.at.cast())).unwrap(),
                Memory::Plain => dealloc(self.at, Self::layout(self.len)),
            }
        }
    }
}

/// Buffers with their data: the output's block holds the input too when the operation is in place.
pub struct Prepared {
    input: Option<Block>,
    output: Block,
    /// What the blocks held before the operation.
    input_before: Vec<u8>,
    output_before: Vec<u8>,
    /// Byte offsets in their blocks.
    input_at: usize,
    output_at: usize,
}

impl Prepared {
    pub fn new(musart: &'static Musart, case: &Case, rank: usize) -> Result<Self, String> {
        let size = case.dtype.size();
        let (input_len, output_len) = (case.input_len(rank) * size, case.output_len(rank) * size);
        let mut input_bytes = Vec::with_capacity(input_len);
        for index in 0..case.input_len(rank) {
            input_bytes.extend(&case.data().element(rank, index).to_le_bytes()[..size]);
        }
        let start = GUARD + case.skew;
        let around = |len: usize| vec![PATTERN; start + len + GUARD];
        let Some(offset) = case.overlap(rank) else {
            let (mut input_before, output_before) = (around(input_len), around(output_len));
            input_before[start..][..input_len].copy_from_slice(&input_bytes);
            let input = Block::new(musart, case.memory, input_before.len())?;
            let output = Block::new(musart, case.memory, output_before.len())?;
            input.write(&input_before);
            output.write(&output_before);
            return Ok(Self {
                input: Some(input),
                output,
                input_before,
                output_before,
                input_at: start,
                output_at: start,
            });
        };
        let offset = offset * size as isize;
        let input_at = start + offset.max(0) as usize;
        let output_at = start + (-offset).max(0) as usize;
        let len = (input_at + input_len).max(output_at + output_len) - start;
        let mut output_before = around(len);
        output_before[input_at..][..input_len].copy_from_slice(&input_bytes);
        let output = Block::new(musart, case.memory, output_before.len())?;
        output.write(&output_before);
        Ok(Self { input: None, output, input_before: Vec::new(), output_before, input_at, output_at })
    }

    /// Calls the library.
    pub fn issue(&self, case: &Case, member: &Member) -> Result<(), String> {
        let (ty, op, root) =
            (mcclDataType_t(case.dtype.0.into()), mcclRedOp_t(case.op.into()), case.root as c_int);
        let input =
            self.input.as_ref().unwrap_or(&self.output).at.wrapping_add(self.input_at).cast::<c_void>();
        let output = self.output.at.wrapping_add(self.output_at).cast::<c_void>();
        let (count, comm, stream) = (case.count, member.comm, member.stream);
        // SAFETY: the buffers have the sizes that the calls ask for, and live until the stream is synchronised.
        let code = unsafe {
            match case.coll {
                Coll::AllReduce => mcclAllReduce(input, output, count, ty, op, comm, stream),
                Coll::Reduce => mcclReduce(input, output, count, ty, op, root, comm, stream),
                Coll::Broadcast => mcclBroadcast(input, output, count, ty, root, comm, stream),
                Coll::Bcast => mcclBcast(output, count, ty, root, comm, stream),
                Coll::AllGather => mcclAllGather(input, output, count, ty, comm, stream),
                Coll::ReduceScatter => mcclReduceScatter(input, output, count, ty, op, comm, stream),
                Coll::AlltoAll => mcclAlltoAll(input, output, count, ty, comm, stream),
                Coll::Gather => mcclGather(input, output, count, ty, root, comm, stream),
                Coll::Scatter => mcclScatter(input, output, count, ty, root, comm, stream),
                Coll::SendRecv => {
                    let (next, before) =
                        ((member.rank + 1) % case.ranks, (member.rank + case.ranks - 1) % case.ranks);
                    check("mcclGroupStart", mcclGroupStart())?;
                    check("mcclSend", mcclSend(input, count, ty, next as c_int, comm, stream))?;
                    check("mcclRecv", mcclRecv(output, count, ty, before as c_int, comm, stream))?;
                    mcclGroupEnd()
                }
                Coll::AllToAllv => return vectors(case, member, input, output, ty),
            }
        };
        check(&format!("rank {}: {:?}", member.rank, case.coll), code)
    }

    /// Compares the output with the reference, and everything else with what it was.
    pub fn verify(&self, _: &Musart, case: &Case, rank: usize) -> Result<(), String> {
        let size = case.dtype.size();
        if let Some(input) = &self.input
            && input.read() != self.input_before
        {
            return Err(format!("rank {rank}: the input was changed"));
        }
        let bytes = self.output.read();
        let len = case.output_len(rank);
        let (got, was) = (&bytes[self.output_at..], &self.output_before[self.output_at..]);
        for index in 0..len {
            let bits = case.dtype.read(got, index);
            let right = match case.expected(rank, index) {
                Some(expected) => case.dtype.matches(bits, expected),
                None => bits == case.dtype.read(was, index),
            };
            if !right {
                let want = case.expected(rank, index);
                return Err(format!("rank {rank}: element {index} of {len} is {bits:#x}, not {want:x?}"));
            }
        }
        let end = bytes.len() - GUARD;
        match bytes[..GUARD + case.skew].iter().chain(&bytes[end..]).all(|byte| *byte == PATTERN) {
            true => Ok(()),
            false => {
                Err(format!("rank {rank}: bytes around the output were changed ({size} bytes per element)"))
            }
        }
    }
}

fn vectors(
    case: &Case,
    member: &Member,
    input: *mut c_void,
    output: *mut c_void,
    ty: mcclDataType_t,
) -> Result<(), String> {
    let (n, me) = (case.ranks, member.rank);
    let send_counts: Vec<usize> = (0..n).map(|r| case.pair(me, r)).collect();
    let recv_counts: Vec<usize> = (0..n).map(|r| case.pair(r, me)).collect();
    let recv_displs: Vec<usize> = (0..n).map(|r| case.recv_at(me, r)).collect();
    let matrix: Vec<usize> = (0..n * n).map(|i| case.send_at(i / n, i % n)).collect();
    let (sc, sd) = (send_counts.as_ptr(), matrix.as_ptr());
    let (rc, rd) = (recv_counts.as_ptr(), recv_displs.as_ptr());
    // SAFETY: arrays of the sizes that the call asks for, read during the call; buffers as in `issue`.
    let code = unsafe { mcclAllToAllv(input, sc, sd, output, rc, rd, ty, member.comm, member.stream) };
    check(&format!("rank {me}: mcclAllToAllv"), code)
}
