//! Transport of a redistribution over an MPI communicator.
#![allow(unsafe_code)]

use std::ffi::c_int;
use std::marker::PhantomData;
use std::mem::MaybeUninit;

use mpi::ffi::{self, MPI_Comm};
use mpi::raw::AsRaw;
use turntile_distributed::{CommError, Communicator};

/// Maximum bytes per MPI message, because MPI counts are `int`.
const MAX_MESSAGE: usize = 1 << 30;
/// Tag of all messages. No other messages use the duplicate communicator.
const TAG: c_int = 0;

/// Duplicate of an MPI communicator, as seen by this process.
///
/// The duplicate keeps the messages separate from those of the program. MPI errors on it are
/// returned. Dropping `self` frees the duplicate; drop it before MPI is finalized.
///
/// ```no_run
/// use turntile_distributed::{Partition, Redistribution};
/// use turntile_mpi::MpiComm;
///
/// let (universe, _) = mpi::initialize_with_threading(mpi::Threading::Funneled).unwrap();
/// let mut process = MpiComm::new(&universe.world())?;
/// let (rows, cols) = (Partition::balanced(3000, process.size()), Partition::balanced(2000, process.size()));
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
    /// Makes the type neither `Send` nor `Sync`: only the thread that MPI knows may use it.
    thread: PhantomData<*const ()>,
}

impl MpiComm {
    /// Duplicates a communicator. Collective: all processes of `comm` call it.
    ///
    /// # Errors
    /// Returns an error if `comm` cannot be duplicated or is an intercommunicator. Errors that MPI
    /// finds in `comm` itself go to the error handler of `comm`. The default handler ends the job.
    pub fn new(comm: &impl AsRaw<Raw = MPI_Comm>) -> Result<Self, CommError> {
        // SAFETY: rsmpi guarantees a valid communicator while `comm` is borrowed.
        unsafe { Self::of_raw(comm.as_raw()) }
    }

    /// Duplicates a communicator given as a raw MPI handle. Collective: all processes of `comm`
    /// call it.
    ///
    /// # Errors
    /// Returns the errors of [`new`](Self::new).
    ///
    /// # Safety
    /// MPI must be initialised, and `comm` must be a communicator or `MPI_COMM_NULL`.
    pub unsafe fn of_raw(comm: MPI_Comm) -> Result<Self, CommError> {
        // SAFETY: the caller guarantees both conditions.
        let (rank, ranks) = unsafe { rank_and_size(comm) }?;
        let mut own = comm;
        let thread = PhantomData;
        // SAFETY: `comm` is a valid communicator. Only `self` owns and frees the duplicate.
        unsafe {
            check(ffi::MPI_Comm_dup(comm, &mut own), rank, rank)?;
            let process = MpiComm { comm: own, rank, ranks, thread };
            check(ffi::MPI_Comm_set_errhandler(own, ffi::RSMPI_ERRORS_RETURN), rank, rank)?;
            Ok(process)
        }
    }
}

/// Returns the rank of this process in a communicator, and the number of processes.
///
/// # Errors
/// Returns an error if `comm` is `MPI_COMM_NULL` or an intercommunicator.
///
/// # Safety
/// MPI must be initialised, and `comm` must be a communicator or `MPI_COMM_NULL`.
pub(crate) unsafe fn rank_and_size(comm: MPI_Comm) -> Result<(usize, usize), CommError> {
    let error = |message: &str| CommError { rank: 0, partner: 0, message: message.to_owned() };
    let [mut rank, mut ranks, mut inter] = [0; 3];
    // SAFETY: the caller guarantees a valid handle. The pointers are to local variables.
    unsafe {
        if comm == ffi::RSMPI_COMM_NULL {
            return Err(error("the communicator is MPI_COMM_NULL"));
        }
        check(ffi::MPI_Comm_rank(comm, &mut rank), 0, 0)?;
        check(ffi::MPI_Comm_size(comm, &mut ranks), 0, 0)?;
        check(ffi::MPI_Comm_test_inter(comm, &mut inter), 0, 0)?;
    }
    if inter != 0 {
        return Err(error("the communicator is an intercommunicator"));
    }
    Ok((rank as usize, ranks as usize))
}

/// Converts an MPI return code to a result; the error has MPI's text.
fn check(code: c_int, rank: usize, partner: usize) -> Result<(), CommError> {
    if code == ffi::MPI_SUCCESS as c_int {
        return Ok(());
    }
    let mut text = [0u8; ffi::MPI_MAX_ERROR_STRING as usize + 1];
    let mut bytes = 0;
    // SAFETY: the buffer has room for the longest text that MPI writes.
    let known = unsafe { ffi::MPI_Error_string(code, text.as_mut_ptr().cast(), &mut bytes) };
    let message = match known == ffi::MPI_SUCCESS as c_int {
        true => String::from_utf8_lossy(&text[..bytes as usize]).into_owned(),
        false => format!("MPI error {code}"),
    };
    Err(CommError { rank, partner, message })
}

impl Communicator for MpiComm {
    fn rank(&self) -> usize {
        self.rank
    }

    fn size(&self) -> usize {
        self.ranks
    }

    fn exchange(
        &mut self,
        partner: usize,
        send: &[u8],
        receive: &mut [u8],
    ) -> Result<(), CommError> {
        let (mut send, mut receive) = (send.chunks(MAX_MESSAGE), receive.chunks_mut(MAX_MESSAGE));
        loop {
            let (sent, received) = match (send.next(), receive.next()) {
                (None, None) => return Ok(()),
                (sent, received) => (sent.unwrap_or_default(), received.unwrap_or_default()),
            };
            // SAFETY: the static is a constant of the MPI library.
            let null = unsafe { ffi::RSMPI_PROC_NULL };
            let peer = |bytes| if bytes == 0 { null } else { partner as c_int };
            let (mut status, mut count) = (MaybeUninit::uninit(), 0);
            // SAFETY: the pointers and lengths are those of live slices, and lengths fit in an
            // `int`. MPI writes only to `received`. The communicator is valid while `self` exists.
            unsafe {
                let byte = ffi::RSMPI_UINT8_T;
                let (to, from) = (peer(sent.len()), peer(received.len()));
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
                check(code, self.rank, partner)?;
                let code = ffi::MPI_Get_count(status.as_ptr(), byte, &mut count);
                check(code, self.rank, partner)?;
            }
            if count as usize != received.len() {
                let message = format!("received {count} bytes instead of {}", received.len());
                return Err(CommError { rank: self.rank, partner, message });
            }
        }
    }

    fn all_gather(&mut self, own: u64) -> Result<Vec<u64>, CommError> {
        let mut all = vec![0u64; self.ranks];
        // SAFETY: `own` is one number, and `all` has room for one number per rank.
        let code = unsafe {
            let number = ffi::RSMPI_UINT64_T;
            let (from, to) = ((&raw const own).cast(), all.as_mut_ptr().cast());
            ffi::MPI_Allgather(from, 1, number, to, 1, number, self.comm)
        };
        check(code, self.rank, self.rank)?;
        Ok(all)
    }
}

impl Drop for MpiComm {
    fn drop(&mut self) {
        let mut finalized = 0;
        // SAFETY: only `self` owns the duplicate. After MPI is finalized nothing must be freed.
        unsafe {
            ffi::MPI_Finalized(&mut finalized);
            if finalized == 0 {
                ffi::MPI_Comm_free(&mut self.comm);
            }
        }
    }
}
