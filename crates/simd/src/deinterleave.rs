//! Arrays of small structures converted to columns, and back, by byte shuffles within lanes.
//!
//! `16 / W` structures of `C` words of `W` bytes fill `C` lanes of 16 bytes. Each of their columns
//! fills one lane, which is combined from `C` shuffles: `C²` shuffles in all. The interleaving
//! network (module `transpose`) takes `16 / W · log2(16 / W)` steps for any `C`. 40000000
//! structures of 3 bytes: 8.7 GB/s instead of 3.1; of 2 bytes, 8.7 instead of 2.6; of 8 bytes, 6.7
//! instead of 5.8.
#![allow(unsafe_code)]

use crate::block::{BlockShape, Byte};
use crate::trace::trace_path;
#[cfg(target_arch = "x86_64")]
use crate::vector::Permute;
use crate::vector::Shuffle;

/// Shuffle index that yields a zero byte.
const ZERO: u8 = 0x80;

/// Returns shuffle masks between the registers and the columns of a group of structures.
/// `masks[j][k]` extracts from register `k` the bytes of column `j`. If `JOIN`, it extracts from
/// column `k` the bytes of register `j`.
const fn masks<const W: usize, const C: usize, const JOIN: bool>() -> [[[u8; 16]; C]; C] {
    let mut masks = [[[ZERO; 16]; C]; C];
    let mut at = 0;
    while at < 16 * C {
        let (structure, word, byte) = (at / W / C, at / W % C, at % W);
        let (register, column) = ((at / 16, at % 16), (word, structure * W + byte));
        let (from, to) = if JOIN { (column, register) } else { (register, column) };
        masks[to.0][from.0][to.1] = from.1 as u8;
        at += 1;
    }
    masks
}

/// Maximum bytes of a structure that is converted by shuffles. For larger structures the
/// interleaving network is as fast.
const STRUCTURE_BYTES: usize = 8;

/// Transposes, by byte shuffles, a block whose source rows or destination rows are structures of
/// two or more words and at most 8 bytes, without gaps between them. Returns `false`, with nothing
/// written, for other blocks, and for fewer structures than a vector has words.
///
/// # Safety
/// The requirements of `transpose::TransposeFn`; the calling function has the vector's target
/// features.
#[inline(always)]
pub unsafe fn transpose<V: Shuffle, const W: usize>(
    from: *const Byte,
    to: *mut Byte,
    block: BlockShape,
) -> bool {
    let BlockShape { rows, cols, from_pitch, to_pitch } = block;
    let group = 16 / W * V::LANES;
    let structures = from_pitch == cols && cols * W <= STRUCTURE_BYTES && rows >= group;
    let columns = to_pitch == rows && rows * W <= STRUCTURE_BYTES && cols >= group;
    macro_rules! dispatch {
        ($join:literal, $words:expr, $count:expr, $pitch:expr) => {
            match $words {
                2 if W <= 4 => shuffled::<V, W, 2, $join>(from, to, $count, $pitch),
                3 if W <= 2 => shuffled::<V, W, 3, $join>(from, to, $count, $pitch),
                4 if W <= 2 => shuffled::<V, W, 4, $join>(from, to, $count, $pitch),
                5 if W == 1 => shuffled::<V, 1, 5, $join>(from, to, $count, $pitch),
                6 if W == 1 => shuffled::<V, 1, 6, $join>(from, to, $count, $pitch),
                7 if W == 1 => shuffled::<V, 1, 7, $join>(from, to, $count, $pitch),
                8 if W == 1 => shuffled::<V, 1, 8, $join>(from, to, $count, $pitch),
                _ => return false,
            }
        };
    }
    // SAFETY: guaranteed by the caller.
    unsafe {
        match (structures, columns) {
            (true, _) => dispatch!(false, cols, rows, to_pitch),
            (_, true) => dispatch!(true, rows, cols, from_pitch),
            _ => return false,
        }
    }
    true
}

/// Splits `count` structures of `C` words into columns `pitch` words apart. If `JOIN`, joins
/// columns into structures.
#[inline(always)]
unsafe fn shuffled<V: Shuffle, const W: usize, const C: usize, const JOIN: bool>(
    from: *const Byte,
    to: *mut Byte,
    count: usize,
    pitch: usize,
) {
    trace_path(if JOIN { "join" } else { "split" }, C);
    // SAFETY: each group of structures, and its words in each column, are inside the caller's
    // block.
    unsafe {
        let masks: [[V; C]; C] = std::array::from_fn(|j| {
            std::array::from_fn(|k| V::splat(&const { masks::<W, C, JOIN>() }[j][k]))
        });
        let register = |i: usize, k: usize| i * C * W + 16 * k;
        let column = |i: usize, j: usize| j.wrapping_mul(pitch).wrapping_add(i).wrapping_mul(W);
        let mut group = Some(0);
        while let Some(i) = group {
            let all: [V; C] = std::array::from_fn(|k| match JOIN {
                true => V::load_all(from.wrapping_add(column(i, k))),
                false => V::load(from.add(register(i, k)), 16 * C),
            });
            for (j, masks) in masks.iter().enumerate() {
                let one = combined(&all, masks);
                match JOIN {
                    true => one.store_lanes(to.add(register(i, j)), 16 * C),
                    false => one.store(to.wrapping_add(column(i, j))),
                }
            }
            group = next(i, 16 / W * V::LANES, count);
        }
    }
}

/// Transposes a block like [`transpose`], if its structures have 3, 5, 6 or 7 words of 4 or 8
/// bytes, by permutations across lanes. 1000003 structures of 5 floats joined: 26 GB/s instead of 16
/// (Xeon, November 2026).
///
/// `64 / W` structures of `C` words fill `C` vectors of 64 bytes. Each of their columns is a vector,
/// which takes `C − 1` permutations of two vectors.
///
/// # Safety
/// The requirements of [`transpose`].
#[cfg(target_arch = "x86_64")]
#[inline(always)]
pub unsafe fn permute<V: Permute, const W: usize>(
    from: *const Byte,
    to: *mut Byte,
    block: BlockShape,
) -> bool {
    let BlockShape { rows, cols, from_pitch, to_pitch } = block;
    let group = 16 / W * V::LANES;
    macro_rules! dispatch {
        ($join:literal, $words:expr, $count:expr, $pitch:expr) => {
            match $words {
                3 => permuted::<V, W, 3, $join>(from, to, $count, $pitch),
                5 => permuted::<V, W, 5, $join>(from, to, $count, $pitch),
                6 => permuted::<V, W, 6, $join>(from, to, $count, $pitch),
                7 => permuted::<V, W, 7, $join>(from, to, $count, $pitch),
                _ => return false,
            }
        };
    }
    if !matches!(W, 4 | 8) {
        return false;
    }
    // SAFETY: guaranteed by the caller.
    unsafe {
        match (from_pitch == cols && rows >= group, to_pitch == rows && cols >= group) {
            (true, _) => dispatch!(false, cols, rows, to_pitch),
            (_, true) => dispatch!(true, rows, cols, from_pitch),
            _ => return false,
        }
    }
    true
}

/// Splits `count` structures of `C` words into columns `pitch` words apart. If `JOIN`, joins
/// columns into structures.
#[cfg(target_arch = "x86_64")]
#[inline(always)]
unsafe fn permuted<V: Permute, const W: usize, const C: usize, const JOIN: bool>(
    from: *const Byte,
    to: *mut Byte,
    count: usize,
    pitch: usize,
) {
    trace_path(if JOIN { "join" } else { "split" }, C);
    let (bytes, words) = (16 * V::LANES, 16 * V::LANES / W);
    let register = |i: usize, k: usize| i * C * W + k * bytes;
    let column = |i: usize, j: usize| j.wrapping_mul(pitch).wrapping_add(i).wrapping_mul(W);
    let mut group = Some(0);
    while let Some(i) = group {
        // SAFETY: each group of structures, and its words in each column, are inside the caller's
        // block. The caller guarantees the target features.
        unsafe {
            let all: [V; C] = std::array::from_fn(|k| {
                V::load_all(from.wrapping_add(if JOIN { column(i, k) } else { register(i, k) }))
            });
            for (j, indices) in const { &indices::<W, C, JOIN>() }.iter().enumerate() {
                let mut one = all[0];
                for (index, &next) in indices.iter().zip(&all[1..]) {
                    one = one.permute::<W>(V::load_all(index.as_ptr().cast()), next);
                }
                one.store(to.wrapping_add(if JOIN { register(i, j) } else { column(i, j) }));
            }
        }
        group = next(i, words, count);
    }
}

/// Returns the indices of the permutations between the vectors and the columns of a group of
/// structures. Permutation `indices[j][k]`, with `k` below `C − 1`, takes words of column `j` from
/// vector `k + 1`, and all others from the result of permutation `k − 1`, or from vector 0 if `k` is
/// 0. If `JOIN`, it takes words of vector `j` from columns.
#[cfg(target_arch = "x86_64")]
const fn indices<const W: usize, const C: usize, const JOIN: bool>() -> [[[u8; 64]; C]; C] {
    let words = 64 / W;
    let mut indices = [[[0; 64]; C]; C];
    let mut at = 0;
    while at < words * C {
        let (vector, column) = ((at / words, at % words), (at % C, at / C));
        let (from, to) = if JOIN { (column, vector) } else { (vector, column) };
        let mut k = 0;
        while k + 1 < C {
            // The first permutation takes all words that later ones do not replace.
            let first = if k == 0 { from.1 } else { to.1 };
            let index = if from.0 == k + 1 { words + from.1 } else { first };
            indices[to.0][k][to.1 * W] = index as u8;
            k += 1;
        }
        at += 1;
    }
    indices
}

/// Combines the bytes that each vector's mask selects.
#[inline(always)]
unsafe fn combined<V: Shuffle, const C: usize>(vectors: &[V; C], masks: &[V; C]) -> V {
    // SAFETY: the caller guarantees the target features.
    unsafe {
        let mut all = vectors[0].shuffle(masks[0]);
        for k in 1..C {
            all = all.or(vectors[k].shuffle(masks[k]));
        }
        all
    }
}

/// Returns the first structure of the group after the one that starts at `i`, or `None` at the end.
/// The last group is moved back to end at `count`.
#[inline(always)]
fn next(i: usize, group: usize, count: usize) -> Option<usize> {
    (i + group < count).then(|| (i + group).min(count - group))
}
