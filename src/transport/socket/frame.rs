//! The header in front of each message, and what a connection says about itself in the handshake.
use crate::bail;
use crate::base::Result;
use crate::base::types::Rank;
use crate::bootstrap::auth::Context;

pub(super) const HEADER: usize = 16;
const MAGIC: u32 = 0x4c43_434d;

/// Length and tag of a message.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Header {
    pub(super) len: usize,
    pub(super) tag: u64,
}

impl Header {
    pub(super) fn encode(self) -> [u8; HEADER] {
        let mut out = [0; HEADER];
        out[..4].copy_from_slice(&MAGIC.to_le_bytes());
        out[4..8].copy_from_slice(&(self.len as u32).to_le_bytes());
        out[8..].copy_from_slice(&self.tag.to_le_bytes());
        out
    }

    /// Fails for bytes that are no header and for more than `max` bytes of message.
    pub(super) fn decode(bytes: [u8; HEADER], peer: Rank, max: usize) -> Result<Self> {
        let [m0, m1, m2, m3, l0, l1, l2, l3, tag @ ..] = bytes;
        if u32::from_le_bytes([m0, m1, m2, m3]) != MAGIC {
            bail!(Remote, "socket: what rank {peer} sent is not a message header");
        }
        let len = u32::from_le_bytes([l0, l1, l2, l3]) as usize;
        if len > max {
            bail!(Remote, "socket: rank {peer} sent a message of {len} bytes (0 to {max})");
        }
        Ok(Self { len, tag: u64::from_le_bytes(tag) })
    }
}

/// Who sends to whom on which channel, covered by the sender's proof.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Route {
    pub(super) from: Rank,
    pub(super) to: Rank,
    pub(super) channel: u32,
    pub(super) slot_bytes: usize,
}

impl Route {
    pub(super) fn encode(self) -> Context {
        let mut out = Context::default();
        out[..4].copy_from_slice(&(self.from as u32).to_le_bytes());
        out[4..8].copy_from_slice(&(self.to as u32).to_le_bytes());
        out[8..12].copy_from_slice(&self.channel.to_le_bytes());
        out[16..].copy_from_slice(&(self.slot_bytes as u64).to_le_bytes());
        out
    }

    pub(super) fn decode(context: &Context) -> Self {
        let word = |at: usize| u32::from_le_bytes(context[at..at + 4].try_into().expect("four bytes"));
        let slot_bytes = u64::from_le_bytes(context[16..].try_into().expect("eight bytes"));
        Self {
            from: word(0) as Rank,
            to: word(4) as Rank,
            channel: word(8),
            slot_bytes: usize::try_from(slot_bytes).unwrap_or(usize::MAX),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn headers_and_routes_come_back_and_bad_headers_do_not() {
        let header = Header { len: 77, tag: u64::MAX - 3 };
        assert_eq!(Header::decode(header.encode(), 1, 77).unwrap(), header);
        assert!(
            Header::decode(header.encode(), 1, 76)
                .unwrap_err()
                .message
                .contains("rank 1 sent a message of 77")
        );
        assert!(Header::decode([0; HEADER], 1, 76).is_err());
        let route = Route { from: 65_535, to: 3, channel: 7, slot_bytes: 1 << 29 };
        assert_eq!(Route::decode(&route.encode()), route);
    }
}
