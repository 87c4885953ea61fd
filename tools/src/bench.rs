//! One thread's measurements: data in, timed loop (`calls`), check of what it left.

use std::sync::Arc;

use crate::api::Mccl;
use crate::calls::Calls;
use crate::cli::Options;
use crate::coll::layout::{Layout, Place};
use crate::coll::{Counts, Plan};
use crate::dtype::{DType, Op};
use crate::error::Result;
use crate::local::{Buffers, LocalRank};
use crate::musart::Musart;
use crate::pattern::Case;
use crate::table::Figures;
use crate::team::{Combine, Team};
use crate::verify::{self, DeviceMemory};
use crate::watchdog::Watch;

/// Seed of the data of the timed loop, which are not checked.
const TIMED_SEED: u64 = 99;

/// What all threads of a process have in common.
pub struct Setup {
    pub library: &'static Mccl,
    pub runtime: &'static Musart,
    pub options: Options,
    pub plan: Plan,
    /// Bytes of each buffer, without the room for `-u`.
    pub max_bytes: usize,
}

/// A type, reduction and root to measure.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Test {
    pub dtype: DType,
    pub op: Option<Op>,
    pub root: Option<usize>,
}

/// One size of a test, in one form.
#[derive(Clone, Copy, Debug)]
pub struct Form {
    pub test: Test,
    pub counts: Counts,
    pub in_place: bool,
}

/// A rank with its buffers.
pub struct Seat {
    pub local: Arc<LocalRank>,
    pub buffers: Buffers,
}

/// What a measurement gives: figures, and seconds per iteration of each process with `-I`.
pub struct Measured {
    pub figures: Figures,
    pub iterations: Vec<Vec<f64>>,
}

/// One thread with its ranks.
pub struct Worker<'a> {
    pub setup: &'a Setup,
    pub team: &'a Team<'a>,
    pub watch: &'a Watch,
    pub thread: usize,
    pub seats: &'a [Seat],
    /// How many checks have been made: the seed of the next one's data.
    pub checks: u64,
}

impl Worker<'_> {
    /// Warm-up of one size: no measurement, no check.
    pub fn warm_up(&self, form: Form) -> Result<()> {
        let calls = Calls::new(self, form)?;
        self.begin(&form, "warm-up");
        for iteration in 0..self.setup.options.warmup_iters {
            calls.start(iteration)?;
        }
        calls.synchronize()?;
        self.watch.end();
        calls.finish()
    }

    /// Times and checks one form. All threads of all processes get the same figures.
    pub fn measure(&mut self, form: Form) -> Result<Measured> {
        let options = &self.setup.options;
        if options.check > 0 {
            self.init_data(&form, TIMED_SEED)?;
        }
        let calls = Calls::new(self, form)?;
        self.begin(&form, "first operation");
        calls.start(0)?;
        calls.synchronize()?;
        self.watch.end();
        self.team.barrier(self.thread)?;
        self.begin(&form, "timed loop");
        let timed = calls.time()?;
        self.watch.end();
        calls.finish()?;
        let average = Combine::average(options.average);
        let seconds = self.team.combine(self.thread, timed.seconds, average)?;
        let size = form.test.dtype.size();
        let (algbw, busbw) = self.setup.plan.bandwidth(form.counts.param, size, seconds);
        let iterations = self.share_iterations(&timed.iterations)?;
        let wrong = if options.check > 0 { Some(self.check(form)?) } else { None };
        let shown = if options.report_cputime { timed.cpu_seconds } else { seconds };
        Ok(Measured { figures: Figures { seconds: shown, algbw, busbw, wrong }, iterations })
    }

    /// Runs the form on fresh data until something is wrong, at most as often as `-c` says. Wrong elements of all ranks.
    fn check(&mut self, form: Form) -> Result<u64> {
        for _ in 0..self.setup.options.check {
            self.checks += 1;
            self.init_data(&form, self.checks)?;
            self.team.barrier(self.thread)?;
            self.begin(&form, "check");
            let calls = Calls::new(self, form)?;
            calls.once()?;
            self.watch.end();
            calls.finish()?;
            let mine = self.count_wrong(&form, self.checks)?;
            let wrong = self.team.combine(self.thread, mine as f64, Combine::Sum)? as u64;
            if wrong > 0 {
                return Ok(wrong);
            }
        }
        Ok(0)
    }

    fn init_data(&self, form: &Form, seed: u64) -> Result<()> {
        let runtime = self.setup.runtime;
        let case = self.case(form, seed);
        for seat in self.seats {
            runtime.set_device(seat.local.device)?;
            let layout = self.layout(form, seat);
            let bytes = form.counts.send.max(form.counts.recv) * form.test.dtype.size();
            let base = self.base(form);
            let recv = seat.buffers.recv.view().sub(base, bytes)?;
            runtime.zero(recv)?;
            let view = if form.in_place { recv } else { seat.buffers.send.view().sub(base, bytes)? };
            verify::fill(&DeviceMemory { runtime, view }, &case, &layout.input)?;
            runtime.synchronize()?;
        }
        Ok(())
    }

    fn count_wrong(&self, form: &Form, seed: u64) -> Result<u64> {
        let runtime = self.setup.runtime;
        let case = self.case(form, seed);
        let mut count = 0;
        for seat in self.seats {
            runtime.set_device(seat.local.device)?;
            let layout = self.layout(form, seat);
            let size = form.test.dtype.size();
            let at = self.base(form) + layout.result_at * size;
            let view = seat.buffers.recv.view().sub(at, form.counts.recv * size)?;
            let wrong = verify::compare(&DeviceMemory { runtime, view }, &case, &layout.expected)?;
            if let Some(first) = wrong.first {
                eprintln!(
                    "# rank {}: {}: {} wrong, the first is element {} of {}: {:#x}, expected {:#x}",
                    seat.local.rank,
                    self.describe(form, "check"),
                    wrong.count,
                    first.element,
                    form.counts.recv,
                    first.got,
                    first.expected
                );
            }
            count += wrong.count;
        }
        Ok(count)
    }

    fn case(&self, form: &Form, seed: u64) -> Case {
        Case { dtype: form.test.dtype, op: form.test.op, nranks: self.setup.plan.nranks, seed }
    }

    fn layout(&self, form: &Form, seat: &Seat) -> Layout {
        let (rank, root) = (seat.local.rank, form.test.root.unwrap_or(0));
        let place = Place { rank, root, in_place: form.in_place, size: form.test.dtype.size() };
        self.setup.plan.layout(&form.counts, place)
    }

    /// First byte used of each buffer (`-u`).
    pub(crate) fn base(&self, form: &Form) -> usize {
        self.setup.options.unalign * form.test.dtype.size()
    }

    /// The largest of each iteration's times over this process's threads, for each process.
    fn share_iterations(&self, mine: &[f64]) -> Result<Vec<Vec<f64>>> {
        if !self.setup.options.per_iter {
            return Ok(Vec::new());
        }
        let rows = self.team.share(self.thread, mine)?;
        let of_process = |threads: &[Vec<f64>]| {
            (0..mine.len()).map(|i| Combine::Max.of(threads.iter().map(|t| t[i]))).collect::<Vec<_>>()
        };
        Ok(rows.chunks(self.setup.options.threads).map(of_process).collect())
    }

    fn begin(&self, form: &Form, phase: &str) {
        self.watch.begin(|| self.describe(form, phase));
    }

    fn describe(&self, form: &Form, phase: &str) -> String {
        let test = &form.test;
        format!(
            "{} {} {} root {} count {} {} ({phase})",
            self.setup.plan.collective.program(),
            test.dtype.name(),
            test.op.map_or("none", Op::name),
            test.root.map_or(-1, |r| r as i64),
            form.counts.param,
            if form.in_place { "in-place" } else { "out-of-place" },
        )
    }
}
