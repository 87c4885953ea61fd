//! Log lines in the shape users of this API family know: `host:pid:tid [dev] MCCL INFO text`.
//!
//! The macros test one atomic word and do nothing more when their line is not wanted. Lines travel as `tracing` events
//! through a dispatcher of our own; nothing global is set, so a Rust program around the library sees none of it.
use std::cell::Cell;
use std::fmt;
use std::panic::Location;
use std::sync::atomic::{AtomicU32, Ordering};
use std::sync::{Mutex, OnceLock, PoisonError};
use std::time::Instant;

use crate::base::env::{Env, LogLevel};

mod line;
mod sink;

/// Subsystems that `MCCL_DEBUG_SUBSYS` selects.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u8)]
pub enum Subsys {
    Init,
    Coll,
    P2p,
    Shm,
    Net,
    Graph,
    Tuning,
    Env,
    Alloc,
    Call,
    Proxy,
    Nvls,
    Bootstrap,
    Reg,
    Profile,
    Ras,
    AllocHost,
    Destroy,
}

impl Subsys {
    pub(crate) const NAMED: [(&'static str, Self); 18] = [
        ("INIT", Self::Init),
        ("COLL", Self::Coll),
        ("P2P", Self::P2p),
        ("SHM", Self::Shm),
        ("NET", Self::Net),
        ("GRAPH", Self::Graph),
        ("TUNING", Self::Tuning),
        ("ENV", Self::Env),
        ("ALLOC", Self::Alloc),
        ("CALL", Self::Call),
        ("PROXY", Self::Proxy),
        ("NVLS", Self::Nvls),
        ("BOOTSTRAP", Self::Bootstrap),
        ("REG", Self::Reg),
        ("PROFILE", Self::Profile),
        ("RAS", Self::Ras),
        ("ALLOC_HOST", Self::AllocHost),
        ("DESTROY", Self::Destroy),
    ];

    /// Its bit in a mask of subsystems.
    pub const fn bit(self) -> u32 {
        1 << self as u32
    }
}

/// `info!(Init, "comm {comm:p} rank {rank}")`: a line of level INFO when that subsystem is selected.
#[macro_export]
macro_rules! info {
    ($subsys:ident, $($arg:tt)*) => {
        if $crate::base::log::enabled($crate::base::env::LogLevel::Info, $crate::base::log::Subsys::$subsys) {
            $crate::base::log::info(format_args!($($arg)*));
        }
    };
}

/// `trace!(Net, "…")`: a line of level TRACE with time and place.
#[macro_export]
macro_rules! trace {
    ($subsys:ident, $($arg:tt)*) => {
        if $crate::base::log::enabled($crate::base::env::LogLevel::Trace, $crate::base::log::Subsys::$subsys) {
            $crate::base::log::trace(module_path!(), format_args!($($arg)*));
        }
    };
}

/// `call!("mcclAllReduce({send:p}, …)")`: one line per call of the API, level TRACE, subsystem CALL.
#[macro_export]
macro_rules! call {
    ($($arg:tt)*) => {
        if $crate::base::log::enabled($crate::base::env::LogLevel::Trace, $crate::base::log::Subsys::Call) {
            $crate::base::log::call(format_args!($($arg)*));
        }
    };
}

/// `warn_!("…")`: a line of level WARN; also becomes the last-error text, whatever the level of the log.
/// Only for what the caller of the API does not get as an error: errors are logged once, at the boundary.
#[macro_export]
macro_rules! warn_ {
    ($($arg:tt)*) => { $crate::base::log::warn(module_path!(), format_args!($($arg)*)) };
}

/// Whether a line of this level and subsystem is wanted. One relaxed load.
#[inline]
pub fn enabled(level: LogLevel, subsys: Subsys) -> bool {
    let state = STATE.load(Ordering::Relaxed);
    if state == UNREAD {
        return enabled_after_reading(level, subsys);
    }
    selects(state, level, subsys)
}

/// Prints a version line once per process, bare, at every level except none.
pub fn banner(text: &str) {
    static PRINTED: OnceLock<()> = OnceLock::new();
    if level() >= LogLevel::Version && PRINTED.set(()).is_ok() {
        line::emit(&line::Line {
            level: LogLevel::Version,
            place: None,
            func: "",
            text: format_args!("{text}"),
        });
    }
}

/// The level of the log.
pub fn level() -> LogLevel {
    Env::get().debug
}

/// Text of the last WARN of the process, without its prefix.
pub fn last_error() -> String {
    LAST_ERROR.lock().unwrap_or_else(PoisonError::into_inner).clone()
}

/// Replaces the text of the last WARN without writing a line, for what was already told once.
pub fn set_last_error(text: fmt::Arguments<'_>) {
    *LAST_ERROR.lock().unwrap_or_else(PoisonError::into_inner) = text.to_string();
}

/// Tells the log how to find the device of the calling thread, for the number in brackets. The first caller wins.
pub fn set_device_source(source: fn() -> Option<i32>) {
    let _ = DEVICE_SOURCE.set(source);
}

/// Fixes the device number in lines of this thread; for threads that serve one communicator.
pub fn set_thread_device(device: i32) {
    THREAD_DEVICE.set(Some(device));
}

#[doc(hidden)]
pub fn info(text: fmt::Arguments<'_>) {
    line::emit(&line::Line { level: LogLevel::Info, place: None, func: "", text });
}

#[doc(hidden)]
#[track_caller]
pub fn trace(module: &'static str, text: fmt::Arguments<'_>) {
    line::emit(&line::Line {
        level: LogLevel::Trace,
        place: Some(Location::caller()),
        func: short(module),
        text,
    });
}

#[doc(hidden)]
pub fn call(text: fmt::Arguments<'_>) {
    line::emit(&line::Line { level: LogLevel::Trace, place: None, func: "", text });
}

#[doc(hidden)]
#[track_caller]
pub fn warn(module: &'static str, text: fmt::Arguments<'_>) {
    warn_at(Location::caller(), short(module), text);
}

/// A WARN line that names `place` and `func`.
pub fn warn_at(place: &'static Location<'static>, func: &str, text: fmt::Arguments<'_>) {
    set_last_error(text);
    if level() >= LogLevel::Warn {
        line::emit(&line::Line { level: LogLevel::Warn, place: Some(place), func, text });
    }
}

/// Milliseconds since the log was first used.
pub(crate) fn elapsed_ms() -> f64 {
    static START: OnceLock<Instant> = OnceLock::new();
    START.get_or_init(Instant::now).elapsed().as_secs_f64() * 1e3
}

/// The number in brackets: the device of the calling thread, -1 when nobody knows.
pub(crate) fn device() -> i32 {
    THREAD_DEVICE.get().or_else(|| DEVICE_SOURCE.get().and_then(|source| source())).unwrap_or(-1)
}

/// Level in the low three bits, mask of subsystems above, all bits set before the environment was read.
static STATE: AtomicU32 = AtomicU32::new(UNREAD);
const UNREAD: u32 = u32::MAX;
const LEVEL_BITS: u32 = 3;

static LAST_ERROR: Mutex<String> = Mutex::new(String::new());
static DEVICE_SOURCE: OnceLock<fn() -> Option<i32>> = OnceLock::new();

thread_local! {
    static THREAD_DEVICE: Cell<Option<i32>> = const { Cell::new(None) };
}

fn selects(state: u32, level: LogLevel, subsys: Subsys) -> bool {
    let wanted = state & ((1 << LEVEL_BITS) - 1) >= level as u32;
    wanted && (state >> LEVEL_BITS) & subsys.bit() != 0
}

#[cold]
fn enabled_after_reading(level: LogLevel, subsys: Subsys) -> bool {
    elapsed_ms();
    let env = Env::get();
    let state = env.debug as u32 | (env.debug_subsys.0 << LEVEL_BITS);
    // Every thread computes the same value, so whose store comes last does not matter.
    STATE.store(state, Ordering::Relaxed);
    selects(state, level, subsys)
}

/// The last part of a module path, which stands for the function name in lines.
fn short(module: &'static str) -> &'static str {
    module.rsplit("::").next().unwrap_or(module)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_state_word_selects_by_level_and_subsystem() {
        let state = LogLevel::Info as u32 | (Subsys::Net.bit() << LEVEL_BITS);
        assert!(selects(state, LogLevel::Info, Subsys::Net));
        assert!(selects(state, LogLevel::Warn, Subsys::Net));
        assert!(!selects(state, LogLevel::Trace, Subsys::Net));
        assert!(!selects(state, LogLevel::Info, Subsys::Init));
    }
}
