//! `mccl_version`: prints which build of libmccl this is.

fn main() -> std::process::ExitCode {
    mccl_tools::version::main()
}
