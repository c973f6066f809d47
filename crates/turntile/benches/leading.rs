//! Benchmarks matrices with leading dimensions on one thread of the host: `cargo bench --bench
//! leading`.
//!
//! Prints the median speed of each case relative to a copy of the same size. The copy runs just
//! before the case, so that other load on the machine affects both.

use std::hint::black_box;
use std::time::{Duration, Instant};

use turntile::blas::{Complex, Scalar, Scale};
use turntile::mode::Leading;
use turntile::run::RunOptions;
use turntile::{Transpose, Transposer};
use turntile_plan::tuner::median;

/// Number of repetitions per case.
const REPETITIONS: usize = 11;

fn timed(work: impl FnOnce()) -> Duration {
    let start = Instant::now();
    work();
    start.elapsed()
}

/// Measures a case: repeatedly copies the matrix from one buffer to another, then runs the case.
/// Returns the case's row of the printed table.
fn row<S: Scalar>(
    name: &str,
    planned: &Transposer<Leading>,
    scale: Option<Scale<S>>,
    one: S,
) -> Vec<String> {
    let problem = &planned.plan().problem;
    let mut data = vec![one; problem.span()];
    let (from, mut to) = (vec![one; problem.len()], vec![one; problem.len()]);
    let mut workspace = planned.workspace().unwrap();
    let mut repeat = || {
        let copy = timed(|| to.copy_from_slice(black_box(&from)));
        let options = RunOptions::new().workspace(&mut workspace);
        let data = black_box(&mut data[..]);
        let time = timed(|| match &scale {
            Some(scale) => planned.run_scaled(data, scale, options).unwrap(),
            None => planned.run_with(data, options).unwrap(),
        });
        (copy.as_secs_f64() / time.as_secs_f64(), time.as_secs_f64())
    };
    // The first repetition has page faults and is not counted.
    repeat();
    let (ratios, seconds): (Vec<f64>, Vec<f64>) = (0..REPETITIONS).map(|_| repeat()).unzip();
    let gb = 2.0 * problem.bytes() as f64 / 1e9 / median(&seconds);
    let percent = 100.0 * median(&ratios);
    let method = match &planned.plan().stages().collect::<Vec<_>>()[..] {
        [stage] => stage.implementation.name(),
        _ => planned.plan().route_name(),
    };
    let workspace = planned.workspace_bytes() >> 10;
    vec![
        name.into(),
        method,
        format!("{workspace} KiB"),
        format!("{gb:.1}"),
        format!("{percent:.0}"),
    ]
}

fn transposed<S>(
    [rows, cols]: [usize; 2],
    [lda, ldb]: [usize; 2],
    cap: Option<usize>,
) -> Transposer<Leading> {
    let transpose = Transpose::new::<S>(rows, cols).threads(1);
    let transpose = cap.map_or(transpose.clone(), |cap| transpose.workspace_limit(cap));
    transpose.leading(lda, ldb).plan().unwrap()
}

fn moved<S>([rows, cols]: [usize; 2], [lda, ldb]: [usize; 2]) -> Transposer<Leading> {
    let rows = Transpose::permute::<S>(&[rows, cols], &[0, 1]).threads(1);
    rows.leading(lda, ldb).plan().unwrap()
}

fn main() {
    let real = |name: &str, planned: &Transposer<Leading>, scale: Option<f32>| {
        row::<f32>(name, planned, scale.map(Scale::by), 1.0)
    };
    let two = Some(2.0);
    let square = transposed::<f32>([4000, 4000], [4000, 4000], None);
    let padded_square = transposed::<f32>([4000, 4000], [4100, 4100], None);
    let block = transposed::<f32>([5000, 3000], [5100, 5100], None);
    let dense = transposed::<f32>([5000, 3000], [3000, 5000], None);
    let padded = transposed::<f32>([5000, 3000], [3008, 5008], None);
    let without_workspace = transposed::<f32>([5000, 3000], [3008, 5008], Some(0));
    let dense_passes = without_workspace.plan().passes() - 3;
    let padded_both = transposed::<f32>([5000, 3000], [6000, 7000], None);
    let padded_source = transposed::<f32>([5000, 3000], [6000, 5000], None);
    let widened = moved::<f32>([5000, 3000], [3000, 3100]);
    let narrowed = moved::<f32>([5000, 3000], [3100, 3000]);
    let scaled_only = moved::<f32>([5000, 3000], [3100, 3100]);
    let complex = transposed::<Complex<f32>>([3000, 3000], [3100, 3100], None);
    let one = Complex { re: 1.0f32, im: 0.0 };
    let conjugate = Some(Scale::conjugated(Complex { re: 0.5, im: 0.5 }));
    let rows = [
        real("4000x4000, lda 4000, ldb 4000", &square, None),
        real("4000x4000, lda 4100, ldb 4100", &padded_square, None),
        real("alpha 2, as above", &padded_square, two),
        real("5000x3000, lda 5100, ldb 5100", &block, None),
        real("alpha 2, as above", &block, two),
        real("5000x3000, lda 3000, ldb 5000", &dense, None),
        real("alpha 2, as above", &dense, two),
        real("5000x3000, lda 6000, ldb 5000", &padded_source, None),
        real("5000x3000, lda 3008, ldb 5008", &padded, None),
        real(
            &format!("without workspace, as above ({} dense passes)", dense_passes),
            &without_workspace,
            None,
        ),
        real("5000x3000, lda 6000, ldb 7000", &padded_both, None),
        real("5000x3000 not transposed, lda 3000, ldb 3100", &widened, None),
        real("5000x3000 not transposed, lda 3100, ldb 3000", &narrowed, None),
        real("5000x3000 scaled only, lda 3100, ldb 3100, alpha 2", &scaled_only, two),
        row("complex 3000x3000, lda 3100, ldb 3100", &complex, None, one),
        row("conjugated, alpha 0.5 + 0.5i, as above", &complex, conjugate, one),
    ];
    println!("| matrix | method | workspace | GB/s | % of a copy |\n|---|---|---|---|---|");
    rows.iter().for_each(|row| println!("| {} |", row.join(" | ")));
}
