//! C types of the runtime face; `emu/include/musa_runtime_api.h` says the same and a test compares them.

use std::ffi::{c_char, c_int, c_uint, c_void};

/// Handles are opaque; their kinds are told apart by the functions that take them.
pub type Handle = *mut c_void;

#[repr(C)]
#[derive(Clone, Copy)]
pub struct musaUUID {
    pub bytes: [c_char; 16],
}

#[repr(C)]
#[derive(Clone, Copy)]
pub struct musaPointerAttributes {
    /// 0 unregistered, 1 host, 2 device, 3 managed.
    pub r#type: c_int,
    pub device: c_int,
    pub devicePointer: *mut c_void,
    pub hostPointer: *mut c_void,
}

#[repr(C)]
#[derive(Clone, Copy)]
pub struct musaIpcMemHandle {
    pub reserved: [u8; 64],
}

#[repr(C)]
#[derive(Clone, Copy)]
pub struct musaIpcEventHandle {
    pub reserved: [u8; 64],
}

#[repr(C)]
#[derive(Clone, Copy)]
pub struct musaHostNodeParams {
    pub r#fn: Option<unsafe extern "C" fn(*mut c_void)>,
    pub userData: *mut c_void,
}

#[repr(C)]
#[derive(Clone, Copy)]
pub struct musaMemsetParams {
    pub dst: *mut c_void,
    pub pitch: usize,
    pub value: c_uint,
    pub elementSize: c_uint,
    pub width: usize,
    pub height: usize,
}

#[repr(C)]
#[derive(Clone, Copy)]
pub struct musaDeviceProp {
    pub name: [c_char; 256],
    pub uuid: musaUUID,
    pub luid: [c_char; 8],
    pub luidDeviceNodeMask: c_uint,
    pub totalGlobalMem: usize,
    pub sharedMemPerBlock: usize,
    pub regsPerBlock: c_int,
    pub warpSize: c_int,
    pub memPitch: usize,
    pub maxThreadsPerBlock: c_int,
    pub maxThreadsDim: [c_int; 3],
    pub maxGridSize: [c_int; 3],
    pub clockRate: c_int,
    pub totalConstMem: usize,
    pub major: c_int,
    pub minor: c_int,
    pub textureAlignment: usize,
    pub deviceOverlap: c_int,
    pub multiProcessorCount: c_int,
    pub kernelExecTimeoutEnabled: c_int,
    pub integrated: c_int,
    pub canMapHostMemory: c_int,
    pub computeMode: c_int,
    pub concurrentKernels: c_int,
    pub ECCEnabled: c_int,
    pub pciBusID: c_int,
    pub pciDeviceID: c_int,
    pub pciDomainID: c_int,
    pub tccDriver: c_int,
    pub asyncEngineCount: c_int,
    pub unifiedAddressing: c_int,
    pub memoryClockRate: c_int,
    pub memoryBusWidth: c_int,
    pub l2CacheSize: c_int,
    pub maxThreadsPerMultiProcessor: c_int,
    pub streamPrioritiesSupported: c_int,
    pub sharedMemPerMultiprocessor: usize,
    pub regsPerMultiprocessor: c_int,
    pub managedMemory: c_int,
    pub isMultiGpuBoard: c_int,
    pub multiGpuBoardGroupID: c_int,
    pub pageableMemoryAccess: c_int,
    pub concurrentManagedAccess: c_int,
    pub cooperativeLaunch: c_int,
    pub sharedMemPerBlockOptin: usize,
    pub reserved: [c_int; 32],
}
