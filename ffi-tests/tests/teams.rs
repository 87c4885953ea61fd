//! The programs of the users' documentation, on devices of one thread and on teams of processes, against their transcripts.
use std::process::Command;

use ffi_tests::cc::{program, run, started};
use ffi_tests::team::{Team, transcribed};
use ffi_tests::{artefact, scratch};

/// Settings of a run.
type Way = &'static [(&'static str, &'static str)];

/// Settings under which every program says the same: what is chosen, sockets alone, rings alone, no direct access.
const WAYS: [Way; 4] = [
    &[],
    &[("MCCL_P2P_DISABLE", "1"), ("MCCL_SHM_DISABLE", "1")],
    &[("MCCL_ALGO", "Ring")],
    &[("MCCL_P2P_DISABLE", "1")],
];

#[test]
fn one_thread_drives_many_devices_with_and_without_groups() {
    alone("one_thread.c");
}

#[test]
#[ignore = "needs 9 GiB of memory; `make deep` runs it"]
fn counts_beyond_four_gibibytes_are_right() {
    let folder = scratch(env!("CARGO_TARGET_TMPDIR"), "huge");
    let built = program("huge.c", &folder);
    artefact::check(&transcript("huge.c"), &run(&mut started(&built, &folder)));
}

#[test]
fn graphs_replay_collectives_with_the_contents_of_their_time() {
    alone("graphs.c");
}

#[test]
fn graphs_work_in_the_forms_of_cpp() {
    alone("graphs.cpp");
}

#[test]
fn several_ids_start_a_communicator_and_registered_buffers_work() {
    team("scalable.c", 4);
}

#[test]
fn sends_and_receives_find_each_other() {
    team("p2p.c", 3);
}

#[test]
fn operations_with_roots_and_counts_are_right() {
    team("rooted.c", 4);
}

#[test]
fn factors_and_averages_are_right() {
    team("redops.c", 3);
}

#[test]
fn splits_make_working_communicators() {
    team("split.c", 4);
}

#[test]
fn communicators_end_in_any_order_and_an_abort_wakes_the_waiting() {
    team("ends.c", 2);
}

#[test]
fn calls_that_differ_are_reported_on_all_ranks() {
    differing_calls([WAYS[0], WAYS[2], WAYS[3]].into_iter());
}

#[test]
#[ignore = "on sockets, a rank that fails before its first connection leaves who waits for it to the deadline"]
fn calls_that_differ_are_reported_on_all_ranks_on_sockets() {
    differing_calls([WAYS[1]].into_iter());
}

fn differing_calls(ways: impl Iterator<Item = Way>) {
    let heard = team_in("mismatch.c", 3, ways);
    for detail in ["count 1001", "count 1000", "type Int32", "op max", "AllReduce"] {
        let everywhere = heard.iter().all(|errors| errors.contains(detail));
        assert!(everywhere, "no '{detail}' in\n{}", heard.join("\n"));
    }
}

/// Runs a program that is one process.
fn alone(source: &str) {
    let folder = scratch(env!("CARGO_TARGET_TMPDIR"), &source.replace('.', "-"));
    let built = program(source, &folder);
    for way in WAYS {
        artefact::check(&transcript(source), &run(with(&mut started(&built, &folder), way)));
    }
}

/// Runs a program as a team of processes, in each way.
fn team(source: &str, size: usize) {
    team_in(source, size, WAYS.into_iter());
}

/// Runs a program as a team of processes; what its ranks wrote as errors, per way.
fn team_in(source: &str, size: usize, ways: impl Iterator<Item = Way>) -> Vec<String> {
    let folder = scratch(env!("CARGO_TARGET_TMPDIR"), &source.replace('.', "-"));
    let built = program(source, &folder);
    let run = |(number, way): (usize, Way)| {
        let command = |_| {
            let mut command = started(&built, &folder);
            with(&mut command, way);
            command
        };
        let outcomes = Team::start(&format!("{source}-{number}"), &folder, size, command).succeed();
        artefact::check(&transcript(source), &transcribed(&outcomes));
        outcomes.into_iter().map(|outcome| outcome.stderr).collect()
    };
    ways.enumerate().map(run).collect()
}

fn with(command: &mut Command, way: Way) -> &mut Command {
    command.envs(way.iter().copied())
}

/// `programs/NAME.c` has `programs/NAME.txt`; that of C++ has its whole name in it.
fn transcript(source: &str) -> String {
    format!("ffi-tests/programs/{}.txt", source.trim_end_matches(".c"))
}
