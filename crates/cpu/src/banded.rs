//! The first pass of the aligned-slot route in row order, and its inverse: band after band of chunks,
//! strip after strip of columns, without a chunk of scratch.
//!
//! A slot lies in its own strip but for its end, which reaches into the next one, and at the end of a row
//! into the first. Forward, strips go from right to left, so that slots end where everything has
//! been read, and the first strip is read before the others and written after them; backward the other
//! way round. The last chunk, whose slots lie column by column, goes through a copy.

use std::ops::Range;

use turntile_perm::Slots;
use turntile_plan::Direction;
use turntile_simd::{self as simd, Block, Byte};

use crate::bands::Bands;
use crate::gather::{Chunks, Tails};
use crate::parts;
use crate::runs::Runs;
use crate::strips::{Ahead, Beside, Strips};

/// A gather pass cut in bands.
#[derive(Clone, Copy)]
pub struct Banded {
    /// The index maps.
    pub slots: Slots,
    /// Bytes of an element.
    pub elem_bytes: usize,
    /// How bands are cut.
    pub bands: Bands,
}

/// What is beyond a run forward.
struct Beyond<'a> {
    /// The rows after it as they were, or beyond the last run the last chunk as it will be.
    kept: &'a mut [Byte],
    /// The last chunk, which the run before it reads as it is.
    last: Option<&'a mut [Byte]>,
}

const KEPT: &str = "something is kept of what is beyond a run";

/// A band of a part's memory, with what it shares with its neighbours.
struct Band<'a> {
    chunks: usize,
    rows: &'a mut [Byte],
    beside: Beside<'a>,
}

/// A column's slot: its place in a chunk's memory and the rows of the chunk before its first element.
struct Column {
    place: usize,
    lead: usize,
}

impl Banded {
    /// As [`Chunks::gather`]; `kept` and `scratch` as long as [`Bands`] says.
    pub fn gather(&self, data: &mut [Byte], parts: usize, kept: &mut [Byte], scratch: &mut [Byte]) {
        let chunks = self.chunks();
        let (head, full) = (chunks.kept_bytes(), self.slots.chunks() - 1);
        let (heads, copy) = kept.split_at_mut((parts - 1) * head);
        let mut heads = parts::cut(heads, (1..parts).map(|_| head));
        // The last chunk waits for the one before it, which reads its rows, and reads the first rows now.
        let (first_rows, last) = (&data[..head], &data[full * self.chunk_bytes()..]);
        let columns = |part| parts::share(self.slots.cols(), parts, part);
        let lens = (0..parts).map(|part| chunks.columns_bytes(full, &columns(part)));
        let slots = parts::cut(copy, lens).into_iter().enumerate();
        let mut unkept = heads.iter_mut();
        let shares: Vec<_> = slots.map(|(part, slots)| (part, slots, unkept.next())).collect();
        parts::run_on(shares, &mut [], 0, |(part, slots, kept), _| {
            if let Some(kept) = kept {
                let next = parts::share(full, parts, part).end * self.chunk_bytes();
                kept.copy_from_slice(&data[next..][..head]);
            }
            chunks.gather_chunk(full, columns(part), last, first_rows, slots);
        });
        let (data, last) = data.split_at_mut(full * self.chunk_bytes());
        if full == 0 {
            return last.copy_from_slice(copy);
        }
        let heads = heads.into_iter().map(|kept| Beyond { kept, last: None });
        let beyond = heads.chain([Beyond { kept: copy, last: Some(last) }]);
        let runs = self.runs(beyond, parts, Direction::Forward);
        let keep = |_, next: &[Byte], beyond: &mut Beyond| {
            beyond.kept[..head].copy_from_slice(&next[..head]);
        };
        let work = |rows: &mut [Byte],
                    next: Option<&[Byte]>,
                    beyond: &mut Option<Beyond>,
                    scratch: &mut [Byte]| {
            let mut gather = |after: &[Byte]| {
                let beside = Beside::Rows(&after[..head]);
                self.gather_band(&mut self.band(rows, beside), scratch);
            };
            match (next, beyond) {
                (Some(next), _) => gather(next),
                (None, Some(Beyond { kept, last })) => match last.take() {
                    None => gather(kept),
                    Some(last) => {
                        gather(last);
                        last.copy_from_slice(kept);
                    }
                },
                (None, None) => unreachable!("{KEPT}"),
            }
        };
        let scratch = (scratch, self.scratch_bytes());
        runs.over(data, self.chunk_bytes(), scratch, keep, work);
    }

    /// As [`Chunks::scatter`].
    pub fn scatter(
        &self,
        data: &mut [Byte],
        parts: usize,
        kept: &mut [Byte],
        scratch: &mut [Byte],
    ) {
        let chunks = self.chunks();
        let (each, full) = (chunks.kept_bytes(), self.slots.chunks() - 1);
        let (ends, copy) = kept.split_at_mut(parts * each);
        let mut ends = parts::cut(ends, (0..parts).map(|_| each));
        let last = &data[full * self.chunk_bytes()..];
        let count = last.len() / self.row_bytes();
        let columns = |part| parts::share(self.slots.cols(), parts, part);
        let bytes = |part: usize| columns(part).len() * self.elem_bytes;
        let pieces = parts::cut(copy, (0..parts).map(|part| count * bytes(part)));
        let shares: Vec<_> = pieces.into_iter().zip(&mut ends).enumerate().collect();
        parts::run_on(shares, &mut [], 0, |(part, (piece, ends)), _| {
            let first = parts::share(full, parts, part).start;
            chunks.keep_tails(first, chunks.before(first, data), ends);
            let tails = match full {
                0 => Tails::Kept(ends),
                _ => Tails::Before(chunks.before(full, data)),
            };
            chunks.scatter_chunk(full, columns(part), last, tails, piece);
        });
        let (data, last) = data.split_at_mut(full * self.chunk_bytes());
        let rows = |part| parts::share(count, parts, part);
        let shares = parts::cut(last, (0..parts).map(|part| rows(part).len() * self.row_bytes()));
        parts::run_on(shares.into_iter().enumerate(), &mut [], 0, |(part, to), _| {
            for (row, mut to) in rows(part).zip(to.chunks_exact_mut(self.row_bytes())) {
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
        let work = |rows: &mut [Byte],
                    before: Option<&[Byte]>,
                    ends: &mut Option<&mut [Byte]>,
                    scratch: &mut [Byte]| {
            let beside = match (before, ends) {
                (Some(before), _) => Beside::Slots(before),
                (None, Some(ends)) => Beside::Ends(ends),
                (None, None) => unreachable!("{KEPT}"),
            };
            self.scatter_band(&mut self.band(rows, beside), scratch);
        };
        let scratch = (scratch, self.scratch_bytes());
        runs.over(data, self.chunk_bytes(), scratch, keep, work);
    }

    /// Every part's run of full chunks.
    fn runs<K>(
        &self,
        beyond: impl IntoIterator<Item = K>,
        parts: usize,
        direction: Direction,
    ) -> Runs<K> {
        let full = self.slots.chunks() - 1;
        let shares = (0..parts).map(|part| parts::share(full, parts, part));
        Runs::new(shares.zip(beyond), direction, self.bands.chunks)
    }

    fn scratch_bytes(&self) -> usize {
        self.bands.scratch_bytes(&self.slots, self.elem_bytes)
    }

    fn band<'a>(&self, rows: &'a mut [Byte], beside: Beside<'a>) -> Band<'a> {
        Band { chunks: rows.len() / self.chunk_bytes(), rows, beside }
    }

    fn chunks(&self) -> Chunks {
        Chunks { slots: self.slots, elem_bytes: self.elem_bytes }
    }

    fn row_bytes(&self) -> usize {
        self.slots.cols() * self.elem_bytes
    }

    fn chunk_bytes(&self) -> usize {
        self.slots.slot() * self.row_bytes()
    }

    /// The slot of column `j` in a full chunk: the same in each.
    fn column(&self, j: usize) -> Column {
        let (first, _, place) = self.slots.column(0, j);
        Column { place, lead: first * self.slots.slot() - j * self.slots.rows() }
    }

    /// Splits scratch into the buffer of the strip that is held and the ring of the others.
    fn buffers<'a>(&self, scratch: &'a mut [Byte]) -> (&'a mut [Byte], Strips<'a>) {
        let column_bytes = self.bands.column(&self.slots) * self.elem_bytes;
        let (held, ring) = scratch.split_at_mut(self.bands.held * column_bytes);
        (held, Strips::new(self.slots, self.elem_bytes, self.bands.width, ring))
    }

    fn gather_band(&self, band: &mut Band, scratch: &mut [Byte]) {
        let (held, mut strips) = self.buffers(scratch);
        let Bands { held: first, width, .. } = self.bands;
        let Beside::Rows(after) = band.beside else { unreachable!("forward, rows follow") };
        self.take_rows(band, 0..first, held);
        let wide = self.bands.ahead(self.elem_bytes);
        for start in (first..self.slots.cols()).step_by(wide).rev() {
            let group = start..(start + wide).min(self.slots.cols());
            let next = start.saturating_sub(wide).max(first)..start;
            let mut far = self.ahead(band, band.rows.as_ptr(), next, group.len());
            for start in group.clone().step_by(width).rev() {
                let columns = start..(start + width).min(group.end);
                strips.gather(band.rows, after, columns, &mut far);
            }
        }
        self.put_slots(band, 0..first, held);
    }

    fn scatter_band(&self, band: &mut Band, scratch: &mut [Byte]) {
        let (held, mut strips) = self.buffers(scratch);
        let (cols, width) = (self.slots.cols(), self.bands.width);
        let last = cols - self.bands.held;
        self.take_slots(band, last..cols, held);
        let chunk_before = band.rows.as_ptr().wrapping_sub(self.chunk_bytes());
        let wide = self.bands.ahead(self.elem_bytes);
        for start in (0..last).step_by(wide) {
            let group = start..(start + wide).min(last);
            // Slots that begin in the next strips reach so far.
            let reach = self.slots.slot() - 1;
            let next = group.end + reach..(group.end + wide).min(last) + reach;
            let mut far = self.ahead(band, chunk_before, next, group.len());
            for start in group.clone().step_by(width) {
                let columns = start..(start + width).min(group.end);
                strips.scatter(band.rows, band.beside, columns, &mut far);
            }
        }
        self.put_rows(band, last..cols, held);
    }

    /// The lines of the next strips, whose columns `next` are, of a band's chunks and the one beside it.
    fn ahead(&self, band: &Band, from: *const Byte, next: Range<usize>, width: usize) -> Ahead {
        let rows = if next.is_empty() { 0 } else { (band.chunks + 1) * self.slots.slot() };
        let from = from.wrapping_add(next.start * self.elem_bytes);
        let bytes = next.len() * self.elem_bytes;
        Ahead::new(from, rows, self.row_bytes(), bytes, width * band.chunks)
    }

    /// Elements of a buffer's column for that band.
    fn pitch(&self, band: &Band) -> usize {
        (band.chunks + 1) * self.slots.slot()
    }

    /// Rows of the band and those after it, transposed.
    fn take_rows(&self, band: &Band, columns: Range<usize>, buffer: &mut [Byte]) {
        let (e, slot, cols) = (self.elem_bytes, self.slots.slot(), self.slots.cols());
        let (rows, to_pitch) = (band.chunks * slot, self.pitch(band));
        let block = Block { rows, cols: columns.len(), from_pitch: cols, to_pitch };
        simd::transpose(&band.rows[columns.start * e..], buffer, block, e);
        let Beside::Rows(after) = band.beside else { unreachable!("forward, rows follow") };
        let after = &after[(columns.start * e).min(after.len())..];
        simd::transpose(after, &mut buffer[rows * e..], Block { rows: slot - 1, ..block }, e);
    }

    /// Transposed back into the band.
    fn put_rows(&self, band: &mut Band, columns: Range<usize>, buffer: &[Byte]) {
        let e = self.elem_bytes;
        let (rows, cols) = (columns.len(), band.chunks * self.slots.slot());
        let block = Block { rows, cols, from_pitch: self.pitch(band), to_pitch: self.slots.cols() };
        simd::transpose(buffer, &mut band.rows[columns.start * e..], block, e);
    }

    /// The slots of some columns from their buffer to their places.
    fn put_slots(&self, band: &mut Band, columns: Range<usize>, buffer: &[Byte]) {
        let slot_bytes = self.slots.slot() * self.elem_bytes;
        let pitch = self.pitch(band) * self.elem_bytes;
        for (j, column) in columns.zip(buffer.chunks_exact(pitch)) {
            let Column { place, lead } = self.column(j);
            let slots = column[lead * self.elem_bytes..].chunks_exact(slot_bytes);
            for (chunk, slot) in band.rows.chunks_exact_mut(self.chunk_bytes()).zip(slots) {
                chunk[place * slot_bytes..][..slot_bytes].copy_from_slice(slot);
            }
        }
    }

    /// The slots of some columns into their buffer, after the ends of those before the band.
    fn take_slots(&self, band: &Band, columns: Range<usize>, buffer: &mut [Byte]) {
        let (e, slot) = (self.elem_bytes, self.slots.slot());
        let (slot_bytes, pitch) = (slot * e, self.pitch(band) * e);
        for (j, to) in columns.zip(buffer.chunks_exact_mut(pitch)) {
            let Column { place, lead } = self.column(j);
            let (end, to) = to.split_at_mut(lead * e);
            end.copy_from_slice(match band.beside {
                Beside::Slots(before) => &before[((place + 1) * slot - lead) * e..][..lead * e],
                Beside::Ends(ends) => &ends[j * (slot - 1) * e..][..lead * e],
                Beside::Rows(_) => unreachable!("backward, slots come before"),
            });
            let chunks = band.rows.chunks_exact(self.chunk_bytes());
            for (chunk, to) in chunks.zip(to.chunks_exact_mut(slot_bytes)) {
                to.copy_from_slice(&chunk[place * slot_bytes..][..slot_bytes]);
            }
        }
    }
}
