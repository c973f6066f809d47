//! Square tiles.

use turntile_perm::Elementary;

use super::fit::{At, field, groups, vector_bytes};
use crate::args::Address;
use crate::args::tiles::{SquareArgs, TilesArgs};
use crate::call::{Call, WorkspacePart, widest_word};
use crate::error::LowerError;
use crate::family::Family;

/// Entry points by side of a tile, for words of so many bytes.
const SWAPS: [(usize, usize, &str); 11] = [
    (1, 64, "square_swap_64"),
    (1, 128, "square_swap_128"),
    (2, 64, "square_swap_64"),
    (2, 128, "square_swap_128"),
    (4, 32, "square_swap_32"),
    (4, 64, "square_swap_64"),
    (4, 128, "square_swap_128"),
    (8, 32, "square_swap_32"),
    (8, 64, "square_swap_64"),
    (16, 16, "square_swap_16"),
    (16, 32, "square_swap_32"),
];
const IN_PLACE: [(usize, usize, &str); 13] = [
    (1, 64, "tiles_64"),
    (1, 128, "tiles_128"),
    (2, 64, "tiles_64"),
    (2, 128, "tiles_128"),
    (4, 32, "tiles_32"),
    (4, 64, "tiles_64"),
    (4, 128, "tiles_128"),
    (8, 32, "tiles_32"),
    (8, 64, "tiles_64"),
    (8, 128, "tiles_128"),
    (16, 16, "tiles_16"),
    (16, 32, "tiles_32"),
    (16, 64, "tiles_64"),
];

fn entry(table: &[(usize, usize, &'static str)], word: usize, tile: usize) -> Option<&'static str> {
    table.iter().find(|row| (row.0, row.1) == (word, tile)).map(|row| row.2)
}

/// Sides and threads of tiles that are moved in granules, as `kernels/granules.cuh` has them, for words of so many bytes.
const GRANULES: [(usize, usize, usize); 4] =
    [(1, 208, 512), (2, 120, 512), (4, 108, 512), (8, 62, 256)];
/// Bytes of a granule.
const GRANULE: usize = 16;
/// Tiles in granules that a matrix has across, at least: fewer leave multiprocessors idle.
const LEAST_ACROSS: usize = 16;
/// Bytes of a line, of which neighbouring tiles have parts unless rows are whole lines.
pub const LINE: usize = 128;
/// Tiles across a group, and bytes of a row of tiles and its mirror image from which groups are worth it (H200, floats:
/// 10000x10000 76% and in groups 82, 23000x23000 66 and 80; 5000x5000 85 and 85, 4100x4100 86 and 82).
const GROUP: usize = 8;
const GROUPED_FROM: usize = 3 << 20;

/// Threads of a tile, and tiles of a block, as `kernels/tiles.cuh` has them.
fn geometry(word: usize, tile: usize) -> (usize, usize) {
    let side = tile * word / vector_bytes(word);
    let threads = (side * side).min(256);
    (threads, 256 / threads)
}

/// Threads that swap two tiles: the 1024 micro-blocks of 128 x 128 floats are too many for fewer.
fn swap_threads(word: usize, tile: usize) -> usize {
    if (word, tile) == (4, 128) { 1024 } else { geometry(word, tile).0 }
}

/// Side, threads and bytes on chip of tiles that are moved in granules; `None` for words that have none.
fn granules(word: usize) -> Option<(usize, usize, usize)> {
    let &(_, tile, threads) = GRANULES.iter().find(|row| row.0 == word)?;
    let row = (GRANULE - word + tile * word).div_ceil(GRANULE);
    let held = tile * row + tile / (GRANULE / word) + 1;
    Some((tile, threads, 2 * held * GRANULE))
}

/// Side of the tiles that are swapped word by word.
pub const fn any_tile(word: usize) -> usize {
    if word <= 4 { 64 } else { 32 }
}

/// Pairs of tiles across the diagonal, of matrices that lie side by side or one after the other.
pub fn swap(e: Elementary, tile: usize, at: At) -> Result<Call, LowerError> {
    pitched_swap(e, e.mid * e.cols * at.elem_bytes, tile, at)
}

/// The same of matrices whose rows lie `pitch` bytes apart.
pub fn pitched_swap(e: Elementary, pitch: usize, tile: usize, at: At) -> Result<Call, LowerError> {
    if e.rows != e.cols || e.unit != 1 {
        return Err(LowerError::NoKernel);
    }
    let word = widest_word(&[at.elem_bytes, at.alignment]);
    if word != at.elem_bytes {
        return Err(LowerError::NoKernel);
    }
    let row = e.cols * word;
    let aligned = widest_word(&[at.alignment, row, pitch]) >= vector_bytes(word);
    let in_granules = granules(word).filter(|&(tile, _, shared)| {
        e.rows >= LEAST_ACROSS * tile && shared <= at.limits.shared_bytes
    });
    let lines = pitch.is_multiple_of(LINE) && (e.mid == 1 || row.is_multiple_of(LINE));
    // Tiles of 32 words of 8 bytes have short rows: where lines are shared, those in granules are longer.
    let vectors = aligned && (word != 8 || lines || in_granules.is_none());
    let (entry, tile, threads, shared) = match (entry(&SWAPS, word, tile), in_granules) {
        (Some(entry), _) if vectors => {
            (entry, tile, swap_threads(word, tile), 2 * tile * tile * word)
        }
        // Rows that do not align to vectors.
        (_, Some((tile, threads, shared))) => ("square_swap_granules", tile, threads, shared),
        _ => ("square_swap_any", any_tile(word), 256, 0),
    };
    let across = e.rows.div_ceil(tile);
    let grouped = !lines && 2 * tile * tile * word * across >= GROUPED_FROM;
    let group = if grouped { GROUP } else { 1 };
    let groups_across = across.div_ceil(group);
    let pairs = groups_across * (groups_across + 1) / 2 * group * group;
    Ok(Call {
        family: Family::Tiles,
        word,
        entry,
        groups: groups(e.batch * e.mid * pairs)?,
        threads: threads as u32,
        shared_bytes: shared as u32,
        params: SquareArgs {
            data: Address::default(),
            pitch: pitch as u64,
            batch_bytes: (e.rows * pitch) as u64,
            side: field(e.rows)?,
            across: field(across)?,
            pairs: field(pairs)?,
            mid: field(e.mid)?,
            group: field(group)?,
            pad: 0,
        }
        .into(),
        workspace: WorkspacePart::None,
    })
}

/// 0210!: every tile where it lies; `None` where the tile or the alignment has no kernel of its own.
pub fn in_place(e: Elementary, word: usize, at: At) -> Option<Result<Call, LowerError>> {
    let (side, mid) = (e.rows, e.mid);
    let entry = entry(&IN_PLACE, word, side).filter(|_| e.rows == e.cols && e.unit == 1)?;
    (at.alignment >= vector_bytes(word)).then_some(())?;
    let (threads, per_block) = geometry(word, side);
    let tiles = e.batch * mid;
    let call = || {
        Ok(Call {
            family: Family::Tiles,
            word,
            entry,
            groups: groups(tiles.div_ceil(per_block))?,
            threads: (threads * per_block) as u32,
            shared_bytes: (per_block * side * side * word) as u32,
            params: TilesArgs {
                data: Address::default(),
                pitch: (mid * side * word) as u64,
                panel_bytes: (side * mid * side * word) as u64,
                mid: field(mid)?,
                pad: 0,
                tiles: tiles as u64,
            }
            .into(),
            workspace: WorkspacePart::None,
        })
    };
    Some(call())
}
