//! `flip.cu` and `turn.cu`: pieces of reversed axes swap with their mirror images, and tiles of
//! squares move along cycles of four.

use turntile_cuda::args::{Args, FlipArgs, TurnArgs};

use super::device::{div32, div64};
use super::maps::Map;
use super::tiles::vector;
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

/// Returns the number of a cycle's matrix, and its tile in the first quarter.
fn quarter(a: &TurnArgs, cycle: u32) -> (u64, Tile) {
    let o = &a.order;
    let which = div32(&o.matrix, cycle);
    let number = cycle - which * o.matrix.divisor;
    let swath = div32(&o.swath, number);
    let (rows, within) = (o.high.min(o.down - swath * o.high), number - swath * o.swath.divisor);
    let (i, j) = (swath * o.high + within % rows, within / rows);
    let [i, j, tile, side, down] = [i, j, a.tile, a.side, a.rows].map(u64::from);
    let (r, c, across) = (i * tile, j * tile, if a.images == 1 { side } else { side - down });
    (which.into(), [r, c, tile.min(down - r), tile.min(across - c)])
}

/// Whether a launch moves vectors, and the bytes of a vector or granule, words of each, and bytes of a tile in shared memory.
struct Shape {
    in_vectors: bool,
    piece: u64,
    each: u64,
    held: u64,
}

impl Shape {
    fn of(call: &Launch, a: &TurnArgs) -> Self {
        let (in_vectors, word) = (call.entry == "turn_squares", call.word as u64);
        let piece = if in_vectors { vector(word) } else { GRANULE as u64 };
        Shape { in_vectors, piece, each: piece / word, held: u64::from(a.held) * piece }
    }

    /// Returns the offset of a row of a tile in shared memory.
    fn begin(&self, a: &TurnArgs, row: u64) -> u64 {
        (row * u64::from(a.row) + row / self.each) * self.piece
    }
}

pub fn turn(call: &Launch, a: &TurnArgs, alignment: u64, offset: u64) -> Moved {
    let word = call.word as u64;
    let shape = Shape::of(call, a);
    threads(call, if shape.in_vectors { 512 } else { 256 })?;
    let [side, unit, tile, images] = [a.side, a.unit, a.tile, a.images].map(u64::from);
    let (elem, [group, lanes, slots]) = (unit * word, [a.threads, a.lanes, a.slots]);
    need(slots > 0 && slots * group <= call.threads, || format!("{a:?}"))?;
    on_chip(call, u64::from(slots) * images * shape.held)?;
    need(a.pitch == side * elem && a.matrix_bytes == side * a.pitch, || format!("{a:?}"))?;
    need(shape.begin(a, tile) <= shape.held, || format!("{a:?}"))?;
    let whole = if shape.in_vectors {
        need(unit == 1, || format!("{a:?}"))?;
        aligned(shape.piece, &[alignment, a.pitch])?;
        shape.each
    } else {
        assert_eq!(call.entry, "turn_squares_granules");
        aligned(word, &[alignment])?;
        // All rows of a thread have one address modulo 16.
        need(lanes > 0 && group % (16 * lanes) == 0, || format!("{a:?}"))?;
        1
    };
    let row = if shape.in_vectors { 0 } else { 16 - word } + tile * elem;
    need(row <= shape.piece * u64::from(a.row), || format!("rows of {row} bytes: {a:?}"))?;
    aligned(whole, &[tile, a.rows.into(), side])?;
    if offset >= a.bytes {
        return Ok(None);
    }
    let (which, rest) = (offset / a.matrix_bytes, offset % a.matrix_bytes);
    let (mut r, mut c) = (rest / a.pitch, rest % a.pitch / elem);
    let dest =
        |r: u64, c: u64| if a.rows_reversed == 1 { [side - 1 - c, r] } else { [c, side - 1 - r] };
    let [to_row, to_col] = dest(r, c);
    let to = Some(which * a.matrix_bytes + to_row * a.pitch + to_col * elem + offset % elem);
    // One of four turns is in the first quarter, except for the middle.
    let (down, mut turns) = (u64::from(a.rows), 0);
    let across = if images == 1 { side } else { side - down };
    while turns < images && !(r < down && c < across) {
        [r, c] = dest(r, c);
        turns += 1;
    }
    if turns == images {
        // The thread that turns the middle moves one micro-block.
        need(images == 4 && side - 2 * down == whole, || format!("({r}, {c}): {a:?}"))?;
        let first = which * u64::from(a.order.matrix.divisor);
        let is_turned = shape.in_vectors && first < a.cycles.into();
        return Ok(to.filter(|_| is_turned));
    }
    let (i, j, o) = (r / tile, c / tile, &a.order);
    let [down, high, matrix] = [o.down, o.high, o.matrix.divisor].map(u64::from);
    let across = matrix / down;
    let swath = i / high;
    let rows = high.min(down - swath * high);
    let cycle = which * matrix + swath * high * across + j * rows + i % high;
    let is_moved = cycle < a.cycles.into() && cycle / u64::from(slots) < call.groups.into();
    if i >= down || j >= across || !is_moved {
        return Ok(None);
    }
    let (again, [first_row, first_col, rows, cols]) = quarter(a, cycle as u32);
    let is_in =
        (first_row..first_row + rows).contains(&r) && (first_col..first_col + cols).contains(&c);
    need(again == which && is_in, || format!("({r}, {c}) is not in cycle {cycle}: {a:?}"))?;
    Ok(to)
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
                turn_block(call, a, block, &mut memory, &mut shared);
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

/// Runs the cycles of a block: all groups of threads read before any writes.
fn turn_block(
    call: &Launch,
    a: &TurnArgs,
    block: u32,
    memory: &mut Memory,
    shared: &mut [Option<u8>],
) {
    let shape = Shape::of(call, a);
    let slots = (0..a.slots).map(|slot| (slot, block * a.slots + slot));
    let cycles: Vec<_> = slots
        .filter(|&(_, cycle)| cycle < a.cycles)
        .map(|(slot, cycle)| {
            let (which, first) = quarter(a, cycle);
            let matrix = memory.array.start + which as usize * a.matrix_bytes as usize;
            let base = u64::from(slot * a.images) * shape.held;
            Cycle {
                a,
                shape: &shape,
                matrix,
                first,
                base,
                is_first: cycle % a.order.matrix.divisor == 0,
            }
        })
        .collect();
    for cycle in &cycles {
        if shape.in_vectors {
            cycle.load_vectors(memory, shared)
        } else {
            cycle.load(memory, shared)
        }
    }
    for cycle in &cycles {
        if shape.in_vectors {
            cycle.store_vectors(memory, shared)
        } else {
            cycle.store(memory, shared)
        }
    }
}

/// A cycle of tiles: the address of its matrix, its tile in the first quarter, and its offset in shared memory.
struct Cycle<'a> {
    a: &'a TurnArgs,
    shape: &'a Shape,
    matrix: usize,
    first: Tile,
    base: u64,
    is_first: bool,
}

impl Cycle<'_> {
    /// Returns tile, destination and offset in shared memory of each step of the cycle.
    fn tiles(&self) -> Vec<(Tile, Tile, u64)> {
        let mut tile = self.first;
        let tiles = (0..u64::from(self.a.images))
            .map(|k| {
                let from = tile;
                tile = image(self.a, from);
                (from, tile, self.base + k * self.shape.held)
            })
            .collect();
        assert_eq!(tile, self.first, "the last tile moves to the first");
        tiles
    }

    /// Returns the address of row `row` of a tile.
    fn address(&self, [r, c, ..]: Tile, row: u64, word: usize) -> usize {
        let elem = u64::from(self.a.unit) * word as u64;
        self.matrix + ((r + row) * self.a.pitch + c * elem) as usize
    }

    fn load(&self, memory: &Memory, shared: &mut [Option<u8>]) {
        let elem = self.a.unit as usize * memory.word;
        for (tile, _, held) in self.tiles() {
            for row in 0..tile[2] {
                let from = self.address(tile, row, memory.word);
                let to = (held + self.shape.begin(self.a, row)) as usize + from % GRANULE;
                let len = tile[3] as usize * elem;
                assert!(from % GRANULE + len <= self.a.row as usize * GRANULE, "{:?}", self.a);
                memory.load(shared, to, from, len);
            }
        }
    }

    fn store(&self, memory: &mut Memory, shared: &[Option<u8>]) {
        let (a, word) = (self.a, memory.word);
        let (unit, down) = (a.unit as usize, a.rows_reversed == 1);
        let step = u64::from(a.threads / a.lanes);
        for (source, tile, held) in self.tiles() {
            let first_byte = self.address(source, 0, word) % GRANULE;
            for row in 0..tile[2] {
                let to = self.address(tile, row, word);
                assert_eq!(to % GRANULE, self.address(tile, row % step, word) % GRANULE);
                let across = if down { source[3] - 1 - row } else { row } as usize;
                for n in 0..tile[3] as usize * unit {
                    let (element, part) = (n / unit, n % unit);
                    let s = if down { element as u64 } else { source[2] - 1 - element as u64 };
                    let skew = (first_byte + s as usize * (a.pitch as usize % GRANULE)) % GRANULE;
                    let begin = (held + self.shape.begin(a, s)) as usize;
                    memory.store(
                        shared,
                        to + n * word,
                        begin + skew + (across * unit + part) * word,
                        word,
                    );
                }
            }
        }
    }

    /// Returns the rows of a transposed micro-block at `at`: the addresses of their words.
    fn micro(&self, at: usize, word: usize) -> Vec<Vec<usize>> {
        let (each, pitch) = (self.shape.each as usize, self.a.pitch as usize);
        let row = |i: usize| at + if self.a.rows_reversed == 1 { i } else { each - 1 - i } * pitch;
        (0..each).map(|j| (0..each).map(|i| row(i) + j * word).collect()).collect()
    }

    /// Returns the row of a micro-block to which row `i` of the transposed micro-block goes.
    fn flipped(&self, i: usize) -> usize {
        if self.a.rows_reversed == 1 { self.shape.each as usize - 1 - i } else { i }
    }

    fn load_vectors(&self, memory: &mut Memory, shared: &mut [Option<u8>]) {
        let (a, word, &Shape { each, piece, .. }) = (self.a, memory.word, self.shape);
        let down = a.rows_reversed == 1;
        for (tile, _, held) in self.tiles() {
            for (p, q) in (0..tile[2] / each).flat_map(|p| (0..tile[3] / each).map(move |q| (p, q)))
            {
                let at = self.address(tile, p * each, word) + (q * piece) as usize;
                assert!(at.is_multiple_of(piece as usize), "{a:?}");
                let row = if down { tile[3] - (q + 1) * each } else { q * each };
                let place = if down { p } else { tile[2] / each - 1 - p };
                let to = (held + self.shape.begin(a, row) + place * piece) as usize;
                for (i, words) in self.micro(at, word).into_iter().enumerate() {
                    let to = to + self.flipped(i) * a.row as usize * piece as usize;
                    for (k, from) in words.into_iter().enumerate() {
                        (0..word)
                            .for_each(|b| shared[to + k * word + b] = Some(memory.bytes[from + b]));
                    }
                }
            }
        }
        if self.is_first && a.images > 1 && 2 * a.rows < a.side {
            let middle = [u64::from(a.rows); 4];
            let at = self.address(middle, 0, word);
            let rows = self.micro(at, word);
            let bytes = |&from: &usize| memory.bytes[from..from + word].iter().map(|&b| Some(b));
            let rows: Vec<Vec<_>> =
                rows.iter().map(|row| row.iter().flat_map(bytes).collect()).collect();
            for (i, row) in rows.iter().enumerate() {
                memory.store(row, at + self.flipped(i) * a.pitch as usize, 0, piece as usize);
            }
        }
    }

    fn store_vectors(&self, memory: &mut Memory, shared: &[Option<u8>]) {
        let (word, piece) = (memory.word, self.shape.piece);
        for (_, tile, held) in self.tiles() {
            for (r, g) in
                (0..tile[2]).flat_map(|r| (0..tile[3] / self.shape.each).map(move |g| (r, g)))
            {
                let to = self.address(tile, r, word) + (g * piece) as usize;
                let from = held + self.shape.begin(self.a, r) + g * piece;
                memory.store(shared, to, from as usize, piece as usize);
            }
        }
    }
}
