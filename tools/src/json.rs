//! The JSON file of `-J`: the same keys as nccl-tests' file format 3, rewritten after each row.

use std::fs::File;
use std::io::{ErrorKind, Seek, Write};
use std::path::{Path, PathBuf};

use serde_json::{Map, Value, json};

use crate::cli::Options;
use crate::error::{Error, Result};
use crate::sys;
use crate::table::{Figures, IterStats};

const FORMAT: i32 = 3;
/// Names that are tried when the file exists: `file`, `file.0`, `file.1` …
const MAX_NAMES: usize = 1000;

/// The report under way.
pub struct Report {
    file: File,
    pub path: PathBuf,
    root: Map<String, Value>,
}

impl Report {
    /// Makes a new file at `path`, or beside it if that exists.
    pub fn create(path: &Path) -> Result<Self> {
        let (file, path) = create_new(path)?;
        let mut root = Map::new();
        root.insert("version".into(), json!(FORMAT));
        root.insert("start_time".into(), json!(sys::now()));
        root.insert("args".into(), json!(std::env::args_os().map(|a| a.to_string_lossy().into_owned()).collect::<Vec<_>>()));
        let variables = std::env::vars_os().map(|(k, v)| format!("{}={}", k.to_string_lossy(), v.to_string_lossy()));
        root.insert("env".into(), json!(variables.collect::<Vec<_>>()));
        Ok(Self { file, path, root })
    }

    pub fn set(&mut self, key: &str, value: Value) {
        self.root.insert(key.into(), value);
    }

    /// Adds a row to the results and writes the file.
    pub fn add_row(&mut self, row: Value) -> Result<()> {
        if let Value::Array(rows) = self.root.entry("results").or_insert_with(|| json!([])) {
            rows.push(row);
        }
        self.save()
    }

    /// Writes the file.
    pub fn save(&mut self) -> Result<()> {
        let text = Value::Object(self.root.clone()).to_string();
        let write = |file: &mut File| {
            file.rewind()?;
            file.set_len(0)?;
            file.write_all(text.as_bytes())
        };
        write(&mut self.file).map_err(|e| Error::failed(format!("-J, --output_file: {}: {e}", self.path.display())))
    }

    /// The end of the run.
    pub fn finish(mut self, errors: u64, average: f64, wanted: Option<bool>, last_error: Option<String>) -> Result<()> {
        let okay = wanted.map_or("unchecked".to_string(), |okay| okay.to_string());
        self.set("out_of_bounds", json!({ "count": errors, "okay": (errors == 0).to_string() }));
        self.set("average_bus_bandwidth", json!({ "bandwidth": average, "okay": okay }));
        self.set("errors", json!(last_error.into_iter().collect::<Vec<_>>()));
        self.set("end_time", json!(sys::now()));
        self.save()
    }
}

fn create_new(path: &Path) -> Result<(File, PathBuf)> {
    let names = std::iter::once(path.to_path_buf())
        .chain((0..MAX_NAMES).map(|i| PathBuf::from(format!("{}.{i}", path.display()))));
    for name in names {
        match File::create_new(&name) {
            Ok(file) => return Ok((file, name)),
            Err(error) if error.kind() == ErrorKind::AlreadyExists => continue,
            Err(error) => return Err(Error::usage(format!("-J, --output_file: {}: {error}", name.display()))),
        }
    }
    Err(Error::usage(format!("-J, --output_file: {}: it and {MAX_NAMES} names beside it exist", path.display())))
}

/// The options of the run, with the devices by rank.
pub fn config(o: &Options, devices: Vec<Value>) -> Value {
    let mut config = Map::new();
    let mut put = |key: &str, value: Value| config.insert(key.into(), value);
    put("nthreads", json!(o.threads));
    put("ngpus", json!(o.devices));
    put("minimum_bytes", json!(o.min_bytes));
    put("maximum_bytes", json!(o.max_bytes));
    match o.step_factor {
        1 => put("step_bytes", json!(o.step_bytes)),
        factor => put("step_factor", json!(factor)),
    };
    put("warmup_iters", json!(o.warmup_iters));
    put("iterations", json!(o.iters));
    put("aggregated_iterations", json!(o.agg_iters));
    put("validation", json!(o.check));
    put("graph", json!(o.graph_launches));
    put("blocking_collectives", json!((o.blocking > 0).to_string()));
    put("per_iter_timing", json!(o.per_iter.to_string()));
    put("per_iter_skip", json!(o.per_iter_skip));
    put("parallel_init", json!(o.parallel_init.to_string()));
    put("devices", Value::Array(devices));
    Value::Object(config)
}

/// One rank, from its line in the list of devices.
pub fn device(line: &str) -> Option<Value> {
    let words: Vec<&str> = line.split_whitespace().collect();
    let after = |word: &str| Some(words.get(words.iter().position(|w| *w == word)? + 1)?.to_string());
    let number = |word: &str| after(word)?.parse::<i64>().ok();
    let (_, bus) = line.split_once('[')?;
    let (bus, name) = bus.split_once(']')?;
    Some(json!({
        "rank": number("Rank")?,
        "group": number("Group")?,
        "pid": number("Pid")?,
        "hostname": after("on")?,
        "device": number("device")?,
        "device_hex": bus,
        "device_info": name.trim(),
    }))
}

/// One half of a row.
pub fn figures(f: &Figures, cputime: bool) -> Value {
    let time = if cputime { "cpu_time" } else { "time" };
    json!({ time: f.seconds * 1e6, "alg_bw": f.algbw, "bus_bw": f.busbw, "nwrong": f.wrong })
}

/// The figures of `-I`: times of all iterations, and of each process if there are several.
pub fn iterations(stats: &IterStats, skipped: usize, times: &[f64], processes: &[Vec<f64>]) -> Value {
    let us = |times: &[f64]| times.iter().map(|t| t * 1e6).collect::<Vec<_>>();
    let mut value = json!({
        "skipped_iterations": skipped,
        "min_us": stats.min * 1e6,
        "max_us": stats.max * 1e6,
        "avg_us": stats.avg * 1e6,
        "p50_us": stats.p50 * 1e6,
        "p95_us": stats.p95 * 1e6,
        "p99_us": stats.p99 * 1e6,
        "stdev_us": stats.stdev * 1e6,
        "cv_pct": stats.variation(),
        "times_us": us(times),
    });
    if processes.len() > 1 {
        value["per_process_max_times_us"] = json!(processes.iter().map(|p| us(p)).collect::<Vec<_>>());
    }
    value
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_existing_file_is_never_overwritten() {
        let dir = std::env::temp_dir().join(format!("mccl-tests-json-{}", std::process::id()));
        std::fs::create_dir_all(&dir).unwrap();
        let path = dir.join("r.json");
        let mut first = Report::create(&path).unwrap();
        first.add_row(json!({ "size": 8 })).unwrap();
        first.finish(0, 1.5, Some(true), None).unwrap();
        let second = Report::create(&path).unwrap();
        assert_eq!(second.path, dir.join("r.json.0"));
        let read: Value = serde_json::from_str(&std::fs::read_to_string(&path).unwrap()).unwrap();
        assert_eq!(read["version"], 3);
        assert_eq!(read["results"][0]["size"], 8);
        assert_eq!(read["average_bus_bandwidth"], json!({ "bandwidth": 1.5, "okay": "true" }));
        std::fs::remove_dir_all(&dir).unwrap();
    }

    #[test]
    fn a_device_line_becomes_an_object() {
        let line = crate::table::device_line(3, 1, 42, "node1", 2, "0000:3b:00.0", "MTT S5000");
        let value = device(&line).unwrap();
        assert_eq!(value["rank"], 3);
        assert_eq!(value["device_hex"], "0000:3b:00");
        assert_eq!(value["device_info"], "MTT S5000");
        assert_eq!(device("nonsense"), None);
    }
}
