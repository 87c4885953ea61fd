//! Sizes, alignments, offsets and values of `mccl.h` are one committed table, asserted from Rust and from C.
use std::fmt::Write;
use std::mem::{align_of, offset_of, size_of};

use ffi_tests::cc::{STRICT, compiler};
use ffi_tests::{artefact, scratch};
use mccl::abi::mccl::types::{
    mcclConfig_t, mcclDataType_t, mcclResult_t, mcclScalarResidence_t, mcclSimInfo_t, mcclUniqueId,
};
use mccl::base::types::DataType;

const TABLE: &str = "ffi-tests/symbols/layout.txt";

#[test]
fn the_layouts_in_rust_are_the_committed_table() {
    artefact::check(TABLE, &rust_table());
}

#[test]
fn the_header_has_the_committed_layouts() {
    assert_in_c(&rust_table(), "layout").unwrap();
}

#[test]
fn a_changed_offset_is_refused_by_the_c_compiler() {
    let changed = rust_table().replace("offset mcclConfig_t.netName 32", "offset mcclConfig_t.netName 36");
    assert_ne!(changed, rust_table());
    let refusal = assert_in_c(&changed, "layout-changed").unwrap_err();
    assert!(refusal.contains("mcclConfig_t.netName"), "{refusal}");
}

#[test]
fn a_changed_value_is_refused_by_the_c_compiler() {
    let changed = rust_table().replace("value mcclInProgress 7", "value mcclInProgress 8");
    let refusal = assert_in_c(&changed, "value-changed").unwrap_err();
    assert!(refusal.contains("mcclInProgress"), "{refusal}");
}

/// Lines `size TYPE n`, `align TYPE n`, `offset TYPE.FIELD n`, `value NAME n`.
fn rust_table() -> String {
    let mut table = String::new();
    macro_rules! layout {
        ($type:ident { $($field:ident),+ }) => {
            // A field that is added and not listed here does not compile.
            let _ = |value: $type| { let $type { $($field: _),+ } = value; };
            writeln!(table, "size {} {}", stringify!($type), size_of::<$type>()).unwrap();
            writeln!(table, "align {} {}", stringify!($type), align_of::<$type>()).unwrap();
            $(writeln!(table, "offset {}.{} {}", stringify!($type), stringify!($field), offset_of!($type, $field)).unwrap();)+
        };
    }
    layout!(mcclUniqueId { internal });
    layout!(mcclConfig_t {
        size,
        magic,
        version,
        blocking,
        cgaClusterSize,
        minCTAs,
        maxCTAs,
        netName,
        splitShare,
        trafficClass,
        commName,
        collnetEnable,
        CTAPolicy,
        shrinkShare,
        nvlsCTAs,
        nChannelsPerNetPeer,
        nvlinkCentricSched
    });
    layout!(mcclSimInfo_t { size, magic, version, estimatedTime });
    for (name, value) in values() {
        writeln!(table, "value {name} {value}").unwrap();
    }
    for (name, size) in enums() {
        writeln!(table, "size {name} {size}").unwrap();
    }
    table
}

fn enums() -> [(&'static str, usize); 3] {
    [
        ("mcclResult_t", size_of::<mcclResult_t>()),
        ("mcclDataType_t", size_of::<mcclDataType_t>()),
        ("mcclScalarResidence_t", size_of::<mcclScalarResidence_t>()),
    ]
}

/// Every enumerator of the header with the value that the library takes it for.
fn values() -> Vec<(&'static str, i64)> {
    let results = [
        ("mcclSuccess", mcclResult_t::SUCCESS),
        ("mcclUnhandledMusaError", mcclResult_t::UNHANDLED_MUSA_ERROR),
        ("mcclUnhandledCudaError", mcclResult_t::UNHANDLED_MUSA_ERROR),
        ("mcclSystemError", mcclResult_t::SYSTEM_ERROR),
        ("mcclInternalError", mcclResult_t::INTERNAL_ERROR),
        ("mcclInvalidArgument", mcclResult_t::INVALID_ARGUMENT),
        ("mcclInvalidUsage", mcclResult_t::INVALID_USAGE),
        ("mcclRemoteError", mcclResult_t::REMOTE_ERROR),
        ("mcclInProgress", mcclResult_t::IN_PROGRESS),
    ];
    let types = [
        ("mcclInt8", DataType::Int8),
        ("mcclChar", DataType::Int8),
        ("mcclUint8", DataType::Uint8),
        ("mcclInt32", DataType::Int32),
        ("mcclInt", DataType::Int32),
        ("mcclUint32", DataType::Uint32),
        ("mcclInt64", DataType::Int64),
        ("mcclUint64", DataType::Uint64),
        ("mcclFloat16", DataType::Float16),
        ("mcclHalf", DataType::Float16),
        ("mcclFloat32", DataType::Float32),
        ("mcclFloat", DataType::Float32),
        ("mcclFloat64", DataType::Float64),
        ("mcclDouble", DataType::Float64),
        ("mcclBfloat16", DataType::Bfloat16),
        ("mcclFp8E4M3", DataType::Fp8E4M3),
        ("mcclFloat8e4m3", DataType::Fp8E4M3),
        ("mcclFp8E5M2", DataType::Fp8E5M2),
        ("mcclFloat8e5m2", DataType::Fp8E5M2),
    ];
    let mut values: Vec<_> = results.map(|(name, code)| (name, code.0.into())).to_vec();
    values.push(("mcclNumResults", 8));
    values.extend(types.map(|(name, kind)| (name, kind as i64)));
    values.push(("mcclNumTypes", DataType::ALL.len() as i64));
    values.extend(other_values());
    values
}

/// Reductions and macros.
fn other_values() -> [(&'static str, i64); 23] {
    [
        ("mcclSum", 0),
        ("mcclProd", 1),
        ("mcclMax", 2),
        ("mcclMin", 3),
        ("mcclAvg", 4),
        ("mcclNumOps", 5),
        ("mcclMaxRedOp", 0x7fff_ffff),
        ("mcclScalarDevice", mcclScalarResidence_t::DEVICE.0.into()),
        ("mcclScalarHostImmediate", mcclScalarResidence_t::HOST_IMMEDIATE.0.into()),
        ("MCCL_VERSION_CODE", mccl::comm::version().into()),
        ("MCCL_UNIQUE_ID_BYTES", size_of::<mcclUniqueId>() as i64),
        ("MCCL_SPLIT_NOCOLOR", -1),
        ("MCCL_CONFIG_UNDEF_INT", i32::MIN.into()),
        ("MCCL_SHRINK_DEFAULT", 0),
        ("MCCL_SHRINK_ABORT", 1),
        ("MCCL_REVOKE_DEFAULT", 0),
        ("MCCL_CTA_POLICY_DEFAULT", 0),
        ("MCCL_CTA_POLICY_EFFICIENCY", 1),
        ("MCCL_CTA_POLICY_ZERO", 2),
        ("MCCL_WIN_DEFAULT", 0),
        ("MCCL_WIN_COLL_SYMMETRIC", 1),
        ("MCCL_WIN_STRICT_ORDERING", 2),
        ("MCCL_WIN_REQUIRED_ALIGNMENT", 4096),
    ]
}

/// Compiles the table as assertions; the compiler's words when one fails.
fn assert_in_c(table: &str, name: &str) -> Result<(), String> {
    let mut source = String::from("#include <stddef.h>\n#include <mccl.h>\n");
    for line in table.lines() {
        let [kind, what, number] = line.split(' ').collect::<Vec<_>>().try_into().unwrap();
        let fact = match kind {
            "size" => format!("sizeof({what})"),
            "align" => format!("_Alignof({what})"),
            "offset" => format!("offsetof({})", what.replace('.', ", ")),
            _ => format!("(long long)({what})"),
        };
        writeln!(source, "_Static_assert({fact} == {number}, \"{what} is not {number}\");").unwrap();
    }
    let file = scratch(env!("CARGO_TARGET_TMPDIR"), name).join("layout.c");
    std::fs::write(&file, source).unwrap();
    let mut compile = compiler(false);
    compile.arg("-std=c11").args(STRICT).arg("-fsyntax-only").arg(file);
    let output = compile.output().unwrap();
    if output.status.success() { Ok(()) } else { Err(String::from_utf8_lossy(&output.stderr).into_owned()) }
}
