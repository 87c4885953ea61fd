//! Ranks as processes: joins, kills, and a network namespace without any network. The program starts itself again with
//! a role as its first argument.
use std::io::{BufRead, BufReader, Read};
use std::net::TcpStream;
use std::process::{Child, ChildStdout, Command, Stdio};
use std::time::Duration;

use mccl::base::ErrorKind;
use mccl::bootstrap::{JoinRequest, Patience, Session, Settings, UniqueId, join};

fn main() {
    let args: Vec<String> = std::env::args().skip(1).collect();
    match args.iter().map(String::as_str).collect::<Vec<_>>()[..] {
        ["rank", id, rank, nranks, what] => {
            rank_main(&from_hex(id), rank.parse().unwrap(), nranks.parse().unwrap(), what)
        }
        ["root"] => root_main(),
        ["no-network"] => without_network(),
        _ => run_tests(),
    }
}

fn run_tests() {
    let tests: [(&str, fn()); 6] = [
        ("processes_join_and_exchange", processes_join_and_exchange),
        ("a_killed_rank_is_named_by_the_others", a_killed_rank_is_named_by_the_others),
        ("a_killed_root_ends_the_waits", a_killed_root_ends_the_waits),
        ("a_process_that_exits_without_leaving_disturbs_nobody_later", exits_disturb_nobody),
        ("strangers_that_use_up_the_descriptors_make_room_for_ranks", strangers_make_room_for_ranks),
        ("ranks_meet_where_there_is_no_network", ranks_meet_where_there_is_no_network),
    ];
    for (name, test) in tests {
        test();
        println!("test {name} ... ok");
    }
}

fn processes_join_and_exchange() {
    let id = UniqueId::create(&Settings::default()).unwrap();
    let ranks: Vec<Rank> = (0..6).map(|rank| Rank::start(&id, rank, 6, "barrier")).collect();
    ranks.into_iter().for_each(|rank| assert_eq!(rank.finish(), "joined\nexchanged\n"));
}

fn a_killed_rank_is_named_by_the_others() {
    let id = UniqueId::create(&Settings::default()).unwrap();
    let mut victim = Rank::start(&id, 2, 4, "sleep");
    let others: Vec<Rank> = [0, 1, 3].map(|rank| Rank::start(&id, rank, 4, "barrier")).into();
    assert_eq!(victim.line(), "joined");
    victim.child.kill().unwrap();
    for other in others {
        let said = other.finish();
        assert!(said.starts_with("joined\nrank 2 of 4 is gone: "), "{said}");
    }
}

fn a_killed_root_ends_the_waits() {
    let mut root = Rank::of(Command::new(this()).arg("root"));
    let id = from_hex(&root.line());
    let mut waiting = Rank::start(&id, 0, 2, "barrier");
    // Nothing tells that the rank has connected; if it has not when the root dies, it says the other of two sentences.
    std::thread::sleep(Duration::from_millis(300));
    root.child.kill().unwrap();
    root.child.wait().unwrap();
    let said = waiting.line();
    assert!(said.starts_with("the root of the") && said.contains(" is gone: "), "{said}");
}

fn exits_disturb_nobody() {
    let id = UniqueId::create(&Settings::default()).unwrap();
    let ranks: Vec<Rank> = (0..3).map(|rank| Rank::start(&id, rank, 3, "exit")).collect();
    ranks.into_iter().for_each(|rank| assert_eq!(rank.finish(), "joined\n"));
    processes_join_and_exchange();
}

fn strangers_make_room_for_ranks() {
    let mut shell = Command::new("sh");
    let mut root = Rank::of(shell.args(["-c", "ulimit -n 24; exec \"$0\" root"]).arg(this()));
    let id = from_hex(&root.line());
    let strangers =
        id.addresses().iter().flat_map(|address| (0..60).map(|_| TcpStream::connect(*address).unwrap()));
    let strangers: Vec<TcpStream> = strangers.collect();
    let ranks: Vec<Rank> = (0..4).map(|rank| Rank::start(&id, rank, 4, "barrier")).collect();
    ranks.into_iter().for_each(|rank| assert_eq!(rank.finish(), "joined\nexchanged\n"));
    drop(strangers);
}

fn ranks_meet_where_there_is_no_network() {
    let output = Command::new("unshare")
        .args(["--user", "--map-root-user", "--net"])
        .arg(this())
        .arg("no-network")
        .output();
    match output {
        Ok(output) if output.status.success() => assert_eq!(output.stdout, b"met\n"),
        Ok(output) if String::from_utf8_lossy(&output.stderr).contains("unshare: ") => {
            println!(
                "(this host gives no network namespaces: {})",
                String::from_utf8_lossy(&output.stderr).trim()
            );
        }
        Ok(output) => panic!("{}", String::from_utf8_lossy(&output.stderr)),
        Err(error) => println!("(unshare is not installed: {error})"),
    }
}

/// In a fresh network namespace even `lo` is down.
fn without_network() {
    let id = UniqueId::create(&Settings::default()).unwrap();
    assert!(id.addresses().is_empty());
    let ranks: Vec<Rank> = (0..4).map(|rank| Rank::start(&id, rank, 4, "barrier")).collect();
    ranks.into_iter().for_each(|rank| assert_eq!(rank.finish(), "joined\nexchanged\n"));
    println!("met");
}

fn rank_main(id: &UniqueId, rank: usize, nranks: usize, what: &str) {
    let patience = Patience::new(Duration::from_secs(60));
    let mut session = match join(JoinRequest { id, rank, nranks, payload: vec![rank as u8], patience }) {
        Ok(session) => session,
        Err(error) => return println!("{error}"),
    };
    println!("joined");
    match what {
        "barrier" => match exchange(&mut session) {
            Ok(()) => println!("exchanged"),
            Err(error) => {
                assert_eq!(error.kind, ErrorKind::Remote);
                println!("{error}");
            }
        },
        "exit" => std::process::exit(0),
        _ => std::thread::sleep(Duration::from_secs(600)),
    }
}

fn exchange(session: &mut Session) -> mccl::base::Result<()> {
    for round in 0..10 {
        let mine = vec![session.rank() as u8; round];
        let all = session.all_gather(&mine)?;
        assert!(all.iter().enumerate().all(|(rank, piece)| *piece == vec![rank as u8; round]));
    }
    Ok(())
}

fn root_main() {
    let id = UniqueId::create(&Settings::default()).unwrap();
    println!("{}", to_hex(&id));
    std::thread::sleep(Duration::from_secs(600));
}

/// A child process and what it prints. Killed when dropped.
struct Rank {
    child: Child,
    output: BufReader<ChildStdout>,
}

impl Rank {
    fn start(id: &UniqueId, rank: usize, nranks: usize, what: &str) -> Self {
        let args = ["rank".to_string(), to_hex(id), rank.to_string(), nranks.to_string(), what.to_string()];
        Self::of(Command::new(this()).args(args))
    }

    fn of(command: &mut Command) -> Self {
        let mut child = command.stdout(Stdio::piped()).spawn().unwrap();
        let output = BufReader::new(child.stdout.take().unwrap());
        Self { child, output }
    }

    fn line(&mut self) -> String {
        let mut line = String::new();
        self.output.read_line(&mut line).unwrap();
        line.trim_end().to_string()
    }

    fn finish(mut self) -> String {
        let mut said = String::new();
        self.output.read_to_string(&mut said).unwrap();
        assert!(self.child.wait().unwrap().success(), "{said}");
        said
    }
}

impl Drop for Rank {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

fn this() -> std::path::PathBuf {
    std::env::current_exe().unwrap()
}

fn to_hex(id: &UniqueId) -> String {
    id.to_bytes().iter().map(|byte| format!("{byte:02x}")).collect()
}

fn from_hex(text: &str) -> UniqueId {
    let mut bytes = [0; UniqueId::BYTES];
    for (at, byte) in bytes.iter_mut().enumerate() {
        *byte = u8::from_str_radix(&text[2 * at..2 * at + 2], 16).unwrap();
    }
    UniqueId::from_bytes(&bytes).unwrap()
}
