//! Compiling and running C and C++ programs against the headers and the shared library.
#![allow(dead_code)]

use std::path::{Path, PathBuf};
use std::process::{Command, Output};

/// A folder with the names under which programs look for the library.
pub fn library_dir() -> PathBuf {
    let deps = std::env::current_exe().unwrap().parent().unwrap().to_path_buf();
    let library = deps.join("libmusart.so");
    assert!(library.exists(), "{} is not built", library.display());
    let dir = Path::new(env!("CARGO_TARGET_TMPDIR")).join(format!("emu-lib-{}", std::process::id()));
    std::fs::create_dir_all(&dir).unwrap();
    for name in ["libmusart.so", "libmusart.so.5", "libmusa.so", "libmusa.so.1"] {
        let _ = std::os::unix::fs::symlink(&library, dir.join(name));
    }
    dir
}

/// Compiles a source text; the name ends in `.c` (C99) or `.cpp` (C++11). Any warning is an error.
pub fn compile(name: &str, source: &str) -> PathBuf {
    let dir = library_dir();
    let (file, program) = (dir.join(name), dir.join(name.replace('.', "_")));
    std::fs::write(&file, source).unwrap();
    let (compiler, standard) = if name.ends_with(".c") { ("gcc", "-std=c99") } else { ("g++", "-std=c++11") };
    let output = Command::new(compiler)
        .args([standard, "-Wall", "-Wextra", "-Werror", "-pedantic", "-pthread", "-D_GNU_SOURCE", "-o"])
        .arg(&program)
        .arg(&file)
        .arg(concat!("-I", env!("CARGO_MANIFEST_DIR"), "/include"))
        .arg(format!("-L{}", dir.display()))
        .arg(format!("-Wl,-rpath,{}", dir.display()))
        .args(["-Wl,--as-needed", "-lmusart", "-lmusa", "-ldl"])
        .output()
        .unwrap();
    assert!(output.status.success(), "{name}: {}", String::from_utf8_lossy(&output.stderr));
    program
}

/// Runs a program under a watchdog of 60 seconds and expects success.
pub fn run(program: &Path, environment: &[(&str, &str)]) -> Output {
    let output = Command::new("timeout")
        .args(["-s", "KILL", "60"])
        .arg(program)
        .envs(environment.iter().copied())
        .output()
        .unwrap();
    let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
    assert!(
        output.status.success(),
        "{}: {}\n{}{}",
        program.display(),
        output.status,
        text(&output.stdout),
        text(&output.stderr)
    );
    output
}
