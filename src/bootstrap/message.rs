//! What ranks and the root say to each other after the handshake.
use std::sync::Arc;
use std::time::Duration;

use super::link::{Frame, encode};
use super::wire::{Reader, Writer};
use super::{MAX_PAYLOAD, MAX_RANKS};
use crate::bail;
use crate::base::{Error, ErrorKind, Result};

/// Version of everything in this file; ranks of one communicator must agree.
pub const PROTOCOL: u32 = 1;
/// Longest frame that a rank may send to the root.
pub const MAX_TO_ROOT: usize = MAX_PAYLOAD + 256;
const MAX_TEXT: usize = 4096;

const JOIN: u8 = 1;
const PIECE: u8 = 2;
const BYE: u8 = 3;
const ALL: u8 = 16;
const FAIL: u8 = 17;

/// A rank says to the root …
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum ToRoot {
    /// … who it is and what it brings to round 0.
    Join(Join),
    /// … what it brings to a later round.
    Piece(Piece),
    /// … that it will not come back.
    Bye,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Join {
    pub protocol: u32,
    pub version: String,
    pub rank: usize,
    pub nranks: usize,
    pub piece: Piece,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Piece {
    pub round: u32,
    pub limit: Limit,
    pub payload: Vec<u8>,
}

/// How long the sender will wait for the others.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Limit {
    pub remaining: Duration,
    /// What it was at first, for the message.
    pub timeout: Duration,
}

/// The root says to a rank …
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum FromRoot {
    /// … what all ranks brought to a round, in rank order.
    All { round: u32, pieces: Vec<Vec<u8>> },
    /// … that the communicator cannot be, or cannot go on.
    Fail(Error),
}

impl ToRoot {
    pub fn encode(&self) -> Arc<[u8]> {
        match self {
            Self::Join(join) => {
                let head = Writer::new().u32(join.protocol).bytes(join.version.as_bytes());
                let head = head.u32(join.rank as u32).u32(join.nranks as u32);
                encode(JOIN, &put_piece(head, &join.piece).finish())
            }
            Self::Piece(piece) => encode(PIECE, &put_piece(Writer::new(), piece).finish()),
            Self::Bye => encode(BYE, &[]),
        }
    }

    pub fn decode(frame: &Frame) -> Result<Self> {
        let mut reader = Reader::new(&frame.body);
        let message = match frame.kind {
            JOIN => Self::Join(Join {
                protocol: reader.u32()?,
                version: text(reader.bytes(64)?),
                rank: reader.u32()? as usize,
                nranks: reader.u32()? as usize,
                piece: get_piece(&mut reader)?,
            }),
            PIECE => Self::Piece(get_piece(&mut reader)?),
            BYE => Self::Bye,
            other => bail!(Remote, "message: {other} is no kind of message to the root"),
        };
        reader.finish()?;
        Ok(message)
    }
}

impl FromRoot {
    /// The longest frame with the pieces of `nranks` ranks.
    pub fn max_len(nranks: usize) -> usize {
        (8 + nranks * (4 + MAX_PAYLOAD)).max(16 + MAX_TEXT).min(u32::MAX as usize)
    }

    pub fn encode_all<'a>(round: u32, pieces: impl ExactSizeIterator<Item = &'a [u8]>) -> Arc<[u8]> {
        let head = Writer::new().u32(round).u32(pieces.len() as u32);
        encode(ALL, &pieces.fold(head, Writer::bytes).finish())
    }

    pub fn encode_fail(error: &Error) -> Arc<[u8]> {
        let end = error.message.floor_char_boundary(MAX_TEXT);
        encode(FAIL, &Writer::new().u8(code(error.kind)).bytes(&error.message.as_bytes()[..end]).finish())
    }

    pub fn decode(frame: &Frame) -> Result<Self> {
        let mut reader = Reader::new(&frame.body);
        let message = match frame.kind {
            ALL => {
                let (round, count) = (reader.u32()?, reader.u32()? as usize);
                if count > MAX_RANKS {
                    bail!(Remote, "message: {count} pieces are too many (0 to {MAX_RANKS})");
                }
                let pieces = (0..count).map(|_| reader.bytes(MAX_PAYLOAD).map(<[u8]>::to_vec));
                Self::All { round, pieces: pieces.collect::<Result<_>>()? }
            }
            FAIL => Self::Fail(Error::new(kind(reader.u8()?), text(reader.bytes(MAX_TEXT)?))),
            other => bail!(Remote, "message: {other} is no kind of message from the root"),
        };
        reader.finish()?;
        Ok(message)
    }
}

fn put_piece(writer: Writer, piece: &Piece) -> Writer {
    let [remaining, timeout] =
        [piece.limit.remaining, piece.limit.timeout].map(|time| time.as_millis().min(u64::MAX.into()) as u64);
    writer.u32(piece.round).u64(remaining).u64(timeout).bytes(&piece.payload)
}

fn get_piece(reader: &mut Reader<'_>) -> Result<Piece> {
    let round = reader.u32()?;
    // A century at most, so that adding it to a clock cannot overflow.
    let mut time = || reader.u64().map(|ms| Duration::from_millis(ms.min(100 * 366 * 86_400_000)));
    let limit = Limit { remaining: time()?, timeout: time()? };
    Ok(Piece { round, limit, payload: reader.bytes(MAX_PAYLOAD)?.to_vec() })
}

fn text(bytes: &[u8]) -> String {
    String::from_utf8_lossy(bytes).into_owned()
}

const KINDS: [ErrorKind; 6] = [
    ErrorKind::Internal,
    ErrorKind::System,
    ErrorKind::InvalidArgument,
    ErrorKind::InvalidUsage,
    ErrorKind::Remote,
    ErrorKind::Timeout,
];

fn code(kind: ErrorKind) -> u8 {
    KINDS.iter().position(|known| *known == kind).unwrap_or(0) as u8
}

fn kind(code: u8) -> ErrorKind {
    KINDS.get(code as usize).copied().unwrap_or(ErrorKind::Remote)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn frame(bytes: &[u8]) -> Frame {
        Frame { kind: bytes[4], body: bytes[5..].to_vec() }
    }

    #[test]
    fn messages_come_back_as_they_went_in() {
        let limit = Limit { remaining: Duration::from_millis(17), timeout: Duration::from_secs(600) };
        let piece = Piece { round: 3, limit, payload: vec![1, 2, 3] };
        let join = Join { protocol: 1, version: "2.28.9".into(), rank: 3, nranks: 8, piece: piece.clone() };
        for message in [ToRoot::Join(join), ToRoot::Piece(piece), ToRoot::Bye] {
            assert_eq!(ToRoot::decode(&frame(&message.encode())).unwrap(), message);
        }
        let all = FromRoot::encode_all(2, [&b"a"[..], b"", b"ccc"].into_iter());
        let pieces = vec![b"a".to_vec(), vec![], b"ccc".to_vec()];
        assert_eq!(FromRoot::decode(&frame(&all)).unwrap(), FromRoot::All { round: 2, pieces });
        for kind in KINDS {
            let error = Error::new(kind, "why");
            let fail = FromRoot::encode_fail(&error);
            assert_eq!(FromRoot::decode(&frame(&fail)).unwrap(), FromRoot::Fail(error));
        }
    }

    #[test]
    fn truncated_and_padded_messages_are_errors() {
        let limit = Limit { remaining: Duration::ZERO, timeout: Duration::ZERO };
        let piece = ToRoot::Piece(Piece { round: 0, limit, payload: vec![7; 9] }).encode();
        let mut whole = frame(&piece);
        whole.body.push(0);
        assert!(ToRoot::decode(&whole).is_err());
        for len in 0..whole.body.len() - 1 {
            whole.body.truncate(len);
            assert!(ToRoot::decode(&whole).is_err());
        }
        assert!(ToRoot::decode(&Frame { kind: 99, body: vec![] }).is_err());
        assert!(FromRoot::decode(&Frame { kind: ALL, body: vec![0, 0, 0, 0, 255, 255, 255, 255] }).is_err());
    }
}
