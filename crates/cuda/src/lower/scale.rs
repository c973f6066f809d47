//! Scaling and conjugation of numbers.

use turntile_perm::PitchedRows;

use super::fit::{Lowered, Size, TargetParams};
use crate::args::{Args, Divisor64, Factor, ScaleArgs, SquareArgs, zeroed};
use crate::error::LowerError;
use crate::family::Family;
use crate::launch::{CheckedLaunch, Launch, widest_word};

/// Number types with scaling kernels.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum ScalarKind {
    /// `f32`.
    F32,
    /// `f64`.
    F64,
    /// Complex number of two `f32`, the real part first.
    C32,
    /// Complex number of two `f64`, the real part first.
    C64,
}

impl ScalarKind {
    /// Every kind.
    pub const ALL: [ScalarKind; 4] =
        [ScalarKind::F32, ScalarKind::F64, ScalarKind::C32, ScalarKind::C64];

    /// Returns the bytes of a number.
    pub fn bytes(self) -> usize {
        self.real_bytes() * if self.is_complex() { 2 } else { 1 }
    }

    /// Returns the bytes of a real number, or of one part of a complex number.
    pub fn real_bytes(self) -> usize {
        match self {
            ScalarKind::F32 | ScalarKind::C32 => 4,
            ScalarKind::F64 | ScalarKind::C64 => 8,
        }
    }

    /// Returns `true` for complex types.
    pub fn is_complex(self) -> bool {
        matches!(self, ScalarKind::C32 | ScalarKind::C64)
    }

    pub(crate) fn entry(self) -> &'static str {
        match self {
            ScalarKind::F32 => "scale_f32",
            ScalarKind::F64 => "scale_f64",
            ScalarKind::C32 => "scale_c32",
            ScalarKind::C64 => "scale_c64",
        }
    }
}

/// Operation on numbers.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Scaling {
    /// Sets numbers to zero without reading them.
    Zeros,
    /// Conjugates numbers, then multiplies them; both are optional. IEEE 754 products and sums are rounded separately. A
    /// complex product is `(ac − bd) + (ad + bc)i`. Conjugation only flips a sign bit.
    By {
        /// Real and imaginary part of the factor, each exact in the elements' type; `None`: no multiplication.
        alpha: Option<[f64; 2]>,
        /// Conjugation, which leaves real numbers unchanged.
        conjugated: bool,
    },
}

/// Bytes of a vector, threads per block, and minimum accesses per thread.
const VECTOR: usize = 16;
const THREADS: usize = 256;
const EACH: usize = 2;

/// Bits of `Factor::does`, as in `kernels/scale.cuh`.
const MULTIPLIES: u32 = 1;
const CONJUGATES: u32 = 2;
const ZEROS: u32 = 4;
const COMPLEX: u32 = 8;

fn factor(number: ScalarKind, scaling: Scaling) -> Factor {
    let (does, [re, im]) = match scaling {
        Scaling::Zeros => (ZEROS, [0.0; 2]),
        Scaling::By { alpha, conjugated } => {
            let conjugates = if conjugated && number.is_complex() { CONJUGATES } else { 0 };
            let multiplies = if alpha.is_some() { MULTIPLIES } else { 0 };
            (conjugates | multiplies, alpha.unwrap_or_default())
        }
    };
    let complex = if does != 0 && number.is_complex() { COMPLEX } else { 0 };
    Factor { re: re.to_bits(), im: im.to_bits(), does: does | complex, ..zeroed() }
}

/// Returns `call` with scaling added, if it swaps tiles of squares with one number per word and `scaling` is not
/// [`Scaling::Zeros`].
pub fn scaled_square(
    call: &CheckedLaunch,
    number: ScalarKind,
    scaling: Scaling,
) -> Option<CheckedLaunch> {
    let Args::Square(args) = call.params else { return None };
    let whole = call.word == number.bytes() && scaling != Scaling::Zeros;
    let params = Args::Square(SquareArgs { factor: factor(number, scaling), ..args });
    whole.then_some(CheckedLaunch(Launch { params, ..call.0 }))
}

/// Returns the launch that scales all numbers of `rows`.
pub fn scale(number: ScalarKind, rows: PitchedRows, scaling: Scaling, at: TargetParams) -> Lowered {
    let bytes = rows.scaled(number.bytes()).ok_or(LowerError::NoKernel)?;
    let wide = widest_word(&[at.alignment, bytes.pitch(), bytes.cols()]) >= VECTOR;
    let across = bytes.cols() / if wide { VECTOR } else { number.bytes() };
    let packs = rows.rows() * across;
    let blocks = packs.div_ceil(THREADS * EACH).min(at.limits.units * 16);
    let size = Size { blocks, threads: THREADS, shared_bytes: 0 };
    let launch = at.launch((Family::Scale, number.real_bytes(), number.entry()), size)?;
    Ok(launch.with(ScaleArgs {
        packs: packs as u64,
        pitch: bytes.pitch() as u64,
        row: Divisor64::new(across as u64),
        factor: factor(number, scaling),
        wide: u32::from(wide),
        ..zeroed()
    }))
}
