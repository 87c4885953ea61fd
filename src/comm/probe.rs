//! What this rank can reach of its peers' memory, found out by trying.
//!
//! Each process keeps a random token in its own memory and, for the time of initialisation, a copy of it in its exported memory.
//! A peer that can read the right token in a way can use this way.
use std::collections::HashMap;
use std::ffi::c_void;
use std::sync::{Arc, Mutex, Weak};

use crate::base::Result;
use crate::base::types::Rank;
use crate::comm::info::{RankInfo, Token};
use crate::comm::lock;
use crate::device::{Export, Runtime};
use crate::exec::PeerMemory;
use crate::sys::{self, SharedMap};
use crate::{info, trace};

/// The copy of this process's token in its exported memory.
pub(super) struct Cell {
    runtime: &'static dyn Runtime,
    ptr: usize,
    export: Export,
    offset: u64,
}

impl Cell {
    /// `None` when the runtime exports no memory.
    pub fn make(runtime: &'static dyn Runtime, token: &Token) -> Result<Option<Self>> {
        let Some(export) = runtime.export()? else { return Ok(None) };
        let ptr = runtime.alloc(token.len())?;
        runtime.store(ptr, token)?;
        let offset = runtime.export_offset(ptr.cast());
        Ok(offset.map(|offset| Self { runtime, ptr: ptr as usize, export, offset }))
    }

    /// Descriptor, length, and offset of the token.
    pub fn place(&self) -> (i32, u64, u64) {
        (self.export.fd, self.export.len as u64, self.offset)
    }
}

impl Drop for Cell {
    fn drop(&mut self) {
        if let Err(error) = self.runtime.free(self.ptr as *mut c_void) {
            trace!(Alloc, "freeing the probed cell: {error}");
        }
    }
}

/// What rank `me` can do with each rank's memory.
pub(super) fn peers(infos: &[RankInfo], me: Rank, shared: bool) -> Vec<PeerMemory> {
    let mine = &infos[me];
    let peer = |info: &RankInfo| {
        if info.process == mine.process {
            return PeerMemory::Same;
        }
        let numbers_agree = info.pid_space == mine.pid_space && info.pid_space != 0;
        if !shared || info.host != mine.host || !numbers_agree {
            return PeerMemory::Remote;
        }
        let process = readable(info).map(Arc::new);
        PeerMemory::Other { export: mapped(info), process }
    };
    let peers: Vec<PeerMemory> = infos.iter().map(peer).collect();
    for (rank, peer) in peers.iter().enumerate().filter(|(_, p)| !in_reach(p)) {
        if let PeerMemory::Other { export, process } = peer {
            let (export, process) = (export.is_some(), process.is_some());
            info!(P2p, "rank {rank}: device memory mapped: {export}, process memory readable: {process}");
        }
    }
    peers
}

/// Every buffer of the peer can be used in place.
pub(super) fn in_reach(peer: &PeerMemory) -> bool {
    match peer {
        PeerMemory::Same => true,
        PeerMemory::Other { process, .. } => process.is_some(),
        PeerMemory::Remote => false,
    }
}

fn readable(info: &RankInfo) -> Option<sys::Process> {
    let process = sys::Process::open(info.pid).ok()?;
    let mut seen: Token = [0; 16];
    process.read_bytes(usize::try_from(info.probe).ok()?, &mut seen).ok()?;
    (seen == info.process).then_some(process)
}

/// The peer's exported memory; one mapping per peer process, whatever the number of communicators.
fn mapped(info: &RankInfo) -> Option<Arc<SharedMap>> {
    static MAPS: Mutex<Option<HashMap<Token, Weak<SharedMap>>>> = Mutex::new(None);
    let mut maps = lock(&MAPS);
    let maps = maps.get_or_insert_default();
    maps.retain(|_, map| map.strong_count() > 0);
    if let Some(map) = maps.get(&info.process).and_then(Weak::upgrade) {
        return Some(map);
    }
    if info.export_fd < 0 {
        return None;
    }
    let fd = sys::memory::open_peer_fd(info.pid, info.export_fd).ok()?;
    let map = SharedMap::from_fd(fd, usize::try_from(info.export_len).ok()?).ok()?;
    let seen: Token = map.load(usize::try_from(info.export_probe).ok()?)?;
    if seen != info.process {
        return None;
    }
    let map = Arc::new(map);
    maps.insert(info.process, Arc::downgrade(&map));
    Some(map)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_peer_in_the_same_process_is_reached_and_a_remote_one_is_not() {
        assert!(in_reach(&PeerMemory::Same));
        assert!(!in_reach(&PeerMemory::Remote));
    }
}
