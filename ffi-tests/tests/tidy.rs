//! House rules that a machine can check: layers, sizes, purpose lines, and which module may do what.
use std::path::{Path, PathBuf};

use ffi_tests::root;
use ffi_tests::source::{code, functions, without_tests};

/// The modules of the library from the top down; each may name those that stand below it.
const LAYERS: [&str; 13] = [
    "abi",
    "group",
    "comm",
    "exec",
    "plan",
    "algo",
    "transport",
    "channel",
    "device",
    "topo",
    "bootstrap",
    "sys",
    "base",
];

/// Where each construct may stand, as prefixes of paths below `src`.
const PLACES: [(&str, &[&str]); 4] = [
    ("extern \"C\" fn", &["abi/", "device/", "exec/pollable", "exec/task"]),
    ("env::var", &["base/env"]),
    ("libc::", &["sys"]),
    ("libloading", &["sys"]),
];

/// Modules that promise to have no unsafe code.
const SAFE: [&str; 6] = ["algo", "plan", "topo", "group", "comm", "bootstrap"];

const MAX_FILE: usize = 500;
const MAX_FUNCTION: usize = 60;

#[test]
fn a_module_names_only_what_stands_below_it() {
    assert_none(library(), upward_uses);
}

#[test]
fn an_upward_use_is_found() {
    let planted = ["// crate::abi\nuse crate::comm::Comm;\n", "use crate::{base, group};\n"];
    for source in planted {
        assert_eq!(upward_uses("channel/fifo.rs", source).len(), 1, "{source}");
    }
    assert!(
        upward_uses("transport/shm.rs", "use crate::channel::Region;\nuse crate::base::{Error, Result};")
            .is_empty()
    );
    assert!(upward_uses("channel/fifo.rs", "use crate::{bail, base::Result, err};").is_empty());
}

#[test]
fn constructs_stand_only_where_they_belong() {
    assert_none(library(), misplaced);
}

#[test]
fn a_misplaced_construct_is_found() {
    assert_eq!(misplaced("comm/mod.rs", "let x = std::env::var(\"X\");").len(), 1);
    assert_eq!(misplaced("plan/mod.rs", "extern \"C\" fn f() {}").len(), 1);
    assert!(misplaced("sys/mem.rs", "unsafe { libc::mmap() }").is_empty());
    assert!(misplaced("comm/mod.rs", "// libc::mmap\n").is_empty());
}

#[test]
fn modules_that_promise_to_be_safe_are() {
    for module in SAFE {
        let file = [format!("src/{module}.rs"), format!("src/{module}/mod.rs")]
            .map(|path| root().join(path))
            .into_iter()
            .find(|path| path.exists());
        let source = std::fs::read_to_string(file.unwrap_or_else(|| panic!("no module {module}"))).unwrap();
        assert!(source.contains("#![forbid(unsafe_code)]"), "{module} does not forbid unsafe code");
    }
}

#[test]
fn every_file_opens_with_its_purpose_and_has_a_readable_size() {
    assert_none(everything(), |path, source| {
        let mut faults = Vec::new();
        if !source.starts_with("//! ") {
            faults.push(format!("{path}: does not open with a purpose line"));
        }
        if source.lines().count() > MAX_FILE {
            faults.push(format!("{path}: {} lines (at most {MAX_FILE})", source.lines().count()));
        }
        faults
    });
}

#[test]
fn functions_fit_on_a_screen() {
    assert_none(everything(), long_functions);
}

#[test]
fn a_long_function_is_found() {
    let source = format!("fn long() {{\n{}}}\n", "    step();\n".repeat(MAX_FUNCTION));
    assert_eq!(long_functions("x.rs", &source).len(), 1);
}

#[test]
fn no_module_imports_everything_of_another() {
    assert_none(everything(), |path, source| {
        let lines = code(source);
        let globs = lines.lines().enumerate().filter(|(_, line)| {
            let line = line.trim();
            line.starts_with("use ")
                && line.ends_with("::*;")
                && line != "use super::*;"
                && !line.ends_with("prelude::*;")
        });
        globs.map(|(at, line)| format!("{path}:{}: {}", at + 1, line.trim())).collect()
    });
}

/// Uses of `crate::name`, alone or in braces, where `name` stands above the file's module.
fn upward_uses(path: &str, source: &str) -> Vec<String> {
    let module = path.split(['/', '.']).next().unwrap_or_default();
    let Some(own) = level(module) else { return Vec::new() };
    let mut faults = Vec::new();
    let text = code(source);
    for (at, _) in text.match_indices("crate::") {
        let rest = &text[at + "crate::".len()..];
        let above = named(rest).into_iter().filter(|name| level(name).is_some_and(|level| level < own));
        let line = text[..at].matches('\n').count() + 1;
        faults
            .extend(above.map(|name| format!("{path}:{line}: {module} names {name}, which stands above it")));
    }
    faults
}

/// The modules named right behind `crate::`, one or a list in braces.
fn named(rest: &str) -> Vec<&str> {
    let word = |text: &'_ str| {
        text.find(|letter: char| !letter.is_alphanumeric() && letter != '_').unwrap_or(text.len())
    };
    let Some(list) = rest.strip_prefix('{') else { return vec![&rest[..word(rest)]] };
    let (mut depth, mut start, mut names) = (0, true, Vec::new());
    for (at, letter) in list.char_indices() {
        match letter {
            '{' => depth += 1,
            '}' if depth == 0 => break,
            '}' => depth -= 1,
            ',' if depth == 0 => start = true,
            letter if start && depth == 0 && letter.is_alphabetic() => {
                names.push(&list[at..at + word(&list[at..])]);
                start = false;
            }
            _ => {}
        }
    }
    names
}

fn level(module: &str) -> Option<usize> {
    LAYERS.iter().position(|layer| *layer == module)
}

fn misplaced(path: &str, source: &str) -> Vec<String> {
    let text = kept_abi_strings(source);
    let text = without_tests(&text);
    let mut faults = Vec::new();
    for (construct, places) in PLACES {
        if places.iter().any(|place| path.starts_with(place)) {
            continue;
        }
        for (at, _) in text.match_indices(construct) {
            let line = text[..at].matches('\n').count() + 1;
            faults.push(format!("{path}:{line}: {construct} belongs in {}", places.join(", ")));
        }
    }
    faults
}

/// The code, with the name of the C calling convention left readable. A pointer type `extern "C" fn(` is no function.
fn kept_abi_strings(source: &str) -> String {
    let marked = source.replace("extern \"C\" fn(", "extern_pointer(").replace("extern \"C\"", "extern_c");
    code(&marked).replace("extern_c", "extern \"C\"")
}

fn long_functions(path: &str, source: &str) -> Vec<String> {
    let long = functions(&code(source)).into_iter().filter(|function| function.lines > MAX_FUNCTION);
    long.map(|function| {
        format!(
            "{path}:{}: fn {} has {} lines (at most {MAX_FUNCTION})",
            function.line, function.name, function.lines
        )
    })
    .collect()
}

/// The library's files, by path below `src`.
fn library() -> Vec<(String, String)> {
    files(&root().join("src"), &root().join("src"))
}

/// The Rust files of all crates, by path below the root.
fn everything() -> Vec<(String, String)> {
    let folders = ["src", "emu", "tools", "ffi-tests", "benches"].map(|folder| root().join(folder));
    folders.iter().filter(|folder| folder.exists()).flat_map(|folder| files(folder, root())).collect()
}

fn files(folder: &Path, base: &Path) -> Vec<(String, String)> {
    let mut found = Vec::new();
    let mut paths: Vec<PathBuf> =
        std::fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path()).collect();
    paths.sort();
    for path in paths {
        if path.is_dir() {
            found.extend(files(&path, base));
        } else if path.extension().is_some_and(|kind| kind == "rs") {
            let name = path.strip_prefix(base).unwrap().display().to_string();
            found.push((name, std::fs::read_to_string(&path).unwrap()));
        }
    }
    found
}

fn assert_none(files: Vec<(String, String)>, rule: impl Fn(&str, &str) -> Vec<String>) {
    assert!(files.len() > 10, "only {} files were found", files.len());
    let faults: Vec<String> = files.iter().flat_map(|(path, source)| rule(path, source)).collect();
    assert!(faults.is_empty(), "{} faults:\n{}", faults.len(), faults.join("\n"));
}
