//! The block exchange between GPUs as a list of asynchronous commands, which one thread queues for
//! all ranks.
//!
//! Every rank has two streams. The *local* stream runs its local stages and the copies within its
//! memory. The *send* stream runs copies to other ranks. Events order the streams.
//!
//! A swap message is sent to one of the partner's [`BOUNCE_BUFFERS`] bounce buffers, which are used
//! in rotation. Once the partner's own message has been sent, the partner's local stream copies the
//! bounce buffer over that message.

use turntile::gpu::{CudaError, Gpu};
use turntile_cuda::peers::{PeerBlock, Swap, SwapHalf};

use crate::block_exchange::BlockExchange;
use crate::peer_squares::{Border, PeerSquares};

/// Number of bounce buffers per rank, for received messages.
pub const BOUNCE_BUFFERS: usize = 3;

/// Number of events per stream. Event `n < BOUNCE_BUFFERS` records that bounce buffer `n` is free.
/// Event `BOUNCE_BUFFERS` records the end of the commands queued so far.
pub const EVENTS: usize = BOUNCE_BUFFERS + 1;

/// Index of the event that records the end of the commands queued so far.
const END: usize = BOUNCE_BUFFERS;

/// A stream: its rank and its kind.
pub type StreamId = (usize, StreamKind);

/// One of the two streams of a rank.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum StreamKind {
    /// Local stages and copies within the rank's memory.
    Local,
    /// Copies to or from other ranks, and swaps with them.
    Send,
}

/// An event: its stream, and its index below [`EVENTS`].
pub type EventId = (StreamId, usize);

/// A start address: a byte offset into a rank's data or workspace, or one of its bounce buffers.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Location {
    Data { rank: usize, at: usize },
    Bounce { rank: usize, bounce: usize },
    Workspace { rank: usize, at: usize },
}

/// A block, and the alignment in bytes of itself and of its mirror block.
pub type AlignedBlock = (PeerBlock, usize);

/// An asynchronous operation on a stream.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum GpuCommand {
    /// Runs the local stages of a rank on its local stream. `step` is 0 for the stages before the
    /// exchange and 1 for those after it.
    Local {
        rank: usize,
        step: usize,
    },
    Copy {
        on: StreamId,
        to: Location,
        from: Location,
        bytes: usize,
    },
    /// Launches one half of the swap of two blocks: of their tiles, each transposed, or of their
    /// bytes. For [`SwapHalf::Own`], transposes the tiles of one block. `block` is the first block,
    /// and the alignment of both in bytes, at most 16.
    Swap {
        on: StreamId,
        blocks: [Location; 2],
        launch: SwapHalf,
        block: AlignedBlock,
    },
    /// Records the event at the current end of its stream.
    Record(EventId),
    /// Makes all later commands of stream `on` wait for the latest recording of the event.
    Wait {
        on: StreamId,
        event: EventId,
    },
}

/// Returns the commands that swap square tiles between ranks, and transpose those that stay.
///
/// Each rank of a pair launches one half of their swap. With a border, each rank first runs a local
/// stage, then fetches its new border from all ranks to its workspace. If local stages follow, each
/// rank runs them after all other ranks have finished with its memory.
pub fn tile_swaps(
    blocks: &BlockExchange,
    squares: &PeerSquares,
    elem_bytes: usize,
) -> Vec<GpuCommand> {
    let ranks = blocks.ranks();
    let mut builder = Builder { commands: Vec::new(), max_message: 0, bounce_uses: Vec::new() };
    let begin = |rank, other| (rank, squares.begin(other) * elem_bytes);
    if let Some(border) = &squares.border {
        (0..ranks).for_each(|rank| builder.push(GpuCommand::Local { rank, step: 0 }));
        for rank in 0..ranks {
            (0..ranks).for_each(|other| {
                builder.wait_for_all((rank, StreamKind::Send), (other, StreamKind::Local));
            });
        }
        for (to, ahead) in (0..ranks).flat_map(|to| (0..ranks).map(move |ahead| (to, ahead))) {
            builder.fetch_border(border, to, (to + ahead) % ranks, elem_bytes);
        }
    }
    for rank in 0..ranks {
        let (on, blocks) = ((rank, StreamKind::Local), [begin(rank, rank); 2]);
        builder.swap_blocks(on, blocks, SwapHalf::Own, squares.block(rank, rank));
    }
    for (a, b) in (0..ranks).flat_map(|round| blocks.pairs(round)) {
        builder.swap_pair([begin(a, b), begin(b, a)], squares.block(a, b));
    }
    if squares.after().is_some() || squares.border.is_some() {
        for rank in 0..ranks {
            (0..ranks).for_each(|other| {
                builder.wait_for_all((rank, StreamKind::Local), (other, StreamKind::Send));
            });
            builder.push(GpuCommand::Local { rank, step: 1 });
        }
    }
    builder.commands
}

/// Returns the commands that swap the bytes that both blocks of each pair of ranks have. Each rank
/// of a pair swaps half of them.
pub fn byte_swaps(blocks: &BlockExchange) -> Vec<GpuCommand> {
    let mut builder = Builder { commands: Vec::new(), max_message: 0, bounce_uses: Vec::new() };
    for (a, b) in (0..blocks.ranks()).flat_map(|round| blocks.pairs(round)) {
        let ends = [(a, blocks.offset_before(a, b)), (b, blocks.offset_before(b, a))];
        let bytes = blocks.swapped_bytes(a, b);
        builder.swap_pair(ends, (bytes > 0).then_some(PeerBlock::Run(bytes)));
    }
    builder.commands
}

/// Loads the swaps among `commands` of one rank, each once.
pub fn load_swaps(
    gpu: &Gpu,
    rank: usize,
    commands: &[GpuCommand],
    elem_bytes: usize,
) -> Result<Vec<(AlignedBlock, Swap)>, CudaError> {
    let mut swaps: Vec<(AlignedBlock, Swap)> = Vec::new();
    for command in commands {
        match *command {
            GpuCommand::Swap { on, block, .. }
                if on.0 == rank && swaps.iter().all(|(other, _)| *other != block) =>
            {
                swaps.push((block, Swap::new(gpu, block.0, elem_bytes, block.1)?));
            }
            _ => {}
        }
    }
    Ok(swaps)
}

/// Returns the commands that run the local stages of `ranks` ranks and exchange `blocks` in
/// messages of at most `max_message` bytes.
pub fn copies(ranks: usize, blocks: Option<&BlockExchange>, max_message: usize) -> Vec<GpuCommand> {
    let mut builder = Builder { commands: Vec::new(), max_message, bounce_uses: vec![0; ranks] };
    (0..ranks).for_each(|rank| builder.push(GpuCommand::Local { rank, step: 0 }));
    if let Some(blocks) = blocks {
        (0..ranks)
            .for_each(|r| builder.wait_for_all((r, StreamKind::Send), (r, StreamKind::Local)));
        for round in 0..ranks {
            builder.round(blocks, round);
        }
        for receiver in blocks.receivers() {
            builder.receive_surplus(blocks, receiver);
        }
        (0..ranks)
            .for_each(|r| builder.wait_for_all((r, StreamKind::Local), (r, StreamKind::Send)));
    }
    (0..ranks).for_each(|rank| builder.push(GpuCommand::Local { rank, step: 1 }));
    builder.commands
}

struct Builder {
    commands: Vec<GpuCommand>,
    max_message: usize,
    /// Number of messages queued so far that each rank receives through bounce buffers.
    bounce_uses: Vec<usize>,
}

impl Builder {
    fn push(&mut self, command: GpuCommand) {
        self.commands.push(command);
    }

    /// Queues a launch of the swap of two blocks, each a rank and the byte offset in its data.
    fn swap_blocks(
        &mut self,
        on: StreamId,
        blocks: [(usize, usize); 2],
        launch: SwapHalf,
        block: Option<PeerBlock>,
    ) {
        let Some(block) = block else { return };
        let alignment = 1 << blocks.iter().fold(4, |power, (_, at)| power.min(at.trailing_zeros()));
        let blocks = blocks.map(|(rank, at)| Location::Data { rank, at });
        self.push(GpuCommand::Swap { on, blocks, launch, block: (block, alignment) });
    }

    /// Queues the copy of the border that rank `to` gets from rank `from`.
    fn fetch_border(&mut self, border: &Border, to: usize, from: usize, elem_bytes: usize) {
        let (source, result) = (border.source(from), border.result(to));
        let at = source.core_len() + source.border(to);
        let [bytes, at, begin] =
            [result.border(from + 1) - result.border(from), at, result.border(from)]
                .map(|elements| elements * elem_bytes);
        if bytes > 0 {
            self.push(GpuCommand::Copy {
                on: (to, StreamKind::Send),
                to: Location::Workspace { rank: to, at: begin },
                from: Location::Data { rank: from, at },
                bytes,
            });
        }
    }

    /// Queues both halves of the swap of two ranks' blocks, one on each rank.
    fn swap_pair(&mut self, blocks: [(usize, usize); 2], block: Option<PeerBlock>) {
        for ((rank, _), launch) in blocks.into_iter().zip([SwapHalf::First, SwapHalf::Second]) {
            self.swap_blocks((rank, StreamKind::Send), blocks, launch, block);
        }
    }

    /// Makes all later commands of `stream` wait for all earlier commands of `other`.
    fn wait_for_all(&mut self, stream: StreamId, other: StreamId) {
        let event = (other, END);
        self.push(GpuCommand::Record(event));
        self.push(GpuCommand::Wait { on: stream, event });
    }

    /// Queues the swaps of one round. The pairs' messages alternate, so that no pair waits until
    /// all messages of another pair are queued.
    fn round(&mut self, blocks: &BlockExchange, round: usize) {
        let pairs: Vec<_> = blocks.pairs(round).collect();
        let longest = pairs.iter().map(|&(a, b)| blocks.swapped_bytes(a, b)).max().unwrap_or(0);
        for done in (0..longest).step_by(self.max_message) {
            for &(a, b) in &pairs {
                let left = blocks.swapped_bytes(a, b).saturating_sub(done);
                let bytes = left.min(self.max_message);
                if bytes > 0 {
                    let ends = [
                        (a, blocks.offset_before(a, b) + done),
                        (b, blocks.offset_before(b, a) + done),
                    ];
                    self.swap(ends, bytes);
                }
            }
        }
    }

    /// Queues one swap message between two ranks. `ends` are the two ranks, each with the byte
    /// offset in its data.
    fn swap(&mut self, ends: [(usize, usize); 2], bytes: usize) {
        let bounces = ends.map(|(rank, _)| {
            self.bounce_uses[rank] += 1;
            (self.bounce_uses[rank] - 1) % BOUNCE_BUFFERS
        });
        for (from, to) in [(0, 1), (1, 0)] {
            let ((sender, at), (receiver, _), bounce) = (ends[from], ends[to], bounces[to]);
            let on = (sender, StreamKind::Send);
            if self.bounce_uses[receiver] > BOUNCE_BUFFERS {
                self.push(GpuCommand::Wait { on, event: ((receiver, StreamKind::Local), bounce) });
            }
            let (to, from) =
                (Location::Bounce { rank: receiver, bounce }, Location::Data { rank: sender, at });
            self.push(GpuCommand::Copy { on, to, from, bytes });
            self.push(GpuCommand::Record((on, END)));
        }
        for ((rank, at), bounce) in ends.into_iter().zip(bounces) {
            let on = (rank, StreamKind::Local);
            for (rank, _) in ends {
                self.push(GpuCommand::Wait { on, event: ((rank, StreamKind::Send), END) });
            }
            let (to, from) = (Location::Data { rank, at }, Location::Bounce { rank, bounce });
            self.push(GpuCommand::Copy { on, to, from, bytes });
            self.push(GpuCommand::Record((on, bounce)));
        }
    }

    /// Queues the slides of rank `r`'s blocks to their final offsets, then the copies of the
    /// surplus of larger blocks from other ranks.
    fn receive_surplus(&mut self, blocks: &BlockExchange, r: usize) {
        let (local, send) = ((r, StreamKind::Local), (r, StreamKind::Send));
        let mut slides = blocks.slides(r).peekable();
        let senders: Vec<usize> = (0..blocks.ranks())
            .filter(|&s| s != r && blocks.block_bytes(s, r) > blocks.swapped_bytes(s, r))
            .collect();
        if slides.peek().is_none() && senders.is_empty() {
            return;
        }
        self.wait_for_all(local, send);
        for (from, to, bytes) in slides {
            self.slide(r, [from, to], bytes);
        }
        self.push(GpuCommand::Record((local, END)));
        for sender in senders {
            let (on, swapped) = ((sender, StreamKind::Send), blocks.swapped_bytes(sender, r));
            self.push(GpuCommand::Wait { on, event: (local, END) });
            let from =
                Location::Data { rank: sender, at: blocks.offset_before(sender, r) + swapped };
            let to = Location::Data { rank: r, at: blocks.offset_after(r, sender) + swapped };
            let bytes = blocks.block_bytes(sender, r) - swapped;
            self.push(GpuCommand::Copy { on, to, from, bytes });
            self.wait_for_all(local, on);
        }
    }

    /// Queues a move of bytes within a rank's data, in pieces through a bounce buffer if source and
    /// destination overlap.
    fn slide(&mut self, rank: usize, [from, to]: [usize; 2], bytes: usize) {
        let (on, bounce) = ((rank, StreamKind::Local), Location::Bounce { rank, bounce: 0 });
        let at = |at| Location::Data { rank, at };
        if from.abs_diff(to) >= bytes {
            return self.push(GpuCommand::Copy { on, to: at(to), from: at(from), bytes });
        }
        let pieces = (0..bytes).step_by(self.max_message);
        let pieces: Vec<usize> = if to < from { pieces.collect() } else { pieces.rev().collect() };
        for done in pieces {
            let bytes = self.max_message.min(bytes - done);
            self.push(GpuCommand::Copy { on, to: bounce, from: at(from + done), bytes });
            self.push(GpuCommand::Copy { on, to: at(to + done), from: bounce, bytes });
        }
    }
}

#[cfg(test)]
mod tests;
