//! The calls that need no plan, for elements whose size a program knows only when it runs.
//!
//! Elements are `elem_bytes` bytes each, at any address. All else is as for [slices of
//! elements](crate#functions), but for [aborts](crate#aborts): bytes unwind.

use turntile_cpu::{RunError, SMALL_BYTES, pool};
use turntile_plan::Problem;

use crate::{Error, RawElements, elements, plan_cache};

/// Whether [`permute_in_place`] does this through a buffer on the stack, in the calling thread,
/// without a plan or workspace: up to 16 KiB, of axes few of which move apart.
pub fn is_small(problem: &Problem) -> bool {
    let in_place = !problem.is_out_of_place() && problem.records().is_none();
    problem.bytes() <= SMALL_BYTES && in_place && problem.axes().is_ok()
}

/// Transposes a row-major matrix in place, as [`transpose_in_place`](crate::transpose_in_place).
///
/// # Errors
/// [`Error::Problem`] or [`Error::Overflow`] when there is no such matrix; [`Error::Run`] when
/// `data` are not as long, or there is no memory for the workspace. `data` are then as they were.
pub fn transpose_in_place(
    data: &mut [u8],
    rows: usize,
    cols: usize,
    elem_bytes: usize,
) -> Result<(), Error> {
    let problem = checked(Problem::new(rows, cols, elem_bytes)?, data)?;
    if rows <= 1
        || cols <= 1
        || elements::run_small(&mut RawElements(&mut *data), rows, cols, elem_bytes)
    {
        return Ok(());
    }
    plan_cache::planned(problem)?.run(&mut RawElements(data))
}

/// Permutes the axes of a row-major array in place, as
/// [`permute_in_place`](crate::permute_in_place).
///
/// ```
/// let mut pixels = *b"RGBrgb";
/// turntile::bytes::permute_in_place(&mut pixels, &[2, 3], &[1, 0], 1)?;
/// assert_eq!(&pixels, b"RrGgBb");
/// # Ok::<(), turntile::Error>(())
/// ```
///
/// # Errors
/// As [`transpose_in_place`].
pub fn permute_in_place(
    data: &mut [u8],
    shape: &[usize],
    axes: &[usize],
    elem_bytes: usize,
) -> Result<(), Error> {
    let problem = checked(Problem::permuted(shape, axes, elem_bytes)?, data)?;
    if elements::run_small_axes(&mut RawElements(&mut *data), &problem) {
        return Ok(());
    }
    plan_cache::planned(problem)?.run(&mut RawElements(data))
}

/// Transposes a row-major matrix from `src` into `dst`, as
/// [`transpose_into`](crate::transpose_into).
///
/// # Errors
/// As [`transpose_in_place`], of either; [`Error::Run`] when there is no memory for buffers of at
/// most 128 KiB, or an element, per thread. `dst` is then as it was.
pub fn transpose_into(
    src: &[u8],
    dst: &mut [u8],
    rows: usize,
    cols: usize,
    elem_bytes: usize,
) -> Result<(), Error> {
    let problem = checked(Problem::new(rows, cols, elem_bytes)?, dst)?;
    checked(problem, src)?;
    Ok(elements::run_through(src, dst, [rows, cols], elem_bytes, pool::count())?)
}

fn checked(problem: Problem, data: &[u8]) -> Result<Problem, Error> {
    let (expected, got) = (problem.bytes(), data.len());
    if expected == got { Ok(problem) } else { Err(RunError::Length { expected, got }.into()) }
}
