//! The shape of each line, as a `tracing` event format of a private dispatcher.
use std::cell::Cell;
use std::fmt::{self, Write};
use std::panic::Location;
use std::sync::OnceLock;

use tracing::field::{Field, Visit};
use tracing::{Dispatch, Event, Subscriber};
use tracing_subscriber::fmt::FmtContext;
use tracing_subscriber::fmt::format::{FormatEvent, FormatFields, Writer};
use tracing_subscriber::layer::SubscriberExt;
use tracing_subscriber::registry::{LookupSpan, Registry};

use super::sink::Sink;
use crate::base::env::{Env, LogLevel, TimestampFormat};

/// What a line says and where it comes from.
pub(super) struct Line<'a> {
    pub(super) level: LogLevel,
    /// WARN and TRACE name their place; a TRACE without one is a CALL line.
    pub(super) place: Option<&'static Location<'static>>,
    pub(super) func: &'a str,
    pub(super) text: fmt::Arguments<'a>,
}

/// Writes a line, in one piece.
pub(super) fn emit(line: &Line<'_>) {
    static DISPATCH: OnceLock<Dispatch> = OnceLock::new();
    let dispatch = DISPATCH.get_or_init(|| {
        let layer = tracing_subscriber::fmt::layer()
            .event_format(Shape)
            .with_ansi(false)
            .log_internal_errors(false)
            .with_writer(Sink::open(Env::get()));
        Dispatch::new(Registry::default().with(layer))
    });
    tracing::dispatcher::with_default(dispatch, || {
        let (text, func, level) = (line.text, line.func, line.level as u64);
        let (file, row) =
            line.place.map_or(("", 0), |place| (file_name(place.file()), u64::from(place.line())));
        // The level of the event only has to pass the filter; the shape goes by the field.
        tracing::event!(target: "mccl", tracing::Level::ERROR, level, file, row, func, "{text}");
    });
}

/// The path as users know it from the field: below the source folder.
fn file_name(path: &'static str) -> &'static str {
    path.rsplit_once("src/").map_or(path, |(_, below)| below)
}

struct Shape;

impl<S, N> FormatEvent<S, N> for Shape
where
    S: Subscriber + for<'a> LookupSpan<'a>,
    N: for<'a> FormatFields<'a> + 'static,
{
    fn format_event(
        &self,
        _context: &FmtContext<'_, S, N>,
        mut out: Writer<'_>,
        event: &Event<'_>,
    ) -> fmt::Result {
        let mut fields = Fields::default();
        event.record(&mut fields);
        write_line(&mut out, &fields, Env::get())
    }
}

/// The fields of our one event.
#[derive(Default)]
struct Fields {
    level: u64,
    file: String,
    row: u64,
    func: String,
    text: String,
}

impl Visit for Fields {
    fn record_u64(&mut self, field: &Field, value: u64) {
        match field.name() {
            "level" => self.level = value,
            _ => self.row = value,
        }
    }

    fn record_str(&mut self, field: &Field, value: &str) {
        match field.name() {
            "file" => self.file = value.to_string(),
            _ => self.func = value.to_string(),
        }
    }

    fn record_debug(&mut self, _field: &Field, value: &dyn fmt::Debug) {
        self.text = format!("{value:?}");
    }
}

fn write_line(out: &mut impl Write, fields: &Fields, env: &Env) -> fmt::Result {
    let Fields { level, file, row, func, text } = fields;
    let (level, dev) = (level_of(*level), super::device());
    if level == LogLevel::Version {
        return writeln!(out, "{text}");
    }
    if level == LogLevel::Warn {
        out.write_char('\n')?;
    }
    if env.debug_timestamp_levels.contains(level) {
        write_time(out, &env.debug_timestamp_format)?;
    }
    let (pid, tid) = ids();
    write!(out, "{}:{pid}:{tid} ", host())?;
    match level {
        LogLevel::Warn => writeln!(out, "[{dev}] {file}:{row} ({func}) MCCL WARN {text}"),
        LogLevel::Trace if file.is_empty() => writeln!(out, "MCCL CALL {text}"),
        LogLevel::Trace => {
            let time = super::elapsed_ms();
            writeln!(out, "[{dev}] {time:.6} {func}:{row} MCCL TRACE {text}")
        }
        level => writeln!(out, "[{dev}] MCCL {} {text}", level.name()),
    }
}

fn level_of(number: u64) -> LogLevel {
    use LogLevel::{Abort, Info, Trace, Version, Warn};
    let known = [Version, Warn, Info, Abort, Trace];
    known.into_iter().find(|level| *level as u64 == number).unwrap_or(Info)
}

fn write_time(out: &mut impl Write, format: &TimestampFormat) -> fmt::Result {
    let now = chrono::Local::now();
    write!(out, "{}", now.format(&format.head))?;
    if let Some(digits) = format.digits {
        let nanos = format!("{:09}", now.timestamp_subsec_nanos() % 1_000_000_000);
        out.write_str(&nanos[..usize::from(digits).min(nanos.len())])?;
    }
    write!(out, "{}", now.format(&format.tail))
}

/// The host name up to the first dot.
pub(super) fn host() -> &'static str {
    static HOST: OnceLock<String> = OnceLock::new();
    HOST.get_or_init(|| {
        let name = std::fs::read_to_string("/proc/sys/kernel/hostname").unwrap_or_default();
        let short = name.trim().split('.').next().unwrap_or_default();
        if short.is_empty() { "unknown".to_string() } else { short.to_string() }
    })
}

/// Process and thread numbers. The thread's is remembered until a fork changes the process's.
fn ids() -> (u32, u32) {
    thread_local! {
        static KNOWN: Cell<(u32, u32)> = const { Cell::new((0, 0)) };
    }
    let pid = std::process::id();
    let (known_pid, known_tid) = KNOWN.get();
    if known_pid == pid {
        return (pid, known_tid);
    }
    // The link reads `PID/task/TID`.
    let link = std::fs::read_link("/proc/thread-self").ok();
    let tid = link.and_then(|link| link.file_name()?.to_str()?.parse().ok()).unwrap_or(pid);
    KNOWN.set((pid, tid));
    (pid, tid)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn shaped(level: LogLevel, file: &str, vars: &[(&str, &str)]) -> String {
        let vars = vars.iter().map(|(name, text)| (name.to_string(), text.to_string()));
        let mut out = String::new();
        let fields = Fields {
            level: level as u64,
            file: file.to_string(),
            row: 36,
            func: "mcclAllReduce".to_string(),
            text: "count 5".to_string(),
        };
        write_line(&mut out, &fields, &Env::from_vars(vars)).unwrap();
        let (pid, tid) = ids();
        out.replace(&format!("{}:{pid}:{tid} ", host()), "H ")
    }

    #[test]
    fn lines_have_the_shapes_that_parsers_know() {
        let quiet = [("MCCL_DEBUG_TIMESTAMP_LEVELS", "^ALL")];
        assert_eq!(shaped(LogLevel::Version, "", &quiet), "count 5\n");
        assert_eq!(shaped(LogLevel::Info, "", &quiet), "H [-1] MCCL INFO count 5\n");
        let warn = shaped(LogLevel::Warn, "abi/guard.rs", &quiet);
        assert_eq!(warn, "\nH [-1] abi/guard.rs:36 (mcclAllReduce) MCCL WARN count 5\n");
        assert_eq!(shaped(LogLevel::Trace, "", &quiet), "H MCCL CALL count 5\n");
        let trace = shaped(LogLevel::Trace, "a.rs", &quiet);
        assert!(
            trace.starts_with("H [-1] ") && trace.ends_with(" mcclAllReduce:36 MCCL TRACE count 5\n"),
            "{trace}"
        );
    }

    #[test]
    fn warnings_carry_a_time_stamp_unless_told_otherwise() {
        let warn = shaped(LogLevel::Warn, "a.rs", &[]);
        let stamp = warn.strip_prefix("\n[").and_then(|rest| rest.split_once("] H [-1] a.rs:36")).unwrap().0;
        assert_eq!(stamp.len(), "2026-01-31 12:34:56".len(), "{stamp}");
        let info = shaped(
            LogLevel::Info,
            "",
            &[("MCCL_DEBUG_TIMESTAMP_LEVELS", "INFO"), ("MCCL_DEBUG_TIMESTAMP_FORMAT", "<%3f>_")],
        );
        assert!(info.starts_with('<') && info[4..].starts_with("> H [-1] MCCL INFO"), "{info}");
    }

    #[test]
    fn a_thread_shows_its_own_number() {
        let (pid, tid) = ids();
        let other = std::thread::spawn(ids).join().unwrap();
        assert_eq!(other.0, pid);
        assert_ne!(other.1, tid);
    }
}
