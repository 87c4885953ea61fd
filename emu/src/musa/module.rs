//! Device code: not supported, explicitly. There is no processor here that could run it.

use std::ffi::{c_char, c_int, c_uint, c_void};

use super::types::MUstream;
use crate::core::error::Error;
use crate::guard::driver_entry;

/// Always `MUSA_ERROR_NOT_SUPPORTED`.
#[unsafe(no_mangle)]
pub extern "C" fn muModuleLoadData(_module: *mut *mut c_void, _image: *const c_void) -> c_int {
    driver_entry("muModuleLoadData", || Err(Error::NOT_SUPPORTED))
}

/// Always `MUSA_ERROR_NOT_SUPPORTED`.
#[unsafe(no_mangle)]
pub extern "C" fn muModuleUnload(_module: *mut c_void) -> c_int {
    driver_entry("muModuleUnload", || Err(Error::NOT_SUPPORTED))
}

/// Always `MUSA_ERROR_NOT_SUPPORTED`.
#[unsafe(no_mangle)]
pub extern "C" fn muModuleGetFunction(
    _function: *mut *mut c_void,
    _module: *mut c_void,
    _name: *const c_char,
) -> c_int {
    driver_entry("muModuleGetFunction", || Err(Error::NOT_SUPPORTED))
}

/// Always `MUSA_ERROR_NOT_SUPPORTED`.
#[unsafe(no_mangle)]
#[allow(clippy::too_many_arguments)]
pub extern "C" fn muLaunchKernel(
    _function: *mut c_void,
    _grid_x: c_uint,
    _grid_y: c_uint,
    _grid_z: c_uint,
    _block_x: c_uint,
    _block_y: c_uint,
    _block_z: c_uint,
    _shared: c_uint,
    _stream: MUstream,
    _parameters: *mut *mut c_void,
    _extra: *mut *mut c_void,
) -> c_int {
    driver_entry("muLaunchKernel", || Err(Error::NOT_SUPPORTED))
}
