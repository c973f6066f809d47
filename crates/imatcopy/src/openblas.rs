//! OpenBLAS's names. CBLAS's numbers by value, complex `alpha` by pointer; Fortran's everything by pointer. Names that
//! end in `64_` have 64-bit integers.
#![allow(unsafe_code)]

use std::ffi::{c_char, c_int};

use crate::request::{Op, Order};
use crate::run::{Alpha, C32, C64, Call};

macro_rules! cblas {
    ($($name:ident: $element:ty, $alpha:ty, $int:ty;)*) => {$(
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
            alpha: $alpha,
            a: *mut $element,
            lda: $int,
            ldb: $int,
        ) {
            let (order, op) = (Order::of_number(order), Op::of_number(trans));
            let numbers = [rows, cols, lda, ldb].map(i128::from);
            // SAFETY: the caller's word.
            unsafe { Call { order, op, numbers, alpha: alpha.value(), data: a }.run() };
        }
    )*};
}

cblas! {
    cblas_simatcopy: f32, f32, i32;
    cblas_dimatcopy: f64, f64, i32;
    cblas_cimatcopy: C32, *const C32, i32;
    cblas_zimatcopy: C64, *const C64, i32;
    cblas_simatcopy64_: f32, f32, i64;
    cblas_dimatcopy64_: f64, f64, i64;
    cblas_cimatcopy64_: C32, *const C32, i64;
    cblas_zimatcopy64_: C64, *const C64, i64;
}

/// Functions that take all by pointer, letters for the order and what is done.
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
                let (order, op) = (Order::of_letter(*order as u8), Op::of_letter(*trans as u8));
                let numbers = [*rows, *cols, *lda, *ldb].map(i128::from);
                Call { order, op, numbers, alpha: *alpha, data: a }.run();
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
