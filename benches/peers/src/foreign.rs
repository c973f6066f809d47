//! The C interfaces, as their documentation gives them.
#![allow(dead_code, unused_imports, reason = "which of them are used is for the features to say")]

use std::ffi::{c_char, c_int, c_uint, c_void};
use std::ptr::null;

#[repr(C)]
struct IoDim {
    n: c_int,
    is: c_int,
    os: c_int,
}

#[cfg(feature = "fftw")]
unsafe extern "C" {
    fn fftwf_plan_guru_r2r(
        rank: c_int,
        dims: *const IoDim,
        howmany_rank: c_int,
        howmany_dims: *const IoDim,
        input: *mut f32,
        output: *mut f32,
        kind: *const c_int,
        flags: c_uint,
    ) -> *mut c_void;
    fn fftwf_execute(plan: *mut c_void);
    fn fftwf_init_threads() -> c_int;
    fn fftwf_plan_with_nthreads(threads: c_int);
}

/// A transform of rank 0 over two loops, in place: the manual's way to transpose; a third over the floats of an element.
#[cfg(feature = "fftw")]
pub fn fftw(data: &mut [f32], case: super::Case, measure: bool) -> super::Run {
    let super::Case { rows, cols, floats, threads } = case;
    const MEASURE: c_uint = 0;
    const ESTIMATE: c_uint = 1 << 6;
    let (m, n, k) = (rows as c_int, cols as c_int, floats as c_int);
    let loops = [
        IoDim { n: m, is: n * k, os: k },
        IoDim { n, is: k, os: m * k },
        IoDim { n: k, is: 1, os: 1 },
    ];
    let rank = if floats == 1 { 2 } else { 3 };
    // SAFETY: the first call of the library, again without effect; then a number.
    unsafe {
        assert!(fftwf_init_threads() != 0, "FFTW has threads");
        fftwf_plan_with_nthreads(threads as c_int);
    }
    let at = data.as_mut_ptr();
    let flags = if measure { MEASURE } else { ESTIMATE };
    // SAFETY: `data` has rows · cols elements, which the strides stay within.
    let plan =
        unsafe { fftwf_plan_guru_r2r(0, null(), rank, loops.as_ptr(), at, at, null(), flags) };
    assert!(!plan.is_null(), "FFTW has no plan");
    Box::new(move |data, _, _| {
        assert_eq!(data.as_mut_ptr(), at, "the plan is for one address");
        // SAFETY: the plan is of this array.
        unsafe { fftwf_execute(plan) };
    })
}

#[cfg(feature = "openblas")]
unsafe extern "C" {
    fn cblas_simatcopy(
        order: c_int,
        trans: c_int,
        rows: c_int,
        cols: c_int,
        alpha: f32,
        a: *mut f32,
        lda: c_int,
        ldb: c_int,
    );
}

/// `cblas_simatcopy`, row-major.
#[cfg(feature = "openblas")]
pub fn openblas(data: &mut [f32], rows: usize, cols: usize) {
    const ROW_MAJOR: c_int = 101;
    const TRANS: c_int = 112;
    let (m, n) = (rows as c_int, cols as c_int);
    // SAFETY: `data` has rows · cols floats.
    unsafe { cblas_simatcopy(ROW_MAJOR, TRANS, m, n, 1.0, data.as_mut_ptr(), n, m) };
}

#[cfg(feature = "mkl")]
unsafe extern "C" {
    #[link_name = "MKL_Simatcopy"]
    fn mkl_simatcopy(
        ordering: c_char,
        trans: c_char,
        rows: usize,
        cols: usize,
        alpha: f32,
        ab: *mut f32,
        lda: usize,
        ldb: usize,
    );
}

/// `mkl_simatcopy`, row-major.
#[cfg(feature = "mkl")]
pub fn mkl(data: &mut [f32], rows: usize, cols: usize) {
    let (order, trans) = (b'R' as c_char, b'T' as c_char);
    // SAFETY: `data` has rows · cols floats.
    unsafe { mkl_simatcopy(order, trans, rows, cols, 1.0, data.as_mut_ptr(), cols, rows) };
}
