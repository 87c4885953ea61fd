//! Stream memory operations of the driver face.

use std::ffi::{c_int, c_uint, c_void};

use super::types::{MUdeviceptr, MUstream, WAIT_FLUSH};
use crate::core::error::{Error, Result};
use crate::core::stream::{resolve, submit};
use crate::core::work::{ValueTest, Work};
use crate::guard::driver_entry;

/// # Safety
/// The word stays valid until the stream is past the wait.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn muStreamWaitValue32(
    stream: MUstream,
    at: MUdeviceptr,
    value: u32,
    flags: c_uint,
) -> c_int {
    driver_entry("muStreamWaitValue32", || wait(stream, at, value.into(), flags, false))
}

/// # Safety
/// As `muStreamWaitValue32`.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn muStreamWaitValue64(
    stream: MUstream,
    at: MUdeviceptr,
    value: u64,
    flags: c_uint,
) -> c_int {
    driver_entry("muStreamWaitValue64", || wait(stream, at, value, flags, true))
}

/// # Safety
/// The word stays valid until the stream is past the write.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn muStreamWriteValue32(
    stream: MUstream,
    at: MUdeviceptr,
    value: u32,
    flags: c_uint,
) -> c_int {
    driver_entry("muStreamWriteValue32", || write(stream, at, value.into(), flags, false))
}

/// # Safety
/// As `muStreamWriteValue32`.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn muStreamWriteValue64(
    stream: MUstream,
    at: MUdeviceptr,
    value: u64,
    flags: c_uint,
) -> c_int {
    driver_entry("muStreamWriteValue64", || write(stream, at, value, flags, true))
}

/// Always `MUSA_ERROR_NOT_SUPPORTED`: use the single operations.
#[unsafe(no_mangle)]
pub extern "C" fn muStreamBatchMemOp(
    _stream: MUstream,
    _count: c_uint,
    _operations: *mut c_void,
    _flags: c_uint,
) -> c_int {
    driver_entry("muStreamBatchMemOp", || Err(Error::NOT_SUPPORTED))
}

fn wait(stream: MUstream, at: MUdeviceptr, value: u64, flags: c_uint, wide: bool) -> Result<()> {
    let test = match flags & !WAIT_FLUSH {
        0 => ValueTest::GreaterOrEqual,
        1 => ValueTest::Equal,
        2 => ValueTest::And,
        3 => ValueTest::Nor,
        _ => return Err(Error::INVALID_VALUE),
    };
    submit(resolve(stream)?, Work::WaitValue { address: word(at, wide)?, value, wide, test })
}

fn write(stream: MUstream, at: MUdeviceptr, value: u64, flags: c_uint, wide: bool) -> Result<()> {
    if flags > 1 {
        return Err(Error::INVALID_VALUE);
    }
    submit(resolve(stream)?, Work::WriteValue { address: word(at, wide)?, value, wide })
}

/// The address of an aligned word.
fn word(at: MUdeviceptr, wide: bool) -> Result<usize> {
    let align = if wide { 8 } else { 4 };
    if at == 0 || !at.is_multiple_of(align) { Err(Error::INVALID_VALUE) } else { Ok(at as usize) }
}
