//! `all_reduce_perf`: measures and checks AllReduce.

use std::process::ExitCode;

use mccl_tools::coll::Collective;

fn main() -> ExitCode {
    mccl_tools::run::main(Collective::AllReduce)
}
