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
/// One attempt at one address takes no longer.
const ATTEMPT_TIME: Duration = Duration::from_secs(10);
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
                match waiting.next().map(|address| Attempt::start(address)) {
                    Some(Ok(attempt)) => running.push(attempt),
                    Some(Err(failure)) => failures.push(failure),
                    None if running.is_empty() => return Ok(Err(failures)),
                    None => {}
                }
                next_start = Instant::now() + STAGGER;
            }
            let mut at = 0;
            while at < running.len() {
                match running[at].poll(self) {
                    Ok(true) => return Ok(Ok(running.swap_remove(at).link)),
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

type Attempted<T, E = Failure> = std::result::Result<T, E>;

#[derive(Debug)]
struct Failure {
    text: String,
    refused: bool,
}

#[derive(Debug)]
struct Attempt {
    address: Address,
    link: Link,
    /// None until the connection stands.
    dialer: Option<Dialer>,
    deadline: Instant,
}

impl Attempt {
    fn start(address: &Address) -> Attempted<Self> {
        let socket = Socket::connect(address).map_err(|error| failure(address, &error))?;
        let deadline = Instant::now() + ATTEMPT_TIME;
        Ok(Self { address: address.clone(), link: Link::new(socket), dialer: None, deadline })
    }

    fn poll(&mut self, call: &Call<'_>) -> Attempted<bool> {
        if Instant::now() >= self.deadline {
            return Err(self.fail("no answer"));
        }
        let address = self.address.clone();
        let broken = |error: io::Error| failure(&address, &error);
        if self.dialer.is_none() {
            if !self.link.socket().connected().map_err(broken)? {
                return Ok(false);
            }
            self.link.socket().tune().map_err(broken)?;
            let dialer = Dialer::start(&mut self.link, call.key, call.purpose, call.context);
            self.dialer = Some(dialer.map_err(|error| self.fail(&error.message))?);
        }
        let Some(dialer) = &mut self.dialer else { return Ok(false) };
        self.link.flush().map_err(broken)?;
        self.link.fill().map_err(broken)?;
        let done = dialer.poll(&mut self.link).map_err(|error| failure_text(&address, &error.message))?;
        self.link.flush().map_err(broken)?;
        Ok(done)
    }

    fn interest(&self) -> Interest {
        if self.dialer.is_none() { Interest::Write } else { self.link.interest() }
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
