//! Stream capture: submissions become nodes of a graph, across all streams that join through events.

use std::ffi::c_void;
use std::sync::atomic::{AtomicU32, AtomicU64, Ordering};
use std::sync::{Arc, Mutex};

use super::error::{Error, Result};
use super::event::Event;
use super::graph::{self, Graph, NodeWork, Plan};
use super::pollable::OwnedPollable;
use super::slab::{CAPTURING, StreamRef};
use super::stream::Kind;
use super::work::Work;
use super::{lock, thread};

pub const GLOBAL: i32 = 0;
pub const THREAD_LOCAL: i32 = 1;
pub const RELAXED: i32 = 2;

/// Values of a stream's capture status.
pub const NONE: i32 = 0;
pub const ACTIVE: i32 = 1;
pub const INVALIDATED: i32 = 2;

/// How `update_dependencies` changes the set.
pub const ADD_DEPENDENCIES: u32 = 0;
pub const SET_DEPENDENCIES: u32 = 1;

/// One capture in progress.
pub struct Capture {
    pub id: u64,
    pub graph: Arc<Graph>,
    pub graph_handle: usize,
    mode: i32,
    thread: std::thread::ThreadId,
    origin: StreamRef,
    inner: Mutex<Inner>,
}

struct Inner {
    valid: bool,
    /// Each stream that takes part, with the nodes that its next node comes after.
    streams: Vec<(StreamRef, Vec<usize>)>,
}

/// State of a stream's capture.
pub struct Info {
    pub status: i32,
    pub id: u64,
    pub graph: *mut c_void,
    pub dependencies: Vec<*mut c_void>,
}

static NEXT_ID: AtomicU64 = AtomicU64::new(1);
/// All captures in progress.
static RUNNING: Mutex<Vec<Arc<Capture>>> = Mutex::new(Vec::new());
/// Their number, for fast paths.
static COUNT: AtomicU32 = AtomicU32::new(0);

pub fn begin(stream: StreamRef, mode: i32) -> Result<()> {
    if !(GLOBAL..=RELAXED).contains(&mode) {
        return Err(Error::INVALID_VALUE);
    }
    if stream.is(Kind::Null) {
        return Err(Error::STREAM_CAPTURE_UNSUPPORTED);
    }
    let (graph_handle, graph) = graph::create();
    graph.capturing.store(true, Ordering::Relaxed);
    let capture = Arc::new(Capture {
        id: NEXT_ID.fetch_add(1, Ordering::Relaxed),
        graph,
        graph_handle: graph_handle as usize,
        mode,
        thread: std::thread::current().id(),
        origin: stream,
        inner: Mutex::new(Inner { valid: true, streams: vec![(stream, Vec::new())] }),
    });
    {
        let mut link = lock(&stream.capture);
        if link.is_some() {
            graph::discard(graph_handle);
            return Err(Error::ILLEGAL_STATE);
        }
        *link = Some(capture.clone());
    }
    let mut running = lock(&RUNNING);
    running.push(capture);
    COUNT.store(running.len() as u32, Ordering::SeqCst);
    drop(running);
    stream.state.fetch_or(CAPTURING, Ordering::SeqCst);
    Ok(())
}

/// Ends the capture that began on this stream. Returns the graph's handle.
pub fn end(stream: StreamRef) -> Result<*mut c_void> {
    let capture = of(stream).ok_or(Error::ILLEGAL_STATE)?;
    if !std::ptr::eq(capture.origin, stream) {
        invalidate(stream);
        return Err(Error::STREAM_CAPTURE_UNMATCHED);
    }
    if capture.mode != RELAXED && capture.thread != std::thread::current().id() {
        return Err(Error::STREAM_CAPTURE_WRONG_THREAD);
    }
    let (valid, joined) = {
        let inner = lock(&capture.inner);
        (inner.valid, inner.is_joined(&capture))
    };
    capture.close();
    let handle = capture.graph_handle as *mut c_void;
    if valid && joined {
        capture.graph.capturing.store(false, Ordering::Relaxed);
        return Ok(handle);
    }
    graph::discard(handle);
    Err(if valid { Error::STREAM_CAPTURE_UNJOINED } else { Error::STREAM_CAPTURE_INVALIDATED })
}

impl Inner {
    fn needs_of(&mut self, stream: StreamRef) -> Option<&mut Vec<usize>> {
        self.streams.iter_mut().find(|(s, _)| std::ptr::eq(*s, stream)).map(|(_, needs)| needs)
    }

    /// Whether the origin comes after everything that the other streams did.
    fn is_joined(&self, capture: &Capture) -> bool {
        let origin = self.streams.iter().find(|(s, _)| std::ptr::eq(*s, capture.origin));
        let reached = capture.graph.ancestors(origin.map_or(&[], |(_, needs)| needs));
        self.streams.iter().all(|(_, needs)| needs.iter().all(|&n| reached[n]))
    }
}

impl Capture {
    /// Sets the streams free.
    fn close(&self) {
        for (stream, _) in lock(&self.inner).streams.drain(..) {
            let mut link = lock(&stream.capture);
            if link.as_ref().is_some_and(|c| c.id == self.id) {
                *link = None;
                stream.state.fetch_and(!CAPTURING, Ordering::SeqCst);
            }
        }
        let mut running = lock(&RUNNING);
        running.retain(|c| c.id != self.id);
        COUNT.store(running.len() as u32, Ordering::SeqCst);
    }

    /// Runs `f` on the valid capture; what fails invalidates it.
    fn change<R>(&self, f: impl FnOnce(&mut Inner) -> Result<R>) -> Result<R> {
        let mut inner = lock(&self.inner);
        if !inner.valid {
            return Err(Error::STREAM_CAPTURE_INVALIDATED);
        }
        let result = f(&mut inner);
        inner.valid = result.is_ok();
        result
    }

    /// Adds a node behind what the stream did last.
    fn append(&self, stream: StreamRef, work: NodeWork) -> Result<()> {
        self.change(|inner| {
            let needs = inner.needs_of(stream).ok_or(Error::STREAM_CAPTURE_INVALIDATED)?;
            let node = self.graph.add(work, needs.clone())?;
            *needs = vec![node];
            Ok(())
        })
    }
}

/// The capture that the stream takes part in.
pub fn of(stream: StreamRef) -> Option<Arc<Capture>> {
    lock(&stream.capture).clone()
}

fn required(stream: StreamRef) -> Result<Arc<Capture>> {
    of(stream).ok_or(Error::STREAM_CAPTURE_INVALIDATED)
}

/// Makes a node of submitted work.
pub fn record(stream: StreamRef, work: Work) -> Result<()> {
    let node = match work {
        Work::Copy { dst, src, len } => NodeWork::Copy { dst, src, len },
        Work::Fill { dst, value, len } => NodeWork::Fill { dst, value, len },
        Work::Host { call, arg } => NodeWork::Host { call, arg },
        Work::WriteValue { address, value, wide } => NodeWork::WriteValue { address, value, wide },
        Work::WaitValue { address, value, wide, test } => NodeWork::WaitValue { address, value, wide, test },
        _ => {
            invalidate(stream);
            return Err(Error::STREAM_CAPTURE_UNSUPPORTED);
        }
    };
    required(stream)?.append(stream, node)
}

/// Makes a node of pollable work, or gives it back.
pub fn record_pollable(
    stream: StreamRef,
    work: OwnedPollable,
) -> std::result::Result<(), (Error, OwnedPollable)> {
    if !work.can_rearm() {
        invalidate(stream);
        return Err((Error::STREAM_CAPTURE_UNSUPPORTED, work));
    }
    let capture = match required(stream) {
        Ok(capture) => capture,
        Err(error) => return Err((error, work)),
    };
    let shared = Arc::new(Mutex::new(work));
    let result = capture.append(stream, NodeWork::Poll(shared.clone()));
    result.map_err(|error| match Arc::into_inner(shared) {
        Some(work) => (error, work.into_inner().unwrap_or_else(std::sync::PoisonError::into_inner)),
        None => unreachable!("a node that was not added keeps nothing"),
    })
}

/// Makes a node that records the event, or waits for it, at each launch.
pub fn record_event_node(stream: StreamRef, event: Arc<Event>, record: bool) -> Result<()> {
    required(stream)?.append(stream, if record { NodeWork::Record(event) } else { NodeWork::Hold(event) })
}

/// Adds a copy of an executable's nodes.
pub fn embed(stream: StreamRef, plan: &Plan) -> Result<()> {
    let capture = required(stream)?;
    capture.change(|inner| {
        let needs = inner.needs_of(stream).ok_or(Error::STREAM_CAPTURE_INVALIDATED)?;
        let last = capture.graph.embed(plan, needs)?;
        if !last.is_empty() {
            *needs = last;
        }
        Ok(())
    })
}

/// The capture and the nodes that an event recorded now stands for.
pub fn position(stream: StreamRef) -> Result<(Arc<Capture>, Vec<usize>)> {
    let capture = required(stream)?;
    let nodes = capture.change(|inner| {
        inner.needs_of(stream).map(|needs| needs.clone()).ok_or(Error::STREAM_CAPTURE_INVALIDATED)
    })?;
    Ok((capture, nodes))
}

/// Makes the stream come after nodes of a capture, joining it if it takes part in none.
pub fn join(stream: StreamRef, capture: &Arc<Capture>, nodes: &[usize]) -> Result<()> {
    if stream.is(Kind::Null) {
        return Err(Error::STREAM_CAPTURE_IMPLICIT);
    }
    if let Some(own) = of(stream)
        && own.id != capture.id
    {
        return own.change(|_| Err(Error::STREAM_CAPTURE_MERGE));
    }
    capture.change(|inner| {
        if inner.streams.is_empty() {
            // The capture has ended: its events stand for nothing any more.
            return Err(Error::STREAM_CAPTURE_ISOLATION);
        }
        match inner.needs_of(stream) {
            Some(needs) => {
                needs.extend(nodes);
                needs.sort_unstable();
                needs.dedup();
            }
            None => {
                inner.streams.push((stream, nodes.to_vec()));
                *lock(&stream.capture) = Some(capture.clone());
                stream.state.fetch_or(CAPTURING, Ordering::SeqCst);
            }
        }
        Ok(())
    })
}

/// Makes the stream's capture fail at its end.
pub fn invalidate(stream: StreamRef) {
    if let Some(capture) = of(stream) {
        lock(&capture.inner).valid = false;
    }
}

/// For a stream that is being destroyed: invalidates its capture and leaves it.
pub fn abandon(stream: StreamRef) {
    let Some(capture) = of(stream) else { return };
    let mut inner = lock(&capture.inner);
    inner.valid = false;
    inner.streams.retain(|(s, _)| !std::ptr::eq(*s, stream));
    drop(inner);
    *lock(&stream.capture) = None;
    if std::ptr::eq(capture.origin, stream) {
        capture.close();
        graph::discard(capture.graph_handle as *mut c_void);
    }
}

/// Status and identifier alone.
pub fn status(stream: StreamRef) -> (i32, u64) {
    match of(stream) {
        Some(capture) if lock(&capture.inner).valid => (ACTIVE, capture.id),
        Some(capture) => (INVALIDATED, capture.id),
        None => (NONE, 0),
    }
}

pub fn info(stream: StreamRef) -> Info {
    let none = Info { status: NONE, id: 0, graph: std::ptr::null_mut(), dependencies: Vec::new() };
    if stream.state.load(Ordering::Acquire) & CAPTURING == 0 {
        return none;
    }
    let Some(capture) = of(stream) else { return none };
    let mut inner = lock(&capture.inner);
    if !inner.valid {
        return Info { status: INVALIDATED, id: capture.id, ..none };
    }
    let needs = inner.needs_of(stream).map_or(Vec::new(), |needs| needs.clone());
    Info {
        status: ACTIVE,
        id: capture.id,
        graph: capture.graph_handle as *mut c_void,
        dependencies: needs.into_iter().map(|n| capture.graph.handle_of(n)).collect(),
    }
}

/// Adds to, or replaces, the nodes that the stream's next node comes after.
pub fn update_dependencies(stream: StreamRef, nodes: &[*mut c_void], flags: u32) -> Result<()> {
    let capture = of(stream).ok_or(Error::ILLEGAL_STATE)?;
    if flags > SET_DEPENDENCIES {
        return Err(Error::INVALID_VALUE);
    }
    let indices = nodes.iter().map(|&n| capture.graph.index_of(n)).collect::<Result<Vec<_>>>()?;
    capture.change(|inner| {
        let needs = inner.needs_of(stream).ok_or(Error::STREAM_CAPTURE_INVALIDATED)?;
        if flags == SET_DEPENDENCIES {
            needs.clear();
        }
        needs.extend(indices);
        needs.sort_unstable();
        needs.dedup();
        Ok(())
    })
}

/// Sets the calling thread's mode and returns the one before.
pub fn exchange_mode(mode: i32) -> Result<i32> {
    if !(GLOBAL..=RELAXED).contains(&mode) {
        return Err(Error::INVALID_VALUE);
    }
    Ok(thread::with(|s| s.capture_mode.replace(mode)))
}

/// Refuses calls that a capture could not undo, and invalidates the captures that forbid them.
#[inline]
pub fn forbid_unsafe() -> Result<()> {
    if COUNT.load(Ordering::SeqCst) == 0 { Ok(()) } else { forbid_unsafe_slowly() }
}

#[cold]
fn forbid_unsafe_slowly() -> Result<()> {
    let mode = thread::with(|s| s.capture_mode.get());
    let me = std::thread::current().id();
    let offended = |c: &Arc<Capture>| match mode {
        RELAXED => false,
        _ if c.mode == RELAXED => false,
        _ if c.thread == me => true,
        _ => mode == GLOBAL && c.mode == GLOBAL,
    };
    let offended: Vec<_> = lock(&RUNNING).iter().filter(|c| offended(c)).cloned().collect();
    if offended.is_empty() {
        return Ok(());
    }
    offended.iter().for_each(|c| lock(&c.inner).valid = false);
    Err(Error::STREAM_CAPTURE_UNSUPPORTED)
}

/// Refuses a call on a stream that captures, and invalidates the capture.
pub fn forbid_on(stream: StreamRef) -> Result<()> {
    if stream.state.load(Ordering::Acquire) & CAPTURING == 0 {
        return Ok(());
    }
    invalidate(stream);
    Err(Error::STREAM_CAPTURE_UNSUPPORTED)
}

/// Refuses to use the null stream while a blocking stream of its device captures, and invalidates that capture.
#[inline]
pub fn forbid_legacy(stream: StreamRef) -> Result<()> {
    if COUNT.load(Ordering::SeqCst) == 0 || !stream.is(Kind::Null) {
        Ok(())
    } else {
        forbid_legacy_slowly(stream)
    }
}

#[cold]
fn forbid_legacy_slowly(null: StreamRef) -> Result<()> {
    let mut result = Ok(());
    let running = lock(&RUNNING).clone();
    for capture in running {
        let mut inner = lock(&capture.inner);
        let blocked = |s: StreamRef| s.is(Kind::Blocking) && s.device() == null.device();
        if inner.streams.iter().any(|(s, _)| blocked(s)) {
            inner.valid = false;
            result = Err(Error::STREAM_CAPTURE_IMPLICIT);
        }
    }
    result
}
