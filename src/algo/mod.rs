//! algo.
