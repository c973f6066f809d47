//! Rows a pitch apart: squares of elements of any size, long elements transposed, columns cut off, gaps saved and restored.

use turntile_perm::{Elementary, LeadingDims, PitchedRows};
use turntile_plan::{Direction, SavedGaps, StageMap};

use super::fit::{LaunchBuilder, Lowered, Size, TargetParams, field, pitch as on_chip_pitch};
use super::pad::{slide, spread};
use super::{into, tiles};
use crate::args::{Divisor32, Divisor64, GapArgs, UnitSwapArgs, UnitTurnArgs, zeroed};
use crate::error::LowerError;
use crate::family::Family;
use crate::launch::{CheckedLaunch, WorkspacePart};

/// Least bytes of an element that is swapped in place: it is a long run of memory itself.
const LONG_BYTES: usize = 384;

/// Elements along a side of a tile of such elements.
const LONG_TILE: usize = 8;

/// Bytes of two tiles of shorter elements.
const TILES_BYTES: usize = 32 << 10;

/// Most elements of a tile's side, and threads of a block, as `kernels/pitched_swap.cu` and `kernels/pitched.cu` have them.
const MOST_TILE: usize = 64;
const THREADS: usize = 256;
const GAP_THREADS: usize = 512;

/// Words of kept gaps that are worth a block.
const GAP_SHARE: usize = 16 << 10;

/// Bytes of a piece that is worth a block, where columns are copied.
const PIECE_BYTES: usize = 4096;

fn launch(
    word: usize,
    entry: &'static str,
    size: Size,
    at: TargetParams,
) -> Lowered<LaunchBuilder> {
    at.launch((Family::Pitched, word, entry), size)
}

/// A square of `side` by `side` elements whose rows lie `pitch` bytes apart, transposed where it lies by pairs of tiles;
/// of words by tiles of `tile` a side.
fn swap(side: usize, pitch: usize, tile: usize, at: TargetParams) -> Lowered {
    let (word, unit) = at.words(1);
    if unit == 1 {
        let e = Elementary { batch: 1, rows: side, mid: 1, cols: side, unit: 1 };
        return tiles::pitched_swap(e, pitch, tile, at);
    }
    let long = at.elem_bytes >= LONG_BYTES;
    // Whole eights of rows, where there are so many: runs then end where sectors do.
    let held = (TILES_BYTES / 2 / at.elem_bytes.min(LONG_BYTES)).isqrt() / 8 * 8;
    let held = held.clamp(8, MOST_TILE);
    let tile = if long { LONG_TILE } else { held }.min(side.max(1));
    let row = if long { 0 } else { on_chip_pitch(tile * at.elem_bytes, word) };
    // The words of a tile's row are counted in 32 bits, and by a block's threads beyond.
    field(tile.saturating_mul(unit).saturating_add(THREADS))?;
    let across = side.div_ceil(tile);
    let pairs = across.checked_mul(across + 1).ok_or(LowerError::NoKernel)? / 2;
    let size = Size { blocks: pairs, threads: THREADS, shared_bytes: 2 * tile * row };
    Ok(at.launch((Family::PitchedSwap, word, "pitched_swap"), size)?.with(UnitSwapArgs {
        pitch: pitch as u64,
        side: field(side)?,
        across: field(across)?,
        pairs: field(pairs)?,
        tile: field(tile)?,
        row: field(row)?,
        unit: Divisor32::new(field(unit)?),
        ..zeroed()
    }))
}

/// A matrix transposed from one place to another, its rows `pitches` bytes apart before and after. Both places, and both
/// pitches, are as aligned as `at` says.
fn turn([rows, cols]: [usize; 2], pitches: [usize; 2], at: TargetParams) -> Lowered {
    let (_, unit) = at.words(1);
    if unit == 1 || at.elem_bytes < LONG_BYTES {
        return into::pitched([rows, cols], pitches, at);
    }
    turn_words([rows, cols], pitches, at)
}

/// Transposes long elements into another buffer, word by word.
fn turn_words([rows, cols]: [usize; 2], pitches: [usize; 2], at: TargetParams) -> Lowered {
    let (word, unit) = at.words(1);
    let words = rows * cols * unit;
    let blocks = words.div_ceil(THREADS).min(at.limits.units * 8);
    let size = Size { blocks, threads: THREADS, shared_bytes: 0 };
    Ok(launch(word, "pitched_turn", size, at)?.with(UnitTurnArgs {
        words: words as u64,
        from_pitch: pitches[0] as u64,
        to_pitch: pitches[1] as u64,
        row: Divisor64::new((rows * unit) as u64),
        unit: Divisor64::new(unit as u64),
        word: word as u32,
        ..zeroed()
    }))
}

/// Equal pitches: the square that source and result share where it lies, then the [remainder](LeadingDims::remainder).
pub fn turn_in_place(
    leading: &LeadingDims,
    tile: usize,
    at: TargetParams,
) -> Lowered<Vec<CheckedLaunch>> {
    let source = leading.source();
    if source.pitch() != leading.result().pitch() {
        return Err(LowerError::NoKernel);
    }
    let (side, pitch) = (source.rows().min(source.cols()), source.pitch() * at.elem_bytes);
    let square = (side > 1).then(|| swap(side, pitch, tile, at));
    let (sides, [from, to]) = leading.remainder(at.elem_bytes);
    let rest = !sides.contains(&0);
    let rest = rest.then(|| turn(sides, [pitch; 2], at.and(&[pitch, from, to])));
    square.into_iter().chain(rest).collect()
}

/// Transposed into the workspace, and copied out row by row.
pub fn through(leading: &LeadingDims, at: TargetParams) -> Lowered<Vec<CheckedLaunch>> {
    let (source, result) = (leading.source(), leading.result());
    let pitches = [source.pitch(), result.cols()].map(|pitch| pitch * at.elem_bytes);
    let turn = turn([source.rows(), source.cols()], pitches, at.and(&pitches))?;
    let out = result.scaled(at.elem_bytes).ok_or(LowerError::NoKernel)?;
    Ok(vec![turn, spread(out, at)?])
}

/// Where columns that are cut off lie, so many bytes from the matrix's start: before, and after.
pub fn cut_places(rows: PitchedRows, elem_bytes: usize) -> [usize; 2] {
    [rows.cols() * elem_bytes, rows.len() * elem_bytes]
}

/// Columns cut off, or put back: they are in the workspace while the others slide, by blocks of `block` bytes.
pub fn cut(
    rows: PitchedRows,
    direction: Direction,
    block: usize,
    at: TargetParams,
) -> Lowered<Vec<CheckedLaunch>> {
    let in_bytes = rows.scaled(at.elem_bytes).filter(|rows| !rows.is_dense());
    let in_bytes = in_bytes.ok_or(LowerError::NoKernel)?;
    let sliding = StageMap::Cut { rows, direction }.slide().ok_or(LowerError::NoKernel)?;
    let (columns, column) = (rows.pitch() - rows.cols(), rows.rows() * at.elem_bytes);
    let (mut sides, mut pitches) = ([rows.rows(), columns], [in_bytes.pitch(), column]);
    let backward = direction == Direction::Backward;
    if backward {
        sides.reverse();
        pitches.reverse();
    }
    let all = at.and(&[pitches[0], pitches[1], in_bytes.cols()]);
    // How tiles of several words lie best on chip takes longer to find than it saves.
    let turned = match all.words(1) {
        (_, 1) => into::pitched(sides, pitches, all)?,
        _ => turn_words(sides, pitches, all)?,
    };
    // Columns in equal pieces, one for every multiprocessor where that can be.
    let most = (at.limits.units / columns).min(column / PIECE_BYTES).max(1);
    let parts = (1..=most).rev().find(|&parts| column.is_multiple_of(parts)).unwrap_or(1);
    let pieces = PitchedRows::new(columns * parts, column / parts, column / parts);
    let copied = spread(pieces.ok_or(LowerError::NoKernel)?, at)?;
    let mut calls = vec![turned, slide(sliding, block, at)?, copied];
    if backward {
        calls.reverse();
    }
    Ok(calls)
}

/// Saves the contents of a matrix's gaps to the workspace, or restores them.
pub fn gaps(gaps: &SavedGaps, direction: Direction, at: TargetParams) -> Lowered {
    let (word, unit) = at.words(1);
    let total = gaps.count() * unit;
    if total == 0 {
        return Err(LowerError::NoKernel);
    }
    let in_words = |rows: PitchedRows| rows.scaled(unit).ok_or(LowerError::NoKernel);
    let (source, result) = (in_words(gaps.leading().source())?, in_words(gaps.leading().result())?);
    let (few, other) =
        if source.rows() <= result.rows() { (source, result) } else { (result, source) };
    let len = gaps.dense_len() * unit;
    let params = GapArgs {
        len: len as u64,
        windows: len.saturating_sub(few.cols()).div_ceil(few.pitch()) as u64,
        cols: few.cols() as u64,
        pitch: few.pitch() as u64,
        other_cols: other.cols() as u64,
        total: total as u64,
        other: Divisor64::new(other.pitch() as u64),
        other_gap: Divisor64::new((other.pitch() - other.cols()) as u64),
        word: word as u32,
        ..zeroed()
    };
    let entry = match direction {
        Direction::Forward => "gaps_keep",
        Direction::Backward => "gaps_restore",
    };
    let blocks = total.div_ceil(GAP_SHARE).min(at.limits.units * 4);
    let size = Size { blocks, threads: GAP_THREADS, shared_bytes: 0 };
    Ok(launch(word, entry, size, at)?.using(WorkspacePart::Saved(total * word), params))
}
