//! A stand-in for libmccl, for tests of the tools: correct and slow. Ranks may be threads or processes; they meet in a file.
//!
//! Each operation is a job on its stream: write what others need into the own slot, meet, read, meet. `DOUBLE_MCCL` plants faults:
//! `corrupt=R` (one wrong bit in rank R's results), `hang=R`, `die=R`, `fail=R` (its calls return an error).
#![allow(non_snake_case, reason = "the names are those of the C interface")]

use std::cell::RefCell;
use std::ffi::{CStr, c_char, c_int, c_void};
use std::fs::OpenOptions;
use std::os::fd::AsRawFd;
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicU32, AtomicU64, Ordering};
use std::time::Duration;

use mccl_tools::dtype::DType;
use mccl_tools::sys::SharedMap;

use reduce::reduce_one;

mod reduce;

const SLOT: usize = 1 << 20;
const HEADER: usize = 4096;
const SYSTEM_ERROR: c_int = 2;

unsafe extern "C" {
    /// From the stand-in runtime, which is opened first and for all.
    fn doubleEnqueue(stream: *mut c_void, function: extern "C" fn(*mut c_void), context: *mut c_void);
}

/// What ranks share besides their slots.
#[repr(C)]
struct Header {
    attached: AtomicU32,
    arrived: AtomicU32,
    round: AtomicU32,
}

struct Comm {
    map: SharedMap,
    rank: usize,
    n: usize,
}

/// One operation, as recorded by a call.
#[derive(Clone)]
struct Op {
    kind: Kind,
    comm: Arc<Comm>,
    stream: usize,
    send: usize,
    recv: usize,
    count: usize,
    dtype: DType,
}

#[derive(Clone)]
enum Kind {
    AllReduce(c_int),
    ReduceScatter(c_int),
    Reduce(c_int, usize),
    Broadcast(usize),
    AllGather,
    Gather(usize),
    Scatter(usize),
    AllToAll,
    Send(usize),
    Recv(usize),
    /// Of a group: all sends and receives of one rank.
    Pairs(Vec<Op>),
}

thread_local! {
    static GROUP: RefCell<(usize, Vec<Op>)> = const { RefCell::new((0, Vec::new())) };
}

fn fault(name: &str, rank: usize) -> bool {
    std::env::var("DOUBLE_MCCL").is_ok_and(|text| text == format!("{name}={rank}"))
}

impl Comm {
    fn attach(path: &Path, n: usize, rank: usize) -> Option<Self> {
        let file = OpenOptions::new().read(true).write(true).create(true).truncate(false).open(path).ok()?;
        file.set_len((HEADER + n * SLOT) as u64).ok()?;
        let comm = Self { map: SharedMap::of(file.as_raw_fd(), HEADER + n * SLOT).ok()?, rank, n };
        if comm.header().attached.fetch_add(1, Ordering::AcqRel) + 1 == n as u32 {
            std::fs::remove_file(path).ok()?;
        }
        Some(comm)
    }

    fn header(&self) -> &Header {
        // SAFETY: the file is longer than the header, and its words are atomic.
        unsafe { self.map.at(0, HEADER).unwrap().cast::<Header>().as_ref() }
    }

    fn meet(&self) {
        let header = self.header();
        let round = header.round.load(Ordering::Acquire);
        if header.arrived.fetch_add(1, Ordering::AcqRel) + 1 == self.n as u32 {
            header.arrived.store(0, Ordering::Relaxed);
            header.round.fetch_add(1, Ordering::Release);
        }
        while header.round.load(Ordering::Acquire) == round {
            std::thread::yield_now();
        }
    }

    /// Everybody's data: what this rank gives, the others see.
    fn exchange(&self, mine: &[u8]) -> Vec<Vec<u8>> {
        assert!(mine.len() + 8 <= SLOT, "a message of {} bytes is too long for the double", mine.len());
        let slot = |rank: usize| self.map.at(HEADER + rank * SLOT, SLOT).unwrap().as_ptr();
        // SAFETY: slots are inside the file; the owner writes between the meetings in which nobody reads.
        unsafe {
            slot(self.rank).cast::<u64>().write(mine.len() as u64);
            std::ptr::copy_nonoverlapping(mine.as_ptr(), slot(self.rank).add(8), mine.len());
        }
        self.meet();
        // SAFETY: as above.
        let read = |rank: usize| unsafe {
            let len = slot(rank).cast::<u64>().read() as usize;
            std::slice::from_raw_parts(slot(rank).add(8), len).to_vec()
        };
        let all = (0..self.n).map(read).collect();
        self.meet();
        all
    }
}

impl Op {
    fn run(&self) {
        let (rank, n) = (self.comm.rank, self.comm.n);
        if fault("hang", rank) {
            std::thread::sleep(Duration::from_secs(1000));
        }
        if fault("die", rank) {
            std::process::abort();
        }
        let bytes = self.count * self.dtype.size();
        let parts = |all: Vec<Vec<u8>>, i: usize| -> Vec<Vec<u8>> {
            all.iter().map(|data| data[i * bytes..][..bytes].to_vec()).collect()
        };
        let to_all = |length: usize| self.comm.exchange(&read(self.send, length));
        match &self.kind {
            Kind::AllReduce(op) => self.put(&self.reduce(*op, to_all(bytes))),
            Kind::ReduceScatter(op) => self.put(&self.reduce(*op, parts(to_all(bytes * n), rank))),
            Kind::Reduce(op, root) => {
                let result = self.reduce(*op, to_all(bytes));
                if rank == *root {
                    self.put(&result);
                }
            }
            Kind::Broadcast(root) => self.put(&to_all(bytes)[*root]),
            Kind::AllGather => self.put(&to_all(bytes).concat()),
            Kind::Gather(root) => {
                let all = to_all(bytes);
                if rank == *root {
                    self.put(&all.concat());
                }
            }
            Kind::Scatter(root) => {
                let all = to_all(if rank == *root { bytes * n } else { 0 });
                self.put(&all[*root][rank * bytes..][..bytes]);
            }
            Kind::AllToAll => self.put(&parts(to_all(bytes * n), rank).concat()),
            Kind::Pairs(ops) => self.pairs(ops),
            Kind::Send(_) | Kind::Recv(_) => unreachable!("sends and receives run as pairs"),
        }
    }

    fn pairs(&self, ops: &[Op]) {
        let mut mine = Vec::new();
        for op in ops {
            let Kind::Send(peer) = op.kind else { continue };
            let data = read(op.send, op.count * op.dtype.size());
            mine.extend((peer as u64).to_le_bytes());
            mine.extend((data.len() as u64).to_le_bytes());
            mine.extend(data);
        }
        let all = self.comm.exchange(&mine);
        let word = |data: &[u8], at: usize| u64::from_le_bytes(data[at..at + 8].try_into().unwrap()) as usize;
        let mut taken = vec![0; self.comm.n];
        for op in ops {
            let Kind::Recv(peer) = op.kind else { continue };
            let data = &all[peer];
            while word(data, taken[peer]) != self.comm.rank {
                taken[peer] += 16 + word(data, taken[peer] + 8);
            }
            let (at, len) = (taken[peer] + 16, word(data, taken[peer] + 8));
            assert_eq!(len, op.count * op.dtype.size(), "send and receive differ in size");
            op.put(&data[at..at + len]);
            taken[peer] = at + len;
        }
    }

    fn put(&self, data: &[u8]) {
        let mut data = data.to_vec();
        if fault("corrupt", self.comm.rank) && data.len() > 8 {
            data[8] ^= 1;
        }
        // SAFETY: the caller of the operation passed a buffer of that size.
        unsafe { std::ptr::copy_nonoverlapping(data.as_ptr(), self.recv as *mut u8, data.len()) };
    }

    fn reduce(&self, op: c_int, all: Vec<Vec<u8>>) -> Vec<u8> {
        let size = self.dtype.size();
        let element = |data: &[u8], i: usize| {
            data[i * size..][..size].iter().rev().fold(0u64, |bits, byte| bits << 8 | u64::from(*byte))
        };
        let one = |i: usize| reduce_one(self.dtype, op, all.iter().map(|data| element(data, i)).collect());
        (0..self.count).flat_map(|i| one(i).to_le_bytes()[..size].to_vec()).collect()
    }
}

fn read(from: usize, bytes: usize) -> Vec<u8> {
    if bytes == 0 {
        return Vec::new();
    }
    // SAFETY: the caller of the operation passed a buffer of that size.
    unsafe { std::slice::from_raw_parts(from as *const u8, bytes) }.to_vec()
}

fn enqueue(op: Op) {
    extern "C" fn run(context: *mut c_void) {
        // SAFETY: the operation was leaked below; a graph may run it many times.
        unsafe { (*context.cast::<Op>()).run() };
    }
    let stream = op.stream as *mut c_void;
    let op = Box::into_raw(Box::new(op));
    // SAFETY: the runtime's function takes any stream of its own.
    unsafe { doubleEnqueue(stream, run, op.cast()) };
}

/// Starts the operations of a group: collectives in order, each rank's sends and receives as one.
fn launch(ops: Vec<Op>) {
    let mut pairs: Vec<Op> = Vec::new();
    for op in ops {
        if !matches!(op.kind, Kind::Send(_) | Kind::Recv(_)) {
            enqueue(op);
            continue;
        }
        match pairs.iter_mut().find(|p| Arc::ptr_eq(&p.comm, &op.comm)).map(|p| &mut p.kind) {
            Some(Kind::Pairs(list)) => list.push(op),
            _ => pairs.push(Op { kind: Kind::Pairs(vec![op.clone()]), ..op }),
        }
    }
    pairs.into_iter().for_each(enqueue);
}

fn record(op: Op) -> c_int {
    if fault("fail", op.comm.rank) {
        return SYSTEM_ERROR;
    }
    GROUP.with_borrow_mut(|(depth, ops)| {
        if *depth > 0 {
            ops.push(op);
        } else {
            launch(vec![op]);
        }
    });
    0
}

type Handle = *mut c_void;

fn op(
    kind: Kind,
    (send, recv, count, ty): (Handle, Handle, usize, c_int),
    comm: Handle,
    stream: Handle,
) -> c_int {
    let dtype = DType::ALL[ty as usize];
    // SAFETY: communicators come from `mcclCommInitRank`, which leaks one reference.
    let comm = unsafe {
        Arc::increment_strong_count(comm.cast::<Comm>());
        Arc::from_raw(comm.cast::<Comm>())
    };
    record(Op { kind, comm, stream: stream as usize, send: send as usize, recv: recv as usize, count, dtype })
}

#[unsafe(no_mangle)]
unsafe extern "C" fn mcclGetVersion(out: *mut c_int) -> c_int {
    // SAFETY: the caller passes room for a number.
    unsafe { *out = 22809 };
    0
}

#[unsafe(no_mangle)]
extern "C" fn mcclGetErrorString(_code: c_int) -> *const c_char {
    c"planted error".as_ptr()
}

#[unsafe(no_mangle)]
extern "C" fn mcclGetLastError(_comm: Handle) -> *const c_char {
    c"the double's last error".as_ptr()
}

#[unsafe(no_mangle)]
unsafe extern "C" fn mcclGetUniqueId(out: *mut [u8; 128]) -> c_int {
    static COUNT: AtomicU64 = AtomicU64::new(0);
    let name = match std::env::var("MCCL_COMM_ID") {
        Ok(root) => root.replace([':', '/'], "-"),
        Err(_) => format!("{}-{}", std::process::id(), COUNT.fetch_add(1, Ordering::Relaxed)),
    };
    let path = std::env::temp_dir().join(format!("double-mccl-{name}"));
    let mut id = [0; 128];
    let bytes = path.as_os_str().as_bytes();
    id[..bytes.len()].copy_from_slice(bytes);
    // SAFETY: the caller passes room for an id.
    unsafe { *out = id };
    0
}

#[repr(C)]
struct Id([u8; 128]);

#[unsafe(no_mangle)]
unsafe extern "C" fn mcclCommInitRank(out: *mut Handle, n: c_int, id: Id, rank: c_int) -> c_int {
    let Ok(path) = CStr::from_bytes_until_nul(&id.0) else { return SYSTEM_ERROR };
    let path = PathBuf::from(std::ffi::OsStr::from_bytes(path.to_bytes()));
    let Some(comm) = Comm::attach(&path, n as usize, rank as usize) else { return SYSTEM_ERROR };
    // SAFETY: the caller passes room for a handle.
    unsafe { *out = Arc::into_raw(Arc::new(comm)).cast_mut().cast() };
    0
}

#[unsafe(no_mangle)]
extern "C" fn mcclCommDestroy(_comm: Handle) -> c_int {
    0
}

#[unsafe(no_mangle)]
extern "C" fn mcclCommAbort(_comm: Handle) -> c_int {
    0
}

#[unsafe(no_mangle)]
unsafe extern "C" fn mcclCommGetAsyncError(_comm: Handle, out: *mut c_int) -> c_int {
    // SAFETY: the caller passes room for a code.
    unsafe { *out = 0 };
    0
}

#[unsafe(no_mangle)]
unsafe extern "C" fn mcclRedOpCreatePreMulSum(
    out: *mut c_int,
    _: Handle,
    _: c_int,
    _: c_int,
    _: Handle,
) -> c_int {
    // SAFETY: the caller passes room for a number.
    unsafe { *out = reduce::MULSUM };
    0
}

#[unsafe(no_mangle)]
extern "C" fn mcclRedOpDestroy(_op: c_int, _comm: Handle) -> c_int {
    0
}

#[unsafe(no_mangle)]
extern "C" fn mcclCommRegister(_comm: Handle, _buffer: Handle, _size: usize, _out: *mut Handle) -> c_int {
    0
}

#[unsafe(no_mangle)]
extern "C" fn mcclCommDeregister(_comm: Handle, _handle: Handle) -> c_int {
    0
}

#[unsafe(no_mangle)]
extern "C" fn mcclGroupStart() -> c_int {
    GROUP.with_borrow_mut(|(depth, _)| *depth += 1);
    0
}

#[unsafe(no_mangle)]
extern "C" fn mcclGroupEnd() -> c_int {
    let ops = GROUP.with_borrow_mut(|(depth, ops)| {
        *depth -= 1;
        if *depth == 0 { std::mem::take(ops) } else { Vec::new() }
    });
    launch(ops);
    0
}

#[unsafe(no_mangle)]
extern "C" fn mcclAllReduce(
    s: Handle,
    r: Handle,
    n: usize,
    ty: c_int,
    o: c_int,
    c: Handle,
    st: Handle,
) -> c_int {
    op(Kind::AllReduce(o), (s, r, n, ty), c, st)
}

#[unsafe(no_mangle)]
extern "C" fn mcclReduceScatter(
    s: Handle,
    r: Handle,
    n: usize,
    ty: c_int,
    o: c_int,
    c: Handle,
    st: Handle,
) -> c_int {
    op(Kind::ReduceScatter(o), (s, r, n, ty), c, st)
}

#[unsafe(no_mangle)]
extern "C" fn mcclReduce(
    s: Handle,
    r: Handle,
    n: usize,
    ty: c_int,
    o: c_int,
    root: c_int,
    c: Handle,
    st: Handle,
) -> c_int {
    op(Kind::Reduce(o, root as usize), (s, r, n, ty), c, st)
}

#[unsafe(no_mangle)]
extern "C" fn mcclBroadcast(
    s: Handle,
    r: Handle,
    n: usize,
    ty: c_int,
    root: c_int,
    c: Handle,
    st: Handle,
) -> c_int {
    op(Kind::Broadcast(root as usize), (s, r, n, ty), c, st)
}

#[unsafe(no_mangle)]
extern "C" fn mcclAllGather(s: Handle, r: Handle, n: usize, ty: c_int, c: Handle, st: Handle) -> c_int {
    op(Kind::AllGather, (s, r, n, ty), c, st)
}

#[unsafe(no_mangle)]
extern "C" fn mcclGather(
    s: Handle,
    r: Handle,
    n: usize,
    ty: c_int,
    root: c_int,
    c: Handle,
    st: Handle,
) -> c_int {
    op(Kind::Gather(root as usize), (s, r, n, ty), c, st)
}

#[unsafe(no_mangle)]
extern "C" fn mcclScatter(
    s: Handle,
    r: Handle,
    n: usize,
    ty: c_int,
    root: c_int,
    c: Handle,
    st: Handle,
) -> c_int {
    op(Kind::Scatter(root as usize), (s, r, n, ty), c, st)
}

#[unsafe(no_mangle)]
extern "C" fn mcclAlltoAll(s: Handle, r: Handle, n: usize, ty: c_int, c: Handle, st: Handle) -> c_int {
    op(Kind::AllToAll, (s, r, n, ty), c, st)
}

#[unsafe(no_mangle)]
extern "C" fn mcclSend(s: Handle, n: usize, ty: c_int, peer: c_int, c: Handle, st: Handle) -> c_int {
    op(Kind::Send(peer as usize), (s, std::ptr::null_mut(), n, ty), c, st)
}

#[unsafe(no_mangle)]
extern "C" fn mcclRecv(r: Handle, n: usize, ty: c_int, peer: c_int, c: Handle, st: Handle) -> c_int {
    op(Kind::Recv(peer as usize), (std::ptr::null_mut(), r, n, ty), c, st)
}
