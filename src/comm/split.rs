//! New communicators out of an existing one.
use std::sync::Arc;

use crate::base::Result;
use crate::comm::{Comm, Config, InitRequest, UniqueId, init};
use crate::{bail, err};

/// The colour of a rank that takes no part.
const NO_COLOR: i32 = -1;

/// What each rank contributes: colour, key, and, from the first rank of a colour, a unique id.
struct Vote {
    color: i32,
    key: i32,
}

impl Comm {
    /// Cuts the communicator by colour, ranks ordered by (key, rank). Every rank calls it; `None` for no colour.
    pub fn split(
        self: &Arc<Self>,
        color: i32,
        key: i32,
        config: Option<Config>,
    ) -> Result<Option<Arc<Comm>>> {
        if color < NO_COLOR {
            bail!(InvalidArgument, "color {color} is not allowed (0 or more, or {NO_COLOR} for none)");
        }
        let mine = [color.to_le_bytes(), key.to_le_bytes()].concat();
        let votes: Vec<Vote> = self.all_gather_bytes(&mine)?.iter().map(|bytes| decode(bytes)).collect();
        let mut members: Vec<usize> = (0..self.nranks()).filter(|r| votes[*r].color == color).collect();
        members.sort_by_key(|r| (votes[*r].key, *r));
        let leads = color != NO_COLOR && members.first() == Some(&self.rank());
        let id = if leads { super::unique_id()?.0 } else { [0; UniqueId::BYTES] };
        let ids = self.all_gather_bytes(&id)?;
        if color == NO_COLOR {
            return Ok(None);
        }
        let rank = members
            .iter()
            .position(|r| *r == self.rank())
            .ok_or_else(|| err!(Internal, "rank is in no group"))?;
        let id: [u8; UniqueId::BYTES] =
            ids[members[0]].as_slice().try_into().map_err(|_| err!(Internal, "an id of the wrong length"))?;
        let request = InitRequest {
            nranks: members.len(),
            rank,
            ids: vec![UniqueId(id)],
            device: Some(self.device()),
            config: config.unwrap_or_else(|| self.config().clone()),
            call: "mcclCommSplit",
        };
        init(request).map(Some)
    }
}

fn decode(bytes: &[u8]) -> Vote {
    let word = |at: usize| bytes[at..at + 4].try_into().map_or(0, i32::from_le_bytes);
    Vote { color: word(0), key: word(4) }
}
