//! Compiles C and C++ against our headers and links with the library as a user's program would.
use std::path::{Path, PathBuf};
use std::process::Command;

/// Warnings that a user's strict build would turn on.
pub const STRICT: [&str; 4] = ["-Wall", "-Wextra", "-Werror", "-pedantic"];

/// `cc` or `c++` (or `CC`, `CXX`) with the include folders of this tree.
pub fn compiler(cpp: bool) -> Command {
    let (variable, default) = if cpp { ("CXX", "c++") } else { ("CC", "cc") };
    let mut command = Command::new(std::env::var_os(variable).unwrap_or_else(|| default.into()));
    for folder in include_folders() {
        command.arg("-I").arg(folder);
    }
    command
}

/// Folders with `mccl.h` and the runtime's headers.
pub fn include_folders() -> [PathBuf; 2] {
    let runtime = crate::root().join("emu/include");
    let runtime = if runtime.join("musa_runtime.h").exists() {
        runtime
    } else {
        crate::root().join("ffi-tests/stub-include")
    };
    [crate::root().join("include"), runtime]
}

/// The folder with the shared libraries of this build: where cargo puts those of dependencies.
pub fn library_folder() -> PathBuf {
    let test = std::env::current_exe().expect("the path of this test");
    test.parent().expect("a test lies in a folder").to_path_buf()
}

/// A folder with the names by which a program finds the libraries, as links to those of this build.
pub fn linked_libraries(scratch: &Path) -> PathBuf {
    let folder = scratch.join("lib");
    std::fs::create_dir_all(&folder).expect("create the folder of libraries");
    for (built, names) in
        [("libmccl.so", ["libmccl.so", "libmccl.so.2"]), ("libmusart.so", ["libmusart.so", "libmusart.so.5"])]
    {
        let built = library_folder().join(built);
        assert!(built.exists(), "{} was not built", built.display());
        for link in names.map(|name| folder.join(name)) {
            let _ = std::fs::remove_file(&link);
            std::os::unix::fs::symlink(&built, &link).expect("link the library");
        }
    }
    folder
}

/// Runs a command that must succeed; returns its standard output.
///
/// # Panics
/// When it fails, with all it said.
pub fn run(command: &mut Command) -> String {
    let output = command.output().unwrap_or_else(|error| panic!("{command:?}: {error}"));
    let said = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
    let (stdout, stderr) = (said(&output.stdout), said(&output.stderr));
    assert!(output.status.success(), "{command:?}: {}\n{stdout}{stderr}", output.status);
    stdout
}
