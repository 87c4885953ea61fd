//! Send and receive.
use std::ffi::{c_int, c_void};

use super::coll::submit;
use super::types::{mcclComm_t, mcclDataType_t, mcclResult_t, musaStream_t};
use super::{args, entry};
use crate::base::types::Collective;

/// Sends count elements to rank peer, which calls mcclRecv with the same count and datatype.
/// Sends and receives that wait for each other belong in one group.
///
/// # Safety
/// Buffers must stay good for as many elements as the call says until the stream has run the operation.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn mcclSend(
    sendbuff: *const c_void,
    count: usize,
    datatype: mcclDataType_t,
    peer: c_int,
    comm: mcclComm_t,
    stream: musaStream_t,
) -> mcclResult_t {
    // SAFETY: the caller keeps the promises of this function, which are those of the body.
    unsafe { send(sendbuff, count, datatype, peer, comm, stream) }
}

/// Receives count elements from rank peer, which calls mcclSend with the same count and datatype.
///
/// # Safety
/// Buffers must stay good for as many elements as the call says until the stream has run the operation.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn mcclRecv(
    recvbuff: *mut c_void,
    count: usize,
    datatype: mcclDataType_t,
    peer: c_int,
    comm: mcclComm_t,
    stream: musaStream_t,
) -> mcclResult_t {
    // SAFETY: the caller keeps the promises of this function, which are those of the body.
    unsafe { recv(recvbuff, count, datatype, peer, comm, stream) }
}

/// # Safety
/// As for the public name.
pub(super) unsafe fn send(
    buff: *const c_void,
    count: usize,
    datatype: mcclDataType_t,
    peer: c_int,
    comm: mcclComm_t,
    stream: musaStream_t,
) -> mcclResult_t {
    entry("mcclSend", || {
        let comm = args::comm(comm)?;
        let dtype = args::datatype(datatype)?;
        let peer = args::rank("peer", peer, &comm)?;
        args::buffer("sendbuff", buff, count, 1, dtype)?;
        submit(Collective::Send, buff, std::ptr::null_mut(), count, dtype, None, peer, comm, stream)
    })
}

/// # Safety
/// As for the public name.
pub(super) unsafe fn recv(
    buff: *mut c_void,
    count: usize,
    datatype: mcclDataType_t,
    peer: c_int,
    comm: mcclComm_t,
    stream: musaStream_t,
) -> mcclResult_t {
    entry("mcclRecv", || {
        let comm = args::comm(comm)?;
        let dtype = args::datatype(datatype)?;
        let peer = args::rank("peer", peer, &comm)?;
        args::buffer("recvbuff", buff, count, 1, dtype)?;
        submit(Collective::Recv, std::ptr::null(), buff, count, dtype, None, peer, comm, stream)
    })
}
