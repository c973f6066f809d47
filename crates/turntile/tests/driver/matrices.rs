//! Random test cases of matrices with leading dimensions, transposed and scaled by `imatcopy` and
//! by plans.

use std::fmt::Debug;

use turntile::Transpose;
use turntile::blas::{Complex, MatrixOp, Scalar, Scale, imatcopy};
use turntile::run::RunOptions;

use crate::about;
use crate::calls::in_pool;
use crate::draw::Draw;
use crate::wishes::kind;

/// Scalar type with a naive product, to compute expected results.
trait Number: Scalar + Debug {
    fn new(re: f64, im: f64) -> Self;
    /// Returns `alpha` times the number, or times its conjugate if `conjugate`, by definition.
    fn scaled(self, alpha: Self, conjugate: bool) -> Self;
    fn bits(self) -> [u64; 2];
}

macro_rules! numbers {
    ($real:ident) => {
        impl Number for $real {
            fn new(re: f64, _: f64) -> Self {
                re as $real
            }
            fn scaled(self, alpha: Self, _: bool) -> Self {
                match alpha {
                    0.0 => 0.0,
                    1.0 => self,
                    _ => alpha * self,
                }
            }
            fn bits(self) -> [u64; 2] {
                // The bits of a NaN are not specified.
                [if self.is_nan() { 1 } else { self.to_bits().into() }, 0]
            }
        }
        impl Number for Complex<$real> {
            fn new(re: f64, im: f64) -> Self {
                Complex { re: re as $real, im: im as $real }
            }
            fn scaled(self, alpha: Self, conjugate: bool) -> Self {
                let Complex { re: a, im: b } = self;
                let b = if conjugate { -b } else { b };
                let Complex { re: c, im: d } = alpha;
                match (c, d) {
                    (0.0, 0.0) => Complex { re: 0.0, im: 0.0 },
                    (1.0, 0.0) => Complex { re: a, im: b },
                    _ => Complex { re: a * c - b * d, im: a * d + b * c },
                }
            }
            fn bits(self) -> [u64; 2] {
                [self.re.bits()[0], self.im.bits()[0]]
            }
        }
    };
}

numbers!(f32);
numbers!(f64);

pub fn draw(draw: &mut Draw) -> &'static str {
    let threads = draw.threads();
    in_pool(threads, || match draw.below(4) {
        0 => of::<f32>(draw),
        1 => of::<f64>(draw),
        2 => of::<Complex<f32>>(draw),
        _ => of::<Complex<f64>>(draw),
    })
}

fn of<S: Number>(draw: &mut Draw) -> &'static str {
    let most = draw.most() / 2;
    let [rows, cols] = draw.sides(most);
    let operation = draw.of(&[
        MatrixOp::Keep,
        MatrixOp::Transpose,
        MatrixOp::Conjugate,
        MatrixOp::ConjugateTranspose,
    ]);
    let wide = if operation.transposes() { rows } else { cols };
    let [a, b] = [(); 2].map(|()| if draw.one_in(3) { 0 } else { draw.below(12) });
    let (mut lda, mut ldb) = (cols + a, wide + b);
    match draw.below(20) {
        0 => lda = cols.saturating_sub(1),
        1 => ldb = wide.saturating_sub(1),
        2..8 => [lda, ldb] = [lda.max(ldb); 2],
        _ => {}
    }
    let odd = |draw: &mut Draw| draw.of(&[0.0, 1.0, 1.0, -2.0, 0.5, 3.25, f64::NAN, f64::INFINITY]);
    let alpha = S::new(odd(draw), if draw.one_in(2) { 0.0 } else { odd(draw) });
    let after = if operation.transposes() { cols } else { rows };
    let end = |rows: usize, cols: usize, pitch: usize| match rows.min(cols) {
        0 => 0,
        _ => (rows - 1) * pitch + cols,
    };
    let span = end(rows, cols, lda).max(end(after, wide, ldb));
    if span > 4 * most + 100_000 {
        return "too large";
    }
    let short = span > 0 && draw.one_in(12);
    let len = if short { span - 1 } else { span + draw.below(4) };
    let too_small = lda < cols || ldb < wide;
    about(format_args!("{operation:?} {rows} x {cols} {alpha:?} lda {lda} ldb {ldb} in {len}"));
    let mut data: Vec<S> = (0..len)
        .map(|k| match draw.below(200) {
            0 => S::new(odd(draw), odd(draw)),
            _ => S::new(k as f64 + 0.5, 1000.0 - k as f64),
        })
        .collect();
    let before = data.clone();
    let result = match draw.below(3) {
        0 => {
            let axes = if operation.transposes() { [1, 0] } else { [0, 1] };
            let transpose = Transpose::permute::<S>(&[rows, cols], &axes).leading(lda, ldb);
            let cap = draw.maybe(3, Draw::cap);
            let transpose = cap.map_or(transpose.clone(), |cap| transpose.workspace_limit(cap));
            let scale = Scale { alpha, conjugate: operation.conjugates() };
            transpose.plan().and_then(|plan| plan.run_scaled(&mut data, &scale, RunOptions::new()))
        }
        _ => imatcopy(&mut data, operation, rows, cols, alpha, lda, ldb),
    };
    if short || too_small {
        let kind = kind(&result.expect_err("there is no such matrix"));
        assert!(["length", "leading too small"].contains(&kind), "{kind}");
        let same = data.iter().zip(&before).all(|(a, b)| a.bits() == b.bits());
        assert!(same, "refused, and touched");
        return "refused";
    }
    result.unwrap();
    let (mut want, mut source, mut written) = (before.clone(), vec![false; len], vec![false; len]);
    for (i, j) in (0..rows).flat_map(|i| (0..cols).map(move |j| (i, j))) {
        let to = if operation.transposes() { j * ldb + i } else { i * ldb + j };
        want[to] = before[i * lda + j].scaled(alpha, operation.conjugates());
        source[i * lda + j] = true;
        written[to] = true;
    }
    for at in 0..len {
        let free = source[at] && !written[at] && lda != ldb;
        let same = data[at].bits() == want[at].bits();
        assert!(free || same, "{at}: {:?}, not {:?}", data[at], want[at]);
    }
    "ran"
}
