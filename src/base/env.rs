//! Every environment variable of the library, in one struct that is read once.
//!
//! A value that cannot be used never stops the reading: the default is taken and a [`Problem`] is recorded, which names
//! the variable, the value and what is allowed. Names without a setting are left alone, since frameworks use the
//! same prefix for their own.
use std::collections::BTreeMap;
use std::fmt;
use std::path::PathBuf;
use std::sync::OnceLock;

use serde::Deserialize;

mod accepted;
mod value;

pub use accepted::{ACCEPTED, Accepted};
pub use value::{AddressFamily, LogLevel, LogLevels, Parse, Subsystems, TimestampFormat};

/// What all variables begin with.
pub const PREFIX: &str = "MCCL_";

/// A value that was set and could not be used.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Problem {
    /// Full name, as the user typed it.
    pub variable: String,
    pub value: String,
    /// What would have been understood.
    pub allowed: &'static str,
}

impl fmt::Display for Problem {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}: '{}' is not usable, allowed: {}", self.variable, self.value, self.allowed)
    }
}

/// One row of docs/ENV.md.
#[derive(Clone, Copy, Debug)]
pub struct Doc {
    /// Field name; the variable is the prefix and this in capitals.
    pub field: &'static str,
    pub values: &'static str,
    pub default: &'static str,
    pub meaning: &'static str,
}

/// Declares the settings once: the struct that `serde` fills, the struct that the library reads, and the documentation.
macro_rules! settings {
    ($($(#[doc = $doc:literal])+ $field:ident: $type:ty = $default:expr, $shown:literal;)+) => {
        /// The text of each variable, as `envy` hands it over.
        #[derive(Default, Deserialize)]
        #[serde(default)]
        struct Raw { $($field: Option<String>,)+ }

        /// The settings of a process.
        #[derive(Clone, Debug)]
        pub struct Env {
            $($(#[doc = $doc])+ pub $field: $type,)+
            /// Values that were set and not used, in the order of the fields.
            pub problems: Vec<Problem>,
            /// What was set to something not empty: full name and text, sorted by name.
            pub set: BTreeMap<String, String>,
        }

        impl Env {
            fn from_raw(raw: Raw, set: BTreeMap<String, String>) -> Self {
                let mut problems = Vec::new();
                Self {
                    $($field: usable(stringify!($field), raw.$field, &mut problems).unwrap_or_else(|| $default),)+
                    problems,
                    set,
                }
            }
        }

        /// The documentation of every field of [`Env`].
        pub const SETTINGS: &[Doc] = &[$(Doc {
            field: stringify!($field),
            values: <$type as Parse>::ALLOWED,
            default: $shown,
            meaning: concat!($($doc),+),
        },)+];
    };
}

settings! {
    /// How much is logged. `VERSION` prints the version line only, each later level adds to the one before.
    debug: LogLevel = LogLevel::None, "nothing";
    /// Which subsystems INFO and TRACE lines come from; a leading `^` takes the named ones away from ALL.
    debug_subsys: Subsystems = Subsystems::default(), "INIT,BOOTSTRAP,ENV";
    /// Write the log to this file, which is emptied first; `%h` is the host name, `%p` the process id, `%%` a percent sign.
    debug_file: Option<String> = None, "standard output";
    /// Time stamp of log lines in the notation of strftime, and once `%Nf` for N digits of the second's fraction; `_` stands for a blank.
    debug_timestamp_format: TimestampFormat = TimestampFormat::default(), "[%F %T]_";
    /// Which levels carry a time stamp; a leading `^` takes the named ones away from ALL.
    debug_timestamp_levels: LogLevels = LogLevels::default(), "WARN";
    /// Algorithms that may be chosen, Ring and Flat: `[function:][^]name,…`, several of them parted by `;`. Others of the API family are known and run as something else.
    algo: Option<String> = None, "all";
    /// Protocols that may be chosen, in the syntax of MCCL_ALGO. This version has Simple; LL and LL128 are known and run as that.
    proto: Option<String> = None, "all";
    /// Network interfaces: prefixes parted by commas; a leading `^` excludes, a leading `=` asks for whole names.
    socket_ifname: Option<String> = None, "chosen by kind and address";
    /// Address family of sockets.
    socket_family: AddressFamily = AddressFamily::Any, "both";
    /// Fixed rendezvous address on which rank 0 listens: `a.b.c.d:port`, `[v6]:port` or `host:port`.
    comm_id: Option<String> = None, "none";
    /// Identity of this host in place of the detected one; ranks with the same text share memory.
    hostid: Option<String> = None, "detected";
    /// 1: do not read memory of peers directly.
    p2p_disable: bool = false, "0";
    /// 1: do not use shared memory between processes.
    shm_disable: bool = false, "0";
    /// Bytes of the buffer of one connection.
    buffsize: Bytes = Bytes(4 << 20), "4194304";
    /// Seconds until the creation of a communicator gives up; 0 waits for ever.
    init_timeout: Seconds = Seconds(600), "600";
    /// Seconds without progress until an operation gives up; 0 waits for ever.
    timeout: Seconds = Seconds(1800), "1800";
    /// Device runtime to load, a path or a file name; `emu` takes the emulated one beside this library. `staged`, or `staged:` and one of these, uses it through its public functions only: data goes through pinned host memory.
    device_runtime: Option<String> = None, "the process's own, a real one, the emulated one";
}

/// A time in seconds; 0 means without limit.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Seconds(pub u32);

impl Seconds {
    /// The limit as a duration; `None` waits for ever.
    pub fn limit(self) -> Option<std::time::Duration> {
        (self.0 > 0).then(|| std::time::Duration::from_secs(self.0.into()))
    }
}

/// A size in bytes that is at least one page and at most 1 GiB.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Bytes(pub usize);

impl Env {
    /// The settings of this process, read on first use: the environment, then what configuration files add.
    pub fn get() -> &'static Env {
        static ENV: OnceLock<Env> = OnceLock::new();
        ENV.get_or_init(|| {
            let mut vars: BTreeMap<String, String> = std::env::vars_os()
                .filter_map(|(name, value)| {
                    let name = name.into_string().ok().filter(|name| name.starts_with(PREFIX))?;
                    Some((name, value.to_string_lossy().into_owned()))
                })
                .collect();
            for path in config_files(&vars) {
                if let Ok(text) = std::fs::read_to_string(path) {
                    add_config(&mut vars, &text);
                }
            }
            Env::from_vars(vars)
        })
    }

    /// Settings from names (with prefix) and texts. An empty text counts as not set.
    pub fn from_vars(vars: impl IntoIterator<Item = (String, String)>) -> Env {
        let set: BTreeMap<String, String> =
            vars.into_iter().filter(|(name, text)| name.starts_with(PREFIX) && !text.is_empty()).collect();
        // Every field is an optional text, which no text fails to be.
        let raw = envy::prefixed(PREFIX).from_iter(set.clone()).unwrap_or_default();
        let mut env = Env::from_raw(raw, set);
        // Who asks for a log in a word that is not known is told so, and for that there must be a log.
        if env.problems.iter().any(|problem| problem.variable == "MCCL_DEBUG") {
            env.debug = LogLevel::Warn;
        }
        env
    }

    /// The set variables that this version reads without effect.
    pub fn without_effect(&self) -> impl Iterator<Item = (&str, &Accepted)> {
        self.set.keys().filter_map(|name| {
            let short = name.strip_prefix(PREFIX)?;
            ACCEPTED.iter().find(|entry| entry.name == short).map(|entry| (name.as_str(), entry))
        })
    }
}

fn usable<T: Parse>(field: &str, text: Option<String>, problems: &mut Vec<Problem>) -> Option<T> {
    let text = text?;
    let parsed = T::parse(&text);
    if parsed.is_none() {
        let variable = format!("{PREFIX}{}", field.to_ascii_uppercase());
        problems.push(Problem { variable, value: text, allowed: T::ALLOWED });
    }
    parsed
}

/// Files that fill in what the environment leaves open: the named one or the one at home, then the machine's.
fn config_files(vars: &BTreeMap<String, String>) -> Vec<PathBuf> {
    let named = vars.get("MCCL_CONF_FILE").filter(|path| !path.is_empty()).map(PathBuf::from);
    let home = || std::env::var_os("HOME").map(|home| PathBuf::from(home).join(".mccl.conf"));
    named.or_else(home).into_iter().chain([PathBuf::from("/etc/mccl.conf")]).collect()
}

/// Adds the `NAME=VALUE` lines of a configuration file for names that are not set yet.
fn add_config(vars: &mut BTreeMap<String, String>, text: &str) {
    for line in text.lines().map(str::trim).filter(|line| !line.starts_with('#')) {
        if let Some((name, value)) = line.split_once('=')
            && name.starts_with(PREFIX)
        {
            vars.entry(name.to_string()).or_insert_with(|| value.to_string());
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn env(vars: &[(&str, &str)]) -> Env {
        Env::from_vars(vars.iter().map(|(name, text)| (name.to_string(), text.to_string())))
    }

    #[test]
    fn an_empty_environment_gives_the_defaults() {
        let env = env(&[]);
        assert_eq!(env.debug, LogLevel::None);
        assert_eq!(env.buffsize, Bytes(4194304));
        assert_eq!((env.init_timeout, env.timeout), (Seconds(600), Seconds(1800)));
        assert!(!env.p2p_disable && env.comm_id.is_none() && env.problems.is_empty());
    }

    #[test]
    fn a_bad_value_is_recorded_and_the_others_are_still_read() {
        let env =
            env(&[("MCCL_P2P_DISABLE", "yes please"), ("MCCL_BUFFSIZE", "20480000"), ("MCCL_TIMEOUT", "4M")]);
        assert_eq!(env.buffsize, Bytes(20480000));
        assert!(!env.p2p_disable);
        let texts: Vec<String> = env.problems.iter().map(Problem::to_string).collect();
        assert_eq!(
            texts,
            [
                "MCCL_P2P_DISABLE: 'yes please' is not usable, allowed: 0 or 1",
                "MCCL_TIMEOUT: '4M' is not usable, allowed: whole number, 0 to 4294967295",
            ]
        );
    }

    #[test]
    fn an_unknown_log_level_is_reported_in_a_log() {
        let env = env(&[("MCCL_DEBUG", "LOUD")]);
        assert_eq!(env.debug, LogLevel::Warn);
        assert_eq!(env.problems[0].variable, "MCCL_DEBUG");
    }

    #[test]
    fn names_of_frameworks_are_left_alone() {
        let env = env(&[("MCCL_BLOCKING_WAIT", "1"), ("TORCH_MCCL_TRACE", "x"), ("MCCL_DEBUG", "")]);
        assert!(env.problems.is_empty());
        assert_eq!(env.without_effect().count(), 0);
        assert_eq!(env.set.len(), 1);
    }

    #[test]
    fn known_names_without_effect_are_listed() {
        let env = env(&[("MCCL_IB_TIMEOUT", "22")]);
        let names: Vec<&str> = env.without_effect().map(|(name, _)| name).collect();
        assert_eq!(names, ["MCCL_IB_TIMEOUT"]);
    }

    #[test]
    fn a_configuration_file_fills_only_what_is_not_set() {
        let mut vars = BTreeMap::from([("MCCL_DEBUG".to_string(), "WARN".to_string())]);
        add_config(&mut vars, "# MCCL_ALGO=Tree\nMCCL_DEBUG=INFO\nMCCL_SOCKET_IFNAME==ens1f0\nPATH=/tmp\n");
        assert_eq!(vars["MCCL_DEBUG"], "WARN");
        assert_eq!(vars["MCCL_SOCKET_IFNAME"], "=ens1f0");
        assert_eq!(vars.len(), 2);
    }

    #[test]
    fn no_name_is_both_a_setting_and_accepted_without_effect() {
        for entry in ACCEPTED {
            let field = entry.name.to_ascii_lowercase();
            assert!(SETTINGS.iter().all(|doc| doc.field != field), "{field} is in both tables");
        }
        let mut names: Vec<&str> = ACCEPTED.iter().map(|entry| entry.name).collect();
        names.sort_unstable();
        names.dedup();
        assert_eq!(names.len(), ACCEPTED.len(), "a name stands twice");
    }
}
