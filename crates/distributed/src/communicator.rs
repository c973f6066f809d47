//! What ranks need of whatever connects them.

/// Why bytes did not arrive.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("rank {rank}, with rank {partner}: {why}")]
pub struct CommError {
    /// The rank that says so.
    pub rank: usize,
    /// The one it was talking with; itself, where all were.
    pub partner: usize,
    /// What went wrong, in the transport's words.
    pub why: String,
}

/// One of some ranks, and its connection with the others.
pub trait Communicator {
    /// Which it is, from 0.
    fn rank(&self) -> usize;

    /// How many there are.
    fn ranks(&self) -> usize;

    /// Sends `send` to `partner` and receives `receive` from it, both at once; the partner receives and sends as many bytes.
    /// Either may be empty, and is then neither sent nor received.
    ///
    /// # Errors
    /// The partner is gone, or sent something else.
    fn exchange(
        &mut self,
        partner: usize,
        send: &[u8],
        receive: &mut [u8],
    ) -> Result<(), CommError>;

    /// What every rank gives, in the order of ranks; all call it.
    ///
    /// # Errors
    /// A rank is gone.
    fn gather(&mut self, own: u64) -> Result<Vec<u64>, CommError>;

    /// Runs a local stage, which may use threads: those of the calling thread's pool, unless a transport has others. It has run
    /// when this returns.
    fn local(&self, stage: Box<dyn FnOnce() + Send + '_>) {
        stage();
    }
}
