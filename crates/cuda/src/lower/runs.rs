//! Gather pass of aligned slots by thread blocks that hold whole chunks (`kernels/slot_runs.cu`). Every block gathers a
//! run of consecutive chunks, with three of them in shared memory.

use turntile_perm::AlignedSlots;

use crate::launch::DeviceLimits;
use crate::strategy::Strategy;

/// Maximum bytes of a slot of a chunk that a thread block holds. Longer slots are hardly faster (`moves.csv`).
pub const SLOT_BYTES: usize = 512;
/// Chunks in shared memory: one is read while another is written, and slots end in the next chunk.
const CHUNKS_HELD: usize = 3;
/// Threads per block.
pub const THREADS: usize = 256;
/// Maximum number of thread blocks per multiprocessor: with 64 registers per thread they fill it.
const MOST_GROUPS: usize = 4;
/// Bytes of shared memory that the system reserves per thread block.
const RESERVED_BYTES: usize = 1 << 10;

/// Returns the bytes from row to row in shared memory: an odd number of words, so that reads down a column have no bank
/// conflicts. Rows of 1- and 2-byte words are not padded.
pub fn pitch(slots: &AlignedSlots, elem_bytes: usize) -> usize {
    let row_bytes = slots.cols() * elem_bytes;
    let word = (elem_bytes & elem_bytes.wrapping_neg()).min(16);
    if word < 4 { row_bytes } else { ((row_bytes / word) | 1) * word }
}

/// Returns the bytes of the table of columns, which locates the first slot of each.
pub fn table_bytes(slots: &AlignedSlots) -> usize {
    (slots.cols() * 4).next_multiple_of(16)
}

/// Returns the bytes of shared memory of a thread block.
pub fn on_chip_bytes(slots: &AlignedSlots, elem_bytes: usize) -> usize {
    table_bytes(slots) + CHUNKS_HELD * slots.chunk() * pitch(slots, elem_bytes)
}

/// Returns the bytes of workspace: the first `slot - 1` rows of every run, and the last chunk.
pub fn kept_bytes(slots: &AlignedSlots, elem_bytes: usize, runs: usize) -> usize {
    let (_, last_rows) = slots.chunk_rows(slots.chunks() - 1);
    (runs * (slots.slot() - 1) + last_rows).saturating_mul(slots.cols() * elem_bytes)
}

/// Returns the strategy that fills the device, then others, each with half the runs of the one before: they save fewer rows.
/// Returns none if a thread block cannot hold three chunks.
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

/// Returns the slots of a column in a chunk: the largest power of two at which four thread blocks share a multiprocessor.
/// Returns 2 if only one block fits, 0 if none.
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
