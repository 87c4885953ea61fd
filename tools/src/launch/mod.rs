//! Where the processes of a run come from, and how they exchange small data outside the measured library.

pub mod detect;
pub mod fork;
pub mod library;
pub mod mpi;
pub mod shared;

use std::sync::OnceLock;

use crate::error::{Error, Result};
use crate::sys;
use library::CommExchange;
use mpi::Mpi;
use shared::Shared;

/// All processes of a run, seen from one of them. Collective calls are made by one thread of each process, in the same order.
pub struct World {
    pub rank: usize,
    pub size: usize,
    /// Position among the processes of this host.
    pub local_rank: usize,
    /// Whether each rank asks the library for the unique id itself, because the library has a fixed root (`MCCL_COMM_ID`).
    pub fixed_root: bool,
    exchange: Exchange,
}

enum Exchange {
    Alone,
    Mpi(Mpi),
    Shared(Shared),
    /// The library itself, once there are communicators.
    Library(OnceLock<CommExchange>),
}

impl World {
    /// A run of this process alone.
    pub fn alone() -> Self {
        Self { rank: 0, size: 1, local_rank: 0, fixed_root: false, exchange: Exchange::Alone }
    }

    /// Joins the processes that `detected` describes.
    pub fn join(detected: &detect::Launch) -> Result<Self> {
        match detected {
            detect::Launch::Alone => Ok(Self::alone()),
            detect::Launch::Mpi(launcher) => Self::with_mpi(Mpi::start(launcher)?),
            detect::Launch::Local { rank, size, fd } => {
                let shared = Shared::open(*fd, *rank, *size)?;
                let exchange = Exchange::Shared(shared);
                Ok(Self { rank: *rank, size: *size, local_rank: *rank, fixed_root: false, exchange })
            }
            detect::Launch::Variables { rank, size, local_rank } => {
                let exchange = Exchange::Library(OnceLock::new());
                Ok(Self { rank: *rank, size: *size, local_rank: *local_rank, fixed_root: true, exchange })
            }
        }
    }

    fn with_mpi(mpi: Mpi) -> Result<Self> {
        let (rank, size) = (mpi.rank, mpi.size);
        let mut world = Self { rank, size, local_rank: 0, fixed_root: false, exchange: Exchange::Mpi(mpi) };
        let hosts = world.all_gather(&host_identity())?;
        world.local_rank = hosts[..rank].iter().filter(|host| **host == hosts[rank]).count();
        Ok(world)
    }

    /// For ranks from variables: lets the library carry what processes exchange. Otherwise does nothing.
    pub fn attach(&self, exchange: impl FnOnce() -> Result<CommExchange>) -> Result<()> {
        if let Exchange::Library(slot) = &self.exchange {
            let exchange = exchange()?;
            slot.set(exchange).map_err(|_| Error::failed("the exchange through the library was set up twice"))?;
        }
        Ok(())
    }

    /// Whether processes can exchange data before there are communicators.
    pub fn talks_before_init(&self) -> bool {
        !matches!(self.exchange, Exchange::Library(_))
    }

    /// The bytes of every process, in rank order; all give the same length.
    pub fn all_gather(&self, mine: &[u8]) -> Result<Vec<Vec<u8>>> {
        match &self.exchange {
            Exchange::Alone => Ok(vec![mine.to_vec()]),
            Exchange::Mpi(mpi) => mpi.all_gather(mine),
            Exchange::Shared(shared) => shared.all_gather(mine),
            Exchange::Library(slot) => match slot.get() {
                Some(exchange) => exchange.all_gather(mine),
                None => Err(Error::failed("ranks from variables cannot exchange data before communicators exist")),
            },
        }
    }

    /// As `all_gather`, for lengths that differ.
    pub fn all_gather_text(&self, mine: &str) -> Result<Vec<String>> {
        let lengths = self.all_gather(&(mine.len() as u64).to_le_bytes())?;
        let length = |bytes: &Vec<u8>| bytes.iter().rev().fold(0usize, |n, &byte| n << 8 | usize::from(byte));
        let longest = lengths.iter().map(length).max().unwrap_or(0);
        let mut padded = mine.as_bytes().to_vec();
        padded.resize(longest, 0);
        let texts = self.all_gather(&padded)?;
        Ok(texts.iter().zip(&lengths).map(|(t, n)| String::from_utf8_lossy(&t[..length(n)]).into_owned()).collect())
    }

    /// Numbers of every process, in rank order; all give as many.
    pub fn all_gather_numbers(&self, mine: &[f64]) -> Result<Vec<Vec<f64>>> {
        let bytes: Vec<u8> = mine.iter().flat_map(|x| x.to_le_bytes()).collect();
        let number = |c: &[u8]| f64::from_le_bytes(std::array::from_fn(|i| c[i]));
        let all = self.all_gather(&bytes)?;
        Ok(all.iter().map(|bytes| bytes.chunks_exact(8).map(number).collect()).collect())
    }

    /// Returns when every process has called it.
    pub fn barrier(&self) -> Result<()> {
        match &self.exchange {
            Exchange::Alone => Ok(()),
            Exchange::Mpi(mpi) => mpi.barrier(),
            Exchange::Shared(shared) => shared.barrier(),
            Exchange::Library(_) => self.all_gather(&[0]).map(drop),
        }
    }

    /// Lets go of the communicators; processes from variables cannot exchange data any more.
    pub fn release(&mut self) {
        if let Exchange::Library(slot) = &mut self.exchange {
            slot.take();
        }
    }

    /// Leaves the run in good order.
    pub fn finish(self) -> Result<()> {
        match self.exchange {
            Exchange::Mpi(mpi) => mpi.finalize(),
            _ => Ok(()),
        }
    }
}

/// Sixteen bytes that tell hosts apart: a digest of the boot's identity and the host's name.
fn host_identity() -> [u8; 16] {
    let boot = std::fs::read_to_string("/proc/sys/kernel/random/boot_id").unwrap_or_default();
    let text = format!("{}/{boot}", sys::host_name());
    let digest = |basis: u64| {
        text.bytes().fold(basis, |h, byte| (h ^ u64::from(byte)).wrapping_mul(0x0000_0100_0000_01b3))
    };
    let mut out = [0; 16];
    out[..8].copy_from_slice(&digest(0xcbf2_9ce4_8422_2325).to_le_bytes());
    out[8..].copy_from_slice(&digest(0x9e37_79b9_7f4a_7c15).to_le_bytes());
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_process_alone_exchanges_with_itself() {
        let world = World::alone();
        assert_eq!(world.all_gather(&[1, 2]).unwrap(), [[1, 2]]);
        assert_eq!(world.all_gather_text("abc").unwrap(), ["abc"]);
        assert_eq!(world.all_gather_numbers(&[1.5, -2.0]).unwrap(), [[1.5, -2.0]]);
        world.barrier().unwrap();
    }

    #[test]
    fn a_host_is_always_the_same() {
        assert_eq!(host_identity(), host_identity());
    }
}
