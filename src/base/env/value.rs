//! How the text of a variable becomes a value.
use crate::base::log::Subsys;

use super::{Bytes, Seconds};

/// A value that a text can be turned into.
pub trait Parse: Sized {
    /// What is understood, for messages and documentation.
    const ALLOWED: &'static str;
    /// `None` for a text that is not understood.
    fn parse(text: &str) -> Option<Self>;
}

/// Levels of the log; each includes those before it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
#[repr(u8)]
pub enum LogLevel {
    None = 0,
    Version = 1,
    Warn = 2,
    Info = 3,
    Abort = 4,
    Trace = 5,
}

impl LogLevel {
    const NAMED: [(&'static str, Self); 5] = [
        ("VERSION", Self::Version),
        ("WARN", Self::Warn),
        ("INFO", Self::Info),
        ("ABORT", Self::Abort),
        ("TRACE", Self::Trace),
    ];

    /// The word in log lines.
    pub fn name(self) -> &'static str {
        Self::NAMED.iter().find(|(_, level)| *level == self).map_or("NONE", |(name, _)| name)
    }
}

impl Parse for LogLevel {
    const ALLOWED: &'static str = "VERSION, WARN, INFO, ABORT, TRACE";

    fn parse(text: &str) -> Option<Self> {
        Self::NAMED.iter().find(|(name, _)| name.eq_ignore_ascii_case(text.trim())).map(|(_, level)| *level)
    }
}

/// A set of [`LogLevel`]s, bit `level as u8` each.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct LogLevels(pub u32);

impl Default for LogLevels {
    fn default() -> Self {
        Self(1 << LogLevel::Warn as u32)
    }
}

impl LogLevels {
    pub fn contains(self, level: LogLevel) -> bool {
        self.0 & (1 << level as u32) != 0
    }
}

impl Parse for LogLevels {
    const ALLOWED: &'static str = "[^]list of VERSION, WARN, INFO, ABORT, TRACE, ALL";

    fn parse(text: &str) -> Option<Self> {
        let all = LogLevel::NAMED.iter().fold(0, |mask, (_, level)| mask | 1 << *level as u32);
        mask(text, all, |name| LogLevel::parse(name).map(|level| 1 << level as u32)).map(Self)
    }
}

/// A set of [`Subsys`], bit `subsys as u8` each.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Subsystems(pub u32);

impl Default for Subsystems {
    fn default() -> Self {
        Self(Subsys::Init.bit() | Subsys::Bootstrap.bit() | Subsys::Env.bit())
    }
}

impl Parse for Subsystems {
    const ALLOWED: &'static str = "[^]list of INIT, COLL, P2P, SHM, NET, GRAPH, TUNING, ENV, ALLOC, CALL, PROXY, \
                                   NVLS, BOOTSTRAP, REG, PROFILE, RAS, ALLOC_HOST, DESTROY, ALL";

    fn parse(text: &str) -> Option<Self> {
        mask(text, u32::MAX, |name| {
            Subsys::NAMED
                .iter()
                .find(|(known, _)| known.eq_ignore_ascii_case(name))
                .map(|(_, subsys)| subsys.bit())
        })
        .map(Self)
    }
}

/// A time stamp pattern without what it cannot contain.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TimestampFormat {
    /// Pattern of strftime before the fraction (or all of it).
    pub head: String,
    /// Digits of the fraction, when the pattern has `%Nf`.
    pub digits: Option<u8>,
    /// Pattern after the fraction.
    pub tail: String,
}

impl Default for TimestampFormat {
    fn default() -> Self {
        Self { head: "[%F %T] ".to_string(), digits: None, tail: String::new() }
    }
}

impl Parse for TimestampFormat {
    const ALLOWED: &'static str = "pattern of strftime with at most one %Nf (N is 1 to 9)";

    fn parse(text: &str) -> Option<Self> {
        let text = text.replace('_', " ");
        let mut percents = text.match_indices('%');
        let fraction = percents.find_map(|(at, _)| Some((at, fraction_digits(&text[at + 1..])?)));
        if percents.any(|(at, _)| fraction_digits(&text[at + 1..]).is_some()) {
            return None;
        }
        let (head, digits, tail) = match fraction {
            Some((at, digit)) => (text[..at].to_string(), Some(digit), text[at + 3..].to_string()),
            None => (text, None, String::new()),
        };
        let valid = |pattern: &str| {
            let mut items = chrono::format::StrftimeItems::new(pattern);
            items.all(|item| !matches!(item, chrono::format::Item::Error))
        };
        (valid(&head) && valid(&tail)).then_some(Self { head, digits, tail })
    }
}

/// The digit N of a text that begins with `Nf`.
fn fraction_digits(text: &str) -> Option<u8> {
    match text.as_bytes() {
        [digit @ b'1'..=b'9', b'f', ..] => Some(digit - b'0'),
        _ => None,
    }
}

/// Address families of sockets.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum AddressFamily {
    Any,
    V4,
    V6,
}

impl Parse for AddressFamily {
    const ALLOWED: &'static str = "AF_INET, AF_INET6";

    fn parse(text: &str) -> Option<Self> {
        match text.trim() {
            "AF_INET" => Some(Self::V4),
            "AF_INET6" => Some(Self::V6),
            _ => None,
        }
    }
}

impl Parse for Option<String> {
    const ALLOWED: &'static str = "text";

    fn parse(text: &str) -> Option<Self> {
        Some(Some(text.to_string()))
    }
}

impl Parse for bool {
    const ALLOWED: &'static str = "0 or 1";

    fn parse(text: &str) -> Option<Self> {
        match integer(text)? {
            0 => Some(false),
            1 => Some(true),
            _ => None,
        }
    }
}

impl Parse for Seconds {
    const ALLOWED: &'static str = "whole number, 0 to 4294967295";

    fn parse(text: &str) -> Option<Self> {
        integer(text)?.try_into().ok().map(Self)
    }
}

impl Parse for Bytes {
    const ALLOWED: &'static str = "whole number, 4096 to 1073741824";

    fn parse(text: &str) -> Option<Self> {
        let bytes = integer(text).filter(|bytes| (4096..=1 << 30).contains(bytes))?;
        usize::try_from(bytes).ok().map(Self)
    }
}

/// A whole number as C's `strtoll` with base 0 reads it (`0x1f`, `037`, `31`), but with nothing behind it.
fn integer(text: &str) -> Option<i64> {
    let text = text.trim();
    let (negative, digits) = match text.strip_prefix('-') {
        Some(rest) => (true, rest),
        None => (false, text.strip_prefix('+').unwrap_or(text)),
    };
    if digits.starts_with(['+', '-']) {
        return None;
    }
    let lower = digits.to_ascii_lowercase();
    let value = match lower.strip_prefix("0x") {
        Some(hex) => i64::from_str_radix(hex, 16),
        None if lower.len() > 1 && lower.starts_with('0') => i64::from_str_radix(&lower, 8),
        None => lower.parse(),
    };
    value.ok().map(|value| if negative { -value } else { value })
}

/// A bit mask from `[^]name,…`; `ALL` stands for every bit.
fn mask(text: &str, all: u32, bit: impl Fn(&str) -> Option<u32>) -> Option<u32> {
    let (inverted, names) = match text.trim().strip_prefix('^') {
        Some(rest) => (true, rest),
        None => (false, text.trim()),
    };
    let mut chosen = 0;
    for name in names.split(',').map(str::trim).filter(|name| !name.is_empty()) {
        chosen |= if name.eq_ignore_ascii_case("ALL") { all } else { bit(name)? };
    }
    Some(if inverted { all & !chosen } else { chosen })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn integers_follow_c_notation_and_refuse_trailing_text() {
        let cases = [("31", 31), (" 7 ", 7), ("0x1F", 31), ("010", 8), ("-2", -2), ("0", 0)];
        for (text, value) in cases {
            assert_eq!(integer(text), Some(value), "{text}");
        }
        for text in ["", "true", "4M", "1x", "0x", "09", "--1", "+-1", "99999999999999999999"] {
            assert_eq!(integer(text), None, "{text}");
        }
    }

    #[test]
    fn subsystem_lists_can_be_inverted() {
        assert_eq!(Subsystems::parse("init,net"), Some(Subsystems(Subsys::Init.bit() | Subsys::Net.bit())));
        assert_eq!(Subsystems::parse("^COLL"), Some(Subsystems(!Subsys::Coll.bit())));
        assert_eq!(Subsystems::parse("ALL"), Some(Subsystems(u32::MAX)));
        assert_eq!(Subsystems::parse("INIT,WHAT"), None);
    }

    #[test]
    fn levels_are_ordered_and_read_without_regard_to_case() {
        assert_eq!(LogLevel::parse("warn"), Some(LogLevel::Warn));
        assert_eq!(LogLevel::parse("verbose"), None);
        assert!(LogLevel::Info > LogLevel::Warn && LogLevel::Trace > LogLevel::Abort);
        let levels = LogLevels::parse("^TRACE").unwrap();
        assert!(levels.contains(LogLevel::Info) && !levels.contains(LogLevel::Trace));
    }

    #[test]
    fn a_timestamp_pattern_may_hold_one_fraction() {
        let format = TimestampFormat::parse("[%T.%3f]_").unwrap();
        assert_eq!((format.head.as_str(), format.digits, format.tail.as_str()), ("[%T.", Some(3), "] "));
        assert_eq!(TimestampFormat::parse("%"), None);
        assert_eq!(TimestampFormat::parse("%3f %6f"), None, "a second fraction is refused");
    }
}
