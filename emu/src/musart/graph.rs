//! Graphs and user objects of the runtime face.

use std::ffi::{CStr, c_char, c_int, c_uint, c_ulonglong, c_void};

use super::types::{Handle, musaHostNodeParams, musaMemsetParams};
use crate::core::error::{Error, Result};
use crate::core::graph::{self as gr, NodeWork};
use crate::core::stream::resolve;
use crate::core::user_object::{self, Held};
use crate::core::work::HostFn;
use crate::core::{graph_run, memory, runtime};
use crate::guard::{entry, put, required};

/// # Safety
/// `graph` is null or writable.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn musaGraphCreate(graph: *mut Handle, flags: c_uint) -> c_int {
    entry("musaGraphCreate", || {
        runtime::runtime()?;
        required(graph)?;
        if flags != 0 {
            return Err(Error::INVALID_VALUE);
        }
        // SAFETY: the caller's promise.
        unsafe { put(graph, gr::create().0) }
    })
}

/// Destroys the graph; executables made from it stay.
#[unsafe(no_mangle)]
pub extern "C" fn musaGraphDestroy(graph: Handle) -> c_int {
    entry("musaGraphDestroy", || gr::destroy(graph))
}

/// # Safety
/// `nodes` is null with `count` 0, or valid for `count` handles.
pub(super) unsafe fn node_slice<'a>(nodes: *const Handle, count: usize) -> Result<&'a [Handle]> {
    match (nodes.is_null(), count) {
        (_, 0) => Ok(&[]),
        (true, _) => Err(Error::INVALID_VALUE),
        _ if count > isize::MAX as usize / size_of::<Handle>() => Err(Error::INVALID_VALUE),
        // SAFETY: the caller's promise.
        _ => Ok(unsafe { std::slice::from_raw_parts(nodes, count) }),
    }
}

/// # Safety
/// `node` is null or writable; `needs` is valid for `count` handles.
unsafe fn add(
    node: *mut Handle,
    graph: Handle,
    needs: *const Handle,
    count: usize,
    work: NodeWork,
) -> Result<()> {
    required(node)?;
    let graph = gr::get(graph)?;
    // SAFETY: the caller's promise.
    let needs = unsafe { node_slice(needs, count)? };
    let needs = needs.iter().map(|&n| graph.index_of(n)).collect::<Result<Vec<_>>>()?;
    let index = graph.add(work, needs)?;
    // SAFETY: the caller's promise.
    unsafe { put(node, graph.handle_of(index)) }
}

/// # Safety
/// `node` is null or writable, `needs` valid for `count` handles, `params` null or readable; its function may be called
/// with its data at every launch.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn musaGraphAddHostNode(
    node: *mut Handle,
    graph: Handle,
    needs: *const Handle,
    count: usize,
    params: *const musaHostNodeParams,
) -> c_int {
    entry("musaGraphAddHostNode", || {
        required(params.cast_mut())?;
        // SAFETY: the caller's promise.
        let params = unsafe { params.read() };
        let call = params.r#fn.ok_or(Error::INVALID_VALUE)?;
        // SAFETY: the caller's promise.
        unsafe { add(node, graph, needs, count, NodeWork::Host { call, arg: params.userData as usize }) }
    })
}

/// # Safety
/// `node` is null or writable, `needs` valid for `count` handles; the ranges are valid at every launch.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn musaGraphAddMemcpyNode1D(
    node: *mut Handle,
    graph: Handle,
    needs: *const Handle,
    count: usize,
    dst: *mut c_void,
    src: *const c_void,
    len: usize,
    kind: c_int,
) -> c_int {
    entry("musaGraphAddMemcpyNode1D", || {
        memory::check_kind(kind)?;
        if dst.is_null() || src.is_null() {
            return Err(Error::INVALID_VALUE);
        }
        // SAFETY: the caller's promise.
        unsafe {
            add(node, graph, needs, count, NodeWork::Copy { dst: dst as usize, src: src as usize, len })
        }
    })
}

/// One row of elements whose bytes are all equal; other shapes are not supported.
///
/// # Safety
/// `node` is null or writable, `needs` valid for `count` handles, `params` null or readable; its range is valid at
/// every launch.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn musaGraphAddMemsetNode(
    node: *mut Handle,
    graph: Handle,
    needs: *const Handle,
    count: usize,
    params: *const musaMemsetParams,
) -> c_int {
    entry("musaGraphAddMemsetNode", || {
        required(params.cast_mut())?;
        // SAFETY: the caller's promise.
        let params = unsafe { params.read() };
        // SAFETY: the caller's promise.
        unsafe { add(node, graph, needs, count, fill_of(&params)?) }
    })
}

fn fill_of(params: &musaMemsetParams) -> Result<NodeWork> {
    let size = params.elementSize as usize;
    if !matches!(size, 1 | 2 | 4) || params.dst.is_null() {
        return Err(Error::INVALID_VALUE);
    }
    let bytes = &params.value.to_le_bytes()[..size];
    if params.height != 1 || bytes.iter().any(|&b| b != bytes[0]) {
        return Err(Error::NOT_SUPPORTED);
    }
    let len = params.width.checked_mul(size).ok_or(Error::INVALID_VALUE)?;
    Ok(NodeWork::Fill { dst: params.dst as usize, value: bytes[0], len })
}

/// # Safety
/// `node` is null or writable, `needs` valid for `count` handles.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn musaGraphAddEmptyNode(
    node: *mut Handle,
    graph: Handle,
    needs: *const Handle,
    count: usize,
) -> c_int {
    // SAFETY: the caller's promise.
    entry("musaGraphAddEmptyNode", || unsafe { add(node, graph, needs, count, NodeWork::Empty) })
}

/// # Safety
/// `from` and `to` are valid for `count` handles.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn musaGraphAddDependencies(
    graph: Handle,
    from: *const Handle,
    to: *const Handle,
    count: usize,
) -> c_int {
    entry("musaGraphAddDependencies", || {
        let graph = gr::get(graph)?;
        // SAFETY: the caller's promise.
        let (from, to) = unsafe { (node_slice(from, count)?, node_slice(to, count)?) };
        let pairs = from.iter().zip(to).map(|(&f, &t)| Ok((graph.index_of(f)?, graph.index_of(t)?)));
        for (from, to) in pairs.collect::<Result<Vec<_>>>()? {
            graph.connect(from, to)?;
        }
        Ok(())
    })
}

/// # Safety
/// `count` is null or readable and writable; `nodes` is null, which asks for the number alone, or valid for `*count`.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn musaGraphGetNodes(graph: Handle, nodes: *mut Handle, count: *mut usize) -> c_int {
    entry("musaGraphGetNodes", || {
        required(count)?;
        let handles = gr::get(graph)?.handles();
        if nodes.is_null() {
            // SAFETY: the caller's promise.
            return unsafe { put(count, handles.len()) };
        }
        // SAFETY: the caller's promise.
        let room = unsafe { count.read() };
        for i in 0..room {
            // SAFETY: `i` is below the room that the caller promised.
            unsafe { nodes.add(i).write(handles.get(i).copied().unwrap_or(std::ptr::null_mut())) };
        }
        // SAFETY: the caller's promise.
        unsafe { put(count, room.min(handles.len())) }
    })
}

/// What may follow `graph` (two pointers and a size, or flags, by version of the API) is not looked at.
///
/// # Safety
/// `executable` is null or writable.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn musaGraphInstantiate(executable: *mut Handle, graph: Handle) -> c_int {
    // SAFETY: the caller's promise.
    entry("musaGraphInstantiate", || unsafe { instantiate(executable, graph) })
}

/// # Safety
/// `executable` is null or writable.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn musaGraphInstantiateWithFlags(
    executable: *mut Handle,
    graph: Handle,
    _flags: c_ulonglong,
) -> c_int {
    // SAFETY: the caller's promise.
    entry("musaGraphInstantiateWithFlags", || unsafe { instantiate(executable, graph) })
}

/// # Safety
/// `executable` is null or writable.
unsafe fn instantiate(executable: *mut Handle, graph: Handle) -> Result<()> {
    required(executable)?;
    // SAFETY: the caller's promise.
    unsafe { put(executable, gr::instantiate(&*gr::get(graph)?)?) }
}

/// Puts one run of the graph on the stream.
#[unsafe(no_mangle)]
pub extern "C" fn musaGraphLaunch(executable: Handle, stream: Handle) -> c_int {
    entry("musaGraphLaunch", || graph_run::launch(&*gr::executable(executable)?, resolve(stream)?))
}

/// Destroys the executable; launches in flight go on.
#[unsafe(no_mangle)]
pub extern "C" fn musaGraphExecDestroy(executable: Handle) -> c_int {
    entry("musaGraphExecDestroy", || gr::destroy_executable(executable))
}

/// # Safety
/// `path` is null or a C string.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn musaGraphDebugDotPrint(graph: Handle, path: *const c_char, _flags: c_uint) -> c_int {
    entry("musaGraphDebugDotPrint", || {
        required(path.cast_mut())?;
        // SAFETY: a C string by the caller's promise.
        let path = unsafe { CStr::from_ptr(path) }.to_str().map_err(|_| Error::INVALID_VALUE)?;
        std::fs::write(path, gr::get(graph)?.dot()).map_err(|error| {
            eprintln!("musaGraphDebugDotPrint: {path}: {error}");
            Error::INVALID_VALUE
        })
    })
}

/// # Safety
/// `out` is null or writable; `destroy` may be called once with `object`, from any thread.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn musaUserObjectCreate(
    out: *mut Handle,
    object: *mut c_void,
    destroy: Option<HostFn>,
    count: c_uint,
    flags: c_uint,
) -> c_int {
    entry("musaUserObjectCreate", || {
        required(out)?;
        let destroy = destroy.filter(|_| flags == 1).ok_or(Error::INVALID_VALUE)?;
        // SAFETY: the caller's promise.
        unsafe { put(out, user_object::create(object as usize, destroy, count)?) }
    })
}

/// Adds references of the caller.
#[unsafe(no_mangle)]
pub extern "C" fn musaUserObjectRetain(object: Handle, count: c_uint) -> c_int {
    entry("musaUserObjectRetain", || user_object::retain(object, count))
}

/// Gives references of the caller back.
#[unsafe(no_mangle)]
pub extern "C" fn musaUserObjectRelease(object: Handle, count: c_uint) -> c_int {
    entry("musaUserObjectRelease", || user_object::release(object, count))
}

/// Flag 1 moves the caller's references to the graph.
#[unsafe(no_mangle)]
pub extern "C" fn musaGraphRetainUserObject(
    graph: Handle,
    object: Handle,
    count: c_uint,
    flags: c_uint,
) -> c_int {
    entry("musaGraphRetainUserObject", || {
        if flags > 1 {
            return Err(Error::INVALID_VALUE);
        }
        let graph = gr::get(graph)?;
        graph.hold(Held::new(object, count, flags == 1)?);
        Ok(())
    })
}

/// Gives references of the graph back.
#[unsafe(no_mangle)]
pub extern "C" fn musaGraphReleaseUserObject(graph: Handle, object: Handle, count: c_uint) -> c_int {
    entry("musaGraphReleaseUserObject", || gr::get(graph)?.let_go(object, count))
}
