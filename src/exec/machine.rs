//! The interpreter: runs the lanes of a job as far as they go without waiting.
use crate::algo::{Peers, Step};
use crate::base::Result;
use crate::base::types::{Collective, Rank};
use crate::exec::direct;
use crate::exec::engine::{Engine, Wire};
use crate::exec::job::{BoundOp, Job, LaneState};
use crate::exec::messages;

/// What became of one step, or of a run of the whole job.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Outcome {
    Done,
    /// It waits for a peer.
    Waiting,
}

/// Runs what can run. `Waiting` means that every lane of the stage that is not finished waits for a peer.
pub fn run(engine: &mut Engine, job: &mut Job) -> Result<Outcome> {
    while job.stage < job.stages.len() {
        let lanes = job.stage_start()..job.stages[job.stage];
        let mut finished = true;
        for index in lanes {
            let lane = &mut job.lanes[index];
            if !lane.finished() {
                finished &= run_lane(engine, &mut job.ops, lane)? == Outcome::Done;
            }
        }
        if !finished {
            // Peers may wait for what is still on its way out.
            engine.flush()?;
            return Ok(Outcome::Waiting);
        }
        job.stage += 1;
    }
    // Sockets: what was posted has to leave before the caller may think the operation complete.
    Ok(if engine.flush()? { Outcome::Done } else { Outcome::Waiting })
}

fn run_lane(engine: &mut Engine, ops: &mut [BoundOp], lane: &mut LaneState) -> Result<Outcome> {
    while !lane.finished() {
        let op = &mut ops[lane.op];
        let Some(step) = op.plan.program.lanes[lane.lane].steps.get(lane.pc).copied() else {
            lane.pc = 0;
            lane.piece += 1;
            continue;
        };
        if run_step(engine, op, lane, step)? == Outcome::Waiting {
            return Ok(Outcome::Waiting);
        }
        lane.pc += 1;
        lane.seen = 0;
    }
    Ok(Outcome::Done)
}

fn run_step(engine: &mut Engine, op: &mut BoundOp, lane: &mut LaneState, step: Step) -> Result<Outcome> {
    match step {
        Step::Send { to, src } => messages::send(engine, op, lane, to, src),
        Step::Recv { from, dst } => messages::recv(engine, op, lane, from, dst),
        Step::RecvReduceSend { from, to, src } => {
            messages::reduce_send(engine, op, lane, (from, to), src, None)
        }
        Step::RecvReduceCopySend { from, to, src, dst } => {
            messages::reduce_send(engine, op, lane, (from, to), src, Some(dst))
        }
        Step::RecvReduceCopy { from, src, dst } => messages::reduce_copy(engine, op, lane, from, src, dst),
        Step::RecvCopySend { from, to, dst } => messages::copy_send(engine, op, lane, (from, to), dst),
        Step::Copy { src, dst } => {
            direct::copy(op, lane, src, dst);
            Ok(Outcome::Done)
        }
        Step::Publish => direct::publish(engine, op),
        Step::WaitPublished(who) => direct::wait_published(engine, op, lane, who),
        Step::ReduceAll { src, dst, to } => direct::reduce_all(engine, op, src, dst, to),
        Step::Pull { from, src, dst } => direct::pull(engine, op, from, src, dst),
        Step::Finish => direct::finish(engine),
        Step::WaitFinished(who) => direct::wait_finished(engine, lane, who),
    }
}

/// The connection that an operation's messages use.
pub fn wire_of(coll: Collective) -> Wire {
    match coll {
        Collective::Send | Collective::Recv => Wire::PointToPoint,
        _ => Wire::Collective,
    }
}

/// Ranks that the job waits for now, for messages.
pub fn awaited(engine: &mut Engine, job: &Job) -> Vec<Rank> {
    let mut ranks = Vec::new();
    if job.stage >= job.stages.len() {
        return ranks;
    }
    for lane in &job.lanes[job.stage_start()..job.stages[job.stage]] {
        let op = &job.ops[lane.op];
        let step = op.plan.program.lanes[lane.lane].steps.get(lane.pc);
        match step.filter(|_| !lane.finished()) {
            Some(Step::Send { to, .. }) => ranks.push(*to),
            Some(Step::Recv { from, .. } | Step::RecvReduceCopy { from, .. }) => ranks.push(*from),
            Some(
                Step::RecvReduceSend { from, to, .. }
                | Step::RecvReduceCopySend { from, to, .. }
                | Step::RecvCopySend { from, to, .. },
            ) => ranks.extend([*from, *to]),
            Some(Step::WaitPublished(Peers::One(q)) | Step::WaitFinished(Peers::One(q))) => ranks.push(*q),
            Some(step) => ranks.extend(direct::awaited(engine, step)),
            None => {}
        }
    }
    ranks.sort_unstable();
    ranks.dedup();
    ranks
}
