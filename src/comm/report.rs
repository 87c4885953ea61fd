//! What a communicator says in the log, and what it reads from the environment.
use std::sync::{Arc, Once};
use std::time::Duration;

use crate::base::env::{Env, LogLevel};
use crate::base::{Result, log};
use crate::comm::Comm;
use crate::exec::Core;
use crate::plan::{Allowed, allowed, choose};
use crate::{info, warn_};

/// Settings that could not be used, once per process.
pub(super) fn problems_once() {
    static ONCE: Once = Once::new();
    ONCE.call_once(|| {
        for problem in &Env::get().problems {
            warn_!("{problem}");
        }
        for (name, entry) in Env::get().without_effect() {
            info!(Env, "{name} is read without effect: {}", entry.meaning);
        }
    });
}

pub(super) fn start(comm: &Comm, call: &str) {
    if comm.rank == 0 || log::level() >= LogLevel::Info {
        log::banner(&format!("MCCL version 2.28.9+{}", comm.runtime.version_name()));
    }
    let bus = comm.runtime.bus_id(comm.device).unwrap_or_default();
    let (rank, nranks, device) = (comm.rank, comm.nranks, comm.device);
    info!(Init, "{call} rank {rank} nranks {nranks} musaDev {device} busId {bus} - Init START");
}

pub(super) fn complete(comm: &Comm, core: &Arc<Core>, call: &str, took: Duration) {
    let (rank, nranks) = (comm.rank, comm.nranks);
    let Ok(planner) = core.planner.lock() else { return };
    let shape = planner.shape();
    info!(
        Init,
        "{call} comm {:p} rank {rank} nranks {nranks} commId {} - {} rank(s) on this host, {} core(s), direct access {}",
        Arc::as_ptr(core),
        core.name,
        core.host.as_ref().map_or(1, |h| h.ranks.len()),
        shape.cores,
        shape.direct
    );
    if rank == 0 {
        for (coll, changes) in choose::table(planner.choice(), shape) {
            let text: Vec<String> = changes.iter().map(|(bytes, a)| format!("from {bytes} B {a}")).collect();
            info!(Tuning, "{}: {}", coll.name(), text.join(", "));
        }
    }
    info!(Init, "Init timings - {call}: rank {rank} nranks {nranks} total {:.4}", took.as_secs_f64());
    info!(
        Init,
        "{call} comm {:p} rank {rank} nranks {nranks} musaDev {} - Init COMPLETE",
        Arc::as_ptr(core),
        comm.device
    );
}

pub(super) fn name(hash: u64) -> String {
    format!("{hash:#018x}")
}

/// The algorithms that `MCCL_ALGO` leaves; says what of it and of `MCCL_PROTO` this version does not have.
pub(super) fn allowed_algorithms(env: &Env) -> Result<Allowed> {
    for list in env.proto.as_deref().map(allowed::without_simple).transpose()?.unwrap_or_default() {
        info!(Tuning, "MCCL_PROTO: {list} is not offered, Simple runs in its place");
    }
    let understood = env.algo.as_deref().map(Allowed::of_algorithms).transpose()?.unwrap_or_default();
    for name in understood.not_offered {
        info!(Tuning, "MCCL_ALGO: {name} is not offered, another algorithm runs in its place");
    }
    Ok(understood.allowed)
}
