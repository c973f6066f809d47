//! Benchmarks one matrix shape per class on one thread of the host, and a copy of the same size:
//! `cargo bench --bench host`.
//!
//! Short runs on default pages, to detect changes. The figures of `benches/records/results.md` come from
//! `turntile-lab bench`.

use std::hint::black_box;

use criterion::{BenchmarkId, Criterion, Throughput, criterion_group, criterion_main};
use turntile::Transpose;
use turntile::run::RunOptions;

const SHAPES: [(usize, usize); 7] = [
    (64, 48),
    (720, 180),
    (7200, 1800),
    (4093, 2039),
    (4096, 4096),
    (1_000_000, 8),
    (8, 1_000_000),
];

fn host(criterion: &mut Criterion) {
    let mut group = criterion.benchmark_group("host");
    for (rows, cols) in SHAPES {
        let planned = Transpose::new::<f32>(rows, cols).threads(1).plan().unwrap();
        let mut workspace = planned.workspace().unwrap();
        let mut matrix = vec![1.0f32; rows * cols];
        let mut other = matrix.clone();
        group.sample_size(20).throughput(Throughput::Bytes(8 * (rows * cols) as u64));
        let shape = format!("{rows}x{cols}");
        group.bench_function(BenchmarkId::new("copy", &shape), |bench| {
            bench.iter(|| other.copy_from_slice(black_box(&matrix)));
        });
        let into = Transpose::new::<f32>(rows, cols).threads(1).out_of_place().plan().unwrap();
        group.bench_function(BenchmarkId::new("into", &shape), |bench| {
            bench.iter(|| into.run(black_box(&matrix), &mut other).unwrap());
        });
        group.bench_function(BenchmarkId::new("transpose", &shape), |bench| {
            bench.iter(|| {
                let options = RunOptions::new().workspace(&mut workspace);
                planned.run_with(black_box(&mut matrix), options).unwrap();
            });
        });
    }
    group.finish();
}

criterion_group!(benches, host);
criterion_main!(benches);
