//! Whole joins over real sockets: ranks as threads, and everything that should not disturb them.
use std::io::{Read, Write};
use std::net::{Ipv4Addr, SocketAddr, TcpStream};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread::{self, ScopedJoinHandle};
use std::time::{Duration, Instant};

use super::*;
use crate::base::{Error, ErrorKind, Result};

const LONG: Duration = Duration::from_secs(120);

fn create() -> UniqueId {
    UniqueId::create(&loopback()).unwrap()
}

fn loopback() -> Settings {
    Settings { ifname: Some("lo".into()), ..Settings::default() }
}

fn request(id: &UniqueId, rank: usize, nranks: usize, timeout: Duration) -> JoinRequest<'_> {
    let payload = format!("payload of {rank}").into_bytes();
    JoinRequest { id, rank, nranks, payload, patience: Patience::new(timeout) }
}

fn join_as(id: &UniqueId, rank: usize, nranks: usize) -> Result<Session> {
    join(request(id, rank, nranks, LONG))
}

/// The same id without its Unix socket: ranks must take TCP.
fn over_tcp(id: &UniqueId) -> UniqueId {
    let mut bytes = id.to_bytes();
    bytes[44..52].copy_from_slice(&[0xee; 8]);
    id::rechecksum(&mut bytes);
    UniqueId::from_bytes(&bytes).unwrap()
}

/// Runs `rank` on a thread for each number of `ranks`; what each returned, in that order.
fn run<T: Send>(ranks: impl IntoIterator<Item = usize>, rank: impl Fn(usize) -> T + Sync) -> Vec<T> {
    thread::scope(|scope| {
        let rank = &rank;
        let all: Vec<ScopedJoinHandle<'_, T>> =
            ranks.into_iter().map(|number| scope.spawn(move || rank(number))).collect();
        all.into_iter().map(|thread| thread.join().unwrap()).collect()
    })
}

fn errors(results: Vec<Result<Session>>) -> Vec<Error> {
    results.into_iter().map(|result| result.map(drop).unwrap_err()).collect()
}

#[test]
fn everybody_gets_everybodys_payload_and_later_exchanges() {
    let id = create();
    run(0..8, |rank| {
        let mut session = join_as(&id, rank, 8).unwrap();
        let texts: Vec<_> = session.payloads().iter().map(|bytes| String::from_utf8_lossy(bytes)).collect();
        assert_eq!(texts, (0..8).map(|rank| format!("payload of {rank}")).collect::<Vec<_>>());
        for round in 0..20 {
            let all = session.all_gather(&vec![rank as u8; rank * round]).unwrap();
            assert!(all.iter().enumerate().all(|(r, piece)| *piece == vec![r as u8; r * round]));
        }
        session.barrier().unwrap();
        session.check().unwrap();
    });
}

#[test]
fn ranks_meet_over_tcp_alone() {
    let id = over_tcp(&create());
    assert_eq!(id.addresses().len(), 1);
    run(0..4, |rank| join_as(&id, rank, 4).unwrap().barrier().unwrap());
}

#[test]
fn sixty_four_ranks_and_the_largest_payloads_pass() {
    for (nranks, len) in [(64, 100), (16, MAX_PAYLOAD)] {
        let id = create();
        let start = Instant::now();
        run(0..nranks, |rank| {
            let payload = vec![rank as u8; len];
            let session = join(JoinRequest { payload, ..request(&id, rank, nranks, LONG) }).unwrap();
            assert!(session.payloads().iter().enumerate().all(|(r, p)| *p == vec![r as u8; len]));
        });
        println!("{nranks} ranks, {len} bytes each: {:?}", start.elapsed());
    }
}

#[test]
fn one_rank_joins_alone() {
    let mut session = join_as(&create(), 0, 1).unwrap();
    assert_eq!(session.all_gather(b"x").unwrap(), [b"x".to_vec()]);
}

#[test]
fn many_ids_live_at_the_same_time_in_one_thread_and_with_constant_descriptors() {
    join_as(&create(), 0, 1).unwrap();
    let count = || std::fs::read_dir("/proc/self/fd").unwrap().count();
    let ids: Vec<UniqueId> = (0..50).map(|_| create()).collect();
    assert!(ids.iter().all(|id| id.addresses() == ids[0].addresses()));
    let before = count();
    run(0..2, |rank| ids.iter().for_each(|id| drop(join_as(id, rank, 2).unwrap())));
    // Other tests open and close descriptors in this process meanwhile, but not fifty.
    assert!(count() < before + 50);
}

#[test]
fn a_missing_rank_is_named_when_the_deadline_is_over() {
    let id = create();
    let results = run([0, 1, 3, 4], |rank| join(request(&id, rank, 8, Duration::from_millis(300))));
    for error in errors(results) {
        assert_eq!(error.kind, ErrorKind::Timeout);
        assert_eq!(error.message, "ranks 2, 5-7 of 8 did not join within 0.3 s");
    }
    // Whoever comes later is told at once.
    let late = join_as(&id, 2, 8).map(drop).unwrap_err();
    assert_eq!(late.message, "ranks 2, 5-7 of 8 did not join within 0.3 s");
}

#[test]
fn an_id_used_twice_is_an_error_and_not_a_hang() {
    let id = create();
    run(0..2, |rank| join_as(&id, rank, 2).map(drop).unwrap());
    for error in errors(run(0..2, |rank| join_as(&id, rank, 2))) {
        assert_eq!(error.kind, ErrorKind::InvalidUsage);
        assert_eq!(error.message, "unique id was already used for a communicator");
    }
}

#[test]
fn a_rank_that_joins_twice_and_other_sizes_are_told_to_all() {
    let id = create();
    for error in errors(run([0, 1, 1], |rank| join_as(&id, rank, 3))) {
        assert_eq!(error.message, "rank 1 has already joined with this unique id");
    }
    let id = create();
    let results = thread::scope(|scope| {
        let first = scope.spawn(|| join_as(&id, 0, 4));
        thread::sleep(Duration::from_millis(100));
        vec![join_as(&id, 2, 8), first.join().unwrap()]
    });
    for error in errors(results) {
        assert_eq!(error.kind, ErrorKind::InvalidUsage);
        assert_eq!(error.message, "rank 2 says 8 ranks, rank 0 says 4");
    }
}

#[test]
fn impossible_numbers_are_refused_before_anything_is_sent() {
    let id = create();
    for (rank, nranks) in [(0, 0), (2, 2), (0, MAX_RANKS + 1)] {
        assert_eq!(join_as(&id, rank, nranks).map(drop).unwrap_err().kind, ErrorKind::InvalidArgument);
    }
    let payload = vec![0; MAX_PAYLOAD + 1];
    let error = join(JoinRequest { payload, ..request(&id, 0, 1, LONG) }).map(drop).unwrap_err();
    assert_eq!(error.kind, ErrorKind::InvalidArgument);
}

#[test]
fn an_abort_ends_a_join_and_tells_the_others() {
    let id = create();
    let flag = Arc::new(AtomicBool::new(false));
    thread::scope(|scope| {
        let seen = flag.clone();
        let patience = Patience::new(LONG).with_abort(move || seen.load(Ordering::Relaxed));
        let aborted = scope.spawn(|| join(JoinRequest { patience, ..request(&id, 0, 3, LONG) }).map(drop));
        let other = scope.spawn(|| join_as(&id, 1, 3).map(drop));
        thread::sleep(Duration::from_millis(100));
        flag.store(true, Ordering::Relaxed);
        assert_eq!(aborted.join().unwrap().unwrap_err().kind, ErrorKind::Aborted);
        let error = other.join().unwrap().unwrap_err();
        assert_eq!(
            (error.kind, error.message.as_str()),
            (ErrorKind::Remote, "rank 0 of 3 gave up before all ranks had joined")
        );
    });
}

#[test]
fn a_rank_that_leaves_or_dies_ends_the_exchange_of_the_others() {
    let id = create();
    run(0..3, |rank| {
        let mut session = join_as(&id, rank, 3).unwrap();
        if rank == 2 {
            return;
        }
        let error = session.barrier().unwrap_err();
        assert_eq!(error.message, "rank 2 of 3 left the communicator while others exchange data");
        assert_eq!(session.barrier().unwrap_err(), error);
    });

    let id = create();
    run(0..3, |rank| {
        let mut session = join_as(&id, rank, 3).unwrap();
        if rank == 2 {
            session.die();
            return;
        }
        let error = loop {
            match session.check() {
                Ok(()) => thread::sleep(Duration::from_millis(1)),
                Err(error) => break error,
            }
        };
        assert_eq!(error.kind, ErrorKind::Remote);
        assert_eq!(
            error.message,
            "rank 2 of 3 is gone: it ended or was killed without leaving the communicator"
        );
    });
}

#[test]
fn a_rank_that_dies_while_joining_is_named_at_once() {
    let id = create();
    thread::scope(|scope| {
        let waiting = scope.spawn(|| join_as(&id, 0, 3).map(drop).unwrap_err());
        thread::sleep(Duration::from_millis(50));
        let patience = Patience::new(LONG);
        join::tests::greet_and_die(request(&id, 1, 3, LONG), &patience).unwrap();
        assert!(waiting.join().unwrap().message.starts_with("rank 1 of 3 is gone"));
    });
}

#[test]
fn a_late_exchange_names_who_did_not_come() {
    let id = create();
    run(0..3, |rank| {
        let mut session = join_as(&id, rank, 3).unwrap();
        session.set_patience(Patience::new(Duration::from_millis(200)));
        if rank == 1 {
            while session.check().is_ok() {
                thread::sleep(Duration::from_millis(1));
            }
            return;
        }
        let error = session.barrier().unwrap_err();
        assert_eq!(error.message, "rank 1 of 3 did not reach exchange 1 within 0.2 s");
    });
}

#[test]
fn strangers_scanners_and_silent_connections_disturb_nobody() {
    let id = over_tcp(&create());
    let address = id.addresses()[0];
    let stop = AtomicBool::new(false);
    thread::scope(|scope| {
        let noise: Vec<_> = (0..3).map(|seed| scope.spawn(move || annoy(address, seed))).collect();
        let _silent: Vec<TcpStream> = (0..200).map(|_| TcpStream::connect(address).unwrap()).collect();
        let scanner = scope.spawn(|| {
            while !stop.load(Ordering::Relaxed) {
                drop(TcpStream::connect(address));
                // Slow enough to leave some of the host's ports to others.
                thread::sleep(Duration::from_micros(200));
            }
        });
        for _ in 0..5 {
            let id = over_tcp(&create());
            assert_eq!(id.addresses()[0], address);
            run(0..8, |rank| join_as(&id, rank, 8).unwrap().barrier().unwrap());
        }
        stop.store(true, Ordering::Relaxed);
        scanner.join().unwrap();
        noise.into_iter().for_each(|thread| thread.join().unwrap());
    });
}

/// Sends garbage, a hello without an id behind it, half a hello, and an endless stream; each must be closed.
fn annoy(address: SocketAddr, seed: u8) {
    let mut hello = b"mcclnet\x01\x01\0\0\0\0\0\0\0".to_vec();
    hello.resize(72, seed);
    for bytes in [&b"GET / HTTP/1.1\r\nHost: x\r\n\r\n"[..], &[seed; 100], &hello, &[0xff; 1 << 20]] {
        let mut stream = TcpStream::connect(address).unwrap();
        stream.set_read_timeout(Some(Duration::from_secs(60))).unwrap();
        let _ = stream.write_all(bytes);
        if bytes.len() >= 72 {
            let mut rest = Vec::new();
            // Closed or reset; and nothing is ever answered.
            let _ = stream.read_to_end(&mut rest);
            assert!(rest.is_empty());
        }
    }
    let mut half = TcpStream::connect(address).unwrap();
    half.write_all(&hello[..40]).unwrap();
}

#[test]
fn a_rank_with_another_key_does_not_get_in() {
    let id = create();
    let mut bytes = id.to_bytes();
    bytes[12] ^= 1;
    id::rechecksum(&mut bytes);
    let thief = UniqueId::from_bytes(&bytes).unwrap();
    let error = join(request(&thief, 0, 1, Duration::from_secs(1))).map(drop).unwrap_err();
    assert_eq!(error.kind, ErrorKind::Timeout);
    assert!(error.message.contains("closed the connection"), "{error}");
    join_as(&id, 0, 1).unwrap();
}

#[test]
fn an_authenticated_rank_that_speaks_nonsense_fails_the_group_and_not_the_root() {
    let id = create();
    run(0..2, |rank| {
        let mut session = join_as(&id, rank, 2).unwrap();
        if rank == 1 {
            session.send_raw(&[0xff, 0xff, 0xff, 0xff, 2]);
            return;
        }
        let error = session.barrier().unwrap_err();
        assert!(error.message.starts_with("rank 1 of 2 is gone: a message of 4294967295 bytes"), "{error}");
    });
    join_as(&create(), 0, 1).unwrap();
}

#[test]
fn comm_ids_serve_one_communicator_after_another() {
    let port = std::net::TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).unwrap().local_addr().unwrap().port();
    let text = format!("127.0.0.1:{port}");
    for _ in 0..3 {
        run((0..3).rev(), |rank| {
            let id = UniqueId::from_comm_id(&text).unwrap();
            for _ in 0..3 {
                join_as(&id, rank, 3).unwrap().barrier().unwrap();
            }
        });
    }
}

#[test]
fn a_comm_id_that_is_not_of_this_host_is_an_error_at_rank_0() {
    let id = UniqueId::from_comm_id("192.0.2.1:9").unwrap();
    let error = join_as(&id, 0, 2).map(drop).unwrap_err();
    assert_eq!(error.kind, ErrorKind::System);
    assert!(error.message.contains("rank 0 cannot listen at 192.0.2.1:9"), "{error}");
}

#[test]
fn an_interface_that_is_not_there_fails_the_id() {
    let settings = Settings { ifname: Some("nosuch0".into()), ..Settings::default() };
    let error = UniqueId::create(&settings).unwrap_err();
    assert_eq!(error.kind, ErrorKind::InvalidUsage);
    assert!(error.message.contains("\"nosuch0\""), "{error}");
}
