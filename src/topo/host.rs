//! Which ranks are on the same host, that is: can share memory and meet by abstract Unix sockets.
use std::fmt;

use crate::base::{Error, Result};
use crate::sys::host::{self, Namespace};

/// Identity of a host; ranks with equal ids are on the same one.
///
/// It is a hash of the boot id and of the UTS and network namespaces, never of the host name alone: cloned machines
/// share names, and containers that share a boot may be unable to reach each other but by the network. So ranks in
/// different network namespaces count as different hosts.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct HostId([u8; 16]);

impl HostId {
    pub const BYTES: usize = 16;

    /// The id of this host. `override_by` is the value of `MCCL_HOSTID`; set and not empty, it alone decides.
    ///
    /// # Errors
    /// `System` when `/proc` does not tell the boot id or the namespaces.
    pub fn detect(override_by: Option<&str>) -> Result<Self> {
        if let Some(text) = override_by.filter(|text| !text.is_empty()) {
            return Ok(Self::of("given", &[text]));
        }
        let boot = host::boot_id().map_err(|error| Error::system("host identity: boot id", &error))?;
        let namespace = |kind| {
            host::namespace(kind)
                .map_err(|error| Error::system(format!("host identity: {kind:?} namespace"), &error))
        };
        Ok(Self::of("found", &[&boot, &namespace(Namespace::Uts)?, &namespace(Namespace::Net)?]))
    }

    pub fn to_bytes(self) -> [u8; Self::BYTES] {
        self.0
    }

    pub fn from_bytes(bytes: [u8; Self::BYTES]) -> Self {
        Self(bytes)
    }

    fn of(label: &str, parts: &[&str]) -> Self {
        let mut hasher = blake3::Hasher::new_derive_key("mccl host identity");
        for part in [label].iter().chain(parts) {
            hasher.update(&(part.len() as u64).to_le_bytes()).update(part.as_bytes());
        }
        let mut id = [0; Self::BYTES];
        hasher.finalize_xof().fill(&mut id);
        Self(id)
    }
}

impl fmt::Display for HostId {
    /// The first eight bytes in hexadecimal, enough for a log line.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0[..8].iter().try_for_each(|byte| write!(f, "{byte:02x}"))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn this_host_is_itself() {
        assert_eq!(HostId::detect(None).unwrap(), HostId::detect(None).unwrap());
        assert_eq!(HostId::detect(Some("")).unwrap(), HostId::detect(None).unwrap());
    }

    #[test]
    fn an_override_alone_decides() {
        let [a, b] = ["node-a", "node-b"].map(|name| HostId::detect(Some(name)).unwrap());
        assert_ne!(a, b);
        assert_eq!(a, HostId::detect(Some("node-a")).unwrap());
        assert_ne!(a, HostId::detect(None).unwrap());
    }

    #[test]
    fn every_part_counts_and_parts_do_not_run_together() {
        let base = HostId::of("found", &["boot", "uts", "net"]);
        assert_ne!(base, HostId::of("found", &["boot", "uts", "net2"]));
        assert_ne!(base, HostId::of("found", &["boot", "uts2", "net"]));
        assert_ne!(base, HostId::of("found", &["boo", "tuts", "net"]));
    }
}
