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
