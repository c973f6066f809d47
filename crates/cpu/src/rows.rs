//! Rows padded and unpadded in steps: together while they lie in front of the places that they go to,
//! else one by one (thesis section 4.1.1).

use turntile_perm::Padding;
use turntile_perm::padding::Step;
use turntile_plan::Direction;

use crate::Byte;
use crate::parts;

/// Moves the rows of `padding`, counted in bytes; a step of several threads moves at least `least` of
/// them. `data` are as long as the padded rows.
pub fn run(data: &mut [Byte], padding: Padding, direction: Direction, least: usize, parts: usize) {
    let (packed, padded) = (padding.cols(), padding.pitch());
    match direction {
        Direction::Forward => padding.pad_steps(least).for_each(|Step { rows, together }| {
            if together {
                let (from, to) = data.split_at_mut(rows.end * packed);
                let to = &mut to[rows.start * padded - rows.end * packed..][..rows.len() * padded];
                copy((&from[rows.start * packed..], packed), (to, padded), parts);
            } else {
                let row = |r: usize| r * packed..(r + 1) * packed;
                rows.rev().for_each(|r| data.copy_within(row(r), r * padded));
            }
        }),
        Direction::Backward => padding.unpad_steps(least).for_each(|Step { rows, together }| {
            if together {
                let (to, from) = data.split_at_mut(rows.end * packed);
                let from = &from[rows.start * padded - rows.end * packed..];
                let from = &from[..rows.len() * padded];
                copy((from, padded), (&mut to[rows.start * packed..], packed), parts);
            } else {
                let row = |r: usize| r * padded..r * padded + packed;
                rows.for_each(|r| data.copy_within(row(r), r * packed));
            }
        }),
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
