//! The gather pass of aligned slots.

use super::Address;
use super::divisor::Divisor32;
use super::maps::SlotMap64;

mirror! {
    /// A run of chunks for each block.
    RunArgs = "RunArgs" in "slot_runs.cu", 296 bytes {
        data: Address = 0, "The matrices.";
        kept: Address = 8, "Rows that are kept.";
        slots: SlotMap64 = 16, "The index maps; the byte fields are not used.";
        batch: u64 = 232, "Matrices.";
        matrix_bytes: u64 = 240, "Bytes of a matrix.";
        runs: u32 = 248, "Runs, one for each block.";
        pitch: u32 = 252, "Bytes from row to row on chip.";
        table: u32 = 256, "Bytes of the columns' table.";
        vectors: u32 = 260, "Whether rows lie on chip as in memory, and chunks begin at multiples of 16 bytes.";
        grain: Divisor32 = 264, "Words of an element.";
        per_column: Divisor32 = 280, "Slots of a column in a chunk.";
    }
    /// A run of chunks for each team of blocks.
    GatherArgs = "GatherArgs" in "strip.cuh", 312 bytes {
        data: Address = 0, "The matrices.";
        kept: Address = 8, "The teams' counts and the rows that are kept.";
        slots: SlotMap64 = 16, "The index maps; the byte fields are not used.";
        batch: u64 = 232, "Matrices.";
        matrix_bytes: u64 = 240, "Bytes of a matrix.";
        kept_bytes: u64 = 248, "Bytes kept of a run, room for alignment included.";
        runs: u32 = 256, "Runs of a matrix.";
        teams: u32 = 260, "Teams of the grid.";
        blocks: u32 = 264, "Blocks of a team.";
        block_cols: u32 = 268, "Columns of a block.";
        depth: u32 = 272, "Chunks on chip.";
        readers: u32 = 276, "Warps that read.";
        ring_rows: u32 = 280, "Rows on chip.";
        pitch: u32 = 284, "Bytes from row to row on chip.";
        period: u32 = 288, "Logarithm of the rows after which a granule more follows.";
        granule: u32 = 292, "Bytes moved at a time.";
        grain: Divisor32 = 296, "Words of an element.";
    }
}

parameters! {
    RunArgs: data, Kept kept;
    GatherArgs: data, Kept kept;
}
