//! Graphs: nodes with dependencies, and the executable form made from them.

use std::collections::VecDeque;
use std::ffi::c_void;
use std::fmt::Write;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, Weak};

use super::error::{Error, Result};
use super::event::Event;
use super::lock;
use super::pollable::OwnedPollable;
use super::registry::Registry;
use super::user_object::Held;
use super::work::{HostFn, ValueTest};

/// What a node does at each launch.
#[derive(Clone)]
pub enum NodeWork {
    Empty,
    Copy { dst: usize, src: usize, len: usize },
    Fill { dst: usize, value: u8, len: usize },
    Host { call: HostFn, arg: usize },
    WriteValue { address: usize, value: u64, wide: bool },
    WaitValue { address: usize, value: u64, wide: bool, test: ValueTest },
    Record(Arc<Event>),
    Hold(Arc<Event>),
    Poll(Arc<Mutex<OwnedPollable>>),
}

struct Node {
    handle: usize,
    work: NodeWork,
    needs: Vec<usize>,
}

/// Nodes are only ever added, so an index names a node as long as the graph lives.
pub struct Graph {
    nodes: Mutex<Vec<Node>>,
    objects: Mutex<Vec<Held>>,
    /// Made by a capture that has not ended.
    pub capturing: AtomicBool,
}

/// Where a node handle points.
struct NodePlace {
    graph: Weak<Graph>,
    index: usize,
}

static GRAPHS: Registry<Graph> = Registry::new();
static NODES: Registry<NodePlace> = Registry::new();
static EXECUTABLES: Registry<Executable> = Registry::new();

pub fn create() -> (*mut c_void, Arc<Graph>) {
    let graph = Arc::new(Graph {
        nodes: Mutex::new(Vec::new()),
        objects: Mutex::new(Vec::new()),
        capturing: AtomicBool::new(false),
    });
    (GRAPHS.insert(graph.clone()), graph)
}

pub fn get(handle: *mut c_void) -> Result<Arc<Graph>> {
    GRAPHS.get(handle)
}

pub fn destroy(handle: *mut c_void) -> Result<()> {
    if get(handle)?.capturing.load(Ordering::Relaxed) {
        return Err(Error::STREAM_CAPTURE_UNSUPPORTED);
    }
    GRAPHS.remove(handle).map(drop)
}

/// Forgets the handle of a capture's graph that nobody will get.
pub fn discard(handle: *mut c_void) {
    let _ = GRAPHS.remove(handle);
}

impl Graph {
    /// Adds a node that runs after `needs`.
    pub fn add(self: &Arc<Self>, work: NodeWork, mut needs: Vec<usize>) -> Result<usize> {
        let mut nodes = lock(&self.nodes);
        let index = nodes.len();
        if needs.iter().any(|&n| n >= index) {
            return Err(Error::INVALID_VALUE);
        }
        needs.sort_unstable();
        needs.dedup();
        let handle = NODES.insert(Arc::new(NodePlace { graph: Arc::downgrade(self), index })) as usize;
        nodes.push(Node { handle, work, needs });
        Ok(index)
    }

    /// Index of the node behind a handle, which must be of this graph.
    pub fn index_of(self: &Arc<Self>, node: *mut c_void) -> Result<usize> {
        let place = NODES.get(node).map_err(|_| Error::INVALID_VALUE)?;
        let ours = std::ptr::eq(place.graph.as_ptr(), Arc::as_ptr(self));
        if ours { Ok(place.index) } else { Err(Error::INVALID_VALUE) }
    }

    pub fn handle_of(&self, index: usize) -> *mut c_void {
        lock(&self.nodes)[index].handle as *mut c_void
    }

    pub fn handles(&self) -> Vec<*mut c_void> {
        lock(&self.nodes).iter().map(|n| n.handle as *mut c_void).collect()
    }

    /// Makes node `to` run after node `from`.
    pub fn connect(&self, from: usize, to: usize) -> Result<()> {
        let mut nodes = lock(&self.nodes);
        let count = nodes.len();
        if from >= count || to >= count || from == to || nodes[to].needs.contains(&from) {
            return Err(Error::INVALID_VALUE);
        }
        nodes[to].needs.push(from);
        Ok(())
    }

    /// The nodes that must be done before one of `of` is, with `of` itself.
    pub fn ancestors(&self, of: &[usize]) -> Vec<bool> {
        let nodes = lock(&self.nodes);
        let mut seen = vec![false; nodes.len()];
        let mut open = of.to_vec();
        while let Some(n) = open.pop() {
            if !std::mem::replace(&mut seen[n], true) {
                open.extend(&nodes[n].needs);
            }
        }
        seen
    }

    pub fn hold(&self, object: Held) {
        lock(&self.objects).push(object);
    }

    /// Gives back `count` references to an object that the graph holds.
    pub fn let_go(&self, object: *mut c_void, mut count: u32) -> Result<()> {
        let mut objects = lock(&self.objects);
        let total: u32 = objects.iter().filter(|h| h.handle == object as usize).map(|h| h.count).sum();
        if count == 0 || count > total {
            return Err(Error::INVALID_VALUE);
        }
        for held in objects.iter_mut().filter(|h| h.handle == object as usize) {
            let part = count.min(held.count);
            held.shrink(part);
            count -= part;
        }
        objects.retain(|held| held.count > 0);
        Ok(())
    }

    /// Appends a copy of what an executable does, after `needs`; returns its last nodes.
    pub fn embed(self: &Arc<Self>, plan: &Plan, needs: &[usize]) -> Result<Vec<usize>> {
        let mut placed: Vec<usize> = Vec::with_capacity(plan.works.len());
        for (i, work) in plan.works.iter().enumerate() {
            let inner = &plan.needs[i];
            let needs = match inner.is_empty() {
                true => needs.to_vec(),
                false => inner.iter().map(|&n| placed[n]).collect(),
            };
            placed.push(self.add(work.clone(), needs)?);
        }
        plan.objects.iter().for_each(|held| self.hold(held.clone()));
        let last = |i: &usize| plan.successors[*i].is_empty();
        Ok((0..placed.len()).filter(last).map(|i| placed[i]).collect())
    }

    /// The graph in the dot language.
    pub fn dot(&self) -> String {
        let mut text = String::from("digraph musa_graph {\n");
        for (i, node) in lock(&self.nodes).iter().enumerate() {
            let _ = writeln!(text, "  n{i} [shape=box, label=\"{i}\\n{}\"];", node.work.label());
            for need in &node.needs {
                let _ = writeln!(text, "  n{need} -> n{i};");
            }
        }
        text.push_str("}\n");
        text
    }
}

impl Drop for Graph {
    fn drop(&mut self) {
        for node in lock(&self.nodes).iter() {
            let _ = NODES.remove(node.handle as *mut c_void);
        }
    }
}

impl NodeWork {
    fn label(&self) -> String {
        match self {
            NodeWork::Empty => "empty".into(),
            NodeWork::Copy { dst, src, len } => format!("copy {len} bytes\\n{src:#x} to {dst:#x}"),
            NodeWork::Fill { dst, value, len } => format!("fill {len} bytes at {dst:#x} with {value}"),
            NodeWork::Host { arg, .. } => format!("host function\\nargument {arg:#x}"),
            NodeWork::WriteValue { address, value, .. } => format!("write {value} to {address:#x}"),
            NodeWork::WaitValue { address, value, .. } => format!("wait for {value} at {address:#x}"),
            NodeWork::Record(_) => "record event".into(),
            NodeWork::Hold(_) => "wait for event".into(),
            NodeWork::Poll(_) => "resumable work".into(),
        }
    }
}

/// What every launch of an executable does: nodes in topological order.
pub struct Plan {
    pub works: Vec<NodeWork>,
    pub needs: Vec<Vec<usize>>,
    pub successors: Vec<Vec<usize>>,
    pub objects: Vec<Held>,
}

pub struct Executable {
    pub plan: Arc<Plan>,
    /// Held over a launch: re-armed contexts enter their streams in the order of re-arming.
    pub launching: Mutex<()>,
}

/// Makes the executable form. Fails if the dependencies have a cycle.
pub fn instantiate(graph: &Graph) -> Result<*mut c_void> {
    if graph.capturing.load(Ordering::Relaxed) {
        return Err(Error::INVALID_VALUE);
    }
    let nodes = lock(&graph.nodes);
    let order = sorted(&nodes).ok_or(Error::INVALID_VALUE)?;
    let mut place = vec![0; nodes.len()];
    order.iter().enumerate().for_each(|(at, &node)| place[node] = at);
    let needs: Vec<Vec<usize>> =
        order.iter().map(|&node| nodes[node].needs.iter().map(|&n| place[n]).collect()).collect();
    let mut successors = vec![Vec::new(); nodes.len()];
    for (at, needs) in needs.iter().enumerate() {
        needs.iter().for_each(|&n| successors[n].push(at));
    }
    let works = order.iter().map(|&node| nodes[node].work.clone()).collect();
    drop(nodes);
    let objects = lock(&graph.objects).clone();
    let plan = Arc::new(Plan { works, needs, successors, objects });
    Ok(EXECUTABLES.insert(Arc::new(Executable { plan, launching: Mutex::new(()) })))
}

pub fn executable(handle: *mut c_void) -> Result<Arc<Executable>> {
    EXECUTABLES.get(handle)
}

/// Forgets the handle; launches in flight go on.
pub fn destroy_executable(handle: *mut c_void) -> Result<()> {
    EXECUTABLES.remove(handle).map(drop)
}

/// Node indices such that each comes after what it needs, equal ones in order of addition; none with a cycle.
fn sorted(nodes: &[Node]) -> Option<Vec<usize>> {
    let mut missing: Vec<usize> = nodes.iter().map(|n| n.needs.len()).collect();
    let mut successors = vec![Vec::new(); nodes.len()];
    for (i, node) in nodes.iter().enumerate() {
        node.needs.iter().for_each(|&n| successors[n].push(i));
    }
    let mut open: VecDeque<usize> = (0..nodes.len()).filter(|&i| missing[i] == 0).collect();
    let mut order = Vec::with_capacity(nodes.len());
    while let Some(node) = open.pop_front() {
        order.push(node);
        for &next in &successors[node] {
            missing[next] -= 1;
            if missing[next] == 0 {
                open.push_back(next);
            }
        }
    }
    (order.len() == nodes.len()).then_some(order)
}
