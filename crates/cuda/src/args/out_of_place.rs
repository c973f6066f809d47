//! From one place to another.

use super::Address;
use super::barrier::Stack;
use super::divisor::{Divisor32, Divisor64};

mirror! {
    /// The order in which blocks take tiles: swaths of rows of them, column by column.
    TileOrder = "TileOrder", in "out_of_place.cu" {
        matrix: Divisor32, "Tiles of a matrix.";
        swath: Divisor32, "Tiles of a swath.";
        down: u32, "Rows of tiles of a matrix.";
        high: u32, "Rows of tiles of a swath.";
    }
    /// Tiles of one form.
    IntoArgs = "IntoArgs", in "out_of_place.cu" {
        to: Address, "The destination.";
        from: Address, "The source.";
        rows: u64, "Rows of a matrix.";
        cols: u64, "Its columns.";
        from_pitch: u64, "Bytes from row to row of the source.";
        to_pitch: u64, "Bytes from row to row of the destination.";
        matrix_bytes: u64, "Bytes of a matrix.";
        bytes: u64, "Bytes of all.";
        order: TileOrder, "Which tile is whose.";
    }
    /// Tiles of any form.
    BandArgs = "BandArgs", in "out_of_place.cu" {
        to: Address, "The destination.";
        from: Address, "The source.";
        rows: u64, "Rows of a matrix.";
        cols: u64, "Its columns, in super-elements.";
        from_pitch: u64, "Bytes from row to row of the source.";
        to_pitch: u64, "Bytes from row to row of the destination.";
        matrix_bytes: u64, "Bytes of a matrix.";
        order: TileOrder, "Which tile is whose.";
        tile_rows: u32, "Rows of a tile.";
        tile_cols: u32, "Its columns, in super-elements.";
        pitch: u32, "Bytes from row to row on chip.";
        wide: u32, "How words are moved; see `kernels/region.cuh`.";
        unit: Divisor32, "Words of a super-element.";
        stack: Stack, "Rows, and more than a tile has.";
    }
    /// Several matrices to a block.
    StackArgs = "StackArgs", in "out_of_place.cu" {
        to: Address, "The destination.";
        from: Address, "The source.";
        matrices: u64, "All matrices.";
        rows: u32, "Rows of a matrix.";
        cols: u32, "Its columns.";
        stacked: u32, "Matrices of a block.";
        pitch: u32, "Bytes from row to row on chip.";
        wide: u32, "How words are moved; see `kernels/region.cuh`.";
        pad: u32, "Not used.";
        stack: Stack, "The matrices of a block.";
    }
    /// Word by word, straight across.
    UnitArgs = "UnitArgs", in "out_of_place.cu" {
        to: Address, "The destination.";
        from: Address, "The source.";
        words: u64, "All words.";
        cols: u64, "Columns of a matrix, in super-elements.";
        unit: Divisor64, "Words of a super-element.";
        rows: Divisor64, "Rows of a matrix.";
        matrix: Divisor64, "Super-elements of a matrix.";
    }
}
