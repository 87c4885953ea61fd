//! C types of the driver face; `emu/include/musa.h` says the same and a test compares them.

use std::ffi::{c_char, c_int, c_uchar, c_uint, c_ulonglong, c_ushort, c_void};

pub type MUdevice = c_int;
pub type MUdeviceptr = c_ulonglong;
pub type MUcontext = *mut c_void;
pub type MUstream = *mut c_void;
pub type MUmemGenericAllocationHandle = c_ulonglong;

#[repr(C)]
#[derive(Clone, Copy)]
pub struct MUuuid {
    pub bytes: [c_char; 16],
}

#[repr(C)]
#[derive(Clone, Copy)]
pub struct MUmemLocation {
    pub r#type: c_int,
    pub id: c_int,
}

#[repr(C)]
#[derive(Clone, Copy)]
pub struct MUmemAllocFlags {
    pub compressionType: c_uchar,
    pub gpuDirectRDMACapable: c_uchar,
    pub usage: c_ushort,
    pub reserved: [c_uchar; 4],
}

#[repr(C)]
#[derive(Clone, Copy)]
pub struct MUmemAllocationProp {
    pub r#type: c_int,
    pub requestedHandleTypes: c_int,
    pub location: MUmemLocation,
    pub win32HandleMetaData: *mut c_void,
    pub allocFlags: MUmemAllocFlags,
}

#[repr(C)]
#[derive(Clone, Copy)]
pub struct MUmemAccessDesc {
    pub location: MUmemLocation,
    pub flags: c_int,
}

/// Values of the fields above that mean something here.
pub const PINNED: c_int = 1;
pub const LOCATION_DEVICE: c_int = 1;
pub const HANDLE_NONE: c_int = 0;
pub const HANDLE_POSIX_FD: c_int = 1;
pub const ACCESS_READ_WRITE: c_int = 3;
pub const WAIT_FLUSH: c_uint = 1 << 30;
