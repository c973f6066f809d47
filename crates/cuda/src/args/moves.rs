//! Super-elements along cycles.

use super::Address;
use super::flags::{FlagLayout, GlobalFlags};
use super::maps::{Axes32, Axes64, SlotMap32, SlotMap64, SmallSwap, Swap32, Swap64};

/// One structure for each index map, whose template the device code has.
macro_rules! by_map {
    ($($(#[$meta:meta])* $name:ident, $map:ident, $kind:literal, $bytes:literal;)*) => {
        mirror! {$(
            $(#[$meta])*
            $name = $kind in "move_args.cuh", $bytes bytes {
                data: Address = 0, "The super-elements.";
                flags: GlobalFlags = 8, "One for each of them.";
                units: u64 = 48, "Super-elements, all instances.";
                lanes: u32 = 56, "Threads of a worker, a power of two.";
                vectors: u32 = 60, "Words of a super-element.";
                rows: u32 = 64, "Rows of a super-element that is a tile transposed on the way, else 1.";
                cols: u32 = 68, "Its columns, else 1.";
                map: $map = 72, "Where they go.";
            }
        )*}
        parameters! {$($name: data, Flags flags.words;)*}
    };
}
by_map! {
    /// PTTWAC with flags in memory.
    MoveSwap32, Swap32, "MoveArgs<Swap<u32>>", 152;
    /// The same by wide numbers.
    MoveSwap64, Swap64, "MoveArgs<Swap<u64>>", 192;
    /// The same of slots.
    MoveSlots32, SlotMap32, "MoveArgs<SlotMap<u32>>", 216;
    /// The same of slots by wide numbers.
    MoveSlots64, SlotMap64, "MoveArgs<SlotMap<u64>>", 288;
    /// The same of axes in any order.
    MoveAxes32, Axes32, "MoveArgs<Axes<u32>>", 264;
    /// The same of axes by wide numbers.
    MoveAxes64, Axes64, "MoveArgs<Axes<u64>>", 368;
}

macro_rules! per_cycle {
    ($($(#[$meta:meta])* $name:ident, $map:ident, $kind:literal, $bytes:literal;)*) => {
        mirror! {$(
            $(#[$meta])*
            $name = $kind in "per_cycle.cu", $bytes bytes {
                data: Address = 0, "The super-elements.";
                units: u64 = 8, "Super-elements, all instances.";
                lanes: u32 = 16, "Threads of a worker, a power of two.";
                vectors: u32 = 20, "Words of a super-element.";
                map: $map = 24, "Where they go.";
            }
        )*}
        parameters! {$($name: data;)*}
    };
}
per_cycle! {
    /// P-IPT.
    PerCycleSwap32, Swap32, "PerCycleArgs<Swap<u32>>", 104;
    /// The same by wide numbers.
    PerCycleSwap64, Swap64, "PerCycleArgs<Swap<u64>>", 144;
    /// The same of slots.
    PerCycleSlots, SlotMap64, "PerCycleArgs<SlotMap<u64>>", 240;
    /// The same of axes in any order.
    PerCycleAxes32, Axes32, "PerCycleArgs<Axes<u32>>", 216;
    /// The same of axes by wide numbers.
    PerCycleAxes64, Axes64, "PerCycleArgs<Axes<u64>>", 320;
}

mirror! {
    /// PTTWAC with flags on chip.
    OnChipArgs = "OnChipArgs" in "moves_on_chip.cu", 96 bytes {
        data: Address = 0, "The instances.";
        instances: u64 = 8, "All of them.";
        instance_bytes: u64 = 16, "Bytes of an instance.";
        layout: FlagLayout = 24, "Where flags lie.";
        flag_words: u32 = 56, "Words of flags.";
        units: u32 = 60, "Super-elements of an instance.";
        lanes: u32 = 64, "Threads of a worker, a power of two.";
        vectors: u32 = 68, "Words of a super-element.";
        map: SmallSwap = 72, "Where they go.";
    }
}
parameters! {
    OnChipArgs: data;
}
