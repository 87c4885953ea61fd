//! Events: markers in streams that other streams and threads wait for.

use std::ffi::c_void;
use std::sync::atomic::Ordering;
use std::sync::{Arc, Mutex};

use super::capture::{self, Capture};
use super::error::{Error, Result};
use super::fence::Fence;
use super::ipc_event::IpcEvent;
use super::registry::Registry;
use super::slab::{CAPTURING, StreamRef, busy};
use super::sync::wait;
use super::work::{Mode, Work};
use super::{lock, order, runtime, stream, sync};

pub const DISABLE_TIMING: u32 = 2;
pub const INTERPROCESS: u32 = 4;
const ALL_FLAGS: u32 = 7;

pub struct Event {
    flags: u32,
    recorded: Mutex<Recorded>,
    shared: Option<Arc<IpcEvent>>,
}

/// The latest record.
#[derive(Clone)]
enum Recorded {
    Never,
    In { fence: Arc<Fence>, stream: StreamRef, stream_id: u64 },
    Captured { capture: Arc<Capture>, nodes: Vec<usize> },
}

static EVENTS: Registry<Event> = Registry::new();

pub fn create(flags: u32) -> Result<*mut c_void> {
    runtime::runtime()?;
    let interprocess = flags & INTERPROCESS != 0;
    if flags & !ALL_FLAGS != 0 || (interprocess && flags & DISABLE_TIMING == 0) {
        return Err(Error::INVALID_VALUE);
    }
    let shared = if interprocess { Some(Arc::new(IpcEvent::new()?)) } else { None };
    Ok(EVENTS.insert(Arc::new(Event { flags, recorded: Mutex::new(Recorded::Never), shared })))
}

/// An event of another process.
pub fn adopt(shared: IpcEvent) -> *mut c_void {
    let flags = DISABLE_TIMING | INTERPROCESS;
    EVENTS.insert(Arc::new(Event {
        flags,
        recorded: Mutex::new(Recorded::Never),
        shared: Some(Arc::new(shared)),
    }))
}

pub fn get(handle: *mut c_void) -> Result<Arc<Event>> {
    EVENTS.get(handle)
}

/// Forgets the handle; records that are pending complete.
pub fn destroy(handle: *mut c_void) -> Result<()> {
    EVENTS.remove(handle).map(drop)
}

impl Event {
    /// Marks the end of what is on the stream now. `external` makes a node of it in a capture.
    pub fn record(self: &Arc<Self>, stream: StreamRef, external: bool) -> Result<()> {
        if stream.state.load(Ordering::Acquire) & CAPTURING != 0 {
            if external {
                return capture::record_event_node(stream, self.clone(), true);
            }
            let (capture, nodes) = capture::position(stream)?;
            *lock(&self.recorded) = Recorded::Captured { capture, nodes };
            return Ok(());
        }
        if let Some(shared) = &self.shared {
            let ticket = shared.issue();
            return stream::submit(stream, Work::IpcSignal { event: shared.clone(), ticket });
        }
        capture::forbid_legacy(stream)?;
        if !busy(stream.state.load(Ordering::Acquire)) && !order::has_elders(stream) {
            self.set(Arc::new(Fence::passed()), stream);
            return Ok(());
        }
        let fence = Arc::new(Fence::default());
        stream::submit(stream, Work::Signal(fence.clone()))?;
        self.set(fence, stream);
        Ok(())
    }

    /// Makes `fence` the latest record.
    pub fn set(&self, fence: Arc<Fence>, stream: StreamRef) {
        let stream_id = stream.id.load(Ordering::Relaxed);
        *lock(&self.recorded) = Recorded::In { fence, stream, stream_id };
    }

    /// Makes later work of the stream wait for the latest record; nothing for an event that was never recorded.
    pub fn hold(self: &Arc<Self>, stream: StreamRef, external: bool) -> Result<()> {
        let capturing = stream.state.load(Ordering::Acquire) & CAPTURING != 0;
        if capturing && external {
            return capture::record_event_node(stream, self.clone(), false);
        }
        let recorded = lock(&self.recorded).clone();
        match recorded {
            Recorded::Captured { capture, nodes } => capture::join(stream, &capture, &nodes),
            Recorded::Never if self.shared.is_none() => Ok(()),
            _ if capturing => {
                capture::invalidate(stream);
                Err(Error::STREAM_CAPTURE_ISOLATION)
            }
            Recorded::In { fence, .. } if fence.is_done() => Ok(()),
            Recorded::In { fence, .. } => stream::submit(stream, Work::Wait { fence, parked: false }),
            Recorded::Never => self.hold_shared(stream),
        }
    }

    fn hold_shared(&self, stream: StreamRef) -> Result<()> {
        let Some(shared) = &self.shared else { return Ok(()) };
        let ticket = shared.latest();
        if shared.reached(ticket) {
            return Ok(());
        }
        stream::submit(stream, Work::IpcWait { event: shared.clone(), ticket })
    }

    /// What a graph launch has to wait for.
    pub fn latest_fence(&self) -> Option<Arc<Fence>> {
        match &*lock(&self.recorded) {
            Recorded::In { fence, .. } => Some(fence.clone()),
            _ => None,
        }
    }

    /// Success when the latest record is passed or there is none.
    pub fn query(&self) -> Result<()> {
        if let Some(shared) = &self.shared {
            return if shared.reached(shared.latest()) { Ok(()) } else { Err(Error::NOT_READY) };
        }
        match &*lock(&self.recorded) {
            Recorded::Captured { .. } => Err(Error::CAPTURED_EVENT),
            Recorded::In { fence, .. } if !fence.is_done() => Err(Error::NOT_READY),
            _ => Ok(()),
        }
    }

    /// Returns when the latest record is passed.
    pub fn synchronize(&self) -> Result<()> {
        if let Some(shared) = &self.shared {
            let ticket = shared.latest();
            wait(None, Mode::Help, || shared.reached(ticket), |limit| shared.sleep(ticket, limit));
            return Ok(());
        }
        let recorded = lock(&self.recorded).clone();
        match recorded {
            Recorded::Captured { .. } => Err(Error::CAPTURED_EVENT),
            Recorded::Never => Ok(()),
            Recorded::In { fence, stream, stream_id } => {
                sync::wait_fence(&fence, Some(stream));
                // The slot may have become another stream meanwhile, whose failures are not ours.
                if stream.id.load(Ordering::Relaxed) == stream_id {
                    stream::take_failure(stream)
                } else {
                    Ok(())
                }
            }
        }
    }

    fn timed(&self) -> Result<Arc<Fence>> {
        match &*lock(&self.recorded) {
            _ if self.flags & DISABLE_TIMING != 0 => Err(Error::INVALID_RESOURCE_HANDLE),
            Recorded::In { fence, .. } => Ok(fence.clone()),
            Recorded::Captured { .. } => Err(Error::CAPTURED_EVENT),
            Recorded::Never => Err(Error::INVALID_RESOURCE_HANDLE),
        }
    }

    pub fn shared(&self) -> Option<&Arc<IpcEvent>> {
        self.shared.as_ref()
    }
}

/// Milliseconds from `start` to `end`, both passed.
pub fn elapsed(start: &Event, end: &Event) -> Result<f32> {
    let (start, end) = (start.timed()?, end.timed()?);
    if !start.is_done() || !end.is_done() {
        return Err(Error::NOT_READY);
    }
    Ok((end.time() as i64 - start.time() as i64) as f32 / 1e6)
}
