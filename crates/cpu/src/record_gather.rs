//! Records through scratch: whole tiles from one length to another, and the gather pass of records' aligned slots.
//!
//! In a tile every field's records lie together, so that a field of a tile is a run; only records that lie one by one
//! (AoS, and tiles of one) are read or written field by field.

use std::ops::Range;
use std::sync::{Mutex, PoisonError};

use turntile_perm::{FieldSlots, LayoutChange, RecordSchema};
use turntile_simd::{self as simd, BlockShape, Byte};

use crate::parallel;

/// Records in memory that begins with a tile.
#[derive(Clone, Copy)]
pub struct RecordView {
    fields: RecordSchema,
    /// Records of a tile, the last one perhaps fewer, or [`AOS`](turntile_perm::AOS); and of all.
    tile: usize,
    records: usize,
    word_bytes: usize,
}

impl RecordView {
    fn bytes(&self, words: usize) -> usize {
        words * self.word_bytes
    }

    fn record_bytes(&self) -> usize {
        self.bytes(self.fields.words())
    }

    /// Records from the beginning of a tile to the next.
    fn step(&self) -> usize {
        self.tile.max(1)
    }

    /// Bytes of a record before field `f`.
    fn before(&self, f: usize) -> usize {
        self.bytes(self.fields.begin_in(self.tile, f))
    }

    /// Every run of `words` of field `f`, which count from the first record: where it lies, and which of the words they
    /// are, both in words.
    fn runs(&self, f: usize, words: Range<usize>, mut visit: impl FnMut(usize, Range<usize>)) {
        let (width, begin) = (self.fields.width(f), self.fields.begin_in(self.tile, f));
        let (mut at, mut first) = (words.start, words.start / width / self.step() * self.step());
        while at < words.end {
            let records = self.step().min(self.records - first);
            let end = words.end.min((first + records) * width);
            let lies = first * self.fields.words() + records * begin + (at - first * width);
            visit(lies, at - words.start..end - words.start);
            (at, first) = (end, first + self.step());
        }
    }

    /// The whole records of `words` of field `f`, where they lie one by one.
    fn whole(&self, f: usize, words: &Range<usize>) -> Range<usize> {
        let width = self.fields.width(f);
        let (first, end) = (words.start.div_ceil(width), words.end / width);
        if self.step() == 1 && first < end { first..end } else { 0..0 }
    }

    /// `words` of field `f`, which count from the first record, into `to`.
    pub fn read(&self, from: &[Byte], f: usize, words: Range<usize>, to: &mut [Byte]) {
        let whole = self.whole(f, &words);
        let width = self.fields.width(f);
        let copy = |lies: usize, part: Range<usize>, to: &mut [Byte]| {
            let run = &from[self.bytes(lies)..][..self.bytes(part.len())];
            to[self.bytes(part.start)..][..run.len()].copy_from_slice(run);
        };
        if whole.is_empty() {
            return self.runs(f, words, |lies, part| copy(lies, part, to));
        }
        let (head, tail) = (words.start..whole.start * width, whole.end * width..words.end);
        let at = |word: usize| self.bytes(word - words.start);
        self.runs(f, head, |lies, part| copy(lies, part, to));
        let from_rows = &from[whole.start * self.record_bytes() + self.before(f)..];
        let rows = &mut to[at(whole.start * width)..at(whole.end * width)];
        pack(from_rows, self.record_bytes(), rows, self.bytes(width));
        let after = &mut to[at(tail.start)..];
        self.runs(f, tail, |lies, part| copy(lies, part, after));
    }

    /// The other way round: `words` of field `f` to their places.
    pub fn write(&self, to: &mut [Byte], f: usize, words: Range<usize>, from: &[Byte]) {
        let whole = self.whole(f, &words);
        let width = self.fields.width(f);
        let copy = |lies: usize, part: Range<usize>, from: &[Byte], to: &mut [Byte]| {
            let run = &from[self.bytes(part.start)..][..self.bytes(part.len())];
            to[self.bytes(lies)..][..run.len()].copy_from_slice(run);
        };
        if whole.is_empty() {
            return self.runs(f, words, |lies, part| copy(lies, part, from, to));
        }
        let (head, tail) = (words.start..whole.start * width, whole.end * width..words.end);
        let at = |word: usize| self.bytes(word - words.start);
        self.runs(f, head, |lies, part| copy(lies, part, from, to));
        let to_rows = &mut to[whole.start * self.record_bytes() + self.before(f)..];
        let rows = &from[at(whole.start * width)..at(whole.end * width)];
        unpack(rows, to_rows, self.record_bytes(), self.bytes(width));
        let after = &from[at(tail.start)..];
        self.runs(f, tail, |lies, part| copy(lies, part, after, to));
    }
}

/// Runs `$of::<WIDTH>` of the width, where it is one that is known when compiled.
macro_rules! by_width {
    ($width:expr, $of:ident $arguments:tt, $any:expr; $($known:literal)*) => {
        match $width {
            $($known => $of::<$known> $arguments,)*
            _ => $any,
        }
    };
}

/// Copies a run of `width` bytes of each of some rows, `pitch` bytes apart, to one place, as many as fill it.
fn pack(from: &[Byte], pitch: usize, to: &mut [Byte], width: usize) {
    fn of<const WIDTH: usize>(from: &[Byte], pitch: usize, to: &mut [Byte]) {
        // Rows of a known length need no check each; the last may be shorter.
        let (rows, rest) = from.split_at(from.len() / pitch * pitch);
        let mut runs = to.as_chunks_mut::<WIDTH>().0.iter_mut();
        for (row, to) in rows.chunks_exact(pitch).zip(&mut runs) {
            to.copy_from_slice(&row[..WIDTH]);
        }
        if let Some(to) = runs.next() {
            to.copy_from_slice(&rest[..WIDTH]);
        }
    }
    let any = |to: &mut [Byte]| {
        for (to, row) in to.chunks_exact_mut(width).zip(from.chunks(pitch)) {
            to.copy_from_slice(&row[..width]);
        }
    };
    by_width!(width, of(from, pitch, to), any(to); 1 2 3 4 5 6 7 8 9 10 11 12 13 14 15 16 20 24 28 32);
}

/// The other way round.
fn unpack(from: &[Byte], to: &mut [Byte], pitch: usize, width: usize) {
    fn of<const WIDTH: usize>(from: &[Byte], to: &mut [Byte], pitch: usize) {
        let (rows, rest) = to.split_at_mut(to.len() / pitch * pitch);
        let mut runs = from.as_chunks::<WIDTH>().0.iter();
        for (row, from) in rows.chunks_exact_mut(pitch).zip(&mut runs) {
            row[..WIDTH].copy_from_slice(from);
        }
        if let Some(from) = runs.next() {
            rest[..WIDTH].copy_from_slice(from);
        }
    }
    let any = |to: &mut [Byte]| {
        for (from, row) in from.chunks_exact(width).zip(to.chunks_mut(pitch)) {
            row[..width].copy_from_slice(from);
        }
    };
    by_width!(width, of(from, to, pitch), any(to); 1 2 3 4 5 6 7 8 9 10 11 12 13 14 15 16 20 24 28 32);
}

/// Every period of `retile` through scratch of its own size; `parts` threads draw periods.
pub fn retile(
    data: &mut [Byte],
    retile: LayoutChange,
    word_bytes: usize,
    parts: usize,
    scratch: &mut [Byte],
) {
    let record_bytes = retile.fields().words() * word_bytes;
    let period = retile.period() * record_bytes;
    let turn = parallel::grain(data.len().div_ceil(period), parts) * period;
    let turns = Mutex::new(data.chunks_mut(turn));
    parallel::for_each_thread(0..parts, scratch, period, |_, scratch| {
        // The lock is let go before the work.
        let draw = || turns.lock().unwrap_or_else(PoisonError::into_inner).next();
        while let Some(own) = draw() {
            for records in own.chunks_mut(period) {
                let scratch = &mut scratch[..records.len()];
                retile_period(records, retile, word_bytes, scratch);
                records.copy_from_slice(scratch);
            }
        }
    });
}

/// Whole tiles before to whole tiles after.
fn retile_period(from: &[Byte], retile: LayoutChange, word_bytes: usize, to: &mut [Byte]) {
    let fields = retile.fields();
    let records = from.len() / (fields.words() * word_bytes);
    let tiled = |tile| RecordView { fields, tile, records, word_bytes };
    let (before, after) = (tiled(retile.from()), tiled(retile.to()));
    // Run by run of the tiles after, or before where records lie one by one after.
    let (runs, into_records) = if retile.to() > 1 { (after, false) } else { (before, true) };
    for first in (0..records).step_by(runs.step()) {
        let count = runs.step().min(records - first);
        let tile = runs.bytes(first * fields.words())..runs.bytes((first + count) * fields.words());
        if fields.is_matrix() && before.tile.min(after.tile) == 1 {
            let (rows, cols) = (count, fields.words());
            let [rows, cols] = if into_records { [cols, rows] } else { [rows, cols] };
            let block = BlockShape { rows, cols, from_pitch: cols, to_pitch: rows };
            simd::transpose(&from[tile.clone()], &mut to[tile], block, word_bytes);
            continue;
        }
        for f in 0..fields.count() {
            let width = fields.width(f);
            let words = first * width..(first + count) * width;
            let lies = tile.start + count * runs.before(f);
            let run = lies..lies + runs.bytes(words.len());
            // Whole records, which lie one by one, need no search for where words are.
            let records = first * runs.record_bytes();
            match into_records {
                false if before.step() == 1 => {
                    let rows = &from[records + before.before(f)..];
                    pack(rows, runs.record_bytes(), &mut to[run], runs.bytes(width));
                }
                false => before.read(from, f, words, &mut to[run]),
                true => {
                    let rows = &mut to[records + after.before(f)..];
                    unpack(&from[run], rows, runs.record_bytes(), runs.bytes(width));
                }
            }
        }
    }
}

/// The chunks of records that are gathered, in words of `word_bytes` bytes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct RecordGather {
    /// The index maps.
    pub slots: FieldSlots,
    /// Bytes of a word.
    pub word_bytes: usize,
}

/// Bytes of records that stay in the first-level cache while their fields are taken out.
const BLOCK_BYTES: usize = 16 << 10;

impl RecordGather {
    /// Gathers every chunk's slots into its own memory. `kept` and `scratch` are shared out equally:
    /// [`kept_bytes`](Self::kept_bytes) and [`scratch_bytes`](Self::scratch_bytes) a part.
    pub fn gather(&self, data: &mut [Byte], parts: usize, kept: &mut [Byte], scratch: &mut [Byte]) {
        for (part, kept) in kept.chunks_mut(self.kept_bytes().max(1)).take(parts).enumerate() {
            let end = parallel::share(self.slots.chunks(), parts, part).end;
            match end == self.slots.chunks() {
                true => self.keep_heads(data, 1, kept),
                false => self.keep_heads(&data[self.begin(end)..], 0, kept),
            }
        }
        self.over_runs(data, parts, kept, scratch, |own, chunks, kept, scratch| {
            let (out, heads) = scratch.split_at_mut(self.held_bytes());
            for c in chunks.clone() {
                let (_, from_here) = own.split_at_mut(self.begin(c) - self.begin(chunks.start));
                let (chunk, next) = from_here.split_at_mut(self.begin(c + 1) - self.begin(c));
                let last = c + 1 == chunks.end;
                if !last {
                    self.keep_heads(next, 0, heads);
                }
                let heads = if last { kept } else { &*heads };
                if self.slots.section().is_some() {
                    self.gather_sections(c, chunk, heads, out);
                    continue;
                }
                let out = &mut out[..chunk.len()];
                self.gather_chunk(c, chunk, heads, out);
                chunk.copy_from_slice(out);
            }
        });
    }

    /// Undoes [`gather`](Self::gather): every chunk's records from its own slots and those of the chunk before.
    pub fn scatter(
        &self,
        data: &mut [Byte],
        parts: usize,
        kept: &mut [Byte],
        scratch: &mut [Byte],
    ) {
        for (part, kept) in kept.chunks_mut(self.kept_bytes().max(1)).take(parts).enumerate() {
            let c = parallel::share(self.slots.chunks(), parts, part).start;
            let before = c.checked_sub(1).unwrap_or(self.slots.chunks() - 1);
            self.keep_tails(c, &data[self.begin(before)..self.begin(before + 1)], kept);
        }
        self.over_runs(data, parts, kept, scratch, |own, chunks, kept, scratch| {
            let (out, tails) = scratch.split_at_mut(self.held_bytes());
            // Slots of the chunk before are where they were: chunks go from last to first.
            for c in chunks.clone().rev() {
                let (before, from_here) =
                    own.split_at_mut(self.begin(c) - self.begin(chunks.start));
                let chunk = &mut from_here[..self.begin(c + 1) - self.begin(c)];
                let first = c == chunks.start;
                if !first {
                    let before = &before[self.begin(c - 1) - self.begin(chunks.start)..];
                    self.keep_tails(c, before, tails);
                }
                let tails = if first { kept } else { &*tails };
                if self.slots.section().is_some() {
                    self.scatter_sections(c, chunk, tails, out);
                    continue;
                }
                let out = &mut out[..chunk.len()];
                self.scatter_chunk(c, chunk, tails, out);
                chunk.copy_from_slice(out);
            }
        });
    }

    /// Bytes that a part keeps: `slot - 1` words a field.
    pub fn kept_bytes(&self) -> usize {
        let fields = self.slots.fields().count();
        (self.slots.slot() - 1).saturating_mul(fields).saturating_mul(self.word_bytes)
    }

    /// Bytes of scratch that a part needs: what is held, and as much as is kept.
    pub fn scratch_bytes(&self) -> usize {
        self.held_bytes().saturating_add(self.kept_bytes())
    }

    /// The longest chunk, or two sections and the slots that lie beside each.
    fn held_bytes(&self) -> usize {
        match self.slots.section() {
            None => self.slots.longest_chunk() * self.record_bytes(),
            Some(_) => 2 * self.section_bytes(),
        }
    }

    pub fn record_bytes(&self) -> usize {
        self.slots.fields().words() * self.word_bytes
    }

    /// Where chunk `c` begins; of the number of chunks, the end of all.
    fn begin(&self, c: usize) -> usize {
        let fields = self.slots.fields();
        let first =
            if c < self.slots.chunks() { self.slots.chunk_records(c).0 } else { fields.records() };
        first * self.record_bytes()
    }

    fn over_runs(
        &self,
        data: &mut [Byte],
        parts: usize,
        kept: &[Byte],
        scratch: &mut [Byte],
        work: impl Fn(&mut [Byte], Range<usize>, &[Byte], &mut [Byte]) + Sync,
    ) {
        let bytes = |run: &Range<usize>| self.begin(run.end) - self.begin(run.start);
        let (kept, scratch) = ((kept, self.kept_bytes()), (scratch, self.scratch_bytes()));
        parallel::over_runs(data, [self.slots.chunks(), parts], bytes, kept, scratch, work);
    }

    /// The words of field `f` that its slots in chunk `c` hold, counted from the chunk's first record, and where they lie in
    /// the chunk's memory, in words: the last slot of all may be partial.
    pub fn stretch(&self, c: usize, f: usize) -> (Range<usize>, usize) {
        let (_, records) = self.slots.chunk_records(c);
        let (_, count, place) = self.slots.column(c, f);
        let (lead, place) = (self.slots.lead(c, f), place * self.slots.slot());
        let len = (count * self.slots.slot()).min(records * self.slots.fields().words() - place);
        (lead..lead + len, place)
    }

    /// The records of chunk `c` where they lie in tiles.
    fn tiled(&self, c: usize) -> RecordView {
        self.some_tiled(self.slots.chunk_records(c).1)
    }

    /// So many records where they lie in tiles.
    pub fn some_tiled(&self, records: usize) -> RecordView {
        let (fields, tile) = (self.slots.fields(), self.slots.tile());
        RecordView { fields, tile, records, word_bytes: self.word_bytes }
    }

    /// The place of field `f` in what is kept.
    pub fn kept_of(&self, f: usize) -> usize {
        f * (self.slots.slot() - 1) * self.word_bytes
    }

    /// Keeps the first `slot - 1` words of every field of the records that begin `from`; past the end, those of the next field.
    fn keep_heads(&self, from: &[Byte], later: usize, kept: &mut [Byte]) {
        let (fields, slot) = (self.slots.fields(), self.slots.slot());
        let records = (from.len() / self.record_bytes()).min(fields.records());
        let tiled = self.some_tiled(records);
        for f in 0..fields.count() - later {
            let to = &mut kept[self.kept_of(f)..][..(slot - 1) * self.word_bytes];
            tiled.read(from, f + later, 0..slot - 1, to);
        }
    }

    /// Keeps the words of every field of chunk `c` before its first slot, which lie at the end of a stretch of the chunk
    /// `before`; for the first chunk that is the last, and the stretch the previous field's.
    fn keep_tails(&self, c: usize, before: &[Byte], kept: &mut [Byte]) {
        for f in 0..self.slots.fields().count() {
            let lead = self.slots.lead(c, f) * self.word_bytes;
            if lead == 0 {
                continue;
            }
            let (c, f_before) = if c == 0 { (self.slots.chunks() - 1, f - 1) } else { (c - 1, f) };
            let (_, count, _) = self.slots.column(c, f_before);
            let end = (self.slots.place_in(c, f_before, count - 1) + 1) * self.slots.slot();
            let end = end * self.word_bytes;
            kept[self.kept_of(f)..][..lead].copy_from_slice(&before[end - lead..end]);
        }
    }

    /// The records of every block of a chunk.
    fn blocks(&self, records: usize) -> impl Iterator<Item = Range<usize>> + use<> {
        let block =
            (BLOCK_BYTES / self.record_bytes()).max(1).next_multiple_of(self.slots.tile().max(1));
        (0..records).step_by(block).map(move |first| first..(first + block).min(records))
    }

    /// The slots of chunk `c` into `out`; `heads` are the words that come after it.
    fn gather_chunk(&self, c: usize, chunk: &[Byte], heads: &[Byte], out: &mut [Byte]) {
        let (fields, tiled) = (self.slots.fields(), self.tiled(c));
        let bytes = |words: usize| words * self.word_bytes;
        for block in self.blocks(tiled.records) {
            for f in 0..fields.count() {
                let (words, place) = self.stretch(c, f);
                let width = fields.width(f);
                let own = words.start.max(block.start * width)..words.end.min(block.end * width);
                if !own.is_empty() {
                    let to = bytes(place + own.start - words.start);
                    tiled.read(chunk, f, own.clone(), &mut out[to..][..bytes(own.len())]);
                }
            }
        }
        for f in 0..fields.count() {
            let (words, place) = self.stretch(c, f);
            let after = words.end.saturating_sub(tiled.records * fields.width(f));
            let to = bytes(place + words.len() - after);
            out[to..][..bytes(after)].copy_from_slice(&heads[self.kept_of(f)..][..bytes(after)]);
        }
    }

    /// The records of chunk `c` from its slots into `out`; `tails` are the words that come before them.
    fn scatter_chunk(&self, c: usize, chunk: &[Byte], tails: &[Byte], out: &mut [Byte]) {
        let (fields, tiled) = (self.slots.fields(), self.tiled(c));
        let bytes = |words: usize| words * self.word_bytes;
        for block in self.blocks(tiled.records) {
            for f in 0..fields.count() {
                let (words, place) = self.stretch(c, f);
                let width = fields.width(f);
                let all = block.start * width..block.end * width;
                let own = words.start.clamp(all.start, all.end);
                if all.start < own {
                    let from = &tails[self.kept_of(f) + bytes(all.start)..];
                    tiled.write(out, f, all.start..own, &from[..bytes(own - all.start)]);
                }
                if own < all.end {
                    let from = &chunk[bytes(place + own - words.start)..];
                    tiled.write(out, f, own..all.end, &from[..bytes(all.end - own)]);
                }
            }
        }
    }
}
