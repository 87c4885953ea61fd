//! The emulated runtime: device memory is host memory in a shared file, and streams take pollable work.
use std::ffi::{CStr, c_void};
use std::sync::OnceLock;

use mccl_emu_ext as ext;
use mccl_emu_ext::{ExtTable, HeapInfo, Pollable, PollableVTable, StreamInfo};

use crate::base::Result;
use crate::device::musa::{MusaApi, Source};
use crate::device::{Claim, Export, Runtime, Stream, Work, WorkState};
use crate::err;

/// Name under which the runtime exports its extension.
pub const ENTRY: &CStr = c"mcclEmuExtension";

pub struct Emulated {
    api: MusaApi,
    table: &'static ExtTable,
    heap: OnceLock<HeapInfo>,
}

// SAFETY: the table and the heap description are immutable, and the runtime's functions may be called from any thread.
unsafe impl Send for Emulated {}
// SAFETY: as above.
unsafe impl Sync for Emulated {}

impl Emulated {
    /// The emulated runtime in `source`; `None` when that library is not one.
    pub fn load(source: &Source) -> Result<Option<Self>> {
        let Some(entry) = source.find(ENTRY) else { return Ok(None) };
        // SAFETY: the symbol of this name is only exported by the emulated runtime, with this signature.
        let entry: unsafe extern "C" fn(u32) -> *const ExtTable =
            unsafe { std::mem::transmute(entry.as_ptr()) };
        // SAFETY: any version may be asked for.
        let table = unsafe { entry(ext::VERSION) };
        // SAFETY: not null means a static table of this version; its size is checked before use.
        let table =
            unsafe { table.as_ref() }.filter(|t| t.size >= size_of::<ExtTable>()).ok_or_else(|| {
                err!(
                    Device,
                    "the emulated device runtime does not speak version {} of the extension",
                    ext::VERSION
                )
            })?;
        Ok(Some(Self { api: MusaApi::load(|name| source.find(name))?, table, heap: OnceLock::new() }))
    }

    fn heap(&self) -> Result<&HeapInfo> {
        if let Some(heap) = self.heap.get() {
            return Ok(heap);
        }
        let mut heap = HeapInfo { base: std::ptr::null_mut(), len: 0, device_span: 0, devices: 0, fd: -1 };
        // SAFETY: a valid place for the description.
        self.api.check("the emulated device memory", unsafe { (self.table.heap)(&mut heap) })?;
        Ok(self.heap.get_or_init(|| heap))
    }

    /// Device of a stream, and whether it is being captured.
    pub fn stream_info(&self, stream: Stream) -> Result<StreamInfo> {
        let mut info = StreamInfo::default();
        // SAFETY: a valid place; the runtime checks the handle.
        self.api.check("stream", unsafe { (self.table.stream_info)(stream.0, &mut info) })?;
        Ok(info)
    }
}

impl Runtime for Emulated {
    fn version_name(&self) -> String {
        self.api.version_name() + "-emulated"
    }

    fn device_count(&self) -> Result<i32> {
        self.api.device_count()
    }

    fn current_device(&self) -> Result<i32> {
        self.api.current_device()
    }

    fn set_device(&self, device: i32) -> Result<()> {
        self.api.set_device(device)
    }

    fn bus_id(&self, device: i32) -> Result<String> {
        self.api.bus_id(device)
    }

    fn alloc(&self, len: usize) -> Result<*mut c_void> {
        self.api.alloc(len)
    }

    fn free(&self, ptr: *mut c_void) -> Result<()> {
        self.api.free(ptr)
    }

    fn export(&self) -> Result<Option<Export>> {
        self.heap().map(|heap| Some(Export { fd: heap.fd, len: heap.len }))
    }

    fn export_offset(&self, ptr: *const u8) -> Option<u64> {
        let heap = self.heap.get()?;
        let offset = (ptr as usize).checked_sub(heap.base as usize)?;
        (offset < heap.len).then_some(offset as u64)
    }

    fn store(&self, ptr: *mut c_void, bytes: &[u8]) -> Result<()> {
        let heap = self.heap()?;
        let offset = self.export_offset(ptr.cast()).map_or(usize::MAX, |offset| offset as usize);
        if offset.saturating_add(bytes.len()) > heap.len {
            return Err(err!(InvalidArgument, "{} bytes at {ptr:p} are not device memory", bytes.len()));
        }
        // SAFETY: the range was checked to lie in the heap, which is mapped for reading and writing as a whole.
        unsafe { std::ptr::copy_nonoverlapping(bytes.as_ptr(), ptr.cast(), bytes.len()) };
        Ok(())
    }

    fn claim(&self, stream: Stream) -> Result<Claim> {
        // SAFETY: the runtime checks the handle.
        match unsafe { (self.table.stream_claim)(stream.0) } {
            ext::CLAIM_OK => Ok(Claim::Inline),
            ext::CLAIM_BUSY => Ok(Claim::Busy),
            ext::CLAIM_CAPTURING => Ok(Claim::Capturing),
            _ => Err(err!(
                InvalidArgument,
                "stream {:p} is not a stream of the device runtime (was it destroyed?)",
                stream.0
            )),
        }
    }

    fn release(&self, stream: Stream) {
        // SAFETY: the caller holds the claim.
        unsafe { (self.table.stream_release)(stream.0) }
    }

    fn hand_over(&self, stream: Stream, work: Box<dyn Work>) {
        // SAFETY: the caller holds the claim; the runtime drops the context exactly once.
        unsafe { (self.table.stream_hand_over)(stream.0, into_pollable(work)) }
    }

    fn enqueue(&self, stream: Stream, work: Box<dyn Work>) -> Result<()> {
        let pollable = into_pollable(work);
        // SAFETY: the runtime checks the handle, and drops the context exactly once if it takes it.
        let code = unsafe { (self.table.stream_enqueue)(stream.0, pollable) };
        if code != 0 {
            // SAFETY: the context was not taken, so it is still the one that was just made.
            unsafe { drop_work(pollable.ctx) };
        }
        self.api.check("stream", code)
    }

    fn help(&self) {
        // SAFETY: called from outside any poll, by the contract of the trait.
        unsafe { (self.table.help)() };
    }
}

static VTABLE: PollableVTable =
    PollableVTable { poll: poll_work, idle: idle_work, rearm: Some(rearm_work), drop: drop_work };

fn into_pollable(work: Box<dyn Work>) -> Pollable {
    Pollable { ctx: Box::into_raw(Box::new(work)).cast(), vtable: &VTABLE }
}

/// # Safety
/// `ctx` came from `into_pollable`, was not dropped, and nobody else uses it during the call.
unsafe fn work<'a>(ctx: *mut c_void) -> &'a mut Box<dyn Work> {
    // SAFETY: the caller's promise.
    unsafe { &mut *ctx.cast::<Box<dyn Work>>() }
}

// The runtime calls these one at a time per context (contract of the extension), and nothing may unwind into it.

unsafe extern "C" fn poll_work(ctx: *mut c_void) -> i32 {
    // SAFETY: the runtime's promise.
    let work = unsafe { work(ctx) };
    match std::panic::catch_unwind(std::panic::AssertUnwindSafe(|| work.poll())) {
        Ok(WorkState::Pending) => ext::POLL_PENDING,
        Ok(WorkState::Done) => ext::POLL_DONE,
        Ok(WorkState::Failed) | Err(_) => ext::POLL_FAILED,
    }
}

unsafe extern "C" fn idle_work(ctx: *mut c_void, round: u32) {
    // SAFETY: the runtime's promise.
    let work = unsafe { work(ctx) };
    // A panic while waiting shows again in the next poll.
    let _ = std::panic::catch_unwind(std::panic::AssertUnwindSafe(|| work.idle(round)));
}

unsafe extern "C" fn rearm_work(ctx: *mut c_void) -> *mut c_void {
    // SAFETY: the runtime's promise.
    let work = unsafe { work(ctx) };
    match std::panic::catch_unwind(std::panic::AssertUnwindSafe(|| work.rearm())) {
        Ok(Some(fresh)) => into_pollable(fresh).ctx,
        Ok(None) | Err(_) => std::ptr::null_mut(),
    }
}

unsafe extern "C" fn drop_work(ctx: *mut c_void) {
    // SAFETY: the runtime drops each context once.
    let work = unsafe { Box::from_raw(ctx.cast::<Box<dyn Work>>()) };
    let _ = std::panic::catch_unwind(std::panic::AssertUnwindSafe(|| drop(work)));
}
