//! Helpers of the tests: where things lie, committed artefacts, compilers and programs.
use std::path::{Path, PathBuf};

pub mod artefact;
pub mod cc;

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
