//! `reduce_perf`: measures and checks Reduce.

use std::process::ExitCode;

use mccl_tools::coll::Collective;

fn main() -> ExitCode {
    mccl_tools::run::main(Collective::Reduce)
}
