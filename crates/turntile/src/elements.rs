//! Elements of any type as bytes: the crate's only `unsafe` on a host.
//!
//! Elements are moved as bytes, and a move is a copy of whole elements. If a mover panics half-way, which is a fault of this
//! library, elements exist twice: where they might be dropped twice, or be exclusive references, the process is aborted;
//! elements that are known to be `Copy` and bytes unwind. A panic in the caller's progress callback is held back until
//! everything has been moved.
#![allow(unsafe_code)]

use std::any::Any;
use std::io::{self, Write as _};
use std::mem::MaybeUninit;
use std::panic::{AssertUnwindSafe, catch_unwind, resume_unwind};

use turntile_cpu::{
    Byte, Epilogue, Executor, RunError, permute_small, transpose_into, transpose_small,
};
use turntile_plan::{InvalidPlan, Problem};

use crate::scale::{Scalar, Scale};

/// Elements given as bytes, of as many bytes each as was planned: `RawElements(&mut data)` of a `Vec<u8>` or `[u8]` to be
/// run on, `RawElements(&data)` to be read.
#[derive(Clone, Copy, Debug)]
pub struct RawElements<B>(pub B);

/// What a plan runs on: a slice, boxed or not, an array, a vector or [`RawElements`].
///
/// Nothing else can be.
#[diagnostic::on_unimplemented(
    message = "a plan cannot run on `{Self}`",
    note = "it runs on slices, arrays, vectors and `Bytes(&mut bytes)`"
)]
pub trait Data: elements::Data {}

/// What is read while a plan writes another buffer: a slice, boxed or not, an array or a vector of elements that are
/// `Copy`, since they exist twice afterwards, or [`RawElements`].
///
/// Nothing else can be.
#[diagnostic::on_unimplemented(
    message = "a plan cannot read its source from `{Self}`",
    note = "slices, arrays and vectors of `Copy` elements and `Bytes(&bytes)` can be"
)]
pub trait Source: elements::Source {}

impl<D: elements::Data + ?Sized> Data for D {}
impl<S: elements::Source + ?Sized> Source for S {}

/// The elements of data. Private, so that no other file implements it.
mod elements {
    pub trait Data {
        /// The elements' type; `u8` where they are given as bytes.
        type Element;
        /// Whether they are given as bytes.
        const AS_BYTES: bool = false;

        fn elements_mut(&mut self) -> &mut [Self::Element];
    }

    pub trait Source {
        /// As of [`Data`].
        type Element: Copy;
        /// As of [`Data`].
        const AS_BYTES: bool = false;

        fn elements(&self) -> &[Self::Element];
    }
}

impl<T> elements::Data for [T] {
    type Element = T;

    fn elements_mut(&mut self) -> &mut [T] {
        self
    }
}

impl<T, const N: usize> elements::Data for [T; N] {
    type Element = T;

    fn elements_mut(&mut self) -> &mut [T] {
        self
    }
}

impl<T> elements::Data for Vec<T> {
    type Element = T;

    fn elements_mut(&mut self) -> &mut [T] {
        self
    }
}

impl<T> elements::Data for Box<[T]> {
    type Element = T;

    fn elements_mut(&mut self) -> &mut [T] {
        self
    }
}

impl<B: AsMut<[u8]>> elements::Data for RawElements<B> {
    type Element = u8;
    const AS_BYTES: bool = true;

    fn elements_mut(&mut self) -> &mut [u8] {
        self.0.as_mut()
    }
}

impl<T: Copy> elements::Source for [T] {
    type Element = T;

    fn elements(&self) -> &[T] {
        self
    }
}

impl<T: Copy, const N: usize> elements::Source for [T; N] {
    type Element = T;

    fn elements(&self) -> &[T] {
        self
    }
}

impl<T: Copy> elements::Source for Vec<T> {
    type Element = T;

    fn elements(&self) -> &[T] {
        self
    }
}

impl<T: Copy> elements::Source for Box<[T]> {
    type Element = T;

    fn elements(&self) -> &[T] {
        self
    }
}

impl<B: AsRef<[u8]>> elements::Source for RawElements<B> {
    type Element = u8;
    const AS_BYTES: bool = true;

    fn elements(&self) -> &[u8] {
        self.0.as_ref()
    }
}

/// Elements of the data, and bytes of each; none where they are given as bytes.
pub fn extent<D: Data + ?Sized>(data: &mut D) -> Option<(usize, usize)> {
    (!D::AS_BYTES).then(|| (data.elements_mut().len(), size_of::<D::Element>()))
}

/// The same of a source.
pub fn source_extent<S: Source + ?Sized>(source: &S) -> Option<(usize, usize)> {
    (!S::AS_BYTES).then(|| (source.elements().len(), size_of::<S::Element>()))
}

/// The bytes of elements.
///
/// # Safety
/// When the borrow ends, the elements' bytes are a permutation of the elements of before, or elements of this type that
/// are `Copy`.
unsafe fn bytes_mut<T>(elements: &mut [T]) -> &mut [Byte] {
    let bytes = size_of_val(elements);
    // SAFETY: the pointer is valid for `bytes` bytes and exclusively borrowed; any byte, padding included, is a valid
    // MaybeUninit<u8>; that elements stay valid is the caller's promise.
    unsafe { std::slice::from_raw_parts_mut(elements.as_mut_ptr().cast(), bytes) }
}

fn source_bytes<S: Source + ?Sized>(source: &S) -> &[Byte] {
    bytes(source.elements())
}

fn bytes<T: Copy>(elements: &[T]) -> &[Byte] {
    // SAFETY: the pointer is valid for these bytes and borrowed; any byte is a valid MaybeUninit<u8>. Nothing writes them
    // meanwhile: `UnsafeCell` is not `Copy`, so that no type that is can have one in it. The language does not promise
    // that this will always be so.
    unsafe { std::slice::from_raw_parts(elements.as_ptr().cast(), size_of_val(elements)) }
}

/// Runs `executor` on data of the size of elements that it was planned for, calling `done` after each stage with the
/// passes done. If `done` panics it is called no more, and the panic goes on when all stages are done.
///
/// # Errors
/// As [`Executor::run`]; and [`InvalidPlan::Copies`] for a plan with leading dimensions, which leaves some elements twice.
pub fn run<D: Data + ?Sized>(
    executor: &Executor,
    data: &mut D,
    workspace: &mut [MaybeUninit<u64>],
    done: &mut dyn FnMut(usize),
) -> Result<(), RunError> {
    if executor.plan().problem.leading().is_some() {
        return Err(InvalidPlan::Copies.into());
    }
    // SAFETY: an executor of a plan without leading dimensions permutes whole elements of the size that it was planned
    // for, which the caller has compared, and leaves the bytes as they are when it fails. In a panic bytes unwind alone.
    let bytes = unsafe { bytes_mut(data.elements_mut()) };
    reporting(done, |done| moving::<D, _>(|| executor.run_in(bytes, workspace, None, done)))
}

/// Lets `run` report to `done`, whose panic goes on when everything has been moved.
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

/// Runs `executor` as [`run`] does on elements that are `Copy`: with leading dimensions, those that lose their place to
/// others may then exist twice.
pub fn run_within<D: Data + Source + ?Sized>(
    executor: &Executor,
    data: &mut D,
    workspace: &mut [MaybeUninit<u64>],
    done: &mut dyn FnMut(usize),
) -> Result<(), RunError> {
    // SAFETY: whole elements, which are `Copy` since they are a source, are put in the place of others of the same data,
    // in a panic too, or nothing is touched.
    let bytes = unsafe { bytes_mut(data.elements_mut()) };
    reporting(done, |done| executor.run_in(bytes, workspace, None, done))
}

/// Runs `executor` as [`run_within`] does, and scales every element of the result in the pass that brings it to its place,
/// where that can be ([`Executor::can_finish`]).
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
            // SAFETY: as many bytes as an element has, of one: an executor passes whole elements of its data alone,
            // which are initialised as they have no padding; not aligned. Any bytes are a scalar.
            unsafe { at.write_unaligned(scale.apply(at.read_unaligned())) };
        }
    };
    let finish = Epilogue::new(size_of::<S>(), &work);
    // SAFETY: as above; scalars are `Copy`, and what is written to their places are scalars.
    let bytes = unsafe { bytes_mut(data) };
    reporting(done, |done| executor.run_in(bytes, workspace, finish.as_ref(), done))
}

/// Runs `executor`, planned out of place, on data of the size of elements that it was planned for.
pub fn run_into<S: Source<Element = D::Element> + ?Sized, D: Data + ?Sized>(
    executor: &Executor,
    from: &S,
    to: &mut D,
) -> Result<(), RunError> {
    // SAFETY: whole elements of `from`, of the same type and `Copy`, are put in the place of others, in a panic too, or
    // nothing is touched.
    let to = unsafe { bytes_mut(to.elements_mut()) };
    executor.run_into(to, source_bytes(from))
}

/// Transposes a small matrix of elements of any type, or of `elem_bytes` bytes where they are given as bytes; false when it
/// is not small.
///
/// # Panics
/// When `data` is not as long as the matrix.
pub fn run_small<D: Data + ?Sized>(
    data: &mut D,
    rows: usize,
    cols: usize,
    elem_bytes: usize,
) -> bool {
    let data = data.elements_mut();
    assert_eq!(size_of_val(data), rows * cols * elem_bytes);
    assert!(elem_bytes.is_multiple_of(size_of::<D::Element>().max(1)));
    // SAFETY: whole elements are permuted, or nothing is touched. In a panic bytes unwind alone.
    let bytes = unsafe { bytes_mut(data) };
    moving::<D, _>(|| transpose_small(bytes, rows, cols, elem_bytes))
}

/// Permutes the axes of a small array of elements of any type, as `problem` says; false when it is not small, or has
/// more axes than that takes.
///
/// # Panics
/// When `data` is not as long as the problem.
pub fn run_small_axes<D: Data + ?Sized>(data: &mut D, problem: &Problem) -> bool {
    let data = data.elements_mut();
    assert_eq!(size_of_val(data), problem.bytes());
    assert!(problem.elem_bytes().is_multiple_of(size_of::<D::Element>().max(1)));
    let Ok(axes) = problem.axes() else { return false };
    // SAFETY: as in `run_small`.
    let bytes = unsafe { bytes_mut(data) };
    moving::<D, _>(|| permute_small(bytes, &axes, problem.elem_bytes()))
}

/// Transposes a matrix of elements of any type that can be copied from one slice to another, on up to `threads` threads.
///
/// # Errors
/// As [`transpose_into`].
pub fn run_through<T: Copy>(
    from: &[T],
    to: &mut [T],
    sides: [usize; 2],
    elem_bytes: usize,
    threads: usize,
) -> Result<(), RunError> {
    assert!(elem_bytes.is_multiple_of(size_of::<T>().max(1)));
    // SAFETY: whole elements of `from`, which are `Copy`, are put in the place of others, in a panic too, or nothing is
    // touched.
    let to = unsafe { bytes_mut(to) };
    transpose_into(to, bytes(from), sides, elem_bytes, threads)
}

/// Moves the elements of data `D`. If `moves` panics, the process is aborted unless they are bytes: elements of another
/// type may exist twice by then.
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
        let why = "turntile: a panic while elements were being moved: some exist twice, so the process is aborted";
        // Where nobody can be told, it ends all the same.
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

    /// A test that fails ends with a code of its own, 101, and a process that is aborted with another or none.
    #[test]
    fn a_panic_while_elements_move_ends_the_process_and_says_why() {
        let mut command = Command::new(env::current_exe().unwrap());
        command.args(["--ignored", "--exact", "--nocapture"]);
        command.arg("elements::tests::child_panics_while_elements_move");
        let output = command.output().unwrap();
        assert!(!output.status.success() && output.status.code() != Some(101), "{output:?}");
        let told = String::from_utf8(output.stderr).unwrap();
        assert!(told.contains("half-way") && told.contains("the process is aborted"), "{told}");
    }

    #[test]
    fn a_panic_while_bytes_move_unwinds() {
        let unwound = catch_unwind(|| moving::<RawElements<&mut [u8]>, ()>(|| panic!("half-way")));
        assert_eq!(unwound.unwrap_err().downcast_ref(), Some(&"half-way"));
    }
}
