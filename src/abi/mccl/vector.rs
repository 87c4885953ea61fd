//! All-to-all with a count for each pair of ranks.
use std::ffi::{c_int, c_void};
use std::sync::Arc;

use super::types::{mcclComm_t, mcclDataType_t, mcclResult_t, musaStream_t};
use super::{args, entry};
use crate::base::Result;
use crate::base::types::{Collective, DataType};
use crate::comm::Comm;
use crate::group::{self, Op, VectorCounts};
use crate::{bail, call, err};

/// Sends sendcounts[i] elements to rank i and receives recvcounts[i] from it, at displacements in elements.
/// sdispls is the matrix of all ranks' send displacements, nranks * nranks, row by rank; only this rank's row is read.
/// The other arrays have nranks values and are read during the call.
///
/// # Safety
/// Buffers must stay good for as many elements as the call says until the stream has run the operation. Arrays must be good to read as said.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn mcclAllToAllv(
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
    // SAFETY: the caller keeps the promises of this function, which are those of the body.
    unsafe {
        all_to_all_v(sendbuff, sendcounts, sdispls, recvbuff, recvcounts, rdispls, datatype, comm, stream)
    }
}

/// nbatch times mcclAllToAllv as one group. Buffers and datatypes have nbatch values; entry b of the counts and rdispls
/// begins at b * nranks, its matrix of send displacements at b * nranks * nranks.
///
/// # Safety
/// Buffers must stay good for as many elements as the call says until the stream has run the operation. Arrays must be good to read as said.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn mcclBatchAllToAllv(
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
    // SAFETY: the caller keeps the promises of this function, which are those of the body.
    unsafe {
        batch_all_to_all_v(
            sendbuffs, sendcounts, sdispls, recvbuffs, recvcounts, rdispls, datatypes, nbatch, comm, stream,
        )
    }
}

/// Most operations in one mcclBatchAllToAllv.
const MAX_BATCH: c_int = 65536;

/// # Safety
/// As for the public name.
pub(super) unsafe fn all_to_all_v(
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
    entry("mcclAllToAllv", || {
        let comm = args::comm(comm)?;
        let dtype = args::datatype(datatype)?;
        let arrays = Arrays { sendcounts, sdispls, recvcounts, rdispls };
        // SAFETY: the caller's arrays, of the sizes that the header names.
        let vector = unsafe { arrays.read(0, &comm) }?;
        check(sendbuff, recvbuff, dtype, &vector)?;
        submit(sendbuff, recvbuff, dtype, vector, comm, stream)
    })
}

/// # Safety
/// As for the public name.
pub(super) unsafe fn batch_all_to_all_v(
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
    entry("mcclBatchAllToAllv", || {
        let comm = args::comm(comm)?;
        let arrays = Arrays { sendcounts, sdispls, recvcounts, rdispls };
        // SAFETY: the caller's arrays, of the sizes that the header names.
        let batch = unsafe { read_batch(nbatch, sendbuffs, recvbuffs, datatypes, &arrays, &comm) }?;
        group::start()?;
        let submitted = batch.into_iter().try_for_each(|(send, recv, dtype, vector)| {
            submit(send, recv, dtype, vector, Arc::clone(&comm), stream)
        });
        // The group ends in any case; what failed first counts.
        let ended = group::end();
        submitted.and(ended)
    })
}

/// The arrays of a call, as C passes them.
struct Arrays {
    sendcounts: *const usize,
    /// Matrix of all ranks' displacements, row by row.
    sdispls: *const usize,
    recvcounts: *const usize,
    rdispls: *const usize,
}

impl Arrays {
    /// This rank's part of entry `batch`.
    ///
    /// # Safety
    /// Arrays that are neither null nor misaligned must be good to read through entry `batch`.
    unsafe fn read(&self, batch: usize, comm: &Comm) -> Result<VectorCounts> {
        let (n, rank) = (comm.nranks(), comm.rank());
        let row = batch * n;
        // SAFETY: the promise of this function; `wrapping_add` leaves null and misaligned pointers to be refused.
        unsafe {
            Ok(VectorCounts {
                send_counts: row_of("sendcounts", self.sendcounts, row, n)?,
                send_displs: row_of("sdispls", self.sdispls, row * n + rank * n, n)?,
                recv_counts: row_of("recvcounts", self.recvcounts, row, n)?,
                recv_displs: row_of("rdispls", self.rdispls, row, n)?,
            })
        }
    }
}

/// # Safety
/// As for [`args::array`], for `from + len` values.
unsafe fn row_of(name: &str, at: *const usize, from: usize, len: usize) -> Result<Vec<usize>> {
    let start = if at.is_null() { at } else { at.wrapping_add(from) };
    // SAFETY: the promise of this function.
    unsafe { args::array(name, start, len) }
}

type Entry = (*const c_void, *mut c_void, DataType, VectorCounts);

/// # Safety
/// Arrays that are neither null nor misaligned must be good to read for `nbatch` entries.
unsafe fn read_batch(
    nbatch: c_int,
    sendbuffs: *mut *mut c_void,
    recvbuffs: *mut *mut c_void,
    datatypes: *mut mcclDataType_t,
    arrays: &Arrays,
    comm: &Comm,
) -> Result<Vec<Entry>> {
    let len = usize::try_from(nbatch).ok().filter(|_| nbatch <= MAX_BATCH);
    let len =
        len.ok_or_else(|| err!(InvalidArgument, "nbatch {nbatch} is not possible (0 to {MAX_BATCH})"))?;
    // SAFETY: the promise of this function.
    let (sends, recvs, dtypes) = unsafe {
        (
            args::array("sendbuffs", sendbuffs, len)?,
            args::array("recvbuffs", recvbuffs, len)?,
            args::array("datatypes", datatypes, len)?,
        )
    };
    let entry = |at: usize| {
        // SAFETY: the promise of this function, `at` being below `nbatch`.
        let vector = unsafe { arrays.read(at, comm) }?;
        let (send, recv, dtype) = (sends[at].cast_const(), recvs[at], args::datatype(dtypes[at])?);
        check(send, recv, dtype, &vector)?;
        Ok((send, recv, dtype, vector))
    };
    (0..len).map(entry).collect()
}

/// Checks what both sides span.
fn check(send: *const c_void, recv: *const c_void, dtype: DataType, vector: &VectorCounts) -> Result<()> {
    extent("sendbuff", send, &vector.send_counts, &vector.send_displs, dtype)?;
    extent("recvbuff", recv, &vector.recv_counts, &vector.recv_displs, dtype)
}

/// Hands an operation with checked arguments to the engine.
fn submit(
    send: *const c_void,
    recv: *mut c_void,
    dtype: DataType,
    vector: VectorCounts,
    comm: Arc<Comm>,
    stream: musaStream_t,
) -> Result<()> {
    let (coll, vector) = (Collective::AlltoAllv, Some(Box::new(vector)));
    call!("mcclAllToAllv({send:p}, {recv:p}, {dtype:?}, rank {}, {stream:p})", comm.rank());
    group::submit(Op { coll, send, recv, count: 0, dtype, op: None, peer: 0, vector, comm, stream })
}

/// Checks that every block fits the address space and that there is a buffer when there is a block.
fn extent(name: &str, at: *const c_void, counts: &[usize], displs: &[usize], dtype: DataType) -> Result<()> {
    for (peer, (&count, &displ)) in
        counts.iter().zip(displs).enumerate().filter(|(_, (count, _))| **count > 0)
    {
        let Some(end) = displ.checked_add(count) else {
            bail!(
                InvalidArgument,
                "{name}: count {count} at displacement {displ} for rank {peer} is beyond memory"
            );
        };
        args::buffer(name, at, end, 1, dtype)?;
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn blocks_beyond_memory_are_refused_and_empty_ones_need_no_buffer() {
        let (null, some) = (std::ptr::null(), std::ptr::without_provenance(64));
        assert!(extent("sendbuff", null, &[0, 0], &[7, usize::MAX], DataType::Int8).is_ok());
        assert!(extent("sendbuff", null, &[0, 1], &[0, 0], DataType::Int8).is_err());
        assert!(extent("sendbuff", some, &[1, 2], &[4, 0], DataType::Int8).is_ok());
        let error = extent("sendbuff", some, &[2], &[usize::MAX], DataType::Int8).unwrap_err();
        assert!(error.message.starts_with("sendbuff: count 2 at displacement"), "{error}");
        assert!(extent("sendbuff", some, &[1], &[usize::MAX / 8], DataType::Int64).is_err());
    }

    #[test]
    fn a_null_array_is_refused_whatever_the_offset() {
        // SAFETY: a null pointer is refused before it is read.
        assert!(unsafe { row_of("sdispls", std::ptr::null(), 12, 4) }.is_err());
        let matrix = [0usize, 1, 2, 3];
        // SAFETY: the row lies within the array.
        assert_eq!(unsafe { row_of("sdispls", matrix.as_ptr(), 2, 2) }.unwrap(), [2, 3]);
    }
}
