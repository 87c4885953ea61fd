//! Where the blocks of a buffer are.
use crate::algo::Split;

/// Bytes to which slices are rounded, so that no two ranks write one cache line.
const GRAIN_BYTES: usize = 64;

/// Block number → elements, for one buffer of one operation.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Geometry {
    Whole {
        count: usize,
    },
    PerRank {
        count: usize,
    },
    Sliced {
        count: usize,
        ranks: usize,
        grain: usize,
    },
    /// Explicit start and count per rank.
    Vector {
        starts: Vec<usize>,
        counts: Vec<usize>,
    },
}

impl Geometry {
    /// `count` as passed to the call, elements of `size` bytes.
    pub fn new(split: Split, count: usize, ranks: usize, size: usize) -> Self {
        match split {
            Split::Whole => Self::Whole { count },
            Split::PerRank => Self::PerRank { count },
            Split::Sliced => Self::Sliced { count, ranks, grain: GRAIN_BYTES / size },
        }
    }

    /// First element and number of elements of block `index`.
    pub fn block(&self, index: usize) -> (usize, usize) {
        match self {
            Self::Whole { count } => (0, *count),
            Self::PerRank { count } => (index * count, *count),
            Self::Sliced { count, ranks, grain } => {
                let bound = |i: usize| match i == *ranks {
                    true => *count,
                    false => (*count as u128 * i as u128 / *ranks as u128) as usize / grain * grain,
                };
                (bound(index), bound(index + 1) - bound(index))
            }
            Self::Vector { starts, counts } => (starts[index], counts[index]),
        }
    }

    /// Elements from the start of the buffer to the end of its last block, for `ranks` blocks.
    pub fn extent(&self, ranks: usize) -> usize {
        match self {
            Self::Whole { count } | Self::Sliced { count, .. } => *count,
            Self::PerRank { count } => count * ranks,
            Self::Vector { starts, counts } => {
                starts.iter().zip(counts).map(|(s, c)| s + c).max().unwrap_or_default()
            }
        }
    }

    /// Elements of the largest block.
    pub fn largest(&self, ranks: usize) -> usize {
        match self {
            Self::Whole { count } | Self::PerRank { count } => *count,
            Self::Sliced { .. } => (0..ranks).map(|b| self.block(b).1).max().unwrap_or_default(),
            Self::Vector { counts, .. } => counts.iter().copied().max().unwrap_or_default(),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn slices_cover_the_buffer_once_in_order(count in 0usize..1 << 40, ranks in 1usize..70, shift in 0u32..4) {
            let g = Geometry::new(Split::Sliced, count, ranks, 1 << shift);
            let mut at = 0;
            for b in 0..ranks {
                let (start, len) = g.block(b);
                prop_assert_eq!(start, at);
                at += len;
            }
            prop_assert_eq!(at, count);
            prop_assert_eq!(g.extent(ranks), count);
        }
    }

    #[test]
    fn slices_start_on_cache_lines() {
        let g = Geometry::new(Split::Sliced, 1000, 3, 4);
        assert!((0..3).all(|b| g.block(b).0.is_multiple_of(16)));
    }
}
