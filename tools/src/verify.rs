//! Writes test data into device memory and compares what an operation left there, through copies to the host.

use crate::coll::layout::Segment;
use crate::error::Result;
use crate::musart::{Musart, View};
use crate::pattern::{Case, PERIOD, Source};

/// Bytes that are copied at a time.
const PIECE_BYTES: usize = 4 << 20;

/// What a comparison found.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Wrong {
    pub count: u64,
    /// The first wrong element.
    pub first: Option<Mismatch>,
}

/// An element that is not what it should be.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Mismatch {
    pub element: usize,
    pub got: u64,
    pub expected: u64,
}

/// Memory that data are written to and read from.
pub trait Memory {
    fn write(&self, offset: usize, data: &[u8]) -> Result<()>;
    fn read(&self, offset: usize, data: &mut [u8]) -> Result<()>;
}

/// Device memory of the current device.
pub struct DeviceMemory<'a> {
    pub runtime: &'static Musart,
    pub view: View<'a>,
}

impl Memory for DeviceMemory<'_> {
    fn write(&self, offset: usize, data: &[u8]) -> Result<()> {
        self.runtime.copy_in(self.view.sub(offset, data.len())?, data)
    }

    fn read(&self, offset: usize, data: &mut [u8]) -> Result<()> {
        self.runtime.copy_out(data, self.view.sub(offset, data.len())?)
    }
}

/// Writes the segments; offsets count from the start of the memory.
pub fn fill(memory: &impl Memory, case: &Case, segments: &[Segment]) -> Result<()> {
    for segment in segments {
        each_piece(case, segment, |offset, data| memory.write(offset, data))?;
    }
    Ok(())
}

/// Compares the segments; offsets count from the start of the memory.
pub fn compare(memory: &impl Memory, case: &Case, segments: &[Segment]) -> Result<Wrong> {
    let mut wrong = Wrong::default();
    let mut got = Vec::new();
    for segment in segments {
        each_piece(case, segment, |offset, expected| {
            got.resize(expected.len(), 0);
            memory.read(offset, &mut got)?;
            if got != expected {
                count_wrong(case, offset / case.dtype.size(), &got, expected, &mut wrong);
            }
            Ok(())
        })?;
    }
    Ok(wrong)
}

/// Calls `act` with byte offset and data, piece by piece.
fn each_piece(case: &Case, segment: &Segment, mut act: impl FnMut(usize, &[u8]) -> Result<()>) -> Result<()> {
    let size = case.dtype.size();
    let block = case.block(segment.source, segment.count);
    // A piece is whole periods, so that it can be used for every place.
    let periods = (PIECE_BYTES / (PERIOD * size)).max(1);
    let piece = if segment.count > PERIOD { block.repeat(periods) } else { block };
    let (mut offset, mut left) = (segment.at * size, segment.count * size);
    while left > 0 {
        let len = left.min(piece.len());
        act(offset, &piece[..len])?;
        (offset, left) = (offset + len, left - len);
    }
    Ok(())
}

fn count_wrong(case: &Case, start: usize, got: &[u8], expected: &[u8], wrong: &mut Wrong) {
    let size = case.dtype.size();
    let bits = |bytes: &[u8]| bytes.iter().rev().fold(0u64, |bits, &byte| bits << 8 | u64::from(byte));
    for (i, (g, e)) in got.chunks(size).zip(expected.chunks(size)).enumerate() {
        let (g, e) = (bits(g), bits(e));
        let apart = match (case.op, case.dtype.float()) {
            (Some(_), Some(format)) => format.distance(g, e),
            _ => u64::from(g != e),
        };
        if apart > case.tolerance() {
            wrong.count += 1;
            wrong.first.get_or_insert(Mismatch { element: start + i, got: g, expected: e });
        }
    }
}

/// Whether a segment needs to be written at all into zeroed memory.
pub fn is_data(segment: &Segment) -> bool {
    segment.source != Source::Zero && segment.count > 0
}

#[cfg(test)]
mod tests {
    use std::cell::RefCell;

    use super::*;
    use crate::dtype::{DType, Op};

    struct HostMemory(RefCell<Vec<u8>>);

    impl Memory for HostMemory {
        fn write(&self, offset: usize, data: &[u8]) -> Result<()> {
            self.0.borrow_mut()[offset..offset + data.len()].copy_from_slice(data);
            Ok(())
        }

        fn read(&self, offset: usize, data: &mut [u8]) -> Result<()> {
            data.copy_from_slice(&self.0.borrow()[offset..offset + data.len()]);
            Ok(())
        }
    }

    fn setup(case: &Case, segment: Segment) -> HostMemory {
        let memory = HostMemory(RefCell::new(vec![0; (segment.at + segment.count) * case.dtype.size()]));
        fill(&memory, case, &[segment]).unwrap();
        memory
    }

    #[test]
    fn data_that_were_written_compare_equal_beyond_one_period() {
        for dtype in [DType::Int8, DType::Float, DType::Double] {
            let case = Case { dtype, op: Some(Op::Sum), nranks: 3, seed: 1 };
            let segment = Segment { at: 5, count: 3 * PERIOD + 17, source: Source::Reduced { start: 11 } };
            let memory = setup(&case, segment);
            assert_eq!(compare(&memory, &case, &[segment]).unwrap(), Wrong::default());
        }
    }

    #[test]
    fn a_planted_wrong_element_is_counted_and_located() {
        for dtype in DType::ALL {
            let case = Case { dtype, op: Some(Op::Sum), nranks: 2, seed: 1 };
            let segment = Segment { at: 3, count: 1000, source: Source::Reduced { start: 0 } };
            let memory = setup(&case, segment);
            memory.0.borrow_mut()[500 * dtype.size()] ^= 1;
            let wrong = compare(&memory, &case, &[segment]).unwrap();
            assert_eq!(wrong.count, 1, "{dtype:?}");
            assert_eq!(wrong.first.unwrap().element, 500);
        }
    }

    #[test]
    fn a_chunk_in_the_wrong_place_is_found() {
        let case = Case { dtype: DType::Float, op: None, nranks: 2, seed: 1 };
        let segment = Segment { at: 0, count: 8 << 16, source: Source::Input { rank: 0, start: 0 } };
        let memory = setup(&case, segment);
        let chunk: Vec<u8> = memory.0.borrow()[..1 << 16].to_vec();
        memory.write(1 << 18, &chunk).unwrap();
        let wrong = compare(&memory, &case, &[segment]).unwrap();
        assert!(wrong.count > (1 << 14) - 10, "{}", wrong.count);
    }

    #[test]
    fn averages_may_be_two_numbers_off_but_not_three() {
        let case = Case { dtype: DType::Float, op: Some(Op::Avg), nranks: 3, seed: 1 };
        let segment = Segment { at: 0, count: 64, source: Source::Reduced { start: 0 } };
        for (off, wrong) in [(2, 0), (3, 1)] {
            let memory = setup(&case, segment);
            // A small positive float: its neighbours differ in the low bits.
            let at = (0..64).find(|i| case.reduced(*i) & 0xff < 0xf0).unwrap();
            memory.0.borrow_mut()[at * 4] += off;
            assert_eq!(compare(&memory, &case, &[segment]).unwrap().count, wrong);
        }
    }

    #[test]
    fn moved_bits_are_compared_as_bits() {
        let case = Case { dtype: DType::Half, op: None, nranks: 1, seed: 1 };
        let segment = Segment { at: 0, count: 1, source: Source::Zero };
        let memory = HostMemory(RefCell::new(vec![0, 0x80]));
        assert_eq!(compare(&memory, &case, &[segment]).unwrap().count, 1, "-0 is not +0 when data are moved");
    }
}
