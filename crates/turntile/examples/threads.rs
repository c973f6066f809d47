//! Measures the speed-up by 1, 2, 4 and so on up to all threads, for several shapes, as CSV.
//!
//! `cargo run --release --example threads -- [RUNS [TABLE]]` reports the median of `RUNS` runs
//! (default 15). `TABLE` is a cost table written by `turntile-lab calibrate`. Columns:
//! - `of_copy`: speed relative to a copy of the matrix with the same number of threads.
//! - `used`: maximum number of threads of a stage of the plan.
//! - `over_fewer`: best time with fewer threads, divided by this time. At least 1 if the threads
//!   help, below 0.97 if they harm.

use std::time::{Duration, Instant};

use turntile::plan::CpuDevice;
use turntile::run::{RunOptions, Workspace};
use turntile::{RawElements, Transpose, Transposer};

/// Matrices to measure, as rows, columns and bytes per element.
const SHAPES: [(usize, usize, usize); 30] = [
    // 0.3 to 4 MB.
    (300, 250, 4),
    (509, 311, 4),
    (4093, 17, 8),
    (2053, 37, 8),
    (512, 512, 4),
    (720, 480, 4),
    (30_000, 12, 4),
    (12, 30_000, 4),
    (1009, 1013, 2),
    (1000, 1000, 4),
    // 8 to 60 MB.
    (1500, 1500, 4),
    (300_000, 7, 4),
    (1_000_000, 8, 4),
    (8, 1_000_000, 4),
    (500_000, 19, 4),
    (19, 500_000, 4),
    (250_000, 40, 4),
    (40, 250_000, 4),
    (4_000_000, 3, 4),
    (3, 4_000_000, 4),
    (3300, 3900, 4),
    (7200, 1800, 4),
    (3001, 3989, 4),
    (4000, 3000, 3),
    // 90 to 400 MB.
    (7919, 3001, 4),
    (4096, 8192, 4),
    (8192, 8192, 4),
    (6000, 8000, 8),
    (10_007, 9973, 4),
    (10_000, 10_000, 4),
];

struct Run {
    threads: usize,
    planned: Transposer,
    workspace: Workspace,
    copies: Vec<Duration>,
    times: Vec<Duration>,
}

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let mut words = std::env::args().skip(1);
    let runs: usize = words.next().map_or(Ok(15), |word| word.parse())?;
    let table = words.next().map(std::fs::read_to_string).transpose()?;
    let costs = table.map(|text| CpuDevice::costs_from(&text)).transpose()?;
    let all = std::thread::available_parallelism()?.get();
    let counts: Vec<usize> = std::iter::successors(Some(1), |n| Some(n * 2))
        .take_while(|&n| n < all)
        .chain([all])
        .collect();
    println!("rows,cols,elem_bytes,threads,used,seconds,gb_per_s,of_copy,over_fewer,plan");
    for (rows, cols, elem_bytes) in SHAPES {
        let bytes = rows * cols * elem_bytes;
        let (mut data, mut other) = (vec![1u8; bytes], vec![2u8; bytes]);
        let plan = |&threads: &usize| -> Result<Run, turntile::Error> {
            let transpose = Transpose::new::<u8>(rows, cols).itemsize(elem_bytes).threads(threads);
            let transpose = costs.iter().cloned().fold(transpose, Transpose::costs);
            let planned = transpose.plan()?;
            let workspace = planned.workspace()?;
            Ok(Run { threads, planned, workspace, copies: Vec::new(), times: Vec::new() })
        };
        let mut runs_by_threads = counts.iter().map(plan).collect::<Result<Vec<_>, _>>()?;
        // Runs of small matrices are short, so repeat them more often.
        for _ in 0..=runs.max(((64 << 20) / bytes).min(20 * runs)) {
            for Run { threads, planned, workspace, copies, times } in &mut runs_by_threads {
                let start = Instant::now();
                copy(&data, &mut other, *threads);
                copies.push(start.elapsed());
                let start = Instant::now();
                let options = RunOptions::new().workspace(workspace);
                planned.run_with(&mut RawElements(&mut data), options)?;
                times.push(start.elapsed());
            }
        }
        let mut fewer = f64::INFINITY;
        for Run { threads, planned, copies, times, .. } in runs_by_threads {
            let (time, copy) = (median(&times), median(&copies));
            let stages =
                planned.plan().stages().map(|stage| stage.implementation.launch_config.variant());
            let used = stages.filter_map(|text| text.trim_start_matches(" x").parse().ok()).max();
            println!(
                "{rows},{cols},{elem_bytes},{threads},{},{time:.3e},{:.2},{:.2},{:.3},\"{}\"",
                used.unwrap_or(1),
                2e-9 * bytes as f64 / time,
                copy / time,
                if fewer.is_finite() { fewer / time } else { 1.0 },
                planned.plan()
            );
            fewer = fewer.min(time);
        }
    }
    Ok(())
}

fn copy(from: &[u8], to: &mut [u8], threads: usize) {
    let chunk = from.len().div_ceil(threads);
    if threads == 1 {
        return to.copy_from_slice(from);
    }
    rayon::in_place_scope(|scope| {
        let mut chunks = from.chunks(chunk).zip(to.chunks_mut(chunk));
        let first = chunks.next();
        chunks.for_each(|(from, to)| scope.spawn(move |_| to.copy_from_slice(from)));
        first.into_iter().for_each(|(from, to)| to.copy_from_slice(from));
    });
}

/// Returns the median in seconds of all runs except the first, which has page faults.
fn median(runs: &[Duration]) -> f64 {
    turntile_plan::tuner::median(&runs[1..]).as_secs_f64()
}
