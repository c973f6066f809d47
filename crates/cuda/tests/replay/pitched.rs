//! `pitched_swap.cu`, `pitched.cu`: squares of elements of several words, long elements, and saved
//! gaps, in rows with a pitch.

use turntile_cuda::args::{GapArgs, UnitSwapArgs, UnitTurnArgs};

use super::device::{div32, div64};
use super::tiles::number_of;
use super::{Launch, Moved, aligned, exactly, need, on_chip};

pub fn swap(call: &Launch, a: &UnitSwapArgs, offset: u64) -> Moved {
    assert_eq!(call.entry, "pitched_swap");
    exactly(call, 256)?;
    let (word, unit, tile) = (call.word as u64, u64::from(a.unit.divisor), u64::from(a.tile));
    let [side, across, row] = [a.side, a.across, a.row].map(u64::from);
    let elem = unit * word;
    aligned(word, &[a.pitch, row])?;
    on_chip(call, 2 * tile * row)?;
    need(row == 0 || row >= tile * elem, || format!("rows overlap on chip: {a:?}"))?;
    need(across * tile >= side && a.pairs == call.groups, || format!("tiles: {a:?}"))?;
    // Rows are whole elements.
    aligned(elem, &[a.pitch])?;
    let (r, c, within) = (offset / a.pitch, offset % a.pitch / elem, offset % elem);
    if r >= side || c >= side {
        return Ok(None);
    }
    let (i, j) = ((r / tile).min(c / tile), (r / tile).max(c / tile));
    let taken = j < across && number_of(i, j, across, u64::from(call.groups)).is_some();
    // The kernel's division, for the number of the word in a row of its tile.
    let k = (c % tile * unit + within / word) as u32;
    need(u64::from(div32(&a.unit, k)) == c % tile, || format!("word {k}: {:?}", a.unit))?;
    Ok(taken.then_some(c * a.pitch + r * elem + within))
}

pub fn turn(call: &Launch, a: &UnitTurnArgs, offset: u64) -> Moved {
    assert_eq!(call.entry, "pitched_turn");
    exactly(call, 256)?;
    let word = call.word as u64;
    need(u64::from(a.word) == word, || format!("{call:?}"))?;
    aligned(word, &[a.from_pitch, a.to_pitch])?;
    need(call.groups > 0, || "no block".into())?;
    let (unit, row) = (a.unit.divisor, a.row.divisor);
    let (i, along) = (offset / a.from_pitch, offset % a.from_pitch);
    let (j, w) = (along / (unit * word), along / word % unit);
    let n = j * row + i * unit + w;
    if i * unit >= row || n >= a.words {
        return Ok(None);
    }
    // From the destination to the source, as in the kernel.
    let found = div64(&a.row, n);
    let (rest, element) = (n - found * row, div64(&a.unit, n - found * row));
    let back = (found, element, rest - element * unit) == (j, i, w);
    need(back, || format!("word {n}: {found} {element}, not {j} {i}"))?;
    Ok(Some(j * a.to_pitch + (i * unit + w) * word + offset % word))
}

pub fn gaps(call: &Launch, a: &GapArgs, offset: u64) -> Moved {
    assert!(["gaps_keep", "gaps_restore"].contains(&call.entry), "{}", call.entry);
    exactly(call, 512)?;
    let word = call.word as u64;
    need(u64::from(a.word) == word, || format!("{call:?}"))?;
    let room = call.workspace.bytes() as u64;
    need(a.total * word <= room, || format!("{} words in {room} bytes", a.total))?;
    let before = |at: u64| {
        let row = div64(&a.other, at);
        row * a.other_gap.divisor + (at - row * a.other.divisor).saturating_sub(a.other_cols)
    };
    let start = |window: u64| window * a.pitch + a.cols;
    let ends = |window: u64| before(((window + 1) * a.pitch).min(a.len));
    let counts: Vec<u64> = (0..a.windows).map(|w| ends(w) - before(start(w))).collect();
    let all: u64 = counts.iter().sum();
    need(all == a.total, || format!("{all} words, {} given", a.total))?;
    let (at, byte) = (offset / word, offset % word);
    let window = at.saturating_sub(a.cols) / a.pitch;
    if at < a.cols || window >= a.windows {
        return Ok(None);
    }
    // Saved word `n` is at the place that the kernel computes.
    let number = before(at);
    let row = div64(&a.other_gap, number);
    let place = row * a.other.divisor + a.other_cols + (number - row * a.other_gap.divisor);
    let within = (before(start(window))..ends(window)).contains(&number);
    let n = counts[..window as usize].iter().sum::<u64>() + number - before(start(window));
    Ok((place == at && within).then_some(n * word + byte))
}
