//! Reversal of axes, and quarter turns of squares.

use turntile_perm::FlippedAxes;

use super::fit::{Lowered, Size, TargetParams, VECTOR_BYTES, field, tile_order};
use super::maps::{AxisDigit, axes64};
use crate::args::{Divisor32, Divisor64, FlipArgs, TurnArgs, zeroed};
use crate::error::LowerError;
use crate::family::Family;

/// Maximum bytes of a piece. A block stores it and its mirror image, so that six blocks share an H200 multiprocessor (not
/// measured).
const PIECE_BYTES: usize = 16 << 10;
/// Threads per block of `flip`, bytes of a piece per thread, and minimum threads per piece.
const FLIP_THREADS: usize = 256;
const THREAD_BYTES: usize = 64;
const LEAST_LANES: usize = 4;

/// Maximum bytes of a tile. `turn` stores four, so that three blocks share an H200 multiprocessor (not measured).
const TILE_BYTES: usize = 16 << 10;
/// Maximum bytes of an element that moves by tiles. Longer ones are runs.
const MOST_ELEMENT: usize = 512;
/// Maximum threads per block of `turn`, and threads per row of a tile.
const TURN_THREADS: usize = 512;
const ROW_LANES: usize = 8;
/// Bytes of a sector: rows of a tile are whole sectors if possible.
const SECTOR_BYTES: usize = 32;
/// Rows of tiles in a swath (a guess). Neighbouring tiles share cache lines.
const SWATH: usize = 8;

/// Returns the launch that reverses axes, which keep their order.
pub fn flip(axes: &FlippedAxes, at: TargetParams) -> Lowered {
    if !axes.is_flip() {
        return Err(LowerError::NoKernel);
    }
    let mut heads: Vec<(usize, bool)> =
        axes.strided_axes().map(|(axis, reversed)| (axis.extent, reversed)).collect();
    let run = heads.pop_if(|axis| !axis.1).map_or(1, |axis| axis.0);
    let units = heads.pop_if(|axis| axis.1).ok_or(LowerError::NoKernel)?.0;
    let rows = heads.pop_if(|axis| !axis.1).map_or(1, |axis| axis.0);
    let ((word, words), bytes) = (at.words(run), axes.len() * at.elem_bytes);
    let (unit, row) = (word * words, units * word * words);
    let piece_bytes = unit.min(PIECE_BYTES);
    let piece_units = (PIECE_BYTES / unit).clamp(1, units);
    let piece_rows = (PIECE_BYTES / row).clamp(1, rows);
    // If heads are reversed, only those in the first half of their first reversed axis have pieces. Otherwise only the first
    // half of each row has, unless whole rows do.
    let first = heads.iter().position(|axis| axis.1);
    let extent = first.map_or(1, |axis| heads[axis].0);
    let within: usize =
        heads[first.map_or(0, |axis| axis + 1)..].iter().map(|axis| axis.0).product();
    let all_heads: usize = heads.iter().map(|axis| axis.0).product();
    let half = extent.div_ceil(2) * within;
    let halved = first.is_none() && piece_units < units;
    let deep = unit.div_ceil(piece_bytes);
    let along = if halved { units / 2 } else { units }.div_ceil(piece_units);
    let down = rows.div_ceil(piece_rows);
    let pieces = all_heads / (extent * within) * half * down * along * deep;
    let span = piece_rows * piece_units * piece_bytes;
    let lanes = span.div_ceil(THREAD_BYTES).next_power_of_two().clamp(LEAST_LANES, FLIP_THREADS);
    // A piece may start at any address modulo 16.
    let held = span.next_multiple_of(VECTOR_BYTES) + VECTOR_BYTES;
    let (slots, limited) =
        (FLIP_THREADS / lanes, |bytes: usize| Divisor32::new(bytes.min(2 * PIECE_BYTES) as u32));
    let mut stride = 1;
    let digits: Vec<AxisDigit> = (heads.iter().rev())
        .map(|&(extent, _)| {
            stride *= extent;
            (extent, stride / extent)
        })
        .collect();
    let bit = |(k, axis): (usize, &(usize, bool))| u32::from(axis.1) << k;
    let reversed = heads.iter().rev().enumerate().map(bit).sum();
    let size = Size {
        blocks: pieces.div_ceil(slots),
        threads: FLIP_THREADS,
        shared_bytes: slots * 2 * held,
    };
    Ok(at.launch((Family::Flip, word, "flip"), size)?.with(FlipArgs {
        bytes: bytes as u64,
        pieces: pieces as u64,
        rows: rows as u64,
        units: units as u64,
        unit_bytes: unit as u64,
        piece_rows: field(piece_rows)?,
        piece_units: field(piece_units)?,
        piece_bytes: field(piece_bytes)?,
        lanes: lanes as u32,
        held: field(held)?,
        deep: Divisor64::new(deep as u64),
        along: Divisor64::new(along as u64),
        down: Divisor64::new(down as u64),
        half: Divisor64::new(half as u64),
        skipped: (extent * within - half) as u64,
        of_row: limited(row),
        of_unit: limited(unit),
        mirror: axes64((&digits, reversed), 1, 1)?,
        ..zeroed()
    }))
}

/// Returns the launch that rotates squares by a quarter turn, four tiles at a time.
pub fn turn(axes: &FlippedAxes, at: TargetParams) -> Lowered {
    let ([batch, side, unit], [rows, cols]) = axes.squares().ok_or(LowerError::NoKernel)?;
    let (word, words) = at.words(unit);
    let elem = word * words;
    if rows == cols || elem > MOST_ELEMENT {
        return Err(LowerError::NoKernel);
    }
    let most = (TILE_BYTES.min(at.limits.shared_bytes / 5) / elem).isqrt().max(1);
    let whole = SECTOR_BYTES >> elem.trailing_zeros().min(5);
    let most = if most >= whole { most / whole * whole } else { most };
    let tile = most.min(side.div_ceil(2));
    let row = (VECTOR_BYTES - word + tile * elem).div_ceil(VECTOR_BYTES);
    let held = (tile * row + tile / (VECTOR_BYTES / word) + 1) * VECTOR_BYTES;
    let tiles = [side / 2, side.div_ceil(2)].map(|half| half.div_ceil(tile));
    let (order, blocks) = tile_order(batch, tiles, SWATH)?;
    let threads = (tile * ROW_LANES).next_multiple_of(32).min(TURN_THREADS);
    let entry = if words == 1 { "turn_squares" } else { "turn_squares_several" };
    let size = Size { blocks, threads, shared_bytes: 4 * held };
    Ok(at.launch((Family::Turn, word, entry), size)?.with(TurnArgs {
        bytes: (axes.len() * at.elem_bytes) as u64,
        matrix_bytes: (side * side * elem) as u64,
        pitch: (side * elem) as u64,
        side: field(side)?,
        tile: field(tile)?,
        unit: field(words)?,
        row: field(row)?,
        rows_reversed: u32::from(rows),
        order,
        ..zeroed()
    }))
}
