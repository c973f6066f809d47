//! Runs a call: validates its arguments, calls turntile, and reports errors on standard error.
#![allow(unsafe_code)]

use std::io::Write as _;

use turntile::blas::Scalar;

use crate::request::Arguments;

/// Single-precision complex number, with the layout of C and Fortran.
pub type C32 = turntile::blas::Complex<f32>;
/// Double-precision complex number, with the layout of C and Fortran.
pub type C64 = turntile::blas::Complex<f64>;

/// Element type of a matrix.
pub trait Element: Scalar + Copy {
    /// Letter of BLAS for the type.
    const LETTER: char;
    /// Type of the argument `alpha` in CBLAS.
    type Alpha;

    /// Returns the value of `alpha`.
    ///
    /// # Safety
    /// If `alpha` is a pointer, it must point to a number of this type.
    unsafe fn from_alpha(alpha: Self::Alpha) -> Self;
}

macro_rules! elements {
    ($($letter:literal: $real:ty, $complex_letter:literal: $complex:ty;)*) => {$(
        impl Element for $real {
            const LETTER: char = $letter;
            type Alpha = $real;

            unsafe fn from_alpha(alpha: $real) -> $real {
                alpha
            }
        }

        impl Element for $complex {
            const LETTER: char = $complex_letter;
            type Alpha = *const $complex;

            unsafe fn from_alpha(alpha: *const $complex) -> $complex {
                // SAFETY: the caller guarantees a valid pointer. Complex numbers of C have the same
                // alignment.
                unsafe { *alpha }
            }
        }
    )*};
}

elements! {
    'S': f32, 'C': C32;
    'D': f64, 'Z': C64;
}

/// Runs the operation, or reports an illegal argument on standard error.
///
/// # Safety
/// `data` must point to all elements of the matrix, before and after, and nothing else may use them
/// during the call.
pub unsafe fn run<T: Element>(arguments: Arguments, alpha: T, data: *mut T) {
    let request = match arguments.request(size_of::<T>(), data.addr()) {
        Ok(Some(request)) => request,
        Ok(None) => return,
        Err(illegal) => {
            return print_error(&format!(" ** On entry to {}IMATCOPY {illegal}", T::LETTER));
        }
    };
    // SAFETY: `data` is not null. The caller guarantees `span` elements, and `request` has checked
    // that they fit in the address space.
    let data = unsafe { std::slice::from_raw_parts_mut(data, request.span) };
    let (rows, cols) = (request.rows, request.cols);
    let result = turntile::blas::imatcopy(
        data,
        request.operation,
        rows,
        cols,
        alpha,
        request.lda,
        request.ldb,
    );
    // Here the workspace could not be allocated. The interface has no return value to report it.
    if let Err(error) = result {
        print_error(&format!(" ** {}IMATCOPY left the matrix unchanged: {error}", T::LETTER));
    }
}

/// Prints a line to standard error. Errors of the output are ignored.
fn print_error(line: &str) {
    let _ = writeln!(std::io::stderr(), "{line}");
}
