//! C and C++ programs against the headers and the shared library.

mod common;

use std::path::PathBuf;

use common::c::{compile, run};

/// Compiles a program of `tests/programs` with its shared header put in place.
fn program(name: &str, source: &str) -> PathBuf {
    compile(name, &source.replace("#include \"check.h\"", include_str!("programs/check.h")))
}

#[test]
fn a_plain_program_uses_devices_memory_streams_and_leaves_with_work_pending() {
    let environment = [("MCCL_EMU_DEVICES", "3"), ("MCCL_EMU_MEMORY", "64M"), ("MCCL_EMU_DELAY_US", "20000")];
    run(&program("runtime.c", include_str!("programs/runtime.c")), &environment);
}

#[test]
fn two_processes_share_memory_and_events() {
    run(&program("ipc.c", include_str!("programs/ipc.c")), &[]);
}

#[test]
fn cpp_conveniences_compile_and_work() {
    run(&program("conveniences.cpp", include_str!("programs/conveniences.cpp")), &[]);
}

#[test]
fn a_bad_setting_is_reported_and_the_default_used() {
    let source =
        "#include <musa_runtime.h>\nint main(void) { int n; return musaGetDeviceCount(&n) || n != 8; }\n";
    let output = run(&compile("setting.c", source), &[("MCCL_EMU_DEVICES", "many")]);
    let text = String::from_utf8(output.stderr).unwrap();
    assert!(text.contains("MCCL_EMU_DEVICES") && text.contains("many") && text.contains("1 to 64"), "{text}");
}

#[test]
fn limited_address_space_leaves_smaller_spans() {
    let source = "#include <musa_runtime.h>\n#include <sys/resource.h>\nint main(void) {\n\
                  struct rlimit limit = {(rlim_t)8 << 30, (rlim_t)8 << 30};\nvoid *p;\n\
                  return setrlimit(RLIMIT_AS, &limit) || musaMalloc(&p, 1000000);\n}\n";
    run(&compile("limited.c", source), &[]);
}

#[test]
fn the_library_can_be_closed_while_it_works() {
    let source = "#include <dlfcn.h>\n#include <stddef.h>\n#include <string.h>\n#include <unistd.h>\n\
                  static int seen;\nstatic void act(void *p) { usleep(20000); *(int *)p = 1; }\n\
                  int main(void) {\nvoid *library = dlopen(\"libmusart.so.5\", RTLD_NOW);\n\
                  void *symbol = dlsym(library, \"musaLaunchHostFunc\");\n\
                  int (*launch)(void *, void (*)(void *), void *);\nint i;\n\
                  memcpy(&launch, &symbol, sizeof launch);\nif (launch(NULL, act, &seen)) return 1;\n\
                  dlclose(library);\nfor (i = 0; i < 1000 && !*(volatile int *)&seen; i++) usleep(1000);\n\
                  return !seen;\n}\n";
    run(&compile("closed.c", source), &[]);
}
