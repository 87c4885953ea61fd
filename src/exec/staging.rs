//! Operations on device memory that the host must not touch: they run on a shadow of it in pinned host memory.
//!
//! Buffers that overlap on the device overlap alike in the shadow, so whatever aliasing the calls of a group have (in place,
//! one reading what another wrote) works as it does without staging. Copied in is exactly what this rank's calls
//! read, copied out exactly what they write; host memory is used in place.
use std::sync::Arc;

use smallvec::SmallVec;

use crate::algo::Step;
use crate::bail;
use crate::base::Result;
use crate::base::types::{Collective, Rank};
use crate::device::{Claim, Pinned, Runtime, StagedWork, Staging, Stream, Transfer};
use crate::exec::gate::{Gate, Joined};
use crate::exec::job::{BoundOp, Job, Scale};
use crate::exec::launch::Launch;
use crate::exec::task::Task;
use crate::plan::Geometry;

/// Regions of the shadow start on cache lines.
const ALIGN: usize = 64;

/// Puts one job on its stream, staged. The current device is left as it was.
///
/// # Errors
/// What the runtime said; an operation that was begun then fails on its communicator too.
pub fn launch(runtime: &dyn Runtime, staging: &dyn Staging, launch: Launch) -> Result<()> {
    let before = runtime.current_device()?;
    if before != launch.device {
        runtime.set_device(launch.device)?;
    }
    let result = put(runtime, staging, launch);
    if runtime.current_device()? != before {
        runtime.set_device(before)?;
    }
    result
}

fn put(runtime: &dyn Runtime, staging: &dyn Staging, launch: Launch) -> Result<()> {
    let Launch { core, mut job, stream, joined, .. } = launch;
    let captured = runtime.claim(stream)? == Claim::Capturing;
    if captured && !joined.is_empty() {
        bail!(Unsupported, "a group on {} streams cannot be captured: use one stream", joined.len() + 1);
    }
    let me = core.rank;
    let shadow = Shadow::cast(staging, &mut job, me, (!captured).then_some(stream))?;
    let gate = (!joined.is_empty()).then(|| Gate::new(joined.len()));
    let task = if captured { Task::captured(core, job) } else { Task::queued(core, job) };
    let task = task.behind(gate.clone());
    let Shadow { buffer, before, after } = shadow;
    for other in joined {
        if let Some(gate) = &gate {
            // An error drops the task, which opens the gate to those that are there.
            runtime.enqueue(other, Box::new(Joined::new(gate.clone())))?;
        }
    }
    staging.submit(stream, StagedWork { before, work: Box::new(task), after, buffer })
}

/// Host memory in place of the device memory of a job.
struct Shadow {
    buffer: Arc<Pinned>,
    before: Vec<Transfer>,
    after: Vec<Transfer>,
}

/// Device addresses from the first up to the second.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
struct Span {
    start: usize,
    end: usize,
}

/// Device memory that has one stretch of the buffer.
struct Region {
    span: Span,
    at: usize,
}

type Spans = SmallVec<[Span; 4]>;

impl Shadow {
    /// Makes the buffer for rank `me` and lets the job's operations use it.
    fn cast(staging: &dyn Staging, job: &mut Job, me: Rank, on: Option<Stream>) -> Result<Self> {
        let (mut reads, mut writes, mut extents) = (Spans::new(), Spans::new(), Spans::new());
        for op in &job.ops {
            for (spans, written) in
                [(used_input(op, me), false), (used_factor(op), false), (used_output(op, me), true)]
            {
                let Some(extent) = extent(&spans) else { continue };
                if staging.on_device(extent.start as *const u8)? {
                    extents.push(extent);
                    if written { &mut writes } else { &mut reads }.extend(spans);
                }
            }
        }
        let (regions, len) = lay_out(merged(extents));
        let buffer = staging.buffer(on, len)?;
        let shadow = |address: usize| find(&regions, buffer.data(), address);
        job.ops.iter_mut().for_each(|op| redirect(op, me, &shadow));
        let pair = |span: &Span| Some((shadow(span.start)?, span.start as *mut u8, span.end - span.start));
        let copy_in = |span: &Span| pair(span).map(|(dst, src, len)| Transfer { dst, src, len });
        let copy_out = |span: &Span| pair(span).map(|(src, dst, len)| Transfer { dst, src, len });
        let before = merged(reads).iter().filter_map(copy_in).collect();
        let after = merged(writes).iter().filter_map(copy_out).collect();
        Ok(Self { buffer, before, after })
    }
}

/// Where the operation's pointers go: into the shadow, to null for what this rank does not use, or nowhere for host memory.
fn redirect(op: &mut BoundOp, me: Rank, shadow: &impl Fn(usize) -> Option<*mut u8>) {
    let moved = |base: usize, spans: &Spans| match extent(spans) {
        Some(extent) => match shadow(extent.start) {
            Some(at) => at.wrapping_sub(extent.start - base),
            None => base as *mut u8,
        },
        None => std::ptr::null_mut(),
    };
    let (input, output) = (used_input(op, me), used_output(op, me));
    op.input = moved(op.input as usize, &input);
    op.output = moved(op.output as usize, &output);
    if let Scale::At(at) = op.scale {
        op.scale = Scale::At(shadow(at as usize).unwrap_or(at.cast_mut()));
    }
}

/// What this rank's call reads of its input.
fn used_input(op: &BoundOp, me: Rank) -> Spans {
    match op.coll {
        Collective::Recv => Spans::new(),
        Collective::Broadcast | Collective::Scatter if op.root != me => Spans::new(),
        _ => blocks(op.input as usize, &op.plan.input, op),
    }
}

/// What this rank's call writes of its output.
fn used_output(op: &BoundOp, me: Rank) -> Spans {
    match op.coll {
        Collective::Reduce | Collective::Gather if op.root != me => Spans::new(),
        // A message to oneself is one operation, a copy.
        Collective::Send if !copies(op) => Spans::new(),
        _ => blocks(op.output as usize, &op.plan.output, op),
    }
}

fn copies(op: &BoundOp) -> bool {
    op.plan.program.lanes.iter().flat_map(|lane| &lane.steps).any(|step| matches!(step, Step::Copy { .. }))
}

/// The factor of the input, where it is read at execution.
fn used_factor(op: &BoundOp) -> Spans {
    match op.scale {
        Scale::At(at) => [Span::new(at as usize, op.elem())].into_iter().collect(),
        Scale::None | Scale::Value(_) => Spans::new(),
    }
}

/// The stretches of a buffer at `base` that its blocks cover, in ascending order.
fn blocks(base: usize, geometry: &Geometry, op: &BoundOp) -> Spans {
    let elem = op.elem();
    let Geometry::Vector { starts, counts } = geometry else {
        let len = geometry.extent(op.nranks) * elem;
        return [Span::new(base, len)].into_iter().filter(|span| len > 0 && span.start > 0).collect();
    };
    let mut spans: Spans = starts
        .iter()
        .zip(counts)
        .filter(|(_, count)| **count > 0)
        .map(|(start, count)| Span::new(base + start * elem, count * elem))
        .collect();
    spans.sort_unstable();
    // One copy for blocks without a gap between them.
    spans.dedup_by(|next, last| join(last, *next, 0));
    spans
}

fn extent(spans: &Spans) -> Option<Span> {
    Some(Span { start: spans.first()?.start, end: spans.iter().map(|span| span.end).max()? })
}

/// The same addresses in spans of which no two overlap. Those that only touch may be of different allocations, and stay apart.
fn merged(mut spans: Spans) -> Spans {
    spans.sort_unstable();
    spans.dedup_by(|next, last| join(last, *next, 1));
    spans
}

/// Extends `last` by a span that does not start before it, if they have `overlap` bytes in common.
fn join(last: &mut Span, next: Span, overlap: usize) -> bool {
    let joined = next.start + overlap <= last.end;
    if joined {
        last.end = last.end.max(next.end);
    }
    joined
}

/// A place for each span, and the bytes of all.
fn lay_out(spans: Spans) -> (SmallVec<[Region; 4]>, usize) {
    let mut len: usize = 0;
    let place = |span: Span| {
        let at = len.next_multiple_of(ALIGN);
        len = at + (span.end - span.start);
        Region { span, at }
    };
    let regions = spans.into_iter().map(place).collect();
    (regions, len)
}

/// The shadow of a device address; `None`: no region has it.
fn find(regions: &[Region], data: *mut u8, address: usize) -> Option<*mut u8> {
    let index = regions.partition_point(|region| region.span.start <= address).checked_sub(1)?;
    let Region { span, at } = &regions[index];
    (address < span.end).then(|| data.wrapping_add(at + (address - span.start)))
}

impl Span {
    fn new(start: usize, len: usize) -> Self {
        Self { start, end: start + len }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn spans(list: &[(usize, usize)]) -> Spans {
        list.iter().map(|(start, end)| Span { start: *start, end: *end }).collect()
    }

    #[test]
    fn overlapping_spans_become_one_and_touching_ones_stay_apart() {
        let all = spans(&[(50, 60), (10, 20), (15, 30), (12, 13), (30, 40)]);
        assert_eq!(merged(all), spans(&[(10, 30), (30, 40), (50, 60)]));
    }

    #[test]
    fn a_shadow_keeps_distances_within_a_span_and_starts_spans_on_cache_lines() {
        let (regions, len) = lay_out(spans(&[(1000, 1100), (5000, 5001)]));
        assert_eq!(len, 129);
        let data = 64 as *mut u8;
        let at = |address| find(&regions, data, address).map(|p| p as usize);
        assert_eq!((at(1000), at(1099), at(5000)), (Some(64), Some(163), Some(192)));
        assert_eq!((at(999), at(1100), at(5001)), (None, None, None));
    }
}
