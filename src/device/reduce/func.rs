//! The four functions as types, so that a kernel is compiled for each.

use super::element::Element;
#[cfg(target_arch = "x86_64")]
use super::lanes::Lanes;

/// A function on accumulators, one by one or a register full of them.
pub(super) trait Func {
    fn element<E: Element>(a: E::Acc, b: E::Acc) -> E::Acc;
    #[cfg(target_arch = "x86_64")]
    fn lanes<L: Lanes>(a: L, b: L) -> L;
}

macro_rules! func {
    ($name:ident, $method:ident) => {
        pub(super) struct $name;

        impl Func for $name {
            #[inline(always)]
            fn element<E: Element>(a: E::Acc, b: E::Acc) -> E::Acc {
                E::$method(a, b)
            }
            #[inline(always)]
            #[cfg(target_arch = "x86_64")]
            fn lanes<L: Lanes>(a: L, b: L) -> L {
                a.$method(b)
            }
        }
    };
}

func!(Sum, sum);
func!(Prod, prod);
func!(Max, max);
func!(Min, min);
