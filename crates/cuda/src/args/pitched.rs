//! Rows a pitch apart: squares of any elements, and what lies in gaps.

use super::Address;
use super::divisor::{Divisor32, Divisor64};

mirror! {
    /// Pairs of tiles of elements of several words.
    UnitSwapArgs = "UnitSwapArgs", in "pitched.cu" {
        data: Address, "The square.";
        pitch: u64, "Bytes from row to row.";
        side: u32, "Elements of a side.";
        across: u32, "Tiles across it.";
        pairs: u32, "Pairs of tiles, the diagonal's included.";
        tile: u32, "Elements of a tile's side.";
        row: u32, "Bytes from row to row of a tile on chip; 0 where none is held there.";
        pad: u32, "Not used.";
        unit: Divisor32, "Words of an element.";
    }
    /// A matrix of long elements, word by word.
    UnitTurnArgs = "UnitTurnArgs", in "pitched.cu" {
        to: Address, "The destination.";
        from: Address, "The source.";
        words: u64, "All words.";
        from_pitch: u64, "Bytes from row to row of the source.";
        to_pitch: u64, "Bytes from row to row of the destination.";
        row: Divisor64, "Words of a row of the destination.";
        unit: Divisor64, "Words of an element.";
    }
    /// What is kept of gaps, all in words.
    GapArgs = "GapArgs", in "pitched.cu" {
        data: Address, "The matrix.";
        kept: Address, "What is kept.";
        len: u64, "Words of the matrix while its rows lie together.";
        windows: u64, "Gaps of the side with fewer rows that begin before that.";
        cols: u64, "Words of that side's rows.";
        pitch: u64, "Words from row to row of it.";
        other_cols: u64, "Words of the other side's rows.";
        total: u64, "Words that are kept.";
        other: Divisor64, "Words from row to row of the other side.";
        other_gap: Divisor64, "Words of its gaps.";
    }
}
