//! Division of the row-order gather pass of aligned slots into bands and strips of columns.
//!
//! Threads process their chunks band by band, bands strip by strip of columns, and strips chunk by
//! chunk through a ring of two chunks. The boundary strip has its own buffer. It contains the first
//! columns (forward), in which slots that cross a row end stop, or the last (backward), in which
//! they start.

use turntile_perm::{AlignedSlots, SlotOrder};
use turntile_plan::Direction;
use turntile_simd::CACHE_LINE;

use crate::chunk_gather::ChunkGather;

/// Division of a gather pass into bands and strips.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct BandTiling {
    /// Number of chunks per band.
    pub chunks: usize,
    /// Number of columns per strip.
    pub width: usize,
    /// Number of columns of the boundary strip. Slots that extend into the next row end in the
    /// first strip (forward) or start in the last one (backward).
    pub boundary: usize,
}

/// Returns the preferred maxima of a band's rows and of a ring buffer's bytes, as a pair.
///
/// Data of the rows next to a band, after it (forward) or before it (backward), are read twice. The
/// cache lines of two groups of strips fit the second-level cache. The ring, and the rows of a
/// chunk that fill it, fit the first-level cache. 4093x8191, GB/s backward with 1024 rows and 16
/// KiB, 1024 and 8 KiB, 768 and 8 KiB: 4-byte elements in slots of 64: 9.0, 9.5, 9.6; 8-byte in
/// slots of 64: 9.0, 10.6, 11.1; 16-byte in slots of 32: 9.7, 12.2, 13.2. Forward, 8 KiB is 11-28%
/// slower, 768 rows 0-18%.
const fn sizes(direction: Direction) -> (usize, usize) {
    match direction {
        Direction::Forward => (1024, 16 << 10),
        Direction::Backward => (768, 8 << 10),
    }
}

/// Preferred maximum bytes per row of a strip, or of strips prefetched together.
const STRIP_ROW_BYTES: usize = 256;

impl BandTiling {
    /// Returns the division into the longest bands whose buffers fit `room` bytes of scratch per
    /// thread. Returns `None` if none fit, if slots are not in row order, or if slots exceed
    /// `cols + 1` elements.
    pub fn within(chunks: &ChunkGather, direction: Direction, room: usize) -> Option<Self> {
        let ChunkGather { slots, elem_bytes } = chunks;
        let step = slots.strip_step();
        let (rows, ring) = sizes(direction);
        let fitting_cols = (ring / (2 * chunks.slot_bytes())).min(STRIP_ROW_BYTES / elem_bytes);
        let width = fitting_cols.max(1).next_multiple_of(step);
        let boundary = (slots.slot() - 1).max(1).next_multiple_of(step);
        let most = (rows / slots.slot()).min(BandTiling::max_threads(slots)).max(1);
        let bands = |chunks| BandTiling { chunks, width, boundary };
        let fits = |number: &usize| bands(*number).scratch_bytes(chunks) <= room;
        let number = (1..=most).rev().find(fits)?;
        (slots.order() == SlotOrder::Rows && boundary <= slots.cols()).then(|| bands(number))
    }

    /// Returns the number of columns of strips prefetched together.
    pub fn ahead(&self, elem_bytes: usize) -> usize {
        self.width * (STRIP_ROW_BYTES / (self.width * elem_bytes)).max(1)
    }

    /// Returns the elements from one column of a ring buffer to the next: two slots, and a cache
    /// line that repeats the first elements.
    pub fn ring_column(chunks: &ChunkGather) -> usize {
        2 * chunks.slots.slot() + CACHE_LINE.div_ceil(chunks.elem_bytes)
    }

    /// Returns the bytes of a ring buffer, with a cache line before it and alignment padding.
    fn ring_bytes(&self, chunks: &ChunkGather) -> usize {
        2 * CACHE_LINE + self.width * BandTiling::ring_column(chunks) * chunks.elem_bytes
    }

    /// Returns the elements per column of the boundary buffer: the rows of a band and of the
    /// neighbouring chunk.
    pub fn column(&self, slots: &AlignedSlots) -> usize {
        (self.chunks + 1) * slots.slot()
    }

    /// Returns the scratch bytes per thread: boundary buffer and ring.
    pub fn scratch_bytes(&self, chunks: &ChunkGather) -> usize {
        self.boundary * self.column(&chunks.slots) * chunks.elem_bytes + self.ring_bytes(chunks)
    }

    /// Returns the maximum number of useful threads: one per chunk before the last, at least one.
    pub fn max_threads(slots: &AlignedSlots) -> usize {
        (slots.chunks() - 1).max(1)
    }

    /// Returns the bytes that `parts` threads save in the workspace: the new content of the last
    /// chunk, and per thread the halo of its run, of the size of `slot - 1` rows. Forward, the last
    /// thread saves no halo.
    pub fn halo_bytes(chunks: &ChunkGather, direction: Direction, parts: usize) -> usize {
        let slots = &chunks.slots;
        let (_, last) = slots.chunk_rows(slots.chunks() - 1);
        let savers = if direction == Direction::Forward { parts - 1 } else { parts };
        let rows = savers.saturating_mul(slots.slot() - 1).saturating_add(last);
        rows.saturating_mul(chunks.row_bytes())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn bands_use_at_most_their_room() {
        let chunks = |slots| ChunkGather { slots, elem_bytes: 4 };
        for (rows, cols, slot) in [(10_007, 9973, 64), (8191, 4093, 128), (100, 40, 8)] {
            let slots = chunks(AlignedSlots::by_rows(rows, cols, slot).unwrap());
            for room in [10_000, 100_000, 1 << 20] {
                for direction in [Direction::Forward, Direction::Backward] {
                    let within = |room| BandTiling::within(&slots, direction, room);
                    let Some(bands) = within(room) else { continue };
                    let bytes = bands.scratch_bytes(&slots);
                    assert!(bytes <= room && bands.boundary + 1 >= slot);
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
