//! Soname and link flags of the shared library and the git stamp shown by `mccl_version`; nothing else.
use std::process::Command;

fn main() {
    println!("cargo:rustc-cdylib-link-arg=-Wl,-soname,libmccl.so.2");
    // Threads of the library may outlive a dlclose.
    println!("cargo:rustc-cdylib-link-arg=-Wl,-z,nodelete");
    for (key, args) in [
        ("MCCL_GIT_BRANCH", &["rev-parse", "--abbrev-ref", "HEAD"][..]),
        ("MCCL_GIT_TAG", &["describe", "--tags", "--always"][..]),
        ("MCCL_GIT_COMMIT", &["rev-parse", "HEAD"][..]),
        ("MCCL_GIT_DATE", &["log", "-1", "--format=%cs"][..]),
    ] {
        let value = git(args).unwrap_or_else(|| "unknown".to_string());
        println!("cargo:rustc-env={key}={value}");
    }
    println!("cargo:rerun-if-changed=build.rs");
    println!("cargo:rerun-if-changed=.git/HEAD");
}

fn git(args: &[&str]) -> Option<String> {
    let out = Command::new("git").args(args).output().ok()?;
    let text = String::from_utf8(out.stdout).ok()?;
    out.status.success().then(|| text.trim().to_string())
}
