//! C programs against the shared library: they compile, link with every name resolved at once, and print their transcript.
use ffi_tests::cc::{build, run, started};
use ffi_tests::{artefact, functions_of_the_header, root, scratch};

#[test]
fn a_program_reads_version_and_texts() {
    assert_transcript("texts");
}

#[test]
fn refused_arguments_are_named_with_value_and_range() {
    assert_transcript("refusals");
}

#[test]
fn a_live_communicator_refuses_bad_arguments_and_ends_with_its_handle() {
    assert_transcript("live");
}

#[test]
fn a_tool_that_replaces_a_function_reaches_the_twin() {
    assert_transcript("interpose");
}

#[test]
fn four_devices_give_the_same_numbers_through_the_extension_and_through_pinned_memory() {
    let folder = scratch(env!("CARGO_TARGET_TMPDIR"), "staged");
    let program = build(&root().join("ffi-tests/programs/staged.c"), &folder, &[]);
    for runtime in ["", "staged"] {
        let mut command = started(&program, &folder);
        command.env("MCCL_EMU_DEVICES", "4").env("MCCL_DEVICE_RUNTIME", runtime);
        artefact::check("ffi-tests/programs/staged.txt", &run(&mut command));
    }
}

#[test]
fn warnings_have_the_known_shape_on_standard_output() {
    let folder = scratch(env!("CARGO_TARGET_TMPDIR"), "warnings");
    let program = build(&root().join("ffi-tests/programs/interpose.c"), &folder, &[]);
    let said = run(started(&program, &folder).env("MCCL_DEBUG", "WARN"));
    let line = said.lines().find(|line| line.contains("MCCL WARN")).expect("a warning");
    let (place, text) = line.split_once(" MCCL WARN ").unwrap();
    assert_eq!(text, "mcclCommCount: comm argument is NULL");
    let words: Vec<&str> = place.split(' ').collect();
    let [date, time, origin, device, file, function] = words.try_into().expect("six words before the level");
    assert!(date.starts_with("[20") && time.ends_with(']'), "{line}");
    assert_eq!(origin.split(':').filter(|part| !part.is_empty()).count(), 3, "host:pid:tid in {line}");
    assert!(
        device.starts_with('[') && file.starts_with("abi/mccl/comm.rs:") && function == "(mcclCommCount)",
        "{line}"
    );
}

#[test]
fn the_log_goes_to_the_named_file_and_the_program_keeps_its_output() {
    let folder = scratch(env!("CARGO_TARGET_TMPDIR"), "log-file");
    let program = build(&root().join("ffi-tests/programs/interpose.c"), &folder, &[]);
    let mut command = started(&program, &folder);
    command.env("MCCL_DEBUG", "WARN").env("MCCL_DEBUG_FILE", folder.join("log.%p"));
    let child = command.stdout(std::process::Stdio::piped()).spawn().unwrap();
    let log = folder.join(format!("log.{}", child.id()));
    let said = String::from_utf8(child.wait_with_output().unwrap().stdout).unwrap();
    assert_eq!(said, std::fs::read_to_string(root().join("ffi-tests/programs/interpose.txt")).unwrap());
    assert_eq!(std::fs::read_to_string(log).unwrap().matches("MCCL WARN").count(), 1);
}

#[test]
fn a_program_that_names_every_function_links_and_starts() {
    let folder = scratch(env!("CARGO_TARGET_TMPDIR"), "every-name");
    let names = functions_of_the_header();
    let table: String = names.iter().map(|name| format!("  {{\"{name}\", (function){name}}},\n")).collect();
    let source = format!(
        "#include <mccl.h>\n#include <stdio.h>\ntypedef void (*function)(void);\n\
         static const struct {{ const char *name; function at; }} table[] = {{\n{table}}};\n\
         int main(void) {{\n  size_t i, found = 0;\n\
         for (i = 0; i < sizeof table / sizeof *table; i++) found += table[i].at != 0;\n\
         printf(\"%zu\\n\", found);\n  return 0;\n}}\n"
    );
    let file = folder.join("every-name.c");
    std::fs::write(&file, source).unwrap();
    // The warning off is about the casts of this very table.
    let program = build(&file, &folder, &["-Wno-cast-function-type"]);
    assert_eq!(run(&mut started(&program, &folder)).trim(), names.len().to_string());
}

/// Compiles `programs/NAME.c`, runs it and compares what it prints with `programs/NAME.txt`.
fn assert_transcript(name: &str) {
    let folder = scratch(env!("CARGO_TARGET_TMPDIR"), name);
    let program = build(&root().join(format!("ffi-tests/programs/{name}.c")), &folder, &[]);
    artefact::check(&format!("ffi-tests/programs/{name}.txt"), &run(&mut started(&program, &folder)));
}
