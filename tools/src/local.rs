//! One rank of this process: its device, stream, communicator and buffers.

use crate::api::{Mccl, RedOp};
use crate::comm::{Comm, Registration};
use crate::dtype::{DType, Op};
use crate::error::{Error, Result};
use crate::memory::Buffer;
use crate::musart::{Musart, Stream};

/// A rank. Its buffers outlive all work on its stream: `release` waits for the stream first.
pub struct LocalRank {
    pub rank: usize,
    pub device: i32,
    pub stream: Stream,
    pub comm: Comm,
}

/// The memory that a rank's operations read and write.
pub struct Buffers {
    pub send: Buffer,
    pub recv: Buffer,
    registrations: [Registration; 2],
}

impl Buffers {
    /// `bytes` each for sending and receiving, on the current device.
    pub fn new(library: &'static Mccl, runtime: &'static Musart, bytes: usize) -> Result<Self> {
        // An allocator may refuse 0 bytes.
        let bytes = bytes.max(1);
        let (send, recv) = (runtime.buffer(Some(library), bytes)?, runtime.buffer(Some(library), bytes)?);
        // An emulated device gives pages at first touch; that must not fall into the timed loop.
        runtime.zero(send.view())?;
        runtime.zero(recv.view())?;
        runtime.synchronize()?;
        Ok(Self { send, recv, registrations: Default::default() })
    }

    /// Registers both with the rank's communicator; inside a group.
    pub fn register(&mut self, local: &LocalRank, symmetric: bool) -> Result<()> {
        let [send, recv] = &mut self.registrations;
        local.comm.register(self.send.view(), symmetric, send)?;
        local.comm.register(self.recv.view(), symmetric, recv)
    }

    pub fn deregister(&self, local: &LocalRank) -> Result<()> {
        self.registrations.iter().try_for_each(|r| local.comm.deregister(r))
    }
}

impl LocalRank {
    /// Waits for the stream. The communicator's own error, where it has one, says more than the stream's.
    pub fn synchronize(&self) -> Result<()> {
        self.stream.synchronize().map_err(|error| {
            let rank = format!("rank {}", self.rank);
            match self.comm.async_error() {
                Err(cause) => Error::failed(format!("{rank}: {error}; {cause}")),
                Ok(()) => error.at(rank),
            }
        })
    }

    /// The operation value for calls on this rank: built in, or made for it.
    pub fn red_op(&self, op: Option<Op>, dtype: DType) -> Result<RedOp> {
        match op.unwrap_or(Op::Sum).builtin() {
            Some(value) => Ok(RedOp::builtin(value)),
            None => self.comm.premul_sum(dtype.bits_of(Op::premul_scalar(self.rank)), dtype),
        }
    }

    /// Gives back what `red_op` made.
    pub fn free_red_op(&self, op: Option<Op>, made: RedOp) -> Result<()> {
        match op {
            Some(op) if op.builtin().is_none() => self.comm.free_op(made),
            _ => Ok(()),
        }
    }
}
