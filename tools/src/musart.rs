//! The device runtime (`libmusart`): function table, streams, memory, events and graphs.

use std::ffi::{CStr, c_char, c_int, c_uint, c_void};
use std::marker::PhantomData;

use crate::api::{Mccl, function_table};
use crate::error::{Error, Result};
use crate::load::Opened;

const STREAM_NON_BLOCKING: c_uint = 1;
const COPY_TO_DEVICE: c_int = 1;
const COPY_TO_HOST: c_int = 2;
const COPY_ON_DEVICE: c_int = 3;
const CAPTURE_THREAD_LOCAL: c_int = 1;
/// Room for `musaDeviceProp`, whose layout beyond the name is the vendor's.
const PROPERTIES_BYTES: usize = 16 << 10;
const NAME_BYTES: usize = 256;

type Rc = c_int;
type Handle = *mut c_void;

function_table! { Table {
    required {
        get_device_count = "musaGetDeviceCount" (*mut c_int) -> Rc;
        set_device = "musaSetDevice" (c_int) -> Rc;
        malloc = "musaMalloc" (*mut *mut c_void, usize) -> Rc;
        free = "musaFree" (*mut c_void) -> Rc;
        memcpy = "musaMemcpy" (*mut c_void, *const c_void, usize, c_int) -> Rc;
        memcpy_async = "musaMemcpyAsync" (*mut c_void, *const c_void, usize, c_int, Handle) -> Rc;
        memset = "musaMemset" (*mut c_void, c_int, usize) -> Rc;
        device_synchronize = "musaDeviceSynchronize" () -> Rc;
        stream_create = "musaStreamCreateWithFlags" (*mut Handle, c_uint) -> Rc;
        stream_destroy = "musaStreamDestroy" (Handle) -> Rc;
        stream_synchronize = "musaStreamSynchronize" (Handle) -> Rc;
        get_error_string = "musaGetErrorString" (Rc) -> *const c_char;
    }
    optional {
        get_pci_bus_id = "musaDeviceGetPCIBusId" (*mut c_char, c_int, c_int) -> Rc;
        get_properties = "musaGetDeviceProperties" (*mut c_void, c_int) -> Rc;
        mem_get_info = "musaMemGetInfo" (*mut usize, *mut usize) -> Rc;
        event_create = "musaEventCreate" (*mut Handle) -> Rc;
        event_record = "musaEventRecord" (Handle, Handle) -> Rc;
        event_elapsed = "musaEventElapsedTime" (*mut f32, Handle, Handle) -> Rc;
        event_destroy = "musaEventDestroy" (Handle) -> Rc;
        begin_capture = "musaStreamBeginCapture" (Handle, c_int) -> Rc;
        end_capture = "musaStreamEndCapture" (Handle, *mut Handle) -> Rc;
        graph_instantiate = "musaGraphInstantiate" (*mut Handle, Handle, *mut Handle, *mut c_char, usize) -> Rc;
        graph_launch = "musaGraphLaunch" (Handle, Handle) -> Rc;
        graph_exec_destroy = "musaGraphExecDestroy" (Handle) -> Rc;
        graph_destroy = "musaGraphDestroy" (Handle) -> Rc;
    }
} }

/// The runtime, open for the process's life.
pub struct Musart {
    table: Table,
    pub name: String,
}

impl Musart {
    pub fn of(opened: &Opened) -> Result<&'static Self> {
        Ok(Box::leak(Box::new(Self { table: Table::of(opened)?, name: opened.name.clone() })))
    }

    pub fn device_count(&self) -> Result<usize> {
        let mut count = 0;
        // SAFETY: the pointer is to a local that lives through the call.
        self.check("musaGetDeviceCount", unsafe { (self.table.get_device_count)(&mut count) })?;
        usize::try_from(count).ok().filter(|&n| n > 0).ok_or_else(|| Error::failed("no device found"))
    }

    /// Makes `device` current for the calling thread.
    pub fn set_device(&self, device: i32) -> Result<()> {
        // SAFETY: a plain number.
        self.check("musaSetDevice", unsafe { (self.table.set_device)(device) })
    }

    /// Waits for all work of the current device.
    pub fn synchronize(&self) -> Result<()> {
        // SAFETY: no arguments.
        self.check("musaDeviceSynchronize", unsafe { (self.table.device_synchronize)() })
    }

    /// Free and total bytes of the current device; `None` if the runtime does not tell.
    pub fn memory(&self) -> Result<Option<(usize, usize)>> {
        let Some(get) = self.table.mem_get_info else { return Ok(None) };
        let (mut free, mut total) = (0, 0);
        // SAFETY: both pointers are to locals that live through the call.
        self.check("musaMemGetInfo", unsafe { get(&mut free, &mut total) })?;
        Ok(Some((free, total)))
    }

    /// `[dddd:bb:dd]` of a device, as the runtime names it, and the device's own name; blank where unknown.
    pub fn describe(&self, device: i32) -> Result<(String, String)> {
        let mut bus = [0u8; 64];
        if let Some(get) = self.table.get_pci_bus_id {
            // SAFETY: the buffer is writable for the length given and stays terminated by its last byte.
            let rc = unsafe { get(bus.as_mut_ptr().cast(), bus.len() as c_int - 1, device) };
            self.check("musaDeviceGetPCIBusId", rc)?;
        }
        // Words of eight bytes, so that the buffer is aligned like any C structure.
        let mut properties = vec![0u64; PROPERTIES_BYTES / 8];
        let mut name = [0u8; NAME_BYTES + 1];
        if let Some(get) = self.table.get_properties {
            // SAFETY: the buffer is far larger than any known layout of the structure, which begins with the name.
            let rc = unsafe { get(properties.as_mut_ptr().cast(), device) };
            self.check("musaGetDeviceProperties", rc)?;
            let bytes = properties.iter().flat_map(|word| word.to_ne_bytes());
            name.iter_mut().zip(bytes.take(NAME_BYTES)).for_each(|(to, from)| *to = from);
        }
        Ok((text(&bus), text(&name)))
    }

    /// A stream of the current device that does not wait for the null stream.
    pub fn stream(&'static self) -> Result<Stream> {
        let mut handle = std::ptr::null_mut();
        // SAFETY: the pointer is to a local that lives through the call.
        let rc = unsafe { (self.table.stream_create)(&mut handle, STREAM_NON_BLOCKING) };
        self.check("musaStreamCreateWithFlags", rc)?;
        Ok(Stream { runtime: self, handle })
    }

    /// The null stream.
    pub fn null_stream(&'static self) -> Stream {
        Stream { runtime: self, handle: std::ptr::null_mut() }
    }

    /// Memory on the current device, from the library's allocator if one is given and has it, else from the runtime.
    pub fn buffer(&'static self, library: Option<&'static Mccl>, bytes: usize) -> Result<Buffer> {
        if let Some((library, result)) = library.and_then(|l| Some((l, l.mem_alloc(bytes)?))) {
            return Ok(Buffer { runtime: self, library: Some(library), base: result?, len: bytes });
        }
        let mut base = std::ptr::null_mut();
        // SAFETY: the pointer is to a local that lives through the call.
        self.check("musaMalloc", unsafe { (self.table.malloc)(&mut base, bytes) })?;
        Ok(Buffer { runtime: self, library: None, base, len: bytes })
    }

    pub fn copy_in(&self, to: View, from: &[u8]) -> Result<()> {
        let to = to.sub(0, from.len())?;
        // SAFETY: both sides have `from.len()` bytes; the call returns when the host side has been read.
        let rc = unsafe { (self.table.memcpy)(to.ptr(), from.as_ptr().cast(), from.len(), COPY_TO_DEVICE) };
        self.check("musaMemcpy to the device", rc)
    }

    pub fn copy_out(&self, to: &mut [u8], from: View) -> Result<()> {
        let from = from.sub(0, to.len())?;
        // SAFETY: both sides have `to.len()` bytes; the call returns when the host side has been written.
        let rc = unsafe { (self.table.memcpy)(to.as_mut_ptr().cast(), from.ptr(), to.len(), COPY_TO_HOST) };
        self.check("musaMemcpy to the host", rc)
    }

    pub fn zero(&self, view: View) -> Result<()> {
        // SAFETY: the view is memory of `len` bytes.
        self.check("musaMemset", unsafe { (self.table.memset)(view.ptr(), 0, view.len()) })
    }

    fn check(&self, call: &str, rc: Rc) -> Result<()> {
        if rc == 0 {
            return Ok(());
        }
        // SAFETY: the function takes any code and returns a static string or null.
        let text = unsafe {
            let text = (self.table.get_error_string)(rc);
            if text.is_null() { "?".into() } else { CStr::from_ptr(text).to_string_lossy() }
        };
        Err(Error::failed(format!("{call}: {text} ({rc})")))
    }

    fn missing(&self, what: &str) -> Error {
        Error::usage(format!("{what}: {} has no such functions", self.name))
    }
}

fn text(bytes: &[u8]) -> String {
    let end = bytes.iter().position(|&b| b == 0).unwrap_or(bytes.len());
    String::from_utf8_lossy(&bytes[..end]).into_owned()
}

/// A stream, destroyed when dropped (the null stream is nobody's to destroy).
pub struct Stream {
    runtime: &'static Musart,
    handle: Handle,
}

// SAFETY: the runtime's handles may be used from any thread.
unsafe impl Send for Stream {}
// SAFETY: as above.
unsafe impl Sync for Stream {}

impl Stream {
    pub(crate) fn raw(&self) -> Handle {
        self.handle
    }

    /// Waits until all work on the stream is done.
    pub fn synchronize(&self) -> Result<()> {
        // SAFETY: a live stream.
        let rc = unsafe { (self.runtime.table.stream_synchronize)(self.handle) };
        self.runtime.check("musaStreamSynchronize", rc)
    }

    /// Copies on the device, in the order of the stream.
    pub fn copy(&self, to: View, from: View) -> Result<()> {
        let to = to.sub(0, from.len())?;
        // SAFETY: both views are device memory of `from.len()` bytes that outlives the stream's work.
        let rc = unsafe {
            let copy = self.runtime.table.memcpy_async;
            copy(to.ptr(), from.ptr(), from.len(), COPY_ON_DEVICE, self.handle)
        };
        self.runtime.check("musaMemcpyAsync", rc)
    }

    /// Records from now on instead of running, until `end_capture`.
    pub fn begin_capture(&self) -> Result<()> {
        let call = self.runtime.table.begin_capture.ok_or_else(|| self.runtime.missing("-G: graph capture"))?;
        // SAFETY: a live stream.
        self.runtime.check("musaStreamBeginCapture", unsafe { call(self.handle, CAPTURE_THREAD_LOCAL) })
    }

    /// Ends the recording and makes it launchable.
    pub fn end_capture(&self) -> Result<Graph> {
        let (table, missing) = (&self.runtime.table, || self.runtime.missing("-G: graphs"));
        let end = table.end_capture.ok_or_else(missing)?;
        let instantiate = table.graph_instantiate.ok_or_else(missing)?;
        let mut graph = Graph { runtime: self.runtime, graph: std::ptr::null_mut(), exec: std::ptr::null_mut() };
        // SAFETY: a live stream; the pointer is to a local that lives through the call.
        self.runtime.check("musaStreamEndCapture", unsafe { end(self.handle, &mut graph.graph) })?;
        let null = std::ptr::null_mut();
        // SAFETY: the pointer is to a local that lives through the call. The three-argument form of newer runtimes reads the third one as
        // flags and ignores the rest.
        let rc = unsafe { instantiate(&mut graph.exec, graph.graph, null, null.cast(), 0) };
        self.runtime.check("musaGraphInstantiate", rc)?;
        Ok(graph)
    }

    /// Notes a time when the stream gets here.
    pub fn record(&self, event: &Event) -> Result<()> {
        let call = self.runtime.table.event_record.ok_or_else(|| self.runtime.missing("-I: events"))?;
        // SAFETY: live handles.
        self.runtime.check("musaEventRecord", unsafe { call(event.handle, self.handle) })
    }

    /// An event for this stream's device, which must be current.
    pub fn event(&self) -> Result<Event> {
        let call = self.runtime.table.event_create.ok_or_else(|| self.runtime.missing("-I: events"))?;
        let mut event = Event { runtime: self.runtime, handle: std::ptr::null_mut() };
        // SAFETY: the pointer is to a local that lives through the call.
        self.runtime.check("musaEventCreate", unsafe { call(&mut event.handle) })?;
        Ok(event)
    }
}

impl Drop for Stream {
    fn drop(&mut self) {
        if !self.handle.is_null() {
            // SAFETY: the last use of a live stream; a failure at this point has no consequence.
            unsafe { (self.runtime.table.stream_destroy)(self.handle) };
        }
    }
}

/// A recorded graph and its launchable form.
pub struct Graph {
    runtime: &'static Musart,
    graph: Handle,
    exec: Handle,
}

impl Graph {
    pub fn launch(&self, stream: &Stream) -> Result<()> {
        let call = self.runtime.table.graph_launch.ok_or_else(|| self.runtime.missing("-G: graphs"))?;
        // SAFETY: live handles.
        self.runtime.check("musaGraphLaunch", unsafe { call(self.exec, stream.handle) })
    }
}

impl Drop for Graph {
    fn drop(&mut self) {
        let table = &self.runtime.table;
        for (destroy, handle) in [(table.graph_exec_destroy, self.exec), (table.graph_destroy, self.graph)] {
            if let Some(destroy) = destroy.filter(|_| !handle.is_null()) {
                // SAFETY: the last use of a live handle.
                unsafe { destroy(handle) };
            }
        }
    }
}

/// A point in a stream's time.
pub struct Event {
    runtime: &'static Musart,
    handle: Handle,
}

impl Event {
    /// Seconds from `self` to `end`; both must have been reached.
    pub fn seconds_to(&self, end: &Event) -> Result<f64> {
        let call = self.runtime.table.event_elapsed.ok_or_else(|| self.runtime.missing("-I: events"))?;
        let mut milliseconds = 0f32;
        // SAFETY: live handles; the pointer is to a local that lives through the call.
        let rc = unsafe { call(&mut milliseconds, self.handle, end.handle) };
        self.runtime.check("musaEventElapsedTime", rc)?;
        Ok(f64::from(milliseconds) * 1e-3)
    }
}

impl Drop for Event {
    fn drop(&mut self) {
        if let Some(destroy) = self.runtime.table.event_destroy.filter(|_| !self.handle.is_null()) {
            // SAFETY: the last use of a live handle.
            unsafe { destroy(self.handle) };
        }
    }
}

/// Device memory with one owner, freed when dropped.
pub struct Buffer {
    runtime: &'static Musart,
    library: Option<&'static Mccl>,
    base: *mut c_void,
    len: usize,
}

// SAFETY: device memory belongs to no thread.
unsafe impl Send for Buffer {}
// SAFETY: as above; the address is only passed on.
unsafe impl Sync for Buffer {}

impl Buffer {
    /// All of it.
    pub fn view(&self) -> View<'_> {
        View { base: self.base.cast(), len: self.len, owner: PhantomData }
    }
}

impl Drop for Buffer {
    fn drop(&mut self) {
        match self.library {
            Some(library) => drop(library.mem_free(self.base)),
            // SAFETY: the last use of memory from `musaMalloc`.
            None => drop(unsafe { (self.runtime.table.free)(self.base) }),
        }
    }
}

/// A range of a buffer's device memory.
#[derive(Clone, Copy)]
pub struct View<'a> {
    base: *mut u8,
    len: usize,
    owner: PhantomData<&'a Buffer>,
}

impl<'a> View<'a> {
    /// `len` bytes from `offset` on; an error if they are not all inside.
    #[inline]
    pub fn sub(self, offset: usize, len: usize) -> Result<View<'a>> {
        match offset.checked_add(len) {
            Some(end) if end <= self.len => {
                // SAFETY: the offset is inside the buffer (checked above).
                Ok(View { base: unsafe { self.base.add(offset) }, len, owner: PhantomData })
            }
            _ => Err(Error::failed(format!("buffer: {len} bytes at {offset} of {}: beyond its end", self.len))),
        }
    }

    pub(crate) fn ptr(self) -> *mut c_void {
        self.base.cast()
    }

    pub fn len(self) -> usize {
        self.len
    }

    pub fn is_empty(self) -> bool {
        self.len == 0
    }

    /// Whether both begin at the same byte.
    pub fn starts_with(self, other: View) -> bool {
        self.base == other.base
    }
}
