//! Memory that peers can reach, and registration of buffers.
use std::ffi::c_void;

use super::args::{self, Out};
use super::entry;
use super::types::{mcclComm_t, mcclResult_t};
use crate::{bail, comm};

/// Allocates size bytes of device memory that peers can reach. Free it with mcclMemFree.
///
/// # Safety
/// Output pointers must be good to write.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn mcclMemAlloc(ptr: *mut *mut c_void, size: usize) -> mcclResult_t {
    // SAFETY: the caller keeps the promises of this function, which are those of the body.
    unsafe { alloc(ptr, size) }
}

/// Frees memory of mcclMemAlloc.
///
/// # Safety
/// ptr must be NULL or come from mcclMemAlloc and not be used any more.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn mcclMemFree(ptr: *mut c_void) -> mcclResult_t {
    // SAFETY: the caller keeps the promises of this function, which are those of the body.
    unsafe { free(ptr) }
}

/// Tells the communicator of a buffer of size bytes that operations will use often. Local to this rank.
///
/// # Safety
/// Output pointers must be good to write. The buffer must live until it is deregistered.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn mcclCommRegister(
    comm: mcclComm_t,
    buff: *mut c_void,
    size: usize,
    handle: *mut *mut c_void,
) -> mcclResult_t {
    // SAFETY: the caller keeps the promises of this function, which are those of the body.
    unsafe { register(comm, buff, size, handle) }
}

/// Ends a registration.
///
/// # Safety
/// Any handle is fine: it is checked.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn mcclCommDeregister(comm: mcclComm_t, handle: *mut c_void) -> mcclResult_t {
    // SAFETY: the caller keeps the promises of this function, which are those of the body.
    unsafe { deregister(comm, handle) }
}

/// # Safety
/// As for the public name.
pub(super) unsafe fn alloc(ptr: *mut *mut c_void, size: usize) -> mcclResult_t {
    entry("mcclMemAlloc", || {
        // SAFETY: the caller's output pointer.
        let out = unsafe { Out::new("ptr", ptr) }?;
        if isize::try_from(size).is_err() {
            bail!(InvalidArgument, "size {size} is more than memory can hold");
        }
        out.write(comm::mem_alloc(size)?);
        Ok(())
    })
}

/// # Safety
/// As for the public name.
pub(super) unsafe fn free(ptr: *mut c_void) -> mcclResult_t {
    entry("mcclMemFree", || if ptr.is_null() { Ok(()) } else { comm::mem_free(ptr) })
}

/// # Safety
/// As for the public name.
pub(super) unsafe fn register(
    comm: mcclComm_t,
    buff: *mut c_void,
    size: usize,
    handle: *mut *mut c_void,
) -> mcclResult_t {
    entry("mcclCommRegister", || {
        let comm = args::comm(comm)?;
        // SAFETY: the caller's output pointer.
        let out = unsafe { Out::new("handle", handle) }?;
        if buff.is_null() || size == 0 || buff.addr().checked_add(size).is_none() {
            bail!(InvalidArgument, "buff {buff:p} with size {size} is not a buffer");
        }
        let id = comm.register(buff, size)?;
        out.write(std::ptr::without_provenance_mut(id as usize));
        Ok(())
    })
}

/// # Safety
/// As for the public name.
pub(super) unsafe fn deregister(comm: mcclComm_t, handle: *mut c_void) -> mcclResult_t {
    entry("mcclCommDeregister", || args::comm(comm)?.deregister(handle.addr() as u64))
}
