//! The command line: nccl-tests' flags and defaults, plus `--lib`, `--runtime` and `--nproc`.

use std::ffi::OsString;
use std::path::PathBuf;

use clap::{ArgAction, CommandFactory, FromArgMatches, Parser};

use crate::dtype::{DType, Op};
use crate::error::{Error, Result};

/// Most ranks on one host, threads and devices, that an option may ask for.
const MAX_LOCAL: i64 = 1024;
const MAX_COUNT: i64 = 1 << 30;
const MAX_BYTES: f64 = (1u64 << 50) as f64;

/// What to measure and how.
#[derive(Clone, Debug, PartialEq, Parser)]
#[command(disable_version_flag = true, args_override_self = true)]
pub struct Options {
    /// Threads of each process
    #[arg(short = 't', long = "nthreads", default_value = "1", value_parser = |s: &str| int(s, 1, MAX_LOCAL))]
    pub threads: usize,
    /// Devices of each thread
    #[arg(short = 'g', long = "ngpus", default_value = "1", value_parser = |s: &str| int(s, 1, MAX_LOCAL))]
    pub devices: usize,
    /// Smallest size in bytes (suffixes K, M, G)
    #[arg(short = 'b', long = "minbytes", default_value = "32M", value_parser = size)]
    pub min_bytes: usize,
    /// Largest size in bytes
    #[arg(short = 'e', long = "maxbytes", default_value = "32M", value_parser = size)]
    pub max_bytes: usize,
    /// Bytes from one size to the next
    #[arg(short = 'i', long = "stepbytes", default_value = "1M", value_parser = size)]
    pub step_bytes: usize,
    /// Factor from one size to the next; 1 for steps of --stepbytes
    #[arg(short = 'f', long = "stepfactor", default_value = "1", value_parser = |s: &str| int(s, 1, MAX_COUNT))]
    pub step_factor: usize,
    /// Timed iterations
    #[arg(short = 'n', long = "iters", default_value = "20", value_parser = |s: &str| int(s, 1, MAX_COUNT))]
    pub iters: usize,
    /// Operations put together in one group per iteration
    #[arg(short = 'm', long = "agg_iters", default_value = "1", value_parser = |s: &str| int(s, 1, MAX_COUNT))]
    pub agg_iters: usize,
    /// Warm-up iterations (not timed)
    #[arg(short = 'w', long = "warmup_iters", default_value = "1", value_parser = |s: &str| int(s, 0, MAX_COUNT))]
    pub warmup_iters: usize,
    /// How often to run the whole table; 0 = for ever
    #[arg(short = 'N', long = "run_cycles", default_value = "1", value_parser = |s: &str| int(s, 0, MAX_COUNT))]
    pub run_cycles: usize,
    /// Make communicators from each thread at once <0/1>
    #[arg(short = 'p', long = "parallel_init", default_value = "0", value_parser = flag, action = ArgAction::Set)]
    pub parallel_init: bool,
    /// Check results in so many extra iterations; 0 = do not check
    #[arg(short = 'c', long = "check", default_value = "1", value_parser = |s: &str| int(s, 0, MAX_COUNT))]
    pub check: usize,
    /// sum, prod, max, min, avg, mulsum or all
    #[arg(short = 'o', long = "op", default_value = "sum", value_parser = ops)]
    pub ops: Choice<Op>,
    /// int8, uint8, int32, uint32, int64, uint64, half, float, double, bfloat16, f8e4m3, f8e5m2 or all
    #[arg(short = 'd', long = "datatype", default_value = "float", value_parser = dtypes)]
    pub dtypes: Choice<DType>,
    /// Root rank; -1 for all in turn
    #[arg(short = 'r', long = "root", default_value = "0", allow_hyphen_values = true, value_parser = root)]
    pub root: Root,
    /// 0 = none, 1 = wait and barrier after each operation, 2 = wait after each operation, 3 = wait and barrier after each iteration, barrier not timed
    #[arg(short = 'z', long = "blocking", default_value = "0", value_parser = |s: &str| int(s, 0, 3))]
    pub blocking: usize,
    /// Use the null stream <0/1>
    #[arg(short = 'y', long = "stream_null", default_value = "0", value_parser = flag, action = ArgAction::Set)]
    pub stream_null: bool,
    /// Seconds after which waiting for an operation is given up; 0 = never
    #[arg(short = 'T', long = "timeout", default_value = "0", value_parser = |s: &str| int(s, 0, MAX_COUNT))]
    pub timeout: usize,
    /// Record the iterations in a graph and launch it so often; 0 = no graph
    #[arg(short = 'G', long = "cudagraph", visible_alias = "graph", default_value = "0", value_parser = |s: &str| int(s, 0, MAX_COUNT))]
    pub graph_launches: usize,
    /// Report the time until the calls return instead of until the work is done <0/1>
    #[arg(short = 'C', long = "report_cputime", default_value = "0", value_parser = flag, action = ArgAction::Set)]
    pub report_cputime: bool,
    /// Time to report: 0 = rank 0's, 1 = mean, 2 = smallest, 3 = largest of all ranks
    #[arg(short = 'a', long = "average", default_value = "1", value_parser = |s: &str| int(s, 0, 3))]
    pub average: usize,
    /// Register buffers: 0 = no, 1 = locally, 2 = as symmetric windows
    #[arg(short = 'R', long = "local_register", default_value = "0", value_parser = |s: &str| int(s, 0, 2))]
    pub register: usize,
    /// CTA policy given to the communicators: 0 = default, 1 = efficiency, 2 = zero
    #[arg(short = 'x', long = "cta_policy", value_parser = |s: &str| int(s, 0, 2))]
    pub cta_policy: Option<usize>,
    /// Device implementation: only 0, as these programs bring no device code
    #[arg(short = 'D', long = "device_implementation", default_value = "0", value_parser = no_device_code)]
    pub device_implementation: usize,
    /// CTAs of a device implementation: accepted, of no effect without one
    #[arg(short = 'V', long = "device_cta_count", default_value = "16", value_parser = |s: &str| int(s, 1, 128))]
    pub device_cta_count: usize,
    /// Print the time of each row <0/1>
    #[arg(short = 'S', long = "report_timestamps", default_value = "0", value_parser = flag, action = ArgAction::Set)]
    pub report_timestamps: bool,
    /// Write results to this file too (name ends in .json)
    #[arg(short = 'J', long = "output_file")]
    pub output_file: Option<PathBuf>,
    /// Report memory use <0/1>
    #[arg(short = 'M', long = "memory", default_value = "0", value_parser = flag, action = ArgAction::Set)]
    pub memory: bool,
    /// Elements by which buffers are moved off their alignment
    #[arg(short = 'u', long = "unalign", default_value = "0", value_parser = |s: &str| int(s, 0, 4096))]
    pub unalign: usize,
    /// Time each iteration with events and report min, max, p99 and variation <0/1>
    #[arg(short = 'I', long = "per_iter_timing", default_value = "0", value_parser = flag, action = ArgAction::Set)]
    pub per_iter: bool,
    /// Leading iterations left out of the summary of -I
    #[arg(short = 'K', long = "per_iter_skip", default_value = "0", value_parser = |s: &str| int(s, 0, MAX_COUNT))]
    pub per_iter_skip: usize,
    /// The library to measure (default: libmccl beside this program, then on the loader's path)
    #[arg(long = "lib", value_name = "PATH")]
    pub library: Option<PathBuf>,
    /// The device runtime to use (default: libmusart, found likewise)
    #[arg(long = "runtime", value_name = "PATH")]
    pub runtime: Option<PathBuf>,
    /// Start so many processes on this host, each with threads x devices ranks
    #[arg(long = "nproc", value_name = "N", value_parser = |s: &str| int(s, 1, MAX_LOCAL))]
    pub nproc: Option<usize>,
}

/// One value of an option, or all that exist.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Choice<T> {
    One(T),
    All,
}

impl<T: Copy> Choice<T> {
    /// The values to run, out of `all`.
    pub fn pick(self, all: &[T]) -> Vec<T> {
        match self {
            Self::One(value) => vec![value],
            Self::All => all.to_vec(),
        }
    }
}

/// The rank that is root, or each in turn.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Root {
    Rank(usize),
    All,
}

impl Options {
    /// Reads the command line of `program`. Help and errors are printed, and end the process with status 0 or 2.
    pub fn from_command_line(program: &'static str, about: &'static str, args: impl IntoIterator<Item = OsString>) -> Self {
        let command = Self::command().name(program).about(about);
        let parsed = command.try_get_matches_from(args).and_then(|m| Self::from_arg_matches(&m));
        parsed.unwrap_or_else(|error| error.exit())
    }

    /// Checks what depends on more than one option.
    pub fn validate(&self) -> Result<()> {
        let fault = |condition: bool, text: String| if condition { Err(Error::usage(text)) } else { Ok(()) };
        let (min, max) = (self.min_bytes, self.max_bytes);
        fault(min > max, format!("-b, --minbytes: {min}, more than -e, --maxbytes, allowed 0 to {max}"))?;
        fault(
            self.step_factor == 1 && self.step_bytes == 0 && min < max,
            "-i, --stepbytes: 0, would never reach -e, --maxbytes, allowed 1 and up".to_string(),
        )?;
        fault(
            self.step_factor > 1 && min == 0 && max > 0,
            "-b, --minbytes: 0, cannot grow by -f, --stepfactor, allowed 1 and up".to_string(),
        )?;
        let graph = self.graph_launches > 0;
        fault(graph && self.blocking > 0, format!("-z, --blocking: {}, a graph cannot be waited for while it is recorded (-G), allowed 0", self.blocking))?;
        fault(graph && self.per_iter, "-I, --per_iter_timing: 1, iterations in a graph (-G) are not timed one by one, allowed 0".to_string())?;
        fault(graph && self.stream_null, "-y, --stream_null: 1, the null stream cannot be recorded in a graph (-G), allowed 0".to_string())?;
        let skip = self.per_iter_skip;
        fault(skip > 0 && !self.per_iter, format!("-K, --per_iter_skip: {skip}, needs -I 1, allowed 0"))?;
        fault(skip >= self.iters, format!("-K, --per_iter_skip: {skip}, leaves no iteration, allowed 0 to {}", self.iters - 1))?;
        let json = |p: &PathBuf| p.extension().is_some_and(|e| e.eq_ignore_ascii_case("json"));
        let file = self.output_file.as_ref().filter(|p| !json(p)).map(|p| p.display().to_string());
        fault(file.is_some(), format!("-J, --output_file: {}, unknown format, allowed names that end in .json", file.unwrap_or_default()))
    }

    /// The sizes to run, in bytes, from the smallest on.
    pub fn sizes(&self) -> impl Iterator<Item = usize> + use<> {
        let (factor, step, max) = (self.step_factor, self.step_bytes, self.max_bytes);
        std::iter::successors(Some(self.min_bytes), move |&size| {
            let next = if factor > 1 { size.checked_mul(factor) } else { size.checked_add(step) };
            next.filter(|&next| next > size)
        })
        .take_while(move |&size| size <= max)
    }
}

/// An integer, decimal or 0x…, within bounds.
fn int(text: &str, low: i64, high: i64) -> std::result::Result<usize, String> {
    let number = match text.strip_prefix("0x").or(text.strip_prefix("0X")) {
        Some(digits) => i64::from_str_radix(digits, 16),
        None => text.parse(),
    };
    match number {
        Ok(n) if (low..=high).contains(&n) => Ok(n as usize),
        Ok(_) => Err(format!("allowed {low} to {high}")),
        Err(_) => Err(format!("not an integer, allowed {low} to {high}")),
    }
}

fn flag(text: &str) -> std::result::Result<bool, String> {
    int(text, 0, 1).map(|n| n == 1)
}

/// Bytes, with an optional binary suffix: 8, 64K, 1.5M, 1GB.
pub fn size(text: &str) -> std::result::Result<usize, String> {
    let expected = || "not a size, allowed 0 to 1024T as a number with an optional K, M, G or T".to_string();
    let text = text.trim();
    let end = text.find(|c: char| c.is_ascii_alphabetic()).unwrap_or(text.len());
    let unit = match text[end..].to_ascii_uppercase().as_str() {
        "" | "B" => 0,
        "K" | "KB" | "KIB" => 10,
        "M" | "MB" | "MIB" => 20,
        "G" | "GB" | "GIB" => 30,
        "T" | "TB" | "TIB" => 40,
        _ => return Err(expected()),
    };
    let number: f64 = text[..end].trim().parse().map_err(|_| expected())?;
    let bytes = number * (1u64 << unit) as f64;
    if (0.0..=MAX_BYTES).contains(&bytes) { Ok(bytes as usize) } else { Err(expected()) }
}

fn ops(text: &str) -> std::result::Result<Choice<Op>, String> {
    named(text, &Op::ALL, Op::name)
}

fn dtypes(text: &str) -> std::result::Result<Choice<DType>, String> {
    let text = match text {
        "char" => "int8",
        "int" => "int32",
        "float16" | "fp16" => "half",
        "float32" | "fp32" => "float",
        "float64" | "fp64" => "double",
        "bf16" => "bfloat16",
        "fp8e4m3" | "float8e4m3" => "f8e4m3",
        "fp8e5m2" | "float8e5m2" => "f8e5m2",
        other => other,
    };
    named(text, &DType::ALL, DType::name)
}

fn named<T: Copy>(
    text: &str,
    all: &[T],
    name: impl Fn(T) -> &'static str,
) -> std::result::Result<Choice<T>, String> {
    if text == "all" {
        return Ok(Choice::All);
    }
    let found = all.iter().copied().find(|&value| name(value) == text).map(Choice::One);
    found.ok_or_else(|| {
        let names: Vec<&str> = all.iter().map(|&value| name(value)).collect();
        format!("unknown, allowed {} or all", names.join(", "))
    })
}

fn root(text: &str) -> std::result::Result<Root, String> {
    match text {
        "-1" | "all" => Ok(Root::All),
        _ => int(text, 0, i64::from(i32::MAX))
            .map(Root::Rank)
            .map_err(|_| "allowed -1 (all) or a rank from 0 on".to_string()),
    }
}

fn no_device_code(text: &str) -> std::result::Result<usize, String> {
    int(text, 0, 0).map_err(|_| "these programs bring no device code, allowed 0".to_string())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn parse(args: &[&str]) -> std::result::Result<Options, String> {
        let args = std::iter::once("all_reduce_perf").chain(args.iter().copied());
        Options::try_parse_from(args).map_err(|e| e.to_string())
    }

    #[test]
    fn defaults_are_those_of_nccl_tests() {
        let o = parse(&[]).unwrap();
        assert_eq!((o.threads, o.devices, o.min_bytes, o.max_bytes), (1, 1, 32 << 20, 32 << 20));
        assert_eq!((o.step_bytes, o.step_factor, o.iters, o.warmup_iters), (1 << 20, 1, 20, 1));
        assert_eq!((o.agg_iters, o.run_cycles, o.check, o.average), (1, 1, 1, 1));
        assert_eq!((o.ops, o.dtypes, o.root), (Choice::One(Op::Sum), Choice::One(DType::Float), Root::Rank(0)));
        assert_eq!((o.blocking, o.timeout, o.graph_launches, o.register, o.unalign), (0, 0, 0, 0, 0));
        assert_eq!((o.device_implementation, o.device_cta_count, o.cta_policy), (0, 16, None));
        assert!(!o.parallel_init && !o.stream_null && !o.report_cputime && !o.memory && !o.per_iter);
        o.validate().unwrap();
    }

    #[test]
    fn every_flag_has_its_short_and_long_form() {
        let short = "-t 2 -g 3 -b 8 -e 1K -i 16 -f 4 -n 5 -m 6 -w 7 -N 8 -p 1 -c 2 -o max -d half -r -1 -z 2 -y 1 -T 9 -G 0 -C 1 -a 3 -R 2 -x 1 -D 0 -V 8 -S 1 -J r.json -M 1 -u 3 -I 1 -K 2";
        let long = "--nthreads 2 --ngpus 3 --minbytes 8 --maxbytes 1K --stepbytes 16 --stepfactor 4 --iters 5 --agg_iters 6 --warmup_iters 7 --run_cycles 8 --parallel_init 1 --check 2 --op max --datatype half --root -1 --blocking 2 --stream_null 1 --timeout 9 --cudagraph 0 --report_cputime 1 --average 3 --local_register 2 --cta_policy 1 --device_implementation 0 --device_cta_count 8 --report_timestamps 1 --output_file r.json --memory 1 --unalign 3 --per_iter_timing 1 --per_iter_skip 2";
        let split = |text: &'static str| text.split(' ').collect::<Vec<_>>();
        let (a, b) = (parse(&split(short)).unwrap(), parse(&split(long)).unwrap());
        assert_eq!(a, b);
        assert_eq!((a.root, a.max_bytes, a.per_iter_skip), (Root::All, 1024, 2));
        assert_eq!(parse(&["-t2", "--ngpus=4"]).unwrap().threads, 2);
    }

    #[test]
    fn sizes_take_binary_suffixes_and_fractions() {
        assert_eq!(size("8"), Ok(8));
        assert_eq!(size("1.5K"), Ok(1536));
        assert_eq!(size("2m"), Ok(2 << 20));
        assert_eq!(size("1GB"), Ok(1 << 30));
        assert_eq!(size("1e3"), Err(size("x").unwrap_err()));
        for bad in ["-1", "", "K", "8X", "nan", "inf", "99999T"] {
            assert!(size(bad).is_err(), "{bad}");
        }
    }

    #[test]
    fn errors_name_the_flag_the_value_and_the_range() {
        for (args, parts) in [
            (&["-g", "0"][..], &["--ngpus", "'0'", "allowed 1 to 1024"][..]),
            (&["-z", "7"], &["--blocking", "'7'", "allowed 0 to 3"]),
            (&["-o", "xor"], &["--op", "'xor'", "sum, prod"]),
            (&["-d", "int9"], &["--datatype", "'int9'", "bfloat16"]),
            (&["-b", "8Q"], &["--minbytes", "'8Q'", "not a size"]),
            (&["-D", "1"], &["--device_implementation", "'1'", "no device code"]),
            (&["-r", "-2"], &["--root", "'-2'", "-1 (all)"]),
        ] {
            let error = parse(args).unwrap_err();
            for part in parts {
                assert!(error.contains(part), "{args:?}: {error}");
            }
        }
    }

    #[test]
    fn combinations_that_cannot_work_are_refused() {
        for (args, part) in [
            ("-b 2M -e 1M", "--minbytes"),
            ("-b 0 -e 8 -i 0", "--stepbytes"),
            ("-b 0 -e 8 -f 2", "--minbytes"),
            ("-G 1 -z 1", "--blocking"),
            ("-G 1 -I 1", "--per_iter_timing"),
            ("-G 1 -y 1", "--stream_null"),
            ("-K 1", "--per_iter_skip"),
            ("-I 1 -n 4 -K 4", "--per_iter_skip"),
            ("-J out.txt", "--output_file"),
        ] {
            let error = parse(&args.split(' ').collect::<Vec<_>>()).unwrap().validate().unwrap_err();
            assert!(error.to_string().contains(part), "{args}: {error}");
            assert_eq!(error.status(), crate::error::EXIT_USAGE);
        }
    }

    #[test]
    fn sizes_step_by_factor_or_by_bytes() {
        let sizes = |args: &str| {
            parse(&args.split(' ').collect::<Vec<_>>()).unwrap().sizes().collect::<Vec<_>>()
        };
        assert_eq!(sizes("-b 8 -e 64 -f 2"), [8, 16, 32, 64]);
        assert_eq!(sizes("-b 1M -e 3M"), [1 << 20, 2 << 20, 3 << 20]);
        assert_eq!(sizes("-b 0 -e 0 -f 2"), [0]);
        assert_eq!(sizes("-b 0 -e 4 -i 2"), [0, 2, 4]);
    }
}
