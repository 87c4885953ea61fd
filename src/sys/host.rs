//! What tells this host, its namespaces and its boot apart from others.
use std::fs;
use std::io;

/// The host name as `uname` says it.
pub fn name() -> String {
    rustix::system::uname().nodename().to_string_lossy().into_owned()
}

/// The kernel's random id of this boot; equal in all containers of one machine.
pub fn boot_id() -> io::Result<String> {
    Ok(fs::read_to_string("/proc/sys/kernel/random/boot_id")?.trim().to_string())
}

/// A kind of namespace, as a file in `/proc/self/ns`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Namespace {
    Uts,
    Net,
    Pid,
    Ipc,
    User,
}

/// The id of this process's namespace of that kind, such as `net:[4026531840]`.
pub fn namespace(kind: Namespace) -> io::Result<String> {
    let file = match kind {
        Namespace::Uts => "uts",
        Namespace::Net => "net",
        Namespace::Pid => "pid",
        Namespace::Ipc => "ipc",
        Namespace::User => "user",
    };
    Ok(fs::read_link(format!("/proc/self/ns/{file}"))?.to_string_lossy().into_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn this_host_has_a_name_a_boot_and_namespaces() {
        assert!(!name().is_empty());
        assert_eq!(boot_id().unwrap().len(), 36);
        assert!(namespace(Namespace::Net).unwrap().starts_with("net:["));
        assert!(namespace(Namespace::Pid).unwrap().starts_with("pid:["));
    }
}
