//! First pass of the aligned-slot route in row order, and its inverse, in bands of chunks and
//! strips of columns, without scratch for a whole chunk.
//!
//! A slot is stored in the strip of its column, except for its end, which may extend into the next
//! strip or from the last strip into the first. Forward, strips go from right to left, so every
//! slot's end overwrites only data already read. The first strip is read before the others and
//! written after them. Backward, strips go from left to right, and the last strip is read first and
//! written last. The last chunk, whose slots are stored column by column, goes through a copy in
//! the workspace.

use std::ops::Range;

use turntile_plan::Direction;
use turntile_simd::{self as simd, BlockShape, Byte};

use crate::band_tiling::BandTiling;
use crate::chunk_gather::ChunkGather;
use crate::chunk_pass::{ChunkPass, Halo};
use crate::chunk_queue::{ChunkQueue, Neighbour};
use crate::parallel;
use crate::strip_ring::{RowPrefetcher, SlotPosition, StripRing};

/// Gather pass of aligned slots in row order, divided into bands.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct BandedGather {
    /// Chunks of the matrix. All except the last have `slot` rows.
    pub chunks: ChunkGather,
    /// Division into bands and strips.
    pub bands: BandTiling,
}

/// Data beyond the end of a thread's run of chunks, in the forward direction.
struct Beyond<'a> {
    /// Original rows after the thread's chunks. For the last thread: the new content of the last
    /// chunk.
    saved: &'a mut [Byte],
    /// Last chunk, whose original rows the last thread reads. `None` for other threads.
    last: Option<&'a mut [Byte]>,
}

impl BandedGather {
    /// Gathers every chunk's slots into the chunk's own memory. `saved` and `scratch` have the
    /// lengths that [`BandTiling`] computes.
    pub fn gather(
        &self,
        data: &mut [Byte],
        threads: usize,
        saved: &mut [Byte],
        scratch: &mut [Byte],
    ) {
        let ChunkGather { slots, .. } = self.chunks;
        let (head, full) = (self.chunks.halo_bytes(), slots.chunks() - 1);
        let (heads, copy) = saved.split_at_mut((threads - 1) * head);
        let mut heads = parallel::cut(heads, (1..threads).map(|_| head));
        // The last chunk is written last, because the chunk before it reads its rows. Its own halo,
        // the first rows of the matrix, is read now.
        let (first_rows, last) = (&data[..head], &data[full * self.chunks.chunk_bytes()..]);
        let columns = |thread| parallel::split_evenly(slots.cols(), threads, thread);
        let lens = (0..threads).map(|thread| self.chunks.columns_bytes(full, &columns(thread)));
        let pieces = parallel::cut(copy, lens).into_iter().enumerate();
        let mut unsaved = heads.iter_mut();
        let shares: Vec<_> =
            pieces.map(|(thread, piece)| (thread, piece, unsaved.next())).collect();
        parallel::for_each_thread(shares, &mut [], 0, |(thread, piece, saved), _| {
            if let Some(saved) = saved {
                let next =
                    parallel::split_evenly(full, threads, thread).end * self.chunks.chunk_bytes();
                saved.copy_from_slice(&data[next..][..head]);
            }
            self.chunks.gather_chunk(full, columns(thread), last, first_rows, piece);
        });
        let (data, last) = data.split_at_mut(full * self.chunks.chunk_bytes());
        if full == 0 {
            return last.copy_from_slice(copy);
        }
        let heads = heads.into_iter().map(|saved| Beyond { saved, last: None });
        let beyond = heads.chain([Beyond { saved: copy, last: Some(last) }]);
        let runs = self.runs(beyond, threads, Direction::Forward);
        let save = |_, next: &[Byte], beyond: &mut Beyond| {
            beyond.saved[..head].copy_from_slice(&next[..head]);
        };
        let work =
            |rows: &mut [Byte], neighbour: Neighbour<Beyond>, scratch: &mut [Byte]| match neighbour
            {
                Neighbour::Chunk(next) => self.gather_band(rows, &next[..head], scratch),
                Neighbour::Saved(Beyond { saved, last }) => match last.take() {
                    None => self.gather_band(rows, &saved[..head], scratch),
                    Some(last) => {
                        self.gather_band(rows, &last[..head], scratch);
                        last.copy_from_slice(saved);
                    }
                },
            };
        let scratch = (scratch, self.scratch_bytes());
        runs.over(data, self.chunks.chunk_bytes(), scratch, save, work);
    }

    /// Inverts [`gather`](Self::gather). `saved` and `scratch` have the lengths that [`BandTiling`]
    /// computes.
    pub fn scatter(
        &self,
        data: &mut [Byte],
        threads: usize,
        saved: &mut [Byte],
        scratch: &mut [Byte],
    ) {
        let ChunkGather { slots, elem_bytes } = self.chunks;
        let (chunks, row_bytes) = (&self.chunks, self.chunks.row_bytes());
        let (each, full) = (chunks.halo_bytes(), slots.chunks() - 1);
        let (ends, copy) = saved.split_at_mut(threads * each);
        let mut ends = parallel::cut(ends, (0..threads).map(|_| each));
        let last = &data[full * self.chunks.chunk_bytes()..];
        let count = last.len() / row_bytes;
        let columns = |thread| parallel::split_evenly(slots.cols(), threads, thread);
        let bytes = |thread: usize| columns(thread).len() * elem_bytes;
        let pieces = parallel::cut(copy, (0..threads).map(|thread| count * bytes(thread)));
        let shares: Vec<_> = pieces.into_iter().zip(&mut ends).enumerate().collect();
        parallel::for_each_thread(shares, &mut [], 0, |(thread, (piece, ends)), _| {
            let first = parallel::split_evenly(full, threads, thread).start;
            chunks.save_tails(first, chunks.before(first, data), ends);
            let tails = match full {
                0 => Halo::Saved(ends),
                _ => Halo::Neighbour(chunks.before(full, data)),
            };
            chunks.scatter_chunk(full, columns(thread), last, tails, piece);
        });
        let (data, last) = data.split_at_mut(full * self.chunks.chunk_bytes());
        let rows = |thread| parallel::split_evenly(count, threads, thread);
        let shares = parallel::cut(last, (0..threads).map(|thread| rows(thread).len() * row_bytes));
        parallel::for_each_thread(shares.into_iter().enumerate(), &mut [], 0, |(thread, to), _| {
            for (row, mut to) in rows(thread).zip(to.chunks_exact_mut(row_bytes)) {
                let mut rest = &*copy;
                for thread in 0..threads {
                    let piece =
                        rest.split_off(..count * bytes(thread)).expect("pieces cover all columns");
                    let to = to.split_off_mut(..bytes(thread)).expect("pieces cover all columns");
                    to.copy_from_slice(&piece[row * bytes(thread)..][..bytes(thread)]);
                }
            }
        });
        let runs = self.runs(ends, threads, Direction::Backward);
        let save = |number, before: &[Byte], ends: &mut &mut [Byte]| {
            chunks.save_tails(number + 1, before, ends);
        };
        let work = |rows: &mut [Byte], neighbour: Neighbour<&mut [Byte]>, scratch: &mut [Byte]| {
            let tails = match neighbour {
                Neighbour::Chunk(before) => Halo::Neighbour(before),
                Neighbour::Saved(ends) => Halo::Saved(ends),
            };
            self.scatter_band(rows, tails, scratch);
        };
        let scratch = (scratch, self.scratch_bytes());
        runs.over(data, self.chunks.chunk_bytes(), scratch, save, work);
    }

    /// Creates the queue, with a run of full chunks per thread and its saved data, from `beyond`.
    fn runs<K>(
        &self,
        beyond: impl IntoIterator<Item = K>,
        threads: usize,
        direction: Direction,
    ) -> ChunkQueue<K> {
        let full = self.chunks.slots.chunks() - 1;
        let shares = (0..threads).map(|thread| parallel::split_evenly(full, threads, thread));
        ChunkQueue::new(shares.zip(beyond), direction, self.bands.chunks)
    }

    fn scratch_bytes(&self) -> usize {
        self.bands.scratch_bytes(&self.chunks)
    }

    /// Returns the position of column `j`'s slot in a full chunk.
    fn slot_position(&self, j: usize) -> SlotPosition {
        SlotPosition::of(&self.chunks, j)
    }

    /// Splits a thread's scratch into the buffer of the boundary strip and the ring of the other
    /// strips.
    fn buffers<'a>(&self, scratch: &'a mut [Byte]) -> (&'a mut [Byte], StripRing<'a>) {
        let column_bytes = self.bands.column(&self.chunks.slots) * self.chunks.elem_bytes;
        let (boundary, ring) = scratch.split_at_mut(self.bands.boundary * column_bytes);
        (boundary, StripRing::new(self.chunks, self.bands.width, ring))
    }

    /// Gathers the slots of the chunks in `rows`. `after` contains the `slot - 1` rows that follow.
    fn gather_band(&self, rows: &mut [Byte], after: &[Byte], scratch: &mut [Byte]) {
        let (boundary, mut strips) = self.buffers(scratch);
        let BandTiling { boundary: first, width, .. } = self.bands;
        let cols = self.chunks.slots.cols();
        self.take_rows(rows, after, 0..first, boundary);
        let wide = self.bands.ahead(self.chunks.elem_bytes);
        for start in (first..cols).step_by(wide).rev() {
            let group = start..(start + wide).min(cols);
            let next = start.saturating_sub(wide).max(first)..start;
            let mut far = self.prefetcher(rows, rows.as_ptr(), next, group.len());
            for start in group.clone().step_by(width).rev() {
                let columns = start..(start + width).min(group.end);
                strips.gather(rows, after, columns, &mut far);
            }
        }
        self.put_slots(rows, 0..first, boundary);
    }

    /// Restores the rows of a band, the chunks in `rows`, from their slots. The first rows of the
    /// band are stored in the ends of slots in the chunk before it, which `tails` contains.
    fn scatter_band(&self, rows: &mut [Byte], tails: Halo, scratch: &mut [Byte]) {
        let (boundary, mut strips) = self.buffers(scratch);
        let (cols, width) = (self.chunks.slots.cols(), self.bands.width);
        let last = cols - self.bands.boundary;
        self.take_slots(rows, tails, last..cols, boundary);
        let chunk_before = rows.as_ptr().wrapping_sub(self.chunks.chunk_bytes());
        let wide = self.bands.ahead(self.chunks.elem_bytes);
        for start in (0..last).step_by(wide) {
            let group = start..(start + wide).min(last);
            // Slots that start in the next strips extend this many elements further.
            let reach = self.chunks.slots.slot() - 1;
            let next = group.end + reach..(group.end + wide).min(last) + reach;
            let mut far = self.prefetcher(rows, chunk_before, next, group.len());
            for start in group.clone().step_by(width) {
                let columns = start..(start + width).min(group.end);
                strips.scatter(rows, tails, columns, &mut far);
            }
        }
        self.put_rows(rows, last..cols, boundary);
    }

    /// Returns the number of chunks in the band `rows`.
    fn count(&self, rows: &[Byte]) -> usize {
        rows.len() / self.chunks.chunk_bytes()
    }

    /// Returns a prefetcher for the columns `next` of the band's chunks and of the neighbouring
    /// chunk.
    fn prefetcher(
        &self,
        rows: &[Byte],
        from: *const Byte,
        next: Range<usize>,
        width: usize,
    ) -> RowPrefetcher {
        let (elem_bytes, count) = (self.chunks.elem_bytes, self.count(rows));
        let rows_ahead = if next.is_empty() { 0 } else { (count + 1) * self.chunks.slots.slot() };
        let from = from.wrapping_add(next.start * elem_bytes);
        RowPrefetcher::new(
            from,
            rows_ahead,
            self.chunks.row_bytes(),
            next.len() * elem_bytes,
            width * count,
        )
    }

    /// Returns the elements per column of the boundary buffer for the band `rows`.
    fn pitch(&self, rows: &[Byte]) -> usize {
        (self.count(rows) + 1) * self.chunks.slots.slot()
    }

    /// Transposes `columns` of the band, and of the rows `after` it, into the boundary buffer.
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

    /// Transposes `columns` from the boundary buffer back into the band.
    fn put_rows(&self, band: &mut [Byte], columns: Range<usize>, buffer: &[Byte]) {
        let ChunkGather { slots, elem_bytes } = self.chunks;
        let (from_pitch, to_pitch) = (self.pitch(band), slots.cols());
        let (rows, cols) = (columns.len(), self.count(band) * slots.slot());
        let block = BlockShape { rows, cols, from_pitch, to_pitch };
        simd::transpose(buffer, &mut band[columns.start * elem_bytes..], block, elem_bytes);
    }

    /// Copies the slots of `columns` from the boundary buffer to the band.
    fn put_slots(&self, band: &mut [Byte], columns: Range<usize>, buffer: &[Byte]) {
        let slot_bytes = self.chunks.slot_bytes();
        let pitch = self.pitch(band) * self.chunks.elem_bytes;
        for (j, column) in columns.zip(buffer.chunks_exact(pitch)) {
            let SlotPosition { offset, lead, .. } = self.slot_position(j);
            let slots = column[lead..].chunks_exact(slot_bytes);
            for (chunk, slot) in band.chunks_exact_mut(self.chunks.chunk_bytes()).zip(slots) {
                chunk[offset..][..slot_bytes].copy_from_slice(slot);
            }
        }
    }

    /// Copies the slots of `columns` into the boundary buffer, each column after the end of its
    /// slot in the chunk before the band.
    fn take_slots(&self, band: &[Byte], tails: Halo, columns: Range<usize>, buffer: &mut [Byte]) {
        let slot_bytes = self.chunks.slot_bytes();
        let pitch = self.pitch(band) * self.chunks.elem_bytes;
        for (j, to) in columns.zip(buffer.chunks_exact_mut(pitch)) {
            let SlotPosition { offset, lead, .. } = self.slot_position(j);
            let (end, to) = to.split_at_mut(lead);
            end.copy_from_slice(match tails {
                Halo::Neighbour(before) => &before[offset + slot_bytes - lead..][..lead],
                Halo::Saved(ends) => &ends[j * (slot_bytes - self.chunks.elem_bytes)..][..lead],
            });
            let chunks = band.chunks_exact(self.chunks.chunk_bytes());
            for (chunk, to) in chunks.zip(to.chunks_exact_mut(slot_bytes)) {
                to.copy_from_slice(&chunk[offset..][..slot_bytes]);
            }
        }
    }
}
