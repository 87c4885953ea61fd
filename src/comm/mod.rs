//! comm.
