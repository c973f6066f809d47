//! Conversion of elements of any type to bytes. Outside GPU code, the only module of the crate with
//! `unsafe`.
//!
//! Elements are moved as bytes, and each move copies a whole element. If a move panics half-way (a
//! bug in this library), some elements exist twice. The process is aborted if such elements could
//! be dropped twice or could be exclusive references. With raw bytes, and elements known to be
//! `Copy`, the panic unwinds. A panic in the caller's progress callback is deferred until all
//! elements have been moved.
#![allow(unsafe_code)]

use std::any::Any;
use std::io::{self, Write as _};
use std::mem::MaybeUninit;
use std::panic::{AssertUnwindSafe, catch_unwind, resume_unwind};

use turntile_cpu::{
    Byte, Epilogue, Executor, RunError, permute_flipped_small, permute_into, permute_small,
    transpose_into, transpose_small,
};
use turntile_plan::{InvalidPlan, Problem, ProblemError};

use crate::Error;
use crate::scale::{Scalar, Scale};

/// Untyped elements: a buffer of bytes, which form elements of the plan's element size.
///
/// `RawElements(&mut data)` of a `Vec<u8>` or `[u8]` is written, `RawElements(&data)` is only read.
#[derive(Clone, Copy, Debug)]
pub struct RawElements<B>(pub B);

/// Data on which a plan can run: a slice, a boxed slice, an array, a vector or [`RawElements`].
///
/// The trait is sealed.
#[diagnostic::on_unimplemented(
    message = "a plan cannot run on `{Self}`",
    note = "it runs on slices, arrays, vectors and `RawElements(&mut bytes)`"
)]
pub trait Data: sealed::Data {}

/// Source data of an out-of-place run: a slice, a boxed slice, an array or a vector of `Copy`
/// elements, or [`RawElements`].
///
/// Elements must be `Copy` because they exist twice afterwards. The trait is sealed.
#[diagnostic::on_unimplemented(
    message = "a plan cannot read its source from `{Self}`",
    note = "it reads from slices, arrays and vectors of `Copy` elements and `RawElements(&bytes)`"
)]
pub trait Source: sealed::Source {}

impl<D: sealed::Data + ?Sized> Data for D {}
impl<S: sealed::Source + ?Sized> Source for S {}

/// Sealed traits that give access to the elements.
mod sealed {
    pub trait Data {
        /// Type of the elements; `u8` for raw bytes.
        type Element;
        /// `true` if the elements are raw bytes.
        const AS_BYTES: bool = false;

        fn elements_mut(&mut self) -> &mut [Self::Element];
    }

    pub trait Source {
        /// Type of the elements; `u8` for raw bytes.
        type Element: Copy;
        /// `true` if the elements are raw bytes.
        const AS_BYTES: bool = false;

        fn elements(&self) -> &[Self::Element];
    }
}

impl<T> sealed::Data for [T] {
    type Element = T;

    fn elements_mut(&mut self) -> &mut [T] {
        self
    }
}

impl<T, const N: usize> sealed::Data for [T; N] {
    type Element = T;

    fn elements_mut(&mut self) -> &mut [T] {
        self
    }
}

impl<T> sealed::Data for Vec<T> {
    type Element = T;

    fn elements_mut(&mut self) -> &mut [T] {
        self
    }
}

impl<T> sealed::Data for Box<[T]> {
    type Element = T;

    fn elements_mut(&mut self) -> &mut [T] {
        self
    }
}

impl<B: AsMut<[u8]>> sealed::Data for RawElements<B> {
    type Element = u8;
    const AS_BYTES: bool = true;

    fn elements_mut(&mut self) -> &mut [u8] {
        self.0.as_mut()
    }
}

impl<T: Copy> sealed::Source for [T] {
    type Element = T;

    fn elements(&self) -> &[T] {
        self
    }
}

impl<T: Copy, const N: usize> sealed::Source for [T; N] {
    type Element = T;

    fn elements(&self) -> &[T] {
        self
    }
}

impl<T: Copy> sealed::Source for Vec<T> {
    type Element = T;

    fn elements(&self) -> &[T] {
        self
    }
}

impl<T: Copy> sealed::Source for Box<[T]> {
    type Element = T;

    fn elements(&self) -> &[T] {
        self
    }
}

impl<B: AsRef<[u8]>> sealed::Source for RawElements<B> {
    type Element = u8;
    const AS_BYTES: bool = true;

    fn elements(&self) -> &[u8] {
        self.0.as_ref()
    }
}

/// Returns the number of elements of `data` and the bytes per element, or `None` for raw bytes.
pub fn extent<D: Data + ?Sized>(data: &mut D) -> Option<(usize, usize)> {
    (!D::AS_BYTES).then(|| (data.elements_mut().len(), size_of::<D::Element>()))
}

/// Returns the number of elements of `source` and the bytes per element, or `None` for raw bytes.
pub fn source_extent<S: Source + ?Sized>(source: &S) -> Option<(usize, usize)> {
    (!S::AS_BYTES).then(|| (source.elements().len(), size_of::<S::Element>()))
}

/// Returns the bytes of `elements`.
///
/// # Safety
/// When the borrow ends, the bytes must be a permutation of the original elements, or, if `T` is
/// `Copy`, elements of type `T`.
unsafe fn bytes_mut<T>(elements: &mut [T]) -> &mut [Byte] {
    let bytes = size_of_val(elements);
    // SAFETY: the pointer is valid for `bytes` bytes and exclusively borrowed. Any byte, padding
    // included, is a valid MaybeUninit<u8>. The caller promises that the elements stay valid.
    unsafe { std::slice::from_raw_parts_mut(elements.as_mut_ptr().cast(), bytes) }
}

fn source_bytes<S: Source + ?Sized>(source: &S) -> &[Byte] {
    bytes(source.elements())
}

fn bytes<T: Copy>(elements: &[T]) -> &[Byte] {
    // SAFETY: the pointer is valid for these bytes and borrowed; any byte is a valid
    // MaybeUninit<u8>. Nothing writes them during the borrow: `UnsafeCell` is not `Copy`, so a
    // `Copy` type cannot contain one. The language does not promise that this will always be so.
    unsafe { std::slice::from_raw_parts(elements.as_ptr().cast(), size_of_val(elements)) }
}

/// Runs `executor` in place on data whose elements have the plan's element size.
///
/// Calls `done` after each stage that counts as a pass, with the number of completed passes. If
/// `done` panics, it is not called again, and the panic continues after the last stage.
///
/// # Errors
/// Those of [`Executor::run`]. [`InvalidPlan::RequiresCopy`] if the plan has leading dimensions,
/// after which some elements could exist twice.
pub fn run<D: Data + ?Sized>(
    executor: &Executor,
    data: &mut D,
    workspace: &mut [MaybeUninit<u64>],
    done: &mut dyn FnMut(usize),
) -> Result<(), RunError> {
    if executor.plan().problem.leading().is_some() {
        return Err(InvalidPlan::RequiresCopy.into());
    }
    // SAFETY: an executor of a plan without leading dimensions permutes whole elements of the size
    // that it was planned for, which the caller has compared. If it fails, the bytes are unchanged.
    // In a panic only raw bytes unwind.
    let bytes = unsafe { bytes_mut(data.elements_mut()) };
    reporting(done, |done| moving::<D, _>(|| executor.run_in(bytes, workspace, None, done)))
}

/// Calls `run` with a callback that forwards to `done` until `done` panics. The panic continues
/// after `run` has returned.
fn reporting(
    done: &mut dyn FnMut(usize),
    run: impl FnOnce(&mut dyn FnMut(usize)) -> Result<(), RunError>,
) -> Result<(), RunError> {
    let mut panic: Option<Box<dyn Any + Send>> = None;
    let result = run(&mut |stages| {
        if panic.is_none() {
            panic = catch_unwind(AssertUnwindSafe(|| done(stages))).err();
        }
    });
    if let Some(panic) = panic {
        resume_unwind(panic);
    }
    result
}

/// Runs `executor` like [`run`], on `Copy` elements. With leading dimensions, some elements may be
/// lost and others may exist twice.
pub fn run_within<D: Data + Source + ?Sized>(
    executor: &Executor,
    data: &mut D,
    workspace: &mut [MaybeUninit<u64>],
    done: &mut dyn FnMut(usize),
) -> Result<(), RunError> {
    // SAFETY: whole elements replace other elements of the same data, in a panic too, or nothing is
    // touched. They are `Copy`, because `D` is a `Source`.
    let bytes = unsafe { bytes_mut(data.elements_mut()) };
    reporting(done, |done| executor.run_in(bytes, workspace, None, done))
}

/// Runs `executor` like [`run_within`] and scales each element of the result in the pass that moves
/// it. Requires that [`Executor::can_finish`] returns `true`.
pub fn run_scaled<S: Scalar>(
    executor: &Executor,
    data: &mut [S],
    scale: &Scale<S>,
    workspace: &mut [MaybeUninit<u64>],
    done: &mut dyn FnMut(usize),
) -> Result<(), RunError> {
    let work = |bytes: &mut [Byte]| {
        for bytes in bytes.chunks_exact_mut(size_of::<S>()) {
            let at = bytes.as_mut_ptr().cast::<S>();
            // SAFETY: `bytes` holds one whole element: an executor passes only whole elements of
            // its data. They are initialised, because scalars have no padding. The accesses are
            // unaligned. Any bit pattern is a valid scalar.
            unsafe { at.write_unaligned(scale.apply(at.read_unaligned())) };
        }
    };
    let finish = Epilogue::new(size_of::<S>(), &work);
    // SAFETY: as in `run_within`; scalars are `Copy`, and the scaled values written over them are
    // scalars.
    let bytes = unsafe { bytes_mut(data) };
    reporting(done, |done| executor.run_in(bytes, workspace, finish.as_ref(), done))
}

/// Runs an out-of-place `executor` from `from` into `to`, whose elements have the plan's element
/// size.
pub fn run_into<S: Source<Element = D::Element> + ?Sized, D: Data + ?Sized>(
    executor: &Executor,
    from: &S,
    to: &mut D,
) -> Result<(), RunError> {
    // SAFETY: whole elements of `from`, of the same type and `Copy`, replace elements of `to`, in a
    // panic too, or nothing is touched.
    let to = unsafe { bytes_mut(to.elements_mut()) };
    executor.run_into(to, source_bytes(from))
}

/// Transposes a matrix of up to 16 KiB in place, of elements of any type; raw bytes form elements
/// of `elem_bytes` bytes. Returns `false` and does nothing if the matrix is larger.
///
/// # Panics
/// If the length of `data` does not match the matrix.
pub fn run_small<D: Data + ?Sized>(
    data: &mut D,
    rows: usize,
    cols: usize,
    elem_bytes: usize,
) -> bool {
    let data = data.elements_mut();
    assert_eq!(size_of_val(data), rows * cols * elem_bytes);
    assert!(elem_bytes.is_multiple_of(size_of::<D::Element>().max(1)));
    // SAFETY: whole elements are permuted, or nothing is touched. In a panic only raw bytes unwind.
    let bytes = unsafe { bytes_mut(data) };
    moving::<D, _>(|| transpose_small(bytes, rows, cols, elem_bytes))
}

/// Permutes the axes of an array of up to 16 KiB in place, of elements of any type. Returns `false`
/// and does nothing for larger arrays, and for more than 28 axes after fusion.
///
/// # Panics
/// If the length of `data` does not match the problem.
pub fn run_small_axes<D: Data + ?Sized>(data: &mut D, problem: &Problem) -> bool {
    let data = data.elements_mut();
    assert_eq!(size_of_val(data), problem.bytes());
    assert!(problem.itemsize().is_multiple_of(size_of::<D::Element>().max(1)));
    let itemsize = problem.itemsize();
    // SAFETY: as in `run_small`.
    let bytes = unsafe { bytes_mut(data) };
    match problem.is_flipped() {
        true => problem
            .flipped_axes()
            .is_ok_and(|axes| moving::<D, _>(|| permute_flipped_small(bytes, &axes, itemsize))),
        false => problem
            .axes()
            .is_ok_and(|axes| moving::<D, _>(|| permute_small(bytes, &axes, itemsize))),
    }
}

/// Transposes a matrix of `Copy` elements from one slice into another, on up to `threads` threads.
///
/// # Errors
/// Those of [`transpose_into`].
pub fn run_through<T: Copy>(
    from: &[T],
    to: &mut [T],
    sides: [usize; 2],
    elem_bytes: usize,
    threads: usize,
) -> Result<(), RunError> {
    assert!(elem_bytes.is_multiple_of(size_of::<T>().max(1)));
    // SAFETY: whole elements of `from`, which are `Copy`, replace elements of `to`, in a panic too,
    // or nothing is touched.
    let to = unsafe { bytes_mut(to) };
    transpose_into(to, bytes(from), sides, elem_bytes, threads)
}

/// Permutes the axes of an array of `Copy` elements from one slice into another, on up to `threads`
/// threads.
///
/// # Errors
/// Those of [`permute_into`] and [`Problem::axes`].
pub fn run_axes_through<T: Copy>(
    from: &[T],
    to: &mut [T],
    problem: &Problem,
    threads: usize,
) -> Result<(), Error> {
    assert!(problem.itemsize().is_multiple_of(size_of::<T>().max(1)));
    let axes = problem.axes().map_err(ProblemError::from)?;
    // SAFETY: as in `run_through`.
    let to = unsafe { bytes_mut(to) };
    Ok(permute_into(to, bytes(from), &axes, problem.itemsize(), threads)?)
}

/// Calls `moves`, which moves elements of data of type `D`, and returns its result. If `moves`
/// panics, the process is aborted unless `D` is raw bytes, because elements of any other type may
/// exist twice by then.
fn moving<D: Data + ?Sized, R>(moves: impl FnOnce() -> R) -> R {
    if D::AS_BYTES {
        return moves();
    }
    let guard = AbortOnUnwind;
    let result = moves();
    std::mem::forget(guard);
    result
}

struct AbortOnUnwind;

impl Drop for AbortOnUnwind {
    fn drop(&mut self) {
        let why =
            "turntile: panic while elements move: some exist twice, so the process is aborted";
        // If standard error cannot be written, abort all the same.
        let _ = writeln!(io::stderr(), "{why}");
        std::process::abort();
    }
}

#[cfg(test)]
mod tests {
    use std::env;
    use std::panic::catch_unwind;
    use std::process::Command;

    use super::{RawElements, moving};

    #[test]
    #[ignore = "ends the process"]
    fn child_panics_while_elements_move() {
        moving::<[u8], ()>(|| panic!("half-way"));
    }

    /// Checks that the process aborts. A test process that only fails exits with code 101, an
    /// aborted one with another code, or without one.
    #[test]
    fn process_aborts_with_message_when_moving_elements_panics() {
        let mut command = Command::new(env::current_exe().unwrap());
        command.args(["--ignored", "--exact", "--nocapture"]);
        command.arg("elements::tests::child_panics_while_elements_move");
        let output = command.output().unwrap();
        assert!(!output.status.success() && output.status.code() != Some(101), "{output:?}");
        let message = String::from_utf8(output.stderr).unwrap();
        assert!(
            message.contains("half-way") && message.contains("the process is aborted"),
            "{message}"
        );
    }

    #[test]
    fn raw_bytes_unwind_when_moving_panics() {
        let unwound = catch_unwind(|| moving::<RawElements<&mut [u8]>, ()>(|| panic!("half-way")));
        assert_eq!(unwound.unwrap_err().downcast_ref(), Some(&"half-way"));
    }
}
