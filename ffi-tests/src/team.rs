//! Runs processes as ranks of one team, with a watchdog: when none makes a step for long, it prints each rank's last one and ends all.
use std::fs::File;
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, ExitStatus, Stdio};
use std::time::{Duration, Instant};

/// How long a team may stand still: no rank makes a step, none ends.
const SILENCE: Duration = Duration::from_secs(180);
const LOOK: Duration = Duration::from_millis(20);

/// Processes that run together. Dropping it ends those that still run.
pub struct Team {
    name: String,
    folder: PathBuf,
    ranks: Vec<Rank>,
}

struct Rank {
    child: Child,
    ended: Option<ExitStatus>,
}

/// What one rank left behind.
#[derive(Debug)]
pub struct Outcome {
    pub status: ExitStatus,
    pub stdout: String,
    pub stderr: String,
}

impl Team {
    /// Starts `size` processes; `command` makes that of a rank. Each finds `TEAM_RANK`, `TEAM_SIZE` and `TEAM_FOLDER`, an empty folder.
    pub fn start(name: &str, folder: &Path, size: usize, command: impl Fn(usize) -> Command) -> Self {
        let folder = folder.join(format!("team-{name}"));
        let _ = std::fs::remove_dir_all(&folder);
        std::fs::create_dir_all(&folder).expect("create the team's folder");
        let mut team = Self { name: name.into(), folder, ranks: Vec::new() };
        for rank in 0..size {
            let mut command = command(rank);
            command.env("TEAM_RANK", rank.to_string()).env("TEAM_SIZE", size.to_string());
            command.env("TEAM_FOLDER", &team.folder).stdin(Stdio::null());
            command.stdout(team.file(rank, "out")).stderr(team.file(rank, "err"));
            // SAFETY: one async-signal-safe system call, no allocation.
            unsafe { command.pre_exec(die_with_parent) };
            let child = command.spawn().unwrap_or_else(|error| panic!("{name}: {command:?}: {error}"));
            team.ranks.push(Rank { child, ended: None });
        }
        team
    }

    /// The process of a rank.
    pub fn pid(&self, rank: usize) -> u32 {
        self.ranks[rank].child.id()
    }

    /// Ends a rank as `kill -9` does.
    pub fn kill(&mut self, rank: usize) {
        self.ranks[rank].child.kill().expect("kill a rank");
    }

    /// Returns when every rank's last step is `step`.
    pub fn await_step(&mut self, step: &str) {
        self.watch(|team| (0..team.ranks.len()).all(|rank| team.last_step(rank) == step));
    }

    /// Returns when a rank has written `text` to its standard output.
    pub fn await_output(&mut self, rank: usize, text: &str) {
        self.watch(|team| team.said(rank, "out").contains(text));
    }

    /// Waits for all ranks.
    ///
    /// # Panics
    /// When the team stands still.
    pub fn finish(mut self) -> Vec<Outcome> {
        self.watch(|team| team.ranks.iter().all(|rank| rank.ended.is_some()));
        (0..self.ranks.len()).map(|rank| self.outcome(rank)).collect()
    }

    /// Waits for all ranks, which must succeed.
    ///
    /// # Panics
    /// When one fails, with everything that all of them said.
    pub fn succeed(self) -> Vec<Outcome> {
        let name = self.name.clone();
        let outcomes = self.finish();
        assert!(outcomes.iter().all(|outcome| outcome.status.success()), "{name}:\n{}", told(&outcomes));
        outcomes
    }

    fn watch(&mut self, done: impl Fn(&Self) -> bool) {
        let (mut since, mut before) = (Instant::now(), Vec::new());
        loop {
            for rank in &mut self.ranks {
                rank.ended = rank.ended.or_else(|| rank.child.try_wait().expect("wait for a rank"));
            }
            if done(self) {
                return;
            }
            let now: Vec<_> = (0..self.ranks.len()).map(|rank| self.state(rank)).collect();
            if now != before {
                (since, before) = (Instant::now(), now);
            }
            if since.elapsed() > SILENCE {
                self.end_all();
                let outcomes: Vec<Outcome> = (0..self.ranks.len()).map(|rank| self.outcome(rank)).collect();
                panic!("{} stands still\n{}\n{}", self.name, before.join("\n"), told(&outcomes));
            }
            std::thread::sleep(LOOK);
        }
    }

    /// A rank's last step, and how it ended.
    fn state(&self, rank: usize) -> String {
        let end = self.ranks[rank].ended.map_or("runs".to_string(), |status| status.to_string());
        let said = self.said(rank, "out").len();
        format!("rank {rank} {end}, last step '{}', {said} bytes said", self.last_step(rank))
    }

    fn last_step(&self, rank: usize) -> String {
        std::fs::read_to_string(self.folder.join(format!("step.{rank}"))).unwrap_or_default()
    }

    fn end_all(&mut self) {
        for rank in self.ranks.iter_mut().filter(|rank| rank.ended.is_none()) {
            let _ = rank.child.kill();
            rank.ended = rank.child.wait().ok();
        }
    }

    fn outcome(&self, rank: usize) -> Outcome {
        let status = self.ranks[rank].ended.expect("an ended rank");
        Outcome { status, stdout: self.said(rank, "out"), stderr: self.said(rank, "err") }
    }

    /// What a rank has written so far.
    fn said(&self, rank: usize, kind: &str) -> String {
        let bytes = std::fs::read(self.folder.join(format!("{kind}.{rank}"))).unwrap_or_default();
        String::from_utf8_lossy(&bytes).into_owned()
    }

    fn file(&self, rank: usize, kind: &str) -> File {
        File::create(self.folder.join(format!("{kind}.{rank}"))).expect("create a rank's output")
    }
}

impl Drop for Team {
    fn drop(&mut self) {
        self.end_all();
    }
}

/// The standard output of all ranks as one transcript.
pub fn transcribed(outcomes: &[Outcome]) -> String {
    let said = |(rank, outcome): (usize, &Outcome)| format!("-- rank {rank} --\n{}", outcome.stdout);
    outcomes.iter().enumerate().map(said).collect()
}

/// Everything that the ranks said, for a failure.
pub fn told(outcomes: &[Outcome]) -> String {
    let one = |(rank, o): (usize, &Outcome)| format!("rank {rank} {}:\n{}{}", o.status, o.stdout, o.stderr);
    outcomes.iter().enumerate().map(one).collect::<Vec<_>>().join("\n")
}

fn die_with_parent() -> std::io::Result<()> {
    // SAFETY: plain values.
    match unsafe { libc::prctl(libc::PR_SET_PDEATHSIG, libc::SIGKILL) } {
        0 => Ok(()),
        _ => Err(std::io::Error::last_os_error()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A name that no other run of these tests has.
    fn own(name: &str) -> String {
        format!("{name}-{}", std::process::id())
    }

    fn shell(script: &str) -> Command {
        let mut command = Command::new("sh");
        command.args(["-c", script]);
        command
    }

    #[test]
    fn ranks_know_their_place_and_are_heard() {
        let said =
            Team::start(&own("place"), &std::env::temp_dir(), 3, |_| shell("echo $TEAM_RANK of $TEAM_SIZE"));
        let expected = "-- rank 0 --\n0 of 3\n-- rank 1 --\n1 of 3\n-- rank 2 --\n2 of 3\n";
        assert_eq!(transcribed(&said.succeed()), expected);
    }

    #[test]
    fn a_failing_rank_is_seen_and_a_killed_one_too() {
        let outcomes =
            Team::start(&own("fail"), &std::env::temp_dir(), 2, |_| shell("exit $TEAM_RANK")).finish();
        assert_eq!(outcomes[1].status.code(), Some(1));
        let mut team = Team::start(&own("kill"), &std::env::temp_dir(), 1, |_| shell("sleep 1000"));
        team.kill(0);
        assert_eq!(team.finish()[0].status.code(), None);
    }
}
