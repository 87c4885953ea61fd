//! Connections of a communicator: shared memory to ranks of the same host, sockets to the others.
use std::net::SocketAddr;

use crate::base::Result;
use crate::base::types::Rank;
use crate::channel::layout::FifoId;
use crate::err;
use crate::exec::{HostView, Links, Wire};
use crate::transport::shm::{ShmRecv, ShmSend};
use crate::transport::socket::{Shape, SocketHub};
use crate::transport::{RecvEnd, SendEnd};

/// Messages in flight per socket connection.
const SOCKET_SLOTS: usize = 4;

pub(super) struct HostLinks {
    pub host: Option<HostView>,
    /// None when every rank is on this host.
    pub hub: Option<SocketHub>,
    pub addresses: Vec<Vec<SocketAddr>>,
    pub piece_bytes: usize,
}

impl HostLinks {
    fn local(&self, rank: Rank) -> Option<(&HostView, usize)> {
        let host = self.host.as_ref()?;
        host.ranks.iter().position(|r| *r == rank).map(|number| (host, number))
    }

    fn shape(&self) -> Shape {
        Shape { slot_bytes: self.piece_bytes, slots: SOCKET_SLOTS, ..Shape::default() }
    }

    fn hub(&self, rank: Rank) -> Result<&SocketHub> {
        self.hub.as_ref().ok_or_else(|| err!(Internal, "rank {rank} is on no host that was seen"))
    }
}

impl Links for HostLinks {
    fn send_end(&mut self, to: Rank, wire: Wire) -> Result<Box<dyn SendEnd>> {
        if let Some((host, number)) = self.local(to) {
            let which = FifoId { lane: wire as usize, from: host.me, to: number };
            return Ok(Box::new(ShmSend::new(host.region.clone(), which)));
        }
        let end = self.hub(to)?.send_end(to, &self.addresses[to], wire as u32, self.shape())?;
        Ok(Box::new(end))
    }

    fn recv_end(&mut self, from: Rank, wire: Wire) -> Result<Box<dyn RecvEnd>> {
        if let Some((host, number)) = self.local(from) {
            let which = FifoId { lane: wire as usize, from: number, to: host.me };
            return Ok(Box::new(ShmRecv::new(host.region.clone(), which)));
        }
        let end = self.hub(from)?.recv_end(from, wire as u32, self.shape())?;
        Ok(Box::new(end))
    }
}
