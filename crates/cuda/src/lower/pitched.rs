//! Rows with a pitch: squares of elements of any size, transposition of long elements, cut columns, saved gaps.

use turntile_perm::{Elementary, LeadingDims, PitchedRows};
use turntile_plan::{Direction, SavedGaps, StageMap};

use super::fit::{LaunchBuilder, Lowered, Size, TargetParams, field, pitch as on_chip_pitch};
use super::pad::{slide, spread};
use super::{into, tiles};
use crate::args::{Divisor32, Divisor64, GapArgs, UnitSwapArgs, UnitTurnArgs, zeroed};
use crate::error::LowerError;
use crate::family::Family;
use crate::launch::{CheckedLaunch, WorkspacePart};

/// Minimum bytes of a long element. It is a long contiguous run, so that its moves need no shared memory.
const LONG_BYTES: usize = 384;

/// Elements along the side of a tile of long elements.
const LONG_TILE: usize = 8;

/// Bytes of shared memory for two tiles of shorter elements.
const TILES_BYTES: usize = 32 << 10;

/// Maximum elements of a tile's side, and threads per block, as in `kernels/pitched_swap.cu` and `kernels/pitched.cu`.
const MOST_TILE: usize = 64;
const THREADS: usize = 256;
const GAP_THREADS: usize = 512;

/// Number of saved gap words per thread block, unless that takes too many blocks.
const GAP_SHARE: usize = 16 << 10;

/// Minimum bytes of a piece of a column; pieces are copied by separate thread blocks.
const PIECE_BYTES: usize = 4096;

fn launch(
    word: usize,
    entry: &'static str,
    size: Size,
    at: TargetParams,
) -> Lowered<LaunchBuilder> {
    at.launch((Family::Pitched, word, entry), size)
}

/// Returns the launch that transposes a square of `side` by `side` elements in place by tile pairs, with rows `pitch` bytes
/// apart. Elements of one word use tiles of side `tile`.
fn swap(side: usize, pitch: usize, tile: usize, at: TargetParams) -> Lowered {
    let (word, unit) = at.words(1);
    if unit == 1 {
        let e = Elementary { batch: 1, rows: side, mid: 1, cols: side, unit: 1 };
        return tiles::pitched_swap(e, pitch, tile, at);
    }
    let long = at.elem_bytes >= LONG_BYTES;
    // A multiple of 8 rows, so that runs end at sectors.
    let held = (TILES_BYTES / 2 / at.elem_bytes.min(LONG_BYTES)).isqrt() / 8 * 8;
    let held = held.clamp(8, MOST_TILE);
    let tile = if long { LONG_TILE } else { held }.min(side.max(1));
    let row = if long { 0 } else { on_chip_pitch(tile * at.elem_bytes, word) };
    // The kernel counts the words of a tile's row, and up to `THREADS` more, in 32 bits.
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

/// Returns the launch that transposes a matrix out of place, with rows `pitches` bytes apart in source and result.
/// Both buffers and both pitches must be aligned to `at.alignment`.
fn turn([rows, cols]: [usize; 2], pitches: [usize; 2], at: TargetParams) -> Lowered {
    let (_, unit) = at.words(1);
    if unit == 1 || at.elem_bytes < LONG_BYTES {
        return into::pitched([rows, cols], pitches, at);
    }
    turn_words([rows, cols], pitches, at)
}

/// Returns the launch that transposes multi-word elements into another buffer, word by word.
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

/// Returns the launches for equal pitches. First the square that source and result share is transposed in place, then the
/// [remainder](LeadingDims::remainder) out of place.
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

/// Returns the launches that transpose into the workspace and copy the rows to the result.
pub fn through(leading: &LeadingDims, at: TargetParams) -> Lowered<Vec<CheckedLaunch>> {
    let (source, result) = (leading.source(), leading.result());
    let pitches = [source.pitch(), result.cols()].map(|pitch| pitch * at.elem_bytes);
    let turn = turn([source.rows(), source.cols()], pitches, at.and(&pitches))?;
    let out = result.scaled(at.elem_bytes).ok_or(LowerError::NoKernel)?;
    Ok(vec![turn, spread(out, at)?])
}

/// Returns the offsets of the cut columns from the start of the matrix, in bytes: before and after the cut.
pub fn cut_places(rows: PitchedRows, elem_bytes: usize) -> [usize; 2] {
    [rows.cols() * elem_bytes, rows.len() * elem_bytes]
}

/// Returns the launches that cut columns, or join them if backward. The columns are in the workspace while the others slide by
/// blocks of `block` bytes.
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
    // For elements of several words, the search for the best tile layout takes longer than it saves.
    let turned = match all.words(1) {
        (_, 1) => into::pitched(sides, pitches, all)?,
        _ => turn_words(sides, pitches, all)?,
    };
    // Columns in equal pieces, if possible one per multiprocessor.
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

/// Returns the launch that saves the contents of gaps to the workspace, or restores them if backward.
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
