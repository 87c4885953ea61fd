//! Helpers of the tests: where things lie, committed artefacts, compilers and programs.
use std::path::{Path, PathBuf};

pub mod artefact;
pub mod cc;
pub mod compat;
pub mod source;
pub mod team;
pub mod tools;

/// The root of the source tree.
pub fn root() -> &'static Path {
    Path::new(env!("CARGO_MANIFEST_DIR")).parent().expect("the crate lies in the workspace")
}

/// A folder for one test, below the build folder; `tmp` is the test's `env!("CARGO_TARGET_TMPDIR")`.
pub fn scratch(tmp: &str, name: &str) -> PathBuf {
    let folder = Path::new(tmp).join(name);
    std::fs::create_dir_all(&folder).expect("create a scratch folder");
    folder
}

/// Names of the functions that `include/mccl.h` declares, twins included.
pub fn functions_of_the_header() -> Vec<String> {
    let header = std::fs::read_to_string(root().join("include/mccl.h")).expect("read the header");
    let types = ["mcclResult_t ", "const char *", "void "];
    let lines = header.lines().filter(|line| types.iter().any(|start| line.starts_with(start)));
    let names = lines.filter_map(|line| line.split_once('(')?.0.rsplit([' ', '*']).next());
    names.map(str::to_string).collect()
}
