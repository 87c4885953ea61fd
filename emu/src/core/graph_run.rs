//! One launch of a graph on a stream.

use std::sync::Arc;

use super::error::{Error, Result};
use super::fence::Fence;
use super::graph::{Executable, NodeWork, Plan};
use super::lock;
use super::slab::{CAPTURING, StreamRef};
use super::work::{Effects, Mode, Step, Work};
use super::{capture, stream, worker};
use std::sync::atomic::Ordering;

/// The nodes of a launch that are not done yet. Independent nodes advance side by side.
pub struct GraphRun {
    plan: Arc<Plan>,
    works: Vec<Option<Work>>,
    missing: Vec<usize>,
    /// Nodes whose needs are met and which are not done.
    open: Vec<usize>,
    failed: bool,
}

/// Puts a launch on the stream, or into the capture in progress.
pub fn launch(executable: &Executable, target: StreamRef) -> Result<()> {
    if target.state.load(Ordering::Acquire) & CAPTURING != 0 {
        return capture::embed(target, &executable.plan);
    }
    let _in_order = lock(&executable.launching);
    let plan = executable.plan.clone();
    let works = plan.works.iter().map(|work| arm(work, target)).collect::<Result<Vec<_>>>()?;
    let missing: Vec<usize> = plan.needs.iter().map(Vec::len).collect();
    let open = (0..works.len()).filter(|&i| missing[i] == 0).collect();
    stream::submit(target, Work::Graph(Box::new(GraphRun { plan, works, missing, open, failed: false })))
}

/// The work of a node for one launch; none for an empty node.
fn arm(work: &NodeWork, target: StreamRef) -> Result<Option<Work>> {
    Ok(Some(match work {
        NodeWork::Empty => return Ok(None),
        NodeWork::Copy { dst, src, len } => Work::Copy { dst: *dst, src: *src, len: *len },
        NodeWork::Fill { dst, value, len } => Work::Fill { dst: *dst, value: *value, len: *len },
        NodeWork::Host { call, arg } => Work::Host { call: *call, arg: *arg },
        &NodeWork::WriteValue { address, value, wide } => Work::WriteValue { address, value, wide },
        &NodeWork::WaitValue { address, value, wide, test } => Work::WaitValue { address, value, wide, test },
        NodeWork::Record(event) => {
            let fence = Arc::new(Fence::default());
            event.set(fence.clone(), target);
            Work::Signal(fence)
        }
        NodeWork::Hold(event) => match event.latest_fence() {
            Some(fence) => Work::Wait { fence, parked: false },
            None => return Ok(None),
        },
        NodeWork::Poll(template) => Work::Poll(lock(template).rearm().ok_or(Error::LAUNCH_FAILURE)?),
    }))
}

impl GraphRun {
    /// Advances every open node as far as `mode` allows. What blocks or moves bulk data comes last, so that it
    /// does not hold up work that others wait for.
    pub fn step(&mut self, stream: StreamRef, mode: Mode, effects: &mut Effects) -> Step {
        loop {
            let light = if mode == Mode::Classify { mode } else { Mode::Help };
            let (mut pending, mut parked, heavy) = self.pass(stream, light, effects);
            if let Some(node) = heavy {
                match self.step_node(node, stream, mode, effects) {
                    Step::Heavy if pending => worker::wake(stream),
                    Step::Heavy => return Step::Heavy,
                    Step::Pending => pending = true,
                    Step::Parked => parked = true,
                    Step::Done | Step::Failed => continue,
                }
            }
            return match (pending, parked) {
                (true, _) => Step::Pending,
                (false, true) => Step::Parked,
                (false, false) if self.failed => Step::Failed,
                (false, false) => Step::Done,
            };
        }
    }

    /// Steps open nodes until none of them gets anywhere. Whether some are pending, some are parked, and a heavy one.
    fn pass(&mut self, stream: StreamRef, mode: Mode, effects: &mut Effects) -> (bool, bool, Option<usize>) {
        loop {
            let (mut pending, mut parked, mut heavy, mut moved) = (false, false, None, false);
            for node in self.open.clone() {
                match self.step_node(node, stream, mode, effects) {
                    Step::Done | Step::Failed => moved = true,
                    Step::Pending => pending = true,
                    Step::Parked => parked = true,
                    Step::Heavy => heavy = heavy.or(Some(node)),
                }
            }
            if !moved {
                return (pending, parked, heavy);
            }
        }
    }

    /// Steps one open node; a failed one counts as done for those that need it.
    fn step_node(&mut self, node: usize, stream: StreamRef, mode: Mode, effects: &mut Effects) -> Step {
        let step = self.works[node].as_mut().map_or(Step::Done, |work| work.step(stream, mode, effects));
        if matches!(step, Step::Done | Step::Failed) {
            self.failed |= step == Step::Failed;
            self.works[node] = None;
            self.open.retain(|&n| n != node);
            for &next in &self.plan.successors[node] {
                self.missing[next] -= 1;
                if self.missing[next] == 0 {
                    self.open.push(next);
                }
            }
        }
        step
    }

    /// One pause, as an open node likes.
    pub fn idle(&mut self, round: u32) {
        let count = self.open.len().max(1);
        let pick = round as usize % count;
        match self.open.get(pick).and_then(|&node| self.works[node].as_mut()) {
            Some(work) => work.idle(round / count as u32),
            None => super::work::rest(round),
        }
    }
}
