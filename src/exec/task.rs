//! A group's work on one communicator as something that can be polled, from any thread, by one at a time.
use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::time::Duration;

use crate::base::types::Rank;
use crate::base::{Error, Result};
use crate::channel::bell::Sleep;
use crate::device::{Work, WorkState};
use crate::err;
use crate::exec::direct::describe;
use crate::exec::engine::Core;
use crate::exec::gate::Gate;
use crate::exec::job::Job;
use crate::exec::line::Place;
use crate::exec::machine::{self, Outcome};
use crate::sys;

/// Rounds of waiting by spinning, while every rank of the host has a core.
const SPIN_ROUNDS: u32 = 2_000;
/// Rounds of waiting by yielding the core, before sleeping. Few: where each rank has a scheduling group of its own (MPICH's
/// launcher gives each a session), yielding never reaches the rank that is waited for.
pub(super) const YIELD_ROUNDS: u32 = 100;
/// The same while sockets are looked at.
const NET_ROUNDS: u32 = 50;
/// Longest sleep on the bell; bounds how late an abort or a deadline is seen.
const SLEEP: Duration = Duration::from_millis(5);
/// Longest sleep while sockets or another task are waited for.
const SHORT_SLEEP: Duration = Duration::from_millis(1);
const LIVENESS_NS: u64 = 100_000_000;

/// One communicator's part of a group.
pub struct Task {
    core: Arc<Core>,
    job: Job,
    /// None: not yet taken, or a template in a captured graph; each launch makes a task of it.
    turn: Option<u64>,
    /// Where the task stands until it takes its turn.
    place: Option<Place>,
    state: WorkState,
    /// When waiting began to be timed; 0: not yet.
    waiting_since: u64,
    last_check: u64,
    /// An awaited peer that the last check found dead.
    suspect: Option<Rank>,
    /// The rank is marked as sleeping; the next round without progress really sleeps.
    armed: Option<Armed>,
    /// Other streams that the task is on.
    gate: Option<Arc<Gate>>,
}

/// Keeps the region alive beside the sleeper's mark in it.
struct Armed {
    core: Arc<Core>,
    bell: u32,
}

impl Task {
    /// A task that runs after all earlier tasks of the communicator.
    pub fn new(core: Arc<Core>, job: Job) -> Self {
        let turn = core.take_turn();
        Self::with_turn(core, job, Some(turn))
    }

    /// A task that takes its turn when it is first polled, after those that were made earlier.
    pub fn queued(core: Arc<Core>, job: Job) -> Self {
        let place = core.line.join();
        let mut task = Self::with_turn(core, job, None);
        task.place = Some(place);
        task
    }

    /// A template for [`Work::rearm`]; it never runs itself.
    pub fn captured(core: Arc<Core>, job: Job) -> Self {
        Self::with_turn(core, job, None)
    }

    fn with_turn(core: Arc<Core>, job: Job, turn: Option<u64>) -> Self {
        Self {
            core,
            job,
            turn,
            place: None,
            state: WorkState::Pending,
            waiting_since: 0,
            last_check: 0,
            suspect: None,
            armed: None,
            gate: None,
        }
    }

    /// Starts only when all streams of the gate have come up, and opens it at its end.
    pub fn behind(mut self, gate: Option<Arc<Gate>>) -> Self {
        self.gate = gate;
        self
    }

    pub fn core(&self) -> &Arc<Core> {
        &self.core
    }

    /// Makes what progress it can.
    pub fn advance(&mut self) -> WorkState {
        if self.state != WorkState::Pending {
            return self.state;
        }
        if self.core.failure().is_some() {
            return self.end(WorkState::Failed);
        }
        if self.gate.as_ref().is_some_and(|gate| !gate.all_came()) {
            return WorkState::Pending;
        }
        if self.place.as_ref().is_some_and(Place::is_first) {
            self.turn = Some(self.core.take_turn());
            self.place = None;
        }
        // Pairs with the release in `end`: the engine as the previous task left it.
        if self.turn.is_none_or(|turn| self.core.turns_done.load(Ordering::Acquire) < turn) {
            return WorkState::Pending;
        }
        match self.run() {
            Ok(Outcome::Waiting) => WorkState::Pending,
            Ok(Outcome::Done) => self.end(WorkState::Done),
            Err(error) => {
                self.core.fail(error, None);
                self.end(WorkState::Failed)
            }
        }
    }

    fn run(&mut self) -> Result<Outcome> {
        let mut engine =
            self.core.engine.lock().map_err(|_| err!(Internal, "an earlier operation panicked"))?;
        let outcome = machine::run(&mut engine, &mut self.job);
        let rang = std::mem::take(&mut engine.rang);
        drop(engine);
        if rang {
            self.core.ring();
        }
        outcome
    }

    fn end(&mut self, state: WorkState) -> WorkState {
        self.state = state;
        self.armed = None;
        self.place = None;
        if let Some(gate) = &self.gate {
            gate.open();
        }
        if let Some(turn) = self.turn {
            // Pairs with the acquire in `advance` and in `Core::idle`.
            self.core.turns_done.fetch_max(turn + 1, Ordering::Release);
        }
        state
    }

    /// One step of waiting after `round` rounds without progress.
    pub fn rest(&mut self, round: u32) {
        let spins = if self.core.crowded || self.core.networked { 0 } else { SPIN_ROUNDS };
        let yields = if self.core.networked { NET_ROUNDS } else { YIELD_ROUNDS };
        if round < spins {
            std::hint::spin_loop();
        } else if round < spins + yields {
            sys::cpu::yield_now();
        } else {
            self.watch();
            self.sleep();
        }
    }

    /// Sleeps until something may have changed. Takes two calls, with a poll between them: mark, then sleep.
    fn sleep(&mut self) {
        let in_turn = self.in_turn();
        let fds = match self.core.engine.try_lock() {
            Ok(mut engine) if in_turn => {
                let mut ranks = machine::awaited(&mut engine, &self.job);
                if ranks.is_empty() {
                    // Only posted messages are left to leave.
                    ranks.extend(0..self.core.nranks);
                }
                engine.poll_fds(&ranks)
            }
            _ => return std::thread::sleep(SHORT_SLEEP / 10),
        };
        if !fds.is_empty() {
            return sys::poll::wait_raw(&fds, SHORT_SLEEP);
        }
        let Some(host) = &self.core.host else { return std::thread::sleep(SHORT_SLEEP / 10) };
        match self.armed.take() {
            None => {
                let bell = Sleep::mark(&host.region, host.me);
                self.armed = Some(Armed { core: Arc::clone(&self.core), bell });
            }
            Some(armed) => Sleep::wait(&host.region, host.me, armed.bell, SLEEP),
        }
    }

    fn in_turn(&self) -> bool {
        self.turn.is_some_and(|turn| self.core.turns_done.load(Ordering::Acquire) >= turn)
    }

    /// Checks the deadline, and now and then whether the peers still live.
    fn watch(&mut self) {
        let now = sys::clock::now_ns();
        if self.waiting_since == 0 {
            self.waiting_since = now;
        }
        if now - self.last_check < LIVENESS_NS {
            return;
        }
        self.last_check = now;
        let in_turn = self.in_turn();
        let Ok(mut engine) = self.core.engine.try_lock() else { return };
        // Until its turn a task cannot know whether what it waits for has come already.
        let awaited = if in_turn { machine::awaited(&mut engine, &self.job) } else { Vec::new() };
        let dead = engine.dead_peer(&awaited);
        // A peer may leave when its part is done: it is lost only if a poll after its end still waits for it.
        let before = std::mem::replace(&mut self.suspect, dead.map(|(rank, _)| rank));
        if let Some((rank, pid)) = dead.filter(|(rank, _)| before == Some(*rank)) {
            let text = format!("{}: rank {rank} is lost: its process {pid} has ended", self.what());
            drop(engine);
            self.core.fail(Error::new(crate::base::ErrorKind::Remote, text), Some(rank));
            return;
        }
        let waited = now - self.waiting_since;
        if self.core.timeout_ns != 0 && waited > self.core.timeout_ns {
            drop(engine);
            let text =
                format!("{}: waited {} s for {}", self.what(), waited / 1_000_000_000, ranks(&awaited));
            self.core.fail(Error::new(crate::base::ErrorKind::Timeout, text), awaited.first().copied());
        }
    }

    fn what(&self) -> String {
        let call = self.job.current().map(|op| describe(op.signature(), op.count as u64));
        let turn = self.turn.unwrap_or_default();
        format!(
            "{} (operation {turn} of rank {}, {})",
            call.unwrap_or_default(),
            self.core.rank,
            self.core.name
        )
    }
}

/// `rank 3` or `ranks 1, 4`.
fn ranks(list: &[Rank]) -> String {
    let numbers: Vec<String> = list.iter().map(Rank::to_string).collect();
    match list.len() {
        0 => "its turn".into(),
        1 => format!("rank {}", numbers[0]),
        _ => format!("ranks {}", numbers.join(", ")),
    }
}

impl Work for Task {
    fn poll(&mut self) -> WorkState {
        self.advance()
    }

    fn idle(&mut self, round: u32) {
        self.rest(round);
    }

    fn rearm(&self) -> Option<Box<dyn Work>> {
        self.core
            .failure()
            .is_none()
            .then(|| Box::new(Self::new(Arc::clone(&self.core), self.job.clone())) as _)
    }
}

impl Drop for Task {
    fn drop(&mut self) {
        if (self.turn.is_some() || self.place.is_some()) && self.state == WorkState::Pending {
            self.core.fail(err!(Internal, "{}: dropped before it was complete", self.what()), None);
            self.end(WorkState::Failed);
        }
    }
}

impl Drop for Armed {
    fn drop(&mut self) {
        if let Some(host) = &self.core.host {
            Sleep::unmark(&host.region, host.me);
        }
    }
}
