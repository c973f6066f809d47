//! A strip of a band, chunk by chunk: transposed into a ring of two chunks that fits the first-level
//! cache, whose columns' slots are copied out across its end; and back.
//!
//! Lines are asked for twice: those of the next strips, a quarter of a kilobyte of each row, and those of the
//! chunk after the next again, since the machine drops some of what it is asked for.

use std::ops::Range;

use crate::band_tiling::BandTiling;
use crate::chunk_gather::{ChunkGather, Halo};
use turntile_simd::{self as simd, BlockShape, Byte, CACHE_LINE};

/// Strips of those chunks.
pub struct StripRing<'a> {
    chunks: ChunkGather,
    /// A line, then the columns of the ring, each followed by what lies after its end.
    ring: &'a mut [Byte],
    spots: Vec<SlotPosition>,
}

/// A column's slot, in every full chunk the same: at the next multiple of a slot, a power of two. In bytes.
#[derive(Clone, Copy)]
pub struct SlotPosition {
    /// Of the strip's.
    column: usize,
    /// From the start of the chunk.
    pub place: usize,
    /// Of the rows before its first element.
    pub lead: usize,
}

impl SlotPosition {
    /// Of column `j` of the matrix.
    pub fn of(ChunkGather { slots, elem_bytes }: &ChunkGather, j: usize) -> Self {
        let lead = (j * slots.rows()).wrapping_neg() & (slots.slot() - 1);
        let place = slots.row_place(j) * slots.slot();
        SlotPosition { column: 0, place: place * elem_bytes, lead: lead * elem_bytes }
    }
}

impl<'a> StripRing<'a> {
    /// Of up to `width` columns; `scratch` is as much as [`BandTiling::ring_bytes`].
    pub fn new(chunks: ChunkGather, width: usize, scratch: &'a mut [Byte]) -> Self {
        // Whole lines are written to the ring.
        let skip = scratch.as_ptr().align_offset(CACHE_LINE).min(CACHE_LINE);
        let (ring, spots) = (&mut scratch[skip..], Vec::with_capacity(width));
        StripRing { chunks, ring, spots }
    }

    /// Bytes from one column of the ring to the next.
    fn pitch(&self) -> usize {
        BandTiling::ring_column(&self.chunks) * self.chunks.elem_bytes
    }

    /// Finds the slots of `columns`.
    fn find(&mut self, columns: Range<usize>) {
        let chunks = self.chunks;
        self.spots.clear();
        let spot = |(column, j)| SlotPosition { column, ..SlotPosition::of(&chunks, j) };
        self.spots.extend(columns.enumerate().map(spot));
    }

    /// Rows of a strip into half of the ring.
    fn take_rows(&mut self, from: &[Byte], rows: usize, half: usize) {
        let (e, slot_bytes) = (self.chunks.elem_bytes, self.chunks.slot_bytes());
        let to_pitch = BandTiling::ring_column(&self.chunks);
        let cols = self.spots.len();
        let block = BlockShape { rows, cols, from_pitch: self.chunks.slots.cols(), to_pitch };
        let to = &mut self.ring[CACHE_LINE..];
        simd::transpose(from, &mut to[half * slot_bytes..], block, e);
        let repeated = to_pitch - 2 * self.chunks.slots.slot();
        if half == 0 {
            // What comes after the ring's end.
            let block = BlockShape { rows: rows.min(repeated), ..block };
            simd::transpose(from, &mut to[2 * slot_bytes..], block, e);
        }
    }

    /// Replaces what `columns` have of the chunks in `rows` by their slots; `after` are the rows that follow.
    pub fn gather(
        &mut self,
        rows: &mut [Byte],
        after: &[Byte],
        columns: Range<usize>,
        far: &mut Ahead,
    ) {
        self.find(columns.clone());
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
            // Of this strip, or at its end of the next one.
            let near = match number + 1 < count {
                true => own.as_ptr().wrapping_add(2 * chunk_bytes + start),
                false => rows.as_ptr().wrapping_add(start.saturating_sub(bytes)),
            };
            let own = &mut rows[number * chunk_bytes..][..chunk_bytes];
            let mut near = Ahead::new(near, slot, self.chunks.row_bytes(), bytes, columns.len());
            let base = number % 2 * slot_bytes;
            for (spot, column) in self.spots.iter().zip(self.ring[CACHE_LINE..].chunks(pitch)) {
                far.ask(0);
                near.ask(CACHE_LINE - 1);
                let to = &mut own[spot.place..][..slot_bytes];
                simd::copy_from_ring(column, base + spot.lead, wrap, to);
            }
        }
    }

    /// Undoes [`gather`](Self::gather), with the tails of the chunk before.
    pub fn scatter(
        &mut self,
        rows: &mut [Byte],
        tails: Halo,
        columns: Range<usize>,
        far: &mut Ahead,
    ) {
        self.find(columns.clone());
        let ChunkGather { slots, elem_bytes: e } = self.chunks;
        let (slot, slot_bytes) = (slots.slot(), self.chunks.slot_bytes());
        let chunk_bytes = self.chunks.chunk_bytes();
        let count = rows.len() / chunk_bytes;
        let (from_pitch, to_pitch) = (BandTiling::ring_column(&self.chunks), slots.cols());
        let block = BlockShape { rows: columns.len(), cols: slot, from_pitch, to_pitch };
        // Those whose slots pass the end of the ring at the same line one after the other: that is a branch.
        self.spots.sort_unstable_by_key(|spot| spot.lead);
        self.take_slots(&rows[(count - 1) * chunk_bytes..], count - 1, far);
        for number in (0..count).rev() {
            let (before, own) = rows.split_at_mut(number * chunk_bytes);
            match (number.checked_sub(1), tails) {
                (Some(other), _) => self.take_slots(&before[other * chunk_bytes..], other, far),
                // As far from its rows as every second chunk.
                (None, Halo::Before(before)) => self.take_slots(before, 1, far),
                (None, Halo::Kept(ends)) => {
                    let pitch = self.pitch();
                    for &SlotPosition { column, lead, .. } in &self.spots {
                        let end = &ends[(columns.start + column) * (slot - 1) * e..][..lead];
                        self.ring[CACHE_LINE + column * pitch..][..lead].copy_from_slice(end);
                    }
                }
            }
            let from = &self.ring[CACHE_LINE + number % 2 * slot_bytes..];
            simd::transpose(from, &mut own[columns.start * e..], block, e);
        }
    }

    /// A chunk's slots into the ring.
    fn take_slots(&mut self, chunk: &[Byte], number: usize, far: &mut Ahead) {
        let (slot_bytes, pitch) = (self.chunks.slot_bytes(), self.pitch());
        let (wrap, base) = (2 * slot_bytes, number % 2 * slot_bytes);
        let next = chunk.as_ptr().wrapping_sub(self.chunks.chunk_bytes());
        for spot in &self.spots {
            far.ask(CACHE_LINE - 1);
            let next = next.wrapping_add(spot.place);
            simd::prefetch_run(next, slot_bytes);
            let ring = &mut self.ring[spot.column * pitch..][..wrap + 2 * CACHE_LINE];
            let from = &chunk[spot.place..][..slot_bytes];
            simd::copy_into_ring(from, ring, base + spot.lead, wrap);
        }
    }
}

/// Rows of a block that are asked for evenly, so many with each of a number of steps.
pub struct Ahead {
    row: *const Byte,
    rows: usize,
    pitch: usize,
    bytes: usize,
    /// Rows that are due, and those of a step, in 1024ths.
    due: usize,
    each: usize,
}

impl Ahead {
    /// `bytes` of each of `rows` rows from `row` on, which may lie anywhere, in `steps` steps.
    pub fn new(row: *const Byte, rows: usize, pitch: usize, bytes: usize, steps: usize) -> Self {
        let each = (rows << 10).div_ceil(steps.max(1));
        Ahead { row, rows, pitch, bytes, due: 0, each }
    }

    /// A step: the lines of a row from that of its first byte to before that of the byte `past` its last.
    #[inline]
    fn ask(&mut self, past: usize) {
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
