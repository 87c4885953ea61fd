//! The unique id: 128 bytes that let ranks find their root and prove that they belong together.
use std::fmt;
use std::net::{IpAddr, SocketAddr, ToSocketAddrs};

use super::auth::Key;
use super::interface::{Settings, interfaces};
use super::root;
use super::wire::{Reader, Writer};
use crate::base::{ErrorKind, Result};
use crate::{bail, err};

/// Addresses that an id has room for.
pub const MAX_ADDRESSES: usize = 4;

const MAGIC: [u8; 4] = *b"mccl";
const VERSION: u8 = 1;
const ADDRESS: usize = 19;
/// Magic, version, kind, number of addresses, a zero, checksum, key, service.
const HEAD: usize = 4 + 4 + 4 + Key::BYTES + 8;
const CHECKSUM_AT: usize = 8;

/// How ranks of one communicator find each other. See the module documentation for its life.
#[derive(Clone, PartialEq, Eq)]
pub struct UniqueId {
    kind: Kind,
    key: Key,
    /// Names the service's Unix socket.
    service: u64,
    addresses: Vec<SocketAddr>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    /// The process that made the id runs the root. Good for one communicator.
    Root = 0,
    /// From `MCCL_COMM_ID`: rank 0 runs the root. The same text makes the same id, one communicator at a time.
    CommId = 1,
}

impl UniqueId {
    pub const BYTES: usize = HEAD + MAX_ADDRESSES * ADDRESS;

    /// A new id with a random key, served by this process from now on.
    ///
    /// Without any network interface the id serves ranks of this host only.
    ///
    /// # Errors
    /// `InvalidUsage` when `settings` name interfaces that do not exist; `System` when no socket can be opened.
    pub fn create(settings: &Settings) -> Result<Self> {
        let networks = match interfaces(settings) {
            Err(error) if error.kind == ErrorKind::InvalidUsage && settings.ifname.is_none() => Vec::new(),
            result => result?,
        };
        let hosts: Vec<SocketAddr> =
            networks.iter().take(MAX_ADDRESSES).map(|network| network.socket_address(0)).collect();
        let key = Key::random()?;
        let place = root::publish(&key, &hosts)?;
        Ok(Self { kind: Kind::Root, key, service: place.name, addresses: place.addresses })
    }

    /// The id in the text of `MCCL_COMM_ID`: `a.b.c.d:port`, `[v6]:port`, `[v6%interface]:port` or `name:port`.
    ///
    /// Every rank makes it by itself from the same text; rank 0 listens at that address. The key comes from the text,
    /// so it keeps mix-ups out but is no secret.
    ///
    /// # Errors
    /// `InvalidArgument` for another form or a name that cannot be resolved.
    pub fn from_comm_id(text: &str) -> Result<Self> {
        let text = text.trim();
        let addresses = resolve(text)?;
        let key = Key::from_bytes(blake3::derive_key("mccl comm id", text.as_bytes()));
        let service =
            u64::from_le_bytes(*key.derive("service", &[]).to_bytes().first_chunk().expect("32 bytes"));
        Ok(Self { kind: Kind::CommId, key, service, addresses })
    }

    pub fn to_bytes(&self) -> [u8; Self::BYTES] {
        let head = Writer::new().raw(&MAGIC).u8(VERSION).u8(self.kind as u8);
        let head =
            head.u8(self.addresses.len() as u8).u8(0).u32(0).raw(&self.key.to_bytes()).u64(self.service);
        let all = self.addresses.iter().fold(head, |writer, address| writer.address(*address));
        let mut bytes = [0; Self::BYTES];
        let fields = all.finish();
        bytes[..fields.len()].copy_from_slice(&fields);
        let sum = checksum(&bytes);
        bytes[CHECKSUM_AT..CHECKSUM_AT + 4].copy_from_slice(&sum);
        bytes
    }

    /// # Errors
    /// `InvalidArgument` when the bytes are not an id: not filled in, cut off (an id is not a string), altered.
    pub fn from_bytes(bytes: &[u8; Self::BYTES]) -> Result<Self> {
        if bytes.iter().all(|byte| *byte == 0) {
            bail!(
                InvalidArgument,
                "unique id: all bytes are zero; it was never filled in or not sent to this rank"
            );
        }
        if bytes[..4] != MAGIC {
            bail!(InvalidArgument, "unique id: these 128 bytes are not an id made by this library");
        }
        if bytes[4] != VERSION {
            bail!(
                InvalidArgument,
                "unique id: made by another version (format {}, here {VERSION})",
                bytes[4]
            );
        }
        if bytes[CHECKSUM_AT..CHECKSUM_AT + 4] != checksum(bytes) {
            bail!(
                InvalidArgument,
                "unique id: damaged; all 128 bytes must be passed on, as they are not a string"
            );
        }
        Self::parse(bytes).map_err(|error| err!(InvalidArgument, "unique id: {}", error.message))
    }

    pub fn kind(&self) -> Kind {
        self.kind
    }

    pub fn key(&self) -> &Key {
        &self.key
    }

    pub fn addresses(&self) -> &[SocketAddr] {
        &self.addresses
    }

    pub(super) fn service(&self) -> u64 {
        self.service
    }

    fn parse(bytes: &[u8; Self::BYTES]) -> Result<Self> {
        let mut reader = Reader::new(&bytes[5..]);
        let kind = match reader.u8()? {
            0 => Kind::Root,
            1 => Kind::CommId,
            other => bail!(InvalidArgument, "kind {other} is unknown (0 or 1)"),
        };
        let count = usize::from(reader.u8()?);
        if count > MAX_ADDRESSES {
            bail!(InvalidArgument, "{count} addresses are too many (0 to {MAX_ADDRESSES})");
        }
        reader.raw(5)?;
        let key = Key::from_bytes(reader.array()?);
        let service = reader.u64()?;
        let addresses = (0..count).map(|_| reader.address()).collect::<Result<_>>()?;
        Ok(Self { kind, key, service, addresses })
    }
}

impl fmt::Debug for UniqueId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("UniqueId")
            .field("kind", &self.kind)
            .field("addresses", &self.addresses)
            .finish_non_exhaustive()
    }
}

/// Of all bytes but its own four.
fn checksum(bytes: &[u8; UniqueId::BYTES]) -> [u8; 4] {
    let mut hasher = blake3::Hasher::new();
    hasher.update(&bytes[..CHECKSUM_AT]).update(&bytes[CHECKSUM_AT + 4..]);
    *hasher.finalize().as_bytes().first_chunk().expect("32 bytes")
}

/// Makes altered bytes pass as whole again.
#[cfg(test)]
pub(super) fn rechecksum(bytes: &mut [u8; UniqueId::BYTES]) {
    let sum = checksum(bytes);
    bytes[CHECKSUM_AT..CHECKSUM_AT + 4].copy_from_slice(&sum);
}

fn resolve(text: &str) -> Result<Vec<SocketAddr>> {
    let malformed = || {
        err!(
            InvalidArgument,
            "Invalid MCCL_COMM_ID \"{text}\", please use format: <ipv4>:<port> or [<ipv6>]:<port> or <hostname>:<port>"
        )
    };
    let (host, port) = text.rsplit_once(':').ok_or_else(malformed)?;
    let port: u16 = port.parse().ok().filter(|port| *port != 0).ok_or_else(malformed)?;
    if let Some(inside) = host.strip_prefix('[').and_then(|rest| rest.strip_suffix(']')) {
        // The interface after `%` differs from host to host; each rank tries its own ones for a link-local address.
        let ip = inside.split_once('%').map_or(inside, |(ip, _)| ip);
        let ip: IpAddr = ip.parse().ok().filter(IpAddr::is_ipv6).ok_or_else(malformed)?;
        return Ok(vec![SocketAddr::new(ip, port)]);
    }
    if host.is_empty() || host.contains([':', '[', ']', ' ']) {
        return Err(malformed());
    }
    let found = (host, port).to_socket_addrs().map_err(|error| {
        err!(InvalidArgument, "MCCL_COMM_ID \"{text}\": cannot resolve \"{host}\": {error}")
    })?;
    let mut addresses: Vec<SocketAddr> = Vec::new();
    for address in found {
        if addresses.len() < MAX_ADDRESSES && !addresses.contains(&address) {
            addresses.push(address);
        }
    }
    Ok(addresses)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn sample() -> UniqueId {
        UniqueId {
            kind: Kind::Root,
            key: Key::random().unwrap(),
            service: 77,
            addresses: vec!["10.0.0.1:4000".parse().unwrap(), "[fd00::1]:4001".parse().unwrap()],
        }
    }

    #[test]
    fn an_id_is_128_bytes_and_survives_the_trip() {
        assert_eq!(UniqueId::BYTES, 128);
        let id = sample();
        assert_eq!(UniqueId::from_bytes(&id.to_bytes()).unwrap(), id);
    }

    #[test]
    fn zeros_garbage_and_damage_are_told_apart() {
        let refuse = |bytes: &[u8; 128]| {
            let error = UniqueId::from_bytes(bytes).unwrap_err();
            assert_eq!(error.kind, ErrorKind::InvalidArgument);
            error.message
        };
        assert!(refuse(&[0; 128]).contains("all bytes are zero"));
        assert!(refuse(&[0xa5; 128]).contains("not an id"));
        let good = sample().to_bytes();
        for at in [5, 6, 8, 20, 60, 127] {
            let mut bad = good;
            bad[at] ^= 1;
            assert!(refuse(&bad).contains("damaged"), "byte {at}");
        }
        let mut other = good;
        other[4] = 9;
        assert!(refuse(&other).contains("another version"));
    }

    #[test]
    fn comm_id_texts_are_parsed_and_bad_ones_are_named() {
        let of = |text: &str| UniqueId::from_comm_id(text).map(|id| id.addresses);
        assert_eq!(of("10.1.2.3:99").unwrap(), ["10.1.2.3:99".parse().unwrap()]);
        assert_eq!(of("[fd00::1]:99").unwrap(), ["[fd00::1]:99".parse().unwrap()]);
        assert_eq!(of("[fe80::1%eth0]:99").unwrap(), ["[fe80::1]:99".parse().unwrap()]);
        assert!(of("localhost:99").unwrap().iter().all(|address| address.ip().is_loopback()));
        for bad in
            ["", "10.1.2.3", "10.1.2.3:", ":99", "10.1.2.3:0", "10.1.2.3:66000", "fd00::1:99", "[10.0.0.1]:9"]
        {
            let error = of(bad).unwrap_err();
            assert_eq!(error.kind, ErrorKind::InvalidArgument);
            assert!(error.message.contains("please use format"), "{bad}: {error}");
        }
    }

    #[test]
    fn equal_comm_id_texts_make_equal_ids() {
        let of = |text| UniqueId::from_comm_id(text).unwrap();
        assert_eq!(of("10.1.2.3:99"), of(" 10.1.2.3:99"));
        assert_ne!(of("10.1.2.3:99").key, of("10.1.2.3:98").key);
    }
}
