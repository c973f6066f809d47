//! GPUs of one process as ranks, several to a GPU if wanted: one thread queues all that they do.
#![allow(unsafe_code)]

use std::fmt;

use turntile::gpu::{CudaError, DeviceMemory, Gpu, GpuTransposer};
use turntile_cuda::peers::{self, Buffer, Swap};

use crate::block_exchange::BlockExchange;
use crate::communicator::CommError;
use crate::error::Error;
use crate::gpu_schedule::{self, BOUNCES, Command, EventId, Location, MARKS, StreamId};
use crate::local::{OfBytes, Ways, planned};
use crate::redistribution::{Redistribution, Steps};
use crate::tile_choice::fastest;

/// Most bytes of a message: what crosses in it takes longer than queueing it.
const CHUNK_BYTES: usize = 16 << 20;

/// What local stages need of an address.
const ALIGNMENT: u64 = 16;

/// A [`Redistribution`] planned for GPUs of this process, one for each rank, to be run as often as wanted.
///
/// `Display` prints each rank's stages, and whether what it sends goes straight to the others' memory.
#[derive(Debug)]
pub struct MultiGpu {
    ranks: Vec<OnRank>,
    blocks: Option<BlockExchange>,
    commands: Vec<Command>,
}

#[derive(Debug)]
struct OnRank {
    // Queues first: what is dropped before the memory that they use waits for nothing, and `run` has waited.
    queues: [peers::Queue; 2],
    marks: [Vec<peers::Mark>; 2],
    local: [Vec<OfBytes<GpuTransposer>>; 2],
    workspace: Buffer,
    bounce: Buffer,
    bytes: [usize; 2],
    exchange: Exchanged,
}

/// How a rank exchanges with others.
#[derive(Debug)]
struct Exchanged {
    /// Blocks change places tile by tile.
    swap: Option<Swap>,
    /// Bytes of a buffer that copies go through.
    bounce_bytes: usize,
    /// Ranks whose memory can only be reached through the host.
    far: Vec<usize>,
}

impl Redistribution {
    /// Plans it for GPUs of this process: rank `r` is on `gpus[r]`; several ranks may be on one. Loads the kernels, lets the
    /// GPUs reach each other's memory where they can (it stays so), and allocates the workspace of each rank: the most that a
    /// local stage needs, at most 2% or 16 MiB unless a cap says else, and three buffers of a message. Threads are not used.
    ///
    /// Blocks of a matrix in equal parts change places tile by tile, in one pass and without workspace, where all GPUs reach each
    /// other: elements have 4, 8 or 16 bytes, a side of a square that divides all parts is a multiple of 16 bytes, and of 256 at
    /// least unless parts are squares themselves, and no [`way`](Self::way) was asked for.
    ///
    /// # Errors
    /// As [`plan`](Self::plan); [`Error::Communicator`] where there are not as many GPUs as ranks; [`Error::Local`] where a
    /// driver refuses or there is no memory.
    pub fn plan_on(&self, gpus: &[Gpu]) -> Result<MultiGpu, Error> {
        let (ranks, got) = (self.ranks(), gpus.len());
        if ranks != got {
            return Err(Error::Communicator { planned: ranks, got });
        }
        let chunk = self.asked_chunk().unwrap_or(CHUNK_BYTES);
        let far = gpus.iter().map(|gpu| unreached(gpu, gpus)).collect::<Result<Vec<_>, _>>();
        let far = far.map_err(cuda)?;
        let chips: Vec<_> = gpus.iter().map(Gpu::chip).collect();
        let near = far.iter().all(Vec::is_empty);
        let squares = if near { fastest(self, &chips) } else { None };
        let (mut ranks, mut all) = (Vec::new(), None);
        for (rank, (gpu, far)) in gpus.iter().zip(far).enumerate() {
            let Steps { bytes, mut local, blocks } = self.steps(rank)?;
            if let Some(squares) = &squares {
                local = [Vec::new(), self.after_squares(squares)];
            }
            let swap = squares.map(|squares| Swap::new(gpu, squares, self.elem_bytes()));
            let plan = |stages: Vec<Ways>| planned(&stages, |stage| stage.plan_on(gpu));
            let [first, last] = local.map(plan);
            let bounced = blocks.as_ref().filter(|_| squares.is_none());
            let bounce_bytes =
                bounced.map_or(0, |blocks| blocks.bounce_bytes_with_slides(rank, chunk));
            let exchange = Exchanged { swap: swap.transpose().map_err(cuda)?, bounce_bytes, far };
            ranks.push(OnRank::new(gpu, [first?, last?], bytes, exchange).map_err(cuda)?);
            all = blocks;
        }
        let commands = match (&all, &squares) {
            (Some(blocks), Some(squares)) => {
                gpu_schedule::swaps(blocks, squares, self.elem_bytes())
            }
            (blocks, _) => gpu_schedule::commands(got, blocks.as_ref(), chunk),
        };
        Ok(MultiGpu { ranks, blocks: all, commands })
    }
}

/// Ranks whose memory `gpu` can only reach through the host.
fn unreached(gpu: &Gpu, gpus: &[Gpu]) -> Result<Vec<usize>, CudaError> {
    let mut far = Vec::new();
    for (rank, other) in gpus.iter().enumerate() {
        if !gpu.reach(other)? {
            far.push(rank);
        }
    }
    Ok(far)
}

impl OnRank {
    fn new(
        gpu: &Gpu,
        local: [Vec<OfBytes<GpuTransposer>>; 2],
        bytes: [usize; 2],
        exchange: Exchanged,
    ) -> Result<Self, CudaError> {
        let marks = || (0..MARKS).map(|_| peers::Mark::new(gpu)).collect::<Result<Vec<_>, _>>();
        let need =
            local.iter().flatten().map(|(_, stage)| stage.workspace_bytes()).max().unwrap_or(0);
        Ok(OnRank {
            queues: [peers::Queue::new(gpu)?, peers::Queue::new(gpu)?],
            marks: [marks()?, marks()?],
            local,
            workspace: Buffer::new(gpu, need)?,
            bounce: Buffer::new(gpu, BOUNCES * exchange.bounce_bytes)?,
            bytes,
            exchange,
        })
    }

    fn capacity(&self) -> usize {
        self.bytes[0].max(self.bytes[1])
    }
}

/// What is queued on these ranks: it is waited for whatever happens, a panic included, since the memory may be freed then.
struct UnderWay<'a>(&'a [OnRank]);

impl UnderWay<'_> {
    /// Waits for all queues. The first that ended badly, with its rank.
    fn wait(&self) -> Result<(), (usize, String)> {
        let mut ended = Ok(());
        for (rank, on) in self.0.iter().enumerate() {
            for queue in &on.queues {
                let why = |why: CudaError| (rank, why.to_string());
                ended = ended.and(queue.wait().map_err(why));
            }
        }
        ended
    }
}

impl Drop for UnderWay<'_> {
    fn drop(&mut self) {
        // Where `run` has waited, nothing is left.
        let _ = self.wait();
    }
}

impl MultiGpu {
    /// Bytes that a rank's memory needs: the larger of its parts before and after.
    ///
    /// # Panics
    /// When there is no such rank; so do the others.
    pub fn capacity(&self, rank: usize) -> usize {
        self.ranks[rank].capacity()
    }

    /// Bytes of a rank's part before and after.
    pub fn len(&self, rank: usize) -> [usize; 2] {
        self.ranks[rank].bytes
    }

    /// Bytes of device memory that a rank has beside its part, as long as this lives.
    pub fn workspace_bytes(&self, rank: usize) -> usize {
        self.ranks[rank].workspace.bytes() + self.ranks[rank].bounce.bytes()
    }

    /// Whether every rank reaches all others' memory without the host.
    pub fn is_direct(&self) -> bool {
        self.ranks.iter().all(|rank| rank.exchange.far.is_empty())
    }

    /// Runs it, and waits until it is done. `data[r]` begins with the part of rank `r`, and ends with it: it has
    /// [`capacity`](Self::capacity) bytes or more, at a multiple of 16.
    ///
    /// # Errors
    /// Nothing has moved: there is not one memory for each rank, or one is too short, not aligned, or overlaps another. After
    /// [`Error::Lost`] the data are incomplete.
    ///
    /// # Safety
    /// `data[r]` is memory of the context of the GPU that rank `r` was planned on. All work on it has ended, and nothing else
    /// uses it meanwhile.
    pub unsafe fn run(&mut self, data: &[DeviceMemory]) -> Result<(), Error> {
        let data: Vec<(u64, usize)> = data.iter().map(|memory| memory.place()).collect();
        self.check(&data)?;
        let under_way = UnderWay(&self.ranks);
        // SAFETY: the caller answers for the memory, which was compared with what is needed.
        let queued = self.commands.iter().try_for_each(|command| unsafe {
            self.queue(*command, &data).map_err(|why| lost(command, &why))
        });
        // Whatever went wrong: a part may be under way.
        let ended = under_way.wait();
        let lost = |(rank, why)| Error::Lost(CommError { rank, partner: rank, why });
        queued.and(ended).map_err(lost)
    }

    fn check(&self, data: &[(u64, usize)]) -> Result<(), Error> {
        let (planned, got) = (self.ranks.len(), data.len());
        if planned != got {
            return Err(Error::Communicator { planned, got });
        }
        for (rank, (on, &(address, have))) in self.ranks.iter().zip(data).enumerate() {
            let need = on.capacity();
            if have < need {
                return Err(Error::Short { rank, need, have });
            }
            if need > 0 && address % ALIGNMENT != 0 {
                let (what, need) = ("part", ALIGNMENT as usize);
                return Err(cuda(CudaError::Misaligned { what, address, need }));
            }
        }
        // Addresses are of one space for all GPUs.
        let mut places: Vec<(u64, usize)> = self
            .ranks
            .iter()
            .map(OnRank::capacity)
            .zip(data)
            .map(|(bytes, place)| (place.0, bytes))
            .filter(|place| place.1 > 0)
            .collect();
        places.sort_unstable();
        for pair in places.windows(2) {
            let [(address, bytes), (other_address, _)] = [pair[0], pair[1]];
            if other_address - address < bytes as u64 {
                let [what, other] = ["part", "part of another rank"];
                return Err(cuda(CudaError::Overlap { what, address, other, other_address }));
            }
        }
        Ok(())
    }

    /// # Safety
    /// As of [`run`](Self::run), until all queues are done; `data` have as many bytes as their ranks need.
    unsafe fn queue(&self, command: Command, data: &[(u64, usize)]) -> Result<(), turntile::Error> {
        match command {
            Command::Local { rank, step } => {
                let on = &self.ranks[rank];
                let stream = on.queues[0].raw();
                let workspace = (on.workspace.address(), on.workspace.bytes());
                for (range, stage) in &on.local[step] {
                    let part = (data[rank].0 + range.start as u64, range.len());
                    // SAFETY: part and workspace are of the GPU of the stream, and only this queue uses them until other
                    // queues have waited for its marks; `run` waits, and borrows what was loaded.
                    unsafe { stage.run_with(part, stream, workspace)? };
                }
            }
            Command::Copy { on, to, from, bytes } => {
                let [to, from] = [to, from].map(|spot| {
                    let (rank, address) = self.place(spot, data);
                    (self.ranks[rank].bounce.gpu(), address)
                });
                // SAFETY: the commands keep to the bytes of parts and buffers, in the order of the marks (`queues` tests both).
                unsafe { self.on(on).copy(to, from, bytes)? };
            }
            Command::Swap { on, blocks, launch } => {
                let blocks = blocks.map(|spot| self.place(spot, data).1);
                if let Some(swap) = &self.ranks[on.0].exchange.swap {
                    // SAFETY: blocks of parts, which all GPUs reach, at multiples of 16; the commands give every byte to one
                    // launch (`queues` tests it), and `run` waits for all.
                    unsafe { self.on(on).swap(swap, launch, blocks)? };
                }
            }
            Command::Record(mark) => self.on(mark.0).record(self.mark(mark))?,
            Command::Wait { on, mark } => self.on(on).wait_for(self.mark(mark))?,
        }
        Ok(())
    }

    /// A spot's rank, and its address.
    fn place(&self, spot: Location, data: &[(u64, usize)]) -> (usize, u64) {
        match spot {
            Location::Data { rank, at } => (rank, data[rank].0 + at as u64),
            Location::Bounce { rank, bounce } => {
                let on = &self.ranks[rank];
                (rank, on.bounce.address() + (bounce * on.exchange.bounce_bytes) as u64)
            }
        }
    }

    fn on(&self, (rank, side): StreamId) -> &peers::Queue {
        &self.ranks[rank].queues[side as usize]
    }

    fn mark(&self, ((rank, side), number): EventId) -> &peers::Mark {
        &self.ranks[rank].marks[side as usize][number]
    }
}

fn cuda(error: CudaError) -> Error {
    turntile::Error::from(error).into()
}

fn lost(command: &Command, why: &turntile::Error) -> (usize, String) {
    let rank = match *command {
        Command::Local { rank, .. } => rank,
        Command::Copy { on, .. }
        | Command::Swap { on, .. }
        | Command::Wait { on, .. }
        | Command::Record((on, _)) => on.0,
    };
    (rank, why.to_string())
}

#[cfg(all(
    test,
    feature = "cuda",
    target_os = "linux",
    any(target_arch = "x86_64", target_arch = "aarch64")
))]
mod tests;

impl fmt::Display for MultiGpu {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (rank, on) in self.ranks.iter().enumerate() {
            let ([before, after], end) = (on.bytes, if rank == 0 { "" } else { "\n" });
            write!(f, "{end}rank {rank}: {before} bytes before, {after} after")?;
            on.local[0]
                .iter()
                .try_for_each(|(_, stage)| write!(f, "\n  local: {}", stage.plan()))?;
            if let Some(blocks) = &self.blocks {
                let (sent, others) = (blocks.crossing(rank), blocks.ranks() - 1);
                let Exchanged { swap, bounce_bytes, far } = &on.exchange;
                write!(f, "\n  exchange: {sent} bytes to {others} others, ")?;
                match swap {
                    Some(swap) => write!(f, "tiles change places in {swap}")?,
                    None => write!(f, "{bounce_bytes} at a time")?,
                }
                if !far.is_empty() {
                    write!(f, ", through the host to ranks {far:?}")?;
                }
            }
            on.local[1]
                .iter()
                .try_for_each(|(_, stage)| write!(f, "\n  local: {}", stage.plan()))?;
        }
        Ok(())
    }
}
