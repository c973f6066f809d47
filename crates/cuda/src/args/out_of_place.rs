//! From one place to another.

use super::Address;
use super::barrier::Stack;
use super::divisor::{Divisor32, Divisor64};

mirror! {
    /// The order in which blocks take tiles: swaths of rows of them, column by column.
    TileOrder = "TileOrder" in "out_of_place.cu", 40 bytes {
        matrix: Divisor32 = 0, "Tiles of a matrix.";
        swath: Divisor32 = 16, "Tiles of a swath.";
        down: u32 = 32, "Rows of tiles of a matrix.";
        high: u32 = 36, "Rows of tiles of a swath.";
    }
    /// Tiles of one form.
    IntoArgs = "IntoArgs" in "out_of_place.cu", 104 bytes {
        to: Address = 0, "The destination.";
        from: Address = 8, "The source.";
        rows: u64 = 16, "Rows of a matrix.";
        cols: u64 = 24, "Its columns.";
        from_pitch: u64 = 32, "Bytes from row to row of the source.";
        to_pitch: u64 = 40, "Bytes from row to row of the destination.";
        matrix_bytes: u64 = 48, "Bytes of a matrix.";
        bytes: u64 = 56, "Bytes of all.";
        order: TileOrder = 64, "Which tile is whose.";
    }
    /// Tiles of any form.
    BandArgs = "BandArgs" in "out_of_place.cu", 160 bytes {
        to: Address = 0, "The destination.";
        from: Address = 8, "The source.";
        rows: u64 = 16, "Rows of a matrix.";
        cols: u64 = 24, "Its columns, in super-elements.";
        from_pitch: u64 = 32, "Bytes from row to row of the source.";
        to_pitch: u64 = 40, "Bytes from row to row of the destination.";
        matrix_bytes: u64 = 48, "Bytes of a matrix.";
        order: TileOrder = 56, "Which tile is whose.";
        tile_rows: u32 = 96, "Rows of a tile.";
        tile_cols: u32 = 100, "Its columns, in super-elements.";
        pitch: u32 = 104, "Bytes from row to row on chip.";
        wide: u32 = 108, "How words are moved; see `kernels/region.cuh`.";
        unit: Divisor32 = 112, "Words of a super-element.";
        stack: Stack = 128, "Rows, and more than a tile has.";
    }
    /// Several matrices to a block.
    StackArgs = "StackArgs" in "out_of_place.cu", 80 bytes {
        to: Address = 0, "The destination.";
        from: Address = 8, "The source.";
        matrices: u64 = 16, "All matrices.";
        rows: u32 = 24, "Rows of a matrix.";
        cols: u32 = 28, "Its columns.";
        stacked: u32 = 32, "Matrices of a block.";
        pitch: u32 = 36, "Bytes from row to row on chip.";
        wide: u32 = 40, "How words are moved; see `kernels/region.cuh`.";
        pad: u32 = 44, "Not used.";
        stack: Stack = 48, "The matrices of a block.";
    }
    /// Word by word, straight across.
    UnitArgs = "UnitArgs" in "out_of_place.cu", 104 bytes {
        to: Address = 0, "The destination.";
        from: Address = 8, "The source.";
        words: u64 = 16, "All words.";
        cols: u64 = 24, "Columns of a matrix, in super-elements.";
        unit: Divisor64 = 32, "Words of a super-element.";
        rows: Divisor64 = 56, "Rows of a matrix.";
        matrix: Divisor64 = 80, "Super-elements of a matrix.";
    }
}

parameters! {
    IntoArgs: to, Source from;
    BandArgs: to, Source from;
    StackArgs: to, Source from;
    UnitArgs: to, Source from;
}
