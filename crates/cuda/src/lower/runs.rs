//! How the groups of a GPU share out a gather pass of aligned slots whose chunks each of them can hold
//! (`kernels/slot_runs.cu`): every group walks down a run of chunks, three of them on chip.

use turntile_perm::AlignedSlots;

use crate::launch::DeviceLimits;
use crate::strategy::Strategy;

/// Longest slot of a chunk that a block holds, in bytes: longer ones move no faster by much (`moves.csv`).
pub const SLOT_BYTES: usize = 512;
/// Chunks on chip: one is read while another is written, and slots end in the chunk after theirs.
const CHUNKS_HELD: usize = 3;
/// Threads of a group.
pub const THREADS: usize = 256;
/// Groups that share a multiprocessor at most: their 64 registers a thread fill it.
const MOST_GROUPS: usize = 4;
/// Shared memory of a multiprocessor that each group takes for the system.
const RESERVED_BYTES: usize = 1 << 10;

/// Bytes between rows on chip: an odd number of words, or of banks of 4 bytes, so that reading down
/// a column meets no bank twice; rows of narrow words as they are in memory.
pub fn pitch(slots: &AlignedSlots, elem_bytes: usize) -> usize {
    let row_bytes = slots.cols() * elem_bytes;
    let word = (elem_bytes & elem_bytes.wrapping_neg()).min(16);
    if word < 4 { row_bytes } else { ((row_bytes / word) | 1) * word }
}

/// Bytes of the table of columns: where their slots begin.
pub fn table_bytes(slots: &AlignedSlots) -> usize {
    (slots.cols() * 4).next_multiple_of(16)
}

/// Shared memory of a group.
pub fn on_chip_bytes(slots: &AlignedSlots, elem_bytes: usize) -> usize {
    table_bytes(slots) + CHUNKS_HELD * slots.chunk() * pitch(slots, elem_bytes)
}

/// Workspace: the first `slot - 1` rows of every run, and the last chunk.
pub fn kept_bytes(slots: &AlignedSlots, elem_bytes: usize, runs: usize) -> usize {
    let (_, last_rows) = slots.chunk_rows(slots.chunks() - 1);
    (runs * (slots.slot() - 1) + last_rows).saturating_mul(slots.cols() * elem_bytes)
}

/// A way that fills the device, and others of half as many runs each, which keep fewer rows; none
/// where a group cannot hold three chunks.
pub fn strategies(slots: &AlignedSlots, elem_bytes: usize, limits: &DeviceLimits) -> Vec<Strategy> {
    let bytes = on_chip_bytes(slots, elem_bytes);
    if bytes > limits.shared_bytes {
        return Vec::new();
    }
    let room = limits.shared_bytes + RESERVED_BYTES;
    let resident = limits.units * (room / (bytes + RESERVED_BYTES)).min(MOST_GROUPS);
    let most = resident.min(slots.chunks() - 1).max(1);
    std::iter::successors(Some(most), |runs| Some(runs / 2).filter(|&runs| runs > 0))
        .map(|groups| Strategy::Runs { groups })
        .collect()
}

/// Slots of a column in a chunk, a power of two, so that as many groups as can share a multiprocessor
/// do; 2 where only larger shares fit, and 0 where none does.
pub fn chunk_slots(slot: usize, cols: usize, elem_bytes: usize, limits: &DeviceLimits) -> usize {
    let held = |groups: usize| {
        let bytes = (limits.shared_bytes + RESERVED_BYTES) / groups;
        let chunks = bytes.saturating_sub(RESERVED_BYTES + cols * 4 + 16);
        chunks / CHUNKS_HELD / (cols * elem_bytes + 16) / slot
    };
    match (held(MOST_GROUPS), held(1)) {
        (several @ 2.., _) => 1 << several.ilog2(),
        (_, 2..) => 2,
        _ => 0,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn launches_fit_the_device_together() {
        let limits = DeviceLimits::H200;
        for (rows, cols) in [(9_999_991, 7), (1_000_003, 61), (100_003, 2), (1009, 140)] {
            for elem_bytes in [1, 2, 4, 12, 16] {
                for slot in [2, 32, 64, 128] {
                    let k = chunk_slots(slot, cols, elem_bytes, &limits);
                    let Some(slots) = AlignedSlots::new(rows, cols, slot, slot * k) else {
                        continue;
                    };
                    let found = strategies(&slots, elem_bytes, &limits);
                    assert!(!found.is_empty(), "{slots:?} of {elem_bytes}");
                    let bytes = on_chip_bytes(&slots, elem_bytes) + RESERVED_BYTES;
                    for strategy in found {
                        let Strategy::Runs { groups } = strategy else { panic!("{strategy}") };
                        let per_unit = groups.div_ceil(limits.units);
                        assert!(per_unit <= MOST_GROUPS);
                        assert!(per_unit * bytes <= limits.shared_bytes + RESERVED_BYTES);
                    }
                }
            }
        }
    }
}
