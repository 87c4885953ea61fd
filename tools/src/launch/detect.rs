//! Finds out from the environment who started this process. Nothing is opened or contacted here.

use std::os::fd::RawFd;

use crate::error::{Error, Result};

/// Variable by which `--nproc` tells a child its place: `rank/size/descriptor`.
pub const LOCAL_VARIABLE: &str = "MCCL_TESTS_LOCAL";
/// The library's variable with the address of a fixed root.
const COMM_ID: &str = "MCCL_COMM_ID";
const MAX_RANKS: usize = 1 << 20;
/// Slurm's step numbers from here on are not `srun` steps.
const SLURM_SPECIAL_STEPS: u32 = 0xffff_fff0;

/// Who started this process.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Launch {
    /// The user.
    Alone,
    /// An MPI launcher.
    Mpi(Launcher),
    /// The parent of `--nproc`.
    Local { rank: usize, size: usize, fd: RawFd },
    /// Something that sets rank variables, with a fixed root for the library.
    Variables { rank: usize, size: usize, local_rank: usize },
}

/// An MPI launcher and the size that it announced.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Launcher {
    pub family: Family,
    /// The variable that gave it away.
    pub variable: &'static str,
    /// Processes, where the environment says so.
    pub size: Option<usize>,
}

/// Which libraries to try first.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Family {
    OpenMpi,
    Mpich,
    Intel,
}

/// Reads the launch from variables as `get` returns them.
pub fn detect(get: impl Fn(&str) -> Option<String>) -> Result<Launch> {
    if let Some(text) = get(LOCAL_VARIABLE) {
        return local(&text);
    }
    let slurm_step = slurm_step(&get);
    if slurm_step && get(COMM_ID).is_some() && get("OMPI_COMM_WORLD_SIZE").is_none() {
        return variables(&get, "SLURM_PROCID", "SLURM_NTASKS", "SLURM_LOCALID");
    }
    if let Some(launcher) = mpi(&get)? {
        return Ok(Launch::Mpi(launcher));
    }
    if get("RANK").is_some() && number(&get, "WORLD_SIZE")?.is_some_and(|n| n > 1) {
        return variables(&get, "RANK", "WORLD_SIZE", "LOCAL_RANK");
    }
    if slurm_step && number(&get, "SLURM_NTASKS")?.is_some_and(|n| n > 1) {
        return variables(&get, "SLURM_PROCID", "SLURM_NTASKS", "SLURM_LOCALID");
    }
    Ok(Launch::Alone)
}

fn local(text: &str) -> Result<Launch> {
    let mut parts = text.split('/').map(|part| part.parse::<usize>().ok());
    match [parts.next().flatten(), parts.next().flatten(), parts.next().flatten()] {
        [Some(rank), Some(size), Some(fd)] if rank < size && fd <= 1 << 20 => {
            Ok(Launch::Local { rank, size, fd: fd as RawFd })
        }
        _ => Err(Error::usage(format!("{LOCAL_VARIABLE}: {text}, set by --nproc only, allowed rank/size/descriptor"))),
    }
}

fn mpi(get: &impl Fn(&str) -> Option<String>) -> Result<Option<Launcher>> {
    let intel = get("I_MPI_ROOT").is_some() || get("I_MPI_MPIRUN").is_some();
    let pmi = if intel { Family::Intel } else { Family::Mpich };
    for (variable, size, family) in [
        ("OMPI_COMM_WORLD_SIZE", "OMPI_COMM_WORLD_SIZE", Family::OpenMpi),
        ("PMI_RANK", "PMI_SIZE", pmi),
        ("PMIX_RANK", "PMIX_SIZE", Family::OpenMpi),
    ] {
        if get(variable).is_some() {
            return Ok(Some(Launcher { family, variable, size: number(get, size)? }));
        }
    }
    Ok(None)
}

/// Whether `srun` started this process: a batch script has Slurm's variables too, but no step of its own.
fn slurm_step(get: &impl Fn(&str) -> Option<String>) -> bool {
    let step = get("SLURM_STEP_ID").and_then(|text| text.parse::<u32>().ok());
    get("SLURM_PROCID").is_some() && step.is_some_and(|step| step < SLURM_SPECIAL_STEPS)
}

fn variables(get: &impl Fn(&str) -> Option<String>, rank: &str, size: &str, local: &str) -> Result<Launch> {
    let need = |name: &str| {
        number(get, name)?.ok_or_else(|| Error::usage(format!("{name}: not set, though {rank} and {size} are, allowed 0 and up")))
    };
    let (rank_value, size_value) = (need(rank)?, need(size)?);
    if rank_value >= size_value {
        return Err(Error::usage(format!("{rank}: {rank_value}, {size} is {size_value}, allowed 0 to {size} - 1")));
    }
    if get(COMM_ID).is_none_or(|v| v.is_empty()) && size_value > 1 {
        return Err(Error::usage(format!(
            "{COMM_ID}: not set, ranks from {rank}/{size} need a fixed root, allowed HOST:PORT of rank 0 (or use mpirun or --nproc)"
        )));
    }
    Ok(Launch::Variables { rank: rank_value, size: size_value, local_rank: need(local)? })
}

fn number(get: &impl Fn(&str) -> Option<String>, name: &str) -> Result<Option<usize>> {
    let Some(text) = get(name) else { return Ok(None) };
    match text.trim().parse::<usize>() {
        Ok(n) if n <= MAX_RANKS => Ok(Some(n)),
        _ => Err(Error::usage(format!("{name}: {text}, not a rank or a number of ranks, allowed 0 to {MAX_RANKS}"))),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn with(variables: &[(&str, &str)]) -> Result<Launch> {
        detect(|name| variables.iter().find(|(n, _)| *n == name).map(|(_, v)| v.to_string()))
    }

    #[test]
    fn a_plain_start_is_alone_even_inside_a_batch_script() {
        assert_eq!(with(&[]), Ok(Launch::Alone));
        assert_eq!(with(&[("SLURM_PROCID", "0"), ("SLURM_NTASKS", "8")]), Ok(Launch::Alone));
        assert_eq!(with(&[("RANK", "0"), ("WORLD_SIZE", "1")]), Ok(Launch::Alone));
    }

    #[test]
    fn launchers_of_mpi_are_told_apart() {
        let family = |variables: &[(&str, &str)]| match with(variables) {
            Ok(Launch::Mpi(launcher)) => Some((launcher.family, launcher.size)),
            _ => None,
        };
        assert_eq!(family(&[("OMPI_COMM_WORLD_SIZE", "4"), ("PMIX_RANK", "1")]), Some((Family::OpenMpi, Some(4))));
        assert_eq!(family(&[("PMI_RANK", "1"), ("PMI_SIZE", "2")]), Some((Family::Mpich, Some(2))));
        assert_eq!(family(&[("PMI_RANK", "1"), ("PMI_SIZE", "2"), ("I_MPI_ROOT", "/x")]), Some((Family::Intel, Some(2))));
        assert_eq!(family(&[("PMIX_RANK", "1")]), Some((Family::OpenMpi, None)));
    }

    #[test]
    fn variables_need_a_fixed_root() {
        let torchrun = [("RANK", "1"), ("WORLD_SIZE", "4"), ("LOCAL_RANK", "1")];
        let error = with(&torchrun).unwrap_err();
        assert!(error.to_string().starts_with("MCCL_COMM_ID"), "{error}");
        let rooted = [torchrun.as_slice(), &[("MCCL_COMM_ID", "host:5000")]].concat();
        assert_eq!(with(&rooted), Ok(Launch::Variables { rank: 1, size: 4, local_rank: 1 }));
    }

    #[test]
    fn srun_with_a_fixed_root_needs_no_mpi() {
        let step = [
            ("SLURM_PROCID", "2"),
            ("SLURM_NTASKS", "4"),
            ("SLURM_LOCALID", "0"),
            ("SLURM_STEP_ID", "0"),
            ("PMI_RANK", "2"),
        ];
        assert!(matches!(with(&step), Ok(Launch::Mpi(_))));
        let rooted = [step.as_slice(), &[("MCCL_COMM_ID", "host:5000")]].concat();
        assert_eq!(with(&rooted), Ok(Launch::Variables { rank: 2, size: 4, local_rank: 0 }));
    }

    #[test]
    fn nonsense_is_refused_with_its_name() {
        for variables in [
            &[("PMI_RANK", "0"), ("PMI_SIZE", "many")][..],
            &[(LOCAL_VARIABLE, "4/4/3")],
            &[(LOCAL_VARIABLE, "x")],
            &[("RANK", "9"), ("WORLD_SIZE", "4"), ("LOCAL_RANK", "0"), ("MCCL_COMM_ID", "h:1")],
            &[("RANK", "0"), ("WORLD_SIZE", "-4")],
        ] {
            let error = with(variables).unwrap_err();
            assert_eq!(error.status(), crate::error::EXIT_USAGE, "{variables:?}: {error}");
        }
        assert_eq!(with(&[(LOCAL_VARIABLE, "1/2/5")]), Ok(Launch::Local { rank: 1, size: 2, fd: 5 }));
    }
}
