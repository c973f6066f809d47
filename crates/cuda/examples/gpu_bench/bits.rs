//! Times matrices of elements of 1, 2 or 4 bits, and a copy of the same bytes. Each result is
//! compared first.

use turntile_cuda::{BitMatrix, Buffers, Work};
use turntile_plan::Planner;

use crate::common::{address, memory};
use crate::out_of_place::Table;
use crate::timing::Timer;

pub const ALL: [(&str, Table); 1] = [("bits", bits)];

/// Batch, rows and columns in elements.
const SHAPES: [[usize; 3]; 8] = [
    [1, 32768, 32768],
    [1, 28672, 8192],
    [64, 2880, 5760],
    [1, 65536, 65536],
    [128, 2048, 2048],
    [1, 4096, 11008],
    [16, 11008, 4096],
    [1, 20_008, 24_024],
];

const HEADER: &str = "batch,rows,cols,bits,into,kernels,workspace_bytes,megabytes,seconds,gb_per_s,copy_gb_per_s,\
                      percent_of_copy,wrong_bytes\n";

fn bits(timer: &mut Timer, bad: &mut usize) -> String {
    let mut csv = String::from(HEADER);
    for [batch, rows, cols] in SHAPES {
        for per_byte in [2, 4, 8] {
            for into in [false, true] {
                let matrix = BitMatrix { batch, rows, cols, per_byte, big: true };
                csv += &row(timer, bad, &matrix, into);
            }
        }
    }
    csv
}

fn row(timer: &mut Timer, bad: &mut usize, matrix: &BitMatrix, into: bool) -> String {
    let device = timer.bench.gpu.device();
    let mut work = Work::of_bits(matrix, into, 16, device.limits()).expect("has kernels");
    if let Some(runs) = matrix.runs(16).expect("counted").filter(|_| !into) {
        let plan = Planner::new(device.clone()).plan(&runs).expect("there is a way");
        work = work.then(Work::of_plan(&plan).expect("has kernels"));
    }
    let kernels = work.calls().iter().map(|call| call.kernel()).collect::<Vec<_>>().join(" ");
    let ([source, result], workspace_bytes) =
        (matrix.bytes().expect("counted"), work.workspace_bytes());
    let prepared = timer.bench.prepare(work).expect("loads");
    let (copy, (data, other)) = (timer.copy(source), timer.addresses());
    let workspace = memory(workspace_bytes.max(16));
    let buffers = Buffers {
        data: (data, result),
        source: into.then_some((other, source)),
        workspace: Some((address(&workspace), workspace.len())),
    };
    timer.bench.fill(data, source, 1);
    timer.bench.fill(other, source, 1);
    // SAFETY: the buffers are live allocations that nothing else uses.
    unsafe { prepared.run_raw(timer.bench.raw_stream(), buffers) }.expect("launches");
    let wrong = timer.bench.wrong_bits(data, other, matrix).0;
    *bad += usize::from(wrong > 0);
    let seconds = timer.median(|bench| {
        // SAFETY: as above.
        unsafe { prepared.run_raw(bench.raw_stream(), buffers) }.expect("launches");
    });
    let rate = |seconds: f64| 2.0 * source as f64 / seconds / 1e9;
    let (percent, bits) = (100.0 * copy / seconds, 8 / matrix.per_byte);
    let BitMatrix { batch, rows, cols, .. } = matrix;
    println!(
        "  {batch} x {rows} x {cols}, {bits} bits, {:8} {:8.3} ms {percent:6.1}% {wrong} {kernels}",
        if into { "into" } else { "in place" },
        seconds * 1e3,
    );
    format!(
        "{batch},{rows},{cols},{bits},{into},{kernels},{workspace_bytes},{:.1},{seconds:.7},{:.0},{:.0},{percent:.1},{wrong}\n",
        source as f64 / 1e6,
        rate(seconds),
        rate(copy),
    )
}
