//! The extension table: resumable work of libmccl on our streams.

use std::ffi::c_void;
use std::mem::size_of;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::ptr::null;
use std::sync::atomic::Ordering;

use mccl_emu_ext::{CLAIM_INVALID, ExtTable, HeapInfo, Pollable, StreamInfo, VERSION};

use crate::core::error::{Error, Result};
use crate::core::pollable::OwnedPollable;
use crate::core::{capture, driver, runtime, slab, stream};

static TABLE: ExtTable = ExtTable {
    size: size_of::<ExtTable>(),
    version: VERSION,
    heap,
    stream_claim,
    stream_release,
    stream_hand_over,
    stream_enqueue,
    stream_info,
    help,
};

/// The table of the wanted version, or null.
#[unsafe(no_mangle)]
pub extern "C" fn mcclEmuExtension(version: u32) -> *const ExtTable {
    if version == VERSION { &TABLE } else { null() }
}

unsafe extern "C" fn heap(out: *mut HeapInfo) -> i32 {
    code(|| {
        let runtime = runtime::runtime()?;
        let heap = &runtime.heap;
        let info = HeapInfo {
            base: heap.base() as *mut u8,
            len: heap.len(),
            device_span: heap.span(),
            devices: runtime.devices.len() as u32,
            fd: heap.fd(),
        };
        // SAFETY: the caller of the table passes a valid place.
        unsafe { crate::guard::put(out, info) }
    })
}

unsafe extern "C" fn stream_claim(handle: *mut c_void) -> i32 {
    catch_unwind(|| stream::claim(handle)).unwrap_or(CLAIM_INVALID)
}

unsafe extern "C" fn stream_release(handle: *mut c_void) {
    let _ = catch_unwind(|| stream::release(handle));
}

unsafe extern "C" fn stream_hand_over(handle: *mut c_void, work: Pollable) {
    // SAFETY: the caller of the table hands the context over.
    let work = unsafe { OwnedPollable::new(work) };
    let _ = catch_unwind(AssertUnwindSafe(|| stream::hand_over(handle, work)));
}

unsafe extern "C" fn stream_enqueue(handle: *mut c_void, work: Pollable) -> i32 {
    code(|| {
        let target = stream::resolve(handle)?;
        // SAFETY: the caller of the table hands the context over, until a failure gives it back.
        let work = unsafe { OwnedPollable::new(work) };
        stream::submit_pollable(target, work).map_err(|(error, work)| {
            work.into_raw();
            error
        })
    })
}

unsafe extern "C" fn stream_info(handle: *mut c_void, out: *mut StreamInfo) -> i32 {
    code(|| {
        let target = stream::resolve(handle)?;
        let mut info = StreamInfo { device: target.device() as i32, capture: capture::NONE, capture_id: 0 };
        if target.state.load(Ordering::Acquire) & slab::CAPTURING != 0 {
            (info.capture, info.capture_id) = capture::status(target);
        }
        // SAFETY: the caller of the table passes a valid place.
        unsafe { crate::guard::put(out, info) }
    })
}

unsafe extern "C" fn help() -> u32 {
    catch_unwind(|| driver::help_others(None)).unwrap_or(0)
}

fn code(act: impl FnOnce() -> Result<()>) -> i32 {
    let result = catch_unwind(AssertUnwindSafe(act)).unwrap_or(Err(Error::UNKNOWN));
    result.map_or_else(|error| error.0, |()| 0)
}
