//! The first pass of the aligned-slot route in row order, and its inverse: band after band of chunks,
//! strip after strip of columns, without a chunk of scratch.
//!
//! A slot lies in its own strip but for its end, which reaches into the next one, and at the end of a row
//! into the first. Forward, strips go from right to left, so that slots end where everything has
//! been read, and the first strip is read before the others and written after them; backward the other
//! way round. The last chunk, whose slots lie column by column, goes through a copy.

use std::ops::Range;

use turntile_plan::Direction;
use turntile_simd::{self as simd, BlockShape, Byte};

use crate::band_tiling::BandTiling;
use crate::chunk_gather::{ChunkGather, Halo};
use crate::chunk_queue::{ChunkQueue, Neighbour};
use crate::parallel;
use crate::strip_ring::{Ahead, SlotPosition, StripRing};

/// A gather pass cut in bands.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct BandedGather {
    /// Its chunks, of one slot's rows but for the last.
    pub chunks: ChunkGather,
    /// How bands are cut.
    pub bands: BandTiling,
}

/// What is beyond a run forward.
struct Beyond<'a> {
    /// The rows after it as they were, or beyond the last run the last chunk as it will be.
    kept: &'a mut [Byte],
    /// The last chunk, which the run before it reads as it is.
    last: Option<&'a mut [Byte]>,
}

impl BandedGather {
    /// As [`RecordGather::gather`]; `kept` and `scratch` as long as [`BandTiling`] says.
    pub fn gather(&self, data: &mut [Byte], parts: usize, kept: &mut [Byte], scratch: &mut [Byte]) {
        let ChunkGather { slots, .. } = self.chunks;
        let (head, full) = (self.chunks.kept_bytes(), slots.chunks() - 1);
        let (heads, copy) = kept.split_at_mut((parts - 1) * head);
        let mut heads = parallel::cut(heads, (1..parts).map(|_| head));
        // The last chunk waits for the one before it, which reads its rows, and reads the first rows now.
        let (first_rows, last) = (&data[..head], &data[full * self.chunks.chunk_bytes()..]);
        let columns = |part| parallel::share(slots.cols(), parts, part);
        let lens = (0..parts).map(|part| self.chunks.columns_bytes(full, &columns(part)));
        let pieces = parallel::cut(copy, lens).into_iter().enumerate();
        let mut unkept = heads.iter_mut();
        let shares: Vec<_> = pieces.map(|(part, piece)| (part, piece, unkept.next())).collect();
        parallel::for_each_thread(shares, &mut [], 0, |(part, piece, kept), _| {
            if let Some(kept) = kept {
                let next = parallel::share(full, parts, part).end * self.chunks.chunk_bytes();
                kept.copy_from_slice(&data[next..][..head]);
            }
            self.chunks.gather_chunk(full, columns(part), last, first_rows, piece);
        });
        let (data, last) = data.split_at_mut(full * self.chunks.chunk_bytes());
        if full == 0 {
            return last.copy_from_slice(copy);
        }
        let heads = heads.into_iter().map(|kept| Beyond { kept, last: None });
        let beyond = heads.chain([Beyond { kept: copy, last: Some(last) }]);
        let runs = self.runs(beyond, parts, Direction::Forward);
        let keep = |_, next: &[Byte], beyond: &mut Beyond| {
            beyond.kept[..head].copy_from_slice(&next[..head]);
        };
        let work = |rows: &mut [Byte], beside: Neighbour<Beyond>, scratch: &mut [Byte]| match beside
        {
            Neighbour::Chunk(next) => self.gather_band(rows, &next[..head], scratch),
            Neighbour::Kept(Beyond { kept, last }) => match last.take() {
                None => self.gather_band(rows, &kept[..head], scratch),
                Some(last) => {
                    self.gather_band(rows, &last[..head], scratch);
                    last.copy_from_slice(kept);
                }
            },
        };
        let scratch = (scratch, self.scratch_bytes());
        runs.over(data, self.chunks.chunk_bytes(), scratch, keep, work);
    }

    /// As [`RecordGather::scatter`].
    pub fn scatter(
        &self,
        data: &mut [Byte],
        parts: usize,
        kept: &mut [Byte],
        scratch: &mut [Byte],
    ) {
        let ChunkGather { slots, elem_bytes } = self.chunks;
        let (chunks, row_bytes) = (&self.chunks, self.chunks.row_bytes());
        let (each, full) = (chunks.kept_bytes(), slots.chunks() - 1);
        let (ends, copy) = kept.split_at_mut(parts * each);
        let mut ends = parallel::cut(ends, (0..parts).map(|_| each));
        let last = &data[full * self.chunks.chunk_bytes()..];
        let count = last.len() / row_bytes;
        let columns = |part| parallel::share(slots.cols(), parts, part);
        let bytes = |part: usize| columns(part).len() * elem_bytes;
        let pieces = parallel::cut(copy, (0..parts).map(|part| count * bytes(part)));
        let shares: Vec<_> = pieces.into_iter().zip(&mut ends).enumerate().collect();
        parallel::for_each_thread(shares, &mut [], 0, |(part, (piece, ends)), _| {
            let first = parallel::share(full, parts, part).start;
            chunks.keep_tails(first, chunks.before(first, data), ends);
            let tails = match full {
                0 => Halo::Kept(ends),
                _ => Halo::Before(chunks.before(full, data)),
            };
            chunks.scatter_chunk(full, columns(part), last, tails, piece);
        });
        let (data, last) = data.split_at_mut(full * self.chunks.chunk_bytes());
        let rows = |part| parallel::share(count, parts, part);
        let shares = parallel::cut(last, (0..parts).map(|part| rows(part).len() * row_bytes));
        parallel::for_each_thread(shares.into_iter().enumerate(), &mut [], 0, |(part, to), _| {
            for (row, mut to) in rows(part).zip(to.chunks_exact_mut(row_bytes)) {
                let mut rest = &*copy;
                for part in 0..parts {
                    let piece = rest.split_off(..count * bytes(part)).expect("pieces add up");
                    let to = to.split_off_mut(..bytes(part)).expect("columns add up");
                    to.copy_from_slice(&piece[row * bytes(part)..][..bytes(part)]);
                }
            }
        });
        let runs = self.runs(ends, parts, Direction::Backward);
        let keep = |number, before: &[Byte], ends: &mut &mut [Byte]| {
            chunks.keep_tails(number + 1, before, ends);
        };
        let work = |rows: &mut [Byte], beside: Neighbour<&mut [Byte]>, scratch: &mut [Byte]| {
            let tails = match beside {
                Neighbour::Chunk(before) => Halo::Before(before),
                Neighbour::Kept(ends) => Halo::Kept(ends),
            };
            self.scatter_band(rows, tails, scratch);
        };
        let scratch = (scratch, self.scratch_bytes());
        runs.over(data, self.chunks.chunk_bytes(), scratch, keep, work);
    }

    /// Every part's run of full chunks.
    fn runs<K>(
        &self,
        beyond: impl IntoIterator<Item = K>,
        parts: usize,
        direction: Direction,
    ) -> ChunkQueue<K> {
        let full = self.chunks.slots.chunks() - 1;
        let shares = (0..parts).map(|part| parallel::share(full, parts, part));
        ChunkQueue::new(shares.zip(beyond), direction, self.bands.chunks)
    }

    fn scratch_bytes(&self) -> usize {
        self.bands.scratch_bytes(&self.chunks)
    }

    /// The slot of column `j` in a full chunk.
    fn spot(&self, j: usize) -> SlotPosition {
        SlotPosition::of(&self.chunks, j)
    }

    /// Splits scratch into the buffer of the strip that is held and the ring of the others.
    fn buffers<'a>(&self, scratch: &'a mut [Byte]) -> (&'a mut [Byte], StripRing<'a>) {
        let column_bytes = self.bands.column(&self.chunks.slots) * self.chunks.elem_bytes;
        let (held, ring) = scratch.split_at_mut(self.bands.held * column_bytes);
        (held, StripRing::new(self.chunks, self.bands.width, ring))
    }

    /// Gathers the chunks in `rows`; `after` are the rows that follow, all but one of a slot's.
    fn gather_band(&self, rows: &mut [Byte], after: &[Byte], scratch: &mut [Byte]) {
        let (held, mut strips) = self.buffers(scratch);
        let BandTiling { held: first, width, .. } = self.bands;
        let cols = self.chunks.slots.cols();
        self.take_rows(rows, after, 0..first, held);
        let wide = self.bands.ahead(self.chunks.elem_bytes);
        for start in (first..cols).step_by(wide).rev() {
            let group = start..(start + wide).min(cols);
            let next = start.saturating_sub(wide).max(first)..start;
            let mut far = self.ahead(rows, rows.as_ptr(), next, group.len());
            for start in group.clone().step_by(width).rev() {
                let columns = start..(start + width).min(group.end);
                strips.gather(rows, after, columns, &mut far);
            }
        }
        self.put_slots(rows, 0..first, held);
    }

    /// Scatters the chunks in `rows`.
    fn scatter_band(&self, rows: &mut [Byte], tails: Halo, scratch: &mut [Byte]) {
        let (held, mut strips) = self.buffers(scratch);
        let (cols, width) = (self.chunks.slots.cols(), self.bands.width);
        let last = cols - self.bands.held;
        self.take_slots(rows, tails, last..cols, held);
        let chunk_before = rows.as_ptr().wrapping_sub(self.chunks.chunk_bytes());
        let wide = self.bands.ahead(self.chunks.elem_bytes);
        for start in (0..last).step_by(wide) {
            let group = start..(start + wide).min(last);
            // Slots that begin in the next strips reach so far.
            let reach = self.chunks.slots.slot() - 1;
            let next = group.end + reach..(group.end + wide).min(last) + reach;
            let mut far = self.ahead(rows, chunk_before, next, group.len());
            for start in group.clone().step_by(width) {
                let columns = start..(start + width).min(group.end);
                strips.scatter(rows, tails, columns, &mut far);
            }
        }
        self.put_rows(rows, last..cols, held);
    }

    /// Chunks of a band.
    fn count(&self, rows: &[Byte]) -> usize {
        rows.len() / self.chunks.chunk_bytes()
    }

    /// The lines of the next strips, whose columns `next` are, of a band's chunks and the one beside it.
    fn ahead(&self, rows: &[Byte], from: *const Byte, next: Range<usize>, width: usize) -> Ahead {
        let (elem_bytes, count) = (self.chunks.elem_bytes, self.count(rows));
        let asked = if next.is_empty() { 0 } else { (count + 1) * self.chunks.slots.slot() };
        let from = from.wrapping_add(next.start * elem_bytes);
        Ahead::new(from, asked, self.chunks.row_bytes(), next.len() * elem_bytes, width * count)
    }

    /// Elements of a buffer's column for that band.
    fn pitch(&self, rows: &[Byte]) -> usize {
        (self.count(rows) + 1) * self.chunks.slots.slot()
    }

    /// Some columns of the band and of the rows after it, transposed.
    fn take_rows(&self, band: &[Byte], after: &[Byte], columns: Range<usize>, buffer: &mut [Byte]) {
        let ChunkGather { slots, elem_bytes } = self.chunks;
        let (rows, start) = (self.count(band) * slots.slot(), columns.start * elem_bytes);
        let (from_pitch, to_pitch) = (slots.cols(), self.pitch(band));
        let block = BlockShape { rows, cols: columns.len(), from_pitch, to_pitch };
        simd::transpose(&band[start..], buffer, block, elem_bytes);
        let after = &after[start.min(after.len())..];
        let block = BlockShape { rows: slots.slot() - 1, ..block };
        simd::transpose(after, &mut buffer[rows * elem_bytes..], block, elem_bytes);
    }

    /// Transposed back into the band.
    fn put_rows(&self, band: &mut [Byte], columns: Range<usize>, buffer: &[Byte]) {
        let ChunkGather { slots, elem_bytes } = self.chunks;
        let (from_pitch, to_pitch) = (self.pitch(band), slots.cols());
        let (rows, cols) = (columns.len(), self.count(band) * slots.slot());
        let block = BlockShape { rows, cols, from_pitch, to_pitch };
        simd::transpose(buffer, &mut band[columns.start * elem_bytes..], block, elem_bytes);
    }

    /// The slots of some columns from their buffer to their places.
    fn put_slots(&self, band: &mut [Byte], columns: Range<usize>, buffer: &[Byte]) {
        let slot_bytes = self.chunks.slot_bytes();
        let pitch = self.pitch(band) * self.chunks.elem_bytes;
        for (j, column) in columns.zip(buffer.chunks_exact(pitch)) {
            let SlotPosition { place, lead, .. } = self.spot(j);
            let slots = column[lead..].chunks_exact(slot_bytes);
            for (chunk, slot) in band.chunks_exact_mut(self.chunks.chunk_bytes()).zip(slots) {
                chunk[place..][..slot_bytes].copy_from_slice(slot);
            }
        }
    }

    /// The slots of some columns into their buffer, after the ends of those before the band.
    fn take_slots(&self, band: &[Byte], tails: Halo, columns: Range<usize>, buffer: &mut [Byte]) {
        let slot_bytes = self.chunks.slot_bytes();
        let pitch = self.pitch(band) * self.chunks.elem_bytes;
        for (j, to) in columns.zip(buffer.chunks_exact_mut(pitch)) {
            let SlotPosition { place, lead, .. } = self.spot(j);
            let (end, to) = to.split_at_mut(lead);
            end.copy_from_slice(match tails {
                Halo::Before(before) => &before[place + slot_bytes - lead..][..lead],
                Halo::Kept(ends) => &ends[j * (slot_bytes - self.chunks.elem_bytes)..][..lead],
            });
            let chunks = band.chunks_exact(self.chunks.chunk_bytes());
            for (chunk, to) in chunks.zip(to.chunks_exact_mut(slot_bytes)) {
                to.copy_from_slice(&chunk[place..][..slot_bytes]);
            }
        }
    }
}
