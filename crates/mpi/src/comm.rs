//! A process of a communicator.
#![allow(unsafe_code)]

use std::ffi::c_int;
use std::marker::PhantomData;
use std::mem::MaybeUninit;

use mpi::ffi::{self, MPI_Comm};
use mpi::raw::AsRaw;
use turntile_distributed::{CommError, Communicator};

/// Most bytes of a message: counts are `int`.
const MOST: usize = 1 << 30;
/// Of all messages: none but these go by the duplicate.
const TAG: c_int = 0;

/// This process in a communicator of its own, a duplicate, so that no message of the program is in its way.
///
/// The duplicate returns errors; it is freed when this is dropped, which must be before MPI ends.
///
/// ```no_run
/// use turntile_distributed::{Partition, Redistribution};
/// use turntile_mpi::MpiComm;
///
/// let (universe, _) = mpi::initialize_with_threading(mpi::Threading::Funneled).unwrap();
/// let mut process = MpiComm::new(&universe.world())?;
/// let (rows, cols) = (Partition::balanced(3000, process.ranks()), Partition::balanced(2000, process.ranks()));
/// let planned = Redistribution::transpose(rows, cols, size_of::<f64>()).plan(process.rank())?;
/// let mut local = vec![1f64; planned.capacity() / 8];
/// planned.run(&mut process, &mut local)?;
/// # use turntile_distributed::Communicator;
/// # Ok::<_, Box<dyn std::error::Error>>(())
/// ```
#[derive(Debug)]
pub struct MpiComm {
    comm: MPI_Comm,
    rank: usize,
    ranks: usize,
    /// It stays on the thread that MPI knows.
    thread: PhantomData<*const ()>,
}

impl MpiComm {
    /// In a duplicate of that communicator; all its processes call it.
    ///
    /// # Errors
    /// It cannot be duplicated, or has two groups. What MPI itself finds wrong with `comm` goes to the error handler of `comm`,
    /// which ends the job unless the program has set another.
    pub fn new(comm: &impl AsRaw<Raw = MPI_Comm>) -> Result<Self, CommError> {
        // SAFETY: a communicator of rsmpi's, which is one while it lives.
        unsafe { Self::of_raw(comm.as_raw()) }
    }

    /// As [`new`](Self::new), of MPI's own handle.
    ///
    /// # Errors
    /// As of [`new`](Self::new).
    ///
    /// # Safety
    /// MPI is initialised, and `comm` is a communicator.
    pub unsafe fn of_raw(comm: MPI_Comm) -> Result<Self, CommError> {
        // SAFETY: the caller's word.
        let (rank, ranks) = unsafe { place(comm) }?;
        let mut own = comm;
        let thread = PhantomData;
        // SAFETY: as above; the duplicate is this one's own.
        unsafe {
            done(ffi::MPI_Comm_dup(comm, &mut own), rank, rank)?;
            let process = MpiComm { comm: own, rank, ranks, thread };
            done(ffi::MPI_Comm_set_errhandler(own, ffi::RSMPI_ERRORS_RETURN), rank, rank)?;
            Ok(process)
        }
    }
}

/// Which process of a communicator this is, and of how many.
///
/// # Errors
/// It is none, or has two groups.
///
/// # Safety
/// MPI is initialised, and `comm` is a communicator or `MPI_COMM_NULL`.
pub(crate) unsafe fn place(comm: MPI_Comm) -> Result<(usize, usize), CommError> {
    let wrong = |why: &str| CommError { rank: 0, partner: 0, why: why.to_owned() };
    let [mut rank, mut ranks, mut inter] = [0; 3];
    // SAFETY: the caller's word; the numbers are there for the calls.
    unsafe {
        if comm == ffi::RSMPI_COMM_NULL {
            return Err(wrong("the communicator is MPI_COMM_NULL"));
        }
        done(ffi::MPI_Comm_rank(comm, &mut rank), 0, 0)?;
        done(ffi::MPI_Comm_size(comm, &mut ranks), 0, 0)?;
        done(ffi::MPI_Comm_test_inter(comm, &mut inter), 0, 0)?;
    }
    if inter != 0 {
        return Err(wrong("the communicator has two groups"));
    }
    Ok((rank as usize, ranks as usize))
}

/// What a call of MPI says.
fn done(code: c_int, rank: usize, partner: usize) -> Result<(), CommError> {
    if code == ffi::MPI_SUCCESS as c_int {
        return Ok(());
    }
    let mut text = [0u8; ffi::MPI_MAX_ERROR_STRING as usize + 1];
    let mut bytes = 0;
    // SAFETY: the text has room for the longest that MPI writes.
    let known = unsafe { ffi::MPI_Error_string(code, text.as_mut_ptr().cast(), &mut bytes) };
    let why = match known == ffi::MPI_SUCCESS as c_int {
        true => String::from_utf8_lossy(&text[..bytes as usize]).into_owned(),
        false => format!("MPI says {code}"),
    };
    Err(CommError { rank, partner, why })
}

impl Communicator for MpiComm {
    fn rank(&self) -> usize {
        self.rank
    }

    fn ranks(&self) -> usize {
        self.ranks
    }

    fn exchange(
        &mut self,
        partner: usize,
        send: &[u8],
        receive: &mut [u8],
    ) -> Result<(), CommError> {
        let (mut send, mut receive) = (send.chunks(MOST), receive.chunks_mut(MOST));
        loop {
            let (sent, received) = match (send.next(), receive.next()) {
                (None, None) => return Ok(()),
                (sent, received) => (sent.unwrap_or_default(), received.unwrap_or_default()),
            };
            // SAFETY: a constant.
            let nobody = unsafe { ffi::RSMPI_PROC_NULL };
            let or_nobody = |bytes| if bytes == 0 { nobody } else { partner as c_int };
            let (mut status, mut count) = (MaybeUninit::uninit(), 0);
            // SAFETY: bytes of slices, of which MPI writes those that are received alone; no more than an `int` counts. The
            // communicator is there while `self` is.
            unsafe {
                let byte = ffi::RSMPI_UINT8_T;
                let (to, from) = (or_nobody(sent.len()), or_nobody(received.len()));
                let code = ffi::MPI_Sendrecv(
                    sent.as_ptr().cast(),
                    sent.len() as c_int,
                    byte,
                    to,
                    TAG,
                    received.as_mut_ptr().cast(),
                    received.len() as c_int,
                    byte,
                    from,
                    TAG,
                    self.comm,
                    status.as_mut_ptr(),
                );
                done(code, self.rank, partner)?;
                let code = ffi::MPI_Get_count(status.as_ptr(), byte, &mut count);
                done(code, self.rank, partner)?;
            }
            if count as usize != received.len() {
                let why = format!("{count} bytes came in place of {}", received.len());
                return Err(CommError { rank: self.rank, partner, why });
            }
        }
    }

    fn gather(&mut self, own: u64) -> Result<Vec<u64>, CommError> {
        let mut all = vec![0u64; self.ranks];
        // SAFETY: one number of each, and room for all.
        let code = unsafe {
            let number = ffi::RSMPI_UINT64_T;
            let (from, to) = ((&raw const own).cast(), all.as_mut_ptr().cast());
            ffi::MPI_Allgather(from, 1, number, to, 1, number, self.comm)
        };
        done(code, self.rank, self.rank)?;
        Ok(all)
    }
}

impl Drop for MpiComm {
    fn drop(&mut self) {
        let mut ended = 0;
        // SAFETY: the duplicate is this one's own; after MPI has ended there is nothing to free.
        unsafe {
            ffi::MPI_Finalized(&mut ended);
            if ended == 0 {
                ffi::MPI_Comm_free(&mut self.comm);
            }
        }
    }
}
