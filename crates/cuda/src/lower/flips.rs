//! Reversal of axes, and quarter turns of squares.

use turntile_perm::FlippedAxes;

use super::fit::{Lowered, Size, TargetParams, VECTOR_BYTES, field, tile_order, vector_bytes};
use super::maps::{AxisDigit, axes64};
use super::tiles::LINE;
use crate::args::{Divisor32, Divisor64, FlipArgs, TurnArgs, zeroed};
use crate::banks::WARP;
use crate::error::LowerError;
use crate::family::Family;

/// Maximum bytes of a piece. A block stores it and its mirror image, so that six blocks share an H200 multiprocessor (not
/// measured).
const PIECE_BYTES: usize = 16 << 10;
/// Threads per block of `flip`, bytes of a piece per thread, and minimum threads per piece.
const FLIP_THREADS: usize = 256;
const THREAD_BYTES: usize = 64;
const LEAST_LANES: usize = 4;

/// Maximum bytes of a tile, and of a matrix that is one tile. Three blocks with four tiles share an H200 multiprocessor (not
/// measured).
const TILE_BYTES: usize = 16 << 10;
/// Maximum bytes of an element that moves by tiles. Longer ones are runs.
const MOST_ELEMENT: usize = 512;
/// Maximum threads per cycle of tiles in vectors; threads per thread block with several cycles, and maximum threads per cycle in
/// granules; maximum threads per row of a tile in granules.
const TURN_THREADS: usize = 512;
const SHARED_THREADS: usize = 256;
const ROW_LANES: usize = 8;
/// Rows of a tile whose addresses modulo 16 differ: the rows of a thread are a multiple of this apart.
const SKEWS: usize = 16;
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

/// Returns the launch that rotates squares by a quarter turn, four tiles at a time. A small square is one tile.
pub fn turn(axes: &FlippedAxes, at: TargetParams) -> Lowered {
    let ([batch, side, unit], [rows, cols]) = axes.squares().ok_or(LowerError::NoKernel)?;
    let (word, words) = at.words(unit);
    let (elem, pitch) = (word * words, side * word * words);
    if rows == cols || elem > MOST_ELEMENT {
        return Err(LowerError::NoKernel);
    }
    let vector = vector_bytes(word);
    let in_vectors = words == 1 && at.alignment >= vector && pitch.is_multiple_of(vector);
    let (entry, piece) =
        if in_vectors { ("turn_squares", vector) } else { ("turn_squares_granules", VECTOR_BYTES) };
    // Elements of a vector. In granules, tiles begin at any element.
    let whole = if in_vectors { vector / word } else { 1 };
    let row_of = |tile: usize| match in_vectors {
        true => tile / whole,
        false => (VECTOR_BYTES - word + tile * elem).div_ceil(VECTOR_BYTES),
    };
    let held_of = |tile: usize| tile * row_of(tile) + tile / (piece / word) + 1;
    let most_bytes = TILE_BYTES.min(at.limits.shared_bytes / 5);
    let half = side / whole / 2 * whole;
    let is_tile = side.saturating_mul(pitch) <= most_bytes || half == 0;
    let most = (most_bytes / elem).isqrt().max(1);
    let steps = match in_vectors {
        true if pitch.is_multiple_of(LINE) => LINE / word,
        true => whole,
        false => SECTOR_BYTES >> elem.trailing_zeros().min(5),
    };
    let most = if most >= steps { most / steps * steps } else { most / whole * whole }.max(whole);
    let (images, quarter) = if is_tile { (1, [side; 2]) } else { (4, [half, side - half]) };
    let tile = if is_tile { side } else { most.min(side - half) };
    let (order, cycles) = tile_order(batch, quarter.map(|extent| extent.div_ceil(tile)), SWATH)?;
    let (row, held) = (row_of(tile), held_of(tile));
    let (threads, lanes) = if in_vectors {
        ((images * (tile / whole) * (tile / whole)).min(TURN_THREADS), 1)
    } else {
        let lanes = row.next_power_of_two().min(ROW_LANES);
        let rows = (images * tile * tile * elem).div_ceil(lanes * THREAD_BYTES);
        let rows = rows.clamp(1, tile.min(SHARED_THREADS / lanes)).next_multiple_of(SKEWS);
        (lanes * rows, lanes)
    };
    let slots = (SHARED_THREADS / threads).clamp(1, cycles.max(1));
    let size = Size {
        blocks: cycles.div_ceil(slots),
        threads: (slots * threads).next_multiple_of(WARP),
        shared_bytes: slots * images * held * piece,
    };
    Ok(at.launch((Family::Turn, word, entry), size)?.with(TurnArgs {
        bytes: (axes.len() * at.elem_bytes) as u64,
        matrix_bytes: (side * pitch) as u64,
        pitch: pitch as u64,
        side: field(side)?,
        tile: field(tile)?,
        rows: field(quarter[0])?,
        images: images as u32,
        cycles: field(cycles)?,
        threads: threads as u32,
        lanes: lanes as u32,
        unit: field(words)?,
        row: field(row)?,
        held: field(held)?,
        rows_reversed: u32::from(rows),
        slots: slots as u32,
        order,
        ..zeroed()
    }))
}
