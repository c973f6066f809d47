//! The gather pass of aligned slots.

use super::Address;
use super::divisor::Divisor32;
use super::maps::SlotMap64;

mirror! {
    /// A run of chunks for each block.
    RunArgs = "RunArgs", in "slot_runs.cu" {
        data: Address, "The matrices.";
        kept: Address, "Rows that are kept.";
        slots: SlotMap64, "The index maps; the byte fields are not used.";
        batch: u64, "Matrices.";
        matrix_bytes: u64, "Bytes of a matrix.";
        runs: u32, "Runs, one for each block.";
        pitch: u32, "Bytes from row to row on chip.";
        table: u32, "Bytes of the columns' table.";
        vectors: u32, "Whether rows lie on chip as in memory, and chunks begin at multiples of 16 bytes.";
        grain: Divisor32, "Words of an element.";
        per_column: Divisor32, "Slots of a column in a chunk.";
    }
    /// A run of chunks for each team of blocks.
    GatherArgs = "GatherArgs", in "strip.cuh" {
        data: Address, "The matrices.";
        kept: Address, "The teams' counts and the rows that are kept.";
        slots: SlotMap64, "The index maps; the byte fields are not used.";
        batch: u64, "Matrices.";
        matrix_bytes: u64, "Bytes of a matrix.";
        kept_bytes: u64, "Bytes kept of a run, room for alignment included.";
        runs: u32, "Runs of a matrix.";
        teams: u32, "Teams of the grid.";
        blocks: u32, "Blocks of a team.";
        block_cols: u32, "Columns of a block.";
        depth: u32, "Chunks on chip.";
        readers: u32, "Warps that read.";
        ring_rows: u32, "Rows on chip.";
        pitch: u32, "Bytes from row to row on chip.";
        period: u32, "Logarithm of the rows after which a granule more follows.";
        granule: u32, "Bytes moved at a time.";
        grain: Divisor32, "Words of an element.";
    }
}
