//! The socket transport over loopback: conformance, strangers, dead peers, liars.
use std::io::{IoSlice, Write};
use std::net::TcpStream;
use std::thread;
use std::time::{Duration, Instant};

use super::frame::{Header, Route};
use super::*;
use crate::base::{ErrorKind, Result};
use crate::bootstrap::auth::{Key, Purpose};
use crate::bootstrap::dial::Call;
use crate::bootstrap::{Family, Patience, Settings};
use crate::sys::socket::{Address, Socket};
use crate::transport::{RecvEnd, SendEnd, conformance};

fn hub(key: &Key, rank: usize, ifname: &str) -> SocketHub {
    let settings = Settings { ifname: Some(ifname.into()), ..Settings::default() };
    SocketHub::bind(&settings, key, rank).unwrap()
}

fn shape(slot_bytes: usize, slots: usize) -> Shape {
    Shape { slot_bytes, slots, ..Shape::default() }
}

fn pair(slot_bytes: usize, slots: usize) -> (SocketSend, SocketRecv) {
    let key = Key::random().unwrap();
    let (from, to) = (hub(&key, 3, "lo"), hub(&key, 5, "lo"));
    let shape = shape(slot_bytes, slots);
    (from.send_end(5, to.addresses(), 0, shape).unwrap(), to.recv_end(3, 0, shape).unwrap())
}

fn until<T>(mut poll: impl FnMut() -> Option<T>) -> T {
    let end = Instant::now() + Duration::from_secs(60);
    loop {
        if let Some(done) = poll() {
            return done;
        }
        assert!(Instant::now() < end, "no progress");
        thread::yield_now();
    }
}

/// Polls both ends until the receiver has an error.
fn receive_error(rx: &mut SocketRecv, mut also: impl FnMut()) -> crate::base::Error {
    until(|| {
        also();
        rx.peek().err()
    })
}

/// Connects as rank 3 does, and gives the bare socket.
fn impostor(key: &Key, to: &SocketHub, slot_bytes: usize, recv: &mut SocketRecv) -> Socket {
    let (key, address) = (key.derive("socket transport", &[]), Address::Tcp(to.addresses()[0]));
    let context = Route { from: 3, to: 5, channel: 0, slot_bytes }.encode();
    let patience = Patience::new(Duration::from_secs(60));
    thread::scope(|scope| {
        let dialing = scope.spawn(|| {
            let candidates = [address];
            let call = Call {
                candidates: &candidates,
                key: &key,
                purpose: Purpose::Transport,
                context: &context,
                whom: "the hub",
                refusal_limit: None,
            };
            call.connect(&patience.start()).map(|link| link.into_parts().0)
        });
        until(|| {
            let _ = recv.peek();
            dialing.is_finished().then_some(())
        });
        dialing.join().unwrap().unwrap()
    })
}

#[test]
fn sockets_keep_the_contract() {
    conformance::run(&|slot_bytes, slots| {
        let (tx, rx) = pair(slot_bytes, slots);
        (Box::new(tx), Box::new(rx))
    });
}

#[test]
fn ipv6_works_where_the_host_has_it() {
    let settings = Settings { family: Family::V6, ifname: Some("lo".into()), near: None };
    let key = Key::random().unwrap();
    let Ok(to) = SocketHub::bind(&settings, &key, 1) else {
        assert!(crate::sys::interfaces::list().unwrap().iter().all(|entry| !entry.address.is_ipv6()));
        return;
    };
    let mut tx = hub(&key, 0, "lo").send_end(1, to.addresses(), 2, shape(64, 2)).unwrap();
    let mut rx = to.recv_end(0, 2, shape(64, 2)).unwrap();
    tx.acquire().unwrap().unwrap()[..2].copy_from_slice(b"v6");
    tx.post(2, 6).unwrap();
    until(|| {
        tx.flushed().unwrap();
        rx.peek().unwrap().map(|message| assert_eq!((message.data, message.tag), (&b"v6"[..], 6)))
    });
}

#[test]
fn connections_of_many_peers_and_channels_find_their_ends() {
    let key = Key::random().unwrap();
    let to = hub(&key, 0, "lo");
    let mut ends: Vec<(SocketSend, SocketRecv)> = (1..5)
        .flat_map(|peer| (0..3).map(move |channel| (peer, channel)))
        .map(|(peer, channel)| {
            let from = hub(&key, peer, "lo");
            let tx = from.send_end(0, to.addresses(), channel, shape(64, 1)).unwrap();
            (tx, to.recv_end(peer, channel, shape(64, 1)).unwrap())
        })
        .collect();
    for (tag, (tx, _)) in (0..).zip(&mut ends) {
        tx.acquire().unwrap().unwrap();
        tx.post(1, tag).unwrap();
    }
    let mut missing = ends.len();
    let mut got = vec![None; ends.len()];
    until(|| {
        for ((tx, rx), got) in ends.iter_mut().zip(&mut got) {
            tx.flushed().unwrap();
            if got.is_none() {
                *got = rx.peek().unwrap().map(|message| message.tag);
                missing -= usize::from(got.is_some());
            }
        }
        (missing == 0).then_some(())
    });
    assert!(got.iter().zip(0..).all(|(got, tag)| *got == Some(tag)), "{got:?}");
}

#[test]
fn an_address_that_leads_nowhere_is_passed_over() {
    let key = Key::random().unwrap();
    let (from, to) = (hub(&key, 3, "lo"), hub(&key, 5, "lo"));
    let other = hub(&key, 9, "lo");
    let nobody = std::net::TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap();
    // Nobody there; another rank of the same communicator; the right one.
    let addresses = [nobody, other.addresses()[0], to.addresses()[0]];
    let mut tx = from.send_end(5, &addresses, 0, shape(64, 1)).unwrap();
    let mut rx = to.recv_end(3, 0, shape(64, 1)).unwrap();
    let mut elsewhere = other.recv_end(3, 0, shape(64, 1)).unwrap();
    tx.acquire().unwrap().unwrap();
    tx.post(3, 1).unwrap();
    until(|| {
        tx.flushed().unwrap();
        assert!(elsewhere.peek().unwrap().is_none());
        rx.peek().unwrap().map(drop)
    });
}

#[test]
fn a_peer_that_cannot_be_reached_is_an_error_after_its_time() {
    let key = Key::random().unwrap();
    let nobody = std::net::TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap();
    let quick = Shape { connect_timeout: Duration::from_millis(50), ..shape(64, 1) };
    let mut tx = hub(&key, 3, "lo").send_end(5, &[nobody], 0, quick).unwrap();
    let error = until(|| tx.flushed().err());
    assert_eq!(error.kind, ErrorKind::Remote);
    assert!(error.message.starts_with("rank 5 cannot be reached for 0.05 s: 127.0.0.1:"), "{error}");
    assert_eq!(tx.acquire().unwrap_err(), error);
    let mut tx = hub(&key, 3, "lo").send_end(5, &[], 0, quick).unwrap();
    assert!(tx.acquire().unwrap_err().message.contains("has no network address"));
}

#[test]
fn a_closed_sender_is_an_error_after_its_last_message() {
    let (mut tx, mut rx) = pair(64, 4);
    tx.acquire().unwrap().unwrap();
    tx.post(1, 1).unwrap();
    until(|| {
        let _ = rx.peek().unwrap();
        tx.flushed().unwrap().then_some(())
    });
    drop(tx);
    until(|| rx.peek().unwrap().map(|message| assert_eq!(message.tag, 1)));
    rx.release().unwrap();
    let error = receive_error(&mut rx, || {});
    assert_eq!(error.kind, ErrorKind::Remote);
    assert_eq!(error.message, "rank 3 closed the connection: it ended or left the communicator");
    assert_eq!(rx.peek().unwrap_err(), error);
}

#[test]
fn a_closed_receiver_is_an_error_at_the_sender() {
    let (mut tx, mut rx) = pair(1 << 16, 2);
    tx.acquire().unwrap().unwrap();
    tx.post(1, 1).unwrap();
    until(|| {
        tx.flushed().unwrap();
        rx.peek().unwrap().map(drop)
    });
    drop(rx);
    let error = until(|| match tx.acquire().map(|slot| slot.is_some()) {
        Ok(true) => tx.post(1 << 16, 2).err(),
        Ok(false) => None,
        Err(error) => Some(error),
    });
    assert_eq!(error.kind, ErrorKind::Remote);
    assert!(error.message.starts_with("rank 5 closed the connection: "), "{error}");
}

#[test]
fn strangers_at_the_door_disturb_nobody() {
    let key = Key::random().unwrap();
    let (from, to) = (hub(&key, 3, "lo"), hub(&key, 5, "lo"));
    let address = to.addresses()[0];
    let _silent: Vec<TcpStream> = (0..100).map(|_| TcpStream::connect(address).unwrap()).collect();
    for bytes in [&b"GET / HTTP/1.1\r\n\r\n"[..], &[0xff; 4096], b"mcclnet\x01\x03"] {
        let mut stream = TcpStream::connect(address).unwrap();
        stream.write_all(bytes).unwrap();
    }
    // The right words with another key.
    let other = hub(&Key::random().unwrap(), 3, "lo");
    let mut thief = other.send_end(5, &[address], 0, shape(64, 1)).unwrap();
    thief.acquire().unwrap().unwrap();
    thief.post(1, 666).unwrap();

    let mut tx = from.send_end(5, &[address], 0, shape(64, 1)).unwrap();
    let mut rx = to.recv_end(3, 0, shape(64, 1)).unwrap();
    tx.acquire().unwrap().unwrap();
    tx.post(1, 7).unwrap();
    until(|| {
        tx.flushed().unwrap();
        assert!(!thief.flushed().unwrap());
        rx.peek().unwrap().map(|message| assert_eq!(message.tag, 7))
    });
}

#[test]
fn lengths_and_headers_that_cannot_be_close_the_connection() {
    let lie = |bytes: &[u8]| -> Result<()> {
        let key = Key::random().unwrap();
        let to = hub(&key, 5, "lo");
        let mut rx = to.recv_end(3, 0, shape(64, 2)).unwrap();
        let socket = impostor(&key, &to, 64, &mut rx);
        socket.send(&[IoSlice::new(bytes)]).unwrap();
        drop(socket);
        Err(receive_error(&mut rx, || {}))
    };
    let text = |bytes: &[u8]| {
        let error = lie(bytes).unwrap_err();
        assert_eq!(error.kind, ErrorKind::Remote);
        error.message
    };
    assert_eq!(
        text(&Header { len: 65, tag: 0 }.encode()),
        "socket: rank 3 sent a message of 65 bytes (0 to 64)"
    );
    assert_eq!(
        text(&Header { len: 0xffff_ffff, tag: 0 }.encode()),
        "socket: rank 3 sent a message of 4294967295 bytes (0 to 64)"
    );
    assert_eq!(text(&[7; 16]), "socket: what rank 3 sent is not a message header");
    let cut = "rank 3 closed the connection: in the middle of a message";
    assert_eq!(text(&[1, 2]), "rank 3 closed the connection: in the middle of a message");
    let mut half = Header { len: 20, tag: 0 }.encode().to_vec();
    half.extend([1; 10]);
    assert_eq!(text(&half), cut);
}

#[test]
fn ends_with_different_slots_do_not_work_together() {
    let key = Key::random().unwrap();
    let (from, to) = (hub(&key, 3, "lo"), hub(&key, 5, "lo"));
    let mut tx = from.send_end(5, to.addresses(), 0, shape(128, 1)).unwrap();
    let mut rx = to.recv_end(3, 0, shape(64, 1)).unwrap();
    let error = receive_error(&mut rx, || drop(tx.flushed()));
    assert!(error.message.contains("up to 128 bytes on channel 0, here it is 64"), "{error}");
    assert!(from.send_end(5, &[], 0, shape(0, 1)).is_err());
    assert!(to.recv_end(5, 0, shape(64, 0)).is_err());
}
