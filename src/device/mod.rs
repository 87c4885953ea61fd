//! Devices: runtimes opened at run time, the emulated runtime's extension, and the host reduction kernels.

pub mod reduce;
