//! Windows of symmetric memory, which this version does not offer.
use std::ffi::{c_int, c_void};

use super::args::{self, Out};
use super::entry;
use super::types::{mcclComm_t, mcclResult_t, mcclWindow_t};
use crate::{bail, info};

/// Makes a window of the buffers of all ranks; every rank calls it, with a buffer at a multiple of 4096.
/// This version offers no windows: it checks the arguments, writes NULL and succeeds, which programs must expect.
///
/// # Safety
/// Output pointers must be good to write.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn mcclCommWindowRegister(
    comm: mcclComm_t,
    buff: *mut c_void,
    size: usize,
    win: *mut mcclWindow_t,
    winFlags: c_int,
) -> mcclResult_t {
    // SAFETY: the caller keeps the promises of this function, which are those of the body.
    unsafe { register(comm, buff, size, win, winFlags) }
}

/// Ends a window. NULL does nothing.
///
/// # Safety
/// Any handle is fine: it is checked.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn mcclCommWindowDeregister(comm: mcclComm_t, win: mcclWindow_t) -> mcclResult_t {
    // SAFETY: the caller keeps the promises of this function, which are those of the body.
    unsafe { deregister(comm, win) }
}

/// Windows begin at multiples of this.
const ALIGNMENT: usize = 4096;
/// All flags that a caller may set.
const FLAGS: c_int = 3;

/// # Safety
/// As for the public name.
pub(super) unsafe fn register(
    comm: mcclComm_t,
    buff: *mut c_void,
    size: usize,
    win: *mut mcclWindow_t,
    flags: c_int,
) -> mcclResult_t {
    entry("mcclCommWindowRegister", || {
        let comm = args::comm(comm)?;
        // SAFETY: the caller's output pointer.
        let out = unsafe { Out::new("win", win) }?;
        if buff.is_null() || !buff.addr().is_multiple_of(ALIGNMENT) || size == 0 {
            bail!(
                InvalidArgument,
                "buff {buff:p} with size {size} is not a buffer at a multiple of {ALIGNMENT}"
            );
        }
        if flags & !FLAGS != 0 {
            bail!(InvalidArgument, "winFlags {flags} is not possible (0 to {FLAGS})");
        }
        info!(Reg, "rank {} gets no window: not offered by this version", comm.rank());
        out.write(std::ptr::null_mut());
        Ok(())
    })
}

/// # Safety
/// As for the public name.
pub(super) unsafe fn deregister(comm: mcclComm_t, win: mcclWindow_t) -> mcclResult_t {
    entry("mcclCommWindowDeregister", || {
        args::comm(comm)?;
        if !win.is_null() {
            bail!(InvalidArgument, "win {win:p} is not a window of this communicator");
        }
        Ok(())
    })
}
