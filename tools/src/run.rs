//! A measurement from the command line to the footer: what all programs of the family do.

use std::ffi::OsString;
use std::process::ExitCode;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use serde_json::{Value, json};

use crate::api::Mccl;
use crate::bench::{Seat, Setup, Worker};
use crate::cli::{Options, Root};
use crate::coll::{Collective, Plan};
use crate::error::{EXIT_WRONG, Error, Result};
use crate::json::{self, Report};
use crate::launch::{World, detect, fork};
use crate::musart::Musart;
use crate::output::{Out, die};
use crate::rows::{self, Totals};
use crate::session::{self, Libraries};
use crate::settings::Settings;
use crate::table::{self, Style};
use crate::team::{Combine, Team};
use crate::watchdog::{self, Watch};
use crate::{load, sys};

/// Runs the program that measures `collective`; for `main`.
pub fn main(collective: Collective) -> ExitCode {
    let program = collective.program();
    let args: Vec<OsString> = std::env::args_os().collect();
    let options = Options::from_command_line(program, collective.about(), args.clone());
    match start(collective, options, &args[1..]) {
        Ok(status) => ExitCode::from(status as u8),
        Err(error) => die(program, &error),
    }
}

fn start(collective: Collective, options: Options, args: &[OsString]) -> Result<i32> {
    options.validate()?;
    let settings = Settings::read(|name| std::env::var(name).ok())?;
    let launch = detect::detect(|name| std::env::var(name).ok())?;
    match (&launch, options.nproc) {
        (detect::Launch::Alone, Some(size)) => return fork::run(size, args),
        (detect::Launch::Mpi(launcher), Some(size)) => {
            let by = launcher.variable;
            return Err(Error::usage(format!("--nproc: {size}, processes come from MPI already ({by} is set), allowed unset")));
        }
        (detect::Launch::Variables { .. }, Some(size)) => {
            return Err(Error::usage(format!("--nproc: {size}, processes come from rank variables already, allowed unset")));
        }
        _ => {}
    }
    let world = World::join(&launch)?;
    Run::new(collective, options, settings, world)?.to_end()
}

/// The state of this process between its phases.
struct Run {
    collective: Collective,
    options: Options,
    settings: Settings,
    world: World,
    libraries: Libraries,
    out: Out,
    report: Option<Report>,
}

/// Device memory in use at some moment, the largest of this process's devices.
struct Memory {
    before_init: i64,
    after_init: i64,
    after_buffers: i64,
}

impl Run {
    fn new(collective: Collective, options: Options, settings: Settings, world: World) -> Result<Self> {
        // The runtime first, so that the library finds the one in use.
        let runtime = Musart::of(&load::open_runtime(options.runtime.as_deref())?)?;
        let library = Mccl::of(&load::open_library(options.library.as_deref())?)?;
        let out = Out { enabled: world.rank == 0 };
        let report = match &options.output_file {
            Some(path) if out.enabled => Some(Report::create(path)?),
            _ => None,
        };
        if let Some(report) = &report {
            out.print(&format!("# Writing JSON output to {}\n", report.path.display()));
        }
        Ok(Self { collective, options, settings, world, libraries: Libraries { library, runtime }, out, report })
    }

    fn to_end(mut self) -> Result<i32> {
        let (libraries, program) = (self.libraries, self.collective.program());
        let version = libraries.library.version()?;
        self.out.print(&table::opening(program, &self.options, version));
        let devices =
            session::devices(&self.world, &self.options, &self.settings, libraries.runtime.device_count()?)?;
        self.refuse_shared_null_stream(&devices)?;
        let before_init = self.used_memory(&devices)?;
        let group = session::group(&self.world, &self.settings)?;
        let nranks = group.size * devices.len();
        let plan = self.plan(nranks)?;
        let id = session::unique_id(&self.world, &group, libraries.library)?;
        let ranks = session::init_ranks(libraries, &self.options, &devices, &group, id)?;
        session::attach(&self.world, libraries, &ranks, nranks)?;
        let lines = session::device_lines(&self.world, libraries.runtime, &devices, group.color)?;
        self.out.print(&lines);
        let after_init = self.used_memory(&devices)?;
        let max_bytes = self.fit_sizes(&devices)?;
        let seats = session::seats(libraries, &self.options, ranks, max_bytes)?;
        let memory = Memory { before_init, after_init, after_buffers: self.used_memory(&devices)? };
        if let Some(report) = &mut self.report {
            report.set("nccl_version", json!(version));
            report.set("config", json::config(&self.options, lines.lines().filter_map(json::device).collect()));
            report.set("results", Value::Array(Vec::new()));
            report.save()?;
        }
        let setup = Setup {
            library: libraries.library,
            runtime: libraries.runtime,
            options: self.options.clone(),
            plan,
            max_bytes,
        };
        let totals = self.measure(&setup, &seats)?;
        self.conclude(&setup, totals, memory, &devices, seats)
    }

    /// Ranks of one process that share a device would wait for each other in its one null stream.
    fn refuse_shared_null_stream(&self, devices: &[i32]) -> Result<()> {
        let shared = devices.iter().enumerate().any(|(i, d)| devices[..i].contains(d));
        if self.options.stream_null && shared {
            return Err(Error::usage(format!(
                "-y, --stream_null: 1, several ranks of a process share a device and so its null stream, allowed 0 with devices {devices:?}"
            )));
        }
        Ok(())
    }

    fn plan(&self, nranks: usize) -> Result<Plan> {
        if self.collective == Collective::HyperCube && !nranks.is_power_of_two() {
            return Err(Error::usage(format!("hypercube_perf: {nranks} ranks, not a power of two, allowed 1, 2, 4, 8 …")));
        }
        if let Root::Rank(root) = self.options.root
            && self.collective.has_root()
            && root >= nranks
        {
            return Err(Error::usage(format!("-r, --root: {root}, no such rank, allowed -1 to {}", nranks - 1)));
        }
        let traffic = self.settings.traffic.clone();
        let plan = Plan { collective: self.collective, nranks, traffic };
        if self.collective == Collective::AllToAllV {
            self.check_matrix(&plan)?;
        }
        Ok(plan)
    }

    fn check_matrix(&self, plan: &Plan) -> Result<()> {
        let crate::coll::traffic::Traffic::Matrix { dim, .. } = plan.traffic else { return Ok(()) };
        let name = "MCCL_TESTS_ALLTOALLV_MATRIX_FILE";
        if plan.nranks > dim {
            return Err(Error::usage(format!("{name}: matrix for {dim} ranks, there are {}, allowed 1 to {dim}", plan.nranks)));
        }
        let (min, max) = (self.options.min_bytes, self.options.max_bytes);
        if min != max {
            return Err(Error::usage(format!("-b, --minbytes: {min}, sizes come from the matrix, allowed {max} as for -e")));
        }
        let (send, recv) = plan.traffic.largest(plan.nranks, 0, 1);
        let need = send.max(recv);
        match max < need {
            true => Err(Error::usage(format!("-e, --maxbytes: {max}, the matrix needs more, allowed {need} and up"))),
            false => Ok(()),
        }
    }

    /// Makes the sizes fit into the devices' memory, and says so if they had to shrink.
    fn fit_sizes(&mut self, devices: &[i32]) -> Result<usize> {
        let wanted = self.options.max_bytes;
        let max = session::max_bytes(&self.world, self.libraries.runtime, devices, wanted)?;
        if max < wanted {
            self.out.print(&format!("#\n# Reducing maxBytes to {max} due to memory limitation\n"));
            self.options.max_bytes = max;
            self.options.min_bytes = self.options.min_bytes.min(max);
        }
        Ok(max)
    }

    /// Runs the table with all threads of this process.
    fn measure(&mut self, setup: &Setup, seats: &[Seat]) -> Result<Totals> {
        let options = &setup.options;
        let style = Style {
            cputime: options.report_cputime,
            timestamps: options.report_timestamps,
            per_iter: options.per_iter,
        };
        self.out.print(&table::header(style));
        let team = Team::new(&self.world, options.threads);
        let watches: Vec<Watch> = seats.chunks(options.devices).map(watch_of).collect();
        let timeout = (options.timeout > 0).then(|| Duration::from_secs(options.timeout as u64));
        let (stop, out, print_traffic) = (AtomicBool::new(false), self.out, self.settings.print_traffic);
        let report = &mut self.report;
        let totals = std::thread::scope(|scope| {
            let guard = scope.spawn(|| watchdog::guard(&watches, timeout, &stop));
            let worker = |thread: usize| Worker {
                setup,
                team: &team,
                watch: &watches[thread],
                thread,
                seats: &seats[thread * options.devices..][..options.devices],
                checks: 0,
            };
            let others: Vec<_> = (1..options.threads)
                .map(|thread| {
                    let worker = worker(thread);
                    scope.spawn(move || {
                        let mut table = rows::Table { out: Out { enabled: false }, style, report: None, print_traffic: false };
                        rows::run(worker, &mut table).unwrap_or_else(|e| die(setup.plan.collective.program(), &e))
                    })
                })
                .collect();
            let mut table = rows::Table { out, style, report: report.as_mut(), print_traffic };
            // An error must end the process here: the other threads wait for this one.
            let totals =
                rows::run(worker(0), &mut table).unwrap_or_else(|e| die(setup.plan.collective.program(), &e));
            others.into_iter().for_each(|thread| drop(thread.join()));
            stop.store(true, Ordering::Release);
            guard.thread().unpark();
            totals
        });
        Ok(totals)
    }

    fn conclude(mut self, setup: &Setup, totals: Totals, memory: Memory, devices: &[i32], seats: Vec<Seat>) -> Result<i32> {
        let after_tests = self.used_memory(devices)?;
        let mine = [
            memory.after_init - memory.before_init,
            memory.after_buffers - memory.after_init,
            after_tests - memory.after_buffers,
            sys::resident_bytes(),
        ];
        let amounts = self.world.all_gather_numbers(&mine.map(|bytes| bytes as f64))?;
        let largest = |i: usize| Combine::Max.of(amounts.iter().map(|row| row[i])) as i64;
        self.world.release();
        session::release(self.libraries, seats)?;
        let program = setup.plan.collective.program();
        let (average, wanted) = (totals.average(), self.settings.min_bandwidth);
        self.out.print(&table::footer(program, totals.errors, average, wanted));
        if setup.options.memory {
            let parts = [("Initialization", largest(0)), ("User-Allocated", largest(1)), ("Collective", largest(2))];
            self.out.print(&table::memory(&parts, largest(3)));
        }
        self.out.print("#\n");
        let enough = wanted.map(|wanted| table::bandwidth_is_enough(average, wanted));
        if let Some(report) = self.report.take() {
            report.finish(totals.errors, average, enough, self.libraries.library.last_error())?;
        }
        self.world.finish()?;
        let good = totals.errors == 0 && enough != Some(false);
        Ok(if good { 0 } else { EXIT_WRONG })
    }

    /// Bytes in use, the most of any of the devices; 0 where the runtime does not tell.
    fn used_memory(&self, devices: &[i32]) -> Result<i64> {
        let mut most = 0;
        for &device in devices {
            self.libraries.runtime.set_device(device)?;
            if let Some((free, total)) = self.libraries.runtime.memory()? {
                most = most.max(total as i64 - free as i64);
            }
        }
        Ok(most)
    }
}

fn watch_of(seats: &[Seat]) -> Watch {
    let watch = Watch::new();
    watch.set_ranks(seats.iter().map(|seat| seat.local.clone()).collect());
    watch
}
