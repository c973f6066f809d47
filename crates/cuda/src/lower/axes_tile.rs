//! Tiles of arrays whose axes are permuted: the part of each axis in a tile, and its layout in shared memory.

use turntile_perm::{AxisPermutation, StridedAxis};

use super::fit::{Lowered, TargetParams, field};
use crate::args::{Divisor32, TILE_AXES, TileAxis, TileMap};
use crate::banks::WARP;
use crate::error::LowerError;

/// Bytes per read and write access.
const GRANULE: usize = 16;

/// Maximum number of lanes that write one column together: a cache line of 128 bytes.
const WIDE: usize = 8;

/// Preferred minimum bytes of a column: shorter columns write partial cache lines.
const COLUMN_BYTES: usize = 128;
/// Cost of a column's table entry, relative to a word's. Entries take divisions: image patches rose from 17% to 72% of a copy
/// when their columns were cut (floats, H200).
const COLUMN_COST: usize = 4;

/// Array of words, its axes from the result's last axis on, with strides in bytes.
#[derive(Clone, Debug)]
pub struct Words {
    axes: Vec<StridedAxis>,
    /// Indices of the axes from the source's last axis on.
    by_source: Vec<usize>,
    pub word: usize,
    alignment: usize,
}

/// Tile: its part of each axis, and the resulting sizes.
#[derive(Clone, Debug)]
pub struct Tile {
    /// Extents of the tile along the axes of the array.
    parts: Vec<usize>,
    /// Number of axes in a row, from the source's last axis on, and in a column, from the result's.
    line_axes: usize,
    run_axes: usize,
    /// Number of rows, and bytes of each.
    rows: usize,
    line: usize,
    /// Number of columns, and words of each.
    columns: usize,
    run: usize,
    granules: usize,
    packs: usize,
    /// Number of contiguous runs in the result, of one or more columns, and granules of each.
    stretches: usize,
    stretch_packs: usize,
    pitch: usize,
    held: usize,
    pub shared_bytes: usize,
    pub tiles: usize,
}

impl Words {
    /// Creates the array of words; a batch is one more axis.
    pub fn of(axes: &AxisPermutation, at: TargetParams) -> Lowered<Self> {
        let (word, unit) = at.words(axes.unit());
        let units = axes.without_unit();
        let mut strided: Vec<_> =
            units.strided_axes().map(|axis| axis.scaled(unit * word)).collect();
        if unit > 1 {
            strided.push(StridedAxis { extent: unit, src_stride: word, dst_stride: word });
        }
        if strided.is_empty() || strided.len() > TILE_AXES || axes.is_empty() {
            return Err(LowerError::NoKernel);
        }
        strided.sort_by_key(|axis| axis.dst_stride);
        let mut by_source: Vec<usize> = (0..strided.len()).collect();
        by_source.sort_by_key(|&k| strided[k].src_stride);
        Ok(Words { axes: strided, by_source, word, alignment: at.alignment })
    }

    /// Returns the words of a granule.
    fn pack(&self) -> usize {
        GRANULE / self.word
    }

    /// Extends `parts` axis by axis in `order`, until their contiguous run has about `words` words.
    fn grow(&self, parts: &mut [usize], order: impl Iterator<Item = usize>, words: usize) {
        let mut run = 1;
        for k in order {
            if run >= words {
                return;
            }
            let extent = self.axes[k].extent;
            let want = words.div_ceil(run);
            // Take the whole axis if at least two thirds are wanted.
            let part = if 2 * extent <= 3 * want {
                extent
            } else {
                let even = extent.div_ceil(extent.div_ceil(want));
                let step = if run.is_multiple_of(self.pack()) { 1 } else { self.pack() };
                even.next_multiple_of(step).min(extent)
            };
            parts[k] = parts[k].max(part);
            run *= parts[k];
            if parts[k] < extent {
                return;
            }
        }
    }

    /// Returns the number of first axes in `order` whose parts are one contiguous run: all of each axis except the last.
    fn together(&self, parts: &[usize], order: impl Iterator<Item = usize>) -> usize {
        let mut count = 0;
        for k in order {
            if count > 0 && parts[k] == 1 {
                break;
            }
            count += 1;
            if parts[k] < self.axes[k].extent {
                break;
            }
        }
        count
    }

    /// Returns the tile of these parts, or `None` if an axis is in neither rows nor columns. Shared-memory offsets take
    /// `place_bytes` bytes.
    pub fn tile(&self, parts: Vec<usize>, place_bytes: usize) -> Option<Tile> {
        let line_axes = self.together(&parts, self.by_source.iter().copied());
        let together = self.together(&parts, 0..parts.len());
        let in_line = |k: usize| self.by_source[..line_axes].contains(&k);
        let all = || (0..parts.len()).map(|k| (k, parts[k]));
        // Columns contain the axes that rows do not.
        let least = all().filter(|&(k, part)| part > 1 && !in_line(k)).map(|(k, _)| k + 1).max();
        let least = least.unwrap_or(1);
        if least > together {
            return None;
        }
        let tables = |&axes: &usize| {
            let count = |axes: &[usize]| axes.iter().product::<usize>();
            let (run, columns) = (count(&parts[..axes]), count(&parts[axes..]));
            (run * self.word < COLUMN_BYTES, run + COLUMN_COST * columns)
        };
        let run_axes = (least..=together).min_by_key(tables).unwrap_or(together);
        let product = |of: &dyn Fn(usize) -> bool| -> usize {
            all().filter(|&(k, _)| of(k)).map(|(_, part)| part).product()
        };
        let (rows, line) = (product(&|k| !in_line(k)), product(&in_line) * self.word);
        // `true` if every row, or column, of every tile starts at a granule.
        let begins = |inside: &dyn Fn(usize) -> bool, stride: &dyn Fn(&StridedAxis) -> usize| {
            let step = |(k, part): (usize, usize)| {
                let axis = &self.axes[k];
                match inside(k) {
                    true if part == axis.extent => 0,
                    true => part * stride(axis),
                    false => stride(axis),
                }
            };
            self.alignment >= GRANULE && all().all(|at| step(at).is_multiple_of(GRANULE))
        };
        let lies_in = |bytes: usize, begins: bool| {
            (bytes + if begins { 0 } else { GRANULE - self.word }).div_ceil(GRANULE)
        };
        let granules = lies_in(line, begins(&in_line, &|axis| axis.src_stride));
        // For columns of `axes` axes: their number, and words and granules of each.
        let cut = |axes: usize| {
            let run = product(&|k| k < axes);
            let begins = begins(&|k| k < axes, &|axis| axis.dst_stride);
            (product(&|k| k >= axes), run, lies_in(run * self.word, begins))
        };
        let (columns, run, packs) = cut(run_axes);
        let (stretches, _, stretch_packs) = cut(together);
        let pitch = (granules | 1) * GRANULE;
        let held = row_at(rows - 1, pitch, self.pack()) + pitch;
        let tables = (held + 8 * (rows + columns)).next_multiple_of(GRANULE);
        let places = run.next_multiple_of(8) * place_bytes;
        let shared_bytes = tables + places + 4 * (columns + TILE_AXES);
        let count = |all: Option<usize>, (k, part): (usize, usize)| {
            all?.checked_mul(self.axes[k].extent.div_ceil(part))
        };
        let tiles = all().fold(Some(1), count)?;
        Some(Tile {
            parts,
            line_axes,
            run_axes,
            rows,
            line,
            columns,
            run,
            granules,
            packs,
            stretches,
            stretch_packs,
            pitch,
            held,
            shared_bytes,
            tiles,
        })
    }

    /// Returns the tile that moves the fewest bytes and that `fits` accepts. A row costs `row` more bytes, a contiguous run of
    /// columns `column`, a tile `alone`. Rows and columns of up to `most` bytes are tried.
    pub fn best(
        &self,
        [row, column, alone]: [usize; 3],
        most: usize,
        fits: impl Fn(&Tile) -> bool,
    ) -> Option<Tile> {
        let sizes = || (5..).map(|log| 1usize << log).take_while(|&bytes| bytes <= most);
        let cost = |tile: &Tile| {
            let each = tile.rows * (tile.granules * GRANULE + row)
                + tile.stretches * (tile.stretch_packs * GRANULE + column)
                + alone;
            each.saturating_mul(tile.tiles)
        };
        let grown = |[line, run]: [usize; 2]| {
            let mut parts = vec![1; self.axes.len()];
            self.grow(&mut parts, self.by_source.iter().copied(), line.div_ceil(self.word));
            self.grow(&mut parts, 0..self.axes.len(), run.div_ceil(self.word));
            self.tile(parts, size_of::<u16>())
        };
        sizes()
            .flat_map(|line| sizes().map(move |run| [line, run]))
            .filter_map(grown)
            .filter(|tile| fits(tile))
            .min_by_key(cost)
    }

    /// Returns the tile that moves the fewest bytes and that `fits` accepts, with at most `blocks` tiles. Rows and columns cost
    /// as in [`best`](Self::best). Two axes are cut. Axes after one of them in the source, or after the other in the result,
    /// are whole; others have extent 1.
    pub fn split(
        &self,
        [row, column]: [usize; 2],
        blocks: usize,
        most_bytes: usize,
        fits: impl Fn(&Tile) -> bool,
    ) -> Option<Tile> {
        let cost = |tile: &Tile| {
            tile.rows * (tile.granules * GRANULE + row)
                + tile.stretches * (tile.stretch_packs * GRANULE + column)
        };
        let count = self.axes.len();
        // The last `line` axes of the source and the last `run` axes of the result are whole.
        let parts = |[line, run]: [usize; 2], cuts: [usize; 2]| {
            let mut parts = vec![1; count];
            // Cut at whole granules, unless steps along the axis are whole granules.
            let cut = |k: usize, behind: usize, into: usize| {
                let extent = self.axes[k].extent;
                let step = if behind.is_multiple_of(self.pack()) { 1 } else { self.pack() };
                extent.div_ceil(into).next_multiple_of(step).min(extent)
            };
            let words = |bytes: usize| bytes / self.word;
            let (k, axis) = (self.by_source[line], &self.axes[self.by_source[line]]);
            parts[k] = parts[k].max(cut(k, words(axis.src_stride), cuts[0]));
            parts[run] = parts[run].max(cut(run, words(self.axes[run].dst_stride), cuts[1]));
            self.by_source[..line].iter().chain(&(0..run).collect::<Vec<_>>()).for_each(|&k| {
                parts[k] = self.axes[k].extent;
            });
            parts
        };
        let right = |parts: &Vec<usize>| {
            let both = || parts.iter().zip(&self.axes);
            let tiles: usize = both().map(|(&part, axis)| axis.extent.div_ceil(part)).product();
            let words: usize = parts.iter().product();
            tiles <= blocks && words * self.word <= most_bytes
        };
        // Pairs whose product is at most `blocks`; neither number can grow.
        let cuts = || {
            let first = (1..=blocks).filter(move |&n| blocks / (blocks / n) == n);
            first.map(move |n| [n, blocks / n])
        };
        let sides = (0..count).flat_map(|line| (0..count).map(move |run| [line, run]));
        sides
            .flat_map(|side| cuts().map(move |cuts| parts(side, cuts)))
            .filter(right)
            .filter_map(|parts| self.tile(parts, size_of::<u32>()))
            .filter(|tile| fits(tile))
            .min_by_key(cost)
    }

    /// Returns the number of tiles per group along each axis: tiles within `near` bytes in source and result.
    fn group(&self, tile: &Tile, near: usize) -> Vec<usize> {
        let mut group = vec![1; self.axes.len()];
        let mut grow = |order: &mut dyn Iterator<Item = usize>,
                        stride: fn(&StridedAxis) -> usize| {
            for k in order {
                let (axis, part) = (&self.axes[k], tile.parts[k]);
                let tiles = axis.extent.div_ceil(part);
                let want = near.div_ceil(part * stride(axis)).clamp(1, tiles);
                // Groups of nearly equal length.
                group[k] = group[k].max(tiles.div_ceil(tiles.div_ceil(want)));
                if want < tiles {
                    return;
                }
            }
        };
        grow(&mut self.by_source.iter().copied(), |axis| axis.src_stride);
        grow(&mut (0..self.axes.len()), |axis| axis.dst_stride);
        group
    }

    /// Returns the tiles as the device's structure, in groups within `near` bytes, and the number of thread blocks.
    pub fn map(&self, tile: &Tile, near: usize) -> Lowered<(TileMap, usize)> {
        let group = self.group(tile, near);
        let (mut of_group, mut blocks) = (1usize, 1usize);
        let lines = &self.by_source[..tile.line_axes];
        let mut a = [none(); TILE_AXES];
        let (mut along, mut rows) = (self.word, 1);
        for &k in lines {
            a[k].along = field(along)?;
            along *= tile.parts[k];
        }
        for (k, axis) in self.axes.iter().enumerate() {
            let part = tile.parts[k];
            let tiles = axis.extent.div_ceil(part);
            let groups = tiles.div_ceil(group[k]);
            (of_group, blocks) = (of_group * group[k], blocks.saturating_mul(group[k] * groups));
            a[k].tiles = field(tiles)?;
            a[k].group = Divisor32::new(field(group[k])?);
            a[k].groups = Divisor32::new(field(groups)?);
            (a[k].from, a[k].to) = (axis.src_stride as u64, axis.dst_stride as u64);
            a[k].extent = field(part)?;
            a[k].last = field(axis.extent - (tiles - 1) * part)?;
            if part > 1 && !lines.contains(&k) {
                a[k].rows = field(rows)?;
                rows *= part;
            }
        }
        let line_axis = *lines.last().ok_or(LowerError::NoKernel)?;
        let beside = lines.iter().filter(|&&k| k >= tile.run_axes && tile.parts[k] > 1);
        let (mut column_axes, mut across_axes) = (0u64, 0);
        for &k in beside {
            column_axes |= (k as u64) << (4 * across_axes);
            across_axes += 1;
        }
        let wide = tile.packs.next_power_of_two().min(WIDE);
        let across = (WARP / wide).min(tile.columns.next_power_of_two());
        let map = TileMap {
            a,
            group: Divisor32::new(field(of_group)?),
            column_axes,
            axes: self.axes.len() as u32,
            run_axes: tile.run_axes as u32,
            across_axes,
            line_axis: line_axis as u32,
            line_step: field(tile.line / tile.parts[line_axis])?,
            run_step: field(tile.run / tile.parts[tile.run_axes - 1])?,
            rows: field(tile.rows)?,
            columns: field(tile.columns)?,
            run: field(tile.run)?,
            pitch: field(tile.pitch)?,
            granules: field(tile.granules)?,
            packs: field(tile.packs)?,
            held: field(tile.held)?,
            across: across.ilog2(),
        };
        Ok((map, blocks))
    }
}

/// Returns the offset of a row in shared memory: one granule of padding follows every `pack` rows, if `pack` exceeds 1.
fn row_at(row: usize, pitch: usize, pack: usize) -> usize {
    row * pitch + if pack > 1 { row / pack * GRANULE } else { 0 }
}

fn none() -> TileAxis {
    let one = Divisor32::new(1);
    let (group, groups) = (one, one);
    TileAxis {
        group,
        groups,
        from: 0,
        to: 0,
        tiles: 1,
        extent: 1,
        last: 1,
        along: 0,
        rows: 0,
        pad: 0,
    }
}
