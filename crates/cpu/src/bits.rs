//! Matrices of elements of 1, 2 or 4 bits: micro-blocks turned in place, and transposition into
//! another buffer.
//!
//! A byte holds `p` elements. A *micro-block* is `p` rows by `p` elements: one byte of each of `p`
//! rows. Turning it transposes it in the same `p` bytes.

use std::array;

use turntile_simd::{self as simd, BlockShape};

use crate::pool;

/// Bits per element.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Bits {
    /// 1 bit: 8 elements per byte.
    One,
    /// 2 bits: 4 elements per byte.
    Two,
    /// 4 bits: 2 elements per byte.
    Four,
}

impl Bits {
    /// Returns the variant for this number of bits, or `None` if it is not 1, 2 or 4.
    pub fn new(bits: usize) -> Option<Self> {
        [Bits::One, Bits::Two, Bits::Four].into_iter().find(|found| found.count() == bits)
    }

    /// Returns the number of bits per element.
    pub fn count(self) -> usize {
        8 / self.per_byte()
    }

    /// Returns the number of elements per byte.
    pub fn per_byte(self) -> usize {
        match self {
            Bits::One => 8,
            Bits::Two => 4,
            Bits::Four => 2,
        }
    }
}

/// Order of the elements within a byte, as in NumPy's `packbits`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum BitOrder {
    /// The first element is in the most significant bits.
    Big,
    /// The first element is in the least significant bits.
    Little,
}

/// Bytes per row of a tile.
const TILE: usize = 64;

/// Minimum number of bytes per thread.
const MIN_BYTES_PER_THREAD: usize = 128 << 10;

/// Matrices of at most 8 bytes, transposed in a register each.
#[derive(Clone, Copy, Debug)]
pub struct SmallMatrices {
    sides: [usize; 2],
    bits: usize,
    /// Bytes of a matrix and of its transpose.
    bytes: [usize; 2],
    /// Exclusive or with the number of an element that reverses the elements of a byte.
    reversed: usize,
}

impl SmallMatrices {
    /// Describes matrices of `rows` by `cols` elements, or returns `None` if a matrix or its
    /// transpose has more than 8 bytes or none.
    pub fn new([rows, cols]: [usize; 2], (bits, order): (Bits, BitOrder)) -> Option<Self> {
        let bytes = |rows: usize, cols: usize| rows.checked_mul(cols.div_ceil(bits.per_byte()));
        let bytes = [bytes(rows, cols)?, bytes(cols, rows)?];
        let reversed = if order == BitOrder::Big { bits.per_byte() - 1 } else { 0 };
        bytes.iter().all(|bytes| (1..=8).contains(bytes)).then_some(SmallMatrices {
            sides: [rows, cols],
            bits: bits.count(),
            bytes,
            reversed,
        })
    }

    /// Transposes each matrix in place, on at most `threads` threads.
    ///
    /// # Panics
    /// If a matrix and its transpose differ in bytes, or `data` does not have whole matrices.
    pub fn transpose_in_place(&self, data: &mut [u8], threads: usize) {
        let [bytes, result] = self.bytes;
        assert!(bytes == result && data.len().is_multiple_of(bytes));
        let share = self.share(data.len() / bytes, threads);
        pool::for_each(data.chunks_mut(share * bytes), |share| {
            for matrix in share.chunks_exact_mut(bytes) {
                matrix.copy_from_slice(&self.transposed(matrix)[..bytes]);
            }
        });
    }

    /// Transposes each matrix from `from` into `to`, on at most `threads` threads.
    ///
    /// # Panics
    /// If `from` and `to` do not have as many whole matrices.
    pub fn transpose_into(&self, to: &mut [u8], from: &[u8], threads: usize) {
        let [source, result] = self.bytes;
        let batch = from.len() / source;
        assert_eq!([from.len(), to.len()], [batch * source, batch * result]);
        let share = self.share(batch, threads);
        let shares = to.chunks_mut(share * result).zip(from.chunks(share * source));
        pool::for_each(shares, |(to, from)| {
            for (to, from) in to.chunks_exact_mut(result).zip(from.chunks_exact(source)) {
                to.copy_from_slice(&self.transposed(from)[..result]);
            }
        });
    }

    /// Returns the number of matrices per thread.
    fn share(&self, batch: usize, threads: usize) -> usize {
        let most = (batch * self.bytes[0]).div_ceil(MIN_BYTES_PER_THREAD);
        batch.div_ceil(threads.min(most).max(1)).max(1)
    }

    fn transposed(&self, matrix: &[u8]) -> [u8; 8] {
        let SmallMatrices { sides: [rows, cols], bits, reversed, .. } = *self;
        let [from_row, to_row] = [cols, rows].map(|side| side.next_multiple_of(8 / bits));
        let mut bytes = [0; 8];
        bytes[..matrix.len()].copy_from_slice(matrix);
        let (from, mask) = (u64::from_le_bytes(bytes), (1 << bits) - 1);
        let mut to = 0;
        for r in 0..rows {
            for c in 0..cols {
                let element = from >> (((r * from_row + c) ^ reversed) * bits) & mask;
                to |= element << (((c * to_row + r) ^ reversed) * bits);
            }
        }
        to.to_le_bytes()
    }
}

/// Turns every micro-block of consecutive rows of `row_bytes` bytes in place, on at most `threads`
/// threads.
///
/// # Panics
/// If the number of rows is not a multiple of the elements per byte.
pub fn turn_blocks(
    data: &mut [u8],
    row_bytes: usize,
    (bits, order): (Bits, BitOrder),
    threads: usize,
) {
    if data.is_empty() {
        return;
    }
    let block = bits.per_byte() * row_bytes;
    assert!(data.len().is_multiple_of(block));
    let threads = threads.min(data.len().div_ceil(MIN_BYTES_PER_THREAD)).max(1);
    let share = (data.len() / block).div_ceil(threads) * block;
    pool::for_each(data.chunks_mut(share), |share| match bits {
        Bits::One => turn_rows::<8>(share, row_bytes, order),
        Bits::Two => turn_rows::<4>(share, row_bytes, order),
        Bits::Four => turn_rows::<2>(share, row_bytes, order),
    });
}

/// Turns the micro-blocks of consecutive rows. A tile holds part of `P` rows or, if rows are short,
/// several groups of `P` rows.
fn turn_rows<const P: usize>(data: &mut [u8], row_bytes: usize, order: BitOrder) {
    let mut tile = [[0; TILE]; P];
    for group in data.chunks_mut((TILE / row_bytes).max(1) * P * row_bytes) {
        for start in (0..row_bytes).step_by(TILE) {
            let width = TILE.min(row_bytes - start);
            for (n, rows) in group.chunks_exact(P * row_bytes).enumerate() {
                for (line, row) in tile.iter_mut().zip(rows.chunks_exact(row_bytes)) {
                    copy(&mut line[n * width..], &row[start..][..width]);
                }
            }
            turn(&mut tile, order);
            for (n, rows) in group.chunks_exact_mut(P * row_bytes).enumerate() {
                for (line, row) in tile.iter().zip(rows.chunks_exact_mut(row_bytes)) {
                    copy(&mut row[start..], &line[n * width..][..width]);
                }
            }
        }
    }
}

/// Copies `from` to the start of `to`. Whole lines need no call.
#[inline(always)]
fn copy(to: &mut [u8], from: &[u8]) {
    match <&[u8; TILE]>::try_from(from) {
        Ok(line) => to[..TILE].copy_from_slice(line),
        Err(_) => to[..from.len()].copy_from_slice(from),
    }
}

/// Turns the micro-blocks of a tile: byte `j` of all lines is one.
#[inline(always)]
fn turn<const P: usize>(tile: &mut [[u8; TILE]; P], order: BitOrder) {
    match order {
        BitOrder::Big => turn_as::<P, true>(tile),
        BitOrder::Little => turn_as::<P, false>(tile),
    }
}

/// Turns a tile in strips whose rows fit the registers: all indices of rows are constant.
#[inline(always)]
fn turn_as<const P: usize, const BIG: bool>(tile: &mut [[u8; TILE]; P]) {
    for at in (0..TILE).step_by(16) {
        let word = |line: &[u8; TILE], at: usize| {
            u64::from_ne_bytes(*line[at..].first_chunk().expect("8 bytes of a line"))
        };
        let mut rows: [[u64; 2]; P] =
            array::from_fn(|r| [word(&tile[r], at), word(&tile[r], at + 8)]);
        swap_quadrants::<P, BIG>(&mut rows, P / 2, 4);
        swap_quadrants::<P, BIG>(&mut rows, P / 4, 2);
        swap_quadrants::<P, BIG>(&mut rows, P / 8, 1);
        for (line, row) in tile.iter_mut().zip(rows) {
            line[at..at + 8].copy_from_slice(&row[0].to_ne_bytes());
            line[at + 8..at + 16].copy_from_slice(&row[1].to_ne_bytes());
        }
    }
}

/// Swaps quadrants off the diagonal of blocks of `2 * step` rows: the high part, of `shift` bits, of
/// a row with the low part of the row `step` below, or above if `BIG`. Does nothing if `step` is 0.
#[inline(always)]
fn swap_quadrants<const P: usize, const BIG: bool>(
    rows: &mut [[u64; 2]; P],
    step: usize,
    shift: u32,
) {
    let mask = u64::MAX / ((1 << shift) + 1);
    for row in 0..P {
        if row & step == 0 && step > 0 {
            let (high, low) = if BIG { (row + step, row) } else { (row, row + step) };
            let (mut from, mut to) = (rows[high], rows[low]);
            for (from, to) in from.iter_mut().zip(&mut to) {
                let swapped = ((*from >> shift) ^ *to) & mask;
                *to ^= swapped;
                *from ^= swapped << shift;
            }
            (rows[high], rows[low]) = (from, to);
        }
    }
}

/// Transposes contiguous matrices of `rows` by `cols` elements from `from` into `to`, on at most
/// `threads` threads. Rows of both start at a byte. The padding bits of `to` become 0.
///
/// # Panics
/// If `from` and `to` do not have the same number of matrices.
pub fn transpose_bits_into(
    to: &mut [u8],
    from: &[u8],
    sides: [usize; 2],
    (bits, order): (Bits, BitOrder),
    threads: usize,
) {
    match bits {
        Bits::One => matrices_into::<8>(to, from, sides, order, threads),
        Bits::Two => matrices_into::<4>(to, from, sides, order, threads),
        Bits::Four => matrices_into::<2>(to, from, sides, order, threads),
    }
}

fn matrices_into<const P: usize>(
    to: &mut [u8],
    from: &[u8],
    [rows, cols]: [usize; 2],
    order: BitOrder,
    threads: usize,
) {
    let [from_row, to_row] = [cols, rows].map(|side| side.div_ceil(P));
    if to.is_empty() {
        return;
    }
    let [from_matrix, to_matrix] = [rows * from_row, cols * to_row];
    let batch = to.len() / to_matrix;
    assert_eq!([from.len(), to.len()], [batch * from_matrix, batch * to_matrix]);
    let threads = threads.min(to.len().div_ceil(MIN_BYTES_PER_THREAD)).max(1);
    // Threads take whole matrices, or parts of one matrix after another.
    let each = if batch < threads { 1 } else { batch.div_ceil(threads) };
    let strip = TILE * P * to_row;
    if each > 1 || threads == 1 {
        let shares = to.chunks_mut(each * to_matrix).zip(from.chunks(each * from_matrix));
        pool::for_each(shares, |(to, from)| {
            for (to, from) in to.chunks_mut(to_matrix).zip(from.chunks(from_matrix)) {
                for (n, to) in to.chunks_mut(strip).enumerate() {
                    strip_into::<P>(to, from, [rows, cols], n * TILE, order);
                }
            }
        });
        return;
    }
    for (to, from) in to.chunks_mut(to_matrix).zip(from.chunks(from_matrix)) {
        let each = from_row.div_ceil(TILE).div_ceil(threads);
        pool::for_each(to.chunks_mut(each * strip).enumerate(), |(share, to)| {
            for (n, to) in to.chunks_mut(strip).enumerate() {
                strip_into::<P>(to, from, [rows, cols], (share * each + n) * TILE, order);
            }
        });
    }
}

/// Transposes columns of bytes of one matrix, at most [`TILE`] from byte `start` of each row on, to
/// the rows `to` of the result.
fn strip_into<const P: usize>(
    to: &mut [u8],
    from: &[u8],
    [rows, cols]: [usize; 2],
    start: usize,
    order: BitOrder,
) {
    let [from_row, to_row] = [cols, rows].map(|side| side.div_ceil(P));
    let width = TILE.min(from_row - start);
    let mut tiles = [[[0; TILE]; P]; TILE];
    let mut result = [[0; TILE]; TILE];
    for at in (0..to_row).step_by(TILE) {
        let count = TILE.min(to_row - at);
        for (n, tile) in tiles[..count].iter_mut().enumerate() {
            for (r, line) in tile.iter_mut().enumerate() {
                let row = (at + n) * P + r;
                match row < rows {
                    true => copy(line, &from[row * from_row + start..][..width]),
                    false => line.fill(0),
                }
            }
            turn(tile, order);
        }
        // Line `k` of all tiles has the elements of columns `k`, `k + P`, ... of the strip.
        let lines = tiles.as_flattened().as_flattened();
        for k in 0..P.min(cols - start * P) {
            let cols = (cols - start * P - k).div_ceil(P).min(width);
            let block = BlockShape { rows: count, cols, from_pitch: P * TILE, to_pitch: TILE };
            simd::transpose_bytes(&lines[k * TILE..], result.as_flattened_mut(), block);
            for (line, row) in result[..cols].iter().zip(to.chunks_mut(to_row).skip(k).step_by(P)) {
                copy(&mut row[at..], &line[..count]);
            }
        }
    }
}
