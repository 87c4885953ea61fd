//! Two hosts, as network namespaces with a cable between them. Needs root and iproute2; says so and does nothing without.
use std::process::{Command, Output};

use ffi_tests::cc::forget_settings;
use ffi_tests::team::{Outcome, Team, told};
use ffi_tests::tools::{arguments, assert_right, tool};
use ffi_tests::{root, scratch};

/// Ranks of each host.
const EACH: usize = 2;
const IPV4: &str = "10.98.0.1";
const IPV6: &str = "[fd98::1]";

#[test]
fn two_hosts_are_right_over_ipv4() {
    let Some(hosts) = Hosts::up("four") else { return };
    for (name, args, rows) in [
        ("all_reduce_perf", "-b 8 -e 4M -f 8 -n 5", 7),
        ("alltoall_perf", "-b 1K -e 1M -f 32 -n 5", 3),
        ("sendrecv_perf", "-b 8 -e 1M -f 32 -n 5", 4),
    ] {
        hosts.measure(name, args, rows, IPV4, "AF_INET");
    }
}

#[test]
fn two_hosts_are_right_over_ipv6() {
    let Some(hosts) = Hosts::up("six") else { return };
    hosts.measure("all_reduce_perf", "-b 8 -e 1M -f 32 -n 5", 4, IPV6, "AF_INET6");
}

#[test]
fn a_lost_host_is_a_clear_error_on_the_other() {
    let Some(hosts) = Hosts::up("lost") else { return };
    let mut team = hosts.start("lost", "all_reduce_perf", "-b 1M -e 1M -n 200 -N 0", IPV4, "AF_INET");
    // The first row of the table.
    team.await_output(0, " 262144 ");
    (EACH..2 * EACH).for_each(|rank| team.kill(rank));
    let outcomes = team.finish();
    let text = told(&outcomes);
    for outcome in &outcomes[..EACH] {
        assert_eq!(outcome.status.code(), Some(3), "{text}");
        assert!(outcome.stderr.contains("(6)"), "no remote error in {text}");
    }
    let named = |outcome: &Outcome| outcome.stderr.contains("rank 2") || outcome.stderr.contains("rank 3");
    assert!(outcomes[..EACH].iter().any(named), "{text}");
}

/// Two namespaces; taken down at the end.
struct Hosts {
    name: String,
    test: &'static str,
}

impl Hosts {
    fn up(test: &'static str) -> Option<Self> {
        let hosts = Self { name: format!("mccl{}-{test}", std::process::id()), test };
        let output = hosts.script("up").output().expect("run a shell");
        if !output.status.success() {
            eprintln!("skipped: no network namespaces: {}", String::from_utf8_lossy(&output.stderr).trim());
            return None;
        }
        Some(hosts)
    }

    fn script(&self, verb: &str) -> Command {
        let mut command = Command::new("sh");
        command.arg(root().join("ffi-tests/netns.sh")).arg(verb).arg(&self.name);
        command
    }

    fn start(&self, name: &str, program: &str, args: &str, address: &str, family: &str) -> Team {
        let folder = scratch(env!("CARGO_TARGET_TMPDIR"), "hosts");
        let program = tool(program);
        let command = |rank: usize| {
            let mut command = Command::new("ip");
            forget_settings(&mut command);
            command.args(["netns", "exec", &format!("{}-{}", self.name, ["a", "b"][rank / EACH])]);
            command.arg(&program).args(arguments(args));
            command.env("RANK", rank.to_string()).env("WORLD_SIZE", (2 * EACH).to_string());
            command.env("LOCAL_RANK", (rank % EACH).to_string());
            command.env("MCCL_COMM_ID", format!("{address}:29555")).env("MCCL_SOCKET_FAMILY", family);
            command
        };
        Team::start(&format!("{}-{name}", self.test), &folder, 2 * EACH, command)
    }

    fn measure(&self, program: &str, args: &str, rows: usize, address: &str, family: &str) {
        let outcomes = self.start(program, program, args, address, family).succeed();
        let Outcome { status, stdout, stderr } = &outcomes[0];
        let output = Output { status: *status, stdout: stdout.clone().into(), stderr: stderr.clone().into() };
        assert_right(&format!("{program} {args} at {address}"), &output, rows);
    }
}

impl Drop for Hosts {
    fn drop(&mut self) {
        let _ = self.script("down").output();
    }
}
