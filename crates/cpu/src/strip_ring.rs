//! Strips of a band in the gather pass of aligned slots, processed chunk by chunk through a ring
//! buffer that fits the first-level cache. Each column of the ring has room for its elements of two
//! chunks. A chunk is transposed into the ring, then each column's slot is copied out; a slot may
//! cross the ring's end. The inverse reverses both steps.
//!
//! Lines of the matrix are prefetched twice, since processors drop some prefetches: first one group
//! of strips ahead, 256 bytes per row, and again two chunks ahead.

use std::ops::Range;

use crate::band_tiling::BandTiling;
use crate::chunk_gather::ChunkGather;
use crate::chunk_pass::Halo;
use turntile_simd::{self as simd, BlockShape, Byte, CACHE_LINE};

/// Ring buffer for the strips of a gather's chunks.
pub struct StripRing<'a> {
    chunks: ChunkGather,
    /// One cache line, then the columns of the ring, each followed by a copy of its first elements.
    ring: &'a mut [Byte],
    positions: Vec<SlotPosition>,
}

/// Position of a column's slot, the same in every full chunk. The slot starts at the element whose
/// position in the result is a multiple of the slot length, a power of two.
#[derive(Clone, Copy)]
pub struct SlotPosition {
    /// Index of the column in the strip.
    column: usize,
    /// Byte offset of the slot in the gathered chunk.
    pub offset: usize,
    /// Bytes of the column's elements in the chunk that precede the slot's first element.
    pub lead: usize,
}

impl SlotPosition {
    /// Returns the slot position of column `j` of the matrix.
    pub fn of(ChunkGather { slots, elem_bytes }: &ChunkGather, j: usize) -> Self {
        let lead = (j * slots.rows()).wrapping_neg() & (slots.slot() - 1);
        let offset = slots.row_place(j) * slots.slot();
        SlotPosition { column: 0, offset: offset * elem_bytes, lead: lead * elem_bytes }
    }
}

impl<'a> StripRing<'a> {
    /// Creates a ring for at most `width` columns; `scratch` has [`BandTiling::ring_bytes`] bytes.
    pub fn new(chunks: ChunkGather, width: usize, scratch: &'a mut [Byte]) -> Self {
        // Whole cache lines are written to the ring, so it is aligned.
        let skip = scratch.as_ptr().align_offset(CACHE_LINE).min(CACHE_LINE);
        let (ring, positions) = (&mut scratch[skip..], Vec::with_capacity(width));
        StripRing { chunks, ring, positions }
    }

    /// Returns the bytes from one column of the ring to the next.
    fn pitch(&self) -> usize {
        BandTiling::ring_column(&self.chunks) * self.chunks.elem_bytes
    }

    /// Computes the slot positions of the matrix columns `columns`.
    fn locate(&mut self, columns: Range<usize>) {
        let chunks = self.chunks;
        self.positions.clear();
        let position = |(column, j)| SlotPosition { column, ..SlotPosition::of(&chunks, j) };
        self.positions.extend(columns.enumerate().map(position));
    }

    /// Transposes `rows` rows of a strip into half 0 or 1 of the ring.
    fn take_rows(&mut self, from: &[Byte], rows: usize, half: usize) {
        let (e, slot_bytes) = (self.chunks.elem_bytes, self.chunks.slot_bytes());
        let to_pitch = BandTiling::ring_column(&self.chunks);
        let cols = self.positions.len();
        let block = BlockShape { rows, cols, from_pitch: self.chunks.slots.cols(), to_pitch };
        let to = &mut self.ring[CACHE_LINE..];
        simd::transpose(from, &mut to[half * slot_bytes..], block, e);
        let repeated = to_pitch - 2 * self.chunks.slots.slot();
        if half == 0 {
            // Repeats the first elements after the ring's end.
            let block = BlockShape { rows: rows.min(repeated), ..block };
            simd::transpose(from, &mut to[2 * slot_bytes..], block, e);
        }
    }

    /// Replaces the elements of `columns` in the chunks `rows` by their slots. `after` contains the
    /// rows that follow. `far` prefetches the next group of strips.
    pub fn gather(
        &mut self,
        rows: &mut [Byte],
        after: &[Byte],
        columns: Range<usize>,
        far: &mut RowPrefetcher,
    ) {
        self.locate(columns.clone());
        let ChunkGather { slots, elem_bytes } = self.chunks;
        let (slot, slot_bytes) = (slots.slot(), self.chunks.slot_bytes());
        let chunk_bytes = self.chunks.chunk_bytes();
        let (start, bytes) = (columns.start * elem_bytes, columns.len() * elem_bytes);
        let (pitch, wrap) = (self.pitch(), 2 * slot_bytes);
        let count = rows.len() / chunk_bytes;
        self.take_rows(&rows[start..], slot, 0);
        for number in 0..count {
            let (own, next) = rows[number * chunk_bytes..].split_at(chunk_bytes);
            let (from, taken) = if next.is_empty() { (after, slot - 1) } else { (next, slot) };
            self.take_rows(&from[start.min(from.len())..], taken, (number + 1) % 2);
            // Prefetches this strip, or after its last chunk the next strip.
            let near = match number + 1 < count {
                true => own.as_ptr().wrapping_add(2 * chunk_bytes + start),
                false => rows.as_ptr().wrapping_add(start.saturating_sub(bytes)),
            };
            let own = &mut rows[number * chunk_bytes..][..chunk_bytes];
            let mut near =
                RowPrefetcher::new(near, slot, self.chunks.row_bytes(), bytes, columns.len());
            let base = number % 2 * slot_bytes;
            for (slot, column) in self.positions.iter().zip(self.ring[CACHE_LINE..].chunks(pitch)) {
                far.step(0);
                near.step(CACHE_LINE - 1);
                let to = &mut own[slot.offset..][..slot_bytes];
                simd::copy_from_ring(column, base + slot.lead, wrap, to);
            }
        }
    }

    /// Inverts [`gather`](Self::gather). `tails` is the chunk before `rows`, or a saved copy of the
    /// ends of its slots.
    pub fn scatter(
        &mut self,
        rows: &mut [Byte],
        tails: Halo,
        columns: Range<usize>,
        far: &mut RowPrefetcher,
    ) {
        self.locate(columns.clone());
        let ChunkGather { slots, elem_bytes: e } = self.chunks;
        let (slot, slot_bytes) = (slots.slot(), self.chunks.slot_bytes());
        let chunk_bytes = self.chunks.chunk_bytes();
        let count = rows.len() / chunk_bytes;
        let (from_pitch, to_pitch) = (BandTiling::ring_column(&self.chunks), slots.cols());
        let block = BlockShape { rows: columns.len(), cols: slot, from_pitch, to_pitch };
        // Sorted, since columns whose slots cross the ring's end at the same line should be
        // consecutive: the crossing is a branch.
        self.positions.sort_unstable_by_key(|slot| slot.lead);
        self.take_slots(&rows[(count - 1) * chunk_bytes..], count - 1, far);
        for number in (0..count).rev() {
            let (before, own) = rows.split_at_mut(number * chunk_bytes);
            match (number.checked_sub(1), tails) {
                (Some(other), _) => self.take_slots(&before[other * chunk_bytes..], other, far),
                // Index 1: the chunk before uses the same half of the ring as odd-numbered chunks.
                (None, Halo::Neighbour(before)) => self.take_slots(before, 1, far),
                (None, Halo::Saved(ends)) => {
                    let pitch = self.pitch();
                    for &SlotPosition { column, lead, .. } in &self.positions {
                        let end = &ends[(columns.start + column) * (slot - 1) * e..][..lead];
                        self.ring[CACHE_LINE + column * pitch..][..lead].copy_from_slice(end);
                    }
                }
            }
            let from = &self.ring[CACHE_LINE + number % 2 * slot_bytes..];
            simd::transpose(from, &mut own[columns.start * e..], block, e);
        }
    }

    /// Copies the slots of chunk `number` into the ring. Prefetches those of the chunk before.
    fn take_slots(&mut self, chunk: &[Byte], number: usize, far: &mut RowPrefetcher) {
        let (slot_bytes, pitch) = (self.chunks.slot_bytes(), self.pitch());
        let (wrap, base) = (2 * slot_bytes, number % 2 * slot_bytes);
        let next = chunk.as_ptr().wrapping_sub(self.chunks.chunk_bytes());
        for slot in &self.positions {
            far.step(CACHE_LINE - 1);
            let next = next.wrapping_add(slot.offset);
            simd::prefetch_run(next, slot_bytes);
            let ring = &mut self.ring[slot.column * pitch..][..wrap + 2 * CACHE_LINE];
            let from = &chunk[slot.offset..][..slot_bytes];
            simd::copy_into_ring(from, ring, base + slot.lead, wrap);
        }
    }
}

/// Prefetcher of rows, evenly distributed over a number of steps.
pub struct RowPrefetcher {
    row: *const Byte,
    rows: usize,
    pitch: usize,
    bytes: usize,
    /// Rows due to be prefetched, in 1024ths.
    due: usize,
    /// Rows per step, in 1024ths.
    each: usize,
}

impl RowPrefetcher {
    /// Creates a prefetcher of `bytes` bytes of each of `rows` rows, in `steps` steps. `row` is the
    /// address of the first row. Any address is allowed.
    pub fn new(row: *const Byte, rows: usize, pitch: usize, bytes: usize, steps: usize) -> Self {
        let each = (rows << 10).div_ceil(steps.max(1));
        RowPrefetcher { row, rows, pitch, bytes, due: 0, each }
    }

    /// Makes one step: prefetches the cache lines of the rows due. Includes a partial last line if
    /// `past` is `CACHE_LINE - 1`, not if it is 0.
    #[inline]
    fn step(&mut self, past: usize) {
        self.due += self.each;
        while self.due >= 1 << 10 && self.rows > 0 {
            self.due -= 1 << 10;
            self.rows -= 1;
            let first = self.row.addr() % CACHE_LINE;
            let line = self.row.wrapping_sub(first);
            let lines = (first + self.bytes + past) / CACHE_LINE;
            (0..lines).for_each(|k| simd::prefetch(line.wrapping_add(k * CACHE_LINE)));
            self.row = self.row.wrapping_add(self.pitch);
        }
    }
}
