//! Emulated device runtime.
