//! Exchange between the processes of `--nproc`: a memory file with a barrier and one slot per rank.
//!
//! A slot is written by its rank only, before a barrier, and read by the others after it; a second barrier comes before the
//! next writing. The barrier counts arrivals; the last one opens the next round and wakes the sleepers. The parent
//! sets the stop word when a process is lost, which ends every wait.

use std::os::fd::RawFd;
use std::sync::atomic::{AtomicU32, Ordering};
use std::time::Duration;

use crate::error::{Error, Result};
use crate::sys::{self, SharedMap};

const SLOT_BYTES: usize = 16 << 10;
const HEADER_BYTES: usize = 4096;
/// How often a wait looks before it sleeps.
const SPINS: u32 = 200;
const SLEEP: Duration = Duration::from_millis(50);

/// The first bytes of the file.
#[repr(C)]
struct Header {
    /// Processes that have come to the current barrier.
    arrived: AtomicU32,
    /// Barriers passed.
    round: AtomicU32,
    /// Not 0 when the run has lost a process.
    stop: AtomicU32,
}

/// One process's view of the file.
pub struct Shared {
    map: SharedMap,
    rank: usize,
    size: usize,
}

/// Bytes of the file for `size` processes.
pub fn file_len(size: usize) -> usize {
    HEADER_BYTES + size * SLOT_BYTES
}

impl Shared {
    /// Takes over the inherited descriptor `fd`.
    pub fn open(fd: RawFd, rank: usize, size: usize) -> Result<Self> {
        let shared = Self::map(fd, rank, size)?;
        sys::close(fd);
        Ok(shared)
    }

    /// Maps the file without closing it.
    pub fn map(fd: RawFd, rank: usize, size: usize) -> Result<Self> {
        let map = SharedMap::of(fd, file_len(size))
            .map_err(|e| Error::failed(format!("--nproc: descriptor {fd} of the exchange: {e}")))?;
        Ok(Self { map, rank, size })
    }

    /// Ends every wait of every process.
    pub fn stop(&self) {
        let header = self.header();
        header.stop.store(1, Ordering::Release);
        sys::futex_wake(&header.round);
    }

    pub fn all_gather(&self, mine: &[u8]) -> Result<Vec<Vec<u8>>> {
        let mut all = vec![Vec::with_capacity(mine.len()); self.size];
        for piece in mine.chunks(SLOT_BYTES) {
            self.write(piece);
            self.barrier()?;
            for (rank, data) in all.iter_mut().enumerate() {
                self.read(rank, piece.len(), data);
            }
            self.barrier()?;
        }
        Ok(all)
    }

    pub fn barrier(&self) -> Result<()> {
        let header = self.header();
        let round = header.round.load(Ordering::Acquire);
        // Release: what this process wrote is seen by who leaves the barrier; acquire: the last one sees what all wrote.
        if header.arrived.fetch_add(1, Ordering::AcqRel) + 1 == self.size as u32 {
            header.arrived.store(0, Ordering::Relaxed);
            // Pairs with the load of `round` in the loop below: slots and the reset counter before the opening.
            header.round.fetch_add(1, Ordering::Release);
            sys::futex_wake(&header.round);
            return Ok(());
        }
        let mut looks = 0;
        while header.round.load(Ordering::Acquire) == round {
            if header.stop.load(Ordering::Acquire) != 0 {
                return Err(Error::failed("another process of this run was lost"));
            }
            looks += 1;
            match looks {
                0..SPINS => std::thread::yield_now(),
                _ => sys::futex_wait(&header.round, round, SLEEP),
            }
        }
        Ok(())
    }

    fn header(&self) -> &Header {
        let at = self.map.at(0, size_of::<Header>()).map(|p| p.cast::<Header>());
        // SAFETY: the file is at least a header long and page-aligned, its words are atomic, and any bytes are a valid header.
        at.map(|p| unsafe { p.as_ref() }).unwrap_or_else(|| unreachable!("a file is longer than its header"))
    }

    fn write(&self, data: &[u8]) {
        if let Some(slot) = self.map.at(HEADER_BYTES + self.rank * SLOT_BYTES, data.len()) {
            // SAFETY: `at` checked the range; only this process writes its slot, and nobody reads it between the barriers around.
            unsafe { std::ptr::copy_nonoverlapping(data.as_ptr(), slot.as_ptr(), data.len()) };
        }
    }

    fn read(&self, rank: usize, len: usize, out: &mut Vec<u8>) {
        if let Some(slot) = self.map.at(HEADER_BYTES + rank * SLOT_BYTES, len) {
            // SAFETY: `at` checked the range; the owner wrote before the last barrier and does not write before the next.
            out.extend_from_slice(unsafe { std::slice::from_raw_parts(slot.as_ptr(), len) });
        }
    }
}

#[cfg(test)]
mod tests {
    use std::os::fd::AsRawFd;

    use super::*;

    fn with_threads<T: Send>(size: usize, act: impl Fn(Shared) -> T + Sync) -> Vec<T> {
        let file = sys::memory_file(c"test", file_len(size)).unwrap();
        let (fd, act) = (file.as_raw_fd(), &act);
        std::thread::scope(|scope| {
            let threads: Vec<_> =
                (0..size).map(|r| scope.spawn(move || act(Shared::map(fd, r, size).unwrap()))).collect();
            threads.into_iter().map(|t| t.join().unwrap()).collect()
        })
    }

    #[test]
    fn everybody_gets_everybodys_bytes_also_beyond_a_slot() {
        let len = 2 * SLOT_BYTES + 5;
        let all = with_threads(4, |shared| {
            (0..20u8).map(|i| shared.all_gather(&vec![shared.rank as u8 + i; len]).unwrap()).last().unwrap()
        });
        for view in all {
            for (rank, data) in view.iter().enumerate() {
                assert_eq!(data, &vec![rank as u8 + 19; len]);
            }
        }
    }

    #[test]
    fn a_stop_ends_a_wait_for_a_lost_process() {
        let results = with_threads(3, |shared| match shared.rank {
            0 => {
                shared.stop();
                Ok(())
            }
            _ => shared.barrier(),
        });
        assert!(results[1].is_err() && results[2].is_err());
    }
}
