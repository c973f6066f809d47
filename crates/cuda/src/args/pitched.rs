//! Rows a pitch apart: squares of any elements, and what lies in gaps.

use super::Address;
use super::divisor::{Divisor32, Divisor64};

mirror! {
    /// Pairs of tiles of elements of several words.
    UnitSwapArgs = "UnitSwapArgs" in "pitched.cu", 56 bytes {
        data: Address = 0, "The square.";
        pitch: u64 = 8, "Bytes from row to row.";
        side: u32 = 16, "Elements of a side.";
        across: u32 = 20, "Tiles across it.";
        pairs: u32 = 24, "Pairs of tiles, the diagonal's included.";
        tile: u32 = 28, "Elements of a tile's side.";
        row: u32 = 32, "Bytes from row to row of a tile on chip; 0 where none is held there.";
        pad: u32 = 36, "Not used.";
        unit: Divisor32 = 40, "Words of an element.";
    }
    /// A matrix of long elements, word by word.
    UnitTurnArgs = "UnitTurnArgs" in "pitched.cu", 88 bytes {
        to: Address = 0, "The destination.";
        from: Address = 8, "The source.";
        words: u64 = 16, "All words.";
        from_pitch: u64 = 24, "Bytes from row to row of the source.";
        to_pitch: u64 = 32, "Bytes from row to row of the destination.";
        row: Divisor64 = 40, "Words of a row of the destination.";
        unit: Divisor64 = 64, "Words of an element.";
    }
    /// What is kept of gaps, all in words.
    GapArgs = "GapArgs" in "pitched.cu", 112 bytes {
        data: Address = 0, "The matrix.";
        kept: Address = 8, "What is kept.";
        len: u64 = 16, "Words of the matrix while its rows lie together.";
        windows: u64 = 24, "Gaps of the side with fewer rows that begin before that.";
        cols: u64 = 32, "Words of that side's rows.";
        pitch: u64 = 40, "Words from row to row of it.";
        other_cols: u64 = 48, "Words of the other side's rows.";
        total: u64 = 56, "Words that are kept.";
        other: Divisor64 = 64, "Words from row to row of the other side.";
        other_gap: Divisor64 = 88, "Words of its gaps.";
    }
}

parameters! {
    UnitSwapArgs: data;
    UnitTurnArgs: to, Source from;
    GapArgs: data, Kept kept;
}
