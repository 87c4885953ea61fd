//! The execution state of one communicator: its connections, its view of shared memory, and whether it has been stopped.
use std::os::fd::RawFd;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, Mutex, OnceLock};

use crate::base::types::Rank;
use crate::base::{Error, ErrorKind, Result};
use crate::channel::Region;
use crate::channel::bell::{self, Halt, HaltReason};
use crate::channel::slots::{Place, Slots};
use crate::device::Runtime;
use crate::exec::access::PeerMemory;
use crate::exec::line::Line;
use crate::plan::Planner;
use crate::sys;
use crate::transport::{Interest, RecvEnd, SendEnd};
use crate::{err, warn_};

/// Which of the two connections between a pair: collectives and point-to-point calls do not wait for each other.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Wire {
    Collective = 0,
    PointToPoint = 1,
}

const WIRES: usize = 2;
/// Looks in a row of one step, some ten nanoseconds each.
const STEP_SPINS: u32 = 40;

/// Opens connections on first use.
pub trait Links: Send {
    fn send_end(&mut self, to: Rank, wire: Wire) -> Result<Box<dyn SendEnd>>;
    fn recv_end(&mut self, from: Rank, wire: Wire) -> Result<Box<dyn RecvEnd>>;
}

/// The ranks of this host, as the shared region numbers them.
#[derive(Clone)]
pub struct HostView {
    pub region: Region,
    /// This rank's number on the host.
    pub me: usize,
    /// Rank of the communicator by number on the host.
    pub ranks: Vec<Rank>,
}

/// What a communicator's tasks share.
pub struct Core {
    pub rank: Rank,
    pub nranks: usize,
    /// For messages: the communicator as logs name it.
    pub name: String,
    pub host: Option<HostView>,
    pub engine: Mutex<Engine>,
    pub planner: Mutex<Planner>,
    /// Turns given out to tasks, and turns that are over.
    turns: AtomicU64,
    pub(super) turns_done: AtomicU64,
    /// Tasks that take their turns later.
    pub(super) line: Arc<Line>,
    stopped: AtomicBool,
    error: OnceLock<Error>,
    /// More ranks than cores share this host: waiting must give the core away at once.
    pub crowded: bool,
    /// Some ranks are reached by sockets: each look for progress is a system call, so sleep early.
    pub networked: bool,
    /// Nanoseconds that an operation may wait; 0: for ever.
    pub timeout_ns: u64,
    /// Bytes of one message.
    pub piece_bytes: usize,
}

/// What a [`Core`] is made of.
pub struct Parts {
    pub nranks: usize,
    /// For messages: the communicator as logs name it.
    pub name: String,
    pub host: Option<HostView>,
    pub planner: Planner,
    pub crowded: bool,
    pub networked: bool,
    pub timeout_ns: u64,
    pub piece_bytes: usize,
}

impl Core {
    pub fn new(parts: Parts, mut engine: Engine) -> Self {
        let Parts { nranks, name, host, planner, crowded, networked, timeout_ns, piece_bytes } = parts;
        engine.spins = if crowded || networked { 0 } else { STEP_SPINS };
        Self {
            rank: engine.me,
            nranks,
            name,
            host,
            engine: Mutex::new(engine),
            planner: Mutex::new(planner),
            turns: AtomicU64::new(0),
            turns_done: AtomicU64::new(0),
            line: Arc::default(),
            stopped: AtomicBool::new(false),
            error: OnceLock::new(),
            crowded,
            networked,
            timeout_ns,
            piece_bytes,
        }
    }

    /// Tasks started so far.
    pub fn operations(&self) -> u64 {
        self.turns.load(Ordering::Relaxed)
    }

    /// The place of the next task in the order of calls.
    pub fn take_turn(&self) -> u64 {
        self.turns.fetch_add(1, Ordering::Relaxed)
    }

    /// Every task is over that was given a turn or will take one.
    pub fn idle(&self) -> bool {
        // First the line: who left it has a turn.
        if !self.line.is_empty() {
            return false;
        }
        // Pairs with the release store of `turns_done` when a task ends.
        self.turns_done.load(Ordering::Acquire) == self.turns.load(Ordering::Relaxed)
    }

    /// Why the communicator cannot go on, if so: this rank's own first error, or what a peer on this host reported.
    pub fn failure(&self) -> Option<Error> {
        if self.stopped.load(Ordering::Acquire) {
            return self.error.get().cloned();
        }
        let halt = bell::halted(&self.host.as_ref()?.region)?;
        let error = self.explain(halt);
        Some(self.stop(error))
    }

    /// The error that `failure` reports, unless there is one already. Does not tell the peers.
    fn stop(&self, mut error: Error) -> Error {
        let error = self
            .error
            .get_or_init(|| {
                if error.kind != ErrorKind::Aborted {
                    warn_!("{error}");
                }
                error.logged = true;
                error
            })
            .clone();
        self.stopped.store(true, Ordering::Release);
        error
    }

    /// Makes every later operation of this rank fail with `error`, without a word to the peers.
    pub fn retire(&self, mut error: Error) {
        error.logged = true;
        self.error.get_or_init(|| error);
        self.stopped.store(true, Ordering::Release);
    }

    /// Stops this rank with `error` and, through the shared region, the other ranks of the host.
    pub fn fail(&self, error: Error, about: Option<Rank>) -> Error {
        let reason = match error.kind {
            ErrorKind::Aborted => HaltReason::Aborted,
            ErrorKind::InvalidUsage => HaltReason::Mismatch,
            ErrorKind::Remote => HaltReason::Died,
            ErrorKind::Timeout => HaltReason::Timeout,
            _ => HaltReason::Failed,
        };
        let error = self.stop(error);
        if let Some(host) = &self.host {
            let about = about.and_then(|r| u16::try_from(r).ok());
            bell::halt(&host.region, Halt { reason, by: self.rank as u32, about });
        }
        error
    }

    fn explain(&self, halt: Halt) -> Error {
        let by = halt.by;
        let about = halt.about.map(|r| format!(" about rank {r}")).unwrap_or_default();
        match halt.reason {
            HaltReason::Aborted => err!(Remote, "rank {by} aborted the communicator"),
            HaltReason::Mismatch => err!(
                InvalidUsage,
                "rank {by} found that the ranks made different calls{about}; its message has the details"
            ),
            HaltReason::Died => err!(
                Remote,
                "rank {by} reported{}: the process has ended",
                halt.about.map(|r| format!(" rank {r} as lost")).unwrap_or_default()
            ),
            HaltReason::Timeout => err!(
                Timeout,
                "an operation of rank {by} passed its deadline{about}; its message has the details"
            ),
            HaltReason::Failed => {
                err!(Remote, "an operation of rank {by} failed{about}; its message has the details")
            }
        }
    }

    /// Wakes ranks of this host that sleep, after a change that they may wait for.
    pub fn ring(&self) {
        if let Some(host) = &self.host {
            bell::ring(&host.region);
        }
    }
}

/// Everything that only the task in turn touches.
pub struct Engine {
    pub me: Rank,
    /// Operation slots, when all ranks share this host. Ranks are numbered as in the communicator then.
    pub slots: Option<Slots>,
    pub peers: Vec<PeerMemory>,
    pub runtime: &'static dyn Runtime,
    /// Sends of at least this many bytes lend the buffer instead of copying, where the peer can reach it.
    pub lend_bytes: usize,
    /// None once the communicator is closed.
    links: Option<Box<dyn Links>>,
    sends: [Vec<Option<Box<dyn SendEnd>>>; WIRES],
    recvs: [Vec<Option<Box<dyn RecvEnd>>>; WIRES],
    /// Sending ends whose messages stay here until the connection takes them.
    buffered: Vec<(Wire, Rank)>,
    scratch: OnceLock<sys::Scratch>,
    /// Liveness handles of peers in other processes of this host.
    pub watched: Vec<(Rank, Arc<sys::Process>)>,
    /// Signature and count word of the operation in progress, and a digest of those before it.
    pub published: (u64, u64),
    pub history: u16,
    /// How often a step looks for a peer before it gives up for this poll; 0 when ranks share cores.
    pub spins: u32,
    /// Peers may have posted or released something since the bell was last rung.
    pub rang: bool,
}

impl Engine {
    pub fn new(
        me: Rank,
        slots: Option<Slots>,
        peers: Vec<PeerMemory>,
        runtime: &'static dyn Runtime,
        links: Box<dyn Links>,
    ) -> Self {
        let n = peers.len();
        let watched = peers.iter().enumerate().filter_map(|(rank, p)| match p {
            PeerMemory::Other { process: Some(process), .. } => Some((rank, Arc::clone(process))),
            _ => None,
        });
        let watched = watched.collect();
        Self {
            me,
            slots,
            peers,
            runtime,
            lend_bytes: 32 << 10,
            links: Some(links),
            sends: std::array::from_fn(|_| (0..n).map(|_| None).collect()),
            recvs: std::array::from_fn(|_| (0..n).map(|_| None).collect()),
            buffered: Vec::new(),
            scratch: OnceLock::new(),
            watched,
            published: (0, 0),
            history: 0,
            spins: 0,
            rang: false,
        }
    }

    pub fn send_end(&mut self, to: Rank, wire: Wire) -> Result<&mut dyn SendEnd> {
        let slot = &mut self.sends[wire as usize][to];
        if slot.is_none() {
            let end = open(&mut self.links)?.send_end(to, wire)?;
            if end.buffers() {
                self.buffered.push((wire, to));
            }
            *slot = Some(end);
        }
        slot.as_deref_mut()
            .map(|end| end as &mut dyn SendEnd)
            .ok_or_else(|| err!(Internal, "no connection to rank {to}"))
    }

    pub fn recv_end(&mut self, from: Rank, wire: Wire) -> Result<&mut dyn RecvEnd> {
        let slot = &mut self.recvs[wire as usize][from];
        if slot.is_none() {
            *slot = Some(open(&mut self.links)?.recv_end(from, wire)?);
        }
        slot.as_deref_mut()
            .map(|end| end as &mut dyn RecvEnd)
            .ok_or_else(|| err!(Internal, "no connection from rank {from}"))
    }

    /// The receiving end from one peer and the sending end to another, together.
    pub fn both_ends(
        &mut self,
        from: Rank,
        to: Rank,
        wire: Wire,
    ) -> Result<(&mut dyn RecvEnd, &mut dyn SendEnd)> {
        self.recv_end(from, wire)?;
        self.send_end(to, wire)?;
        let recv = self.recvs[wire as usize][from].as_deref_mut();
        let send = self.sends[wire as usize][to].as_deref_mut();
        match (recv, send) {
            (Some(recv), Some(send)) => Ok((recv, send)),
            _ => Err(err!(Internal, "no connection from rank {from} or to rank {to}")),
        }
    }

    /// Lets unfinished sends make progress; true when nothing posted is left in our hands.
    pub fn flush(&mut self) -> Result<bool> {
        let mut all = true;
        for (wire, to) in &self.buffered {
            if let Some(end) = &mut self.sends[*wire as usize][*to] {
                all &= end.flushed()?;
            }
        }
        Ok(all)
    }

    /// Sockets of these ranks, on which something may happen that a task waits for.
    pub fn poll_fds(&self, ranks: &[Rank]) -> Vec<(RawFd, Interest)> {
        let of = |rank: &Rank| {
            let recvs = self.recvs.iter().filter_map(|ends| ends[*rank].as_ref()?.poll_fd());
            let sends = self.sends.iter().filter_map(|ends| ends[*rank].as_ref()?.poll_fd());
            recvs.chain(sends).collect::<Vec<_>>()
        };
        ranks.iter().flat_map(of).collect()
    }

    /// What peers need to know to use this rank's buffer in place.
    pub fn place(&self, ptr: *const u8) -> Place {
        let export = self.runtime.export_offset(ptr).map_or(0, |offset| offset + 1);
        Place { addr: ptr as u64, export }
    }

    /// `len` bytes of memory that belongs to this rank's task in turn.
    /// Made on first use and kept: `len` is the same in every call of a communicator.
    pub fn scratch(&self, len: usize) -> Result<*mut u8> {
        if self.scratch.get().is_none() {
            let made = sys::Scratch::new(len)
                .map_err(|e| Error::system(format_args!("scratch memory of {len} bytes"), &e))?;
            let _ = self.scratch.set(made);
        }
        match self.scratch.get() {
            Some(scratch) if scratch.len() >= len => Ok(scratch.as_ptr()),
            _ => Err(err!(Internal, "scratch memory is shorter than {len} bytes")),
        }
    }

    /// Closes every connection and lets go of peers' memory. Operations fail afterwards.
    pub fn close(&mut self) {
        self.slots = None;
        self.links = None;
        self.buffered.clear();
        self.sends.iter_mut().flatten().for_each(|end| *end = None);
        self.recvs.iter_mut().flatten().for_each(|end| *end = None);
        self.peers.iter_mut().for_each(|peer| *peer = PeerMemory::Remote);
        self.watched.clear();
        self.scratch = OnceLock::new();
    }

    /// The first of some ranks whose process is watched and has ended.
    pub fn dead_peer(&self, among: &[Rank]) -> Option<(Rank, u32)> {
        let mut watched = self.watched.iter().filter(|(rank, _)| among.contains(rank));
        watched.find(|(_, p)| !p.is_alive()).map(|(rank, p)| (*rank, p.pid()))
    }
}

fn open(links: &mut Option<Box<dyn Links>>) -> Result<&mut Box<dyn Links>> {
    links.as_mut().ok_or_else(|| err!(InvalidUsage, "the communicator was destroyed"))
}
