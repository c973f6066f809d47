//! Rows padded and unpadded, counted in bytes.

use super::Address;

mirror! {
    /// By data sliding.
    SlideArgs = "SlideArgs" in "pad.cu", 56 bytes {
        data: Address = 0, "The rows.";
        flags: Address = 8, "Blocks begun, then for each block whether it has been read.";
        rows: u64 = 16, "Rows.";
        cols: u64 = 24, "Bytes of a row.";
        pitch: u64 = 32, "Bytes from row to row when padded.";
        block: u32 = 40, "Bytes of a block.";
        blocks: u32 = 44, "Blocks.";
        back: u32 = 48, "Whether rows are unpadded.";
        pad: u32 = 52, "Not used.";
    }
    /// By data sliding, from one pitch to another.
    PitchesArgs = "PitchesArgs" in "pad.cu", 56 bytes {
        data: Address = 0, "The rows.";
        flags: Address = 8, "Blocks begun, then for each block whether it has been read.";
        rows: u64 = 16, "Rows.";
        cols: u64 = 24, "Bytes of a row.";
        from: u64 = 32, "Bytes from row to row before.";
        to: u64 = 40, "Bytes from row to row after.";
        block: u32 = 48, "Bytes of a block.";
        blocks: u32 = 52, "Blocks.";
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
    RowsArgs = "RowsArgs" in "pad.cu", 48 bytes {
        data: Address = 0, "The rows.";
        first: u64 = 8, "The first row.";
        count: u64 = 16, "Rows.";
        cols: u64 = 24, "Bytes of a row.";
        pitch: u64 = 32, "Bytes from row to row when padded.";
        back: u32 = 40, "Whether rows are unpadded.";
        held: u32 = 44, "Bytes that fit on chip.";
    }
}

parameters! {
    SlideArgs: data, Flags flags;
    PitchesArgs: data, Flags flags;
    SpreadArgs: to, Source from;
    RowsArgs: data;
}
