//! `flip.cu` and `turn.cu`: pieces of reversed axes swap with their mirror images, and tiles of
//! squares move along cycles of four.

use turntile_cuda::args::{Args, FlipArgs, TurnArgs};

use super::device::{div32, div64};
use super::maps::Map;
use super::{Answer, Launch, Moved, aligned, exactly, need, on_chip, threads};

const GRANULE: usize = 16;

/// A piece and its mirror image: offsets in the array, and bytes of a unit, a row and the piece.
struct Piece {
    places: [u64; 2],
    sizes: [u64; 3],
    is_own_image: bool,
}

/// Returns piece `number`, or `None` if it does not exist or is the second of two.
fn piece(a: &FlipArgs, number: u64) -> Answer<Option<Piece>> {
    if number >= a.pieces {
        return Ok(None);
    }
    let in_row = div64(&a.deep, number);
    let in_head = div64(&a.along, in_row);
    let head = div64(&a.down, in_head);
    let byte = (number - in_row * a.deep.divisor) * u64::from(a.piece_bytes);
    let unit = (in_row - in_head * a.along.divisor) * u64::from(a.piece_units);
    let row = (in_head - head * a.down.divisor) * u64::from(a.piece_rows);
    let head = head + div64(&a.half, head) * a.skipped;
    let image = a.mirror.succ(head)?;
    let is_own_image = head == image && u64::from(a.piece_units) == a.units;
    let end = if head == image && !is_own_image { a.units / 2 } else { a.units };
    if head > image || unit >= end {
        return Ok(None);
    }
    let units = u64::from(a.piece_units).min(end - unit);
    let unit_bytes = u64::from(a.piece_bytes).min(a.unit_bytes - byte);
    let rows = u64::from(a.piece_rows).min(a.rows - row);
    let place =
        |head: u64, unit: u64| ((head * a.rows + row) * a.units + unit) * a.unit_bytes + byte;
    let places = [place(head, unit), place(image, a.units - unit - units)];
    let sizes = [unit_bytes, units * unit_bytes, rows * units * unit_bytes];
    Ok(Some(Piece { places, sizes, is_own_image }))
}

pub fn flip(call: &Launch, a: &FlipArgs, alignment: u64, offset: u64) -> Moved {
    assert_eq!(call.entry, "flip");
    exactly(call, 256)?;
    let slots = 256 / u64::from(a.lanes);
    need(a.lanes.is_power_of_two() && a.lanes <= 256, || format!("{} lanes", a.lanes))?;
    on_chip(call, slots * 2 * u64::from(a.held))?;
    let word = call.word as u64;
    aligned(word, &[alignment, a.unit_bytes, a.piece_bytes.into()])?;
    aligned(GRANULE as u64, &[a.held.into()])?;
    let row_bytes = a.units * a.unit_bytes;
    let (head, in_head) = (offset / row_bytes / a.rows, offset / row_bytes % a.rows);
    let (unit, byte) = (offset % row_bytes / a.unit_bytes, offset % a.unit_bytes);
    let image = a.mirror.succ(head)?;
    need(a.mirror.succ(image)? == head, || format!("head {head}: {a:?}"))?;
    // The first of the two pieces has the byte, or its image.
    let whole = u64::from(a.piece_units) == a.units;
    let splits = head == image && !whole;
    if splits && 2 * unit + 1 == a.units {
        return Ok(None);
    }
    let is_second = head > image || splits && unit >= a.units / 2;
    let (first, unit) = if is_second { (image, a.units - 1 - unit) } else { (head, unit) };
    let outer = first / (a.half.divisor + a.skipped);
    let number = first - outer * a.skipped;
    let (down, along) = (in_head / u64::from(a.piece_rows), unit / u64::from(a.piece_units));
    let deep = byte / u64::from(a.piece_bytes);
    let is_counted = down < a.down.divisor && along < a.along.divisor && deep < a.deep.divisor;
    let number =
        ((number * a.down.divisor + down) * a.along.divisor + along) * a.deep.divisor + deep;
    if offset >= a.bytes || !is_counted || number / slots >= call.groups.into() {
        return Ok(None);
    }
    let Some(Piece { places, sizes: [unit, row, bytes], .. }) = piece(a, number)? else {
        return Ok(None);
    };
    // A piece starts at any address modulo 16 that is a multiple of its word.
    let before =
        if alignment.min(places[0] | places[1] | 16).is_multiple_of(16) { 0 } else { 16 - word };
    need((before + bytes).next_multiple_of(16) <= a.held.into(), || format!("{bytes}: {a:?}"))?;
    let fits = |by: u32, size: u64| u64::from(by) == size || u64::from(by) >= bytes;
    need(fits(a.of_row.divisor, row_bytes) && fits(a.of_unit.divisor, a.unit_bytes), || {
        format!("{bytes} bytes: {a:?}")
    })?;
    let [from, to] = if is_second { [places[1], places[0]] } else { places };
    let k = offset.checked_sub(from).filter(|&k| k < bytes);
    let k = k.ok_or_else(|| super::Broken(format!("byte {offset} is not in piece {number}")))?;
    Ok(Some(to + (k / row + 1) * row - (k % row / unit + 1) * unit + k % unit))
}

/// First row and column of a tile, and its extents.
type Tile = [u64; 4];

/// Returns the tile to which a tile moves.
fn image(a: &TurnArgs, [r, c, rows, cols]: Tile) -> Tile {
    let side = u64::from(a.side);
    match a.rows_reversed {
        0 => [c, side - r - rows, cols, rows],
        _ => [side - c - cols, r, cols, rows],
    }
}

/// Returns the number of a block's matrix, and its tile in the first quarter.
fn quarter(a: &TurnArgs, block: u32) -> (u64, Tile) {
    let o = &a.order;
    let which = div32(&o.matrix, block);
    let number = block - which * o.matrix.divisor;
    let swath = div32(&o.swath, number);
    let (rows, within) = (o.high.min(o.down - swath * o.high), number - swath * o.swath.divisor);
    let (i, j) = (swath * o.high + within % rows, within / rows);
    let [i, j, tile, side] = [i, j, a.tile, a.side].map(u64::from);
    let (r, c) = (i * tile, j * tile);
    (which.into(), [r, c, tile.min(side / 2 - r), tile.min(side - side / 2 - c)])
}

/// Returns the bytes from row to row of a tile in shared memory, and of the tile.
fn held(a: &TurnArgs, word: u64) -> (impl Fn(u64) -> u64, u64) {
    let (row, each) = (u64::from(a.row), 16 / word);
    let tile = u64::from(a.tile);
    (move |r: u64| (r * row + r / each) * 16, (tile * row + tile / each + 1) * 16)
}

pub fn turn(call: &Launch, a: &TurnArgs, alignment: u64, offset: u64) -> Moved {
    let word = call.word as u64;
    assert_eq!(call.entry, if a.unit == 1 { "turn_squares" } else { "turn_squares_several" });
    threads(call, 512)?;
    let (side, elem) = (u64::from(a.side), u64::from(a.unit) * word);
    aligned(word, &[alignment])?;
    let (_, tile_bytes) = held(a, word);
    on_chip(call, 4 * tile_bytes)?;
    need(a.pitch == side * elem && a.matrix_bytes == side * a.pitch, || format!("{a:?}"))?;
    let row = 16 - word + u64::from(a.tile) * elem;
    need(row <= 16 * u64::from(a.row), || format!("rows of {row} bytes: {a:?}"))?;
    if offset >= a.bytes {
        return Ok(None);
    }
    let (which, rest) = (offset / a.matrix_bytes, offset % a.matrix_bytes);
    let (mut r, mut c) = (rest / a.pitch, rest % a.pitch / elem);
    let dest =
        |r: u64, c: u64| if a.rows_reversed == 1 { [side - 1 - c, r] } else { [c, side - 1 - r] };
    let [to_row, to_col] = dest(r, c);
    // One of four turns is in the first quarter, except for the middle.
    let turns = (0..4).find(|_| {
        let found = r < side / 2 && c < side - side / 2;
        if !found {
            [r, c] = dest(r, c);
        }
        found
    });
    if turns.is_none() {
        return Ok(None);
    }
    let (i, j, o) = (r / u64::from(a.tile), c / u64::from(a.tile), &a.order);
    let [down, high, matrix] = [o.down, o.high, o.matrix.divisor].map(u64::from);
    let across = matrix / down;
    let swath = i / high;
    let rows = high.min(down - swath * high);
    let block = which * matrix + swath * high * across + j * rows + i % high;
    if i >= down || j >= across || block >= call.groups.into() {
        return Ok(None);
    }
    let (again, [first_row, first_col, rows, cols]) = quarter(a, block as u32);
    let is_in =
        (first_row..first_row + rows).contains(&r) && (first_col..first_col + cols).contains(&c);
    need(again == which && is_in, || format!("({r}, {c}) is not in block {block}: {a:?}"))?;
    Ok(Some(which * a.matrix_bytes + to_row * a.pitch + to_col * elem + offset % elem))
}

/// Memory that blocks read and write: bytes, and how often each was written.
struct Memory<'a> {
    bytes: &'a mut [u8],
    written: Vec<usize>,
    /// Addresses of the array.
    array: std::ops::Range<usize>,
    word: usize,
}

impl Memory<'_> {
    /// Copies `len` bytes at `from` to `to`, which is the same address modulo 16 in shared memory.
    fn load(&self, shared: &mut [Option<u8>], to: usize, from: usize, len: usize) {
        let before = from % GRANULE;
        assert_eq!(to % GRANULE, before);
        for at in (0..before + len).step_by(GRANULE) {
            let granule = (from + at).checked_sub(before).filter(|&granule| {
                granule >= self.array.start && granule + GRANULE <= self.array.end
            });
            for k in (at..at + GRANULE).step_by(self.word) {
                if granule.is_some() || k >= before && k < before + len {
                    let (to, from) = (to + k - before, from + k - before);
                    for byte in 0..self.word {
                        shared[to + byte] = Some(self.bytes[from + byte]);
                    }
                }
            }
        }
    }

    /// Writes bytes of shared memory from `from` on to `to`.
    fn store(&mut self, shared: &[Option<u8>], to: usize, from: usize, len: usize) {
        assert!(self.array.contains(&to) && to + len <= self.array.end);
        assert!(len == self.word || to.is_multiple_of(len), "{len} bytes at {to}");
        for k in 0..len {
            self.bytes[to + k] = shared[from + k].expect("read before it is written");
            self.written[to + k] += 1;
        }
    }
}

/// Runs all blocks on `memory`, in which the array starts at `start`. An address is an offset into
/// `memory`. Returns how often each byte was written.
///
/// # Panics
/// If a block accesses bytes outside the array, or the byte that it writes was not read.
pub fn execute(call: &Launch, memory: &mut [u8], start: usize) -> Vec<usize> {
    let (written, word) = (vec![0; memory.len()], call.word);
    let mut memory = Memory { bytes: memory, written, array: start..start, word };
    let mut shared = vec![None; call.shared_bytes as usize];
    for block in 0..call.groups {
        shared.fill(None);
        match &call.params {
            Args::Flip(a) => {
                memory.array.end = start + a.bytes as usize;
                flip_block(call, a, block, &mut memory, &mut shared);
            }
            Args::Turn(a) => {
                memory.array.end = start + a.bytes as usize;
                turn_block(a, block, &mut memory, &mut shared);
            }
            _ => panic!("{call:?}"),
        }
    }
    memory.written
}

fn flip_block(
    call: &Launch,
    a: &FlipArgs,
    block: u32,
    memory: &mut Memory,
    shared: &mut [Option<u8>],
) {
    let (start, word, slots) = (memory.array.start, call.word, 256 / a.lanes as usize);
    let pieces: Vec<(usize, Piece)> = (0..slots)
        .filter_map(|slot| Some((slot, piece(a, (block as usize * slots + slot) as u64).unwrap()?)))
        .collect();
    // For each slot, the addresses of the piece and its image, and their offsets in shared memory.
    let places = |slot: usize, piece: &Piece| {
        let base = [0, 1].map(|k| (2 * slot + k) * a.held as usize);
        let at = piece.places.map(|place| start + place as usize);
        [(at[0], base[0] + at[0] % GRANULE), (at[1], base[1] + at[1] % GRANULE)]
    };
    for (slot, piece) in &pieces {
        let [first, second] = places(*slot, piece);
        let len = piece.sizes[2] as usize;
        memory.load(shared, first.1, first.0, len);
        if !piece.is_own_image {
            memory.load(shared, second.1, second.0, len);
        }
        for (at, held) in [first, second] {
            let base = held - at % GRANULE;
            let end = (at % GRANULE + len).next_multiple_of(GRANULE);
            assert!(end <= a.held as usize, "{end} of {base}: {a:?}");
        }
    }
    for (slot, piece) in &pieces {
        let [first, second] = places(*slot, piece);
        let [unit, row, bytes] = piece.sizes.map(|size| size as usize);
        let mut mirror = |to: usize, held: usize| {
            let before = to % GRANULE;
            for at in (0..before + bytes).step_by(GRANULE) {
                let (begin, end) = (at.max(before) - before, (at + GRANULE - before).min(bytes));
                let rows = div32(&a.of_row, begin as u32) as usize;
                let within = begin - rows * a.of_row.divisor as usize;
                let number = div32(&a.of_unit, within as u32) as usize;
                let k = within - number * a.of_unit.divisor as usize;
                let mut from = held + (rows + 1) * row - (number + 1) * unit + k;
                let is_whole = end - begin == GRANULE;
                if is_whole && k + GRANULE <= unit {
                    memory.store(shared, to + begin, from, GRANULE);
                } else if word < 16 && is_whole && unit == word && within + GRANULE <= row {
                    // One access of a vector, with its words in reverse order.
                    assert_eq!((to + begin) % GRANULE, 0);
                    for (number, at) in (begin..end).step_by(word).enumerate() {
                        memory.store(shared, to + at, from - number * word, word);
                    }
                } else {
                    let (mut of_unit, mut of_row) = (unit - k, row - within);
                    for at in (begin..end).step_by(word) {
                        memory.store(shared, to + at, from, word);
                        from += word;
                        (of_unit, of_row) = (of_unit - word, of_row - word);
                        if of_row == 0 {
                            from += 2 * row;
                        }
                        if of_unit == 0 {
                            from -= (2 * unit).min(from);
                        }
                        of_unit = if of_unit == 0 { unit } else { of_unit };
                        of_row = if of_row == 0 { row } else { of_row };
                    }
                }
            }
        };
        mirror(second.0, first.1);
        if !piece.is_own_image {
            mirror(first.0, second.1);
        }
    }
}

fn turn_block(a: &TurnArgs, block: u32, memory: &mut Memory, shared: &mut [Option<u8>]) {
    let word = memory.word;
    let (elem, pitch) = (a.unit as usize * word, a.pitch as usize);
    let (which, first) = quarter(a, block);
    let (begin, size) = held(a, word as u64);
    let (begin, size) = (|row: usize| begin(row as u64) as usize, size as usize);
    let matrix = memory.array.start + which as usize * a.matrix_bytes as usize;
    let address = |tile: Tile| matrix + tile[0] as usize * pitch + tile[1] as usize * elem;
    let mut tile = first;
    for k in 0..4 {
        for row in 0..tile[2] as usize {
            let from = address(tile) + row * pitch;
            let to = k * size + begin(row) + from % GRANULE;
            let len = tile[3] as usize * elem;
            assert!(from % GRANULE + len <= a.row as usize * GRANULE, "{a:?}");
            memory.load(shared, to, from, len);
        }
        tile = image(a, tile);
    }
    assert_eq!(tile, first, "a cycle of four");
    let mut source = first;
    for k in 0..4 {
        let tile = image(a, source);
        let [rows, cols] = [source[2], source[3]].map(|extent| extent as usize);
        for row in 0..tile[2] as usize {
            let to = address(tile) + row * pitch;
            let across = if a.rows_reversed == 1 { cols - 1 - row } else { row };
            for n in 0..tile[3] as usize * a.unit as usize {
                let (element, part) = (n / a.unit as usize, n % a.unit as usize);
                let s = if a.rows_reversed == 1 { element } else { rows - 1 - element };
                let skew = (address(source) % GRANULE + s * (pitch % GRANULE)) % GRANULE;
                let from = k * size + across * elem + begin(s) + skew + part * word;
                memory.store(shared, to + n * word, from, word);
            }
        }
        source = tile;
    }
}
