//! Rows padded and unpadded in steps: together while they lie in front of the places that they go to,
//! else one by one (thesis section 4.1.1).

use std::ops::Range;

use turntile_perm::Padding;
use turntile_perm::padding::Step;
use turntile_plan::Direction;
use turntile_simd as simd;

use crate::Byte;
use crate::parts;

/// Moves the rows of `padding`, counted in bytes; a step of several threads moves at least `least` of
/// them. `data` are as long as the padded rows.
pub fn run(data: &mut [Byte], padding: Padding, direction: Direction, least: usize, parts: usize) {
    let (packed, padded) = (padding.cols(), padding.pitch());
    match direction {
        Direction::Forward => padding.pad_steps(least).for_each(|Step { rows, together }| {
            if together && parts > 1 {
                let (from, to) = data.split_at_mut(rows.end * packed);
                let to = &mut to[rows.start * padded - rows.end * packed..][..rows.len() * padded];
                copy((&from[rows.start * packed..], packed), (to, padded), parts);
            } else {
                let row = |r: usize| r * packed..(r + 1) * packed;
                rows.rev().for_each(|r| shift(data, row(r), r * padded));
            }
        }),
        Direction::Backward => padding.unpad_steps(least).for_each(|Step { rows, together }| {
            if together && parts > 1 {
                let (to, from) = data.split_at_mut(rows.end * packed);
                let from = &from[rows.start * padded - rows.end * packed..];
                let from = &from[..rows.len() * padded];
                copy((from, padded), (&mut to[rows.start * packed..], packed), parts);
            } else {
                let row = |r: usize| r * padded..r * padded + packed;
                rows.for_each(|r| shift(data, row(r), r * packed));
            }
        }),
    }
}

/// Bytes that move at a time, and bytes from them to those that are asked for: rows of 40 KB at 17 GB/s, by
/// `copy_within` alone at 12.6, in pieces of 512 bytes to 8 KiB, 8 to 32 KiB ahead, at 16.5-17.3.
const PIECE: usize = 2 << 10;
const AHEAD: usize = 16 << 10;
/// Bytes of a cache line.
const LINE: usize = 64;

/// Moves a row to where another one may still lie in part, and asks for what comes next in memory.
fn shift(data: &mut [Byte], row: Range<usize>, to: usize) {
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

/// Copies rows from one pitch to another, as much of each as both have.
fn copy((from, from_pitch): (&[Byte], usize), (to, to_pitch): (&mut [Byte], usize), parts: usize) {
    let row = from_pitch.min(to_pitch);
    let each = (from.len() / from_pitch).div_ceil(parts);
    let shares = from.chunks(each * from_pitch).zip(to.chunks_mut(each * to_pitch));
    parts::run_on(shares, &mut [], 0, |(from, to), _| {
        let rows = from.chunks_exact(from_pitch).zip(to.chunks_exact_mut(to_pitch));
        rows.for_each(|(from, to)| to[..row].copy_from_slice(&from[..row]));
    });
}
