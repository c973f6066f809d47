//! What a GPU's table of costs names: operations, what decides their speed, and constants.

use turntile_plan::costs::Names;

/// What tables of GPUs name.
pub const NAMES: Names = Names {
    operations: &[
        "swap",
        "cube",
        "tiles",
        "tiles_any",
        "block",
        "block_axes",
        "cluster",
        "grid",
        "runs",
        "teams",
        "moves",
        "axes_moves",
        "on_chip_moves",
        "per_cycle",
        "rows",
        "slide",
        "into_micro",
        "into_lines",
        "into_band",
        "into_stack",
        "into_units",
        "into_axes",
        "cluster_axes",
        "grid_axes",
    ],
    quantities: QUANTITIES,
    constants: &["copy", "start", "wait", "short_cycle"],
};

/// What decides a speed. Flags are 0 or 1.
pub const QUANTITIES: &[&str] = &[
    "elem_bytes",
    // Bytes of an access.
    "word",
    // Of a super-element, and of the widest word that divides it.
    "unit_bytes",
    "unit_word",
    // Of a row of a tile, of a matrix or of a strip.
    "row_bytes",
    // Blocks a multiprocessor, at most 1.
    "busy",
    // What a block, or the whole grid, holds of the shared memory that there is for it.
    "held",
    // Rows of narrow words that are no multiples of 4 bytes.
    "narrow",
    "backward",
    // Super-elements, or a square's rows, are whole lines of 128 bytes (0), whole sectors of 32 (1) or neither (2).
    "straddle",
    "units",
    // Share of tiles' sides that lies within the matrix.
    "used",
    "vectors",
    // Of a block's part of a chunk, and of a column of a chunk.
    "part_bytes",
    "column_bytes",
    // Chunks on chip, whether columns fill warps, whether elements are several words, bytes that rows are moved by,
    // whether rows lie alike on chip, share of the busiest team's chunks that the others have.
    "depth",
    "fills",
    "several_words",
    "granule",
    "alike",
    "even",
    // Words of the shorter side, and of the rows.
    "short_words",
    "column_words",
    // Found by walking: last, so that it is looked for last.
    "short_cycles",
];

/// Numbers of the constants.
pub const COPY: usize = 0;
pub const START: usize = 1;
pub const WAIT: usize = 2;
/// Super-elements of a cycle that counts as short.
pub const SHORT_CYCLE: usize = WAIT + 1;

/// Numbers of the quantities, in the order of [`QUANTITIES`].
#[derive(Clone, Copy)]
pub enum Quantity {
    ElemBytes,
    Word,
    UnitBytes,
    UnitWord,
    RowBytes,
    Busy,
    Held,
    Narrow,
    Backward,
    Straddle,
    Units,
    Used,
    Vectors,
    PartBytes,
    ColumnBytes,
    Depth,
    Fills,
    SeveralWords,
    Granule,
    Alike,
    Even,
    ShortWords,
    ColumnWords,
    ShortCycles,
}

/// Numbers of the operations, in the order of their names.
#[derive(Clone, Copy)]
pub enum Operation {
    Swap,
    Cube,
    Tiles,
    TilesAny,
    Block,
    BlockAxes,
    Cluster,
    Grid,
    Runs,
    Teams,
    Moves,
    AxesMoves,
    OnChipMoves,
    PerCycle,
    Rows,
    Slide,
    IntoMicro,
    IntoLines,
    IntoBand,
    IntoStack,
    IntoUnits,
    IntoAxes,
    ClusterAxes,
    GridAxes,
}

#[cfg(test)]
mod tests {
    use turntile_plan::Costs;

    use super::{Quantity as Q, *};

    #[test]
    fn tables_are_whole() {
        assert_eq!(Q::ShortCycles as usize + 1, QUANTITIES.len());
        assert_eq!(QUANTITIES[Q::Straddle as usize], "straddle");
        assert_eq!(NAMES.operations[Operation::GridAxes as usize], "grid_axes");
        assert_eq!(NAMES.constants[SHORT_CYCLE], "short_cycle");
        Costs::parse(include_str!("../devices/h200.json"), NAMES).unwrap();
    }
}
