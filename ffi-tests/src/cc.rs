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

/// Builds `ffi-tests/programs/SOURCE`, C or C++ by its ending, with everything a strict user would turn on.
pub fn program(source: &str, folder: &Path) -> PathBuf {
    build(&crate::root().join("ffi-tests/programs").join(source), folder, &[])
}

/// Builds a program that links with both libraries. Every name is resolved at the start, and the runtime stays a dependency
/// although nothing of it may be named.
pub fn build(source: &Path, folder: &Path, more: &[&str]) -> PathBuf {
    let cpp = source.extension().is_some_and(|kind| kind == "cpp");
    let program = folder.join(source.file_stem().expect("a source has a name"));
    let mut compile = compiler(cpp);
    compile.arg(if cpp { "-std=c++11" } else { "-std=c99" }).arg("-D_DEFAULT_SOURCE").args(STRICT).args(more);
    link(&mut compile, source, folder, &program);
    program
}

/// Completes a compiler's command line and runs it.
pub fn link(compile: &mut Command, source: &Path, folder: &Path, program: &Path) {
    let libraries = linked_libraries(folder);
    compile.arg(source).arg("-o").arg(program).arg("-L").arg(&libraries);
    run(compile.args(["-Wl,-z,now", "-Wl,--no-as-needed", "-lmccl", "-lmusart", "-lpthread"]));
}

/// A command for a built program that finds the libraries of this build and none of the caller's settings.
pub fn started(program: &Path, folder: &Path) -> Command {
    let mut command = Command::new(program);
    forget_settings(&mut command);
    command.env("LD_LIBRARY_PATH", folder.join("lib"));
    command
}

/// Takes the settings that a caller of the tests may have, and those of a launcher, from a command.
pub fn forget_settings(command: &mut Command) {
    let ours = |name: &str| {
        let kept = name.starts_with("MCCL_TEST_") || name == "MCCL_BLESS";
        ["MCCL_", "OMPI_", "PMI", "SLURM_"].iter().any(|start| name.starts_with(start)) && !kept
    };
    for (name, _) in std::env::vars().filter(|(name, _)| ours(name)) {
        command.env_remove(name);
    }
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
