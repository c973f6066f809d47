//! Where super-elements go. Numbers of 32 bits serve up to 2^31 of them.

use super::divisor::{Divisor32, Divisor64};

mirror! {
    /// An axis as a digit, numbers of 32 bits.
    Digit32 = "Digit<u32>" in "index.cuh", 20 bytes {
        by: Divisor32 = 0, "Its extent.";
        stride: u32 = 16, "What each of it counts.";
    }
    /// The same, numbers of 64 bits.
    Digit64 = "Digit<u64>" in "index.cuh", 32 bytes {
        by: Divisor64 = 0, "Its extent.";
        stride: u64 = 24, "What each of it counts.";
    }
    /// An array's axes in any order, numbers of 32 bits: digits from the last axis on, the first is what is left.
    Axes32 = "Axes<u32>" in "index.cuh", 192 bytes {
        d0: Digit32 = 0, "The last axis.";
        d1: Digit32 = 20, "The one before; of 1 where there is none.";
        d2: Digit32 = 40, "The same.";
        d3: Digit32 = 60, "The same.";
        d4: Digit32 = 80, "The same.";
        d5: Digit32 = 100, "The same.";
        d6: Digit32 = 120, "The same.";
        first: u32 = 140, "What each of the first axis counts.";
        digits: u32 = 144, "Axes but the first, one at least.";
        batched: u32 = 148, "Whether there are several instances.";
        instance: Divisor32 = 152, "Super-elements of an instance.";
        batch: Divisor32 = 168, "Instances.";
        unit_bytes: u64 = 184, "Bytes of a super-element.";
    }
    /// The same, numbers of 64 bits.
    Axes64 = "Axes<u64>" in "index.cuh", 296 bytes {
        d0: Digit64 = 0, "The last axis.";
        d1: Digit64 = 32, "The one before; of 1 where there is none.";
        d2: Digit64 = 64, "The same.";
        d3: Digit64 = 96, "The same.";
        d4: Digit64 = 128, "The same.";
        d5: Digit64 = 160, "The same.";
        d6: Digit64 = 192, "The same.";
        first: u64 = 224, "What each of the first axis counts.";
        digits: u32 = 232, "Axes but the first, one at least.";
        batched: u32 = 236, "Whether there are several instances.";
        instance: Divisor64 = 240, "Super-elements of an instance.";
        batch: Divisor64 = 264, "Instances.";
        unit_bytes: u64 = 288, "Bytes of a super-element.";
    }
    /// `[rows][cols]` to `[cols][rows]` within one instance.
    SmallSwap = "SmallSwap" in "index.cuh", 24 bytes {
        cols: Divisor32 = 0, "Columns.";
        rows: u32 = 16, "Rows.";
        unit_bytes: u32 = 20, "Bytes of a super-element.";
    }
    /// The slots of the aligned-slot route, numbers of 32 bits, which count a matrix's elements.
    SlotMap32 = "SlotMap<u32>" in "index.cuh", 144 bytes {
        rows: u32 = 0, "Rows of the matrix.";
        cols: u32 = 4, "Its columns.";
        slot: u32 = 8, "Elements of a slot.";
        chunk: u32 = 12, "Rows of a chunk.";
        last_chunk: u32 = 16, "Number of the last chunk.";
        last_rows: u32 = 20, "Its rows.";
        rows_div: Divisor32 = 24, "Divides by `rows`.";
        slot_div: Divisor32 = 40, "Divides by `slot`.";
        last_rows_div: Divisor32 = 56, "Divides by `last_rows`.";
        chunk_div: Divisor32 = 72, "Divides by `chunk`.";
        per_chunk: Divisor32 = 88, "Slots of a full chunk.";
        count: Divisor32 = 104, "Slots of a matrix.";
        unit_bytes: u64 = 120, "Bytes of a slot.";
        instance_bytes: u64 = 128, "Bytes of a matrix.";
        backward: u32 = 136, "Whether slots are fetched and not moved to their final places.";
        batched: u32 = 140, "Whether there are several matrices.";
    }
    /// The same, numbers of 64 bits.
    SlotMap64 = "SlotMap<u64>" in "index.cuh", 216 bytes {
        rows: u64 = 0, "Rows of the matrix.";
        cols: u64 = 8, "Its columns.";
        slot: u64 = 16, "Elements of a slot.";
        chunk: u64 = 24, "Rows of a chunk.";
        last_chunk: u64 = 32, "Number of the last chunk.";
        last_rows: u64 = 40, "Its rows.";
        rows_div: Divisor64 = 48, "Divides by `rows`.";
        slot_div: Divisor64 = 72, "Divides by `slot`.";
        last_rows_div: Divisor64 = 96, "Divides by `last_rows`.";
        chunk_div: Divisor64 = 120, "Divides by `chunk`.";
        per_chunk: Divisor64 = 144, "Slots of a full chunk.";
        count: Divisor64 = 168, "Slots of a matrix.";
        unit_bytes: u64 = 192, "Bytes of a slot.";
        instance_bytes: u64 = 200, "Bytes of a matrix.";
        backward: u32 = 208, "Whether slots are fetched and not moved to their final places.";
        batched: u32 = 212, "Whether there are several matrices.";
    }
}
