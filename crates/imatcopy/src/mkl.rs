//! The interface of MKL.
//!
//! C functions take arguments by value; MKL's header calls them `mkl_simatcopy` and so on. Fortran
//! functions take pointers, with 32-bit integers.
#![allow(unsafe_code)]
#![allow(non_snake_case, reason = "these are the exported names")]

use std::ffi::c_char;

use crate::openblas::by_reference;
use crate::request::{Arguments, StorageOrder, operation_from_letter};
use crate::run::{C32, C64, run};

macro_rules! by_value {
    ($($name:ident: $element:ty;)*) => {$(
        /// Computes `A := alpha · op(A)` in place, with all arguments by value.
        ///
        /// # Safety
        /// `ab` must point to all elements of the matrix, before and after.
        #[unsafe(no_mangle)]
        pub unsafe extern "C" fn $name(
            ordering: c_char,
            trans: c_char,
            rows: usize,
            cols: usize,
            alpha: $element,
            ab: *mut $element,
            lda: usize,
            ldb: usize,
        ) {
            let arguments = Arguments {
                order: StorageOrder::from_letter(ordering as u8),
                operation: operation_from_letter(trans as u8),
                numbers: [rows, cols, lda, ldb].map(|number| number as i128),
            };
            // SAFETY: the caller guarantees that the matrix is valid.
            unsafe { run(arguments, alpha, ab) };
        }
    )*};
}

by_value! {
    MKL_Simatcopy: f32;
    MKL_Dimatcopy: f64;
    MKL_Cimatcopy: C32;
    MKL_Zimatcopy: C64;
}

by_reference! {
    mkl_simatcopy: f32, i32;
    mkl_dimatcopy: f64, i32;
    mkl_cimatcopy: C32, i32;
    mkl_zimatcopy: C64, i32;
    mkl_simatcopy_: f32, i32;
    mkl_dimatcopy_: f64, i32;
    mkl_cimatcopy_: C32, i32;
    mkl_zimatcopy_: C64, i32;
    MKL_SIMATCOPY: f32, i32;
    MKL_DIMATCOPY: f64, i32;
    MKL_CIMATCOPY: C32, i32;
    MKL_ZIMATCOPY: C64, i32;
}
