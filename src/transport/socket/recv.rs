//! The receiving end: takes its connection from the hub and receives messages into slots.
use std::io::IoSliceMut;
use std::os::fd::{AsRawFd, RawFd};

use super::Shape;
use super::frame::{HEADER, Header, Route};
use super::hub::{Door, Incoming};
use crate::base::{Error, Result};
use crate::sys::socket::Socket;
use crate::transport::{Interest, Message, RecvEnd};
use crate::{bail, err};

/// Bytes read beyond the message at hand: the next header, and whole small messages.
const AHEAD: usize = 8 << 10;

/// See [`super`]. Made by [`super::SocketHub::recv_end`].
#[derive(Debug)]
pub struct SocketRecv {
    route: Route,
    door: Door,
    /// None until the peer has connected.
    socket: Option<Socket>,
    slots: Vec<Slot>,
    /// Messages received completely and messages released, counted from the start.
    received: usize,
    released: usize,
    /// The message after the received ones, when its header is here: where it ends and how much of it is here.
    arriving: Option<(Header, usize)>,
    ahead: Ahead,
    peeked: bool,
    failure: Option<Error>,
}

#[derive(Debug, Default)]
struct Slot {
    header: Header,
    /// Empty until the slot is first used.
    data: Box<[u8]>,
}

impl SocketRecv {
    pub(super) fn new(route: Route, door: Door, shape: Shape) -> Self {
        Self {
            route,
            door,
            socket: None,
            slots: (0..shape.slots).map(|_| Slot::default()).collect(),
            received: 0,
            released: 0,
            arriving: None,
            ahead: Ahead::default(),
            peeked: false,
            failure: None,
        }
    }

    fn has_message(&self) -> bool {
        self.released < self.received
    }

    /// Receives until a message is whole or nothing more is there.
    fn progress(&mut self) -> Result<()> {
        if let Some(error) = &self.failure {
            return Err(error.clone());
        }
        let result = self.try_progress();
        if let Err(error) = result {
            self.failure = Some(error.clone());
            // What arrived whole before is still delivered.
            return if self.has_message() { Ok(()) } else { Err(error) };
        }
        Ok(())
    }

    fn try_progress(&mut self) -> Result<()> {
        if self.socket.is_none() && !self.connect()? {
            return Ok(());
        }
        loop {
            self.parse()?;
            if self.has_message() || !self.receive()? {
                return Ok(());
            }
        }
    }

    fn connect(&mut self) -> Result<bool> {
        let Route { from, channel, slot_bytes, .. } = self.route;
        let Some(Incoming { socket, early, slot_bytes: theirs }) = self.door.claim(from, channel)? else {
            return Ok(false);
        };
        if theirs != slot_bytes {
            bail!(
                Remote,
                "socket: rank {from} sends messages of up to {theirs} bytes on channel {channel}, here it is {slot_bytes}"
            );
        }
        self.ahead.start_with(&early);
        self.socket = Some(socket);
        Ok(true)
    }

    /// Turns what was read ahead into messages, as far as it reaches and slots are free.
    fn parse(&mut self) -> Result<()> {
        while self.received - self.released < self.slots.len() {
            let at = self.received % self.slots.len();
            let (header, here) = match self.arriving {
                Some(arriving) => arriving,
                None => {
                    let Some(header) = self.ahead.take_header() else { return Ok(()) };
                    (Header::decode(header, self.route.from, self.route.slot_bytes)?, 0)
                }
            };
            let slot = &mut self.slots[at];
            if slot.data.is_empty() {
                slot.data = vec![0; self.route.slot_bytes].into_boxed_slice();
            }
            let here = here + self.ahead.take_into(&mut slot.data[here..header.len]);
            if here < header.len {
                self.arriving = Some((header, here));
                return Ok(());
            }
            slot.header = header;
            self.arriving = None;
            self.received += 1;
        }
        Ok(())
    }

    /// Reads once, into the arriving message's slot first; false when nothing is there.
    fn receive(&mut self) -> Result<bool> {
        let Some(socket) = &self.socket else { return Ok(false) };
        let at = self.received % self.slots.len();
        let from = self.route.from;
        let (rest, room): (&mut [u8], &mut [u8]) = match self.arriving {
            Some((header, here)) => (&mut self.slots[at].data[here..header.len], self.ahead.room()),
            None => (&mut [], self.ahead.room()),
        };
        let wanted = rest.len();
        let count = socket
            .receive(&mut [IoSliceMut::new(rest), IoSliceMut::new(room)])
            .map_err(|error| err!(Remote, "rank {from} closed the connection: {error}"))?;
        match count {
            None => Ok(false),
            Some(0) if self.arriving.is_some() || !self.ahead.is_empty() => {
                bail!(Remote, "rank {from} closed the connection: in the middle of a message")
            }
            Some(0) => bail!(Remote, "rank {from} closed the connection: it ended or left the communicator"),
            Some(count) => {
                if let Some((_, here)) = &mut self.arriving {
                    *here += count.min(wanted);
                }
                self.ahead.grow(count.saturating_sub(wanted));
                Ok(true)
            }
        }
    }
}

impl RecvEnd for SocketRecv {
    fn peek(&mut self) -> Result<Option<Message<'_>>> {
        if !self.has_message() {
            self.progress()?;
        }
        if !self.has_message() {
            return Ok(None);
        }
        self.peeked = true;
        let slot = &self.slots[self.released % self.slots.len()];
        Ok(Some(Message { data: &slot.data[..slot.header.len], tag: slot.header.tag }))
    }

    fn release(&mut self) -> Result<()> {
        if !self.peeked {
            bail!(Internal, "socket: release without a peeked message");
        }
        self.peeked = false;
        self.released += 1;
        Ok(())
    }

    fn poll_fd(&self) -> Option<(RawFd, Interest)> {
        let fd = self.socket.as_ref().map_or(self.door.poll_fd(), AsRawFd::as_raw_fd);
        Some((fd, Interest::Read))
    }
}

/// Bytes read and not yet parsed.
#[derive(Debug, Default)]
struct Ahead {
    /// Empty until first used.
    bytes: Vec<u8>,
    start: usize,
    end: usize,
}

impl Ahead {
    fn start_with(&mut self, early: &[u8]) {
        self.bytes = vec![0; AHEAD.max(early.len() + HEADER)];
        self.bytes[..early.len()].copy_from_slice(early);
        (self.start, self.end) = (0, early.len());
    }

    fn is_empty(&self) -> bool {
        self.start == self.end
    }

    fn take_header(&mut self) -> Option<[u8; HEADER]> {
        let header = *self.bytes[self.start..self.end].first_chunk()?;
        self.start += HEADER;
        Some(header)
    }

    fn take_into(&mut self, out: &mut [u8]) -> usize {
        let count = out.len().min(self.end - self.start);
        out[..count].copy_from_slice(&self.bytes[self.start..self.start + count]);
        self.start += count;
        count
    }

    /// Free space behind the unparsed bytes, which move to the front. Never empty: less than a header is left unparsed
    /// whenever more is read.
    fn room(&mut self) -> &mut [u8] {
        self.bytes.copy_within(self.start..self.end, 0);
        (self.start, self.end) = (0, self.end - self.start);
        &mut self.bytes[self.end..]
    }

    fn grow(&mut self, count: usize) {
        self.end += count;
    }
}
