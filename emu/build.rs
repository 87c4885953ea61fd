//! Soname of the shared library and its protection against unloading; nothing else.
fn main() {
    println!("cargo:rerun-if-changed=build.rs");
    println!("cargo:rustc-cdylib-link-arg=-Wl,-soname,libmusart.so.5");
    // Worker threads run code of this library until the process ends.
    println!("cargo:rustc-cdylib-link-arg=-Wl,-z,nodelete");
}
