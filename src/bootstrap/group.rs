//! The root's view of one communicator: who has come, what they brought, what everybody is told. Pure: no sockets,
//! and the time is an argument.
use std::sync::Arc;
use std::time::Instant;

use super::MAX_RANKS;
use super::message::{FromRoot, Join, Limit, PROTOCOL, Piece};
use super::patience::seconds;
use super::wire::name_ranks;
use crate::base::{Error, ErrorKind};
use crate::err;

/// Names a connection of the service.
pub type ConnId = u64;

/// A message that the service has to send.
#[derive(Clone, Debug)]
pub struct Outgoing {
    pub to: ConnId,
    pub bytes: Arc<[u8]>,
    /// Nothing follows: close once it is sent.
    pub last: bool,
}

/// One communicator from its first rank's arrival to its last one's departure.
#[derive(Debug, Default)]
pub struct Group {
    seats: Vec<Seat>,
    /// The first rank to come: the others are compared with it.
    first: Option<(usize, String)>,
    round: u32,
    brought: usize,
    deadline: Option<(Instant, Limit)>,
    /// Ranks that came and said good-bye.
    left: Vec<usize>,
    connected: usize,
    failure: Option<Error>,
}

#[derive(Debug, Default)]
struct Seat {
    conn: Option<ConnId>,
    piece: Option<Vec<u8>>,
}

impl Group {
    /// Everybody has come: round 0 is over.
    pub fn is_formed(&self) -> bool {
        self.round > 0
    }

    pub fn failure(&self) -> Option<&Error> {
        self.failure.as_ref()
    }

    /// Nobody is connected any more.
    pub fn is_empty(&self) -> bool {
        self.connected == 0
    }

    pub fn deadline(&self) -> Option<Instant> {
        self.deadline.map(|(at, _)| at)
    }

    pub fn join(&mut self, conn: ConnId, join: Join, now: Instant) -> Vec<Outgoing> {
        let (rank, nranks) = (join.rank, join.nranks);
        if let Some(error) = self.objection(&join) {
            let mut out = self.fail(error.clone());
            out.push(Outgoing { to: conn, bytes: FromRoot::encode_fail(&error), last: true });
            return out;
        }
        if self.first.is_none() {
            self.seats.resize_with(nranks, Seat::default);
            self.first = Some((rank, join.version));
        }
        self.seats[rank].conn = Some(conn);
        self.connected += 1;
        self.piece(rank, join.piece, now)
    }

    /// Why the group cannot take this rank.
    fn objection(&self, join: &Join) -> Option<Error> {
        let (rank, nranks) = (join.rank, join.nranks);
        if join.protocol != PROTOCOL {
            let theirs = join.protocol;
            return Some(err!(
                InvalidUsage,
                "rank {rank} speaks bootstrap protocol {theirs}, the root {PROTOCOL}"
            ));
        }
        let Some((first, version)) = &self.first else {
            let possible = rank < nranks && nranks <= MAX_RANKS;
            return (!possible)
                .then(|| err!(InvalidArgument, "rank {rank} of {nranks} (0 to {MAX_RANKS}) cannot be"));
        };
        if join.version != *version {
            let theirs = &join.version;
            return Some(err!(
                InvalidUsage,
                "rank {rank} runs library version {theirs}, rank {first} {version}: all ranks need the same one"
            ));
        }
        if nranks != self.seats.len() {
            let ours = self.seats.len();
            return Some(err!(InvalidUsage, "rank {rank} says {nranks} ranks, rank {first} says {ours}"));
        }
        match self.seats.get(rank) {
            None => Some(err!(InvalidArgument, "rank {rank} is not a rank (0 to {})", nranks - 1)),
            Some(seat) if seat.conn.is_some() => {
                Some(err!(InvalidUsage, "rank {rank} has already joined with this unique id"))
            }
            Some(_) => None,
        }
    }

    /// `rank`, which has joined, brings its piece to an exchange.
    pub fn piece(&mut self, rank: usize, piece: Piece, now: Instant) -> Vec<Outgoing> {
        if self.failure.is_some() {
            return Vec::new();
        }
        if piece.round != self.round || self.seats[rank].piece.is_some() {
            let (theirs, ours) = (piece.round, self.round);
            return self
                .fail(err!(Internal, "rank {rank} is in exchange {theirs}, the others in exchange {ours}"));
        }
        self.seats[rank].piece = Some(piece.payload);
        self.brought += 1;
        let until = now + piece.limit.remaining;
        if self.deadline.is_none_or(|(at, _)| until < at) {
            self.deadline = Some((until, piece.limit));
        }
        if let Some(error) = self.absence() {
            return self.fail(error);
        }
        if self.brought == self.seats.len() { self.finish_round() } else { Vec::new() }
    }

    fn finish_round(&mut self) -> Vec<Outgoing> {
        let pieces: Vec<Vec<u8>> =
            self.seats.iter_mut().map(|seat| seat.piece.take().unwrap_or_default()).collect();
        let bytes = FromRoot::encode_all(self.round, pieces.iter().map(Vec::as_slice));
        self.round += 1;
        self.brought = 0;
        self.deadline = None;
        let to_all = self.seats.iter().filter_map(|seat| seat.conn);
        to_all.map(|to| Outgoing { to, bytes: bytes.clone(), last: false }).collect()
    }

    /// `rank`, which has joined, leaves in good order.
    pub fn bye(&mut self, rank: usize) -> Vec<Outgoing> {
        if !self.disconnect(rank) {
            return Vec::new();
        }
        self.left.push(rank);
        match self.absence() {
            Some(error) => self.fail(error),
            None => Vec::new(),
        }
    }

    /// The connection of `rank`, which has joined, broke, or what came over it made no sense.
    pub fn lost(&mut self, rank: usize, why: &str) -> Vec<Outgoing> {
        if !self.disconnect(rank) {
            return Vec::new();
        }
        let n = self.seats.len();
        self.fail(err!(Remote, "rank {rank} of {n} is gone: {why}"))
    }

    /// Fails the group when the deadline is over.
    pub fn expire(&mut self, now: Instant) -> Vec<Outgoing> {
        let Some((at, limit)) = self.deadline else { return Vec::new() };
        if now < at {
            return Vec::new();
        }
        let missing: Vec<usize> =
            (0..self.seats.len()).filter(|rank| self.seats[*rank].piece.is_none()).collect();
        let (who, n, time) = (name_ranks(&missing), self.seats.len(), seconds(limit.timeout));
        self.fail(match self.round {
            0 => err!(Timeout, "{who} of {n} did not join within {time}"),
            round => err!(Timeout, "{who} of {n} did not reach exchange {round} within {time}"),
        })
    }

    /// An exchange has begun that a rank which has left cannot take part in.
    fn absence(&self) -> Option<Error> {
        if self.brought == 0 || self.left.is_empty() {
            return None;
        }
        let mut gone = self.left.clone();
        gone.sort_unstable();
        let (who, n) = (name_ranks(&gone), self.seats.len());
        Some(match self.round {
            0 => err!(Remote, "{who} of {n} gave up before all ranks had joined"),
            _ => err!(Remote, "{who} of {n} left the communicator while others exchange data"),
        })
    }

    /// Tells everybody. The first failure stays the group's failure.
    fn fail(&mut self, error: Error) -> Vec<Outgoing> {
        let bytes = FromRoot::encode_fail(&error);
        self.failure.get_or_insert(error);
        self.deadline = None;
        self.connected = 0;
        let to_all = self.seats.iter_mut().filter_map(|seat| seat.conn.take());
        to_all.map(|to| Outgoing { to, bytes: bytes.clone(), last: true }).collect()
    }

    fn disconnect(&mut self, rank: usize) -> bool {
        // Not `connected -= usize::from(was)`: rustc 1.95.0 drops that subtraction when it optimises and inlines this into `bye`.
        if self.seats[rank].conn.take().is_none() {
            return false;
        }
        self.connected -= 1;
        true
    }
}

/// What a rank hears that comes with an id whose communicator exists or has failed.
pub fn spent(group: &Group) -> Error {
    match group.failure() {
        Some(error) if !group.is_formed() => error.clone(),
        _ => Error::new(ErrorKind::InvalidUsage, "unique id was already used for a communicator"),
    }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::super::link::Frame;
    use super::*;

    fn join(rank: usize, nranks: usize, seconds: u64) -> Join {
        Join { protocol: PROTOCOL, version: "1.0".into(), rank, nranks, piece: piece(0, seconds) }
    }

    fn piece(round: u32, seconds: u64) -> Piece {
        let time = Duration::from_secs(seconds);
        Piece { round, limit: Limit { remaining: time, timeout: time }, payload: vec![7] }
    }

    /// What each connection is told, by connection.
    fn told(out: &[Outgoing]) -> Vec<(ConnId, String)> {
        let read =
            |bytes: &[u8]| FromRoot::decode(&Frame { kind: bytes[4], body: bytes[5..].to_vec() }).unwrap();
        let mut all: Vec<_> = out
            .iter()
            .map(|message| match read(&message.bytes) {
                FromRoot::All { round, pieces } => (message.to, format!("all {round}: {}", pieces.len())),
                FromRoot::Fail(error) => (message.to, error.message),
            })
            .collect();
        all.sort();
        all
    }

    #[test]
    fn all_hear_of_all_once_the_last_has_come() {
        let (mut group, now) = (Group::default(), Instant::now());
        assert!(group.join(10, join(1, 2, 60), now).is_empty());
        assert!(!group.is_formed());
        let out = group.join(20, join(0, 2, 60), now);
        assert_eq!(told(&out), [(10, "all 0: 2".into()), (20, "all 0: 2".into())]);
        assert!(group.is_formed() && group.deadline().is_none());
        assert!(group.bye(0).is_empty() && group.bye(1).is_empty());
        assert!(group.is_empty());
        assert_eq!(spent(&group).message, "unique id was already used for a communicator");
    }

    #[test]
    fn disagreements_are_told_to_everybody() {
        let now = Instant::now();
        let mut other_version = join(1, 4, 60);
        other_version.version = "2.0".into();
        let mut other_protocol = join(1, 4, 60);
        other_protocol.protocol = 9;
        let table = [
            (join(0, 4, 60), "rank 0 has already joined with this unique id"),
            (join(2, 8, 60), "rank 2 says 8 ranks, rank 0 says 4"),
            (join(4, 4, 60), "rank 4 is not a rank (0 to 3)"),
            (other_version, "rank 1 runs library version 2.0, rank 0 1.0: all ranks need the same one"),
            (other_protocol, "rank 1 speaks bootstrap protocol 9, the root 1"),
        ];
        for (second, text) in table {
            let mut group = Group::default();
            group.join(1, join(0, 4, 60), now);
            let out = group.join(2, second, now);
            assert_eq!(told(&out), [(1, text.to_string()), (2, text.to_string())]);
            assert!(out.iter().all(|message| message.last) && group.is_empty());
            assert_eq!(spent(&group).message, text);
        }
    }

    #[test]
    fn the_earliest_deadline_names_the_missing() {
        let (mut group, now) = (Group::default(), Instant::now());
        for rank in [0, 1, 3, 4] {
            group.join(rank as ConnId, join(rank, 8, if rank == 3 { 600 } else { 900 }), now);
        }
        assert!(group.expire(now + Duration::from_secs(599)).is_empty());
        let out = group.expire(now + Duration::from_secs(600));
        assert_eq!(out.len(), 4);
        assert_eq!(told(&out)[0].1, "ranks 2, 5-7 of 8 did not join within 600 s");
        assert!(group.expire(now + Duration::from_secs(900)).is_empty());
    }

    #[test]
    fn a_lost_or_leaving_rank_ends_an_exchange_of_the_others() {
        let now = Instant::now();
        let formed = || {
            let mut group = Group::default();
            (0..3).for_each(|rank| drop(group.join(rank as ConnId, join(rank, 3, 60), now)));
            group
        };
        let mut group = formed();
        let out = group.lost(1, "closed");
        assert_eq!(
            told(&out),
            [(0, "rank 1 of 3 is gone: closed".into()), (2, "rank 1 of 3 is gone: closed".into())]
        );

        let mut group = formed();
        assert!(group.bye(1).is_empty());
        let text = "rank 1 of 3 left the communicator while others exchange data";
        assert_eq!(told(&group.piece(0, piece(1, 60), now))[0].1, text);

        let mut group = formed();
        assert!(group.piece(0, piece(1, 5), now).is_empty());
        assert_eq!(
            told(&group.expire(now + Duration::from_secs(5)))[0].1,
            "ranks 1, 2 of 3 did not reach exchange 1 within 5 s"
        );

        let mut group = formed();
        assert!(
            told(&group.piece(0, piece(2, 60), now))[0]
                .1
                .contains("rank 0 is in exchange 2, the others in exchange 1")
        );

        let mut group = Group::default();
        group.join(5, join(0, 3, 60), now);
        group.join(6, join(1, 3, 60), now);
        assert_eq!(told(&group.bye(1)), [(5, "rank 1 of 3 gave up before all ranks had joined".into())]);
    }

    #[test]
    fn a_first_rank_with_impossible_numbers_is_refused() {
        let mut group = Group::default();
        let out = group.join(1, join(3, 3, 60), Instant::now());
        assert!(told(&out)[0].1.contains("rank 3 of 3 (0 to 65536) cannot be"));
    }
}
