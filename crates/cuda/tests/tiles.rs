//! Tiles that change places, replayed on the host: squares and cubes.

use turntile_cuda::lower::lower;
use turntile_cuda::way::Way;

use crate::cases::{BLOCK, alignments, at, swap};
use crate::follow::{agrees, follow};

/// Tiles that have kernels of their own, alone, in pairs and beyond what a block holds side by side.
#[test]
fn square_tiles() {
    let mut lowered = 0;
    for side in [16, 20, 32, 64, 100, 128, 200] {
        for (batch, mid) in [(1, 1), (5, 1), (1, 2), (2, 5), (1, 19)] {
            lowered += follow(swap([batch, side, mid, side, 1]), &[BLOCK]);
        }
        let by = [16, 32, 64, 128].map(|tile| Way::TileSwap { tile });
        for (batch, mid) in [(1, 1), (4, 1), (1, 3), (2, 5)] {
            lowered += follow(swap([batch, side, mid, side, 1]), &by);
        }
    }
    // Many tiles, in groups, with rows that begin anywhere and with lines shared.
    for (side, elem) in
        [(3840, 1), (3841, 1), (1921, 2), (1985, 4), (23000, 4), (23001, 4), (993, 8), (1032, 16)]
    {
        for (batch, mid) in [(1, 1), (2, 3)] {
            for way in [32, 64, 128].map(|tile| Way::TileSwap { tile }) {
                let shape = swap([batch, side, mid, side, 1]);
                for alignment in alignments(elem) {
                    let calls = lower(&shape, way, at(elem, alignment)).expect("a square");
                    agrees(&calls, &shape, elem, alignment);
                    lowered += 1;
                }
            }
        }
    }
    assert_eq!(lowered, 1636);
}

/// Cubes whose rows are whole vectors, of whole tiles and ragged, both ways.
#[test]
fn cubes() {
    let mut lowered = 0;
    for side in [8, 16, 24, 40, 64, 104, 320] {
        for (rows, cols) in [(side, side * side), (side * side, side)] {
            for batch in [1, 3] {
                let by = [8, 16, 32].map(|tile| Way::TileSwap { tile });
                lowered += follow(swap([batch, rows, 1, cols, 1]), &by);
            }
        }
    }
    assert_eq!(lowered, 168);
}
