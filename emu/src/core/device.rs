//! Devices: identity, attributes, peers, their null stream.

use std::sync::atomic::{AtomicU32, AtomicU64, Ordering};

use super::error::{Error, Result};
use super::runtime::{Runtime, runtime};
use super::slab::StreamRef;
use super::{stream, thread};

pub struct Device {
    /// The legacy default stream.
    pub null: StreamRef,
    /// Live blocking streams besides the null stream.
    pub blocking: AtomicU32,
    /// Bit set of the devices that this one was given access to.
    peers: AtomicU64,
    /// Scheduling flags as the program set them.
    pub flags: AtomicU32,
}

/// Name of every device.
pub const NAME: &str = "MCCL emulated device";
/// Version that both version calls report.
pub const VERSION: i32 = 50200;
pub const PCI_DOMAIN: i32 = 0;
pub const PCI_DEVICE: i32 = 0;
pub const WARP: i32 = 32;
pub const PROCESSORS: i32 = 60;
pub const MAX_THREADS: i32 = 1024;
pub const SHARED_MEMORY: i32 = 64 << 10;
pub const CLOCK_KHZ: i32 = 1_700_000;
pub const MEMORY_CLOCK_KHZ: i32 = 1_200_000;
pub const MEMORY_BUS_BITS: i32 = 256;
pub const L2_BYTES: i32 = 24 << 20;
pub const MAJOR: i32 = 3;
pub const MINOR: i32 = 1;

impl Device {
    pub fn new(ordinal: usize) -> Result<Self> {
        Ok(Self {
            null: stream::create_null(ordinal)?,
            blocking: AtomicU32::new(0),
            peers: AtomicU64::new(0),
            flags: AtomicU32::new(0),
        })
    }
}

/// The runtime and a checked ordinal.
pub fn checked(ordinal: i32) -> Result<(&'static Runtime, usize)> {
    let runtime = runtime()?;
    let device = usize::try_from(ordinal).map_err(|_| Error::INVALID_DEVICE)?;
    if device < runtime.devices.len() { Ok((runtime, device)) } else { Err(Error::INVALID_DEVICE) }
}

/// Bus number on the emulated PCI tree; the same for an ordinal in every process.
pub fn pci_bus(ordinal: usize) -> i32 {
    0x0d + ordinal as i32
}

/// `domain:bus:device.function`.
pub fn pci_bus_id(ordinal: usize) -> String {
    format!("{PCI_DOMAIN:04x}:{:02x}:{PCI_DEVICE:02x}.0", pci_bus(ordinal))
}

/// The ordinal of a PCI address: `domain:bus:device.function`, `domain:bus:device` or `bus:device.function`.
pub fn by_pci_bus_id(text: &str) -> Result<usize> {
    let (runtime, text) = (runtime()?, text.to_ascii_lowercase());
    let text = text.strip_suffix(".0").unwrap_or(&text);
    let mut parts: Vec<_> = text.split(':').map(|part| i64::from_str_radix(part, 16)).collect();
    if parts.len() == 2 {
        parts.insert(0, Ok(i64::from(PCI_DOMAIN)));
    }
    let [Ok(domain), Ok(bus), Ok(device)] = parts[..] else { return Err(Error::INVALID_VALUE) };
    (0..runtime.devices.len())
        .find(|&d| (domain, bus, device) == (PCI_DOMAIN.into(), pci_bus(d).into(), PCI_DEVICE.into()))
        .ok_or(Error::INVALID_DEVICE)
}

/// Sixteen bytes that name the device; the same for an ordinal in every process.
pub fn uuid(ordinal: usize) -> [u8; 16] {
    let mut bytes = *b"mccl-emu-device\0";
    bytes[15] = ordinal as u8;
    bytes
}

pub fn can_access_peer(device: i32, peer: i32) -> Result<bool> {
    let (device, peer) = (checked(device)?.1, checked(peer)?.1);
    Ok(device != peer)
}

pub fn enable_peer(peer: i32) -> Result<()> {
    let (runtime, peer) = checked(peer)?;
    let device = thread::device();
    if peer == device {
        return Err(Error::INVALID_DEVICE);
    }
    let before = runtime.devices[device].peers.fetch_or(1 << peer, Ordering::Relaxed);
    if before >> peer & 1 == 1 { Err(Error::PEER_ACCESS_ALREADY_ENABLED) } else { Ok(()) }
}

pub fn disable_peer(peer: i32) -> Result<()> {
    let (runtime, peer) = checked(peer)?;
    let before = runtime.devices[thread::device()].peers.fetch_and(!(1 << peer), Ordering::Relaxed);
    if before >> peer & 1 == 1 { Ok(()) } else { Err(Error::PEER_ACCESS_NOT_ENABLED) }
}

/// Value of a device attribute by its number; numbers are CUDA's.
pub fn attribute(number: i32, ordinal: i32) -> Result<i32> {
    let (_, device) = checked(ordinal)?;
    Ok(match number {
        1..=3 => MAX_THREADS,
        4 => 64,
        5 => i32::MAX,
        6 | 7 => 65535,
        8 | 81 | 97 => SHARED_MEMORY,
        9 => 64 << 10,
        10 => WARP,
        11 => i32::MAX,
        12 | 82 => 64 << 10,
        13 => CLOCK_KHZ,
        14 => 512,
        // Copies overlap with work; concurrent kernels; unified addressing; mapping of host memory.
        15 | 19 | 31 | 41 => 1,
        16 => PROCESSORS,
        33 => pci_bus(device),
        34 => PCI_DEVICE,
        36 => MEMORY_CLOCK_KHZ,
        37 => MEMORY_BUS_BITS,
        38 => L2_BYTES,
        39 => 2048,
        40 => 2,
        50 => PCI_DOMAIN,
        75 => MAJOR,
        76 => MINOR,
        // Stream priorities; managed memory; pageable memory and its page tables; concurrent managed access;
        // host access to registered and managed memory; stream memory operations of 32 and 64 bits; VMM;
        // file-descriptor handles.
        78 | 83 | 88 | 89 | 91 | 92 | 94 | 100 | 101 | 102 | 103 => 1,
        17..=140 => 0,
        _ => return Err(Error::INVALID_VALUE),
    })
}
