//! Two squares of words that change places, each transposed; lines of the next ones are asked for meanwhile.
#![allow(unsafe_code)]

use crate::block::{BlockShape, Byte, CACHE_LINE};
use crate::copy::{copy_line, copy_vector};
use crate::prefetch_cursor::PrefetchCursor;
use crate::trace::trace_path;
use crate::transpose::tiles;
use crate::vector::Vector;

/// Two squares of `side` words change places, each transposed; one is transposed in its own place when
/// both are the same. As many `lines` are asked for meanwhile as are worked on.
///
/// # Safety
/// - The machine can run the kernel that it belongs to, and `side` is a multiple of its vector's words.
/// - All words of both squares, in rows `pitch` bytes apart, are valid for reads and writes and nobody
///   else's meanwhile; the squares are the same or share no word.
pub type SquareSwapFn =
    unsafe fn(a: *mut Byte, b: *mut Byte, pitch: usize, side: usize, lines: &mut PrefetchCursor);

/// Never called: no square is a multiple of no vector.
pub unsafe fn no_squares<const W: usize>(
    _: *mut Byte,
    _: *mut Byte,
    _: usize,
    _: usize,
    _: &mut PrefetchCursor,
) {
}

/// Squares of a vector's words within two squares of any multiple of them.
#[inline(always)]
pub unsafe fn squares<V: Vector, const W: usize>(
    a: *mut Byte,
    b: *mut Byte,
    pitch: usize,
    side: usize,
    lines: &mut PrefetchCursor,
) {
    trace_path("squares", V::LANES);
    if pitch.is_multiple_of(PAGE) && side * W == CACHE_LINE && W <= SHORT {
        // SAFETY: the caller's squares, whose rows are a line.
        return unsafe { by_lines::<V, W>(a, b, pitch, lines) };
    }
    let (step, bytes) = (16 * V::LANES / W, 16 * V::LANES);
    // A vector's square of long words is less than a line: the lines of all are asked for at once. SSE2, 4096x4096 words
    // of 8 bytes: 10.5-11.6 GB/s instead of 8.7 with none asked for here; 5600x5600: 10.8-11.4 instead of 11.9; 4000x4000
    // of 16 bytes: 15.4 instead of 14.1, and 12 with a line for every few squares.
    if step * bytes < CACHE_LINE {
        let squares = if a == b { 1 } else { 2 };
        lines.ask(squares * side * side * W / CACHE_LINE);
    }
    for i in 0..side / step {
        for j in if a == b { i } else { 0 }..side / step {
            // SAFETY: vectors' squares of the caller's two.
            unsafe {
                let upper = a.add(i * step * pitch + j * bytes);
                let lower = b.add(j * step * pitch + i * bytes);
                square::<V, W>(upper, lower, pitch, lines);
            }
        }
    }
}

/// Bytes after which addresses meet the same sets of the first-level cache.
const PAGE: usize = 4096;
/// Bytes of words that come by lines where rows share the sets. One thread of an EPYC (Milan), GB/s without and with: 2 bytes,
/// 16384 x 16384 10.3-13.2 and 16.3-16.5, 8192 x 8192 9.7-13.7 and 16.3-17.7; a byte 5.8-7.6 and 7.9-8.9; 4 bytes, 8192 x
/// 8192 20.5-23.2 and 22.1-25.2, 1024 x 1024 33 and 25-31.
const SHORT: usize = 2;

/// Squares of a line of words whose rows share the caches' sets: every line is read once and written once, as a whole, and
/// transposed in between in buffers.
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
    let mut turned = [[Byte::uninit(); CACHE_LINE * CACHE_LINE]; 2];
    // SAFETY: `side` lines of a square and of a buffer, which holds as many.
    unsafe {
        for (square, to) in [a, b].into_iter().zip(&mut turned).take(if a == b { 1 } else { 2 }) {
            for k in 0..side {
                copy_line::<V>(square.add(k * pitch), from.as_mut_ptr().add(k * CACHE_LINE));
                lines.ask(1);
            }
            tiles::<V, W>(from.as_ptr(), to.as_mut_ptr(), block);
        }
        for k in 0..side {
            copy_line::<V>(turned[0].as_ptr().add(k * CACHE_LINE), b.add(k * pitch));
        }
        for k in 0..if a == b { 0 } else { side } {
            copy_line::<V>(turned[1].as_ptr().add(k * CACHE_LINE), a.add(k * pitch));
        }
    }
}

/// One square of a vector's words a side and another, through a buffer; a line is asked for with
/// every line that is loaded transposed.
#[inline(always)]
unsafe fn square<V: Vector, const W: usize>(
    a: *mut Byte,
    b: *mut Byte,
    pitch: usize,
    lines: &mut PrefetchCursor,
) {
    let (lane, bytes) = (16 / W, 16 * V::LANES);
    let mut buffer = [Byte::uninit(); 64 * 64];
    let mut ask = || lines.ask(lane * V::LANES * bytes / CACHE_LINE);
    // SAFETY: rows and columns of the caller's squares; the buffer holds a square of bytes of the
    // longest vector.
    unsafe {
        for q in 0..V::LANES {
            let columns = V::columns::<W>(a.add(q * 16), pitch);
            for (k, column) in columns.iter().enumerate().take(lane) {
                column.store(buffer.as_mut_ptr().add((q * lane + k) * bytes));
            }
        }
        ask();
        if a != b {
            for q in 0..V::LANES {
                let columns = V::columns::<W>(b.add(q * 16), pitch);
                for (k, column) in columns.iter().enumerate().take(lane) {
                    column.store(a.add((q * lane + k) * pitch));
                }
            }
            ask();
        }
        for k in 0..lane * V::LANES {
            copy_vector::<V>(buffer.as_ptr().add(k * bytes), b.add(k * pitch));
        }
    }
}
