//! Every collective with any type, operation, count, root, placement, memory and alignment, on any split of ranks into
//! processes and threads, against a naive reference. `MCCL_TEST_CASES` is the number of cases of each set-up, `MCCL_TEST_SEED` their seed.
mod case;
mod rank;
mod value;
mod world;

use std::path::PathBuf;
use std::process::Command;

use ffi_tests::cc::{forget_settings, library_folder};
use ffi_tests::scratch;
use ffi_tests::team::Team;
use mccl::abi::mccl::types::mcclUniqueId;
use proptest::strategy::{Strategy, ValueTree};
use proptest::test_runner::{Config, RngAlgorithm, TestCaseError, TestRng, TestRunner};

use world::{Musart, World};

/// Ranks per process of the set-up.
const THREADS: &str = "TEST_THREADS";
const SHORT: u32 = 120;

#[test]
fn thread_ranks_agree_with_the_reference() {
    for ranks in 1..=8 {
        set_up(1, ranks, &[]);
    }
}

#[test]
fn process_ranks_agree_with_the_reference() {
    for ranks in [2, 3, 5, 8] {
        set_up(ranks, 1, &[]);
    }
}

#[test]
fn processes_of_several_ranks_agree_with_the_reference() {
    set_up(2, 2, &[]);
    set_up(3, 2, &[]);
}

#[test]
fn rings_agree_with_the_reference() {
    for (processes, threads) in [(1, 5), (4, 1), (2, 3)] {
        set_up(processes, threads, &[("MCCL_ALGO", "Ring")]);
    }
}

#[test]
fn ranks_without_direct_access_agree_with_the_reference() {
    for (processes, threads) in [(1, 4), (3, 1), (2, 2)] {
        set_up(processes, threads, &[("MCCL_P2P_DISABLE", "1")]);
    }
}

#[test]
fn ranks_on_sockets_agree_with_the_reference() {
    for (processes, threads) in [(1, 3), (4, 1), (2, 2)] {
        set_up(processes, threads, &[("MCCL_P2P_DISABLE", "1"), ("MCCL_SHM_DISABLE", "1")]);
    }
}

/// Not a test of its own: what a process of a set-up does.
#[test]
fn process_of_a_team() {
    let Some(process) = number("TEAM_RANK") else { return };
    let (processes, threads) = (number("TEAM_SIZE").unwrap(), number(THREADS).unwrap());
    let size = processes * threads;
    let musart = Musart::open(&library_folder().join("libmusart.so"));
    let world = World::new(musart, shared_id(process), process * threads, threads, size);
    let mut runner = runner(size);
    let strategy = case::cases(size);
    if processes == 1 {
        let outcome = runner.run(&strategy, |case| world.run(&case).map_err(TestCaseError::fail));
        outcome.unwrap_or_else(|error| panic!("{error}"));
    } else {
        for turn in 0..cases() {
            let case = strategy.new_tree(&mut runner).unwrap().current();
            step(process, &format!("case {turn}: {case:?}"));
            if let Err(text) = world.run(&case) {
                panic!("case {turn}: {case:?}: {text}");
            }
        }
    }
    world.destroy();
    println!("{} cases agree", cases());
}

/// Runs the cases on ranks split into processes with as many threads each.
fn set_up(processes: usize, threads: usize, settings: &[(&str, &str)]) {
    let command = |_| {
        let mut command = Command::new(std::env::current_exe().unwrap());
        forget_settings(&mut command);
        command.args(["--exact", "process_of_a_team", "--nocapture"]).env(THREADS, threads.to_string());
        command.envs(settings.iter().copied());
        command
    };
    let words: String = settings.iter().map(|(name, value)| format!("-{name}-{value}")).collect();
    let name = format!("{processes}x{threads}{words}");
    let folder = scratch(env!("CARGO_TARGET_TMPDIR"), "collectives");
    let outcomes = Team::start(&name, &folder, processes, command).succeed();
    let done = format!("{} cases agree", cases());
    assert!(outcomes.iter().all(|outcome| outcome.stdout.contains(&done)), "{name}: {outcomes:?}");
}

/// The same cases in every process of a set-up.
fn runner(size: usize) -> TestRunner {
    let config = Config { cases: cases(), failure_persistence: None, ..Config::default() };
    let mut seed = [size as u8; 32];
    seed[..8].copy_from_slice(&(number("MCCL_TEST_SEED").unwrap_or(1) as u64).to_le_bytes());
    TestRunner::new_with_rng(config, TestRng::from_seed(RngAlgorithm::ChaCha, &seed))
}

fn cases() -> u32 {
    number("MCCL_TEST_CASES").map_or(SHORT, |cases| cases as u32)
}

fn number(name: &str) -> Option<usize> {
    std::env::var(name).ok()?.parse().ok()
}

/// A unique id that the first process makes and all get.
fn shared_id(process: usize) -> mcclUniqueId {
    let file = folder().join("id");
    if process == 0 {
        let bytes = World::unique_id().internal.map(|byte| byte as u8);
        std::fs::write(folder().join("id.new"), bytes).unwrap();
        std::fs::rename(folder().join("id.new"), &file).unwrap();
    }
    loop {
        if let Ok(bytes) = std::fs::read(&file) {
            let bytes: [u8; 128] = bytes.try_into().unwrap();
            return mcclUniqueId { internal: bytes.map(|byte| byte as _) };
        }
        std::thread::sleep(std::time::Duration::from_millis(1));
    }
}

fn step(process: usize, text: &str) {
    std::fs::write(folder().join(format!("step.{process}")), text).unwrap();
}

fn folder() -> PathBuf {
    std::env::var_os("TEAM_FOLDER").expect("a team has a folder").into()
}
