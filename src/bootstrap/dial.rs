//! Reaching a listener of ours at one of several addresses: all are tried, the first that proves the key wins.
use std::io;
use std::net::{IpAddr, SocketAddr};
use std::os::fd::AsFd;
use std::time::{Duration, Instant};

use super::auth::{Context, Dialer, Key, Purpose};
use super::link::Link;
use super::patience::{Wait, seconds};
use crate::bail;
use crate::base::Result;
use crate::sys::interfaces;
use crate::sys::poll::Interest;
use crate::sys::socket::{Address, Socket};

/// The next address is tried when the one before has not answered by then.
const STAGGER: Duration = Duration::from_millis(200);
const ROUND_LIMITS: Limits =
    Limits { connect: Duration::from_secs(10), answer: Some(Duration::from_secs(10)) };
const FIRST_PAUSE: Duration = Duration::from_millis(2);
const LONGEST_PAUSE: Duration = Duration::from_millis(500);

/// Whom to reach, and how to say what for.
#[derive(Clone, Copy, Debug)]
pub struct Call<'a> {
    pub candidates: &'a [Address],
    pub key: &'a Key,
    pub purpose: Purpose,
    pub context: &'a Context,
    /// Begins the error message: "the root of the unique id".
    pub whom: &'a str,
    /// Give up when every address has refused for so long; None tries until the deadline.
    pub refusal_limit: Option<Duration>,
}

impl Call<'_> {
    /// Tries until somebody who knows the key answers. The link comes back with the handshake done.
    ///
    /// # Errors
    /// `Timeout` and `Remote` with what each address said last, `Aborted`.
    pub fn connect(&self, wait: &Wait<'_>) -> Result<Link> {
        let start = Instant::now();
        let mut pause = FIRST_PAUSE;
        let mut failures: Vec<Failure> = Vec::new();
        loop {
            match self.round(wait)? {
                Ok(link) => return Ok(link),
                // A round that the deadline cut short knows less than the one before.
                Err(_) if wait.remaining().is_zero() && !failures.is_empty() => {}
                Err(new) => failures = new,
            }
            let reasons =
                || failures.iter().map(|failure| failure.text.as_str()).collect::<Vec<_>>().join("; ");
            wait.check(|| format!("{} could not be reached ({})", self.whom, reasons()))?;
            let refused = failures.iter().all(|failure| failure.refused);
            if let Some(limit) = self.refusal_limit
                && refused
                && start.elapsed() >= limit
            {
                let time = seconds(limit);
                bail!(Remote, "{} is gone: nobody has listened for {time} ({})", self.whom, reasons());
            }
            wait.sleep(pause);
            pause = (pause * 2).min(LONGEST_PAUSE);
        }
    }

    /// Tries each candidate once.
    fn round(&self, wait: &Wait<'_>) -> Result<Attempted<Link, Vec<Failure>>> {
        let mut failures = Vec::new();
        let mut running: Vec<Attempt> = Vec::new();
        let mut waiting = self.candidates.iter();
        let mut next_start = Instant::now();
        loop {
            if running.is_empty() || Instant::now() >= next_start {
                match waiting.next().map(|address| Attempt::start(address, ROUND_LIMITS)) {
                    Some(Ok(attempt)) => running.push(attempt),
                    Some(Err(failure)) => failures.push(failure),
                    None if running.is_empty() => return Ok(Err(failures)),
                    None => {}
                }
                next_start = Instant::now() + STAGGER;
            }
            let mut at = 0;
            while at < running.len() {
                match running[at].poll(self.key, self.purpose, self.context) {
                    Ok(true) => return Ok(Ok(running.swap_remove(at).into_link())),
                    Ok(false) => at += 1,
                    Err(failure) => {
                        failures.push(failure);
                        running.swap_remove(at);
                    }
                }
            }
            if !running.is_empty() {
                wait.check_abort()?;
                if wait.remaining().is_zero() {
                    failures.extend(running.iter().map(|attempt| attempt.fail("no answer")));
                    return Ok(Err(failures));
                }
                let fds: Vec<_> = running.iter().map(|a| (a.link.as_fd(), a.interest())).collect();
                wait.any_ready(&fds)?;
            }
        }
    }
}

/// Replaces link-local IPv6 addresses by one for each interface of this host that could lead there.
pub fn with_scopes(addresses: &[SocketAddr]) -> Vec<SocketAddr> {
    let mut all = Vec::new();
    for address in addresses {
        let SocketAddr::V6(v6) = address else {
            all.push(*address);
            continue;
        };
        if !v6.ip().is_unicast_link_local() || v6.scope_id() != 0 {
            all.push(*address);
            continue;
        }
        let here = interfaces::list().unwrap_or_default();
        let scopes = here.iter().filter(|entry| {
            entry.usable && matches!(entry.address, IpAddr::V6(ip) if ip.is_unicast_link_local())
        });
        for entry in scopes {
            let mut scoped = *v6;
            scoped.set_scope_id(entry.scope);
            all.push(scoped.into());
        }
    }
    all
}

pub type Attempted<T, E = Failure> = std::result::Result<T, E>;

/// Why one address did not do.
#[derive(Debug)]
pub struct Failure {
    /// Begins with the address.
    pub text: String,
    /// Actively refused: the host is there, and nobody listens.
    pub refused: bool,
}

/// How long one attempt at one address may take.
#[derive(Clone, Copy, Debug)]
pub struct Limits {
    pub connect: Duration,
    /// For the handshake once the connection stands; None waits as long as the other side keeps it open.
    pub answer: Option<Duration>,
}

/// One attempt to reach one address and do the handshake there; never blocks.
#[derive(Debug)]
pub struct Attempt {
    address: Address,
    link: Link,
    limits: Limits,
    /// None until the connection stands.
    dialer: Option<Dialer>,
    deadline: Option<Instant>,
}

impl Attempt {
    pub fn start(address: &Address, limits: Limits) -> Attempted<Self> {
        let socket = Socket::connect(address).map_err(|error| failure(address, &error))?;
        let deadline = Some(Instant::now() + limits.connect);
        Ok(Self { address: address.clone(), link: Link::new(socket), limits, dialer: None, deadline })
    }

    /// Goes on as far as it can; true once both sides have proved the key.
    pub fn poll(&mut self, key: &Key, purpose: Purpose, context: &Context) -> Attempted<bool> {
        if self.deadline.is_some_and(|at| Instant::now() >= at) {
            return Err(self.fail("no answer"));
        }
        let address = self.address.clone();
        let broken = |error: io::Error| failure(&address, &error);
        if self.dialer.is_none() {
            if !self.link.socket().connected().map_err(broken)? {
                return Ok(false);
            }
            self.link.socket().tune().map_err(broken)?;
            self.deadline = self.limits.answer.map(|time| Instant::now() + time);
            let dialer = Dialer::start(&mut self.link, key, purpose, context);
            self.dialer = Some(dialer.map_err(|error| self.fail(&error.message))?);
        }
        let Some(dialer) = &mut self.dialer else { return Ok(false) };
        self.link.flush().map_err(broken)?;
        self.link.fill().map_err(broken)?;
        let done = dialer.poll(&mut self.link).map_err(|error| failure_text(&address, &error.message))?;
        self.link.flush().map_err(broken)?;
        Ok(done)
    }

    /// The connection stands, though the other side may not have answered yet.
    pub fn is_connected(&self) -> bool {
        self.dialer.is_some()
    }

    pub fn interest(&self) -> Interest {
        if self.dialer.is_none() { Interest::Write } else { self.link.interest() }
    }

    pub fn link(&self) -> &Link {
        &self.link
    }

    pub fn into_link(self) -> Link {
        self.link
    }

    fn fail(&self, text: &str) -> Failure {
        failure_text(&self.address, text)
    }
}

fn failure(address: &Address, error: &io::Error) -> Failure {
    let text = match error.kind() {
        io::ErrorKind::UnexpectedEof => "closed the connection".to_string(),
        _ => error.to_string(),
    };
    let refused = error.kind() == io::ErrorKind::ConnectionRefused;
    Failure { refused, ..failure_text(address, &text) }
}

fn failure_text(address: &Address, text: &str) -> Failure {
    Failure { text: format!("{address}: {text}"), refused: false }
}
