//! Moves on their way: settled, asked for and made, each some way ahead of the next.

use std::iter::Fuse;

use crate::cycle_walk::UnitMove;

/// Moves that are settled, and then made, at a time (20000x12000, super-elements of 640 bytes: 11.9 GB/s with
/// bursts of 64, 12.3 with 16).
pub const BURST: usize = 16;

/// Bytes of super-elements whose lines are asked for ahead of the one that moves.
const AHEAD: usize = 32 << 10;

/// The same in super-elements, at most.
const MOST_AHEAD: usize = 128;

/// Moves in order, and for each what has to be asked for while it is made.
pub struct Lookahead<I> {
    moves: Fuse<I>,
    /// Super-elements that are asked for ahead.
    ahead: usize,
    /// Those settled, the next one to be made first.
    settled: [UnitMove; BURST + MOST_AHEAD],
    len: usize,
    burst: [(UnitMove, usize); BURST],
}

impl<I: Iterator<Item = UnitMove>> Lookahead<I> {
    /// Of `moves` of super-elements of `unit_bytes` bytes.
    pub fn new(moves: I, unit_bytes: usize) -> Self {
        let mut queue = Lookahead {
            moves: moves.fuse(),
            ahead: (AHEAD / unit_bytes).clamp(1, MOST_AHEAD),
            settled: [UnitMove::default(); BURST + MOST_AHEAD],
            len: 0,
            burst: [(UnitMove::default(), 0); BURST],
        };
        queue.settle();
        queue
    }

    fn settle(&mut self) {
        let room = &mut self.settled[self.len..BURST + self.ahead];
        for (place, settled) in room.iter_mut().zip(&mut self.moves) {
            *place = settled;
            self.len += 1;
        }
    }

    /// What has to be asked for before the first move is made.
    pub fn first(&self) -> impl Iterator<Item = usize> {
        self.settled[..self.len.min(self.ahead)].iter().map(|next| next.from)
    }

    /// The next moves, none after the last, each with what to ask for meanwhile: at the end what it reads itself.
    pub fn burst(&mut self) -> &[(UnitMove, usize)] {
        let count = self.len.min(BURST);
        for (k, place) in self.burst[..count].iter_mut().enumerate() {
            let ahead = if k + self.ahead < self.len { k + self.ahead } else { k };
            *place = (self.settled[k], self.settled[ahead].from);
        }
        self.settled.copy_within(count..self.len, 0);
        self.len -= count;
        self.settle();
        &self.burst[..count]
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Every move comes once, in order, and what it reads is asked for before.
    #[test]
    fn moves_come_in_order_and_are_asked_for() {
        for unit_bytes in [1, 300, 5000, 1 << 20] {
            for count in [0, 1, 2, 15, 16, 17, 63, 1000] {
                let moves = (0..count).map(|k| UnitMove { from: k, to: k + 1 });
                let mut queue = Lookahead::new(moves, unit_bytes);
                let (ahead, mut made) = (queue.ahead, 0);
                assert!(queue.first().eq(0..count.min(ahead)));
                loop {
                    let burst = queue.burst();
                    if burst.is_empty() {
                        break;
                    }
                    for &(next, ask) in burst {
                        assert_eq!(next, UnitMove { from: made, to: made + 1 });
                        assert_eq!(ask, if made + ahead < count { made + ahead } else { made });
                        made += 1;
                    }
                }
                assert_eq!(made, count);
            }
        }
    }
}
