//! Twins of the functions about the library and its communicators.
use std::ffi::{c_char, c_int};

use crate::abi::mccl::types::{mcclComm_t, mcclConfig_t, mcclResult_t, mcclUniqueId};
use crate::abi::mccl::{comm, info};

/// Twin of [`mcclGetVersion`](crate::abi::mccl::info::mcclGetVersion) for tools that replace the public name.
///
/// # Safety
/// As for its twin.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn pmcclGetVersion(version: *mut c_int) -> mcclResult_t {
    // SAFETY: the promises are the same.
    unsafe { info::get_version(version) }
}

/// Twin of [`mcclGetUniqueId`](crate::abi::mccl::comm::mcclGetUniqueId) for tools that replace the public name.
///
/// # Safety
/// As for its twin.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn pmcclGetUniqueId(uniqueId: *mut mcclUniqueId) -> mcclResult_t {
    // SAFETY: the promises are the same.
    unsafe { comm::unique_id(uniqueId) }
}

/// Twin of [`mcclGetErrorString`](crate::abi::mccl::info::mcclGetErrorString) for tools that replace the public name.
///
/// # Safety
/// As for its twin.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn pmcclGetErrorString(result: mcclResult_t) -> *const c_char {
    // SAFETY: the promises are the same.
    unsafe { info::error_string(result) }
}

/// Twin of [`mcclGetLastError`](crate::abi::mccl::info::mcclGetLastError) for tools that replace the public name.
///
/// # Safety
/// As for its twin.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn pmcclGetLastError(comm: mcclComm_t) -> *const c_char {
    // SAFETY: the promises are the same.
    unsafe { info::last_error(comm) }
}

/// Twin of [`mcclResetDebugInit`](crate::abi::mccl::info::mcclResetDebugInit) for tools that replace the public name.
///
/// # Safety
/// As for its twin.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn pmcclResetDebugInit() {
    // SAFETY: the promises are the same.
    unsafe { info::reset_debug_init() }
}

/// Twin of [`mcclCommInitRank`](crate::abi::mccl::comm::mcclCommInitRank) for tools that replace the public name.
///
/// # Safety
/// As for its twin.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn pmcclCommInitRank(
    comm: *mut mcclComm_t,
    nranks: c_int,
    commId: mcclUniqueId,
    rank: c_int,
) -> mcclResult_t {
    // SAFETY: the promises are the same.
    unsafe { comm::init_rank(comm, nranks, commId, rank) }
}

/// Twin of [`mcclCommInitAll`](crate::abi::mccl::comm::mcclCommInitAll) for tools that replace the public name.
///
/// # Safety
/// As for its twin.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn pmcclCommInitAll(
    comms: *mut mcclComm_t,
    ndev: c_int,
    devlist: *const c_int,
) -> mcclResult_t {
    // SAFETY: the promises are the same.
    unsafe { comm::init_all(comms, ndev, devlist) }
}

/// Twin of [`mcclCommInitRankConfig`](crate::abi::mccl::comm::mcclCommInitRankConfig) for tools that replace the public name.
///
/// # Safety
/// As for its twin.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn pmcclCommInitRankConfig(
    comm: *mut mcclComm_t,
    nranks: c_int,
    commId: mcclUniqueId,
    rank: c_int,
    config: *mut mcclConfig_t,
) -> mcclResult_t {
    // SAFETY: the promises are the same.
    unsafe { comm::init_rank_config(comm, nranks, commId, rank, config) }
}

/// Twin of [`mcclCommInitRankScalable`](crate::abi::mccl::comm::mcclCommInitRankScalable) for tools that replace the public name.
///
/// # Safety
/// As for its twin.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn pmcclCommInitRankScalable(
    newcomm: *mut mcclComm_t,
    nranks: c_int,
    myrank: c_int,
    nId: c_int,
    commIds: *mut mcclUniqueId,
    config: *mut mcclConfig_t,
) -> mcclResult_t {
    // SAFETY: the promises are the same.
    unsafe { comm::init_rank_scalable(newcomm, nranks, myrank, nId, commIds, config) }
}

/// Twin of [`mcclCommSplit`](crate::abi::mccl::comm::mcclCommSplit) for tools that replace the public name.
///
/// # Safety
/// As for its twin.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn pmcclCommSplit(
    comm: mcclComm_t,
    color: c_int,
    key: c_int,
    newcomm: *mut mcclComm_t,
    config: *mut mcclConfig_t,
) -> mcclResult_t {
    // SAFETY: the promises are the same.
    unsafe { comm::split(comm, color, key, newcomm, config) }
}

/// Twin of [`mcclCommShrink`](crate::abi::mccl::comm::mcclCommShrink) for tools that replace the public name.
///
/// # Safety
/// As for its twin.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn pmcclCommShrink(
    comm: mcclComm_t,
    excludeRanksList: *mut c_int,
    excludeRanksCount: c_int,
    newcomm: *mut mcclComm_t,
    config: *mut mcclConfig_t,
    shrinkFlags: c_int,
) -> mcclResult_t {
    // SAFETY: the promises are the same.
    unsafe { comm::shrink(comm, excludeRanksList, excludeRanksCount, newcomm, config, shrinkFlags) }
}

/// Twin of [`mcclCommFinalize`](crate::abi::mccl::comm::mcclCommFinalize) for tools that replace the public name.
///
/// # Safety
/// As for its twin.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn pmcclCommFinalize(comm: mcclComm_t) -> mcclResult_t {
    // SAFETY: the promises are the same.
    unsafe { comm::finalize(comm) }
}

/// Twin of [`mcclCommDestroy`](crate::abi::mccl::comm::mcclCommDestroy) for tools that replace the public name.
///
/// # Safety
/// As for its twin.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn pmcclCommDestroy(comm: mcclComm_t) -> mcclResult_t {
    // SAFETY: the promises are the same.
    unsafe { comm::destroy(comm) }
}

/// Twin of [`mcclCommAbort`](crate::abi::mccl::comm::mcclCommAbort) for tools that replace the public name.
///
/// # Safety
/// As for its twin.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn pmcclCommAbort(comm: mcclComm_t) -> mcclResult_t {
    // SAFETY: the promises are the same.
    unsafe { comm::abort(comm) }
}

/// Twin of [`mcclCommRevoke`](crate::abi::mccl::comm::mcclCommRevoke) for tools that replace the public name.
///
/// # Safety
/// As for its twin.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn pmcclCommRevoke(comm: mcclComm_t, revokeFlags: c_int) -> mcclResult_t {
    // SAFETY: the promises are the same.
    unsafe { comm::revoke(comm, revokeFlags) }
}

/// Twin of [`mcclCommGetAsyncError`](crate::abi::mccl::comm::mcclCommGetAsyncError) for tools that replace the public name.
///
/// # Safety
/// As for its twin.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn pmcclCommGetAsyncError(
    comm: mcclComm_t,
    asyncError: *mut mcclResult_t,
) -> mcclResult_t {
    // SAFETY: the promises are the same.
    unsafe { comm::async_error(comm, asyncError) }
}

/// Twin of [`mcclCommCount`](crate::abi::mccl::comm::mcclCommCount) for tools that replace the public name.
///
/// # Safety
/// As for its twin.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn pmcclCommCount(comm: mcclComm_t, count: *mut c_int) -> mcclResult_t {
    // SAFETY: the promises are the same.
    unsafe { comm::rank_count(comm, count) }
}

/// Twin of [`mcclCommMuDevice`](crate::abi::mccl::comm::mcclCommMuDevice) for tools that replace the public name.
///
/// # Safety
/// As for its twin.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn pmcclCommMuDevice(comm: mcclComm_t, device: *mut c_int) -> mcclResult_t {
    // SAFETY: the promises are the same.
    unsafe { comm::mu_device(comm, device) }
}

/// Twin of [`mcclCommCuDevice`](crate::abi::mccl::comm::mcclCommCuDevice) for tools that replace the public name.
///
/// # Safety
/// As for its twin.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn pmcclCommCuDevice(comm: mcclComm_t, device: *mut c_int) -> mcclResult_t {
    // SAFETY: the promises are the same.
    unsafe { comm::mu_device(comm, device) }
}

/// Twin of [`mcclCommUserRank`](crate::abi::mccl::comm::mcclCommUserRank) for tools that replace the public name.
///
/// # Safety
/// As for its twin.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn pmcclCommUserRank(comm: mcclComm_t, rank: *mut c_int) -> mcclResult_t {
    // SAFETY: the promises are the same.
    unsafe { comm::user_rank(comm, rank) }
}
