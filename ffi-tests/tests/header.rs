//! `include/mccl.h` is what the source says, and strict compilers take it.
use ffi_tests::artefact;
use ffi_tests::cc::{STRICT, compiler, run};
use ffi_tests::{root, scratch};

/// Files in the order of the header.
const SOURCES: [&str; 12] = [
    "types.rs",
    "mem.rs",
    "info.rs",
    "comm.rs",
    "redop.rs",
    "coll.rs",
    "vector.rs",
    "p2p.rs",
    "window.rs",
    "group.rs",
    "profile/comm.rs",
    "profile/ops.rs",
];

#[test]
fn the_committed_header_is_the_generated_one() {
    artefact::check("include/mccl.h", &generate(&read("prelude.h")));
}

#[test]
fn a_changed_value_makes_the_comparison_fail() {
    let changed = read("prelude.h").replace("mcclFp8E5M2 = 11", "mcclFp8E5M2 = 12");
    let difference = artefact::compare(&generate(&read("prelude.h")), &generate(&changed)).unwrap_err();
    assert!(
        difference.contains("mcclFp8E5M2 = 11") && difference.contains("mcclFp8E5M2 = 12"),
        "{difference}"
    );
}

#[test]
fn the_header_compiles_as_c99_and_as_cpp11_without_a_warning() {
    let folder = scratch(env!("CARGO_TARGET_TMPDIR"), "header");
    for (standard, cpp) in
        [("-std=c99", false), ("-std=c11", false), ("-std=c++11", true), ("-std=c++17", true)]
    {
        let source = folder.join(if cpp { "use.cc" } else { "use.c" });
        std::fs::write(&source, USE).unwrap();
        run(compiler(cpp).arg(standard).args(STRICT).arg("-fsyntax-only").arg(&source));
    }
}

#[test]
fn version_macros_are_single_numbers_that_scripts_can_grep() {
    let header = generate(&read("prelude.h"));
    for line in ["#define MCCL_MAJOR 2\n", "#define MCCL_MINOR 28\n", "#define MCCL_PATCH 9\n"] {
        assert!(header.contains(line), "{line}");
    }
    assert_eq!(mccl::comm::version(), 22809);
}

/// Uses macros where a wrong one would not compile.
const USE: &str = r#"
#include <mccl.h>
#if MCCL_VERSION_CODE != MCCL_VERSION(2, 28, 9) || MCCL_VERSION(2, 8, 3) != 2803
#error version
#endif
int use(mcclComm_t comm, musaStream_t stream, const void *in, void *out);
int use(mcclComm_t comm, musaStream_t stream, const void *in, void *out) {
  mcclConfig_t config = MCCL_CONFIG_INITIALIZER;
  mcclSimInfo_t info = MCCL_SIM_INFO_INITIALIZER;
  const char *suffix = MCCL_SUFFIX;
  config.blocking = 0;
  if (comm == MCCL_COMM_NULL || config.minCTAs != MCCL_CONFIG_UNDEF_INT || info.magic == 0) return suffix[0];
  return mcclAllReduce(in, out, 1, mcclFp8E4M3, mcclAvg, comm, stream) == mcclUnhandledCudaError;
}
"#;

fn read(file: &str) -> String {
    std::fs::read_to_string(root().join("src/abi/mccl").join(file)).unwrap()
}

fn generate(prelude: &str) -> String {
    let mut config = cbindgen::Config::from_file(root().join("cbindgen.toml")).unwrap();
    let includes = "#include <limits.h>\n#include <stddef.h>\n#include <musa_runtime.h>\n\n";
    let (_, prelude) = prelude.split_once("*/\n").expect("the file opens with a comment");
    config.after_includes = Some(format!("\n{includes}{}", prelude.trim_start()));
    config.header =
        Some("/* mccl.h: collective communication between the devices of a program. */".to_string());
    let mut builder = cbindgen::Builder::new().with_config(config);
    for file in SOURCES {
        builder = builder.with_src(root().join("src/abi/mccl").join(file));
    }
    let mut header = Vec::new();
    builder.generate().expect("cbindgen reads the sources").write(&mut header);
    polish(&String::from_utf8(header).unwrap())
}

/// Turns the generator's comments into C's usual form and leaves them out at the `pmccl` twins.
fn polish(header: &str) -> String {
    let header = header
        .replace(" // __cplusplus", " /* __cplusplus */")
        .replace("// extern \"C\"", "/* extern \"C\" */");
    let mut out = String::new();
    let mut lines = header.lines();
    while let Some(line) = lines.next() {
        if line.trim() != "/*" {
            out.push_str(line);
            out.push('\n');
            continue;
        }
        let indent = &line[..line.len() - 2];
        let text: Vec<&str> = lines.by_ref().map(str::trim).take_while(|line| *line != "*/").collect();
        let text: Vec<&str> =
            text.into_iter().filter(|line| !line.is_empty() && *line != "# Safety").collect();
        if text[0].starts_with("Twin of ") {
            continue;
        }
        let text = text.join(&format!("\n{indent} * "));
        out.push_str(&format!("{indent}/* {text} */\n"));
    }
    without_gaps_between_twins(&out)
}

/// Twins stand close together, being without comments.
fn without_gaps_between_twins(header: &str) -> String {
    let lines: Vec<&str> = header.lines().collect();
    let twin =
        |line: Option<&&str>| line.is_some_and(|line| line.contains(" pmccl") || line.contains(" *pmccl"));
    let mut out = String::new();
    for (at, line) in lines.iter().enumerate() {
        let before = at > 0 && lines[at - 1].ends_with(");");
        if !(line.is_empty()
            && (twin(lines.get(at + 1)) && before || lines.get(at + 1).is_none_or(|next| next.is_empty())))
        {
            out.push_str(line);
            out.push('\n');
        }
    }
    out
}
