//! The micro-kernels, and prefetching: the crate's only `unsafe`.
//!
//! A vector is so many lanes of 16 bytes, `B = 16 / W` words of `W` bytes each. A micro-tile is
//! `B · lanes` rows by `B` columns: register `k` takes 16 bytes from each of the rows `k`, `k + B`,
//! `k + 2B`, ..., one to a lane; `log2 B` rounds that interleave the words of register `k` with
//! those of register `k + B/2` transpose all lanes at once, and register `k` is then column `k` of
//! the micro-tile, contiguous, and is stored whole. One network serves every word and every
//! instruction set: what differs is how words are interleaved ([`Vector`]).
//!
//! Micro-tiles that do not fit whole are moved back so that they do: words that two of them cover
//! are written twice, with the same value.
//!
//! Vectors may hold padding bytes that nobody initialised: they are interleaved and stored like any
//! other, and no value is ever computed from them.
#![allow(unsafe_code)]

use crate::{Block, Byte, Kernel, kernel};

/// `to[j][i] = from[i][j]` for a block of words.
///
/// # Safety
/// - The machine can run the kernel that it belongs to.
/// - `from` is valid for reads of `block.from_len()` words, `to` for writes of `block.to_len()`;
///   the two do not overlap, and nobody else writes what is read or touches what is written.
pub type Words = unsafe fn(from: *const Byte, to: *mut Byte, block: Block);

/// The kernel in use on two checked buffers; false when units of that length have none.
pub fn transpose(from: &[Byte], to: &mut [Byte], block: Block, unit_bytes: usize) -> bool {
    let row = kernel();
    let Some(words) = row.of(unit_bytes) else { return false };
    // SAFETY: the row was found to be available; the caller has compared both lengths with the
    // block's, and the borrows are exclusive of each other.
    unsafe { words(from.as_ptr(), to.as_mut_ptr(), block) };
    true
}

/// `to[j][i] = from[i][j]` for units of `unit_bytes` bytes, between parts of arrays that other
/// threads work on.
///
/// # Safety
/// - `from` is valid for reads of every unit of the block, `to` for writes of every unit of the
///   transposed block, and the bytes between their first and last units are in bounds.
/// - The two do not overlap; nobody else writes what is read or touches what is written.
pub unsafe fn transpose_raw(from: *const Byte, to: *mut Byte, block: Block, unit_bytes: usize) {
    match kernel().of(unit_bytes) {
        // SAFETY: the row was found to be available; the rest is the caller's.
        Some(words) => unsafe { words(from, to, block) },
        None => {
            for i in 0..block.rows {
                for j in 0..block.cols {
                    let source = (i * block.from_pitch + j) * unit_bytes;
                    let dest = (j * block.to_pitch + i) * unit_bytes;
                    // SAFETY: a unit of each block.
                    unsafe { from.add(source).copy_to_nonoverlapping(to.add(dest), unit_bytes) };
                }
            }
        }
    }
}

/// Asks for the line at `at` to be brought into the second-level cache. Any address will do.
#[inline(always)]
pub fn prefetch(at: *const Byte) {
    #[cfg(target_arch = "x86_64")]
    // SAFETY: a hint: it never faults.
    unsafe {
        use std::arch::x86_64::{_MM_HINT_T1, _mm_prefetch};
        _mm_prefetch::<_MM_HINT_T1>(at.cast());
    }
    #[cfg(not(target_arch = "x86_64"))]
    let _ = at;
}

/// Two squares of `side` words change places, each transposed; one is transposed in its own place when
/// both are the same. The lines `ahead` bytes after those of each are asked for meanwhile, one with
/// every row that is stored.
///
/// # Safety
/// - The machine can run the kernel that it belongs to, and `side` is a multiple of its vector's words.
/// - All words of both squares, in rows `pitch` bytes apart, are valid for reads and writes and nobody
///   else's meanwhile; the squares are the same or share no word.
pub type Squares =
    unsafe fn(a: *mut Byte, b: *mut Byte, pitch: usize, side: usize, ahead: [usize; 2]);

/// Swaps two squares as [`Squares`] says; false, with nothing touched, when the kernel in use has no way
/// to swap squares of `side` units of `unit_bytes` bytes.
///
/// # Safety
/// As for [`Squares`], but for the kernel and `side`.
#[inline]
pub unsafe fn swap_squares_raw(
    [a, b]: [*mut Byte; 2],
    pitch: usize,
    side: usize,
    unit_bytes: usize,
    ahead: [usize; 2],
) -> bool {
    let row = kernel();
    let Some(log) = word_log(unit_bytes) else { return false };
    let whole = row.vector_bytes > 0 && (side * unit_bytes).is_multiple_of(row.vector_bytes);
    if whole {
        // SAFETY: the row was found to be available and `side` fits it; the rest is the caller's.
        unsafe { (row.squares[log])(a, b, pitch, side, ahead) };
    }
    whole
}

/// Which of the words of 1, 2, 4, 8 and 16 bytes a unit is.
fn word_log(unit_bytes: usize) -> Option<usize> {
    let log = unit_bytes.trailing_zeros() as usize;
    (unit_bytes.is_power_of_two() && log < 5).then_some(log)
}

impl Kernel {
    fn of(&self, unit_bytes: usize) -> Option<Words> {
        word_log(unit_bytes).map(|log| self.words[log])
    }
}

macro_rules! rows {
    ($kernel:ident) => {
        [$kernel::<1>, $kernel::<2>, $kernel::<4>, $kernel::<8>, $kernel::<16>]
    };
}

#[cfg(target_arch = "x86_64")]
pub static KERNELS: &[Kernel] = &[
    Kernel {
        name: "avx512",
        available: || is_x86_feature_detected!("avx512bw") && is_x86_feature_detected!("avx2"),
        words: rows!(avx512),
        swap: swap_avx512,
        vector_bytes: 64,
        squares: rows!(squares_avx512),
    },
    Kernel {
        name: "avx2",
        available: || is_x86_feature_detected!("avx2"),
        words: rows!(avx2),
        swap: swap_avx2,
        vector_bytes: 32,
        squares: rows!(squares_avx2),
    },
    Kernel {
        name: "sse2",
        available: || true,
        words: rows!(narrow),
        swap: swap_lane,
        vector_bytes: 16,
        squares: rows!(squares_lane),
    },
    PORTABLE,
];

#[cfg(target_arch = "aarch64")]
pub static KERNELS: &[Kernel] = &[
    Kernel {
        name: "neon",
        available: || true,
        words: rows!(narrow),
        swap: swap_lane,
        vector_bytes: 16,
        squares: rows!(squares_lane),
    },
    PORTABLE,
];

#[cfg(not(any(target_arch = "x86_64", target_arch = "aarch64")))]
pub static KERNELS: &[Kernel] = &[PORTABLE];

const PORTABLE: Kernel = Kernel {
    name: "portable",
    available: || true,
    words: rows!(plain),
    swap: swap_plain,
    vector_bytes: 0,
    squares: rows!(no_squares),
};

/// Never called: no square is a multiple of no vector.
unsafe fn no_squares<const W: usize>(
    _: *mut Byte,
    _: *mut Byte,
    _: usize,
    _: usize,
    _: [usize; 2],
) {
}

/// Bytes of a cache line.
const LINE: usize = 64;

/// Side of the sub-blocks that keep both buffers' lines in the first-level cache.
const SUB: usize = 16;

/// Without vectors: sub-block by sub-block, column by column.
unsafe fn plain<const W: usize>(from: *const Byte, to: *mut Byte, block: Block) {
    let Block { rows, cols, from_pitch, to_pitch } = block;
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

#[cfg(target_arch = "x86_64")]
#[target_feature(enable = "avx512f,avx512bw,avx2")]
unsafe fn avx512<const W: usize>(from: *const Byte, to: *mut Byte, block: Block) {
    use std::arch::x86_64::{__m256i, __m512i};
    // SAFETY: the caller's; the features are this function's.
    unsafe {
        if fits::<__m512i, W>(block) {
            tiles::<__m512i, W>(from, to, block);
        } else if fits::<__m256i, W>(block) {
            tiles::<__m256i, W>(from, to, block);
        } else if narrow_columns::<__m512i, W>(block) {
            few_columns::<__m512i, W>(from, to, block);
        } else {
            narrow::<W>(from, to, block);
        }
    }
}

#[cfg(target_arch = "x86_64")]
#[target_feature(enable = "avx2")]
unsafe fn avx2<const W: usize>(from: *const Byte, to: *mut Byte, block: Block) {
    use std::arch::x86_64::__m256i;
    // SAFETY: as above.
    unsafe {
        if fits::<__m256i, W>(block) {
            tiles::<__m256i, W>(from, to, block);
        } else {
            narrow::<W>(from, to, block);
        }
    }
}

/// The vectors of one lane, which every machine of the architecture has.
#[cfg(target_arch = "x86_64")]
type Lane = std::arch::x86_64::__m128i;
#[cfg(target_arch = "aarch64")]
type Lane = std::arch::aarch64::uint8x16_t;

#[cfg(any(target_arch = "x86_64", target_arch = "aarch64"))]
unsafe fn narrow<const W: usize>(from: *const Byte, to: *mut Byte, block: Block) {
    let b = 16 / W;
    // SAFETY: the caller's.
    unsafe {
        if fits::<Lane, W>(block) {
            tiles::<Lane, W>(from, to, block);
        } else if narrow_columns::<Lane, W>(block) {
            few_columns::<Lane, W>(from, to, block);
        } else if block.cols >= 2 * b && block.to_pitch == block.rows && block.rows > 1 {
            few_rows::<Lane, W>(from, to, block);
        } else {
            plain::<W>(from, to, block);
        }
    }
}

/// Whether a block has fewer columns than a lane has words, and rows enough without gaps.
#[inline(always)]
fn narrow_columns<V: Vector, const W: usize>(block: Block) -> bool {
    let b = 16 / W;
    block.cols > 1
        && block.cols < b
        && block.from_pitch == block.cols
        && block.rows >= 2 * b * V::LANES
}

/// Whether a block holds a micro-tile.
#[inline(always)]
fn fits<V: Vector, const W: usize>(block: Block) -> bool {
    let b = 16 / W;
    block.rows >= b * V::LANES && block.cols >= b
}

/// A block of at least one micro-tile.
#[inline(always)]
unsafe fn tiles<V: Vector, const W: usize>(from: *const Byte, to: *mut Byte, block: Block) {
    let Block { rows, cols, from_pitch, to_pitch } = block;
    let (wide, high) = (16 / W, 16 / W * V::LANES);
    let mut i = 0;
    loop {
        let mut j = 0;
        loop {
            // SAFETY: rows i.. and columns j.. of a whole micro-tile lie in the block.
            unsafe {
                let columns = V::columns::<W>(from.add((i * from_pitch + j) * W), from_pitch * W);
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
unsafe fn few_columns<V: Vector, const W: usize>(from: *const Byte, to: *mut Byte, block: Block) {
    let Block { rows, cols, to_pitch, .. } = block;
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
unsafe fn few_rows<V: Vector, const W: usize>(from: *const Byte, to: *mut Byte, block: Block) {
    const { assert!(V::LANES == 1) };
    let Block { rows, cols, from_pitch, .. } = block;
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
    for j in j..cols {
        for i in 0..rows {
            // SAFETY: word (i, j) of the source and (j, i) of the destination.
            unsafe { word::<W>(from.add((i * from_pitch + j) * W), to.add((j * rows + i) * W)) };
        }
    }
}

#[cfg(target_arch = "x86_64")]
#[target_feature(enable = "avx512f,avx512bw,avx2")]
unsafe fn squares_avx512<const W: usize>(
    a: *mut Byte,
    b: *mut Byte,
    pitch: usize,
    side: usize,
    ahead: [usize; 2],
) {
    // SAFETY: the caller's; the features are this function's.
    unsafe { squares::<std::arch::x86_64::__m512i, W>(a, b, pitch, side, ahead) };
}

#[cfg(target_arch = "x86_64")]
#[target_feature(enable = "avx2")]
unsafe fn squares_avx2<const W: usize>(
    a: *mut Byte,
    b: *mut Byte,
    pitch: usize,
    side: usize,
    ahead: [usize; 2],
) {
    // SAFETY: as above.
    unsafe { squares::<std::arch::x86_64::__m256i, W>(a, b, pitch, side, ahead) };
}

#[cfg(any(target_arch = "x86_64", target_arch = "aarch64"))]
unsafe fn squares_lane<const W: usize>(
    a: *mut Byte,
    b: *mut Byte,
    pitch: usize,
    side: usize,
    ahead: [usize; 2],
) {
    // SAFETY: as above.
    unsafe { squares::<Lane, W>(a, b, pitch, side, ahead) };
}

/// Squares of a vector's words within two squares of any multiple of them.
#[inline(always)]
unsafe fn squares<V: Vector, const W: usize>(
    a: *mut Byte,
    b: *mut Byte,
    pitch: usize,
    side: usize,
    ahead: [usize; 2],
) {
    let (step, bytes) = (16 * V::LANES / W, 16 * V::LANES);
    for i in 0..side / step {
        for j in if a == b { i } else { 0 }..side / step {
            // SAFETY: vectors' squares of the caller's two.
            unsafe {
                let upper = a.add(i * step * pitch + j * bytes);
                let lower = b.add(j * step * pitch + i * bytes);
                square::<V, W>(upper, lower, pitch, ahead);
            }
        }
    }
}

/// One square of a vector's words a side and another, through a buffer; a line is asked for with
/// every row that is loaded transposed.
#[inline(always)]
unsafe fn square<V: Vector, const W: usize>(
    a: *mut Byte,
    b: *mut Byte,
    pitch: usize,
    [ahead_a, ahead_b]: [usize; 2],
) {
    let (lane, bytes) = (16 / W, 16 * V::LANES);
    let mut buffer = [Byte::uninit(); 64 * 64];
    let ask = |start: *mut Byte, ahead: usize, row: usize| {
        // Where a row's last byte lies: its first line was the last of the square before.
        prefetch(start.wrapping_add(ahead).wrapping_add(row * pitch + bytes - 1));
    };
    // SAFETY: rows and columns of the caller's squares; the buffer holds a square of bytes of the
    // longest vector.
    unsafe {
        for q in 0..V::LANES {
            let columns = V::columns::<W>(a.add(q * 16), pitch);
            for (k, column) in columns.iter().enumerate().take(lane) {
                ask(a, ahead_a, q * lane + k);
                column.store(buffer.as_mut_ptr().add((q * lane + k) * bytes));
            }
        }
        if a != b {
            for q in 0..V::LANES {
                let columns = V::columns::<W>(b.add(q * 16), pitch);
                for (k, column) in columns.iter().enumerate().take(lane) {
                    ask(b, ahead_b, q * lane + k);
                    column.store(a.add((q * lane + k) * pitch));
                }
            }
        }
        for k in 0..lane * V::LANES {
            V::load_all(buffer.as_ptr().add(k * bytes)).store(b.add(k * pitch));
        }
    }
}

/// Swaps `len` bytes at `a` and `b`, and asks for the lines of as many at `ahead`, if anywhere, meanwhile.
///
/// # Safety
/// - The machine can run the kernel that it belongs to.
/// - `a` and `b` are valid for reads and writes, do not overlap, and are nobody else's meanwhile.
pub type Swap = unsafe fn(a: *mut Byte, b: *mut Byte, len: usize, ahead: Option<*const Byte>);

/// Swaps two runs of bytes, and asks for the lines of as many bytes at `ahead` meanwhile, one with every
/// line swapped: any address will do.
///
/// # Panics
/// When they are not equally long.
#[inline]
pub fn swap(a: &mut [Byte], b: &mut [Byte], ahead: Option<*const Byte>) {
    assert_eq!(a.len(), b.len());
    // SAFETY: the row was found to be available; two exclusive borrows do not overlap.
    unsafe { (kernel().swap)(a.as_mut_ptr(), b.as_mut_ptr(), a.len(), ahead) };
}

/// Whole lines at a time: a loop that swaps 640 bytes again and again in 6 MB ran at 60% of a copy
/// with 32 bytes at a time, 82% with 64.
#[cfg(target_arch = "x86_64")]
#[target_feature(enable = "avx512f,avx512bw,avx2")]
unsafe fn swap_avx512(a: *mut Byte, b: *mut Byte, len: usize, ahead: Option<*const Byte>) {
    // SAFETY: the caller's.
    unsafe {
        if len >= 64 {
            swap_vectors::<std::arch::x86_64::__m512i>(a, b, len, ahead);
        } else {
            swap_avx2(a, b, len, ahead);
        }
    }
}

#[cfg(target_arch = "x86_64")]
#[target_feature(enable = "avx2")]
unsafe fn swap_avx2(a: *mut Byte, b: *mut Byte, len: usize, ahead: Option<*const Byte>) {
    // SAFETY: the caller's.
    unsafe { swap_vectors::<std::arch::x86_64::__m256i>(a, b, len, ahead) };
}

#[cfg(any(target_arch = "x86_64", target_arch = "aarch64"))]
unsafe fn swap_lane(a: *mut Byte, b: *mut Byte, len: usize, ahead: Option<*const Byte>) {
    // SAFETY: the caller's.
    unsafe { swap_vectors::<Lane>(a, b, len, ahead) };
}

unsafe fn swap_plain(a: *mut Byte, b: *mut Byte, len: usize, ahead: Option<*const Byte>) {
    if let Some(ahead) = ahead {
        (0..len).step_by(LINE).for_each(|at| prefetch(ahead.wrapping_add(at)));
    }
    // SAFETY: the caller's.
    unsafe { std::ptr::swap_nonoverlapping(a, b, len) };
}

/// Vector by vector, those of `b` aligned; the first and the last may cover bytes of their neighbours.
#[inline(always)]
unsafe fn swap_vectors<V: Vector>(
    a: *mut Byte,
    b: *mut Byte,
    len: usize,
    ahead: Option<*const Byte>,
) {
    let size = 16 * V::LANES;
    let ask = |at: usize| {
        if let Some(ahead) = ahead.filter(|_| at.is_multiple_of(LINE)) {
            prefetch(ahead.wrapping_add(at));
        }
    };
    // SAFETY: the caller's bytes, all offsets at most `len - size`.
    unsafe {
        if len < size {
            return swap_plain(a, b, len, ahead);
        }
        let start = b.align_offset(size);
        if start == 0 && len.is_multiple_of(size) {
            for at in (0..len).step_by(size) {
                ask(at);
                let (x, y) = (V::load_all(a.add(at)), V::load_all(b.add(at)));
                x.store(b.add(at));
                y.store(a.add(at));
            }
            return;
        }
        // The first and the last vector are read before anything is written, and written last.
        let (end_a, end_b) = (a.add(len - size), b.add(len - size));
        let first = (V::load_all(a), V::load_all(b));
        let last = (V::load_all(end_a), V::load_all(end_b));
        let mut at = start.min(len);
        while at + size <= len {
            ask(at - start);
            let (x, y) = (V::load_all(a.add(at)), V::load_all(b.add(at)));
            x.store(b.add(at));
            y.store(a.add(at));
            at += size;
        }
        // The lines there may lie otherwise than those here.
        if let Some(ahead) = ahead {
            prefetch(ahead.wrapping_add((at - start.min(at)).min(len - 1)));
            prefetch(ahead.wrapping_add(len - 1));
        }
        first.1.store(a);
        first.0.store(b);
        last.1.store(end_a);
        last.0.store(end_b);
    }
}

/// Lanes of 16 bytes.
///
/// # Safety
/// Every method may be called only where the machine has the instructions: inside a function with
/// the target features, into which it is inlined. Loads and stores need no alignment.
unsafe trait Vector: Copy {
    /// Lanes.
    const LANES: usize;
    /// Lane `q` from the 16 bytes at `from + q · stride`.
    unsafe fn load(from: *const Byte, stride: usize) -> Self;
    /// All lanes from `from`, one after the other.
    unsafe fn load_all(from: *const Byte) -> Self;
    /// All lanes to `to`, one after the other.
    unsafe fn store(self, to: *mut Byte);
    /// The words of `W` bytes of the lower half of each lane, interleaved with those of `other`.
    unsafe fn low<const W: usize>(self, other: Self) -> Self;
    /// The same of the upper half.
    unsafe fn high<const W: usize>(self, other: Self) -> Self;

    /// The columns of the micro-tile at `from`, whose rows are `pitch` bytes apart.
    #[inline(always)]
    unsafe fn columns<const W: usize>(from: *const Byte, pitch: usize) -> [Self; 16] {
        let b = 16 / W;
        // Registers past the last are copies that nobody uses, and disappear.
        // SAFETY: rows k, k + B, ... of the micro-tile; the machine is the caller's.
        unsafe {
            Self::interleave::<W>(std::array::from_fn(|k| {
                Self::load(from.add(k.min(b - 1) * pitch), b * pitch)
            }))
        }
    }

    /// The first `16 / W` registers, transposed as matrices of words, one in each lane.
    #[inline(always)]
    unsafe fn interleave<const W: usize>(rows: [Self; 16]) -> [Self; 16] {
        let b = 16 / W;
        let mut all = rows;
        for _ in 0..b.trailing_zeros() {
            let before = all;
            for k in 0..b / 2 {
                // SAFETY: the machine is the caller's.
                unsafe {
                    all[2 * k] = before[k].low::<W>(before[k + b / 2]);
                    all[2 * k + 1] = before[k].high::<W>(before[k + b / 2]);
                }
            }
        }
        all
    }
}

#[cfg(target_arch = "x86_64")]
mod x86 {
    use super::{Byte, Vector};
    use std::arch::x86_64::*;

    macro_rules! vector {
        ($vector:ty, $lanes:literal, $load:expr, $load_all:expr, $store:expr, $low:tt, $high:tt) => {
            // SAFETY: plain loads, stores and shuffles.
            unsafe impl Vector for $vector {
                const LANES: usize = $lanes;
                #[inline(always)]
                unsafe fn load(from: *const Byte, stride: usize) -> Self {
                    // SAFETY: the caller's bytes and machine.
                    unsafe { $load(from, stride) }
                }
                #[inline(always)]
                unsafe fn load_all(from: *const Byte) -> Self {
                    // SAFETY: as above.
                    unsafe { $load_all(from.cast()) }
                }
                #[inline(always)]
                unsafe fn store(self, to: *mut Byte) {
                    // SAFETY: as above.
                    unsafe { $store(to.cast(), self) }
                }
                #[inline(always)]
                unsafe fn low<const W: usize>(self, other: Self) -> Self {
                    // SAFETY: the caller's machine.
                    unsafe { vector!(@words $low, self, other) }
                }
                #[inline(always)]
                unsafe fn high<const W: usize>(self, other: Self) -> Self {
                    // SAFETY: the caller's machine.
                    unsafe { vector!(@words $high, self, other) }
                }
            }
        };
        (@words [$w1:ident, $w2:ident, $w4:ident, $w8:ident], $a:expr, $b:expr) => {
            match W {
                1 => $w1($a, $b),
                2 => $w2($a, $b),
                4 => $w4($a, $b),
                _ => $w8($a, $b),
            }
        };
    }

    #[inline(always)]
    unsafe fn lane(at: *const Byte) -> __m128i {
        // SAFETY: the caller's 16 bytes.
        unsafe { _mm_loadu_si128(at.cast()) }
    }

    vector!(
        __m128i,
        1,
        |from, _| lane(from),
        _mm_loadu_si128,
        _mm_storeu_si128,
        [_mm_unpacklo_epi8, _mm_unpacklo_epi16, _mm_unpacklo_epi32, _mm_unpacklo_epi64],
        [_mm_unpackhi_epi8, _mm_unpackhi_epi16, _mm_unpackhi_epi32, _mm_unpackhi_epi64]
    );
    vector!(
        __m256i,
        2,
        |from: *const Byte, stride| {
            let first = _mm256_castsi128_si256(lane(from));
            _mm256_inserti128_si256::<1>(first, lane(from.add(stride)))
        },
        _mm256_loadu_si256,
        _mm256_storeu_si256,
        [_mm256_unpacklo_epi8, _mm256_unpacklo_epi16, _mm256_unpacklo_epi32, _mm256_unpacklo_epi64],
        [_mm256_unpackhi_epi8, _mm256_unpackhi_epi16, _mm256_unpackhi_epi32, _mm256_unpackhi_epi64]
    );
    vector!(
        __m512i,
        4,
        |from: *const Byte, stride: usize| {
            let first = _mm512_castsi128_si512(lane(from));
            let second = _mm512_inserti32x4::<1>(first, lane(from.add(stride)));
            let third = _mm512_inserti32x4::<2>(second, lane(from.add(2 * stride)));
            _mm512_inserti32x4::<3>(third, lane(from.add(3 * stride)))
        },
        _mm512_loadu_si512,
        _mm512_storeu_si512,
        [_mm512_unpacklo_epi8, _mm512_unpacklo_epi16, _mm512_unpacklo_epi32, _mm512_unpacklo_epi64],
        [_mm512_unpackhi_epi8, _mm512_unpackhi_epi16, _mm512_unpackhi_epi32, _mm512_unpackhi_epi64]
    );
}

#[cfg(target_arch = "aarch64")]
mod neon {
    use super::{Byte, Vector};
    use std::arch::aarch64::*;

    macro_rules! words {
        ($a:expr, $b:expr, $w1:ident, $w2:ident, $w4:ident, $w8:ident) => {{
            let (a, b) = ($a, $b);
            // SAFETY: every machine of the architecture has NEON.
            unsafe {
                match W {
                    1 => $w1(a, b),
                    2 => {
                        vreinterpretq_u8_u16($w2(vreinterpretq_u16_u8(a), vreinterpretq_u16_u8(b)))
                    }
                    4 => {
                        vreinterpretq_u8_u32($w4(vreinterpretq_u32_u8(a), vreinterpretq_u32_u8(b)))
                    }
                    _ => {
                        vreinterpretq_u8_u64($w8(vreinterpretq_u64_u8(a), vreinterpretq_u64_u8(b)))
                    }
                }
            }
        }};
    }

    // SAFETY: plain loads, stores and shuffles.
    unsafe impl Vector for uint8x16_t {
        const LANES: usize = 1;
        #[inline(always)]
        unsafe fn load(from: *const Byte, _: usize) -> Self {
            // SAFETY: the caller's 16 bytes.
            unsafe { vld1q_u8(from.cast()) }
        }
        #[inline(always)]
        unsafe fn load_all(from: *const Byte) -> Self {
            // SAFETY: as above.
            unsafe { vld1q_u8(from.cast()) }
        }
        #[inline(always)]
        unsafe fn store(self, to: *mut Byte) {
            // SAFETY: as above.
            unsafe { vst1q_u8(to.cast(), self) }
        }
        #[inline(always)]
        unsafe fn low<const W: usize>(self, other: Self) -> Self {
            words!(self, other, vzip1q_u8, vzip1q_u16, vzip1q_u32, vzip1q_u64)
        }
        #[inline(always)]
        unsafe fn high<const W: usize>(self, other: Self) -> Self {
            words!(self, other, vzip2q_u8, vzip2q_u16, vzip2q_u32, vzip2q_u64)
        }
    }
}
