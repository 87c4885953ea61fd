//! Exchange between processes through the measured library: an all-gather of bytes on the run's own communicators.
//!
//! For ranks from variables, which have no other channel. Every rank of the process takes part; the data are those of its first rank.

use std::sync::Arc;

use crate::api::Mccl;
use crate::dtype::DType;
use crate::error::Result;
use crate::local::LocalRank;
use crate::memory::Buffer;
use crate::musart::Musart;

const PIECE_BYTES: usize = 4 << 10;

/// The communicators of this process, with a small buffer pair for each.
pub struct CommExchange {
    library: &'static Mccl,
    runtime: &'static Musart,
    ranks: Vec<(Arc<LocalRank>, Buffer, Buffer)>,
    nranks: usize,
}

impl CommExchange {
    /// Over all ranks of this process, of `nranks` in the run.
    pub fn new(
        library: &'static Mccl,
        runtime: &'static Musart,
        locals: &[Arc<LocalRank>],
        nranks: usize,
    ) -> Result<Self> {
        let with_buffers = |local: &Arc<LocalRank>| {
            runtime.set_device(local.device)?;
            let (send, recv) =
                (runtime.buffer(None, PIECE_BYTES)?, runtime.buffer(None, PIECE_BYTES * nranks)?);
            Ok((Arc::clone(local), send, recv))
        };
        let ranks = locals.iter().map(with_buffers).collect::<Result<Vec<_>>>()?;
        Ok(Self { library, runtime, ranks, nranks })
    }

    /// The bytes of every process, in rank order; all give the same length.
    pub fn all_gather(&self, mine: &[u8]) -> Result<Vec<Vec<u8>>> {
        let mut all = vec![Vec::with_capacity(mine.len()); self.nranks / self.ranks.len()];
        for piece in mine.chunks(PIECE_BYTES) {
            let gathered = self.all_gather_piece(piece)?;
            // The first rank of each process speaks for it.
            let firsts = gathered.chunks(PIECE_BYTES).step_by(self.ranks.len());
            all.iter_mut().zip(firsts).for_each(|(data, slot)| data.extend_from_slice(&slot[..piece.len()]));
        }
        Ok(all)
    }

    fn all_gather_piece(&self, piece: &[u8]) -> Result<Vec<u8>> {
        for (local, send, _) in &self.ranks {
            self.runtime.set_device(local.device)?;
            self.runtime.copy_in(send.view(), piece)?;
        }
        self.library.group(|| {
            for (local, send, recv) in &self.ranks {
                local.comm.all_gather(send.view(), recv.view(), PIECE_BYTES, DType::Uint8, &local.stream)?;
            }
            Ok(())
        })?;
        for (local, ..) in &self.ranks {
            local.synchronize()?;
        }
        let mut gathered = vec![0; PIECE_BYTES * self.nranks];
        if let Some((local, _, recv)) = self.ranks.first() {
            self.runtime.set_device(local.device)?;
            self.runtime.copy_out(&mut gathered, recv.view())?;
        }
        Ok(gathered)
    }
}
