//! `out_of_place.cu`: from a byte of the source to the byte of the destination.

use turntile_cuda::args::{Axes32, BandArgs, IntoArgs, Stack, StackArgs, TileOrder, UnitArgs};

use super::barrier::{RUN_LOADS, RUNS, WIDE_LOADS, WIDE_STORES, rows_on_chip};
use super::device::{div32, div64};
use super::maps::Map;
use super::tiles::{tile_threads, vector};
use super::{Answer, Launch, Moved, aligned, exactly, last_number, need, on_chip, threads};

/// The tile of block `number`.
fn find(order: &TileOrder, number: u32) -> (u32, u32, u32) {
    let which = div32(&order.matrix, number);
    let number = number - which * order.matrix.divisor;
    let s = div32(&order.swath, number);
    let rows = order.high.min(order.down.saturating_sub(s * order.high)).max(1);
    let number = number - s * order.swath.divisor;
    (which, s * order.high + number % rows, number / rows)
}

/// Whether a block takes tile `(i, j)` of matrix `which`.
fn taken(call: &Launch, order: &TileOrder, (which, i, j): (u64, u64, u64)) -> bool {
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

/// A word of the source.
struct At {
    which: u64,
    r: u64,
    /// Bytes into the row.
    along: u64,
}

fn at(offset: u64, matrix_bytes: u64, from_pitch: u64) -> At {
    let rest = offset % matrix_bytes;
    At { which: offset / matrix_bytes, r: rest / from_pitch, along: rest % from_pitch }
}

pub fn into(call: &Launch, a: &IntoArgs, alignment: u64, offset: u64) -> Moved {
    let word = call.word as u64;
    exactly(call, 256)?;
    aligned(word, &[a.from_pitch, a.to_pitch, a.matrix_bytes])?;
    let At { which, r, along } = at(offset, a.matrix_bytes, a.from_pitch);
    let (c, byte) = (along / word, along % word);
    if r >= a.rows || c >= a.cols {
        return Ok(None);
    }
    let to = which * a.matrix_bytes + c * a.to_pitch + r * word + byte;
    if call.entry.starts_with("into_micro_") {
        let tile = last_number(call.entry);
        exactly(call, tile_threads(tile, word))?;
        on_chip(call, tile * tile * word)?;
        let sides = [a.rows * word, a.cols * word];
        aligned(vector(word), &[alignment, a.from_pitch, a.to_pitch, a.matrix_bytes])?;
        aligned(vector(word), &sides)?;
        return Ok(taken(call, &a.order, (which, r / tile, c / tile)).then_some(to));
    }
    // Columns are written in whole sectors, so that a tile's begins up to a sector above it.
    assert!(call.entry.starts_with("into_lines_"), "{}", call.entry);
    let column: u64 = call.entry.split('_').nth(2).expect("its bytes").parse().expect("a number");
    let (high, across, sector) = (column / word, last_number(call.entry) / word, 32 / word);
    let (pack, rows) = (high / 32, high + sector - 1);
    let granule = word.max(4);
    let lead = u64::from(word < 4);
    let pitch = ((across * word / granule + lead) | 1) * granule;
    on_chip(call, rows.div_ceil(pack) * pack * pitch)?;
    if word < 4 {
        // The first and the last bytes of all are not read by 4.
        let batch = u64::from(call.groups) / u64::from(a.order.matrix.divisor);
        let last = (a.rows - 1) * a.from_pitch + a.cols * word;
        let all = (batch - 1) * a.matrix_bytes + last;
        need(a.bytes == all, || format!("{} bytes of {batch}", a.bytes))?;
    }
    // Wherever the destination begins.
    let moved = (0..sector).all(|up| taken(call, &a.order, (which, (r + up) / high, c / across)));
    Ok(moved.then_some(to))
}

/// What a tile's place on chip must keep to, of rows of `row` bytes.
struct Tile {
    rows: u64,
    row: u64,
    pitch: u64,
    wide: u32,
    unit: u64,
}

/// Checks the tile; whether it is written as one run.
fn tile(call: &Launch, tile: &Tile, alignment: u64, strides: [&[u64]; 2]) -> Answer<bool> {
    let (word, narrow) = (call.word as u64, call.word < 4);
    let [load, store] = strides;
    let (runs, run_loads) = (tile.wide & RUNS != 0, tile.wide & RUN_LOADS != 0);
    let wide_loads = narrow && !run_loads && tile.wide & WIDE_LOADS != 0;
    let wide_stores = narrow && !runs && tile.unit == 1 && tile.wide & WIDE_STORES != 0;
    aligned(word, load)?;
    aligned(word, store)?;
    if run_loads {
        need(tile.pitch == tile.row && load[0] == tile.row, || "rows are no run".into())?;
        on_chip(call, tile.rows * tile.pitch + 16 - word)?;
    } else {
        rows_on_chip(tile.pitch, tile.row, if wide_loads { 4 } else { word })?;
        on_chip(call, tile.rows * tile.pitch)?;
    }
    if wide_loads {
        aligned(4, &[alignment, tile.row])?;
        aligned(4, load)?;
    }
    if wide_stores {
        aligned(4, &[alignment, tile.rows * word])?;
        aligned(4, store)?;
    }
    Ok(runs)
}

/// The number of the word at (line, col) in a run of `words` transposed words, if it is one of them.
fn in_run(stack: &Stack, (line, col): (u64, u64), words: u64) -> Option<u64> {
    let (rows, size) = (u64::from(stack.rows.divisor), u64::from(stack.instance.divisor));
    let g = line / rows * size + col * rows + line % rows;
    let i = u64::from(div32(&stack.instance, g as u32));
    let within = g - i * size;
    let c = u64::from(div32(&stack.rows, within as u32));
    ((i * rows + within - c * rows, c) == (line, col) && g < words).then_some(g)
}

pub fn band(call: &Launch, a: &BandArgs, alignment: u64, offset: u64) -> Moved {
    assert_eq!(call.entry, "into_band");
    threads(call, 512)?;
    let (word, unit) = (call.word as u64, u64::from(a.unit.divisor));
    let (rows, cols) = (u64::from(a.tile_rows), u64::from(a.tile_cols));
    let held =
        Tile { rows, row: cols * unit * word, pitch: u64::from(a.pitch), wide: a.wide, unit };
    let (row, column) = (a.cols * unit * word, a.rows * unit * word);
    let strides = [&[a.from_pitch, row, a.matrix_bytes][..], &[a.to_pitch, column, a.matrix_bytes]];
    let runs = tile(call, &held, alignment, strides)?;
    let At { which, r, along } = at(offset, a.matrix_bytes, a.from_pitch);
    let (c, within) = (along / (unit * word), along % (unit * word));
    let (i, j) = (r / rows, c / cols);
    if r >= a.rows || c >= a.cols || !taken(call, &a.order, (which, i, j)) {
        return Ok(None);
    }
    let (first, before) = (i * rows, j * cols);
    let to = which * a.matrix_bytes + before * a.to_pitch + first * unit * word;
    let (line, col) = (r - first, c - before);
    if runs {
        need(unit == 1, || format!("words of super-elements: {a:?}"))?;
        let words = rows.min(a.rows - first) * cols.min(a.cols - before);
        let g = in_run(&a.stack, (line, col), words);
        return Ok(g.map(|g| to + g * word + within));
    }
    Ok(Some(to + col * a.to_pitch + line * unit * word + within))
}

pub fn stack(call: &Launch, a: &StackArgs, alignment: u64, offset: u64) -> Moved {
    assert_eq!(call.entry, "into_stack");
    threads(call, 512)?;
    let word = call.word as u64;
    let [rows, cols, stacked] = [a.rows, a.cols, a.stacked].map(u64::from);
    let (row, matrix) = (cols * word, rows * cols * word);
    let held =
        Tile { rows: stacked * rows, row, pitch: u64::from(a.pitch), wide: a.wide | RUNS, unit: 1 };
    tile(call, &held, alignment, [&[row, matrix], &[matrix]])?;
    let (which, line) = (offset / matrix, offset / row);
    let (block, first) = (which / stacked, which / stacked * stacked);
    if which >= a.matrices || block >= u64::from(call.groups) {
        return Ok(None);
    }
    let words = stacked.min(a.matrices - first) * rows * cols;
    let g = in_run(&a.stack, (line - first * rows, offset % row / word), words);
    Ok(g.map(|g| first * matrix + g * word + offset % word))
}

pub fn units(call: &Launch, a: &UnitArgs, alignment: u64, offset: u64) -> Moved {
    const PART: u64 = 16 << 10;
    assert_eq!(call.entry, "into_units");
    exactly(call, 256)?;
    let (word, unit) = (u64::from(a.word), a.unit.divisor);
    need(word == call.word as u64, || format!("words of {word} bytes: {call:?}"))?;
    aligned(word, &[unit, a.bytes])?;
    a.source.check(a.bytes / unit, word)?;
    // Numbers of the result to those of the source: its inverse is not what the kernel has, so all are tried, or the few
    // that digits make.
    let number = found(&a.source, offset / unit)?;
    let to = number * unit + offset % unit;
    // A block finds it from its first byte on, wherever the result begins within a granule.
    let skews = if alignment >= 16 { vec![0] } else { (0..16 / word).map(|n| n * word).collect() };
    for skew in skews {
        let block = (to + skew) / PART;
        let begin = (block * PART).saturating_sub(skew);
        let (first, k) = (div64(&a.unit, begin), to - begin);
        let left = (first + 1) * unit - begin;
        let beyond = || u32::try_from(k - left).expect("within a part");
        let again =
            if k < left { first } else { first + 1 + u64::from(div32(&a.of_part, beyond())) };
        need(again == number, || format!("byte {to} from {begin}: {again}, not {number}"))?;
        if to >= a.bytes || block >= u64::from(call.groups) {
            return Ok(None);
        }
    }
    Ok(Some(to))
}

/// The number that `map` takes to `wanted`: each digit is what is left of that by the strides, largest first.
fn found(map: &Axes32, wanted: u64) -> Answer<u64> {
    let digits = &map.d[..map.digits as usize];
    let mut weights = vec![];
    let mut weight = 1;
    for digit in digits {
        weights.push((u64::from(digit.stride), weight));
        weight *= u64::from(digit.by.divisor);
    }
    weights.push((u64::from(map.first), weight));
    weights.sort_unstable_by_key(|&(stride, _)| std::cmp::Reverse(stride));
    let (mut rest, mut number) = (wanted, 0);
    for (stride, weight) in weights.into_iter().filter(|&(stride, _)| stride > 0) {
        number += rest / stride * weight;
        rest %= stride;
    }
    need(map.succ(number)? == wanted, || format!("number {number}, not of {wanted}"))?;
    Ok(number)
}
