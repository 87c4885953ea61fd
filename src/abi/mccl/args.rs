//! Turns C arguments into engine types; each refusal names the argument, its value and what is allowed.
use std::ffi::{c_int, c_void};
use std::ptr::NonNull;
use std::sync::Arc;

use super::types::{mcclComm_t, mcclDataType_t, mcclRedOp_t};
use crate::abi::handle::{Table, Vacant};
use crate::base::Result;
use crate::base::types::{DataType, RedOp};
use crate::comm::Comm;
use crate::{bail, err};

/// Most communicators that live at one time in a process.
const MAX_COMMS: usize = 16384;

static COMMS: Table<Comm, MAX_COMMS> = Table::new();

/// A place where the caller wants a result.
#[derive(Debug)]
pub(super) struct Out<T>(NonNull<T>);

// SAFETY: a handle is an address that nobody follows, so any thread may write it; the caller of the API keeps the place
// free for the call or the group that the call is in.
unsafe impl Send for Out<mcclComm_t> {}

impl<T> Out<T> {
    /// # Safety
    /// A pointer that is neither null nor misaligned must be good to write until the value is used or dropped.
    pub(super) unsafe fn new(name: &str, pointer: *mut T) -> Result<Self> {
        match NonNull::new(pointer) {
            None => bail!(InvalidArgument, "{name} argument is NULL"),
            Some(place) if !place.is_aligned() => {
                bail!(InvalidArgument, "{name} {pointer:p} is not aligned to {} bytes", align_of::<T>())
            }
            Some(place) => Ok(Self(place)),
        }
    }

    pub(super) fn write(self, value: T) {
        // SAFETY: the promise of `new`.
        unsafe { self.0.write(value) }
    }
}

/// The communicator behind a handle.
pub(super) fn comm(handle: mcclComm_t) -> Result<Arc<Comm>> {
    COMMS.get(handle.addr()).ok_or_else(|| not_live(handle))
}

/// Ends a handle and returns its communicator.
pub(super) fn take_comm(handle: mcclComm_t) -> Result<Arc<Comm>> {
    COMMS.remove(handle.addr()).ok_or_else(|| not_live(handle))
}

/// A handle for a communicator that is to be made.
pub(super) fn new_comm() -> Result<NewComm> {
    let vacant = COMMS.reserve();
    vacant
        .map(NewComm)
        .ok_or_else(|| err!(InvalidUsage, "{MAX_COMMS} communicators are alive, which is the limit"))
}

/// A handle that waits for its communicator.
pub(super) struct NewComm(Vacant<Comm, MAX_COMMS>);

impl NewComm {
    pub(super) fn fill(self, comm: Arc<Comm>) -> mcclComm_t {
        std::ptr::without_provenance_mut(self.0.fill(comm))
    }
}

pub(super) fn datatype(raw: mcclDataType_t) -> Result<DataType> {
    let known = usize::try_from(raw.0).ok().and_then(|index| DataType::ALL.get(index).copied());
    known.ok_or_else(|| {
        err!(InvalidArgument, "datatype {} is not a valid type (0 to {})", raw.0, DataType::ALL.len() - 1)
    })
}

pub(super) fn reduction(raw: mcclRedOp_t, dtype: DataType, comm: &Comm) -> Result<RedOp> {
    match raw.0 {
        0 => Ok(RedOp::Sum),
        1 => Ok(RedOp::Prod),
        2 => Ok(RedOp::Max),
        3 => Ok(RedOp::Min),
        4 => Ok(RedOp::Avg),
        user @ 5.. => comm.lookup_op(user, dtype),
        other => bail!(
            InvalidArgument,
            "op {other} is not a valid reduction (0 to 4, or made by mcclRedOpCreatePreMulSum)"
        ),
    }
}

/// A root or peer.
pub(super) fn rank(name: &str, raw: c_int, comm: &Comm) -> Result<usize> {
    let nranks = comm.nranks();
    let rank = usize::try_from(raw).ok().filter(|rank| *rank < nranks);
    rank.ok_or_else(|| {
        err!(InvalidArgument, "{name} {raw} is not a rank of this communicator (0 to {})", nranks - 1)
    })
}

/// Checks a buffer of `count` elements for each of `ranks` ranks: it fits the address space, and NULL only goes with nothing.
pub(super) fn buffer(
    name: &str,
    at: *const c_void,
    count: usize,
    ranks: usize,
    dtype: DataType,
) -> Result<()> {
    let bytes = count.checked_mul(ranks).and_then(|elements| elements.checked_mul(dtype.size()));
    match bytes {
        Some(bytes) if bytes > 0 && at.is_null() => {
            bail!(InvalidArgument, "{name} argument is NULL and {bytes} bytes are expected there")
        }
        Some(bytes) if isize::try_from(bytes).is_ok() => Ok(()),
        _ => bail!(
            InvalidArgument,
            "count {count} for {ranks} ranks with {} bytes each is more than memory can hold",
            dtype.size()
        ),
    }
}

/// A copy of an array that the caller passed.
///
/// # Safety
/// A pointer that is neither null nor misaligned must be good to read for `len` values.
pub(super) unsafe fn array<T: Copy>(name: &str, at: *const T, len: usize) -> Result<Vec<T>> {
    if len == 0 {
        return Ok(Vec::new());
    }
    if at.is_null() {
        bail!(InvalidArgument, "{name} argument is NULL and {len} values are expected there");
    }
    if !at.is_aligned() {
        bail!(InvalidArgument, "{name} {at:p} is not aligned to {} bytes", align_of::<T>());
    }
    // SAFETY: the promise of this function.
    Ok(unsafe { std::slice::from_raw_parts(at, len) }.to_vec())
}

fn not_live(handle: mcclComm_t) -> crate::base::Error {
    if handle.is_null() {
        return err!(InvalidArgument, "comm argument is NULL");
    }
    err!(InvalidArgument, "comm {handle:p} is not a live communicator (was it already destroyed?)")
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::base::ErrorKind;

    fn text<T: std::fmt::Debug>(result: Result<T>) -> String {
        let error = result.unwrap_err();
        assert_eq!(error.kind, ErrorKind::InvalidArgument);
        error.message
    }

    #[test]
    fn datatypes_are_read_by_value_and_others_refused() {
        for (value, expected) in DataType::ALL.into_iter().enumerate() {
            assert_eq!(datatype(mcclDataType_t(value as c_int)).unwrap(), expected);
            assert_eq!(expected as usize, value);
        }
        assert_eq!(text(datatype(mcclDataType_t(42))), "datatype 42 is not a valid type (0 to 11)");
        assert_eq!(text(datatype(mcclDataType_t(-1))), "datatype -1 is not a valid type (0 to 11)");
        assert_eq!(text(datatype(mcclDataType_t(12))), "datatype 12 is not a valid type (0 to 11)");
    }

    #[test]
    fn null_and_wild_communicators_are_told_apart() {
        let null = std::ptr::null_mut();
        let wild = std::ptr::without_provenance_mut(0x1000);
        assert_eq!(comm(null).err().unwrap().message, "comm argument is NULL");
        assert_eq!(
            take_comm(wild).err().unwrap().message,
            "comm 0x1000 is not a live communicator (was it already destroyed?)"
        );
    }

    #[test]
    fn a_null_buffer_goes_only_with_nothing_to_move() {
        let null = std::ptr::null();
        assert!(buffer("sendbuff", null, 0, 8, DataType::Float32).is_ok());
        assert_eq!(
            text(buffer("sendbuff", null, 5, 2, DataType::Float32)),
            "sendbuff argument is NULL and 40 bytes are expected there"
        );
    }

    #[test]
    fn sizes_beyond_the_address_space_are_refused() {
        let some = std::ptr::without_provenance(8);
        for (count, ranks) in [(usize::MAX, 1), (usize::MAX / 2, 4), (1 << 60, 1)] {
            assert!(text(buffer("recvbuff", some, count, ranks, DataType::Int64)).starts_with("count "));
        }
        assert!(buffer("recvbuff", some, 1 << 32, 8, DataType::Int64).is_ok());
    }

    #[test]
    fn outputs_and_arrays_are_checked_for_null_and_alignment() {
        let mut value = 0i32;
        let place = &raw mut value;
        // SAFETY: the place is a local variable; refused pointers are never used.
        unsafe {
            Out::new("version", place).unwrap().write(7);
            assert_eq!(text(Out::<i32>::new("version", std::ptr::null_mut())), "version argument is NULL");
            let odd = place.cast::<u8>().add(1).cast::<i32>();
            assert!(text(Out::new("version", odd)).contains("is not aligned to 4 bytes"));
            assert_eq!(
                text(array::<usize>("sendcounts", std::ptr::null(), 3)),
                "sendcounts argument is NULL and 3 values are expected there"
            );
            assert!(array::<usize>("devlist", std::ptr::null(), 0).unwrap().is_empty());
        }
        assert_eq!(value, 7);
    }
}
