//! The calls of one form: how an iteration is issued, waited for, recorded in a graph and timed.

use std::time::Instant;

use crate::api::RedOp;
use crate::bench::{Form, Seat, Worker};
use crate::cli::Options;
use crate::coll::Collective;
use crate::coll::issue::{Arguments, Caller};
use crate::comm::VectorCounts;
use crate::error::Result;
use crate::memory::View;
use crate::musart::{Event, Graph};
use crate::team::Combine;

/// A form made ready for calls: what need not be computed per iteration.
pub(crate) struct Calls<'w> {
    worker: &'w Worker<'w>,
    form: Form,
    ops: Vec<RedOp>,
    vectors: Vec<VectorCounts>,
    /// Bytes of the larger buffer, by which iterations move on …
    stride: usize,
    /// … so often before they begin anew.
    steps: usize,
    /// First byte used of each buffer (`-u`).
    base: usize,
}

/// Times of one thread.
pub(crate) struct Timed {
    /// Per operation.
    pub(crate) seconds: f64,
    /// Per operation, until the calls had returned.
    pub(crate) cpu_seconds: f64,
    /// Per operation in each iteration (`-I`), largest of the thread's ranks.
    pub(crate) iterations: Vec<f64>,
}

impl<'w> Calls<'w> {
    pub(crate) fn new(worker: &'w Worker<'w>, form: Form) -> Result<Self> {
        let (plan, size) = (&worker.setup.plan, form.test.dtype.size());
        let total = form.counts.param * plan.nranks * size;
        let ops = worker.seats.iter().map(|seat| seat.local.red_op(form.test.op, form.test.dtype));
        let ops = ops.collect::<Result<Vec<_>>>()?;
        let vectors = worker.seats.iter().map(|seat| match plan.collective {
            Collective::AllToAllV => plan.traffic.vectors(seat.local.rank, plan.nranks, total, size),
            _ => VectorCounts::default(),
        });
        let vectors = vectors.collect();
        let stride = form.counts.send.max(form.counts.recv) * size;
        let steps = worker.setup.max_bytes.checked_div(stride).unwrap_or(1).max(1);
        Ok(Self { worker, form, ops, vectors, stride, steps, base: worker.base(&form) })
    }

    pub(crate) fn finish(self) -> Result<()> {
        let op = self.form.test.op;
        self.worker.seats.iter().zip(&self.ops).try_for_each(|(seat, made)| seat.local.free_red_op(op, *made))
    }

    /// Issues one operation on each rank of the thread. Buffers move from iteration to iteration, to find races and avoid cache effects.
    pub(crate) fn start(&self, iteration: usize) -> Result<()> {
        let offset = self.base + self.stride * (iteration % self.steps);
        (0..self.worker.setup.plan.steps()).try_for_each(|step| match self.worker.seats {
            [seat] => self.issue(step, seat, 0, offset),
            seats => self.worker.setup.library.group(|| {
                seats.iter().enumerate().try_for_each(|(i, seat)| self.issue(step, seat, i, offset))
            }),
        })
    }

    fn issue(&self, step: u32, seat: &Seat, index: usize, offset: usize) -> Result<()> {
        let (setup, form, local) = (self.worker.setup, &self.form, &seat.local);
        if setup.options.stream_null {
            // The null stream is that of the current device.
            setup.runtime.set_device(local.device)?;
        }
        let (send, recv) = self.views(seat, offset)?;
        let caller = Caller { library: setup.library, comm: &local.comm, stream: &local.stream };
        let arguments = Arguments {
            count: form.counts.param,
            dtype: form.test.dtype,
            op: self.ops[index],
            root: form.test.root.unwrap_or(0),
            vectors: &self.vectors[index],
        };
        setup.plan.issue(step, caller, arguments, send, recv)
    }

    fn views<'s>(&self, seat: &'s Seat, offset: usize) -> Result<(View<'s>, View<'s>)> {
        let (counts, size) = (&self.form.counts, self.form.test.dtype.size());
        let (rank, recv) = (seat.local.rank, seat.buffers.recv.view());
        if !self.form.in_place {
            let send = seat.buffers.send.view().sub(offset, counts.send * size)?;
            return Ok((send, recv.sub(offset, counts.recv * size)?));
        }
        let (from, to) = (rank * counts.send_in_place * size, rank * counts.recv_in_place * size);
        Ok((recv.sub(offset + from, counts.send * size)?, recv.sub(offset + to, counts.recv * size)?))
    }

    pub(crate) fn synchronize(&self) -> Result<()> {
        let (options, runtime) = (&self.worker.setup.options, self.worker.setup.runtime);
        for seat in self.worker.seats {
            if options.stream_null {
                runtime.set_device(seat.local.device)?;
            }
            seat.local.synchronize()?;
        }
        Ok(())
    }

    /// One operation, through a graph if `-G` asks for graphs, to its end.
    pub(crate) fn once(&self) -> Result<()> {
        if self.worker.setup.options.graph_launches == 0 {
            self.start(0)?;
            return self.synchronize();
        }
        let graphs = self.record(|| self.start(0))?;
        self.launch(&graphs)?;
        self.synchronize()
    }

    pub(crate) fn time(&self) -> Result<Timed> {
        let options = &self.worker.setup.options;
        let operations = (options.iters * options.agg_iters) as f64;
        if options.graph_launches > 0 {
            return self.time_graph(operations * options.graph_launches as f64);
        }
        let mut events = if options.per_iter { Some(Events::new(self)?) } else { None };
        let mut without_barriers = 0.0;
        let start = Instant::now();
        for iteration in 0..options.iters {
            let began = Instant::now();
            events.as_mut().map_or(Ok(()), |e| e.record(self))?;
            self.iteration(iteration)?;
            if options.blocking == 3 {
                self.synchronize()?;
                events.as_mut().map_or(Ok(()), |e| e.record(self))?;
                without_barriers += began.elapsed().as_secs_f64();
                self.worker.watch.again();
                self.worker.team.barrier(self.worker.thread)?;
            }
        }
        if options.blocking != 3 {
            events.as_mut().map_or(Ok(()), |e| e.record(self))?;
        }
        let cpu = start.elapsed().as_secs_f64();
        self.synchronize()?;
        let all = start.elapsed().as_secs_f64();
        let (cpu, all) =
            if options.blocking == 3 { (without_barriers, without_barriers) } else { (cpu, all) };
        let iterations = events.map_or(Ok(Vec::new()), |e| e.seconds(options))?;
        Ok(Timed { seconds: all / operations, cpu_seconds: cpu / operations, iterations })
    }

    /// The operations of one iteration: `-m` of them in a group, or one by one if each is waited for.
    fn iteration(&self, iteration: usize) -> Result<()> {
        let options = &self.worker.setup.options;
        let (many, waits) = (options.agg_iters, matches!(options.blocking, 1 | 2));
        if many == 1 && !waits {
            return self.start(iteration);
        }
        let operations = || (0..many).try_for_each(|i| self.start(iteration * many + i));
        if !waits {
            return match self.worker.setup.plan.steps() {
                1 => self.worker.setup.library.group(operations),
                _ => operations(),
            };
        }
        for i in 0..many {
            self.start(iteration * many + i)?;
            self.synchronize()?;
            self.worker.watch.again();
            if options.blocking == 1 {
                self.worker.team.barrier(self.worker.thread)?;
            }
        }
        Ok(())
    }

    fn time_graph(&self, operations: f64) -> Result<Timed> {
        let options = &self.worker.setup.options;
        let graphs = self.record(|| (0..options.iters).try_for_each(|i| self.iteration(i)))?;
        self.worker.team.barrier(self.worker.thread)?;
        self.worker.watch.again();
        let start = Instant::now();
        for _ in 0..options.graph_launches {
            self.launch(&graphs)?;
        }
        let cpu = start.elapsed().as_secs_f64();
        self.synchronize()?;
        let all = start.elapsed().as_secs_f64();
        Ok(Timed { seconds: all / operations, cpu_seconds: cpu / operations, iterations: Vec::new() })
    }

    /// Records what `calls` puts on the streams, one graph per rank.
    fn record(&self, calls: impl FnOnce() -> Result<()>) -> Result<Vec<Graph>> {
        for seat in self.worker.seats {
            seat.local.stream.begin_capture()?;
        }
        calls()?;
        self.worker.seats.iter().map(|seat| seat.local.stream.end_capture()).collect()
    }

    fn launch(&self, graphs: &[Graph]) -> Result<()> {
        self.worker.seats.iter().zip(graphs).try_for_each(|(seat, graph)| graph.launch(&seat.local.stream))
    }
}

/// Events around iterations, for each rank of a thread.
struct Events {
    /// By rank, then in time order.
    events: Vec<Vec<Event>>,
    recorded: usize,
}

impl Events {
    fn new(calls: &Calls) -> Result<Self> {
        let options = &calls.worker.setup.options;
        let each = if options.blocking == 3 { 2 * options.iters } else { options.iters + 1 };
        let of_rank = |seat: &Seat| {
            calls.worker.setup.runtime.set_device(seat.local.device)?;
            (0..each).map(|_| seat.local.stream.event()).collect()
        };
        Ok(Self { events: calls.worker.seats.iter().map(of_rank).collect::<Result<_>>()?, recorded: 0 })
    }

    fn record(&mut self, calls: &Calls) -> Result<()> {
        for (seat, events) in calls.worker.seats.iter().zip(&self.events) {
            seat.local.stream.record(&events[self.recorded])?;
        }
        self.recorded += 1;
        Ok(())
    }

    /// Seconds per operation in each iteration.
    fn seconds(&self, options: &Options) -> Result<Vec<f64>> {
        let stride = if options.blocking == 3 { 2 } else { 1 };
        let one = |i: usize| {
            let of_rank = |events: &Vec<Event>| events[i * stride].seconds_to(&events[i * stride + 1]);
            let times = self.events.iter().map(of_rank).collect::<Result<Vec<_>>>()?;
            Ok(Combine::Max.of(times.into_iter()) / options.agg_iters as f64)
        };
        (0..options.iters).map(one).collect()
    }
}
