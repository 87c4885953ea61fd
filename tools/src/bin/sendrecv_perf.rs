//! `sendrecv_perf`: measures and checks SendRecv.

use std::process::ExitCode;

use mccl_tools::coll::Collective;

fn main() -> ExitCode {
    mccl_tools::run::main(Collective::SendRecv)
}
