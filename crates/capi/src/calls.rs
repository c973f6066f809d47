//! The calls that need no plan.
#![allow(unsafe_code)]

use std::ffi::{CStr, c_char, c_int, c_void};

use turntile::bits::{BitOrder, Bits, PackedMatrix};
use turntile::plan::Problem;
use turntile::{Transpose, bytes};

use crate::desc::flipped;
use crate::last_error::answer;
use crate::memory::{self, RawMemory};
use crate::status::{Failure, Status};
use crate::version::Version;

pub const BIG: c_int = 0;
pub const LITTLE: c_int = 1;

/// Returns the version of the library.
#[unsafe(no_mangle)]
pub extern "C" fn turntile_version() -> u32 {
    Version::LIBRARY.0
}

/// Returns a sentence that describes a status.
#[unsafe(no_mangle)]
pub extern "C" fn turntile_strerror(status: c_int) -> *const c_char {
    known(status).map_or(c"unknown status", |(_, sentence)| sentence).as_ptr()
}

/// Returns the name of a status in C.
#[unsafe(no_mangle)]
pub extern "C" fn turntile_status_name(status: c_int) -> *const c_char {
    known(status).map_or(c"unknown", |(name, _)| name).as_ptr()
}

fn known(number: c_int) -> Option<(&'static CStr, &'static CStr)> {
    let found = Status::ALL.iter().find(|(status, ..)| *status as c_int == number);
    found.map(|&(_, name, sentence)| (name, sentence))
}

/// Transposes a row-major matrix in place.
///
/// # Safety
/// `data` must have `rows * cols * itemsize` bytes, and nothing else may use them during the call.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn turntile_transpose(
    data: *mut c_void,
    rows: usize,
    cols: usize,
    itemsize: usize,
) -> Status {
    answer(|| {
        let problem = Problem::new(rows, cols, itemsize).map_err(turntile::Error::from)?;
        let data = RawMemory::new("data", data, problem.bytes())?;
        // SAFETY: the caller guarantees the bytes; they fit the address space.
        let data = unsafe { data.to_write() };
        Ok(bytes::transpose_in_place(data, rows, cols, itemsize)?)
    })
}

/// Permutes the axes of a row-major array in place.
///
/// # Safety
/// `shape` and `axes` must have `ndim` numbers each, and `data` as many bytes as `shape` and
/// `itemsize` give. Nothing else may use `data` during the call.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn turntile_permute(
    data: *mut c_void,
    ndim: usize,
    shape: *const usize,
    axes: *const usize,
    itemsize: usize,
) -> Status {
    answer(|| {
        // SAFETY: the caller guarantees the numbers.
        let (shape, axes) = unsafe { memory::axes(ndim, shape, axes) }?;
        let problem = Problem::permuted(shape, axes, itemsize).map_err(turntile::Error::from)?;
        let data = RawMemory::new("data", data, problem.bytes())?;
        // SAFETY: the caller guarantees the bytes; they fit the address space.
        let data = unsafe { data.to_write() };
        Ok(bytes::permute_in_place(data, shape, axes, itemsize)?)
    })
}

/// Reverses axes of a row-major array in place.
///
/// # Safety
/// `shape` must have `ndim` numbers, and `data` as many bytes as `shape` and `itemsize` give. Nothing
/// else may use `data` during the call.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn turntile_flip(
    data: *mut c_void,
    ndim: usize,
    shape: *const usize,
    flip: u64,
    itemsize: usize,
) -> Status {
    answer(|| {
        // SAFETY: the caller guarantees the numbers.
        let shape = unsafe { memory::shape(ndim, shape) }?;
        let order: Vec<usize> = (0..ndim).collect();
        let flipped = Transpose::permute::<u8>(shape, &order).flip(&flipped(flip));
        // SAFETY: the caller guarantees the bytes.
        unsafe { run(data, &flipped.itemsize(itemsize)) }
    })
}

/// Rotates a row-major array in place by quarter turns.
///
/// # Safety
/// As for [`turntile_flip`].
#[unsafe(no_mangle)]
pub unsafe extern "C" fn turntile_rot90(
    data: *mut c_void,
    ndim: usize,
    shape: *const usize,
    k: c_int,
    from: usize,
    to: usize,
    itemsize: usize,
) -> Status {
    answer(|| {
        // SAFETY: the caller guarantees the numbers.
        let shape = unsafe { memory::shape(ndim, shape) }?;
        let turned = Transpose::rot90::<u8>(shape, k.into(), [from, to]);
        // SAFETY: the caller guarantees the bytes.
        unsafe { run(data, &turned.itemsize(itemsize)) }
    })
}

/// Runs a permutation of the array at `data`.
///
/// # Safety
/// `data` must have the bytes of the array, and nothing else may use them during the call.
unsafe fn run(data: *mut c_void, transpose: &Transpose) -> Result<(), Failure> {
    let problem = transpose.problem()?;
    let data = RawMemory::new("data", data, problem.bytes())?;
    // SAFETY: the caller guarantees the bytes; they fit the address space.
    Ok(bytes::run(unsafe { data.to_write() }, problem)?)
}

/// Writes the transpose of a row-major matrix to another buffer.
///
/// # Safety
/// `src` and `dst` must have `rows * cols * itemsize` bytes each. During the call nothing else may
/// use `dst` or write to `src`.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn turntile_transpose_copy(
    src: *const c_void,
    dst: *mut c_void,
    rows: usize,
    cols: usize,
    itemsize: usize,
) -> Status {
    answer(|| {
        let problem = Problem::new(rows, cols, itemsize).map_err(turntile::Error::from)?;
        let src = RawMemory::new("src", src, problem.bytes())?;
        let dst = RawMemory::new("dst", dst, problem.bytes())?.apart_from(src)?;
        // SAFETY: the caller guarantees the bytes; they fit the address space and do not overlap.
        let (src, dst) = unsafe { (src.to_read(), dst.to_write()) };
        Ok(bytes::transpose_into(src, dst, rows, cols, itemsize)?)
    })
}

/// Transposes row-major matrices of elements of less than a byte, in place if `dst` is `src`.
///
/// # Safety
/// `src` and `dst` must have the bytes of the matrices before and after. During the call nothing else
/// may use `dst` or write to `src`.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn turntile_transpose_bits(
    src: *const c_void,
    dst: *mut c_void,
    batch: usize,
    rows: usize,
    cols: usize,
    bits: c_int,
    bitorder: c_int,
) -> Status {
    answer(|| {
        let found = usize::try_from(bits).ok().and_then(Bits::new);
        let found = found.ok_or_else(|| Failure::field("bits", bits, "expected 1, 2 or 4"))?;
        let order = match bitorder {
            BIG => BitOrder::Big,
            LITTLE => BitOrder::Little,
            _ => return Err(Failure::field("bitorder", bitorder, "unknown order of bits")),
        };
        let matrix = PackedMatrix::new(rows, cols, found, order).batch(batch);
        let from = RawMemory::new("src", src, matrix.bytes()?)?;
        if src == dst.cast_const() {
            // SAFETY: the caller guarantees the bytes; they fit the address space.
            return Ok(matrix.transpose_in_place(unsafe { from.to_write() })?);
        }
        let to = RawMemory::new("dst", dst, matrix.transposed().bytes()?)?.apart_from(from)?;
        // SAFETY: the caller guarantees the bytes; they fit the address space and do not overlap.
        let (from, to) = unsafe { (from.to_read(), to.to_write()) };
        Ok(matrix.transpose_into(from, to)?)
    })
}
