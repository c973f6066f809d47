//! What one rank does.

use std::fmt;

use turntile::{Bytes, Options, Workspace};

use crate::blocks::Blocks;
use crate::error::Error;
use crate::exchange::Exchange;
use crate::local::OfBytes;

/// One rank's part of a [`Redistribution`](crate::Redistribution), to be run as often as wanted.
///
/// `Display` prints its stages, a line each.
#[derive(Clone, Debug)]
pub struct Planned {
    words: Vec<usize>,
    rank: usize,
    bytes: [usize; 2],
    /// Local stages before the exchange and after it.
    first: Vec<OfBytes<turntile::Planned>>,
    last: Vec<OfBytes<turntile::Planned>>,
    /// With the most bytes of a message.
    blocks: Option<(Blocks, usize)>,
}

impl Planned {
    pub(crate) fn new(
        words: Vec<usize>,
        rank: usize,
        bytes: [usize; 2],
        [first, last]: [Vec<OfBytes<turntile::Planned>>; 2],
        blocks: Option<(Blocks, usize)>,
    ) -> Self {
        Planned { words, rank, bytes, first, last, blocks }
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
        exchange: &mut impl Exchange,
        data: &mut [T],
    ) -> Result<(), Error> {
        run(exchange, self.words.clone(), Ok(self), bytemuck::cast_slice_mut(data))
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

/// Runs what this rank has planned, or tells the others that it could not.
pub(crate) fn run(
    exchange: &mut impl Exchange,
    words: Vec<usize>,
    planned: Result<&Planned, &Error>,
    data: &mut [u8],
) -> Result<(), Error> {
    let need = planned.map_or(0, Planned::capacity);
    let workspace = |rank, ranks| {
        let planned = planned.map_err(Clone::clone)?;
        match &planned.blocks {
            _ if rank != planned.rank => Err(Error::OtherRank { planned: planned.rank, got: rank }),
            Some((blocks, _)) if blocks.ranks() != ranks => {
                Err(Error::Communicator { planned: blocks.ranks(), got: ranks })
            }
            _ => planned.workspace(),
        }
    };
    let (mut workspace, mut bounce) = agree(exchange, &words, [need, data.len()], workspace)?;
    let planned = planned.map_err(Clone::clone)?;
    let [before, after] = planned.bytes;
    let mut local =
        |exchange: &dyn Exchange, stages: &[OfBytes<turntile::Planned>], part: &mut [u8]| {
            let mut done = Ok(());
            exchange.local(&mut || {
                let mut run = |(range, stage): &OfBytes<turntile::Planned>| {
                    let part = &mut part[range.clone()];
                    stage.run_with(&mut Bytes(part), Options::new().workspace(&mut workspace))
                };
                done = stages.iter().try_for_each(&mut run);
            });
            done
        };
    local(exchange, &planned.first, &mut data[..before])?;
    if let Some((blocks, chunk)) = &planned.blocks {
        let capacity = planned.capacity();
        let data = &mut data[..capacity];
        blocks.exchange(exchange, data, &mut bounce, *chunk).map_err(Error::Lost)?;
    }
    local(exchange, &planned.last, &mut data[..after])?;
    Ok(())
}

/// What `begin(rank, ranks)` answers, on all ranks or none: once all are known to be asked for the same, and to have buffers of
/// `have` bytes where `need` are needed.
pub(crate) fn agree<W>(
    exchange: &mut impl Exchange,
    words: &[usize],
    [need, have]: [usize; 2],
    begin: impl FnOnce(usize, usize) -> Result<W, Error>,
) -> Result<W, Error> {
    let hashes = exchange.gather(hash(words)).map_err(Error::Unreachable)?;
    if let Some(rank) = hashes.iter().position(|hash| *hash != hashes[0]) {
        return Err(Error::Disagree { rank });
    }
    let begun = begin(exchange.rank(), exchange.ranks());
    // What each needs is found by itself and told, so that all say the same.
    let needs = exchange.gather(need as u64).map_err(Error::Unreachable)?;
    let haves = exchange.gather(have as u64).map_err(Error::Unreachable)?;
    let ready = exchange.gather(begun.is_ok().into()).map_err(Error::Unreachable)?;
    let begun = begun?;
    if let Some(rank) = ready.iter().position(|&ready| ready == 0) {
        return Err(Error::Refused { rank });
    }
    let short = needs.iter().zip(&haves).position(|(need, have)| have < need);
    match short.map(|rank| [rank, needs[rank] as usize, haves[rank] as usize]) {
        Some([rank, need, have]) => Err(Error::Short { rank, need, have }),
        None => Ok(begun),
    }
}

/// FNV-1a: the same on every machine.
fn hash(words: &[usize]) -> u64 {
    let bytes = words.iter().flat_map(|&word| (word as u64).to_le_bytes());
    bytes.fold(0xcbf2_9ce4_8422_2325, |hash, byte| {
        (hash ^ u64::from(byte)).wrapping_mul(0x0100_0000_01b3)
    })
}

impl fmt::Display for Planned {
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
