//! Environment variables of the programs: `MCCL_TESTS_*`, or `NCCL_TESTS_*` where that is not set.

use crate::coll::traffic::Traffic;
use crate::error::{Error, Result};

/// What the environment says.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Settings {
    /// `DEVICE`: first device of this process.
    pub device: Option<usize>,
    /// `SPLIT_MASK` (hexadecimal) or `SPLIT` (`AND n`, `OR n`, `MOD n`, `DIV n`, or & | % /): groups of processes.
    pub split: Option<Split>,
    /// `MIN_BW`: GB/s below nine tenths of which the run fails.
    pub min_bandwidth: Option<f64>,
    /// `ALLTOALLV_SPREAD`, or `ALLTOALLV_MATRIX_FILE` with `ALLTOALLV_MATRIX_SCALE`.
    pub traffic: Traffic,
    /// `ALLTOALLV_PRINT_SUMMARY`
    pub print_traffic: bool,
}

/// How a process's rank becomes the number of its group.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Split {
    And(u32),
    Or(u32),
    Mod(u32),
    Div(u32),
}

impl Split {
    pub fn group(self, rank: usize) -> i32 {
        let rank = rank as u32;
        let group = match self {
            Self::And(n) => rank & n,
            Self::Or(n) => rank | n,
            Self::Mod(n) => rank % n,
            Self::Div(n) => rank / n,
        };
        group as i32
    }

    fn parse(text: &str) -> Option<Self> {
        let text = text.trim().to_ascii_uppercase();
        let make: [(&str, fn(u32) -> Self); 8] = [
            ("AND", Self::And),
            ("&", Self::And),
            ("OR", Self::Or),
            ("|", Self::Or),
            ("MOD", Self::Mod),
            ("%", Self::Mod),
            ("DIV", Self::Div),
            ("/", Self::Div),
        ];
        let (make, rest) = make.iter().find_map(|(word, make)| Some((make, text.strip_prefix(word)?)))?;
        let digits = rest.trim();
        let number = match (digits.strip_prefix("0X"), digits.strip_prefix("0B")) {
            (Some(hex), _) => u32::from_str_radix(hex, 16).ok(),
            (_, Some(binary)) => u32::from_str_radix(binary, 2).ok(),
            _ => digits.parse().ok(),
        };
        let split = make(number.filter(|&n| n <= i32::MAX as u32)?);
        (!matches!(split, Self::Mod(0) | Self::Div(0))).then_some(split)
    }
}

impl Settings {
    /// Reads the variables as `get` returns them, and files that they name.
    pub fn read(get: impl Fn(&str) -> Option<String>) -> Result<Self> {
        let find = |name: &str| {
            ["MCCL_TESTS_", "NCCL_TESTS_"].into_iter().find_map(|prefix| {
                let name = format!("{prefix}{name}");
                get(&name).filter(|value| !value.is_empty()).map(|value| (name, value))
            })
        };
        Ok(Self {
            device: number(find("DEVICE"), 0.0, 65_535.0)?.map(|n| n as usize),
            split: split(find("SPLIT_MASK"), find("SPLIT"))?,
            min_bandwidth: number(find("MIN_BW"), 0.0, 1e9)?,
            traffic: traffic(&find)?,
            print_traffic: number(find("ALLTOALLV_PRINT_SUMMARY"), 0.0, 1.0)?.is_some_and(|n| n != 0.0),
        })
    }
}

type Found = Option<(String, String)>;

fn number(found: Found, low: f64, high: f64) -> Result<Option<f64>> {
    let Some((name, text)) = found else { return Ok(None) };
    match text.trim().parse::<f64>() {
        Ok(n) if (low..=high).contains(&n) => Ok(Some(n)),
        _ => Err(Error::usage(format!("{name}: {text}, not a number in range, allowed {low} to {high}"))),
    }
}

fn split(mask: Found, split: Found) -> Result<Option<Split>> {
    if let Some((name, text)) = mask {
        let digits = text.trim().trim_start_matches("0x");
        return match u32::from_str_radix(digits, 16).ok().filter(|&m| m <= i32::MAX as u32) {
            Some(mask) => Ok(Some(Split::And(mask))),
            None => Err(Error::usage(format!("{name}: {text}, not a mask, allowed hexadecimal up to 7fffffff"))),
        };
    }
    let Some((name, text)) = split else { return Ok(None) };
    Split::parse(&text).map(Some).ok_or_else(|| {
        Error::usage(format!("{name}: {text}, not understood, allowed AND n, OR n, MOD n, DIV n (n above 0 for the last two)"))
    })
}

fn traffic(find: &impl Fn(&str) -> Found) -> Result<Traffic> {
    let scale = number(find("ALLTOALLV_MATRIX_SCALE"), 0.0, 1e9)?.unwrap_or(1.0);
    if let Some((name, path)) = find("ALLTOALLV_MATRIX_FILE") {
        let text = std::fs::read_to_string(&path).map_err(|e| Error::usage(format!("{name}: {path}: {e}")))?;
        return Traffic::parse_matrix(&text, scale).map_err(|e| e.at(format!("{name}: {path}")));
    }
    Ok(Traffic::Spread(number(find("ALLTOALLV_SPREAD"), 0.0, 1.0)?.unwrap_or(1.0)))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn with(variables: &[(&str, &str)]) -> Result<Settings> {
        Settings::read(|name| variables.iter().find(|(n, _)| *n == name).map(|(_, v)| v.to_string()))
    }

    #[test]
    fn nothing_set_means_the_defaults() {
        assert_eq!(with(&[]).unwrap(), Settings::default());
    }

    #[test]
    fn our_prefix_wins_over_the_other() {
        let both = [("MCCL_TESTS_DEVICE", "3"), ("NCCL_TESTS_DEVICE", "5"), ("NCCL_TESTS_MIN_BW", "1.5")];
        let settings = with(&both).unwrap();
        assert_eq!((settings.device, settings.min_bandwidth), (Some(3), Some(1.5)));
    }

    #[test]
    fn groups_come_from_words_signs_and_masks() {
        let group = |text: &str, rank| with(&[("MCCL_TESTS_SPLIT", text)]).unwrap().split.unwrap().group(rank);
        assert_eq!((group("MOD 2", 5), group("%3", 5), group("div0x2", 5)), (1, 2, 2));
        assert_eq!((group("AND 0b11", 6), group("| 8", 1)), (2, 9));
        let mask = with(&[("MCCL_TESTS_SPLIT_MASK", "0x7")]).unwrap().split.unwrap();
        assert_eq!(mask.group(9), 1);
        for bad in ["MOD 0", "/0", "XOR 1", "AND", "MOD x"] {
            assert!(with(&[("MCCL_TESTS_SPLIT", bad)]).is_err(), "{bad}");
        }
    }

    #[test]
    fn bad_values_are_refused_with_their_names() {
        for (name, value) in [
            ("MCCL_TESTS_DEVICE", "-1"),
            ("MCCL_TESTS_MIN_BW", "fast"),
            ("NCCL_TESTS_ALLTOALLV_SPREAD", "2"),
            ("MCCL_TESTS_ALLTOALLV_MATRIX_FILE", "/nowhere/matrix"),
            ("MCCL_TESTS_SPLIT_MASK", "zz"),
        ] {
            let error = with(&[(name, value)]).unwrap_err();
            assert!(error.to_string().starts_with(name), "{error}");
        }
    }
}
