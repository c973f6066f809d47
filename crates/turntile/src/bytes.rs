//! Functions that need no plan, for elements whose size is only known at run time.
//!
//! Elements have `elem_bytes` bytes each, and the data may start at any address. The functions
//! equal those for [slices of elements](crate#functions), except that a panic caused by a bug
//! unwinds and does not [abort](crate#aborts) the process.

use turntile_cpu::{RunError, SMALL_BYTES, pool};
use turntile_plan::Problem;

#[cfg(doc)]
use crate::ErrorKind;
use crate::{Error, RawElements, Transpose, elements, plan_cache};

/// Returns `true` if [`permute_in_place`] runs on the calling thread through a buffer on the stack,
/// without a plan or workspace. The limits are 16 KiB, and 28 axes after fusion.
#[doc(hidden)]
pub fn is_small(problem: &Problem) -> bool {
    let in_place = !problem.is_out_of_place() && problem.records().is_none();
    let fused = match problem.is_flipped() {
        true => problem.flipped_axes().is_ok(),
        false => problem.axes().is_ok(),
    };
    problem.bytes() <= SMALL_BYTES && in_place && fused
}

/// Transposes a row-major matrix in place, like
/// [`turntile::transpose_in_place`](crate::transpose_in_place).
///
/// # Errors
/// Those of that function, and [`ErrorKind::Shape`] if `elem_bytes` is 0.
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

/// Permutes the axes of a row-major array in place, like
/// [`turntile::permute_in_place`](crate::permute_in_place).
///
/// ```
/// let mut pixels = *b"RGBrgb";
/// turntile::bytes::permute_in_place(&mut pixels, &[2, 3], &[1, 0], 1)?;
/// assert_eq!(&pixels, b"RrGgBb");
/// # Ok::<(), turntile::Error>(())
/// ```
///
/// # Errors
/// Those of that function, and [`ErrorKind::Shape`] if `elem_bytes` is 0.
pub fn permute_in_place(
    data: &mut [u8],
    shape: &[usize],
    axes: &[usize],
    elem_bytes: usize,
) -> Result<(), Error> {
    run(data, Problem::permuted(shape, axes, elem_bytes)?)
}

/// Permutes and reverses the axes of a row-major array in place, as `problem` describes.
///
/// # Errors
/// Those of [`permute_in_place`], and [`ErrorKind::Plan`] for problems that are out-of-place, have
/// leading dimensions or are a change of record layout.
#[doc(hidden)]
pub fn run(data: &mut [u8], problem: Problem) -> Result<(), Error> {
    let problem = checked(problem, data)?;
    let data = &mut RawElements(data);
    if is_small(&problem) && elements::run_small_axes(data, &problem) {
        return Ok(());
    }
    plan_cache::planned(problem)?.run(data)
}

/// Reverses axes of a row-major array in place, like
/// [`turntile::flip_in_place`](crate::flip_in_place).
///
/// # Errors
/// Those of that function, and [`ErrorKind::Shape`] if `elem_bytes` is 0.
pub fn flip_in_place(
    data: &mut [u8],
    shape: &[usize],
    axes: &[usize],
    elem_bytes: usize,
) -> Result<(), Error> {
    let order: Vec<usize> = (0..shape.len()).collect();
    run(data, Problem::permuted(shape, &order, elem_bytes)?.with_flip(axes)?)
}

/// Rotates a row-major array in place by `k` quarter turns, like
/// [`turntile::rot90_in_place`](crate::rot90_in_place).
///
/// # Errors
/// Those of that function, and [`ErrorKind::Shape`] if `elem_bytes` is 0.
pub fn rot90_in_place(
    data: &mut [u8],
    shape: &[usize],
    k: i64,
    axes: [usize; 2],
    elem_bytes: usize,
) -> Result<(), Error> {
    run(data, Transpose::rot90::<u8>(shape, k, axes).itemsize(elem_bytes).problem()?)
}

/// Transposes a row-major matrix from `src` into `dst`, like
/// [`turntile::transpose_into`](crate::transpose_into).
///
/// # Errors
/// Those of that function, and [`ErrorKind::Shape`] if `elem_bytes` is 0.
pub fn transpose_into(
    src: &[u8],
    dst: &mut [u8],
    rows: usize,
    cols: usize,
    elem_bytes: usize,
) -> Result<(), Error> {
    let problem = checked(Problem::new(rows, cols, elem_bytes)?, dst)?;
    checked(problem, src)?;
    Ok(elements::run_through(src, dst, [rows, cols], elem_bytes, pool::thread_count())?)
}

/// Permutes the axes of a row-major array from `src` into `dst`, like
/// [`turntile::permute_into`](crate::permute_into).
///
/// ```
/// let mut planes = [0; 6];
/// turntile::bytes::permute_into(b"RGBrgb", &mut planes, &[2, 3], &[1, 0], 1)?;
/// assert_eq!(&planes, b"RrGgBb");
/// # Ok::<(), turntile::Error>(())
/// ```
///
/// # Errors
/// Those of that function, and [`ErrorKind::Shape`] if `elem_bytes` is 0.
pub fn permute_into(
    src: &[u8],
    dst: &mut [u8],
    shape: &[usize],
    axes: &[usize],
    elem_bytes: usize,
) -> Result<(), Error> {
    run_into(src, dst, Problem::permuted(shape, axes, elem_bytes)?, pool::thread_count())
}

/// Permutes axes as `problem` describes, from `src` into `dst`, on at most `threads` threads.
///
/// # Errors
/// Those of [`permute_into`].
pub(crate) fn run_into(
    src: &[u8],
    dst: &mut [u8],
    problem: Problem,
    threads: usize,
) -> Result<(), Error> {
    let problem = checked(checked(problem, dst)?, src)?;
    if src.is_empty() {
        return Ok(());
    }
    elements::run_axes_through(src, dst, &problem, threads)
}

fn checked(problem: Problem, data: &[u8]) -> Result<Problem, Error> {
    let (expected, got) = (problem.bytes(), data.len());
    if expected == got { Ok(problem) } else { Err(RunError::Length { expected, got }.into()) }
}
