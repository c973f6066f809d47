//! `tiles.cu`: swaps pairs of square tiles across the diagonal, or transposes every tile in place.

use turntile_cuda::args::{SquareArgs, TilesArgs};

use super::{Launch, Moved, aligned, exactly, last_number, need, on_chip};

/// Returns the bytes of a vector. A micro-block is one vector wide, with one row per word of a
/// vector.
pub fn vector(word: u64) -> u64 {
    if word == 1 { 8 } else { 16 }
}

/// Returns the number of threads that move a tile of `side` x `side` words.
pub fn tile_threads(side: u64, word: u64) -> u64 {
    let micro = side * word / vector(word);
    (micro * micro).min(256)
}

/// Returns side, threads and bytes of shared memory of tiles in 16-byte granules. A row touches at
/// most `across` granules.
fn granules(word: u64) -> (u64, u64, u64) {
    let (tile, across, threads) = match word {
        1 => (208, 14, 512),
        2 => (120, 16, 512),
        4 => (108, 28, 512),
        8 => (62, 32, 256),
        _ => panic!("words of {word} bytes have none"),
    };
    (tile, threads, 2 * 16 * (tile * across + tile * word / 16 + 1))
}

/// Returns the tile row and column of pair `number`. The triangle is folded into a rectangle.
fn pair_of(number: u64, across: u64) -> (u64, u64) {
    let width = across | 1;
    let (y, x) = (number / width, number % width);
    match (across % 2 == 1, x >= y, x > y) {
        (true, true, _) => (y, x),
        (true, false, _) => (across - y, across - 1 - x),
        (false, _, true) => (y, x - 1),
        (false, _, false) => (across - 1 - y, across - 1 - x),
    }
}

/// Returns the number of the pair of tiles `i <= j`, if it is less than `pairs`.
pub fn number_of(i: u64, j: u64, across: u64, pairs: u64) -> Option<u64> {
    let width = across | 1;
    let (y, x) = match (across % 2 == 1, i < across.div_ceil(2)) {
        (true, true) => (i, j),
        (true, false) => (across - i, across - 1 - j),
        (false, true) => (i, j + 1),
        (false, false) => (across - 1 - i, across - 1 - j),
    };
    let number = y * width + x;
    (number < pairs && pair_of(number, across) == (i, j)).then_some(number)
}

/// Returns the block of a matrix that swaps the pair of tiles `i <= j`, if one of `a.pairs` does.
fn block_of(i: u64, j: u64, a: &SquareArgs) -> Option<u64> {
    let [across, group, blocks] = [a.across, a.group, a.pairs].map(u64::from);
    let each = group * group;
    let number = number_of(i / group, j / group, across.div_ceil(group), blocks / each)?;
    Some(number * each + i % group * group + j % group)
}

pub fn square(call: &Launch, a: &SquareArgs, alignment: u64, offset: u64) -> Moved {
    let word = call.word as u64;
    let (side, across, pairs) = (u64::from(a.side), u64::from(a.across), u64::from(a.pairs));
    need(a.group > 0, || format!("no group: {a:?}"))?;
    let tile = if call.entry == "square_swap_granules" {
        let (tile, threads, bytes) = granules(word);
        exactly(call, threads)?;
        aligned(word, &[a.pitch, a.batch_bytes])?;
        on_chip(call, bytes)?;
        tile
    } else {
        assert!(call.entry.starts_with("square_swap_"), "{}", call.entry);
        let tile = last_number(call.entry);
        // A tile of 128 floats has 32 micro-blocks across, and one thread per micro-block.
        exactly(call, if (word, tile) == (4, 128) { 1024 } else { tile_threads(tile, word) })?;
        aligned(vector(word), &[alignment, a.pitch, a.batch_bytes, side * word])?;
        on_chip(call, 2 * tile * tile * word)?;
        tile
    };
    let mid = u64::from(a.mid);
    let apart = mid > 0 && a.pitch >= mid * side * word && a.batch_bytes >= side * a.pitch;
    need(apart, || format!("overlaps: {a:?}"))?;
    let (band, rest) = (offset / a.batch_bytes, offset % a.batch_bytes);
    let (r, along) = (rest / a.pitch, rest % a.pitch);
    let (beside, within) = (along / (side * word), along % (side * word));
    let (c, byte) = (within / word, within % word);
    let (i, j) = ((r / tile).min(c / tile), (r / tile).max(c / tile));
    if r >= side || beside >= mid || j >= across {
        return Ok(None);
    }
    let matrix = band * mid + beside;
    let block = block_of(i, j, a).map(|number| matrix * pairs + number);
    let read = block.is_some_and(|block| block < u64::from(call.groups));
    let at = band * a.batch_bytes + beside * side * word;
    Ok(read.then(|| at + c * a.pitch + r * word + byte))
}

pub fn in_place(call: &Launch, a: &TilesArgs, alignment: u64, offset: u64) -> Moved {
    assert!(call.entry.starts_with("tiles_"), "{}", call.entry);
    let (word, tile, mid) = (call.word as u64, last_number(call.entry), u64::from(a.mid));
    let threads = tile_threads(tile, word);
    let together = if threads < 256 { 256 / threads } else { 1 };
    exactly(call, threads * together)?;
    on_chip(call, together * tile * tile * word)?;
    aligned(vector(word), &[alignment, a.pitch, a.panel_bytes, tile * word])?;
    let (panel, rest) = (offset / a.panel_bytes, offset % a.panel_bytes);
    let (r, along) = (rest / a.pitch, rest % a.pitch);
    let (number, c, byte) = (along / (tile * word), along % (tile * word) / word, along % word);
    if r >= tile || number >= mid {
        return Ok(None);
    }
    let all = panel * mid + number;
    let read = all < a.tiles && all / together < u64::from(call.groups);
    let at = panel * a.panel_bytes + number * tile * word;
    Ok(read.then(|| at + c * a.pitch + r * word + byte))
}
