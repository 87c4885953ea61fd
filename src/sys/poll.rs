//! Waiting for file descriptors: `poll` for a few, `epoll` for many.
use std::io;
use std::mem::MaybeUninit;
use std::os::fd::{AsFd, AsRawFd, BorrowedFd, OwnedFd, RawFd};
use std::time::Duration;

use rustix::event::{PollFd, PollFlags, Timespec, epoll};

/// What a waiter wants a descriptor to be ready for. Hang-ups and errors are always reported as both.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Interest {
    Read,
    Write,
    ReadWrite,
}

impl Interest {
    pub fn reads(self) -> bool {
        self != Self::Write
    }

    pub fn writes(self) -> bool {
        self != Self::Read
    }
}

/// Sleeps until one of `fds` is ready or `timeout` is over. Returns the number of ready ones, 0 after the time-out
/// or a signal.
pub fn wait(fds: &[(BorrowedFd<'_>, Interest)], timeout: Duration) -> io::Result<usize> {
    let mut list: Vec<PollFd<'_>> =
        fds.iter().map(|(fd, interest)| PollFd::from_borrowed_fd(*fd, poll_flags(*interest))).collect();
    match rustix::event::poll(&mut list, Some(&timespec(timeout))) {
        Err(rustix::io::Errno::INTR) => Ok(0),
        result => Ok(result?),
    }
}

/// [`wait`] for descriptors whose owners keep them open meanwhile. Errors end the wait early.
pub fn wait_raw(fds: &[(RawFd, Interest)], timeout: Duration) {
    let borrowed = |&(fd, interest): &(RawFd, Interest)| {
        // SAFETY: the caller holds the connections that own these descriptors.
        (unsafe { BorrowedFd::borrow_raw(fd) }, interest)
    };
    let fds: Vec<_> = fds.iter().map(borrowed).collect();
    let _ = wait(&fds, timeout);
}

/// A set of descriptors, each with a token, that is waited for as a whole.
#[derive(Debug)]
pub struct Poller(OwnedFd);

/// A descriptor of a [`Poller`] that became ready.
#[derive(Clone, Copy, Debug)]
pub struct Ready {
    pub token: u64,
    pub readable: bool,
    pub writable: bool,
}

impl Poller {
    pub fn new() -> io::Result<Self> {
        Ok(Self(epoll::create(epoll::CreateFlags::CLOEXEC)?))
    }

    /// Adds a descriptor. Closing its last duplicate removes it.
    pub fn add(&self, fd: impl AsFd, token: u64, interest: Interest) -> io::Result<()> {
        Ok(epoll::add(&self.0, fd, epoll::EventData::new_u64(token), epoll_flags(interest))?)
    }

    pub fn modify(&self, fd: impl AsFd, token: u64, interest: Interest) -> io::Result<()> {
        Ok(epoll::modify(&self.0, fd, epoll::EventData::new_u64(token), epoll_flags(interest))?)
    }

    pub fn remove(&self, fd: impl AsFd) -> io::Result<()> {
        Ok(epoll::delete(&self.0, fd)?)
    }

    /// Replaces the content of `ready` by at most 64 ready descriptors; empty after the time-out or a signal.
    /// `None` waits without end.
    pub fn wait(&self, ready: &mut Vec<Ready>, timeout: Option<Duration>) -> io::Result<()> {
        ready.clear();
        let mut space = [MaybeUninit::<epoll::Event>::uninit(); 64];
        let limit = timeout.map(timespec);
        let events = match epoll::wait(&self.0, &mut space, limit.as_ref()) {
            Err(rustix::io::Errno::INTR) => return Ok(()),
            result => result?.0,
        };
        ready.extend(events.iter().map(|event| {
            let flags = event.flags;
            let broken = flags.intersects(epoll::EventFlags::HUP | epoll::EventFlags::ERR);
            Ready {
                token: event.data.u64(),
                readable: broken || flags.contains(epoll::EventFlags::IN),
                writable: broken || flags.contains(epoll::EventFlags::OUT),
            }
        }));
        Ok(())
    }
}

impl AsFd for Poller {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.0.as_fd()
    }
}

impl AsRawFd for Poller {
    fn as_raw_fd(&self) -> RawFd {
        self.0.as_raw_fd()
    }
}

fn poll_flags(interest: Interest) -> PollFlags {
    match interest {
        Interest::Read => PollFlags::IN,
        Interest::Write => PollFlags::OUT,
        Interest::ReadWrite => PollFlags::IN | PollFlags::OUT,
    }
}

fn epoll_flags(interest: Interest) -> epoll::EventFlags {
    match interest {
        Interest::Read => epoll::EventFlags::IN,
        Interest::Write => epoll::EventFlags::OUT,
        Interest::ReadWrite => epoll::EventFlags::IN | epoll::EventFlags::OUT,
    }
}

fn timespec(timeout: Duration) -> Timespec {
    Timespec {
        tv_sec: i64::try_from(timeout.as_secs()).unwrap_or(i64::MAX),
        tv_nsec: timeout.subsec_nanos().into(),
    }
}

#[cfg(test)]
mod tests {
    use std::io::Write;
    use std::os::unix::net::UnixStream;

    use super::*;

    #[test]
    fn an_idle_descriptor_times_out_and_a_written_one_is_ready() {
        let (near, mut far) = UnixStream::pair().unwrap();
        let poller = Poller::new().unwrap();
        poller.add(&near, 42, Interest::Read).unwrap();
        let mut ready = Vec::new();
        poller.wait(&mut ready, Some(Duration::from_millis(1))).unwrap();
        assert!(ready.is_empty());
        assert_eq!(wait(&[(near.as_fd(), Interest::Read)], Duration::from_millis(1)).unwrap(), 0);

        far.write_all(b"x").unwrap();
        poller.wait(&mut ready, None).unwrap();
        assert_eq!((ready.len(), ready[0].token, ready[0].readable), (1, 42, true));
        assert_eq!(wait(&[(near.as_fd(), Interest::ReadWrite)], Duration::from_secs(9)).unwrap(), 1);
    }
}
