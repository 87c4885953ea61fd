//! The choice of a kernel: by element type and function, for the best instruction set this machine has.

use std::sync::OnceLock;

use super::blocks;
use super::element::{Bf16, E4M3, E5M2, Element, F16};
use super::func::{Func, Max, Min, Prod, Sum};
use super::job::{Job, Kernel};
use crate::base::types::{DataType, ReduceFn};

/// Kernels of one instruction set, by `DataType` and `ReduceFn`.
pub(super) struct Table {
    pub(super) name: &'static str,
    pub(super) kernels: [[Kernel; 4]; 12],
}

impl Table {
    pub(super) fn kernel(&self, dtype: DataType, func: ReduceFn) -> Kernel {
        self.kernels[dtype as usize][func as usize]
    }
}

/// The kernel for this type and function on this machine.
pub(super) fn kernel(dtype: DataType, func: ReduceFn) -> Kernel {
    best().kernel(dtype, func)
}

/// The name of the instruction set that the kernels on this machine use, for logs.
pub fn instruction_set() -> &'static str {
    best().name
}

fn best() -> &'static Table {
    static BEST: OnceLock<&Table> = OnceLock::new();
    BEST.get_or_init(|| tables()[0])
}

/// Every table that runs on this machine, the fastest first. The last one is the portable one.
pub(super) fn tables() -> Vec<&'static Table> {
    let mut tables = native_tables();
    tables.push(&PORTABLE);
    tables
}

#[cfg(target_arch = "x86_64")]
fn native_tables() -> Vec<&'static Table> {
    let avx2 = is_x86_feature_detected!("avx2")
        && is_x86_feature_detected!("fma")
        && is_x86_feature_detected!("f16c");
    let avx512 = is_x86_feature_detected!("avx512f")
        && is_x86_feature_detected!("avx512bw")
        && is_x86_feature_detected!("avx512dq")
        && is_x86_feature_detected!("avx512vl");
    let tables = [(avx2 && avx512, &super::x86::AVX512), (avx2, &super::x86::AVX2)];
    tables.into_iter().filter_map(|(usable, table)| usable.then_some(table)).collect()
}

/// The portable kernels vectorise for the baseline of other machines.
#[cfg(not(target_arch = "x86_64"))]
fn native_tables() -> Vec<&'static Table> {
    Vec::new()
}

/// The four kernels of a type, in the order of `ReduceFn`.
macro_rules! row {
    ($kernel:ident, $($t:ty),+) => {
        [
            $kernel::<$($t),+, Sum> as Kernel,
            $kernel::<$($t),+, Prod> as Kernel,
            $kernel::<$($t),+, Max> as Kernel,
            $kernel::<$($t),+, Min> as Kernel,
        ]
    };
}

#[cfg(target_arch = "x86_64")]
pub(super) use row;

static PORTABLE: Table = Table {
    name: "portable",
    kernels: [
        row!(portable, i8),
        row!(portable, u8),
        row!(portable, i32),
        row!(portable, u32),
        row!(portable, i64),
        row!(portable, u64),
        row!(portable, F16),
        row!(portable, f32),
        row!(portable, f64),
        row!(portable, Bf16),
        row!(portable, E4M3),
        row!(portable, E5M2),
    ],
};

/// # Safety
/// As [`blocks::reduce`].
unsafe fn portable<E: Element, F: Func>(job: &Job<'_>) {
    // SAFETY: the caller's promise.
    unsafe { blocks::reduce::<E, F>(job) }
}
