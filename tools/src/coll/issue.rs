//! Puts one operation of one rank on its stream, by the library's call or by Send and Recv where it has none.

use super::{Collective, Plan};
use crate::api::{Comm, Mccl, RedOp, VectorCounts};
use crate::dtype::DType;
use crate::error::Result;
use crate::musart::{Stream, View};

/// What a rank's calls need besides the buffers.
#[derive(Clone, Copy)]
pub struct Caller<'a> {
    pub library: &'static Mccl,
    pub comm: &'a Comm,
    pub stream: &'a Stream,
}

/// The arguments that stay the same from iteration to iteration.
#[derive(Clone, Copy)]
pub struct Arguments<'a> {
    /// The count argument, in elements.
    pub count: usize,
    pub dtype: DType,
    pub op: RedOp,
    pub root: usize,
    /// Of `AllToAllV`.
    pub vectors: &'a VectorCounts,
}

impl Plan {
    /// Issues the operation. Returns when the library's call does.
    pub fn issue(&self, c: Caller, a: Arguments, send: View, recv: View) -> Result<()> {
        let (comm, s, ty, count) = (c.comm, c.stream, a.dtype, a.count);
        match self.collective {
            Collective::AllReduce => comm.all_reduce(send, recv, count, ty, a.op, s),
            Collective::AllGather => comm.all_gather(send, recv, count, ty, s),
            Collective::ReduceScatter => comm.reduce_scatter(send, recv, count, ty, a.op, s),
            Collective::Broadcast => comm.broadcast(send, recv, count, ty, a.root, s),
            Collective::Reduce => comm.reduce(send, recv, count, ty, (a.op, a.root), s),
            Collective::AllToAll => comm
                .all_to_all(send, recv, count, ty, s)
                .unwrap_or_else(|| self.all_to_all_by_pairs(c, a, send, recv)),
            Collective::AllToAllV => comm
                .all_to_all_v(send, recv, a.vectors, ty, s)
                .unwrap_or_else(|| self.all_to_all_v_by_pairs(c, a, send, recv)),
            Collective::Gather => comm
                .gather(send, recv, count, ty, a.root, s)
                .unwrap_or_else(|| self.gather_by_pairs(c, a, send, recv)),
            Collective::Scatter => comm
                .scatter(send, recv, count, ty, a.root, s)
                .unwrap_or_else(|| self.scatter_by_pairs(c, a, send, recv)),
            Collective::SendRecv => self.ring(c, a, send, recv),
            Collective::HyperCube => self.hypercube(c, a, send, recv),
        }
    }

    fn ring(&self, c: Caller, a: Arguments, send: View, recv: View) -> Result<()> {
        let (n, rank) = (self.nranks, c.comm.rank());
        c.library.group(|| {
            c.comm.send(send, a.count, a.dtype, (rank + 1) % n, c.stream)?;
            c.comm.recv(recv, a.count, a.dtype, (rank + n - 1) % n, c.stream)
        })
    }

    /// All-gather in log2(n) exchanges of ever larger blocks.
    fn hypercube(&self, c: Caller, a: Arguments, send: View, recv: View) -> Result<()> {
        let (rank, bytes) = (c.comm.rank(), a.count * a.dtype.size());
        let own = recv.sub(rank * bytes, bytes)?;
        if !own.starts_with(send) && bytes > 0 {
            c.stream.copy(own, send.sub(0, bytes)?)?;
        }
        let mut width = 1;
        while width < self.nranks {
            let mine = rank & !(width - 1);
            let (out, into) = (recv.sub(mine * bytes, width * bytes)?, recv.sub((mine ^ width) * bytes, width * bytes)?);
            c.library.group(|| {
                c.comm.send(out, a.count * width, a.dtype, rank ^ width, c.stream)?;
                c.comm.recv(into, a.count * width, a.dtype, rank ^ width, c.stream)
            })?;
            width *= 2;
        }
        Ok(())
    }

    fn all_to_all_by_pairs(&self, c: Caller, a: Arguments, send: View, recv: View) -> Result<()> {
        let bytes = a.count * a.dtype.size();
        c.library.group(|| {
            for peer in 0..self.nranks {
                c.comm.send(send.sub(peer * bytes, bytes)?, a.count, a.dtype, peer, c.stream)?;
                c.comm.recv(recv.sub(peer * bytes, bytes)?, a.count, a.dtype, peer, c.stream)?;
            }
            Ok(())
        })
    }

    fn all_to_all_v_by_pairs(&self, c: Caller, a: Arguments, send: View, recv: View) -> Result<()> {
        let (size, v) = (a.dtype.size(), a.vectors);
        let displs = &v.send_displs[c.comm.rank() * self.nranks..];
        c.library.group(|| {
            for peer in 0..self.nranks {
                let out = send.sub(displs[peer] * size, v.send[peer] * size)?;
                let into = recv.sub(v.recv_displs[peer] * size, v.recv[peer] * size)?;
                if v.send[peer] > 0 {
                    c.comm.send(out, v.send[peer], a.dtype, peer, c.stream)?;
                }
                if v.recv[peer] > 0 {
                    c.comm.recv(into, v.recv[peer], a.dtype, peer, c.stream)?;
                }
            }
            Ok(())
        })
    }

    fn gather_by_pairs(&self, c: Caller, a: Arguments, send: View, recv: View) -> Result<()> {
        let bytes = a.count * a.dtype.size();
        c.library.group(|| {
            c.comm.send(send, a.count, a.dtype, a.root, c.stream)?;
            for peer in (0..self.nranks).filter(|_| c.comm.rank() == a.root) {
                c.comm.recv(recv.sub(peer * bytes, bytes)?, a.count, a.dtype, peer, c.stream)?;
            }
            Ok(())
        })
    }

    fn scatter_by_pairs(&self, c: Caller, a: Arguments, send: View, recv: View) -> Result<()> {
        let bytes = a.count * a.dtype.size();
        c.library.group(|| {
            for peer in (0..self.nranks).filter(|_| c.comm.rank() == a.root) {
                c.comm.send(send.sub(peer * bytes, bytes)?, a.count, a.dtype, peer, c.stream)?;
            }
            c.comm.recv(recv, a.count, a.dtype, a.root, c.stream)
        })
    }
}
