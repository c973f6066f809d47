//! Elements of 1, 2 or 4 bits: small matrices at any address, with the memory around them, and
//! matrices that fill the chip.

use cust::memory::CopyDestination;
use turntile_cuda::{BitMatrix, Buffers, CudaError, Prepared, Work};
use turntile_plan::Planner;

use crate::common::{Bench, address, memory, pattern};

/// Batch, rows and columns of large matrices in place, in elements.
const IN_PLACE: [[usize; 3]; 13] = [
    [1, 32768, 32768],
    [1, 20_008, 20_008],
    [1, 28672, 8192],
    [1, 8192, 28672],
    [64, 2880, 5760],
    [64, 2048, 2048],
    [3, 4096, 11008],
    [1, 10_008, 24_024],
    [1, 16 * 1021, 8 * 1019],
    [500, 64, 320],
    [1, 1 << 20, 64],
    [1 << 25, 8, 8],
    [1 << 26, 2, 4],
];

/// Batch, rows and columns of large matrices out of place, in elements.
const INTO: [[usize; 3]; 8] = [
    [1, 32768, 32768],
    [1, 28672, 8192],
    [64, 2880, 5760],
    [1, 20_011, 16_381],
    [7, 3001, 4999],
    [1, 5, 10_000_000],
    [1 << 26, 2, 4],
    [10_000_001, 5, 3],
];

/// Returns every number of bits and order of elements in a byte.
fn packings() -> impl Iterator<Item = (usize, bool)> {
    [8, 4, 2].into_iter().flat_map(|per_byte| [(per_byte, true), (per_byte, false)])
}

/// Loads the kernels of a transposition, as the library does.
pub fn prepare(
    bench: &Bench,
    matrix: &BitMatrix,
    into: bool,
    alignment: usize,
) -> Result<Prepared, CudaError> {
    let device = bench.gpu.device();
    let mut work = Work::of_bits(matrix, into, alignment, device.limits())?;
    if let Some(runs) = matrix.runs(alignment).expect("counted").filter(|_| !into) {
        let plan = Planner::new(device.clone()).plan(&runs).expect("there is a way");
        work = work.then(Work::of_plan(&plan)?);
    }
    bench.prepare(work)
}

pub fn bits(bench: &mut Bench, side: usize) -> usize {
    small(bench, side.min(20)) + large(bench)
}

/// Compares every byte of the result and of the memory around it.
fn small(bench: &mut Bench, side: usize) -> usize {
    let (room, guard) = (1 << 20, 64);
    let (data, workspace) = (memory(room), memory(16 << 20));
    let (mut cases, mut failures) = (0, 0);
    let edges =
        [(70, 70), (129, 129), (24, 36), (40, 136), (4, 300), (300, 4), (127, 5), (96, 144)];
    let all = (0..=side).flat_map(|a| (0..=side).map(move |b| (a, b))).chain(edges);
    for ((a, b), (per_byte, big)) in all.flat_map(|sides| packings().map(move |p| (sides, p))) {
        for (into, skew) in [(false, 0), (false, 1), (true, 0), (true, 3)] {
            // In place the sides are in bytes.
            let times = if into && a <= side { 1 } else { per_byte };
            let batch = if a * b > 400 { 1 } else { 3 };
            let (rows, cols) = (a * times + usize::from(into && a > side), b * times);
            let matrix = BitMatrix { batch, rows, cols, per_byte, big };
            let [source, result] = matrix.bytes().expect("counted");
            let from = guard + skew;
            let to = if into { (from + source + guard).next_multiple_of(16) + skew } else { from };
            let end = to + result.max(source) + guard;
            let before = pattern(end);
            data.index(0..end).copy_from(&before).expect("fits");
            let start = address(&data);
            let run = || -> Result<(), CudaError> {
                let alignment = if skew == 0 { 16 } else { 1 };
                let prepared = prepare(bench, &matrix, into, alignment)?;
                let buffers = Buffers {
                    data: (start + to as u64, result),
                    source: into.then_some((start + from as u64, source)),
                    workspace: Some((address(&workspace), workspace.len())),
                };
                // SAFETY: all buffers are parts of live allocations that nothing else uses.
                unsafe { prepared.run_raw(bench.raw_stream(), buffers) }
            };
            let ran = run();
            bench.stream.synchronize().expect("the kernels end well");
            let mut left = vec![0; end];
            data.index(0..end).copy_to(&mut left).expect("fits");
            let mut want = before.clone();
            want[to..to + result]
                .copy_from_slice(&transposed(&before[from..from + source], &matrix));
            cases += 1;
            if ran.is_err() || left != want {
                failures += 1;
                println!("  WRONG {matrix:?}, into {into}, skew {skew}: {ran:?}");
            }
        }
    }
    println!("  {cases} small packed matrices, {failures} wrong");
    failures
}

/// Returns the transposed matrices, element by element.
fn transposed(from: &[u8], matrix: &BitMatrix) -> Vec<u8> {
    let &BitMatrix { batch, rows, cols, per_byte, big } = matrix;
    let [from_row, to_row] = [cols, rows].map(|side| side.div_ceil(per_byte));
    let shift =
        |k: usize| 8 / per_byte * if big { per_byte - 1 - k % per_byte } else { k % per_byte };
    let mut to = vec![0; batch * cols * to_row];
    for row in 0..batch * rows {
        let (m, r) = (row / rows, row % rows);
        for c in 0..cols {
            let element = from[row * from_row + c / per_byte] >> shift(c);
            let element = element & (u8::MAX >> (8 - 8 / per_byte));
            to[(m * cols + c) * to_row + r / per_byte] |= element << shift(r);
        }
    }
    to
}

/// Compares every element on the device.
fn large(bench: &mut Bench) -> usize {
    let mut failures = 0;
    let cases =
        IN_PLACE.map(|shape| (shape, false)).into_iter().chain(INTO.map(|shape| (shape, true)));
    for ((shape, into), (per_byte, big)) in
        cases.flat_map(|case| packings().map(move |p| (case, p)))
    {
        let [batch, rows, cols] = shape;
        if !into && [rows, cols].iter().any(|side| side % per_byte > 0) {
            continue;
        }
        let matrix = BitMatrix { batch, rows, cols, per_byte, big };
        for alignment in [16, 1] {
            let wrong = checked(bench, &matrix, into, alignment);
            if wrong != Ok(0) {
                println!("  WRONG {matrix:?}, into {into}, alignment {alignment}: {wrong:?}");
                failures += 1;
            }
        }
    }
    println!("  large packed matrices: {failures} wrong");
    failures
}

/// Runs one case, and returns the number of wrong bytes.
fn checked(
    bench: &mut Bench,
    matrix: &BitMatrix,
    into: bool,
    alignment: usize,
) -> Result<u64, CudaError> {
    let [source, result] = matrix.bytes().expect("counted");
    let prepared = prepare(bench, matrix, into, alignment)?;
    let (from, to) = (memory(source), memory(result.max(source)));
    let workspace = memory(prepared.workspace_bytes().max(16));
    bench.fill(address(&from), source, 1);
    if !into {
        bench.stream.synchronize().expect("the kernel ends well");
        to.index(0..source).copy_from(&from).expect("equal lengths");
    }
    let buffers = Buffers {
        data: (address(&to), result),
        source: into.then_some((address(&from), source)),
        workspace: Some((address(&workspace), workspace.len())),
    };
    // SAFETY: the buffers are live allocations that nothing else uses.
    unsafe { prepared.run_raw(bench.raw_stream(), buffers) }?;
    Ok(bench.wrong_bits(address(&to), address(&from), matrix).0)
}
