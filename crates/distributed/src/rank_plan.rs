//! What one rank does.

use std::borrow::Cow;
use std::fmt;
use std::panic::{self, AssertUnwindSafe};

use turntile::{RawElements, RunOptions, Workspace};

use crate::block_exchange::BlockExchange;
use crate::communicator::{CommError, Communicator};
use crate::error::Error;
use crate::local::OfBytes;

/// One rank's part of a [`Redistribution`](crate::Redistribution), to be run as often as wanted.
///
/// `Display` prints its stages, a line each.
#[derive(Clone, Debug)]
pub struct RankPlan {
    words: Vec<usize>,
    rank: usize,
    bytes: [usize; 2],
    /// Local stages before the exchange and after it.
    first: Vec<OfBytes<turntile::Transposer>>,
    last: Vec<OfBytes<turntile::Transposer>>,
    /// With the most bytes of a message.
    blocks: Option<(BlockExchange, usize)>,
}

impl RankPlan {
    pub(crate) fn new(
        words: Vec<usize>,
        rank: usize,
        bytes: [usize; 2],
        [first, last]: [Vec<OfBytes<turntile::Transposer>>; 2],
        blocks: Option<(BlockExchange, usize)>,
    ) -> Self {
        RankPlan { words, rank, bytes, first, last, blocks }
    }

    /// Bytes of this rank's part before.
    pub fn len_before(&self) -> usize {
        self.bytes[0]
    }

    /// Bytes of this rank's part after.
    pub fn len_after(&self) -> usize {
        self.bytes[1]
    }

    /// Bytes that this rank's buffer needs: the larger of its parts before and after.
    pub fn capacity(&self) -> usize {
        self.bytes[0].max(self.bytes[1])
    }

    /// Bytes of workspace that this rank takes beside its buffer: the most that a local stage needs, and a message.
    pub fn workspace_bytes(&self) -> usize {
        self.local_workspace_bytes() + self.bounce_bytes()
    }

    fn local_workspace_bytes(&self) -> usize {
        let stages = self.first.iter().chain(&self.last);
        stages.map(|(_, stage)| stage.workspace_bytes()).max().unwrap_or(0)
    }

    fn bounce_bytes(&self) -> usize {
        self.blocks.as_ref().map_or(0, |(blocks, chunk)| blocks.bounce_bytes(self.rank, *chunk))
    }

    /// Runs it; all ranks call it, each with its own plan. `data` begin with this rank's part, and end with it: they have
    /// [`capacity`](Self::capacity) bytes or more, those behind the part hold anything.
    ///
    /// # Errors
    /// Of one rank is one of every rank, and nothing has moved: a buffer is too short, ranks were asked for different things,
    /// or have no memory for the workspace. After [`Error::Lost`] the data are incomplete.
    pub fn run<T: bytemuck::Pod>(
        &self,
        exchange: &mut impl Communicator,
        data: &mut [T],
    ) -> Result<(), Error> {
        run(exchange, &self.words, || Ok(Cow::Borrowed(self)), bytemuck::cast_slice_mut(data))
    }

    fn workspace(&self) -> Result<(Workspace, Vec<u8>), Error> {
        let mut bounce = Vec::new();
        let bytes = self.bounce_bytes();
        let refused = |_| turntile::Error::from(turntile::RunError::OutOfMemory { bytes });
        bounce.try_reserve_exact(bytes).map_err(refused)?;
        bounce.resize(bytes, 0);
        Ok((Workspace::new(self.local_workspace_bytes()).map_err(turntile::Error::from)?, bounce))
    }
}

/// Runs what `plan` plans for this rank, or tells the others that it could not.
pub(crate) fn run<'a>(
    exchange: &mut impl Communicator,
    words: &[usize],
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
    let ((mut workspace, mut bounce), planned) = agree(exchange, words, data.len(), begin)?;
    let [before, after] = planned.bytes;
    let mut local = |exchange: &dyn Communicator,
                     stages: &[OfBytes<turntile::Transposer>],
                     part: &mut [u8]| {
        let mut done = Err("the transport left out a local stage".to_owned());
        exchange.local(Box::new(|| {
            let run = |(range, stage): &OfBytes<turntile::Transposer>| {
                let part = &mut part[range.clone()];
                stage.run_with(&mut RawElements(part), RunOptions::new().workspace(&mut workspace))
            };
            done = stages.iter().try_for_each(run).map_err(|why| why.to_string());
        }));
        // Others move their parts by now.
        let rank = planned.rank;
        done.map_err(|why| Error::Lost(CommError { rank, partner: rank, why }))
    };
    local(exchange, &planned.first, &mut data[..before])?;
    if let Some((blocks, chunk)) = &planned.blocks {
        let data = &mut data[..planned.capacity()];
        blocks.exchange(exchange, data, &mut bounce, *chunk).map_err(Error::Lost)?;
    }
    local(exchange, &planned.last, &mut data[..after])
}

/// What `begin(rank, ranks)` answers besides how many bytes this rank needs, on all ranks or none: once all are known to be asked
/// for the same, and to have buffers of `have` bytes where as many are needed.
///
/// # Panics
/// When `begin` does, after the other ranks have been told that this one could not.
pub(crate) fn agree<W>(
    exchange: &mut impl Communicator,
    words: &[usize],
    have: usize,
    begin: impl FnOnce(usize, usize) -> Result<(usize, W), Error>,
) -> Result<W, Error> {
    let hashes = gather(exchange, hash(words))?;
    if let Some(rank) = hashes.iter().position(|hash| *hash != hashes[0]) {
        return Err(Error::Disagree { rank });
    }
    let (rank, ranks) = (exchange.rank(), exchange.ranks());
    // Others wait for what this one says, whatever becomes of it: nothing of what panicked is looked at.
    let begun = panic::catch_unwind(AssertUnwindSafe(|| begin(rank, ranks)));
    let own = begun.as_ref().ok().and_then(|begun| begun.as_ref().ok());
    // What each needs is found by itself and told, so that all say the same.
    let (need, ready) = (own.map_or(0, |own| own.0 as u64), own.is_some().into());
    let mut tell = || -> Result<_, Error> {
        Ok([gather(exchange, need)?, gather(exchange, have as u64)?, gather(exchange, ready)?])
    };
    let told = tell();
    let begun = begun.unwrap_or_else(|panic| panic::resume_unwind(panic));
    let [needs, haves, ready] = told?;
    let (_, begun) = begun?;
    if let Some(rank) = ready.iter().position(|&ready| ready == 0) {
        return Err(Error::Refused { rank });
    }
    let short = needs.iter().zip(&haves).position(|(need, have)| have < need);
    match short.map(|rank| [rank, needs[rank] as usize, haves[rank] as usize]) {
        Some([rank, need, have]) => Err(Error::Short { rank, need, have }),
        None => Ok(begun),
    }
}

/// A number of each rank.
fn gather(exchange: &mut impl Communicator, own: u64) -> Result<Vec<u64>, Error> {
    let (rank, ranks) = (exchange.rank(), exchange.ranks());
    let all = exchange.gather(own).map_err(Error::Unreachable)?;
    if all.len() == ranks {
        return Ok(all);
    }
    let why = format!("the transport gathered {} numbers of {ranks} ranks", all.len());
    Err(Error::Unreachable(CommError { rank, partner: rank, why }))
}

/// FNV-1a: the same on every machine.
fn hash(words: &[usize]) -> u64 {
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
            let (sent, bounce) = (blocks.crossing(self.rank), self.bounce_bytes());
            write!(
                f,
                "\n  exchange: {sent} bytes to {} others, {bounce} at a time",
                blocks.ranks() - 1
            )?;
        }
        self.last.iter().try_for_each(|(_, stage)| write!(f, "\n  local: {stage}"))
    }
}
