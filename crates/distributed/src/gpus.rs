//! GPUs of one process as ranks, one or more ranks per GPU. One thread queues the work of all
//! ranks.
#![allow(unsafe_code)]

use std::fmt;

use turntile::gpu::{CudaError, DeviceMemory, Gpu};
use turntile_cuda::peers::{self, Buffer, Swap};

use crate::block_exchange::BlockExchange;
use crate::communicator::CommError;
use crate::error::Error;
use crate::gpu_schedule::{
    self, AlignedBlock, BOUNCE_BUFFERS, EVENTS, EventId, GpuCommand, Location, StreamId,
};
use crate::gpu_stage::{ALIGNMENT, GpuStage};
use crate::redistribution::{Redistribution, StageRequests};
use crate::tile_choice::fastest_tiles;

/// Default maximum message size in bytes, between GPUs. Transferring such a message takes longer
/// than queueing it.
pub const MESSAGE_BYTES: usize = 16 << 20;

/// A [`Redistribution`] planned for GPUs of this process as ranks. It can be run any number of
/// times.
///
/// `Display` prints the stages of each rank, and the ranks that it reaches only through the host.
#[derive(Debug)]
pub struct MultiGpu {
    ranks: Vec<GpuRank>,
    blocks: Option<BlockExchange>,
    commands: Vec<GpuCommand>,
}

#[derive(Debug)]
struct GpuRank {
    // The streams are dropped before the memory that they use. Dropping does not wait: `run` has
    // already waited for all streams.
    streams: [peers::Queue; 2],
    events: [Vec<peers::Mark>; 2],
    /// Local stages before and after the exchange.
    local: [Vec<GpuStage>; 2],
    workspace: Buffer,
    bounce: Buffer,
    /// Bytes of the part, before and after.
    bytes: [usize; 2],
    exchange: RankExchange,
}

/// Resources of one rank for the exchange with other ranks.
#[derive(Debug)]
struct RankExchange {
    /// Kernels that swap tiles. Empty if blocks are copied.
    swaps: Vec<(AlignedBlock, Swap)>,
    /// Bytes of one bounce buffer. 0 if tiles are swapped.
    bounce_bytes: usize,
    /// Ranks whose memory this rank reaches only through the host.
    through_host: Vec<usize>,
}

impl Redistribution {
    /// Plans the redistribution for GPUs of this process. Rank `r` runs on `gpus[r]`; one GPU may
    /// have several ranks.
    ///
    /// Loads the kernels and permanently enables peer access between the GPUs if the hardware
    /// supports it. Allocates the workspace of each rank: the maximum that a local stage needs, and
    /// three message buffers. Without a [cap](Self::workspace_limit) a local stage needs at most the
    /// larger of 2% of the rank's part and 16 MiB. The [number of threads](Self::threads) has no
    /// effect.
    ///
    /// Ranks swap tiles of a matrix directly, without message buffers, if all of these hold:
    ///
    /// - The matrix is transposed. Its parts have almost equal sizes before and after
    ///   ([`Partition::balanced`](crate::Partition::balanced)), or the same sizes before and after.
    /// - All GPUs have peer access to each other.
    /// - Elements have 4, 8 or 16 bytes.
    /// - Unless rows and columns have the same parts, tiles have a side that is a multiple of 16
    ///   bytes, at least 256 bytes if a block has several, and cover each part. Otherwise they cover
    ///   a core: the first rows and columns of each block, with sides that are multiples of 128
    ///   bytes, at least 256. The other elements are at most an eighth of a part and fit the
    ///   workspace. Moving the core together and apart takes up to two more passes.
    /// - No [`schedule`](Self::schedule) was set.
    ///
    /// # Errors
    /// Returns the errors of [`plan`](Self::plan). Returns [`Error::Communicator`] if the number of
    /// GPUs is not the number of ranks, and [`Error::Local`] if the driver reports an error or
    /// device memory is exhausted.
    pub fn plan_on(&self, gpus: &[Gpu]) -> Result<MultiGpu, Error> {
        let (ranks, got) = (self.ranks(), gpus.len());
        if ranks != got {
            return Err(Error::Communicator { planned: ranks, got });
        }
        let max_message = self.requested_message_bytes().unwrap_or(MESSAGE_BYTES);
        let through_host = gpus
            .iter()
            .map(|gpu| ranks_without_peer_access(gpu, gpus))
            .collect::<Result<Vec<_>, _>>();
        let through_host = through_host.map_err(cuda)?;
        let blocks = if ranks == 0 { None } else { self.stage_requests(0)?.blocks };
        let chips: Vec<_> = gpus.iter().map(Gpu::device).collect();
        let all_peers = through_host.iter().all(Vec::is_empty);
        let squares = if all_peers { fastest_tiles(self, &chips) } else { None };
        let commands = match (&blocks, &squares) {
            (Some(blocks), Some(squares)) => {
                gpu_schedule::tile_swaps(blocks, squares, self.itemsize())
            }
            (blocks, _) => gpu_schedule::copies(got, blocks.as_ref(), max_message),
        };
        let mut ranks = Vec::new();
        for (rank, (gpu, through_host)) in gpus.iter().zip(through_host).enumerate() {
            let StageRequests { bytes, local: [first, last], .. } = self.stage_requests(rank)?;
            let local = match &squares {
                Some(squares) => GpuStage::around_swap(self, squares, rank, gpu)?,
                None => [GpuStage::plan(gpu, &first)?, GpuStage::plan(gpu, &last)?],
            };
            let copied = blocks.as_ref().filter(|_| squares.is_none());
            let bounce_bytes =
                copied.map_or(0, |blocks| blocks.bounce_bytes_with_slides(rank, max_message));
            let swaps = gpu_schedule::load_swaps(gpu, rank, &commands, self.itemsize());
            let exchange = RankExchange { swaps: swaps.map_err(cuda)?, bounce_bytes, through_host };
            ranks.push(GpuRank::new(gpu, local, bytes, exchange).map_err(cuda)?);
        }
        Ok(MultiGpu { ranks, blocks, commands })
    }
}

/// Enables peer access from `gpu` to the GPUs of all ranks. Returns the ranks for which the
/// hardware does not support it.
fn ranks_without_peer_access(gpu: &Gpu, gpus: &[Gpu]) -> Result<Vec<usize>, CudaError> {
    let mut through_host = Vec::new();
    for (rank, other) in gpus.iter().enumerate() {
        if !gpu.reach(other)? {
            through_host.push(rank);
        }
    }
    Ok(through_host)
}

impl GpuRank {
    fn new(
        gpu: &Gpu,
        local: [Vec<GpuStage>; 2],
        bytes: [usize; 2],
        exchange: RankExchange,
    ) -> Result<Self, CudaError> {
        let events = || (0..EVENTS).map(|_| peers::Mark::new(gpu)).collect::<Result<Vec<_>, _>>();
        let need = local.iter().flatten().map(GpuStage::workspace_bytes).max().unwrap_or(0);
        Ok(GpuRank {
            streams: [peers::Queue::new(gpu)?, peers::Queue::new(gpu)?],
            events: [events()?, events()?],
            local,
            workspace: Buffer::new(gpu, need)?,
            bounce: Buffer::new(gpu, BOUNCE_BUFFERS * exchange.bounce_bytes)?,
            bytes,
            exchange,
        })
    }

    fn capacity(&self) -> usize {
        self.bytes[0].max(self.bytes[1])
    }
}

/// A guard for the work queued on ranks. Dropping it waits for that work, also during a panic,
/// because the memory in use may be freed next.
struct PendingWork<'a>(&'a [GpuRank]);

impl PendingWork<'_> {
    /// Waits for all streams. Returns the first error and its rank.
    fn wait(&self) -> Result<(), (usize, String)> {
        let mut result = Ok(());
        for (rank, state) in self.0.iter().enumerate() {
            for stream in &state.streams {
                let error = |error: CudaError| (rank, error.to_string());
                result = result.and(stream.wait().map_err(error));
            }
        }
        result
    }
}

impl Drop for PendingWork<'_> {
    fn drop(&mut self) {
        // If `run` has already waited, this returns at once.
        let _ = self.wait();
    }
}

impl MultiGpu {
    /// Returns the bytes that a rank's buffer needs: the larger of its parts before and after.
    ///
    /// # Panics
    /// Panics if `rank` is out of range, as do [`len`](Self::len) and
    /// [`workspace_bytes`](Self::workspace_bytes).
    pub fn capacity(&self, rank: usize) -> usize {
        self.ranks[rank].capacity()
    }

    /// Returns the bytes of a rank's part, before and after.
    pub fn len(&self, rank: usize) -> [usize; 2] {
        self.ranks[rank].bytes
    }

    /// Returns the bytes of device memory that a rank owns in addition to its part, until `self` is
    /// dropped.
    pub fn workspace_bytes(&self, rank: usize) -> usize {
        self.ranks[rank].workspace.bytes() + self.ranks[rank].bounce.bytes()
    }

    /// Returns `true` if every rank reaches the memory of all other ranks without the host.
    pub fn is_direct(&self) -> bool {
        self.ranks.iter().all(|rank| rank.exchange.through_host.is_empty())
    }

    /// Runs the redistribution and waits until it has finished.
    ///
    /// `data[r]` is the buffer of rank `r`. It has at least [`capacity`](Self::capacity) bytes, and
    /// its address is a multiple of 16. The rank's part is at its start, before and after.
    ///
    /// # Errors
    /// Moves no data and returns an error if there is not one buffer per rank, or if a buffer is too
    /// short, misaligned, or overlaps another. After [`Error::Lost`] the data are incomplete.
    ///
    /// # Safety
    /// `data[r]` must be memory of the context of the GPU that rank `r` was planned on. All work on
    /// it must have finished, and nothing else may use it during the call.
    pub unsafe fn run(&mut self, data: &[DeviceMemory]) -> Result<(), Error> {
        let data: Vec<(u64, usize)> = data.iter().map(|memory| memory.place()).collect();
        self.check(&data)?;
        let pending = PendingWork(&self.ranks);
        // SAFETY: the caller guarantees that the memory is valid and unused. `check` has verified
        // its size, its alignment and that no two buffers overlap.
        let queued = self.commands.iter().try_for_each(|command| unsafe {
            self.queue(*command, &data).map_err(|error| with_rank(command, &error))
        });
        // Wait even after an error, because earlier commands may still run.
        let ended = pending.wait();
        let lost = |(rank, why)| Error::Lost(CommError { rank, partner: rank, message: why });
        queued.and(ended).map_err(lost)
    }

    fn check(&self, data: &[(u64, usize)]) -> Result<(), Error> {
        let (planned, got) = (self.ranks.len(), data.len());
        if planned != got {
            return Err(Error::Communicator { planned, got });
        }
        for (rank, (state, &(address, have))) in self.ranks.iter().zip(data).enumerate() {
            let need = state.capacity();
            if have < need {
                return Err(Error::Short { rank, need, have });
            }
            if need > 0 && address % ALIGNMENT != 0 {
                let (what, need) = ("part", ALIGNMENT as usize);
                return Err(cuda(CudaError::Misaligned { what, address, need }));
            }
        }
        // All GPUs of a process share one address space.
        let mut spans: Vec<(u64, usize)> = self
            .ranks
            .iter()
            .map(GpuRank::capacity)
            .zip(data)
            .map(|(bytes, memory)| (memory.0, bytes))
            .filter(|span| span.1 > 0)
            .collect();
        spans.sort_unstable();
        for pair in spans.windows(2) {
            let [(address, bytes), (other_address, _)] = [pair[0], pair[1]];
            if other_address - address < bytes as u64 {
                let [what, other] = ["part", "part of another rank"];
                return Err(cuda(CudaError::Overlap { what, address, other, other_address }));
            }
        }
        Ok(())
    }

    /// Queues one command.
    ///
    /// # Safety
    /// The conditions of [`run`](Self::run) must hold until all streams have finished. Each buffer
    /// in `data` must have the capacity of its rank.
    unsafe fn queue(
        &self,
        command: GpuCommand,
        data: &[(u64, usize)],
    ) -> Result<(), turntile::Error> {
        match command {
            GpuCommand::Local { rank, step } => {
                let state = &self.ranks[rank];
                let stream = state.streams[0].raw();
                let workspace = (state.workspace.address(), state.workspace.bytes());
                for stage in &state.local[step] {
                    // SAFETY: part and workspace are in the memory of the stream's GPU. Only this
                    // stream uses them until other streams have waited for its events. `run` waits
                    // for all streams, and borrows the loaded kernels until then.
                    unsafe { stage.run(data[rank], stream, workspace)? };
                }
            }
            GpuCommand::Copy { on, to, from, bytes } => {
                let [to, from] = [to, from].map(|location| {
                    let (rank, address) = self.address(location, data);
                    (self.ranks[rank].bounce.gpu(), address)
                });
                // SAFETY: commands access only bytes of parts, workspaces and bounce buffers, and events order
                // all conflicting accesses (both are tested in `gpu_schedule`).
                unsafe { self.stream(on).copy(to, from, bytes)? };
            }
            GpuCommand::Swap { on, blocks, launch, block } => {
                let blocks = blocks.map(|location| self.address(location, data).1);
                let swaps = &self.ranks[on.0].exchange.swaps;
                if let Some((_, swap)) = swaps.iter().find(|(loaded, _)| *loaded == block) {
                    // SAFETY: the blocks are inside parts, which all GPUs reach, at multiples of
                    // 16 bytes, and have the swap's alignment there. Exactly one launch moves each
                    // byte (tested in `gpu_schedule`), and `run` waits for all launches.
                    unsafe { self.stream(on).swap(swap, launch, blocks)? };
                }
            }
            GpuCommand::Record(event) => self.stream(event.0).record(self.event(event))?,
            GpuCommand::Wait { on, event } => self.stream(on).wait_for(self.event(event))?,
        }
        Ok(())
    }

    /// Returns the rank and the device address of a location.
    fn address(&self, location: Location, data: &[(u64, usize)]) -> (usize, u64) {
        match location {
            Location::Data { rank, at } => (rank, data[rank].0 + at as u64),
            Location::Bounce { rank, bounce } => {
                let state = &self.ranks[rank];
                (rank, state.bounce.address() + (bounce * state.exchange.bounce_bytes) as u64)
            }
            Location::Workspace { rank, at } => {
                (rank, self.ranks[rank].workspace.address() + at as u64)
            }
        }
    }

    fn stream(&self, (rank, kind): StreamId) -> &peers::Queue {
        &self.ranks[rank].streams[kind as usize]
    }

    fn event(&self, ((rank, kind), index): EventId) -> &peers::Mark {
        &self.ranks[rank].events[kind as usize][index]
    }
}

fn cuda(error: CudaError) -> Error {
    turntile::Error::from(error).into()
}

/// Returns the rank of a command and the text of the error that queueing it returned.
fn with_rank(command: &GpuCommand, error: &turntile::Error) -> (usize, String) {
    let rank = match *command {
        GpuCommand::Local { rank, .. } => rank,
        GpuCommand::Copy { on, .. }
        | GpuCommand::Swap { on, .. }
        | GpuCommand::Wait { on, .. }
        | GpuCommand::Record((on, _)) => on.0,
    };
    (rank, error.to_string())
}

/// Writes the swaps of a rank, separated by semicolons.
pub fn write_swaps(swaps: &[(AlignedBlock, Swap)], f: &mut fmt::Formatter<'_>) -> fmt::Result {
    swaps.iter().enumerate().try_for_each(|(number, (_, swap))| {
        write!(f, "{}{swap}", if number == 0 { "swaps of " } else { "; " })
    })
}

#[cfg(all(test, feature = "cuda", target_os = "linux"))]
mod tests;

impl fmt::Display for MultiGpu {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (rank, state) in self.ranks.iter().enumerate() {
            let ([before, after], end) = (state.bytes, if rank == 0 { "" } else { "\n" });
            write!(f, "{end}rank {rank}: {before} bytes before, {after} after")?;
            state.local[0].iter().try_for_each(|stage| write!(f, "\n  local: {stage}"))?;
            if let Some(blocks) = &self.blocks {
                let (sent, others) = (blocks.sent_bytes(rank), blocks.ranks() - 1);
                let RankExchange { swaps, bounce_bytes, through_host } = &state.exchange;
                write!(f, "\n  exchange: {sent} bytes to {others} others, ")?;
                if swaps.is_empty() {
                    write!(f, "{bounce_bytes} at a time")?;
                }
                write_swaps(swaps, f)?;
                if !through_host.is_empty() {
                    write!(f, ", through the host to ranks {through_host:?}")?;
                }
            }
            state.local[1].iter().try_for_each(|stage| write!(f, "\n  local: {stage}"))?;
        }
        Ok(())
    }
}
