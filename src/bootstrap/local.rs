//! Handing file descriptors to ranks of the same host that know the communicator's key.
//!
//! The giver binds first, so that it can tell others to fetch before it serves. Giver and takers may be threads of one
//! process, or one thread that starts several waits: binding never waits.
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::time::{Duration, Instant};

use super::auth::{Acceptor, Context, Key, Purpose};
use super::dial::Call;
use super::link::Link;
use super::patience::Patience;
use crate::base::{Error, Result};
use crate::sys::poll::Interest;
use crate::sys::socket::{Address, Listener, MAX_FDS, Socket};
use crate::{bail, err};

/// A taker that does not finish its handshake by then is dropped.
const HANDSHAKE_TIME: Duration = Duration::from_secs(10);
/// Takers served at the same time; the oldest goes when another comes.
const MAX_TAKERS: usize = 1024;
/// Takers let in before others are served again.
const ACCEPT_BATCH: usize = 64;
const GIVEN: u8 = 1;
const TAKEN: u8 = 2;

/// A giver that listens and has not given yet.
#[derive(Debug)]
pub struct FdServer {
    listener: Listener,
    key: Key,
}

impl FdServer {
    /// Listens for takers of what is called `tag`. From now on [`fetch_fds`] finds it.
    ///
    /// # Errors
    /// `System` when the name is taken: another giver serves the same key and tag.
    pub fn bind(key: &Key, tag: &str) -> Result<Self> {
        let listener = Listener::bind(&address(key, tag))
            .map_err(|error| Error::system(format!("shared memory: socket for \"{tag}\""), &error))?;
        Ok(Self { listener, key: key.clone() })
    }

    /// Gives copies of `fds` (1 to [`MAX_FDS`]) to `takers` takers and returns when the last one has them.
    ///
    /// # Errors
    /// `Timeout`, `Aborted`, `System`.
    pub fn serve(self, fds: &[BorrowedFd<'_>], takers: usize, patience: &Patience) -> Result<()> {
        if fds.is_empty() || fds.len() > MAX_FDS {
            bail!(Internal, "shared memory: {} descriptors cannot be given (1 to {MAX_FDS})", fds.len());
        }
        let wait = patience.start();
        let mut served = 0;
        let mut open: Vec<Taker> = Vec::new();
        while served < takers {
            for _ in 0..ACCEPT_BATCH {
                let Ok(Some(socket)) = self.listener.accept() else { break };
                if open.len() == MAX_TAKERS {
                    open.remove(0);
                }
                open.push(Taker::new(socket));
            }
            open.retain_mut(|taker| match taker.poll(&self.key, fds) {
                Ok(done) => {
                    served += usize::from(done);
                    !done
                }
                // A stranger, or a rank that died: its own side tells about that.
                Err(_) => false,
            });
            if served < takers {
                wait.check(|| format!("shared memory: {served} of {takers} local ranks fetched it"))?;
                let listener = [(self.listener.as_fd(), Interest::Read)];
                let takers = open.iter().map(|taker| (taker.link.as_fd(), taker.interest()));
                let all: Vec<_> = listener.into_iter().chain(takers).collect();
                wait.any_ready(&all)?;
            }
        }
        Ok(())
    }
}

/// Takes what a giver of this host serves under `key` and `tag`, waiting for the giver to appear.
///
/// # Errors
/// `Timeout`, `Aborted`, `Remote` when the giver went away in between.
pub fn fetch_fds(key: &Key, tag: &str, patience: &Patience) -> Result<Vec<OwnedFd>> {
    let wait = patience.start();
    let candidates = [address(key, tag)];
    let whom = "the local rank that shares its memory";
    let (purpose, context) = (Purpose::Descriptors, Context::default());
    let call = Call { candidates: &candidates, key, purpose, context: &context, whom, refusal_limit: None };
    let (socket, early) = call.connect(&wait)?.into_parts();
    if !early.is_empty() {
        bail!(Remote, "{whom} sent {} bytes that nobody asked for", early.len());
    }
    // Tell that the descriptors may come now: sent with the last handshake bytes they would be lost in a plain read.
    let mut link = Link::new(socket);
    link.queue([GIVEN]);
    loop {
        let sent = link.flush().map_err(|error| err!(Remote, "{whom} is gone: {error}"))?;
        let received =
            link.socket().receive_fds().map_err(|error| err!(Remote, "{whom} is gone: {error}"))?;
        if let Some((_, fds)) = received {
            link.queue([TAKEN]);
            link.flush().map_err(|error| err!(Remote, "{whom} is gone: {error}"))?;
            return Ok(fds);
        }
        wait.check(|| format!("{whom} sent nothing"))?;
        wait.ready(link.as_fd(), if sent { Interest::Read } else { Interest::ReadWrite })?;
    }
}

fn address(key: &Key, tag: &str) -> Address {
    Address::Abstract(format!("mccl-fd-{}", key.public_name("descriptors", tag.as_bytes())))
}

struct Taker {
    link: Link,
    stage: TakerStage,
    deadline: Instant,
}

enum TakerStage {
    Handshake(Acceptor),
    Asking,
    Giving,
    Taking,
}

impl Taker {
    fn new(socket: Socket) -> Self {
        let stage = TakerStage::Handshake(Acceptor::new(Purpose::Descriptors));
        Self { link: Link::new(socket), stage, deadline: Instant::now() + HANDSHAKE_TIME }
    }

    /// True once the taker has the descriptors.
    fn poll(&mut self, key: &Key, fds: &[BorrowedFd<'_>]) -> Result<bool> {
        let gone = |error: std::io::Error| err!(Remote, "a taker of shared memory is gone: {error}");
        let filled = self.link.fill();
        loop {
            match &mut self.stage {
                TakerStage::Handshake(acceptor) => {
                    if acceptor.poll(&mut self.link, |_| Some(key.clone()))?.is_none() {
                        break;
                    }
                    self.stage = TakerStage::Asking;
                }
                TakerStage::Asking => match self.link.take::<1>() {
                    None => break,
                    Some(_) => self.stage = TakerStage::Giving,
                },
                TakerStage::Giving => {
                    let ready = self.link.flush().map_err(gone)?;
                    if !ready || !self.link.socket().send_fds(GIVEN, fds).map_err(gone)? {
                        break;
                    }
                    self.stage = TakerStage::Taking;
                }
                TakerStage::Taking => match self.link.take::<1>() {
                    None => break,
                    Some(_) => return Ok(true),
                },
            }
        }
        filled.map_err(gone)?;
        self.link.flush().map_err(gone)?;
        if Instant::now() >= self.deadline {
            bail!(Remote, "a taker of shared memory did not finish its handshake");
        }
        Ok(false)
    }

    fn interest(&self) -> Interest {
        if matches!(self.stage, TakerStage::Giving) { Interest::ReadWrite } else { self.link.interest() }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::base::ErrorKind;
    use crate::sys::SharedMap;

    fn patience() -> Patience {
        Patience::new(Duration::from_secs(60))
    }

    #[test]
    fn threads_of_one_process_fetch_what_another_serves() {
        let key = Key::random().unwrap();
        let map = SharedMap::create("local-test", 4096).unwrap();
        std::thread::scope(|scope| {
            let takers: Vec<_> =
                (0..5).map(|_| scope.spawn(|| fetch_fds(&key, "comm", &patience()).unwrap())).collect();
            let server = FdServer::bind(&key, "comm").unwrap();
            server.serve(&[map.fd().as_fd(), map.fd().as_fd()], 5, &patience()).unwrap();
            for taker in takers {
                let mut fds = taker.join().unwrap();
                assert_eq!(fds.len(), 2);
                assert_eq!(SharedMap::from_fd(fds.remove(0), 4096).unwrap().len(), 4096);
            }
        });
    }

    #[test]
    fn strangers_and_wrong_keys_do_not_count_as_takers() {
        let key = Key::random().unwrap();
        let map = SharedMap::create("local-test", 4096).unwrap();
        let server = FdServer::bind(&key, "x").unwrap();
        let mut stranger = Link::new(Socket::connect(&address(&key, "x")).unwrap());
        stranger.queue(vec![b'G'; 4000]);
        stranger.flush().unwrap();
        let _silent = Socket::connect(&address(&key, "x")).unwrap();
        std::thread::scope(|scope| {
            let taker = scope.spawn(|| fetch_fds(&key, "x", &patience()).unwrap());
            server.serve(&[map.fd().as_fd()], 1, &patience()).unwrap();
            assert_eq!(taker.join().unwrap().len(), 1);
        });
    }

    #[test]
    fn both_sides_end_by_their_deadline() {
        let key = Key::random().unwrap();
        let short = Patience::new(Duration::from_millis(30));
        let error = fetch_fds(&key, "nobody", &short).unwrap_err();
        assert_eq!(error.kind, ErrorKind::Timeout);
        let map = SharedMap::create("local-test", 4096).unwrap();
        let server = FdServer::bind(&key, "nobody").unwrap();
        assert!(FdServer::bind(&key, "nobody").is_err());
        let error = server.serve(&[map.fd().as_fd()], 2, &short).unwrap_err();
        assert_eq!(error.message, "shared memory: 0 of 2 local ranks fetched it within 0.03 s");
    }
}
