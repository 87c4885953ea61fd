//! User-made reductions.
use std::ffi::c_void;

use super::args::{self, Out};
use super::entry;
use super::types::{mcclComm_t, mcclDataType_t, mcclRedOp_t, mcclResult_t, mcclScalarResidence_t};
use crate::bail;
use crate::base::types::Scalar;
use crate::comm::PreMul;

/// Makes a reduction that multiplies this rank's input by *scalar and then sums, for one datatype and communicator.
/// With mcclScalarHostImmediate the scalar is read now, with mcclScalarDevice when an operation runs.
///
/// # Safety
/// Output pointers must be good to write. The scalar must be good to read, on the device until the last operation has run.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn mcclRedOpCreatePreMulSum(
    op: *mut mcclRedOp_t,
    scalar: *mut c_void,
    datatype: mcclDataType_t,
    residence: mcclScalarResidence_t,
    comm: mcclComm_t,
) -> mcclResult_t {
    // SAFETY: the caller keeps the promises of this function, which are those of the body.
    unsafe { create(op, scalar, datatype, residence, comm) }
}

/// Ends a reduction of mcclRedOpCreatePreMulSum; operations that use it may still run.
///
/// # Safety
/// Any handle is fine: it is checked.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn mcclRedOpDestroy(op: mcclRedOp_t, comm: mcclComm_t) -> mcclResult_t {
    // SAFETY: the caller keeps the promises of this function, which are those of the body.
    unsafe { destroy(op, comm) }
}

/// # Safety
/// As for the public name.
pub(super) unsafe fn create(
    op: *mut mcclRedOp_t,
    scalar: *mut c_void,
    datatype: mcclDataType_t,
    residence: mcclScalarResidence_t,
    comm: mcclComm_t,
) -> mcclResult_t {
    entry("mcclRedOpCreatePreMulSum", || {
        let comm = args::comm(comm)?;
        let dtype = args::datatype(datatype)?;
        // SAFETY: the caller's output pointer.
        let out = unsafe { Out::new("op", op) }?;
        args::buffer("scalar", scalar, 1, 1, dtype)?;
        let factor = match residence {
            mcclScalarResidence_t::DEVICE => PreMul::Device(scalar),
            mcclScalarResidence_t::HOST_IMMEDIATE => {
                // SAFETY: the caller's scalar of this type.
                let scalar = unsafe { read_scalar(scalar, dtype.size()) };
                PreMul::Host(scalar)
            }
            other => bail!(InvalidArgument, "residence {} is not possible (0 to 1)", other.0),
        };
        out.write(mcclRedOp_t(comm.create_pre_mul_sum(factor, dtype)?));
        Ok(())
    })
}

/// # Safety
/// As for the public name.
pub(super) unsafe fn destroy(op: mcclRedOp_t, comm: mcclComm_t) -> mcclResult_t {
    entry("mcclRedOpDestroy", || {
        let comm = args::comm(comm)?;
        match op.0 {
            0..=4 => bail!(InvalidArgument, "op {} is built in and cannot be destroyed", op.0),
            5.. => comm.destroy_op(op.0),
            other => bail!(InvalidArgument, "op {other} is not a reduction (5 upwards can be destroyed)"),
        }
    })
}

/// # Safety
/// `at` must be good to read `size` bytes, at most 8.
unsafe fn read_scalar(at: *const c_void, size: usize) -> Scalar {
    let mut bytes = [0; 8];
    // SAFETY: the promise of this function; the sizes of element types are at most 8.
    unsafe { at.cast::<u8>().copy_to_nonoverlapping(bytes.as_mut_ptr(), size.min(8)) };
    Scalar(u64::from_le_bytes(bytes))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_scalar_is_read_from_any_address_with_its_own_size_only() {
        let bytes = [0xffu8, 0x34, 0x12, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff];
        // SAFETY: two bytes behind the first one are within the array.
        let scalar = unsafe { read_scalar(bytes.as_ptr().add(1).cast(), 2) };
        assert_eq!(scalar, Scalar(0x1234));
    }
}
