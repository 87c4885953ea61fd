//! `gather_perf`: measures and checks Gather.

use std::process::ExitCode;

use mccl_tools::coll::Collective;

fn main() -> ExitCode {
    mccl_tools::run::main(Collective::Gather)
}
