//! Matrices with leading dimensions on one thread, each turn beside a copy as large: `cargo bench --bench leading`.
//!
//! Prints a table: of every case the median of its speed over that of the copy made just before it, so that what else
//! the machine does meets both.

use std::hint::black_box;
use std::time::{Duration, Instant};

use turntile::{Complex, RunOptions, Scalar, Scale, Transpose, Transposer};
use turntile_plan::tuner::median;

/// Turns that a case has.
const TURNS: usize = 11;

fn timed(work: impl FnOnce()) -> Duration {
    let start = Instant::now();
    work();
    start.elapsed()
}

/// A copy of the matrix from one buffer to another, then the case, so many times.
fn row<S: Scalar>(
    name: &str,
    planned: &Transposer,
    scale: Option<Scale<S>>,
    one: S,
) -> Vec<String> {
    let problem = &planned.plan().problem;
    let mut data = vec![one; problem.span()];
    let (from, mut to) = (vec![one; problem.len()], vec![one; problem.len()]);
    let mut workspace = planned.workspace().unwrap();
    let mut turn = || {
        let copy = timed(|| to.copy_from_slice(black_box(&from)));
        let options = RunOptions::new().workspace(&mut workspace);
        let data = black_box(&mut data[..]);
        let time = timed(|| match &scale {
            Some(scale) => planned.run_scaled(data, scale, options).unwrap(),
            None => planned.run_within(data, options).unwrap(),
        });
        (copy.as_secs_f64() / time.as_secs_f64(), time.as_secs_f64())
    };
    // The first turn is the first touch.
    turn();
    let (ratios, seconds): (Vec<f64>, Vec<f64>) = (0..TURNS).map(|_| turn()).unzip();
    let gb = 2.0 * problem.bytes() as f64 / 1e9 / median(&seconds);
    let percent = 100.0 * median(&ratios);
    let way = match &planned.plan().stages().collect::<Vec<_>>()[..] {
        [stage] => stage.implementation.name(),
        _ => planned.plan().route_name(),
    };
    let workspace = planned.workspace_bytes() >> 10;
    vec![name.into(), way, format!("{workspace} KiB"), format!("{gb:.1}"), format!("{percent:.0}")]
}

fn turned<S>([rows, cols]: [usize; 2], [lda, ldb]: [usize; 2], cap: Option<usize>) -> Transposer {
    let transpose = Transpose::of::<S>(rows, cols).threads(1);
    let transpose = cap.map_or(transpose.clone(), |cap| transpose.workspace_cap(cap));
    transpose.leading(lda, ldb).plan().unwrap()
}

fn slid<S>([rows, cols]: [usize; 2], [lda, ldb]: [usize; 2]) -> Transposer {
    let rows = Transpose::of_axes::<S>(&[rows, cols], &[0, 1]).threads(1);
    rows.leading(lda, ldb).plan().unwrap()
}

fn main() {
    let real = |name: &str, planned: &Transposer, scale: Option<f32>| {
        row::<f32>(name, planned, scale.map(Scale::by), 1.0)
    };
    let two = Some(2.0);
    let square = turned::<f32>([4000, 4000], [4000, 4000], None);
    let apart = turned::<f32>([4000, 4000], [4100, 4100], None);
    let block = turned::<f32>([5000, 3000], [5100, 5100], None);
    let dense = turned::<f32>([5000, 3000], [3000, 5000], None);
    let padded = turned::<f32>([5000, 3000], [3008, 5008], None);
    let exchanged = turned::<f32>([5000, 3000], [3008, 5008], Some(0));
    let amid = exchanged.plan().passes() - 3;
    let wide = turned::<f32>([5000, 3000], [6000, 7000], None);
    let source = turned::<f32>([5000, 3000], [6000, 5000], None);
    let slide = slid::<f32>([5000, 3000], [3000, 3100]);
    let back = slid::<f32>([5000, 3000], [3100, 3000]);
    let still = slid::<f32>([5000, 3000], [3100, 3100]);
    let complex = turned::<Complex<f32>>([3000, 3000], [3100, 3100], None);
    let one = Complex { re: 1.0f32, im: 0.0 };
    let conjugate = Some(Scale::conjugated(Complex { re: 0.5, im: 0.5 }));
    let rows = [
        real("4000x4000, lda 4000, ldb 4000", &square, None),
        real("4000x4000, lda 4100, ldb 4100", &apart, None),
        real("the same, alpha 2", &apart, two),
        real("5000x3000, lda 5100, ldb 5100", &block, None),
        real("the same, alpha 2", &block, two),
        real("5000x3000, lda 3000, ldb 5000", &dense, None),
        real("the same, alpha 2", &dense, two),
        real("5000x3000, lda 6000, ldb 5000", &source, None),
        real("5000x3000, lda 3008, ldb 5008", &padded, None),
        real(&format!("the same without workspace ({} passes amid)", amid), &exchanged, None),
        real("5000x3000, lda 6000, ldb 7000", &wide, None),
        real("5000x3000 slid, lda 3000, ldb 3100", &slide, None),
        real("5000x3000 slid, lda 3100, ldb 3000", &back, None),
        real("5000x3000 as it is, lda 3100, ldb 3100, alpha 2", &still, two),
        row("complex 3000x3000, lda 3100, ldb 3100", &complex, None, one),
        row("the same, conjugated, alpha 0.5 + 0.5i", &complex, conjugate, one),
    ];
    println!("| matrix | way | workspace | GB/s | % of a copy |\n|---|---|---|---|---|");
    rows.iter().for_each(|row| println!("| {} |", row.join(" | ")));
}
