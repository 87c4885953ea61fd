//! The choice of a kernel: by element type and function, for the best instruction set this machine has.

use std::sync::OnceLock;

use super::element::{Bf16, E4M3, E5M2, F16};
use super::lanes::{Lanes, Wide};
use super::tiles::{self, Func, Job, Kernel, Max, Min, Prod, Sum};
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
    static BEST: OnceLock<&Table> = OnceLock::new();
    BEST.get_or_init(|| tables()[0]).kernel(dtype, func)
}

/// Every table that runs on this machine, the fastest first. The last one is the portable one.
pub(super) fn tables() -> Vec<&'static Table> {
    vec![&PORTABLE]
}

/// The four kernels of a type, in the order of `ReduceFn`.
macro_rules! row {
    ($kernel:ident, $lanes:ty) => {
        [
            $kernel::<$lanes, Sum> as Kernel,
            $kernel::<$lanes, Prod> as Kernel,
            $kernel::<$lanes, Max> as Kernel,
            $kernel::<$lanes, Min> as Kernel,
        ]
    };
}

static PORTABLE: Table = Table {
    name: "portable",
    kernels: [
        row!(portable, Wide<i8, 16>),
        row!(portable, Wide<u8, 16>),
        row!(portable, Wide<i32, 4>),
        row!(portable, Wide<u32, 4>),
        row!(portable, Wide<i64, 2>),
        row!(portable, Wide<u64, 2>),
        row!(portable, Wide<F16, 4>),
        row!(portable, Wide<f32, 4>),
        row!(portable, Wide<f64, 2>),
        row!(portable, Wide<Bf16, 4>),
        row!(portable, Wide<E4M3, 4>),
        row!(portable, Wide<E5M2, 4>),
    ],
};

/// # Safety
/// As [`tiles::reduce`].
unsafe fn portable<L: Lanes, F: Func>(job: &Job<'_>) {
    // SAFETY: the caller's promise; `Wide` needs no instruction set.
    unsafe { tiles::reduce::<L, F>(job) }
}
