//! The sending end: connects, keeps filled slots, and writes as many as fit with one system call.
use std::io::IoSlice;
use std::net::SocketAddr;
use std::os::fd::{AsRawFd, RawFd};
use std::time::{Duration, Instant};

use super::Shape;
use super::frame::{HEADER, Header, Route};
use crate::base::{Error, Result};
use crate::bootstrap::auth::{Context, Key, Purpose};
use crate::bootstrap::dial::{Attempt, Failure, Limits, with_scopes};
use crate::sys::socket::{Address, Socket};
use crate::transport::{Interest, SendEnd};
use crate::{bail, err};

/// Messages written by one system call at most.
const BATCH: usize = 8;
/// The other side answers when it polls, which may be much later; only connecting is limited.
const LIMITS: Limits = Limits { connect: Duration::from_secs(5), answer: None };
const FIRST_PAUSE: Duration = Duration::from_millis(5);
const LONGEST_PAUSE: Duration = Duration::from_millis(500);
/// A peer that refuses connections for so long is gone.
const REFUSAL_LIMIT: Duration = Duration::from_secs(2);

/// See [`super`]. Made by [`super::SocketHub::send_end`].
#[derive(Debug)]
pub struct SocketSend {
    route: Route,
    line: Line,
    slots: Vec<Slot>,
    slot_bytes: usize,
    /// Messages posted and messages written completely, counted from the start.
    posted: usize,
    written: usize,
    /// Bytes of the oldest unwritten message that are out, header included.
    partial: usize,
    acquired: bool,
    failure: Option<Error>,
}

#[derive(Debug, Default)]
struct Slot {
    header: [u8; HEADER],
    len: usize,
    /// Empty until the slot is first used.
    data: Box<[u8]>,
}

#[derive(Debug)]
enum Line {
    Dialing(Box<Dialing>),
    Open(Socket),
}

impl SocketSend {
    pub(super) fn new(route: Route, addresses: &[SocketAddr], key: Key, shape: Shape) -> Self {
        let dialing = Dialing::new(route, addresses, key, shape.connect_timeout);
        Self {
            route,
            line: Line::Dialing(Box::new(dialing)),
            slots: (0..shape.slots).map(|_| Slot::default()).collect(),
            slot_bytes: shape.slot_bytes,
            posted: 0,
            written: 0,
            partial: 0,
            acquired: false,
            failure: None,
        }
    }

    fn progress(&mut self) -> Result<()> {
        if let Some(error) = &self.failure {
            return Err(error.clone());
        }
        self.try_progress().inspect_err(|error| self.failure = Some(error.clone()))
    }

    fn try_progress(&mut self) -> Result<()> {
        if let Line::Dialing(dialing) = &mut self.line {
            match dialing.poll()? {
                None => return Ok(()),
                Some(socket) => self.line = Line::Open(socket),
            }
        }
        let Line::Open(socket) = &self.line else { return Ok(()) };
        while self.written < self.posted {
            let mut parts = [IoSlice::new(&[]); 2 * BATCH];
            let count = gather(&self.slots, self.written..self.posted, self.partial, &mut parts);
            let sent = socket.send(&parts[..count]);
            let sent =
                sent.map_err(|error| err!(Remote, "rank {} closed the connection: {error}", self.route.to))?;
            let Some(sent) = sent else { break };
            self.partial += sent;
            while self.written < self.posted {
                let whole = HEADER + self.slots[self.written % self.slots.len()].len;
                if self.partial < whole {
                    break;
                }
                self.partial -= whole;
                self.written += 1;
            }
        }
        Ok(())
    }
}

/// Fills `parts` with the unsent bytes of the oldest messages, of which `partial` bytes are out; the number of parts.
fn gather<'a>(
    slots: &'a [Slot],
    messages: std::ops::Range<usize>,
    mut partial: usize,
    parts: &mut [IoSlice<'a>; 2 * BATCH],
) -> usize {
    let mut count = 0;
    for message in messages.take(BATCH) {
        let slot = &slots[message % slots.len()];
        for bytes in [&slot.header[..], &slot.data[..slot.len]] {
            let skip = partial.min(bytes.len());
            partial -= skip;
            if skip < bytes.len() {
                parts[count] = IoSlice::new(&bytes[skip..]);
                count += 1;
            }
        }
    }
    count
}

impl SendEnd for SocketSend {
    fn slot_bytes(&self) -> usize {
        self.slot_bytes
    }

    fn acquire(&mut self) -> Result<Option<&mut [u8]>> {
        if self.written < self.posted || matches!(self.line, Line::Dialing(_)) {
            self.progress()?;
        }
        if self.posted - self.written == self.slots.len() {
            return Ok(None);
        }
        self.acquired = true;
        let at = self.posted % self.slots.len();
        let slot = &mut self.slots[at];
        if slot.data.is_empty() {
            slot.data = vec![0; self.slot_bytes].into_boxed_slice();
        }
        Ok(Some(&mut slot.data))
    }

    fn post(&mut self, len: usize, tag: u64) -> Result<()> {
        if !self.acquired {
            bail!(Internal, "socket: post without an acquired slot");
        }
        if len > self.slot_bytes {
            bail!(Internal, "socket: post of {len} bytes (0 to {})", self.slot_bytes);
        }
        let at = self.posted % self.slots.len();
        self.slots[at].header = Header { len, tag }.encode();
        self.slots[at].len = len;
        self.posted += 1;
        self.acquired = false;
        self.progress()
    }

    fn flushed(&mut self) -> Result<bool> {
        if self.written < self.posted || matches!(self.line, Line::Dialing(_)) {
            self.progress()?;
        }
        Ok(self.written == self.posted)
    }

    fn poll_fd(&self) -> Option<(RawFd, Interest)> {
        match &self.line {
            Line::Dialing(dialing) => dialing.poll_fd(),
            Line::Open(socket) if self.written < self.posted => Some((socket.as_raw_fd(), Interest::Write)),
            Line::Open(_) => None,
        }
    }
}

/// Connecting to a peer: its addresses in turn, again and again with pauses between.
#[derive(Debug)]
struct Dialing {
    peer: usize,
    key: Key,
    context: Context,
    addresses: Vec<Address>,
    /// Counts attempts; the address is this modulo their number.
    turn: usize,
    attempt: Option<Attempt>,
    not_before: Instant,
    pause: Duration,
    failing_since: Option<Instant>,
    /// Since when every attempt was refused.
    refused_since: Option<Instant>,
    timeout: Duration,
}

impl Dialing {
    fn new(route: Route, addresses: &[SocketAddr], key: Key, timeout: Duration) -> Self {
        Self {
            peer: route.to,
            key,
            context: route.encode(),
            addresses: with_scopes(addresses).into_iter().map(Address::Tcp).collect(),
            // Different channels begin with different interfaces of the peer.
            turn: route.channel as usize,
            attempt: None,
            not_before: Instant::now(),
            pause: FIRST_PAUSE,
            failing_since: None,
            refused_since: None,
            timeout,
        }
    }

    fn poll(&mut self) -> Result<Option<Socket>> {
        if self.addresses.is_empty() {
            bail!(Remote, "rank {} cannot be reached: it has no network address", self.peer);
        }
        loop {
            let Some(attempt) = &mut self.attempt else {
                if Instant::now() < self.not_before {
                    return Ok(None);
                }
                match Attempt::start(&self.addresses[self.turn % self.addresses.len()], LIMITS) {
                    Ok(attempt) => self.attempt = Some(attempt),
                    Err(failure) => self.failed(&failure)?,
                }
                continue;
            };
            match attempt.poll(&self.key, Purpose::Transport, &self.context) {
                Ok(true) => return Ok(self.attempt.take().map(|attempt| attempt.into_link().into_parts().0)),
                Ok(false) => {
                    if attempt.is_connected() {
                        self.failing_since = None;
                    }
                    return Ok(None);
                }
                Err(failure) => self.failed(&failure)?,
            }
        }
    }

    /// Goes to the next address, after a pause when all had their turn.
    fn failed(&mut self, failure: &Failure) -> Result<()> {
        self.attempt = None;
        let now = Instant::now();
        let since = *self.failing_since.get_or_insert(now);
        if now.duration_since(since) >= self.timeout {
            let (peer, text, time) = (self.peer, &failure.text, self.timeout.as_secs_f64());
            bail!(Remote, "rank {peer} cannot be reached for {time} s: {text}");
        }
        // Peers listen before they tell their addresses, so a refusal means that the peer has ended.
        self.refused_since = failure.refused.then(|| self.refused_since.unwrap_or(now));
        if self.refused_since.is_some_and(|since| now.duration_since(since) >= REFUSAL_LIMIT) {
            let (peer, text, time) = (self.peer, &failure.text, REFUSAL_LIMIT.as_secs());
            bail!(Remote, "rank {peer} is gone: nobody has listened for {time} s ({text})");
        }
        self.turn = self.turn.wrapping_add(1);
        if self.turn.is_multiple_of(self.addresses.len()) {
            self.not_before = now + self.pause;
            self.pause = (self.pause * 2).min(LONGEST_PAUSE);
        }
        Ok(())
    }

    fn poll_fd(&self) -> Option<(RawFd, Interest)> {
        let attempt = self.attempt.as_ref()?;
        Some((attempt.link().socket().as_raw_fd(), attempt.interest()))
    }
}
