//! `barrier_axes.cu`: a block reads instances in memory order, waits, and writes the words of the
//! result in order.

use turntile_cuda::args::{Axes32, AxesArgs};

use super::maps::Map;
use super::{Answer, Launch, Moved, aligned, need, on_chip, threads};

/// Returns the number whose digits, times their strides, add up to `place`: the only word read from
/// there.
fn read_by(source: &Axes32, place: u64) -> Option<u64> {
    let (mut weight, mut digits) = (1, Vec::new());
    for d in &source.d[..source.digits as usize] {
        let extent = u64::from(d.by.divisor);
        digits.push((u64::from(d.stride), extent, weight));
        weight *= extent;
    }
    digits.push((u64::from(source.first), u64::MAX, weight));
    // Digits with the largest stride first. Digits of extent 1 do not count.
    digits.retain(|&(_, extent, _)| extent > 1);
    digits.sort_unstable_by(|a, b| b.cmp(a));
    let (mut rest, mut number) = (place, 0);
    for (stride, extent, weight) in digits {
        let digit = rest.checked_div(stride)?.min(extent - 1);
        (rest, number) = (rest - digit * stride, number + digit * weight);
    }
    (rest == 0).then_some(number)
}

/// Checks how instances are read: by rows, or all as one run.
fn loads(call: &Launch, a: &AxesArgs, alignment: u64, bytes: u64) -> Answer<()> {
    let word = call.word as u64;
    let [row, pitch, granule] = [a.row, a.pitch, a.granule].map(u64::from);
    match granule {
        0 => {
            need(row == pitch, || format!("one run, {row} and {pitch} bytes: {a:?}"))?;
            // Addresses modulo 16 are known only if blocks start at multiples of 16.
            let block = u64::from(a.stacked) * a.instance_bytes;
            let known = alignment >= 16 && block.is_multiple_of(16);
            on_chip(call, bytes + if known { 0 } else { 16 })
        }
        4 | 16 => {
            need(granule == 16 || word < 4, || format!("{word} bytes by 4: {a:?}"))?;
            aligned(granule, &[alignment, row, pitch, a.instance_bytes])?;
            need(pitch >= row && bytes.is_multiple_of(row), || format!("rows overlap: {a:?}"))?;
            on_chip(call, bytes / row * pitch)
        }
        other => need(false, || format!("granules of {other} bytes")),
    }
}

pub fn axes(call: &Launch, a: &AxesArgs, alignment: u64, offset: u64) -> Moved {
    assert_eq!(call.entry, "barrier_axes");
    threads(call, 1024)?;
    let (word, words, stacked) = (call.word as u64, u64::from(a.words), u64::from(a.stacked));
    need(stacked > 0 && a.instance_bytes == words * word, || format!("instances overlap: {a:?}"))?;
    aligned(word, &[a.source.d[0].stride.into(), a.pitch.into(), a.row.into()])?;
    let packs = u64::from(a.pack) * word;
    need(packs == 16 || packs == word.max(4), || format!("{packs} bytes at a time"))?;
    let full = stacked.min(a.instances) * words;
    loads(call, a, alignment, full * word)?;
    let (instance, rest) = (offset / a.instance_bytes, offset % a.instance_bytes);
    let number = instance / stacked;
    if instance >= a.instances || number >= u64::from(call.groups) {
        return Ok(None);
    }
    let first = number * stacked;
    let count = stacked.min(a.instances - first) * words;
    let within = (instance - first) * a.instance_bytes + rest;
    let (row, pitch) = (u64::from(a.row), u64::from(a.pitch));
    let byte = within % word;
    let place = (within - byte) / row * pitch + (within - byte) % row;
    let Some(to) = read_by(&a.source, place) else { return Ok(None) };
    need(a.source.succ(to)? == place, || format!("word {to} is read from another place: {a:?}"))?;
    Ok((to < count).then_some(first * a.instance_bytes + to * word + byte))
}
