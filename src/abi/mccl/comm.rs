//! Creation, division and end of communicators, and what they tell of themselves.
use std::ffi::c_int;
use std::sync::Arc;
use std::sync::atomic::{AtomicI32, Ordering};

use super::args::{self, NewComm, Out};
use super::types::{mcclComm_t, mcclConfig_t, mcclResult_t, mcclUniqueId};
use super::{code, config, entry, unsupported};
use crate::base::{ErrorKind, Result};
use crate::comm::{self, Comm, Config, InitRequest, UniqueId};
use crate::{bail, device, group};

/// Makes the name of a new communicator. Call it on one rank and carry the 128 bytes to the others.
/// A name serves for one communicator.
///
/// # Safety
/// Output pointers must be good to write.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn mcclGetUniqueId(uniqueId: *mut mcclUniqueId) -> mcclResult_t {
    // SAFETY: the caller keeps the promises of this function, which are those of the body.
    unsafe { unique_id(uniqueId) }
}

/// Joins the communicator commId as rank 0 to nranks-1, on the calling thread's current device.
/// Every rank calls it. In a group it takes effect when the group ends.
///
/// # Safety
/// Output pointers must be good to write. In a group, until the group ends.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn mcclCommInitRank(
    comm: *mut mcclComm_t,
    nranks: c_int,
    commId: mcclUniqueId,
    rank: c_int,
) -> mcclResult_t {
    // SAFETY: the caller keeps the promises of this function, which are those of the body.
    unsafe { init_rank(comm, nranks, commId, rank) }
}

/// Makes a communicator of ndev ranks in this process, rank i on device devlist[i] or, when devlist is NULL, device i.
/// Writes ndev handles.
///
/// # Safety
/// comms must be good to write ndev handles, devlist to read ndev numbers unless it is NULL.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn mcclCommInitAll(
    comms: *mut mcclComm_t,
    ndev: c_int,
    devlist: *const c_int,
) -> mcclResult_t {
    // SAFETY: the caller keeps the promises of this function, which are those of the body.
    unsafe { init_all(comms, ndev, devlist) }
}

/// mcclCommInitRank with settings; config may be NULL.
/// With config.blocking 0 it may return mcclInProgress; ask mcclCommGetAsyncError before the next call.
///
/// # Safety
/// Output pointers must be good to write. config must be NULL or as large as its size says.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn mcclCommInitRankConfig(
    comm: *mut mcclComm_t,
    nranks: c_int,
    commId: mcclUniqueId,
    rank: c_int,
    config: *mut mcclConfig_t,
) -> mcclResult_t {
    // SAFETY: the caller keeps the promises of this function, which are those of the body.
    unsafe { init_rank_config(comm, nranks, commId, rank, config) }
}

/// mcclCommInitRankConfig with nId names, 1 to nranks, the same on every rank, so that nId roots share the work.
///
/// # Safety
/// Output pointers must be good to write. config must be NULL or as large as its size says. commIds must be good to read nId names.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn mcclCommInitRankScalable(
    newcomm: *mut mcclComm_t,
    nranks: c_int,
    myrank: c_int,
    nId: c_int,
    commIds: *mut mcclUniqueId,
    config: *mut mcclConfig_t,
) -> mcclResult_t {
    // SAFETY: the caller keeps the promises of this function, which are those of the body.
    unsafe { init_rank_scalable(newcomm, nranks, myrank, nId, commIds, config) }
}

/// Makes a communicator of all ranks that pass the same color, ordered by key and then by rank in comm.
/// Every rank of comm calls it. MCCL_SPLIT_NOCOLOR gets NULL. A NULL config takes over the settings of comm.
///
/// # Safety
/// Output pointers must be good to write. config must be NULL or as large as its size says.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn mcclCommSplit(
    comm: mcclComm_t,
    color: c_int,
    key: c_int,
    newcomm: *mut mcclComm_t,
    config: *mut mcclConfig_t,
) -> mcclResult_t {
    // SAFETY: the caller keeps the promises of this function, which are those of the body.
    unsafe { split(comm, color, key, newcomm, config) }
}

/// Makes a communicator without the listed ranks. Not supported by this version.
///
/// # Safety
/// Any handle is fine: it is checked.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn mcclCommShrink(
    comm: mcclComm_t,
    excludeRanksList: *mut c_int,
    excludeRanksCount: c_int,
    newcomm: *mut mcclComm_t,
    config: *mut mcclConfig_t,
    shrinkFlags: c_int,
) -> mcclResult_t {
    // SAFETY: the caller keeps the promises of this function, which are those of the body.
    unsafe { shrink(comm, excludeRanksList, excludeRanksCount, newcomm, config, shrinkFlags) }
}

/// Completes all work of the communicator; no operation may follow. NULL does nothing.
///
/// # Safety
/// Any handle is fine: it is checked.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn mcclCommFinalize(comm: mcclComm_t) -> mcclResult_t {
    // SAFETY: the caller keeps the promises of this function, which are those of the body.
    unsafe { finalize(comm) }
}

/// Completes all work and frees the communicator; the handle ends. NULL does nothing.
///
/// # Safety
/// Any handle is fine: it is checked.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn mcclCommDestroy(comm: mcclComm_t) -> mcclResult_t {
    // SAFETY: the caller keeps the promises of this function, which are those of the body.
    unsafe { destroy(comm) }
}

/// Stops all work and frees the communicator; the handle ends. NULL does nothing.
///
/// # Safety
/// Any handle is fine: it is checked.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn mcclCommAbort(comm: mcclComm_t) -> mcclResult_t {
    // SAFETY: the caller keeps the promises of this function, which are those of the body.
    unsafe { abort(comm) }
}

/// Stops the work of the communicator on all ranks. Not supported by this version.
///
/// # Safety
/// Any handle is fine: it is checked.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn mcclCommRevoke(comm: mcclComm_t, revokeFlags: c_int) -> mcclResult_t {
    // SAFETY: the caller keeps the promises of this function, which are those of the body.
    unsafe { revoke(comm, revokeFlags) }
}

/// Writes the state of the communicator: mcclSuccess, mcclInProgress or the error that ended it.
///
/// # Safety
/// Output pointers must be good to write.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn mcclCommGetAsyncError(
    comm: mcclComm_t,
    asyncError: *mut mcclResult_t,
) -> mcclResult_t {
    // SAFETY: the caller keeps the promises of this function, which are those of the body.
    unsafe { async_error(comm, asyncError) }
}

/// Writes the number of ranks.
///
/// # Safety
/// Output pointers must be good to write.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn mcclCommCount(comm: mcclComm_t, count: *mut c_int) -> mcclResult_t {
    // SAFETY: the caller keeps the promises of this function, which are those of the body.
    unsafe { rank_count(comm, count) }
}

/// Writes the device of this rank.
///
/// # Safety
/// Output pointers must be good to write.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn mcclCommMuDevice(comm: mcclComm_t, device: *mut c_int) -> mcclResult_t {
    // SAFETY: the caller keeps the promises of this function, which are those of the body.
    unsafe { mu_device(comm, device) }
}

/// Another name of mcclCommMuDevice.
///
/// # Safety
/// Output pointers must be good to write.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn mcclCommCuDevice(comm: mcclComm_t, device: *mut c_int) -> mcclResult_t {
    // SAFETY: the caller keeps the promises of this function, which are those of the body.
    unsafe { mu_device(comm, device) }
}

/// Writes the rank of this handle, 0 to count-1.
///
/// # Safety
/// Output pointers must be good to write.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn mcclCommUserRank(comm: mcclComm_t, rank: *mut c_int) -> mcclResult_t {
    // SAFETY: the caller keeps the promises of this function, which are those of the body.
    unsafe { user_rank(comm, rank) }
}

/// Most ranks that mcclCommInitAll makes in one process.
const MAX_LOCAL_RANKS: c_int = 1024;

/// # Safety
/// As for the public name.
pub(super) unsafe fn unique_id(id: *mut mcclUniqueId) -> mcclResult_t {
    entry("mcclGetUniqueId", || {
        // SAFETY: the caller's output pointer.
        let out = unsafe { Out::new("uniqueId", id) }?;
        out.write(comm::unique_id()?.into());
        Ok(())
    })
}

/// # Safety
/// As for the public name.
pub(super) unsafe fn init_rank(
    comm: *mut mcclComm_t,
    nranks: c_int,
    id: mcclUniqueId,
    rank: c_int,
) -> mcclResult_t {
    const CALL: &str = "mcclCommInitRank";
    entry(CALL, || {
        // SAFETY: the caller's output pointer.
        let out = unsafe { Out::new("comm", comm) }?;
        join(out, request(CALL, nranks, rank, vec![id.into()], Config::default())?)
    })
}

/// # Safety
/// As for the public name.
pub(super) unsafe fn init_all(comms: *mut mcclComm_t, ndev: c_int, devlist: *const c_int) -> mcclResult_t {
    const CALL: &str = "mcclCommInitAll";
    entry(CALL, || {
        // SAFETY: the caller's pointers for `ndev` values; a null list is not read.
        let (outs, devices) = unsafe { (places(comms, ndev)?, devices(devlist, ndev)?) };
        let id = comm::unique_id()?;
        // All that can be refused is refused before the group opens: ranks that wait for one that never comes would
        // wait until the deadline.
        let ranks = outs.into_iter().zip(devices).enumerate().map(|(rank, (out, device))| {
            let req = request(CALL, ndev, rank as c_int, vec![id], Config::default())?;
            Ok((out, args::new_comm()?, InitRequest { device: Some(device), ..req }))
        });
        let ranks: Vec<_> = ranks.collect::<Result<_>>()?;
        group::start()?;
        let joined = ranks.into_iter().try_for_each(|(out, place, req)| join_at(out, place, req).map(drop));
        // The group ends in any case; what failed first counts.
        let ended = group::end();
        joined.and(ended)
    })
}

/// # Safety
/// As for the public name.
pub(super) unsafe fn init_rank_config(
    comm: *mut mcclComm_t,
    nranks: c_int,
    id: mcclUniqueId,
    rank: c_int,
    config: *mut mcclConfig_t,
) -> mcclResult_t {
    const CALL: &str = "mcclCommInitRankConfig";
    entry(CALL, || {
        // SAFETY: the caller's output pointer and struct.
        let (out, config) = unsafe { (Out::new("comm", comm)?, config::parse(config)?) };
        join(out, request(CALL, nranks, rank, vec![id.into()], config)?)
    })
}

/// # Safety
/// As for the public name.
pub(super) unsafe fn init_rank_scalable(
    comm: *mut mcclComm_t,
    nranks: c_int,
    rank: c_int,
    nid: c_int,
    ids: *mut mcclUniqueId,
    config: *mut mcclConfig_t,
) -> mcclResult_t {
    const CALL: &str = "mcclCommInitRankScalable";
    entry(CALL, || {
        if !(1..=nranks.max(1)).contains(&nid) {
            bail!(InvalidArgument, "nId {nid} is not possible (1 to {nranks}, the number of ranks)");
        }
        // SAFETY: the caller's output pointer and struct, and `nid` names.
        let (out, config, ids) = unsafe {
            (Out::new("newcomm", comm)?, config::parse(config)?, args::array("commIds", ids, nid as usize)?)
        };
        join(out, request(CALL, nranks, rank, ids.into_iter().map(UniqueId::from).collect(), config)?)
    })
}

/// # Safety
/// As for the public name.
pub(super) unsafe fn split(
    comm: mcclComm_t,
    color: c_int,
    key: c_int,
    newcomm: *mut mcclComm_t,
    config: *mut mcclConfig_t,
) -> mcclResult_t {
    entry("mcclCommSplit", || {
        let parent = args::comm(comm)?;
        if color < -1 {
            bail!(
                InvalidArgument,
                "color {color} is not possible (0 to 2147483647, or -1 for no communicator)"
            );
        }
        // SAFETY: the caller's output pointer and struct.
        let out = unsafe { Out::new("newcomm", newcomm) }?;
        // SAFETY: as above.
        let config = (!config.is_null()).then(|| unsafe { config::parse(config) }).transpose()?;
        let place = args::new_comm()?;
        let state = Arc::new(AtomicI32::new(mcclResult_t::SUCCESS.0));
        let seen = Arc::clone(&state);
        group::submit_split(
            parent,
            color,
            key,
            config,
            Box::new(move |made| {
                let Ok(child) = made else { return };
                if let Some(child) = &child {
                    // Relaxed: as in `join_at`.
                    seen.store(progress(child).0, Ordering::Relaxed);
                }
                out.write(child.map_or(std::ptr::null_mut(), |child| place.fill(child)));
            }),
        )?;
        Ok(mcclResult_t(state.load(Ordering::Relaxed)))
    })
}

/// # Safety
/// As for the public name.
pub(super) unsafe fn shrink(
    _comm: mcclComm_t,
    _excluded: *mut c_int,
    _count: c_int,
    _newcomm: *mut mcclComm_t,
    _config: *mut mcclConfig_t,
    _flags: c_int,
) -> mcclResult_t {
    unsupported("mcclCommShrink")
}

/// # Safety
/// As for the public name.
pub(super) unsafe fn finalize(comm: mcclComm_t) -> mcclResult_t {
    entry("mcclCommFinalize", || if comm.is_null() { Ok(()) } else { args::comm(comm)?.finalize() })
}

/// # Safety
/// As for the public name.
pub(super) unsafe fn destroy(comm: mcclComm_t) -> mcclResult_t {
    entry("mcclCommDestroy", || if comm.is_null() { Ok(()) } else { args::take_comm(comm)?.destroy() })
}

/// # Safety
/// As for the public name.
pub(super) unsafe fn abort(comm: mcclComm_t) -> mcclResult_t {
    entry("mcclCommAbort", || if comm.is_null() { Ok(()) } else { args::take_comm(comm)?.abort() })
}

/// # Safety
/// As for the public name.
pub(super) unsafe fn revoke(_comm: mcclComm_t, _flags: c_int) -> mcclResult_t {
    unsupported("mcclCommRevoke")
}

/// # Safety
/// As for the public name.
pub(super) unsafe fn async_error(comm: mcclComm_t, state: *mut mcclResult_t) -> mcclResult_t {
    entry("mcclCommGetAsyncError", || {
        let comm = args::comm(comm)?;
        // SAFETY: the caller's output pointer.
        let out = unsafe { Out::new("asyncError", state) }?;
        out.write(comm.async_error().map_or(mcclResult_t::SUCCESS, code));
        Ok(())
    })
}

/// # Safety
/// As for the public name.
pub(super) unsafe fn rank_count(comm: mcclComm_t, count: *mut c_int) -> mcclResult_t {
    // SAFETY: the caller's output pointer.
    entry("mcclCommCount", || unsafe { tell(comm, "count", count, |comm| comm.nranks() as c_int) })
}

/// # Safety
/// As for the public name.
pub(super) unsafe fn mu_device(comm: mcclComm_t, device: *mut c_int) -> mcclResult_t {
    // SAFETY: the caller's output pointer.
    entry("mcclCommMuDevice", || unsafe { tell(comm, "device", device, Comm::device) })
}

/// # Safety
/// As for the public name.
pub(super) unsafe fn user_rank(comm: mcclComm_t, rank: *mut c_int) -> mcclResult_t {
    // SAFETY: the caller's output pointer.
    entry("mcclCommUserRank", || unsafe { tell(comm, "rank", rank, |comm| comm.rank() as c_int) })
}

/// Writes one number that a communicator knows.
///
/// # Safety
/// As for [`Out::new`].
unsafe fn tell(comm: mcclComm_t, name: &str, out: *mut c_int, of: impl Fn(&Comm) -> c_int) -> Result<()> {
    let comm = args::comm(comm)?;
    // SAFETY: the promise of this function.
    let out = unsafe { Out::new(name, out) }?;
    out.write(of(&comm));
    Ok(())
}

fn request(
    call: &'static str,
    nranks: c_int,
    rank: c_int,
    ids: Vec<UniqueId>,
    config: Config,
) -> Result<InitRequest> {
    if nranks < 1 {
        bail!(InvalidArgument, "nranks {nranks} is not possible (1 to {})", c_int::MAX);
    }
    if !(0..nranks).contains(&rank) {
        bail!(InvalidArgument, "rank {rank} is not one of {nranks} ranks (0 to {})", nranks - 1);
    }
    let (nranks, rank) = (nranks as usize, rank as usize);
    Ok(InitRequest { nranks, rank, ids, device: None, config, call })
}

/// Joins a communicator now or when the group ends, and then writes its handle.
fn join(out: Out<mcclComm_t>, req: InitRequest) -> Result<mcclResult_t> {
    join_at(out, args::new_comm()?, req)
}

fn join_at(out: Out<mcclComm_t>, place: NewComm, req: InitRequest) -> Result<mcclResult_t> {
    let state = Arc::new(AtomicI32::new(mcclResult_t::SUCCESS.0));
    let seen = Arc::clone(&state);
    group::submit_init(
        req,
        Box::new(move |made| {
            if let Ok(comm) = made {
                // Relaxed: read below on the same thread, or, when a group goes on, by nobody.
                seen.store(progress(&comm).0, Ordering::Relaxed);
                out.write(place.fill(comm));
            }
        }),
    )?;
    Ok(mcclResult_t(state.load(Ordering::Relaxed)))
}

/// Whether a new communicator is still at work: non-blocking ones are handed out before they are connected.
fn progress(comm: &Comm) -> mcclResult_t {
    match comm.async_error() {
        Some(ErrorKind::InProgress) => mcclResult_t::IN_PROGRESS,
        _ => mcclResult_t::SUCCESS,
    }
}

/// # Safety
/// `comms`, when not null and aligned, must be good to write `ndev` handles.
unsafe fn places(comms: *mut mcclComm_t, ndev: c_int) -> Result<Vec<Out<mcclComm_t>>> {
    if !(1..=MAX_LOCAL_RANKS).contains(&ndev) {
        bail!(InvalidArgument, "ndev {ndev} is not possible (1 to {MAX_LOCAL_RANKS})");
    }
    // SAFETY: element `at` lies within the caller's array; a null or misaligned start is refused at the first element.
    (0..ndev as usize).map(|at| unsafe { Out::new("comms", comms.wrapping_add(at)) }).collect()
}

/// # Safety
/// `list`, when not null and aligned, must be good to read `ndev` numbers.
unsafe fn devices(list: *const c_int, ndev: c_int) -> Result<Vec<c_int>> {
    // SAFETY: the promise of this function.
    let listed = (!list.is_null()).then(|| unsafe { args::array("devlist", list, ndev as usize) });
    let devices = listed.transpose()?.unwrap_or_else(|| (0..ndev).collect());
    let there = device::runtime()?.device_count()?;
    match devices.iter().find(|device| !(0..there).contains(*device)) {
        Some(device) => bail!(InvalidArgument, "device {device} does not exist (0 to {})", there - 1),
        None => Ok(devices),
    }
}
