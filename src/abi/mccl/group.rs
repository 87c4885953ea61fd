//! Groups of calls.
use super::args::Out;
use super::entry;
use super::types::{SIM_INFO_MAGIC, mcclResult_t, mcclSimInfo_t};
use crate::{bail, group};

/// Opens a group: calls until the matching mcclGroupEnd take effect together. Groups nest; the outermost counts.
///
/// # Safety
/// Always safe.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn mcclGroupStart() -> mcclResult_t {
    // SAFETY: the caller keeps the promises of this function, which are those of the body.
    unsafe { start() }
}

/// Ends a group and starts what it collected.
///
/// # Safety
/// Pointers passed to calls of the group must still be good.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn mcclGroupEnd() -> mcclResult_t {
    // SAFETY: the caller keeps the promises of this function, which are those of the body.
    unsafe { end() }
}

/// Ends a group without running it and writes how long it would take, in microseconds.
///
/// # Safety
/// simInfo must be as large as its size says.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn mcclGroupSimulateEnd(simInfo: *mut mcclSimInfo_t) -> mcclResult_t {
    // SAFETY: the caller keeps the promises of this function, which are those of the body.
    unsafe { simulate_end(simInfo) }
}

/// # Safety
/// As for the public name.
pub(super) unsafe fn start() -> mcclResult_t {
    entry("mcclGroupStart", group::start)
}

/// # Safety
/// As for the public name.
pub(super) unsafe fn end() -> mcclResult_t {
    entry("mcclGroupEnd", group::end)
}

/// # Safety
/// As for the public name.
pub(super) unsafe fn simulate_end(info: *mut mcclSimInfo_t) -> mcclResult_t {
    entry("mcclGroupSimulateEnd", || {
        if !info.is_null() {
            // SAFETY: the caller's struct, of the size that it says.
            unsafe { check(info) }?;
        }
        let time = group::simulate_end()?;
        if !info.is_null() {
            // SAFETY: as above; the size was checked to cover the field.
            unsafe { Out::new("simInfo", &raw mut (*info).estimatedTime) }?.write(time);
        }
        Ok(())
    })
}

/// # Safety
/// `info` is not null and good to read 16 bytes when it is aligned.
unsafe fn check(info: *mut mcclSimInfo_t) -> crate::base::Result<()> {
    if !info.is_aligned() {
        bail!(InvalidArgument, "simInfo {info:p} is not aligned to {} bytes", align_of::<mcclSimInfo_t>());
    }
    // SAFETY: size and magic lie in the first 16 bytes.
    let (size, magic) = unsafe { ((*info).size, (*info).magic) };
    if magic != SIM_INFO_MAGIC {
        bail!(InvalidArgument, "simInfo: magic {magic:#x} is wrong, start from MCCL_SIM_INFO_INITIALIZER");
    }
    if size < size_of::<mcclSimInfo_t>() {
        bail!(
            InvalidArgument,
            "simInfo: size {size} is not possible ({} upwards)",
            size_of::<mcclSimInfo_t>()
        );
    }
    Ok(())
}
