//! Reads `mcclConfig_t` of any header version: a field counts when the declared size covers it and the declared version has it.
use std::ffi::{CStr, c_char, c_int, c_uint};

use super::types::{CONFIG_MAGIC, UNDEF_INT, mcclConfig_t};
use crate::base::Result;
use crate::comm::Config;
use crate::{bail, err};

/// The first struct had 24 bytes; a page is far beyond what any version has.
const SIZES: std::ops::RangeInclusive<usize> = 24..=4096;
/// Longest name that is looked at.
const MAX_NAME: usize = 1024;

/// The settings that `config` asks for; defaults for NULL.
///
/// # Safety
/// A pointer that is not null must be good to read for as many bytes as its own `size` says (at least 24), and its
/// names, when not null, must be C strings.
pub(super) unsafe fn parse(config: *const mcclConfig_t) -> Result<Config> {
    if config.is_null() {
        return Ok(Config::default());
    }
    if !config.is_aligned() {
        bail!(InvalidArgument, "config {config:p} is not aligned to {} bytes", align_of::<mcclConfig_t>());
    }
    // SAFETY: the first 24 bytes are readable by the promise of this function.
    let fields = unsafe { Fields::open(config) }?;
    let settings = Config {
        blocking: fields.flag("blocking", 16, 21400)?.unwrap_or(true),
        cga_cluster_size: fields.number("cgaClusterSize", 20, 21700, 0, 8)?,
        min_ctas: fields.number("minCTAs", 24, 21700, 1, c_int::MAX)?,
        max_ctas: fields.number("maxCTAs", 28, 21700, 1, c_int::MAX)?,
        net_name: fields.name("netName", 32, 21700)?,
        split_share: fields.flag("splitShare", 40, 21800)?.unwrap_or(false),
        // Lies in what was padding before 2.25, so only the version tells whether it is there.
        traffic_class: fields.int(44, 22500),
        comm_name: fields.name("commName", 48, 22700)?,
        collnet: fields.flag("collnetEnable", 56, 22700)?.unwrap_or(false),
        cta_policy: fields.number("CTAPolicy", 60, 22700, 0, 3)?.unwrap_or(0),
        shrink_share: fields.flag("shrinkShare", 64, 22700)?.unwrap_or(false),
        nvls_ctas: fields.number("nvlsCTAs", 68, 22700, 1, c_int::MAX)?,
        channels_per_net_peer: fields.number("nChannelsPerNetPeer", 72, 22800, 1, 64)?,
        nvlink_centric: fields.flag("nvlinkCentricSched", 76, 22800)?.unwrap_or(false),
    };
    fields.check_newer()?;
    if let (Some(min), Some(max)) = (settings.min_ctas, settings.max_ctas)
        && min > max
    {
        bail!(InvalidArgument, "config: minCTAs {min} is above maxCTAs {max}");
    }
    Ok(settings)
}

/// The bytes of a caller's struct, as far as it says they reach.
struct Fields {
    at: *const u8,
    size: usize,
    version: c_uint,
}

impl Fields {
    /// # Safety
    /// As for [`parse`]; `config` is not null and is aligned.
    unsafe fn open(config: *const mcclConfig_t) -> Result<Self> {
        let at = config.cast::<u8>();
        // SAFETY: size, magic and version lie in the first 16 bytes, which the caller promises are readable.
        let (size, magic, version) = unsafe { ((*config).size, (*config).magic, (*config).version) };
        if magic != CONFIG_MAGIC {
            bail!(InvalidArgument, "config: magic {magic:#x} is wrong, start from MCCL_CONFIG_INITIALIZER");
        }
        if !SIZES.contains(&size) {
            let (low, high) = SIZES.into_inner();
            bail!(InvalidArgument, "config: size {size} is not possible ({low} to {high})");
        }
        Ok(Self { at, size, version })
    }

    /// Whether the caller's struct has `len` bytes at `offset` that its version knows.
    fn has(&self, offset: usize, len: usize, since: c_uint) -> bool {
        self.version >= since && self.size >= offset + len
    }

    /// An integer that was set.
    fn int(&self, offset: usize, since: c_uint) -> Option<c_int> {
        if !self.has(offset, size_of::<c_int>(), since) {
            return None;
        }
        // SAFETY: the field ends within `size` bytes, which the caller of `parse` promises are readable.
        let value = unsafe { self.at.add(offset).cast::<c_int>().read_unaligned() };
        (value != UNDEF_INT).then_some(value)
    }

    fn number(
        &self,
        name: &str,
        offset: usize,
        since: c_uint,
        low: c_int,
        high: c_int,
    ) -> Result<Option<u32>> {
        match self.int(offset, since) {
            Some(value) if !(low..=high).contains(&value) => {
                bail!(InvalidArgument, "config: {name} {value} is not possible ({low} to {high})")
            }
            value => Ok(value.map(|value| value as u32)),
        }
    }

    fn flag(&self, name: &str, offset: usize, since: c_uint) -> Result<Option<bool>> {
        Ok(self.number(name, offset, since, 0, 1)?.map(|value| value == 1))
    }

    fn name(&self, name: &str, offset: usize, since: c_uint) -> Result<Option<String>> {
        if !self.has(offset, size_of::<*const c_char>(), since) {
            return Ok(None);
        }
        // SAFETY: the field ends within `size` bytes, which the caller of `parse` promises are readable.
        let text = unsafe { self.at.add(offset).cast::<*const c_char>().read_unaligned() };
        if text.is_null() {
            return Ok(None);
        }
        // SAFETY: a name is a C string by the promise of `parse`; its length is found within a bound.
        let bytes = (0..=MAX_NAME).find(|at| unsafe { *text.add(*at) } == 0);
        bytes.ok_or_else(|| err!(InvalidArgument, "config: {name} is longer than {MAX_NAME} bytes"))?;
        // SAFETY: as above, and the end was found.
        let text = unsafe { CStr::from_ptr(text) };
        Ok(Some(text.to_string_lossy().into_owned()))
    }

    /// Checks fields of newer headers, which have no effect yet.
    fn check_newer(&self) -> Result<()> {
        self.number("graphUsageMode", 80, 22900, 0, 2)?;
        self.number("numRmaCtx", 84, 22900, 0, c_int::MAX)?;
        self.number("maxP2pPeers", 88, 23000, 1, c_int::MAX)?;
        self.flag("graphStreamOrdering", 92, 23000)?;
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::base::ErrorKind;

    /// The largest known struct, 112 bytes, as a header of `version` with `size` bytes would fill it.
    #[repr(C, align(8))]
    struct Bytes([u8; 112]);

    impl Bytes {
        fn new(size: usize, version: u32) -> Self {
            let mut bytes = Self([0; 112]);
            for offset in (16..112).step_by(4) {
                bytes.set(offset, i32::MIN);
            }
            bytes.0[32..40].fill(0);
            bytes.0[48..56].fill(0);
            bytes.0[0..8].copy_from_slice(&size.to_ne_bytes());
            bytes.0[8..12].copy_from_slice(&CONFIG_MAGIC.to_ne_bytes());
            bytes.0[12..16].copy_from_slice(&version.to_ne_bytes());
            bytes
        }

        fn set(&mut self, offset: usize, value: i32) -> &mut Self {
            self.0[offset..offset + 4].copy_from_slice(&value.to_ne_bytes());
            self
        }

        fn parse(&self) -> Result<Config> {
            // SAFETY: 112 bytes are readable, more than any size of these tests that passes the check of sizes.
            unsafe { parse(self.0.as_ptr().cast()) }
        }

        fn refused(&self) -> String {
            let error = self.parse().unwrap_err();
            assert_eq!(error.kind, ErrorKind::InvalidArgument);
            error.message
        }
    }

    #[test]
    fn every_header_version_with_nothing_set_gives_the_defaults() {
        let versions = [
            (24, 21403),
            (40, 21701),
            (48, 21806),
            (48, 22605),
            (72, 22707),
            (80, 22809),
            (88, 22907),
            (96, 23007),
            (112, 23102),
        ];
        for (size, version) in versions {
            assert_eq!(Bytes::new(size, version).parse().unwrap(), Config::default(), "{version}");
        }
    }

    #[test]
    fn a_field_beyond_the_declared_size_or_version_is_not_read() {
        assert!(Bytes::new(24, 22809).set(24, -5).parse().unwrap().min_ctas.is_none());
        assert!(
            Bytes::new(26, 22809).set(24, -5).parse().unwrap().min_ctas.is_none(),
            "half a field is none"
        );
        assert!(!Bytes::new(80, 22707).set(76, 1).parse().unwrap().nvlink_centric);
        assert!(Bytes::new(80, 22809).set(76, 1).parse().unwrap().nvlink_centric);
    }

    #[test]
    fn the_traffic_class_goes_by_version_because_it_was_padding() {
        assert_eq!(Bytes::new(48, 21806).set(44, 7).parse().unwrap().traffic_class, None);
        assert_eq!(Bytes::new(48, 22605).set(44, 7).parse().unwrap().traffic_class, Some(7));
    }

    #[test]
    fn values_out_of_range_are_refused_with_the_range() {
        let new = || Bytes::new(112, 23102);
        let cases = [
            (16, 2, "config: blocking 2 is not possible (0 to 1)"),
            (20, 9, "config: cgaClusterSize 9 is not possible (0 to 8)"),
            (24, 0, "config: minCTAs 0 is not possible (1 to 2147483647)"),
            (28, -1, "config: maxCTAs -1 is not possible (1 to 2147483647)"),
            (40, 2, "config: splitShare 2 is not possible (0 to 1)"),
            (56, -1, "config: collnetEnable -1 is not possible (0 to 1)"),
            (60, 4, "config: CTAPolicy 4 is not possible (0 to 3)"),
            (64, 3, "config: shrinkShare 3 is not possible (0 to 1)"),
            (68, 0, "config: nvlsCTAs 0 is not possible (1 to 2147483647)"),
            (72, 65, "config: nChannelsPerNetPeer 65 is not possible (1 to 64)"),
            (76, 2, "config: nvlinkCentricSched 2 is not possible (0 to 1)"),
            (80, 3, "config: graphUsageMode 3 is not possible (0 to 2)"),
            (84, -1, "config: numRmaCtx -1 is not possible (0 to 2147483647)"),
            (88, 0, "config: maxP2pPeers 0 is not possible (1 to 2147483647)"),
            (92, 2, "config: graphStreamOrdering 2 is not possible (0 to 1)"),
        ];
        for (offset, value, expected) in cases {
            assert_eq!(new().set(offset, value).refused(), expected);
        }
        assert_eq!(new().set(24, 8).set(28, 4).refused(), "config: minCTAs 8 is above maxCTAs 4");
        assert_eq!(new().set(24, 8).parse().unwrap().min_ctas, Some(8), "a lower bound alone is fine");
    }

    #[test]
    fn a_struct_without_the_mark_or_with_an_absurd_size_is_refused() {
        assert!(Bytes::new(80, 22809).set(8, 0).refused().contains("MCCL_CONFIG_INITIALIZER"));
        assert_eq!(Bytes::new(16, 22809).refused(), "config: size 16 is not possible (24 to 4096)");
        assert_eq!(Bytes::new(1 << 20, 22809).refused(), "config: size 1048576 is not possible (24 to 4096)");
    }

    #[test]
    fn names_are_copied_and_bounded() {
        let long = std::ffi::CString::new(vec![b'x'; 5000]).unwrap();
        let named = |name: &CStr| {
            // SAFETY: 80 readable bytes, which is what they say, in the layout of the struct.
            let mut config = unsafe { Bytes::new(80, 22809).0.as_ptr().cast::<mcclConfig_t>().read() };
            config.commName = name.as_ptr();
            // SAFETY: a whole struct whose name is a C string.
            unsafe { parse(&raw const config) }
        };
        assert_eq!(named(c"dp-group").unwrap().comm_name.as_deref(), Some("dp-group"));
        assert_eq!(named(&long).unwrap_err().message, "config: commName is longer than 1024 bytes");
    }
}
