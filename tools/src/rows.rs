//! The rows of the table: which tests and sizes are run, and how each is shown.

use serde_json::{Value, json};

use crate::bench::{Form, Measured, Test, Worker};
use crate::cli::Root;
use crate::coll::Collective;
use crate::dtype::{DType, Op};
use crate::error::Result;
use crate::json::{self, Report};
use crate::output::Out;
use crate::sys;
use crate::table::{self, IterStats, Style};
use crate::team::Combine;

/// Where rows go. Threads that do not report have one too, that shows nothing.
pub struct Table<'a> {
    pub out: Out,
    pub style: Style,
    pub report: Option<&'a mut Report>,
    /// Print who moved how much in vector all-to-alls.
    pub print_traffic: bool,
}

/// Sums over all rows.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Totals {
    /// Halves of rows with wrong elements.
    pub errors: u64,
    bandwidth: f64,
    halves: u64,
}

impl Totals {
    /// Mean bus bandwidth of all halves of rows; 0 without any.
    pub fn average(&self) -> f64 {
        if self.halves == 0 { 0.0 } else { self.bandwidth / self.halves as f64 }
    }
}

/// Runs all rows in this thread. Every thread of every process runs the same ones.
pub fn run(mut worker: Worker, table: &mut Table) -> Result<Totals> {
    let mut totals = Totals::default();
    for test in tests(&worker) {
        warm_up(&worker, test)?;
        let mut cycle = 0;
        while worker.setup.options.run_cycles == 0 || cycle < worker.setup.options.run_cycles {
            for bytes in worker.setup.options.sizes() {
                row(&mut worker, table, test, bytes, &mut totals)?;
            }
            cycle += 1;
        }
    }
    Ok(totals)
}

fn tests(worker: &Worker) -> Vec<Test> {
    let (options, plan) = (&worker.setup.options, &worker.setup.plan);
    let ops = match plan.collective.reduces() {
        true => options.ops.pick(&Op::ALL).into_iter().map(Some).collect(),
        false => vec![None],
    };
    let roots: Vec<Option<usize>> = match (plan.collective.has_root(), options.root) {
        (false, _) => vec![None],
        (true, Root::Rank(root)) => vec![Some(root)],
        (true, Root::All) => (0..plan.nranks).map(Some).collect(),
    };
    let mut tests = Vec::new();
    for dtype in options.dtypes.pick(&DType::ALL) {
        for &op in &ops {
            tests.extend(roots.iter().map(|&root| Test { dtype, op, root }));
        }
    }
    tests
}

/// Runs each power-of-two step of the sizes a few times.
fn warm_up(worker: &Worker, test: Test) -> Result<()> {
    worker.team.barrier(worker.thread)?;
    let options = &worker.setup.options;
    let double = |&bytes: &usize| bytes.checked_mul(2).filter(|&next| next > bytes);
    for bytes in std::iter::successors(Some(options.min_bytes), double).take_while(|&b| b <= options.max_bytes) {
        worker.warm_up(form(worker, test, bytes, false))?;
    }
    Ok(())
}

fn form(worker: &Worker, test: Test, bytes: usize, in_place: bool) -> Form {
    let size = test.dtype.size();
    Form { test, counts: worker.setup.plan.counts(bytes / size, size), in_place }
}

fn row(worker: &mut Worker, table: &mut Table, test: Test, bytes: usize, totals: &mut Totals) -> Result<()> {
    let (plan, options) = (&worker.setup.plan, &worker.setup.options);
    let form_of = |worker: &Worker, in_place| form(worker, test, bytes, in_place);
    let counts = form_of(worker, false).counts;
    let size = counts.send.max(counts.recv) * test.dtype.size();
    let (op, root) = (test.op.map_or("none", Op::name), test.root.map_or(-1, |r| r as i64));
    let in_place = plan.collective.has_in_place();
    let iters = options.iters;
    table.out.print(&table::row_start(size, counts.param, test.dtype.name(), op, root));
    let mut record = json!({
        "size": size, "count": counts.param, "type": test.dtype.name(), "redop": op, "root": format!("{root:6}"),
    });
    let measured = worker.measure(form_of(worker, false))?;
    half(worker, table, Some(&measured), "out_of_place", &mut record, totals);
    let second = if in_place { Some(worker.measure(form_of(worker, true))?) } else { None };
    half(worker, table, second.as_ref(), "in_place", &mut record, totals);
    if table.style.timestamps {
        table.out.print(&format!("{:>21}", sys::now()));
    }
    table.out.print("\n");
    let plan = &worker.setup.plan;
    if table.print_traffic && plan.collective == Collective::AllToAllV {
        let total = counts.param * plan.nranks * test.dtype.size();
        table.out.print(&plan.traffic.summary(plan.nranks, total, measured.figures.seconds));
    }
    record["actual_iterations"] = json!(iters);
    record["experiment_name"] = json!("");
    match &mut table.report {
        Some(report) => report.add_row(record),
        None => Ok(()),
    }
}

/// Shows half of a row and adds it to the sums.
fn half(
    worker: &Worker,
    table: &Table,
    measured: Option<&Measured>,
    key: &str,
    record: &mut Value,
    totals: &mut Totals,
) {
    let options = &worker.setup.options;
    let times = measured.map(|m| largest(&m.iterations)).unwrap_or_default();
    let stats = (!times.is_empty()).then(|| IterStats::of(&times[options.per_iter_skip..]));
    table.out.print(&table::row_half(measured.map(|m| &m.figures), stats.as_ref(), table.style));
    record[key] = measured.map_or(Value::Null, |m| json::figures(&m.figures, table.style.cputime));
    let Some(measured) = measured else { return };
    if let Some(stats) = stats {
        let value = json::iterations(&stats, options.per_iter_skip, &times, &measured.iterations);
        record[format!("{key}_per_iter")] = value;
    }
    totals.errors += u64::from(measured.figures.wrong.is_some_and(|n| n > 0));
    totals.bandwidth += measured.figures.busbw;
    totals.halves += 1;
}

/// The largest time of all processes in each iteration.
fn largest(processes: &[Vec<f64>]) -> Vec<f64> {
    let iterations = processes.first().map_or(0, Vec::len);
    (0..iterations).map(|i| Combine::Max.of(processes.iter().map(|p| p[i]))).collect()
}
