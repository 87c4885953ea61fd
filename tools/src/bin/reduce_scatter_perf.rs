//! `reduce_scatter_perf`: measures and checks ReduceScatter.

use std::process::ExitCode;

use mccl_tools::coll::Collective;

fn main() -> ExitCode {
    mccl_tools::run::main(Collective::ReduceScatter)
}
