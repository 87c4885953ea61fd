//! Non-blocking stream sockets: TCP over IPv4 and IPv6, and Unix sockets with abstract names.
use std::fmt;
use std::io::{self, IoSlice, IoSliceMut};
use std::mem::MaybeUninit;
use std::net::SocketAddr;
use std::os::fd::{AsFd, AsRawFd, BorrowedFd, OwnedFd, RawFd};
use std::time::Duration;

use rustix::net::{
    AddressFamily, RecvAncillaryBuffer, RecvAncillaryMessage, RecvFlags, SendAncillaryBuffer,
    SendAncillaryMessage, SendFlags, SocketAddrUnix, SocketFlags, SocketType, sockopt,
};

use super::poll::Interest;

/// File descriptors that one message may carry.
pub const MAX_FDS: usize = 64;

/// The kernel lowers it to `net.core.somaxconn`.
const BACKLOG: i32 = 16_384;
/// A silent peer is probed after this time, a few times, and then counts as gone.
const KEEPALIVE_IDLE: Duration = Duration::from_secs(20);
const KEEPALIVE_INTERVAL: Duration = Duration::from_secs(5);
const KEEPALIVE_PROBES: u32 = 6;
/// Sent data that stays unacknowledged for so long breaks the connection.
const USER_TIMEOUT: Duration = Duration::from_secs(60);

/// Where a socket listens.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub enum Address {
    Tcp(SocketAddr),
    /// A name in the abstract Unix namespace, which belongs to the network namespace and leaves no file.
    Abstract(String),
}

impl fmt::Display for Address {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Tcp(address) => address.fmt(f),
            Self::Abstract(name) => write!(f, "@{name}"),
        }
    }
}

/// A listening socket. Closed on drop.
#[derive(Debug)]
pub struct Listener(OwnedFd);

impl Listener {
    /// Listens at `address`; TCP port 0 takes a free one.
    pub fn bind(address: &Address) -> io::Result<Self> {
        let fd = open(address)?;
        match address {
            Address::Tcp(address) => {
                sockopt::set_socket_reuseaddr(&fd, true)?;
                if address.is_ipv6() {
                    sockopt::set_ipv6_v6only(&fd, true)?;
                }
                rustix::net::bind(&fd, address)?;
            }
            Address::Abstract(name) => rustix::net::bind(&fd, &abstract_name(name)?)?,
        }
        rustix::net::listen(&fd, BACKLOG)?;
        Ok(Self(fd))
    }

    /// The next waiting connection, None when there is none.
    pub fn accept(&self) -> io::Result<Option<Socket>> {
        let flags = SocketFlags::CLOEXEC | SocketFlags::NONBLOCK;
        match retry(|| rustix::net::accept_with(&self.0, flags)) {
            Ok(fd) => Ok(Some(Socket(fd))),
            // The connection died in the queue; the caller asks again at the next event.
            Err(error) if error.kind() == io::ErrorKind::ConnectionAborted => Ok(None),
            Err(error) => would_block_is_none(error),
        }
    }

    /// The TCP address, None for a Unix listener.
    pub fn tcp_address(&self) -> Option<SocketAddr> {
        rustix::net::getsockname(&self.0).ok()?.try_into().ok()
    }
}

impl AsFd for Listener {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.0.as_fd()
    }
}

impl AsRawFd for Listener {
    fn as_raw_fd(&self) -> RawFd {
        self.0.as_raw_fd()
    }
}

/// A connected or connecting stream that never blocks. Closed on drop, after what was sent.
#[derive(Debug)]
pub struct Socket(OwnedFd);

impl Socket {
    /// Starts to connect. The result is known when the socket becomes writable: ask [`connected`](Self::connected).
    pub fn connect(address: &Address) -> io::Result<Self> {
        let fd = open(address)?;
        let result = match address {
            Address::Tcp(address) => rustix::net::connect(&fd, address),
            Address::Abstract(name) => rustix::net::connect(&fd, &abstract_name(name)?),
        };
        match result {
            Ok(()) | Err(rustix::io::Errno::INPROGRESS | rustix::io::Errno::INTR) => Ok(Self(fd)),
            Err(error) => Err(error.into()),
        }
    }

    /// Whether the connection stands; an error once it has failed.
    pub fn connected(&self) -> io::Result<bool> {
        if super::poll::wait(&[(self.as_fd(), Interest::Write)], Duration::ZERO)? == 0 {
            return Ok(false);
        }
        sockopt::socket_error(&self.0)??;
        Ok(true)
    }

    /// Options of a connection that lives long: no delay of small messages, dead peers are noticed.
    /// Without effect on Unix sockets.
    pub fn tune(&self) -> io::Result<()> {
        if sockopt::socket_domain(&self.0)? == AddressFamily::UNIX {
            return Ok(());
        }
        sockopt::set_tcp_nodelay(&self.0, true)?;
        sockopt::set_socket_keepalive(&self.0, true)?;
        sockopt::set_tcp_keepidle(&self.0, KEEPALIVE_IDLE)?;
        sockopt::set_tcp_keepintvl(&self.0, KEEPALIVE_INTERVAL)?;
        sockopt::set_tcp_keepcnt(&self.0, KEEPALIVE_PROBES)?;
        Ok(sockopt::set_tcp_user_timeout(&self.0, USER_TIMEOUT.as_millis() as u32)?)
    }

    /// Sets the kernel's buffer sizes in bytes; it clamps them to its limits and stops tuning them itself.
    pub fn set_buffer_sizes(&self, send: usize, receive: usize) -> io::Result<()> {
        sockopt::set_socket_send_buffer_size(&self.0, send)?;
        Ok(sockopt::set_socket_recv_buffer_size(&self.0, receive)?)
    }

    /// Sends from the front of `parts` as much as fits: the number of bytes, None when nothing fits now.
    /// A closed peer is an error (`BrokenPipe`), never a signal.
    pub fn send(&self, parts: &[IoSlice<'_>]) -> io::Result<Option<usize>> {
        self.send_with(parts, &mut SendAncillaryBuffer::default())
    }

    /// Receives into `parts` in order what is there: the number of bytes (0 at the end of the stream), None when
    /// nothing has come yet.
    pub fn receive(&self, parts: &mut [IoSliceMut<'_>]) -> io::Result<Option<usize>> {
        let mut none = RecvAncillaryBuffer::default();
        match retry(|| rustix::net::recvmsg(&self.0, parts, &mut none, RecvFlags::CMSG_CLOEXEC)) {
            Ok(message) => Ok(Some(message.bytes)),
            Err(error) => would_block_is_none(error),
        }
    }

    /// Sends one byte with copies of `fds` over a Unix socket; false when it does not fit now.
    ///
    /// # Errors
    /// `InvalidInput` for none or more than [`MAX_FDS`].
    pub fn send_fds(&self, byte: u8, fds: &[BorrowedFd<'_>]) -> io::Result<bool> {
        if fds.is_empty() || fds.len() > MAX_FDS {
            return Err(io::ErrorKind::InvalidInput.into());
        }
        let mut space = [MaybeUninit::uninit(); rustix::cmsg_space!(ScmRights(MAX_FDS))];
        let mut control = SendAncillaryBuffer::new(&mut space);
        if !control.push(SendAncillaryMessage::ScmRights(fds)) {
            return Err(io::ErrorKind::InvalidInput.into());
        }
        Ok(self.send_with(&[IoSlice::new(&[byte])], &mut control)?.is_some())
    }

    /// Receives one byte and the descriptors that came with it (close-on-exec); None when nothing has come yet.
    ///
    /// # Errors
    /// `UnexpectedEof` at the end of the stream; `InvalidData` when descriptors were cut off (too many, or this
    /// process may open no more).
    pub fn receive_fds(&self) -> io::Result<Option<(u8, Vec<OwnedFd>)>> {
        let mut space = [MaybeUninit::uninit(); rustix::cmsg_space!(ScmRights(MAX_FDS))];
        let mut control = RecvAncillaryBuffer::new(&mut space);
        let mut byte = [0];
        let result = retry(|| {
            let mut parts = [IoSliceMut::new(&mut byte)];
            rustix::net::recvmsg(&self.0, &mut parts, &mut control, RecvFlags::CMSG_CLOEXEC)
        });
        let message = match result {
            Ok(message) => message,
            Err(error) => return would_block_is_none(error),
        };
        let mut fds = Vec::new();
        for part in control.drain() {
            if let RecvAncillaryMessage::ScmRights(received) = part {
                fds.extend(received);
            }
        }
        if message.flags.contains(rustix::net::ReturnFlags::CTRUNC) {
            return Err(io::Error::new(io::ErrorKind::InvalidData, "passed descriptors were cut off"));
        }
        if message.bytes == 0 { Err(io::ErrorKind::UnexpectedEof.into()) } else { Ok(Some((byte[0], fds))) }
    }

    fn send_with(
        &self,
        parts: &[IoSlice<'_>],
        control: &mut SendAncillaryBuffer<'_, '_, '_>,
    ) -> io::Result<Option<usize>> {
        match retry(|| rustix::net::sendmsg(&self.0, parts, control, SendFlags::NOSIGNAL)) {
            Ok(sent) => Ok(Some(sent)),
            Err(error) => would_block_is_none(error),
        }
    }
}

impl AsFd for Socket {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.0.as_fd()
    }
}

impl AsRawFd for Socket {
    fn as_raw_fd(&self) -> RawFd {
        self.0.as_raw_fd()
    }
}

/// Whether an error of `accept` means that descriptors or memory are short, and passes by itself.
pub fn is_exhaustion(error: &io::Error) -> bool {
    matches!(error.raw_os_error(), Some(libc::EMFILE | libc::ENFILE | libc::ENOBUFS | libc::ENOMEM))
}

fn open(address: &Address) -> io::Result<OwnedFd> {
    let family = match address {
        Address::Tcp(SocketAddr::V4(_)) => AddressFamily::INET,
        Address::Tcp(SocketAddr::V6(_)) => AddressFamily::INET6,
        Address::Abstract(_) => AddressFamily::UNIX,
    };
    let flags = SocketFlags::CLOEXEC | SocketFlags::NONBLOCK;
    Ok(rustix::net::socket_with(family, SocketType::STREAM, flags, None)?)
}

fn abstract_name(name: &str) -> io::Result<SocketAddrUnix> {
    Ok(SocketAddrUnix::new_abstract_name(name.as_bytes())?)
}

fn retry<T>(call: impl FnMut() -> rustix::io::Result<T>) -> io::Result<T> {
    Ok(rustix::io::retry_on_intr(call)?)
}

fn would_block_is_none<T>(error: io::Error) -> io::Result<Option<T>> {
    if error.kind() == io::ErrorKind::WouldBlock { Ok(None) } else { Err(error) }
}

#[cfg(test)]
mod tests {
    use std::fs::File;
    use std::io::{Read, Seek, Write};
    use std::net::Ipv4Addr;

    use super::*;
    use crate::sys::poll;

    fn unix_pair(name: &str) -> (Socket, Socket) {
        let address = Address::Abstract(format!("mccl-test-{}-{name}", std::process::id()));
        let listener = Listener::bind(&address).unwrap();
        let client = Socket::connect(&address).unwrap();
        (client, listener.accept().unwrap().unwrap())
    }

    fn wait_for(fd: impl AsFd, interest: Interest) {
        assert_eq!(poll::wait(&[(fd.as_fd(), interest)], Duration::from_secs(30)).unwrap(), 1);
    }

    #[test]
    fn tcp_connects_sends_in_parts_and_ends() {
        let any = Address::Tcp((Ipv4Addr::LOCALHOST, 0).into());
        let listener = Listener::bind(&any).unwrap();
        assert!(listener.accept().unwrap().is_none());
        let client = Socket::connect(&Address::Tcp(listener.tcp_address().unwrap())).unwrap();
        wait_for(&listener, Interest::Read);
        let server = listener.accept().unwrap().unwrap();
        wait_for(&client, Interest::Write);
        assert!(client.connected().unwrap());
        client.tune().unwrap();

        let mut into = [0; 8];
        assert_eq!(server.receive(&mut [IoSliceMut::new(&mut into)]).unwrap(), None);
        assert_eq!(client.send(&[IoSlice::new(b"ab"), IoSlice::new(b"cd")]).unwrap(), Some(4));
        wait_for(&server, Interest::Read);
        let (front, back) = into.split_at_mut(1);
        let mut parts = [IoSliceMut::new(front), IoSliceMut::new(back)];
        assert_eq!(server.receive(&mut parts).unwrap(), Some(4));
        assert_eq!(&into[..4], b"abcd");
        drop(client);
        wait_for(&server, Interest::Read);
        assert_eq!(server.receive(&mut [IoSliceMut::new(&mut into)]).unwrap(), Some(0));
    }

    #[test]
    fn a_refused_connection_is_an_error_and_not_a_signal() {
        let listener = Listener::bind(&Address::Tcp((Ipv4Addr::LOCALHOST, 0).into())).unwrap();
        let address = Address::Tcp(listener.tcp_address().unwrap());
        drop(listener);
        let refused = Socket::connect(&address).and_then(|socket| {
            wait_for(&socket, Interest::Write);
            socket.connected()
        });
        assert_eq!(refused.unwrap_err().kind(), io::ErrorKind::ConnectionRefused);

        let (client, server) = unix_pair("refused");
        drop(server);
        let error = client.send(&[IoSlice::new(b"x")]).unwrap_err();
        assert_eq!(error.kind(), io::ErrorKind::BrokenPipe);
    }

    #[test]
    fn descriptors_travel_over_a_unix_socket() {
        let (client, server) = unix_pair("fds");
        assert!(client.receive_fds().unwrap().is_none());
        let mut file =
            File::from(rustix::fs::memfd_create("passed", rustix::fs::MemfdFlags::CLOEXEC).unwrap());
        file.write_all(b"hello").unwrap();
        assert!(server.send_fds(7, &[file.as_fd(), file.as_fd()]).unwrap());
        let (byte, mut fds) = client.receive_fds().unwrap().unwrap();
        assert_eq!((byte, fds.len()), (7, 2));
        let mut copy = File::from(fds.remove(0));
        let mut text = String::new();
        copy.rewind().unwrap();
        copy.read_to_string(&mut text).unwrap();
        assert_eq!(text, "hello");
        assert!(server.send_fds(7, &[]).is_err());
        drop(server);
        assert_eq!(client.receive_fds().unwrap_err().kind(), io::ErrorKind::UnexpectedEof);
    }
}
