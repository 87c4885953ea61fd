//! The programs from start to end, against stand-ins for the library and the runtime (`tests/double`).

use std::path::{Path, PathBuf};
use std::process::{Command, Output, Stdio};

const PROGRAMS: [(&str, &str); 11] = [
    ("all_reduce_perf", env!("CARGO_BIN_EXE_all_reduce_perf")),
    ("all_gather_perf", env!("CARGO_BIN_EXE_all_gather_perf")),
    ("reduce_scatter_perf", env!("CARGO_BIN_EXE_reduce_scatter_perf")),
    ("broadcast_perf", env!("CARGO_BIN_EXE_broadcast_perf")),
    ("reduce_perf", env!("CARGO_BIN_EXE_reduce_perf")),
    ("alltoall_perf", env!("CARGO_BIN_EXE_alltoall_perf")),
    ("alltoallv_perf", env!("CARGO_BIN_EXE_alltoallv_perf")),
    ("gather_perf", env!("CARGO_BIN_EXE_gather_perf")),
    ("scatter_perf", env!("CARGO_BIN_EXE_scatter_perf")),
    ("sendrecv_perf", env!("CARGO_BIN_EXE_sendrecv_perf")),
    ("hypercube_perf", env!("CARGO_BIN_EXE_hypercube_perf")),
];
const ALL_REDUCE: &str = PROGRAMS[0].1;
/// What launchers set; cleared so that the tests may themselves run under one.
const LAUNCHER_VARIABLES: [&str; 9] = [
    "OMPI_COMM_WORLD_SIZE",
    "PMI_RANK",
    "PMI_SIZE",
    "PMIX_RANK",
    "RANK",
    "WORLD_SIZE",
    "SLURM_PROCID",
    "SLURM_STEP_ID",
    "MCCL_COMM_ID",
];

/// The stand-in `name`: an example of this package, built with its tests.
fn double(name: &str) -> PathBuf {
    let folder = Path::new(ALL_REDUCE).parent().unwrap().join("examples");
    folder.join(format!("libdouble_{name}.so"))
}

fn command(program: &str, args: &str) -> Command {
    let mut command = Command::new(program);
    command.arg("--lib").arg(double("mccl")).arg("--runtime").arg(double("musart"));
    command.args(args.split_whitespace());
    forget_launcher(&mut command);
    command
}

fn forget_launcher(command: &mut Command) {
    for name in LAUNCHER_VARIABLES {
        command.env_remove(name);
    }
}

fn run(program: &str, args: &str) -> Output {
    command(program, args).output().unwrap()
}

fn stdout(output: &Output) -> String {
    String::from_utf8_lossy(&output.stdout).into_owned()
}

fn stderr(output: &Output) -> String {
    String::from_utf8_lossy(&output.stderr).into_owned()
}

/// The rows of the table, as fields.
fn rows(text: &str) -> Vec<Vec<String>> {
    let rows = text.lines().filter(|line| !line.starts_with('#') && !line.trim().is_empty());
    rows.map(|line| line.split_whitespace().map(str::to_string).collect()).collect()
}

fn assert_good(output: &Output, expected_rows: usize, what: &str) {
    let text = stdout(output);
    assert_eq!(output.status.code(), Some(0), "{what}\n{text}\n{}", stderr(output));
    let rows = rows(&text);
    assert_eq!(rows.len(), expected_rows, "{what}\n{text}");
    for row in &rows {
        assert_eq!(row.len(), 13, "{what}: {row:?}");
        assert_eq!(row[8], "0", "{what}: {row:?}");
        assert!(row[12] == "0" || row[12] == "N/A", "{what}: {row:?}");
    }
    assert!(text.contains("# Out of bounds values : 0 OK\n"), "{text}");
}

#[test]
fn every_program_is_right_in_all_types_operations_and_roots() {
    for (name, path) in PROGRAMS {
        let output = run(path, "-t 2 -g 2 -b 16 -e 1K -f 64 -n 2 -d all -o all -r -1");
        let per_type = match name {
            "reduce_perf" => 6 * 4,
            "all_reduce_perf" | "reduce_scatter_perf" => 6,
            "broadcast_perf" | "gather_perf" | "scatter_perf" => 4,
            _ => 1,
        };
        assert_good(&output, 2 * 12 * per_type, name);
        assert!(stdout(&output).ends_with(&format!("# Collective test concluded: {name}\n#\n")));
    }
}

#[test]
fn options_that_change_the_loop_keep_results_right() {
    for (options, program) in [
        ("-g 3 -G 3", PROGRAMS[0].1),
        ("-t 2 -G 2 -m 2", PROGRAMS[1].1),
        ("-g 2 -G 2", PROGRAMS[10].1),
        ("-g 4 -m 3", PROGRAMS[10].1),
        ("-g 3 -m 4 -R 1 -u 3 -p 1", PROGRAMS[2].1),
        ("-t 2 -g 2 -z 1 -m 2", PROGRAMS[0].1),
        ("-t 2 -z 2", PROGRAMS[5].1),
        ("-t 3 -z 3 -a 3", PROGRAMS[7].1),
        ("-t 3 -y 1", PROGRAMS[0].1),
        ("-g 10 -c 3", PROGRAMS[6].1),
        ("-g 1", PROGRAMS[9].1),
        ("-N 2 -g 2", PROGRAMS[8].1),
    ] {
        let output = run(program, &format!("{options} -b 0 -e 512 -i 256 -n 3"));
        assert_good(&output, if options.contains("-N 2") { 6 } else { 3 }, options);
    }
}

#[test]
fn processes_of_nproc_work_together_and_are_listed_in_order() {
    let output = run(ALL_REDUCE, "--nproc 3 -g 2 -b 8 -e 2K -f 16 -n 3");
    assert_good(&output, 3, "--nproc 3");
    let text = stdout(&output);
    let devices: Vec<&str> = text.lines().filter(|l| l.starts_with("#  Rank ")).collect();
    assert_eq!(devices.len(), 6);
    for (rank, line) in devices.iter().enumerate() {
        assert!(line.starts_with(&format!("#  Rank {rank:2} Group  0 Pid ")), "{line}");
        assert!(
            line.contains(&format!("device {rank:2} [0000:{:02x}:00] double device", rank + 16)),
            "{line}"
        );
    }
}

#[test]
fn a_split_makes_groups_of_processes() {
    let mut command = command(ALL_REDUCE, "--nproc 4 -b 64 -e 64 -n 2");
    let output = command.env("MCCL_TESTS_SPLIT", "MOD 2").output().unwrap();
    assert_good(&output, 1, "split");
    let text = stdout(&output);
    let groups: Vec<&str> = text.lines().filter_map(|l| l.strip_prefix("#  Rank ")?.get(2..11)).collect();
    assert_eq!(groups, [" Group  0", " Group  1", " Group  0", " Group  1"]);
}

#[test]
fn ranks_from_variables_meet_through_the_library() {
    let root = format!("127.0.0.1:{}", std::process::id());
    let children: Vec<_> = (0..3)
        .map(|rank| {
            let mut command = command(ALL_REDUCE, "-g 2 -t 2 -b 8 -e 128 -f 16 -n 2");
            command.env("RANK", rank.to_string()).env("WORLD_SIZE", "3").env("LOCAL_RANK", rank.to_string());
            command.env("MCCL_COMM_ID", &root).stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap()
        })
        .collect();
    let outputs: Vec<Output> = children.into_iter().map(|c| c.wait_with_output().unwrap()).collect();
    assert_good(&outputs[0], 2, "variables");
    assert_eq!(stdout(&outputs[0]).matches("#  Rank ").count(), 12);
    for output in &outputs[1..] {
        assert_eq!((output.status.code(), stdout(output).as_str()), (Some(0), ""), "{}", stderr(output));
    }
}

#[test]
fn both_mpi_launchers_give_ranks() {
    for launcher in ["mpirun.openmpi --allow-run-as-root --oversubscribe -n 2", "mpiexec.mpich -n 2"] {
        let words: Vec<&str> = launcher.split(' ').collect();
        let tool = command(ALL_REDUCE, "-b 8 -e 128 -f 16 -n 2");
        let mut command = Command::new(words[0]);
        command.args(&words[1..]).arg(tool.get_program()).args(tool.get_args());
        forget_launcher(&mut command);
        let output = match command.output() {
            Ok(output) => output,
            Err(error) if error.kind() == std::io::ErrorKind::NotFound => {
                eprintln!("skipped: {} is not installed", words[0]);
                continue;
            }
            Err(error) => panic!("{launcher}: {error}"),
        };
        assert_good(&output, 2, launcher);
        assert_eq!(stdout(&output).matches("#  Rank ").count(), 2, "{launcher}");
    }
}

#[test]
fn a_wrong_element_is_counted_and_fails_the_run() {
    for args in ["--nproc 2", "-t 2", "-g 2"] {
        let mut command = command(ALL_REDUCE, &format!("{args} -b 64 -e 64 -n 2"));
        let output = command.env("DOUBLE_MCCL", "corrupt=1").output().unwrap();
        assert_eq!(output.status.code(), Some(1), "{args}\n{}", stderr(&output));
        let text = stdout(&output);
        let row = rows(&text).concat();
        assert_eq!((row[8].as_str(), row[12].as_str()), ("1", "1"), "{args}: {row:?}");
        assert!(text.contains("# Out of bounds values : 2 FAILED\n"));
        assert!(stderr(&output).contains("rank 1: all_reduce_perf float sum"), "{}", stderr(&output));
    }
}

#[test]
fn a_lost_process_is_named_with_its_signal_and_ends_the_run() {
    let output =
        command(ALL_REDUCE, "--nproc 3 -b 64 -e 64 -n 2").env("DOUBLE_MCCL", "die=1").output().unwrap();
    assert_eq!(output.status.code(), Some(3));
    assert!(stderr(&output).contains("rank 1 died of signal 6 (Aborted)"), "{}", stderr(&output));
}

#[test]
fn a_failing_call_tells_rank_call_and_last_error() {
    for args in ["--nproc 2", "-t 2", "-g 2"] {
        let mut command = command(ALL_REDUCE, &format!("{args} -b 64 -e 64 -n 2"));
        let output = command.env("DOUBLE_MCCL", "fail=1").output().unwrap();
        assert_eq!(output.status.code(), Some(3), "{args}");
        let expected = "rank 1: mcclAllReduce: planted error (2): the double's last error";
        assert!(stderr(&output).contains(expected), "{args}: {}", stderr(&output));
    }
}

#[test]
fn a_timeout_names_rank_and_operation() {
    for args in ["--nproc 2", "-t 2", "-g 2"] {
        let mut command = command(ALL_REDUCE, &format!("{args} -b 64 -e 64 -n 2 -T 1"));
        let output = command.env("DOUBLE_MCCL", "hang=1").output().unwrap();
        assert_eq!(output.status.code(), Some(3), "{args}");
        let text = stderr(&output);
        assert!(text.contains("Test timeout (1s)"), "{args}: {text}");
        assert!(text.contains("in all_reduce_perf float sum root -1 count 16"), "{args}: {text}");
    }
}

#[test]
fn bandwidth_below_the_minimum_fails_the_run() {
    let mut slow = command(ALL_REDUCE, "-g 2 -b 64 -e 64 -n 2");
    let output = slow.env("NCCL_TESTS_MIN_BW", "1000").output().unwrap();
    assert_eq!(output.status.code(), Some(1));
    assert!(
        stdout(&output).lines().any(|l| l.starts_with("# Avg bus bandwidth    : ") && l.ends_with(" FAILED"))
    );
}

#[test]
fn bad_command_lines_end_with_status_two_and_a_reason() {
    for (program, args, part) in [
        (0, "-g 0", "allowed 1 to 1024"),
        (0, "-b 8 -e 4", "--minbytes: 8"),
        (0, "-b 8 -e 8 -x 1", "mcclCommInitRankConfig"),
        (0, "-b 8 -e 8 -R 2", "mcclCommWindowRegister"),
        (0, "-t 9 -y 1 -b 8 -e 8", "--stream_null"),
        (4, "-g 3 -r 3 -b 8 -e 8", "--root: 3"),
        (10, "-g 3 -b 8 -e 8", "not a power of two"),
        (0, "--nproc 0", "--nproc"),
        (0, "--no-such-flag", "--no-such-flag"),
    ] {
        let output = run(PROGRAMS[program].1, args);
        assert_eq!(output.status.code(), Some(2), "{args}: {}", stderr(&output));
        assert!(stderr(&output).contains(part), "{args}: {}", stderr(&output));
        assert!(!stderr(&output).contains("panicked"), "{args}: {}", stderr(&output));
    }
}

#[test]
fn a_reader_that_leaves_ends_the_run_without_a_panic() {
    for args in ["--nproc 2", "-g 2"] {
        let mut child = command(ALL_REDUCE, &format!("{args} -b 64 -e 64 -n 1 -N 0"))
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .spawn()
            .unwrap();
        drop(child.stdout.take());
        let output = child.wait_with_output().unwrap();
        assert_eq!((output.status.code(), stderr(&output).as_str()), (Some(141), ""), "{args}");
    }
}

#[test]
fn the_json_file_has_the_figures_of_the_table() {
    let path = std::env::temp_dir().join(format!("mccl-tests-{}.json", std::process::id()));
    let output = run(ALL_REDUCE, &format!("--nproc 2 -I 1 -b 64 -e 128 -i 64 -n 4 -J {}", path.display()));
    assert_eq!(output.status.code(), Some(0), "{}", stderr(&output));
    let report: serde_json::Value = serde_json::from_str(&std::fs::read_to_string(&path).unwrap()).unwrap();
    std::fs::remove_file(&path).unwrap();
    assert_eq!(report["results"].as_array().unwrap().len(), 2);
    assert_eq!(report["results"][1]["size"], 128);
    assert_eq!(report["results"][1]["in_place"]["nwrong"], 0);
    assert_eq!(report["results"][0]["out_of_place_per_iter"]["times_us"].as_array().unwrap().len(), 4);
    assert_eq!(report["config"]["devices"][1]["rank"], 1);
    assert_eq!(report["out_of_bounds"]["okay"], "true");
}

#[test]
fn alltoallv_takes_a_matrix() {
    let path = std::env::temp_dir().join(format!("mccl-tests-{}.matrix", std::process::id()));
    std::fs::write(&path, "0 64 32\n16 0 0\n128 48 16\n").unwrap();
    let matrix = |args: &str| {
        let mut command = command(PROGRAMS[6].1, args);
        command.env("MCCL_TESTS_ALLTOALLV_MATRIX_FILE", &path).env("MCCL_TESTS_ALLTOALLV_PRINT_SUMMARY", "1");
        command.output().unwrap()
    };
    let output = matrix("-g 3 -b 256 -e 256 -n 2");
    assert_good(&output, 1, "matrix");
    assert!(stdout(&output).contains("#   rank=2 send_bytes=192 recv_bytes=48 "), "{}", stdout(&output));
    assert_eq!(matrix("-g 3 -b 128 -e 128").status.code(), Some(2), "too small");
    assert_eq!(matrix("-g 4 -b 256 -e 256").status.code(), Some(2), "too many ranks");
    std::fs::remove_file(&path).unwrap();
}

#[test]
fn libraries_are_found_beside_the_program_and_in_the_lib_folder() {
    for (programs, libraries) in [("flat", "flat"), ("bin", "lib")] {
        let root = std::env::temp_dir().join(format!("mccl-tests-{}-{libraries}", std::process::id()));
        for folder in [programs, libraries] {
            std::fs::create_dir_all(root.join(folder)).unwrap();
        }
        std::fs::copy(double("mccl"), root.join(libraries).join("libmccl.so.2")).unwrap();
        std::fs::copy(double("musart"), root.join(libraries).join("libmusart.so")).unwrap();
        let start = |path: &str, args: &[&str]| {
            let copy = root.join(programs).join(Path::new(path).file_name().unwrap());
            std::fs::copy(path, &copy).unwrap();
            let mut command = Command::new(copy);
            forget_launcher(&mut command);
            command.args(args).output().unwrap()
        };
        let output = start(env!("CARGO_BIN_EXE_mccl_version"), &[]);
        assert!(stdout(&output).starts_with("mccl:\n{\n\t\"version\": \"2.28.9\",\n"), "{}", stderr(&output));
        assert_good(&start(ALL_REDUCE, &["-g", "2", "-b", "8", "-e", "8"]), 1, libraries);
        std::fs::remove_dir_all(&root).unwrap();
    }
}
