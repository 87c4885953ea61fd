//! Twins of memory, reductions, operations and groups.
use std::ffi::{c_int, c_void};

use crate::abi::mccl::types::{
    mcclComm_t, mcclDataType_t, mcclRedOp_t, mcclResult_t, mcclScalarResidence_t, mcclSimInfo_t,
    mcclWindow_t, musaStream_t,
};
use crate::abi::mccl::{coll, group, mem, p2p, redop, vector, window};

/// Twin of [`mcclMemAlloc`](crate::abi::mccl::mem::mcclMemAlloc) for tools that replace the public name.
///
/// # Safety
/// As for its twin.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn pmcclMemAlloc(ptr: *mut *mut c_void, size: usize) -> mcclResult_t {
    // SAFETY: the promises are the same.
    unsafe { mem::alloc(ptr, size) }
}

/// Twin of [`mcclMemFree`](crate::abi::mccl::mem::mcclMemFree) for tools that replace the public name.
///
/// # Safety
/// As for its twin.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn pmcclMemFree(ptr: *mut c_void) -> mcclResult_t {
    // SAFETY: the promises are the same.
    unsafe { mem::free(ptr) }
}

/// Twin of [`mcclCommRegister`](crate::abi::mccl::mem::mcclCommRegister) for tools that replace the public name.
///
/// # Safety
/// As for its twin.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn pmcclCommRegister(
    comm: mcclComm_t,
    buff: *mut c_void,
    size: usize,
    handle: *mut *mut c_void,
) -> mcclResult_t {
    // SAFETY: the promises are the same.
    unsafe { mem::register(comm, buff, size, handle) }
}

/// Twin of [`mcclCommDeregister`](crate::abi::mccl::mem::mcclCommDeregister) for tools that replace the public name.
///
/// # Safety
/// As for its twin.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn pmcclCommDeregister(comm: mcclComm_t, handle: *mut c_void) -> mcclResult_t {
    // SAFETY: the promises are the same.
    unsafe { mem::deregister(comm, handle) }
}

/// Twin of [`mcclCommWindowRegister`](crate::abi::mccl::window::mcclCommWindowRegister) for tools that replace the public name.
///
/// # Safety
/// As for its twin.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn pmcclCommWindowRegister(
    comm: mcclComm_t,
    buff: *mut c_void,
    size: usize,
    win: *mut mcclWindow_t,
    winFlags: c_int,
) -> mcclResult_t {
    // SAFETY: the promises are the same.
    unsafe { window::register(comm, buff, size, win, winFlags) }
}

/// Twin of [`mcclCommWindowDeregister`](crate::abi::mccl::window::mcclCommWindowDeregister) for tools that replace the public name.
///
/// # Safety
/// As for its twin.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn pmcclCommWindowDeregister(comm: mcclComm_t, win: mcclWindow_t) -> mcclResult_t {
    // SAFETY: the promises are the same.
    unsafe { window::deregister(comm, win) }
}

/// Twin of [`mcclRedOpCreatePreMulSum`](crate::abi::mccl::redop::mcclRedOpCreatePreMulSum) for tools that replace the public name.
///
/// # Safety
/// As for its twin.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn pmcclRedOpCreatePreMulSum(
    op: *mut mcclRedOp_t,
    scalar: *mut c_void,
    datatype: mcclDataType_t,
    residence: mcclScalarResidence_t,
    comm: mcclComm_t,
) -> mcclResult_t {
    // SAFETY: the promises are the same.
    unsafe { redop::create(op, scalar, datatype, residence, comm) }
}

/// Twin of [`mcclRedOpDestroy`](crate::abi::mccl::redop::mcclRedOpDestroy) for tools that replace the public name.
///
/// # Safety
/// As for its twin.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn pmcclRedOpDestroy(op: mcclRedOp_t, comm: mcclComm_t) -> mcclResult_t {
    // SAFETY: the promises are the same.
    unsafe { redop::destroy(op, comm) }
}

/// Twin of [`mcclReduce`](crate::abi::mccl::coll::mcclReduce) for tools that replace the public name.
///
/// # Safety
/// As for its twin.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn pmcclReduce(
    sendbuff: *const c_void,
    recvbuff: *mut c_void,
    count: usize,
    datatype: mcclDataType_t,
    op: mcclRedOp_t,
    root: c_int,
    comm: mcclComm_t,
    stream: musaStream_t,
) -> mcclResult_t {
    // SAFETY: the promises are the same.
    unsafe { coll::reduce(sendbuff, recvbuff, count, datatype, op, root, comm, stream) }
}

/// Twin of [`mcclBcast`](crate::abi::mccl::coll::mcclBcast) for tools that replace the public name.
///
/// # Safety
/// As for its twin.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn pmcclBcast(
    buff: *mut c_void,
    count: usize,
    datatype: mcclDataType_t,
    root: c_int,
    comm: mcclComm_t,
    stream: musaStream_t,
) -> mcclResult_t {
    // SAFETY: the promises are the same.
    unsafe { coll::bcast(buff, count, datatype, root, comm, stream) }
}

/// Twin of [`mcclBroadcast`](crate::abi::mccl::coll::mcclBroadcast) for tools that replace the public name.
///
/// # Safety
/// As for its twin.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn pmcclBroadcast(
    sendbuff: *const c_void,
    recvbuff: *mut c_void,
    count: usize,
    datatype: mcclDataType_t,
    root: c_int,
    comm: mcclComm_t,
    stream: musaStream_t,
) -> mcclResult_t {
    // SAFETY: the promises are the same.
    unsafe { coll::broadcast(sendbuff, recvbuff, count, datatype, root, comm, stream) }
}

/// Twin of [`mcclAllReduce`](crate::abi::mccl::coll::mcclAllReduce) for tools that replace the public name.
///
/// # Safety
/// As for its twin.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn pmcclAllReduce(
    sendbuff: *const c_void,
    recvbuff: *mut c_void,
    count: usize,
    datatype: mcclDataType_t,
    op: mcclRedOp_t,
    comm: mcclComm_t,
    stream: musaStream_t,
) -> mcclResult_t {
    // SAFETY: the promises are the same.
    unsafe { coll::all_reduce(sendbuff, recvbuff, count, datatype, op, comm, stream) }
}

/// Twin of [`mcclReduceScatter`](crate::abi::mccl::coll::mcclReduceScatter) for tools that replace the public name.
///
/// # Safety
/// As for its twin.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn pmcclReduceScatter(
    sendbuff: *const c_void,
    recvbuff: *mut c_void,
    recvcount: usize,
    datatype: mcclDataType_t,
    op: mcclRedOp_t,
    comm: mcclComm_t,
    stream: musaStream_t,
) -> mcclResult_t {
    // SAFETY: the promises are the same.
    unsafe { coll::reduce_scatter(sendbuff, recvbuff, recvcount, datatype, op, comm, stream) }
}

/// Twin of [`mcclAllGather`](crate::abi::mccl::coll::mcclAllGather) for tools that replace the public name.
///
/// # Safety
/// As for its twin.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn pmcclAllGather(
    sendbuff: *const c_void,
    recvbuff: *mut c_void,
    sendcount: usize,
    datatype: mcclDataType_t,
    comm: mcclComm_t,
    stream: musaStream_t,
) -> mcclResult_t {
    // SAFETY: the promises are the same.
    unsafe { coll::all_gather(sendbuff, recvbuff, sendcount, datatype, comm, stream) }
}

/// Twin of [`mcclAlltoAll`](crate::abi::mccl::coll::mcclAlltoAll) for tools that replace the public name.
///
/// # Safety
/// As for its twin.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn pmcclAlltoAll(
    sendbuff: *const c_void,
    recvbuff: *mut c_void,
    count: usize,
    datatype: mcclDataType_t,
    comm: mcclComm_t,
    stream: musaStream_t,
) -> mcclResult_t {
    // SAFETY: the promises are the same.
    unsafe { coll::all_to_all(sendbuff, recvbuff, count, datatype, comm, stream) }
}

/// Twin of [`mcclAllToAll`](crate::abi::mccl::coll::mcclAllToAll) for tools that replace the public name.
///
/// # Safety
/// As for its twin.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn pmcclAllToAll(
    sendbuff: *const c_void,
    recvbuff: *mut c_void,
    count: usize,
    datatype: mcclDataType_t,
    comm: mcclComm_t,
    stream: musaStream_t,
) -> mcclResult_t {
    // SAFETY: the promises are the same.
    unsafe { coll::all_to_all(sendbuff, recvbuff, count, datatype, comm, stream) }
}

/// Twin of [`mcclGather`](crate::abi::mccl::coll::mcclGather) for tools that replace the public name.
///
/// # Safety
/// As for its twin.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn pmcclGather(
    sendbuff: *const c_void,
    recvbuff: *mut c_void,
    count: usize,
    datatype: mcclDataType_t,
    root: c_int,
    comm: mcclComm_t,
    stream: musaStream_t,
) -> mcclResult_t {
    // SAFETY: the promises are the same.
    unsafe { coll::gather(sendbuff, recvbuff, count, datatype, root, comm, stream) }
}

/// Twin of [`mcclScatter`](crate::abi::mccl::coll::mcclScatter) for tools that replace the public name.
///
/// # Safety
/// As for its twin.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn pmcclScatter(
    sendbuff: *const c_void,
    recvbuff: *mut c_void,
    count: usize,
    datatype: mcclDataType_t,
    root: c_int,
    comm: mcclComm_t,
    stream: musaStream_t,
) -> mcclResult_t {
    // SAFETY: the promises are the same.
    unsafe { coll::scatter(sendbuff, recvbuff, count, datatype, root, comm, stream) }
}

/// Twin of [`mcclSend`](crate::abi::mccl::p2p::mcclSend) for tools that replace the public name.
///
/// # Safety
/// As for its twin.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn pmcclSend(
    sendbuff: *const c_void,
    count: usize,
    datatype: mcclDataType_t,
    peer: c_int,
    comm: mcclComm_t,
    stream: musaStream_t,
) -> mcclResult_t {
    // SAFETY: the promises are the same.
    unsafe { p2p::send(sendbuff, count, datatype, peer, comm, stream) }
}

/// Twin of [`mcclRecv`](crate::abi::mccl::p2p::mcclRecv) for tools that replace the public name.
///
/// # Safety
/// As for its twin.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn pmcclRecv(
    recvbuff: *mut c_void,
    count: usize,
    datatype: mcclDataType_t,
    peer: c_int,
    comm: mcclComm_t,
    stream: musaStream_t,
) -> mcclResult_t {
    // SAFETY: the promises are the same.
    unsafe { p2p::recv(recvbuff, count, datatype, peer, comm, stream) }
}

/// Twin of [`mcclAllToAllv`](crate::abi::mccl::vector::mcclAllToAllv) for tools that replace the public name.
///
/// # Safety
/// As for its twin.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn pmcclAllToAllv(
    sendbuff: *const c_void,
    sendcounts: *const usize,
    sdispls: *const usize,
    recvbuff: *mut c_void,
    recvcounts: *const usize,
    rdispls: *const usize,
    datatype: mcclDataType_t,
    comm: mcclComm_t,
    stream: musaStream_t,
) -> mcclResult_t {
    // SAFETY: the promises are the same.
    unsafe {
        vector::all_to_all_v(
            sendbuff, sendcounts, sdispls, recvbuff, recvcounts, rdispls, datatype, comm, stream,
        )
    }
}

/// Twin of [`mcclBatchAllToAllv`](crate::abi::mccl::vector::mcclBatchAllToAllv) for tools that replace the public name.
///
/// # Safety
/// As for its twin.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn pmcclBatchAllToAllv(
    sendbuffs: *mut *mut c_void,
    sendcounts: *const usize,
    sdispls: *const usize,
    recvbuffs: *mut *mut c_void,
    recvcounts: *const usize,
    rdispls: *const usize,
    datatypes: *mut mcclDataType_t,
    nbatch: c_int,
    comm: mcclComm_t,
    stream: musaStream_t,
) -> mcclResult_t {
    // SAFETY: the promises are the same.
    unsafe {
        vector::batch_all_to_all_v(
            sendbuffs, sendcounts, sdispls, recvbuffs, recvcounts, rdispls, datatypes, nbatch, comm, stream,
        )
    }
}

/// Twin of [`mcclGroupStart`](crate::abi::mccl::group::mcclGroupStart) for tools that replace the public name.
///
/// # Safety
/// As for its twin.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn pmcclGroupStart() -> mcclResult_t {
    // SAFETY: the promises are the same.
    unsafe { group::start() }
}

/// Twin of [`mcclGroupEnd`](crate::abi::mccl::group::mcclGroupEnd) for tools that replace the public name.
///
/// # Safety
/// As for its twin.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn pmcclGroupEnd() -> mcclResult_t {
    // SAFETY: the promises are the same.
    unsafe { group::end() }
}

/// Twin of [`mcclGroupSimulateEnd`](crate::abi::mccl::group::mcclGroupSimulateEnd) for tools that replace the public name.
///
/// # Safety
/// As for its twin.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn pmcclGroupSimulateEnd(simInfo: *mut mcclSimInfo_t) -> mcclResult_t {
    // SAFETY: the promises are the same.
    unsafe { group::simulate_end(simInfo) }
}
