//! Kernels that swap two squares of words, each transposed, and meanwhile prefetch other lines,
//! those of the next squares.
#![allow(unsafe_code)]

use crate::block::{BlockShape, Byte, CACHE_LINE};
use crate::copy::{copy_line, copy_vector};
use crate::prefetch_cursor::PrefetchCursor;
use crate::trace::trace_path;
use crate::transpose::tiles;
use crate::vector::Vector;

/// Function that swaps two squares of `side` words and transposes each. If both are the same
/// square, it transposes that square in place. Meanwhile it prefetches other data: the next cache
/// lines of `lines`, one per line of the squares.
///
/// # Safety
/// - The machine supports the kernel set of the function, and `side` is a multiple of its vector's
///   words.
/// - All words of both squares, in rows `pitch` bytes apart, are valid for reads and writes. No
///   other thread accesses them meanwhile. The squares are identical or disjoint.
pub type SquareSwapFn =
    unsafe fn(a: *mut Byte, b: *mut Byte, pitch: usize, side: usize, lines: &mut PrefetchCursor);

/// Swaps and transposes two squares whose side is a multiple of a vector's words: by vector-sized
/// squares, or by whole lines if rows share cache sets (`by_lines`).
#[inline(always)]
pub unsafe fn squares<V: Vector, const W: usize>(
    a: *mut Byte,
    b: *mut Byte,
    pitch: usize,
    side: usize,
    lines: &mut PrefetchCursor,
) {
    trace_path("squares", V::LANES);
    if pitch.is_multiple_of(SET_STRIDE) && side * W == CACHE_LINE && W <= LINE_WORD_BYTES {
        // SAFETY: the caller's squares, whose rows are one line each.
        return unsafe { by_lines::<V, W>(a, b, pitch, lines) };
    }
    let (step, bytes) = (16 * V::LANES / W, 16 * V::LANES);
    // If vector-sized squares are smaller than a cache line (long words), the lines of the next
    // squares are prefetched first. SSE2, 4096x4096 words of 8 bytes: 10.5-11.6 GB/s, compared with
    // 8.7 without this prefetch; 5600x5600: 10.8-11.4 instead of 11.9. 4000x4000 words of 16 bytes:
    // 15.4 instead of 14.1, and 12 with one line per few squares.
    if step * bytes < CACHE_LINE {
        let squares = if a == b { 1 } else { 2 };
        lines.prefetch(squares * side * side * W / CACHE_LINE);
    }
    for i in 0..side / step {
        for j in if a == b { i } else { 0 }..side / step {
            // SAFETY: vector-sized squares inside the caller's two.
            unsafe {
                let upper = a.add(i * step * pitch + j * bytes);
                let lower = b.add(j * step * pitch + i * bytes);
                square::<V, W>(upper, lower, pitch, lines);
            }
        }
    }
}

/// Address distance in bytes at which lines map to the same first-level cache set.
const SET_STRIDE: usize = 4096;
/// Maximum bytes of a word for swaps through line buffers (`by_lines`) if rows share cache sets.
/// One thread of an EPYC (Milan), GB/s without and with. Words of 2 bytes: 16384 x 16384 10.3-13.2
/// and 16.3-16.5, 8192 x 8192 9.7-13.7 and 16.3-17.7. Words of 1 byte: 5.8-7.6 and 7.9-8.9. Words
/// of 4 bytes: 8192 x 8192 20.5-23.2 and 22.1-25.2, 1024 x 1024 33 and 25-31.
const LINE_WORD_BYTES: usize = 2;

/// Swaps and transposes squares whose rows are one cache line each and share cache sets. Reads and
/// writes every line once, as a whole, and transposes in buffers in between.
#[inline(always)]
unsafe fn by_lines<V: Vector, const W: usize>(
    a: *mut Byte,
    b: *mut Byte,
    pitch: usize,
    lines: &mut PrefetchCursor,
) {
    let side = CACHE_LINE / W;
    let block = BlockShape { rows: side, cols: side, from_pitch: side, to_pitch: side };
    let mut from = [Byte::uninit(); CACHE_LINE * CACHE_LINE];
    let mut transposed = [[Byte::uninit(); CACHE_LINE * CACHE_LINE]; 2];
    // SAFETY: `side` lines of a square and of a buffer of the same size.
    unsafe {
        for (square, to) in [a, b].into_iter().zip(&mut transposed).take(if a == b { 1 } else { 2 })
        {
            for k in 0..side {
                copy_line::<V>(square.add(k * pitch), from.as_mut_ptr().add(k * CACHE_LINE));
                lines.prefetch(1);
            }
            tiles::<V, W>(from.as_ptr(), to.as_mut_ptr(), block);
        }
        for k in 0..side {
            copy_line::<V>(transposed[0].as_ptr().add(k * CACHE_LINE), b.add(k * pitch));
        }
        for k in 0..if a == b { 0 } else { side } {
            copy_line::<V>(transposed[1].as_ptr().add(k * CACHE_LINE), a.add(k * pitch));
        }
    }
}

/// Swaps and transposes two squares whose side is one vector's words, through a buffer. Prefetches
/// one line of the next squares per 64 bytes loaded.
#[inline(always)]
unsafe fn square<V: Vector, const W: usize>(
    a: *mut Byte,
    b: *mut Byte,
    pitch: usize,
    lines: &mut PrefetchCursor,
) {
    let (lane, bytes) = (16 / W, 16 * V::LANES);
    let mut buffer = [Byte::uninit(); 64 * 64];
    let mut prefetch = || lines.prefetch(lane * V::LANES * bytes / CACHE_LINE);
    // SAFETY: rows and columns of the caller's squares. The buffer holds a square of bytes of the
    // longest vector.
    unsafe {
        for q in 0..V::LANES {
            let columns = V::columns::<W>(a.add(q * 16), pitch);
            for (k, column) in columns.iter().enumerate().take(lane) {
                column.store(buffer.as_mut_ptr().add((q * lane + k) * bytes));
            }
        }
        prefetch();
        if a != b {
            for q in 0..V::LANES {
                let columns = V::columns::<W>(b.add(q * 16), pitch);
                for (k, column) in columns.iter().enumerate().take(lane) {
                    column.store(a.add((q * lane + k) * pitch));
                }
            }
            prefetch();
        }
        for k in 0..lane * V::LANES {
            copy_vector::<V>(buffer.as_ptr().add(k * bytes), b.add(k * pitch));
        }
    }
}
