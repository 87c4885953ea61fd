//! Finds and opens the measured library and the device runtime.
//!
//! A library is looked for as the path given; else beside the executable, in `../lib` and, under a cargo target
//! directory, one folder up; else by name on the loader's path. The runtime is opened first and for everybody
//! (`RTLD_GLOBAL`), so that the library finds the one that this process already uses.

use std::path::{Path, PathBuf};

use libloading::os::unix::{Library, RTLD_GLOBAL, RTLD_LOCAL, RTLD_NOW};

use crate::error::{Error, Result};

const LIBRARY_NAMES: [&str; 2] = ["libmccl.so.2", "libmccl.so"];
const RUNTIME_NAMES: [&str; 4] = ["libmusart.so", "libmusart.so.5", "libmusart.so.4", "libmusart.so.1"];
/// The library's own variable that names a runtime, or says `emu` for the one that comes with it.
const RUNTIME_VARIABLE: &str = "MCCL_DEVICE_RUNTIME";

/// A library that stays open until the process ends, so that its function addresses stay valid.
pub struct Opened {
    library: &'static Library,
    /// What was opened: a path, or a name that the loader resolved.
    pub name: String,
}

impl Opened {
    /// The function `symbol`, if the library exports it.
    ///
    /// # Safety
    /// `T` is the C function pointer type of that symbol.
    pub unsafe fn find<T: Copy>(&self, symbol: &str) -> Option<T> {
        // SAFETY: the caller vouches for the type; the library is never closed.
        unsafe { self.library.get::<T>(symbol.as_bytes()) }.ok().map(|found| *found)
    }

    /// As `find`, with an error that names the library.
    ///
    /// # Safety
    /// As for `find`.
    pub unsafe fn need<T: Copy>(&self, symbol: &str) -> Result<T> {
        // SAFETY: passed on to the caller.
        unsafe { self.find(symbol) }.ok_or_else(|| {
            Error::failed(format!("{}: no function {symbol}: not a usable library", self.name))
        })
    }
}

/// Opens the device runtime: `path`, else what `MCCL_DEVICE_RUNTIME` names, else as the module describes.
pub fn open_runtime(path: Option<&Path>) -> Result<Opened> {
    let variable = std::env::var(RUNTIME_VARIABLE).ok();
    // How the library uses the runtime does not concern these programs.
    let variable = variable.map(|name| name.strip_prefix("staged:").unwrap_or(&name).to_string());
    let variable = variable.filter(|name| !["", "emu", "staged"].contains(&name.as_str()));
    let (flag, named) = match (path, &variable) {
        (None, Some(name)) => (RUNTIME_VARIABLE, Some(Path::new(name))),
        _ => ("--runtime", path),
    };
    open(flag, named, &RUNTIME_NAMES, RTLD_GLOBAL)
}

/// Opens the measured library. Call it after `open_runtime`.
pub fn open_library(path: Option<&Path>) -> Result<Opened> {
    open("--lib", path, &LIBRARY_NAMES, RTLD_LOCAL)
}

/// Opens the first of `names` that the loader finds, visible to all libraries.
pub fn open_global(names: &[&str]) -> Result<Opened> {
    first(names.iter().map(PathBuf::from), RTLD_GLOBAL).map_err(Error::failed)
}

fn open(flag: &str, path: Option<&Path>, names: &[&str], scope: i32) -> Result<Opened> {
    if let Some(path) = path {
        return first([path.to_path_buf()], scope).map_err(|e| Error::usage(format!("{flag}: {e}")));
    }
    let exe = std::env::current_exe().unwrap_or_default();
    let beside = places(&exe).into_iter().flat_map(|dir| names.iter().map(move |name| dir.join(name)));
    let tried = beside.filter(|file| file.exists()).chain(names.iter().map(PathBuf::from));
    first(tried, scope).map_err(|e| {
        Error::failed(format!(
            "no {} beside {} nor on the loader's path ({e}); use {flag} PATH",
            names[0],
            exe.display()
        ))
    })
}

/// Folders to look into, for a program at `exe`.
fn places(exe: &Path) -> Vec<PathBuf> {
    let Some(dir) = exe.parent() else { return Vec::new() };
    let mut found = vec![dir.to_path_buf(), dir.join("../lib")];
    if dir.ends_with("deps") || dir.ends_with("examples") {
        found.extend(dir.parent().map(Path::to_path_buf));
    }
    found
}

fn first(names: impl IntoIterator<Item = PathBuf>, scope: i32) -> std::result::Result<Opened, String> {
    let mut errors = Vec::new();
    for name in names {
        // SAFETY: opening runs the initialisers of a library that the user chose to measure.
        match unsafe { Library::open(Some(&name), RTLD_NOW | scope) } {
            Ok(library) => {
                let library = Box::leak(Box::new(library));
                return Ok(Opened { library, name: name.display().to_string() });
            }
            Err(error) => errors.push(error.to_string()),
        }
    }
    Err(errors.join("; "))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn looks_beside_in_lib_and_above_deps() {
        let found = places(Path::new("/t/release/deps/tool"));
        assert_eq!(found[0], Path::new("/t/release/deps"));
        assert!(found.contains(&PathBuf::from("/t/release")));
        assert!(places(Path::new("/opt/bin/tool")).contains(&PathBuf::from("/opt/bin/../lib")));
    }

    #[test]
    fn a_path_that_does_not_exist_is_named_in_the_error() {
        let error = open_library(Some(Path::new("/nowhere/libmccl.so"))).err().unwrap();
        assert!(error.to_string().contains("/nowhere/libmccl.so"), "{error}");
        assert!(error.to_string().starts_with("--lib"), "{error}");
    }
}
