//! Which device runtime this process uses: decided once, on first need, and named in the version banner.
//!
//! In this order: the one that `MCCL_DEVICE_RUNTIME` names; the one that the process has loaded already; a library of a
//! known name on the loader's path; the emulated one beside this library. One that has the extension of the emulated
//! runtime is used through that; any other one, or any that the user wants so, is used through its public functions.
use std::path::PathBuf;
use std::sync::OnceLock;

use crate::base::env::Env;
use crate::base::{Error, Result, log};
use crate::device::Runtime;
use crate::device::emulated::{ENTRY, Emulated};
use crate::device::musa::Source;
use crate::device::staged::Staged;
use crate::sys::dl::{self, Library};
use crate::{err, info};

/// Names of runtime libraries, newest first.
const NAMES: [&str; 5] =
    ["libmusart.so.5", "libmusart.so.4", "libmusart.so.1.5", "libmusart.so.1.0", "libmusart.so"];
/// The emulated runtime's file in a build folder or an installation.
const EMULATED: [&str; 2] = ["libmusart.so", "libmusart.so.5"];

static RUNTIME: OnceLock<std::result::Result<Box<dyn Runtime>, Error>> = OnceLock::new();

/// The runtime of this process.
///
/// # Errors
/// None can be loaded, or the named one cannot; the same error for every later call.
pub fn runtime() -> Result<&'static dyn Runtime> {
    match RUNTIME.get_or_init(|| find(Env::get().device_runtime.as_deref())) {
        Ok(runtime) => Ok(&**runtime),
        Err(error) => Err(error.clone()),
    }
}

/// The calling thread's device, for log lines; unknown until there is a runtime.
fn device_of_thread() -> Option<i32> {
    RUNTIME.get()?.as_ref().ok()?.current_device().ok()
}

fn find(named: Option<&str>) -> Result<Box<dyn Runtime>> {
    log::set_device_source(device_of_thread);
    let (staged, named) = match named {
        Some("staged") => (true, None),
        Some(name) => name.strip_prefix("staged:").map_or((false, Some(name)), |rest| (true, Some(rest))),
        None => (false, None),
    };
    let (source, place) = locate(named)?;
    let emulated = if staged { None } else { Emulated::load(&source)? };
    let runtime: Box<dyn Runtime> = match emulated {
        Some(emulated) => Box::new(emulated),
        None => Box::new(Staged::load(&source)?),
    };
    info!(Init, "Device runtime: {} ({place})", runtime.version_name());
    // The functions must stay callable as long as the process lives.
    if let Source::File(library) = source {
        library.leak();
    }
    Ok(runtime)
}

fn locate(named: Option<&str>) -> Result<(Source, String)> {
    match named {
        Some("emu") => {
            return beside_us().ok_or_else(|| {
                err!(System, "MCCL_DEVICE_RUNTIME: emu: no {} beside {}", EMULATED[0], folder())
            });
        }
        Some(name) => return open(name).map(|library| (Source::File(library), name.into())),
        None => {}
    }
    if dl::default_symbol(ENTRY).is_some() || dl::default_symbol(c"musaGetDeviceCount").is_some() {
        return Ok((Source::Process, "loaded by the program".into()));
    }
    let loaded = NAMES.iter().find_map(|name| {
        Some((Source::File(Library::already_loaded(name)?), format!("{name}, already loaded")))
    });
    let by_name = || NAMES.iter().find_map(|name| Some((Source::File(open(name).ok()?), name.to_string())));
    loaded.or_else(by_name).or_else(beside_us).ok_or_else(|| {
        err!(
            System,
            "no device runtime: none of {} can be loaded, and none is beside {}",
            NAMES.join(", "),
            folder()
        )
    })
}

fn beside_us() -> Option<(Source, String)> {
    EMULATED.iter().find_map(|name| {
        let path = our_folder()?.join(name);
        let library = open(path.to_str()?).ok()?;
        Some((Source::File(library), path.display().to_string()))
    })
}

fn our_folder() -> Option<PathBuf> {
    dl::object_containing(runtime as *const std::ffi::c_void)?.parent().map(PathBuf::from)
}

fn folder() -> String {
    our_folder().map_or_else(|| "this library".into(), |f| f.display().to_string())
}

fn open(name: &str) -> Result<Library> {
    // SAFETY: the file is the user's own choice, or a device runtime by its well-known name.
    unsafe { Library::open(name) }.map_err(|e| Error::system(format_args!("device runtime {name}"), &e))
}
