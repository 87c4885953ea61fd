//! What `MCCL_ALGO` and `MCCL_PROTO` leave to choose from: `[function:][^]name,…`, several sections parted by `;`.
use crate::bail;
use crate::base::Result;
use crate::base::types::Collective;
use crate::plan::Algorithm;

/// Algorithms that the user allows, per collective; by default all.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Allowed {
    /// Later rules win. Without a collective a rule is about all of them; an empty list allows everything.
    rules: Vec<(Option<Collective>, Vec<Algorithm>)>,
}

/// The answer to a setting: what it allows, and what it names that this version does not have.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Understood {
    pub allowed: Allowed,
    pub not_offered: Vec<String>,
}

/// Algorithms of the API family that this version does not have.
const OTHER_ALGORITHMS: [&str; 6] = ["tree", "collnetdirect", "collnetchain", "nvls", "nvlstree", "pat"];

impl Allowed {
    pub fn admits(&self, coll: Collective, algorithm: Algorithm) -> bool {
        let rule = self.rules.iter().rev().find(|(about, _)| about.is_none_or(|about| about == coll));
        rule.is_none_or(|(_, list)| list.is_empty() || list.contains(&algorithm))
    }

    /// Reads the value of `MCCL_ALGO`. A section that names nothing but what is not offered allows everything.
    ///
    /// # Errors
    /// `InvalidUsage` for a name that is neither a function nor an algorithm.
    pub fn of_algorithms(text: &str) -> Result<Understood> {
        let mut understood = Understood::default();
        for section in sections("MCCL_ALGO", text)? {
            let mut named = Vec::new();
            for name in section.names {
                match name.to_ascii_lowercase().as_str() {
                    "ring" => named.push(Algorithm::Ring),
                    "flat" => named.extend([Algorithm::OneShot, Algorithm::TwoShot]),
                    other if OTHER_ALGORITHMS.contains(&other) => {
                        understood.not_offered.push(name.to_string());
                    }
                    _ => bail!(
                        InvalidUsage,
                        "MCCL_ALGO: '{name}' is not an algorithm (Ring, Flat, Tree, CollnetDirect, CollnetChain, NVLS, NVLSTree, PAT)"
                    ),
                }
            }
            if section.invert {
                named = Algorithm::ALL.into_iter().filter(|a| !named.contains(a)).collect();
            }
            understood.allowed.rules.push((section.about, named));
        }
        Ok(understood)
    }
}

impl From<Vec<Algorithm>> for Allowed {
    fn from(list: Vec<Algorithm>) -> Self {
        Self { rules: vec![(None, list)] }
    }
}

/// Reads the value of `MCCL_PROTO`; returns the sections that leave out Simple, the only protocol of this version.
///
/// # Errors
/// `InvalidUsage` for a name that is neither a function nor a protocol.
pub fn without_simple(text: &str) -> Result<Vec<String>> {
    let mut without = Vec::new();
    for section in sections("MCCL_PROTO", text)? {
        let mut simple = false;
        for name in &section.names {
            match name.to_ascii_lowercase().as_str() {
                "simple" => simple = true,
                "ll" | "ll128" => {}
                _ => bail!(InvalidUsage, "MCCL_PROTO: '{name}' is not a protocol (LL, LL128, Simple)"),
            }
        }
        if simple == section.invert {
            let sign = if section.invert { "^" } else { "" };
            without.push(format!("{sign}{}", section.names.join(",")));
        }
    }
    Ok(without)
}

/// `[function:][^]name,…`
struct Section<'a> {
    about: Option<Collective>,
    invert: bool,
    names: Vec<&'a str>,
}

fn sections<'a>(variable: &str, text: &'a str) -> Result<Vec<Section<'a>>> {
    let mut sections = Vec::new();
    for part in text.split(';').map(str::trim).filter(|part| !part.is_empty()) {
        let (function, list) = part.split_once(':').map_or((None, part), |(f, list)| (Some(f.trim()), list));
        let about = match function {
            Some(name) => match Collective::named(name) {
                None => {
                    bail!(InvalidUsage, "{variable}: '{name}' is not a function (AllReduce, Broadcast, …)")
                }
                found => found,
            },
            None => None,
        };
        let list = list.trim();
        let (invert, list) = list.strip_prefix('^').map_or((false, list), |rest| (true, rest));
        let names: Vec<&str> = list.split(',').map(str::trim).filter(|name| !name.is_empty()).collect();
        if !names.is_empty() {
            sections.push(Section { about, invert, names });
        }
    }
    Ok(sections)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn algorithms(text: &str) -> Understood {
        Allowed::of_algorithms(text).unwrap()
    }

    #[test]
    fn without_a_rule_everything_is_allowed() {
        assert!(Allowed::default().admits(Collective::Reduce, Algorithm::Ring));
        assert_eq!(algorithms(" ; ").allowed, Allowed::default());
    }

    #[test]
    fn names_are_what_may_run_and_a_caret_is_what_may_not() {
        let ring = algorithms("RING").allowed;
        assert!(ring.admits(Collective::AllReduce, Algorithm::Ring));
        assert!(!ring.admits(Collective::AllReduce, Algorithm::OneShot));
        let not_flat = algorithms("^Flat").allowed;
        assert!(not_flat.admits(Collective::AllReduce, Algorithm::Ring));
        assert!(!not_flat.admits(Collective::AllReduce, Algorithm::TwoShot));
    }

    #[test]
    fn a_function_in_front_limits_a_section_to_it() {
        let allowed = algorithms("ring;allreduce:flat").allowed;
        assert!(!allowed.admits(Collective::Broadcast, Algorithm::OneShot));
        assert!(allowed.admits(Collective::AllReduce, Algorithm::OneShot));
        assert!(!allowed.admits(Collective::AllReduce, Algorithm::Ring));
    }

    #[test]
    fn what_is_not_offered_is_told_and_does_not_forbid_the_rest() {
        let understood = algorithms("Tree,NVLS");
        assert_eq!(understood.not_offered, ["Tree", "NVLS"]);
        assert!(understood.allowed.admits(Collective::AllReduce, Algorithm::Ring));
    }

    #[test]
    fn unknown_names_are_errors_that_say_what_is_known() {
        let said = |text| Allowed::of_algorithms(text).unwrap_err().message;
        assert!(said("Foo").starts_with("MCCL_ALGO: 'Foo' is not an algorithm (Ring, "));
        assert!(said("frobnicate:ring").starts_with("MCCL_ALGO: 'frobnicate' is not a function"));
        assert!(
            without_simple("LL256").unwrap_err().message.starts_with("MCCL_PROTO: 'LL256' is not a protocol")
        );
    }

    #[test]
    fn a_protocol_list_without_simple_is_found() {
        assert_eq!(without_simple("LL,LL128;allreduce:Simple").unwrap(), ["LL,LL128"]);
        assert_eq!(without_simple("^Simple").unwrap(), ["^Simple"]);
        assert!(without_simple("^LL").unwrap().is_empty());
    }
}
