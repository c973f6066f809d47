//! Rows moved from one pitch to another, counted in bytes.

use super::Address;

mirror! {
    /// Rows a pitch apart.
    Rows = "Rows", in "pad.cu" {
        cols: u64, "Bytes of a row.";
        pitch: u64, "Bytes from row to row.";
    }
    /// By data sliding. Where there are no gaps, one row is all.
    SlideArgs = "SlideArgs", in "pad.cu" {
        data: Address, "The rows.";
        flags: Address, "Blocks begun, then for each block whether it has been read.";
        len: u64, "Bytes of all rows.";
        from: Rows, "The rows before.";
        to: Rows, "The rows after.";
        block: u32, "Bytes of a block.";
        blocks: u32, "Blocks.";
        up: u32, "Whether rows move up.";
        pad: u32, "Not used.";
    }
    /// From rows that lie together to others elsewhere.
    SpreadArgs = "SpreadArgs", in "pad.cu" {
        to: Address, "The rows that are written.";
        from: Address, "Those that lie together.";
        rows: u64, "Rows.";
        cols: u64, "Bytes of a row.";
        pitch: u64, "Bytes from row to row that are written.";
    }
    /// A round.
    RowsArgs = "RowsArgs", in "pad.cu" {
        data: Address, "The rows.";
        first: u64, "The first row.";
        count: u64, "Rows.";
        cols: u64, "Bytes of a row.";
        from: u64, "Bytes from row to row before.";
        to: u64, "Bytes from row to row after.";
        held: u32, "Bytes that fit on chip.";
        pad: u32, "Not used.";
    }
}
