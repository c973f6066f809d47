//! What a GPU's table of costs names: operations, what decides their speed, and constants.

use turntile_plan::CostTable;
use turntile_plan::cost_table::CostSchema;

/// What tables of GPUs name.
pub const NAMES: CostSchema = CostSchema {
    operations: Operation::NAMES,
    quantities: Quantity::NAMES,
    constants: Constant::NAMES,
};

/// An enumeration, and its names in tables in the same order.
macro_rules! named {
    ($(#[$doc:meta])* $type:ident { $($variant:ident = $name:literal,)* }) => {
        $(#[$doc])*
        #[derive(Clone, Copy, Debug, PartialEq, Eq)]
        pub enum $type {
            $(#[doc = $name] $variant,)*
        }

        impl $type {
            /// What tables call them, in this order.
            pub const NAMES: &'static [&'static str] = &[$($name,)*];
        }
    };
}

named! {
    Constant {
        Copy = "copy",
        Start = "start",
        Wait = "wait",
        // Super-elements of a cycle that counts as short.
        ShortCycle = "short_cycle",
    }
}

impl Constant {
    /// What a table has for it.
    pub fn of(self, costs: &CostTable) -> f64 {
        costs.constant(self as usize)
    }
}

named! {
    /// What decides a speed. Flags are 0 or 1.
    Quantity {
        ElemBytes = "elem_bytes",
        // Bytes of an access.
        Word = "word",
        // Of a super-element, and of the widest word that divides it.
        UnitBytes = "unit_bytes",
        UnitWord = "unit_word",
        // Of a row of a tile, of a matrix or of a strip.
        RowBytes = "row_bytes",
        // Blocks a multiprocessor, at most 1.
        Busy = "busy",
        // What a block, or the whole grid, holds of the shared memory that there is for it.
        Held = "held",
        // Rows of narrow words that are no multiples of 4 bytes.
        Narrow = "narrow",
        Backward = "backward",
        // Super-elements, or a square's rows, are whole lines of 128 bytes (0), whole sectors of 32 (1) or neither (2).
        // Of rows that slide: for how many of source and result they begin within vectors.
        Straddle = "straddle",
        Units = "units",
        // Share of tiles' sides that lies within the matrix.
        Used = "used",
        Vectors = "vectors",
        // Of a block's part of a chunk, and of a column of a chunk.
        PartBytes = "part_bytes",
        ColumnBytes = "column_bytes",
        // Chunks on chip, whether columns fill warps, whether elements are several words, bytes that rows are moved by,
        // whether rows lie alike on chip, share of the busiest team's chunks that the others have.
        Depth = "depth",
        Fills = "fills",
        SeveralWords = "several_words",
        Granule = "granule",
        Alike = "alike",
        Even = "even",
        // Super-elements of the shorter side, and of the rows: tiles have short ones whole.
        ShortWords = "short_words",
        ColumnWords = "column_words",
        // Found by walking: last, so that it is looked for last.
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
        GridAxes = "grid_axes",
        Retile = "retile",
        FieldGather = "field_gather",
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
