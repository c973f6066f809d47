//! A GPU as a rank, next to ranks of other processes of its host whose memory it maps.
#![allow(unsafe_code)]

use std::ffi::c_void;
use std::panic::{self, AssertUnwindSafe};
use std::{fmt, fs, mem};

use turntile::gpu::{CudaError, Gpu, is_capturing};
use turntile_cuda::peers::{Mapping, Queue, Swap};

use crate::barrier::Barrier;
use crate::block_exchange::Message;
use crate::communicator::{CommError, Communicator};
use crate::error::Error;
use crate::gpu_schedule::{self, AlignedBlock, GpuCommand, Location};
use crate::gpu_stage::{ALIGNMENT, GpuStage};
use crate::gpus::{MESSAGE_BYTES, write_swaps};
use crate::processes::{self, Exported, Offer};
use crate::rank_plan::{gather, hash};
use crate::redistribution::{Redistribution, StageRequests};
use crate::tile_choice::fastest_tiles;

/// A [`Redistribution`] planned for one buffer of this process's GPU, with the buffers of all other
/// ranks mapped. The ranks are processes of one host.
///
/// All ranks drop it only after all have finished their last run: see [`close`](Self::close). Each
/// rank's buffer must not be freed before all ranks have dropped theirs.
#[derive(Debug)]
pub struct MappedRank {
    /// Number that is equal on all ranks.
    request: u64,
    rank: usize,
    gpu: Gpu,
    /// Buffer of this rank: address, length in bytes, and the driver's number of its allocation.
    buffer: (u64, usize, u64),
    /// Address of each rank's buffer in this process.
    addresses: Vec<u64>,
    _mappings: Vec<Mapping>,
    work: Work,
    /// Barrier of all ranks, or the reason why they wait for each other by `Communicator`. Declared
    /// after the mappings, which are closed when a rank leaves the barrier.
    barrier: Result<Barrier, String>,
    /// `true` after a failed message, for which another rank may wait.
    lost_message: bool,
}

/// Result of [`Redistribution::connect`], of the same kind on all ranks.
#[derive(Debug)]
pub enum Connection {
    /// All ranks map the memory of all others.
    Mapped(Box<MappedRank>),
    /// Memory cannot be mapped, for this reason.
    Messages(String),
}

/// Work of this rank.
#[derive(Debug)]
struct Work {
    /// One stream for blocks that stay, and one for blocks that ranks swap and for borders.
    queues: [Queue; 2],
    /// The rank's swaps and copies of the schedule.
    commands: Vec<GpuCommand>,
    swaps: Vec<(AlignedBlock, Swap)>,
    /// `true` if ranks have stages before the swaps; the same on all ranks.
    stages_first: bool,
    /// Local stages before and after the swaps and messages. A rank with one row or none may have
    /// none of the former.
    local: [Vec<GpuStage>; 2],
    /// Messages after the swaps.
    messages: Vec<Message>,
    /// Bytes of the largest message that overlapping slides are cut to.
    bounce_bytes: usize,
}

impl Work {
    /// Returns the work of a rank and a number that identifies its tiles, or the reason why ranks
    /// exchange messages.
    fn plan(
        change: &Redistribution,
        rank: usize,
        gpu: &Gpu,
    ) -> Result<Result<(Self, usize), &'static str>, Error> {
        let StageRequests { local: [first, last], blocks, .. } = change.stage_requests(rank)?;
        let Some(blocks) = blocks.filter(|blocks| blocks.ranks() > 1) else {
            return Ok(Err("no data cross"));
        };
        let (tiles, itemsize) = (fastest_tiles(change, &[gpu.device()]), change.itemsize());
        let mut commands = match &tiles {
            Some(tiles) => gpu_schedule::tile_swaps(&blocks, tiles, itemsize),
            None => gpu_schedule::byte_swaps(&blocks),
        };
        let max_message = change.requested_message_bytes().unwrap_or(MESSAGE_BYTES);
        let mut messages = Vec::new();
        if tiles.is_none() {
            let after = |message: &Message| !matches!(message, Message::Swap { .. });
            messages = blocks.messages(rank, max_message).filter(after).collect();
        }
        let limits = gpu.device().limits();
        let lowers = |command: &GpuCommand| match *command {
            GpuCommand::Swap { block: (block, alignment), .. } => {
                Swap::lower(block, itemsize, alignment, limits).is_ok()
            }
            _ => true,
        };
        if !commands.iter().all(lowers) {
            return Ok(Err("blocks are not multiples of 4 bytes"));
        }
        commands.retain(|command| match command {
            GpuCommand::Swap { on, .. } | GpuCommand::Copy { on, .. } => on.0 == rank,
            _ => false,
        });
        let slides = messages.iter().any(|message| matches!(message, Message::Slide { .. }));
        let bounce_bytes =
            if slides { blocks.bounce_bytes_with_slides(rank, max_message) } else { 0 };
        let local = match &tiles {
            Some(tiles) => GpuStage::around_swap(change, tiles, rank, gpu)?,
            None => [GpuStage::plan(gpu, &first)?, GpuStage::plan(gpu, &last)?],
        };
        let stages_first = tiles.as_ref().is_none_or(|tiles| tiles.border.is_some());
        let load = || -> Result<_, CudaError> {
            let queues = [Queue::new(gpu)?, Queue::new(gpu)?];
            let swaps = gpu_schedule::load_swaps(gpu, rank, &commands, itemsize)?;
            Ok(Work { queues, commands, swaps, stages_first, local, messages, bounce_bytes })
        };
        // Blocks of one rectangle have no side.
        let side = tiles.map_or(0, |tiles| tiles.squares.map_or(1, |squares| squares.sides[0]));
        Ok(Ok((load().map_err(turntile::Error::from)?, side)))
    }

    fn workspace_bytes(&self) -> usize {
        let stages = self.local.iter().flatten();
        stages.map(GpuStage::workspace_bytes).max().unwrap_or(0)
    }
}

impl Redistribution {
    /// Plans the redistribution for the GPU of this process, and maps the memory of all other ranks
    /// if they are processes of this host. Collective: all ranks call it.
    ///
    /// `buffer` is the address, a multiple of 16, and the length in bytes of this rank's buffer,
    /// which must stay allocated until all ranks have dropped the result. `begin` is called with the
    /// bytes of workspace that runs need, and of the buffer that the caller needs for overlapping
    /// slides.
    ///
    /// # Errors
    /// Returns the errors of [`agree`](Self::agree), `gpu` and `begin`. No data have moved.
    ///
    /// # Panics
    /// Panics if planning panics, after the other ranks have been notified.
    pub fn connect(
        &self,
        comm: &mut impl Communicator,
        gpu: impl FnOnce() -> Result<Gpu, turntile::Error>,
        buffer: (u64, usize),
        begin: impl FnOnce(usize, usize) -> Result<(), turntile::Error>,
    ) -> Result<Connection, Error> {
        let (rank, got) = (comm.rank(), comm.size());
        let planned = self.ranks();
        let prepare = || match planned == got {
            true => Ready::new(self, rank, gpu()?, buffer, begin),
            false => Err(Error::Communicator { planned, got }),
        };
        // Other ranks wait for this rank's offer, even if planning panics.
        let ready = panic::catch_unwind(AssertUnwindSafe(prepare));
        let made = ready.as_ref().ok().and_then(|ready| ready.as_ref().ok());
        let request = hash(&self.signature());
        let own = Offer {
            request,
            bytes: [made.map_or(0, |ready| ready.need as u64), buffer.1 as u64],
            host: host(),
            page: 0,
            side: made.map_or(0, |ready| ready.side as u64),
            memory: made.map(|ready| match &ready.memory {
                Ok((exported, ..)) => Ok(*exported),
                Err(why) => Err(why.clone()),
            }),
        };
        let connected = processes::connect(comm, own, |_, (handle, offset)| {
            let gpu = &made.ok_or("this rank has no GPU")?.gpu;
            let mapping = Mapping::open(gpu, handle).map_err(|error| error.to_string())?;
            Ok((mapping.address() + offset, mapping))
        });
        let Ready { gpu, memory, .. } =
            ready.unwrap_or_else(|panic| panic::resume_unwind(panic))?;
        let ((mapped, barrier), id, work) = match (connected?, memory) {
            (Ok(mapped), Ok((_, id, work))) => (mapped, id, work),
            (Err(why), _) | (_, Err(why)) => return Ok(Connection::Messages(why)),
        };
        let address = |mapped: &Option<(u64, Mapping)>| {
            mapped.as_ref().map_or(buffer.0, |(address, _)| *address)
        };
        Ok(Connection::Mapped(Box::new(MappedRank {
            request,
            rank,
            gpu,
            buffer: (buffer.0, buffer.1, id),
            addresses: mapped.iter().map(address).collect(),
            _mappings: mapped.into_iter().flatten().map(|(_, mapping)| mapping).collect(),
            work,
            barrier,
            lost_message: false,
        })))
    }
}

/// A rank that has planned its work.
struct Ready {
    gpu: Gpu,
    /// Required bytes of the buffer.
    need: usize,
    /// Number that identifies the tiles, equal on all ranks.
    side: usize,
    /// The buffer as others map it, the number of its allocation, and the work on it; or the reason
    /// why ranks exchange messages.
    memory: Result<(Exported, u64, Work), String>,
}

impl Ready {
    fn new(
        change: &Redistribution,
        rank: usize,
        gpu: Gpu,
        buffer: (u64, usize),
        begin: impl FnOnce(usize, usize) -> Result<(), turntile::Error>,
    ) -> Result<Self, Error> {
        let [before, after] = change.stage_requests(rank)?.bytes;
        let need = before.max(after);
        let (work, side) = match Work::plan(change, rank, &gpu)? {
            Ok(work) => work,
            Err(why) => return Ok(Ready { gpu, need, side: 0, memory: Err(why.into()) }),
        };
        if !buffer.0.is_multiple_of(ALIGNMENT) {
            let (address, need) = (buffer.0, ALIGNMENT as usize);
            let error = CudaError::Misaligned { what: "buffer", address, need };
            return Err(turntile::Error::from(error).into());
        }
        begin(work.workspace_bytes(), work.bounce_bytes)?;
        if need == 0 {
            // An empty part may be in an allocation, which no rank maps.
            let id = gpu.allocation_id(buffer.0).unwrap_or(0);
            return Ok(Ready { memory: Ok((([0; 64], 0), id, work)), gpu, need, side });
        }
        let export = || -> Result<_, CudaError> {
            Ok((gpu.export(buffer.0)?, gpu.allocation_id(buffer.0)?))
        };
        let memory = match export() {
            _ if host() == 0 => Err(format!("cannot read {BOOT_ID}")),
            Err(error) => Err(error.to_string()),
            Ok((exported, _)) if exported.bytes < need => {
                Err(format!("the buffer needs {need} bytes of one allocation"))
            }
            Ok((exported, id)) => Ok(((exported.handle, exported.offset), id, work)),
        };
        Ok(Ready { gpu, need, side, memory })
    }
}

/// File with a random number of this host, until it restarts.
const BOOT_ID: &str = "/proc/sys/kernel/random/boot_id";

/// Returns a number that identifies this host until it restarts, or 0 if it is unknown.
fn host() -> u64 {
    let number = |id: Vec<u8>| hash(&id.into_iter().map(usize::from).collect::<Vec<_>>());
    fs::read(BOOT_ID).map_or(0, number)
}

impl MappedRank {
    /// Runs the redistribution on this rank's buffer. Collective: all ranks call it.
    ///
    /// `transfer` runs or queues one message on this rank's buffer. The result is complete in the
    /// order of `stream`.
    ///
    /// # Errors
    /// Moves no data and returns an error on all ranks if the buffer of one is another than the one
    /// that was mapped, if its workspace is too short or misaligned, if its stream is captured, if it has dropped the plan, if its process has
    /// ended, or if it does not run this plan before [`Communicator::keep_waiting`] returns an error
    /// on another. After [`Error::Lost`] the data are incomplete.
    ///
    /// # Safety
    /// `stream` and `workspace` (address and bytes) belong to the primary context of this rank's
    /// GPU; the workspace has [`workspace_bytes`](Self::workspace_bytes) bytes at a multiple of 16.
    /// Nothing else uses buffer and workspace until the stream's work has finished.
    pub unsafe fn run<C: Communicator>(
        &mut self,
        comm: &mut C,
        buffer: (u64, usize),
        stream: *mut c_void,
        workspace: (u64, usize),
        mut transfer: impl FnMut(&mut C, &Message) -> Result<(), CommError>,
    ) -> Result<(), Error> {
        let local = |stages: &[GpuStage]| {
            stages.iter().try_for_each(|stage| {
                let part = (self.buffer.0, self.buffer.1);
                // SAFETY: the caller vouches for stream and workspace. Before the first and after
                // the last `finish` only this rank uses its buffer.
                unsafe { stage.run(part, stream, workspace) }
            })
        };
        let Work { local: [first, last], stages_first, messages, .. } = &self.work;
        // SAFETY: the caller vouches for the stream.
        let ended = || unsafe { self.gpu.wait(stream) }.map_err(turntile::Error::from);
        // SAFETY: as above.
        let ready = match unsafe { is_capturing(stream) } {
            true => Err(Error::Capturing),
            false => self.check(buffer).and_then(|()| self.check_workspace(workspace)),
        };
        let ready = ready.and_then(|()| if *stages_first { Ok(()) } else { Ok(ended()?) });
        processes::confirm(|own| self.gather(comm, own), self.request, ready)?;
        if *stages_first {
            let done = local(first).and_then(|()| ended()).map_err(|error| error.to_string());
            processes::finish(|own| self.gather(comm, own), self.rank, done)?;
        }
        // SAFETY: all ranks have agreed, and have finished their work on the buffers.
        let queued = unsafe { self.queue(workspace.0) };
        let swapped = self.wait();
        let done = queued.and(swapped).map_err(|error| error.to_string());
        processes::finish(|own| self.gather(comm, own), self.rank, done)?;
        let sent = messages.iter().try_for_each(|message| transfer(comm, message));
        let rank = self.rank;
        let lost = |message| CommError { rank, partner: rank, message };
        let done = sent.map(|()| local(last).map_err(|error| lost(error.to_string())));
        self.lost_message |= done.is_err();
        done.flatten().map_err(Error::Lost)
    }

    fn gather(&self, comm: &mut impl Communicator, own: u64) -> Result<Vec<u64>, Error> {
        match &self.barrier {
            Ok(barrier) => {
                barrier.gather(own, |waited| comm.keep_waiting(waited)).map_err(Error::Unreachable)
            }
            Err(_) => gather(comm, own),
        }
    }

    /// Queues this rank's swaps and copies.
    ///
    /// # Safety
    /// No rank's buffer, and not the workspace at this address, is used otherwise until the swaps
    /// of all ranks have ended.
    unsafe fn queue(&self, workspace: u64) -> Result<(), CudaError> {
        let Work { queues, commands, swaps, .. } = &self.work;
        let address = |location| match location {
            Location::Data { rank, at } => self.addresses[rank] + at as u64,
            Location::Workspace { at, .. } => workspace + at as u64,
            // Ranks that map their memory use no bounce buffer.
            Location::Bounce { .. } => 0,
        };
        for command in commands {
            match *command {
                GpuCommand::Swap { on, blocks, launch, block } => {
                    let Some((_, swap)) = swaps.iter().find(|(loaded, _)| *loaded == block) else {
                        continue;
                    };
                    // SAFETY: blocks are inside the buffers, at multiples of 16 bytes, and have the
                    // swap's alignment there. Exactly one launch of all ranks moves each byte
                    // (tested in `gpu_schedule`).
                    unsafe { queues[on.1 as usize].swap(swap, launch, blocks.map(address))? };
                }
                GpuCommand::Copy { on, to, from, bytes } => {
                    let [to, from] = [to, from].map(|location| (&self.gpu, address(location)));
                    // SAFETY: the copy reads a border, which no swap moves, and writes to this
                    // rank's workspace (tested in `gpu_schedule`).
                    unsafe { queues[on.1 as usize].copy(to, from, bytes)? };
                }
                _ => {}
            }
        }
        Ok(())
    }

    fn check(&self, (address, bytes): (u64, usize)) -> Result<(), Error> {
        // An empty part has no allocation.
        let id = self.gpu.allocation_id(address).unwrap_or(0);
        let same = (address, bytes, id) == self.buffer;
        if same { Ok(()) } else { Err(Error::OtherBuffer { rank: self.rank, address }) }
    }

    /// Checks the workspace before the copies of a border write to it.
    fn check_workspace(&self, (address, have): (u64, usize)) -> Result<(), Error> {
        let need = self.workspace_bytes();
        let error = match () {
            () if need == 0 => return Ok(()),
            () if have < need => CudaError::Workspace { need, have },
            () if !address.is_multiple_of(ALIGNMENT) => {
                CudaError::Misaligned { what: "workspace", address, need: ALIGNMENT as usize }
            }
            () => return Ok(()),
        };
        Err(turntile::Error::from(error).into())
    }

    /// Waits for this rank's swaps. An error also means that they have ended.
    fn wait(&self) -> Result<(), CudaError> {
        self.work.queues.each_ref().map(Queue::wait).into_iter().collect()
    }

    /// Unmaps the memory of the other ranks, and waits until all ranks have done so. Collective.
    ///
    /// After a message has failed, it waits for no rank, since another one may wait for the message.
    /// Messages come after all use of mapped memory.
    ///
    /// # Errors
    /// [`Error::StillMapped`]: other ranks may still map this rank's buffer.
    pub fn close(mut self, comm: &mut impl Communicator) -> Result<(), Error> {
        let (request, waits) = (!self.request, !self.lost_message);
        let barrier = mem::replace(&mut self.barrier, Err(String::new()));
        drop(self);
        match barrier {
            _ if !waits => Ok(()),
            Ok(barrier) => {
                barrier.close(|waited| comm.keep_waiting(waited)).map_err(Error::StillMapped)
            }
            Err(_) => match processes::confirm(|own| gather(comm, own), request, Ok(())) {
                Err(Error::Unreachable(error)) => Err(Error::StillMapped(error)),
                closed => closed,
            },
        }
    }

    /// Returns the bytes of workspace that a run needs.
    pub fn workspace_bytes(&self) -> usize {
        self.work.workspace_bytes()
    }
}

impl Drop for MappedRank {
    fn drop(&mut self) {
        let _ = self.wait();
    }
}

impl fmt::Display for MappedRank {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "rank {}: memory of all ranks is mapped", self.rank)?;
        if let Err(why) = &self.barrier {
            write!(f, "; they wait for each other by messages: {why}")?;
        }
        let local = |f: &mut fmt::Formatter<'_>, stages: &[GpuStage]| {
            stages.iter().try_for_each(|stage| write!(f, "\n  local: {stage}"))
        };
        let Work { swaps, local: [first, last], messages, .. } = &self.work;
        local(f, first)?;
        f.write_str("\n  ")?;
        write_swaps(swaps, f)?;
        if !messages.is_empty() {
            write!(f, ", then {} messages", messages.len())?;
        }
        local(f, last)
    }
}

#[cfg(all(test, feature = "cuda", target_os = "linux"))]
mod tests;
