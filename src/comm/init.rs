//! How a communicator comes to be: rendezvous, who is where, shared memory, what can be read in place.
use std::os::fd::AsFd;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, Mutex, OnceLock};
use std::time::{Duration, Instant};

use crate::base::env::{AddressFamily, Env};
use crate::base::types::Rank;
use crate::base::{Error, Result, log};
use crate::bootstrap::{self, JoinRequest, Patience, Session, local};
use crate::channel::slots::Slots;
use crate::channel::{Layout, Region};
use crate::comm::info::{self, RankInfo};
use crate::comm::links::HostLinks;
use crate::comm::{Comm, Config, life, probe, redop, report};
use crate::device::{self, Runtime};
use crate::exec::{Core, Engine, HostView, Parts, PeerMemory};
use crate::plan::{Choice, Planner, Shape};
use crate::topo::HostId;
use crate::transport::socket::SocketHub;
use crate::{bail, err, sys, warn_};

/// A day: what "without limit" means to the bootstrap.
const FOR_EVER: Duration = Duration::from_secs(24 * 3600);

/// The opaque bytes that rank 0 hands to the others.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct UniqueId(pub [u8; 128]);

impl UniqueId {
    pub const BYTES: usize = 128;
}

/// What a caller asks for.
pub struct InitRequest {
    pub nranks: usize,
    pub rank: usize,
    /// The first names the communicator; further ones only spread the load of start-up.
    pub ids: Vec<UniqueId>,
    /// `None`: the caller's current device.
    pub device: Option<i32>,
    pub config: Config,
    /// Name of the function, for the log.
    pub call: &'static str,
}

/// A new id, whose meeting point is this process (or the address in `MCCL_COMM_ID`).
pub fn unique_id() -> Result<UniqueId> {
    let id = match &Env::get().comm_id {
        Some(text) => bootstrap::UniqueId::from_comm_id(text)?,
        None => bootstrap::UniqueId::create(&settings())?,
    };
    Ok(UniqueId(id.to_bytes()))
}

/// Makes this process one rank of a communicator. With `config.blocking` false it returns at once, and
/// `Comm::async_error` is `InProgress` until initialisation is over.
pub fn init(request: InitRequest) -> Result<Arc<Comm>> {
    let InitRequest { nranks, rank, .. } = request;
    if nranks == 0 || nranks > bootstrap::MAX_RANKS {
        bail!(InvalidArgument, "{nranks} ranks are not allowed (1 to {})", bootstrap::MAX_RANKS);
    }
    if rank >= nranks {
        bail!(InvalidArgument, "invalid rank requested: {rank}/{nranks} (0 to {})", nranks - 1);
    }
    report::problems_once();
    let runtime = device::runtime()?;
    let device = match request.device {
        Some(device) => device,
        None => runtime.current_device()?,
    };
    let devices = runtime.device_count()?;
    if !(0..devices).contains(&device) {
        bail!(InvalidArgument, "device {device} does not exist (0 to {})", devices - 1);
    }
    let comm = Arc::new(Comm {
        rank,
        nranks,
        device,
        config: request.config.clone(),
        runtime,
        core: OnceLock::new(),
        cancelled: Arc::new(AtomicBool::new(false)),
        stage: Mutex::new(life::Stage::default()),
        redops: Mutex::new(redop::RedOps::default()),
        registered: Mutex::default(),
        next_registration: AtomicU64::new(0),
    });
    if request.config.blocking {
        connect(&comm, &request)?;
        return Ok(comm);
    }
    let background = Arc::clone(&comm);
    let thread = std::thread::Builder::new().name("mccl-init".into());
    let started = thread.spawn(move || {
        log::set_thread_device(background.device);
        if let Err(error) = connect(&background, &request) {
            warn_!("{}: {error}", request.call);
        }
    });
    started.map_err(|e| Error::system("a thread for initialisation", &e))?;
    Ok(comm)
}

/// Initialises and stores the outcome in the communicator.
fn connect(comm: &Comm, request: &InitRequest) -> Result<()> {
    let begin = Instant::now();
    let made = std::panic::catch_unwind(std::panic::AssertUnwindSafe(|| Maker { comm, request }.make()))
        .unwrap_or_else(|_| Err(err!(Internal, "initialisation panicked")));
    let outcome = made.as_ref().map(|_| ()).map_err(Clone::clone);
    if let Ok(core) = &made {
        report::complete(comm, core, request.call, begin.elapsed());
    }
    let _ = comm.core.set(made);
    outcome
}

fn settings() -> bootstrap::Settings {
    let env = Env::get();
    let family = match env.socket_family {
        AddressFamily::Any => bootstrap::Family::Any,
        AddressFamily::V4 => bootstrap::Family::V4,
        AddressFamily::V6 => bootstrap::Family::V6,
    };
    bootstrap::Settings { ifname: env.socket_ifname.clone(), family, near: None }
}

struct Maker<'a> {
    comm: &'a Comm,
    request: &'a InitRequest,
}

/// Everyone's description, and which of them share this rank's memory region.
struct World {
    infos: Vec<RankInfo>,
    /// Ranks of this host, in order, when they share a region.
    local: Vec<Rank>,
    /// Ranks of this host, and the processors that they share.
    on_host: usize,
    cores: usize,
    piece_bytes: usize,
}

impl Maker<'_> {
    fn make(&self) -> Result<Arc<Core>> {
        let (rank, nranks) = (self.comm.rank, self.comm.nranks);
        report::start(self.comm, self.request.call);
        if nranks == 1 {
            let mine = self.describe(Vec::new(), &mut None)?;
            let world = World {
                local: vec![0],
                on_host: 1,
                cores: 1,
                piece_bytes: mine.piece_bytes as usize,
                infos: vec![mine],
            };
            return self.assemble(&world, None, vec![PeerMemory::Same], None, false);
        }
        let id = self.request.ids.first().ok_or_else(|| err!(InvalidArgument, "no unique id"))?;
        let id = bootstrap::UniqueId::from_bytes(&id.0)?;
        let key = id.key().clone();
        let hub = SocketHub::bind(&settings(), &key, rank)?;
        let mut probe = None;
        let payload = self.describe(hub.addresses().to_vec(), &mut probe)?.encode();
        let patience = self.patience();
        let mut session =
            bootstrap::join(JoinRequest { id: &id, rank, nranks, payload, patience: patience.clone() })?;
        let world = self.world(&session)?;
        let host = self.share(&world, &key, &patience)?;
        let peers = probe::peers(&world.infos, rank, host.is_some());
        let direct = self.agree(&mut session, &world, &peers, host.is_some())?;
        // The cell is not needed once every rank has tried to read it.
        drop(probe);
        let remote = world.local.len() < nranks;
        self.assemble(&world, host, peers, remote.then_some(hub), direct)
    }

    fn patience(&self) -> Patience {
        let cancelled = Arc::clone(&self.comm.cancelled);
        let limit = Env::get().init_timeout.limit().unwrap_or(FOR_EVER);
        // Pairs with the store in `Comm::abort`.
        Patience::new(limit).with_abort(move || cancelled.load(Ordering::Acquire))
    }

    /// What this rank tells the others. `cell` receives the exported memory that peers probe.
    fn describe(
        &self,
        addresses: Vec<std::net::SocketAddr>,
        cell: &mut Option<probe::Cell>,
    ) -> Result<RankInfo> {
        let env = Env::get();
        let runtime: &'static dyn Runtime = self.comm.runtime;
        let token = info::process_token()?;
        if self.comm.nranks > 1 {
            *cell = probe::Cell::make(runtime, token)?;
        }
        let (export_fd, export_len, export_probe) = cell.as_ref().map_or((-1, 0, 0), probe::Cell::place);
        let forced = format!("{:?}/{:?}", env.algo, env.proto);
        Ok(RankInfo {
            version: super::version(),
            host: HostId::detect(env.hostid.as_deref())?.to_bytes(),
            process: *token,
            pid: sys::process::id(),
            pid_space: info::pid_space(),
            device: self.comm.device,
            bus_id: runtime.bus_id(self.comm.device)?,
            cpus: sys::cpu::mask(),
            probe: token.as_ptr() as u64,
            export_fd,
            export_len,
            export_probe,
            no_direct: env.p2p_disable,
            no_shm: env.shm_disable,
            piece_bytes: (env.buffsize.0 / 32).clamp(4 << 10, 16 << 20) as u64,
            settings: info::hash(forced.as_bytes()),
            addresses,
        })
    }

    fn world(&self, session: &Session) -> Result<World> {
        let infos: Vec<RankInfo> =
            session.payloads().iter().map(|p| RankInfo::decode(p)).collect::<Result<_>>()?;
        info::check_alike(&infos, self.comm.rank)?;
        let mine = &infos[self.comm.rank];
        let shared = infos.iter().all(|i| !i.no_shm);
        let here = |rank: &Rank| {
            let other = &infos[*rank];
            *rank == self.comm.rank || shared && other.host == mine.host
        };
        let local: Vec<Rank> = (0..infos.len()).filter(here).collect();
        let on_host = infos.iter().filter(|i| i.host == mine.host).count();
        let cores = info::cores(infos.iter().filter(|i| i.host == mine.host));
        let piece_bytes = infos.iter().map(|i| i.piece_bytes).min().unwrap_or(mine.piece_bytes) as usize;
        Ok(World { local, on_host, cores, piece_bytes, infos })
    }

    /// The region of this host: its lowest rank makes it and passes it to the others.
    fn share(&self, world: &World, key: &bootstrap::Key, patience: &Patience) -> Result<Option<HostView>> {
        if world.local.len() < 2 {
            return Ok(None);
        }
        let layout = Layout::new(world.local.len(), world.piece_bytes);
        let tag = format!("region/{}", world.local[0]);
        let failed = |e: std::io::Error| {
            Error::system(format_args!("shared memory of {} bytes", layout.total_bytes()), &e)
        };
        let map = if world.local[0] == self.comm.rank {
            let server = local::FdServer::bind(key, &tag)?;
            let map = sys::SharedMap::create("mccl", layout.total_bytes()).map_err(failed)?;
            server.serve(&[map.fd().as_fd()], world.local.len() - 1, patience)?;
            map
        } else {
            let mut fds = local::fetch_fds(key, &tag, patience)?;
            let fd = fds.pop().ok_or_else(|| err!(Internal, "no shared memory was passed"))?;
            sys::SharedMap::from_fd(fd, layout.total_bytes()).map_err(failed)?
        };
        let region = Region::of_map(map, layout);
        let me = world.local.iter().position(|r| *r == self.comm.rank);
        let me = me.ok_or_else(|| err!(Internal, "rank {} is not on its own host", self.comm.rank))?;
        Ok(Some(HostView { region, me, ranks: world.local.clone() }))
    }

    /// Whether every rank can use every other rank's buffers in place; also the point at which all have mapped the region.
    fn agree(
        &self,
        session: &mut Session,
        world: &World,
        peers: &[PeerMemory],
        shared: bool,
    ) -> Result<bool> {
        let allowed = world.infos.iter().all(|i| !i.no_direct);
        let mine = shared && allowed && world.local.iter().all(|r| probe::in_reach(&peers[*r]));
        let votes = session.all_gather(&[u8::from(mine)])?;
        Ok(votes.iter().all(|v| v.first() == Some(&1)))
    }

    fn assemble(
        &self,
        world: &World,
        host: Option<HostView>,
        peers: Vec<PeerMemory>,
        hub: Option<SocketHub>,
        direct: bool,
    ) -> Result<Arc<Core>> {
        let (rank, nranks) = (self.comm.rank, self.comm.nranks);
        let one_region = nranks > 1 && world.local.len() == nranks;
        let cores = world.cores;
        let shape = Shape { nranks, one_region, direct: direct && one_region, cores };
        let allowed = report::allowed_algorithms(Env::get())?;
        let planner = Planner::new(rank, shape, Choice { allowed, ..Choice::default() }, ring_order(world));
        let slots = host.as_ref().filter(|_| one_region).map(|h| Slots::new(h.region.clone(), h.me));
        // Point-to-point messages may lend buffers to the peers that can reach them, unless a rank forbids it.
        let lend = world.infos.iter().all(|i| !i.no_direct);
        let peers = if lend { peers } else { peers.into_iter().map(|_| PeerMemory::Remote).collect() };
        let links = HostLinks {
            host: host.clone(),
            hub,
            addresses: world.infos.iter().map(|i| i.addresses.clone()).collect(),
            piece_bytes: world.piece_bytes,
        };
        let engine = Engine::new(rank, slots, peers, self.comm.runtime, Box::new(links));
        let parts = Parts {
            nranks,
            name: self.request.config.comm_name.clone().unwrap_or_else(|| report::name(world_hash(world))),
            host,
            planner,
            crowded: world.on_host > cores,
            networked: world.local.len() < nranks,
            timeout_ns: Env::get().timeout.limit().map_or(0, |t| t.as_nanos() as u64),
            piece_bytes: world.piece_bytes,
        };
        Ok(Arc::new(Core::new(parts, engine)))
    }
}

/// Ranks of a host stand together, hosts in the order of their first rank.
fn ring_order(world: &World) -> Vec<Rank> {
    let first =
        |rank: Rank| world.infos.iter().position(|i| i.host == world.infos[rank].host).unwrap_or(rank);
    let mut order: Vec<Rank> = (0..world.infos.len()).collect();
    order.sort_by_key(|rank| (first(*rank), *rank));
    order
}

/// A number that names the communicator in logs, the same on all ranks.
fn world_hash(world: &World) -> u64 {
    let all: Vec<u8> = world.infos.iter().flat_map(RankInfo::encode).collect();
    info::hash(&all)
}
