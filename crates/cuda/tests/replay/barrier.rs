//! `barrier.cu`: a block reads a tile, waits, and writes it transposed.

use turntile_cuda::args::{BlockArgs, MicroArgs, Stack, TileOrder};

use super::device::div32;
use super::tiles::vector;
use super::{Launch, Moved, aligned, need, on_chip, threads};

/// Flags for narrow words: moved 4 bytes at a time, or as runs.
pub const WIDE_LOADS: u32 = 1;
pub const WIDE_STORES: u32 = 2;
pub const RUNS: u32 = 4;
pub const RUN_LOADS: u32 = 8;

pub const SQUARES: u32 = 16;

/// Returns the tile of block `number`: matrix, row and column.
fn find(order: &TileOrder, number: u32) -> (u32, u32, u32) {
    let which = div32(&order.matrix, number);
    let number = number - which * order.matrix.divisor;
    let s = div32(&order.swath, number);
    let rows = order.high.min(order.down.saturating_sub(s * order.high)).max(1);
    let number = number - s * order.swath.divisor;
    (which, s * order.high + number % rows, number / rows)
}

/// Returns `true` if a block takes tile `(i, j)` of matrix `which`.
pub fn taken(call: &Launch, order: &TileOrder, (which, i, j): (u64, u64, u64)) -> bool {
    let (high, down) = (u64::from(order.high), u64::from(order.down));
    if i >= down {
        return false;
    }
    let (s, rows) = (i / high, high.min(down - i / high * high));
    let before = which * u64::from(order.matrix.divisor) + s * u64::from(order.swath.divisor);
    let number = before + j * rows + i % high;
    let tile = (which as u32, i as u32, j as u32);
    number < u64::from(call.groups) && find(order, number as u32) == tile
}

pub fn micro_or_few(call: &Launch, a: &MicroArgs, alignment: u64, offset: u64) -> Moved {
    match call.entry {
        "barrier_few" => few(call, a, alignment, offset),
        "barrier_micro" => micro(call, a, alignment, offset),
        other => panic!("{other}"),
    }
}

/// Checks that rows of `bytes` bytes do not overlap at this pitch, and that the pitch is a multiple
/// of `granule`.
pub fn rows_on_chip(pitch: u64, bytes: u64, granule: u64) -> super::Answer<()> {
    need(pitch >= bytes, || format!("rows of {bytes} bytes every {pitch}"))?;
    aligned(granule, &[pitch])
}

/// Returns the number of the word at (line, col) in a run of `words` transposed words, if the run
/// has it.
fn in_run(stack: &Stack, (line, col): (u64, u64), words: u64) -> Option<u64> {
    let (rows, size) = (u64::from(stack.rows.divisor), u64::from(stack.instance.divisor));
    let g = line / rows * size + col * rows + line % rows;
    let i = u64::from(div32(&stack.instance, g as u32));
    let within = g - i * size;
    let c = u64::from(div32(&stack.rows, within as u32));
    ((i * rows + within - c * rows, c) == (line, col) && g < words).then_some(g)
}

pub fn block(call: &Launch, a: &BlockArgs, alignment: u64, offset: u64) -> Moved {
    assert!(["barrier_block", "barrier_tile"].contains(&call.entry), "{}", call.entry);
    threads(call, 1024)?;
    let (word, unit) = (call.word as u64, u64::from(a.unit.divisor));
    let [rows, cols, pitch] = [a.tile_rows, a.tile_cols, a.pitch].map(u64::from);
    let (narrow, elem) = (word < 4, unit * word);
    let row = cols * elem;
    let has = |flag: u32| a.wide & flag != 0;
    let (runs, run_loads, squares) = (has(RUNS), has(RUN_LOADS), has(SQUARES));
    let wide_loads = narrow && !run_loads && has(WIDE_LOADS);
    let wide_stores = narrow && !runs && !squares && has(WIDE_STORES);
    // Distances between tiles matter only if there are several tiles.
    let used = |[pitch, down, across]: [u64; 3]| {
        let all = [(pitch, true), (down, a.rows > rows), (across, a.cols > cols)];
        let all = all.into_iter().filter(|step| step.1).map(|step| step.0);
        all.chain([a.matrix_bytes]).collect::<Vec<u64>>()
    };
    let loads = used([a.from_pitch, a.from_down, a.from_across]);
    let stores = used([a.to_pitch, a.to_down, a.to_across]);
    aligned(word, &loads)?;
    aligned(word, &stores)?;
    if run_loads {
        // One run of whole rows, which keeps its global address modulo 16 in shared memory.
        need(pitch == row && a.from_pitch == row, || format!("rows are not contiguous: {a:?}"))?;
        need(a.cols == cols, || format!("tiles are narrower than rows: {a:?}"))?;
        on_chip(call, rows * pitch + 16 - word)?;
    } else {
        rows_on_chip(pitch, row, if wide_loads { 4 } else { word })?;
        on_chip(call, rows * pitch)?;
    }
    if wide_loads {
        // This includes the last tiles of a row, which are narrower.
        aligned(4, &[alignment, row, a.cols * elem])?;
        aligned(4, &loads)?;
    }
    if wide_stores {
        aligned(4, &[alignment, rows * elem, a.rows * elem])?;
        aligned(4, &stores)?;
    }
    let (which, rest) = (offset / a.matrix_bytes, offset % a.matrix_bytes);
    let (r, along) = (rest / a.from_pitch, rest % a.from_pitch);
    let (c, within) = (along / elem, along % elem);
    let (i, j) = (r / rows, c / cols);
    if r >= a.rows || c >= a.cols || !taken(call, &a.order, (which, i, j)) {
        return Ok(None);
    }
    let (line, col) = (r - i * rows, c - j * cols);
    let tile = which * a.matrix_bytes;
    let read =
        tile + i * a.from_down + j * a.from_across + line * a.from_pitch + col * elem + within;
    need(read == offset, || format!("reads byte {read} for {offset}: {a:?}"))?;
    let to = tile + i * a.to_down + j * a.to_across;
    let (tall, broad) = (rows.min(a.rows - i * rows), cols.min(a.cols - j * cols));
    if runs {
        // Words of transposed instances, numbered through all instances.
        need(unit == 1, || format!("words of super-elements: {a:?}"))?;
        let g = in_run(&a.stack, (line, col), tall * broad);
        return Ok(g.map(|g| to + g * word + within));
    }
    if squares {
        let side = u64::from(a.stack.rows.divisor);
        need(unit == 1 && broad.is_multiple_of(side), || format!("no squares: {a:?}"))?;
        let (first, col) = (col / side * side, col % side);
        return Ok((line < side).then(|| to + col * a.to_pitch + (first + line) * word + within));
    }
    Ok(Some(to + col * a.to_pitch + line * elem + within))
}

/// A word of an instance in global memory.
struct WordPosition {
    /// Number of the instance, through all sets.
    instance: u64,
    row: u64,
    /// Number of the word within the row.
    along: u64,
    byte: u64,
}

/// Returns the word at `offset`, or `None` between and after the instances.
fn word_at(a: &MicroArgs, word: u64, offset: u64) -> Option<WordPosition> {
    let (mid, words) = (u64::from(a.mid), u64::from(a.cols));
    let (set, rest) = (offset / a.panel_bytes, offset % a.panel_bytes);
    let (row, along) = (rest / a.row_bytes, rest % a.row_bytes);
    let within = if mid > 1 { along / a.instance_bytes } else { 0 };
    let along = if mid > 1 { along % a.instance_bytes } else { along };
    let at =
        WordPosition { instance: set * mid + within, row, along: along / word, byte: along % word };
    let there = at.instance < a.instances && row < u64::from(a.rows) && at.along < words;
    (there && within < mid).then_some(at)
}

fn micro(call: &Launch, a: &MicroArgs, alignment: u64, offset: u64) -> Moved {
    threads(call, 512)?;
    let (word, vector) = (call.word as u64, vector(call.word as u64));
    let [rows, cols, stacked] = [a.rows, a.cols, a.stacked].map(u64::from);
    aligned(vector, &[alignment, rows * word, cols * word, a.row_bytes, a.column_bytes])?;
    aligned(vector, &[a.panel_bytes, a.instance_bytes])?;
    // Swaths of micro-blocks. Each micro-block is in the slots of the thread that moves it.
    let micro = vector / word;
    let swaths = (rows / micro).div_ceil(1 << a.down);
    let places = stacked * ((swaths * (cols / micro)) << a.down);
    let slots = places.div_ceil(u64::from(call.threads)) * u64::from(call.threads);
    on_chip(call, slots * micro * vector)?;
    let Some(WordPosition { instance, row, along, byte }) = word_at(a, word, offset) else {
        return Ok(None);
    };
    let (number, first) = (instance / stacked, instance / stacked * stacked);
    if number >= u64::from(call.groups) {
        return Ok(None);
    }
    let mid = u64::from(a.mid);
    let at = first / mid * a.panel_bytes
        + first % mid * a.instance_bytes
        + (instance - first) * a.instance_bytes;
    let read = at + row * a.row_bytes + along * word + byte;
    need(read == offset, || format!("stacked instances do not follow one another: {a:?}"))?;
    Ok(Some(at + along * a.column_bytes + row * word + byte))
}

fn few(call: &Launch, a: &MicroArgs, alignment: u64, offset: u64) -> Moved {
    threads(call, 512)?;
    let word = call.word as u64;
    let [rows, cols, stacked] = [a.rows, a.cols, a.stacked].map(u64::from);
    let (few, many) = (rows.min(cols), rows.max(cols));
    need((2..=4).contains(&few) && word < 4, || format!("not few: {a:?}"))?;
    need(a.mid == 1, || format!("instances not contiguous: {a:?}"))?;
    aligned(16, &[alignment, many * word])?;
    let bytes = rows * cols * word;
    need(a.instance_bytes == bytes, || format!("instances of {bytes} bytes: {a:?}"))?;
    let turned = if rows < cols { u64::from(call.threads) * few * 16 } else { 0 };
    on_chip(call, stacked * bytes + turned)?;
    let (instance, within) = (offset / bytes, offset % bytes);
    if instance >= a.instances.min(u64::from(call.groups) * stacked) {
        return Ok(None);
    }
    // Offsets of word `j` of a thread's vector `d`: vectors stored separately (`apart`), or
    // interleaved by word, at `j * few + d` (`together`).
    let (vectors, side) = (u64::from(a.vectors.divisor), many * word);
    let together = |k: u64, j: u64, d: u64| (k * 16 + j * word) * few + d * word;
    let apart = |k: u64, j: u64, d: u64| d * side + k * 16 + j * word;
    let per = 16 / word;
    let (e, byte) = (within / word, within % word);
    let (k, to) = if cols < rows {
        let (k, j, d) = (e / few / per, e / few % per, e % few);
        (k, apart(k, j, d))
    } else {
        let (k, j, d) = (e % many / per, e % many % per, e / many);
        (k, together(k, j, d))
    };
    need(k < vectors, || format!("more than {vectors} vectors: {a:?}"))?;
    Ok(Some(instance * bytes + to + byte))
}
