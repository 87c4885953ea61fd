//! Sleeping and waking between ranks of a host, and the word that stops them all.
//!
//! A rank about to sleep raises `sleeping`, looks once more for progress, and waits on its bell (a futex). Whoever changes shared
//! state calls [`ring`]: one load of the common sleeper count when nobody sleeps.
use super::atomic::{AtomicU32, Ordering, fence};
use super::layout::Region;

/// Why a communicator stopped. Packed into one word so that the first writer wins.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Halt {
    pub reason: HaltReason,
    /// The rank that reported it.
    pub by: u32,
    /// The rank it is about, where there is one.
    pub about: Option<u16>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u8)]
pub enum HaltReason {
    /// A rank called abort.
    Aborted = 1,
    /// A rank found that the ranks called different operations.
    Mismatch = 2,
    /// A rank's process ended.
    Died = 3,
    /// A rank's deadline passed.
    Timeout = 4,
    /// A rank met another error in an operation.
    Failed = 5,
}

impl HaltReason {
    fn from_bits(bits: u64) -> Self {
        match bits {
            1 => Self::Aborted,
            2 => Self::Mismatch,
            3 => Self::Died,
            4 => Self::Timeout,
            _ => Self::Failed,
        }
    }
}

impl Halt {
    fn pack(self) -> u64 {
        let about = self.about.map_or(0, |r| r as u64 + 1);
        (self.reason as u64) | about << 8 | (self.by as u64) << 32
    }

    fn unpack(word: u64) -> Option<Self> {
        if word == 0 {
            return None;
        }
        let about = ((word >> 8) & 0x1_ffff).checked_sub(1).map(|r| r as u16);
        Some(Self { reason: HaltReason::from_bits(word & 0xff), by: (word >> 32) as u32, about })
    }
}

/// The word that stops every rank of the host, if it was written.
pub fn halted(region: &Region) -> Option<Halt> {
    // Pairs with the exchange in `halt`.
    Halt::unpack(region.header().halt.load(Ordering::Acquire))
}

/// Stops every rank of the host. The first reason stays; returns the one in force.
pub fn halt(region: &Region, why: Halt) -> Halt {
    // Pairs with the load in `halted`.
    let old = region.header().halt.compare_exchange(0, why.pack(), Ordering::AcqRel, Ordering::Acquire);
    for rank in 0..region.layout().ranks {
        wake(region, rank);
    }
    old.err().and_then(Halt::unpack).unwrap_or(why)
}

/// Wakes the ranks that sleep, after shared state has changed.
pub fn ring(region: &Region) {
    // Pairs with the fence in `Sleep::mark`: either we see the sleeper, or it sees what we changed.
    fence(Ordering::SeqCst);
    if region.header().sleepers.load(Ordering::Relaxed) != 0 {
        ring_sleepers(region);
    }
}

#[cold]
fn ring_sleepers(region: &Region) {
    for rank in 0..region.layout().ranks {
        if region.control(rank).sleeping.load(Ordering::Relaxed) != 0 {
            wake(region, rank);
        }
    }
}

fn wake(region: &Region, rank: usize) {
    let bell = &region.control(rank).bell;
    bell.fetch_add(1, Ordering::Release);
    // Nobody to wake is no error, and a failed wake-up costs the sleeper its time limit at most.
    let _ = crate::sys::futex::wake_all(bell);
}

/// The steps of going to sleep: `mark`, look for progress once more, then `wait`; `unmark` when awake.
pub struct Sleep;

impl Sleep {
    /// Marks the rank as sleeping. Returns the bell's count, for `wait`.
    pub fn mark(region: &Region, rank: usize) -> u32 {
        let control = region.control(rank);
        let seen = control.bell.load(Ordering::Acquire);
        control.sleeping.fetch_add(1, Ordering::Relaxed);
        region.header().sleepers.fetch_add(1, Ordering::Relaxed);
        // Pairs with the fence in `ring`.
        fence(Ordering::SeqCst);
        seen
    }

    /// Sleeps until the bell rings or the time is over.
    pub fn wait(region: &Region, rank: usize, seen: u32, limit: std::time::Duration) {
        // An error means that the kernel would not wait; the caller polls again then, as after a wake-up.
        let _ = crate::sys::futex::wait(&region.control(rank).bell, seen, limit);
    }

    pub fn unmark(region: &Region, rank: usize) {
        region.control(rank).sleeping.fetch_sub(1, Ordering::Relaxed);
        region.header().sleepers.fetch_sub(1, Ordering::Relaxed);
    }
}

/// Ranks that have mapped the region; each calls `arrive` once.
pub fn arrive(region: &Region) -> u32 {
    region.header().arrived.fetch_add(1, Ordering::AcqRel) + 1
}

pub fn arrived(region: &Region) -> &AtomicU32 {
    &region.header().arrived
}

#[cfg(test)]
mod tests {
    use super::super::layout::test_region;
    use super::*;

    #[test]
    fn the_first_reason_to_halt_stays() {
        let region = test_region(2, 4096);
        assert_eq!(halted(&region), None);
        let died = Halt { reason: HaltReason::Died, by: 0, about: Some(1) };
        assert_eq!(halt(&region, died), died);
        let aborted = Halt { reason: HaltReason::Aborted, by: 1, about: None };
        assert_eq!(halt(&region, aborted), died);
        assert_eq!(halted(&region), Some(died));
    }

    #[test]
    fn a_ring_wakes_a_rank_that_prepared_to_sleep() {
        let region = test_region(2, 4096);
        let sleeper = region.clone();
        let (tx, rx) = std::sync::mpsc::channel();
        let thread = std::thread::spawn(move || {
            let seen = Sleep::mark(&sleeper, 1);
            tx.send(()).unwrap();
            Sleep::wait(&sleeper, 1, seen, std::time::Duration::from_secs(60));
            Sleep::unmark(&sleeper, 1);
        });
        rx.recv().unwrap();
        ring(&region);
        thread.join().unwrap();
        assert_eq!(region.header().sleepers.load(Ordering::Relaxed), 0);
    }
}
