//! Reductions that a user made: a factor on each rank's input, then a sum.
use std::collections::HashMap;
use std::ffi::c_void;

use crate::base::Result;
use crate::base::types::{DataType, RedOp, Scalar};
use crate::comm::{Comm, lock};
use crate::{bail, err};

/// First handle that is not a built-in operation.
const FIRST: i32 = 5;

/// Where the factor is.
#[derive(Clone, Copy, Debug)]
pub enum PreMul {
    /// Copied at creation.
    Host(Scalar),
    /// Read when an operation runs.
    Device(*const c_void),
}

#[derive(Default)]
pub(super) struct RedOps {
    made: HashMap<i32, (DataType, Factor)>,
    next: i32,
}

#[derive(Clone, Copy)]
enum Factor {
    Value(Scalar),
    /// An address; kept as a number since this table only stores it.
    At(usize),
}

impl Comm {
    /// Makes an operation; returns its handle, 5 or more.
    pub fn create_pre_mul_sum(&self, scalar: PreMul, dtype: DataType) -> Result<i32> {
        self.core()?;
        let factor = match scalar {
            PreMul::Host(value) => Factor::Value(value),
            PreMul::Device(ptr) if ptr.is_null() => bail!(InvalidArgument, "the scalar's address is NULL"),
            PreMul::Device(ptr) => Factor::At(ptr as usize),
        };
        let mut ops = lock(&self.redops);
        let handle = FIRST + ops.next;
        ops.next += 1;
        ops.made.insert(handle, (dtype, factor));
        Ok(handle)
    }

    pub fn destroy_op(&self, op: i32) -> Result<()> {
        if (0..FIRST).contains(&op) {
            bail!(InvalidArgument, "reduction operation {op} is built in and cannot be destroyed");
        }
        match lock(&self.redops).made.remove(&op) {
            Some(_) => Ok(()),
            None => Err(err!(InvalidArgument, "reduction operation {op} is unknown to this communicator")),
        }
    }

    /// The reduction that a user's handle stands for, for elements of `dtype`.
    pub fn lookup_op(&self, op: i32, dtype: DataType) -> Result<RedOp> {
        let found = lock(&self.redops).made.get(&op).copied();
        let (made_for, factor) = found.ok_or_else(|| {
            err!(InvalidArgument, "reduction operation {op} is unknown to this communicator")
        })?;
        if made_for != dtype {
            bail!(
                InvalidArgument,
                "data type {dtype:?} does not match the type {made_for:?} that reduction operation {op} was made for"
            );
        }
        Ok(match factor {
            Factor::Value(scalar) => RedOp::PreMulSum(scalar),
            Factor::At(address) => RedOp::PreMulSumAt(address),
        })
    }
}
