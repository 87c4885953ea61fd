//! Conversions: every 8- and 16-bit value, and f32 values around every rounding boundary.

use super::twin::{Random, fp8_value, nearest_fp8};
use crate::base::types::DataType;
use crate::device::reduce::convert;

/// f32 values that round in interesting ways: every combination of sign, exponent and top mantissa bits with
/// low bits just below, at and just above the half-way points of the narrow formats, and random ones.
fn interesting() -> impl Iterator<Item = f32> {
    const LOW: [u32; 8] = [0, 1, 0x0fff, 0x1000, 0x1001, 0x7fff, 0x8000, 0xffff];
    let mut random = Random::new(7);
    let around = (0..=0xffffu32).flat_map(|top| LOW.map(|low| f32::from_bits(top << 16 | low)));
    around.chain((0..500_000).map(move |_| f32::from_bits(random.next() as u32)))
}

#[test]
fn every_f16_and_bf16_widens_as_half_does_and_rounds_back_to_itself() {
    for bits in 0..=u16::MAX {
        let (f16, bf16) = (half::f16::from_bits(bits), half::bf16::from_bits(bits));
        let (wide, wide_b) = (convert::f16_to_f32(bits), convert::bf16_to_f32(bits));
        assert!(wide.to_bits() == f16.to_f32().to_bits() || f16.is_nan() && wide.is_nan(), "f16 {bits:04x}");
        assert!(
            wide_b.to_bits() == bf16.to_f32().to_bits() || bf16.is_nan() && wide_b.is_nan(),
            "bf16 {bits:04x}"
        );
        let quiet = |nan: bool, bit: u16| if nan { bits | bit } else { bits };
        assert_eq!(convert::f32_to_f16(wide), quiet(f16.is_nan(), 0x200), "f16 {bits:04x}");
        assert_eq!(convert::f32_to_bf16(wide_b), quiet(bf16.is_nan(), 0x40), "bf16 {bits:04x}");
    }
}

#[test]
fn f32_rounds_to_f16_and_bf16_as_half_does() {
    for x in interesting() {
        assert_eq!(
            convert::f32_to_f16(x),
            half::f16::from_f32(x).to_bits(),
            "f16 of {x:e} {:08x}",
            x.to_bits()
        );
        assert_eq!(
            convert::f32_to_bf16(x),
            half::bf16::from_f32(x).to_bits(),
            "bf16 of {x:e} {:08x}",
            x.to_bits()
        );
    }
}

#[test]
fn every_fp8_widens_to_its_defined_value_and_rounds_back_to_itself() {
    for bits in 0..=u8::MAX {
        for (dtype, wide, back) in [
            (DataType::Fp8E4M3, convert::e4m3_to_f32(bits), convert::f32_to_e4m3(convert::e4m3_to_f32(bits))),
            (DataType::Fp8E5M2, convert::e5m2_to_f32(bits), convert::f32_to_e5m2(convert::e5m2_to_f32(bits))),
        ] {
            let value = fp8_value(dtype, bits);
            assert!(
                f64::from(wide).to_bits() == value.to_bits() || value.is_nan() && wide.is_nan(),
                "{dtype:?} {bits:02x}"
            );
            let expected = match value {
                v if v.is_nan() => 0x7f,
                v if v.is_infinite() => bits - 1,
                _ => bits,
            };
            assert_eq!(back, expected, "{dtype:?} {bits:02x}");
        }
    }
}

#[test]
fn f32_rounds_to_the_nearest_fp8_and_saturates() {
    for x in interesting() {
        let nearest = |d| nearest_fp8(d, x.into());
        assert_eq!(convert::f32_to_e4m3(x), nearest(DataType::Fp8E4M3), "e4m3 of {x:e} {:08x}", x.to_bits());
        assert_eq!(convert::f32_to_e5m2(x), nearest(DataType::Fp8E5M2), "e5m2 of {x:e} {:08x}", x.to_bits());
    }
    for (x, e4m3, e5m2) in
        [(464.0, 0x7e, 0x5f), (f32::INFINITY, 0x7e, 0x7b), (-1e9, 0xfe, 0xfb), (-f32::NAN, 0x7f, 0x7f)]
    {
        assert_eq!((convert::f32_to_e4m3(x), convert::f32_to_e5m2(x)), (e4m3, e5m2), "{x}");
    }
}
