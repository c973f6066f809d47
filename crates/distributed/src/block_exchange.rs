//! The exchange: every rank's memory is a row of blocks, one for each rank; block `j` of rank `r` and block `r` of rank `j`
//! change places, of whatever sizes, in place.
//!
//! Rank `r` has `b_r` indices of the axis that is cut before and `t_r` of the one after, so that with `U` bytes for each pair
//! block `j` has `b_r·t_j·U` bytes before and `b_j·t_r·U` after.
//!
//! 1. As many bytes as both blocks of a pair have change places, pairs in rounds: in round `k` the partners add up to `k`
//!    modulo `P`.
//! 2. What a block has more goes from ranks of high `b/t` to those of low. They receive one after the other in rising `b/t`: a
//!    rank has then sent all that it had too much, slides what it has to its place, and has room.

use std::cmp::Ordering;
use std::ops::Range;

use turntile_perm::Partition;

use crate::communicator::{CommError, Communicator};

/// A step of a rank in the exchange; bytes are counted in its buffer.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Message {
    /// These bytes go to the partner, and as many of it come in their place.
    Swap {
        /// The other rank.
        partner: usize,
        /// The bytes.
        at: Range<usize>,
    },
    /// Bytes go to another place of the same buffer, which may overlap with this one.
    Slide {
        /// Where they begin.
        from: usize,
        /// Where they will.
        to: usize,
        /// How many.
        bytes: usize,
    },
    /// These bytes go to the partner.
    Send {
        /// The other rank.
        partner: usize,
        /// The bytes.
        at: Range<usize>,
    },
    /// The partner's come here.
    Receive {
        /// The other rank.
        partner: usize,
        /// The bytes.
        at: Range<usize>,
    },
}

/// The blocks of all ranks before and after.
#[derive(Clone, Debug)]
pub struct BlockExchange {
    before: Partition,
    after: Partition,
    /// Bytes of a pair of indices.
    pair: usize,
}

impl BlockExchange {
    pub fn new(before: Partition, after: Partition, pair: usize) -> Self {
        BlockExchange { before, after, pair }
    }

    pub fn ranks(&self) -> usize {
        self.before.ranks()
    }

    /// Bytes that rank `r` has for rank `j`.
    pub fn bytes(&self, r: usize, j: usize) -> usize {
        self.before.len(r) * self.after.len(j) * self.pair
    }

    /// Where those begin in rank `r`.
    pub fn begin(&self, r: usize, j: usize) -> usize {
        self.before.len(r) * self.after.begin(j) * self.pair
    }

    /// Where those from rank `j` begin in rank `r` at the end.
    pub fn begin_after(&self, r: usize, j: usize) -> usize {
        self.after.len(r) * self.before.begin(j) * self.pair
    }

    /// Bytes that change places between ranks `r` and `j`.
    pub fn mutual(&self, r: usize, j: usize) -> usize {
        self.bytes(r, j).min(self.bytes(j, r))
    }

    /// Bytes that rank `r` sends to others.
    pub fn crossing(&self, r: usize) -> usize {
        (self.after.extent() - self.after.len(r)) * self.before.len(r) * self.pair
    }

    /// Bytes of the largest message of at most `chunk` that changes places with another: what is sent is copied to a buffer of
    /// as many.
    pub fn bounce_bytes(&self, r: usize, chunk: usize) -> usize {
        let others = (0..self.ranks()).filter(|&j| j != r);
        others.map(|j| self.mutual(r, j)).max().unwrap_or(0).min(chunk)
    }

    /// Of a buffer that also takes, piece by piece, what slides to where it overlaps with itself.
    pub fn bounce_bytes_with_slides(&self, r: usize, chunk: usize) -> usize {
        (0..self.ranks()).map(|j| self.mutual(r, j)).max().unwrap_or(0).min(chunk)
    }

    /// Ranks in rising `b/t`; those that end with nothing come last.
    pub fn receivers(&self) -> Vec<usize> {
        let parts = |r| (self.before.len(r) as u128, self.after.len(r) as u128);
        let rising = |&a: &usize, &b: &usize| match (parts(a), parts(b)) {
            ((_, 0), (_, 0)) => Ordering::Equal,
            ((b, t), (c, u)) => (b * u).cmp(&(c * t)),
        };
        let mut order: Vec<usize> = (0..self.ranks()).collect();
        // Those with nothing after compare as infinite with all others: of two alike either may be first.
        order.sort_by_key(|&r| self.after.len(r) == 0);
        let ends = order.partition_point(|&r| self.after.len(r) > 0);
        order[..ends].sort_by(rising);
        order
    }

    /// Who changes blocks with `r` in a round, of as many as there are ranks; perhaps `r` itself.
    pub fn partner(&self, r: usize, round: usize) -> usize {
        (round + self.ranks() - r) % self.ranks()
    }

    /// Who change blocks with each other in a round.
    pub fn pairs(&self, round: usize) -> impl Iterator<Item = (usize, usize)> {
        let pairs = (0..self.ranks()).map(move |a| (a, self.partner(a, round)));
        pairs.filter(|(a, b)| a < b)
    }

    /// What rank `r` does in the exchange, in messages of at most `chunk` bytes.
    pub fn transfers(&self, r: usize, chunk: usize) -> impl Iterator<Item = Message> + '_ {
        let others = move || (0..self.ranks()).filter(move |&j| j != r);
        let pieces = move |begin: usize, bytes: usize| {
            (0..bytes).step_by(chunk).map(move |done| begin + done..begin + bytes.min(done + chunk))
        };
        let partners = (0..self.ranks()).map(move |round| self.partner(r, round));
        let swaps = partners.filter(move |&partner| partner != r).flat_map(move |partner| {
            let own = pieces(self.begin(r, partner), self.mutual(r, partner));
            own.map(move |at| Message::Swap { partner, at })
        });
        let sends = move |partner: usize| {
            let mutual = self.mutual(r, partner);
            let rest = pieces(self.begin(r, partner) + mutual, self.bytes(r, partner) - mutual);
            rest.map(move |at| Message::Send { partner, at })
        };
        let slides =
            move || self.slides(r).map(|(from, to, bytes)| Message::Slide { from, to, bytes });
        let receives = move |partner: usize| {
            let (mutual, begin) = (self.mutual(r, partner), self.begin_after(r, partner));
            let rest = pieces(begin + mutual, self.bytes(partner, r) - mutual);
            rest.map(move |at| Message::Receive { partner, at })
        };
        let turns = self.receivers().into_iter().flat_map(move |receiver| {
            let sent = (receiver != r).then(|| sends(receiver));
            let received = (receiver == r).then(|| slides().chain(others().flat_map(receives)));
            sent.into_iter().flatten().chain(received.into_iter().flatten())
        });
        swaps.chain(turns)
    }

    /// Exchanges the blocks of this rank in messages of at most `chunk` bytes; `bounce` has
    /// [`bounce_bytes`](Self::bounce_bytes).
    pub fn exchange(
        &self,
        exchange: &mut impl Communicator,
        data: &mut [u8],
        bounce: &mut [u8],
        chunk: usize,
    ) -> Result<(), CommError> {
        for transfer in self.transfers(exchange.rank(), chunk) {
            match transfer {
                Message::Swap { partner, at } => {
                    let own = &mut data[at];
                    let sent = &mut bounce[..own.len()];
                    sent.copy_from_slice(own);
                    exchange.exchange(partner, sent, own)?;
                }
                Message::Slide { from, to, bytes } => data.copy_within(from..from + bytes, to),
                Message::Send { partner, at } => exchange.exchange(partner, &data[at], &mut [])?,
                Message::Receive { partner, at } => {
                    exchange.exchange(partner, &[], &mut data[at])?;
                }
            }
        }
        Ok(())
    }

    /// How blocks of rank `r` slide from where they were to where they will be: from, to, bytes, one after the other. Both are in
    /// the order of ranks, so those that go down, from the first, and then those that go up, from the last, are in nobody's way.
    pub fn slides(&self, r: usize) -> impl Iterator<Item = (usize, usize, usize)> {
        let slide = move |j| (self.begin(r, j), self.begin_after(r, j), self.mutual(r, j));
        let some = |slide: &(usize, usize, usize)| slide.2 > 0;
        let down = (0..self.ranks()).map(slide).filter(|(from, to, _)| to < from);
        let up = (0..self.ranks()).rev().map(slide).filter(|(from, to, _)| to > from);
        down.chain(up).filter(some)
    }
}
