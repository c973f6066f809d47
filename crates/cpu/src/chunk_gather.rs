//! Gather of the aligned slots of each chunk of a matrix, and its inverse. The halo of a chunk has
//! the size of `slot - 1` rows: the rows after it (forward), or slot ends in the chunk before
//! (backward).
//!
//! Forward, a chunk of a narrow matrix is transposed whole into scratch, and the columns' spans are
//! copied back. Backward, the spans are copied into scratch and transposed back. Chunks of other
//! matrices are transposed block by block.

use std::ops::Range;

use turntile_perm::{AlignedSlots, SlotOrder};
use turntile_plan::Direction;

use crate::chunk_pass::{ChunkPass, Halo};
use turntile_simd::{self as simd, BlockShape, Byte};

/// Gather pass of aligned slots, or its inverse, over the chunks of a matrix.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ChunkGather {
    /// Index maps of the aligned slots.
    pub slots: AlignedSlots,
    /// Bytes of an element.
    pub elem_bytes: usize,
}

/// Bytes of the stack buffer in which a block of a chunk is transposed. Longer elements are copied
/// directly.
const BLOCK_BYTES: usize = 32 << 10;
const BLOCK_ROW_BYTES: usize = 256;
/// Maximum number of columns whose spans are computed at a time.
const MAX_BLOCK_COLUMNS: usize = 128;

/// Returns the number of columns of a block of elements of `elem_bytes` bytes.
fn block_cols(elem_bytes: usize) -> usize {
    (BLOCK_ROW_BYTES / elem_bytes).clamp(1, MAX_BLOCK_COLUMNS)
}

/// Returns `true` if a matrix with `cols` columns is narrow: its rows have at most 256 bytes and 128
/// elements. Chunks of narrow matrices are transposed whole.
pub fn is_narrow(cols: usize, elem_bytes: usize) -> bool {
    cols <= block_cols(elem_bytes) && elem_bytes <= BLOCK_ROW_BYTES
}

/// Consecutive elements of one matrix column that the slots of a chunk contain.
#[derive(Clone, Copy)]
struct ColumnSpan {
    /// Number of rows of the chunk before the span's first element.
    lead: usize,
    /// Offset of the gathered span in the chunk's memory, in elements.
    offset: usize,
    /// Number of elements.
    len: usize,
}

impl ChunkGather {
    /// Returns the bytes of the matrix.
    pub fn bytes(&self) -> usize {
        self.slots.len() * self.elem_bytes
    }

    /// Returns the bytes of a slot.
    pub fn slot_bytes(&self) -> usize {
        self.slots.slot() * self.elem_bytes
    }

    /// Returns the bytes of a full chunk.
    pub fn chunk_bytes(&self) -> usize {
        self.slots.chunk() * self.row_bytes()
    }

    /// Returns the bytes of a row.
    pub fn row_bytes(&self) -> usize {
        self.slots.cols() * self.elem_bytes
    }

    /// Returns the span of column `j` in chunk `c`. The last slot of the matrix may be partial, so
    /// the span is limited to the chunk's `rows · cols` elements.
    fn span(&self, c: usize, j: usize) -> ColumnSpan {
        let (_, rows) = self.slots.chunk_rows(c);
        let end = rows * self.slots.cols();
        let (_, count, slot) = self.slots.column(c, j);
        let offset = slot * self.slots.slot();
        let len = (count * self.slots.slot()).min(end - offset);
        ColumnSpan { lead: self.slots.lead(c, j), offset, len }
    }

    /// Calls `work(first, spans)` for each block of `columns` in chunk `c`: its first column, and
    /// the spans of all its columns.
    fn for_columns(
        &self,
        c: usize,
        columns: Range<usize>,
        mut work: impl FnMut(usize, &[ColumnSpan]),
    ) {
        let (slot, chunk) = (self.slots.slot(), self.slots.chunk());
        let step = self.slots.rows() % slot;
        let regular = c + 1 < self.slots.chunks() && self.slots.order() == SlotOrder::Columns;
        let mut spans = [ColumnSpan { lead: 0, offset: 0, len: 0 }; MAX_BLOCK_COLUMNS];
        let width = block_cols(self.elem_bytes);
        for first in columns.clone().step_by(width) {
            let spans = &mut spans[..width.min(columns.end - first)];
            spans[0] = self.span(c, first);
            for k in 1..spans.len() {
                // In a full chunk in column order, each span follows from the previous one without
                // divisions.
                let ColumnSpan { lead, offset, len } = spans[k - 1];
                let lead = if lead >= step { lead - step } else { lead + slot - step };
                let next = ColumnSpan { lead, offset: offset + chunk, len };
                spans[k] = if regular { next } else { self.span(c, first + k) };
            }
            work(first, spans);
        }
    }

    /// Returns the number of rows of a block of `width` columns.
    fn block_rows(&self, width: usize) -> usize {
        (BLOCK_BYTES / (width * self.elem_bytes)).max(1)
    }

    /// Returns `true` if an element exceeds a block's buffer. Such elements are copied directly.
    fn is_long(&self) -> bool {
        self.elem_bytes > BLOCK_BYTES
    }

    /// Returns the elements from one column to the next of a transposed chunk of `count` rows: the
    /// rows, and a cache line. Without it, columns whose length is a power of two would share cache
    /// sets.
    fn narrow_pitch(&self, count: usize) -> usize {
        count + simd::CACHE_LINE.div_ceil(self.elem_bytes)
    }

    /// Replaces chunk `c` of a narrow matrix by its slots. `halo` contains the next `slot - 1` rows.
    fn gather_narrow(&self, c: usize, chunk: &mut [Byte], halo: &[Byte], scratch: &mut [Byte]) {
        let (e, cols) = (self.elem_bytes, self.slots.cols());
        let (_, count) = self.slots.chunk_rows(c);
        let (halo, pitch) = (self.halo_after(c, halo), self.narrow_pitch(count));
        let scratch = from_line(scratch);
        self.transpose_rows(chunk, count, cols, pitch, scratch);
        let mut transposed = [Byte::uninit(); BLOCK_BYTES];
        self.for_columns(c, 0..cols, |_, spans| {
            for (j, span) in spans.iter().enumerate() {
                let own = &scratch[j * pitch * e..][..count * e][span.lead * e..];
                let len = own.len().min(span.len * e);
                chunk[span.offset * e..][..len].copy_from_slice(&own[..len]);
            }
            let window = spans.iter().map(|span| span.lead + span.len).max().unwrap_or(0);
            let height = self.block_rows(cols);
            for x in (count..window).step_by(height) {
                let end = (x + height).min(window);
                let from = &halo[(x - count) * self.row_bytes()..];
                self.transpose_rows(from, end - x, cols, height, &mut transposed);
                for (j, span) in spans.iter().enumerate() {
                    let rows = span.lead.max(x)..(span.lead + span.len).min(end);
                    if !rows.is_empty() {
                        let to = (span.offset + rows.start - span.lead) * e;
                        let column = &transposed[(j * height + rows.start - x) * e..];
                        chunk[to..][..rows.len() * e].copy_from_slice(&column[..rows.len() * e]);
                    }
                }
            }
        });
    }

    /// Replaces the slots in chunk `c` of a narrow matrix by its rows, whose first elements are in
    /// `tails`: the ends of slots in the chunk before.
    fn scatter_narrow(&self, c: usize, chunk: &mut [Byte], tails: Halo, scratch: &mut [Byte]) {
        let (e, cols) = (self.elem_bytes, self.slots.cols());
        let (_, count) = self.slots.chunk_rows(c);
        let (stride, pitch) = ((self.slots.slot() - 1) * e, self.narrow_pitch(count));
        let scratch = from_line(scratch);
        self.for_columns(c, 0..cols, |_, spans| {
            for (j, span) in spans.iter().enumerate() {
                let column = &mut scratch[j * pitch * e..][..count * e];
                let before = match tails {
                    Halo::Saved(saved) => &saved[j * stride..],
                    Halo::Neighbour(before) => &before[self.tail(c, j, span.lead)],
                };
                let (head, own) = column.split_at_mut(span.lead * e);
                head.copy_from_slice(&before[..head.len()]);
                own.copy_from_slice(&chunk[span.offset * e..][..own.len()]);
            }
        });
        let block = BlockShape { rows: cols, cols: count, from_pitch: pitch, to_pitch: cols };
        simd::transpose(scratch, chunk, block, e);
    }

    /// Returns the elements after chunk `c`, as rows. `halo` contains the next `slot - 1` rows, or
    /// the first ones if `c` is the last chunk.
    ///
    /// After the last row of the matrix, the halo is its first rows, one column further. Its last
    /// element then has no source, and is in no slot.
    fn halo_after<'a>(&self, c: usize, halo: &'a [Byte]) -> &'a [Byte] {
        let (first, count) = self.slots.chunk_rows(c);
        let past_end = usize::from(first + count == self.slots.rows());
        &halo[(past_end * self.elem_bytes).min(halo.len())..]
    }

    /// Returns the bytes of the slots of `columns` in chunk `c`, stored column by column.
    pub fn columns_bytes(&self, c: usize, columns: &Range<usize>) -> usize {
        let offset = |j: usize| match j == self.slots.cols() {
            false => self.span(c, j).offset,
            true => self.slots.chunk_rows(c).1 * j,
        };
        (offset(columns.end) - offset(columns.start)) * self.elem_bytes
    }

    /// Copies the slots of `columns` in chunk `c` to `out`, in the slot order of the chunk. `halo`
    /// contains the `slot - 1` rows after the chunk.
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
        let start = self.span(c, columns.start).offset;
        let (_, count) = self.slots.chunk_rows(c);
        let halo = self.halo_after(c, halo);
        let window = count + self.slots.slot() - 1;
        let mut transposed = [Byte::uninit(); BLOCK_BYTES];
        self.for_columns(c, columns, |first, spans| {
            let height = self.block_rows(spans.len()).min(window);
            // Prefetches the next block, 256 bytes of each row, which hardware prefetchers do not
            // predict.
            let next = (first + spans.len()) * e..(first + 2 * spans.len()) * e;
            prefetch_rows(chunk, count, self.row_bytes(), next.clone());
            prefetch_rows(halo, window - count, self.row_bytes(), next);
            for x in (0..window).step_by(height) {
                let end = (x + height).min(window);
                // Rows before `split` are in the chunk, others in the halo.
                let split = count.clamp(x, end);
                let part =
                    |from: &[Byte], row: usize, rows: Range<usize>, transposed: &mut [Byte]| {
                        let start = (row * self.slots.cols() + first) * e;
                        let at = (rows.start - x) * e;
                        self.transpose_rows(
                            &from[start.min(from.len())..],
                            rows.len(),
                            spans.len(),
                            height,
                            &mut transposed[at..],
                        );
                    };
                if x < split && !self.is_long() {
                    part(chunk, x, x..split, &mut transposed);
                }
                if split < end && !self.is_long() {
                    part(halo, split - count, split..end, &mut transposed);
                }
                for (j, span) in spans.iter().enumerate() {
                    let rows = span.lead.max(x)..(span.lead + span.len).min(end);
                    if !rows.is_empty() {
                        let to = (span.offset - start + rows.start - span.lead) * e;
                        let column = if self.is_long() {
                            let (from, row) =
                                if x < count { (chunk, x) } else { (halo, x - count) };
                            &from[(row * self.slots.cols() + first) * e..][..e]
                        } else {
                            &transposed[(j * height + rows.start - x) * e..][..rows.len() * e]
                        };
                        out[to..][..column.len()].copy_from_slice(column);
                    }
                }
            }
        });
    }

    /// Transposes `rows` rows of `width` elements, one matrix row apart, into columns `pitch`
    /// elements apart. The last row may be incomplete.
    fn transpose_rows(
        &self,
        from: &[Byte],
        rows: usize,
        width: usize,
        pitch: usize,
        transposed: &mut [Byte],
    ) {
        let (e, cols) = (self.elem_bytes, self.slots.cols());
        let whole = from.len() >= ((rows - 1) * cols + width) * e;
        let full_rows = if whole { rows } else { rows - 1 };
        let block = BlockShape { rows: full_rows, cols: width, from_pitch: cols, to_pitch: pitch };
        simd::transpose(from, transposed, block, e);
        if !whole {
            let last = &from[(full_rows * cols * e).min(from.len())..];
            for (j, element) in last.chunks_exact(e).take(width).enumerate() {
                transposed[(j * pitch + full_rows) * e..][..e].copy_from_slice(element);
            }
        }
    }

    /// Returns the bytes of the chunk before chunk `c`. The last chunk precedes the first.
    pub fn before<'a>(&self, c: usize, data: &'a [Byte]) -> &'a [Byte] {
        let before = c.checked_sub(1).unwrap_or(self.slots.chunks() - 1);
        &data[self.begin(before)..self.begin(before + 1)]
    }

    /// Returns the byte range, in the gathered chunk before `c`, of the `lead` elements of column
    /// `j` that precede its first slot in `c`. They end a span there; for the first chunk, a span
    /// of the previous column.
    fn tail(&self, c: usize, j: usize, lead: usize) -> Range<usize> {
        if lead == 0 {
            return 0..0;
        }
        let last = self.slots.chunks() - 1;
        let span = if c > 0 { self.span(c - 1, j) } else { self.span(last, j - 1) };
        let end = span.offset + span.len;
        (end - lead) * self.elem_bytes..end * self.elem_bytes
    }

    /// Copies to `saved` the elements of chunk `c` that precede each column's first slot in it.
    /// They are stored in slots of the chunk `before`.
    pub fn save_tails(&self, c: usize, before: &[Byte], saved: &mut [Byte]) {
        let stride = (self.slots.slot() - 1) * self.elem_bytes;
        let cols = self.slots.cols();
        let tail = |j: usize| self.tail(c, j, self.slots.lead(c, j));
        // The ranges are scattered over the chunk, so the next block's are prefetched.
        let block = block_cols(self.elem_bytes);
        for first in (0..cols).step_by(block) {
            (first + block..(first + 2 * block).min(cols))
                .for_each(|j| prefetch_all(&before[tail(j)]));
            for j in first..(first + block).min(cols) {
                let tail = &before[tail(j)];
                saved[j * stride..][..tail.len()].copy_from_slice(tail);
            }
        }
    }

    /// Copies `columns` of the rows of chunk `c` to `out`, row by row, from the slots in `chunk`
    /// and the slot ends in `tails`.
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
        let mut column_buffer = [Byte::uninit(); BLOCK_BYTES];
        self.for_columns(c, columns.clone(), |first, spans| {
            let width = spans.len();
            let side = self.block_rows(width).min(count);
            // Prefetches the next block: the scattered ranges it reads of the chunk before, and the
            // short rows it fills.
            let next = first + width..(first + 2 * width).min(columns.end);
            if let Halo::Neighbour(before) = tails {
                let tail = |j: usize| self.tail(c, j, self.slots.lead(c, j));
                next.clone().for_each(|j| prefetch_all(&before[tail(j)]));
            }
            let bytes = (next.start - columns.start) * e..(next.end - columns.start) * e;
            prefetch_rows(out, count, cols * e, bytes);
            for x in (0..count).step_by(side) {
                let height = side.min(count - x);
                // Rows x.. of column j: the end of the span before it, then its own.
                let tail = |j: usize| match tails {
                    Halo::Saved(saved) => &saved[(first + j) * stride..],
                    Halo::Neighbour(before) => &before[self.tail(c, first + j, spans[j].lead)],
                };
                let piece = |j: usize| {
                    let span = &spans[j];
                    let from_tail = span.lead.saturating_sub(x).min(height);
                    let own = span.offset + (x + from_tail).saturating_sub(span.lead);
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
                    let column = &mut column_buffer[j * height * e..][..height * e];
                    column[..before.len()].copy_from_slice(before);
                    column[before.len()..].copy_from_slice(own);
                }
                let block =
                    BlockShape { rows: width, cols: height, from_pitch: height, to_pitch: cols };
                simd::transpose(&column_buffer, to, block, e);
            }
        });
    }
}

impl ChunkPass for ChunkGather {
    fn chunks(&self) -> usize {
        self.slots.chunks()
    }

    fn begin(&self, c: usize) -> usize {
        let first =
            if c < self.slots.chunks() { c * self.slots.chunk() } else { self.slots.rows() };
        first * self.row_bytes()
    }

    /// Returns the bytes of `(slot - 1) · cols` elements.
    fn halo_bytes(&self) -> usize {
        (self.slots.slot() - 1) * self.row_bytes()
    }

    /// Returns the bytes of the longest chunk. For narrow matrices, adds a cache line per column and
    /// one to align the first.
    fn scratch_bytes(&self) -> usize {
        let rows = self.slots.longest_chunk();
        if is_narrow(self.slots.cols(), self.elem_bytes) {
            let bytes = self.narrow_pitch(rows).saturating_mul(self.row_bytes());
            return bytes.saturating_add(simd::CACHE_LINE);
        }
        rows * self.row_bytes()
    }

    fn save_halo(&self, c: usize, direction: Direction, neighbour: &[Byte], saved: &mut [Byte]) {
        match direction {
            // Row `rows + r` is row `r`, one column further.
            Direction::Forward => saved.copy_from_slice(&neighbour[..saved.len()]),
            Direction::Backward => self.save_tails(c, neighbour, saved),
        }
    }

    fn convert(
        &self,
        c: usize,
        direction: Direction,
        chunk: &mut [Byte],
        halo: Halo,
        scratch: &mut [Byte],
    ) {
        let columns = 0..self.slots.cols();
        let (Halo::Saved(rows) | Halo::Neighbour(rows)) = halo;
        if is_narrow(self.slots.cols(), self.elem_bytes) {
            return match direction {
                Direction::Forward => {
                    self.gather_narrow(c, chunk, &rows[..self.halo_bytes()], scratch)
                }
                Direction::Backward => self.scatter_narrow(c, chunk, halo, scratch),
            };
        }
        match direction {
            Direction::Forward => {
                self.gather_chunk(c, columns, chunk, &rows[..self.halo_bytes()], scratch)
            }
            Direction::Backward => self.scatter_chunk(c, columns, chunk, halo, scratch),
        }
        chunk.copy_from_slice(&scratch[..chunk.len()]);
    }
}

/// Returns the bytes from the first start of a cache line on. Stores of vectors that cross lines take longer:
/// gathers of 1000003 x 5 floats 2.2 ms instead of 1.6 (Xeon, November 2026).
fn from_line(bytes: &mut [Byte]) -> &mut [Byte] {
    let skip = bytes.as_ptr().addr().wrapping_neg() % simd::CACHE_LINE;
    &mut bytes[skip..]
}

/// Prefetches all lines of `bytes`.
fn prefetch_all(bytes: &[Byte]) {
    simd::prefetch_run(bytes.as_ptr(), bytes.len());
}

/// Prefetches the byte range `bytes` of the first `rows` rows of `from`, where it exists.
fn prefetch_rows(from: &[Byte], rows: usize, row_bytes: usize, bytes: Range<usize>) {
    // If rows fit one block there is nothing to prefetch, and a loop over rows of a few elements
    // would take as long as moving them.
    if bytes.start >= row_bytes {
        return;
    }
    for row in from.chunks(row_bytes).take(rows) {
        prefetch_all(&row[bytes.start.min(row.len())..bytes.end.min(row.len())]);
    }
}
