//! Numbers in rows a pitch apart, multiplied and conjugated where they lie.

use turntile_perm::Pitched;

use crate::call::{Limits, widest_word};
use crate::error::CudaError;
use crate::lower;
use crate::prepare::Work;

/// The numbers that there are kernels for.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Number {
    /// `f32`.
    F32,
    /// `f64`.
    F64,
    /// A complex one of two `f32`, the real part first.
    C32,
    /// The same of two `f64`.
    C64,
}

impl Number {
    /// Every kind.
    pub const ALL: [Number; 4] = [Number::F32, Number::F64, Number::C32, Number::C64];

    /// Bytes of one.
    pub fn bytes(self) -> usize {
        self.real_bytes() * if self.is_complex() { 2 } else { 1 }
    }

    /// Bytes of a real one, or of a part of a complex one.
    pub fn real_bytes(self) -> usize {
        match self {
            Number::F32 | Number::C32 => 4,
            Number::F64 | Number::C64 => 8,
        }
    }

    /// Whether its conjugate is another number.
    pub fn is_complex(self) -> bool {
        matches!(self, Number::C32 | Number::C64)
    }

    pub(crate) fn entry(self) -> &'static str {
        match self {
            Number::F32 => "scale_f32",
            Number::F64 => "scale_f64",
            Number::C32 => "scale_c32",
            Number::C64 => "scale_c64",
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

impl Work {
    /// Numbers in `rows` scaled where they lie, in memory whose address is a multiple of `alignment` and of a real
    /// number's bytes.
    ///
    /// # Errors
    /// [`CudaError::Infeasible`]: they cannot be counted.
    pub fn of_scale(
        number: Number,
        rows: Pitched,
        scaling: Scaling,
        alignment: usize,
        limits: &Limits,
    ) -> Result<Self, CudaError> {
        let alignment = widest_word(&[alignment]).max(number.real_bytes());
        let calls = match rows.is_empty() {
            true => Ok(Vec::new()),
            false => lower::scale(number, rows, scaling, alignment, limits).map(|call| vec![call]),
        };
        let bytes = rows.span().saturating_mul(number.bytes());
        Self::of_calls(number.entry(), calls, bytes, alignment)
    }
}
