//! In-place all-to-all exchange between ranks, of blocks of any size.
//!
//! Every rank stores one block per rank, in rank order. Block `j` of rank `r` swaps with block `r`
//! of rank `j`.
//!
//! Rank `r` has `b_r` indices of the axis that is partitioned before, and `t_r` indices of the axis
//! that is partitioned after. With `U` bytes per pair of indices, block `j` has `b_r·t_j·U` bytes
//! before and `b_j·t_r·U` bytes after.
//!
//! 1. Each pair of ranks swaps the starts of its two blocks, over the length of the smaller one.
//!    Pairs are scheduled in rounds: in round `k` the two ranks of a pair add up to `k` modulo `P`,
//!    the number of ranks.
//! 2. The surplus of the larger block is sent one way, from ranks with a high `b/t` to ranks with a
//!    low `b/t`. Ranks receive one after another in increasing `b/t`. By then a rank has sent its
//!    own surplus. It slides its blocks to their final offsets, which makes room for the surplus.

use std::cmp::Ordering;
use std::ops::Range;

use crate::communicator::{CommError, Communicator};
use crate::partition::Partition;

/// One step of the exchange on one rank. All offsets are bytes into the rank's buffer.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Message {
    /// Sends these bytes to the partner and replaces them with the bytes that the partner sends.
    Swap {
        /// The other rank.
        partner: usize,
        /// Byte range in this rank's buffer.
        at: Range<usize>,
    },
    /// Moves bytes within this rank's buffer. Source and destination may overlap.
    Slide {
        /// Byte offset of the source.
        from: usize,
        /// Byte offset of the destination.
        to: usize,
        /// Number of bytes.
        bytes: usize,
    },
    /// Sends these bytes to the partner.
    Send {
        /// The other rank.
        partner: usize,
        /// Byte range in this rank's buffer.
        at: Range<usize>,
    },
    /// Receives bytes from the partner.
    Receive {
        /// The other rank.
        partner: usize,
        /// Byte range in this rank's buffer.
        at: Range<usize>,
    },
}

/// Sizes and offsets of the blocks of all ranks, before and after the exchange.
#[derive(Clone, Debug)]
pub struct BlockExchange {
    before: Partition,
    after: Partition,
    /// Bytes per pair of indices, one of each partitioned axis.
    bytes_per_pair: usize,
}

impl BlockExchange {
    pub fn new(before: Partition, after: Partition, bytes_per_pair: usize) -> Self {
        BlockExchange { before, after, bytes_per_pair }
    }

    pub fn ranks(&self) -> usize {
        self.before.ranks()
    }

    /// Returns the size in bytes of the block that rank `r` has for rank `j` before the exchange.
    pub fn block_bytes(&self, r: usize, j: usize) -> usize {
        self.before.len(r) * self.after.len(j) * self.bytes_per_pair
    }

    /// Returns the byte offset in rank `r`'s data of its block for rank `j`, before the exchange.
    pub fn offset_before(&self, r: usize, j: usize) -> usize {
        self.before.len(r) * self.after.begin(j) * self.bytes_per_pair
    }

    /// Returns the byte offset in rank `r`'s data of the block from rank `j`, after the exchange.
    pub fn offset_after(&self, r: usize, j: usize) -> usize {
        self.after.len(r) * self.before.begin(j) * self.bytes_per_pair
    }

    /// Returns the number of bytes that ranks `r` and `j` each send in their swap: the size of the
    /// smaller block of the pair.
    pub fn swapped_bytes(&self, r: usize, j: usize) -> usize {
        self.block_bytes(r, j).min(self.block_bytes(j, r))
    }

    /// Returns the number of bytes that rank `r` sends to other ranks.
    pub fn sent_bytes(&self, r: usize) -> usize {
        (self.after.extent() - self.after.len(r)) * self.before.len(r) * self.bytes_per_pair
    }

    /// Returns the bytes of the bounce buffer of rank `r`, to which a swap copies the bytes that it
    /// sends: the largest swap message, at most `max_message`.
    pub fn bounce_bytes(&self, r: usize, max_message: usize) -> usize {
        let others = (0..self.ranks()).filter(|&j| j != r);
        others.map(|j| self.swapped_bytes(r, j)).max().unwrap_or(0).min(max_message)
    }

    /// Returns the bytes of a bounce buffer of rank `r` for swaps and for overlapping slides, in
    /// pieces of at most `max_message` bytes.
    pub fn bounce_bytes_with_slides(&self, r: usize, max_message: usize) -> usize {
        let all = (0..self.ranks()).map(|j| self.swapped_bytes(r, j));
        all.max().unwrap_or(0).min(max_message)
    }

    /// Returns all ranks in the order in which they receive surplus: in increasing `b/t`. Ranks
    /// whose part is empty after the exchange come last.
    pub fn receivers(&self) -> Vec<usize> {
        let parts = |r| (self.before.len(r) as u128, self.after.len(r) as u128);
        let by_ratio = |&a: &usize, &b: &usize| match (parts(a), parts(b)) {
            ((_, 0), (_, 0)) => Ordering::Equal,
            ((b, t), (c, u)) => (b * u).cmp(&(c * t)),
        };
        let mut order: Vec<usize> = (0..self.ranks()).collect();
        // With t = 0 the ratio is infinite, or undefined if b = 0 too: such ranks are not sorted.
        order.sort_by_key(|&r| self.after.len(r) == 0);
        let end = order.partition_point(|&r| self.after.len(r) > 0);
        order[..end].sort_by(by_ratio);
        order
    }

    /// Returns the rank, possibly `r` itself, that `r` exchanges blocks with in a round. The number
    /// of rounds is the number of ranks.
    pub fn partner(&self, r: usize, round: usize) -> usize {
        (round + self.ranks() - r) % self.ranks()
    }

    /// Returns the pairs of different ranks that exchange blocks in a round.
    pub fn pairs(&self, round: usize) -> impl Iterator<Item = (usize, usize)> {
        let pairs = (0..self.ranks()).map(move |a| (a, self.partner(a, round)));
        pairs.filter(|(a, b)| a < b)
    }

    /// Returns the steps of rank `r` in the exchange, in messages of at most `max_message` bytes.
    pub fn messages(&self, r: usize, max_message: usize) -> impl Iterator<Item = Message> + '_ {
        let others = move || (0..self.ranks()).filter(move |&j| j != r);
        let pieces = move |begin: usize, bytes: usize| {
            (0..bytes)
                .step_by(max_message)
                .map(move |done| begin + done..begin + bytes.min(done + max_message))
        };
        let partners = (0..self.ranks()).map(move |round| self.partner(r, round));
        let swaps = partners.filter(move |&partner| partner != r).flat_map(move |partner| {
            let own = pieces(self.offset_before(r, partner), self.swapped_bytes(r, partner));
            own.map(move |at| Message::Swap { partner, at })
        });
        let sends = move |partner: usize| {
            let swapped = self.swapped_bytes(r, partner);
            let surplus = self.block_bytes(r, partner) - swapped;
            let pieces = pieces(self.offset_before(r, partner) + swapped, surplus);
            pieces.map(move |at| Message::Send { partner, at })
        };
        let slides =
            move || self.slides(r).map(|(from, to, bytes)| Message::Slide { from, to, bytes });
        let receives = move |partner: usize| {
            let swapped = self.swapped_bytes(r, partner);
            let surplus = self.block_bytes(partner, r) - swapped;
            let pieces = pieces(self.offset_after(r, partner) + swapped, surplus);
            pieces.map(move |at| Message::Receive { partner, at })
        };
        let one_way = self.receivers().into_iter().flat_map(move |receiver| {
            let sent = (receiver != r).then(|| sends(receiver));
            let received = (receiver == r).then(|| slides().chain(others().flat_map(receives)));
            sent.into_iter().flatten().chain(received.into_iter().flatten())
        });
        swaps.chain(one_way)
    }

    /// Exchanges the blocks of this rank in messages of at most `max_message` bytes. `bounce` holds
    /// the bytes that a swap sends, and has [`bounce_bytes`](Self::bounce_bytes) bytes.
    pub fn exchange(
        &self,
        comm: &mut impl Communicator,
        data: &mut [u8],
        bounce: &mut [u8],
        max_message: usize,
    ) -> Result<(), CommError> {
        for message in self.messages(comm.rank(), max_message) {
            match message {
                Message::Swap { partner, at } => {
                    let own = &mut data[at];
                    let sent = &mut bounce[..own.len()];
                    sent.copy_from_slice(own);
                    comm.exchange(partner, sent, own)?;
                }
                Message::Slide { from, to, bytes } => data.copy_within(from..from + bytes, to),
                Message::Send { partner, at } => comm.exchange(partner, &data[at], &mut [])?,
                Message::Receive { partner, at } => {
                    comm.exchange(partner, &[], &mut data[at])?;
                }
            }
        }
        Ok(())
    }

    /// Returns the slides of rank `r` as `(from, to, bytes)`, with byte offsets in its data, in the
    /// order in which they must run.
    ///
    /// Blocks are in rank order before and after. Blocks that move down slide first, in increasing
    /// rank. Blocks that move up follow, in decreasing rank. So no slide overwrites a block that
    /// has not moved yet.
    pub fn slides(&self, r: usize) -> impl Iterator<Item = (usize, usize, usize)> {
        let slide =
            move |j| (self.offset_before(r, j), self.offset_after(r, j), self.swapped_bytes(r, j));
        let non_empty = |slide: &(usize, usize, usize)| slide.2 > 0;
        let down = (0..self.ranks()).map(slide).filter(|(from, to, _)| to < from);
        let up = (0..self.ranks()).rev().map(slide).filter(|(from, to, _)| to > from);
        down.chain(up).filter(non_empty)
    }
}
