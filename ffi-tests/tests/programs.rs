//! C programs against the shared library: they compile, link with every name resolved at once, and print their transcript.
use std::path::{Path, PathBuf};
use std::process::Command;

use ffi_tests::cc::{STRICT, compiler, linked_libraries, run};
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

fn build(source: &Path, folder: &Path, more: &[&str]) -> PathBuf {
    let program = folder.join(source.file_stem().unwrap());
    let libraries = linked_libraries(folder);
    let mut compile = compiler(false);
    compile.arg("-std=c99").args(STRICT).args(more).arg(source).arg("-o").arg(&program);
    // Undefined names of the libraries count too, so that nothing is left for the first call to find out.
    compile.arg("-L").arg(&libraries).args(["-lmccl", "-lmusart", "-Wl,-z,now", "-Wl,--no-as-needed"]);
    run(&mut compile);
    program
}

fn started(program: &Path, folder: &Path) -> Command {
    let mut command = Command::new(program);
    command.env("LD_LIBRARY_PATH", folder.join("lib")).env_remove("MCCL_DEBUG");
    command
}
