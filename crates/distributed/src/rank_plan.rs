//! The plan of one rank, and its execution.

use std::borrow::Cow;
use std::fmt;
use std::panic::{self, AssertUnwindSafe};

use turntile::RawElements;
use turntile::run::{RunOptions, Workspace};

use crate::block_exchange::BlockExchange;
use crate::communicator::{CommError, Communicator};
use crate::error::Error;
use crate::local::OnBytes;

/// A [`Redistribution`](crate::Redistribution) planned for one rank. It can be run any number of
/// times.
///
/// `Display` prints one line per stage.
#[derive(Clone, Debug)]
pub struct RankPlan {
    /// Numbers of the request that must be equal on all ranks.
    signature: Vec<usize>,
    rank: usize,
    /// Bytes of this rank's part, before and after.
    bytes: [usize; 2],
    /// Local stages before the exchange.
    first: Vec<OnBytes<turntile::Transposer>>,
    /// Local stages after the exchange.
    last: Vec<OnBytes<turntile::Transposer>>,
    /// Blocks to exchange, and the maximum message size in bytes.
    blocks: Option<(BlockExchange, usize)>,
}

impl RankPlan {
    pub(crate) fn new(
        signature: Vec<usize>,
        rank: usize,
        bytes: [usize; 2],
        [first, last]: [Vec<OnBytes<turntile::Transposer>>; 2],
        blocks: Option<(BlockExchange, usize)>,
    ) -> Self {
        RankPlan { signature, rank, bytes, first, last, blocks }
    }

    /// Returns the bytes of this rank's part before the redistribution.
    pub fn len_before(&self) -> usize {
        self.bytes[0]
    }

    /// Returns the bytes of this rank's part after the redistribution.
    pub fn len_after(&self) -> usize {
        self.bytes[1]
    }

    /// Returns the bytes that this rank's buffer needs: the larger of its parts before and after.
    pub fn capacity(&self) -> usize {
        self.bytes[0].max(self.bytes[1])
    }

    /// Returns the bytes of workspace that [`run`](Self::run) allocates: the maximum that a local
    /// stage needs, plus one message buffer.
    pub fn workspace_bytes(&self) -> usize {
        self.local_workspace_bytes() + self.bounce_bytes()
    }

    fn local_workspace_bytes(&self) -> usize {
        let stages = self.first.iter().chain(&self.last);
        stages.map(|(_, stage)| stage.workspace_bytes()).max().unwrap_or(0)
    }

    fn bounce_bytes(&self) -> usize {
        let blocks = self.blocks.as_ref();
        blocks.map_or(0, |(blocks, max_message)| blocks.bounce_bytes(self.rank, *max_message))
    }

    /// Runs the redistribution. Collective: all ranks call it, each with its own plan.
    ///
    /// `data` has at least [`capacity`](Self::capacity) bytes. This rank's part is at its start,
    /// before and after. Bytes between the part and the capacity have no defined value.
    ///
    /// # Errors
    /// If one rank's checks fail, all ranks return an error and no data have moved. Reasons are a
    /// buffer that is too short, different requests on different ranks, and no memory for the
    /// workspace. After [`Error::Lost`] the data are incomplete.
    pub fn run<T: bytemuck::Pod>(
        &self,
        comm: &mut impl Communicator,
        data: &mut [T],
    ) -> Result<(), Error> {
        run(comm, &self.signature, || Ok(Cow::Borrowed(self)), bytemuck::cast_slice_mut(data))
    }

    fn workspace(&self) -> Result<(Workspace, Vec<u8>), Error> {
        let mut bounce = Vec::new();
        let bytes = self.bounce_bytes();
        let out_of_memory =
            |_| turntile::Error::from(turntile::error::RunError::OutOfMemory { bytes });
        bounce.try_reserve_exact(bytes).map_err(out_of_memory)?;
        bounce.resize(bytes, 0);
        Ok((Workspace::new(self.local_workspace_bytes()).map_err(turntile::Error::from)?, bounce))
    }
}

/// Runs the plan that `plan` returns for this rank. If `plan` fails on one rank, all return an
/// error.
pub(crate) fn run<'a>(
    comm: &mut impl Communicator,
    signature: &[usize],
    plan: impl FnOnce() -> Result<Cow<'a, RankPlan>, Error>,
    data: &mut [u8],
) -> Result<(), Error> {
    let begin = |rank, ranks| {
        let planned = plan()?;
        match &planned.blocks {
            _ if rank != planned.rank => Err(Error::OtherRank { planned: planned.rank, got: rank }),
            Some((blocks, _)) if blocks.ranks() != ranks => {
                Err(Error::Communicator { planned: blocks.ranks(), got: ranks })
            }
            _ => Ok((planned.capacity(), (planned.workspace()?, planned))),
        }
    };
    let ((mut workspace, mut bounce), planned) = agree(comm, signature, data.len(), begin)?;
    let [before, after] = planned.bytes;
    let mut local = |comm: &dyn Communicator,
                     stages: &[OnBytes<turntile::Transposer>],
                     part: &mut [u8]| {
        let mut result = Err("the communicator did not run a local stage".to_owned());
        comm.local(Box::new(|| {
            let run = |(range, stage): &OnBytes<turntile::Transposer>| {
                let part = &mut part[range.clone()];
                stage.run_with(&mut RawElements(part), RunOptions::new().workspace(&mut workspace))
            };
            result = stages.iter().try_for_each(run).map_err(|error| error.to_string());
        }));
        // Other ranks may already have moved their data.
        let rank = planned.rank;
        result.map_err(|why| Error::Lost(CommError { rank, partner: rank, message: why }))
    };
    local(comm, &planned.first, &mut data[..before])?;
    if let Some((blocks, max_message)) = &planned.blocks {
        let data = &mut data[..planned.capacity()];
        blocks.exchange(comm, data, &mut bounce, *max_message).map_err(Error::Lost)?;
    }
    local(comm, &planned.last, &mut data[..after])
}

/// Calls `begin(rank, ranks)` on every rank. Each rank returns its own result, or all ranks return
/// an error. Collective.
///
/// Checks that all ranks passed the same `signature`, that `begin` succeeded on all of them, and
/// that every buffer is long enough. `begin` returns the buffer size in bytes that this rank needs,
/// and any result. `have` is the size of this rank's buffer in bytes.
///
/// # Errors
/// Returns the errors of [`Redistribution::agree`](crate::Redistribution::agree).
///
/// # Panics
/// Panics if `begin` panics, after the other ranks have been notified.
pub(crate) fn agree<W>(
    comm: &mut impl Communicator,
    signature: &[usize],
    have: usize,
    begin: impl FnOnce(usize, usize) -> Result<(usize, W), Error>,
) -> Result<W, Error> {
    let hashes = gather(comm, hash(signature))?;
    if let Some(rank) = hashes.iter().position(|hash| *hash != hashes[0]) {
        return Err(Error::Disagree { rank });
    }
    let (rank, ranks) = (comm.rank(), comm.size());
    // Other ranks wait for this rank's status, even if `begin` panics. After a panic, nothing that
    // `begin` has captured is read.
    let begun = panic::catch_unwind(AssertUnwindSafe(|| begin(rank, ranks)));
    let own = begun.as_ref().ok().and_then(|begun| begun.as_ref().ok());
    // Every rank sends its numbers to all ranks, so that all ranks return the same error.
    let (need, ready) = (own.map_or(0, |own| own.0 as u64), own.is_some().into());
    let mut gather_all = || -> Result<_, Error> {
        Ok([gather(comm, need)?, gather(comm, have as u64)?, gather(comm, ready)?])
    };
    let gathered = gather_all();
    let begun = begun.unwrap_or_else(|panic| panic::resume_unwind(panic));
    let [needs, haves, ready] = gathered?;
    let (_, begun) = begun?;
    if let Some(rank) = ready.iter().position(|&ready| ready == 0) {
        return Err(Error::PeerFailed { rank });
    }
    let short = needs.iter().zip(&haves).position(|(need, have)| have < need);
    match short.map(|rank| [rank, needs[rank] as usize, haves[rank] as usize]) {
        Some([rank, need, have]) => Err(Error::Short { rank, need, have }),
        None => Ok(begun),
    }
}

/// Returns the numbers that all ranks passed as `own`, in rank order. Checks that the communicator
/// returns one per rank.
pub(crate) fn gather(comm: &mut impl Communicator, own: u64) -> Result<Vec<u64>, Error> {
    let (rank, ranks) = (comm.rank(), comm.size());
    let all = comm.all_gather(own).map_err(Error::Unreachable)?;
    if all.len() == ranks {
        return Ok(all);
    }
    let why = format!("all_gather returned {} numbers for {ranks} ranks", all.len());
    Err(Error::Unreachable(CommError { rank, partner: rank, message: why }))
}

/// Returns the FNV-1a hash of 64-bit words, the same on every machine.
pub(crate) fn hash(words: &[usize]) -> u64 {
    let bytes = words.iter().flat_map(|&word| (word as u64).to_le_bytes());
    bytes.fold(0xcbf2_9ce4_8422_2325, |hash, byte| {
        (hash ^ u64::from(byte)).wrapping_mul(0x0100_0000_01b3)
    })
}

impl fmt::Display for RankPlan {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let [before, after] = self.bytes;
        write!(f, "rank {}: {before} bytes before, {after} after", self.rank)?;
        self.first.iter().try_for_each(|(_, stage)| write!(f, "\n  local: {stage}"))?;
        if let Some((blocks, _)) = &self.blocks {
            let (sent, bounce) = (blocks.sent_bytes(self.rank), self.bounce_bytes());
            write!(
                f,
                "\n  exchange: {sent} bytes to {} others, {bounce} at a time",
                blocks.ranks() - 1
            )?;
        }
        self.last.iter().try_for_each(|(_, stage)| write!(f, "\n  local: {stage}"))
    }
}
