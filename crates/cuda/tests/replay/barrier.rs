//! `barrier.cu`: a block reads whole instances, waits, and writes them transposed.

use turntile_cuda::args::BarrierArgs;

use super::device::div32;
use super::tiles::vector;
use super::{Launch, Moved, aligned, need, on_chip, threads};

/// How narrow words are moved: 4 bytes at a time, or as runs.
pub const WIDE_LOADS: u32 = 1;
pub const WIDE_STORES: u32 = 2;
pub const RUNS: u32 = 4;
pub const RUN_LOADS: u32 = 8;

/// A word of an instance in memory.
struct At {
    /// Instance, counted through all sets.
    instance: u64,
    row: u64,
    /// Word of the row.
    along: u64,
    byte: u64,
}

/// Where an instance begins.
fn start(a: &BarrierArgs, instance: u64) -> u64 {
    let mid = u64::from(a.mid);
    instance / mid * a.panel_bytes + instance % mid * a.instance_bytes
}

/// What lies at `offset`, `None` for what is between or behind the instances.
fn find(a: &BarrierArgs, word: u64, offset: u64) -> Option<At> {
    let (mid, words) = (u64::from(a.mid), u64::from(a.cols) * u64::from(a.unit.divisor));
    let (set, rest) = (offset / a.panel_bytes, offset % a.panel_bytes);
    let (row, along) = (rest / a.row_bytes, rest % a.row_bytes);
    let within = if mid > 1 { along / a.instance_bytes } else { 0 };
    let along = if mid > 1 { along % a.instance_bytes } else { along };
    let at = At { instance: set * mid + within, row, along: along / word, byte: along % word };
    let there = at.instance < a.instances && row < u64::from(a.rows) && at.along < words;
    (there && within < mid).then_some(at)
}

pub fn barrier(call: &Launch, a: &BarrierArgs, alignment: u64, offset: u64) -> Moved {
    match call.entry {
        "barrier_block" => block(call, a, alignment, offset),
        "barrier_band" => band(call, a, alignment, offset),
        "barrier_few" => few(call, a, alignment, offset),
        "barrier_micro" => micro(call, a, alignment, offset),
        other => panic!("{other}"),
    }
}

/// Rows of `bytes` bytes at multiples of the pitch do not overlap, and granules of `granule` align.
pub fn rows_on_chip(pitch: u64, bytes: u64, granule: u64) -> super::Answer<()> {
    need(pitch >= bytes, || format!("rows of {bytes} bytes every {pitch}"))?;
    aligned(granule, &[pitch])
}

fn block(call: &Launch, a: &BarrierArgs, alignment: u64, offset: u64) -> Moved {
    threads(call, 1024)?;
    let (word, unit) = (call.word as u64, u64::from(a.unit.divisor));
    let [rows, cols, stacked, pitch] = [a.rows, a.cols, a.stacked, a.pitch].map(u64::from);
    let (narrow, row) = (word < 4, cols * unit * word);
    let (runs, run_loads) = (a.wide & RUNS != 0, a.wide & RUN_LOADS != 0);
    let wide_loads = narrow && !run_loads && a.wide & WIDE_LOADS != 0;
    let wide_stores = narrow && !runs && a.wide & WIDE_STORES != 0;
    let strides = [a.row_bytes, a.column_bytes, a.panel_bytes, a.instance_bytes];
    aligned(word, &strides)?;
    let lines = stacked * rows;
    if run_loads {
        // One run of whole rows, at the place within 16 bytes that it has in memory.
        need(pitch == row && a.row_bytes == row && runs, || format!("no run: {a:?}"))?;
        on_chip(call, lines * pitch + 16 - word)?;
    } else {
        rows_on_chip(pitch, row, if wide_loads { 4 } else { word })?;
        on_chip(call, lines * pitch)?;
    }
    if wide_loads {
        aligned(4, &[alignment, row, a.row_bytes, a.panel_bytes, a.instance_bytes])?;
    }
    if wide_stores {
        let column = rows * unit * word;
        aligned(4, &[alignment, column, a.column_bytes, a.panel_bytes, a.instance_bytes])?;
    }
    let Some(At { instance, row, along, byte }) = find(a, word, offset) else { return Ok(None) };
    let (number, first) = (instance / stacked, instance / stacked * stacked);
    if number >= u64::from(call.groups) {
        return Ok(None);
    }
    let (at, line) = (start(a, first), (instance - first) * rows + row);
    let read = at + line * a.row_bytes + along * word + byte;
    need(read == offset, || format!("stacked instances do not follow one another: {a:?}"))?;
    if runs {
        // Words of transposed instances, counted through them.
        need(unit == 1, || format!("words of super-elements: {a:?}"))?;
        let count = stacked.min(a.instances - first) * rows * cols;
        let (high, size) = (u64::from(a.stack.rows.divisor), u64::from(a.stack.instance.divisor));
        let g = line / high * size + along * high + line % high;
        let i = u64::from(div32(&a.stack.instance, g as u32));
        let within = g - i * size;
        let col = u64::from(div32(&a.stack.rows, within as u32));
        let place = (i * high + within - col * high, col);
        return Ok((place == (line, along) && g < count).then_some(at + g * word + byte));
    }
    // One instance's columns.
    if line >= rows {
        return Ok(None);
    }
    let (col, within) = (along / unit, along % unit);
    Ok(Some(at + col * a.column_bytes + (row * unit + within) * word + byte))
}

fn band(call: &Launch, a: &BarrierArgs, alignment: u64, offset: u64) -> Moved {
    threads(call, 1024)?;
    let word = call.word as u64;
    let [rows, cols, stacked, pitch, mid] =
        [a.rows, a.cols, a.stacked, a.pitch, a.mid].map(u64::from);
    let side = u64::from(a.stack.rows.divisor);
    need(a.unit.divisor == 1, || format!("tiles of super-elements: {a:?}"))?;
    let wide = word < 4 && a.wide & WIDE_LOADS != 0;
    aligned(word, &[a.row_bytes, a.column_bytes, a.panel_bytes, a.instance_bytes])?;
    if wide {
        // Also the last tiles of a panel, which are fewer.
        aligned(4, &[alignment, cols * word, a.row_bytes, a.panel_bytes, a.instance_bytes])?;
    }
    rows_on_chip(pitch, stacked * cols * word, if wide { 4 } else { word })?;
    on_chip(call, rows * pitch)?;
    let Some(At { instance, row, along, byte }) = find(a, word, offset) else { return Ok(None) };
    let (set, tile) = (instance / mid, instance % mid);
    let number = set * mid.div_ceil(stacked) + tile / stacked;
    if number >= u64::from(call.groups) {
        return Ok(None);
    }
    let first = tile / stacked * stacked;
    let (count, at) = (stacked.min(mid - first), set * a.panel_bytes + first * a.instance_bytes);
    // Words of the tiles' rows, side by side.
    let along = (tile - first) * cols + along;
    let read = at + row * a.row_bytes + along * word + byte;
    need(read == offset, || format!("tiles do not lie side by side: {a:?}"))?;
    let (i, col) = (along / side, along % side);
    let written = i < count && row < side;
    Ok(written.then(|| at + col * a.column_bytes + (i * side + row) * word + byte))
}

fn micro(call: &Launch, a: &BarrierArgs, alignment: u64, offset: u64) -> Moved {
    threads(call, 512)?;
    let (word, vector) = (call.word as u64, vector(call.word as u64));
    let [rows, cols, stacked] = [a.rows, a.cols, a.stacked].map(u64::from);
    need(a.unit.divisor == 1, || format!("micro-blocks of super-elements: {a:?}"))?;
    aligned(vector, &[alignment, rows * word, cols * word, a.row_bytes, a.column_bytes])?;
    aligned(vector, &[a.panel_bytes, a.instance_bytes])?;
    // Swaths of micro-blocks, each in the slots of the thread that takes it.
    let micro = vector / word;
    let swaths = (rows / micro).div_ceil(1 << a.down);
    let places = stacked * ((swaths * (cols / micro)) << a.down);
    let slots = places.div_ceil(u64::from(call.threads)) * u64::from(call.threads);
    on_chip(call, slots * micro * vector)?;
    let Some(At { instance, row, along, byte }) = find(a, word, offset) else { return Ok(None) };
    let (number, first) = (instance / stacked, instance / stacked * stacked);
    if number >= u64::from(call.groups) {
        return Ok(None);
    }
    let at = start(a, first) + (instance - first) * a.instance_bytes;
    let read = at + row * a.row_bytes + along * word + byte;
    need(read == offset, || format!("stacked instances do not follow one another: {a:?}"))?;
    Ok(Some(at + along * a.column_bytes + row * word + byte))
}

fn few(call: &Launch, a: &BarrierArgs, alignment: u64, offset: u64) -> Moved {
    threads(call, 512)?;
    let word = call.word as u64;
    let [rows, cols, stacked] = [a.rows, a.cols, a.stacked].map(u64::from);
    let (few, many) = (rows.min(cols), rows.max(cols));
    need((2..=4).contains(&few) && word < 4, || format!("not few: {a:?}"))?;
    need(a.unit.divisor == 1 && a.mid == 1, || format!("not one after the other: {a:?}"))?;
    aligned(16, &[alignment, many * word])?;
    let bytes = rows * cols * word;
    need(a.instance_bytes == bytes, || format!("instances of {bytes} bytes: {a:?}"))?;
    let turned = if rows < cols { u64::from(call.threads) * few * 16 } else { 0 };
    on_chip(call, stacked * bytes + turned)?;
    let (instance, within) = (offset / bytes, offset % bytes);
    if instance >= a.instances.min(u64::from(call.groups) * stacked) {
        return Ok(None);
    }
    // A thread's vectors: word `j` of vector `d` apart, word `j * few + d` where they lie together.
    let (vectors, side) = (u64::from(a.stack.rows.divisor), many * word);
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
