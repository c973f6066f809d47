//! The interface to a transport, such as MPI or channels between threads.

use std::time::Duration;

/// An error of a transport or of a local stage.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("rank {rank}, with rank {partner}: {message}")]
pub struct CommError {
    /// The rank that reports the error.
    pub rank: usize,
    /// The rank that it communicated with. Equal to `rank` if there is no single partner.
    pub partner: usize,
    /// Reason for the error.
    pub message: String,
}

/// One rank's connection to all other ranks.
pub trait Communicator {
    /// Returns this rank's number, counted from 0.
    fn rank(&self) -> usize;

    /// Returns the number of ranks.
    fn size(&self) -> usize;

    /// Sends `send` to `partner` and receives `receive` from it, both at the same time. The partner
    /// makes the matching call, with the lengths of `send` and `receive` swapped. An empty `send`
    /// or `receive` is not transmitted.
    ///
    /// # Errors
    /// Returns an error if the partner is gone, or if it sent another number of bytes.
    fn exchange(
        &mut self,
        partner: usize,
        send: &[u8],
        receive: &mut [u8],
    ) -> Result<(), CommError>;

    /// Returns the numbers that all ranks passed as `own`, in rank order (all-gather). Collective:
    /// all ranks call it.
    ///
    /// # Errors
    /// Returns an error if a rank is gone.
    fn all_gather(&mut self, own: u64) -> Result<Vec<u64>, CommError>;

    /// Returns the bytes that all ranks passed as `own`, in rank order. All ranks pass the same
    /// number of bytes. Collective.
    ///
    /// # Errors
    /// Returns an error if a rank is gone.
    fn all_gather_bytes(&mut self, own: &[u8]) -> Result<Vec<Vec<u8>>, CommError> {
        let mut all = vec![Vec::new(); self.size()];
        for part in own.chunks(8) {
            let mut word = [0; 8];
            word[..part.len()].copy_from_slice(part);
            let words = self.all_gather(u64::from_le_bytes(word))?;
            for (bytes, word) in all.iter_mut().zip(words) {
                bytes.extend_from_slice(&word.to_le_bytes()[..part.len()]);
            }
        }
        Ok(all)
    }

    /// Called every few milliseconds while this rank waits in shared memory for other ranks, for
    /// `waited` so far. An error ends the wait, for example after a time limit. The default is to
    /// wait without a limit.
    ///
    /// # Errors
    /// Returns an error if the rank must not wait longer.
    fn keep_waiting(&mut self, waited: Duration) -> Result<(), CommError> {
        let _ = waited;
        Ok(())
    }

    /// Runs `stage`, the local stages before or after the exchange, and returns when they have
    /// finished. They may use the threads of the calling thread's pool. A transport can override
    /// this method to provide others.
    fn local(&self, stage: Box<dyn FnOnce() + Send + '_>) {
        stage();
    }
}
