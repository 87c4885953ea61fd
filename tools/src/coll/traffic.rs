//! Who sends how much to whom in `alltoallv_perf`: a pattern weighted by distance, or a matrix from a file.

use crate::api::VectorCounts;
use crate::error::{Error, Result};

/// Largest matrix that is read: ranks in one dimension.
const MAX_DIM: usize = 4096;

/// The bytes between each pair of ranks.
#[derive(Clone, Debug, PartialEq)]
pub enum Traffic {
    /// 0 = the same to all peers, 1 = in proportion to the distance, between = a blend.
    Spread(f64),
    /// `bytes[i * dim + j]` from rank i to rank j, each a multiple of 16.
    Matrix { dim: usize, bytes: Vec<usize> },
}

impl Default for Traffic {
    fn default() -> Self {
        Self::Spread(1.0)
    }
}

impl Traffic {
    /// Reads a matrix of byte counts: numbers between blanks, a row per line, square. Each is multiplied by `scale` and rounded down to 16.
    pub fn parse_matrix(text: &str, scale: f64) -> Result<Self> {
        let (mut bytes, mut rows, mut columns) = (Vec::new(), 0, 0);
        for line in text.lines().filter(|l| !l.trim().is_empty()) {
            let row = line.split_whitespace().map(|word| matrix_entry(word, rows, scale));
            let row = row.collect::<Result<Vec<usize>>>()?;
            if rows > 0 && row.len() != columns {
                return Err(Error::usage(format!("row {rows}: {} columns, allowed {columns} as in the first row", row.len())));
            }
            (rows, columns) = (rows + 1, row.len());
            if rows.max(columns) > MAX_DIM {
                return Err(Error::usage(format!("matrix of {rows} x {columns}: too large, allowed 1 to {MAX_DIM}")));
            }
            bytes.extend(row);
        }
        if rows == 0 || rows != columns {
            return Err(Error::usage(format!("matrix of {rows} x {columns}: not square, allowed n x n with n at least 1")));
        }
        Ok(Self::Matrix { dim: rows, bytes })
    }

    pub fn is_matrix(&self) -> bool {
        matches!(self, Self::Matrix { .. })
    }

    /// Bytes from rank `i` to rank `j` of `n`, when each rank sends about `total` bytes (a matrix says itself how many).
    pub fn bytes(&self, i: usize, j: usize, n: usize, total: usize) -> usize {
        let bytes = match self {
            Self::Matrix { dim, bytes } => bytes[i * dim + j],
            Self::Spread(_) if n == 1 => total,
            Self::Spread(spread) => {
                let distance = ((j + n - i) % n) as f64;
                let sum = (n * (n - 1) / 2) as f64;
                let uniform = total as f64 / n as f64;
                ((1.0 - spread) * uniform + spread * distance * total as f64 / sum) as usize
            }
        };
        bytes & !15
    }

    /// The most elements that any of `n` ranks sends, and that any receives.
    pub fn largest(&self, n: usize, total: usize, size: usize) -> (usize, usize) {
        let sum = |f: &dyn Fn(usize) -> usize| (0..n).map(|peer| f(peer) / size).sum::<usize>();
        let ranks = if self.is_matrix() { n } else { 1 };
        let send = (0..ranks).map(|r| sum(&|peer| self.bytes(r, peer, n, total))).max();
        let recv = (0..ranks).map(|r| sum(&|peer| self.bytes(peer, r, n, total))).max();
        (send.unwrap_or(0), recv.unwrap_or(0))
    }

    /// The counts and displacements of one rank's call, in elements of `size` bytes.
    pub fn vectors(&self, rank: usize, n: usize, total: usize, size: usize) -> VectorCounts {
        let elements = |i: usize, j: usize| self.bytes(i, j, n, total) / size;
        let displs = |counts: &[usize]| {
            counts.iter().scan(0, |at, count| Some(std::mem::replace(at, *at + count))).collect::<Vec<_>>()
        };
        let row = |i: usize| (0..n).map(|j| elements(i, j)).collect::<Vec<_>>();
        let recv: Vec<usize> = (0..n).map(|j| elements(j, rank)).collect();
        VectorCounts {
            send: row(rank),
            send_displs: (0..n).flat_map(|i| displs(&row(i))).collect(),
            recv_displs: displs(&recv),
            recv,
        }
    }

    /// A line for the pattern and one for each rank: what it moved and how fast.
    pub fn summary(&self, n: usize, total: usize, seconds: f64) -> String {
        let mode = match self {
            Self::Spread(spread) => format!("mode=generated nranks={n} total_bytes={total} spread={spread:.3}"),
            Self::Matrix { dim, .. } => format!("mode=matrix nranks={n} matrix_dim={dim}"),
        };
        let mut text = format!("# MCCL_TESTS_ALLTOALLV_PRINT_SUMMARY: {mode} time_usec={:.2}\n", seconds * 1e6);
        for rank in 0..n {
            let send: usize = (0..n).map(|peer| self.bytes(rank, peer, n, total)).sum();
            let recv: usize = (0..n).map(|peer| self.bytes(peer, rank, n, total)).sum();
            let algbw = send.max(recv) as f64 / 1e9 / seconds;
            let busbw = algbw * (n - 1) as f64 / n as f64;
            text.push_str(&format!(
                "#   rank={rank} send_bytes={send} recv_bytes={recv} alg_bw={algbw:.2} bus_bw={busbw:.2}\n"
            ));
        }
        text
    }
}

fn matrix_entry(word: &str, row: usize, scale: f64) -> Result<usize> {
    let fault = || Error::usage(format!("row {row}: {word}, not a count of bytes, allowed 0 to 2^50"));
    let value = word.parse::<f64>().map_err(|_| fault())? * scale;
    if (0.0..=(1u64 << 50) as f64).contains(&value) { Ok(value as usize & !15) } else { Err(fault()) }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn spread_goes_from_uniform_to_distance() {
        let row = |spread| (0..4).map(|j| Traffic::Spread(spread).bytes(1, j, 4, 9600)).collect::<Vec<_>>();
        assert_eq!(row(0.0), [2400; 4]);
        assert_eq!(row(1.0), [4800, 0, 1600, 3200]);
        assert_eq!(Traffic::Spread(1.0).bytes(0, 0, 1, 100), 96);
    }

    #[test]
    fn a_matrix_is_square_and_rounded() {
        let traffic = Traffic::parse_matrix("100 200\n50 31\n\n", 2.0).unwrap();
        assert_eq!(traffic, Traffic::Matrix { dim: 2, bytes: vec![192, 400, 96, 48] });
        assert_eq!(traffic.largest(2, 0, 4), (148, 112));
        for bad in ["", "1 2", "1 2\n3", "1 x\n2 3", "-1", "1e99"] {
            assert!(Traffic::parse_matrix(bad, 1.0).is_err(), "{bad:?}");
        }
    }

    #[test]
    fn vectors_of_all_ranks_fit_together() {
        let (traffic, n) = (Traffic::Spread(0.7), 5);
        let all: Vec<VectorCounts> = (0..n).map(|r| traffic.vectors(r, n, 10_000, 4)).collect();
        for (i, a) in all.iter().enumerate() {
            for (j, b) in all.iter().enumerate() {
                assert_eq!(a.send[j], b.recv[i]);
            }
            assert_eq!(a.send_displs, all[0].send_displs);
            assert_eq!(a.send_displs[i * n], 0);
            assert_eq!(a.recv_displs[2], a.recv[0] + a.recv[1]);
        }
    }
}
