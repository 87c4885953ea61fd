//! Puts tasks on their streams: inline first, then handed over to the runtime.
use std::sync::Arc;

use smallvec::SmallVec;

use crate::base::Result;
use crate::device::{Claim, Runtime, Stream, WorkState};
use crate::exec::engine::Core;
use crate::exec::gate::{Gate, Joined};
use crate::exec::job::{BoundOp, Job};
use crate::exec::staging;
use crate::exec::task::{Task, YIELD_ROUNDS};
use crate::sys;

/// How long a call may go on polling its own work before it returns and leaves it to the stream.
const SPIN_BUDGET_NS: u64 = 100_000;
/// The same when ranks share cores, where every round gives the core away.
const YIELD_BUDGET_NS: u64 = 1_000_000;
/// Rounds between looks at the clock.
const ROUNDS: u32 = 32;

/// A job for a stream.
pub struct Launch {
    pub core: Arc<Core>,
    pub device: i32,
    pub job: Job,
    pub stream: Stream,
    /// Further streams that the job is on: it starts when all have come up, and they go on when it is complete.
    pub joined: SmallVec<[Stream; 0]>,
}

struct Inline {
    task: Task,
    stream: Stream,
}

/// Starts one operation. The path that small operations take: nothing is allocated, and when the ranks are in step the
/// operation is complete at the return.
///
/// # Errors
/// As [`launch_all`].
pub fn launch_one(runtime: &dyn Runtime, core: &Arc<Core>, op: BoundOp, stream: Stream) -> Result<()> {
    let mut job = Job::default();
    job.push(op, core.piece_bytes);
    job.end_stage();
    match runtime.claim(stream)? {
        Claim::Inline => {}
        Claim::Busy => return runtime.enqueue(stream, Box::new(Task::new(Arc::clone(core), job))),
        Claim::Capturing => return runtime.enqueue(stream, Box::new(Task::captured(Arc::clone(core), job))),
    }
    let mut task = Task::new(Arc::clone(core), job);
    let mut round = 0;
    let mut deadline = 0;
    loop {
        match task.advance() {
            WorkState::Done => {
                runtime.release(stream);
                return Ok(());
            }
            WorkState::Failed => {
                runtime.release(stream);
                return core.failure().map_or(Ok(()), Err);
            }
            WorkState::Pending => {}
        }
        round += 1;
        if look_at_clock(round) && over(&mut deadline, core) {
            runtime.hand_over(stream, Box::new(task));
            return Ok(());
        }
        task.rest(round);
    }
}

/// Starts all jobs, in this order, and polls those whose stream is idle for a short while, all together.
///
/// # Errors
/// A stream that is not one of the runtime's, or an operation that failed at once.
pub fn launch_all(runtime: &dyn Runtime, launches: SmallVec<[Launch; 1]>) -> Result<()> {
    let mut inline: SmallVec<[Inline; 1]> = SmallVec::new();
    let mut result = Ok(());
    if let Some(staging) = runtime.staging() {
        let put = |launch| staging::launch(runtime, staging, launch);
        return launches.into_iter().map(put).fold(Ok(()), Result::and);
    }
    for Launch { core, job, stream, joined, .. } in launches {
        let gate = (!joined.is_empty()).then(|| Gate::new(joined.len()));
        for other in joined {
            let gate = gate.as_ref().map(Arc::clone);
            result =
                result.and(gate.map_or(Ok(()), |gate| runtime.enqueue(other, Box::new(Joined::new(gate)))));
        }
        match runtime.claim(stream) {
            Ok(Claim::Inline) => inline.push(Inline { task: Task::new(core, job).behind(gate), stream }),
            Ok(Claim::Busy) => {
                result = result.and(runtime.enqueue(stream, Box::new(Task::new(core, job).behind(gate))))
            }
            Ok(Claim::Capturing) => {
                result =
                    result.and(runtime.enqueue(stream, Box::new(Task::captured(core, job).behind(gate))));
            }
            Err(error) => result = result.and(Err(error)),
        }
    }
    result.and(run_inline(runtime, inline))
}

fn run_inline(runtime: &dyn Runtime, mut inline: SmallVec<[Inline; 1]>) -> Result<()> {
    let mut result = Ok(());
    let mut round = 0;
    let mut deadline = 0;
    loop {
        inline.retain(|one| match one.task.advance() {
            WorkState::Pending => true,
            state => {
                runtime.release(one.stream);
                if state == WorkState::Failed {
                    let error = one.task.core().failure();
                    result = std::mem::replace(&mut result, Ok(())).and(error.map_or(Ok(()), Err));
                }
                false
            }
        });
        let Some(first) = inline.first_mut() else { return result };
        round += 1;
        if look_at_clock(round) && over(&mut deadline, first.task.core()) {
            break;
        }
        // Only a task that is alone may put the thread to sleep.
        let alone = inline.len() == 1;
        inline[0].task.rest(if alone { round } else { 0 });
    }
    for Inline { task, stream } in inline {
        runtime.hand_over(stream, Box::new(task));
    }
    result
}

/// Now and then while rounds are short, always once they may be sleeps.
fn look_at_clock(round: u32) -> bool {
    round.is_multiple_of(ROUNDS) || round > YIELD_ROUNDS
}

fn over(deadline: &mut u64, core: &Core) -> bool {
    let now = sys::clock::now_ns();
    if *deadline == 0 {
        *deadline = now + if core.crowded { YIELD_BUDGET_NS } else { SPIN_BUDGET_NS };
    }
    now >= *deadline
}

/// Runs a job to its end on the calling thread, on no stream.
///
/// # Errors
/// Why it failed.
pub fn run_now(core: &Arc<Core>, job: Job) -> Result<()> {
    let mut task = Task::new(Arc::clone(core), job);
    let mut round = 0;
    loop {
        match task.advance() {
            WorkState::Pending => task.rest(round),
            WorkState::Done => return Ok(()),
            WorkState::Failed => return core.failure().map_or(Ok(()), Err),
        }
        round = round.saturating_add(1);
    }
}
