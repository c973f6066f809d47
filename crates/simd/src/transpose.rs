//! SIMD kernels that transpose blocks of words.
//!
//! A vector has `LANES` lanes of 16 bytes, and a lane has `B = 16 / W` words of `W` bytes. A
//! micro-tile is `B · LANES` rows by `B` columns. Register `k` loads 16 bytes from each of the rows
//! `k`, `k + B`, `k + 2B`, ..., one per lane. A round interleaves the words of register `k` with
//! those of register `k + B/2`; `log2 B` rounds transpose all lanes at once. Register `k` is then
//! column `k` of the micro-tile, contiguous, and is stored whole. One network covers every word and
//! every instruction set; only the interleaving instruction differs ([`Vector`]).
//!
//! Structures of at most 8 bytes take fewer instructions by shuffles (module `deinterleave`).
//!
//! A micro-tile that would extend beyond the block is moved back inside it. Words covered by two
//! micro-tiles are written twice, with the same value.
//!
//! Vectors may have uninitialised bytes: see "Bytes that are not numbers" in the crate documentation.
#![allow(unsafe_code)]

use crate::block::{BlockShape, Byte};
use crate::trace::trace_path;
use crate::vector::Vector;

/// Function that transposes a block of words: `to[j][i] = from[i][j]`.
///
/// # Safety
/// - The machine supports the kernel set of the function.
/// - `from` is valid for reads of `block.from_len()` words, `to` for writes of `block.to_len()`.
///   The two do not overlap. No other thread writes the words read, or accesses the words written.
pub type TransposeFn = unsafe fn(from: *const Byte, to: *mut Byte, block: BlockShape);

/// Side, in words, of the square sub-blocks of a transposition without SIMD, chosen to keep both
/// buffers' lines in the first-level cache.
const SUB: usize = 16;
/// Rows of a block of units that are transposed together.
const UNIT_ROWS: usize = 32;

/// Transposes a block without SIMD: sub-block by sub-block, column by column.
pub unsafe fn plain<const W: usize>(from: *const Byte, to: *mut Byte, block: BlockShape) {
    trace_path("plain", W);
    let BlockShape { rows, cols, .. } = block;
    for i0 in (0..rows).step_by(SUB) {
        for j0 in (0..cols).step_by(SUB) {
            for j in j0..cols.min(j0 + SUB) {
                for i in i0..rows.min(i0 + SUB) {
                    // SAFETY: word (i, j) of the source and (j, i) of the destination.
                    unsafe { word::<W>(block.source(from, i, j, W), block.dest(to, i, j, W)) };
                }
            }
        }
    }
}

/// Transposes a block of units of more than `N / 2` and at most `N` bytes by copies of `N` bytes.
///
/// A copy extends into the next unit of its row. In the destination that unit is written later. The
/// last unit of a row is copied as two words of `HALF = N / 2` bytes, which may overlap.
pub unsafe fn units<const N: usize, const HALF: usize>(
    from: *const Byte,
    to: *mut Byte,
    block: BlockShape,
    unit_bytes: usize,
) {
    trace_path("units", N);
    let BlockShape { rows, cols, .. } = block;
    for i0 in (0..rows).step_by(UNIT_ROWS) {
        for j in 0..cols {
            let end = rows.min(i0 + UNIT_ROWS);
            let whole = if j + 1 < cols { end.min(rows - 1) } else { i0 };
            let at = |i| (block.source(from, i, j, unit_bytes), block.dest(to, i, j, unit_bytes));
            // SAFETY: units (i, j) of the source and (j, i) of the destination. In `i0..whole`,
            // neither is the last of its row, so a copy of `N` bytes ends inside the next unit.
            unsafe {
                for i in i0..whole {
                    let (source, dest) = at(i);
                    word::<N>(source, dest);
                }
                for i in whole..end {
                    let (source, dest) = at(i);
                    for skip in [0, unit_bytes - HALF] {
                        word::<HALF>(source.add(skip), dest.add(skip));
                    }
                }
            }
        }
    }
}

/// Copies one word of `W` bytes.
#[inline(always)]
unsafe fn word<const W: usize>(from: *const Byte, to: *mut Byte) {
    // SAFETY: the caller guarantees one word at each address; an array of bytes needs no alignment.
    unsafe { to.cast::<[Byte; W]>().write(from.cast::<[Byte; W]>().read()) };
}

/// Returns `true` if the block has two or more columns but fewer than a lane has words, no gaps
/// between source rows, and rows for at least two vectors.
#[inline(always)]
pub fn narrow_columns<V: Vector, const W: usize>(block: BlockShape) -> bool {
    let b = 16 / W;
    block.cols > 1
        && block.cols < b
        && block.from_pitch == block.cols
        && block.rows >= 2 * b * V::LANES
}

/// Returns `true` if at least one micro-tile fits into the block.
#[inline(always)]
pub fn fits<V: Vector, const W: usize>(block: BlockShape) -> bool {
    let b = 16 / W;
    block.rows >= b * V::LANES && block.cols >= b
}

/// Transposes a block, at least as large as a micro-tile, by micro-tiles.
#[inline(always)]
pub unsafe fn tiles<V: Vector, const W: usize>(
    from: *const Byte,
    to: *mut Byte,
    block: BlockShape,
) {
    let BlockShape { rows, cols, from_pitch, .. } = block;
    trace_path("tiles", V::LANES);
    let (wide, high) = (16 / W, 16 / W * V::LANES);
    let mut i = 0;
    loop {
        let mut j = 0;
        loop {
            // SAFETY: the micro-tile at row i, column j is inside the block.
            unsafe {
                // A single row's pitch may be any number, and is not used.
                let pitch = from_pitch.wrapping_mul(W);
                let columns = V::columns::<W>(block.source(from, i, j, W), pitch);
                for (k, column) in columns.iter().enumerate().take(wide) {
                    column.store(block.dest(to, i, j + k, W));
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

/// Transposes a block with fewer columns than a lane's words and no gaps between source rows. Loads
/// extend into the next rows; words outside the block are not stored.
#[inline(always)]
pub unsafe fn few_columns<V: Vector, const W: usize>(
    from: *const Byte,
    to: *mut Byte,
    block: BlockShape,
) {
    let BlockShape { rows, cols, .. } = block;
    let (wide, high) = (16 / W, 16 / W * V::LANES);
    let mut i = 0;
    while (i + high - 1) * cols + wide <= rows * cols {
        // SAFETY: the loop condition keeps the last load inside the block; extra columns are
        // dropped.
        unsafe {
            let columns = V::columns::<W>(from.add(i * cols * W), cols * W);
            let store = |j: usize, column: V| column.store(block.dest(to, i, j, W));
            // A constant number of columns lets the compiler remove most of the network: two thirds
            // of it for three columns of bytes.
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
            unsafe { word::<W>(block.source(from, i, j, W), block.dest(to, i, j, W)) };
        }
    }
}

/// Transposes a block with fewer rows than a lane's words and a destination without gaps. Stores
/// extend into the next destination rows, which are written later and correct this.
#[inline(always)]
pub unsafe fn few_rows<V: Vector, const W: usize>(
    from: *const Byte,
    to: *mut Byte,
    block: BlockShape,
) {
    const { assert!(V::LANES == 1) };
    let BlockShape { rows, cols, .. } = block;
    let wide = 16 / W;
    let mut j = 0;
    while j + wide <= cols && (j + wide - 1) * rows + wide <= rows * cols {
        // SAFETY: loads are of columns j.. of existing rows; the last row stands in for missing
        // ones. The loop condition keeps the last store inside the block.
        unsafe {
            let row = |k: usize| V::load(block.source(from, k.min(rows - 1), j, W), 0);
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
            unsafe { word::<W>(block.source(from, i, j, W), to.add((j * rows + i) * W)) };
        }
    }
}
