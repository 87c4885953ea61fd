//! A rank's side of the bootstrap: joining, and exchanging bytes with all ranks of the communicator.
use std::os::fd::{AsRawFd, RawFd};
use std::time::Duration;

use super::dial::{Call, with_scopes};
use super::id::{Kind, UniqueId};
use super::link::Link;
use super::message::{FromRoot, Join, Limit, PROTOCOL, Piece, ToRoot};
use super::patience::{Patience, Wait};
use super::root::{context_of, serve_comm_id, unix_address};
use super::{MAX_PAYLOAD, MAX_RANKS};
use crate::base::{Error, ErrorKind, Result};
use crate::sys::socket::Address;
use crate::{bail, err};

/// Ranks with another version do not get in.
const LIBRARY_VERSION: &str = env!("CARGO_PKG_VERSION");
/// When nobody listens at any address of an id for so long, the process that made it is gone.
const ROOT_GONE: Duration = Duration::from_secs(20);
/// The root times the waits, as it knows who is missing; a rank that hears nothing for this much longer stops by itself.
const ROOT_GRACE: Duration = Duration::from_secs(5);

/// One rank's wish to be part of a communicator.
#[derive(Clone, Debug)]
pub struct JoinRequest<'a> {
    pub id: &'a UniqueId,
    pub rank: usize,
    /// 1 to [`MAX_RANKS`].
    pub nranks: usize,
    /// What every rank shall know of this one, at most [`MAX_PAYLOAD`] bytes.
    pub payload: Vec<u8>,
    /// For joining, and for each exchange of the session.
    pub patience: Patience,
}

/// Joins and waits until all ranks have.
///
/// # Errors
/// On every rank alike, with the rank number in the message: `InvalidUsage` when ranks disagree or the id was used
/// before, `Timeout` when some did not come, `Remote` when one was lost. Only here: `InvalidArgument` for impossible
/// numbers, `Aborted`, `System`.
pub fn join(request: JoinRequest<'_>) -> Result<Session> {
    let (id, rank, nranks) = (request.id, request.rank, request.nranks);
    if nranks == 0 || nranks > MAX_RANKS {
        bail!(InvalidArgument, "join: {nranks} is not a number of ranks (1 to {MAX_RANKS})");
    }
    if rank >= nranks {
        bail!(InvalidArgument, "join: rank {rank} is not a rank (0 to {})", nranks - 1);
    }
    check_payload(&request.payload)?;
    let wait = request.patience.start();
    if id.kind() == Kind::CommId && rank == 0 {
        serve_comm_id(id, &wait)?;
    }
    let link = connect(id, &wait)?;
    let mut session = Session {
        link,
        rank,
        nranks,
        round: 0,
        payloads: Vec::new(),
        patience: request.patience.clone(),
        failure: None,
    };
    let piece = session.piece(request.payload, &wait);
    let version = LIBRARY_VERSION.to_string();
    let join = Join { protocol: PROTOCOL, version, rank, nranks, piece };
    session.payloads = session.exchange(&ToRoot::Join(join), &wait)?;
    Ok(session)
}

/// A rank's seat in a formed communicator, for exchanges that are rare and small. All ranks must make the same ones
/// in the same order. Dropping it leaves in good order.
#[derive(Debug)]
pub struct Session {
    link: Link,
    rank: usize,
    nranks: usize,
    round: u32,
    payloads: Vec<Vec<u8>>,
    patience: Patience,
    failure: Option<Error>,
}

impl Session {
    pub fn rank(&self) -> usize {
        self.rank
    }

    pub fn nranks(&self) -> usize {
        self.nranks
    }

    /// What each rank brought when it joined, in rank order.
    pub fn payloads(&self) -> &[Vec<u8>] {
        &self.payloads
    }

    /// How long later exchanges may take, and what aborts them.
    pub fn set_patience(&mut self, patience: Patience) {
        self.patience = patience;
    }

    /// Gives `piece` (at most [`MAX_PAYLOAD`] bytes) to all ranks and returns everybody's, in rank order.
    ///
    /// # Errors
    /// `Timeout` naming the ranks that did not come, `Remote` naming one that is gone, `Aborted`. The session is of no
    /// further use then: later calls return the same error.
    pub fn all_gather(&mut self, piece: &[u8]) -> Result<Vec<Vec<u8>>> {
        check_payload(piece)?;
        let patience = self.patience.clone();
        let wait = patience.start();
        let message = ToRoot::Piece(self.piece(piece.to_vec(), &wait));
        self.exchange(&message, &wait)
    }

    /// Returns when all ranks have called it. Errors as [`all_gather`](Self::all_gather).
    pub fn barrier(&mut self) -> Result<()> {
        self.all_gather(&[]).map(drop)
    }

    /// Looks, without waiting, whether the communicator is still whole.
    ///
    /// # Errors
    /// `Remote` when a rank was lost (its number is in the message) or the root is gone.
    pub fn check(&mut self) -> Result<()> {
        self.usable()?;
        match self.receive() {
            Ok(None) => Ok(()),
            Ok(Some(_)) => {
                Err(self.broken(err!(Internal, "the root sent an exchange that nobody asked for")))
            }
            Err(error) => Err(self.broken(error)),
        }
    }

    /// Becomes readable when [`check`](Self::check) has something to say.
    pub fn poll_fd(&self) -> RawFd {
        self.link.socket().as_raw_fd()
    }

    fn piece(&self, payload: Vec<u8>, wait: &Wait<'_>) -> Piece {
        let limit = Limit { remaining: wait.remaining(), timeout: wait.timeout() };
        Piece { round: self.round, limit, payload }
    }

    fn exchange(&mut self, message: &ToRoot, wait: &Wait<'_>) -> Result<Vec<Vec<u8>>> {
        self.usable()?;
        self.link.queue(message.encode());
        let pieces = self.await_all(&wait.extended_by(ROOT_GRACE)).map_err(|error| self.broken(error))?;
        self.round += 1;
        Ok(pieces)
    }

    fn await_all(&mut self, wait: &Wait<'_>) -> Result<Vec<Vec<u8>>> {
        loop {
            if let Some((round, pieces)) = self.receive()? {
                if round != self.round || pieces.len() != self.nranks {
                    bail!(Internal, "the root sent exchange {round} of {} ranks", pieces.len());
                }
                return Ok(pieces);
            }
            wait.check(|| "the root of the communicator did not answer".to_string())?;
            wait.ready(std::os::fd::AsFd::as_fd(&self.link), self.link.interest())?;
        }
    }

    /// Sends and receives what goes without waiting; a whole exchange if one came.
    fn receive(&mut self) -> Result<Option<(u32, Vec<Vec<u8>>)>> {
        let sent = self.link.flush();
        loop {
            let frame = self.link.frame(FromRoot::max_len(self.nranks)).map_err(lost_root)?;
            match frame.map(|frame| FromRoot::decode(&frame)).transpose()? {
                Some(FromRoot::All { round, pieces }) => return Ok(Some((round, pieces))),
                Some(FromRoot::Fail(error)) => return Err(error),
                None if self.link.fill().map_err(lost_root)? => {}
                // Only now: a failure that the root told before it closed says more than the broken pipe.
                None => return sent.map(|_| None).map_err(lost_root),
            }
        }
    }

    fn usable(&self) -> Result<()> {
        self.failure.clone().map_or(Ok(()), Err)
    }

    fn broken(&mut self, error: Error) -> Error {
        self.failure = Some(error.clone());
        error
    }
}

impl Drop for Session {
    fn drop(&mut self) {
        // After a lost peer or root nobody listens. After an own time-out or abort the others learn it from this.
        if !matches!(&self.failure, Some(error) if error.kind == ErrorKind::Remote) {
            self.link.queue(ToRoot::Bye.encode());
            let _ = self.link.flush();
        }
    }
}

fn connect(id: &UniqueId, wait: &Wait<'_>) -> Result<Link> {
    let tcp = with_scopes(id.addresses()).into_iter().map(Address::Tcp);
    let candidates: Vec<Address> = [unix_address(id.service())].into_iter().chain(tcp).collect();
    let refusal_limit = (id.kind() == Kind::Root).then_some(ROOT_GONE);
    let (key, context) = (id.key(), context_of(id.key()));
    let purpose = super::auth::Purpose::Join;
    let whom = "the root of the unique id";
    Call { candidates: &candidates, key, purpose, context: &context, whom, refusal_limit }.connect(wait)
}

fn check_payload(payload: &[u8]) -> Result<()> {
    let len = payload.len();
    if len > MAX_PAYLOAD {
        bail!(InvalidArgument, "exchange: {len} bytes are too many for one rank (0 to {MAX_PAYLOAD})");
    }
    Ok(())
}

fn lost_root(error: std::io::Error) -> Error {
    match error.kind() {
        std::io::ErrorKind::UnexpectedEof => {
            err!(Remote, "the root of the communicator is gone: its process ended or was killed")
        }
        _ => err!(Remote, "the root of the communicator is gone: {error}"),
    }
}

#[cfg(test)]
pub(super) mod tests {
    use super::*;

    impl Session {
        /// Disconnects as a killed process does.
        pub(in crate::bootstrap) fn die(mut self) {
            self.failure = Some(err!(Remote, "dead"));
        }

        pub(in crate::bootstrap) fn send_raw(&mut self, bytes: &[u8]) {
            self.link.queue(bytes);
            self.link.flush().unwrap();
            self.failure = Some(err!(Remote, "spoke nonsense"));
        }
    }

    /// Joins, and disconnects as a killed process does before all have come.
    pub(in crate::bootstrap) fn greet_and_die(request: JoinRequest<'_>, patience: &Patience) -> Result<()> {
        let wait = patience.start();
        let mut link = connect(request.id, &wait)?;
        let limit = Limit { remaining: wait.remaining(), timeout: wait.timeout() };
        let (version, rank, nranks) = (LIBRARY_VERSION.to_string(), request.rank, request.nranks);
        let piece = Piece { round: 0, limit, payload: request.payload };
        link.queue(ToRoot::Join(Join { protocol: PROTOCOL, version, rank, nranks, piece }).encode());
        assert!(link.flush().unwrap());
        Ok(())
    }
}
