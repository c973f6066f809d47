//! Names in a GPU's cost table: operations, the quantities that decide their speed, and constants.

use turntile_plan::CostTable;
use turntile_plan::cost_table::CostSchema;

/// Schema of GPU cost tables.
pub const NAMES: CostSchema = CostSchema {
    operations: Operation::NAMES,
    quantities: Quantity::NAMES,
    constants: Constant::NAMES,
};

/// Declares an enumeration and the names of its variants in cost tables, in the same order.
macro_rules! named {
    ($(#[$doc:meta])* $type:ident { $($variant:ident = $name:literal,)* }) => {
        $(#[$doc])*
        #[derive(Clone, Copy, Debug, PartialEq, Eq)]
        pub enum $type {
            $(#[doc = $name] $variant,)*
        }

        impl $type {
            /// Names in cost tables, in the order of the variants.
            pub const NAMES: &'static [&'static str] = &[$($name,)*];
        }
    };
}

named! {
    Constant {
        Copy = "copy",
        Start = "start",
        Wait = "wait",
        // Maximum super-elements of a short cycle.
        ShortCycle = "short_cycle",
    }
}

impl Constant {
    /// Returns the value in a cost table.
    pub fn of(self, costs: &CostTable) -> f64 {
        costs.constant(self as usize)
    }
}

named! {
    /// Quantities that decide the speed of an operation. Flags are 0 or 1.
    Quantity {
        ElemBytes = "elem_bytes",
        // Bytes of the kernel's word.
        Word = "word",
        // Bytes of a super-element, and of the widest word that divides it.
        UnitBytes = "unit_bytes",
        UnitWord = "unit_word",
        // Bytes of a row of a tile, a matrix or a strip, or of a piece of a long run.
        RowBytes = "row_bytes",
        // Blocks per multiprocessor, at most 1.
        Busy = "busy",
        // Fraction of the available shared memory that a block, or the whole grid, uses.
        Held = "held",
        // Flag: words narrower than 4 bytes in rows that are not a multiple of 4 bytes.
        Narrow = "narrow",
        Backward = "backward",
        // Super-elements or rows of a square: 0 for whole 128-byte lines, 1 for whole 32-byte sectors, 2 otherwise. For sliding
        // rows: in how many of source and result rows begin within a 16-byte vector.
        Straddle = "straddle",
        Units = "units",
        // Fraction of the tiles' sides that is inside the matrix; for a barrier over the grid, fraction of the rows that is on chip.
        Used = "used",
        Vectors = "vectors",
        // Bytes of a block's part of a chunk, and of a column of a chunk.
        PartBytes = "part_bytes",
        ColumnBytes = "column_bytes",
        // For teams: chunks in shared memory, or instances in flight; flag: columns fill warps; flag: elements are several words; bytes per copy of a
        // row; flag: rows have equal alignment in shared memory; chunks of the average team relative to the busiest.
        Depth = "depth",
        Fills = "fills",
        SeveralWords = "several_words",
        Granule = "granule",
        Alike = "alike",
        Even = "even",
        // Super-elements of the shorter side, and of a column.
        ShortWords = "short_words",
        ColumnWords = "column_words",
        // Requires walking the cycles, so conditions look it up last.
        ShortCycles = "short_cycles",
    }
}

named! {
    Operation {
        Swap = "swap",
        Cube = "cube",
        CubeCluster = "cube_cluster",
        SwapAxes = "swap_axes",
        Tiles = "tiles",
        TilesAny = "tiles_any",
        Block = "block",
        BlockAxes = "block_axes",
        Cluster = "cluster",
        Team = "team",
        Grid = "grid",
        Runs = "runs",
        Teams = "teams",
        Moves = "moves",
        OnChipMoves = "on_chip_moves",
        PerCycle = "per_cycle",
        Rounds = "rounds",
        Blocks = "blocks",
        IntoMicro = "into_micro",
        IntoLines = "into_lines",
        IntoBand = "into_band",
        IntoStack = "into_stack",
        IntoUnits = "into_units",
        IntoAxes = "into_axes",
        ClusterAxes = "cluster_axes",
        TeamAxes = "team_axes",
        GridAxes = "grid_axes",
        Retile = "retile",
        FieldGather = "field_gather",
        Pieces = "pieces",
        Flip = "flip",
        Turn = "turn",
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn tables_are_whole() {
        assert_eq!(Quantity::ShortCycles as usize + 1, Quantity::NAMES.len(), "it is the last");
        assert_eq!(NAMES.operations[Operation::Retile as usize], "retile");
        CostTable::parse(include_str!("../devices/h200.json"), NAMES).unwrap();
    }
}
