//! Rows that slide from one pitch to another: in rounds, together while they lie in front of the places that they go to,
//! else one by one (thesis section 4.1.1); or in shares, each thread's one by one.

use std::ops::Range;

use turntile_perm::Slide;
use turntile_perm::slide::Round;
use turntile_simd::{self as simd, Byte, LINE};

use crate::parts;

/// Bytes that a round of several threads moves at least.
const ROUND_BYTES: usize = 1 << 20;

/// Rows of so many bytes that a round of several threads moves at least.
pub fn least_rows(row_bytes: usize) -> usize {
    ROUND_BYTES.div_ceil(row_bytes.max(1)).max(2)
}

/// Slides rows, counted in bytes, in rounds; one of several threads moves at least `least` of them. Rows that become
/// others than they were go run by run. `data` are as long as the rows before and after.
pub fn in_rounds(data: &mut [Byte], slide: Slide, least: usize, parts: usize) {
    if !slide.is_alike() {
        return slide.run_by_run(|from, to, run| shift(data, from..from + run, to));
    }
    let (cols, [from, to]) = (slide.cols(), pitches(&slide));
    for Round { rows, together } in slide.rounds(least) {
        if !together || parts == 1 {
            one_by_one(data, &slide, rows, 0);
        } else if slide.is_up() {
            let (source, place) = data.split_at_mut(rows.start * to);
            let source = &source[rows.start * from..];
            copy((source, from), (place, to), cols, rows.len(), parts);
        } else {
            let (place, source) = data.split_at_mut(rows.start * from);
            let place = &mut place[rows.start * to..];
            copy((source, from), (place, to), cols, rows.len(), parts);
        }
    }
}

/// A thread's share of the rows.
struct Share<'a> {
    rows: Range<usize>,
    /// Where they lie at the greater pitch, and at the lesser too but for the head.
    data: &'a mut [Byte],
    /// Memory for its head.
    head: &'a mut [Byte],
}

/// The same in shares, a thread's each. `heads` holds the first rows of each share whose places at the lesser pitch are
/// in front of the share: set aside while other threads still read, or write, there.
pub fn in_shares(data: &mut [Byte], slide: Slide, parts: usize, heads: &mut [Byte]) {
    let (cols, [from, to]) = (slide.cols(), pitches(&slide));
    if slide.is_up() {
        let source = &*data;
        parts::run_on(split_heads(&slide, parts, heads), &mut [], 0, |(rows, head), _| {
            let rows = source[rows.start * from..].chunks(from);
            head.chunks_exact_mut(cols)
                .zip(rows)
                .for_each(|(to, from)| to.copy_from_slice(&from[..cols]));
        });
    }
    parts::run_on(split(&slide, parts, data, heads), &mut [], 0, |share, _| {
        let Share { rows, data, head } = share;
        let (moved, first) = (rows.start + head.len() / cols..rows.end, rows.start);
        let heads = head.chunks_exact_mut(cols);
        if slide.is_up() {
            one_by_one(data, &slide, moved, first);
            heads.zip(data.chunks_mut(to)).for_each(|(from, to)| to[..cols].copy_from_slice(from));
        } else {
            heads.zip(data.chunks(from)).for_each(|(to, from)| to.copy_from_slice(&from[..cols]));
            one_by_one(data, &slide, moved, first);
        }
    });
    if !slide.is_up() {
        for (rows, head) in split_heads(&slide, parts, heads) {
            let places = data[rows.start * to..].chunks_mut(to);
            head.chunks_exact(cols)
                .zip(places)
                .for_each(|(from, to)| to[..cols].copy_from_slice(from));
        }
    }
}

/// The pitches before and after.
fn pitches(slide: &Slide) -> [usize; 2] {
    [slide.from().pitch(), slide.to().pitch()]
}

/// The heads of all shares, each with its rows.
fn split_heads<'a>(
    slide: &Slide,
    parts: usize,
    heads: &'a mut [Byte],
) -> Vec<(Range<usize>, &'a mut [Byte])> {
    let rows = (0..parts).map(|part| {
        let share = slide.share(parts, part);
        share.start..share.start + slide.head(&share)
    });
    let heads = parts::cut(heads, rows.clone().map(|rows| rows.len() * slide.cols()));
    rows.zip(heads).collect()
}

/// All shares.
fn split<'a>(
    slide: &Slide,
    parts: usize,
    data: &'a mut [Byte],
    heads: &'a mut [Byte],
) -> Vec<Share<'a>> {
    let [from, to] = pitches(slide);
    let rows = (0..parts).map(|part| slide.share(parts, part));
    let end = data.len();
    let before = |row: usize| end.min(row * from.max(to));
    let data = parts::cut(data, rows.clone().map(|rows| before(rows.end) - before(rows.start)));
    let heads = split_heads(slide, parts, heads);
    let shares = rows.zip(data).zip(heads);
    shares.map(|((rows, data), (_, head))| Share { rows, data, head }).collect()
}

/// Some rows one by one, where row `first` begins `data` at the greater pitch.
fn one_by_one(data: &mut [Byte], slide: &Slide, rows: Range<usize>, first: usize) {
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
pub fn shift(data: &mut [Byte], row: Range<usize>, to: usize) {
    let up = to > row.start;
    let pieces = row.len().div_ceil(PIECE);
    for k in 0..pieces {
        let at = PIECE * if up { pieces - 1 - k } else { k };
        let piece = row.start + at..row.end.min(row.start + at + PIECE);
        let soon = if up { piece.start.saturating_sub(AHEAD) } else { piece.start + AHEAD };
        for line in (0..piece.len()).step_by(LINE) {
            simd::prefetch(data.as_ptr().wrapping_add(soon + line));
        }
        data.copy_within(piece, to + at);
    }
}

/// Copies `rows` rows of `cols` bytes from one pitch to another, shared out among threads.
pub fn copy(
    (from, from_pitch): (&[Byte], usize),
    (to, to_pitch): (&mut [Byte], usize),
    cols: usize,
    rows: usize,
    parts: usize,
) {
    let each = rows.div_ceil(parts).max(1);
    let shares = from.chunks(each * from_pitch).zip(to.chunks_mut(each * to_pitch));
    let shares: Vec<_> = shares.take(rows.div_ceil(each)).enumerate().collect();
    parts::run_on(shares, &mut [], 0, |(share, (from, to)), _| {
        let both = from.chunks(from_pitch).zip(to.chunks_mut(to_pitch));
        let rows = each.min(rows - share * each);
        both.take(rows).for_each(|(from, to)| to[..cols].copy_from_slice(&from[..cols]));
    });
}
