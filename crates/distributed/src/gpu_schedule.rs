//! The exchange of blocks as one thread queues it for all ranks: copies on queues that a device works off by itself, in an
//! order that marks keep.
//!
//! Every rank has two queues: *own* for its local stages and what is copied within its memory, *out* for what it sends. What
//! changes places is sent to one of the partner's buffers, `BOUNCES` in turn; from there the partner's own queue copies it to
//! where the partner's message was, once that has been sent.

use turntile_cuda::peers::Launch;
use turntile_perm::PeerSquares;

use crate::block_exchange::BlockExchange;

/// Buffers of a rank for what it receives.
pub const BOUNCES: usize = 3;

/// Marks of a queue: of each bounce, when it is empty again; the last, of all that was queued.
pub const MARKS: usize = BOUNCES + 1;

/// A rank's queue.
pub type StreamId = (usize, StreamKind);

/// Which of its queues.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum StreamKind {
    Own,
    Out,
}

/// A moment of a queue: its number, below [`MARKS`].
pub type EventId = (StreamId, usize);

/// Bytes into a rank's data, or into one of its bounces.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Location {
    Data { rank: usize, at: usize },
    Bounce { rank: usize, bounce: usize },
}

/// What is queued, in this order.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Command {
    /// A rank's local stages, before the exchange (0) or after it (1), on its own queue.
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
    /// What makes squares of two blocks change places, each transposed.
    Swap {
        on: StreamId,
        blocks: [Location; 2],
        launch: Launch,
    },
    /// The mark is now the moment at the end of its queue.
    Record(EventId),
    /// What the queue gets from here on waits for what the mark is now.
    Wait {
        on: StreamId,
        mark: EventId,
    },
}

/// All that is queued where these squares change places, of elements of so many bytes, each pair of ranks a half each; then,
/// where something is left to do, each rank does it once nobody else uses its memory.
pub fn swaps(blocks: &BlockExchange, squares: &PeerSquares, elem_bytes: usize) -> Vec<Command> {
    let ranks = blocks.ranks();
    let mut queued = Queued { commands: Vec::new(), chunk: 0, filled: Vec::new() };
    let block = |rank, other| Location::Data { rank, at: squares.begin(other) * elem_bytes };
    for rank in 0..ranks {
        let (on, blocks) = ((rank, StreamKind::Own), [block(rank, rank); 2]);
        queued.push(Command::Swap { on, blocks, launch: Launch::Own });
    }
    for (a, b) in (0..ranks).flat_map(|round| blocks.pairs(round)) {
        for (rank, launch) in [(a, Launch::First), (b, Launch::Second)] {
            let (on, blocks) = ((rank, StreamKind::Out), [block(a, b), block(b, a)]);
            queued.push(Command::Swap { on, blocks, launch });
        }
    }
    if squares.after().is_some() {
        for rank in 0..ranks {
            (0..ranks)
                .for_each(|other| queued.order((rank, StreamKind::Own), (other, StreamKind::Out)));
            queued.push(Command::Local { rank, step: 1 });
        }
    }
    queued.commands
}

/// All that is queued for `ranks` ranks, in messages of at most `chunk` bytes.
pub fn commands(ranks: usize, blocks: Option<&BlockExchange>, chunk: usize) -> Vec<Command> {
    let mut queued = Queued { commands: Vec::new(), chunk, filled: vec![0; ranks] };
    (0..ranks).for_each(|rank| queued.push(Command::Local { rank, step: 0 }));
    if let Some(blocks) = blocks {
        (0..ranks).for_each(|r| queued.order((r, StreamKind::Out), (r, StreamKind::Own)));
        for round in 0..ranks {
            queued.round(blocks, round);
        }
        for receiver in blocks.receivers() {
            queued.receive(blocks, receiver);
        }
        (0..ranks).for_each(|r| queued.order((r, StreamKind::Own), (r, StreamKind::Out)));
    }
    (0..ranks).for_each(|rank| queued.push(Command::Local { rank, step: 1 }));
    queued.commands
}

struct Queued {
    commands: Vec<Command>,
    chunk: usize,
    /// How often bounces of each rank were filled.
    filled: Vec<usize>,
}

impl Queued {
    fn push(&mut self, command: Command) {
        self.commands.push(command);
    }

    /// What `on` gets from here on waits for all that `of` has.
    fn order(&mut self, on: StreamId, of: StreamId) {
        let mark = (of, BOUNCES);
        self.push(Command::Record(mark));
        self.push(Command::Wait { on, mark });
    }

    /// Messages of all pairs of a round in turn, so that no pair waits until others are queued.
    fn round(&mut self, blocks: &BlockExchange, round: usize) {
        let pairs: Vec<_> = blocks.pairs(round).collect();
        let most = pairs.iter().map(|&(a, b)| blocks.mutual(a, b)).max().unwrap_or(0);
        for done in (0..most).step_by(self.chunk) {
            for &(a, b) in &pairs {
                let bytes = blocks.mutual(a, b).saturating_sub(done).min(self.chunk);
                if bytes > 0 {
                    let ends = [(a, blocks.begin(a, b) + done), (b, blocks.begin(b, a) + done)];
                    self.swap(ends, bytes);
                }
            }
        }
    }

    fn swap(&mut self, ends: [(usize, usize); 2], bytes: usize) {
        let bounces = ends.map(|(rank, _)| {
            self.filled[rank] += 1;
            (self.filled[rank] - 1) % BOUNCES
        });
        for (from, to) in [(0, 1), (1, 0)] {
            let ((sender, at), (receiver, _), bounce) = (ends[from], ends[to], bounces[to]);
            let on = (sender, StreamKind::Out);
            if self.filled[receiver] > BOUNCES {
                self.push(Command::Wait { on, mark: ((receiver, StreamKind::Own), bounce) });
            }
            let (to, from) =
                (Location::Bounce { rank: receiver, bounce }, Location::Data { rank: sender, at });
            self.push(Command::Copy { on, to, from, bytes });
            self.push(Command::Record((on, BOUNCES)));
        }
        for ((rank, at), bounce) in ends.into_iter().zip(bounces) {
            let on = (rank, StreamKind::Own);
            for (rank, _) in ends {
                self.push(Command::Wait { on, mark: ((rank, StreamKind::Out), BOUNCES) });
            }
            let (to, from) = (Location::Data { rank, at }, Location::Bounce { rank, bounce });
            self.push(Command::Copy { on, to, from, bytes });
            self.push(Command::Record((on, bounce)));
        }
    }

    /// What a rank receives without sending as much, after its blocks slid to where they end.
    fn receive(&mut self, blocks: &BlockExchange, r: usize) {
        let (own, out) = ((r, StreamKind::Own), (r, StreamKind::Out));
        let mut slides = blocks.slides(r).peekable();
        let senders: Vec<usize> = (0..blocks.ranks())
            .filter(|&s| s != r && blocks.bytes(s, r) > blocks.mutual(s, r))
            .collect();
        if slides.peek().is_none() && senders.is_empty() {
            return;
        }
        self.order(own, out);
        for (from, to, bytes) in slides {
            self.slide(r, [from, to], bytes);
        }
        self.push(Command::Record((own, BOUNCES)));
        for sender in senders {
            let (on, mutual) = ((sender, StreamKind::Out), blocks.mutual(sender, r));
            self.push(Command::Wait { on, mark: (own, BOUNCES) });
            let from = Location::Data { rank: sender, at: blocks.begin(sender, r) + mutual };
            let to = Location::Data { rank: r, at: blocks.begin_after(r, sender) + mutual };
            self.push(Command::Copy { on, to, from, bytes: blocks.bytes(sender, r) - mutual });
            self.order(own, on);
        }
    }

    /// By way of a bounce where the two places overlap.
    fn slide(&mut self, rank: usize, [from, to]: [usize; 2], bytes: usize) {
        let (on, bounce) = ((rank, StreamKind::Own), Location::Bounce { rank, bounce: 0 });
        let at = |at| Location::Data { rank, at };
        if from.abs_diff(to) >= bytes {
            return self.push(Command::Copy { on, to: at(to), from: at(from), bytes });
        }
        let pieces = (0..bytes).step_by(self.chunk);
        let pieces: Vec<usize> = if to < from { pieces.collect() } else { pieces.rev().collect() };
        for done in pieces {
            let bytes = self.chunk.min(bytes - done);
            self.push(Command::Copy { on, to: bounce, from: at(from + done), bytes });
            self.push(Command::Copy { on, to: at(to + done), from: bounce, bytes });
        }
    }
}

#[cfg(test)]
mod tests;
