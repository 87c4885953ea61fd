//! `all_gather_perf`: measures and checks AllGather.

use std::process::ExitCode;

use mccl_tools::coll::Collective;

fn main() -> ExitCode {
    mccl_tools::run::main(Collective::AllGather)
}
