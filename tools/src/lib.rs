//! What the tools share: everything below the one-page programs in `bin/`.
//!
//! `run` leads a measurement. It uses `cli` (options), `launch` (where ranks come from), `api` and `musart` (the measured library and
//! the device runtime, opened at run time), `coll` (what each collective needs), `pattern` and `verify` (test data), `bench`
//! (the timed loop), `rows`, `table` and `json` (reports).

pub mod api;
pub mod bench;
mod calls;
pub mod cli;
pub mod coll;
pub mod dtype;
pub mod error;
pub mod json;
pub mod launch;
pub mod load;
pub mod local;
pub mod musart;
pub mod output;
pub mod pattern;
pub mod rows;
pub mod run;
pub mod session;
pub mod settings;
pub mod sys;
pub mod table;
pub mod team;
pub mod verify;
pub mod version;
pub mod watchdog;

/// The version of the tests whose options and output these programs have.
pub const TESTS_VERSION: &str = "2.19.6";
/// The version of the C interface written down in `api`.
pub const HEADER_VERSION: i32 = 22809;
