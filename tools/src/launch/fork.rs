//! The parent of `--nproc N`: starts this program N times, passes signals on, and ends all when one is lost.

use std::collections::HashMap;
use std::ffi::OsString;
use std::os::fd::{AsRawFd, OwnedFd};
use std::os::unix::process::{CommandExt, ExitStatusExt};
use std::process::{Child, Command, ExitStatus};
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

use signal_hook::consts::{SIGHUP, SIGINT, SIGKILL, SIGTERM};
use signal_hook::iterator::Signals;

use super::detect::LOCAL_VARIABLE;
use super::shared::{Shared, file_len};
use crate::error::{EXIT_FAILED, EXIT_PIPE, EXIT_WRONG, Error, Result};
use crate::sys;

/// How long the others may take to end by themselves after one was lost, and again after being asked to.
const GRACE: Duration = Duration::from_secs(3);
const POLL: Duration = Duration::from_millis(5);

/// Processes that run, by rank.
type Running = Arc<Mutex<HashMap<usize, u32>>>;

/// Runs `size` processes of this program with `args` to their end. Returns the exit status for the parent.
pub fn run(size: usize, args: &[OsString]) -> Result<i32> {
    let failed = |what: &str, e: std::io::Error| Error::failed(format!("--nproc: {size}: {what}: {e}"));
    let file = sys::memory_file(c"mccl-tests", file_len(size)).map_err(|e| failed("memory file", e))?;
    let shared = Shared::map(file.as_raw_fd(), 0, size)?;
    let running = Running::default();
    forward_signals(&running).map_err(|e| failed("signals", e))?;
    let mut children = Vec::new();
    for rank in 0..size {
        match spawn(rank, size, &file, args) {
            Ok(child) => {
                lock(&running).insert(rank, child.id());
                children.push((rank, child));
            }
            Err(error) => {
                end_all(&mut children, &shared);
                return Err(failed(&format!("start of rank {rank}"), error));
            }
        }
    }
    Ok(wait(children, &shared, &running))
}

fn spawn(rank: usize, size: usize, file: &OwnedFd, args: &[OsString]) -> std::io::Result<Child> {
    let mut command = Command::new(std::env::current_exe()?);
    command.args(args).env(LOCAL_VARIABLE, format!("{rank}/{size}/{}", file.as_raw_fd()));
    // SAFETY: the function makes one async-signal-safe system call and allocates nothing.
    unsafe { command.pre_exec(sys::die_with_parent) };
    command.spawn()
}

fn forward_signals(running: &Running) -> std::io::Result<()> {
    let mut signals = Signals::new([SIGINT, SIGTERM, SIGHUP])?;
    let running = Arc::clone(running);
    std::thread::spawn(move || {
        for signal in &mut signals {
            lock(&running).values().for_each(|&pid| sys::kill(pid, signal));
        }
    });
    Ok(())
}

fn wait(mut children: Vec<(usize, Child)>, shared: &Shared, running: &Running) -> i32 {
    let mut status = 0;
    let mut deadline: Option<Instant> = None;
    while !children.is_empty() {
        for (rank, ended) in reap(&mut children, running) {
            let (code, text) = judge(ended);
            // The first process that is lost names the cause; the others follow it.
            if let Some(text) = text.filter(|_| deadline.is_none()) {
                eprintln!("mccl-tests: rank {rank} {text}; ending the others");
            }
            if code > EXIT_WRONG && deadline.is_none() {
                deadline = Some(Instant::now() + if code == EXIT_PIPE { Duration::ZERO } else { GRACE });
                status = code;
                shared.stop();
            }
            status = if status == 0 { code } else { status };
        }
        if deadline.is_some_and(|d| Instant::now() > d) {
            end_all(&mut children, shared);
            break;
        }
        std::thread::sleep(POLL);
    }
    status
}

/// Takes the processes that have ended out of the list.
fn reap(children: &mut Vec<(usize, Child)>, running: &Running) -> Vec<(usize, ExitStatus)> {
    // Held while reaping, so that no signal goes to a number that is no longer ours.
    let mut running = lock(running);
    let mut ended = Vec::new();
    children.retain_mut(|(rank, child)| match child.try_wait() {
        Ok(None) => true,
        Ok(Some(status)) => {
            running.remove(rank);
            ended.push((*rank, status));
            false
        }
        Err(_) => {
            running.remove(rank);
            ended.push((*rank, ExitStatus::from_raw(EXIT_FAILED << 8)));
            false
        }
    });
    ended
}

/// The exit status that a process's end stands for, and words for it if the process could not say them itself.
fn judge(ended: ExitStatus) -> (i32, Option<String>) {
    match (ended.code(), ended.signal()) {
        (Some(code), _) if code <= EXIT_WRONG || code == EXIT_PIPE => (code, None),
        (Some(code), _) => (code, Some(format!("failed with exit status {code}"))),
        (None, Some(signal)) => {
            (EXIT_FAILED, Some(format!("died of signal {signal} ({})", sys::signal_name(signal))))
        }
        (None, None) => (EXIT_FAILED, Some("ended for no known reason".to_string())),
    }
}

/// Asks all to end, then makes them.
fn end_all(children: &mut [(usize, Child)], shared: &Shared) {
    shared.stop();
    children.iter().for_each(|(_, child)| sys::kill(child.id(), SIGTERM));
    let deadline = Instant::now() + GRACE;
    for (_, child) in children.iter_mut() {
        while matches!(child.try_wait(), Ok(None)) {
            if Instant::now() > deadline {
                sys::kill(child.id(), SIGKILL);
            }
            std::thread::sleep(POLL);
        }
    }
}

fn lock(running: &Running) -> std::sync::MutexGuard<'_, HashMap<usize, u32>> {
    running.lock().unwrap_or_else(|poisoned| poisoned.into_inner())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ends_are_told_apart() {
        assert_eq!(judge(ExitStatus::from_raw(0)), (0, None));
        assert_eq!(judge(ExitStatus::from_raw(1 << 8)), (1, None));
        assert_eq!(judge(ExitStatus::from_raw(3 << 8)), (3, Some("failed with exit status 3".to_string())));
        let (status, text) = judge(ExitStatus::from_raw(9));
        assert_eq!((status, text.unwrap().as_str()), (EXIT_FAILED, "died of signal 9 (Killed)"));
    }
}
