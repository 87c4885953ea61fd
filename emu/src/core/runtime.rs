//! The one runtime of the process: made on first use, never torn down.

use std::sync::OnceLock;
use std::sync::atomic::{AtomicBool, Ordering};

use super::config::Config;
use super::device::Device;
use super::error::{Error, Result};
use super::heap::Heap;
use super::slab;
use crate::sys::thread::on_fork_in_child;

pub struct Runtime {
    pub config: Config,
    pub heap: Heap,
    pub devices: Vec<Device>,
}

static RUNTIME: OnceLock<Result<Runtime>> = OnceLock::new();
static FORKED: AtomicBool = AtomicBool::new(false);

/// The runtime of this process. Fails for good if device memory cannot be mapped, and in a child that was forked
/// after first use: its worker threads do not exist.
pub fn runtime() -> Result<&'static Runtime> {
    if FORKED.load(Ordering::Relaxed) {
        return Err(Error::INITIALIZATION_ERROR);
    }
    RUNTIME.get_or_init(start).as_ref().map_err(|&error| error)
}

/// The runtime if something made it before.
pub fn started() -> Option<&'static Runtime> {
    RUNTIME.get()?.as_ref().ok()
}

/// Whether this process is a child which cannot use the runtime of its parent.
pub fn is_forked_child() -> bool {
    FORKED.load(Ordering::Relaxed)
}

fn start() -> Result<Runtime> {
    let config = Config::from_env();
    let heap = Heap::new(&config).inspect_err(|e| eprintln!("mccl-emu: no device memory: {}", reason(*e)))?;
    slab::start()?;
    let devices = (0..config.devices).map(Device::new).collect::<Result<Vec<_>>>()?;
    on_fork_in_child(forked);
    Ok(Runtime { config, heap, devices })
}

fn reason(error: Error) -> &'static str {
    error.text().unwrap_or("unknown error").trim_end_matches('\0')
}

extern "C" fn forked() {
    FORKED.store(true, Ordering::Relaxed);
}
