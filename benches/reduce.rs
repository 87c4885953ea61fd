//! Speed of the reduction and copy kernels.
//!
//! First a table: bytes read and written per second, and in brackets the ratio to libc's `memcpy` over the
//! same number of bytes in the same run (a reduction of many inputs reads more than it writes, so more than 1
//! is possible). Then the criterion benches. `cargo bench --bench reduce -- --quick f32` runs some of them,
//! briefly.

use std::hint::black_box;
use std::time::{Duration, Instant};

use criterion::{BenchmarkId, Criterion, Throughput};
use mccl::base::types::{DataType, ReduceFn, Scalar};
use mccl::device::reduce::{Input, Reduction, copy, reciprocal, reduce_many};

/// Bytes of each buffer: first-level cache, second, third, memory.
const SIZES: [usize; 4] = [4 << 10, 64 << 10, 1 << 20, 16 << 20];

struct Row {
    name: &'static str,
    dtype: DataType,
    func: ReduceFn,
    inputs: usize,
    outputs: usize,
    average: bool,
}

const fn row(name: &'static str, dtype: DataType, func: ReduceFn, inputs: usize, outputs: usize) -> Row {
    Row { name, dtype, func, inputs, outputs, average: false }
}

const ROWS: [Row; 19] = [
    row("f32 sum", DataType::Float32, ReduceFn::Sum, 2, 1),
    row("f32 sum", DataType::Float32, ReduceFn::Sum, 3, 1),
    row("f32 sum", DataType::Float32, ReduceFn::Sum, 4, 1),
    row("f32 sum", DataType::Float32, ReduceFn::Sum, 8, 1),
    row("f32 sum", DataType::Float32, ReduceFn::Sum, 2, 2),
    row("f32 sum", DataType::Float32, ReduceFn::Sum, 4, 4),
    row("f32 sum", DataType::Float32, ReduceFn::Sum, 8, 8),
    Row { average: true, ..row("f32 avg", DataType::Float32, ReduceFn::Sum, 4, 1) },
    row("f32 max", DataType::Float32, ReduceFn::Max, 4, 1),
    row("f64 sum", DataType::Float64, ReduceFn::Sum, 2, 1),
    row("i32 sum", DataType::Int32, ReduceFn::Sum, 2, 1),
    row("i64 prod", DataType::Int64, ReduceFn::Prod, 2, 1),
    row("i8 sum", DataType::Int8, ReduceFn::Sum, 2, 1),
    row("f16 sum", DataType::Float16, ReduceFn::Sum, 2, 1),
    row("f16 sum", DataType::Float16, ReduceFn::Sum, 8, 1),
    row("bf16 sum", DataType::Bfloat16, ReduceFn::Sum, 2, 1),
    row("bf16 sum", DataType::Bfloat16, ReduceFn::Sum, 8, 1),
    row("e4m3 sum", DataType::Fp8E4M3, ReduceFn::Sum, 2, 1),
    row("e5m2 sum", DataType::Fp8E5M2, ReduceFn::Sum, 2, 1),
];

/// The buffers of one row at one size, touched once.
struct Work {
    r: Reduction,
    inputs: Vec<Input>,
    outputs: Vec<*mut u8>,
    count: usize,
    _memory: Vec<Vec<u64>>,
}

impl Work {
    fn new(row: &Row, bytes: usize) -> Self {
        // 0x11 in every byte is an ordinary number in every type. Odd lines apart, so that buffers do not
        // share cache sets.
        let mut memory = vec![vec![0x1111_1111_1111_1111u64; bytes / 8 + 512]; row.inputs + row.outputs];
        let mut pointers = memory.iter_mut().enumerate().map(|(i, m)| {
            let p = m.as_mut_ptr().cast::<u8>();
            p.wrapping_add(p.align_offset(64) + i % 16 * 192)
        });
        let scale: Option<Scalar> = row.average.then(|| reciprocal(row.dtype, row.inputs));
        let inputs = pointers.by_ref().take(row.inputs).map(|ptr| Input { ptr, scale }).collect();
        let outputs = pointers.collect();
        let r = Reduction { dtype: row.dtype, func: row.func, post_divide: None };
        Self { r, inputs, outputs, count: bytes / row.dtype.size(), _memory: memory }
    }

    fn traffic(&self) -> usize {
        self.count * self.r.dtype.size() * (self.inputs.len() + self.outputs.len())
    }

    fn reduce(&self) {
        // SAFETY: `new` made every buffer long enough; they are apart, and no other thread knows them.
        unsafe { reduce_many(&self.r, true, &self.inputs, black_box(&self.outputs), self.count) }
    }
}

/// The fastest of many runs within a fixed time, in seconds for one call.
fn fastest(mut f: impl FnMut()) -> f64 {
    let once = Instant::now();
    f();
    let calls = (200e-6 / once.elapsed().as_secs_f64().max(1e-9)).clamp(1.0, 2000.0) as u32;
    let (start, mut best) = (Instant::now(), f64::MAX);
    while start.elapsed() < Duration::from_millis(120) {
        let t = Instant::now();
        for _ in 0..calls {
            f();
        }
        best = best.min(t.elapsed().as_secs_f64() / f64::from(calls));
    }
    best
}

/// GB/s, read and written, of `copy` or of libc's memcpy with this traffic.
fn copy_speed(traffic: usize, ours: bool) -> f64 {
    let bytes = traffic / 2;
    let (from, mut to) = (vec![1u8; bytes], vec![2u8; bytes]);
    let seconds = fastest(|| {
        if ours {
            // SAFETY: two vectors of this length.
            unsafe { copy(black_box(to.as_mut_ptr()), from.as_ptr(), bytes) }
        } else {
            black_box(&mut to).copy_from_slice(&from);
        }
    });
    traffic as f64 / seconds / 1e9
}

fn print_table() {
    println!("GB/s read and written (ratio to memcpy of the same traffic), by bytes of a buffer");
    println!("{:<10} {:>3} {:>3} {:>16} {:>16} {:>16} {:>16}", "", "in", "out", "4K", "64K", "1M", "16M");
    let cell = |speed: f64, limit: f64| print!(" {:>8.1} ({:>4.2})", speed, speed / limit);
    print!("{:<10} {:>3} {:>3}", "copy", 1, 1);
    for bytes in SIZES {
        cell(copy_speed(2 * bytes, true), copy_speed(2 * bytes, false));
    }
    println!();
    for row in &ROWS {
        print!("{:<10} {:>3} {:>3}", row.name, row.inputs, row.outputs);
        for bytes in SIZES {
            let work = Work::new(row, bytes);
            cell(work.traffic() as f64 / fastest(|| work.reduce()) / 1e9, copy_speed(work.traffic(), false));
        }
        println!();
    }
}

fn criterion_benches(c: &mut Criterion) {
    for row in &ROWS {
        let mut group = c.benchmark_group(format!("{} {} to {}", row.name, row.inputs, row.outputs));
        for bytes in SIZES {
            let work = Work::new(row, bytes);
            group.throughput(Throughput::Bytes(work.traffic() as u64));
            group.bench_function(BenchmarkId::from_parameter(bytes), |b| b.iter(|| work.reduce()));
        }
    }
}

fn main() {
    // `cargo test --benches` wants to know only that it starts.
    if std::env::args().any(|a| a == "--test") {
        return;
    }
    print_table();
    let mut c = Criterion::default().configure_from_args();
    criterion_benches(&mut c);
    c.final_summary();
}
