//! Where streams live: slots that are never unmapped, so that any handle can be judged without touching freed memory.

use std::cell::UnsafeCell;
use std::collections::VecDeque;
use std::ffi::c_void;
use std::mem::size_of;
use std::ptr::{addr_of, null_mut};
use std::sync::atomic::{AtomicBool, AtomicPtr, AtomicU32, AtomicU64, AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};

use super::capture::Capture;
use super::error::{Error, Result};
use super::lock;
use super::work::Work;
use crate::sys::map::Mapping;

/// The stream exists for its callers.
pub const LIVE: u32 = 1;
/// A thread runs work inline as if it were the stream.
pub const CLAIMED: u32 = 2;
/// Work is queued or running.
pub const QUEUED: u32 = 4;
/// The stream takes part in a capture.
pub const CAPTURING: u32 = 8;
/// Work failed and nobody was told yet.
pub const FAILED: u32 = 16;

/// Not of a stream: in the word behind `rival` of a null stream, "look at the device's other streams".
pub const LOOK: u32 = 32;

/// Streams that can exist at one time.
pub const MAX_STREAMS: usize = 1 << 14;
/// Destroyed slots rest until this many wait, so that a stale handle is noticed for a long while.
const RESTING: usize = 64;

pub type StreamRef = &'static Stream;

/// One stream. `state` says everything the fast paths ask.
#[repr(C, align(128))]
pub struct Stream {
    pub state: AtomicU32,
    /// 1 while a thread may touch `head`.
    pub poll_lock: AtomicU32,
    /// A word that tells whether older work elsewhere may have to come first: the state of the device's null stream
    /// for a blocking stream, `LOOK` for a null stream, a word that is never busy for the others.
    pub rival: AtomicPtr<AtomicU32>,
    /// Somebody asked for an advance while another thread held `poll_lock`.
    pub kicked: AtomicBool,
    /// The worker wants the poll lock: nobody else takes it.
    pub reserved: AtomicBool,
    /// Threads sleeping on `state`.
    pub sleepers: AtomicU32,
    /// Futex word and life of the worker thread; see `worker`.
    pub worker: AtomicU32,
    pub device: AtomicU32,
    pub kind: AtomicU32,
    pub priority: AtomicU32,
    pub id: AtomicU64,
    pub index: u32,
    pub queue: Mutex<VecDeque<Work>>,
    pub capture: Mutex<Option<Arc<Capture>>>,
    head: UnsafeCell<Option<Work>>,
}

// SAFETY: `head` is touched by the holder of `poll_lock`, or by the claimer of an otherwise empty stream, alone;
// everything else is atomic or behind a mutex.
unsafe impl Sync for Stream {}

impl Stream {
    /// The running work.
    ///
    /// # Safety
    /// The caller holds `poll_lock`, or has claimed the stream, and lets no other reference to the head live.
    #[allow(clippy::mut_from_ref)]
    pub unsafe fn head(&self) -> &mut Option<Work> {
        // SAFETY: exclusive by the caller's promise.
        unsafe { &mut *self.head.get() }
    }

    pub fn handle(&'static self) -> *mut c_void {
        std::ptr::from_ref(self).cast_mut().cast()
    }

    pub fn device(&self) -> usize {
        self.device.load(Ordering::Relaxed) as usize
    }
}

static BASE: AtomicPtr<Stream> = AtomicPtr::new(null_mut());
/// Slots below this were initialised.
static HIGH: AtomicUsize = AtomicUsize::new(0);
static NEXT_ID: AtomicU64 = AtomicU64::new(1);
static RESTING_SLOTS: Mutex<VecDeque<u32>> = Mutex::new(VecDeque::new());
static NEVER_BUSY: AtomicU32 = AtomicU32::new(0);
pub static ALWAYS_LOOK: AtomicU32 = AtomicU32::new(LOOK);

/// Maps the slots. Zeroed memory is a slot that is not live. A forked child sees only such slots.
pub fn start() -> Result<()> {
    let map = Mapping::anonymous(MAX_STREAMS * size_of::<Stream>())?;
    map.wipe_on_fork()?;
    BASE.store(map.base().cast(), Ordering::Release);
    std::mem::forget(map);
    Ok(())
}

/// The live stream behind a handle that is not one of the special values.
#[inline]
pub fn lookup(handle: *mut c_void) -> Option<StreamRef> {
    lookup_with(handle, LIVE)
}

/// As `lookup`, also for a destroyed stream which is still claimed.
#[cold]
pub fn lookup_dying(handle: *mut c_void) -> Option<StreamRef> {
    lookup_with(handle, LIVE | CLAIMED)
}

#[inline]
fn lookup_with(handle: *mut c_void, any_of: u32) -> Option<StreamRef> {
    let base = BASE.load(Ordering::Acquire);
    let offset = (handle as usize).wrapping_sub(base as usize);
    if base.is_null()
        || offset >= MAX_STREAMS * size_of::<Stream>()
        || !offset.is_multiple_of(size_of::<Stream>())
    {
        return None;
    }
    let slot = handle.cast::<Stream>();
    // SAFETY: the handle is the start of a mapped slot; `state` is an atomic for which zeroed memory is a value.
    let state = unsafe { &*addr_of!((*slot).state) };
    // Pairs with the release store in `allocate`: a slot with one of these bits is initialised.
    if state.load(Ordering::Acquire) & any_of == 0 {
        return None;
    }
    // SAFETY: initialised as just seen, and slots are never unmapped.
    Some(unsafe { &*slot })
}

/// A stream made live by `setup`, which fills the plain fields.
pub fn allocate(setup: impl FnOnce(StreamRef)) -> Result<StreamRef> {
    let mut resting = lock(&RESTING_SLOTS);
    let fresh = HIGH.load(Ordering::Relaxed);
    let index = if resting.len() >= RESTING || fresh == MAX_STREAMS {
        resting.pop_front().ok_or(Error::MEMORY_ALLOCATION)? as usize
    } else {
        initialise(fresh);
        HIGH.store(fresh + 1, Ordering::Release);
        fresh
    };
    drop(resting);
    let stream = slot(index);
    stream.id.store(NEXT_ID.fetch_add(1, Ordering::Relaxed), Ordering::Relaxed);
    stream.rival.store(std::ptr::from_ref(&NEVER_BUSY).cast_mut(), Ordering::Relaxed);
    setup(stream);
    // Pairs with the acquire load in `lookup`: fields before life.
    stream.state.store(LIVE, Ordering::Release);
    Ok(stream)
}

/// Takes back the slot of a stream that is neither live nor busy.
pub fn recycle(stream: StreamRef) {
    lock(&RESTING_SLOTS).push_back(stream.index);
}

/// Number of slots that were ever used.
pub fn initialised() -> usize {
    // Pairs with the release store in `allocate`: initialised before counted.
    HIGH.load(Ordering::Acquire)
}

/// All slots that were ever used; the caller looks at `state`.
pub fn slots() -> impl Iterator<Item = StreamRef> {
    (0..initialised()).map(slot)
}

/// The slot at an index below the number of initialised ones.
pub fn slot(index: usize) -> StreamRef {
    debug_assert!(index < HIGH.load(Ordering::Relaxed));
    // SAFETY: slots below HIGH are initialised and never unmapped.
    unsafe { &*BASE.load(Ordering::Acquire).add(index) }
}

fn initialise(index: usize) {
    let stream = Stream {
        state: AtomicU32::new(0),
        poll_lock: AtomicU32::new(0),
        rival: AtomicPtr::new(std::ptr::from_ref(&NEVER_BUSY).cast_mut()),
        kicked: AtomicBool::new(false),
        reserved: AtomicBool::new(false),
        sleepers: AtomicU32::new(0),
        worker: AtomicU32::new(0),
        device: AtomicU32::new(0),
        kind: AtomicU32::new(0),
        priority: AtomicU32::new(0),
        id: AtomicU64::new(0),
        index: index as u32,
        queue: Mutex::new(VecDeque::new()),
        capture: Mutex::new(None),
        head: UnsafeCell::new(None),
    };
    // SAFETY: the slot is mapped, aligned and, being above HIGH, seen by nobody.
    unsafe { BASE.load(Ordering::Acquire).add(index).write(stream) };
}

/// Whether a state word says that earlier work exists.
#[inline]
pub fn busy(state: u32) -> bool {
    state & (CLAIMED | QUEUED) != 0
}
