//! Which network interfaces to use: the grammar of `MCCL_SOCKET_IFNAME` and the default order.
use std::net::{IpAddr, SocketAddr, SocketAddrV6};

use crate::bail;
use crate::base::{Error, Result};
use crate::sys::interfaces::{self, InterfaceAddress};

/// Interfaces used at most.
pub const MAX_INTERFACES: usize = 16;

/// What the user says about networks.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Settings {
    /// `MCCL_SOCKET_IFNAME`: `[^][=]name[,name…]`. Names are prefixes, whole names after `=`; `^` excludes them.
    /// None or empty chooses by itself.
    pub ifname: Option<String>,
    /// `MCCL_SOCKET_FAMILY`.
    pub family: Family,
    /// The address in `MCCL_COMM_ID`: interfaces of its subnet come before other ones.
    pub near: Option<IpAddr>,
}

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Family {
    #[default]
    Any,
    V4,
    V6,
}

/// An interface and the one address of it that we use.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Interface {
    pub name: String,
    pub address: IpAddr,
    /// Index of the interface when the address is link-local, else 0.
    pub scope: u32,
}

impl Interface {
    pub fn socket_address(&self, port: u16) -> SocketAddr {
        match self.address {
            IpAddr::V4(ip) => SocketAddr::new(ip.into(), port),
            IpAddr::V6(ip) => SocketAddrV6::new(ip, port, 0, self.scope).into(),
        }
    }
}

/// The interfaces to use on this host, best first, at most [`MAX_INTERFACES`].
///
/// # Errors
/// `InvalidUsage` when none is left; the message names the setting and what there is.
pub fn interfaces(settings: &Settings) -> Result<Vec<Interface>> {
    let all = interfaces::list().map_err(|error| Error::system("list of network interfaces", &error))?;
    let chosen = choose(&all, settings);
    if chosen.is_empty() {
        bail!(InvalidUsage, "{}", nothing_found(&all, settings));
    }
    Ok(chosen)
}

/// The choice itself, among `all` interfaces of a host.
///
/// Without names, the first of these groups with a usable interface: `ib*`; those on the subnet of
/// `settings.near`; all but `docker*`, `lo*` and `virbr*`; `docker*`; `lo*`; `virbr*`. Usable means up and running.
/// Link-local IPv6 addresses (tunnels have nothing else) and `::1` count only when there is no other address at all.
pub fn choose(all: &[InterfaceAddress], settings: &Settings) -> Vec<Interface> {
    let usable: Vec<&InterfaceAddress> =
        all.iter().filter(|entry| entry.usable && of_family(entry, settings.family)).collect();
    let groups = groups(settings);
    [false, true]
        .iter()
        .flat_map(|narrow| groups.iter().map(move |group| (*narrow, group)))
        .map(|(narrow, group)| one_each(&usable, |entry| (narrow || !is_narrow(entry)) && group(entry)))
        .find(|found| !found.is_empty())
        .unwrap_or_default()
}

type Group<'a> = Box<dyn Fn(&InterfaceAddress) -> bool + 'a>;

fn groups(settings: &Settings) -> Vec<Group<'_>> {
    if let Some(names) = settings.ifname.as_deref().and_then(Names::parse) {
        return vec![Box::new(move |entry| names.admits(&entry.name))];
    }
    fn starts<'a>(prefix: &'a str) -> Group<'a> {
        Box::new(move |entry| entry.name.starts_with(prefix))
    }
    let last = ["docker", "lo", "virbr"];
    let mut groups = vec![starts("ib")];
    if let Some(near) = settings.near {
        groups.push(Box::new(move |entry| same_subnet(entry, near)));
    }
    groups.push(Box::new(move |entry| !last.iter().any(|prefix| entry.name.starts_with(prefix))));
    groups.extend(last.map(starts));
    groups
}

/// `[^][=]name[,name…]`.
struct Names<'a> {
    exclude: bool,
    exact: bool,
    names: Vec<&'a str>,
}

impl<'a> Names<'a> {
    fn parse(text: &'a str) -> Option<Self> {
        let rest = text.trim();
        let (exclude, rest) = rest.strip_prefix('^').map_or((false, rest), |rest| (true, rest));
        let (exact, rest) = rest.strip_prefix('=').map_or((false, rest), |rest| (true, rest));
        let names: Vec<&str> = rest.split(',').map(str::trim).filter(|name| !name.is_empty()).collect();
        (!names.is_empty()).then_some(Self { exclude, exact, names })
    }

    fn admits(&self, name: &str) -> bool {
        let named = self.names.iter().any(|n| if self.exact { name == *n } else { name.starts_with(n) });
        named != self.exclude
    }
}

/// The best address of each interface that passes, in the order of first appearance.
fn one_each(usable: &[&InterfaceAddress], pass: impl Fn(&InterfaceAddress) -> bool) -> Vec<Interface> {
    let mut found: Vec<&InterfaceAddress> = Vec::new();
    for entry in usable.iter().filter(|entry| pass(entry)) {
        match found.iter_mut().find(|other| other.name == entry.name) {
            Some(other) if preference(entry) < preference(other) => *other = entry,
            Some(_) => {}
            None => found.push(entry),
        }
    }
    let interface = |entry: &InterfaceAddress| Interface {
        name: entry.name.clone(),
        address: entry.address,
        scope: entry.scope,
    };
    found.into_iter().take(MAX_INTERFACES).map(interface).collect()
}

fn preference(entry: &InterfaceAddress) -> u8 {
    match entry.address {
        IpAddr::V4(_) => 0,
        IpAddr::V6(_) if !is_narrow(entry) => 1,
        IpAddr::V6(_) => 2,
    }
}

fn is_narrow(entry: &InterfaceAddress) -> bool {
    match entry.address {
        IpAddr::V4(_) => false,
        IpAddr::V6(ip) => ip.is_loopback() || ip.is_unicast_link_local(),
    }
}

fn of_family(entry: &InterfaceAddress, family: Family) -> bool {
    match family {
        Family::Any => true,
        Family::V4 => entry.address.is_ipv4(),
        Family::V6 => entry.address.is_ipv6(),
    }
}

fn same_subnet(entry: &InterfaceAddress, near: IpAddr) -> bool {
    let differing = match (entry.address, near) {
        (IpAddr::V4(a), IpAddr::V4(b)) => (a.to_bits() ^ b.to_bits()).leading_zeros(),
        (IpAddr::V6(a), IpAddr::V6(b)) => (a.to_bits() ^ b.to_bits()).leading_zeros(),
        _ => return false,
    };
    entry.prefix_len > 0 && differing >= u32::from(entry.prefix_len)
}

fn nothing_found(all: &[InterfaceAddress], settings: &Settings) -> String {
    let mut asked = Vec::new();
    if let Some(names) = &settings.ifname {
        asked.push(format!("MCCL_SOCKET_IFNAME is \"{names}\""));
    }
    match settings.family {
        Family::Any => {}
        Family::V4 => asked.push("MCCL_SOCKET_FAMILY is AF_INET".to_string()),
        Family::V6 => asked.push("MCCL_SOCKET_FAMILY is AF_INET6".to_string()),
    }
    let there: Vec<String> = all
        .iter()
        .map(|e| format!("{} ({}{})", e.name, e.address, if e.usable { "" } else { ", down" }))
        .collect();
    let there = if there.is_empty() { "none".to_string() } else { there.join(", ") };
    let asked = if asked.is_empty() { String::new() } else { format!("{}; ", asked.join(" and ")) };
    format!("no socket interface found: {asked}available: {there}")
}

#[cfg(test)]
mod tests {
    use super::*;

    fn entry(name: &str, address: &str, prefix_len: u8) -> InterfaceAddress {
        let address: IpAddr = address.parse().unwrap();
        let scope = u32::from(matches!(address, IpAddr::V6(ip) if ip.is_unicast_link_local()));
        InterfaceAddress {
            name: name.into(),
            address,
            prefix_len,
            scope,
            usable: true,
            loopback: name.starts_with("lo"),
        }
    }

    fn host() -> Vec<InterfaceAddress> {
        let mut down = entry("eth2", "10.2.0.1", 16);
        down.usable = false;
        vec![
            entry("lo", "127.0.0.1", 8),
            entry("eth0", "10.0.0.1", 16),
            entry("eth1", "10.1.0.1", 16),
            entry("eth10", "10.10.0.1", 16),
            down,
            entry("docker0", "172.17.0.1", 16),
            entry("virbr0", "192.168.122.1", 24),
            entry("lo", "::1", 128),
            entry("ip6tnl0", "fe80::1", 64),
            entry("eth0", "fe80::2", 64),
            entry("eth0", "2001:db8::1", 64),
            entry("v6only", "fd00::7", 64),
        ]
    }

    fn names(settings: &Settings, all: &[InterfaceAddress]) -> Vec<String> {
        choose(all, settings).iter().map(|chosen| format!("{} {}", chosen.name, chosen.address)).collect()
    }

    fn named(text: &str) -> Settings {
        Settings { ifname: Some(text.into()), ..Settings::default() }
    }

    #[test]
    fn names_are_prefixes_exact_or_excluded() {
        let table: &[(&str, &[&str])] = &[
            ("eth1", &["eth1 10.1.0.1", "eth10 10.10.0.1"]),
            ("=eth1", &["eth1 10.1.0.1"]),
            ("=eth1,eth0", &["eth0 10.0.0.1", "eth1 10.1.0.1"]),
            ("eth2", &[]),
            ("lo", &["lo 127.0.0.1"]),
            ("^eth,docker,virbr,lo", &["v6only fd00::7"]),
            (
                "^=eth1,lo",
                &[
                    "eth0 10.0.0.1",
                    "eth10 10.10.0.1",
                    "docker0 172.17.0.1",
                    "virbr0 192.168.122.1",
                    "v6only fd00::7",
                ],
            ),
            ("ip6tnl0", &["ip6tnl0 fe80::1"]),
            ("nothing", &[]),
            (" eth0 , ", &["eth0 10.0.0.1"]),
        ];
        for (text, expected) in table {
            assert_eq!(names(&named(text), &host()), *expected, "{text}");
        }
    }

    #[test]
    fn the_default_order_prefers_real_networks() {
        let auto = Settings::default();
        let real = ["eth0 10.0.0.1", "eth1 10.1.0.1", "eth10 10.10.0.1", "v6only fd00::7"];
        assert_eq!(names(&auto, &host()), real);
        assert_eq!(names(&named(""), &host()), real);
        let mut with_ib = host();
        with_ib.push(entry("ib0", "10.9.0.1", 16));
        assert_eq!(names(&auto, &with_ib), ["ib0 10.9.0.1"]);
        let only = |prefixes: &[&str]| -> Vec<InterfaceAddress> {
            host().into_iter().filter(|e| prefixes.iter().any(|p| e.name.starts_with(p))).collect()
        };
        assert_eq!(names(&auto, &only(&["docker", "lo", "virbr"])), ["docker0 172.17.0.1"]);
        assert_eq!(names(&auto, &only(&["lo", "virbr"])), ["lo 127.0.0.1"]);
        assert_eq!(names(&auto, &only(&["virbr"])), ["virbr0 192.168.122.1"]);
        assert_eq!(names(&auto, &only(&["ip6", "lo"])), ["lo 127.0.0.1"]);
        assert_eq!(names(&auto, &only(&["ip6"])), ["ip6tnl0 fe80::1"]);
        assert!(names(&auto, &[]).is_empty());
    }

    #[test]
    fn the_subnet_of_the_comm_id_comes_before_other_networks() {
        let near = |text: &str| Settings { near: Some(text.parse().unwrap()), ..Settings::default() };
        assert_eq!(names(&near("10.1.77.3"), &host()), ["eth1 10.1.0.1"]);
        assert_eq!(names(&near("2001:db8::99"), &host()), ["eth0 2001:db8::1"]);
        assert_eq!(names(&near("8.8.8.8"), &host()).len(), 4);
    }

    #[test]
    fn a_family_limits_the_addresses() {
        let of = |family| Settings { family, ..Settings::default() };
        assert_eq!(names(&of(Family::V6), &host()), ["eth0 2001:db8::1", "v6only fd00::7"]);
        assert_eq!(names(&of(Family::V4), &host()).len(), 3);
    }

    #[test]
    fn an_empty_choice_names_the_setting_and_what_there_is() {
        let text = nothing_found(&host(), &named("ens7"));
        assert!(text.starts_with("no socket interface found: MCCL_SOCKET_IFNAME is \"ens7\""), "{text}");
        assert!(text.contains("eth2 (10.2.0.1, down)"), "{text}");
    }
}
