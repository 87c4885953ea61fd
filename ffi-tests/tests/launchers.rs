//! Ranks started by MPI, by `--nproc` and in one process: the users' command lines, and MPI programs in C and C++.
use std::path::Path;
use std::process::Command;

use ffi_tests::cc::{link, run};
use ffi_tests::tools::{arguments, assert_right, installed, launcher, tool};
use ffi_tests::{root, scratch};

const OPEN_MPI: &str = "mpirun.openmpi --allow-run-as-root --oversubscribe -n 4";
const MPICH: &str = "mpiexec.mpich -n 4";

#[test]
fn programs_of_open_mpi_share_the_id_and_agree() {
    mpi_programs(OPEN_MPI, "openmpi");
}

#[test]
fn programs_of_mpich_share_the_id_and_agree() {
    mpi_programs(MPICH, "mpich");
}

#[test]
fn the_command_line_of_the_users_guide_works() {
    let settings =
        "-x MCCL_PROTO=Simple -x MCCL_ALGO=Ring -x MCCL_NET_SHARED_BUFFERS=0 -x MCCL_IB_GID_INDEX=3";
    measure(&format!("{OPEN_MPI} {settings}"), "all_reduce_perf", "-b 1M -e 4M -f 2 -g 2 -n 5", 3, &[]);
}

#[test]
fn both_mpis_start_the_tool() {
    measure(OPEN_MPI, "all_reduce_perf", "-b 8 -e 4M -f 8 -n 5", 7, &[]);
    measure(MPICH, "all_reduce_perf", "-b 8 -e 4M -f 8 -n 5", 7, &[]);
}

#[test]
fn local_processes_threads_and_devices_are_right() {
    let sockets = [("MCCL_P2P_DISABLE", "1"), ("MCCL_SHM_DISABLE", "1")];
    for settings in [&[][..], &sockets] {
        measure("", "all_reduce_perf", "--nproc 8 -b 8 -e 1M -f 8 -n 5", 6, settings);
        measure("", "all_reduce_perf", "-t 2 -g 2 -b 8 -e 1M -f 8 -n 5", 6, settings);
        measure("", "alltoall_perf", "--nproc 3 -g 2 -b 1K -e 1M -f 32 -n 5", 3, settings);
    }
}

#[test]
fn every_type_and_operation_is_right_in_the_tool() {
    measure("", "all_reduce_perf", "-g 4 -b 64 -e 4K -f 64 -o all -d all -n 2 -w 0", 2 * 12 * 6, &[]);
}

#[test]
fn graphs_and_registered_buffers_are_right_in_the_tool() {
    measure("", "all_reduce_perf", "-g 4 -b 64 -e 256K -f 64 -G 3 -n 5", 3, &[]);
    measure("", "all_reduce_perf", "--nproc 2 -b 64 -e 256K -f 64 -G 3 -n 5", 3, &[]);
    measure("", "all_gather_perf", "--nproc 2 -b 64 -e 256K -f 64 -R 1 -n 5", 3, &[]);
}

/// Runs a tool, under a launcher if one is named.
fn measure(words: &str, name: &str, args: &str, rows: usize, settings: &[(&str, &str)]) {
    let under = if words.is_empty() { "env" } else { words };
    let Some(mut command) = launcher(under) else { return };
    command.arg(tool(name)).args(arguments(args)).envs(settings.iter().copied());
    assert_right(&format!("{words} {name} {args} {settings:?}"), &command.output().unwrap(), rows);
}

fn mpi_programs(words: &str, mpi: &str) {
    for (source, compiler, standard, agree) in [
        ("mpi.c", "mpicc", "-std=c99", "4 ranks agree\n"),
        ("mpi.cpp", "mpicxx", "-std=c++11", "8 ranks agree\n"),
    ] {
        let compiler = format!("{compiler}.{mpi}");
        let Some(mut command) = launcher(words).filter(|_| installed(&compiler)) else {
            eprintln!("skipped: no MPI ({words}, {compiler})");
            continue;
        };
        let folder = scratch(env!("CARGO_TARGET_TMPDIR"), &format!("{}-{mpi}", source.replace('.', "-")));
        let built = folder.join("program");
        compile(&compiler, standard, &root().join("ffi-tests/programs").join(source), &folder, &built);
        command.arg(&built).env("LD_LIBRARY_PATH", folder.join("lib"));
        assert_eq!(run(&mut command), agree, "{words} {source}");
    }
}

/// Without the strict warnings: MPI's own headers have some.
fn compile(compiler: &str, standard: &str, source: &Path, folder: &Path, built: &Path) {
    let mut compile = Command::new(compiler);
    compile.args([standard, "-D_DEFAULT_SOURCE", "-Wall"]);
    for include in ffi_tests::cc::include_folders() {
        compile.arg("-I").arg(include);
    }
    link(&mut compile, source, folder, built);
}
