//! `alltoallv_perf`: measures and checks AllToAllV.

use std::process::ExitCode;

use mccl_tools::coll::Collective;

fn main() -> ExitCode {
    mccl_tools::run::main(Collective::AllToAllV)
}
