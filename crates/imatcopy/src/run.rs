//! A call, from its arguments to turntile.
#![allow(unsafe_code)]

use std::io::Write as _;

use turntile::Scalar;

use crate::request::Arguments;

/// Pairs of numbers, as C and Fortran have them.
pub type C32 = turntile::Complex<f32>;
pub type C64 = turntile::Complex<f64>;

/// A type of elements.
pub trait Element: Scalar + Copy {
    /// BLAS's letter for it.
    const LETTER: char;
    /// How CBLAS passes `alpha`.
    type Alpha;

    /// The value of `alpha`.
    ///
    /// # Safety
    /// If it is a pointer, it is to a number of this type.
    unsafe fn of(alpha: Self::Alpha) -> Self;
}

macro_rules! elements {
    ($($letter:literal: $real:ty, $complex_letter:literal: $complex:ty;)*) => {$(
        impl Element for $real {
            const LETTER: char = $letter;
            type Alpha = $real;

            unsafe fn of(alpha: $real) -> $real {
                alpha
            }
        }

        impl Element for $complex {
            const LETTER: char = $complex_letter;
            type Alpha = *const $complex;

            unsafe fn of(alpha: *const $complex) -> $complex {
                // SAFETY: the caller's word. C's pairs of numbers are as aligned as these.
                unsafe { *alpha }
            }
        }
    )*};
}

elements! {
    'S': f32, 'C': C32;
    'D': f64, 'Z': C64;
}

/// Does what the arguments ask for, or says what is wrong.
///
/// # Safety
/// `data` has all elements of the matrix, before and afterwards, and nothing else uses them meanwhile.
pub unsafe fn run<T: Element>(arguments: Arguments, alpha: T, data: *mut T) {
    let request = match arguments.request(size_of::<T>(), data.addr()) {
        Ok(Some(request)) => request,
        Ok(None) => return,
        Err(illegal) => return say(&format!(" ** On entry to {}IMATCOPY {illegal}", T::LETTER)),
    };
    // SAFETY: not NULL; as many elements as the caller says; they are not more than fit.
    let data = unsafe { std::slice::from_raw_parts_mut(data, request.span) };
    let (rows, cols) = (request.rows, request.cols);
    let moved =
        turntile::imatcopy(data, request.operation, rows, cols, alpha, request.lda, request.ldb);
    // No memory for a workspace; the interface has no other way to say it.
    if let Err(error) = moved {
        say(&format!(" ** {}IMATCOPY left the matrix as it was: {error}", T::LETTER));
    }
}

/// A line on the standard error output, if there is one.
fn say(line: &str) {
    let _ = writeln!(std::io::stderr(), "{line}");
}
