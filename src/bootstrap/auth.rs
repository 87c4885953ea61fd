//! The handshake at the start of every connection: both sides prove that they know the key, without showing it.
//!
//! ```text
//! dialer                                             acceptor
//!   Hello  { purpose, context, nonce c }        →      (unknown context: close)
//!          ←      Challenge { nonce s, MAC("acceptor", Hello, s) }
//!   Proof  { MAC("dialer", Hello, s) }          →      (wrong: close)
//!          ←      Welcome { 1 byte }
//! ```
//! MAC is BLAKE3's keyed hash. Nonces are fresh random bytes on both sides, so a recorded handshake cannot be played
//! again; the labels differ by role, so an answer cannot be reflected. The handshake keeps strangers and mix-ups out;
//! it does not encrypt what follows.
use std::fmt;

use super::link::Link;
use crate::bail;
use crate::base::{Error, Result};
use crate::sys::random;

/// Starts every connection; its last byte is the version of this handshake.
const MAGIC: [u8; 8] = *b"mcclnet\x01";
const NONCE: usize = 32;
const PROOF: usize = 32;
const CONTEXT: usize = 24;
const HELLO: usize = MAGIC.len() + 8 + CONTEXT + NONCE;
const CHALLENGE: usize = NONCE + PROOF;
const WELCOME: u8 = 1;

/// A secret shared by the ranks of one communicator.
#[derive(Clone, PartialEq, Eq)]
pub struct Key([u8; 32]);

impl Key {
    pub const BYTES: usize = 32;

    pub fn random() -> Result<Self> {
        random::bytes().map(Self).map_err(|error| Error::system("random key", &error))
    }

    pub fn from_bytes(bytes: [u8; Self::BYTES]) -> Self {
        Self(bytes)
    }

    pub fn to_bytes(&self) -> [u8; Self::BYTES] {
        self.0
    }

    /// Another key, which tells nothing about this one; the same on every rank that derives it with the same words.
    pub fn derive(&self, label: &str, context: &[u8]) -> Self {
        Self(self.mac(label, &[context]))
    }

    /// A public name for what the key protects, in hexadecimal.
    pub fn public_name(&self, label: &str, context: &[u8]) -> String {
        self.mac(label, &[context])[..16].iter().map(|byte| format!("{byte:02x}")).collect()
    }

    pub(super) fn mac(&self, label: &str, parts: &[&[u8]]) -> [u8; PROOF] {
        let mut hasher = blake3::Hasher::new_keyed(&self.0);
        for part in [label.as_bytes()].iter().chain(parts) {
            hasher.update(&(part.len() as u64).to_le_bytes()).update(part);
        }
        *hasher.finalize().as_bytes()
    }
}

impl fmt::Debug for Key {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Key(…)")
    }
}

/// What a connection is for; each kind of listener serves one.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u64)]
pub enum Purpose {
    Join = 1,
    Descriptors = 2,
    Transport = 3,
}

/// What the dialer says about itself, covered by its proof.
pub type Context = [u8; CONTEXT];

/// The listening side of a handshake.
#[derive(Debug)]
pub struct Acceptor {
    purpose: Purpose,
    expected: Option<Expected>,
}

#[derive(Debug)]
struct Expected {
    context: Context,
    proof: blake3::Hash,
}

impl Acceptor {
    pub fn new(purpose: Purpose) -> Self {
        Self { purpose, expected: None }
    }

    /// Goes on as far as the bytes in `link` allow; the dialer's context once it has proved the key.
    /// `find_key` names the key for a context, None for one that is not served. The caller fills and flushes the link.
    ///
    /// # Errors
    /// `Remote`: a stranger or a mix-up; close the connection.
    pub fn poll(
        &mut self,
        link: &mut Link,
        find_key: impl FnOnce(&Context) -> Option<Key>,
    ) -> Result<Option<Context>> {
        if self.expected.is_none() {
            let Some(hello) = link.take::<HELLO>() else { return Ok(None) };
            self.expected = Some(answer(link, self.purpose, &hello, find_key)?);
        }
        let Some(expected) = &self.expected else { return Ok(None) };
        let Some(proof) = link.take::<PROOF>() else { return Ok(None) };
        // Comparing `blake3::Hash` takes the same time wherever the bytes differ.
        if expected.proof != blake3::Hash::from_bytes(proof) {
            bail!(Remote, "handshake: the dialer does not know the key");
        }
        link.queue([WELCOME]);
        Ok(Some(expected.context))
    }
}

fn answer(
    link: &mut Link,
    purpose: Purpose,
    hello: &[u8; HELLO],
    find_key: impl FnOnce(&Context) -> Option<Key>,
) -> Result<Expected> {
    let head = hello_head(purpose);
    let Some(rest) = hello.strip_prefix(&head[..]) else {
        bail!(Remote, "handshake: the connection does not start as ours do");
    };
    let mut context = Context::default();
    context.copy_from_slice(&rest[..CONTEXT]);
    let Some(key) = find_key(&context) else { bail!(Remote, "handshake: nothing is served under that name") };
    let nonce = fresh_nonce()?;
    let mut challenge = [0; CHALLENGE];
    challenge[..NONCE].copy_from_slice(&nonce);
    challenge[NONCE..].copy_from_slice(&key.mac("acceptor", &[hello, &nonce]));
    link.queue(challenge);
    Ok(Expected { context, proof: key.mac("dialer", &[hello, &nonce]).into() })
}

/// The connecting side of a handshake.
#[derive(Debug)]
pub struct Dialer {
    key: Key,
    hello: [u8; HELLO],
    proved: bool,
}

impl Dialer {
    /// Queues the first message on `link`.
    pub fn start(link: &mut Link, key: &Key, purpose: Purpose, context: &Context) -> Result<Self> {
        let mut hello = [0; HELLO];
        hello[..16].copy_from_slice(&hello_head(purpose));
        hello[16..16 + CONTEXT].copy_from_slice(context);
        hello[16 + CONTEXT..].copy_from_slice(&fresh_nonce()?);
        link.queue(hello);
        Ok(Self { key: key.clone(), hello, proved: false })
    }

    /// Goes on as far as the bytes in `link` allow; true once both sides have proved the key.
    ///
    /// # Errors
    /// `Remote`: the other side is not ours; close the connection.
    pub fn poll(&mut self, link: &mut Link) -> Result<bool> {
        if !self.proved {
            let Some(challenge) = link.take::<CHALLENGE>() else { return Ok(false) };
            let (nonce, proof) = challenge.split_at(NONCE);
            let expected = blake3::Hash::from_bytes(self.key.mac("acceptor", &[&self.hello, nonce]));
            if expected != *proof {
                bail!(Remote, "handshake: the listener does not know the key");
            }
            link.queue(self.key.mac("dialer", &[&self.hello, nonce]));
            self.proved = true;
        }
        match link.take::<1>() {
            None => Ok(false),
            Some([WELCOME]) => Ok(true),
            Some([other]) => bail!(Remote, "handshake: unexpected answer {other}"),
        }
    }
}

fn hello_head(purpose: Purpose) -> [u8; 16] {
    let mut head = [0; 16];
    head[..8].copy_from_slice(&MAGIC);
    head[8..].copy_from_slice(&(purpose as u64).to_le_bytes());
    head
}

fn fresh_nonce() -> Result<[u8; NONCE]> {
    random::bytes().map_err(|error| Error::system("handshake nonce", &error))
}

#[cfg(test)]
mod tests {
    use super::super::link::tests::pair;
    use super::*;

    const CONTEXT: Context = [5; 24];

    fn exchange(name: &str, ours: &Key, theirs: &Key) -> (Result<bool>, Result<Option<Context>>) {
        let (mut near, mut far) = pair(name);
        let mut dialer = Dialer::start(&mut near, ours, Purpose::Join, &CONTEXT).unwrap();
        let mut acceptor = Acceptor::new(Purpose::Join);
        let mut accepted = Ok(None);
        for _ in 0..3 {
            near.flush().unwrap();
            let _ = far.fill();
            if matches!(accepted, Ok(None)) {
                accepted = acceptor.poll(&mut far, |_| Some(theirs.clone()));
            }
            far.flush().unwrap();
            let _ = near.fill();
            match dialer.poll(&mut near) {
                Ok(false) => {}
                done => return (done, accepted),
            }
        }
        (Ok(false), accepted)
    }

    #[test]
    fn equal_keys_meet_and_the_context_arrives() {
        let key = Key::random().unwrap();
        let (dialed, accepted) = exchange("auth-equal", &key, &key);
        assert!(dialed.unwrap());
        assert_eq!(accepted.unwrap(), Some(CONTEXT));
    }

    #[test]
    fn a_dialer_refuses_a_listener_with_another_key() {
        let [ours, theirs] = [Key::random().unwrap(), Key::random().unwrap()];
        let (dialed, accepted) = exchange("auth-other", &ours, &theirs);
        assert!(dialed.unwrap_err().message.contains("does not know the key"));
        assert_eq!(accepted.unwrap(), None);
    }

    #[test]
    fn a_replayed_handshake_is_refused() {
        let key = Key::random().unwrap();
        // Record one good conversation of a dialer.
        let (mut near, mut far) = pair("auth-replay");
        let mut dialer = Dialer::start(&mut near, &key, Purpose::Join, &CONTEXT).unwrap();
        let hello = dialer.hello;
        near.flush().unwrap();
        far.fill().unwrap();
        Acceptor::new(Purpose::Join).poll(&mut far, |_| Some(key.clone())).unwrap();
        far.flush().unwrap();
        near.fill().unwrap();
        dialer.poll(&mut near).unwrap();
        near.flush().unwrap();
        far.fill().unwrap();
        let proof = far.take::<PROOF>().unwrap();
        // Play it to a new acceptor.
        let (mut thief, mut far) = pair("auth-replay-2");
        thief.queue(hello);
        thief.queue(proof);
        thief.flush().unwrap();
        far.fill().unwrap();
        let error = Acceptor::new(Purpose::Join).poll(&mut far, |_| Some(key.clone())).unwrap_err();
        assert!(error.message.contains("does not know the key"), "{error}");
    }

    #[test]
    fn garbage_another_purpose_and_unknown_names_are_refused() {
        let key = Key::random().unwrap();
        let refuse = |name: &str, hello: [u8; HELLO], known: bool| {
            let (mut near, mut far) = pair(name);
            near.queue(hello);
            near.flush().unwrap();
            far.fill().unwrap();
            Acceptor::new(Purpose::Join).poll(&mut far, |_| known.then(|| key.clone())).unwrap_err().message
        };
        assert!(refuse("auth-garbage", [0x47; HELLO], true).contains("does not start"));
        let mut hello = [0; HELLO];
        hello[..16].copy_from_slice(&hello_head(Purpose::Transport));
        assert!(refuse("auth-purpose", hello, true).contains("does not start"));
        hello[..16].copy_from_slice(&hello_head(Purpose::Join));
        assert!(refuse("auth-name", hello, false).contains("nothing is served"));
    }

    #[test]
    fn derived_keys_and_names_depend_on_label_and_context() {
        let key = Key::random().unwrap();
        assert_eq!(key.derive("a", b"b"), key.derive("a", b"b"));
        assert_ne!(key.derive("a", b"b"), key.derive("a", b"c"));
        assert_ne!(key.derive("a", b"b"), key.derive("ab", b""));
        assert_eq!(key.public_name("x", b"").len(), 32);
        assert_eq!(format!("{key:?}"), "Key(…)");
    }
}
