//! Records moved through scratch on the CPU: conversion between tile lengths, and the gather pass
//! of records' aligned slots.
//!
//! In a tile, all values of a field are contiguous. Only untiled records (AoS, and tiles of one
//! record) are copied one record's field at a time.

use std::ops::Range;

use turntile_perm::{FieldSlots, LayoutChange, RecordSchema};
use turntile_plan::Direction;
use turntile_simd::{self as simd, BlockShape, Byte};

use crate::chunk_pass::{ChunkPass, Halo};

/// A view of records in memory that starts at a tile boundary.
#[derive(Clone, Copy)]
pub struct RecordView<'a> {
    fields: &'a RecordSchema,
    /// Records per tile, or [`AOS`](turntile_perm::AOS). The last tile may have fewer.
    tile: usize,
    records: usize,
    word_bytes: usize,
}

impl RecordView<'_> {
    fn bytes(&self, words: usize) -> usize {
        words * self.word_bytes
    }

    fn record_bytes(&self) -> usize {
        self.bytes(self.fields.words())
    }

    /// Returns the number of records from the start of one tile to the next.
    fn step(&self) -> usize {
        self.tile.max(1)
    }

    /// Returns the bytes per record that are stored before field `f` in a tile, or in an untiled
    /// record.
    fn before(&self, f: usize) -> usize {
        self.bytes(self.fields.begin_in(self.tile, f))
    }

    /// Calls `visit(offset, part)` for every contiguous run of the words `words` of field `f`,
    /// counted from the first record. `offset` is the run's start in memory and `part` its range
    /// within `words`, both in words.
    fn runs(&self, f: usize, words: Range<usize>, mut visit: impl FnMut(usize, Range<usize>)) {
        let (width, begin) = (self.fields.width(f), self.fields.begin_in(self.tile, f));
        let (mut at, mut first) = (words.start, words.start / width / self.step() * self.step());
        while at < words.end {
            let records = self.step().min(self.records - first);
            let end = words.end.min((first + records) * width);
            let offset = first * self.fields.words() + records * begin + (at - first * width);
            visit(offset, at - words.start..end - words.start);
            (at, first) = (end, first + self.step());
        }
    }

    /// Returns the range of records whose field `f` is entirely in `words`, if records are untiled;
    /// otherwise an empty range.
    fn whole(&self, f: usize, words: &Range<usize>) -> Range<usize> {
        let width = self.fields.width(f);
        let (first, end) = (words.start.div_ceil(width), words.end / width);
        if self.step() == 1 && first < end { first..end } else { 0..0 }
    }

    /// Copies the words `words` of field `f` of the records `from`, counted from the first record,
    /// to `to`.
    pub fn read(&self, from: &[Byte], f: usize, words: Range<usize>, to: &mut [Byte]) {
        let whole = self.whole(f, &words);
        let width = self.fields.width(f);
        let copy = |offset: usize, part: Range<usize>, to: &mut [Byte]| {
            let run = &from[self.bytes(offset)..][..self.bytes(part.len())];
            to[self.bytes(part.start)..][..run.len()].copy_from_slice(run);
        };
        if whole.is_empty() {
            return self.runs(f, words, |offset, part| copy(offset, part, to));
        }
        let (head, tail) = (words.start..whole.start * width, whole.end * width..words.end);
        let at = |word: usize| self.bytes(word - words.start);
        self.runs(f, head, |offset, part| copy(offset, part, to));
        let from_rows = &from[whole.start * self.record_bytes() + self.before(f)..];
        let rows = &mut to[at(whole.start * width)..at(whole.end * width)];
        pack(from_rows, self.record_bytes(), rows, self.bytes(width));
        let after = &mut to[at(tail.start)..];
        self.runs(f, tail, |offset, part| copy(offset, part, after));
    }

    /// Copies `from` to the words `words` of field `f` of the records `to`, counted from the first
    /// record.
    pub fn write(&self, to: &mut [Byte], f: usize, words: Range<usize>, from: &[Byte]) {
        let whole = self.whole(f, &words);
        let width = self.fields.width(f);
        let copy = |offset: usize, part: Range<usize>, from: &[Byte], to: &mut [Byte]| {
            let run = &from[self.bytes(part.start)..][..self.bytes(part.len())];
            to[self.bytes(offset)..][..run.len()].copy_from_slice(run);
        };
        if whole.is_empty() {
            return self.runs(f, words, |offset, part| copy(offset, part, from, to));
        }
        let (head, tail) = (words.start..whole.start * width, whole.end * width..words.end);
        let at = |word: usize| self.bytes(word - words.start);
        self.runs(f, head, |offset, part| copy(offset, part, from, to));
        let to_rows = &mut to[whole.start * self.record_bytes() + self.before(f)..];
        let rows = &from[at(whole.start * width)..at(whole.end * width)];
        unpack(rows, to_rows, self.record_bytes(), self.bytes(width));
        let after = &from[at(tail.start)..];
        self.runs(f, tail, |offset, part| copy(offset, part, after, to));
    }
}

/// Calls `$of::<WIDTH>` if the width in bytes is in the list of compile-time widths, otherwise
/// `$any`.
macro_rules! by_width {
    ($width:expr, $of:ident $arguments:tt, $any:expr) => {
        by_width!($width, $of $arguments, $any;
            1 2 3 4 5 6 7 8 9 10 11 12 13 14 15 16 20 24 28 32)
    };
    ($width:expr, $of:ident $arguments:tt, $any:expr; $($known:literal)*) => {
        match $width {
            $($known => $of::<$known> $arguments,)*
            _ => $any,
        }
    };
}

/// Copies the first `width` bytes of rows `pitch` bytes apart to contiguous memory, until `to` is
/// full.
fn pack(from: &[Byte], pitch: usize, to: &mut [Byte], width: usize) {
    fn of<const WIDTH: usize>(from: &[Byte], pitch: usize, to: &mut [Byte]) {
        // Rows of a known length need no bounds check each; the last may be shorter.
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
    by_width!(width, of(from, pitch, to), any(to));
}

/// Copies contiguous runs of `width` bytes to rows `pitch` bytes apart, until `from` is used up.
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
    by_width!(width, of(from, to, pitch), any(to));
}

/// Converts the records of `from` to the destination layout in `to`. They are whole tiles of both
/// layouts, except at the array's end.
pub fn convert_period(from: &[Byte], retile: &LayoutChange, word_bytes: usize, to: &mut [Byte]) {
    let fields = retile.schema();
    let records = from.len() / (fields.words() * word_bytes);
    let tiled = |tile| RecordView { fields, tile, records, word_bytes };
    let (before, after) = (tiled(retile.from()), tiled(retile.to()));
    // Copies run by run of the destination's tiles, or of the source's tiles if the destination is
    // untiled.
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
            let start = tile.start + count * runs.before(f);
            let run = start..start + runs.bytes(words.len());
            // Whole untiled records need no search for their words.
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

/// Gather pass of the aligned slots of records, one chunk after another.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RecordGather {
    /// Index maps of the slots.
    pub slots: FieldSlots,
    /// Bytes of a word.
    pub word_bytes: usize,
}

/// Approximate bytes of a block of records that stays in the first-level cache.
const BLOCK_BYTES: usize = 16 << 10;

impl RecordGather {
    /// Returns the bytes of the scratch buffer: the longest chunk, or two sections with one more
    /// slot per field each.
    fn buffer_bytes(&self) -> usize {
        match self.slots.section() {
            None => self.slots.longest_chunk() * self.record_bytes(),
            Some(_) => 2 * self.section_bytes(),
        }
    }

    /// Returns the bytes of a record.
    pub fn record_bytes(&self) -> usize {
        self.slots.schema().words() * self.word_bytes
    }

    /// Returns the words of field `f` that its slots in chunk `c` contain, counted from the chunk's
    /// first record, and their offset in words in the gathered chunk if it has no sections. The
    /// last slot of all may be partial.
    pub fn span(&self, c: usize, f: usize) -> (Range<usize>, usize) {
        let (_, records) = self.slots.chunk_records(c);
        let (_, count, slot) = self.slots.column(c, f);
        let (lead, offset) = (self.slots.lead(c, f), slot * self.slots.slot());
        let len = (count * self.slots.slot()).min(records * self.slots.schema().words() - offset);
        (lead..lead + len, offset)
    }

    /// Returns a view of the records of chunk `c` in tiles.
    fn tiled(&self, c: usize) -> RecordView<'_> {
        self.tiled_view(self.slots.chunk_records(c).1)
    }

    /// Returns a view of `records` records in tiles.
    pub fn tiled_view(&self, records: usize) -> RecordView<'_> {
        let (fields, tile) = (self.slots.schema(), self.slots.tile());
        RecordView { fields, tile, records, word_bytes: self.word_bytes }
    }

    /// Returns the byte offset of field `f` in a saved halo.
    pub fn saved_offset(&self, f: usize) -> usize {
        f * (self.slots.slot() - 1) * self.word_bytes
    }

    /// Saves the first `slot - 1` words of every field of the records at `from`. With `later` = 1,
    /// saves for each field the words of the next field instead, which follow it in the result.
    fn save_heads(&self, from: &[Byte], later: usize, saved: &mut [Byte]) {
        let (fields, slot) = (self.slots.schema(), self.slots.slot());
        let records = (from.len() / self.record_bytes()).min(fields.records());
        let tiled = self.tiled_view(records);
        for f in 0..fields.count() - later {
            let to = &mut saved[self.saved_offset(f)..][..(slot - 1) * self.word_bytes];
            tiled.read(from, f + later, 0..slot - 1, to);
        }
    }

    /// Saves the words of every field of chunk `c` before its first slot. They are in the last slot
    /// of the field in the previous chunk, `before`. For the first chunk, they are in the last slot
    /// of the previous field in the last chunk.
    fn save_tails(&self, c: usize, before: &[Byte], saved: &mut [Byte]) {
        for f in 0..self.slots.schema().count() {
            let lead = self.slots.lead(c, f) * self.word_bytes;
            if lead == 0 {
                continue;
            }
            let (c, f_before) = if c == 0 { (self.slots.chunks() - 1, f - 1) } else { (c - 1, f) };
            let (_, count, _) = self.slots.column(c, f_before);
            let end = (self.slots.place_in(c, f_before, count - 1) + 1) * self.slots.slot();
            let end = end * self.word_bytes;
            saved[self.saved_offset(f)..][..lead].copy_from_slice(&before[end - lead..end]);
        }
    }

    /// Returns the record ranges of the blocks of a chunk with `records` records.
    fn blocks(&self, records: usize) -> impl Iterator<Item = Range<usize>> + use<> {
        let block =
            (BLOCK_BYTES / self.record_bytes()).max(1).next_multiple_of(self.slots.tile().max(1));
        (0..records).step_by(block).map(move |first| first..(first + block).min(records))
    }

    /// Copies the slots of chunk `c` to `out`; `heads` contains the words of each field that follow
    /// the chunk.
    fn gather_chunk(&self, c: usize, chunk: &[Byte], heads: &[Byte], out: &mut [Byte]) {
        let (fields, tiled) = (self.slots.schema(), self.tiled(c));
        let bytes = |words: usize| words * self.word_bytes;
        for block in self.blocks(tiled.records) {
            for f in 0..fields.count() {
                let (words, offset) = self.span(c, f);
                let width = fields.width(f);
                let own = words.start.max(block.start * width)..words.end.min(block.end * width);
                if !own.is_empty() {
                    let to = bytes(offset + own.start - words.start);
                    tiled.read(chunk, f, own.clone(), &mut out[to..][..bytes(own.len())]);
                }
            }
        }
        for f in 0..fields.count() {
            let (words, offset) = self.span(c, f);
            let after = words.end.saturating_sub(tiled.records * fields.width(f));
            let to = bytes(offset + words.len() - after);
            out[to..][..bytes(after)]
                .copy_from_slice(&heads[self.saved_offset(f)..][..bytes(after)]);
        }
    }

    /// Copies the records of chunk `c` from its slots to `out`; `tails` contains the words of each
    /// field before its first slot.
    fn scatter_chunk(&self, c: usize, chunk: &[Byte], tails: &[Byte], out: &mut [Byte]) {
        let (fields, tiled) = (self.slots.schema(), self.tiled(c));
        let bytes = |words: usize| words * self.word_bytes;
        for block in self.blocks(tiled.records) {
            for f in 0..fields.count() {
                let (words, offset) = self.span(c, f);
                let width = fields.width(f);
                let all = block.start * width..block.end * width;
                let own = words.start.clamp(all.start, all.end);
                if all.start < own {
                    let from = &tails[self.saved_offset(f) + bytes(all.start)..];
                    tiled.write(out, f, all.start..own, &from[..bytes(own - all.start)]);
                }
                if own < all.end {
                    let from = &chunk[bytes(offset + own - words.start)..];
                    tiled.write(out, f, own..all.end, &from[..bytes(all.end - own)]);
                }
            }
        }
    }
}

impl ChunkPass for RecordGather {
    fn chunks(&self) -> usize {
        self.slots.chunks()
    }

    fn begin(&self, c: usize) -> usize {
        let records = self.slots.schema().records();
        let first = if c < self.slots.chunks() { c * self.slots.chunk() } else { records };
        first * self.record_bytes()
    }

    /// Returns the bytes of `slot - 1` words per field.
    fn halo_bytes(&self) -> usize {
        let fields = self.slots.schema().count();
        (self.slots.slot() - 1).saturating_mul(fields).saturating_mul(self.word_bytes)
    }

    /// Returns the bytes of the scratch buffer and of one halo.
    fn scratch_bytes(&self) -> usize {
        self.buffer_bytes().saturating_add(self.halo_bytes())
    }

    fn save_halo(&self, c: usize, direction: Direction, neighbour: &[Byte], saved: &mut [Byte]) {
        match direction {
            Direction::Forward => {
                // In the result, the words of the next field follow the last record.
                let later = usize::from(c + 1 == self.slots.chunks());
                self.save_heads(neighbour, later, saved);
            }
            Direction::Backward => self.save_tails(c, neighbour, saved),
        }
    }

    fn convert(
        &self,
        c: usize,
        direction: Direction,
        chunk: &mut [Byte],
        halo: Halo,
        scratch: &mut [Byte],
    ) {
        let (out, buffer) = scratch.split_at_mut(self.buffer_bytes());
        let halo = match halo {
            Halo::Saved(saved) => saved,
            Halo::Neighbour(neighbour) => {
                self.save_halo(c, direction, neighbour, buffer);
                buffer
            }
        };
        match (self.slots.section(), direction) {
            (Some(_), Direction::Forward) => return self.gather_sections(c, chunk, halo, out),
            (Some(_), Direction::Backward) => return self.scatter_sections(c, chunk, halo, out),
            (None, Direction::Forward) => self.gather_chunk(c, chunk, halo, out),
            (None, Direction::Backward) => self.scatter_chunk(c, chunk, halo, out),
        }
        chunk.copy_from_slice(&out[..chunk.len()]);
    }
}
