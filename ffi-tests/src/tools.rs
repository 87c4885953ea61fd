//! The tools of this tree, built for the tests that run them as users do.
use std::path::PathBuf;
use std::process::{Command, Output};
use std::sync::OnceLock;

use crate::cc::{forget_settings, library_folder, run};

/// The path of a tool, in the profile of this test.
pub fn tool(name: &str) -> PathBuf {
    static FOLDER: OnceLock<PathBuf> = OnceLock::new();
    let folder = FOLDER.get_or_init(|| {
        let mut build = Command::new(env!("CARGO"));
        build.current_dir(crate::root()).args(["build", "-p", "mccl-tools", "--bins"]);
        if !cfg!(debug_assertions) {
            build.arg("--release");
        }
        run(&mut build);
        library_folder().parent().expect("deps lies in the build folder").to_path_buf()
    });
    folder.join(name)
}

/// The arguments by which a tool measures the libraries of this build, and then `args`.
pub fn arguments(args: &str) -> Vec<String> {
    let library = |name: &str| library_folder().join(name).display().to_string();
    let fixed = ["--lib".to_string(), library("libmccl.so"), "--runtime".into(), library("libmusart.so")];
    fixed.into_iter().chain(args.split_whitespace().map(str::to_string)).collect()
}

/// A command from words, without settings of the caller; None, said aloud, when its program is not installed.
pub fn launcher(words: &str) -> Option<Command> {
    let mut words = words.split_whitespace();
    let program = words.next().expect("a program");
    if !installed(program) {
        eprintln!("skipped: no {program}");
        return None;
    }
    let mut command = Command::new(program);
    command.args(words);
    forget_settings(&mut command);
    Some(command)
}

/// Whether a program is on the path.
pub fn installed(program: &str) -> bool {
    let path = std::env::var_os("PATH").unwrap_or_default();
    std::env::split_paths(&path).any(|folder| folder.join(program).exists())
}

/// A run that measured `rows` sizes with nothing wrong.
///
/// # Panics
/// When it is something else, with all that was said.
pub fn assert_right(what: &str, output: &Output, rows: usize) {
    let text = String::from_utf8_lossy(&output.stdout);
    let errors = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "{what}: {}\n{text}{errors}", output.status);
    let table: Vec<Vec<&str>> = text
        .lines()
        .filter(|line| !line.starts_with('#') && !line.trim().is_empty())
        .map(|line| line.split_whitespace().collect())
        .collect();
    assert_eq!(table.len(), rows, "{what}\n{text}{errors}");
    for row in &table {
        let wrong: Vec<&&str> = [8, 12].iter().filter_map(|&column| row.get(column)).collect();
        assert!(wrong.len() == 2 && wrong.iter().all(|w| ["0", "N/A"].contains(w)), "{what}: {row:?}");
    }
    assert!(text.contains("# Out of bounds values : 0 OK"), "{what}\n{text}{errors}");
}
