//! The duties of [`super`] as tests over any pair of ends. A transport's test calls [`run`] with a function that makes
//! a connected (or connecting) pair.
use std::time::{Duration, Instant};

use super::{RecvEnd, SendEnd};
use crate::base::ErrorKind;

pub(crate) type Pair = (Box<dyn SendEnd>, Box<dyn RecvEnd>);

/// Proves all duties; `make(slot_bytes, slots)` is called once for each.
pub(crate) fn run(make: &dyn Fn(usize, usize) -> Pair) {
    messages_arrive_in_order_with_bytes_and_tags(make(1 << 16, 4));
    one_slot_is_enough(make(64, 1));
    acquire_and_peek_are_idempotent(make(256, 2));
    empty_and_full_messages_pass(make(4096, 2));
    a_slow_receiver_stops_the_sender(make(1 << 16, 4));
    flushed_messages_survive_their_sender(make(1 << 12, 8));
    misuse_is_an_error(make(128, 2));
    ends_work_on_two_threads(make(1 << 15, 8));
}

fn messages_arrive_in_order_with_bytes_and_tags((mut tx, mut rx): Pair) {
    let lens = [1, 2, 3, 15, 16, 17, 100, 4095, 4096, 4097, 65_535, 65_536, 0, 7];
    let total = 40 * lens.len() as u64;
    let len_of = |number: u64| lens[number as usize % lens.len()];
    let (mut sent, mut got) = (0, 0);
    let mut progress = Watchdog::new();
    while got < total {
        if sent < total && try_send(&mut *tx, len_of(sent), sent) {
            sent += 1;
            progress.made();
        }
        tx.flushed().unwrap();
        if let Some((len, tag)) = try_receive(&mut *rx) {
            assert_eq!((len, tag), (len_of(got), got));
            got += 1;
            progress.made();
        }
        progress.check("in order");
    }
    assert!(rx.peek().unwrap().is_none());
}

fn one_slot_is_enough((mut tx, mut rx): Pair) {
    for number in 0..100 {
        send(&mut *tx, 64, number);
        assert_eq!(receive(&mut *tx, &mut *rx), (64, number));
    }
}

fn acquire_and_peek_are_idempotent((mut tx, mut rx): Pair) {
    let first = acquire(&mut *tx).as_ptr();
    acquire(&mut *tx).fill(3);
    let slot = acquire(&mut *tx);
    assert_eq!((slot.as_ptr(), slot.len(), slot[255]), (first, 256, 3));
    tx.post(256, 9).unwrap();
    await_message(&mut *tx, &mut *rx);
    let first = rx.peek().unwrap().unwrap().data.as_ptr();
    let again = rx.peek().unwrap().unwrap();
    assert_eq!((again.data.as_ptr(), again.data, again.tag), (first, &[3; 256][..], 9));
    rx.release().unwrap();
    assert!(rx.peek().unwrap().is_none());
}

fn empty_and_full_messages_pass((mut tx, mut rx): Pair) {
    for (len, tag) in [(0, 0), (4096, u64::MAX), (0, 1), (1, 1 << 63)] {
        send(&mut *tx, len, tag);
        assert_eq!(receive(&mut *tx, &mut *rx), (len, tag));
    }
}

fn a_slow_receiver_stops_the_sender((mut tx, mut rx): Pair) {
    await_connection(&mut *tx, &mut *rx);
    let mut sent = 1;
    // 1 GiB would have to be buffered somewhere for the sender not to be stopped.
    let mut refused = 0;
    while refused < 1000 {
        if try_send(&mut *tx, 1 << 16, sent) {
            sent += 1;
            refused = 0;
        } else {
            refused += 1;
        }
        assert!(sent < 1 << 14, "the sender is never told to wait");
    }
    for number in 1..sent {
        assert_eq!(receive(&mut *tx, &mut *rx), (1 << 16, number));
    }
    send(&mut *tx, 5, sent);
    assert_eq!(receive(&mut *tx, &mut *rx), (5, sent));
}

fn flushed_messages_survive_their_sender((mut tx, mut rx): Pair) {
    await_connection(&mut *tx, &mut *rx);
    for number in 1..8 {
        send(&mut *tx, 4096, number);
    }
    let mut progress = Watchdog::new();
    while !tx.flushed().unwrap() {
        progress.check("flush");
    }
    drop(tx);
    for number in 1..8 {
        let got = loop {
            if let Some(got) = try_receive(&mut *rx) {
                break got;
            }
            progress.check("after the sender is gone");
        };
        assert_eq!(got, (4096, number));
    }
}

fn misuse_is_an_error((mut tx, mut rx): Pair) {
    assert_eq!(tx.post(1, 1).unwrap_err().kind, ErrorKind::Internal);
    acquire(&mut *tx);
    assert_eq!(tx.post(129, 1).unwrap_err().kind, ErrorKind::Internal);
    tx.post(128, 1).unwrap();
    assert_eq!(tx.post(1, 1).unwrap_err().kind, ErrorKind::Internal);
    assert_eq!(rx.release().unwrap_err().kind, ErrorKind::Internal);
    await_message(&mut *tx, &mut *rx);
    rx.peek().unwrap().unwrap();
    rx.release().unwrap();
    assert_eq!(rx.release().unwrap_err().kind, ErrorKind::Internal);
}

fn ends_work_on_two_threads((mut tx, mut rx): Pair) {
    let total = 2000;
    std::thread::scope(|scope| {
        scope.spawn(move || {
            for number in 0..total {
                send(&mut *tx, (number as usize * 37) % (1 << 15), number);
            }
            let mut progress = Watchdog::new();
            while !tx.flushed().unwrap() {
                progress.check("flush");
                std::thread::yield_now();
            }
        });
        let mut progress = Watchdog::new();
        let mut got = 0;
        while got < total {
            match try_receive(&mut *rx) {
                Some(message) => {
                    assert_eq!(message, ((got as usize * 37) % (1 << 15), got));
                    got += 1;
                    progress.made();
                }
                None => std::thread::yield_now(),
            }
            progress.check("two threads");
        }
    });
}

/// Byte `at` of message `tag`.
fn pattern(tag: u64, at: usize) -> u8 {
    (tag as usize).wrapping_mul(31).wrapping_add(at).wrapping_add(at >> 8) as u8
}

fn try_send(tx: &mut dyn SendEnd, len: usize, tag: u64) -> bool {
    let Some(slot) = tx.acquire().unwrap() else { return false };
    for (at, byte) in slot[..len].iter_mut().enumerate() {
        *byte = pattern(tag, at);
    }
    tx.post(len, tag).unwrap();
    true
}

fn try_receive(rx: &mut dyn RecvEnd) -> Option<(usize, u64)> {
    let message = rx.peek().unwrap()?;
    let whole = message.data.iter().enumerate().all(|(at, byte)| *byte == pattern(message.tag, at));
    assert!(whole, "message {} is damaged", message.tag);
    let got = (message.data.len(), message.tag);
    rx.release().unwrap();
    Some(got)
}

fn acquire(tx: &mut dyn SendEnd) -> &mut [u8] {
    let mut progress = Watchdog::new();
    while tx.acquire().unwrap().is_none() {
        progress.check("acquire");
        std::thread::yield_now();
    }
    tx.acquire().unwrap().unwrap()
}

fn send(tx: &mut dyn SendEnd, len: usize, tag: u64) {
    acquire(tx);
    assert!(try_send(tx, len, tag));
}

fn receive(tx: &mut dyn SendEnd, rx: &mut dyn RecvEnd) -> (usize, u64) {
    await_message(tx, rx);
    try_receive(rx).unwrap()
}

fn await_message(tx: &mut dyn SendEnd, rx: &mut dyn RecvEnd) {
    let mut progress = Watchdog::new();
    while rx.peek().unwrap().is_none() {
        tx.flushed().unwrap();
        progress.check("receive");
    }
}

fn await_connection(tx: &mut dyn SendEnd, rx: &mut dyn RecvEnd) {
    send(tx, 0, 0);
    assert_eq!(receive(tx, rx), (0, 0));
}

/// Ends a test that hangs; no statement about speed.
struct Watchdog(Instant);

impl Watchdog {
    fn new() -> Self {
        Self(Instant::now())
    }

    fn made(&mut self) {
        self.0 = Instant::now();
    }

    fn check(&mut self, what: &str) {
        assert!(self.0.elapsed() < Duration::from_secs(60), "no progress: {what}");
    }
}
