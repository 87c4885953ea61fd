//! Which root services run in this process, and where they listen.
//!
//! One service stays for the life of the process and serves any number of ids, so making and using ids costs no
//! descriptors. A service for `MCCL_COMM_ID` serves one communicator and ends with it.
use std::io;
use std::net::SocketAddr;
use std::sync::{Mutex, PoisonError};
use std::thread;
use std::time::Duration;

use super::auth::{Context, Key};
use super::dial::with_scopes;
use super::id::UniqueId;
use super::patience::Wait;
use super::service::{Registry, Service, Tag};
use crate::base::{Error, Result};
use crate::err;
use crate::sys::random;
use crate::sys::socket::{Address, Listener};

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
    let mut running = RUNNING.lock().unwrap_or_else(PoisonError::into_inner);
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
    service.registry.add(tag_of(key), key.clone());
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
    registry.add(tag_of(id.key()), id.key().clone());
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
    for address in with_scopes(id.addresses()) {
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
