//! The interface of OpenBLAS.
//!
//! CBLAS functions take numbers by value, and a complex `alpha` by pointer. Fortran functions take
//! all arguments by pointer. Functions whose names end in `64_` have 64-bit integers.
#![allow(unsafe_code)]

use std::ffi::{c_char, c_int};

use crate::request::{Arguments, StorageOrder, operation_from_letter, operation_from_number};
use crate::run::{C32, C64, Element, run};

macro_rules! cblas {
    ($($name:ident: $element:ty, $int:ty;)*) => {$(
        /// Computes `A := alpha · op(A)` in place, with the constants of CBLAS.
        ///
        /// # Safety
        /// `a` must point to all elements of the matrix, before and after. If `alpha` is a pointer,
        /// it must point to a number.
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
                order: StorageOrder::from_number(order),
                operation: operation_from_number(trans),
                numbers: [rows, cols, lda, ldb].map(i128::from),
            };
            // SAFETY: the caller guarantees that the matrix and `alpha` are valid.
            unsafe { run(arguments, <$element>::from_alpha(alpha), a) };
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

/// Defines functions that take all arguments by pointer, and letters for order and operation.
macro_rules! by_reference {
    ($($name:ident: $element:ty, $int:ty;)*) => {$(
        /// Computes `A := alpha · op(A)` in place, with all arguments by pointer.
        ///
        /// # Safety
        /// Every pointer must point to a value of its type. `a` must point to all elements of the
        /// matrix, before and after.
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
            // SAFETY: the caller guarantees that all pointers are valid.
            unsafe {
                let arguments = Arguments {
                    order: StorageOrder::from_letter(*order as u8),
                    operation: operation_from_letter(*trans as u8),
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
