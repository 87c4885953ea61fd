//! Libraries loaded at run time, and finding what the process already has.
use std::ffi::{CStr, OsStr, c_void};
use std::io;
use std::mem::MaybeUninit;
use std::os::unix::ffi::OsStrExt;
use std::path::PathBuf;
use std::ptr::NonNull;

use libloading::os::unix as imp;

/// A loaded shared library; dropping it gives up this reference.
#[derive(Debug)]
pub struct Library(imp::Library);

impl Library {
    /// Loads `name` (a path, or a name that the loader searches for), its symbols private to this handle.
    ///
    /// # Safety
    /// The library's initialisers run: the caller trusts the file.
    pub unsafe fn open(name: impl AsRef<OsStr>) -> io::Result<Self> {
        // SAFETY: handed on to the caller.
        let library = unsafe { imp::Library::open(Some(name), libc::RTLD_NOW | libc::RTLD_LOCAL) };
        library.map(Self).map_err(io::Error::other)
    }

    /// The library if this process has loaded it already, under that name or soname; loads nothing.
    pub fn already_loaded(name: impl AsRef<OsStr>) -> Option<Self> {
        // SAFETY: RTLD_NOLOAD takes a reference to what is there; no initialiser runs.
        let library = unsafe { imp::Library::open(Some(name), libc::RTLD_LAZY | libc::RTLD_NOLOAD) };
        library.ok().map(Self)
    }

    /// Address of `symbol`, None when the library (and its dependencies) lack it.
    pub fn symbol(&self, symbol: &CStr) -> Option<NonNull<c_void>> {
        // SAFETY: the symbol is taken as an untyped address, which dlsym's result always is.
        let found = unsafe { self.0.get::<*mut c_void>(symbol.to_bytes_with_nul()) };
        NonNull::new(found.ok()?.as_raw_ptr())
    }

    /// Keeps the library loaded for the life of the process.
    pub fn leak(self) {
        let _ = self.0.into_raw();
    }
}

/// Address of `symbol` in the program or any library it was started with or loaded globally.
pub fn default_symbol(symbol: &CStr) -> Option<NonNull<c_void>> {
    // SAFETY: dlsym reads the C string and looks up; RTLD_DEFAULT needs no handle.
    NonNull::new(unsafe { libc::dlsym(libc::RTLD_DEFAULT, symbol.as_ptr()) })
}

/// File of the shared object (or program) that contains `address`, a function's for example.
pub fn object_containing(address: *const c_void) -> Option<PathBuf> {
    let mut info = MaybeUninit::<libc::Dl_info>::zeroed();
    let address = std::ptr::without_provenance(address.addr());
    // SAFETY: dladdr only compares the address with the loaded objects' ranges and fills the struct we own.
    let (found, info) = unsafe { (libc::dladdr(address, info.as_mut_ptr()), info.assume_init()) };
    if found == 0 || info.dli_fname.is_null() {
        return None;
    }
    // SAFETY: dli_fname is a C string of the loader, which lives as long as the object stays loaded.
    let name = unsafe { CStr::from_ptr(info.dli_fname) };
    let path = PathBuf::from(OsStr::from_bytes(name.to_bytes()));
    Some(path.canonicalize().unwrap_or(path))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_c_library_is_found_in_every_way() {
        assert!(default_symbol(c"getpid").is_some());
        assert!(default_symbol(c"no_such_function_anywhere").is_none());
        let libc = Library::already_loaded("libc.so.6").unwrap();
        assert_eq!(libc.symbol(c"getpid"), default_symbol(c"getpid"));
        assert!(libc.symbol(c"no_such_function_anywhere").is_none());
        assert!(Library::already_loaded("libnever-loaded.so.9").is_none());
        // SAFETY: the C library is loaded already; this only adds a reference.
        assert!(unsafe { Library::open("libc.so.6") }.is_ok());
    }

    #[test]
    fn a_missing_library_is_named_in_the_error() {
        // SAFETY: the file does not exist, nothing is loaded.
        let error = unsafe { Library::open("libnever-loaded.so.9") }.unwrap_err();
        assert!(format!("{error:?}").contains("libnever-loaded.so.9"), "{error:?}");
    }

    #[test]
    fn the_object_of_a_function_is_this_program() {
        let here = object_containing(the_object_of_a_function_is_this_program as *const c_void).unwrap();
        assert_eq!(here, std::env::current_exe().unwrap().canonicalize().unwrap());
        assert!(object_containing(std::ptr::without_provenance(1)).is_none());
    }
}
