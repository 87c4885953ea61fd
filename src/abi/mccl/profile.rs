//! The `pmccl` twins of the public functions: same bodies, reached without the public symbols, so that a tool which
//! replaces `mcclX` can call `pmcclX`.
pub mod comm;
pub mod extra;
pub mod ops;
