//! The listening half of a communicator's sockets, shared by all its receiving ends.
use std::collections::{HashMap, VecDeque};
use std::net::SocketAddr;
use std::os::fd::{AsRawFd, RawFd};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use super::frame::Route;
use super::{MAX_SLOT_BYTES, Shape, SocketRecv, SocketSend};
use crate::bail;
use crate::base::types::Rank;
use crate::base::{Error, ErrorKind, Result};
use crate::bootstrap::auth::{Acceptor, Key, Purpose};
use crate::bootstrap::link::Link;
use crate::bootstrap::{MAX_RANKS, Settings, interfaces};
use crate::sys::poll::{Interest, Poller, Ready};
use crate::sys::socket::{Address, Listener, Socket};

/// Addresses a hub listens at, one for each interface.
const MAX_ADDRESSES: usize = 4;
/// A connection that has not proved the key by then is closed. Long, as ranks only answer when they poll.
const HANDSHAKE_TIME: Duration = Duration::from_secs(30);
/// Connections in that state; the oldest goes when another comes.
const MAX_PENDING: usize = 4096;
/// Connections let in by one poll.
const ACCEPT_BATCH: usize = 64;
/// Proved connections that no receiving end has claimed yet.
const MAX_UNCLAIMED: usize = 1 << 16;

/// Makes the socket connections of one rank in one communicator.
#[derive(Debug)]
pub struct SocketHub {
    rank: Rank,
    key: Key,
    addresses: Vec<SocketAddr>,
    door: Door,
}

impl SocketHub {
    /// Listens on the chosen interfaces. `key` is the communicator's; `rank` is this rank.
    ///
    /// Without any network interface the hub has no addresses: nobody can send to it.
    ///
    /// # Errors
    /// `InvalidUsage` when `settings` name interfaces that do not exist; `System` when listening fails.
    pub fn bind(settings: &Settings, key: &Key, rank: Rank) -> Result<Self> {
        let networks = match interfaces(settings) {
            Err(error) if error.kind == ErrorKind::InvalidUsage && settings.ifname.is_none() => Vec::new(),
            result => result?,
        };
        let key = key.derive("socket transport", &[]);
        let mut listeners = Vec::new();
        for network in networks.iter().take(MAX_ADDRESSES) {
            let address = Address::Tcp(network.socket_address(0));
            let listener = Listener::bind(&address)
                .map_err(|error| Error::system(format!("socket: listen at {address}"), &error))?;
            listeners.push(listener);
        }
        let addresses = listeners.iter().filter_map(Listener::tcp_address).collect();
        let door = Door::open(listeners, rank, key.clone())?;
        Ok(Self { rank, key, addresses, door })
    }

    /// Where peers reach this rank; at most four.
    pub fn addresses(&self) -> &[SocketAddr] {
        &self.addresses
    }

    /// The end that sends to `peer`, which listens at `addresses`, on `channel`. Connects when first polled.
    ///
    /// # Errors
    /// `Internal` for a shape that cannot be.
    pub fn send_end(
        &self,
        peer: Rank,
        addresses: &[SocketAddr],
        channel: u32,
        shape: Shape,
    ) -> Result<SocketSend> {
        check(shape)?;
        let route = Route { from: self.rank, to: peer, channel, slot_bytes: shape.slot_bytes };
        Ok(SocketSend::new(route, addresses, self.key.clone(), shape))
    }

    /// The end that receives what `peer` sends on `channel`. There may be one for each peer and channel.
    ///
    /// # Errors
    /// `Internal` for a shape that cannot be.
    pub fn recv_end(&self, peer: Rank, channel: u32, shape: Shape) -> Result<SocketRecv> {
        check(shape)?;
        let route = Route { from: peer, to: self.rank, channel, slot_bytes: shape.slot_bytes };
        Ok(SocketRecv::new(route, self.door.clone(), shape))
    }
}

fn check(shape: Shape) -> Result<()> {
    if shape.slots == 0 || shape.slot_bytes == 0 || shape.slot_bytes > MAX_SLOT_BYTES {
        let Shape { slots, slot_bytes, .. } = shape;
        bail!(Internal, "socket: {slots} slots of {slot_bytes} bytes (at least 1, of 1 to {MAX_SLOT_BYTES})");
    }
    Ok(())
}

/// Where connections come in. Whoever polls lets all in; each end takes its own.
#[derive(Clone, Debug)]
pub(super) struct Door {
    state: Arc<Mutex<State>>,
    fd: RawFd,
}

#[derive(Debug)]
struct State {
    poller: Poller,
    listeners: Vec<Listener>,
    rank: Rank,
    key: Key,
    pending: HashMap<u64, (Link, Acceptor)>,
    /// Oldest first: all get the same time.
    timers: VecDeque<(Instant, u64)>,
    next: u64,
    unclaimed: HashMap<(Rank, u32), Incoming>,
    ready: Vec<Ready>,
}

/// A proved connection and what it has sent already.
#[derive(Debug)]
pub(super) struct Incoming {
    pub(super) socket: Socket,
    pub(super) early: Vec<u8>,
    pub(super) slot_bytes: usize,
}

impl Door {
    fn open(listeners: Vec<Listener>, rank: Rank, key: Key) -> Result<Self> {
        let failed = |error: std::io::Error| Error::system("socket: epoll", &error);
        let poller = Poller::new().map_err(failed)?;
        for (token, listener) in listeners.iter().enumerate() {
            poller.add(listener, token as u64, Interest::Read).map_err(failed)?;
        }
        let fd = poller.as_raw_fd();
        let state = State {
            poller,
            next: listeners.len() as u64,
            listeners,
            rank,
            key,
            pending: HashMap::new(),
            timers: VecDeque::new(),
            unclaimed: HashMap::new(),
            ready: Vec::new(),
        };
        Ok(Self { state: Arc::new(Mutex::new(state)), fd })
    }

    /// Lets in who waits, and gives out the connection of `peer` on `channel` if it has come.
    pub(super) fn claim(&self, peer: Rank, channel: u32) -> Result<Option<Incoming>> {
        let mut state: MutexGuard<'_, State> = self.state.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(incoming) = state.unclaimed.remove(&(peer, channel)) {
            return Ok(Some(incoming));
        }
        state.progress().map_err(|error| Error::system("socket: accept", &error))?;
        Ok(state.unclaimed.remove(&(peer, channel)))
    }

    /// Readable when somebody wants in.
    pub(super) fn poll_fd(&self) -> RawFd {
        self.fd
    }
}

impl State {
    fn progress(&mut self) -> std::io::Result<()> {
        let mut ready = std::mem::take(&mut self.ready);
        self.poller.wait(&mut ready, Some(Duration::ZERO))?;
        for event in &ready {
            match self.listeners.get(event.token as usize) {
                Some(_) => self.accept(event.token as usize),
                None => self.advance(event.token),
            }
        }
        self.ready = ready;
        let now = Instant::now();
        while let Some((_, token)) = self.timers.pop_front_if(|(at, _)| *at <= now) {
            self.pending.remove(&token);
        }
        Ok(())
    }

    fn accept(&mut self, listener: usize) {
        for _ in 0..ACCEPT_BATCH {
            // An error is the dead connection's, or passes (no descriptors left): the next poll tries again.
            let Ok(Some(socket)) = self.listeners[listener].accept() else { return };
            let token = self.next;
            if socket.tune().is_err() || self.poller.add(&socket, token, Interest::Read).is_err() {
                continue;
            }
            self.next += 1;
            self.pending.insert(token, (Link::new(socket), Acceptor::new(Purpose::Transport)));
            self.timers.push_back((Instant::now() + HANDSHAKE_TIME, token));
            if self.timers.len() > MAX_PENDING {
                let oldest = self.timers.pop_front();
                oldest.and_then(|(_, token)| self.pending.remove(&token));
            }
            self.advance(token);
        }
    }

    /// Goes on with one handshake; strangers are closed.
    fn advance(&mut self, token: u64) {
        let Some((link, acceptor)) = self.pending.get_mut(&token) else { return };
        let (rank, key) = (self.rank, &self.key);
        let filled = link.fill();
        let proved = acceptor.poll(link, |context| {
            let route = Route::decode(context);
            (route.to == rank && route.from < MAX_RANKS).then(|| key.clone())
        });
        // The answers are short and the first bytes on the connection: they fit, or the peer is not ours.
        let flushed = link.flush();
        match (proved, filled, flushed) {
            (Ok(Some(context)), _, Ok(true)) => {
                let route = Route::decode(&context);
                if let Some((link, _)) = self.pending.remove(&token)
                    && self.unclaimed.len() < MAX_UNCLAIMED
                    && self.poller.remove(&link).is_ok()
                {
                    let (socket, early) = link.into_parts();
                    let incoming = Incoming { socket, early, slot_bytes: route.slot_bytes };
                    // A sender that tries again has given up its earlier connection.
                    self.unclaimed.insert((route.from, route.channel), incoming);
                }
            }
            (Ok(None), Ok(_), Ok(true)) => {}
            _ => {
                self.pending.remove(&token);
            }
        }
    }
}
