//! Any MUSA runtime through its public functions: device memory is never touched by the host.
//!
//! A staged operation is, on its stream: copies of what it reads to pinned host memory, a host function that starts the work on
//! a thread of the library ([`proxy`]), a wait for that work, copies of what it wrote back to the device, and a host
//! function that gives the pinned memory back. All of these are stream operations, so a stream that is being captured makes
//! nodes of them; there, the pinned memory belongs to the graph until the graph and all that was made of it are gone (on
//! a runtime without user objects in graphs: until the process ends); elsewhere the operations of a stream share it. Executables made from one captured graph share
//! that memory, so they must not run at the same time.
//!
//! A work that fails ends its stream's wait like one that succeeds; its communicator tells why it failed.
mod api;
mod lanes;
mod node;
mod pinned;
mod proxy;
mod wait;

#[cfg(test)]
pub mod mock;
#[cfg(test)]
mod tests;

pub use pinned::Pinned;

use std::ffi::{CStr, c_void};
use std::ptr::NonNull;
use std::sync::{Arc, OnceLock};

use crate::base::Result;
use crate::device::musa::Source;
use crate::device::{Claim, Export, Runtime, StagedWork, Staging, Stream, Transfer, Work};
use crate::sys::Library;
use crate::{bail, err, info, warn_};
use api::{Api, Capture};
use lanes::{Lane, Lanes};
use node::Node;
use pinned::Pool;
use wait::Waits;

/// Names of the driver library, where stream memory operations are.
const DRIVERS: [&str; 2] = ["libmusa.so.1", "libmusa.so"];

/// A runtime that is used through its public functions only.
pub struct Staged {
    api: Arc<Api>,
    pool: Arc<Pool>,
    lanes: Lanes,
    waits: OnceLock<Waits>,
}

impl Staged {
    /// The runtime in `source`, with the driver library beside it.
    pub fn load(source: &Source) -> Result<Self> {
        let driver = driver(source);
        let loaded = Self::with(
            |name| source.find(name),
            |name| source.find(name).or_else(|| driver.as_ref()?.symbol(name)),
        );
        // Its functions must stay callable as long as the process lives.
        driver.into_iter().for_each(Library::leak);
        loaded
    }

    fn with(
        find: impl Fn(&CStr) -> Option<NonNull<c_void>>,
        find_driver: impl Fn(&CStr) -> Option<NonNull<c_void>>,
    ) -> Result<Self> {
        let api = Arc::new(Api::load(find, find_driver)?);
        Ok(Self { pool: Pool::new(Arc::clone(&api)), api, lanes: Lanes::default(), waits: OnceLock::new() })
    }

    fn waits(&self) -> Waits {
        *self.waits.get_or_init(|| Waits::choose(&self.api, &self.pool))
    }

    fn lane(&self, stream: Stream) -> Option<Arc<Lane>> {
        Some(self.lanes.lane(self.api.stream_id(stream)?))
    }

    fn capturing(&self, stream: Stream) -> Result<bool> {
        match self.api.capture(stream)? {
            Capture::None => Ok(false),
            Capture::Active => Ok(true),
            Capture::Invalidated => Err(err!(
                InvalidUsage,
                "the capture on stream {:p} was invalidated by an earlier call",
                stream.0
            )),
        }
    }

    /// On a stream that runs: the node ends behind the copies.
    fn put(&self, stream: Stream, staged: StagedWork) -> Result<()> {
        let StagedWork { before, work, after, buffer } = staged;
        let lane = self.lane(stream);
        let _alone = lane.as_ref().map(|lane| lane.enter());
        let node = Box::into_raw(Node::once(work, buffer));
        // SAFETY: the node lives until `release`, which comes last on the stream.
        let (begun, result) = unsafe { self.sequence(stream, node, &before, &after, false) };
        if result.is_err() {
            // SAFETY: as above; nobody else drops it.
            unsafe { (*node).cancel() };
        }
        let released = if begun {
            // SAFETY: the stream calls this once, after everything that uses the node.
            unsafe { self.api.call(stream, node::release, node.cast()) }
        } else {
            // SAFETY: nothing of it is on the stream.
            unsafe { node::release(node.cast()) };
            Ok(())
        };
        if let Err(error) = &released {
            // The stream may still copy from and to it, and nothing tells when it stops.
            warn_!("staging memory stays in use for good: {error}");
        }
        result.and(released)
    }

    /// On a stream that is being captured: the node belongs to the graph.
    fn put_captured(&self, stream: Stream, staged: StagedWork) -> Result<()> {
        let StagedWork { before, work, after, buffer } = staged;
        let node = Box::into_raw(Node::template(work, buffer));
        // SAFETY: the graph calls `release` once, when nothing can launch the node any more; without user objects the node
        // lives for good.
        match unsafe { self.api.end_with_graph(stream, node::release, node.cast()) } {
            Ok(true) => {}
            Ok(false) => {
                info!(Init, "a captured operation keeps its staging memory: no user objects in graphs")
            }
            Err(error) => return Err(error),
        }
        // SAFETY: as above.
        unsafe { self.sequence(stream, node, &before, &after, true) }.1
    }

    /// Everything but the release; and whether anything is on the stream.
    ///
    /// # Safety
    /// The node is not released before the stream (or the graph) is past all of this.
    unsafe fn sequence(
        &self,
        stream: Stream,
        node: *const Node,
        before: &[Transfer],
        after: &[Transfer],
        captured: bool,
    ) -> (bool, Result<()>) {
        let mut begun = false;
        let mut run = || {
            for copy in before {
                // SAFETY: the caller's buffer and the node's, both valid until the stream is past the copy.
                unsafe { self.api.copy(stream, copy.dst, copy.src, copy.len)? };
                begun = true;
            }
            // SAFETY: the caller's promise about the node.
            unsafe { self.api.call(stream, node::kick, node.cast_mut().cast())? };
            begun = true;
            // SAFETY: as above.
            unsafe { self.waits().put(&self.api, stream, node, captured)? };
            for copy in after {
                // SAFETY: as for the copies before.
                unsafe { self.api.copy(stream, copy.dst, copy.src, copy.len)? };
            }
            Ok(())
        };
        let result = run();
        (begun, result)
    }
}

fn driver(source: &Source) -> Option<Library> {
    if source.find(c"muStreamWaitValue32").is_some() {
        return None;
    }
    let loaded = || DRIVERS.iter().find_map(Library::already_loaded);
    // SAFETY: the driver library by its well-known name, which the runtime needs itself.
    loaded().or_else(|| DRIVERS.iter().find_map(|name| unsafe { Library::open(name) }.ok()))
}

impl Staging for Staged {
    fn on_device(&self, ptr: *const u8) -> Result<bool> {
        self.api.on_device(ptr)
    }

    fn buffer(&self, on: Option<Stream>, len: usize) -> Result<Arc<Pinned>> {
        match on.and_then(|stream| self.lane(stream)) {
            Some(lane) => lane.buffer(&self.pool, len),
            None => self.pool.take(len).map(Arc::new),
        }
    }

    fn submit(&self, stream: Stream, staged: StagedWork) -> Result<()> {
        self.waits();
        match self.capturing(stream)? {
            true => self.put_captured(stream, staged),
            false => self.put(stream, staged),
        }
    }
}

impl Runtime for Staged {
    fn version_name(&self) -> String {
        self.api.musa.version_name() + "-staged"
    }

    fn device_count(&self) -> Result<i32> {
        self.api.musa.device_count()
    }

    fn current_device(&self) -> Result<i32> {
        self.api.musa.current_device()
    }

    fn set_device(&self, device: i32) -> Result<()> {
        self.api.musa.set_device(device)
    }

    fn bus_id(&self, device: i32) -> Result<String> {
        self.api.musa.bus_id(device)
    }

    fn alloc(&self, len: usize) -> Result<*mut c_void> {
        self.api.musa.alloc(len)
    }

    fn free(&self, ptr: *mut c_void) -> Result<()> {
        self.api.musa.free(ptr)
    }

    fn export(&self) -> Result<Option<Export>> {
        Ok(None)
    }

    fn store(&self, ptr: *mut c_void, bytes: &[u8]) -> Result<()> {
        bail!(Unsupported, "{} bytes to {ptr:p}: this runtime exports no memory", bytes.len())
    }

    fn export_offset(&self, _: *const u8) -> Option<u64> {
        None
    }

    /// Never inline: only the runtime knows whether a stream is idle.
    fn claim(&self, stream: Stream) -> Result<Claim> {
        Ok(if self.capturing(stream)? { Claim::Capturing } else { Claim::Busy })
    }

    fn release(&self, _: Stream) {}

    fn hand_over(&self, stream: Stream, work: Box<dyn Work>) {
        if let Err(error) = self.enqueue(stream, work) {
            warn_!("work for stream {:p} was lost: {error}", stream.0);
        }
    }

    fn enqueue(&self, stream: Stream, work: Box<dyn Work>) -> Result<()> {
        let on = (!self.capturing(stream)?).then_some(stream);
        let buffer = self.buffer(on, 0)?;
        self.submit(stream, StagedWork { before: Vec::new(), work, after: Vec::new(), buffer })
    }

    /// The library's own threads poll all work.
    fn help(&self) {}

    fn staging(&self) -> Option<&dyn Staging> {
        Some(self)
    }
}
