//! Two squares of words that change places, each transposed; lines of the next ones are asked for meanwhile.
#![allow(unsafe_code)]

use crate::block::{Byte, LINE};
#[cfg(any(target_arch = "x86_64", target_arch = "aarch64"))]
use crate::lanes::Lane;
use crate::lanes::Vector;
use crate::lines::Lines;
use crate::taken::tell;

/// Two squares of `side` words change places, each transposed; one is transposed in its own place when
/// both are the same. As many `lines` are asked for meanwhile as are worked on.
///
/// # Safety
/// - The machine can run the kernel that it belongs to, and `side` is a multiple of its vector's words.
/// - All words of both squares, in rows `pitch` bytes apart, are valid for reads and writes and nobody
///   else's meanwhile; the squares are the same or share no word.
pub type Exchange =
    unsafe fn(a: *mut Byte, b: *mut Byte, pitch: usize, side: usize, lines: &mut Lines);

/// Never called: no square is a multiple of no vector.
pub unsafe fn no_squares<const W: usize>(
    _: *mut Byte,
    _: *mut Byte,
    _: usize,
    _: usize,
    _: &mut Lines,
) {
}

#[cfg(target_arch = "x86_64")]
#[target_feature(enable = "avx512f,avx512bw,avx2")]
pub unsafe fn squares_avx512<const W: usize>(
    a: *mut Byte,
    b: *mut Byte,
    pitch: usize,
    side: usize,
    lines: &mut Lines,
) {
    // SAFETY: the caller's; the features are this function's.
    unsafe { squares::<std::arch::x86_64::__m512i, W>(a, b, pitch, side, lines) };
}

#[cfg(target_arch = "x86_64")]
#[target_feature(enable = "avx2")]
pub unsafe fn squares_avx2<const W: usize>(
    a: *mut Byte,
    b: *mut Byte,
    pitch: usize,
    side: usize,
    lines: &mut Lines,
) {
    // SAFETY: as above.
    unsafe { squares::<std::arch::x86_64::__m256i, W>(a, b, pitch, side, lines) };
}

#[cfg(any(target_arch = "x86_64", target_arch = "aarch64"))]
pub unsafe fn squares_lane<const W: usize>(
    a: *mut Byte,
    b: *mut Byte,
    pitch: usize,
    side: usize,
    lines: &mut Lines,
) {
    // SAFETY: as above.
    unsafe { squares::<Lane, W>(a, b, pitch, side, lines) };
}

/// Squares of a vector's words within two squares of any multiple of them.
#[inline(always)]
unsafe fn squares<V: Vector, const W: usize>(
    a: *mut Byte,
    b: *mut Byte,
    pitch: usize,
    side: usize,
    lines: &mut Lines,
) {
    tell("squares", V::LANES);
    let (step, bytes) = (16 * V::LANES / W, 16 * V::LANES);
    // A vector's square of long words is less than a line: the lines of all are asked for at once. SSE2, 4096x4096 words
    // of 8 bytes: 10.5-11.6 GB/s instead of 8.7 with none asked for here; 5600x5600: 10.8-11.4 instead of 11.9; 4000x4000
    // of 16 bytes: 15.4 instead of 14.1, and 12 with a line for every few squares.
    if step * bytes < LINE {
        let squares = if a == b { 1 } else { 2 };
        lines.ask(squares * side * side * W / LINE);
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

/// One square of a vector's words a side and another, through a buffer; a line is asked for with
/// every line that is loaded transposed.
#[inline(always)]
unsafe fn square<V: Vector, const W: usize>(
    a: *mut Byte,
    b: *mut Byte,
    pitch: usize,
    lines: &mut Lines,
) {
    let (lane, bytes) = (16 / W, 16 * V::LANES);
    let mut buffer = [Byte::uninit(); 64 * 64];
    let mut ask = || lines.ask(lane * V::LANES * bytes / LINE);
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
            V::load_all(buffer.as_ptr().add(k * bytes)).store(b.add(k * pitch));
        }
    }
}
