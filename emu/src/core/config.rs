//! Settings from the environment, read once.
//!
//! * `MCCL_EMU_DEVICES`: number of devices, 1 to 64, default 8.
//! * `MCCL_EMU_MEMORY`: bytes of memory of each device with an optional suffix K, M or G; default the smaller of 16G
//!   and the memory of the host.
//! * `MCCL_EMU_DELAY_US`: microseconds that every asynchronous copy, fill and host function waits before it runs,
//!   0 to 10000000, default 0. Shows programs that forget to synchronise.

use std::time::Duration;

use crate::sys::map::host_memory;

pub const MAX_DEVICES: usize = 64;
const DEFAULT_DEVICES: usize = 8;
const DEFAULT_MEMORY: usize = 16 << 30;
const MIN_MEMORY: usize = 1 << 20;
const MAX_MEMORY: usize = 1 << 40;
const MAX_DELAY_US: usize = 10_000_000;

#[derive(Clone, Debug)]
pub struct Config {
    pub devices: usize,
    /// Bytes that each device reports and grants.
    pub memory: usize,
    pub delay: Duration,
}

impl Config {
    pub fn from_env() -> Self {
        Self::from_lookup(|name| std::env::var(name).ok())
    }

    fn from_lookup(lookup: impl Fn(&str) -> Option<String>) -> Self {
        let get = |name: &str, range: (usize, usize), default: usize| {
            let Some(text) = lookup(name) else { return default };
            match parse_size(text.trim()) {
                Some(n) if (range.0..=range.1).contains(&n) => n,
                _ => {
                    eprintln!(
                        "{name}: value \"{text}\" is not a number from {} to {}; using {default}",
                        range.0, range.1
                    );
                    default
                }
            }
        };
        let default_memory = DEFAULT_MEMORY.min(host_memory()).max(MIN_MEMORY);
        Self {
            devices: get("MCCL_EMU_DEVICES", (1, MAX_DEVICES), DEFAULT_DEVICES),
            memory: get("MCCL_EMU_MEMORY", (MIN_MEMORY, MAX_MEMORY), default_memory),
            delay: Duration::from_micros(get("MCCL_EMU_DELAY_US", (0, MAX_DELAY_US), 0) as u64),
        }
    }
}

fn parse_size(text: &str) -> Option<usize> {
    let (digits, shift) = match text.as_bytes().last()? {
        b'k' | b'K' => (&text[..text.len() - 1], 10),
        b'm' | b'M' => (&text[..text.len() - 1], 20),
        b'g' | b'G' => (&text[..text.len() - 1], 30),
        _ => (text, 0),
    };
    digits.parse::<usize>().ok()?.checked_mul(1 << shift)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn config(pairs: &[(&str, &str)]) -> Config {
        Config::from_lookup(|name| pairs.iter().find(|p| p.0 == name).map(|p| p.1.to_string()))
    }

    #[test]
    fn sizes_take_suffixes() {
        assert_eq!(config(&[("MCCL_EMU_MEMORY", "512M")]).memory, 512 << 20);
        assert_eq!(config(&[("MCCL_EMU_MEMORY", "3g")]).memory, 3 << 30);
        assert_eq!(config(&[("MCCL_EMU_DEVICES", "64")]).devices, 64);
    }

    #[test]
    fn values_outside_their_range_leave_the_default() {
        for bad in ["0", "65", "-1", "", "x", "99999999999999999999G"] {
            assert_eq!(config(&[("MCCL_EMU_DEVICES", bad)]).devices, DEFAULT_DEVICES, "{bad}");
        }
    }
}
