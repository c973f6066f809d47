//! `out_of_place.cu`: finds the destination of a byte of the source.

use turntile_cuda::args::{Axes32, IntoArgs, UnitArgs};

use super::barrier::taken;
use super::device::{div32, div64};
use super::maps::Map;
use super::tiles::{tile_threads, vector};
use super::{Answer, Launch, Moved, aligned, exactly, last_number, need, on_chip};

/// Position of a word in the source.
struct WordPosition {
    which: u64,
    r: u64,
    /// Byte offset within the row.
    along: u64,
}

fn at(offset: u64, matrix_bytes: u64, from_pitch: u64) -> WordPosition {
    let rest = offset % matrix_bytes;
    WordPosition { which: offset / matrix_bytes, r: rest / from_pitch, along: rest % from_pitch }
}

pub fn into(call: &Launch, a: &IntoArgs, alignment: u64, offset: u64) -> Moved {
    let word = call.word as u64;
    exactly(call, 256)?;
    aligned(word, &[a.from_pitch, a.to_pitch, a.matrix_bytes])?;
    let WordPosition { which, r, along } = at(offset, a.matrix_bytes, a.from_pitch);
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
    // Columns are written in whole sectors, so a tile's columns start at most one sector earlier.
    assert!(call.entry.starts_with("into_lines_"), "{}", call.entry);
    let column: u64 = call.entry.split('_').nth(2).expect("its bytes").parse().expect("a number");
    let (high, across, sector) = (column / word, last_number(call.entry) / word, 32 / word);
    let (pack, rows) = (high / 32, high + sector - 1);
    let granule = word.max(4);
    let lead = u64::from(word < 4);
    let pitch = ((across * word / granule + lead) | 1) * granule;
    on_chip(call, rows.div_ceil(pack) * pack * pitch)?;
    if word < 4 {
        // The first and last bytes of the array are not read 4 bytes at a time.
        let batch = u64::from(call.groups) / u64::from(a.order.matrix.divisor);
        let last = (a.rows - 1) * a.from_pitch + a.cols * word;
        let all = (batch - 1) * a.matrix_bytes + last;
        need(a.bytes == all, || format!("{} bytes of {batch}", a.bytes))?;
    }
    // The byte is moved for every alignment of the destination.
    let moved = (0..sector).all(|up| taken(call, &a.order, (which, (r + up) / high, c / across)));
    Ok(moved.then_some(to))
}

pub fn units(call: &Launch, a: &UnitArgs, alignment: u64, offset: u64) -> Moved {
    const PART: u64 = 16 << 10;
    assert_eq!(call.entry, "into_units");
    exactly(call, 256)?;
    let (word, unit) = (u64::from(a.word), a.unit.divisor);
    need(word == call.word as u64, || format!("words of {word} bytes: {call:?}"))?;
    aligned(word, &[unit, a.bytes])?;
    a.source.check(a.bytes / unit, word)?;
    // The kernel maps numbers of the result to numbers of the source. It has no inverse, so all
    // numbers are tried, or the few that digits allow.
    let number = found(&a.source, offset / unit)?;
    let to = number * unit + offset % unit;
    // A block finds the number from its first byte, for every alignment of the result within a
    // granule.
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

/// Returns the number that `map` takes to `wanted`. Divides by the strides, largest first; each
/// quotient is a digit.
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
