//! `turntile bench`: each shape verified, then timed beside a copy of as many bytes by as many
//! threads in the same run.

mod memory;
mod table;

use std::time::{Duration, Instant};

use serde::Serialize;
use turntile::plan::Problem;
use turntile::{Planned, Transpose};

use crate::args::BenchArgs;
use crate::error::Error;
use memory::Memory;

pub use memory::Pages;

/// The shapes that `docs/cpu.md` reports: every class of them.
const SHAPES: [(usize, usize); 23] = [
    (7200, 1800),
    (5100, 2500),
    (4000, 3200),
    (3300, 3900),
    (2500, 5100),
    (1800, 7200),
    (20_000, 12_000),
    (4096, 8192),
    (16_384, 4096),
    (4093, 8191),
    (7919, 3001),
    (10_007, 9973),
    (4096, 4096),
    (8192, 8192),
    (10_000, 10_000),
    (4_000_000, 3),
    (3, 4_000_000),
    (1_000_000, 8),
    (8, 1_000_000),
    (500_000, 19),
    (19, 500_000),
    (250_000, 40),
    (40, 250_000),
];

/// A shape's figures; medians.
#[derive(Clone, Debug, Serialize)]
struct Row {
    rows: usize,
    cols: usize,
    elem_bytes: usize,
    threads: usize,
    pages: &'static str,
    route: &'static str,
    passes: usize,
    workspace_bytes: usize,
    /// Bytes read and written, in a second.
    gb_per_s: f64,
    copy_gb_per_s: f64,
    percent_of_copy: f64,
    estimated_gb_per_s: f64,
    /// The chosen plan's time over that of the fastest candidate measured, if that was asked for.
    chosen_over_best: Option<f64>,
    best_route: Option<&'static str>,
    plan: String,
}

/// Runs the command and returns what to print.
pub fn run(args: &BenchArgs) -> Result<String, Error> {
    let threads = args.threads.map_or_else(rayon::current_num_threads, usize::from);
    let shapes = if args.shapes.is_empty() { &SHAPES[..] } else { &args.shapes };
    let mut rows = Vec::new();
    for elem_bytes in &args.elem_bytes {
        for &(down, across) in shapes {
            rows.push(measure(args, down, across, elem_bytes.get(), threads)?);
        }
    }
    Ok(match (args.csv, args.json) {
        (true, _) => table::csv(&rows),
        (_, true) => table::json(&rows),
        _ => table::text(&rows),
    })
}

fn measure(
    args: &BenchArgs,
    rows: usize,
    cols: usize,
    elem_bytes: usize,
    threads: usize,
) -> Result<Row, Error> {
    let problem = Problem::new(rows, cols, elem_bytes)?;
    let mut transpose = Transpose::new(rows, cols).threads(threads);
    if let Some(route) = &args.route {
        let room = rows.max(cols).pow(2);
        transpose = transpose.route(route).room(room);
    }
    let planned = transpose.plan_bytes(elem_bytes)?;
    let mut matrix = Memory::new(planned.plan().room_bytes(), args.pages)?;
    let mut other = Memory::new(problem.bytes(), args.pages)?;
    verify(&planned, matrix.bytes(), rows, cols, elem_bytes)?;

    let mut workspace = planned.workspace()?;
    let (mut copies, mut turns) = (Vec::new(), Vec::new());
    for _ in 0..args.runs.get() {
        let start = Instant::now();
        copy(&matrix.bytes()[..problem.bytes()], other.bytes(), threads);
        copies.push(start.elapsed());
        let start = Instant::now();
        planned.run_bytes(matrix.bytes(), &mut workspace, |_| ())?;
        turns.push(start.elapsed());
    }
    drop((matrix, other));

    let speed = |time: Duration| 2.0 * problem.bytes() as f64 / time.as_secs_f64() / 1e9;
    let (copied, turned) = (median(copies), median(turns));
    let plan = planned.plan();
    let best = match args.candidates {
        Some(budget) => transpose.tune_bytes(elem_bytes, budget)?,
        None => Vec::new(),
    };
    let chosen = best.iter().find(|candidate| candidate.plan.stages == plan.stages);
    Ok(Row {
        rows,
        cols,
        elem_bytes,
        threads,
        pages: args.pages.name(),
        route: plan.route,
        passes: plan.passes(),
        workspace_bytes: planned.extra_bytes(),
        gb_per_s: speed(turned),
        copy_gb_per_s: speed(copied),
        percent_of_copy: 100.0 * copied.as_secs_f64() / turned.as_secs_f64(),
        estimated_gb_per_s: 2.0 * problem.bytes() as f64 / plan.seconds / 1e9,
        chosen_over_best: chosen
            .map(|chosen| chosen.time.as_secs_f64() / best[0].time.as_secs_f64()),
        best_route: best.first().map(|best| best.plan.route),
        plan: plan.to_string(),
    })
}

/// Transposes numbered elements and compares every one.
fn verify(
    planned: &Planned,
    data: &mut [u8],
    rows: usize,
    cols: usize,
    elem_bytes: usize,
) -> Result<(), Error> {
    let bytes = planned.plan().problem.bytes();
    for (number, element) in data[..bytes].chunks_exact_mut(elem_bytes).enumerate() {
        fill(number, element);
    }
    planned.run_bytes(data, &mut planned.workspace()?, |_| ())?;
    let mut want = vec![0; elem_bytes];
    for (column, line) in data[..bytes].chunks_exact(rows * elem_bytes).enumerate() {
        for (row, element) in line.chunks_exact(elem_bytes).enumerate() {
            fill(row * cols + column, &mut want);
            if element != want {
                return Err(Error::Wrong { rows, cols, elem_bytes, row: column, col: row });
            }
        }
    }
    Ok(())
}

/// An element that tells its number, or as much of it as its bytes can.
fn fill(number: usize, element: &mut [u8]) {
    // Multiplied by an odd number whose upper bits depend on all lower ones.
    let bytes = (number as u64).wrapping_mul(0x9E37_79B9_7F4A_7C15).to_be_bytes();
    for part in element.chunks_mut(bytes.len()) {
        part.copy_from_slice(&bytes[..part.len()]);
    }
}

/// A plain copy, shared out over `threads` threads.
fn copy(from: &[u8], to: &mut [u8], threads: usize) {
    if threads <= 1 {
        return to.copy_from_slice(from);
    }
    let share = from.len().div_ceil(threads).max(1);
    rayon::scope(|scope| {
        for (from, to) in from.chunks(share).zip(to.chunks_mut(share)) {
            scope.spawn(move |_| to.copy_from_slice(from));
        }
    });
}

fn median(mut times: Vec<Duration>) -> Duration {
    times.sort_unstable();
    times[times.len() / 2]
}
