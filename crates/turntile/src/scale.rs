//! Numbers multiplied and conjugated.

use num_complex::Complex;
use turntile_cpu::pool;
use turntile_cuda as gpu;

/// A number that can be scaled: `f32`, `f64` and their [`Complex`] forms.
///
/// Nothing else can be.
pub trait Scalar: number::Number {}

impl<S: number::Number> Scalar for S {}

/// What is asked of numbers; out of reach, so that none but these are.
mod number {
    use std::fmt;
    use std::ops::Mul;

    /// Without padding, and of which all bytes make one. Products are as [`Scale`](super::Scale)
    /// says.
    pub trait Number:
        Copy + PartialEq + Mul<Output = Self> + Send + Sync + fmt::Debug + 'static
    {
        const ZERO: Self;
        const ONE: Self;
        /// Whether its conjugate is another number.
        const IS_COMPLEX: bool;
        fn conjugate(self) -> Self;
        /// Its real and its imaginary part.
        fn parts(self) -> [f64; 2];
    }
}

use number::Number;

/// What every element of a result is made of: `alpha` times the element, or times its conjugate.
///
/// As BLAS has it:
/// - `alpha = 1` multiplies nothing: elements keep every bit, NaNs among them, and it costs
///   nothing.
/// - `alpha = 0` reads nothing: the result is zeros, where the source has NaN or infinity too.
/// - Any other product is IEEE 754's, rounded once. A complex one is `(a + bi)(c + di) = (ac − bd)
///   + (ad + bc)i` by those, no products fused and infinities not recovered: infinity times a
///   number has a NaN where the formula gives one, as `∞ · 0` does.
/// - A conjugate's imaginary part is the other's with its sign bit turned, a zero's or a NaN's too.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Scale<S> {
    /// The factor.
    pub alpha: S,
    /// Whether elements are conjugated first; real ones are their own conjugates.
    pub conjugate: bool,
}

impl<S: Scalar> Scale<S> {
    /// Elements times `alpha`.
    pub fn by(alpha: S) -> Self {
        Scale { alpha, conjugate: false }
    }

    /// Their conjugates times `alpha`.
    pub fn conjugated(alpha: S) -> Self {
        Scale { alpha, conjugate: true }
    }

    /// Whether elements stay as they are.
    pub fn is_nothing(&self) -> bool {
        self.alpha == S::ONE && !self.conjugates()
    }

    /// Whether the result is zeros, whatever the source is.
    pub(crate) fn is_zero(&self) -> bool {
        self.alpha == S::ZERO
    }

    /// The same on a GPU: which numbers, and what becomes of them.
    pub(crate) fn on_gpu(&self) -> (gpu::Number, gpu::Scaling) {
        let number = match (S::IS_COMPLEX, size_of::<S>()) {
            (false, 4) => gpu::Number::F32,
            (false, _) => gpu::Number::F64,
            (true, 8) => gpu::Number::C32,
            (true, _) => gpu::Number::C64,
        };
        let alpha = (self.alpha != S::ONE).then(|| self.alpha.parts());
        let scaling = match self.is_zero() {
            true => gpu::Scaling::Zeros,
            false => gpu::Scaling::By { alpha, conjugated: self.conjugates() },
        };
        (number, scaling)
    }

    fn conjugates(&self) -> bool {
        self.conjugate && S::IS_COMPLEX
    }

    /// One element scaled, where the result is not zeros anyway.
    #[inline(always)]
    pub(crate) fn apply(&self, element: S) -> S {
        let element = if self.conjugates() { element.conjugate() } else { element };
        if self.alpha == S::ONE { element } else { element * self.alpha }
    }

    /// Scales `rows` rows of `cols` elements that lie `pitch` apart, in place, on up to `threads`
    /// threads.
    pub(crate) fn rows(
        &self,
        data: &mut [S],
        [rows, cols]: [usize; 2],
        pitch: usize,
        threads: usize,
    ) {
        if rows == 0 || cols == 0 {
            return;
        }
        let parts = threads.min(rows * cols * size_of::<S>() / SHARE_BYTES).clamp(1, rows);
        let each = rows.div_ceil(parts);
        let all = data.chunks_mut(pitch).take(rows);
        if parts == 1 {
            return all.for_each(|row| self.row(&mut row[..cols]));
        }
        let shares = data.chunks_mut(each * pitch).take(rows.div_ceil(each)).enumerate();
        pool::each(shares, |(share, data)| {
            let rows = each.min(rows - share * each);
            data.chunks_mut(pitch).take(rows).for_each(|row| self.row(&mut row[..cols]));
        });
    }

    fn row(&self, row: &mut [S]) {
        if self.is_zero() {
            row.fill(S::ZERO);
        } else {
            row.iter_mut().for_each(|element| *element = self.apply(*element));
        }
    }
}

/// Bytes that are worth a thread.
const SHARE_BYTES: usize = 1 << 20;

macro_rules! numbers {
    ($($real:ty),+) => {$(
        impl Number for $real {
            const ZERO: Self = 0.0;
            const ONE: Self = 1.0;
            const IS_COMPLEX: bool = false;

            #[inline(always)]
            fn conjugate(self) -> Self {
                self
            }

            fn parts(self) -> [f64; 2] {
                [self.into(), 0.0]
            }
        }

        impl Number for Complex<$real> {
            const ZERO: Self = Complex { re: 0.0, im: 0.0 };
            const ONE: Self = Complex { re: 1.0, im: 0.0 };
            const IS_COMPLEX: bool = true;

            #[inline(always)]
            fn conjugate(self) -> Self {
                self.conj()
            }

            fn parts(self) -> [f64; 2] {
                [self.re.into(), self.im.into()]
            }
        }
    )+};
}

numbers!(f32, f64);
