//! `hypercube_perf`: measures and checks HyperCube.

use std::process::ExitCode;

use mccl_tools::coll::Collective;

fn main() -> ExitCode {
    mccl_tools::run::main(Collective::HyperCube)
}
