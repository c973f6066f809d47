//! The first pass of the aligned-slot route in row order, and its inverse: band after band of chunks,
//! strip after strip of columns, without a chunk of scratch.
//!
//! A slot lies in its own strip but for its end, which reaches into the next one, and at the end of a row
//! into the first. Forward, strips go from right to left, so that slots end where everything has
//! been read, and the first strip is read before the others and written after them; backward the other
//! way round. The last chunk, whose slots lie column by column, goes through a copy.

use std::ops::Range;

use turntile_perm::Slots;
use turntile_plan::bands::Bands;
use turntile_simd::{self as simd, Block};

use crate::Byte;
use crate::gather::{Chunks, Tails};
use crate::parts;
use crate::strips::{Ahead, Strips};

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

/// A band of a part's memory, with what it shares with its neighbours.
struct Band<'a> {
    chunks: usize,
    rows: &'a mut [Byte],
    beside: Beside<'a>,
}

/// What a band reads of the chunk after it (forward) or before it (backward).
#[derive(Clone, Copy)]
pub enum Beside<'a> {
    /// The rows after it, whole.
    Rows(&'a [Byte]),
    /// The chunk before it, in slots.
    Slots(&'a [Byte]),
    /// The ends of the slots before it: `slot - 1` elements for each column.
    Ends(&'a [Byte]),
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
        let (heads, copy) = kept.split_at_mut((parts - 1) * chunks.kept_bytes());
        let last = self.slots.chunks() - 1;
        // The last chunk waits for the one before it, which reads its rows, and reads the first rows now.
        let (first_rows, last_chunk) = (&data[..chunks.kept_bytes()], last * self.chunk_bytes());
        let mut heads_left = heads.chunks_exact_mut(chunks.kept_bytes().max(1));
        let mut copy_left = &mut *copy;
        let shares: Vec<_> = (0..parts)
            .map(|part| {
                let columns = parts::share(self.slots.cols(), parts, part);
                let bytes = chunks.columns_bytes(last, &columns);
                let slots = copy_left.split_off_mut(..bytes).expect("shares add up");
                (part, heads_left.next(), columns, slots)
            })
            .collect();
        parts::run_on(shares, &mut [], 0, |(part, head, columns, slots), _| {
            if let Some(head) = head {
                let end = parts::share(last, parts, part).end;
                head.copy_from_slice(&data[end * self.chunk_bytes()..][..head.len()]);
            }
            chunks.gather_chunk(last, columns, &data[last_chunk..], first_rows, slots);
        });
        let heads = &*heads;
        self.over_parts(data, parts, scratch, |part, own, run, scratch| {
            for c in run.clone().step_by(self.bands.chunks) {
                let chunks = self.bands.chunks.min(run.end - c);
                let (_, from_here) = own.split_at_mut(self.chunk_bytes() * (c - run.start));
                let (rows, after) = from_here.split_at_mut(self.chunk_bytes() * chunks);
                let each = self.chunks().kept_bytes();
                let after =
                    if after.is_empty() { &heads[part * each..][..each] } else { &after[..each] };
                let beside = Beside::Rows(after);
                self.gather_band(&mut Band { chunks, rows, beside }, scratch);
            }
        });
        let each = copy.len().div_ceil(parts).max(1);
        let shares: Vec<_> = data[last_chunk..].chunks_mut(each).zip(copy.chunks(each)).collect();
        parts::run_on(shares, &mut [], 0, |(chunk, copy), _| chunk.copy_from_slice(copy));
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
        let each = chunks.kept_bytes();
        let (ends, copy) = kept.split_at_mut(parts * each);
        let last = self.slots.chunks() - 1;
        let (before, chunk) = data.split_at(last * self.chunk_bytes());
        let tails = before.len().checked_sub(self.chunk_bytes()).map(|from| &before[from..]);
        let count = chunk.len() / self.row_bytes();
        let mut ends_left = ends.chunks_exact_mut(each.max(1));
        let mut copy_left = &mut *copy;
        let shares: Vec<_> = (0..parts)
            .map(|part| {
                let columns = parts::share(self.slots.cols(), parts, part);
                let bytes = count * columns.len() * self.elem_bytes;
                let rows = copy_left.split_off_mut(..bytes).expect("shares add up");
                (part, ends_left.next(), columns, rows)
            })
            .collect();
        parts::run_on(shares, &mut [], 0, |(part, ends, columns, rows), _| {
            let ends = ends.map_or(&[][..], |ends| {
                chunks.keep_tails(parts::share(last, parts, part).start, data, ends);
                ends
            });
            // Without a chunk before there is one part.
            let tails = tails.map_or(Tails::Kept(ends), Tails::Before);
            chunks.scatter_chunk(last, columns, chunk, tails, rows);
        });
        let (ends, copy, mut rest) = (&*ends, &*copy, &mut data[last * self.chunk_bytes()..]);
        let shares: Vec<_> = (0..parts)
            .map(|part| {
                let rows = parts::share(count, parts, part);
                (rows.start, rest.split_off_mut(..rows.len() * self.row_bytes()).expect("all rows"))
            })
            .collect();
        parts::run_on(shares, &mut [], 0, |(first, to), _| {
            for (row, to) in (first..).zip(to.chunks_exact_mut(self.row_bytes())) {
                for part in 0..parts {
                    let columns = parts::share(self.slots.cols(), parts, part);
                    let bytes = columns.len() * self.elem_bytes;
                    let from = count * columns.start * self.elem_bytes + row * bytes;
                    to[columns.start * self.elem_bytes..][..bytes]
                        .copy_from_slice(&copy[from..][..bytes]);
                }
            }
        });
        self.over_parts(data, parts, scratch, |part, own, run, scratch| {
            for c in run.clone().step_by(self.bands.chunks).rev() {
                let chunks = self.bands.chunks.min(run.end - c);
                let (before, from_here) = own.split_at_mut(self.chunk_bytes() * (c - run.start));
                let rows = &mut from_here[..self.chunk_bytes() * chunks];
                let beside = match before.len().checked_sub(self.chunk_bytes()) {
                    Some(from) => Beside::Slots(&before[from..]),
                    None => Beside::Ends(&ends[part * each..][..each]),
                };
                self.scatter_band(&mut Band { chunks, rows, beside }, scratch);
            }
        });
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

    /// `work` with every part's number, memory, full chunks and scratch; the last part's memory goes
    /// on to the end.
    fn over_parts(
        &self,
        data: &mut [Byte],
        parts: usize,
        scratch: &mut [Byte],
        work: impl Fn(usize, &mut [Byte], Range<usize>, &mut [Byte]) + Sync,
    ) {
        let full = self.slots.chunks() - 1;
        let mut rest = data;
        let mut shares = Vec::with_capacity(parts);
        for part in 0..parts {
            let run = parts::share(full, parts, part);
            let bytes = if part + 1 == parts { rest.len() } else { run.len() * self.chunk_bytes() };
            let own = rest.split_off_mut(..bytes).expect("runs add up");
            shares.push((part, own, run));
        }
        let each = self.bands.scratch_bytes(&self.slots, self.elem_bytes);
        parts::run_on(shares, scratch, each, |(part, own, run), scratch| {
            work(part, own, run, scratch);
        });
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
