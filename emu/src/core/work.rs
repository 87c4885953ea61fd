//! The kinds of work that a stream runs, and one step of each.

use std::ffi::c_void;
use std::sync::Arc;
use std::time::Duration;

use super::fence::Fence;
use super::graph_run::GraphRun;
use super::ipc_event::IpcEvent;
use super::pollable::{OwnedPollable, Poll};
use super::runtime::started;
use super::slab::StreamRef;
use super::thread;
use crate::sys::thread::yield_now;

pub type HostFn = unsafe extern "C" fn(*mut c_void);
pub type CallbackFn = unsafe extern "C" fn(*mut c_void, i32, *mut c_void);

/// Addresses are plain numbers: their validity is the promise of the caller who submitted the work.
pub enum Work {
    Copy { dst: usize, src: usize, len: usize },
    Fill { dst: usize, value: u8, len: usize },
    Host { call: HostFn, arg: usize },
    Callback { call: CallbackFn, stream: usize, arg: usize },
    Free { address: usize },
    Signal(Arc<Fence>),
    Wait { fence: Arc<Fence>, parked: bool },
    IpcSignal { event: Arc<IpcEvent>, ticket: u64 },
    IpcWait { event: Arc<IpcEvent>, ticket: u64 },
    WriteValue { address: usize, value: u64, wide: bool },
    WaitValue { address: usize, value: u64, wide: bool, test: ValueTest },
    Poll(OwnedPollable),
    Graph(Box<GraphRun>),
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ValueTest {
    /// `memory - value >= 0` as signed difference.
    GreaterOrEqual,
    Equal,
    And,
    Nor,
}

/// What the calling thread may do for a stream.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Mode {
    /// Only find out who has to continue; polls nothing and copies nothing.
    Classify,
    /// Everything that neither blocks nor moves bulk data.
    Help,
    /// A thread that waits for this stream: copies too.
    Attend,
    /// The stream's worker: everything.
    Worker,
}

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Step {
    Done,
    Failed,
    /// To be polled again.
    Pending,
    /// Continues when a fence is signalled.
    Parked,
    /// The worker has to do it.
    Heavy,
}

/// What the step of a stream leaves to do after its locks are released.
#[derive(Default)]
pub struct Effects {
    /// Streams whose fence was signalled.
    pub kicks: Vec<StreamRef>,
    /// Polls that finished.
    pub finished: u32,
}

impl Work {
    /// Makes the progress that `mode` allows. `stream` is where the work is the head.
    pub fn step(&mut self, stream: StreamRef, mode: Mode, effects: &mut Effects) -> Step {
        match self {
            Work::Signal(fence) => {
                effects.kicks.append(&mut fence.signal());
                Step::Done
            }
            Work::Wait { fence, parked } => wait_fence(fence, parked, stream),
            Work::IpcSignal { event, ticket } => {
                event.complete(*ticket);
                Step::Done
            }
            Work::IpcWait { event, ticket } => done_if(event.reached(*ticket)),
            Work::WaitValue { address, value, wide, test } => done_if(test.holds(*address, *value, *wide)),
            Work::Poll(pollable) => poll(pollable, mode, effects),
            Work::Graph(run) => run.step(stream, mode, effects),
            _ if !may_run(mode, self) => Step::Heavy,
            _ => {
                pause_before(mode);
                self.run();
                Step::Done
            }
        }
    }

    /// One pause while the step says pending.
    pub fn idle(&mut self, round: u32) {
        match self {
            Work::Poll(pollable) => pollable.idle(round),
            Work::Graph(run) => run.idle(round),
            Work::IpcWait { event, ticket } => event.sleep(*ticket, backoff(round)),
            _ => rest(round),
        }
    }

    /// Runs work that is done in one go.
    fn run(&self) {
        match *self {
            // SAFETY: the submitter promised both ranges until the work is done; they may overlap.
            Work::Copy { dst, src, len } => unsafe { std::ptr::copy(src as *const u8, dst as *mut u8, len) },
            // SAFETY: the submitter promised the range until the work is done.
            Work::Fill { dst, value, len } => unsafe { std::ptr::write_bytes(dst as *mut u8, value, len) },
            Work::Host { call, arg } => thread::scoped(
                |s| &s.in_host_function,
                // SAFETY: the submitter promised a function that takes this argument.
                || unsafe { call(arg as *mut c_void) },
            ),
            Work::Callback { call, stream, arg } => thread::scoped(
                |s| &s.in_host_function,
                // SAFETY: the submitter promised a function that takes these arguments.
                || unsafe { call(stream as *mut c_void, 0, arg as *mut c_void) },
            ),
            Work::Free { address } => {
                // The allocation was checked at submission; a second free of it is the program's error.
                if let Some(runtime) = started() {
                    let _ = runtime.heap.free(address);
                }
            }
            Work::WriteValue { address, value, wide } => write_value(address, value, wide),
            _ => unreachable!("work with its own step"),
        }
    }
}

/// Whether this kind of thread may do this kind of work.
fn may_run(mode: Mode, work: &Work) -> bool {
    match mode {
        Mode::Worker => true,
        Mode::Attend => delay().is_zero() && !matches!(work, Work::Host { .. } | Work::Callback { .. }),
        Mode::Help => matches!(work, Work::WriteValue { .. } | Work::Free { .. }),
        Mode::Classify => false,
    }
}

fn wait_fence(fence: &Arc<Fence>, parked: &mut bool, stream: StreamRef) -> Step {
    if fence.is_done() {
        return Step::Done;
    }
    *parked = *parked || fence.park(stream);
    if *parked { Step::Parked } else { Step::Done }
}

pub(crate) fn poll(pollable: &mut OwnedPollable, mode: Mode, effects: &mut Effects) -> Step {
    if mode == Mode::Classify {
        return Step::Pending;
    }
    match pollable.poll() {
        Poll::Pending => return Step::Pending,
        Poll::Done => effects.finished += 1,
        Poll::Failed => {
            effects.finished += 1;
            return Step::Failed;
        }
    }
    Step::Done
}

fn done_if(done: bool) -> Step {
    if done { Step::Done } else { Step::Pending }
}

fn delay() -> Duration {
    started().map_or(Duration::ZERO, |r| r.config.delay)
}

fn pause_before(mode: Mode) {
    if mode == Mode::Worker && !delay().is_zero() {
        std::thread::sleep(delay());
    }
}

/// Time to sleep in the `round`-th wait in a row.
pub fn backoff(round: u32) -> Duration {
    Duration::from_micros(if round < 50 { 0 } else { (u64::from(round) - 40).min(1000) })
}

/// Spins, then yields, then sleeps.
pub fn rest(round: u32) {
    match round {
        0..20 => (0..20).for_each(|_| std::hint::spin_loop()),
        20..50 => yield_now(),
        _ => std::thread::sleep(backoff(round)),
    }
}

impl ValueTest {
    fn holds(self, address: usize, value: u64, wide: bool) -> bool {
        let (now, difference) = if wide {
            let now = load64(address);
            (now, now.wrapping_sub(value) as i64)
        } else {
            let now = load32(address);
            (u64::from(now), i64::from(now.wrapping_sub(value as u32) as i32))
        };
        let mask = if wide { u64::MAX } else { u64::from(u32::MAX) };
        match self {
            ValueTest::GreaterOrEqual => difference >= 0,
            ValueTest::Equal => difference == 0,
            ValueTest::And => now & value & mask != 0,
            ValueTest::Nor => !(now | value) & mask != 0,
        }
    }
}

fn load64(address: usize) -> u64 {
    // SAFETY: the submitter checked the alignment and promised the word until the work is done.
    unsafe { (*(address as *const std::sync::atomic::AtomicU64)).load(std::sync::atomic::Ordering::Acquire) }
}

fn load32(address: usize) -> u32 {
    // SAFETY: as in `load64`.
    unsafe { (*(address as *const std::sync::atomic::AtomicU32)).load(std::sync::atomic::Ordering::Acquire) }
}

fn write_value(address: usize, value: u64, wide: bool) {
    use std::sync::atomic::{AtomicU32, AtomicU64, Ordering};
    if wide {
        // SAFETY: as in `load64`.
        unsafe { (*(address as *const AtomicU64)).store(value, Ordering::Release) }
    } else {
        // SAFETY: as in `load64`.
        unsafe { (*(address as *const AtomicU32)).store(value as u32, Ordering::Release) }
    }
}
