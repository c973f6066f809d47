//! Where super-elements go. Numbers of 32 bits serve up to 2^31 of them.

use super::divisor::{Divisor32, Divisor64};

/// The maps by numbers of one width.
macro_rules! by_width {
    ($int:ident, $divisor:ident: $digit:ident, $axes:ident, $slots:ident) => {
        mirror! {
            /// An axis as a digit.
            $digit = concat!("Digit<", stringify!($int), ">"), in "index.cuh" {
                by: $divisor, "Its extent.";
                stride: $int, "What each of it counts.";
            }
            /// An array's axes in any order: digits from the last axis on, the first is what is left.
            $axes = concat!("Axes<", stringify!($int), ">"), in "index.cuh" {
                d0: $digit, "The last axis.";
                d1: $digit, "The one before; of 1 where there is none.";
                d2: $digit, "The same.";
                d3: $digit, "The same.";
                d4: $digit, "The same.";
                d5: $digit, "The same.";
                d6: $digit, "The same.";
                first: $int, "What each of the first axis counts.";
                digits: u32, "Axes but the first, one at least.";
                batched: u32, "Whether there are several instances.";
                instance: $divisor, "Super-elements of an instance.";
                batch: $divisor, "Instances.";
                unit_bytes: u64, "Bytes of a super-element.";
            }
            /// The slots of the aligned-slot route. The numbers count a matrix's elements.
            $slots = concat!("SlotMap<", stringify!($int), ">"), in "index.cuh" {
                rows: $int, "Rows of the matrix.";
                cols: $int, "Its columns.";
                slot: $int, "Elements of a slot.";
                chunk: $int, "Rows of a chunk.";
                last_chunk: $int, "Number of the last chunk.";
                last_rows: $int, "Its rows.";
                rows_div: $divisor, "Divides by `rows`.";
                slot_div: $divisor, "Divides by `slot`.";
                last_rows_div: $divisor, "Divides by `last_rows`.";
                chunk_div: $divisor, "Divides by `chunk`.";
                per_chunk: $divisor, "Slots of a full chunk.";
                count: $divisor, "Slots of a matrix.";
                unit_bytes: u64, "Bytes of a slot.";
                instance_bytes: u64, "Bytes of a matrix.";
                backward: u32, "Whether slots are fetched and not moved to their final places.";
                batched: u32, "Whether there are several matrices.";
            }
        }
    };
}
by_width!(u32, Divisor32: Digit32, Axes32, SlotMap32);
by_width!(u64, Divisor64: Digit64, Axes64, SlotMap64);

mirror! {
    /// `[rows][cols]` to `[cols][rows]` within one instance.
    SmallSwap = "SmallSwap", in "index.cuh" {
        cols: Divisor32, "Columns.";
        rows: u32, "Rows.";
        unit_bytes: u32, "Bytes of a super-element.";
    }
}
