//! The text of the report: header, rows and footer in the column widths that scripts parse.

use crate::cli::Options;

/// The parts of the report that options change.
#[derive(Clone, Copy, Debug, Default)]
pub struct Style {
    pub cputime: bool,
    pub timestamps: bool,
    pub per_iter: bool,
}

/// One half of a row: a way of placing the buffers.
#[derive(Clone, Debug, PartialEq)]
pub struct Figures {
    pub seconds: f64,
    pub algbw: f64,
    pub busbw: f64,
    /// Wrong elements of all ranks; `None` when not checked.
    pub wrong: Option<u64>,
}

/// Seconds per iteration, summed up.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct IterStats {
    pub min: f64,
    pub max: f64,
    pub avg: f64,
    pub p50: f64,
    pub p95: f64,
    pub p99: f64,
    pub stdev: f64,
}

impl IterStats {
    /// Of at least one time. Percentiles are of the nearest rank.
    pub fn of(times: &[f64]) -> Self {
        let mut sorted = times.to_vec();
        sorted.sort_by(f64::total_cmp);
        let n = sorted.len();
        let percentile = |p: usize| sorted[(n * p).div_ceil(100).clamp(1, n) - 1];
        let avg = sorted.iter().sum::<f64>() / n as f64;
        let variance = sorted.iter().map(|t| (t - avg).powi(2)).sum::<f64>() / n as f64;
        Self {
            min: sorted[0],
            max: sorted[n - 1],
            avg,
            p50: sorted[n / 2],
            p95: percentile(95),
            p99: percentile(99),
            stdev: variance.sqrt(),
        }
    }

    /// Standard deviation in percent of the mean.
    pub fn variation(&self) -> f64 {
        if self.avg > 0.0 { self.stdev / self.avg * 100.0 } else { 0.0 }
    }
}

/// The lines before the list of devices.
pub fn opening(program: &str, options: &Options, library_version: i32) -> String {
    let (version, headers) = (crate::TESTS_VERSION, crate::HEADER_VERSION);
    let (step, unit) = match options.step_factor {
        1 => (options.step_bytes, "bytes"),
        factor => (factor, "factor"),
    };
    let mut text = format!(
        "# mccl-tests version {version} mccl-headers={headers} mccl-library={library_version}\n\
         # Collective test starting: {program}\n\
         # nThread {} nGpus {} minBytes {} maxBytes {} step: {step}({unit}) warmup iters: {} iters: {} agg iters: {} \
         validation: {} graph: {} unalign: {}\n",
        options.threads,
        options.devices,
        options.min_bytes,
        options.max_bytes,
        options.warmup_iters,
        options.iters,
        options.agg_iters,
        options.check,
        options.graph_launches,
        options.unalign,
    );
    text.push_str(match options.blocking {
        1 => "# Blocking Enabled: wait and barrier after each inner iteration (-m) \n",
        2 => "# Blocking Enabled: wait after each inner iteration (-m), no barrier \n",
        3 => "# Blocking Enabled: wait and barrier after each outer iteration (-n); time excludes barrier \n",
        _ => "",
    });
    if options.per_iter {
        text.push_str("# Per-Iteration Report: event timing; i_* uses max over processes");
        if options.per_iter_skip > 0 {
            text.push_str(&format!("; summary skips first {} iterations", options.per_iter_skip));
        }
        text.push_str(" \n");
    }
    if options.parallel_init {
        text.push_str("# Parallel Init Enabled: threads call into mcclCommInitRank concurrently \n");
    }
    text + "#\n# Using devices\n"
}

/// The line of one rank; `bus` as the runtime names it.
pub fn device_line(rank: usize, group: i32, pid: u32, host: &str, device: i32, bus: &str, name: &str) -> String {
    let bus = pci_parts(bus);
    format!("#  Rank {rank:2} Group {group:2} Pid {pid:6} on {host:>10} device {device:2} [{bus}] {name}\n")
}

/// `dddd:bb:dd` of a name like `0000:3b:00.0`.
fn pci_parts(bus: &str) -> String {
    let without_function = bus.rsplit_once('.').map_or(bus, |(head, _)| head);
    let part = |i: usize| {
        let text = without_function.split(':').nth(i).unwrap_or("0");
        u32::from_str_radix(text, 16).unwrap_or(0)
    };
    format!("{:04x}:{:02x}:{:02x}", part(0), part(1), part(2))
}

/// The three lines above the rows, with the empty comment before them.
pub fn header(style: Style) -> String {
    let time = if style.cputime { "cputime" } else { "time" };
    let (label, units, pad) = match style.timestamps {
        true => ("timestamp", "%Y-%m-%d %H:%M:%S", 19),
        false => ("", "", 0),
    };
    let lead = |a: &str, b: &str, c: &str, d: &str, e: &str| format!("# {a:>10}  {b:>12}  {c:>8}  {d:>6}  {e:>6}");
    let half = |cells: [&str; 4], iter: [&str; 4]| {
        let [a, b, c, d] = cells;
        let mut text = format!("  {a:>7}  {b:>6}  {c:>6}  {d:>6}");
        if style.per_iter {
            text.extend(iter.iter().map(|cell| format!("  {cell:>7}")));
        }
        text
    };
    let names = half([time, "algbw", "busbw", "#wrong"], ["i_min", "i_max", "i_p99", "i_cv%"]);
    let units_half = half(["(us)", "(GB/s)", "(GB/s)", ""], ["(us)", "(us)", "(us)", "(%)"]);
    let titles = match style.per_iter {
        true => "              out-of-place (+ per-iteration)                                in-place (+ per-iteration)",
        false => "           out-of-place                       in-place          ",
    };
    let blank = lead("", "", "", "", "");
    let first = lead("size", "count", "type", "redop", "root");
    let second = lead("(B)", "(elements)", "", "", "");
    format!(
        "#\n{blank}{titles}\n{first}{names}{names} {label:>pad$}\n{second}{units_half}{units_half} {units:>pad$}\n"
    )
}

/// The beginning of a row: what is measured.
pub fn row_start(bytes: usize, count: usize, dtype: &str, op: &str, root: i64) -> String {
    format!("{bytes:12}  {count:12}  {dtype:>8}  {op:>6}  {root:>6}")
}

/// Half of a row; `None` where the collective has no such form.
pub fn row_half(figures: Option<&Figures>, iters: Option<&IterStats>, style: Style) -> String {
    let na = "N/A";
    let mut text = match figures {
        None => format!("  {na:>7}  {na:>6}  {na:>6}  {na:>6}"),
        Some(f) => {
            let (time, algbw, busbw) =
                (fixed(f.seconds * 1e6, 7), fixed(f.algbw, 6), fixed(f.busbw, 6));
            let wrong = f.wrong.map_or(na.to_string(), |n| general(n as f64));
            format!("  {time:>7}  {algbw:>6}  {busbw:>6}  {wrong:>6}")
        }
    };
    if style.per_iter {
        let cells = match iters {
            Some(s) => [s.min * 1e6, s.max * 1e6, s.p99 * 1e6, s.variation()].map(|x| fixed(x, 7)),
            None => [na; 4].map(str::to_string),
        };
        text.extend(cells.iter().map(|cell| format!("  {cell:>7}")));
    }
    text
}

/// The lines after the rows. `wanted` is the bandwidth that the average is held against, in GB/s.
pub fn footer(program: &str, errors: u64, average: f64, wanted: Option<f64>) -> String {
    let verdict = |good: bool| if good { "OK" } else { "FAILED" };
    format!(
        "# {:<20} : {errors} {}\n# {:<20} : {} {}\n#\n# Collective test concluded: {program}\n",
        "Out of bounds values",
        verdict(errors == 0),
        "Avg bus bandwidth",
        general(average),
        wanted.map_or("", |wanted| verdict(bandwidth_is_enough(average, wanted))),
    )
}

/// Whether an average reaches nine tenths of what was asked for.
pub fn bandwidth_is_enough(average: f64, wanted: f64) -> bool {
    average >= wanted * 0.9
}

/// The lines of `-M`: named amounts of device memory, and the memory of the process.
pub fn memory(amounts: &[(&str, i64)], resident: i64) -> String {
    let parts: Vec<String> = amounts.iter().map(|(name, bytes)| format!("{name} {}", bytes_text(*bytes))).collect();
    let total = bytes_text(amounts.iter().map(|(_, bytes)| bytes).sum());
    format!(
        "# {:<20} : {} | Total  {total}\n# {:<20} : {}\n",
        "GPU memory usage",
        parts.join(" | "),
        "Process memory (RSS)",
        bytes_text(resident)
    )
}

fn bytes_text(bytes: i64) -> String {
    let magnitude = bytes.unsigned_abs();
    let (unit, name) = match magnitude {
        m if m >= 1 << 30 => (1u64 << 30, "GB"),
        m if m >= 1 << 20 => (1 << 20, "MB"),
        m if m >= 1 << 10 => (1 << 10, "KB"),
        _ => (1, "B"),
    };
    let amount = bytes as f64 / unit as f64;
    let digits = match amount.abs() {
        a if a < 10.0 => 2,
        a if a < 100.0 => 1,
        _ => 0,
    };
    format!("{amount:.digits$} {name}")
}

/// `value` in at most `width` characters with as many of two decimals as fit.
pub fn fixed(value: f64, width: usize) -> String {
    for digits in [2, 1, 0] {
        let text = format!("{value:width$.digits$}");
        if text.len() <= width {
            return text;
        }
    }
    let digits = usize::from(width >= 7);
    exponential(value, digits)
}

/// C's `%.<digits>e`.
fn exponential(value: f64, digits: usize) -> String {
    let text = format!("{value:.digits$e}");
    let Some((mantissa, exponent)) = text.split_once('e') else { return text };
    let exponent: i32 = exponent.parse().unwrap_or(0);
    let sign = if exponent < 0 { '-' } else { '+' };
    format!("{mantissa}e{sign}{:02}", exponent.abs())
}

/// C's `%g`: six significant digits without trailing zeros.
pub fn general(value: f64) -> String {
    if value == 0.0 || !value.is_finite() {
        return if value == 0.0 { "0".to_string() } else { format!("{value}").to_lowercase() };
    }
    let scientific = exponential(value, 5);
    let (mantissa, exponent) = scientific.split_once('e').unwrap_or((&scientific, "+00"));
    let power: i32 = exponent.parse().unwrap_or(0);
    let trim = |text: &str| match text.contains('.') {
        true => text.trim_end_matches('0').trim_end_matches('.').to_string(),
        false => text.to_string(),
    };
    if (-4..6).contains(&power) {
        let digits = (5 - power) as usize;
        return trim(&format!("{value:.digits$}"));
    }
    format!("{}e{exponent}", trim(mantissa))
}

#[cfg(test)]
#[path = "table_tests.rs"]
mod tests;
