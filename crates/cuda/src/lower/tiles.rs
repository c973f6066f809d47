//! Lowering of moves by square tiles, and by tiles of cubes.

use std::ops::Range;

use turntile_perm::Elementary;

use super::fit::{Lowered, Size, TargetParams, field, groups, vector_bytes};
use super::swap_axes;
use crate::args::{ApartArgs, CubeArgs, SquareArgs, TilesArgs, zeroed};
use crate::error::LowerError;
use crate::family::Family;
use crate::launch::{CheckedLaunch, widest_word};
use crate::strategy::Scope;

/// Kernel, and the words that it is compiled for, in bytes.
type Compiled = (&'static str, &'static [usize]);

/// Side of a tile, kernel that swaps two tiles, and kernel that transposes one in place.
const SIDES: [(usize, Compiled, Compiled); 4] = [
    (16, ("square_swap_16", &[16]), ("tiles_16", &[16])),
    (32, ("square_swap_32", &[8]), ("tiles_32", &[4, 8, 16])),
    (64, ("square_swap_64", &[4]), ("tiles_64", &[1, 2, 4, 8, 16])),
    (128, ("square_swap_128", &[1, 2, 4]), ("tiles_128", &[1, 2, 4, 8])),
];

/// Returns the kernel that swaps two tiles of this side and the one that transposes one, if compiled for the word.
fn entries(word: usize, tile: usize) -> [Option<&'static str>; 2] {
    let compiled = |(entry, words): Compiled| words.contains(&word).then_some(entry);
    let row = SIDES.iter().find(|row| row.0 == tile);
    row.map_or([None; 2], |&(_, swap, in_place)| [swap, in_place].map(compiled))
}

/// Bytes of a word, side of a tile that is moved in granules, and threads per block, as in `kernels/granules.cuh`.
const GRANULES: [(usize, usize, usize); 4] =
    [(1, 208, 512), (2, 120, 512), (4, 108, 512), (8, 62, 256)];
/// Bytes of a granule.
const GRANULE: usize = 16;
/// Minimum number of granule tiles across a matrix: fewer leave multiprocessors idle.
const LEAST_ACROSS: usize = 16;
/// Bytes of a cache line. Neighbouring tiles share lines unless rows are whole lines.
pub const LINE: usize = 128;
/// Tiles across a group, and bytes of a row of tiles with its mirror image from which groups are used. Percent of a copy
/// without and with groups (H200, floats): 10000x10000 76, 82; 23000x23000 66, 80; 5000x5000 85, 85; 4100x4100 86, 82.
const GROUP: usize = 8;
const GROUPED_FROM: usize = 3 << 20;

/// Returns the threads per tile and the tiles per thread block, as in `kernels/tiles.cuh`.
fn geometry(word: usize, tile: usize) -> (usize, usize) {
    let side = tile * word / vector_bytes(word);
    let threads = (side * side).min(256);
    (threads, 256 / threads)
}

/// Returns the number of threads that swap two tiles: 1024 for the 1024 micro-blocks of 128 x 128 floats.
fn swap_threads(word: usize, tile: usize) -> usize {
    if (word, tile) == (4, 128) { 1024 } else { geometry(word, tile).0 }
}

/// Returns side, threads and bytes of shared memory of tiles moved in granules; `None` if the word has no such tiles.
fn granules(word: usize) -> Option<(usize, usize, usize)> {
    let &(_, tile, threads) = GRANULES.iter().find(|row| row.0 == word)?;
    let row = (GRANULE - word + tile * word).div_ceil(GRANULE);
    let held = tile * row + tile / (GRANULE / word) + 1;
    Some((tile, threads, 2 * held * GRANULE))
}

/// Returns the side of tiles for squares of any alignment that are too small for granule tiles.
pub const fn small_tile(word: usize) -> usize {
    if word <= 4 { 64 } else { 32 }
}

/// Returns the launch that transposes square matrices, adjacent in a row or contiguous, in place by tile pairs.
pub fn swap(e: Elementary, tile: usize, at: TargetParams) -> Lowered {
    pitched_swap(e, e.mid * e.cols * at.elem_bytes, tile, at)
}

/// Returns the launch that transposes square matrices in place by tile pairs, with rows `pitch` bytes apart.
pub fn pitched_swap(e: Elementary, pitch: usize, tile: usize, at: TargetParams) -> Lowered {
    if e.rows != e.cols || e.unit != 1 {
        return Err(LowerError::NoKernel);
    }
    let (word, 1) = at.words(1) else { return Err(LowerError::NoKernel) };
    let row = e.cols * word;
    let aligned = widest_word(&[at.alignment, row, pitch]) >= vector_bytes(word);
    let in_granules = granules(word).filter(|&(tile, _, shared)| {
        e.rows >= LEAST_ACROSS * tile && shared <= at.limits.shared_bytes
    });
    let lines = pitch.is_multiple_of(LINE) && (e.mid == 1 || row.is_multiple_of(LINE));
    // Tiles of 32 words of 8 bytes have short rows. If tiles share lines, granule tiles, with longer rows, are used.
    let vectors = aligned && (word != 8 || lines || in_granules.is_none());
    let (entry, tile, threads, shared_bytes) = match (entries(word, tile)[0], in_granules) {
        (Some(entry), _) if vectors => {
            (entry, tile, swap_threads(word, tile), 2 * tile * tile * word)
        }
        // Rows of any alignment.
        (_, Some((tile, threads, shared))) => ("square_swap_granules", tile, threads, shared),
        _ => return swap_axes::squares(e, pitch, small_tile(word), at),
    };
    let across = e.rows.div_ceil(tile);
    let grouped = !lines && 2 * tile * tile * word * across >= GROUPED_FROM;
    let group = if grouped { GROUP } else { 1 };
    let groups_across = across.div_ceil(group);
    let pairs = groups_across * (groups_across + 1) / 2 * group * group;
    let blocks = e.batch * e.mid * pairs;
    let launch = at.launch((Family::Tiles, word, entry), Size { blocks, threads, shared_bytes })?;
    Ok(launch.with(SquareArgs {
        pitch: pitch as u64,
        batch_bytes: (e.rows * pitch) as u64,
        side: field(e.rows)?,
        across: field(across)?,
        pairs: field(pairs)?,
        mid: field(e.mid)?,
        group: field(group)?,
        ..zeroed()
    }))
}

/// Granules of a tile's row, tiles in shared memory (two pairs), and thread blocks per multiprocessor of `square_swap_apart`.
const APART_ROW: usize = 16;
const APART_HELD: usize = 4;
const APART_BLOCKS: usize = 2;

/// Bytes of a piece of a run in `square_swap_apart`.
const APART_PIECE: usize = 16 << 10;

/// Square tiles of a block of a matrix, or one rectangle.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Squares {
    /// Numbers of elements along the sides of a square, equal unless the block is one rectangle.
    pub sides: [usize; 2],
    /// Numbers of rows and columns of squares in the block.
    pub across: [usize; 2],
    /// Number of elements from the start of a row of the matrix to the next.
    pub pitch: usize,
}

/// A block that is swapped with its mirror block.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum PeerBlock {
    /// Squares, each transposed; the mirror block of a rectangle is its transpose.
    Squares(Squares),
    /// Bytes in order.
    Run(usize),
}

/// Returns three launches. Two swap a block with its mirror block, half of the tile pairs each; the third transposes a block that
/// is its own mirror block.
///
/// Several squares must each be at least a tile, with rows of whole granules. `at.alignment` is that of both blocks.
pub fn apart(block: PeerBlock, at: TargetParams) -> Lowered<[CheckedLaunch; 3]> {
    let (Squares { sides: [rows, cols], across: [down, beside], pitch }, word) = match block {
        PeerBlock::Squares(squares) => (squares, at.words(1).0),
        PeerBlock::Run(bytes) => {
            let word = if widest_word(&[at.alignment, bytes]) < GRANULE { 4 } else { GRANULE };
            (Squares { sides: [bytes / word, 1], across: [1, 1], pitch: 1 }, word)
        }
    };
    let (is_run, several) = (matches!(block, PeerBlock::Run(_)), down * beside > 1);
    let bytes = |words: usize| words.checked_mul(word).ok_or(LowerError::NoKernel);
    let lengths = [at.alignment, bytes(rows)?, bytes(cols)?, bytes(pitch)?];
    let granule = if is_run || widest_word(&lengths) < GRANULE { word } else { GRANULE };
    let whole = match block {
        PeerBlock::Squares(_) => word >= 4 && word == at.elem_bytes,
        PeerBlock::Run(bytes) => bytes.is_multiple_of(word) && at.alignment >= word,
    };
    let tile = if is_run { APART_PIECE / word } else { APART_ROW * GRANULE / word };
    if !whole || several && (rows != cols || rows < tile || granule < GRANULE) {
        return Err(LowerError::NoKernel);
    }
    let across = cols.div_ceil(tile);
    let shared_bytes = APART_HELD * if is_run { APART_PIECE } else { APART_ROW * GRANULE * tile };
    let part = |pairs: usize, part: fn(usize) -> Range<usize>| {
        let all = (down * beside).checked_mul(pairs).ok_or(LowerError::NoKernel)?;
        // The kernel steps pair numbers by the grid size, beyond the last pair.
        groups(all)?;
        let Range { start, end } = part(all);
        let blocks = (end - start).clamp(1, at.limits.units * APART_BLOCKS);
        let size = Size { blocks, threads: 256, shared_bytes };
        let params = ApartArgs {
            pitch: bytes(pitch)? as u64,
            rows: field(rows)?,
            cols: field(cols)?,
            across: field(across)?,
            squares: field(beside)?,
            pairs: field(pairs)?,
            first: field(start)?,
            end: field(end)?,
            word: if is_run { 0 } else { word as u32 },
            granule: granule as u32,
            ..zeroed()
        };
        Ok(at.launch((Family::PeerSquares, word, "square_swap_apart"), size)?.with(params))
    };
    let all = rows.div_ceil(tile).checked_mul(across).ok_or(LowerError::NoKernel)?;
    let own = across.checked_mul(across + 1).ok_or(LowerError::NoKernel)? / 2;
    Ok([part(all, |all| 0..all / 2)?, part(all, |all| all / 2..all)?, part(own, |all| 0..all)?])
}

/// Returns the launch of 0210!, every tile in place, or `None` if the tile or the alignment has no separate kernel.
pub fn in_place(e: Elementary, word: usize, at: TargetParams) -> Lowered<Option<CheckedLaunch>> {
    let (side, mid) = (e.rows, e.mid);
    let [_, entry] = entries(word, side);
    let is_own = e.rows == e.cols && e.unit == 1 && at.alignment >= vector_bytes(word);
    let Some(entry) = entry.filter(|_| is_own) else { return Ok(None) };
    let (threads, per_block) = geometry(word, side);
    let tiles = e.batch * mid;
    let size = Size {
        blocks: tiles.div_ceil(per_block),
        threads: threads * per_block,
        shared_bytes: per_block * side * side * word,
    };
    let launch = at.launch((Family::Tiles, word, entry), size)?;
    Ok(Some(launch.with(TilesArgs {
        pitch: (mid * side * word) as u64,
        panel_bytes: (side * mid * side * word) as u64,
        mid: field(mid)?,
        tiles: tiles as u64,
        ..zeroed()
    })))
}

/// Tiles of cubes, and the kernels that rotate three of them (`kernels/cube.cu`, `kernels/cube_cluster.cu`).
pub struct CubeTiles {
    pub side: usize,
    /// Thread blocks that share three tiles: a cluster, or 1 with the tiles in registers.
    pub blocks: usize,
    threads: usize,
    shared_bytes: usize,
    /// Tiles across a group.
    group: usize,
    /// Kernels that make the first axis the last, and the last the first.
    entries: [&'static str; 2],
}

/// Returns the tiles for words of `word` bytes: in registers, then over clusters (crates/lab/diary/gpu.md, "Cubes over clusters").
pub fn cube_tiles(word: usize) -> impl Iterator<Item = CubeTiles> {
    let [alone, side] = match word {
        1 | 2 => [32, 64],
        4 | 8 => [16, 32],
        _ => [8, 16],
    };
    let (blocks, entries) = match word {
        1 | 2 => (16, ["cube_cluster_forward_16", "cube_cluster_back_16"]),
        4 | 8 => (8, ["cube_cluster_forward_8", "cube_cluster_back_8"]),
        _ => (2, ["cube_cluster_forward_2", "cube_cluster_back_2"]),
    };
    let across = alone * word / vector_bytes(word);
    let in_registers = CubeTiles {
        side: alone,
        blocks: 1,
        threads: across * alone * across,
        shared_bytes: 0,
        group: 4,
        entries: ["cube_forward", "cube_back"],
    };
    let by_clusters = CubeTiles {
        side,
        blocks,
        threads: if word <= 4 { 256 } else { 512 },
        shared_bytes: 3 * side.pow(3) / blocks * word,
        group: 2,
        entries,
    };
    [in_registers, by_clusters].into_iter()
}

/// Returns the launch that transposes `n x n²` or `n² x n` matrices of words by rotating three tiles at a time. Rows of `n`
/// words must be whole vectors.
pub fn rotate(e: Elementary, tile: usize, at: TargetParams) -> Lowered {
    let side = e.cube_side().filter(|_| e.unit == 1).ok_or(LowerError::NoKernel)?;
    let (word, words) = at.words(1);
    let tiles = cube_tiles(word).find(|tiles| tiles.side == tile);
    let vectors = widest_word(&[at.alignment, side * word]) >= vector_bytes(word);
    let tiles = tiles.filter(|_| words == 1 && vectors).ok_or(LowerError::NoKernel)?;
    let family = if tiles.blocks > 1 {
        at.barrier(Scope::Cluster(tiles.blocks))?;
        Family::CubeCluster
    } else {
        Family::Cube
    };
    let across = side.div_ceil(tile);
    let group = if across >= 2 * tiles.group { tiles.group } else { 1 };
    // The group with the least first number represents its orbit: 1² + 2² + ... + `most`² groups.
    let most = across.div_ceil(group);
    let orbits = most * (most + 1) * (2 * most + 1) / 6 * group.pow(3);
    let [forward, back] = tiles.entries;
    let entry = if e.rows == side { forward } else { back };
    let CubeTiles { threads, shared_bytes, .. } = tiles;
    let size = Size { blocks: e.batch * orbits * tiles.blocks, threads, shared_bytes };
    let launch = at.launch((family, word, entry), size)?.in_clusters(tiles.blocks);
    Ok(launch.with(CubeArgs {
        batch_bytes: (e.rows * e.cols * word) as u64,
        side: field(side)?,
        across: field(across)?,
        orbits: field(orbits)?,
        group: field(group)?,
        ..zeroed()
    }))
}
