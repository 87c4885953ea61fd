//! Communicators that come and go, and processes that go without a word: nothing stays behind, and who waits is told.
use std::collections::BTreeSet;
use std::process::Command;

use ffi_tests::cc::{program, run, started};
use ffi_tests::scratch;
use ffi_tests::team::{Team, told, transcribed};

#[test]
fn hundreds_of_communicators_of_threads_leave_nothing_behind() {
    let folder = scratch(env!("CARGO_TARGET_TMPDIR"), "cycles-alone");
    let built = program("cycles.c", &folder);
    assert_eq!(run(&mut started(&built, &folder)), "300 communicators\n");
}

#[test]
fn hundreds_of_communicators_of_processes_leave_nothing_behind() {
    let folder = scratch(env!("CARGO_TARGET_TMPDIR"), "cycles-team");
    let built = program("cycles.c", &folder);
    let outcomes = Team::start("cycles", &folder, 2, |_| started(&built, &folder)).succeed();
    assert_eq!(transcribed(&outcomes).matches("300 communicators\n").count(), 2);
}

#[test]
fn programs_may_end_without_destroying() {
    let before = shared_memory();
    let outcomes = leaving("exit", 3).finish();
    assert!(outcomes.iter().all(|outcome| outcome.status.success()), "{}", told(&outcomes));
    assert_eq!(shared_memory(), before);
}

#[test]
fn what_a_rank_sent_before_it_left_still_arrives() {
    leaving("sent", 2).succeed();
}

#[test]
fn children_forked_before_the_first_call_are_ranks() {
    leaving("fork", 3).succeed();
}

#[test]
fn a_killed_rank_is_named_to_those_who_wait() {
    let before = shared_memory();
    for way in [&[][..], &[("MCCL_P2P_DISABLE", "1"), ("MCCL_SHM_DISABLE", "1")], &[("MCCL_ALGO", "Ring")]] {
        let folder = scratch(env!("CARGO_TARGET_TMPDIR"), "killed");
        let built = program("leaving.c", &folder);
        let command = |_| {
            let mut command = started(&built, &folder);
            command.env("LEAVE", "killed").envs(way.iter().copied());
            command
        };
        let mut team = Team::start("killed", &folder, 4, command);
        team.await_step("ready");
        team.kill(1);
        let pids: Vec<u32> = (0..4).map(|rank| team.pid(rank)).collect();
        let outcomes = team.finish();
        let text = told(&outcomes);
        for rank in [0, 2, 3] {
            assert!(outcomes[rank].status.success() && outcomes[rank].stdout == "state 6\n", "{text}");
        }
        assert!([0, 2, 3].iter().any(|&rank| outcomes[rank].stderr.contains("rank 1")), "{text}");
        assert!(pids.iter().all(|pid| !std::path::Path::new(&format!("/proc/{pid}")).exists()));
    }
    assert_eq!(shared_memory(), before);
}

#[test]
fn the_library_can_be_closed_and_opened_again() {
    let folder = scratch(env!("CARGO_TARGET_TMPDIR"), "closing");
    let built = program("closing.c", &folder);
    assert_eq!(run(&mut started(&built, &folder)), "3 rounds, 0 failures\n");
}

fn leaving(how: &str, size: usize) -> Team {
    let folder = scratch(env!("CARGO_TARGET_TMPDIR"), &format!("leaving-{how}"));
    let built = program("leaving.c", &folder);
    let command = |_| -> Command {
        let mut command = started(&built, &folder);
        command.env("LEAVE", how);
        command
    };
    Team::start(how, &folder, size, command)
}

/// Files in /dev/shm that could be ours.
fn shared_memory() -> BTreeSet<String> {
    let entries = std::fs::read_dir("/dev/shm").into_iter().flatten().flatten();
    let names = entries.map(|entry| entry.file_name().to_string_lossy().into_owned());
    names.filter(|name| name.contains("mccl") || name.contains("musa")).collect()
}
