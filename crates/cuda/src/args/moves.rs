//! Super-elements along cycles.

use super::Address;
use super::flags::GlobalFlags;
use super::maps::{Axes32, Axes64, SlotMap32, SlotMap64, SmallSwap};

/// One structure for each index map, whose template the device code has.
macro_rules! by_map {
    ($($(#[$meta:meta])* $name:ident, $map:ident, $kind:literal;)*) => {
        mirror! {$(
            $(#[$meta])*
            $name = $kind, in "moves.cuh" {
                data: Address, "The super-elements.";
                flags: GlobalFlags, "One for each of them; none for P-IPT.";
                units: u64, "Super-elements, all instances.";
                lanes: u32, "Threads of a worker, a power of two.";
                vectors: u32, "Words of a super-element.";
                map: $map, "Where they go.";
            }
        )*}
    };
}
by_map! {
    /// Slots.
    MoveSlots32, SlotMap32, "MoveArgs<SlotMap<u32>>";
    /// The same by wide numbers.
    MoveSlots64, SlotMap64, "MoveArgs<SlotMap<u64>>";
    /// Axes in any order.
    MoveAxes32, Axes32, "MoveArgs<Axes<u32>>";
    /// The same by wide numbers.
    MoveAxes64, Axes64, "MoveArgs<Axes<u64>>";
}

mirror! {
    /// PTTWAC with flags on chip.
    OnChipArgs = "OnChipArgs", in "moves_on_chip.cu" {
        data: Address, "The instances.";
        instances: u64, "All of them.";
        instance_bytes: u64, "Bytes of an instance.";
        flag_words: u32, "Words of flags.";
        units: u32, "Super-elements of an instance.";
        lanes: u32, "Threads of a worker, a power of two.";
        vectors: u32, "Words of a super-element.";
        map: SmallSwap, "Where they go.";
    }
}
