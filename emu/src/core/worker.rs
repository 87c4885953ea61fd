//! The worker thread of a stream: host functions and bulk copies. Started by the first such work, gone after a rest.

use std::sync::atomic::Ordering;
use std::time::Duration;

use super::engine::{Left, advance, settle};
use super::slab::StreamRef;
use super::work::{Effects, Mode};
use crate::sys::thread::spawn_detached;
use crate::sys::{Scope, futex_wait, futex_wake};

/// Values of `Stream::worker`.
const ABSENT: u32 = 0;
const ASLEEP: u32 = 1;
const CALLED: u32 = 2;
const RUNNING: u32 = 3;
const DISMISSED: u32 = 4;

/// An idle worker ends after this.
const PATIENCE: Duration = Duration::from_secs(5);

/// Makes the worker look at the stream.
pub fn wake(stream: StreamRef) {
    match stream.worker.swap(CALLED, Ordering::SeqCst) {
        ABSENT => start(stream),
        ASLEEP => futex_wake(&stream.worker, 1, Scope::Private),
        _ => {}
    }
}

/// Lets a sleeping worker end now.
pub fn dismiss(stream: StreamRef) {
    if stream.worker.compare_exchange(ASLEEP, DISMISSED, Ordering::SeqCst, Ordering::Relaxed).is_ok() {
        futex_wake(&stream.worker, 1, Scope::Private);
    }
}

fn start(stream: StreamRef) {
    let name = format!("emu-stream-{}", stream.index);
    if let Err(error) = spawn_detached(name, move || main(stream)) {
        // Without the thread the stream cannot go on, and there is no call to report to.
        eprintln!("mccl-emu: no worker thread for a stream: {error}; ending the process");
        std::process::abort();
    }
}

fn main(stream: StreamRef) {
    loop {
        stream.worker.store(RUNNING, Ordering::SeqCst);
        run(stream);
        if !rest(stream) {
            return;
        }
    }
}

/// Runs what the stream has, after whoever holds its poll lock at this moment.
fn run(stream: StreamRef) {
    let mut pause = Duration::from_micros(5);
    loop {
        stream.kicked.store(true, Ordering::SeqCst);
        let mut effects = Effects::default();
        let left = advance(stream, Mode::Worker, &mut effects);
        settle(effects.kicks);
        if left != Left::Busy {
            stream.reserved.store(false, Ordering::SeqCst);
            return;
        }
        stream.reserved.store(true, Ordering::SeqCst);
        std::thread::sleep(pause);
        pause = (pause * 2).min(Duration::from_millis(1));
    }
}

/// Sleeps until called; false when the thread has to end.
fn rest(stream: StreamRef) -> bool {
    if stream.worker.compare_exchange(RUNNING, ASLEEP, Ordering::SeqCst, Ordering::SeqCst).is_err() {
        return true;
    }
    loop {
        let woken = futex_wait(&stream.worker, ASLEEP, Some(PATIENCE), Scope::Private);
        let end = match stream.worker.load(Ordering::SeqCst) {
            CALLED => return true,
            DISMISSED => DISMISSED,
            ASLEEP if !woken => ASLEEP,
            _ => continue,
        };
        if stream.worker.compare_exchange(end, ABSENT, Ordering::SeqCst, Ordering::SeqCst).is_ok() {
            return false;
        }
    }
}
