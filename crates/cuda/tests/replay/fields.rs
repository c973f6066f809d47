//! `fields.cu`: forms the slots of a chunk from its records and the next ones, and the inverse;
//! slots move along cycles.

use turntile_cuda::args::{FieldColumn, FieldGatherArgs, FieldMap};

use super::device::div32;
use super::maps::{Map, NARROW, Width};
use super::{Answer, Launch, Moved, aligned, exactly, need, on_chip};

/// Parameters of a launch, in types wide enough to count all bytes.
struct Chunks<'a> {
    a: &'a FieldGatherArgs,
    bytes: u64,
}

impl Chunks<'_> {
    fn fields(&self) -> &[FieldColumn] {
        &self.a.field[..self.a.fields as usize]
    }
    /// Returns the number of records of a tile.
    fn tile(&self) -> u64 {
        self.a.tile.divisor.into()
    }
    fn chunks(&self) -> u64 {
        self.a.chunks.into()
    }
    /// Returns the last field whose `number` is at most `value`.
    fn field(&self, number: impl Fn(&FieldColumn) -> u32, value: u64) -> &FieldColumn {
        let below = self.fields().iter().filter(|f| u64::from(number(f)) <= value);
        below.max_by_key(|f| number(f)).expect("the first is at 0")
    }
    /// Returns the chunk of the byte at `offset`, and the offset within the chunk.
    fn chunk(&self, offset: u64) -> (u64, u64) {
        let c = (offset / self.bytes).min(self.chunks());
        (c, offset - c * self.bytes)
    }
    fn records(&self, c: u64) -> u64 {
        (if c == self.chunks() { self.a.last_records } else { self.a.chunk }).into()
    }
    /// Returns the bytes of a field in one record.
    fn width(&self, f: &FieldColumn) -> u64 {
        u64::from(f.width.divisor) / self.tile()
    }
    /// Returns the offset among records of byte `q` of a field in chunk `c`.
    fn in_tiles(&self, c: u64, f: &FieldColumn, q: u64) -> u64 {
        let (tile, width) = (self.tile(), self.width(f));
        let first = q / width / tile * tile;
        let held = tile.min(self.records(c) - first);
        let place = u64::from(f.place) / tile * held;
        c * self.bytes + first * u64::from(self.a.record) + place + q - first * width
    }
    /// Returns the offset among slots of byte `q` of a field in chunk `c`. Bytes before the chunk's
    /// first slot are in the previous chunk's slots; for chunk 0, in the last chunk's.
    fn in_slots(&self, c: u64, f: &FieldColumn, q: u64) -> u64 {
        let (begin, own) = (u64::from(f.begin), u64::from(self.a.chunk) * self.width(f));
        let last = self.chunks() * self.bytes + u64::from(f.last) * u64::from(self.a.slot);
        match (q >= f.lead.into(), c) {
            (true, c) if c < self.chunks() => c * self.bytes + begin + q - u64::from(f.lead),
            (true, _) | (false, 0) => last + q - u64::from(f.lead),
            (false, c) => (c - 1) * self.bytes + begin + own + q - u64::from(f.lead),
        }
    }
    /// Returns the offset among slots of the byte at `offset` among records.
    fn gathered(&self, offset: u64) -> u64 {
        let (c, b) = self.chunk(offset);
        let tile = self.tile();
        let first = b / u64::from(self.a.tile_bytes.divisor) * tile;
        let held = tile.min(self.records(c) - first);
        let rest = b - first * u64::from(self.a.record);
        let f = self.field(|f| f.place, rest / held * tile);
        let q = first * self.width(f) + rest - u64::from(f.place) / tile * held;
        self.in_slots(c, f, q)
    }
    /// Returns the offset among records of the byte at `offset` among slots.
    fn scattered(&self, offset: u64) -> u64 {
        let (c, b) = self.chunk(offset);
        let slot = u64::from(self.a.slot);
        let (f, q) = if c < self.chunks() {
            let f = self.field(|f| f.begin, b);
            (f, b - u64::from(f.begin) + u64::from(f.lead))
        } else {
            let f = self.field(|f| f.last, b / slot);
            (f, b - u64::from(f.last) * slot + u64::from(f.lead))
        };
        let own = self.records(c) * self.width(f);
        if q < own {
            self.in_tiles(c, f, q)
        } else if c < self.chunks() {
            self.in_tiles(c + 1, f, q - own)
        } else {
            let next = self.fields().iter().filter(|other| other.begin > f.begin);
            let next = next.min_by_key(|other| other.begin).expect("the last ends there");
            self.in_tiles(0, next, q - own)
        }
    }
}

pub fn gather(call: &Launch, a: &FieldGatherArgs, alignment: u64, offset: u64) -> Moved {
    let back = a.backward != 0;
    let [record, tile, chunk, slot] = [a.record, a.tile.divisor, a.chunk, a.slot].map(u64::from);
    let last_records = u64::from(a.last_records);
    let [table, held, pad, runs] = [a.table, a.held, a.pad, a.runs].map(u64::from);
    let of = Chunks { a, bytes: chunk * record };
    exactly(call, 256)?;
    let all = u64::from(a.each) * runs + u64::from(a.more);
    need(all == of.chunks() && u64::from(a.more) < runs, || format!("chunks of runs: {a:?}"))?;
    let keeps = call.entry == "field_keep";
    let blocks = runs + u64::from(keeps);
    need(blocks == u64::from(call.groups), || format!("{runs} runs, {} blocks", call.groups))?;
    need((1..=64).contains(&a.fields), || format!("{} fields", a.fields))?;
    need(table >= 32 * u64::from(a.fields), || format!("{table} bytes of table"))?;
    // Each 16 bytes of slots are from one field, and each 16 bytes of rows from one row.
    aligned(16, &[table, held, pad, slot, of.bytes])?;
    let rows = of.bytes.div_ceil(16 * u64::from(a.row.divisor));
    need(held >= of.bytes + rows * pad, || format!("{rows} rows in {held}"))?;
    let whole = 16 * u64::from(a.row.divisor) % record;
    need(pad == 0 || (tile == 1 && whole == 0), || format!("records across rows: {a:?}"))?;
    on_chip(call, if keeps { table } else { table + 3 * held + 16 })?;
    let kept = (runs + 1) * u64::from(a.fields) * slot + last_records * record;
    let room = call.workspace.bytes() as u64;
    need(kept <= room, || format!("{kept} bytes kept in {room}"))?;
    need(alignment >= 16, || format!("vectors at {alignment}"))?;
    need(u64::from(a.tile_bytes.divisor) == tile * record, || format!("tiles: {a:?}"))?;
    need(chunk == tile * u64::from(a.tiles), || format!("chunks of {chunk}, tiles of {tile}"))?;
    // Fields are in the order that the kernel's search requires.
    let listed = |number: fn(&FieldColumn) -> u32| of.fields().is_sorted_by_key(number);
    let sorted = if back { listed(|f| f.place) } else { listed(|f| f.begin) && listed(|f| f.last) };
    need(sorted, || format!("not in order: {a:?}"))?;
    for f in of.fields() {
        need(f.lead < a.slot, || format!("{} bytes before a slot of {slot}", f.lead))?;
        let width = f.width.divisor;
        need(width > 0 && div32(&f.width, f.lead) == f.lead / width, || format!("{f:?}"))?;
    }

    if keeps || offset >= of.chunks() * of.bytes + last_records * record {
        return Ok(None);
    }
    let (to, from) = if back {
        let to = of.scattered(offset);
        (to, of.gathered(to))
    } else {
        let to = of.gathered(offset);
        (to, of.scattered(to))
    };
    need(from == offset, || format!("byte {to} comes from {from}, not {offset}: {a:?}"))?;
    Ok(Some(to))
}

impl Map for FieldMap {
    fn width(&self) -> Width {
        NARROW
    }
    fn succ(&self, s: u64) -> Answer<u64> {
        let entries = &self.field[..self.fields as usize];
        let per_chunk = u64::from(self.per_chunk.divisor);
        let of_chunk = |f: usize| {
            let end = entries.get(f + 1).map_or(per_chunk, |next| next.place.into());
            end - u64::from(entries[f].place)
        };
        let last = |number: &dyn Fn(usize) -> u32, value: u64| {
            let below = (0..entries.len()).rfind(|&f| u64::from(number(f)) <= value);
            below.expect("the first is at 0")
        };
        let chunks = u64::from(self.chunks);
        let place = |f: usize, c| if c == chunks { entries[f].last } else { entries[f].place };
        if self.backward != 0 {
            let f = last(&|f| entries[f].first, s);
            let k = s - u64::from(entries[f].first);
            let c = (k / of_chunk(f)).min(chunks);
            return Ok(c * per_chunk + u64::from(place(f, c)) + k - c * of_chunk(f));
        }
        let c = u64::from(div32(&self.per_chunk, s as u32)).min(chunks);
        let within = s - c * per_chunk;
        let f = last(&|f| place(f, c), within);
        Ok(u64::from(entries[f].first) + c * of_chunk(f) + within - u64::from(place(f, c)))
    }
    fn find(&self, offset: u64) -> (u64, u64) {
        (offset / u64::from(self.unit_bytes), offset % u64::from(self.unit_bytes))
    }
    fn offset(&self, s: u64) -> u64 {
        s * u64::from(self.unit_bytes)
    }
    fn check(&self, units: u64, word: u64) -> Answer<()> {
        aligned(word, &[u64::from(self.unit_bytes)])?;
        NARROW.mul(units, 1).map(|_| ())
    }
}
