//! OpenBLAS's names. CBLAS's numbers by value, complex `alpha` by pointer; Fortran's everything by pointer. Names that
//! end in `64_` have 64-bit integers.
#![allow(unsafe_code)]

use std::ffi::{c_char, c_int};

use crate::request::{Arguments, Order, operation_of_letter, operation_of_number};
use crate::run::{C32, C64, Element, run};

macro_rules! cblas {
    ($($name:ident: $element:ty, $int:ty;)*) => {$(
        /// `A := alpha · op(A)` in place, by CBLAS's numbers.
        ///
        /// # Safety
        /// `a` has all elements of the matrix, before and afterwards; `alpha` is one if it is a pointer.
        #[unsafe(no_mangle)]
        pub unsafe extern "C" fn $name(
            order: c_int,
            trans: c_int,
            rows: $int,
            cols: $int,
            alpha: <$element as Element>::Alpha,
            a: *mut $element,
            lda: $int,
            ldb: $int,
        ) {
            let arguments = Arguments {
                order: Order::of_number(order),
                operation: operation_of_number(trans),
                numbers: [rows, cols, lda, ldb].map(i128::from),
            };
            // SAFETY: the caller's word.
            unsafe { run(arguments, <$element>::of(alpha), a) };
        }
    )*};
}

cblas! {
    cblas_simatcopy: f32, i32;
    cblas_dimatcopy: f64, i32;
    cblas_cimatcopy: C32, i32;
    cblas_zimatcopy: C64, i32;
    cblas_simatcopy64_: f32, i64;
    cblas_dimatcopy64_: f64, i64;
    cblas_cimatcopy64_: C32, i64;
    cblas_zimatcopy64_: C64, i64;
}

/// Functions that take all by pointer, and letters for the order and the operation.
macro_rules! by_reference {
    ($($name:ident: $element:ty, $int:ty;)*) => {$(
        /// `A := alpha · op(A)` in place, all arguments by pointer.
        ///
        /// # Safety
        /// Every pointer is to one of its kind; `a` has all elements of the matrix, before and afterwards.
        #[unsafe(no_mangle)]
        pub unsafe extern "C" fn $name(
            order: *const c_char,
            trans: *const c_char,
            rows: *const $int,
            cols: *const $int,
            alpha: *const $element,
            a: *mut $element,
            lda: *const $int,
            ldb: *const $int,
        ) {
            // SAFETY: the caller's word.
            unsafe {
                let arguments = Arguments {
                    order: Order::of_letter(*order as u8),
                    operation: operation_of_letter(*trans as u8),
                    numbers: [*rows, *cols, *lda, *ldb].map(i128::from),
                };
                run(arguments, *alpha, a);
            }
        }
    )*};
}
pub(crate) use by_reference;

by_reference! {
    simatcopy_: f32, i32;
    dimatcopy_: f64, i32;
    cimatcopy_: C32, i32;
    zimatcopy_: C64, i32;
    simatcopy_64_: f32, i64;
    dimatcopy_64_: f64, i64;
    cimatcopy_64_: C32, i64;
    zimatcopy_64_: C64, i64;
}
