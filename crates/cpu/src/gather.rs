//! The first pass of the aligned-slot route, and its inverse: chunk after chunk through scratch.
//!
//! Chunks are shared out in runs. A run needs, besides its own memory, the few rows that its first
//! or last chunk shares with a chunk of another run; those are *kept* before anything is written,
//! `(slot - 1) · cols` elements for each run.

use std::ops::Range;

use turntile_perm::Slots;

use crate::Byte;
use crate::parts;
use turntile_simd::{self as simd, Block};

/// The chunks of a matrix, in elements of `elem_bytes` bytes.
#[derive(Clone, Copy)]
pub struct Chunks {
    /// The index maps.
    pub slots: Slots,
    /// Bytes of an element.
    pub elem_bytes: usize,
}

/// Sides of the blocks that are transposed at a time: a 16 KiB buffer.
const BLOCK_ROW_BYTES: usize = 256;
const BLOCK_ROWS: usize = 64;

/// The run of elements of one column that a chunk's slots hold.
#[derive(Clone, Copy)]
struct Run {
    /// Rows of the chunk before the run's first element.
    lead: usize,
    /// Where it lies in the chunk's memory, in elements.
    place: usize,
    /// Its elements.
    len: usize,
}

/// A chunk's run of columns, with the rest of what a pass over it needs.
struct Columns<'a> {
    runs: &'a [Run],
    first: usize,
}

impl Chunks {
    /// Gathers every chunk's slots into its own memory. `kept` and `scratch` are shared out
    /// equally: [`kept_bytes`](Self::kept_bytes) and [`scratch_bytes`](Self::scratch_bytes) a part.
    pub fn gather(&self, data: &mut [Byte], parts: usize, kept: &mut [Byte], scratch: &mut [Byte]) {
        let each_kept = self.kept_bytes();
        for part in 0..parts {
            let end = self.last_row(&parts::share(self.slots.chunks(), parts, part));
            // Past the last row come the first ones, a column further on: see `virtual_rows`.
            let from = if end == self.slots.rows() { 0 } else { end * self.row_bytes() };
            kept[part * each_kept..][..each_kept].copy_from_slice(&data[from..][..each_kept]);
        }
        self.over_runs(data, parts, kept, scratch, |own, chunks, kept, scratch| {
            let first_row = chunks.start * self.slots.chunk();
            for c in chunks.clone() {
                let (row, count) = self.slots.chunk_rows(c);
                let (_, from_here) = own.split_at_mut((row - first_row) * self.row_bytes());
                let (chunk, next) = from_here.split_at_mut(count * self.row_bytes());
                let halo = if c + 1 == chunks.end { kept } else { &next[..each_kept] };
                self.gather_chunk(c, chunk, halo, scratch);
                chunk.copy_from_slice(&scratch[..chunk.len()]);
            }
        });
    }

    /// Undoes [`gather`](Self::gather): every chunk's rows from its own slots and those of the
    /// chunk before.
    pub fn scatter(
        &self,
        data: &mut [Byte],
        parts: usize,
        kept: &mut [Byte],
        scratch: &mut [Byte],
    ) {
        let each_kept = self.kept_bytes();
        for part in 0..parts {
            let c = parts::share(self.slots.chunks(), parts, part).start;
            self.keep_tails(c, data, &mut kept[part * each_kept..][..each_kept]);
        }
        self.over_runs(data, parts, kept, scratch, |own, chunks, kept, scratch| {
            let first_row = chunks.start * self.slots.chunk();
            for c in chunks.clone().rev() {
                let (row, count) = self.slots.chunk_rows(c);
                let (before, from_here) = own.split_at_mut((row - first_row) * self.row_bytes());
                let chunk = &mut from_here[..count * self.row_bytes()];
                // Slots of the chunk before are where they were: chunks go from last to first.
                let tails = if c == chunks.start {
                    Tails::Kept(kept)
                } else {
                    let from = before.len() - self.slots.chunk() * self.row_bytes();
                    Tails::Before(&before[from..])
                };
                self.scatter_chunk(c, chunk, tails, scratch);
                chunk.copy_from_slice(&scratch[..chunk.len()]);
            }
        });
    }

    /// Bytes that a part keeps: `(slot - 1) · cols` elements.
    pub fn kept_bytes(&self) -> usize {
        (self.slots.slot() - 1) * self.row_bytes()
    }

    /// Bytes of scratch that a part needs: the longest chunk.
    pub fn scratch_bytes(&self) -> usize {
        self.slots.longest_chunk() * self.row_bytes()
    }

    fn row_bytes(&self) -> usize {
        self.slots.cols() * self.elem_bytes
    }

    fn last_row(&self, chunks: &Range<usize>) -> usize {
        let (row, count) = self.slots.chunk_rows(chunks.end - 1);
        row + count
    }

    fn over_runs(
        &self,
        data: &mut [Byte],
        parts: usize,
        kept: &[Byte],
        scratch: &mut [Byte],
        work: impl Fn(&mut [Byte], Range<usize>, &[Byte], &mut [Byte]) + Sync,
    ) {
        let each_kept = self.kept_bytes();
        let mut rest = data;
        let mut shares = Vec::with_capacity(parts);
        for part in 0..parts {
            let chunks = parts::share(self.slots.chunks(), parts, part);
            let rows = self.last_row(&chunks) - chunks.start * self.slots.chunk();
            let own = rest.split_off_mut(..rows * self.row_bytes()).expect("runs add up");
            shares.push((own, chunks, &kept[part * each_kept..][..each_kept]));
        }
        parts::run_on(shares, scratch, self.scratch_bytes(), |(own, chunks, kept), scratch| {
            work(own, chunks, kept, scratch);
        });
    }

    /// The runs of columns `js` in chunk `c`, whose memory ends after `rows · cols` elements: the
    /// last slot of all may be partial.
    fn runs(&self, c: usize, js: Range<usize>) -> Vec<Run> {
        let (_, rows) = self.slots.chunk_rows(c);
        let end = rows * self.slots.cols();
        js.map(|j| {
            let (_, count, place) = self.slots.column(c, j);
            let place = place * self.slots.slot();
            let len = (count * self.slots.slot()).min(end - place);
            Run { lead: self.slots.lead(c, j), place, len }
        })
        .collect()
    }

    /// Every block of columns of a chunk with its runs.
    fn for_columns(&self, c: usize, mut work: impl FnMut(Columns)) {
        let width = self.block_side();
        for first in (0..self.slots.cols()).step_by(width) {
            let runs = self.runs(c, first..(first + width).min(self.slots.cols()));
            work(Columns { runs: &runs, first });
        }
    }

    /// Elements of a side of the blocks that go through the stack.
    fn block_side(&self) -> usize {
        (BLOCK_ROW_BYTES / self.elem_bytes).clamp(1, BLOCK_ROWS)
    }

    fn gather_chunk(&self, c: usize, chunk: &[Byte], halo: &[Byte], out: &mut [Byte]) {
        let (first_row, count) = self.slots.chunk_rows(c);
        let past_end = usize::from(first_row + count == self.slots.rows());
        self.for_columns(c, |columns| {
            self.gather_rows(chunk, 0, count, &columns, 0, out);
            // Past the last row, row e of column j is row e of column j + 1: one element further.
            let halo_rows = self.slots.slot() - 1;
            self.gather_rows(halo, count, halo_rows, &columns, past_end, out);
        });
    }

    /// The parts of `columns`' runs that lie in rows `first .. first + count` of the chunk, which
    /// are the rows of `from`, `shift` elements on.
    fn gather_rows(
        &self,
        from: &[Byte],
        first: usize,
        count: usize,
        columns: &Columns,
        shift: usize,
        out: &mut [Byte],
    ) {
        let (e, cols, side) = (self.elem_bytes, self.slots.cols(), self.block_side());
        let width = columns.runs.len();
        let mut turned = [Byte::uninit(); BLOCK_ROW_BYTES * BLOCK_ROWS];
        for x in (0..count).step_by(side) {
            let height = side.min(count - x);
            let start = (x * cols + columns.first + shift) * e;
            // The very last element of the last halo row has no successor and is in no slot.
            let block = &from[start.min(from.len())..];
            let whole = ((height - 1) * cols + width) * e <= block.len()
                && height * width * e <= turned.len();
            if whole {
                let shape = Block { rows: height, cols: width, from_pitch: cols, to_pitch: height };
                simd::transpose(block, &mut turned, shape, e);
            }
            for (j, run) in columns.runs.iter().enumerate() {
                let rows = overlap(run, first + x, height);
                if rows.is_empty() {
                    continue;
                }
                let to = (run.place + rows.start - run.lead) * e;
                if whole {
                    let skip = rows.start - (first + x);
                    let column = &turned[(j * height + skip) * e..][..rows.len() * e];
                    out[to..][..column.len()].copy_from_slice(column);
                } else {
                    for (k, row) in rows.enumerate() {
                        let element = &block[((row - first - x) * cols + j) * e..][..e];
                        out[to + k * e..][..e].copy_from_slice(element);
                    }
                }
            }
        }
    }

    /// Keeps, for every column, the elements before its first slot in chunk `c`: they lie at the
    /// end of a run of the chunk before, or of the last chunk's previous column.
    fn keep_tails(&self, c: usize, data: &[Byte], kept: &mut [Byte]) {
        let e = self.elem_bytes;
        let stride = self.slots.slot() - 1;
        let last = self.slots.chunks() - 1;
        for j in 0..self.slots.cols() {
            let lead = self.slots.lead(c, j);
            if lead == 0 {
                continue;
            }
            let (before, column) = if c > 0 { (c - 1, j) } else { (last, j - 1) };
            let run = self.runs(before, column..column + 1)[0];
            let end = self.slots.chunk_place(before) * self.slots.slot() + run.place + run.len;
            kept[j * stride * e..][..lead * e]
                .copy_from_slice(&data[(end - lead) * e..][..lead * e]);
        }
    }

    fn scatter_chunk(&self, c: usize, chunk: &[Byte], tails: Tails, out: &mut [Byte]) {
        let (e, cols, side) = (self.elem_bytes, self.slots.cols(), self.block_side());
        let (_, count) = self.slots.chunk_rows(c);
        let stride = self.slots.slot() - 1;
        let mut columns_rows = [Byte::uninit(); BLOCK_ROW_BYTES * BLOCK_ROWS];
        self.for_columns(c, |Columns { runs, first }| {
            let width = runs.len();
            for x in (0..count).step_by(side) {
                let height = side.min(count - x);
                // Rows x.. of column j: the end of the run before it, then its own.
                let tail = |j: usize, row: usize, len: usize| match tails {
                    Tails::Kept(kept) => &kept[((first + j) * stride + row) * e..][..len * e],
                    Tails::Before(before) => {
                        let chunk_rows = self.slots.chunk();
                        let end = (first + j + 1) * chunk_rows;
                        &before[(end - runs[j].lead + row) * e..][..len * e]
                    }
                };
                let piece = |j: usize| {
                    let run = &runs[j];
                    let from_tail = run.lead.saturating_sub(x).min(height);
                    let own = run.place + (x + from_tail).saturating_sub(run.lead);
                    let own_len = (height - from_tail) * e;
                    let before: &[Byte] = if from_tail > 0 { tail(j, x, from_tail) } else { &[] };
                    (before, &chunk[own * e..][..own_len])
                };
                if height * width * e > columns_rows.len() {
                    // Elements longer than the buffer's rows: one row and column at a time.
                    let (before, own) = piece(0);
                    let element = if before.is_empty() { own } else { before };
                    out[(x * cols + first) * e..][..e].copy_from_slice(element);
                    continue;
                }
                for j in 0..width {
                    let (before, own) = piece(j);
                    let column = &mut columns_rows[j * height * e..][..height * e];
                    column[..before.len()].copy_from_slice(before);
                    column[before.len()..].copy_from_slice(own);
                }
                let shape = Block { rows: width, cols: height, from_pitch: height, to_pitch: cols };
                simd::transpose(&columns_rows, &mut out[(x * cols + first) * e..], shape, e);
            }
        });
    }
}

/// Where the elements before a column's first slot are found.
#[derive(Clone, Copy)]
enum Tails<'a> {
    /// Set aside: `slot - 1` elements for each column.
    Kept(&'a [Byte]),
    /// At the ends of the runs of the chunk before, here with its slots, a full one.
    Before(&'a [Byte]),
}

/// The rows of `first .. first + count` that `run` covers.
fn overlap(run: &Run, first: usize, count: usize) -> Range<usize> {
    let start = run.lead.max(first);
    start..(run.lead + run.len).min(first + count)
}
