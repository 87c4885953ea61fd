//! bootstrap.
