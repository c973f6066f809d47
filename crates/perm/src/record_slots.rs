//! Aligned slots of records: conversion from tiles of records to columns, in two passes.
//!
//! Like [`aligned_slots`](crate::aligned_slots), with fields of unequal width in place of matrix
//! columns. Field `f` has `k_f` words, preceded by `c_f` words of a record. The words of all
//! columns, column after column, are cut into slots of `S` words, regardless of column ends inside
//! them. The `n` records are cut into chunks of `R` records, a multiple of `S` and of the tile. A
//! slot belongs to the chunk that contains the record of its first word. A full chunk has `R·k_f/S`
//! slots of field `f`, so its slots fill its own memory exactly.
//!
//! 1. The *gather* pass writes the slots of every chunk into the memory of that chunk, field by
//!    field. It reads a halo of up to `S - 1` words of every field after the chunk. After the last
//!    record, the halo wraps around to the first records of the next field.
//! 2. The *slot* pass moves whole slots to their final positions.
//!
//! Let `b` be the first record of a chunk and `L` its number of records. The first slot of field
//! `f` is at position `⌈c_f·L/S⌉`, and its number in the result is `⌈c_f·n/S⌉ + b·k_f/S`. The last
//! chunk includes the remaining records: it has from `S` to `R + S - 1` of them. The only slot that
//! may be partial is its last one, which pass 2 leaves unchanged.
//!
//! A chunk of long records may exceed the on-chip memory. It is then gathered in *sections* of `B`
//! records, long enough that every field of a section has at least `S` words. The slots of a chunk
//! are stored section by section, and within a section field by field. A slot belongs to the
//! section in which it begins. The slots of a section start less than one slot per field before or
//! after its records, so two resident sections are enough. The last section includes the remaining
//! records.

use std::ops::Range;

use num_integer::Integer;

use crate::record_layout::RecordSchema;

/// Index maps of the aligned-slot conversion of records from tiles to columns.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct FieldSlots {
    fields: RecordSchema,
    tile: usize,
    slot: usize,
    chunk: usize,
    section: usize,
}

impl FieldSlots {
    /// Creates the maps from tiles of `tile` records ([`AOS`](crate::AOS) included), with slots of
    /// `slot` words and chunks of `chunk` records. Returns `None` unless `chunk` is a positive
    /// multiple of `slot` and of `tile`, and there are at least `chunk` records.
    pub fn new(fields: RecordSchema, tile: usize, slot: usize, chunk: usize) -> Option<Self> {
        let tile = fields.tile(tile);
        let fits = slot > 0 && chunk > 0 && chunk <= fields.records();
        let whole = fits && chunk.is_multiple_of(slot) && chunk.is_multiple_of(tile.max(1));
        // `usize::MAX` means no sections: only sections shorter than the longest chunk are used.
        whole.then_some(FieldSlots { fields, tile, slot, chunk, section: usize::MAX })
    }

    /// Returns these maps with chunks gathered in sections of `section` records. Returns `None`
    /// unless `section` is a multiple of the tile and every field of a section has at least `slot`
    /// words.
    #[must_use]
    pub fn in_sections(&self, section: usize) -> Option<Self> {
        let least = self.fields.widths().min()?.saturating_mul(section);
        let suits = section.is_multiple_of(self.tile.max(1)) && least >= self.slot;
        suits.then_some(FieldSlots { section, ..self.clone() })
    }

    /// Returns the number of records of a section, or `None` if chunks are gathered whole.
    pub fn section(&self) -> Option<usize> {
        (self.section < self.longest_chunk()).then_some(self.section)
    }

    /// Returns the number of sections of chunk `c`. The last one includes the remaining records, so
    /// that only its last slot may be partial.
    pub fn sections(&self, c: usize) -> usize {
        (self.chunk_records(c).1 / self.section).max(1)
    }

    /// Returns the records of section `q` of chunk `c`, relative to the first record of the chunk.
    pub fn section_records(&self, c: usize, q: usize) -> Range<usize> {
        let end = if q + 1 == self.sections(c) {
            self.chunk_records(c).1
        } else {
            (q + 1) * self.section
        };
        q * self.section..end
    }

    /// Returns an upper bound of the number of records of any section.
    pub fn longest_section(&self) -> usize {
        self.longest_chunk().min(self.section.saturating_mul(2))
    }

    /// Returns the number of slots of field `f` in chunk `c` that begin before section `q`.
    pub fn begun(&self, c: usize, f: usize, q: usize) -> usize {
        let (_, count, _) = self.column(c, f);
        if q >= self.sections(c) {
            return count;
        }
        let words = q * self.section * self.fields.width(f);
        words.saturating_sub(self.lead(c, f)).div_ceil(self.slot).min(count)
    }

    /// Returns the position of the first slot of section `q` in the memory of chunk `c`, in slots.
    pub fn section_place(&self, c: usize, q: usize) -> usize {
        (0..self.fields.count()).map(|f| self.begun(c, f, q)).sum()
    }

    /// Returns the position of slot `k` of field `f` in the memory of chunk `c`, in slots.
    pub fn place_in(&self, c: usize, f: usize, k: usize) -> usize {
        if self.section().is_none() {
            return self.column(c, f).2 + k;
        }
        let record = (self.lead(c, f) + k * self.slot) / self.fields.width(f);
        let q = (record / self.section).min(self.sections(c) - 1);
        let before = |g| self.begun(c, g, q + 1) - self.begun(c, g, q);
        let in_section = k - self.begun(c, f, q);
        self.section_place(c, q) + (0..f).map(before).sum::<usize>() + in_section
    }

    /// Returns the field of the slot at `position` in chunk `c`, and the number of the slot among
    /// those of that field in the chunk.
    fn slot_at(&self, c: usize, position: usize) -> (usize, usize) {
        let (_, records) = self.chunk_records(c);
        if self.section().is_none() {
            // The last field whose first slot is at or before the position: the largest f with
            // ceil(c_f·L/S) <= position.
            let f = self.fields.field_of(position * self.slot / records);
            return (f, position - self.column(c, f).2);
        }
        // The last section that begins at or before the position.
        let (mut q, mut end) = (0, self.sections(c));
        while end - q > 1 {
            let middle = usize::midpoint(q, end);
            if self.section_place(c, middle) <= position { q = middle } else { end = middle }
        }
        let mut left = position - self.section_place(c, q);
        let mut f = 0;
        loop {
            let [begun, next] = [q, q + 1].map(|q| self.begun(c, f, q));
            if left < next - begun || f + 1 == self.fields.count() {
                return (f, begun + left);
            }
            (left, f) = (left - (next - begun), f + 1);
        }
    }

    /// Returns the number of records of the shortest possible chunk: the least common multiple of
    /// `tile` and `slot`. Returns `None` on overflow.
    pub fn least_chunk(tile: usize, slot: usize) -> Option<usize> {
        let tile = tile.max(1);
        (tile / tile.gcd(&slot).max(1)).checked_mul(slot)
    }

    /// Returns the record schema.
    pub fn schema(&self) -> &RecordSchema {
        &self.fields
    }

    /// Returns the number of records of a source tile, or [`AOS`](crate::AOS).
    pub fn tile(&self) -> usize {
        self.tile
    }

    /// Returns the number of records of every chunk except the last.
    pub fn chunk(&self) -> usize {
        self.chunk
    }

    /// Returns the number of words of a slot.
    pub fn slot(&self) -> usize {
        self.slot
    }

    /// Returns the number of slots, including a partial last slot.
    pub fn count(&self) -> usize {
        self.fields.len().div_ceil(self.slot)
    }

    /// Returns the number of chunks.
    pub fn chunks(&self) -> usize {
        let (full, left) = (self.fields.records() / self.chunk, self.fields.records() % self.chunk);
        // Fewer than `slot` records cannot form a chunk: they are added to the last full one.
        full + usize::from(left >= self.slot)
    }

    /// Returns the records `first .. first + count` of chunk `c`, as `(first, count)`.
    pub fn chunk_records(&self, c: usize) -> (usize, usize) {
        let first = c * self.chunk;
        let count = if c + 1 == self.chunks() { self.fields.records() - first } else { self.chunk };
        (first, count)
    }

    /// Returns the largest number of records of any chunk.
    pub fn longest_chunk(&self) -> usize {
        let last = self.chunk_records(self.chunks() - 1).1;
        if self.chunks() == 1 { last } else { last.max(self.chunk) }
    }

    /// Returns the slots of field `f` in chunk `c`, as `(first, count, position)`.
    ///
    /// `first` is the number of the first slot in the result, and `position` its position in the
    /// memory of a chunk without sections, in slots. `count` is the number of slots.
    pub fn column(&self, c: usize, f: usize) -> (usize, usize, usize) {
        let (first_record, records) = self.chunk_records(c);
        let (begin, end) = (self.fields.field_start(f), self.fields.field_start(f + 1));
        let slots = |words: usize| words.div_ceil(self.slot);
        let first = slots(begin * self.fields.records()) + first_record / self.slot * (end - begin);
        let position = slots(begin * records);
        (first, slots(end * records) - position, position)
    }

    /// Returns the number of words of field `f` in chunk `c` before its first slot begins: less
    /// than a slot.
    pub fn lead(&self, c: usize, f: usize) -> usize {
        let (first, _, _) = self.column(c, f);
        let (begin, width) = (self.fields.field_start(f), self.fields.width(f));
        first * self.slot - (begin * self.fields.records() + self.chunk_records(c).0 * width)
    }

    /// Returns the position of the first slot of chunk `c` in the array, in slots.
    fn chunk_start(&self, c: usize) -> usize {
        c * (self.chunk / self.slot) * self.fields.words()
    }

    /// Returns the number in the result of the slot that the gather pass wrote at `position`, in
    /// slots: the map of the slot pass.
    pub fn slot_dest(&self, position: usize) -> usize {
        let per_chunk = self.chunk / self.slot * self.fields.words();
        let c = (position / per_chunk).min(self.chunks() - 1);
        let (f, k) = self.slot_at(c, position - c * per_chunk);
        self.column(c, f).0 + k
    }

    /// Returns the position, in slots, at which the gather pass writes slot `t` of the result.
    pub fn slot_source(&self, t: usize) -> usize {
        let (i, word) = self.fields.at(self.fields.records(), t * self.slot);
        let c = (i / self.chunk).min(self.chunks() - 1);
        let f = self.fields.field_of(word);
        self.chunk_start(c) + self.place_in(c, f, t - self.column(c, f).0)
    }

    /// Returns the offset, in words, to which the gather pass moves the word at `offset`.
    pub fn gather_dest(&self, offset: usize) -> usize {
        let (i, word) = self.fields.at(self.tile, offset);
        let final_position = self.fields.offset(self.fields.records(), i, word);
        self.slot_source(final_position / self.slot) * self.slot + final_position % self.slot
    }

    /// Returns the offset from which the gather pass reads the word that it writes at `offset`.
    pub fn gather_source(&self, offset: usize) -> usize {
        let final_position = self.slot_dest(offset / self.slot) * self.slot + offset % self.slot;
        let (i, word) = self.fields.at(self.fields.records(), final_position);
        self.fields.offset(self.tile, i, word)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::record_layout::tests::all_widths;
    use crate::{AOS, AlignedSlots, LayoutChange};
    use proptest::prelude::*;

    /// Returns the new offset of a word after a map of slot positions.
    fn with_slot(slots: &FieldSlots, offset: usize, map: impl Fn(usize) -> usize) -> usize {
        map(offset / slots.slot()) * slots.slot() + offset % slots.slot()
    }

    fn check(slots: &FieldSlots, offset: usize) {
        let columns =
            LayoutChange::new(slots.schema().clone(), slots.tile(), slots.schema().records());
        let gathered = slots.gather_dest(offset);
        assert!(gathered < slots.schema().len(), "{slots:?} at {offset}");
        assert_eq!(slots.gather_source(gathered), offset, "{slots:?}");
        let moved = with_slot(slots, gathered, |position| slots.slot_dest(position));
        assert_eq!(moved, columns.dest(offset), "{slots:?} at {offset}");
        assert_eq!(with_slot(slots, moved, |t| slots.slot_source(t)), gathered, "{slots:?}");
    }

    fn all_slots() -> impl Iterator<Item = FieldSlots> {
        all_widths(&[1, 2, 3, 5], 3).into_iter().flat_map(|widths| {
            (1..15).flat_map(move |records| {
                let fields = RecordSchema::new(records, &widths).unwrap();
                let chunks = (1..=records).flat_map(move |slot| {
                    (slot..=records).step_by(slot).map(move |chunk| (slot, chunk))
                });
                chunks.flat_map(move |(slot, chunk)| {
                    let slots = |tile| FieldSlots::new(fields.clone(), tile, slot, chunk);
                    (1..=chunk).filter_map(slots).collect::<Vec<_>>()
                })
            })
        })
    }

    #[test]
    fn both_passes_compose_to_columns() {
        for slots in all_slots() {
            (0..slots.schema().len()).for_each(|offset| check(&slots, offset));
        }
    }

    /// Checks every valid section length, and that the slots of a section start near its records.
    #[test]
    fn both_passes_compose_with_sections() {
        let mut tested = 0;
        for slots in all_slots().filter(|slots| slots.schema().records() < 11) {
            for section in 1..slots.longest_chunk() {
                let Some(slots) = slots.in_sections(section) else { continue };
                tested += 1;
                (0..slots.schema().len()).for_each(|offset| check(&slots, offset));
                let (words, drift) =
                    (slots.schema().words(), slots.schema().count() * slots.slot());
                for c in 0..slots.chunks() {
                    for q in 0..slots.sections(c) {
                        let records = slots.section_records(c, q);
                        let least = section.min(slots.chunk_records(c).1);
                        assert!((least..=slots.longest_section()).contains(&records.len()));
                        let start = slots.section_place(c, q) * slots.slot();
                        let distance = start.abs_diff(records.start * words);
                        assert!(distance < drift, "{slots:?} chunk {c} section {q}");
                    }
                }
            }
        }
        assert!(tested > 1000, "{tested}");
    }

    #[test]
    fn gather_reads_fields_at_their_record_offsets() {
        for (records, slot, chunk) in [(9, 2, 4), (14, 3, 6), (7, 1, 7)] {
            let fields = RecordSchema::new(records, &[2, 1, 3]).unwrap();
            for offsets in [[1, 0, 3], [3, 5, 0], [4, 3, 0]] {
                let fields = fields.with_aos_offsets(&offsets).unwrap();
                let slots = FieldSlots::new(fields.clone(), AOS, slot, chunk).unwrap();
                (0..fields.len()).for_each(|offset| check(&slots, offset));
            }
        }
    }

    #[test]
    fn slots_of_all_fields_cover_each_chunk() {
        for slots in all_slots() {
            let words = slots.schema().words();
            for c in 0..slots.chunks() {
                let (first, count) = slots.chunk_records(c);
                assert!(count >= slots.slot() && count <= slots.longest_chunk());
                let mut position = 0;
                for f in 0..slots.schema().count() {
                    let (number, of_field, at) = slots.column(c, f);
                    assert_eq!(at, position, "{slots:?} chunk {c} field {f}");
                    assert!(of_field > 0 && slots.lead(c, f) < slots.slot(), "{slots:?}");
                    for k in 0..of_field {
                        let whole = slots.chunk_start(c) + at + k;
                        assert_eq!(slots.slot_dest(whole), number + k, "{slots:?}");
                    }
                    position += of_field;
                }
                let begin = slots.chunk_start(c) * slots.slot();
                assert_eq!(begin, first * words, "{slots:?} chunk {c}");
                assert_eq!(position, (count * words).div_ceil(slots.slot()), "{slots:?} chunk {c}");
            }
            assert_eq!(slots.slot_dest(slots.count() - 1), slots.count() - 1);
        }
    }

    /// Checks that records with fields of one word have the slots of a matrix, whose columns are
    /// the fields.
    #[test]
    fn fields_of_one_word_match_matrix_slots() {
        for (rows, cols, slot, chunk) in [(15, 5, 3, 6), (16, 7, 4, 8), (29, 3, 5, 5), (9, 4, 9, 9)]
        {
            let matrix_slots = AlignedSlots::new(rows, cols, slot, chunk).unwrap();
            let fields = RecordSchema::new(rows, &vec![1; cols]).unwrap();
            let slots = FieldSlots::new(fields, 1, slot, chunk).unwrap();
            for offset in 0..rows * cols {
                assert_eq!(
                    slots.gather_dest(offset),
                    matrix_slots.gather_dest(offset),
                    "{slots:?}"
                );
            }
        }
    }

    proptest! {
        #[test]
        fn maps_are_inverse_for_large_records(
            records in 1usize..1 << 20, widths in prop::collection::vec(1usize..40, 1..9),
            slot in 1usize..512, k in 1usize..64, tile in 0u32..8, at: usize,
        ) {
            let tile = 1 << tile;
            let fields = RecordSchema::new(records, &widths).unwrap();
            let step = FieldSlots::least_chunk(tile, slot).unwrap();
            prop_assume!(step <= records);
            let slots = FieldSlots::new(fields.clone(), tile, slot, step * k.min(records / step)).unwrap();
            check(&slots, at % fields.len());
            let least = slot.div_ceil(fields.widths().min().unwrap());
            let sections = slots.in_sections(least.next_multiple_of(slots.tile().max(1)) * k);
            check(&sections.unwrap(), at % fields.len());
        }
    }
}
