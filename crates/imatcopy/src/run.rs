//! A call, from its arguments to turntile.
#![allow(unsafe_code)]

use std::io::Write as _;

use turntile::{Error, Operation, Scalar};

use crate::request::{Arguments, Op, Order, Request};

/// Pairs of numbers, as C and Fortran have them.
pub type C32 = turntile::Complex<f32>;
pub type C64 = turntile::Complex<f64>;

/// A type of elements.
pub trait Element: Scalar + Copy {
    /// BLAS's letter for it.
    const LETTER: char;
}

impl Element for f32 {
    const LETTER: char = 'S';
}

impl Element for f64 {
    const LETTER: char = 'D';
}

impl Element for C32 {
    const LETTER: char = 'C';
}

impl Element for C64 {
    const LETTER: char = 'Z';
}

/// A call as it was made.
pub struct Call<T> {
    /// None when there is no such order.
    pub order: Option<Order>,
    /// The same.
    pub op: Option<Op>,
    /// Rows, columns, leading dimensions before and afterwards.
    pub numbers: [i128; 4],
    /// The factor.
    pub alpha: T,
    /// The matrix.
    pub data: *mut T,
}

impl<T: Element> Call<T> {
    /// Does it, or says what is wrong.
    ///
    /// # Safety
    /// `data` has all elements of the matrix, before and afterwards, and nothing else uses them meanwhile.
    pub unsafe fn run(self) {
        let Call { order, op, numbers: [rows, cols, lda, ldb], alpha, data } = self;
        let (elem_bytes, null) = (size_of::<T>(), data.is_null());
        let arguments = Arguments { order, op, rows, cols, lda, ldb, elem_bytes, null };
        match arguments.request() {
            Ok(None) => {}
            Ok(Some(request)) => {
                // SAFETY: not NULL; as many elements as the caller says; they are not more than fit.
                let data = unsafe { std::slice::from_raw_parts_mut(data, request.span()) };
                // No memory for a workspace; the interface has no other way to say it.
                if let Err(error) = moved(&request, alpha, data) {
                    say(&format!(" ** {}IMATCOPY left the matrix as it was: {error}", T::LETTER));
                }
            }
            Err(illegal) => say(&format!(" ** On entry to {}IMATCOPY {illegal}", T::LETTER)),
        }
    }
}

fn moved<T: Element>(request: &Request, alpha: T, data: &mut [T]) -> Result<(), Error> {
    let &Request { rows, cols, from_pitch, to_pitch, op } = request;
    let operation = match (op.transposed, op.conjugated) {
        (false, false) => Operation::Keep,
        (true, false) => Operation::Transpose,
        (false, true) => Operation::Conjugate,
        (true, true) => Operation::ConjugateTranspose,
    };
    turntile::imatcopy(data, operation, rows, cols, alpha, from_pitch, to_pitch)
}

/// A line on the standard error output, if there is one.
fn say(line: &str) {
    let _ = writeln!(std::io::stderr(), "{line}");
}

/// How `alpha` is passed.
pub trait Alpha {
    /// What it is.
    type Of;

    /// Its value.
    ///
    /// # Safety
    /// A pointer is to one.
    unsafe fn value(self) -> Self::Of;
}

macro_rules! by_value {
    ($($type:ty),*) => {$(
        impl Alpha for $type {
            type Of = $type;

            unsafe fn value(self) -> $type {
                self
            }
        }
    )*};
}

macro_rules! by_pointer {
    ($($type:ty),*) => {$(
        impl Alpha for *const $type {
            type Of = $type;

            unsafe fn value(self) -> $type {
                // SAFETY: the caller's word. C's pairs of numbers are as aligned as these.
                unsafe { *self }
            }
        }
    )*};
}

by_value!(f32, f64);
by_pointer!(C32, C64);
