//! Rows moved from one pitch to another, counted in bytes.

use super::Address;

mirror! {
    /// Rows a pitch apart.
    Rows = "Rows" in "pad.cu", 16 bytes {
        cols: u64 = 0, "Bytes of a row.";
        pitch: u64 = 8, "Bytes from row to row.";
    }
    /// By data sliding. Where there are no gaps, one row is all.
    SlideArgs = "SlideArgs" in "pad.cu", 72 bytes {
        data: Address = 0, "The rows.";
        flags: Address = 8, "Blocks begun, then for each block whether it has been read.";
        len: u64 = 16, "Bytes of all rows.";
        from: Rows = 24, "The rows before.";
        to: Rows = 40, "The rows after.";
        block: u32 = 56, "Bytes of a block.";
        blocks: u32 = 60, "Blocks.";
        up: u32 = 64, "Whether rows move up.";
        pad: u32 = 68, "Not used.";
    }
    /// From rows that lie together to others elsewhere.
    SpreadArgs = "SpreadArgs" in "pad.cu", 40 bytes {
        to: Address = 0, "The rows that are written.";
        from: Address = 8, "Those that lie together.";
        rows: u64 = 16, "Rows.";
        cols: u64 = 24, "Bytes of a row.";
        pitch: u64 = 32, "Bytes from row to row that are written.";
    }
    /// A round.
    RowsArgs = "RowsArgs" in "pad.cu", 56 bytes {
        data: Address = 0, "The rows.";
        first: u64 = 8, "The first row.";
        count: u64 = 16, "Rows.";
        cols: u64 = 24, "Bytes of a row.";
        from: u64 = 32, "Bytes from row to row before.";
        to: u64 = 40, "Bytes from row to row after.";
        held: u32 = 48, "Bytes that fit on chip.";
        pad: u32 = 52, "Not used.";
    }
}

parameters! {
    SlideArgs: data, Flags flags;
    SpreadArgs: to, Source from;
    RowsArgs: data;
}
