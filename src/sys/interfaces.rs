//! The network interfaces of this network namespace and their addresses.
use std::ffi::CStr;
use std::io;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};
use std::ptr;

/// One address of one interface.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct InterfaceAddress {
    pub name: String,
    pub address: IpAddr,
    /// Bits of the subnet mask.
    pub prefix_len: u8,
    /// Index of the interface when `address` is an IPv6 link-local one, else 0.
    pub scope: u32,
    /// Up and running.
    pub usable: bool,
    pub loopback: bool,
}

/// Every IPv4 and IPv6 address of every interface, in the kernel's order.
pub fn list() -> io::Result<Vec<InterfaceAddress>> {
    let mut head: *mut libc::ifaddrs = ptr::null_mut();
    // SAFETY: getifaddrs writes the head of a list that we free below, exactly once.
    if unsafe { libc::getifaddrs(&raw mut head) } != 0 {
        return Err(io::Error::last_os_error());
    }
    let mut found = Vec::new();
    let mut entry = head;
    while !entry.is_null() {
        // SAFETY: `entry` is a live node of the list, which is freed only after the loop.
        let node = unsafe { &*entry };
        found.extend(parse(node));
        entry = node.ifa_next;
    }
    // SAFETY: `head` came from getifaddrs and nothing refers to the list any more.
    unsafe { libc::freeifaddrs(head) };
    Ok(found)
}

fn parse(node: &libc::ifaddrs) -> Option<InterfaceAddress> {
    let (address, scope) = ip_of(node.ifa_addr)?;
    let up = (libc::IFF_UP | libc::IFF_RUNNING) as u32;
    // SAFETY: getifaddrs gives every entry a name, a C string that lives as long as the list.
    let name = unsafe { CStr::from_ptr(node.ifa_name) };
    Some(InterfaceAddress {
        name: name.to_string_lossy().into_owned(),
        address,
        prefix_len: ip_of(node.ifa_netmask).map_or(0, |(mask, _)| ones(mask)),
        scope,
        usable: node.ifa_flags & up == up,
        loopback: node.ifa_flags & libc::IFF_LOOPBACK as u32 != 0,
    })
}

fn ones(mask: IpAddr) -> u8 {
    match mask {
        IpAddr::V4(mask) => mask.to_bits().count_ones() as u8,
        IpAddr::V6(mask) => mask.to_bits().count_ones() as u8,
    }
}

/// The address and scope in a socket address of the kernel's list; None for other families.
fn ip_of(sockaddr: *const libc::sockaddr) -> Option<(IpAddr, u32)> {
    if sockaddr.is_null() {
        return None;
    }
    // SAFETY: a non-null entry of the list points to a whole socket address of the family it names.
    unsafe {
        match i32::from((*sockaddr).sa_family) {
            libc::AF_INET => {
                let v4 = &*sockaddr.cast::<libc::sockaddr_in>();
                Some((Ipv4Addr::from(u32::from_be(v4.sin_addr.s_addr)).into(), 0))
            }
            libc::AF_INET6 => {
                let v6 = &*sockaddr.cast::<libc::sockaddr_in6>();
                Some((Ipv6Addr::from(v6.sin6_addr.s6_addr).into(), v6.sin6_scope_id))
            }
            _ => None,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_listed_address_has_a_name_and_loopback_is_flagged() {
        let all = list().unwrap();
        assert!(all.iter().all(|entry| !entry.name.is_empty()));
        for entry in all.iter().filter(|entry| entry.address == IpAddr::from([127, 0, 0, 1])) {
            assert!(entry.loopback, "{entry:?}");
            assert_eq!(entry.prefix_len, 8);
        }
    }
}
