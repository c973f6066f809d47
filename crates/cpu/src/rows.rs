//! Rows padded and unpadded: in rounds, together while they lie in front of the places that they go to, else one by
//! one (thesis section 4.1.1); or in shares, each thread's one by one.

use std::ops::Range;

use turntile_perm::Padding;
use turntile_perm::padding::Round;
use turntile_plan::Direction;
use turntile_simd::{self as simd, Byte, LINE};

use crate::parts;

/// Moves the rows of `padding`, counted in bytes, in rounds; one of several threads moves at least `least` of
/// them. `data` are as long as the padded rows; the last one's gap may be missing.
pub fn in_rounds(
    data: &mut [Byte],
    padding: Padding,
    direction: Direction,
    least: usize,
    parts: usize,
) {
    let (packed, padded) = (padding.cols(), padding.pitch());
    match direction {
        Direction::Forward => padding.pad_rounds(least).for_each(|Round { rows, together }| {
            if together && parts > 1 {
                let (from, to) = data.split_at_mut(rows.end * packed);
                let to = &mut to[rows.start * padded - rows.end * packed..];
                let from = &from[rows.start * packed..];
                copy((from, packed), (to, padded), packed, rows.len(), parts);
            } else {
                move_apart(data, rows, 0, padding);
            }
        }),
        Direction::Backward => padding.unpad_rounds(least).for_each(|Round { rows, together }| {
            if together && parts > 1 {
                let (to, from) = data.split_at_mut(rows.end * packed);
                let from = &from[rows.start * padded - rows.end * packed..];
                let to = &mut to[rows.start * packed..];
                copy((from, padded), (to, packed), packed, rows.len(), parts);
            } else {
                move_together(data, rows, 0, padding);
            }
        }),
    }
}

/// A thread's share of the rows.
struct Share<'a> {
    rows: Range<usize>,
    /// Where they lie when padded, and when packed too but for the head.
    data: &'a mut [Byte],
    /// Room for its head, packed.
    head: &'a mut [Byte],
}

/// The same in shares, a thread's each. `heads` holds the first rows of each share that lie, packed, in front of its
/// padded ones: set aside while other threads still read, or write, there.
pub fn in_shares(
    data: &mut [Byte],
    padding: Padding,
    direction: Direction,
    parts: usize,
    heads: &mut [Byte],
) {
    let (packed, padded) = (padding.cols(), padding.pitch());
    match direction {
        Direction::Forward => {
            let from = &*data;
            parts::run_on(split_heads(padding, parts, heads), &mut [], 0, |(rows, head), _| {
                head.copy_from_slice(&from[rows.start * packed..rows.end * packed]);
            });
            parts::run_on(split(padding, parts, data, heads), &mut [], 0, |share, _| {
                let Share { rows, data, head } = share;
                let moved = rows.start + head.len() / packed..rows.end;
                move_apart(data, moved, rows.start, padding);
                for (to, from) in data.chunks_mut(padded).zip(head.chunks_exact(packed)) {
                    to[..packed].copy_from_slice(from);
                }
            });
        }
        Direction::Backward => {
            parts::run_on(split(padding, parts, data, heads), &mut [], 0, |share, _| {
                let Share { rows, data, head } = share;
                let moved = rows.start + head.len() / packed..rows.end;
                for (from, to) in data.chunks(padded).zip(head.chunks_exact_mut(packed)) {
                    to.copy_from_slice(&from[..packed]);
                }
                move_together(data, moved, rows.start, padding);
            });
            for (rows, head) in split_heads(padding, parts, heads) {
                data[rows.start * packed..rows.end * packed].copy_from_slice(head);
            }
        }
    }
}

/// The heads of all shares, each with its rows.
fn split_heads(
    padding: Padding,
    parts: usize,
    heads: &mut [Byte],
) -> Vec<(Range<usize>, &mut [Byte])> {
    let rows = (0..parts).map(|part| {
        let share = padding.share(parts, part);
        share.start..share.start + padding.head(&share)
    });
    let heads = parts::cut(heads, rows.clone().map(|rows| rows.len() * padding.cols()));
    rows.zip(heads).collect()
}

/// All shares.
fn split<'a>(
    padding: Padding,
    parts: usize,
    data: &'a mut [Byte],
    heads: &'a mut [Byte],
) -> Vec<Share<'a>> {
    let rows = (0..parts).map(|part| padding.share(parts, part));
    let end = data.len();
    let before = |row: usize| end.min(row * padding.pitch());
    let data = parts::cut(data, rows.clone().map(|rows| before(rows.end) - before(rows.start)));
    let heads = split_heads(padding, parts, heads);
    let shares = rows.zip(data).zip(heads);
    shares.map(|((rows, data), (_, head))| Share { rows, data, head }).collect()
}

/// Some rows moved apart one by one, where padded row `first` begins `data`.
fn move_apart(data: &mut [Byte], rows: Range<usize>, first: usize, padding: Padding) {
    let (packed, start) = (padding.cols(), first * padding.pitch());
    for r in rows.rev() {
        let from = r * packed - start;
        shift(data, from..from + packed, r * padding.pitch() - start);
    }
}

/// Some rows moved together one by one.
fn move_together(data: &mut [Byte], rows: Range<usize>, first: usize, padding: Padding) {
    let (packed, start) = (padding.cols(), first * padding.pitch());
    for r in rows {
        let from = r * padding.pitch() - start;
        shift(data, from..from + packed, r * packed - start);
    }
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
