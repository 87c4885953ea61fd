//! A non-blocking connection with buffers on both sides, and length-prefixed frames over it.
use std::collections::VecDeque;
use std::io::{self, IoSlice, IoSliceMut};
use std::os::fd::{AsFd, BorrowedFd};
use std::sync::Arc;

use crate::sys::poll::Interest;
use crate::sys::socket::Socket;

/// Bytes read by one call of [`Link::fill`] at most.
const CHUNK: usize = 16 << 10;
/// Length and kind.
const FRAME_HEADER: usize = 5;

/// A connection, what has come in and is not yet taken, and what is to go out.
#[derive(Debug)]
pub struct Link {
    socket: Socket,
    inbox: Vec<u8>,
    taken: usize,
    outbox: VecDeque<Arc<[u8]>>,
    /// Bytes of the front of `outbox` that are sent already.
    sent: usize,
}

/// A message: one byte that says what it is, and its body.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Frame {
    pub kind: u8,
    pub body: Vec<u8>,
}

impl Link {
    pub fn new(socket: Socket) -> Self {
        Self { socket, inbox: Vec::new(), taken: 0, outbox: VecDeque::new(), sent: 0 }
    }

    /// Reads what is there, up to a limit; true when bytes came.
    ///
    /// # Errors
    /// `UnexpectedEof` at the end of the stream, the system's error when the connection broke.
    pub fn fill(&mut self) -> io::Result<bool> {
        let mut chunk = [0; CHUNK];
        match self.socket.receive(&mut [IoSliceMut::new(&mut chunk)])? {
            None => Ok(false),
            Some(0) => Err(io::ErrorKind::UnexpectedEof.into()),
            Some(count) => {
                self.inbox.drain(..self.taken);
                self.taken = 0;
                self.inbox.extend(&chunk[..count]);
                Ok(true)
            }
        }
    }

    /// The next `N` bytes once they are there.
    pub fn take<const N: usize>(&mut self) -> Option<[u8; N]> {
        let out = *self.inbox[self.taken..].first_chunk()?;
        self.taken += N;
        Some(out)
    }

    /// The next frame once it is whole. A body of more than `max` bytes is an error (`InvalidData`).
    pub fn frame(&mut self, max: usize) -> io::Result<Option<Frame>> {
        let unread = &self.inbox[self.taken..];
        let Some(header) = unread.first_chunk::<FRAME_HEADER>() else { return Ok(None) };
        let [l0, l1, l2, l3, kind] = *header;
        let len = u32::from_le_bytes([l0, l1, l2, l3]) as usize;
        if len > max {
            let text = format!("a message of {len} bytes is too long (0 to {max})");
            return Err(io::Error::new(io::ErrorKind::InvalidData, text));
        }
        let Some(body) = unread.get(FRAME_HEADER..FRAME_HEADER + len) else { return Ok(None) };
        let body = body.to_vec();
        self.taken += FRAME_HEADER + len;
        if self.taken == self.inbox.len() {
            (self.inbox, self.taken) = (Vec::new(), 0);
        }
        Ok(Some(Frame { kind, body }))
    }

    /// Queues bytes to be sent by [`flush`](Self::flush). The same bytes may be queued on many links.
    pub fn queue(&mut self, bytes: impl Into<Arc<[u8]>>) {
        self.outbox.push_back(bytes.into());
    }

    /// Sends what fits now; true when nothing is left.
    pub fn flush(&mut self) -> io::Result<bool> {
        while let Some(front) = self.outbox.front() {
            if self.sent < front.len() {
                match self.socket.send(&[IoSlice::new(&front[self.sent..])])? {
                    None => return Ok(false),
                    Some(count) => self.sent += count,
                }
            }
            if self.sent == front.len() {
                self.outbox.pop_front();
                self.sent = 0;
            }
        }
        Ok(true)
    }

    /// What the connection waits for now.
    pub fn interest(&self) -> Interest {
        if self.outbox.is_empty() { Interest::Read } else { Interest::ReadWrite }
    }

    pub fn socket(&self) -> &Socket {
        &self.socket
    }

    /// The bare connection and the bytes that came behind the last ones taken.
    pub fn into_parts(mut self) -> (Socket, Vec<u8>) {
        (self.socket, self.inbox.split_off(self.taken))
    }
}

impl AsFd for Link {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.socket.as_fd()
    }
}

/// The bytes of a frame.
///
/// # Panics
/// When the body has 4 GiB or more.
pub fn encode(kind: u8, body: &[u8]) -> Arc<[u8]> {
    let len = u32::try_from(body.len()).expect("a frame has less than 4 GiB");
    let mut out = Vec::with_capacity(FRAME_HEADER + body.len());
    out.extend(len.to_le_bytes());
    out.push(kind);
    out.extend(body);
    out.into()
}

#[cfg(test)]
pub(super) mod tests {
    use super::*;
    use crate::sys::socket::{Address, Listener};

    pub(crate) fn pair(name: &str) -> (Link, Link) {
        let address = Address::Abstract(format!("mccl-test-{}-{name}", std::process::id()));
        let listener = Listener::bind(&address).unwrap();
        let client = Socket::connect(&address).unwrap();
        (Link::new(client), Link::new(listener.accept().unwrap().unwrap()))
    }

    #[test]
    fn frames_of_any_size_arrive_whole_and_in_order() {
        let (mut a, mut b) = pair("frames");
        let bodies: Vec<Vec<u8>> = [0, 1, 5, 70_000, 3].iter().map(|len| vec![*len as u8; *len]).collect();
        bodies.iter().zip(1..).for_each(|(body, kind)| a.queue(encode(kind, body)));
        let mut got = Vec::new();
        while got.len() < bodies.len() {
            a.flush().unwrap();
            b.fill().unwrap();
            while let Some(frame) = b.frame(1 << 20).unwrap() {
                assert_eq!(frame.kind as usize, got.len() + 1);
                got.push(frame.body);
            }
        }
        assert_eq!(got, bodies);
        drop(a);
        assert_eq!(b.fill().unwrap_err().kind(), io::ErrorKind::UnexpectedEof);
    }

    #[test]
    fn a_frame_over_the_limit_is_refused_by_its_header() {
        let (mut a, mut b) = pair("limit");
        a.queue([0xff, 0xff, 0xff, 0x7f, 1]);
        assert!(a.flush().unwrap());
        assert!(b.fill().unwrap());
        assert_eq!(b.frame(100).unwrap_err().kind(), io::ErrorKind::InvalidData);
    }
}
