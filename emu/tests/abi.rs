//! The headers against the Rust side: layouts, values, exported names, half-precision conversions.

mod common;

use std::collections::BTreeSet;
use std::mem::{align_of, offset_of, size_of};
use std::path::Path;
use std::process::Command;

use common::c::{compile, library_dir, run};
use musart::core::error::Error;
use musart::musa::types::{MUmemAccessDesc, MUmemAllocFlags, MUmemAllocationProp, MUmemLocation, MUuuid};
use musart::musart::types::{
    musaDeviceProp, musaHostNodeParams, musaIpcEventHandle, musaIpcMemHandle, musaMemsetParams,
    musaPointerAttributes, musaUUID,
};

/// Rows of C expression and expected value.
type Rows = Vec<(String, i64)>;

fn row(rows: &mut Rows, expression: impl Into<String>, value: usize) {
    rows.push((expression.into(), value as i64));
}

macro_rules! layout {
    ($rows:expr, $rust:ty, $c:literal, [$($field:ident = $name:literal),* $(,)?]) => {
        row($rows, concat!("sizeof(", $c, ")"), size_of::<$rust>());
        row($rows, format!("offsetof(struct {{ char c; {} t; }}, t)", $c), align_of::<$rust>());
        $(row($rows, concat!("offsetof(", $c, ", ", $name, ")"), offset_of!($rust, $field));)*
    };
}

macro_rules! all_fields {
    ($rows:expr, $rust:ty, $c:literal, [$($field:ident),* $(,)?]) => {
        $(row($rows, concat!("offsetof(", $c, ", ", stringify!($field), ")"), offset_of!($rust, $field));)*
    };
}

fn layouts() -> Rows {
    let mut rows = Rows::new();
    let r = &mut rows;
    layout!(r, musaUUID, "musaUUID_t", [bytes = "bytes"]);
    layout!(r, musaIpcMemHandle, "musaIpcMemHandle_t", [reserved = "reserved"]);
    layout!(r, musaIpcEventHandle, "musaIpcEventHandle_t", [reserved = "reserved"]);
    layout!(r, musaHostNodeParams, "musaHostNodeParams", [userData = "userData"]);
    layout!(
        r,
        musaPointerAttributes,
        "musaPointerAttributes",
        [device = "device", devicePointer = "devicePointer", hostPointer = "hostPointer",]
    );
    layout!(
        r,
        musaMemsetParams,
        "musaMemsetParams",
        [
            dst = "dst",
            pitch = "pitch",
            value = "value",
            elementSize = "elementSize",
            width = "width",
            height = "height",
        ]
    );
    device_prop(r);
    driver_layouts(r);
    rows
}

fn device_prop(r: &mut Rows) {
    layout!(r, musaDeviceProp, "musaDeviceProp", []);
    all_fields!(
        r,
        musaDeviceProp,
        "musaDeviceProp",
        [
            name,
            uuid,
            luid,
            luidDeviceNodeMask,
            totalGlobalMem,
            sharedMemPerBlock,
            regsPerBlock,
            warpSize,
            memPitch,
            maxThreadsPerBlock,
            maxThreadsDim,
            maxGridSize,
            clockRate,
            totalConstMem,
            major,
            minor,
            textureAlignment,
            deviceOverlap,
            multiProcessorCount,
            kernelExecTimeoutEnabled,
            integrated,
            canMapHostMemory,
            computeMode,
            concurrentKernels,
            ECCEnabled,
            pciBusID,
            pciDeviceID,
            pciDomainID,
            tccDriver,
            asyncEngineCount,
            unifiedAddressing,
            memoryClockRate,
            memoryBusWidth,
            l2CacheSize,
            maxThreadsPerMultiProcessor,
            streamPrioritiesSupported,
            sharedMemPerMultiprocessor,
            regsPerMultiprocessor,
            managedMemory,
            isMultiGpuBoard,
            multiGpuBoardGroupID,
            pageableMemoryAccess,
            concurrentManagedAccess,
            cooperativeLaunch,
            sharedMemPerBlockOptin,
            reserved,
        ]
    );
}

fn driver_layouts(r: &mut Rows) {
    layout!(r, MUuuid, "MUuuid", [bytes = "bytes"]);
    layout!(r, MUmemLocation, "MUmemLocation", [id = "id"]);
    layout!(r, MUmemAccessDesc, "MUmemAccessDesc", [location = "location", flags = "flags"]);
    layout!(
        r,
        MUmemAllocationProp,
        "MUmemAllocationProp",
        [
            requestedHandleTypes = "requestedHandleTypes",
            location = "location",
            win32HandleMetaData = "win32HandleMetaData",
            allocFlags = "allocFlags",
        ]
    );
    let flags = offset_of!(MUmemAllocationProp, allocFlags);
    row(
        r,
        "offsetof(MUmemAllocationProp, allocFlags.gpuDirectRDMACapable)",
        flags + offset_of!(MUmemAllocFlags, gpuDirectRDMACapable),
    );
    row(r, "offsetof(MUmemAllocationProp, allocFlags.usage)", flags + offset_of!(MUmemAllocFlags, usage));
}

/// Every error of the table under both its names, and the values that the core uses.
fn values() -> Rows {
    use musart::core::{capture, event, stream};
    let mut rows = Rows::new();
    for code in 0..1000 {
        if let Some(driver) = Error(code).driver_name() {
            rows.push((Error(code).runtime_name().trim_end_matches('\0').into(), code.into()));
            rows.push((driver.trim_end_matches('\0').into(), code.into()));
        }
    }
    let r = &mut rows;
    row(r, "(size_t)musaStreamLegacy", stream::LEGACY);
    row(r, "(size_t)musaStreamPerThread", stream::PER_THREAD);
    row(r, "musaEventDisableTiming", event::DISABLE_TIMING as usize);
    row(r, "musaEventInterprocess", event::INTERPROCESS as usize);
    row(r, "musaStreamCaptureModeGlobal", capture::GLOBAL as usize);
    row(r, "musaStreamCaptureModeThreadLocal", capture::THREAD_LOCAL as usize);
    row(r, "musaStreamCaptureModeRelaxed", capture::RELAXED as usize);
    row(r, "musaStreamCaptureStatusActive", capture::ACTIVE as usize);
    row(r, "musaStreamCaptureStatusInvalidated", capture::INVALIDATED as usize);
    row(r, "musaStreamSetCaptureDependencies", capture::SET_DEPENDENCIES as usize);
    row(r, "musaMemcpyDefault", 4);
    row(r, "musaMemoryTypeManaged", 3);
    rows
}

#[test]
fn header_layouts_and_values_equal_those_of_the_library() {
    let rows: Rows = layouts().into_iter().chain(values()).collect();
    let prints: String =
        rows.iter().map(|(e, _)| format!("    printf(\"%lld\\n\", (long long)({e}));\n")).collect();
    let source = format!(
        "#include <stdio.h>\n#include <stddef.h>\n#include <musa_runtime.h>\n#include <musa.h>\n\
         int main(void) {{\n{prints}    return 0;\n}}\n"
    );
    let output = run(&compile("layout.c", &source), &[]);
    let text = String::from_utf8(output.stdout).unwrap();
    let seen: Vec<i64> = text.lines().map(|line| line.parse().unwrap()).collect();
    assert_eq!(seen.len(), rows.len());
    for ((expression, expected), seen) in rows.iter().zip(seen) {
        assert_eq!(seen, *expected, "{expression}");
    }
}

#[test]
fn every_header_stands_alone_in_c99_and_cpp11() {
    for header in ["musa_runtime.h", "musa_runtime_api.h", "musa.h", "musa_fp16.h", "musa_bf16.h"] {
        let source = format!("#include <{header}>\nint main(void) {{ return 0; }}\n");
        let stem = header.trim_end_matches(".h");
        compile(&format!("{stem}.c"), &source);
        compile(&format!("{stem}.cpp"), &source);
    }
}

/// Names of functions that a header declares.
fn declared(header: &str) -> BTreeSet<String> {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("include").join(header);
    let text = std::fs::read_to_string(path).unwrap();
    let is_name = |word: &str| word.starts_with("musa") || word.starts_with("mu");
    text.lines()
        .filter(|line| line.starts_with("MUSARTAPI ") || line.starts_with("MUresult "))
        .filter_map(|line| line.split('(').next()?.split([' ', '*']).next_back().map(str::to_string))
        .filter(|word| is_name(word))
        .collect()
}

#[test]
fn what_is_exported_is_what_the_headers_declare() {
    let library = library_dir().join("libmusart.so");
    let output = Command::new("nm").args(["-D", "--defined-only"]).arg(&library).output().unwrap();
    let names = String::from_utf8(output.stdout).unwrap();
    let exported: BTreeSet<String> =
        names.lines().filter_map(|line| line.split(' ').nth(2)).map(str::to_string).collect();
    let mut expected = declared("musa_runtime_api.h");
    assert!(expected.len() > 90, "{expected:?}");
    let twins: Vec<String> =
        exported.iter().filter(|n| n.ends_with("_ptsz") || n.ends_with("_ptds")).cloned().collect();
    for twin in twins {
        assert!(expected.contains(&twin[..twin.len() - 5]), "{twin} has no plain form");
        expected.insert(twin);
    }
    expected.extend(declared("musa.h"));
    expected.insert(mccl_emu_ext::ENTRY.to_string());
    let difference: Vec<_> = exported.symmetric_difference(&expected).collect();
    assert!(difference.is_empty(), "in one of the two only: {difference:?}");
}

#[test]
fn the_library_has_the_soname_that_programs_look_for_and_stays_loaded() {
    let library = library_dir().join("libmusart.so");
    let output = Command::new("readelf").arg("-d").arg(&library).output().unwrap();
    let text = String::from_utf8(output.stdout).unwrap();
    assert!(text.contains("[libmusart.so.5]"), "{text}");
    assert!(text.contains("NODELETE"), "{text}");
}

/// Independent of the headers: arithmetic on doubles, which hold every 16-bit value exactly.
fn widen(bits: u16, exponent_bits: u32) -> f64 {
    let fraction_bits = 15 - exponent_bits;
    let bias = (1i32 << (exponent_bits - 1)) - 1;
    let (exponent, fraction) =
        (i32::from(bits & 0x7fff) >> fraction_bits, f64::from(bits & ((1u16 << fraction_bits) - 1)));
    let scale = 2f64.powi(-(fraction_bits as i32));
    let magnitude = match exponent {
        0 => fraction * scale * 2f64.powi(1 - bias),
        e if e == (1 << exponent_bits) - 1 => {
            if fraction == 0.0 {
                f64::INFINITY
            } else {
                f64::NAN
            }
        }
        e => (1.0 + fraction * scale) * 2f64.powi(e - bias),
    };
    if bits >> 15 == 1 { -magnitude } else { magnitude }
}

#[test]
fn sixteen_bit_floats_convert_exactly_and_round_to_nearest_even() {
    let source = include_str!("programs/halves.c");
    let output = run(&compile("halves.c", source), &[]);
    let text = String::from_utf8(output.stdout).unwrap();
    let mut lines = 0;
    for line in text.lines() {
        let words: Vec<&str> = line.split(' ').collect();
        let exponent_bits = if words[0] == "half" { 5 } else { 8 };
        let bits = u16::from_str_radix(words[1], 16).unwrap();
        let value = f32::from_bits(u32::from_str_radix(words[2], 16).unwrap());
        let expected = widen(bits, exponent_bits);
        assert!(f64::from(value) == expected || (value.is_nan() && expected.is_nan()), "{line}");
        lines += 1;
    }
    assert_eq!(lines, 2 << 16);
}
