//! What `include/turntile_mpi.h` declares.
#![allow(unsafe_code)]

use std::ffi::{c_char, c_void};
use std::panic::{self, AssertUnwindSafe};

use mpi::ffi::{self, MPI_Comm};
use turntile_capi::answer::{answer, last};
use turntile_capi::memory::{self, Memory};
use turntile_capi::status::{Failure, Status};
use turntile_distributed::{CommError, Communicator, Error, Partition, Redistribution};

use crate::comm::{MpiComm, place};

/// The text of the calling thread's last failure here.
#[unsafe(no_mangle)]
pub extern "C" fn turntile_mpi_last_error() -> *const c_char {
    last()
}

/// Transposes a matrix that is cut along its rows.
///
/// # Safety
/// `row_parts` and `col_parts` are a number for each process of `comm`, `data` are `data_bytes` bytes that nothing else uses
/// meanwhile; MPI is initialised.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn turntile_mpi_transpose(
    data: *mut c_void,
    data_bytes: usize,
    row_parts: *const usize,
    col_parts: *const usize,
    elem_bytes: usize,
    comm: MPI_Comm,
) -> Status {
    // SAFETY: as the caller says.
    let change = |ranks| unsafe { matrix(ranks, row_parts, col_parts, elem_bytes) };
    // SAFETY: as the caller says.
    unsafe { run(data, data_bytes, comm, change) }
}

/// [`turntile_mpi_transpose`] for Fortran, where a communicator is a number.
///
/// # Safety
/// As there.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn turntile_mpi_transpose_fortran(
    data: *mut c_void,
    data_bytes: usize,
    row_parts: *const usize,
    col_parts: *const usize,
    elem_bytes: usize,
    comm: ffi::RSMPI_Fint,
) -> Status {
    // SAFETY: as the caller says.
    unsafe {
        let comm = ffi::RSMPI_Comm_f2c(comm);
        turntile_mpi_transpose(data, data_bytes, row_parts, col_parts, elem_bytes, comm)
    }
}

/// Permutes the axes of an array that is cut along one of them.
///
/// # Safety
/// As of [`turntile_mpi_transpose`]; `extents` and `axes` are `rank` numbers each.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn turntile_mpi_permute(
    data: *mut c_void,
    data_bytes: usize,
    rank: usize,
    extents: *const usize,
    axes: *const usize,
    elem_bytes: usize,
    cut_before: usize,
    parts_before: *const usize,
    cut_after: usize,
    parts_after: *const usize,
    comm: MPI_Comm,
) -> Status {
    let (before, after) = ((cut_before, parts_before), (cut_after, parts_after));
    // SAFETY: as the caller says.
    let change = |ranks| unsafe { array(ranks, rank, extents, axes, elem_bytes, before, after) };
    // SAFETY: as the caller says.
    unsafe { run(data, data_bytes, comm, change) }
}

/// Bytes that this process's buffer needs for a transposition.
///
/// # Safety
/// As of [`turntile_mpi_transpose`]; `bytes` can be written.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn turntile_mpi_capacity(
    bytes: *mut usize,
    row_parts: *const usize,
    col_parts: *const usize,
    elem_bytes: usize,
    comm: MPI_Comm,
) -> Status {
    // SAFETY: as the caller says.
    let change = |ranks| unsafe { matrix(ranks, row_parts, col_parts, elem_bytes) };
    // SAFETY: as the caller says.
    unsafe { capacity(bytes, comm, change) }
}

/// Bytes that this process's buffer needs for a permutation of axes.
///
/// # Safety
/// As of [`turntile_mpi_permute`]; `bytes` can be written.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn turntile_mpi_permute_capacity(
    bytes: *mut usize,
    rank: usize,
    extents: *const usize,
    axes: *const usize,
    elem_bytes: usize,
    cut_before: usize,
    parts_before: *const usize,
    cut_after: usize,
    parts_after: *const usize,
    comm: MPI_Comm,
) -> Status {
    let (before, after) = ((cut_before, parts_before), (cut_after, parts_after));
    // SAFETY: as the caller says.
    let change = |ranks| unsafe { array(ranks, rank, extents, axes, elem_bytes, before, after) };
    // SAFETY: as the caller says.
    unsafe { capacity(bytes, comm, change) }
}

/// Partition of an extent that differ by no more than one, the larger first.
///
/// # Safety
/// `parts` have room for a number of each process of `comm`; MPI is initialised.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn turntile_mpi_balanced(
    parts: *mut usize,
    extent: usize,
    comm: MPI_Comm,
) -> Status {
    // SAFETY: as the caller says.
    unsafe { say(parts, comm, |ranks| Partition::balanced(extent, ranks)) }
}

/// Partition of an extent of as many each, rounded up, and of what is left.
///
/// # Safety
/// As of [`turntile_mpi_balanced`].
#[unsafe(no_mangle)]
pub unsafe extern "C" fn turntile_mpi_blocks(
    parts: *mut usize,
    extent: usize,
    comm: MPI_Comm,
) -> Status {
    // SAFETY: as the caller says.
    unsafe { say(parts, comm, |ranks| Partition::blocks(extent, ranks)) }
}

/// Runs what the arguments say. What is wrong with them is told to all processes before any of them waits for data.
///
/// # Safety
/// As of [`turntile_mpi_transpose`].
unsafe fn run(
    data: *mut c_void,
    data_bytes: usize,
    comm: MPI_Comm,
    change: impl FnOnce(usize) -> Result<Redistribution, Failure>,
) -> Status {
    answer(|| {
        // SAFETY: as the caller says.
        let mut process = unsafe { MpiComm::of_raw(comm) }.map_err(unreachable)?;
        let ranks = process.ranks();
        let begin = || -> Result<_, Failure> {
            let change = change(ranks)?;
            // No buffer needs more than a slice can have.
            let data = Memory::new("data", data, data_bytes.min(isize::MAX as usize))?;
            // SAFETY: as the caller says.
            Ok((change, unsafe { data.to_write() }))
        };
        // Others wait for what this one says, whatever becomes of it: nothing of what panicked is looked at.
        let ready = panic::catch_unwind(AssertUnwindSafe(begin));
        let all = process.gather(matches!(ready, Ok(Ok(_))).into());
        let ready = ready.unwrap_or_else(|panic| panic::resume_unwind(panic));
        let (all, (change, data)) = (all.map_err(unreachable)?, ready?);
        match all.iter().position(|&ready| ready == 0) {
            Some(rank) => Err(failure(Error::Refused { rank })),
            None => change.run(&mut process, data).map_err(failure),
        }
    })
}

/// # Safety
/// As of [`turntile_mpi_capacity`].
unsafe fn capacity(
    bytes: *mut usize,
    comm: MPI_Comm,
    change: impl FnOnce(usize) -> Result<Redistribution, Failure>,
) -> Status {
    answer(|| {
        // SAFETY: as the caller says.
        let (rank, ranks) = unsafe { place(comm) }.map_err(unreachable)?;
        let need = change(ranks)?.plan(rank).map_err(failure)?.capacity();
        // SAFETY: as the caller says.
        unsafe { fill("bytes", bytes, [need].into_iter()) }
    })
}

/// # Safety
/// As of [`turntile_mpi_balanced`].
unsafe fn say(parts: *mut usize, comm: MPI_Comm, of: impl FnOnce(usize) -> Partition) -> Status {
    answer(|| {
        // SAFETY: as the caller says.
        let (_, ranks) = unsafe { place(comm) }.map_err(unreachable)?;
        // SAFETY: as the caller says.
        unsafe { fill("parts", parts, of(ranks).sizes()) }
    })
}

/// # Safety
/// Both are NULL or `ranks` numbers.
unsafe fn matrix(
    ranks: usize,
    row_parts: *const usize,
    col_parts: *const usize,
    elem_bytes: usize,
) -> Result<Redistribution, Failure> {
    // SAFETY: as the caller says.
    let (rows, cols) =
        unsafe { (parts("row_parts", row_parts, ranks)?, parts("col_parts", col_parts, ranks)?) };
    Ok(Redistribution::transpose(rows, cols, elem_bytes))
}

/// # Safety
/// `extents` and `axes` are NULL or `rank` numbers each, the parts NULL or `ranks`.
unsafe fn array(
    ranks: usize,
    rank: usize,
    extents: *const usize,
    axes: *const usize,
    elem_bytes: usize,
    before: (usize, *const usize),
    after: (usize, *const usize),
) -> Result<Redistribution, Failure> {
    // SAFETY: as the caller says.
    let (shape, axes) = unsafe { memory::axes(rank, extents, axes) }?;
    // SAFETY: as the caller says.
    let (source, result) =
        unsafe { (parts("parts_before", before.1, ranks)?, parts("parts_after", after.1, ranks)?) };
    let (before, after) = ((before.0, source), (after.0, result));
    Ok(Redistribution::of_axes(shape, axes, elem_bytes, before, after))
}

/// # Safety
/// They are NULL or `ranks` numbers.
unsafe fn parts(
    what: &'static str,
    sizes: *const usize,
    ranks: usize,
) -> Result<Partition, Failure> {
    // SAFETY: as the caller says.
    let sizes = unsafe { memory::numbers(what, sizes, ranks) }?;
    let status = Status::Overflow;
    let text = || format!("{what} add up to more than an address space has");
    Partition::new(sizes).ok_or_else(|| Failure::Other { status, text: text() })
}

/// # Safety
/// `to` is NULL or has room for as many.
unsafe fn fill(
    what: &'static str,
    to: *mut usize,
    numbers: impl Iterator<Item = usize>,
) -> Result<(), Failure> {
    if to.is_null() {
        return Err(Failure::Null { what });
    }
    Memory::new(what, to.cast(), 0)?.aligned(align_of::<usize>())?;
    for (index, number) in numbers.enumerate() {
        // SAFETY: aligned, and the caller says that there is room.
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
        | Error::Partition { .. }
        | Error::SameAxis { .. }
        | Error::Ranks { .. }
        | Error::NoRank { .. } => Status::Argument,
        Error::Short { .. } => Status::Length,
        Error::Lost(_) => Status::Lost,
        _ => Status::Ranks,
    };
    Failure::Other { status, text: error.to_string() }
}
