//! Threads that poll ready streams when nobody waits for them.
//!
//! The common caller hands work over and synchronises at once: it then polls itself, and a thread that wakes up for the
//! same work would only fight it for the core. So a driver naps first and polls only what is still unattended,
//! or what takes long while processors are free. It sleeps for good when there has been nothing to do for a while.

use std::sync::atomic::{AtomicU32, AtomicUsize, Ordering};
use std::sync::{Once, OnceLock};
use std::time::Duration;

use super::engine::{Left, PollLock, advance, advance_locked, settle};
use super::slab::StreamRef;
use super::work::{Effects, Mode};
use super::{ready, thread};
use crate::sys::thread::{precise_sleep, processors, spawn_detached};
use crate::sys::{Scope, futex_wait, futex_wake};

/// Values of `STATE`: what the first driver does.
const DEEP: u32 = 0;
const NAPPING: u32 = 1;
const POLLING: u32 = 2;

const SHORTEST_NAP: Duration = Duration::from_micros(60);
const LONGEST_NAP: Duration = Duration::from_micros(500);
/// Naps in a row without need before the driver sleeps for good.
const NAPS: u32 = 40;
/// Rounds without ready streams before polling ends.
const LINGER: u32 = 20;

static STATE: AtomicU32 = AtomicU32::new(DEEP);
/// Futex word of the further drivers: number of calls for them.
static CALLS: AtomicU32 = AtomicU32::new(0);
/// Threads that wait in a call and help.
static HELPERS: AtomicU32 = AtomicU32::new(0);
/// Drivers that poll.
static POLLERS: AtomicU32 = AtomicU32::new(0);
/// Further drivers that exist.
static SPARE: AtomicUsize = AtomicUsize::new(0);
/// Polls that finished, whoever made them.
static FINISHED: AtomicU32 = AtomicU32::new(0);

/// Says that a stream became ready.
#[inline]
pub fn notify() {
    if STATE.load(Ordering::SeqCst) == DEEP {
        wake();
    }
}

#[cold]
fn wake() {
    static START: Once = Once::new();
    START.call_once(|| {
        if let Err(error) = spawn_detached("emu-driver".into(), first_driver) {
            // Waiting threads still poll; a program that never waits would hang without a word.
            eprintln!(
                "mccl-emu: no thread to drive streams: {error}; work runs only while a thread waits for it"
            );
        }
    });
    if STATE.compare_exchange(DEEP, NAPPING, Ordering::SeqCst, Ordering::Relaxed).is_ok() {
        futex_wake(&STATE, 1, Scope::Private);
    }
}

/// Counts the calling thread as one that helps, for as long as it lives.
pub struct Helping(());

impl Helping {
    pub fn enter() -> Self {
        HELPERS.fetch_add(1, Ordering::SeqCst);
        Self(())
    }
}

impl Drop for Helping {
    fn drop(&mut self) {
        HELPERS.fetch_sub(1, Ordering::SeqCst);
        if ready::count() > 0 {
            notify();
        }
    }
}

/// Polls every ready stream once that no other thread polls, except one. Returns how many works finished.
pub fn help_others(except: Option<StreamRef>) -> u32 {
    if ready::count() == 0 || thread::with(|s| s.in_poll.get()) {
        return 0;
    }
    let start = except.map_or(0, |s| s.index + 1);
    let mut finished = 0;
    ready::for_each(start, |stream| {
        if except.is_none_or(|e| !std::ptr::eq(e, stream)) {
            let mut effects = Effects::default();
            advance(stream, Mode::Help, &mut effects);
            settle(effects.kicks);
            finished += effects.finished;
        }
    });
    count_finished(finished);
    finished
}

/// Lets the drivers see that polling gets somewhere.
pub fn count_finished(polls: u32) {
    if polls > 0 {
        FINISHED.fetch_add(polls, Ordering::Relaxed);
    }
}

fn first_driver() {
    precise_sleep();
    loop {
        STATE.store(DEEP, Ordering::SeqCst);
        // Ordered with `notify`: either it sees DEEP and wakes us, or the ready stream is seen here.
        while ready::count() == 0 && STATE.load(Ordering::SeqCst) == DEEP {
            futex_wait(&STATE, DEEP, None, Scope::Private);
        }
        STATE.store(NAPPING, Ordering::SeqCst);
        nap_and_poll();
    }
}

/// Returns after a while without need.
fn nap_and_poll() {
    let (mut nap, mut idle) = (SHORTEST_NAP, 0);
    while idle < NAPS {
        let before = FINISHED.load(Ordering::Relaxed);
        std::thread::sleep(nap);
        if ready::count() == 0 {
            idle += 1;
        } else if unattended(before) {
            STATE.store(POLLING, Ordering::SeqCst);
            poll_while_needed(0);
            STATE.store(NAPPING, Ordering::SeqCst);
            (nap, idle) = (SHORTEST_NAP, 0);
            continue;
        }
        nap = (nap * 2).min(LONGEST_NAP);
    }
}

/// Whether a driver should poll: nobody else does, or the work is long and there are processors for more.
fn unattended(finished_before: u32) -> bool {
    let busy = HELPERS.load(Ordering::SeqCst) + POLLERS.load(Ordering::SeqCst);
    if busy == 0 {
        return true;
    }
    let stuck = FINISHED.load(Ordering::Relaxed) == finished_before;
    stuck && wanted(busy)
}

fn wanted(pollers: u32) -> bool {
    ready::count() > pollers && (pollers as usize) < limit()
}

/// Processors of this process.
fn limit() -> usize {
    static LIMIT: OnceLock<usize> = OnceLock::new();
    *LIMIT.get_or_init(processors)
}

fn poll_while_needed(seat: u32) {
    POLLERS.fetch_add(1, Ordering::SeqCst);
    let (mut round, mut empty) = (0u32, 0u32);
    loop {
        let others = HELPERS.load(Ordering::SeqCst) + POLLERS.load(Ordering::SeqCst) - 1;
        let count = ready::count();
        if count == 0 {
            empty += 1;
            if empty > LINGER {
                break;
            }
            crate::core::work::rest(empty);
            continue;
        }
        empty = 0;
        if others > 0 && !wanted(others) {
            break;
        }
        call_for_more(others + 1);
        round = if poll_and_idle(seat, round) { 0 } else { round.saturating_add(1) };
    }
    POLLERS.fetch_sub(1, Ordering::SeqCst);
}

/// Polls all ready streams; with nothing finished, pauses as the head of one of them likes. True after progress.
fn poll_and_idle(seat: u32, round: u32) -> bool {
    if help_others(None) > 0 {
        return true;
    }
    let count = ready::count().max(1);
    let mut pick = (round + seat) % count;
    let mut chosen = None;
    ready::for_each(0, |stream| {
        if pick == 0 && chosen.is_none() {
            chosen = Some(stream);
        }
        pick = pick.saturating_sub(1);
    });
    chosen.is_some_and(|stream| poll_then_idle(stream, round / count))
}

fn poll_then_idle(stream: StreamRef, round: u32) -> bool {
    let Some(held) = PollLock::try_take(stream, Mode::Help) else { return false };
    stream.kicked.store(true, Ordering::SeqCst);
    let mut effects = Effects::default();
    if advance_locked(stream, Mode::Help, &mut effects) == Left::Pending && effects.finished == 0 {
        // SAFETY: the poll lock is held, and a pending stream is queued, hence not claimed.
        if let Some(head) = unsafe { stream.head() } {
            head.idle(round);
        }
    }
    drop(held);
    let finished = effects.finished;
    // Does what others asked for while the lock was held, and the end of a dead stream.
    let mut rest = Effects { kicks: effects.kicks, finished: 0 };
    advance(stream, Mode::Classify, &mut rest);
    settle(rest.kicks);
    finished > 0
}

/// Wakes or starts one more driver if there is work and a processor for it.
fn call_for_more(pollers: u32) {
    if !wanted(pollers) || limit() < 3 {
        return;
    }
    let spare = SPARE.load(Ordering::Relaxed);
    let asleep = spare + 1 > POLLERS.load(Ordering::SeqCst) as usize;
    if asleep && spare > 0 {
        CALLS.fetch_add(1, Ordering::SeqCst);
        futex_wake(&CALLS, 1, Scope::Private);
    } else if spare + 1 < limit()
        && SPARE.compare_exchange(spare, spare + 1, Ordering::SeqCst, Ordering::Relaxed).is_ok()
        && spawn_detached(format!("emu-driver-{}", spare + 1), move || further_driver(spare as u32 + 1))
            .is_err()
    {
        SPARE.fetch_sub(1, Ordering::SeqCst);
    }
}

fn further_driver(seat: u32) {
    precise_sleep();
    loop {
        let calls = CALLS.load(Ordering::SeqCst);
        poll_while_needed(seat);
        futex_wait(&CALLS, calls, None, Scope::Private);
    }
}
