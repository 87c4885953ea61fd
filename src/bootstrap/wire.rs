//! Little-endian fields in a row: writing them, and reading them back from bytes that nobody vouches for.
use std::net::{IpAddr, Ipv6Addr, SocketAddr};

use crate::bail;
use crate::base::Result;

/// Appends fields to a byte vector.
#[derive(Debug, Default)]
pub struct Writer(Vec<u8>);

impl Writer {
    pub fn new() -> Self {
        Self::default()
    }

    pub fn u8(mut self, value: u8) -> Self {
        self.0.push(value);
        self
    }

    pub fn u16(mut self, value: u16) -> Self {
        self.0.extend(value.to_le_bytes());
        self
    }

    pub fn u32(mut self, value: u32) -> Self {
        self.0.extend(value.to_le_bytes());
        self
    }

    pub fn u64(mut self, value: u64) -> Self {
        self.0.extend(value.to_le_bytes());
        self
    }

    /// Bytes whose number the reader knows.
    pub fn raw(mut self, bytes: &[u8]) -> Self {
        self.0.extend(bytes);
        self
    }

    /// Bytes behind their number (32 bits).
    ///
    /// # Panics
    /// When there are 4 GiB or more.
    pub fn bytes(self, bytes: &[u8]) -> Self {
        let len = u32::try_from(bytes.len()).expect("a field has less than 4 GiB");
        self.u32(len).raw(bytes)
    }

    /// An address and port in 19 bytes. The scope of a link-local address is left out: it means nothing elsewhere.
    pub fn address(self, address: SocketAddr) -> Self {
        let (family, ip) = match address.ip() {
            IpAddr::V4(ip) => (4, ip.to_ipv6_mapped()),
            IpAddr::V6(ip) => (6, ip),
        };
        self.u8(family).u16(address.port()).raw(&ip.octets())
    }

    pub fn finish(self) -> Vec<u8> {
        self.0
    }
}

/// Takes fields off the front of a byte slice; every method fails when too few bytes are left.
#[derive(Debug)]
pub struct Reader<'a>(&'a [u8]);

impl<'a> Reader<'a> {
    pub fn new(bytes: &'a [u8]) -> Self {
        Self(bytes)
    }

    pub fn u8(&mut self) -> Result<u8> {
        Ok(self.array::<1>()?[0])
    }

    pub fn u16(&mut self) -> Result<u16> {
        Ok(u16::from_le_bytes(self.array()?))
    }

    pub fn u32(&mut self) -> Result<u32> {
        Ok(u32::from_le_bytes(self.array()?))
    }

    pub fn u64(&mut self) -> Result<u64> {
        Ok(u64::from_le_bytes(self.array()?))
    }

    pub fn array<const N: usize>(&mut self) -> Result<[u8; N]> {
        let mut out = [0; N];
        out.copy_from_slice(self.raw(N)?);
        Ok(out)
    }

    pub fn raw(&mut self, len: usize) -> Result<&'a [u8]> {
        let Some((taken, rest)) = self.0.split_at_checked(len) else {
            bail!(Remote, "message: a field of {len} bytes is cut off, {} bytes are left", self.0.len());
        };
        self.0 = rest;
        Ok(taken)
    }

    /// Bytes behind their number, which may be `max` at most.
    pub fn bytes(&mut self, max: usize) -> Result<&'a [u8]> {
        let len = self.u32()? as usize;
        if len > max {
            bail!(Remote, "message: a field of {len} bytes is too long (0 to {max})");
        }
        self.raw(len)
    }

    pub fn address(&mut self) -> Result<SocketAddr> {
        let (family, port) = (self.u8()?, self.u16()?);
        let ip = Ipv6Addr::from(self.array::<16>()?);
        let ip = match (family, ip.to_ipv4_mapped()) {
            (4, Some(ip)) => IpAddr::V4(ip),
            (6, _) => IpAddr::V6(ip),
            _ => bail!(Remote, "message: {family} is not an address family (4 or 6)"),
        };
        Ok(SocketAddr::new(ip, port))
    }

    pub fn remaining(&self) -> usize {
        self.0.len()
    }

    /// Fails when bytes are left over.
    pub fn finish(self) -> Result<()> {
        if !self.0.is_empty() {
            bail!(Remote, "message: {} bytes are left over", self.0.len());
        }
        Ok(())
    }
}

/// `[1, 2, 3, 7]` reads `ranks 1-3, 7`; `[4]` reads `rank 4`.
pub fn name_ranks(ranks: &[usize]) -> String {
    let mut runs: Vec<(usize, usize)> = Vec::new();
    for rank in ranks {
        match runs.last_mut() {
            Some((_, last)) if *last + 1 == *rank => *last = *rank,
            _ => runs.push((*rank, *rank)),
        }
    }
    let text: Vec<String> = runs
        .iter()
        .map(|(first, last)| match last - first {
            0 => format!("{first}"),
            1 => format!("{first}, {last}"),
            _ => format!("{first}-{last}"),
        })
        .collect();
    format!("{} {}", if ranks.len() == 1 { "rank" } else { "ranks" }, text.join(", "))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn fields_come_back_as_they_went_in() {
        let v4: SocketAddr = "10.1.2.3:4567".parse().unwrap();
        let v6: SocketAddr = "[fd00::1]:80".parse().unwrap();
        let bytes = Writer::new()
            .u8(1)
            .u16(2)
            .u32(3)
            .u64(4)
            .bytes(b"five")
            .address(v4)
            .address(v6)
            .raw(b"x")
            .finish();
        let mut reader = Reader::new(&bytes);
        assert_eq!(reader.u8().unwrap(), 1);
        assert_eq!(reader.u16().unwrap(), 2);
        assert_eq!(reader.u32().unwrap(), 3);
        assert_eq!(reader.u64().unwrap(), 4);
        assert_eq!(reader.bytes(4).unwrap(), b"five");
        assert_eq!(reader.address().unwrap(), v4);
        assert_eq!(reader.address().unwrap(), v6);
        assert_eq!(reader.remaining(), 1);
        assert_eq!(reader.array::<1>().unwrap(), *b"x");
        reader.finish().unwrap();
    }

    #[test]
    fn short_long_and_left_over_fields_are_errors() {
        assert!(Reader::new(&[1, 2]).u32().is_err());
        assert!(Reader::new(&[9, 0, 0, 0, 1]).bytes(64).is_err());
        let long = Writer::new().bytes(&[0; 65]).finish();
        assert!(Reader::new(&long).bytes(64).is_err());
        assert!(Reader::new(&long).finish().is_err());
        assert!(Reader::new(&[5; 19]).address().is_err());
    }

    #[test]
    fn ranks_are_named_in_runs() {
        assert_eq!(name_ranks(&[2]), "rank 2");
        assert_eq!(name_ranks(&[2, 5, 6, 7]), "ranks 2, 5-7");
        assert_eq!(name_ranks(&[0, 1]), "ranks 0, 1");
    }
}
