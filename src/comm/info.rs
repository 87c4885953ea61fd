//! What a rank tells the others about itself when they meet.
use std::net::SocketAddr;
use std::sync::OnceLock;

use crate::base::{Error, Result};
use crate::bootstrap::wire::{Reader, Writer};
use crate::err;
use crate::sys;
use crate::topo::HostId;

/// Words of a processor mask: 1024 processors.
const CPU_WORDS: usize = 16;
/// Addresses per rank at most.
const MAX_ADDRESSES: usize = 4;
const MAX_BUS_ID: usize = 64;

/// Random bytes that no two processes share.
pub type Token = [u8; 16];

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RankInfo {
    pub version: i32,
    pub host: [u8; HostId::BYTES],
    pub process: Token,
    pub pid: u32,
    /// Hash of the pid namespace: process numbers mean the same only inside one.
    pub pid_space: u64,
    pub device: i32,
    pub bus_id: String,
    pub cpus: [u64; CPU_WORDS],
    /// Where this rank's process keeps a copy of its token, for peers to try reading it.
    pub probe: u64,
    /// Exported memory: descriptor in this process (or -1), length, and where in it a copy of the token stands.
    pub export_fd: i32,
    pub export_len: u64,
    pub export_probe: u64,
    /// No direct access to peers' memory, no shared memory at all.
    pub no_direct: bool,
    pub no_shm: bool,
    pub piece_bytes: u64,
    /// Hash of the settings that all ranks must share.
    pub settings: u64,
    pub addresses: Vec<SocketAddr>,
}

impl RankInfo {
    pub fn encode(&self) -> Vec<u8> {
        let flags = u8::from(self.no_direct) | u8::from(self.no_shm) << 1;
        let mut w = Writer::new()
            .u32(self.version as u32)
            .raw(&self.host)
            .raw(&self.process)
            .u32(self.pid)
            .u64(self.pid_space)
            .u32(self.device as u32)
            .bytes(self.bus_id.as_bytes());
        for word in self.cpus {
            w = w.u64(word);
        }
        w = w
            .u64(self.probe)
            .u32(self.export_fd as u32)
            .u64(self.export_len)
            .u64(self.export_probe)
            .u8(flags)
            .u64(self.piece_bytes)
            .u64(self.settings)
            .u8(self.addresses.len().min(MAX_ADDRESSES) as u8);
        for address in self.addresses.iter().take(MAX_ADDRESSES) {
            w = w.address(*address);
        }
        w.finish()
    }

    pub fn decode(bytes: &[u8]) -> Result<Self> {
        let mut r = Reader::new(bytes);
        let version = r.u32()? as i32;
        let (host, process) = (r.array()?, r.array()?);
        let (pid, pid_space, device) = (r.u32()?, r.u64()?, r.u32()? as i32);
        let bus_id = String::from_utf8_lossy(r.bytes(MAX_BUS_ID)?).into_owned();
        let mut cpus = [0; CPU_WORDS];
        for word in &mut cpus {
            *word = r.u64()?;
        }
        let probe = r.u64()?;
        let (export_fd, export_len, export_probe) = (r.u32()? as i32, r.u64()?, r.u64()?);
        let flags = r.u8()?;
        let (piece_bytes, settings) = (r.u64()?, r.u64()?);
        let mut addresses = Vec::new();
        for _ in 0..(r.u8()? as usize).min(MAX_ADDRESSES) {
            addresses.push(r.address()?);
        }
        r.finish()?;
        Ok(Self {
            version,
            host,
            process,
            pid,
            pid_space,
            device,
            bus_id,
            cpus,
            probe,
            export_fd,
            export_len,
            export_probe,
            no_direct: flags & 1 != 0,
            no_shm: flags & 2 != 0,
            piece_bytes,
            settings,
            addresses,
        })
    }
}

/// This process's token; its address is what peers probe.
pub fn process_token() -> Result<&'static Token> {
    static TOKEN: OnceLock<std::result::Result<Token, Error>> = OnceLock::new();
    let token = TOKEN.get_or_init(|| sys::random::bytes().map_err(|e| Error::system("random bytes", &e)));
    token.as_ref().map_err(Clone::clone)
}

/// Hash of this process's pid namespace; 0 when it is not known.
pub fn pid_space() -> u64 {
    let name = sys::host::namespace(sys::host::Namespace::Pid).unwrap_or_default();
    hash(name.as_bytes())
}

/// First eight bytes of a hash; 0 for nothing.
pub fn hash(bytes: &[u8]) -> u64 {
    if bytes.is_empty() {
        return 0;
    }
    let hash = blake3::hash(bytes);
    u64::from_le_bytes(hash.as_bytes()[..8].try_into().unwrap_or_default())
}

/// Processors that any of the ranks may run on.
pub fn cores<'a>(infos: impl Iterator<Item = &'a RankInfo>) -> usize {
    let mut union = [0u64; CPU_WORDS];
    for info in infos {
        union.iter_mut().zip(info.cpus).for_each(|(all, word)| *all |= word);
    }
    union.iter().map(|word| word.count_ones() as usize).sum::<usize>().max(1)
}

/// Every rank speaks the same version and has the settings that must agree.
pub fn check_alike(infos: &[RankInfo], me: usize) -> Result<()> {
    for (rank, info) in infos.iter().enumerate() {
        if info.version != infos[me].version {
            return Err(err!(
                InvalidUsage,
                "mismatched MCCL version: rank {rank} version {}, rank {me} version {}",
                info.version,
                infos[me].version
            ));
        }
        if info.settings != infos[me].settings {
            return Err(err!(
                InvalidUsage,
                "MCCL_ALGO or MCCL_PROTO of rank {rank} differs from that of rank {me}: all ranks must be started with the same"
            ));
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn sample() -> RankInfo {
        RankInfo {
            version: 22809,
            host: [3; HostId::BYTES],
            process: [9; 16],
            pid: 77,
            pid_space: 5,
            device: 2,
            bus_id: "0000:0d:00.0".into(),
            cpus: [0b101; CPU_WORDS],
            probe: 0x1000,
            export_fd: -1,
            export_len: 1 << 40,
            export_probe: 4096,
            no_direct: true,
            no_shm: false,
            piece_bytes: 131072,
            settings: 1,
            addresses: vec!["127.0.0.1:9".parse().unwrap(), "[::1]:10".parse().unwrap()],
        }
    }

    #[test]
    fn what_is_encoded_is_decoded() {
        assert_eq!(RankInfo::decode(&sample().encode()).unwrap(), sample());
    }

    #[test]
    fn a_truncated_description_is_an_error_at_every_length() {
        let bytes = sample().encode();
        assert!((0..bytes.len()).all(|len| RankInfo::decode(&bytes[..len]).is_err()));
    }

    #[test]
    fn processors_are_counted_once() {
        assert_eq!(cores([sample(), sample()].iter()), 2 * CPU_WORDS);
    }

    #[test]
    fn a_rank_with_other_settings_is_named() {
        let mut other = sample();
        other.settings = 2;
        let error = check_alike(&[sample(), other], 0).unwrap_err();
        assert!(error.message.contains("rank 1"), "{error}");
    }
}
