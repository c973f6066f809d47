//! Rows that slide from one pitch to another: in rounds, together while they lie in front of the places that they go to,
//! else one by one (thesis section 4.1.1); or in shares, each thread's one by one. And columns cut off a matrix, where what
//! lies in the gaps of its rows is set aside while they slide.

use std::ops::Range;

use turntile_perm::row_slide::SlideRound;
use turntile_perm::{PitchedRows, RowSlide};
use turntile_plan::Direction;
use turntile_simd::{self as simd, BlockShape, Byte};

use crate::parallel;

/// Bytes that a round of several threads moves at least.
pub const ROUND_BYTES: usize = 1 << 20;

/// Rows of so many bytes that a round of several threads moves at least, where it moves `bytes` at least.
pub fn least_rows(row_bytes: usize, bytes: usize) -> usize {
    bytes.div_ceil(row_bytes.max(1)).max(2)
}

/// Slides rows, counted in bytes, in rounds; one of several threads moves at least `least` of them. Rows that become
/// others than they were go run by run. `data` are as long as the rows before and after.
pub fn in_rounds(data: &mut [Byte], slide: RowSlide, least: usize, parts: usize) {
    if !slide.is_alike() {
        return slide.run_by_run(|from, to, run| shift(data, from..from + run, to));
    }
    let (cols, [from, to]) = (slide.cols(), pitches(&slide));
    for SlideRound { rows, together } in slide.rounds(least) {
        if !together || parts == 1 {
            one_by_one(data, &slide, rows, 0);
        } else if slide.is_up() {
            let (source, place) = data.split_at_mut(rows.start * to);
            let source = &source[rows.start * from..];
            copy_shared((source, from), (place, to), cols, rows.len(), parts);
        } else {
            let (place, source) = data.split_at_mut(rows.start * from);
            let place = &mut place[rows.start * to..];
            copy_shared((source, from), (place, to), cols, rows.len(), parts);
        }
    }
}

/// The same in shares, a thread's each. `heads` holds the first rows of each share whose places at the lesser pitch are
/// in front of the share: set aside while other threads still read, or write, there.
pub fn in_shares(data: &mut [Byte], slide: RowSlide, parts: usize, heads: &mut [Byte]) {
    let (cols, [from, to]) = (slide.cols(), pitches(&slide));
    let shares: Vec<_> = (0..parts).map(|part| slide.share(parts, part)).collect();
    let head_rows = |rows: &Range<usize>| slide.head(rows);
    let mut heads = parallel::cut(heads, shares.iter().map(|rows| head_rows(rows) * cols));
    if slide.is_up() {
        let source = &*data;
        parallel::for_each_thread(shares.iter().zip(&mut heads), &mut [], 0, |(rows, head), _| {
            copy((&source[rows.start * from..], from), (head, cols), cols);
        });
    }
    // Where a share's rows lie at the greater pitch, and at the lesser too but for the head.
    let end = data.len();
    let before = |row: usize| end.min(row * from.max(to));
    let lens = shares.iter().map(|rows| before(rows.end) - before(rows.start));
    let pieces = parallel::cut(data, lens).into_iter().zip(&mut heads);
    parallel::for_each_thread(shares.iter().zip(pieces), &mut [], 0, |(rows, (data, head)), _| {
        let moved = rows.start + head_rows(rows)..rows.end;
        if slide.is_up() {
            one_by_one(data, &slide, moved, rows.start);
            copy((head, cols), (data, to), cols);
        } else {
            copy((data, from), (head, cols), cols);
            one_by_one(data, &slide, moved, rows.start);
        }
    });
    if !slide.is_up() {
        for (rows, head) in shares.iter().zip(&heads) {
            copy((head, cols), (&mut data[rows.start * to..], to), cols);
        }
    }
}

/// Has `move_rows` move the rows of `data` together (forward) or apart, with what lies in their gaps behind them
/// meanwhile, column after column. `kept` is as long as the gaps.
pub fn with_gaps_kept(
    data: &mut [Byte],
    columns: PitchedRows,
    direction: Direction,
    elem_bytes: usize,
    kept: &mut [Byte],
    move_rows: impl FnOnce(&mut [Byte]),
) {
    let (rows, cols, pitch) = (columns.rows(), columns.cols(), columns.pitch());
    let (first, behind) = (cols * elem_bytes, columns.len() * elem_bytes);
    match direction {
        Direction::Forward => {
            let gaps = BlockShape { rows, cols: pitch - cols, from_pitch: pitch, to_pitch: rows };
            simd::transpose(&data[first..], kept, gaps, elem_bytes);
            move_rows(data);
            data[behind..].copy_from_slice(kept);
        }
        Direction::Backward => {
            kept.copy_from_slice(&data[behind..]);
            move_rows(data);
            let gaps =
                BlockShape { rows: pitch - cols, cols: rows, from_pitch: rows, to_pitch: pitch };
            simd::transpose(kept, &mut data[first..], gaps, elem_bytes);
        }
    }
}

/// The pitches before and after.
fn pitches(slide: &RowSlide) -> [usize; 2] {
    [slide.from().pitch(), slide.to().pitch()]
}

/// Some rows one by one, where row `first` begins `data` at the greater pitch.
fn one_by_one(data: &mut [Byte], slide: &RowSlide, rows: Range<usize>, first: usize) {
    let (cols, [from, to]) = (slide.cols(), pitches(slide));
    let start = first * from.max(to);
    let mut slide_row = |r: usize| {
        let at = r * from - start;
        shift(data, at..at + cols, r * to - start);
    };
    if slide.is_up() { rows.rev().for_each(slide_row) } else { rows.for_each(&mut slide_row) }
}

/// Bytes that move at a time, and bytes from them to those that are asked for: rows of 40 KB at 17 GB/s, by
/// `copy_within` alone at 12.6, in pieces of 512 bytes to 8 KiB, 8 to 32 KiB ahead, at 16.5-17.3.
const PIECE: usize = 2 << 10;
const AHEAD: usize = 16 << 10;

/// Moves a row to where another one may still lie in part, and asks for what comes next in memory.
fn shift(data: &mut [Byte], row: Range<usize>, to: usize) {
    // Checked for all pieces, so that nothing panics between two that have parts of an element.
    let data = &mut data[..row.end.max(to + row.len())];
    let up = to > row.start;
    let pieces = row.len().div_ceil(PIECE);
    for k in 0..pieces {
        let at = PIECE * if up { pieces - 1 - k } else { k };
        let piece = row.start + at..row.end.min(row.start + at + PIECE);
        let soon = if up { piece.start.saturating_sub(AHEAD) } else { piece.start + AHEAD };
        simd::prefetch_run(data.as_ptr().wrapping_add(soon), piece.len());
        data.copy_within(piece, to + at);
    }
}

/// Copies rows of `cols` bytes from one pitch to another, as many as there are in both.
fn copy((from, from_pitch): (&[Byte], usize), (to, to_pitch): (&mut [Byte], usize), cols: usize) {
    let rows = from.chunks(from_pitch).zip(to.chunks_mut(to_pitch));
    rows.for_each(|(from, to)| to[..cols].copy_from_slice(&from[..cols]));
}

/// Copies `rows` rows in the same way, shared out among threads.
fn copy_shared(
    (from, from_pitch): (&[Byte], usize),
    (to, to_pitch): (&mut [Byte], usize),
    cols: usize,
    rows: usize,
    parts: usize,
) {
    let each = rows.div_ceil(parts).max(1);
    let end = |pitch: usize| (rows - 1) * pitch + cols;
    let (from, to) = (&from[..end(from_pitch)], &mut to[..end(to_pitch)]);
    let shares = from.chunks(each * from_pitch).zip(to.chunks_mut(each * to_pitch));
    let shares: Vec<_> = shares.collect();
    parallel::for_each_thread(shares, &mut [], 0, |(from, to), _| {
        copy((from, from_pitch), (to, to_pitch), cols);
    });
}
