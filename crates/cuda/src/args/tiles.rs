//! Square matrices and square tiles.

use super::Address;

mirror! {
    /// Pairs of tiles across the diagonal.
    SquareArgs = "SquareArgs", in "tiles.cu" {
        data: Address, "The matrices.";
        pitch: u64, "Bytes from row to row.";
        batch_bytes: u64, "Bytes from one band of `mid` matrices to the next.";
        side: u32, "Elements of a matrix's row.";
        across: u32, "Tiles across a matrix.";
        pairs: u32, "Blocks of a matrix: pairs of tiles, the diagonal's included, and none.";
        mid: u32, "Matrices side by side.";
        group: u32, "Tiles across a group, which are moved one soon after the other.";
        pad: u32, "Not used.";
    }
    /// Tiles of cubes, three at a time.
    CubeArgs = "CubeArgs", in "cube.cu" {
        data: Address, "The cubes.";
        batch_bytes: u64, "Bytes from one cube to the next.";
        side: u32, "Elements of a side.";
        across: u32, "Tiles across a cube.";
        orbits: u32, "Blocks of a cube: tiles that change places in threes, or stay, and none.";
        group: u32, "Tiles across a group, which are moved one soon after the other.";
    }
    /// Every tile where it lies.
    TilesArgs = "TilesArgs", in "tiles.cu" {
        data: Address, "The matrices.";
        pitch: u64, "Bytes from row to row of a tile.";
        panel_bytes: u64, "Bytes from panel to panel.";
        mid: u32, "Tiles side by side in a panel.";
        pad: u32, "Not used.";
        tiles: u64, "All tiles.";
    }
}
