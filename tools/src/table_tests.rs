//! The report's text against lines as nccl-tests prints them.

use clap::Parser;

use super::*;

#[test]
fn numbers_fill_their_width_with_what_decimals_fit() {
    assert_eq!(fixed(1.234, 7), "   1.23");
    assert_eq!(fixed(12_345.678, 7), "12345.7");
    assert_eq!(fixed(123_456.78, 7), " 123457");
    assert_eq!(fixed(1_234_567.8, 7), "1234568");
    assert_eq!(fixed(123_456_789.0, 7), "1.2e+08");
    assert_eq!(fixed(9999.99, 6), "9999.9".replace("9999.9", " 10000"));
    assert_eq!(fixed(0.0, 6), "  0.00");
    assert_eq!(fixed(12_345_678.0, 6), "1e+07");
}

#[test]
fn general_prints_like_percent_g() {
    for (value, text) in [
        (0.0, "0"),
        (1.0, "1"),
        (0.000_123_456_7, "0.000123457"),
        (0.000_012_345, "1.2345e-05"),
        (123_456.0, "123456"),
        (1_234_567.0, "1.23457e+06"),
        (234.3, "234.3"),
        (2.5, "2.5"),
        (999_999.5, "1e+06"),
    ] {
        assert_eq!(general(value), text);
    }
}

#[test]
fn the_opening_names_program_and_options() {
    let options = Options::parse_from(["x", "-b", "8", "-e", "64M", "-f", "2", "-g", "4"]);
    let expected = "\
# mccl-tests version 2.19.6 mccl-headers=22809 mccl-library=22809
# Collective test starting: all_reduce_perf
# nThread 1 nGpus 4 minBytes 8 maxBytes 67108864 step: 2(factor) warmup iters: 1 iters: 20 agg iters: 1 validation: 1 graph: 0 unalign: 0
#
# Using devices
";
    assert_eq!(opening("all_reduce_perf", &options, 22809), expected);
    let options = Options::parse_from(["x", "-z", "1", "-p", "1"]);
    let text = opening("all_reduce_perf", &options, 22809);
    assert!(text.contains("step: 1048576(bytes)") && text.contains("# Blocking Enabled: wait and barrier"));
    assert!(text.contains("# Parallel Init Enabled"));
}

#[test]
fn a_table_looks_like_that_of_nccl_tests() {
    let style = Style::default();
    let figures = Figures { seconds: 12.35e-6, algbw: 0.0831, busbw: 0.1247, wrong: Some(0) };
    let unchecked = Figures { wrong: None, ..figures.clone() };
    let row = row_start(1024, 256, "float", "sum", -1)
        + &row_half(Some(&figures), None, style)
        + &row_half(Some(&unchecked), None, style);
    let table = header(style) + &row + "\n" + &footer("all_reduce_perf", 0, 0.124_712, None);
    let expected = [
        "#",
        "#                                                              out-of-place                       in-place          ",
        "#       size         count      type   redop    root     time   algbw   busbw  #wrong     time   algbw   busbw  #wrong ",
        "#        (B)    (elements)                               (us)  (GB/s)  (GB/s)             (us)  (GB/s)  (GB/s)         ",
        "        1024           256     float     sum      -1    12.35    0.08    0.12       0    12.35    0.08    0.12     N/A",
        "# Out of bounds values : 0 OK",
        "# Avg bus bandwidth    : 0.124712 ",
        "#",
        "# Collective test concluded: all_reduce_perf",
        "",
    ];
    assert_eq!(table, expected.join("\n"));
    assert_eq!(row.split_whitespace().count(), 13);
}

#[test]
fn a_missing_form_still_fills_thirteen_fields() {
    let style = Style::default();
    let figures = Figures { seconds: 1.0, algbw: 1.0, busbw: 1.0, wrong: Some(3) };
    let row = row_start(8, 2, "int8", "none", -1) + &row_half(Some(&figures), None, style) + &row_half(None, None, style);
    assert_eq!(row.split_whitespace().count(), 13);
    assert!(row.ends_with("N/A     N/A     N/A     N/A"), "{row}");
}

#[test]
fn rows_and_headers_line_up_in_every_style() {
    let figures = Figures { seconds: 1e-5, algbw: 1.0, busbw: 1.0, wrong: Some(0) };
    let stats = IterStats::of(&[1e-5, 2e-5]);
    for per_iter in [false, true] {
        let style = Style { per_iter, ..Style::default() };
        let half = row_half(Some(&figures), Some(&stats), style);
        let row = row_start(8, 2, "float", "sum", -1) + &half + &half;
        let names = header(style);
        assert_eq!(names.lines().nth(2).unwrap().trim_end().len(), row.len(), "{names}{row}");
    }
    let stamped = header(Style { timestamps: true, cputime: true, ..Style::default() });
    assert!(stamped.contains("          timestamp\n") && stamped.contains("  cputime"));
}

#[test]
fn device_lines_have_the_form_that_parsers_expect() {
    assert_eq!(
        device_line(3, 0, 4711, "node1", 3, "0000:3b:00.0", "MTT S5000"),
        "#  Rank  3 Group  0 Pid   4711 on      node1 device  3 [0000:3b:00] MTT S5000\n"
    );
    assert_eq!(pci_parts(""), "0000:00:00");
}

#[test]
fn the_footer_judges_errors_and_bandwidth() {
    assert!(footer("x", 2, 1.0, None).starts_with("# Out of bounds values : 2 FAILED\n"));
    assert!(footer("x", 0, 0.95, Some(1.0)).contains(": 0.95 OK\n"));
    assert!(footer("x", 0, 0.5, Some(1.0)).contains(": 0.5 FAILED\n"));
}

#[test]
fn statistics_use_nearest_rank_percentiles() {
    let times: Vec<f64> = (1..=200).map(f64::from).collect();
    let stats = IterStats::of(&times);
    assert_eq!((stats.min, stats.max, stats.p95, stats.p99), (1.0, 200.0, 190.0, 198.0));
    assert_eq!(IterStats::of(&[2.0]).p99, 2.0);
    assert_eq!(IterStats::of(&[2.0]).variation(), 0.0);
}

#[test]
fn memory_amounts_get_units() {
    let text = memory(&[("Initialization", 5 << 20), ("User-Allocated", 1 << 30), ("Collective", -2048)], 123 << 20);
    assert!(text.starts_with("# GPU memory usage     : Initialization 5.00 MB | User-Allocated 1.00 GB | Collective -2.00 KB"));
    assert!(text.contains("# Process memory (RSS) : 123 MB\n"), "{text}");
}
