//! The first pass of the aligned-slot route, and its inverse: chunk after chunk through scratch.
//!
//! Chunks are shared out in runs. A run needs, besides its own memory, the few rows that its first
//! or last chunk shares with a chunk of another run; those are *kept* before anything is written,
//! `(slot - 1) · cols` elements for each run.

use std::ops::Range;

use turntile_perm::{AlignedSlots, SlotOrder};

use crate::parallel;
use turntile_simd::{self as simd, BlockShape, Byte};

/// The chunks of a matrix, in elements of `elem_bytes` bytes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ChunkGather {
    /// The index maps.
    pub slots: AlignedSlots,
    /// Bytes of an element.
    pub elem_bytes: usize,
}

/// Blocks that are transposed at a time: a buffer of 32 KiB, or of an element that is longer; four lines of every row.
const BLOCK_BYTES: usize = 32 << 10;
const BLOCK_ROW_BYTES: usize = 256;
/// Columns whose stretches are worked out at a time.
const MOST_COLUMNS: usize = 128;

/// The elements of one column that a chunk's slots hold, one after the other.
#[derive(Clone, Copy)]
struct Stretch {
    /// Rows of the chunk before its first element.
    lead: usize,
    /// Where it lies in the chunk's memory, in elements.
    place: usize,
    /// Its elements.
    len: usize,
}

impl ChunkGather {
    /// Gathers every chunk's slots into its own memory. `kept` and `scratch` are shared out
    /// equally: [`kept_bytes`](Self::kept_bytes) and [`scratch_bytes`](Self::scratch_bytes) a part.
    pub fn gather(&self, data: &mut [Byte], parts: usize, kept: &mut [Byte], scratch: &mut [Byte]) {
        let each_kept = self.kept_bytes();
        for part in 0..parts {
            let end = self.last_row(&parallel::share(self.slots.chunks(), parts, part));
            // Past the last row come the first ones, a column further on.
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
                self.gather_chunk(c, 0..self.slots.cols(), chunk, halo, scratch);
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
            let c = parallel::share(self.slots.chunks(), parts, part).start;
            self.keep_tails(c, self.before(c, data), &mut kept[part * each_kept..][..each_kept]);
        }
        self.over_runs(data, parts, kept, scratch, |own, chunks, kept, scratch| {
            let first_row = chunks.start * self.slots.chunk();
            for c in chunks.clone().rev() {
                let (row, count) = self.slots.chunk_rows(c);
                let (before, from_here) = own.split_at_mut((row - first_row) * self.row_bytes());
                let chunk = &mut from_here[..count * self.row_bytes()];
                // Slots of the chunk before are where they were: chunks go from last to first.
                let tails = if c == chunks.start {
                    Halo::Kept(kept)
                } else {
                    let from = before.len() - self.chunk_bytes();
                    Halo::Before(&before[from..])
                };
                self.scatter_chunk(c, 0..self.slots.cols(), chunk, tails, scratch);
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

    /// Bytes of a matrix.
    pub fn bytes(&self) -> usize {
        self.slots.len() * self.elem_bytes
    }

    /// Bytes of a slot.
    pub fn slot_bytes(&self) -> usize {
        self.slots.slot() * self.elem_bytes
    }

    /// Bytes of a full chunk.
    pub fn chunk_bytes(&self) -> usize {
        self.slots.chunk() * self.row_bytes()
    }

    /// Bytes of a row.
    pub fn row_bytes(&self) -> usize {
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
        let rows = |run: &Range<usize>| self.last_row(run) - run.start * self.slots.chunk();
        let bytes = |run: &Range<usize>| rows(run) * self.row_bytes();
        let (kept, scratch) = ((kept, self.kept_bytes()), (scratch, self.scratch_bytes()));
        parallel::over_runs(data, [self.slots.chunks(), parts], bytes, kept, scratch, work);
    }

    /// The stretch of column `j` in chunk `c`, whose memory ends after `rows · cols` elements: the last
    /// slot of all may be partial.
    fn stretch(&self, c: usize, j: usize) -> Stretch {
        let (_, rows) = self.slots.chunk_rows(c);
        let end = rows * self.slots.cols();
        let (_, count, place) = self.slots.column(c, j);
        let place = place * self.slots.slot();
        let len = (count * self.slots.slot()).min(end - place);
        Stretch { lead: self.slots.lead(c, j), place, len }
    }

    /// Every block of some columns of a chunk: its first column, and the stretches of all.
    fn for_columns(
        &self,
        c: usize,
        columns: Range<usize>,
        mut work: impl FnMut(usize, &[Stretch]),
    ) {
        let (slot, chunk) = (self.slots.slot(), self.slots.chunk());
        let step = self.slots.rows() % slot;
        let regular = c + 1 < self.slots.chunks() && self.slots.order() == SlotOrder::Columns;
        let mut stretches = [Stretch { lead: 0, place: 0, len: 0 }; MOST_COLUMNS];
        let width = self.block_cols();
        for first in columns.clone().step_by(width) {
            let stretches = &mut stretches[..width.min(columns.end - first)];
            stretches[0] = self.stretch(c, first);
            for k in 1..stretches.len() {
                // In a full chunk's columns one after the other: no divisions.
                let Stretch { lead, place, len } = stretches[k - 1];
                let lead = if lead >= step { lead - step } else { lead + slot - step };
                let next = Stretch { lead, place: place + chunk, len };
                stretches[k] = if regular { next } else { self.stretch(c, first + k) };
            }
            work(first, stretches);
        }
    }

    /// Columns of a block.
    fn block_cols(&self) -> usize {
        (BLOCK_ROW_BYTES / self.elem_bytes).clamp(1, MOST_COLUMNS)
    }

    /// Rows of a block of `width` columns.
    fn block_rows(&self, width: usize) -> usize {
        (BLOCK_BYTES / (width * self.elem_bytes)).max(1)
    }

    /// Whether an element is longer than a block's buffer: each is a block, copied from where it lies.
    fn is_long(&self) -> bool {
        self.elem_bytes > BLOCK_BYTES
    }

    /// Bytes of the slots that some columns have in chunk `c`, which lie column by column.
    pub fn columns_bytes(&self, c: usize, columns: &Range<usize>) -> usize {
        let place = |j: usize| match j == self.slots.cols() {
            false => self.stretch(c, j).place,
            true => self.slots.chunk_rows(c).1 * j,
        };
        (place(columns.end) - place(columns.start)) * self.elem_bytes
    }

    /// The slots that some columns have in chunk `c`, column by column, into `out`; `halo` is the rows after it.
    pub fn gather_chunk(
        &self,
        c: usize,
        columns: Range<usize>,
        chunk: &[Byte],
        halo: &[Byte],
        out: &mut [Byte],
    ) {
        if columns.is_empty() {
            return;
        }
        let e = self.elem_bytes;
        let start = self.stretch(c, columns.start).place;
        let (first_row, count) = self.slots.chunk_rows(c);
        // Past the last row, row e of column j is row e of column j + 1: one element further. The
        // very last element of the last such row has no successor and is in no slot.
        let past_end = usize::from(first_row + count == self.slots.rows());
        let halo = &halo[(past_end * e).min(halo.len())..];
        let window = count + self.slots.slot() - 1;
        let mut turned = [Byte::uninit(); BLOCK_BYTES];
        self.for_columns(c, columns, |first, stretches| {
            let height = self.block_rows(stretches.len()).min(window);
            // The next block's lines, 256 bytes of each row, which no hardware sees coming.
            let next = (first + stretches.len()) * e..(first + 2 * stretches.len()) * e;
            prefetch_rows(chunk, count, self.row_bytes(), next.clone());
            prefetch_rows(halo, window - count, self.row_bytes(), next);
            for x in (0..window).step_by(height) {
                let end = (x + height).min(window);
                // The rows of the block: some of the chunk, then some of the halo.
                let split = count.clamp(x, end);
                let part = |from: &[Byte], row: usize, rows: Range<usize>, turned: &mut [Byte]| {
                    let start = (row * self.slots.cols() + first) * e;
                    let at = (rows.start - x) * e;
                    self.turn(
                        &from[start.min(from.len())..],
                        rows.len(),
                        stretches.len(),
                        height,
                        &mut turned[at..],
                    );
                };
                if x < split && !self.is_long() {
                    part(chunk, x, x..split, &mut turned);
                }
                if split < end && !self.is_long() {
                    part(halo, split - count, split..end, &mut turned);
                }
                for (j, stretch) in stretches.iter().enumerate() {
                    let rows = stretch.lead.max(x)..(stretch.lead + stretch.len).min(end);
                    if !rows.is_empty() {
                        let to = (stretch.place - start + rows.start - stretch.lead) * e;
                        let column = if self.is_long() {
                            let (from, row) =
                                if x < count { (chunk, x) } else { (halo, x - count) };
                            &from[(row * self.slots.cols() + first) * e..][..e]
                        } else {
                            &turned[(j * height + rows.start - x) * e..][..rows.len() * e]
                        };
                        out[to..][..column.len()].copy_from_slice(column);
                    }
                }
            }
        });
    }

    /// Transposes `rows` rows of `width` elements, a row of the matrix apart, into columns `pitch`
    /// elements apart; of the last row as much as there is.
    fn turn(&self, from: &[Byte], rows: usize, width: usize, pitch: usize, turned: &mut [Byte]) {
        let (e, cols) = (self.elem_bytes, self.slots.cols());
        let whole = from.len() >= ((rows - 1) * cols + width) * e;
        let full_rows = if whole { rows } else { rows - 1 };
        let block = BlockShape { rows: full_rows, cols: width, from_pitch: cols, to_pitch: pitch };
        simd::transpose(from, turned, block, e);
        if !whole {
            let last = &from[(full_rows * cols * e).min(from.len())..];
            for (j, element) in last.chunks_exact(e).take(width).enumerate() {
                turned[(j * pitch + full_rows) * e..][..e].copy_from_slice(element);
            }
        }
    }

    /// The chunk before chunk `c`, before the first one the last.
    pub fn before<'a>(&self, c: usize, data: &'a [Byte]) -> &'a [Byte] {
        let (row, count) =
            self.slots.chunk_rows(c.checked_sub(1).unwrap_or(self.slots.chunks() - 1));
        &data[row * self.row_bytes()..][..count * self.row_bytes()]
    }

    /// The `lead` elements of column `j` before its first slot in chunk `c`: where they lie in the chunk before, at the end
    /// of a stretch, in the last chunk of the previous column's.
    fn tail(&self, c: usize, j: usize, lead: usize) -> Range<usize> {
        if lead == 0 {
            return 0..0;
        }
        let last = self.slots.chunks() - 1;
        let stretch = if c > 0 { self.stretch(c - 1, j) } else { self.stretch(last, j - 1) };
        let end = stretch.place + stretch.len;
        (end - lead) * self.elem_bytes..end * self.elem_bytes
    }

    /// Keeps the tail of every column in chunk `c`, which lies in the chunk `before`.
    pub fn keep_tails(&self, c: usize, before: &[Byte], kept: &mut [Byte]) {
        let stride = (self.slots.slot() - 1) * self.elem_bytes;
        let cols = self.slots.cols();
        let tail = |j: usize| self.tail(c, j, self.slots.lead(c, j));
        // They lie anywhere in the chunk.
        let block = self.block_cols();
        for first in (0..cols).step_by(block) {
            (first + block..(first + 2 * block).min(cols))
                .for_each(|j| prefetch_all(&before[tail(j)]));
            for j in first..(first + block).min(cols) {
                let tail = &before[tail(j)];
                kept[j * stride..][..tail.len()].copy_from_slice(tail);
            }
        }
    }

    /// What some columns have of the rows of chunk `c`, in slots, into `out`, a row of them after the other.
    pub fn scatter_chunk(
        &self,
        c: usize,
        columns: Range<usize>,
        chunk: &[Byte],
        tails: Halo,
        out: &mut [Byte],
    ) {
        let (e, start, cols) = (self.elem_bytes, columns.start, columns.len());
        let (_, count) = self.slots.chunk_rows(c);
        let stride = (self.slots.slot() - 1) * e;
        let mut columns_rows = [Byte::uninit(); BLOCK_BYTES];
        self.for_columns(c, columns.clone(), |first, stretches| {
            let width = stretches.len();
            let side = self.block_rows(width).min(count);
            // What the next block reads of the chunk before and what it fills lie anywhere and in short rows.
            let next = first + width..(first + 2 * width).min(columns.end);
            if let Halo::Before(before) = tails {
                let tail = |j: usize| self.tail(c, j, self.slots.lead(c, j));
                next.clone().for_each(|j| prefetch_all(&before[tail(j)]));
            }
            let bytes = (next.start - columns.start) * e..(next.end - columns.start) * e;
            prefetch_rows(out, count, cols * e, bytes);
            for x in (0..count).step_by(side) {
                let height = side.min(count - x);
                // Rows x.. of column j: the end of the stretch before it, then its own.
                let tail = |j: usize| match tails {
                    Halo::Kept(kept) => &kept[(first + j) * stride..],
                    Halo::Before(before) => &before[self.tail(c, first + j, stretches[j].lead)],
                };
                let piece = |j: usize| {
                    let stretch = &stretches[j];
                    let from_tail = stretch.lead.saturating_sub(x).min(height);
                    let own = stretch.place + (x + from_tail).saturating_sub(stretch.lead);
                    let own_len = (height - from_tail) * e;
                    let before =
                        if from_tail > 0 { &tail(j)[x * e..][..from_tail * e] } else { &[][..] };
                    (before, &chunk[own * e..][..own_len])
                };
                let to = &mut out[(x * cols + first - start) * e..];
                if self.is_long() {
                    let (before, own) = piece(0);
                    to[..e].copy_from_slice(if own.is_empty() { before } else { own });
                    continue;
                }
                for j in 0..width {
                    let (before, own) = piece(j);
                    let column = &mut columns_rows[j * height * e..][..height * e];
                    column[..before.len()].copy_from_slice(before);
                    column[before.len()..].copy_from_slice(own);
                }
                let shape =
                    BlockShape { rows: width, cols: height, from_pitch: height, to_pitch: cols };
                simd::transpose(&columns_rows, to, shape, e);
            }
        });
    }
}

/// Where the elements before a column's first slot are found.
#[derive(Clone, Copy)]
pub enum Halo<'a> {
    /// Set aside: `slot - 1` elements for each column.
    Kept(&'a [Byte]),
    /// At the ends of the stretches of the chunk before, here with its slots, a full one.
    Before(&'a [Byte]),
}

/// Asks for all lines.
fn prefetch_all(bytes: &[Byte]) {
    simd::prefetch_run(bytes.as_ptr(), bytes.len());
}

/// Asks for `bytes` of each of `rows` rows, as far as they are there.
fn prefetch_rows(from: &[Byte], rows: usize, row_bytes: usize, bytes: Range<usize>) {
    for row in from.chunks(row_bytes).take(rows) {
        prefetch_all(&row[bytes.start.min(row.len())..bytes.end.min(row.len())]);
    }
}
