//! `swap_axes.cu`: swaps tiles of an array whose axes swap in pairs.

use std::cell::Cell;

use turntile_cuda::args::{SwapAxesArgs, TileDigit};

use super::tiles::{number_of, vector};
use super::{Launch, Moved, aligned, need, on_chip, threads};

/// Number of a tile's square, and the tile's row `y` and column `x` in the square.
struct Place {
    square: u64,
    y: u64,
    x: u64,
}

impl Place {
    fn mirrored(&self) -> Self {
        Place { square: self.square, y: self.x, x: self.y }
    }
}

/// Returns the digits of each kind.
fn kinds(a: &SwapAxesArgs) -> [&[TileDigit]; 4] {
    let mut rest = &a.digits[..];
    [a.turned, a.within, a.pairs, a.fixed].map(|count| {
        let (first, others) = rest.split_at(count as usize);
        rest = others;
        first
    })
}

/// Returns the sum of a number's digits times their strides.
fn sum(digits: &[TileDigit], number: u64, stride: fn(&TileDigit) -> u64) -> u64 {
    let of = |d: &TileDigit| number / u64::from(d.before) % u64::from(d.extent) * stride(d);
    digits.iter().map(of).sum()
}

pub fn swap(call: &Launch, a: &SwapAxesArgs, alignment: u64, offset: u64) -> Moved {
    let word = call.word as u64;
    threads(call, 512)?;
    if offset >= a.bytes {
        return Ok(None);
    }
    let [rows, cols, piece, extent, parts, row] =
        [a.rows, a.cols, a.piece, a.extent, a.parts, a.row].map(u64::from);
    let [turned, within, pairs, fixed] = kinds(a);
    need(pairs.len() + fixed.len() <= 32, || "more digits than lanes".into())?;
    let at = offset / word;
    let parts_of_split = |digit: &TileDigit| (digit.stride, digit.partner);
    // The split axis has two digits: the last digit within a tile, and the first digit of the tile
    // numbers.
    let split = (parts > 1).then(|| {
        let digits = if a.stays == 1 { within } else { turned };
        parts_of_split(digits.last().expect("a split axis is in the row"))
    });
    let is_part = |digit: &TileDigit| split == Some(parts_of_split(digit));
    let is_number = |digit: &TileDigit| {
        split == Some((digit.stride / piece, digit.partner / piece)) && parts > 1
    };
    // Strides of the axes. An offset modulo the next larger stride gives a digit. Rows may have
    // gaps between them.
    let in_tile = turned.iter().chain(within).flat_map(|d| [d.stride, d.partner]);
    let of_number = pairs.iter().chain(fixed).filter(|d| d.extent > 1).flat_map(|d| {
        [d.stride, d.partner].map(|stride| if is_number(d) { stride / piece } else { stride })
    });
    let steps: Vec<u64> = in_tile.chain(of_number).filter(|&step| step > 0).collect();
    let gap = Cell::new(false);
    let value = |stride: u64, size: u64, is_part: bool, is_number: bool| {
        let all = if is_part || is_number { extent } else { size };
        let stride = if is_number { stride / piece } else { stride };
        let next = steps.iter().copied().filter(|&step| step > stride).min();
        let value = next.map_or(at, |next| at % next) / stride;
        match (is_part, is_number) {
            _ if all == 1 => 0,
            _ if value >= all => {
                gap.set(true);
                0
            }
            (true, _) => value % piece,
            (_, true) => value / piece,
            _ => value,
        }
    };
    let inside = |d: &TileDigit, stride| value(stride, u64::from(d.extent), is_part(d), false);
    let outside = |d: &TileDigit, stride| value(stride, u64::from(d.extent), false, is_number(d));
    let add =
        |digits: &[TileDigit], of: &dyn Fn(&TileDigit) -> u64| digits.iter().map(of).sum::<u64>();
    let from = Place {
        square: add(fixed, &|d| outside(d, d.stride) * u64::from(d.before)),
        y: add(pairs, &|d| outside(d, d.partner) * u64::from(d.before)),
        x: add(pairs, &|d| outside(d, d.stride) * u64::from(d.before)),
    };
    let r = add(turned, &|d| inside(d, d.partner) * u64::from(d.before));
    let c = add(turned, &|d| inside(d, d.stride) * d.stride)
        + add(within, &|d| inside(d, d.stride) * d.stride);
    if gap.get() {
        return Ok(None);
    }
    // Tiles with the kernel's offsets and extents.
    let tile = |place: &Place| {
        let begin = sum(fixed, place.square, |d| d.stride)
            + sum(pairs, place.x, |d| d.stride)
            + sum(pairs, place.y, |d| d.partner);
        let left = |n: u64| piece.min(extent - n % parts * piece);
        let (tall, wide) = match a.stays {
            1 => (piece, left(place.square)),
            _ => (left(place.y), left(place.x)),
        };
        (begin, rows * tall / piece, cols * wide / piece)
    };
    let begin_row = |r: u64| sum(turned, r, |d| d.partner);
    let (begin, tall, wide) = tile(&from);
    need(begin + begin_row(r) + c == at, || format!("word {at} is not at {r}, {c} of {begin}"))?;
    need(r < tall && c < wide, || format!("word {at}: {r}, {c} of {tall} x {wide}"))?;
    let (i, j) = (from.x.min(from.y), from.x.max(from.y));
    let [across, group, blocks] = [a.across, a.group, a.blocks].map(u64::from);
    let each = group * group;
    let number = number_of(i / group, j / group, across.div_ceil(group), blocks / each);
    let block = number.map(|n| n * each + i % group * group + j % group + from.square * blocks);
    if j >= across || block.is_none_or(|block| block >= u64::from(call.groups)) {
        return Ok(None);
    }
    // The word's destination, and the place that the kernel reads for it.
    let (to, to_rows, to_cols) = tile(&from.mirrored());
    let column = sum(turned, r, |d| d.stride) + add(within, &|d| inside(d, d.stride) * d.partner);
    let to_row = add(turned, &|d| inside(d, d.stride) * u64::from(d.before));
    need(to_row < to_rows && column < to_cols, || {
        format!("{to_row}, {column} of {to_rows} x {to_cols}")
    })?;
    if call.entry == "swap_axes_vectors" {
        let vector = vector(word);
        need(within.is_empty() && (column, to_row) == (r, c), || "no transpose".into())?;
        aligned(vector, &[alignment, begin * word, begin_row(r) * word, wide * word])?;
        need(row * vector == cols * word, || format!("{row} vectors of {cols}"))?;
        on_chip(call, rows.next_multiple_of(2) * 8 + 2 * (cols * row + row) * vector)?;
    } else {
        assert_eq!(call.entry, "swap_axes_granules");
        let digit = |d: &TileDigit| column / d.stride % u64::from(d.extent);
        let origin = add(turned, &|d| digit(d) * u64::from(d.before));
        let first = add(within, &|d| digit(d) * d.partner);
        need(origin == r && first + sum(turned, to_row, |d| d.stride) == c, || {
            format!("{to_row}, {column} comes from {origin}, {first}, not {r}, {c}")
        })?;
        need(row * 16 >= 16 - word + cols * word, || format!("{row} granules of {cols}"))?;
        let tables = (rows * 12 + 2 * cols * 4).div_ceil(16);
        on_chip(call, 16 * (tables + 2 * (rows * row + rows * word / 16 + 1)))?;
    }
    Ok(Some((to + begin_row(to_row) + column) * word + offset % word))
}
