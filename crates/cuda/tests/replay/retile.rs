//! `retile.cu`: a block stores the records of whole tiles, and reads or writes the tiles in packs
//! of 16 bytes.

use turntile_cuda::args::{Divisor32, FieldGroup, RetileArgs};

use super::device::div32;
use super::{Launch, Moved, aligned, need, on_chip, threads};

/// Words of the records of a block's tiles, with their positions in tiles and in AoS.
pub struct RecordTile<'a> {
    pub groups: &'a [FieldGroup],
    pub records: u32,
    /// Records of a tile, and of the last tile; words of a tile.
    pub tile: &'a Divisor32,
    pub last: &'a Divisor32,
    pub tile_words: &'a Divisor32,
    /// Words of a record.
    pub words: u32,
}

impl RecordTile<'_> {
    /// Returns the position in AoS of word `w` of the tiles.
    pub fn record_by_record(&self, w: u32) -> u32 {
        let t = div32(self.tile_words, w);
        let (first, rest) = (t * self.tile.divisor, w - t * self.tile_words.divisor);
        let whole = self.records - first >= self.tile.divisor;
        let by = if whole { self.tile } else { self.last };
        let c = div32(by, rest);
        let g = self.groups.iter().rfind(|g| g.begin <= c).expect("the first begins at 0");
        let within = rest - by.divisor * g.begin;
        let field = div32(by, div32(&g.width, within)) * g.width.divisor;
        let of_field = within - by.divisor * field;
        let record = div32(&g.width, of_field);
        let word = of_field - record * g.width.divisor;
        (first + record) * self.words + g.place + field + word
    }

    /// Returns the position in tiles of word `w` of AoS.
    fn in_tiles(&self, w: u32) -> u32 {
        let (record, c) = (w / self.words, w % self.words);
        let first = record / self.tile.divisor * self.tile.divisor;
        let whole = self.records - first >= self.tile.divisor;
        let held = if whole { self.tile.divisor } else { self.last.divisor };
        let g = self.groups.iter().filter(|g| g.place <= c).max_by_key(|g| g.place);
        let g = g.expect("one lies at 0");
        let (field, word) = ((c - g.place) / g.width.divisor, (c - g.place) % g.width.divisor);
        let begin = g.begin + field * g.width.divisor;
        first * self.words + held * begin + (record - first) * g.width.divisor + word
    }
}

pub fn retile(call: &Launch, a: &RetileArgs, alignment: u64, offset: u64) -> Moved {
    threads(call, 1024)?;
    let (word, block, words) = (call.word as u64, u64::from(a.block), u64::from(a.words));
    need(word == super::last_number(call.entry), || format!("words of {word}: {}", call.entry))?;
    let tile = u64::from(a.tile.divisor);
    need((1..=64).contains(&a.groups), || format!("{} groups", a.groups))?;
    need(block > 0 && block.is_multiple_of(tile), || format!("{block} records, tiles of {tile}"))?;
    need(u64::from(a.tile_words.divisor) == tile * words, || format!("words of a tile: {a:?}"))?;
    let held = block.min(a.records);
    let last = a.records - (a.records.max(1) - 1) / tile * tile;
    need(u64::from(a.last.divisor) == last.max(1), || format!("the last tile: {a:?}"))?;
    // A row has one record per word of a pack, or a whole tile. Rows are padded only if every block
    // starts at a pack.
    let row = if a.slab > 0 { tile * words * word / 16 } else { words };
    need(u64::from(a.row.divisor) == row, || format!("packs of a row: {a:?}"))?;
    let (bytes, rows) = (held * words * word, held * words * word / (16 * row));
    let all = (u64::from(a.groups) * 24).next_multiple_of(16) + bytes;
    let known = alignment >= 16 && (held == a.records || (block * words * word).is_multiple_of(16));
    // The order of packs (word, tile, pack) differs from memory order only if the words of a tile
    // are whole packs.
    let slab = u64::from(a.slab);
    need(slab == 0 || slab * 16 == tile * word, || format!("{slab} packs of a word: {a:?}"))?;
    need(u64::from(a.tiles.divisor) * tile == block, || format!("tiles of a block: {a:?}"))?;
    need(a.pad == 0 || known, || format!("padded, wherever blocks begin: {a:?}"))?;
    aligned(16, &[a.pad.into()])?;
    let skew = if known { 0 } else { 16 };
    on_chip(call, all + skew + rows * u64::from(a.pad) + if word < 4 { 4 } else { 0 })?;

    let (record_bytes, number) = (words * word, offset / (block * words * word));
    if offset >= a.records * record_bytes || number >= u64::from(call.groups) {
        return Ok(None);
    }
    let first = number * block;
    let records = block.min(a.records - first) as u32;
    let (within, byte) = ((offset - first * record_bytes) / word, offset % word);
    let of = RecordTile {
        groups: &a.group[..a.groups as usize],
        records,
        tile: &a.tile,
        last: &a.last,
        tile_words: &a.tile_words,
        words: a.words,
    };
    let (to, back) = match call.entry {
        "retile_split_1" | "retile_split_4" => {
            let to = of.in_tiles(within as u32);
            (to, of.record_by_record(to))
        }
        "retile_join_1" | "retile_join_4" => {
            let to = of.record_by_record(within as u32);
            (to, of.in_tiles(to))
        }
        other => panic!("{other}"),
    };
    need(u64::from(back) == within, || format!("word {to} comes from {back}: {a:?}"))?;
    Ok(Some(first * record_bytes + u64::from(to) * word + byte))
}
