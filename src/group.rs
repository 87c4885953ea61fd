//! Groups: operations and initialisations collected per thread, and what happens when the outermost group ends.
#![forbid(unsafe_code)]

use std::cell::RefCell;
use std::ffi::c_void;
use std::sync::Arc;

use smallvec::SmallVec;

use crate::algo::Step;
use crate::algo::{Lane, Program, input, output, pairwise};
use crate::base::types::{Collective, DataType, Protocol, RedOp};
use crate::base::{Result, log};
use crate::comm::{self, Comm, Config, InitRequest};
use crate::device::Stream;
use crate::exec::{BoundOp, Core, Job, Launch, job, launch_all, launch_one};
use crate::plan::{Algorithm, Geometry, Plan};
use crate::{bail, err, info};

/// One call of an operation, checked.
pub struct Op {
    pub coll: Collective,
    pub send: *const c_void,
    pub recv: *mut c_void,
    /// Elements, as passed to the call.
    pub count: usize,
    pub dtype: DataType,
    pub op: Option<RedOp>,
    /// Root or peer, else 0.
    pub peer: usize,
    pub vector: Option<Box<VectorCounts>>,
    pub comm: Arc<Comm>,
    pub stream: *mut c_void,
}

/// This rank's own counts and displacements, in elements, one per rank.
#[derive(Clone, Debug, Default)]
pub struct VectorCounts {
    pub send_counts: Vec<usize>,
    pub send_displs: Vec<usize>,
    pub recv_counts: Vec<usize>,
    pub recv_displs: Vec<usize>,
}

/// Takes the result of an initialisation or split, on whichever thread it ran.
pub type Done<T> = Box<dyn FnOnce(Result<T>) + Send>;

/// Something that all ranks of a communicator do together and that blocks until they have.
struct Meeting {
    device: i32,
    act: Box<dyn FnOnce() -> Result<()> + Send>,
}

#[derive(Default)]
struct Group {
    depth: usize,
    ops: Vec<Op>,
    meetings: Vec<Meeting>,
}

thread_local! {
    static GROUP: RefCell<Group> = RefCell::new(Group::default());
}

/// Opens a group; groups nest.
pub fn start() -> Result<()> {
    GROUP.with_borrow_mut(|group| group.depth += 1);
    Ok(())
}

/// Ends a group; the outermost end starts what was collected.
pub fn end() -> Result<()> {
    let Some(group) = close()? else { return Ok(()) };
    run_meetings(group.meetings)?;
    run_ops(group.ops.into())
}

/// Ends a group without starting anything; the predicted time of what was collected, in microseconds.
pub fn simulate_end() -> Result<f32> {
    let Some(group) = close()? else { return Ok(0.0) };
    let mut seconds = 0.0;
    for op in &group.ops {
        let core = op.comm.core()?;
        let planner = core.planner.lock().map_err(|_| err!(Internal, "an earlier operation panicked"))?;
        let bytes = op.count.saturating_mul(op.dtype.size());
        let algorithm = planner.choice().pick(planner.shape(), op.coll, bytes);
        seconds += planner.choice().cost(algorithm, planner.shape(), op.coll, bytes);
    }
    Ok((seconds * 1e6) as f32)
}

/// What the outermost group collected, when this call ends it.
fn close() -> Result<Option<Group>> {
    GROUP.with_borrow_mut(|group| match group.depth {
        0 => Err(err!(InvalidUsage, "not in a group call")),
        1 => Ok(Some(std::mem::take(group))),
        _ => {
            group.depth -= 1;
            Ok(None)
        }
    })
}

/// Starts an operation, or collects it for the end of the open group.
pub fn submit(op: Op) -> Result<()> {
    op.comm.usable()?;
    let collected = GROUP.with_borrow_mut(|group| match group.depth {
        0 => Some(op),
        _ => {
            group.ops.push(op);
            None
        }
    });
    match collected {
        Some(op) => run_ops(SmallVec::from_buf([op])),
        None => Ok(()),
    }
}

/// Initialises a communicator now, or at the end of the open group together with the others collected there.
pub fn submit_init(mut request: InitRequest, done: Done<Arc<Comm>>) -> Result<()> {
    let device = match request.device {
        Some(device) => device,
        None => crate::device::runtime()?.current_device()?,
    };
    request.device = Some(device);
    submit_meeting(Meeting { device, act: Box::new(move || report(comm::init(request), done)) })
}

/// Splits a communicator now, or at the end of the open group together with the others collected there.
pub fn submit_split(
    parent: Arc<Comm>,
    color: i32,
    key: i32,
    config: Option<Config>,
    done: Done<Option<Arc<Comm>>>,
) -> Result<()> {
    let device = parent.device();
    submit_meeting(Meeting { device, act: Box::new(move || report(parent.split(color, key, config), done)) })
}

fn report<T>(result: Result<T>, done: Done<T>) -> Result<()> {
    let outcome = result.as_ref().map(|_| ()).map_err(Clone::clone);
    done(result);
    outcome
}

fn submit_meeting(meeting: Meeting) -> Result<()> {
    let now = GROUP.with_borrow_mut(|group| match group.depth {
        0 => Some(meeting),
        _ => {
            group.meetings.push(meeting);
            None
        }
    });
    now.map_or(Ok(()), |meeting| (meeting.act)())
}

/// One thread each: they are meetings of ranks, and several may be of one communicator.
fn run_meetings(meetings: Vec<Meeting>) -> Result<()> {
    let results: Vec<Result<()>> = std::thread::scope(|scope| {
        let start = |meeting: Meeting| {
            let thread = std::thread::Builder::new().name("mccl-init".into());
            let spawned = thread.spawn_scoped(scope, move || {
                log::set_thread_device(meeting.device);
                (meeting.act)()
            });
            spawned.map_err(|e| crate::base::Error::system("a thread for initialisation", &e))
        };
        let threads: Vec<_> = meetings.into_iter().map(start).collect();
        let join = |thread: Result<std::thread::ScopedJoinHandle<'_, Result<()>>>| {
            thread?.join().unwrap_or_else(|_| Err(err!(Internal, "initialisation panicked")))
        };
        threads.into_iter().map(join).collect()
    });
    results.into_iter().collect()
}

fn run_ops(ops: SmallVec<[Op; 1]>) -> Result<()> {
    let Some(first) = ops.first() else { return Ok(()) };
    let runtime = first.comm.runtime();
    let mut launches: SmallVec<[Launch; 1]> = SmallVec::new();
    if let [op] = &ops[..]
        && !is_p2p(op)
        && runtime.staging().is_none()
    {
        return run_one(op);
    }
    let mut comms: Vec<&Arc<Comm>> = Vec::new();
    for op in &ops {
        if !comms.iter().any(|c| Arc::ptr_eq(c, &op.comm)) {
            comms.push(&op.comm);
        }
    }
    for comm in comms {
        let of_comm = ops.iter().filter(|op| Arc::ptr_eq(comm, &op.comm));
        launches.extend(build(comm, of_comm)?);
    }
    launch_all(runtime, launches)
}

/// A collective that stands alone, without the detours of a group.
fn run_one(op: &Op) -> Result<()> {
    let core = op.comm.core()?;
    let Some(bound) = bind(core, op)? else { return Ok(()) };
    info!(Coll, "{}", describe(core, op));
    launch_one(op.comm.runtime(), core, bound, Stream(op.stream))
}

/// The work of one communicator: its collectives one after the other, then its sends and receives side by side.
fn build<'a>(comm: &Comm, ops: impl Iterator<Item = &'a Op> + Clone) -> Result<Option<Launch>> {
    let core = comm.core()?;
    let mut job = Job::default();
    for op in ops.clone().filter(|op| !is_p2p(op)) {
        if let Some(bound) = bind(core, op)? {
            info!(Coll, "{}", describe(core, op));
            job.push(bound, core.piece_bytes);
            job.end_stage();
        }
    }
    if ops.clone().any(is_p2p) {
        let calls: Vec<&Op> = ops.clone().filter(|op| is_p2p(op)).collect();
        push_p2p(core, &mut job, &calls)?;
    }
    let mut streams: SmallVec<[Stream; 1]> = SmallVec::new();
    for op in ops {
        if !streams.contains(&Stream(op.stream)) {
            streams.push(Stream(op.stream));
        }
    }
    let Some(stream) = streams.first().copied().filter(|_| !job.is_empty()) else { return Ok(None) };
    let joined = streams[1..].iter().copied().collect();
    Ok(Some(Launch { core: Arc::clone(core), device: comm.device(), job, stream, joined }))
}

fn is_p2p(op: &Op) -> bool {
    matches!(op.coll, Collective::Send | Collective::Recv)
}

/// The operation with its plan; `None` when there is nothing to do.
fn bind(core: &Core, op: &Op) -> Result<Option<BoundOp>> {
    if op.count == 0 && op.vector.is_none() {
        return Ok(None);
    }
    let mut planner = core.planner.lock().map_err(|_| err!(Internal, "an earlier operation panicked"))?;
    let mut plan = planner.plan(op.coll, op.peer, op.count, op.dtype.size());
    drop(planner);
    if let Some(vector) = &op.vector {
        let VectorCounts { send_counts, send_displs, recv_counts, recv_displs } = &**vector;
        let (out, back) = (send_counts.get(core.rank), recv_counts.get(core.rank));
        if out != back {
            bail!(InvalidArgument, "rank {} sends itself {out:?} elements but receives {back:?}", core.rank);
        }
        plan = Arc::new(Plan {
            input: Geometry::Vector { starts: send_displs.clone(), counts: send_counts.clone() },
            output: Geometry::Vector { starts: recv_displs.clone(), counts: recv_counts.clone() },
            ..Plan::clone(&plan)
        });
    }
    Ok(Some(bound(core, op, plan)))
}

fn bound(core: &Core, op: &Op, plan: Arc<Plan>) -> BoundOp {
    let (reduction, scale, op_code) = job::reduction(op.op, op.dtype, core.nranks);
    BoundOp {
        coll: op.coll,
        dtype: op.dtype,
        count: op.count,
        root: op.peer,
        nranks: core.nranks,
        plan,
        input: op.send.cast(),
        output: op.recv.cast(),
        reduction,
        scale,
        op_code,
    }
}

/// Sends and receives: the k-th message of each pair and direction runs in the k-th stage, so that messages of a pair
/// keep their order and different peers do not wait for each other. Messages to this rank itself are copies.
fn push_p2p(core: &Core, job: &mut Job, calls: &[&Op]) -> Result<()> {
    let to_self = |coll| calls.iter().copied().filter(move |op| op.coll == coll && op.peer == core.rank);
    let (sends, recvs) = (to_self(Collective::Send).count(), to_self(Collective::Recv).count());
    if sends != recvs {
        bail!(
            InvalidUsage,
            "the group has {sends} sends to rank {} itself and {recvs} receives from itself: each needs its partner in the same group",
            core.rank
        );
    }
    for (send, recv) in to_self(Collective::Send).zip(to_self(Collective::Recv)) {
        job.push(bind_self(core, send, recv)?, core.piece_bytes);
    }
    let mut waves: Vec<Vec<&Op>> = Vec::new();
    for op in calls.iter().copied().filter(|op| op.peer != core.rank) {
        let same = |other: &&Op| other.coll == op.coll && other.peer == op.peer;
        let wave = waves.iter().take_while(|wave| wave.iter().any(same)).count();
        match waves.get_mut(wave) {
            Some(wave) => wave.push(op),
            None => waves.push(vec![op]),
        }
    }
    for wave in waves {
        for op in wave {
            info!(Coll, "{}", describe(core, op));
            job.push(bind_p2p(core, op), core.piece_bytes);
        }
        job.end_stage();
    }
    job.end_stage();
    Ok(())
}

fn bind_p2p(core: &Core, op: &Op) -> BoundOp {
    let step = match op.coll {
        Collective::Send => pairwise::send(op.peer),
        _ => pairwise::recv(op.peer),
    };
    bound(core, op, single_step(step, op.count))
}

fn bind_self(core: &Core, send: &Op, recv: &Op) -> Result<BoundOp> {
    let bytes = |op: &Op| op.count * op.dtype.size();
    if bytes(send) != bytes(recv) {
        bail!(
            InvalidUsage,
            "rank {} sends itself {} bytes but receives {}",
            core.rank,
            bytes(send),
            bytes(recv)
        );
    }
    let mut op = bound(core, send, single_step(Step::Copy { src: input(0), dst: output(0) }, send.count));
    op.output = recv.recv.cast();
    Ok(op)
}

fn single_step(step: Step, count: usize) -> Arc<Plan> {
    Arc::new(Plan {
        algorithm: Algorithm::Pairwise,
        protocol: Protocol::Simple,
        program: Arc::new(Program { lanes: vec![Lane::new(vec![step])] }),
        input: Geometry::Whole { count },
        output: Geometry::Whole { count },
    })
}

/// The line of the COLL subsystem.
fn describe(core: &Core, op: &Op) -> String {
    let op_code = job::reduction(op.op, op.dtype, core.nranks).2;
    format!(
        "{}: opCount {:x} sendbuff {:p} recvbuff {:p} count {} datatype {} op {op_code} root {} comm {} [nranks={}] stream {:p}",
        op.coll.name(),
        core.operations(),
        op.send,
        op.recv,
        op.count,
        op.dtype as u8,
        op.peer,
        core.name,
        core.nranks,
        op.stream
    )
}
