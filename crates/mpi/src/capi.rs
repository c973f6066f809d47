//! The C functions that `include/turntile_mpi.h` declares.
#![allow(unsafe_code)]

use std::ffi::{c_char, c_void};
use std::panic::{self, AssertUnwindSafe};

use mpi::ffi::{self, MPI_Comm};
use turntile_capi::answer;
use turntile_capi::memory::{self, RawMemory};
use turntile_capi::status::{Failure, Status};
use turntile_distributed::{CommError, Communicator, Error, Partition, Redistribution};

use crate::comm::{MpiComm, rank_and_size};

unsafe extern "C" {
    /// Sets the text of the calling thread's last failure, in `libturntile`.
    fn turntile_set_last_error(text: *const c_char);
}

/// Runs a call, and saves the text of its failure for the thread.
fn answer(call: impl FnOnce() -> Result<(), Failure>) -> Status {
    // SAFETY: the text is a C string.
    answer::answer(call, |text| unsafe { turntile_set_last_error(text.as_c_str().as_ptr()) })
}

/// Transposes in place a matrix that is partitioned by rows.
///
/// # Safety
/// MPI must be initialised. `row_parts` and `col_parts` must have one number per process of `comm`.
/// `data` must have `data_bytes` bytes, and nothing else may use them during the call.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn turntile_mpi_transpose(
    data: *mut c_void,
    data_bytes: usize,
    row_parts: *const usize,
    col_parts: *const usize,
    itemsize: usize,
    comm: MPI_Comm,
) -> Status {
    // SAFETY: the caller guarantees the conditions above.
    let change = |ranks| unsafe { matrix(ranks, row_parts, col_parts, itemsize) };
    // SAFETY: the caller guarantees the conditions above.
    unsafe { run(data, data_bytes, comm, change) }
}

/// Transposes a matrix like [`turntile_mpi_transpose`], with a Fortran communicator, which is an
/// integer.
///
/// # Safety
/// The conditions of [`turntile_mpi_transpose`] must hold.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn turntile_mpi_transpose_f(
    data: *mut c_void,
    data_bytes: usize,
    row_parts: *const usize,
    col_parts: *const usize,
    itemsize: usize,
    comm: ffi::RSMPI_Fint,
) -> Status {
    // SAFETY: the caller guarantees the conditions above.
    unsafe {
        let comm = ffi::RSMPI_Comm_f2c(comm);
        turntile_mpi_transpose(data, data_bytes, row_parts, col_parts, itemsize, comm)
    }
}

/// Permutes in place the axes of an array that is partitioned along one of them.
///
/// # Safety
/// The conditions of [`turntile_mpi_transpose`] must hold. `shape` and `axes` must have `ndim`
/// numbers each.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn turntile_mpi_permute(
    data: *mut c_void,
    data_bytes: usize,
    ndim: usize,
    shape: *const usize,
    axes: *const usize,
    itemsize: usize,
    cut_before: usize,
    parts_before: *const usize,
    cut_after: usize,
    parts_after: *const usize,
    comm: MPI_Comm,
) -> Status {
    let (before, after) = ((cut_before, parts_before), (cut_after, parts_after));
    // SAFETY: the caller guarantees the conditions above.
    let change = |ranks| unsafe { array(ranks, ndim, shape, axes, itemsize, before, after) };
    // SAFETY: the caller guarantees the conditions above.
    unsafe { run(data, data_bytes, comm, change) }
}

/// Returns in `bytes` the buffer size in bytes that this process needs for a transposition.
///
/// # Safety
/// The conditions of [`turntile_mpi_transpose`] must hold, and `bytes` must be writable.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn turntile_mpi_capacity(
    bytes: *mut usize,
    row_parts: *const usize,
    col_parts: *const usize,
    itemsize: usize,
    comm: MPI_Comm,
) -> Status {
    // SAFETY: the caller guarantees the conditions above.
    let change = |ranks| unsafe { matrix(ranks, row_parts, col_parts, itemsize) };
    // SAFETY: the caller guarantees the conditions above.
    unsafe { capacity(bytes, comm, change) }
}

/// Returns in `bytes` the buffer size in bytes that this process needs for a permutation of axes.
///
/// # Safety
/// The conditions of [`turntile_mpi_permute`] must hold, and `bytes` must be writable.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn turntile_mpi_permute_capacity(
    bytes: *mut usize,
    ndim: usize,
    shape: *const usize,
    axes: *const usize,
    itemsize: usize,
    cut_before: usize,
    parts_before: *const usize,
    cut_after: usize,
    parts_after: *const usize,
    comm: MPI_Comm,
) -> Status {
    let (before, after) = ((cut_before, parts_before), (cut_after, parts_after));
    // SAFETY: the caller guarantees the conditions above.
    let change = |ranks| unsafe { array(ranks, ndim, shape, axes, itemsize, before, after) };
    // SAFETY: the caller guarantees the conditions above.
    unsafe { capacity(bytes, comm, change) }
}

/// Partitions an extent into one part per process. Parts differ by at most one, longer ones first.
///
/// # Safety
/// MPI must be initialised, and `parts` must have room for one number per process of `comm`.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn turntile_mpi_balanced(
    parts: *mut usize,
    extent: usize,
    comm: MPI_Comm,
) -> Status {
    // SAFETY: the caller guarantees the conditions above.
    unsafe { write_parts(parts, comm, |ranks| Partition::balanced(extent, ranks)) }
}

/// Partitions an extent into parts of its quotient by the number of processes, rounded up, until
/// the extent is exhausted. The remaining parts are 0.
///
/// # Safety
/// The conditions of [`turntile_mpi_balanced`] must hold.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn turntile_mpi_blocks(
    parts: *mut usize,
    extent: usize,
    comm: MPI_Comm,
) -> Status {
    // SAFETY: the caller guarantees the conditions above.
    unsafe { write_parts(parts, comm, |ranks| Partition::blocks(extent, ranks)) }
}

/// Runs a redistribution. If the arguments of one process are invalid, all return an error before
/// any waits for data.
///
/// # Safety
/// The conditions of [`turntile_mpi_transpose`] must hold.
unsafe fn run(
    data: *mut c_void,
    data_bytes: usize,
    comm: MPI_Comm,
    change: impl FnOnce(usize) -> Result<Redistribution, Failure>,
) -> Status {
    answer(|| {
        // SAFETY: the caller guarantees the conditions above.
        let mut process = unsafe { MpiComm::of_raw(comm) }.map_err(unreachable)?;
        let ranks = process.size();
        let begin = || -> Result<_, Failure> {
            let change = change(ranks)?;
            // A slice has at most `isize::MAX` bytes, and no plan needs more.
            let data = RawMemory::new("data", data, data_bytes.min(isize::MAX as usize))?;
            // SAFETY: the caller guarantees the conditions above.
            Ok((change, unsafe { data.to_write() }))
        };
        // Other processes wait for the status of this one, even if `begin` panics. After a panic,
        // nothing that `begin` has captured is read.
        let ready = panic::catch_unwind(AssertUnwindSafe(begin));
        let all = process.all_gather(matches!(ready, Ok(Ok(_))).into());
        let ready = ready.unwrap_or_else(|panic| panic::resume_unwind(panic));
        let (all, (change, data)) = (all.map_err(unreachable)?, ready?);
        match all.iter().position(|&ready| ready == 0) {
            Some(rank) => Err(failure(Error::PeerFailed { rank })),
            None => change.run(&mut process, data).map_err(failure),
        }
    })
}

/// Writes the buffer size that this process needs to `bytes`.
///
/// # Safety
/// The conditions of [`turntile_mpi_capacity`] must hold.
unsafe fn capacity(
    bytes: *mut usize,
    comm: MPI_Comm,
    change: impl FnOnce(usize) -> Result<Redistribution, Failure>,
) -> Status {
    answer(|| {
        // SAFETY: the caller guarantees the conditions above.
        let (rank, ranks) = unsafe { rank_and_size(comm) }.map_err(unreachable)?;
        let need = change(ranks)?.plan(rank).map_err(failure)?.capacity();
        // SAFETY: the caller guarantees the conditions above.
        unsafe { fill("bytes", bytes, [need].into_iter()) }
    })
}

/// Writes the sizes of a partition over the processes of `comm` to `parts`.
///
/// # Safety
/// The conditions of [`turntile_mpi_balanced`] must hold.
unsafe fn write_parts(
    parts: *mut usize,
    comm: MPI_Comm,
    partition: impl FnOnce(usize) -> Partition,
) -> Status {
    answer(|| {
        // SAFETY: the caller guarantees the conditions above.
        let (_, ranks) = unsafe { rank_and_size(comm) }.map_err(unreachable)?;
        // SAFETY: the caller guarantees the conditions above.
        unsafe { fill("parts", parts, partition(ranks).sizes()) }
    })
}

/// Creates the request to transpose a matrix.
///
/// # Safety
/// `row_parts` and `col_parts` must each be NULL or have `ranks` numbers.
unsafe fn matrix(
    ranks: usize,
    row_parts: *const usize,
    col_parts: *const usize,
    itemsize: usize,
) -> Result<Redistribution, Failure> {
    // SAFETY: the caller guarantees the conditions above.
    let (rows, cols) =
        unsafe { (parts("row_parts", row_parts, ranks)?, parts("col_parts", col_parts, ranks)?) };
    Ok(Redistribution::transpose(rows, cols, itemsize))
}

/// Creates the request to permute the axes of an array.
///
/// # Safety
/// `shape` and `axes` must each be NULL or have `ndim` numbers. The parts in `before` and `after`
/// must each be NULL or have `ranks` numbers.
unsafe fn array(
    ranks: usize,
    ndim: usize,
    shape: *const usize,
    axes: *const usize,
    itemsize: usize,
    before: (usize, *const usize),
    after: (usize, *const usize),
) -> Result<Redistribution, Failure> {
    // SAFETY: the caller guarantees the conditions above.
    let (shape, axes) = unsafe { memory::axes(ndim, shape, axes) }?;
    // SAFETY: the caller guarantees the conditions above.
    let (source, result) =
        unsafe { (parts("parts_before", before.1, ranks)?, parts("parts_after", after.1, ranks)?) };
    let (before, after) = ((before.0, source), (after.0, result));
    Ok(Redistribution::of_axes(shape, axes, itemsize, before, after))
}

/// Creates a partition from the sizes of its parts. `what` is the name of the argument.
///
/// # Safety
/// `sizes` must be NULL or have `ranks` numbers.
unsafe fn parts(
    what: &'static str,
    sizes: *const usize,
    ranks: usize,
) -> Result<Partition, Failure> {
    // SAFETY: the caller guarantees the conditions above.
    let sizes = unsafe { memory::numbers(what, sizes, ranks) }?;
    let status = Status::Overflow;
    let text = || format!("{what} sum to more than the address space");
    Partition::new(sizes).ok_or_else(|| Failure::Other { status, text: text() })
}

/// Writes numbers to `to`. `what` is the name of the argument.
///
/// # Safety
/// `to` must be NULL or have room for all `numbers`.
unsafe fn fill(
    what: &'static str,
    to: *mut usize,
    numbers: impl Iterator<Item = usize>,
) -> Result<(), Failure> {
    if to.is_null() {
        return Err(Failure::Null { what });
    }
    RawMemory::new(what, to.cast(), 0)?.aligned(align_of::<usize>())?;
    for (index, number) in numbers.enumerate() {
        // SAFETY: `to` is aligned, and the caller guarantees room for all numbers.
        unsafe { to.add(index).write(number) };
    }
    Ok(())
}

fn unreachable(error: CommError) -> Failure {
    failure(Error::Unreachable(error))
}

fn failure(error: Error) -> Failure {
    let status = match error {
        Error::Local(error) => return error.into(),
        Error::Axis { .. }
        | Error::Parts { .. }
        | Error::SameAxis { .. }
        | Error::Ranks { .. }
        | Error::NoRank { .. } => Status::Argument,
        Error::Short { .. } => Status::Length,
        Error::Lost(_) | Error::StillMapped(_) => Status::Lost,
        _ => Status::Ranks,
    };
    Failure::Other { status, text: error.to_string() }
}
