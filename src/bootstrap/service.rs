//! The root service: one thread that any number of unique ids share, serving all ranks without ever blocking on one.
//!
//! The listeners and the thread stay for the life of the process, so making and using ids costs no descriptors. An id
//! that was used is remembered: whoever comes late is told so instead of waiting. A service for `MCCL_COMM_ID` serves
//! one communicator and ends with it.
use std::collections::{HashMap, VecDeque};
use std::io;
use std::net::SocketAddr;
use std::sync::{Arc, Mutex, MutexGuard};
use std::thread;
use std::time::{Duration, Instant};

use super::auth::{Acceptor, Context, Key, Purpose};
use super::group::{self, ConnId, Group, Outgoing};
use super::id::UniqueId;
use super::link::Link;
use super::message::{FromRoot, MAX_TO_ROOT, ToRoot};
use super::patience::Wait;
use crate::base::{Error, Result};
use crate::err;
use crate::sys::poll::{Interest, Poller, Ready};
use crate::sys::random;
use crate::sys::socket::{Address, Listener, Socket, is_exhaustion};

/// A connection that has not said by then which rank it is gets closed; so does one that does not take its last message.
const GREETING_TIME: Duration = Duration::from_secs(10);
/// Connections that may be in that state; the oldest goes when another comes.
const MAX_GREETING: usize = 8192;
/// When descriptors run out, new connections wait this long.
const EXHAUSTION_PAUSE: Duration = Duration::from_millis(50);
/// A service for `MCCL_COMM_ID` tells late ranks for so long that the communicator has failed.
const FAILURE_ECHO: Duration = Duration::from_secs(5);

/// Where a service listens.
#[derive(Clone, Debug)]
pub struct Place {
    /// Names the Unix socket: see [`unix_address`].
    pub name: u64,
    pub addresses: Vec<SocketAddr>,
}

/// Serves `key` from the service of this process that listens on `hosts` (ports are ignored), starting it if needed.
pub fn publish(key: &Key, hosts: &[SocketAddr]) -> Result<Place> {
    static RUNNING: Mutex<Vec<Running>> = Mutex::new(Vec::new());
    let mut running = lock(&RUNNING);
    // After a fork the list is the parent's, and the threads in it are not here.
    let pid = std::process::id();
    running.retain(|service| service.pid == pid && !service.thread.is_finished());
    let service = match running.iter().position(|service| service.hosts == hosts) {
        Some(at) => &running[at],
        None => {
            running.push(Running::start(hosts)?);
            running.last().expect("just pushed")
        }
    };
    lock(&service.registry).insert(tag_of(key), Entry { key: key.clone(), spent: None });
    Ok(service.place.clone())
}

/// Serves one communicator at the addresses of an id that came from `MCCL_COMM_ID`. Waits while they are in use.
pub fn serve_comm_id(id: &UniqueId, wait: &Wait<'_>) -> Result<()> {
    let listeners = loop {
        match bind_comm_id(id) {
            Ok(listeners) => break listeners,
            Err(error) if error.kind() == io::ErrorKind::AddrInUse => {
                let at = describe(id.addresses());
                wait.check(|| format!("MCCL_COMM_ID: {at} was in use and did not become free"))?;
                wait.sleep(Duration::from_millis(20));
            }
            Err(error) => {
                let at = describe(id.addresses());
                return Err(err!(System, "MCCL_COMM_ID: rank 0 cannot listen at {at}: {error}"));
            }
        }
    };
    let registry = Registry::default();
    lock(&registry).insert(tag_of(id.key()), Entry { key: id.key().clone(), spent: None });
    Service::spawn(listeners, registry, true).map(drop)
}

/// What a rank says in its greeting to name the id.
pub fn context_of(key: &Key) -> Context {
    let mut context = Context::default();
    context[..16].copy_from_slice(&tag_of(key));
    context
}

pub fn unix_address(name: u64) -> Address {
    Address::Abstract(format!("mccl-root-{name:016x}"))
}

type Tag = [u8; 16];
type Registry = Arc<Mutex<HashMap<Tag, Entry>>>;

/// An id that this process serves.
#[derive(Debug)]
struct Entry {
    key: Key,
    /// Set once a communicator was formed, or failed to: what late ranks are told.
    spent: Option<Error>,
}

#[derive(Debug)]
struct Running {
    pid: u32,
    hosts: Vec<SocketAddr>,
    place: Place,
    registry: Registry,
    thread: thread::JoinHandle<()>,
}

impl Running {
    fn start(hosts: &[SocketAddr]) -> Result<Self> {
        let failed = |error: io::Error| Error::system("bootstrap root", &error);
        let name = u64::from_le_bytes(random::bytes().map_err(failed)?);
        let mut listeners = vec![Listener::bind(&unix_address(name)).map_err(failed)?];
        let mut port = 0;
        for host in hosts {
            let listener = bind_near(*host, port).map_err(failed)?;
            port = listener.tcp_address().map_or(0, |address| address.port());
            listeners.push(listener);
        }
        let addresses = listeners.iter().filter_map(Listener::tcp_address).collect();
        let registry = Registry::default();
        let thread = Service::spawn(listeners, registry.clone(), false)?;
        let place = Place { name, addresses };
        Ok(Self { pid: std::process::id(), hosts: hosts.to_vec(), place, registry, thread })
    }
}

/// Listens at `host` on `port` if that is free there, else on any.
fn bind_near(mut host: SocketAddr, port: u16) -> io::Result<Listener> {
    host.set_port(port);
    Listener::bind(&Address::Tcp(host)).or_else(|_| {
        host.set_port(0);
        Listener::bind(&Address::Tcp(host))
    })
}

/// At every address of the id that is this host's own; the Unix socket is for ranks of this host.
fn bind_comm_id(id: &UniqueId) -> io::Result<Vec<Listener>> {
    let mut listeners = Vec::new();
    let mut failure = None;
    for address in super::dial::with_scopes(id.addresses()) {
        match Listener::bind(&Address::Tcp(address)) {
            Ok(listener) => listeners.push(listener),
            Err(error) if error.kind() == io::ErrorKind::AddrInUse => return Err(error),
            Err(error) => failure = Some(error),
        }
    }
    if listeners.is_empty() {
        return Err(failure.unwrap_or_else(|| io::ErrorKind::AddrNotAvailable.into()));
    }
    listeners.push(Listener::bind(&unix_address(id.service()))?);
    Ok(listeners)
}

fn describe(addresses: &[SocketAddr]) -> String {
    let all: Vec<String> = addresses.iter().map(SocketAddr::to_string).collect();
    all.join(", ")
}

fn tag_of(key: &Key) -> Tag {
    *key.derive("tag", &[]).to_bytes().first_chunk().expect("a key has 32 bytes")
}

/// A poisoned registry is still a map of whole entries.
fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(std::sync::PoisonError::into_inner)
}

/// The thread's state.
struct Service {
    poller: Poller,
    listeners: Vec<Listener>,
    registry: Registry,
    conns: HashMap<ConnId, Conn>,
    groups: HashMap<Tag, Group>,
    /// Connections in greeting or closing, oldest first: all get the same time.
    timers: VecDeque<(Instant, ConnId)>,
    next_conn: ConnId,
    accept_again: Option<Instant>,
    once: bool,
    listen_until: Option<Instant>,
}

struct Conn {
    link: Link,
    stage: Stage,
    interest: Interest,
}

enum Stage {
    Handshake(Acceptor),
    /// Has proved the key and will say which rank it is.
    Greeting(Tag),
    Member(Tag, usize),
    /// Closed once the last message is out.
    Closing,
}

impl Service {
    fn spawn(listeners: Vec<Listener>, registry: Registry, once: bool) -> Result<thread::JoinHandle<()>> {
        let failed = |error: io::Error| Error::system("bootstrap root", &error);
        let poller = Poller::new().map_err(failed)?;
        for (token, listener) in listeners.iter().enumerate() {
            poller.add(listener, token as u64, Interest::Read).map_err(failed)?;
        }
        let service = Self {
            poller,
            next_conn: listeners.len() as ConnId,
            listeners,
            registry,
            conns: HashMap::new(),
            groups: HashMap::new(),
            timers: VecDeque::new(),
            accept_again: None,
            once,
            listen_until: None,
        };
        thread::Builder::new().name("mccl-root".into()).spawn(move || service.run()).map_err(failed)
    }

    fn run(mut self) {
        let mut ready: Vec<Ready> = Vec::new();
        let first_conn = self.next_conn;
        while !self.is_finished() {
            let pause = self.next_timer().map(|at| at.saturating_duration_since(Instant::now()));
            // Round up: waking a moment early would only loop.
            let pause = pause.map(|pause| pause + Duration::from_millis(1));
            if self.poller.wait(&mut ready, pause).is_err() {
                return;
            }
            for event in &ready {
                match event.token {
                    token if token < first_conn => self.accept(token as usize),
                    conn => self.serve(conn),
                }
            }
            self.expire(Instant::now());
        }
    }

    fn is_finished(&self) -> bool {
        self.once && self.listeners.is_empty() && self.groups.is_empty() && self.conns.is_empty()
    }

    fn next_timer(&self) -> Option<Instant> {
        let groups = self.groups.values().filter_map(Group::deadline);
        let timer = self.timers.front().map(|(at, _)| *at);
        groups.chain(timer).chain(self.accept_again).chain(self.listen_until).min()
    }

    fn accept(&mut self, listener: usize) {
        while let Some(result) = self.listeners.get(listener).map(Listener::accept) {
            match result {
                Ok(Some(socket)) => self.welcome(socket),
                Ok(None) => return,
                Err(error) if is_exhaustion(&error) => return self.pause_accepting(),
                // Errors of the dead connection itself; the next event tells if there are more.
                Err(_) => return,
            }
        }
    }

    fn welcome(&mut self, socket: Socket) {
        let conn = self.next_conn;
        if socket.tune().is_err() || self.poller.add(&socket, conn, Interest::Read).is_err() {
            return;
        }
        self.next_conn += 1;
        let stage = Stage::Handshake(Acceptor::new(Purpose::Join));
        self.conns.insert(conn, Conn { link: Link::new(socket), stage, interest: Interest::Read });
        self.start_timer(conn);
    }

    fn start_timer(&mut self, conn: ConnId) {
        self.timers.push_back((Instant::now() + GREETING_TIME, conn));
        while self.timers.len() > MAX_GREETING {
            let oldest = self.timers.pop_front();
            oldest.into_iter().for_each(|(_, conn)| self.close_unless_member(conn));
        }
    }

    fn close_unless_member(&mut self, conn: ConnId) {
        if self.conns.get(&conn).is_some_and(|conn| !matches!(conn.stage, Stage::Member(..))) {
            self.conns.remove(&conn);
        }
    }

    fn pause_accepting(&mut self) {
        for listener in &self.listeners {
            let _ = self.poller.remove(listener);
        }
        self.accept_again = Some(Instant::now() + EXHAUSTION_PAUSE);
    }

    /// Reads what came on a connection, acts on it, and sends what fits.
    fn serve(&mut self, id: ConnId) {
        let Some(conn) = self.conns.get_mut(&id) else { return };
        let filled = conn.link.fill();
        // What came before the end of the stream still counts: a good-bye, for example.
        while let Some(conn) = self.conns.get_mut(&id) {
            match step(conn, &self.registry) {
                Ok(Some(event)) => self.act(id, event),
                Ok(None) => break,
                Err(error) => return self.drop_conn(id, &error.message),
            }
        }
        match filled {
            Ok(_) => self.flush(id),
            Err(error) if error.kind() == io::ErrorKind::UnexpectedEof => {
                self.drop_conn(id, "it ended or was killed without leaving the communicator");
            }
            Err(error) => self.drop_conn(id, &error.to_string()),
        }
    }

    fn act(&mut self, id: ConnId, event: Event) {
        let now = Instant::now();
        let (tag, out) = match event {
            Event::Proved => return,
            Event::Said(Some(tag), _, ToRoot::Join(join)) => {
                let spent = lock(&self.registry).get(&tag).and_then(|entry| entry.spent.clone());
                if let Some(error) = spent {
                    let bytes = FromRoot::encode_fail(&error);
                    return self.deliver(vec![Outgoing { to: id, bytes, last: true }]);
                }
                if let Some(conn) = self.conns.get_mut(&id) {
                    conn.stage = Stage::Member(tag, join.rank);
                }
                (tag, self.groups.entry(tag).or_default().join(id, join, now))
            }
            Event::Said(Some(tag), Some(rank), message) => {
                let Some(group) = self.groups.get_mut(&tag) else { return };
                match message {
                    ToRoot::Piece(piece) => (tag, group.piece(rank, piece, now)),
                    _ => {
                        self.conns.remove(&id);
                        (tag, group.bye(rank))
                    }
                }
            }
            Event::Said(..) => return self.drop_conn(id, "it spoke out of turn"),
        };
        self.settle(tag);
        self.deliver(out);
    }

    /// Remembers that an id is spent, and forgets its group once nobody needs it.
    fn settle(&mut self, tag: Tag) {
        let Some(group) = self.groups.get(&tag) else { return };
        if !group.is_formed() && group.failure().is_none() {
            return;
        }
        if let Some(entry) = lock(&self.registry).get_mut(&tag) {
            entry.spent.get_or_insert_with(|| group::spent(group));
        }
        if self.once && self.listen_until.is_none() {
            let echo = if group.is_formed() { Duration::ZERO } else { FAILURE_ECHO };
            self.listen_until = Some(Instant::now() + echo);
            if group.is_formed() {
                // Before anybody learns that the group stands, so that its next user can listen at the same address.
                self.listeners.clear();
            }
        }
        if group.is_empty() {
            self.groups.remove(&tag);
        }
    }

    fn deliver(&mut self, out: Vec<Outgoing>) {
        for message in out {
            let Some(conn) = self.conns.get_mut(&message.to) else { continue };
            conn.link.queue(message.bytes);
            if message.last {
                conn.stage = Stage::Closing;
                self.start_timer(message.to);
            }
            self.flush(message.to);
        }
    }

    fn flush(&mut self, id: ConnId) {
        let Some(conn) = self.conns.get_mut(&id) else { return };
        match conn.link.flush() {
            Ok(true) if matches!(conn.stage, Stage::Closing) => {
                self.conns.remove(&id);
            }
            Ok(_) => {
                let interest = conn.link.interest();
                if interest != conn.interest && self.poller.modify(&conn.link, id, interest).is_ok() {
                    conn.interest = interest;
                }
            }
            Err(error) => self.drop_conn(id, &error.to_string()),
        }
    }

    /// Closes a connection; when it was a rank's, the others are told.
    fn drop_conn(&mut self, id: ConnId, why: &str) {
        let Some(conn) = self.conns.remove(&id) else { return };
        if let Stage::Member(tag, rank) = conn.stage
            && let Some(group) = self.groups.get_mut(&tag)
        {
            let out = group.lost(rank, why);
            self.settle(tag);
            self.deliver(out);
        }
    }

    fn expire(&mut self, now: Instant) {
        while let Some((_, conn)) = self.timers.pop_front_if(|(at, _)| *at <= now) {
            self.close_unless_member(conn);
        }
        let due: Vec<Tag> = self
            .groups
            .iter()
            .filter(|(_, group)| group.deadline().is_some_and(|at| at <= now))
            .map(|(tag, _)| *tag)
            .collect();
        for tag in due {
            let out = self.groups.get_mut(&tag).map(|group| group.expire(now)).unwrap_or_default();
            self.settle(tag);
            self.deliver(out);
        }
        if self.listen_until.is_some_and(|at| at <= now) {
            self.listeners.clear();
            self.listen_until = None;
        }
        if self.accept_again.is_some_and(|at| at <= now) {
            self.accept_again = None;
            for (token, listener) in self.listeners.iter().enumerate() {
                let _ = self.poller.add(listener, token as u64, Interest::Read);
            }
        }
    }
}

/// Something whole that came over a connection.
enum Event {
    Proved,
    Said(Option<Tag>, Option<usize>, ToRoot),
}

/// Takes the next whole thing off a connection; None when more bytes are needed.
fn step(conn: &mut Conn, registry: &Registry) -> Result<Option<Event>> {
    let (tag, rank) = match &mut conn.stage {
        Stage::Handshake(acceptor) => {
            let find = |context: &Context| {
                let tag: &Tag = context.first_chunk().expect("a context has 24 bytes");
                lock(registry).get(tag).map(|entry| entry.key.clone())
            };
            let Some(context) = acceptor.poll(&mut conn.link, find)? else { return Ok(None) };
            conn.stage = Stage::Greeting(*context.first_chunk().expect("a context has 24 bytes"));
            return Ok(Some(Event::Proved));
        }
        Stage::Greeting(tag) => (Some(*tag), None),
        Stage::Member(tag, rank) => (Some(*tag), Some(*rank)),
        Stage::Closing => return Ok(None),
    };
    let frame = conn.link.frame(MAX_TO_ROOT).map_err(|error| err!(Remote, "{error}"))?;
    frame.map(|frame| Ok(Event::Said(tag, rank, ToRoot::decode(&frame)?))).transpose()
}
