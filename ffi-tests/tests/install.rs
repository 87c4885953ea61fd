//! `install.sh` lays out a tree with which programs build through pkg-config and CMake, and then run.
use std::path::{Path, PathBuf};
use std::process::Command;

use ffi_tests::cc::{library_folder, run};
use ffi_tests::{root, scratch};

#[test]
fn the_installed_tree_has_every_name_that_programs_look_for() {
    let prefix = installed("tree");
    let links = [
        ("libmccl.so", "libmccl.so.2.28.9"),
        ("libmccl.so.2", "libmccl.so.2.28.9"),
        ("libmusart.so", "libmusart.so.5.2.0"),
        ("libmusart.so.5", "libmusart.so.5.2.0"),
        ("libmusart.so.4", "libmusart.so.5.2.0"),
        ("libmusart.so.1.0", "libmusart.so.5.2.0"),
        ("libmusart.so.1.5", "libmusart.so.5.2.0"),
        ("libmusa.so", "libmusart.so.5.2.0"),
        ("libmusa.so.1", "libmusart.so.5.2.0"),
    ];
    for (link, file) in links {
        let target = std::fs::canonicalize(prefix.join("lib").join(link)).unwrap();
        assert_eq!(target.file_name().unwrap(), file, "{link}");
    }
    assert!(prefix.join("include/mccl.h").exists());
}

#[test]
fn a_program_builds_with_pkg_config() {
    let prefix = installed("pkg-config");
    let mut ask = Command::new("pkg-config");
    ask.args(["--cflags", "--libs", "mccl"]).env("PKG_CONFIG_PATH", prefix.join("lib/pkgconfig"));
    let flags = run(&mut ask);
    let program = prefix.join("texts");
    let mut compile = Command::new("cc");
    compile.arg(source()).arg("-o").arg(&program).args(flags.split_whitespace());
    run(&mut compile);
    assert_says_version(&program, &prefix);
    let version = run(Command::new("pkg-config")
        .args(["--modversion", "mccl"])
        .env("PKG_CONFIG_PATH", prefix.join("lib/pkgconfig")));
    assert_eq!(version.trim(), "2.28.9");
}

#[test]
fn a_program_builds_with_cmake_by_target_and_by_variables() {
    let prefix = installed("cmake");
    let project = prefix.join("project");
    std::fs::create_dir_all(&project).unwrap();
    std::fs::write(project.join("CMakeLists.txt"), CMAKE.replace("@SOURCE@", source().to_str().unwrap()))
        .unwrap();
    let build = project.join("build");
    let mut configure = Command::new("cmake");
    configure.arg("-S").arg(&project).arg("-B").arg(&build);
    configure.arg(format!("-DCMAKE_PREFIX_PATH={}", prefix.display()));
    run(&mut configure);
    run(Command::new("cmake").arg("--build").arg(&build));
    for program in ["by_target", "by_variables"] {
        assert_says_version(&build.join(program), &prefix);
    }
}

const CMAKE: &str = "cmake_minimum_required(VERSION 3.16)
project(use_mccl C)
find_package(MCCL 2.18 REQUIRED)
add_executable(by_target @SOURCE@)
target_link_libraries(by_target PRIVATE MCCL::mccl)
add_executable(by_variables @SOURCE@)
target_include_directories(by_variables PRIVATE ${MCCL_INCLUDE_DIRS})
target_link_libraries(by_variables PRIVATE ${MCCL_LIBRARIES})
";

fn source() -> PathBuf {
    root().join("ffi-tests/programs/texts.c")
}

/// Installs this build below a fresh prefix of its own.
fn installed(name: &str) -> PathBuf {
    let prefix = scratch(env!("CARGO_TARGET_TMPDIR"), "installed").join(name);
    let _ = std::fs::remove_dir_all(&prefix);
    run(Command::new("sh").arg(root().join("install.sh")).arg(library_folder()).arg(&prefix));
    if !prefix.join("include/musa_runtime.h").exists() {
        let stand_in = root().join("ffi-tests/stub-include/musa_runtime.h");
        std::fs::copy(stand_in, prefix.join("include/musa_runtime.h")).unwrap();
    }
    prefix
}

fn assert_says_version(program: &Path, prefix: &Path) {
    let said = run(Command::new(program).env("LD_LIBRARY_PATH", prefix.join("lib")));
    assert!(said.starts_with("2.28.9\n"), "{said}");
}
