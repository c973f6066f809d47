//! The calls that need no plan.
#![allow(unsafe_code)]

use std::ffi::{c_char, c_int, c_void};

use turntile::bytes;
use turntile::plan::Problem;

use crate::answer::{answer, last};
use crate::memory::{self, RawMemory};
use crate::status::Status;
use crate::version::Version;

/// The library's version.
#[unsafe(no_mangle)]
pub extern "C" fn turntile_version() -> u32 {
    Version::LIBRARY.0
}

/// The text of the calling thread's last failure.
#[unsafe(no_mangle)]
pub extern "C" fn turntile_last_error() -> *const c_char {
    last()
}

/// What a status is called in C.
#[unsafe(no_mangle)]
pub extern "C" fn turntile_status_name(status: c_int) -> *const c_char {
    let name = Status::ALL.iter().find(|(known, _)| *known as c_int == status);
    name.map_or(c"unknown", |(_, name)| name).as_ptr()
}

/// Transposes a row-major matrix in place.
///
/// # Safety
/// `data` are `rows · cols · elem_bytes` bytes that nothing else uses meanwhile.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn turntile_transpose(
    data: *mut c_void,
    rows: usize,
    cols: usize,
    elem_bytes: usize,
) -> Status {
    answer(|| {
        let problem = Problem::new(rows, cols, elem_bytes).map_err(turntile::Error::from)?;
        let data = RawMemory::new("data", data, problem.bytes())?;
        // SAFETY: as the caller says; the problem fits the address space.
        let data = unsafe { data.to_write() };
        Ok(bytes::transpose_in_place(data, rows, cols, elem_bytes)?)
    })
}

/// Permutes the axes of a row-major array in place.
///
/// # Safety
/// `extents` and `axes` are `rank` numbers each, `data` as many bytes as the extents say, that nothing else uses
/// meanwhile.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn turntile_permute(
    data: *mut c_void,
    rank: usize,
    extents: *const usize,
    axes: *const usize,
    elem_bytes: usize,
) -> Status {
    answer(|| {
        // SAFETY: as the caller says.
        let (extents, axes) = unsafe { memory::axes(rank, extents, axes) }?;
        let problem =
            Problem::permuted(extents, axes, elem_bytes).map_err(turntile::Error::from)?;
        let data = RawMemory::new("data", data, problem.bytes())?;
        // SAFETY: as the caller says; the problem fits the address space.
        let data = unsafe { data.to_write() };
        Ok(bytes::permute_in_place(data, extents, axes, elem_bytes)?)
    })
}

/// Transposes a row-major matrix from one buffer into another.
///
/// # Safety
/// `to` and `from` are `rows · cols · elem_bytes` bytes each; nothing else uses `to` meanwhile, or writes `from`.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn turntile_transpose_into(
    to: *mut c_void,
    from: *const c_void,
    rows: usize,
    cols: usize,
    elem_bytes: usize,
) -> Status {
    answer(|| {
        let problem = Problem::new(rows, cols, elem_bytes).map_err(turntile::Error::from)?;
        let from = RawMemory::new("from", from, problem.bytes())?;
        let to = RawMemory::new("to", to, problem.bytes())?.apart_from(from)?;
        // SAFETY: as the caller says; the problem fits the address space, and the two are apart.
        let (to, from) = unsafe { (to.to_write(), from.to_read()) };
        Ok(bytes::transpose_into(from, to, rows, cols, elem_bytes)?)
    })
}
