//! Swaps of runs of units in reverse order, for axes that are reversed in place.
#![allow(unsafe_code)]

use std::hint::black_box;
use std::mem::MaybeUninit;

use crate::block::Byte;

/// Rows of units at two addresses: unit `k` of each row at the first swaps with unit
/// `count - 1 - k` of the same row at the second.
#[derive(Clone, Copy, Debug)]
pub struct ReversedRows {
    /// Number of rows.
    pub rows: usize,
    /// Bytes from one row to the next.
    pub pitch: usize,
    /// Number of units of a row.
    pub count: usize,
}

/// Function that swaps rows of words at two addresses, each row in reverse order.
///
/// # Safety
/// - The machine supports the kernel set of the function.
/// - All words of both addresses are valid for reads and writes, and none is at both. No other
///   thread accesses them.
pub type ReverseFn = unsafe fn(a: *mut Byte, b: *mut Byte, rows: ReversedRows);

/// Swaps rows of words of `W` bytes, which must be a word size.
#[inline(always)]
pub unsafe fn words<const W: usize>(a: *mut Byte, b: *mut Byte, rows: ReversedRows) {
    // SAFETY: guaranteed by the caller. No word has a padding byte or needs to be initialised.
    unsafe {
        match W {
            1 => swap::<MaybeUninit<u8>>(a, b, rows),
            2 => swap::<MaybeUninit<u16>>(a, b, rows),
            4 => swap::<MaybeUninit<u32>>(a, b, rows),
            8 => swap::<MaybeUninit<u64>>(a, b, rows),
            _ => swap::<MaybeUninit<u128>>(a, b, rows),
        }
    }
}

/// Swaps rows of units of type `T`, of any alignment.
#[inline(always)]
pub unsafe fn swap<T>(a: *mut Byte, b: *mut Byte, rows: ReversedRows) {
    let ReversedRows { rows, pitch, count } = rows;
    for row in 0..rows {
        // SAFETY: row `row` of each is in bounds, as the caller guarantees; so are its units.
        unsafe {
            // If the compiler knew how the addresses of rows are related, it would compare the spans
            // of all rows to see whether words overlap. They do if rows are halves of one row, and
            // the loop would not be vectorised.
            let (a, b) =
                black_box((a.add(row * pitch).cast::<T>(), b.add(row * pitch).cast::<T>()));
            for k in 0..count {
                let (a, b) = (a.add(k), b.add(count - 1 - k));
                let (first, second) = (a.read_unaligned(), b.read_unaligned());
                a.write_unaligned(second);
                b.write_unaligned(first);
            }
        }
    }
}
