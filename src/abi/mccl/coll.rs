//! Collectives with one count.
use std::ffi::{c_int, c_void};
use std::sync::Arc;

use super::types::{mcclComm_t, mcclDataType_t, mcclRedOp_t, mcclResult_t, musaStream_t};
use super::{args, entry};
use crate::base::Result;
use crate::base::types::{Collective, DataType, RedOp};
use crate::call;
use crate::comm::Comm;
use crate::group::{self, Op};

/// Reduces count elements of every rank into recvbuff of rank root. In place: sendbuff == recvbuff.
/// recvbuff may be NULL on other ranks.
///
/// # Safety
/// Buffers must stay good for as many elements as the call says until the stream has run the operation.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn mcclReduce(
    sendbuff: *const c_void,
    recvbuff: *mut c_void,
    count: usize,
    datatype: mcclDataType_t,
    op: mcclRedOp_t,
    root: c_int,
    comm: mcclComm_t,
    stream: musaStream_t,
) -> mcclResult_t {
    // SAFETY: the caller keeps the promises of this function, which are those of the body.
    unsafe { reduce(sendbuff, recvbuff, count, datatype, op, root, comm, stream) }
}

/// Copies count elements from buff of rank root to buff of every rank.
///
/// # Safety
/// Buffers must stay good for as many elements as the call says until the stream has run the operation.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn mcclBcast(
    buff: *mut c_void,
    count: usize,
    datatype: mcclDataType_t,
    root: c_int,
    comm: mcclComm_t,
    stream: musaStream_t,
) -> mcclResult_t {
    // SAFETY: the caller keeps the promises of this function, which are those of the body.
    unsafe { bcast(buff, count, datatype, root, comm, stream) }
}

/// Copies count elements from sendbuff of rank root to recvbuff of every rank. In place: sendbuff == recvbuff.
/// sendbuff may be NULL on other ranks.
///
/// # Safety
/// Buffers must stay good for as many elements as the call says until the stream has run the operation.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn mcclBroadcast(
    sendbuff: *const c_void,
    recvbuff: *mut c_void,
    count: usize,
    datatype: mcclDataType_t,
    root: c_int,
    comm: mcclComm_t,
    stream: musaStream_t,
) -> mcclResult_t {
    // SAFETY: the caller keeps the promises of this function, which are those of the body.
    unsafe { broadcast(sendbuff, recvbuff, count, datatype, root, comm, stream) }
}

/// Reduces count elements of every rank into recvbuff of every rank. In place: sendbuff == recvbuff.
///
/// # Safety
/// Buffers must stay good for as many elements as the call says until the stream has run the operation.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn mcclAllReduce(
    sendbuff: *const c_void,
    recvbuff: *mut c_void,
    count: usize,
    datatype: mcclDataType_t,
    op: mcclRedOp_t,
    comm: mcclComm_t,
    stream: musaStream_t,
) -> mcclResult_t {
    // SAFETY: the caller keeps the promises of this function, which are those of the body.
    unsafe { all_reduce(sendbuff, recvbuff, count, datatype, op, comm, stream) }
}

/// Reduces nranks * recvcount elements and leaves block i, recvcount elements, in recvbuff of rank i.
/// In place: recvbuff == sendbuff + rank * recvcount.
///
/// # Safety
/// Buffers must stay good for as many elements as the call says until the stream has run the operation.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn mcclReduceScatter(
    sendbuff: *const c_void,
    recvbuff: *mut c_void,
    recvcount: usize,
    datatype: mcclDataType_t,
    op: mcclRedOp_t,
    comm: mcclComm_t,
    stream: musaStream_t,
) -> mcclResult_t {
    // SAFETY: the caller keeps the promises of this function, which are those of the body.
    unsafe { reduce_scatter(sendbuff, recvbuff, recvcount, datatype, op, comm, stream) }
}

/// Gathers sendcount elements of every rank, in rank order, into recvbuff (nranks * sendcount) of every rank.
/// In place: sendbuff == recvbuff + rank * sendcount.
///
/// # Safety
/// Buffers must stay good for as many elements as the call says until the stream has run the operation.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn mcclAllGather(
    sendbuff: *const c_void,
    recvbuff: *mut c_void,
    sendcount: usize,
    datatype: mcclDataType_t,
    comm: mcclComm_t,
    stream: musaStream_t,
) -> mcclResult_t {
    // SAFETY: the caller keeps the promises of this function, which are those of the body.
    unsafe { all_gather(sendbuff, recvbuff, sendcount, datatype, comm, stream) }
}

/// Sends block i of sendbuff, count elements, to rank i, where it becomes block rank of recvbuff. Not in place.
///
/// # Safety
/// Buffers must stay good for as many elements as the call says until the stream has run the operation.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn mcclAlltoAll(
    sendbuff: *const c_void,
    recvbuff: *mut c_void,
    count: usize,
    datatype: mcclDataType_t,
    comm: mcclComm_t,
    stream: musaStream_t,
) -> mcclResult_t {
    // SAFETY: the caller keeps the promises of this function, which are those of the body.
    unsafe { all_to_all(sendbuff, recvbuff, count, datatype, comm, stream) }
}

/// Another name of mcclAlltoAll.
///
/// # Safety
/// Buffers must stay good for as many elements as the call says until the stream has run the operation.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn mcclAllToAll(
    sendbuff: *const c_void,
    recvbuff: *mut c_void,
    count: usize,
    datatype: mcclDataType_t,
    comm: mcclComm_t,
    stream: musaStream_t,
) -> mcclResult_t {
    // SAFETY: the caller keeps the promises of this function, which are those of the body.
    unsafe { all_to_all(sendbuff, recvbuff, count, datatype, comm, stream) }
}

/// Gathers count elements of every rank, in rank order, into recvbuff (nranks * count) of rank root.
/// recvbuff may be NULL on other ranks. In place: sendbuff == recvbuff + root * count on the root.
///
/// # Safety
/// Buffers must stay good for as many elements as the call says until the stream has run the operation.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn mcclGather(
    sendbuff: *const c_void,
    recvbuff: *mut c_void,
    count: usize,
    datatype: mcclDataType_t,
    root: c_int,
    comm: mcclComm_t,
    stream: musaStream_t,
) -> mcclResult_t {
    // SAFETY: the caller keeps the promises of this function, which are those of the body.
    unsafe { gather(sendbuff, recvbuff, count, datatype, root, comm, stream) }
}

/// Sends block i of sendbuff (nranks * count) of rank root to recvbuff of rank i.
/// sendbuff may be NULL on other ranks. In place: recvbuff == sendbuff + root * count on the root.
///
/// # Safety
/// Buffers must stay good for as many elements as the call says until the stream has run the operation.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn mcclScatter(
    sendbuff: *const c_void,
    recvbuff: *mut c_void,
    count: usize,
    datatype: mcclDataType_t,
    root: c_int,
    comm: mcclComm_t,
    stream: musaStream_t,
) -> mcclResult_t {
    // SAFETY: the caller keeps the promises of this function, which are those of the body.
    unsafe { scatter(sendbuff, recvbuff, count, datatype, root, comm, stream) }
}

/// # Safety
/// As for the public name.
pub(super) unsafe fn reduce(
    sendbuff: *const c_void,
    recvbuff: *mut c_void,
    count: usize,
    datatype: mcclDataType_t,
    op: mcclRedOp_t,
    root: c_int,
    comm: mcclComm_t,
    stream: musaStream_t,
) -> mcclResult_t {
    entry("mcclReduce", || {
        let comm = args::comm(comm)?;
        let dtype = args::datatype(datatype)?;
        let op = args::reduction(op, dtype, &comm)?;
        let root = args::rank("root", root, &comm)?;
        args::buffer("sendbuff", sendbuff, count, 1, dtype)?;
        if comm.rank() == root {
            args::buffer("recvbuff", recvbuff, count, 1, dtype)?;
        }
        submit(Collective::Reduce, sendbuff, recvbuff, count, dtype, Some(op), root, comm, stream)
    })
}

/// # Safety
/// As for the public name.
pub(super) unsafe fn bcast(
    buff: *mut c_void,
    count: usize,
    datatype: mcclDataType_t,
    root: c_int,
    comm: mcclComm_t,
    stream: musaStream_t,
) -> mcclResult_t {
    entry("mcclBcast", || {
        let comm = args::comm(comm)?;
        let dtype = args::datatype(datatype)?;
        let root = args::rank("root", root, &comm)?;
        args::buffer("buff", buff, count, 1, dtype)?;
        submit(Collective::Broadcast, buff, buff, count, dtype, None, root, comm, stream)
    })
}

/// # Safety
/// As for the public name.
pub(super) unsafe fn broadcast(
    sendbuff: *const c_void,
    recvbuff: *mut c_void,
    count: usize,
    datatype: mcclDataType_t,
    root: c_int,
    comm: mcclComm_t,
    stream: musaStream_t,
) -> mcclResult_t {
    entry("mcclBroadcast", || {
        let comm = args::comm(comm)?;
        let dtype = args::datatype(datatype)?;
        let root = args::rank("root", root, &comm)?;
        if comm.rank() == root {
            args::buffer("sendbuff", sendbuff, count, 1, dtype)?;
        }
        args::buffer("recvbuff", recvbuff, count, 1, dtype)?;
        submit(Collective::Broadcast, sendbuff, recvbuff, count, dtype, None, root, comm, stream)
    })
}

/// # Safety
/// As for the public name.
pub(super) unsafe fn all_reduce(
    sendbuff: *const c_void,
    recvbuff: *mut c_void,
    count: usize,
    datatype: mcclDataType_t,
    op: mcclRedOp_t,
    comm: mcclComm_t,
    stream: musaStream_t,
) -> mcclResult_t {
    entry("mcclAllReduce", || {
        let comm = args::comm(comm)?;
        let dtype = args::datatype(datatype)?;
        let op = args::reduction(op, dtype, &comm)?;
        args::buffer("sendbuff", sendbuff, count, 1, dtype)?;
        args::buffer("recvbuff", recvbuff, count, 1, dtype)?;
        submit(Collective::AllReduce, sendbuff, recvbuff, count, dtype, Some(op), 0, comm, stream)
    })
}

/// # Safety
/// As for the public name.
pub(super) unsafe fn reduce_scatter(
    sendbuff: *const c_void,
    recvbuff: *mut c_void,
    count: usize,
    datatype: mcclDataType_t,
    op: mcclRedOp_t,
    comm: mcclComm_t,
    stream: musaStream_t,
) -> mcclResult_t {
    entry("mcclReduceScatter", || {
        let comm = args::comm(comm)?;
        let dtype = args::datatype(datatype)?;
        let op = args::reduction(op, dtype, &comm)?;
        args::buffer("sendbuff", sendbuff, count, comm.nranks(), dtype)?;
        args::buffer("recvbuff", recvbuff, count, 1, dtype)?;
        submit(Collective::ReduceScatter, sendbuff, recvbuff, count, dtype, Some(op), 0, comm, stream)
    })
}

/// # Safety
/// As for the public name.
pub(super) unsafe fn all_gather(
    sendbuff: *const c_void,
    recvbuff: *mut c_void,
    count: usize,
    datatype: mcclDataType_t,
    comm: mcclComm_t,
    stream: musaStream_t,
) -> mcclResult_t {
    entry("mcclAllGather", || {
        let comm = args::comm(comm)?;
        let dtype = args::datatype(datatype)?;
        args::buffer("sendbuff", sendbuff, count, 1, dtype)?;
        args::buffer("recvbuff", recvbuff, count, comm.nranks(), dtype)?;
        submit(Collective::AllGather, sendbuff, recvbuff, count, dtype, None, 0, comm, stream)
    })
}

/// # Safety
/// As for the public name.
pub(super) unsafe fn all_to_all(
    sendbuff: *const c_void,
    recvbuff: *mut c_void,
    count: usize,
    datatype: mcclDataType_t,
    comm: mcclComm_t,
    stream: musaStream_t,
) -> mcclResult_t {
    entry("mcclAlltoAll", || {
        let comm = args::comm(comm)?;
        let dtype = args::datatype(datatype)?;
        args::buffer("sendbuff", sendbuff, count, comm.nranks(), dtype)?;
        args::buffer("recvbuff", recvbuff, count, comm.nranks(), dtype)?;
        submit(Collective::AlltoAll, sendbuff, recvbuff, count, dtype, None, 0, comm, stream)
    })
}

/// # Safety
/// As for the public name.
pub(super) unsafe fn gather(
    sendbuff: *const c_void,
    recvbuff: *mut c_void,
    count: usize,
    datatype: mcclDataType_t,
    root: c_int,
    comm: mcclComm_t,
    stream: musaStream_t,
) -> mcclResult_t {
    entry("mcclGather", || {
        let comm = args::comm(comm)?;
        let dtype = args::datatype(datatype)?;
        let root = args::rank("root", root, &comm)?;
        args::buffer("sendbuff", sendbuff, count, 1, dtype)?;
        if comm.rank() == root {
            args::buffer("recvbuff", recvbuff, count, comm.nranks(), dtype)?;
        }
        submit(Collective::Gather, sendbuff, recvbuff, count, dtype, None, root, comm, stream)
    })
}

/// # Safety
/// As for the public name.
pub(super) unsafe fn scatter(
    sendbuff: *const c_void,
    recvbuff: *mut c_void,
    count: usize,
    datatype: mcclDataType_t,
    root: c_int,
    comm: mcclComm_t,
    stream: musaStream_t,
) -> mcclResult_t {
    entry("mcclScatter", || {
        let comm = args::comm(comm)?;
        let dtype = args::datatype(datatype)?;
        let root = args::rank("root", root, &comm)?;
        if comm.rank() == root {
            args::buffer("sendbuff", sendbuff, count, comm.nranks(), dtype)?;
        }
        args::buffer("recvbuff", recvbuff, count, 1, dtype)?;
        submit(Collective::Scatter, sendbuff, recvbuff, count, dtype, None, root, comm, stream)
    })
}

/// Hands an operation with checked arguments to the engine.
pub(super) fn submit(
    coll: Collective,
    send: *const c_void,
    recv: *mut c_void,
    count: usize,
    dtype: DataType,
    op: Option<RedOp>,
    peer: usize,
    comm: Arc<Comm>,
    stream: musaStream_t,
) -> Result<()> {
    call!(
        "mccl{}({send:p}, {recv:p}, {count}, {dtype:?}, {op:?}, {peer}, rank {}, {stream:p})",
        coll.name(),
        comm.rank()
    );
    group::submit(Op { coll, send, recv, count, dtype, op, peer, vector: None, comm, stream })
}
