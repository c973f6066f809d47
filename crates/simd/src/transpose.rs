//! The micro-kernels that transpose blocks of words.
//!
//! A vector is so many lanes of 16 bytes, `B = 16 / W` words of `W` bytes each. A micro-tile is
//! `B · lanes` rows by `B` columns: register `k` takes 16 bytes from each of the rows `k`, `k + B`,
//! `k + 2B`, ..., one to a lane; `log2 B` rounds that interleave the words of register `k` with
//! those of register `k + B/2` transpose all lanes at once, and register `k` is then column `k` of
//! the micro-tile, contiguous, and is stored whole. One network serves every word and every
//! instruction set: what differs is how words are interleaved ([`Vector`]).
//!
//! Structures of at most 8 bytes take fewer instructions by shuffles ([`structures`]).
//!
//! Micro-tiles that do not fit whole are moved back so that they do: words that two of them cover
//! are written twice, with the same value.
//!
//! Vectors may hold padding bytes that nobody initialised: they are interleaved and stored like any
//! other, and no value is ever computed from them. The crate's page says what this relies on.
#![allow(unsafe_code)]

use crate::block::{BlockShape, Byte};
use crate::trace::trace_path;
use crate::vector::Vector;

/// `to[j][i] = from[i][j]` for a block of words.
///
/// # Safety
/// - The machine can run the kernel that it belongs to.
/// - `from` is valid for reads of `block.from_len()` words, `to` for writes of `block.to_len()`;
///   the two do not overlap, and nobody else writes what is read or touches what is written.
pub type TransposeFn = unsafe fn(from: *const Byte, to: *mut Byte, block: BlockShape);

/// Side of the sub-blocks that keep both buffers' lines in the first-level cache.
const SUB: usize = 16;

/// Without vectors: sub-block by sub-block, column by column.
pub unsafe fn plain<const W: usize>(from: *const Byte, to: *mut Byte, block: BlockShape) {
    trace_path("plain", W);
    let BlockShape { rows, cols, from_pitch, to_pitch } = block;
    for i0 in (0..rows).step_by(SUB) {
        for j0 in (0..cols).step_by(SUB) {
            for j in j0..cols.min(j0 + SUB) {
                for i in i0..rows.min(i0 + SUB) {
                    // SAFETY: word (i, j) of the source and (j, i) of the destination.
                    unsafe {
                        word::<W>(
                            from.add((i * from_pitch + j) * W),
                            to.add((j * to_pitch + i) * W),
                        )
                    };
                }
            }
        }
    }
}

/// Moves one word.
#[inline(always)]
unsafe fn word<const W: usize>(from: *const Byte, to: *mut Byte) {
    // SAFETY: the caller's word of each side; a word is an array of bytes and needs no alignment.
    unsafe { to.cast::<[Byte; W]>().write(from.cast::<[Byte; W]>().read()) };
}

/// Whether a block has fewer columns than a lane has words, and rows enough without gaps.
#[inline(always)]
pub fn narrow_columns<V: Vector, const W: usize>(block: BlockShape) -> bool {
    let b = 16 / W;
    block.cols > 1
        && block.cols < b
        && block.from_pitch == block.cols
        && block.rows >= 2 * b * V::LANES
}

/// Whether a block holds a micro-tile.
#[inline(always)]
pub fn fits<V: Vector, const W: usize>(block: BlockShape) -> bool {
    let b = 16 / W;
    block.rows >= b * V::LANES && block.cols >= b
}

/// A block of at least one micro-tile.
#[inline(always)]
pub unsafe fn tiles<V: Vector, const W: usize>(
    from: *const Byte,
    to: *mut Byte,
    block: BlockShape,
) {
    let BlockShape { rows, cols, from_pitch, to_pitch } = block;
    trace_path("tiles", V::LANES);
    let (wide, high) = (16 / W, 16 / W * V::LANES);
    let mut i = 0;
    loop {
        let mut j = 0;
        loop {
            // SAFETY: rows i.. and columns j.. of a whole micro-tile lie in the block.
            unsafe {
                // A single row's pitch may be any number, and is not used.
                let pitch = from_pitch.wrapping_mul(W);
                let columns = V::columns::<W>(from.add((i * from_pitch + j) * W), pitch);
                for (k, column) in columns.iter().enumerate().take(wide) {
                    column.store(to.add(((j + k) * to_pitch + i) * W));
                }
            }
            if j + wide >= cols {
                break;
            }
            j = (j + wide).min(cols - wide);
        }
        if i + high >= rows {
            break;
        }
        i = (i + high).min(rows - high);
    }
}

/// Fewer columns than a vector's words, rows without gaps: loads run on into the next rows, and
/// what does not belong to the block is not stored.
#[inline(always)]
pub unsafe fn few_columns<V: Vector, const W: usize>(
    from: *const Byte,
    to: *mut Byte,
    block: BlockShape,
) {
    let BlockShape { rows, cols, to_pitch, .. } = block;
    let (wide, high) = (16 / W, 16 / W * V::LANES);
    let mut i = 0;
    while (i + high - 1) * cols + wide <= rows * cols {
        // SAFETY: the last load ends within the block, by the line above; columns past the block's
        // are dropped.
        unsafe {
            let columns = V::columns::<W>(from.add(i * cols * W), cols * W);
            let store = |j: usize, column: V| column.store(to.add((j * to_pitch + i) * W));
            // A known number of columns lets most of the network disappear: with three columns of
            // bytes two thirds of it.
            match cols {
                2 => columns.iter().take(2).enumerate().for_each(|(j, &column)| store(j, column)),
                3 => columns.iter().take(3).enumerate().for_each(|(j, &column)| store(j, column)),
                _ => {
                    columns.iter().take(cols).enumerate().for_each(|(j, &column)| store(j, column))
                }
            }
        }
        i += high;
    }
    trace_path("few columns", i / high);
    for i in i..rows {
        for j in 0..cols {
            // SAFETY: word (i, j) of the source and (j, i) of the destination.
            unsafe { word::<W>(from.add((i * cols + j) * W), to.add((j * to_pitch + i) * W)) };
        }
    }
}

/// Fewer rows than a lane's words, and columns stored without gaps: stores run on into the next
/// columns, which come after and put that right.
#[inline(always)]
pub unsafe fn few_rows<V: Vector, const W: usize>(
    from: *const Byte,
    to: *mut Byte,
    block: BlockShape,
) {
    const { assert!(V::LANES == 1) };
    let BlockShape { rows, cols, from_pitch, .. } = block;
    let wide = 16 / W;
    let mut j = 0;
    while j + wide <= cols && (j + wide - 1) * rows + wide <= rows * cols {
        // SAFETY: loads are of columns j.. of whole rows (the last row again in place of those that
        // are not there); the last store ends within the block, by the line above.
        unsafe {
            let row = |k: usize| V::load(from.add((k.min(rows - 1) * from_pitch + j) * W), 0);
            let columns = V::interleave::<W>(std::array::from_fn(|k| row(k.min(wide - 1))));
            for (k, column) in columns.iter().enumerate().take(wide) {
                column.store(to.add((j + k) * rows * W));
            }
        }
        j += wide;
    }
    trace_path("few rows", j / wide);
    for j in j..cols {
        for i in 0..rows {
            // SAFETY: word (i, j) of the source and (j, i) of the destination.
            unsafe { word::<W>(from.add((i * from_pitch + j) * W), to.add((j * rows + i) * W)) };
        }
    }
}
