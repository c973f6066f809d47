//! Scaling and conjugation of the elements of a transposed matrix, on the host and on GPUs.

use num_complex::Complex;
use turntile_cpu::pool;
use turntile_cuda as gpu;

/// Scalar type: `f32`, `f64` or a [`Complex`] number of these. The trait is sealed.
pub trait Scalar: number::Number {}

impl<S: number::Number> Scalar for S {}

/// Sealed trait of the scalar types.
mod number {
    use std::fmt;
    use std::ops::Mul;

    /// Number type without padding, for which any bits are valid. [`Scale`](super::Scale) defines
    /// its products.
    pub trait Number:
        Copy + PartialEq + Mul<Output = Self> + Send + Sync + fmt::Debug + 'static
    {
        const ZERO: Self;
        const ONE: Self;
        /// `true` for complex types, whose conjugation is not the identity.
        const IS_COMPLEX: bool;
        fn conjugate(self) -> Self;
        /// Returns the real and the imaginary part. The latter is 0 for real types.
        fn parts(self) -> [f64; 2];
    }
}

use number::Number;

/// Scaling of each element of a result: by `alpha`, after an optional conjugation.
///
/// Rules, as in BLAS:
/// - `alpha == 1` multiplies nothing: elements keep every bit, including NaNs.
/// - `alpha == 0` reads nothing. The result is zeros, even if the source has NaN or infinity.
/// - Any other product is that of IEEE 754, rounded once. A complex product is `(a + bi)(c + di) =
///   (ac − bd) + (ad + bc)i`, without fused multiply-add and without recovering infinities. An
///   infinite element may therefore give a NaN part, as `∞ · 0` does.
/// - Conjugation flips the sign bit of the imaginary part, also of a zero or a NaN.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Scale<S> {
    /// Factor by which elements are multiplied.
    pub alpha: S,
    /// `true` if elements are conjugated first, which leaves real elements unchanged.
    pub conjugate: bool,
}

impl<S: Scalar> Scale<S> {
    /// Creates a scaling by `alpha`.
    pub fn by(alpha: S) -> Self {
        Scale { alpha, conjugate: false }
    }

    /// Creates a scaling of the conjugated elements by `alpha`.
    pub fn conjugated(alpha: S) -> Self {
        Scale { alpha, conjugate: true }
    }

    /// Returns `true` if scaling leaves every element unchanged.
    pub fn is_nothing(&self) -> bool {
        self.alpha == S::ONE && !self.conjugates()
    }

    /// Returns `true` if the result is zeros for any source.
    pub(crate) fn is_zero(&self) -> bool {
        self.alpha == S::ZERO
    }

    /// Returns the scalar type and the scaling as the GPU backend takes them.
    pub(crate) fn on_gpu(&self) -> (gpu::ScalarKind, gpu::Scaling) {
        let number = match (S::IS_COMPLEX, size_of::<S>()) {
            (false, 4) => gpu::ScalarKind::F32,
            (false, _) => gpu::ScalarKind::F64,
            (true, 8) => gpu::ScalarKind::C32,
            (true, _) => gpu::ScalarKind::C64,
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

    /// Returns `element`, conjugated if requested and multiplied by `alpha`, which must not be 0.
    #[inline(always)]
    pub(crate) fn apply(&self, element: S) -> S {
        let element = if self.conjugates() { element.conjugate() } else { element };
        if self.alpha == S::ONE { element } else { element * self.alpha }
    }

    /// Scales `rows` rows of `cols` elements in place in host memory, with leading dimension
    /// `pitch` in elements, on up to `threads` threads.
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
        let threads =
            threads.min(rows * cols * size_of::<S>() / MIN_BYTES_PER_THREAD).clamp(1, rows);
        let each = rows.div_ceil(threads);
        let all = data.chunks_mut(pitch).take(rows);
        if threads == 1 {
            return all.for_each(|row| self.row(&mut row[..cols]));
        }
        let chunks = data.chunks_mut(each * pitch).take(rows.div_ceil(each)).enumerate();
        pool::for_each(chunks, |(chunk, data)| {
            let rows = each.min(rows - chunk * each);
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

/// Minimum bytes of the result per thread of the extra scaling pass on the host.
const MIN_BYTES_PER_THREAD: usize = 1 << 20;

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
