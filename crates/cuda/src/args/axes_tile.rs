//! Tiles of arrays whose axes change their order.

use super::Address;
use super::divisor::Divisor32;

/// Axes that a [`TileMap`] has: those of a permutation, and the words of an element.
pub const TILE_AXES: usize = 9;

mirror! {
    /// An axis, and a tile's part of it.
    TileAxis = "TileAxis", in "axes_tile.cuh" {
        tiles: Divisor32, "Tiles along it.";
        from: u64, "Bytes from each of it to the next in the source.";
        to: u64, "The same in the result.";
        extent: u32, "Of a tile.";
        last: u32, "Of the last tile.";
        along: u32, "Bytes along a row on chip that each of it counts.";
        rows: u32, "Rows on chip that each of it counts; this or the other is 0.";
    }
    /// How an array is cut into tiles, and how these lie on chip.
    TileMap = "TileMap", in "axes_tile.cuh" {
        a0: TileAxis, "The result's last axis.";
        a1: TileAxis, "The one before; one of a single tile of one where there is none.";
        a2: TileAxis, "The same.";
        a3: TileAxis, "The same.";
        a4: TileAxis, "The same.";
        a5: TileAxis, "The same.";
        a6: TileAxis, "The same.";
        a7: TileAxis, "The same.";
        a8: TileAxis, "The same.";
        column_axes: u64, "The axes that a column does not have, 4 bits each, the fastest in the source first.";
        axes: u32, "All of them.";
        run_axes: u32, "The first so many are a column.";
        across_axes: u32, "Numbers in `column_axes`.";
        line_axis: u32, "The first in the source of those that a row has.";
        line_step: u32, "Bytes of a row that each of it counts.";
        run_step: u32, "Words of a column that each of its first axis counts.";
        rows: u32, "Rows of a tile.";
        columns: u32, "Its columns.";
        run: u32, "Words of a column.";
        pitch: u32, "Bytes from row to row on chip.";
        granules: u32, "Granules of 16 bytes that a row lies in, at most.";
        packs: u32, "The same of a column.";
        held: u32, "Bytes of all rows on chip.";
        across: u32, "Logarithm of the columns that a warp writes at a time.";
    }
    /// Axes in any order, an instance by several blocks, a tile each.
    WideAxesArgs = "WideAxesArgs", in "wide_axes.cuh" {
        data: Address, "The instances.";
        bytes: u64, "Bytes of all of them.";
        instance_bytes: u64, "Bytes of an instance.";
        tiles: u32, "Tiles of an instance; blocks beyond them only wait.";
        pad: u32, "Not used.";
        map: TileMap, "Its tiles.";
    }
    /// Axes in any order from one place to another.
    IntoAxesArgs = "IntoAxesArgs", in "into_axes.cu" {
        to: Address, "The destination.";
        from: Address, "The source.";
        bytes: u64, "Bytes of all.";
        map: TileMap, "Its tiles.";
    }
}

impl TileMap {
    /// The axes, from the result's last one on.
    pub fn axes(&self) -> Vec<TileAxis> {
        let all = [self.a0, self.a1, self.a2, self.a3, self.a4, self.a5, self.a6, self.a7, self.a8];
        all[..self.axes as usize].to_vec()
    }

    /// Bytes of a row of a tile.
    pub fn line_bytes(&self) -> usize {
        let first = self.axes().get(self.line_axis as usize).map_or(1, |axis| axis.extent);
        self.line_step as usize * first as usize
    }
}
