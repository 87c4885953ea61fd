//! `mccl_version`: which build of the library this is, as the version tools of all modules print it.

use std::path::Path;
use std::process::ExitCode;

use serde_json::ser::{PrettyFormatter, Serializer};
use serde_json::{Map, Value, json};

use crate::api::Mccl;
use crate::error::{Error, Result};
use crate::load;
use crate::musart::Musart;
use crate::output::{Out, die};

const MODULE: &str = "mccl";
const USAGE: &str = "mccl_version [FILE.json]: prints the version of libmccl; with a file, merges the entry into it";

/// Runs the program; for `main`.
pub fn main() -> ExitCode {
    match run() {
        Ok(text) => {
            Out { enabled: true }.print(&text);
            ExitCode::SUCCESS
        }
        Err(error) => die("mccl_version", &error),
    }
}

fn run() -> Result<String> {
    let args: Vec<_> = std::env::args_os().skip(1).collect();
    let file = match args.as_slice() {
        [] => None,
        [flag] if flag == "-h" || flag == "--help" => return Ok(format!("{USAGE}\n")),
        [file] if !file.as_encoded_bytes().starts_with(b"-") => Some(Path::new(file)),
        _ => return Err(Error::usage(format!("{} arguments, not understood, allowed: {USAGE}", args.len()))),
    };
    let entry = entry(&version_text(library_version()?));
    if let Some(file) = file {
        merge(file, &entry)?;
    }
    Ok(format!("{MODULE}:\n{}\n", pretty(&entry)))
}

fn library_version() -> Result<i32> {
    // The library needs some runtime; its version does not depend on which.
    let runtime = load::open_runtime(None).and_then(|opened| Musart::of(&opened));
    let library = load::open_library(None).map_err(|error| match &runtime {
        Err(no_runtime) => Error::failed(format!("{error}; {no_runtime}")),
        Ok(_) => error,
    })?;
    Mccl::of(&library)?.version()
}

/// `2.28.9` of 22809, and `2.7.8` of the older form 2708.
fn version_text(code: i32) -> String {
    let (major, rest) = if code < 10_000 { (code / 1000, code % 1000) } else { (code / 10_000, code % 10_000) };
    format!("{major}.{}.{}", rest / 100, rest % 100)
}

fn entry(version: &str) -> Value {
    json!({
        "version": version,
        "build archs": std::env::consts::ARCH,
        "git branch": env!("MCCL_GIT_BRANCH"),
        "git tag": env!("MCCL_GIT_TAG"),
        "commit id": env!("MCCL_GIT_COMMIT"),
        "commit date": env!("MCCL_GIT_DATE"),
    })
}

/// Indented by tabs.
fn pretty(value: &Value) -> String {
    let mut text = Vec::new();
    let mut serializer = Serializer::with_formatter(&mut text, PrettyFormatter::with_indent(b"\t"));
    match serde::Serialize::serialize(value, &mut serializer) {
        Ok(()) => String::from_utf8_lossy(&text).into_owned(),
        Err(_) => value.to_string(),
    }
}

/// Sets the module's entry in a JSON object in `file`, which may be missing or empty. The file is replaced in one step.
fn merge(file: &Path, entry: &Value) -> Result<()> {
    let fault = |text: String| Error::usage(format!("{}: {text}", file.display()));
    let old = match std::fs::read_to_string(file) {
        Ok(text) => text,
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => String::new(),
        Err(error) => return Err(fault(error.to_string())),
    };
    let mut root: Map<String, Value> = match old.trim() {
        "" => Map::new(),
        text => serde_json::from_str(text).map_err(|e| fault(format!("not a JSON object: {e}")))?,
    };
    root.insert(MODULE.to_string(), entry.clone());
    let mut temporary = file.as_os_str().to_owned();
    temporary.push(format!(".{}", std::process::id()));
    let text = pretty(&Value::Object(root)) + "\n";
    std::fs::write(&temporary, text)
        .and_then(|()| std::fs::rename(&temporary, file))
        .map_err(|e| Error::failed(format!("{}: {e}", file.display())))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn version_codes_of_both_forms_are_read() {
        assert_eq!(version_text(22809), "2.28.9");
        assert_eq!(version_text(21104), "2.11.4");
        assert_eq!(version_text(2708), "2.7.8");
    }

    #[test]
    fn the_entry_has_the_keys_in_order_and_tabs() {
        let text = pretty(&entry("2.28.9"));
        let keys: Vec<&str> = text.lines().filter_map(|l| l.strip_prefix("\t\"")?.split('"').next()).collect();
        assert_eq!(keys, ["version", "build archs", "git branch", "git tag", "commit id", "commit date"]);
        assert!(text.starts_with("{\n\t\"version\": \"2.28.9\",\n"));
    }

    #[test]
    fn an_entry_is_merged_and_the_rest_kept() {
        let file = std::env::temp_dir().join(format!("mccl-version-{}.json", std::process::id()));
        std::fs::write(&file, "{\"musa\": {\"version\": \"5.1\"}, \"mccl\": 1}").unwrap();
        merge(&file, &entry("2.28.9")).unwrap();
        let read: Value = serde_json::from_str(&std::fs::read_to_string(&file).unwrap()).unwrap();
        assert_eq!((&read["musa"]["version"], &read["mccl"]["version"]), (&json!("5.1"), &json!("2.28.9")));
        std::fs::write(&file, "[1]").unwrap();
        assert!(merge(&file, &entry("1")).unwrap_err().to_string().contains("not a JSON object"));
        std::fs::remove_file(&file).unwrap();
    }
}
