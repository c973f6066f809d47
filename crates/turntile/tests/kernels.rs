//! Tests of every SIMD kernel set that this machine supports, with every route except one-stage.

#[allow(dead_code, reason = "this program uses only a part of the module")]
mod common;

use common::{check_all, oracle};
use turntile::Transpose;
use turntile::plan::{CpuDevice, Planner, Problem, Route};

/// Checks matrix sides below, at and above the tile sides of all vector widths, and larger than a
/// block of tiles. The test has its own process because the kernel set is process-wide.
#[test]
fn routes_are_correct_on_every_kernel_set() {
    let mut ran = Vec::new();
    for kernel in turntile_simd::KERNELS {
        if !turntile_simd::force(kernel.name) {
            continue;
        }
        let planner = Planner::new(CpuDevice::new(2));
        for (batch, rows, cols) in [
            (1, 2, 2),
            (2, 3, 50),
            (1, 50, 3),
            (1, 48, 64),
            (3, 65, 17),
            (1, 127, 129),
            (1, 130, 130),
            (1, 360, 240),
            (1, 1000, 8),
            (1, 19, 700),
            (1, 1100, 1100),
        ] {
            for elem_bytes in [1, 2, 4, 8, 16, 12] {
                let problem = Problem::with_batch(batch, rows, cols, elem_bytes).unwrap();
                let candidates = planner.candidates(&problem).candidates;
                // Route one-stage moves single elements along cycles, without SIMD kernels.
                let blocks = candidates.into_iter().filter(|plan| plan.route() != Route::ONE_STAGE);
                check_all(blocks, 2);
            }
        }
        // Out-of-place transpositions of small and large matrices: the latter are written with
        // non-temporal stores.
        for (rows, cols) in
            [(3, 50), (127, 129), (130, 130), (1100, 1099), (1027, 1040), (9, 300_000)]
        {
            check_out_of_place::<1>(rows, cols);
            check_out_of_place::<2>(rows, cols);
            check_out_of_place::<4>(rows, cols);
            check_out_of_place::<8>(rows, cols);
            check_out_of_place::<16>(rows, cols);
            check_out_of_place::<12>(rows, cols);
        }
        ran.push(kernel.name);
    }
    assert!(ran.contains(&"portable"), "{ran:?}");
}

fn check_out_of_place<const N: usize>(rows: usize, cols: usize) {
    let before = oracle::numbered(rows * cols, N);
    let want = oracle::transposed(&before, 1, rows, cols, N);
    let src: &[[u8; N]] = before.as_chunks().0;
    let mut dst = vec![[0; N]; rows * cols];
    let transpose = Transpose::new::<u8>(rows, cols).itemsize(N).threads(2).out_of_place();
    transpose.plan().unwrap().run(src, &mut dst[..]).unwrap();
    assert!(dst.as_flattened() == want, "{rows} x {cols} of {N} bytes");
}
