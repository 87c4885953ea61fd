//! The functions of a MUSA runtime library, found by name. No emulation here: real and emulated libraries look alike.
use std::ffi::{CStr, c_char, c_int, c_void};

use crate::base::Result;
use crate::err;
use crate::sys::dl;

/// Signature `musaError_t f(...)`; 0 is success.
type Code = c_int;

type IntOut = unsafe extern "C" fn(*mut c_int) -> Code;
type SetDevice = unsafe extern "C" fn(c_int) -> Code;
type BusId = unsafe extern "C" fn(*mut c_char, c_int, c_int) -> Code;
type Malloc = unsafe extern "C" fn(*mut *mut c_void, usize) -> Code;
type Free = unsafe extern "C" fn(*mut c_void) -> Code;
type Text = unsafe extern "C" fn(Code) -> *const c_char;

/// The part of `libmusart.so` that the library uses.
pub struct MusaApi {
    get_device_count: IntOut,
    get_device: IntOut,
    set_device: SetDevice,
    device_get_pci_bus_id: BusId,
    runtime_get_version: IntOut,
    malloc: Malloc,
    free: Free,
    get_error_string: Text,
}

impl MusaApi {
    /// Looks every function up with `find`; the first that is missing is named.
    pub fn load(find: impl Fn(&CStr) -> Option<std::ptr::NonNull<c_void>>) -> Result<Self> {
        let get = |name: &CStr| {
            find(name).ok_or_else(|| err!(Device, "the device runtime has no {}", name.to_string_lossy()))
        };
        macro_rules! function {
            ($name:literal, $signature:ty) => {
                // SAFETY: the symbol of this name has this signature in every MUSA runtime library.
                unsafe { std::mem::transmute::<*mut c_void, $signature>(get($name)?.as_ptr()) }
            };
        }
        Ok(Self {
            get_device_count: function!(c"musaGetDeviceCount", IntOut),
            get_device: function!(c"musaGetDevice", IntOut),
            set_device: function!(c"musaSetDevice", SetDevice),
            device_get_pci_bus_id: function!(c"musaDeviceGetPCIBusId", BusId),
            runtime_get_version: function!(c"musaRuntimeGetVersion", IntOut),
            malloc: function!(c"musaMalloc", Malloc),
            free: function!(c"musaFree", Free),
            get_error_string: function!(c"musaGetErrorString", Text),
        })
    }

    pub fn device_count(&self) -> Result<i32> {
        let mut count = 0;
        // SAFETY: a valid place for one int.
        self.check("musaGetDeviceCount", unsafe { (self.get_device_count)(&mut count) })?;
        Ok(count)
    }

    pub fn current_device(&self) -> Result<i32> {
        let mut device = 0;
        // SAFETY: a valid place for one int.
        self.check("musaGetDevice", unsafe { (self.get_device)(&mut device) })?;
        Ok(device)
    }

    pub fn set_device(&self, device: i32) -> Result<()> {
        // SAFETY: any value is allowed; a wrong one is answered with a code.
        self.check("musaSetDevice", unsafe { (self.set_device)(device) })
    }

    pub fn bus_id(&self, device: i32) -> Result<String> {
        let mut text = [0 as c_char; 64];
        // SAFETY: the length passed is that of the array, less one for the end.
        self.check("musaDeviceGetPCIBusId", unsafe {
            (self.device_get_pci_bus_id)(text.as_mut_ptr(), 63, device)
        })?;
        // SAFETY: the last byte was never handed out, so the text ends within the array.
        Ok(unsafe { CStr::from_ptr(text.as_ptr()) }.to_string_lossy().into_owned())
    }

    /// `musaX.Y` for the version banner.
    pub fn version_name(&self) -> String {
        let mut version = 0;
        // SAFETY: a valid place for one int.
        match unsafe { (self.runtime_get_version)(&mut version) } {
            0 => format!("musa{}.{}", version / 10_000, version % 10_000 / 100),
            _ => "musa".into(),
        }
    }

    pub fn alloc(&self, len: usize) -> Result<*mut c_void> {
        let mut ptr = std::ptr::null_mut();
        // SAFETY: a valid place for one pointer.
        self.check("musaMalloc", unsafe { (self.malloc)(&mut ptr, len) })?;
        Ok(ptr)
    }

    /// Any address may be passed: the runtime looks it up and answers a wrong one with a code.
    #[allow(clippy::not_unsafe_ptr_arg_deref)]
    pub fn free(&self, ptr: *mut c_void) -> Result<()> {
        // SAFETY: a pointer that is not the runtime's own is answered with a code.
        self.check("musaFree", unsafe { (self.free)(ptr) })
    }

    pub fn check(&self, call: &str, code: Code) -> Result<()> {
        if code == 0 {
            return Ok(());
        }
        // SAFETY: returns a static text, or null.
        let text = unsafe { (self.get_error_string)(code) };
        let text = match text.is_null() {
            true => "unknown error".into(),
            // SAFETY: not null, so a static text.
            false => unsafe { CStr::from_ptr(text) }.to_string_lossy(),
        };
        Err(err!(Device, "{call}: {text} ({code})"))
    }
}

/// Looks a symbol up in a library, or in what the process has loaded.
pub enum Source {
    Process,
    File(dl::Library),
}

impl Source {
    pub fn find(&self, name: &CStr) -> Option<std::ptr::NonNull<c_void>> {
        match self {
            Self::Process => dl::default_symbol(name),
            Self::File(library) => library.symbol(name),
        }
    }
}
