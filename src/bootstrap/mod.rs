//! How ranks find each other: unique ids, the root that all ranks meet at, and sessions for exchanging bytes.
//!
//! ```text
//! UniqueId::create ── starts or reuses ──► the root service of this process (one thread, any number of ids)
//!        │ 128 bytes, carried by the application                      ▲
//!        ▼                                                            │ Unix socket on the same host, else TCP
//! join(id, rank, nranks, payload) ── dial, prove the key, send ───────┘
//!        │ when all have come: everyone's payload
//!        ▼
//! Session: all_gather, barrier; tells when another rank has gone
//! ```
//!
//! Every connection starts with a mutual challenge and response under the key inside the id ([`auth`]); strangers and
//! port scanners are dropped without disturbing anybody. Every length from outside is bounded, every wait has a
//! deadline and sees an abort ([`Patience`]).
#![forbid(unsafe_code)]

pub mod auth;
pub mod dial;
pub mod id;
pub mod interface;
pub mod link;
pub mod local;
pub mod patience;
pub mod wire;

mod group;
mod join;
mod message;
mod root;
mod service;
#[cfg(test)]
mod tests;

pub use auth::Key;
pub use id::UniqueId;
pub use interface::{Family, Interface, Settings, interfaces};
pub use join::{JoinRequest, Session, join};
pub use patience::{AbortCheck, Patience};

/// Bytes one rank may contribute to one exchange.
pub const MAX_PAYLOAD: usize = 64 << 10;
/// Ranks a communicator may have.
pub const MAX_RANKS: usize = 1 << 16;
