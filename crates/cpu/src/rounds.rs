//! Row slides on the CPU: rows moved from one pitch to another.
//!
//! In rounds, rows whose destinations are all free move in parallel, other rows one after another
//! (thesis section 4.1.1). In shares, each thread moves its own rows one after another. This file
//! also cuts the last columns off a matrix, and joins them: they are saved as gaps while the rows
//! slide.

use std::ops::Range;

use turntile_perm::row_slide::SlideRound;
use turntile_perm::{LeadingDims, PitchedRows, RowSlide};
use turntile_plan::Direction;
use turntile_simd::{self as simd, BlockShape, Byte};

use crate::parallel;

/// Minimum bytes that a parallel round moves.
pub const ROUND_BYTES: usize = 1 << 20;

/// Returns the minimum number of rows, at least 2, in a parallel round that moves at least `bytes`
/// bytes.
pub fn least_rows(row_bytes: usize, bytes: usize) -> usize {
    bytes.div_ceil(row_bytes.max(1)).max(2)
}

/// Moves the bytes of rows, in order, to rows of another length. `data` covers the rows before and
/// after. The elements of `rows` are bytes.
pub fn reshape(data: &mut [Byte], rows: LeadingDims) {
    rows.run_by_run(|from, to, run| move_row(data, from..from + run, to));
}

/// Slides rows in rounds. A parallel round moves at least `least` rows. `data` covers the rows
/// before and after. The elements of `slide` are bytes.
pub fn in_rounds(data: &mut [Byte], slide: RowSlide, least: usize, threads: usize) {
    let (cols, [from, to]) = (slide.cols(), slide.pitches());
    for SlideRound { rows, together } in slide.rounds(least) {
        if !together || threads == 1 {
            slide_rows(data, &slide, rows, 0);
        } else if slide.is_up() {
            let (source, dest) = data.split_at_mut(rows.start * to);
            let source = &source[rows.start * from..];
            copy_shared((source, from), (dest, to), cols, rows.len(), threads);
        } else {
            let (dest, source) = data.split_at_mut(rows.start * from);
            let dest = &mut dest[rows.start * to..];
            copy_shared((source, from), (dest, to), cols, rows.len(), threads);
        }
    }
}

/// Slides rows in shares, one per thread. `heads` is a buffer for the first rows of each share
/// that, at the lesser pitch, start before the share's memory. These rows are saved while other
/// threads still read or write there.
pub fn in_shares(data: &mut [Byte], slide: RowSlide, threads: usize, heads: &mut [Byte]) {
    let (cols, [from, to]) = (slide.cols(), slide.pitches());
    let shares: Vec<_> = (0..threads).map(|thread| slide.share(threads, thread)).collect();
    let head_rows = |rows: &Range<usize>| slide.saved_rows(rows);
    let mut heads = parallel::cut(heads, shares.iter().map(|rows| head_rows(rows) * cols));
    if slide.is_up() {
        let source = &*data;
        parallel::for_each_thread(shares.iter().zip(&mut heads), &mut [], 0, |(rows, head), _| {
            copy((&source[rows.start * from..], from), (head, cols), cols);
        });
    }
    // The memory of a share is the range of its rows at the greater pitch. At the lesser pitch it
    // contains them too, except the head: the leading rows that start before it.
    let end = data.len();
    let offset = |row: usize| end.min(row * from.max(to));
    let lens = shares.iter().map(|rows| offset(rows.end) - offset(rows.start));
    let pieces = parallel::cut(data, lens).into_iter().zip(&mut heads);
    parallel::for_each_thread(shares.iter().zip(pieces), &mut [], 0, |(rows, (data, head)), _| {
        let moved = rows.start + head_rows(rows)..rows.end;
        if slide.is_up() {
            slide_rows(data, &slide, moved, rows.start);
            copy((head, cols), (data, to), cols);
        } else {
            copy((data, from), (head, cols), cols);
            slide_rows(data, &slide, moved, rows.start);
        }
    });
    if !slide.is_up() {
        for (rows, head) in shares.iter().zip(&heads) {
            copy((head, cols), (&mut data[rows.start * to..], to), cols);
        }
    }
}

/// Forward, calls `move_rows` to close the gaps between rows, and stores their contents after the
/// rows, column by column. Backward, calls it to open the gaps, and restores them. `saved` is a
/// buffer of their total length.
pub fn with_gaps_kept(
    data: &mut [Byte],
    columns: PitchedRows,
    direction: Direction,
    elem_bytes: usize,
    saved: &mut [Byte],
    move_rows: impl FnOnce(&mut [Byte]),
) {
    let (rows, cols, pitch) = (columns.rows(), columns.cols(), columns.pitch());
    let (first, behind) = (cols * elem_bytes, columns.len() * elem_bytes);
    match direction {
        Direction::Forward => {
            let gaps = BlockShape { rows, cols: pitch - cols, from_pitch: pitch, to_pitch: rows };
            simd::transpose(&data[first..], saved, gaps, elem_bytes);
            move_rows(data);
            data[behind..].copy_from_slice(saved);
        }
        Direction::Backward => {
            saved.copy_from_slice(&data[behind..]);
            move_rows(data);
            let gaps =
                BlockShape { rows: pitch - cols, cols: rows, from_pitch: rows, to_pitch: pitch };
            simd::transpose(saved, &mut data[first..], gaps, elem_bytes);
        }
    }
}

/// Moves the rows `rows` one after another. `data` starts at row `first`, at the greater pitch.
fn slide_rows(data: &mut [Byte], slide: &RowSlide, rows: Range<usize>, first: usize) {
    let (cols, [from, to]) = (slide.cols(), slide.pitches());
    let start = first * from.max(to);
    let mut slide_row = |r: usize| {
        let at = r * from - start;
        move_row(data, at..at + cols, r * to - start);
    };
    if slide.is_up() { rows.rev().for_each(slide_row) } else { rows.for_each(&mut slide_row) }
}

/// Bytes of a row that move at a time. Rows of 40 KB move at 17 GB/s, at 12.6 with a single
/// `copy_within`. Blocks of 512 bytes to 8 KiB with [`PREFETCH_DISTANCE`] from 8 to 32 KiB reach
/// 16.5-17.3.
const BLOCK_BYTES: usize = 2 << 10;
/// Distance in bytes from a moved block to the prefetched one.
const PREFETCH_DISTANCE: usize = 16 << 10;

/// Moves a row to a destination that may overlap it, and prefetches the data to be moved next.
fn move_row(data: &mut [Byte], row: Range<usize>, to: usize) {
    // One bounds check for all blocks, so that no panic can split an element.
    let data = &mut data[..row.end.max(to + row.len())];
    let up = to > row.start;
    let blocks = row.len().div_ceil(BLOCK_BYTES);
    for k in 0..blocks {
        let at = BLOCK_BYTES * if up { blocks - 1 - k } else { k };
        let block = row.start + at..row.end.min(row.start + at + BLOCK_BYTES);
        let ahead = if up {
            block.start.saturating_sub(PREFETCH_DISTANCE)
        } else {
            block.start + PREFETCH_DISTANCE
        };
        simd::prefetch_run(data.as_ptr().wrapping_add(ahead), block.len());
        data.copy_within(block, to + at);
    }
}

/// Copies rows of `cols` bytes from one pitch to another, until one of the buffers ends.
fn copy((from, from_pitch): (&[Byte], usize), (to, to_pitch): (&mut [Byte], usize), cols: usize) {
    let rows = from.chunks(from_pitch).zip(to.chunks_mut(to_pitch));
    rows.for_each(|(from, to)| to[..cols].copy_from_slice(&from[..cols]));
}

/// Copies `rows` rows from one pitch to another, divided among threads.
fn copy_shared(
    (from, from_pitch): (&[Byte], usize),
    (to, to_pitch): (&mut [Byte], usize),
    cols: usize,
    rows: usize,
    threads: usize,
) {
    let each = rows.div_ceil(threads).max(1);
    let end = |pitch: usize| (rows - 1) * pitch + cols;
    let (from, to) = (&from[..end(from_pitch)], &mut to[..end(to_pitch)]);
    let shares = from.chunks(each * from_pitch).zip(to.chunks_mut(each * to_pitch));
    let shares: Vec<_> = shares.collect();
    parallel::for_each_thread(shares, &mut [], 0, |(from, to), _| {
        copy((from, from_pitch), (to, to_pitch), cols);
    });
}
