//! The root service: one thread that any number of unique ids share, serving all ranks without ever blocking on one.
//!
//! An id that was used is remembered: whoever comes late is told so instead of waiting.
use std::collections::{HashMap, VecDeque};
use std::io;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

use super::auth::{Acceptor, Context, Key, Purpose};
use super::group::{self, ConnId, Group, Outgoing};
use super::link::Link;
use super::message::{FromRoot, MAX_TO_ROOT, ToRoot};
use crate::base::{Error, Result};
use crate::err;
use crate::sys::poll::{Interest, Poller, Ready};
use crate::sys::socket::{Listener, Socket, is_exhaustion};
use crate::sys::thread;

/// A connection that has not said by then which rank it is gets closed; so does one that does not take its last message.
const GREETING_TIME: Duration = Duration::from_secs(10);
/// Connections that may be in that state; the oldest goes when another comes.
const MAX_GREETING: usize = 8192;
/// Connections let in before others are served again.
const ACCEPT_BATCH: usize = 64;
/// When descriptors run out, new connections wait this long.
const EXHAUSTION_PAUSE: Duration = Duration::from_millis(50);
/// A service for `MCCL_COMM_ID` tells late ranks for so long that the communicator has failed.
const FAILURE_ECHO: Duration = Duration::from_secs(5);
/// It ends when nobody has joined by then: rank 0, which started it, does so at once or has died.
const FIRST_RANK_TIME: Duration = Duration::from_secs(60);

/// Names an id in greetings.
pub type Tag = [u8; 16];

/// The ids that a service knows, shared with those who make new ones.
#[derive(Clone, Debug, Default)]
pub struct Registry(Arc<Mutex<HashMap<Tag, Entry>>>);

#[derive(Debug)]
struct Entry {
    key: Key,
    /// Set once a communicator was formed, or failed to: what late ranks are told.
    spent: Option<Error>,
}

impl Registry {
    pub fn add(&self, tag: Tag, key: Key) {
        self.lock().insert(tag, Entry { key, spent: None });
    }

    fn key(&self, tag: &Tag) -> Option<Key> {
        self.lock().get(tag).map(|entry| entry.key.clone())
    }

    fn spent(&self, tag: &Tag) -> Option<Error> {
        self.lock().get(tag).and_then(|entry| entry.spent.clone())
    }

    fn spend(&self, tag: &Tag, answer: impl FnOnce() -> Error) {
        if let Some(entry) = self.lock().get_mut(tag) {
            entry.spent.get_or_insert_with(answer);
        }
    }

    /// A poisoned registry is still a map of whole entries.
    fn lock(&self) -> MutexGuard<'_, HashMap<Tag, Entry>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// The thread's state.
pub struct Service {
    poller: Poller,
    listeners: Vec<Listener>,
    registry: Registry,
    conns: HashMap<ConnId, Conn>,
    groups: HashMap<Tag, Group>,
    /// Connections in greeting or closing, oldest first: all get the same time.
    timers: VecDeque<(Instant, ConnId)>,
    greeting_time: Duration,
    next_conn: ConnId,
    accept_again: Option<Instant>,
    once: bool,
    /// The one communicator was formed or has failed.
    over: bool,
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
    /// Starts the thread. With `once`, it serves one communicator and ends with it.
    pub fn spawn(listeners: Vec<Listener>, registry: Registry, once: bool) -> Result<JoinHandle<()>> {
        let failed = |error: io::Error| Error::system("bootstrap root", &error);
        let service = Self::new(listeners, registry, once).map_err(failed)?;
        thread::spawn("mccl-root", move || service.run()).map_err(failed)
    }

    fn new(listeners: Vec<Listener>, registry: Registry, once: bool) -> io::Result<Self> {
        let poller = Poller::new()?;
        for (token, listener) in listeners.iter().enumerate() {
            poller.add(listener, token as u64, Interest::Read)?;
        }
        Ok(Self {
            poller,
            next_conn: listeners.len() as ConnId,
            listeners,
            registry,
            conns: HashMap::new(),
            groups: HashMap::new(),
            timers: VecDeque::new(),
            greeting_time: GREETING_TIME,
            accept_again: None,
            once,
            over: false,
            listen_until: once.then(|| Instant::now() + FIRST_RANK_TIME),
        })
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

    /// Lets some in; when more are waiting the listener stays ready. Without the limit a scanner that connects as fast
    /// as we accept would keep us here.
    fn accept(&mut self, listener: usize) {
        for _ in 0..ACCEPT_BATCH {
            match self.listeners.get(listener).map(Listener::accept) {
                Some(Ok(Some(socket))) => self.welcome(socket),
                // A silent connection makes room for one that may be a rank.
                Some(Err(error)) if is_exhaustion(&error) => {
                    if !self.close_oldest_stranger() {
                        return self.pause_accepting();
                    }
                }
                // Other errors are those of a connection that is dead already.
                Some(Ok(None) | Err(_)) | None => return,
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
        self.timers.push_back((Instant::now() + self.greeting_time, conn));
        if self.timers.len() > MAX_GREETING {
            self.close_oldest_stranger();
        }
    }

    /// False when all connections are those of ranks.
    fn close_oldest_stranger(&mut self) -> bool {
        while let Some((_, conn)) = self.timers.pop_front() {
            if self.close_unless_member(conn) {
                return true;
            }
        }
        false
    }

    fn close_unless_member(&mut self, conn: ConnId) -> bool {
        let stranger = self.conns.get(&conn).is_some_and(|conn| !matches!(conn.stage, Stage::Member(..)));
        stranger && self.conns.remove(&conn).is_some()
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
                if let Some(error) = self.registry.spent(&tag) {
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
        self.registry.spend(&tag, || group::spent(group));
        if self.once && !self.over {
            self.over = true;
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
            self.listen_until = None;
            if self.over || self.groups.is_empty() {
                self.listeners.clear();
            }
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
                registry.key(tag)
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

#[cfg(test)]
mod tests {
    use std::io::{Read, Write};
    use std::os::linux::net::SocketAddrExt;
    use std::os::unix::net::{SocketAddr, UnixStream};

    use super::*;
    use crate::sys::socket::Address;

    #[test]
    fn silent_and_half_spoken_connections_are_closed_in_time() {
        let name = format!("mccl-test-{}-silent", std::process::id());
        let listener = Listener::bind(&Address::Abstract(name.clone())).unwrap();
        let mut service = Service::new(vec![listener], Registry::default(), false).unwrap();
        service.greeting_time = Duration::from_millis(30);
        std::thread::spawn(move || service.run());
        for words in [&b""[..], b"mcclnet", b"mcclnet\x01\x01\0\0\0\0\0\0\0 and half a context"] {
            let mut stream =
                UnixStream::connect_addr(&SocketAddr::from_abstract_name(&name).unwrap()).unwrap();
            stream.set_read_timeout(Some(Duration::from_secs(60))).unwrap();
            stream.write_all(words).unwrap();
            assert!(matches!(stream.read(&mut [0; 1]), Ok(0)), "not closed after {words:?}");
        }
    }
}
