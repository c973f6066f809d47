//! Involutive axis permutations by swaps of tile pairs.

use turntile_perm::{AxisPermutation, Elementary, StridedAxis, TilePairs};

use super::fit::{Lowered, Size, TargetParams, field, vector_bytes};
use crate::args::{MOST_TILE_DIGITS, SwapAxesArgs, TileDigit, zeroed};
use crate::error::LowerError;
use crate::family::Family;

/// Bytes of a word, and bytes of a tile with rows and columns of whole vectors, and of other tiles. Best of 12 to 40 KB for
/// axes of 20, 22, 23, 37, 53, 64, 113 and 128 on an H200 (`benches/records/h200/swap_axes.csv`).
const TILE_BYTES: [(usize, [usize; 2]); 5] = [
    (1, [40_000, 40_000]),
    (2, [33_000, 33_000]),
    (4, [26_000, 22_500]),
    (8, [29_000, 29_000]),
    (16, [26_000, 26_000]),
];
/// Maximum bytes of shared memory per block, and threads, measured with `TILE_BYTES`: about 1500 threads per multiprocessor.
const THREADS: [(usize, usize); 3] = [(28 << 10, 256), (45 << 10, 384), (usize::MAX, 512)];
/// Name of the kernel that moves rows of any alignment.
const GRANULES: &str = "swap_axes_granules";
/// Bytes of a granule.
const GRANULE: usize = 16;
/// Tiles across a group, and tiles across a square from which groups are used. Six axes of 20 floats ran at 68% of a copy, and
/// at 76% with groups.
const GROUP: usize = 4;
const GROUPED_FROM: usize = 32;

/// Returns the launch that swaps pairs of axes of an array.
pub fn swap(axes: &AxisPermutation, at: TargetParams) -> Lowered {
    let (word, words) = at.words(axes.unit());
    let axes = in_words(axes, words)?;
    let row = TILE_BYTES.iter().find(|row| row.0 == word).ok_or(LowerError::NoKernel)?;
    let [vectors, granules] = row.1.map(|bytes| bytes / word);
    let whole = vector_bytes(word) / word;
    let in_vectors = || {
        let tiles = TilePairs::new(&axes, vectors, whole)?;
        let aligned = at.alignment >= vector_bytes(word) && tiles.is_multiple_of(whole);
        (aligned && tiles.are_transposed()).then_some((tiles, true))
    };
    let in_granules = || TilePairs::new(&axes, granules, 1).map(|tiles| (tiles, false));
    let (tiles, in_vectors) = in_vectors().or_else(in_granules).ok_or(LowerError::NoKernel)?;
    let (rows, cols) = (tiles.rows(), tiles.cols());
    let (entry, row, shared_bytes) = if in_vectors {
        let row = cols / whole;
        let tile = (cols * row + row) * vector_bytes(word);
        ("swap_axes_vectors", row, rows.next_multiple_of(2) * 8 + 2 * tile)
    } else {
        let (row, shared_bytes) = granules_of([rows, cols], word);
        (GRANULES, row, shared_bytes)
    };
    let across = tiles.across();
    let Order { group, blocks, size } = order(across, tiles.squares(), shared_bytes);
    let launch = at.launch((Family::SwapAxes, word, entry), size)?;
    let split = tiles.split();
    let kinds = tiles.digits();
    let digits: Vec<TileDigit> =
        kinds.iter().flat_map(|digits| numbered(digits)).collect::<Result<_, _>>()?;
    let mut all = [zeroed(); MOST_TILE_DIGITS];
    all.get_mut(..digits.len()).ok_or(LowerError::NoKernel)?.copy_from_slice(&digits);
    let [turned, within, pairs, fixed] = kinds.map(|digits| digits.len() as u32);
    Ok(launch.with(SwapAxesArgs {
        bytes: (axes.len() * word) as u64,
        rows: field(rows)?,
        cols: field(cols)?,
        piece: field(tiles.piece())?,
        extent: field(split.extent)?,
        parts: field(split.extent.div_ceil(tiles.piece()))?,
        stays: u32::from(split.stays()),
        across: field(across)?,
        blocks: field(blocks)?,
        group: field(group)?,
        row: field(row)?,
        turned,
        within,
        pairs,
        fixed,
        digits: all,
        ..zeroed()
    }))
}

/// Returns the launch that transposes square matrices of words in place by tiles of `tile` by `tile` words. Rows are `pitch`
/// bytes apart, with any alignment.
pub fn squares(e: Elementary, pitch: usize, tile: usize, at: TargetParams) -> Lowered {
    let Elementary { batch, rows: side, mid, .. } = e;
    let (word, tile) = (at.elem_bytes, tile.min(side));
    let pitch_words = pitch / word;
    let (row, shared_bytes) = granules_of([tile; 2], word);
    let across = side.div_ceil(tile);
    let Order { group, blocks, size } = order(across, batch.saturating_mul(mid), shared_bytes);
    let launch = at.launch((Family::SwapAxes, word, GRANULES), size)?;
    let digit = |extent, before, [stride, partner]: [usize; 2]| {
        let (stride, partner) = (stride as u64, partner as u64);
        Ok(TileDigit { extent: field(extent)?, before: field(before)?, stride, partner })
    };
    let mut digits = [zeroed(); MOST_TILE_DIGITS];
    digits[0] = digit(tile, 1, [1, pitch_words])?;
    digits[1] = digit(across, 1, [tile, tile * pitch_words])?;
    digits[2] = digit(mid, 1, [side, 0])?;
    digits[3] = digit(batch, mid, [side * pitch_words, 0])?;
    Ok(launch.with(SwapAxesArgs {
        bytes: ((batch * side).saturating_sub(1) * pitch + mid * side * word) as u64,
        rows: field(tile)?,
        cols: field(tile)?,
        piece: field(tile)?,
        extent: field(side)?,
        parts: field(across)?,
        across: field(across)?,
        blocks: field(blocks)?,
        group: field(group)?,
        row: field(row)?,
        turned: 1,
        pairs: 1,
        fixed: 2,
        digits,
        ..zeroed()
    }))
}

/// Returns the granules of a tile's row, and the bytes of shared memory of two tiles with their tables.
fn granules_of([rows, cols]: [usize; 2], word: usize) -> (usize, usize) {
    let row = (GRANULE - word + cols * word).div_ceil(GRANULE);
    let tile = rows * row + rows / (GRANULE / word) + 1;
    let tables = (rows * 12 + 2 * cols * 4).div_ceil(GRANULE);
    (row, (tables + 2 * tile) * GRANULE)
}

/// Tiles across a group, thread blocks per square of tiles, and size of the launch.
struct Order {
    group: usize,
    blocks: usize,
    size: Size,
}

/// Returns the order of `squares` squares of `across` by `across` tiles, two tiles per thread block.
fn order(across: usize, squares: usize, shared_bytes: usize) -> Order {
    let group = if across >= GROUPED_FROM { GROUP } else { 1 };
    let groups = across.div_ceil(group);
    let blocks = groups.checked_mul(groups + 1).map_or(usize::MAX, |twice| twice / 2);
    let blocks = blocks.saturating_mul(group * group);
    let threads = THREADS.iter().find(|row| shared_bytes <= row.0).map_or(512, |row| row.1);
    let size = Size { blocks: squares.saturating_mul(blocks), threads, shared_bytes };
    Order { group, blocks, size }
}

/// Returns the permutation with the `words` words of a super-element as the last axis.
fn in_words(axes: &AxisPermutation, words: usize) -> Lowered<AxisPermutation> {
    let units = axes.without_unit();
    let mut extents = units.extents().to_vec();
    let mut order: Vec<usize> = units.order().collect();
    order.push(extents.len());
    extents.push(words);
    AxisPermutation::new(&extents, &order).map_err(|_| LowerError::NoKernel)
}

/// Converts digits to the device's structure.
fn numbered(digits: &[StridedAxis]) -> impl Iterator<Item = Lowered<TileDigit>> + '_ {
    digits.iter().scan(1, |before, digit| {
        let tile = || {
            Ok(TileDigit {
                extent: field(digit.extent)?,
                before: field(*before)?,
                stride: digit.src_stride as u64,
                partner: digit.dst_stride as u64,
            })
        };
        let tile = tile();
        *before *= digit.extent;
        Some(tile)
    })
}
