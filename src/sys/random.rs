//! Unpredictable bytes from the kernel.
use std::io;

use rustix::rand::{GetRandomFlags, getrandom};

/// `N` random bytes fit for a key.
pub fn bytes<const N: usize>() -> io::Result<[u8; N]> {
    let mut out = [0; N];
    let mut filled = 0;
    while filled < N {
        match getrandom(&mut out[filled..], GetRandomFlags::empty()) {
            Ok(count) => filled += count,
            Err(rustix::io::Errno::INTR) => {}
            Err(error) => return Err(error.into()),
        }
    }
    Ok(out)
}

#[cfg(test)]
mod tests {
    #[test]
    fn two_keys_differ() {
        assert_ne!(super::bytes::<32>().unwrap(), super::bytes::<32>().unwrap());
    }
}
