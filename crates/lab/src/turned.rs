//! Tiles moved across a matrix of them and transposed on the way (1010!, thesis section 4.8.3): what they are, and a host's
//! way to move them.

use std::fmt;

use rayon::prelude::*;
use turntile::{Error, RawElements, Transpose};
use turntile_perm::AxisPermutation;
use turntile_plan::{LaunchConfigData, StageMap};

/// `[batch][rows][cols][m][n]` to `[batch][cols][rows][n][m]`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct TurnedTiles {
    /// Independent instances.
    pub batch: usize,
    /// Tiles down.
    pub rows: usize,
    /// Tiles across.
    pub cols: usize,
    /// Rows of a tile.
    pub m: usize,
    /// Columns of a tile.
    pub n: usize,
}

impl From<TurnedTiles> for AxisPermutation {
    /// # Panics
    /// When its elements cannot be counted.
    fn from(t: TurnedTiles) -> Self {
        let extents = [t.batch, t.rows, t.cols, t.m, t.n];
        Self::new(&extents, &[0, 2, 1, 4, 3]).expect("elements that can be counted")
    }
}

impl TurnedTiles {
    /// The shape as such tiles, if it is that and nothing simpler.
    pub fn of(shape: &StageMap) -> Option<Self> {
        let StageMap::Axes(axes) = shape else { return None };
        let order: Vec<usize> = axes.order().collect();
        match (axes.extents(), &order[..]) {
            (&[rows, cols, m, n], [1, 0, 3, 2]) => Some(Self { batch: 1, rows, cols, m, n }),
            (&[batch, rows, cols, m, n], [0, 2, 1, 4, 3]) => Some(Self { batch, rows, cols, m, n }),
            _ => None,
        }
    }
}

/// A host's way: cycles of tiles, in parts that threads share.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct OnHost {
    /// What is moved.
    pub tiles: TurnedTiles,
    /// Threads.
    pub threads: usize,
}

/// Parts of cycles for each thread, so that they end together.
const PARTS: usize = 8;

impl OnHost {
    /// Moves the tiles of `data`, of elements of so many bytes.
    ///
    /// # Errors
    /// As [`Transpose::plan`].
    ///
    /// # Panics
    /// When `data` are not as long as the tiles.
    pub fn run(self, data: &mut [u8], elem_bytes: usize) -> Result<(), Error> {
        let TurnedTiles { batch, rows, cols, m, n } = self.tiles;
        let (units, tile_bytes) = (rows * cols, m * n * elem_bytes);
        assert_eq!(data.len(), batch * units * tile_bytes);
        let turn =
            Transpose::new::<u8>(m, n).itemsize(elem_bytes).threads(1).out_of_place().plan()?;
        let turn = |from: &[u8], to: &mut [u8]| turn.run(&RawElements(from), &mut RawElements(to));
        for instance in data.chunks_exact_mut(units * tile_bytes) {
            let mut tiles: Vec<_> = instance.chunks_exact_mut(tile_bytes).map(Some).collect();
            let mut cycles: Vec<Vec<&mut [u8]>> = Vec::new();
            for start in 0..units {
                let (mut cycle, mut at) = (Vec::new(), start);
                while let Some(tile) = tiles[at].take() {
                    cycle.push(tile);
                    at = at % cols * rows + at / cols;
                }
                cycles.push(cycle);
            }
            // Each tile goes to the place of the next: a part's first comes from the last of the part before.
            let longest = units.div_ceil(self.threads * PARTS);
            let mut parts: Vec<(Vec<u8>, &mut [&mut [u8]])> = Vec::new();
            for cycle in &mut cycles {
                let mut before = cycle.last().map_or_else(Vec::new, |tile| tile.to_vec());
                for part in cycle.chunks_mut(longest) {
                    let last = part.last().map_or_else(Vec::new, |tile| tile.to_vec());
                    parts.push((std::mem::replace(&mut before, last), part));
                }
            }
            let each = parts.len().div_ceil(self.threads);
            parts.par_chunks_mut(each).try_for_each(|parts| {
                parts.iter_mut().try_for_each(|(before, part)| {
                    for at in (1..part.len()).rev() {
                        let (from, to) = part.split_at_mut(at);
                        turn(from[at - 1], to[0])?;
                    }
                    turn(before, part[0])
                })
            })?;
        }
        Ok(())
    }
}

impl LaunchConfigData for OnHost {
    fn variant(&self) -> String {
        format!(" turned x{}", self.threads)
    }
}

impl fmt::Display for OnHost {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} threads", self.threads)
    }
}

/// A GPU's way: PTTWAC through shared memory, by a kernel of the lab's.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct OnGpu {
    /// What is moved.
    pub tiles: TurnedTiles,
}

impl OnGpu {
    /// Bytes of flags: a bit a tile.
    pub fn flag_bytes(self) -> usize {
        let TurnedTiles { batch, rows, cols, .. } = self.tiles;
        (batch * rows * cols).div_ceil(32) * 4
    }
}

impl LaunchConfigData for OnGpu {
    fn variant(&self) -> String {
        " turned".to_owned()
    }
}

impl fmt::Display for OnGpu {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} bytes of flags", self.flag_bytes())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn tiles_are_moved_and_turned() {
        for batch in [1, 2] {
            for (rows, cols) in [(2, 2), (2, 3), (5, 4), (4, 4), (9, 7)] {
                for (m, n, threads) in [(2, 3, 1), (4, 4, 2), (5, 2, 3)] {
                    let tiles = TurnedTiles { batch, rows, cols, m, n };
                    let shape = StageMap::Axes(tiles.into());
                    assert_eq!(TurnedTiles::of(&shape), Some(tiles));
                    for elem_bytes in [1, 4, 12] {
                        let number = |k: usize| (0..elem_bytes).map(move |b| (3 * k + b) as u8);
                        let mut data: Vec<u8> = (0..shape.len()).flat_map(number).collect();
                        OnHost { tiles, threads }.run(&mut data, elem_bytes).unwrap();
                        for k in 0..shape.len() {
                            let at = shape.dest(k) * elem_bytes;
                            assert!(data[at..at + elem_bytes].iter().copied().eq(number(k)));
                        }
                    }
                }
            }
        }
        let simpler = TurnedTiles { batch: 1, rows: 1, cols: 4, m: 2, n: 3 };
        assert_eq!(TurnedTiles::of(&StageMap::Axes(simpler.into())), None);
    }
}
