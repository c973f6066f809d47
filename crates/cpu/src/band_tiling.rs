//! How the gather pass of aligned slots in row order is cut: `docs/cpu.md`.
//!
//! A thread walks down its chunks a band of them at a time, across a band in strips of columns, and down
//! a strip chunk by chunk through a ring of two chunks. A second buffer holds the strip whose
//! columns the slots of the others end in.

use turntile_perm::{AlignedSlots, SlotOrder};
use turntile_plan::Direction;
use turntile_simd::CACHE_LINE;

use crate::chunk_gather::ChunkGather;

/// How a band is cut.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct BandTiling {
    /// Chunks of a band.
    pub chunks: usize,
    /// Columns of a strip.
    pub width: usize,
    /// Columns of the strip that is held: slots that run on from one row into the next end, or begin,
    /// there.
    pub held: usize,
}

/// Rows of a band at most, and bytes of a ring.
///
/// The rows after a band are read with it, and again with the next; the lines of two groups of strips stay in the
/// second-level cache. The ring and the rows of a chunk that it is filled from fit the first-level cache. Backward less of
/// both is better: 4093x8191, GB/s of the pass with 1024 rows and 16 KB, 1024 and 8, 768 and 8: floats in slots of 64 9.0, 9.5, 9.6;
/// elements of 8 bytes, of 64, 9.0, 10.6, 11.1; of 16 bytes, of 32, 9.7, 12.2, 13.2. Forward 8 KB are 11-28% slower, 768 rows
/// 0-18.
const fn sizes(direction: Direction) -> (usize, usize) {
    match direction {
        Direction::Forward => (1024, 16 << 10),
        Direction::Backward => (768, 8 << 10),
    }
}

/// Bytes of a row of a strip at most.
const STRIP_ROW_BYTES: usize = 256;

impl BandTiling {
    /// The longest bands of which a thread has room for `room` bytes; `None` when there is not enough
    /// for any, or slots are in another order, or longer than rows.
    pub fn within(chunks: &ChunkGather, direction: Direction, room: usize) -> Option<Self> {
        let ChunkGather { slots, elem_bytes } = chunks;
        let step = slots.strip_step();
        let (rows, ring) = sizes(direction);
        let fitting = (ring / (2 * chunks.slot_bytes())).min(STRIP_ROW_BYTES / elem_bytes);
        let width = fitting.max(1).next_multiple_of(step);
        let held = (slots.slot() - 1).max(1).next_multiple_of(step);
        let most = (rows / slots.slot()).min(BandTiling::most_parts(slots)).max(1);
        let bands = |chunks| BandTiling { chunks, width, held };
        let fits = |number: &usize| bands(*number).scratch_bytes(chunks) <= room;
        let number = (1..=most).rev().find(fits)?;
        (slots.order() == SlotOrder::Rows && held <= slots.cols()).then(|| bands(number))
    }

    /// Columns of the strips whose lines are asked for at once.
    pub fn ahead(&self, elem_bytes: usize) -> usize {
        self.width * (STRIP_ROW_BYTES / (self.width * elem_bytes)).max(1)
    }

    /// Elements from one column of a ring to the next: those of two chunks, and a line's that come after.
    pub fn ring_column(chunks: &ChunkGather) -> usize {
        2 * chunks.slots.slot() + CACHE_LINE.div_ceil(chunks.elem_bytes)
    }

    /// Bytes of a ring of a strip's columns, with a line before it and what aligns it.
    fn ring_bytes(&self, chunks: &ChunkGather) -> usize {
        2 * CACHE_LINE + self.width * BandTiling::ring_column(chunks) * chunks.elem_bytes
    }

    /// Elements of a column of the strip that is held: those of a band and of the chunk beside it.
    pub fn column(&self, slots: &AlignedSlots) -> usize {
        (self.chunks + 1) * slots.slot()
    }

    /// Bytes of a thread's two buffers.
    pub fn scratch_bytes(&self, chunks: &ChunkGather) -> usize {
        self.held * self.column(&chunks.slots) * chunks.elem_bytes + self.ring_bytes(chunks)
    }

    /// Threads that the pass has work for: the last chunk is one thread's.
    pub fn most_parts(slots: &AlignedSlots) -> usize {
        (slots.chunks() - 1).max(1)
    }

    /// Bytes that `parts` threads keep beside their buffers: what each needs of rows that are another's,
    /// which the last thread does not forward, and the last chunk's new content.
    pub fn kept_bytes(chunks: &ChunkGather, direction: Direction, parts: usize) -> usize {
        let slots = &chunks.slots;
        let (_, last) = slots.chunk_rows(slots.chunks() - 1);
        let keeping = if direction == Direction::Forward { parts - 1 } else { parts };
        let rows = keeping.saturating_mul(slots.slot() - 1).saturating_add(last);
        rows.saturating_mul(chunks.row_bytes())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn bands_fill_their_room_and_no_more() {
        let chunks = |slots| ChunkGather { slots, elem_bytes: 4 };
        for (rows, cols, slot) in [(10_007, 9973, 64), (8191, 4093, 128), (100, 40, 8)] {
            let slots = chunks(AlignedSlots::by_rows(rows, cols, slot).unwrap());
            for room in [10_000, 100_000, 1 << 20] {
                for direction in [Direction::Forward, Direction::Backward] {
                    let within = |room| BandTiling::within(&slots, direction, room);
                    let Some(bands) = within(room) else { continue };
                    let bytes = bands.scratch_bytes(&slots);
                    assert!(bytes <= room && bands.held + 1 >= slot);
                    assert_eq!(within(bytes), Some(bands));
                    assert_eq!(within(100), None);
                }
            }
            let by_columns = chunks(AlignedSlots::new(rows, cols, slot, slot).unwrap());
            assert_eq!(BandTiling::within(&by_columns, Direction::Forward, 1 << 20), None);
        }
        let slots = chunks(AlignedSlots::by_rows(100, 3, 8).unwrap());
        assert_eq!(BandTiling::within(&slots, Direction::Forward, 1 << 20), None);
    }
}
