//! Numbers multiplied and conjugated.

use turntile_perm::PitchedRows;

use super::fit::{Lowered, Size, TargetParams};
use crate::args::{Args, Divisor64, Factor, ScaleArgs, SquareArgs, zeroed};
use crate::error::LowerError;
use crate::family::Family;
use crate::launch::{CheckedLaunch, Launch, widest_word};

/// The numbers that there are kernels for.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum ScalarKind {
    /// `f32`.
    F32,
    /// `f64`.
    F64,
    /// A complex one of two `f32`, the real part first.
    C32,
    /// The same of two `f64`.
    C64,
}

impl ScalarKind {
    /// Every kind.
    pub const ALL: [ScalarKind; 4] =
        [ScalarKind::F32, ScalarKind::F64, ScalarKind::C32, ScalarKind::C64];

    /// Bytes of one.
    pub fn bytes(self) -> usize {
        self.real_bytes() * if self.is_complex() { 2 } else { 1 }
    }

    /// Bytes of a real one, or of a part of a complex one.
    pub fn real_bytes(self) -> usize {
        match self {
            ScalarKind::F32 | ScalarKind::C32 => 4,
            ScalarKind::F64 | ScalarKind::C64 => 8,
        }
    }

    /// Whether its conjugate is another number.
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

/// What becomes of numbers.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Scaling {
    /// They become zeros, whatever they are; none is read.
    Zeros,
    /// They are conjugated, or not, then multiplied, or not: by IEEE 754's products, rounded once, a complex one being
    /// `(ac − bd) + (ad + bc)i` of those. A conjugate turns a sign bit and nothing else.
    By {
        /// The factor's real and imaginary part, each a number of the elements' kind.
        alpha: Option<[f64; 2]>,
        /// Whether they are conjugated; real ones are their own conjugates.
        conjugated: bool,
    },
}

/// Bytes of a vector, threads of a block, and accesses of one of these at least.
const VECTOR: usize = 16;
const THREADS: usize = 256;
const EACH: usize = 2;

/// What is done, as `kernels/scale.cuh` has it.
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

/// Where `call` makes words that are whole numbers change places in a square, the same with these scaled on the way.
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

/// All of some rows of numbers.
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
