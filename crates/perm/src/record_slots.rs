//! Aligned slots of records: from tiles of records to columns, any number of them, in two passes.
//!
//! As in [`slots`](crate::slots), with fields of unequal width in place of columns. The words of all columns, one column
//! after the other, are cut into slots of `S` words, whatever ends of columns fall inside them; the records into chunks of
//! `R`, a multiple of `S` and of their tile. A slot is of the chunk in which its first word's record lies. A full chunk has
//! `R·k_f/S` slots of field `f`, so its slots fill its own memory exactly.
//!
//! 1. The *gather* pass writes every chunk's slots into the chunk's own memory, field by field. It reads up to `S - 1` words
//!    of every field beyond the chunk, or, past the last record, of the next field's first records.
//! 2. The *slot* pass moves whole slots to their final places.
//!
//! With `b` the first record of a chunk, `L` its records: the first slot of field `f` is at place `⌈c_f·L/S⌉`, and its final
//! number is `⌈c_f·n/S⌉ + b·k_f/S`. The last chunk takes the records left over, from `S` to `R + S - 1` of them, so that the
//! one slot that may be partial is its last, and stays in pass 2.
//!
//! A chunk of long records is more than can be held. It is gathered in *sections* of `B` records, no field of which has less than a
//! slot: the slots of a chunk lie section by section, those of a section field by field, and a slot is of the section in which it begins.
//! A section's slots lie less than a slot a field before or behind its records, so two sections held are enough. The last section has what
//! is left over.

use std::ops::Range;

use num_integer::Integer;

use crate::record_layout::RecordSchema;

/// The index maps of records that go from tiles to columns by aligned slots.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct FieldSlots {
    fields: RecordSchema,
    tile: usize,
    slot: usize,
    chunk: usize,
    section: usize,
}

impl FieldSlots {
    /// From tiles of `tile` records, [`AOS`](crate::AOS) among them, with slots of `slot` words and chunks of `chunk` records. `None` unless `chunk` is a
    /// positive multiple of `slot` and of `tile`, and there are so many records.
    pub fn new(fields: RecordSchema, tile: usize, slot: usize, chunk: usize) -> Option<Self> {
        let tile = fields.tile(tile);
        let fits = slot > 0 && chunk > 0 && chunk <= fields.records();
        let whole = fits && chunk.is_multiple_of(slot) && chunk.is_multiple_of(tile.max(1));
        // Sections as long as the longest chunk are none.
        whole.then_some(FieldSlots { fields, tile, slot, chunk, section: usize::MAX })
    }

    /// The same, gathered in sections of so many records. `None` unless they are a multiple of the tile's and every field of a
    /// section has a slot's words.
    #[must_use]
    pub fn in_sections(self, section: usize) -> Option<Self> {
        let least = self.fields.widths().min()?.saturating_mul(section);
        let suits = section.is_multiple_of(self.tile.max(1)) && least >= self.slot;
        suits.then_some(FieldSlots { section, ..self })
    }

    /// Records of a section, if chunks are gathered in sections.
    pub fn section(&self) -> Option<usize> {
        (self.section < self.longest_chunk()).then_some(self.section)
    }

    /// Sections of chunk `c`, the last with what is left over, so that the one slot that may be partial is its last.
    pub fn sections(&self, c: usize) -> usize {
        (self.chunk_records(c).1 / self.section).max(1)
    }

    /// The records of section `q` of chunk `c`, counted from the chunk's first.
    pub fn section_records(&self, c: usize, q: usize) -> Range<usize> {
        let end = if q + 1 == self.sections(c) {
            self.chunk_records(c).1
        } else {
            (q + 1) * self.section
        };
        q * self.section..end
    }

    /// Most records that any section has.
    pub fn longest_section(&self) -> usize {
        self.longest_chunk().min(self.section.saturating_mul(2))
    }

    /// Slots of field `f` in chunk `c` that begin before its section `q`.
    pub fn begun(&self, c: usize, f: usize, q: usize) -> usize {
        let (_, count, _) = self.column(c, f);
        if q >= self.sections(c) {
            return count;
        }
        let words = q * self.section * self.fields.width(f);
        words.saturating_sub(self.lead(c, f)).div_ceil(self.slot).min(count)
    }

    /// The place of the first slot of section `q` within the memory of chunk `c`, in slots.
    pub fn section_place(&self, c: usize, q: usize) -> usize {
        (0..self.fields.count()).map(|f| self.begun(c, f, q)).sum()
    }

    /// The place of slot `k` of field `f` in chunk `c`, within the chunk's memory.
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

    /// The field and the number in it of the slot at `place` within the memory of chunk `c`.
    fn slot_at(&self, c: usize, place: usize) -> (usize, usize) {
        let (_, records) = self.chunk_records(c);
        if self.section().is_none() {
            // The last field whose first slot is at or before the place: the largest f with ceil(c_f·L/S) <= place.
            let f = self.fields.field_of(place * self.slot / records);
            return (f, place - self.column(c, f).2);
        }
        // The last section that begins at or before it.
        let (mut q, mut end) = (0, self.sections(c));
        while end - q > 1 {
            let middle = usize::midpoint(q, end);
            if self.section_place(c, middle) <= place { q = middle } else { end = middle }
        }
        let mut left = place - self.section_place(c, q);
        let mut f = 0;
        loop {
            let [begun, then] = [q, q + 1].map(|q| self.begun(c, f, q));
            if left < then - begun || f + 1 == self.fields.count() {
                return (f, begun + left);
            }
            (left, f) = (left - (then - begun), f + 1);
        }
    }

    /// Records of the shortest chunks with slots of `slot` words, from tiles of `tile` records.
    pub fn least_chunk(tile: usize, slot: usize) -> Option<usize> {
        let tile = tile.max(1);
        (tile / tile.gcd(&slot).max(1)).checked_mul(slot)
    }

    /// The records.
    pub fn fields(&self) -> RecordSchema {
        self.fields
    }

    /// Records of a tile of the source, or [`AOS`](crate::AOS).
    pub fn tile(&self) -> usize {
        self.tile
    }

    /// Records of every chunk but the last.
    pub fn chunk(&self) -> usize {
        self.chunk
    }

    /// Words of a slot.
    pub fn slot(&self) -> usize {
        self.slot
    }

    /// Number of slots, the last perhaps partial.
    pub fn count(&self) -> usize {
        self.fields.len().div_ceil(self.slot)
    }

    /// Number of chunks.
    pub fn chunks(&self) -> usize {
        let (full, left) = (self.fields.records() / self.chunk, self.fields.records() % self.chunk);
        // Fewer records than a slot has words cannot be a chunk of their own: the last full one takes them.
        full + usize::from(left >= self.slot)
    }

    /// Records `first .. first + count` of chunk `c`, as `(first, count)`.
    pub fn chunk_records(&self, c: usize) -> (usize, usize) {
        let first = c * self.chunk;
        let count = if c + 1 == self.chunks() { self.fields.records() - first } else { self.chunk };
        (first, count)
    }

    /// Most records that any chunk has.
    pub fn longest_chunk(&self) -> usize {
        let last = self.chunk_records(self.chunks() - 1).1;
        if self.chunks() == 1 { last } else { last.max(self.chunk) }
    }

    /// Slots of field `f` in chunk `c`: the first one's final number, how many there are, and the place of the first within
    /// the chunk's memory, in slots, as `(first, count, place)`.
    pub fn column(&self, c: usize, f: usize) -> (usize, usize, usize) {
        let (first_record, records) = self.chunk_records(c);
        let (begin, end) = (self.fields.begin(f), self.fields.begin(f + 1));
        let slots = |words: usize| words.div_ceil(self.slot);
        let first = slots(begin * self.fields.records()) + first_record / self.slot * (end - begin);
        let place = slots(begin * records);
        (first, slots(end * records) - place, place)
    }

    /// Words of field `f` in chunk `c` before its first slot begins: fewer than a slot's.
    pub fn lead(&self, c: usize, f: usize) -> usize {
        let (first, _, _) = self.column(c, f);
        let (begin, width) = (self.fields.begin(f), self.fields.width(f));
        first * self.slot - (begin * self.fields.records() + self.chunk_records(c).0 * width)
    }

    /// The first slot place of chunk `c`.
    fn chunk_place(&self, c: usize) -> usize {
        c * (self.chunk / self.slot) * self.fields.words()
    }

    /// Pass 2: the final number of the slot that pass 1 left at `place`.
    pub fn slot_dest(&self, place: usize) -> usize {
        let per_chunk = self.chunk / self.slot * self.fields.words();
        let c = (place / per_chunk).min(self.chunks() - 1);
        let (f, k) = self.slot_at(c, place - c * per_chunk);
        self.column(c, f).0 + k
    }

    /// Pass 2 backwards: the place at which pass 1 leaves the slot of final number `t`.
    pub fn slot_source(&self, t: usize) -> usize {
        let (i, word) = self.fields.at(self.fields.records(), t * self.slot);
        let c = (i / self.chunk).min(self.chunks() - 1);
        let f = self.fields.field_of(word);
        self.chunk_place(c) + self.place_in(c, f, t - self.column(c, f).0)
    }

    /// Pass 1: where the word at `offset` goes.
    pub fn gather_dest(&self, offset: usize) -> usize {
        let (i, word) = self.fields.at(self.tile, offset);
        let position = self.fields.offset(self.fields.records(), i, word);
        self.slot_source(position / self.slot) * self.slot + position % self.slot
    }

    /// Pass 1 backwards: where the word that it leaves at `offset` comes from.
    pub fn gather_source(&self, offset: usize) -> usize {
        let position = self.slot_dest(offset / self.slot) * self.slot + offset % self.slot;
        let (i, word) = self.fields.at(self.fields.records(), position);
        self.fields.offset(self.tile, i, word)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::record_layout::tests::all_widths;
    use crate::{AOS, AlignedSlots, LayoutChange};
    use proptest::prelude::*;

    /// A word goes along with its slot.
    fn with_slot(slots: &FieldSlots, offset: usize, map: impl Fn(usize) -> usize) -> usize {
        map(offset / slots.slot()) * slots.slot() + offset % slots.slot()
    }

    fn check(slots: &FieldSlots, offset: usize) {
        let columns = LayoutChange::new(slots.fields(), slots.tile(), slots.fields().records());
        let gathered = slots.gather_dest(offset);
        assert!(gathered < slots.fields().len(), "{slots:?} at {offset}");
        assert_eq!(slots.gather_source(gathered), offset, "{slots:?}");
        let moved = with_slot(slots, gathered, |place| slots.slot_dest(place));
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
                    (1..=chunk).filter_map(move |tile| FieldSlots::new(fields, tile, slot, chunk))
                })
            })
        })
    }

    #[test]
    fn both_passes_are_permutations_that_compose_to_columns() {
        for slots in all_slots() {
            (0..slots.fields().len()).for_each(|offset| check(&slots, offset));
        }
    }

    /// Sections of every length that fits: both passes, and that a section's slots lie around its records.
    #[test]
    fn chunks_of_sections_compose_too() {
        let mut some = 0;
        for slots in all_slots().filter(|slots| slots.fields().records() < 11) {
            for section in 1..slots.longest_chunk() {
                let Some(slots) = slots.in_sections(section) else { continue };
                some += 1;
                (0..slots.fields().len()).for_each(|offset| check(&slots, offset));
                let (words, drift) =
                    (slots.fields().words(), slots.fields().count() * slots.slot());
                for c in 0..slots.chunks() {
                    for q in 0..slots.sections(c) {
                        let records = slots.section_records(c, q);
                        let least = section.min(slots.chunk_records(c).1);
                        assert!((least..=slots.longest_section()).contains(&records.len()));
                        let lies = slots.section_place(c, q) * slots.slot();
                        let apart = lies.abs_diff(records.start * words);
                        assert!(apart < drift, "{slots:?} chunk {c} section {q}");
                    }
                }
            }
        }
        assert!(some > 1000, "{some}");
    }

    #[test]
    fn fields_come_from_their_places() {
        for (records, slot, chunk) in [(9, 2, 4), (14, 3, 6), (7, 1, 7)] {
            let fields = RecordSchema::new(records, &[2, 1, 3]).unwrap();
            for places in [[1, 0, 3], [3, 5, 0], [4, 3, 0]] {
                let fields = fields.with_places(&places).unwrap();
                let slots = FieldSlots::new(fields, AOS, slot, chunk).unwrap();
                (0..fields.len()).for_each(|offset| check(&slots, offset));
            }
        }
    }

    #[test]
    fn a_chunk_fills_its_own_memory_from_its_own_and_the_next_words() {
        for slots in all_slots() {
            let words = slots.fields().words();
            for c in 0..slots.chunks() {
                let (first, count) = slots.chunk_records(c);
                assert!(count >= slots.slot() && count <= slots.longest_chunk());
                let mut place = 0;
                for f in 0..slots.fields().count() {
                    let (number, of_field, at) = slots.column(c, f);
                    assert_eq!(at, place, "{slots:?} chunk {c} field {f}");
                    assert!(of_field > 0 && slots.lead(c, f) < slots.slot(), "{slots:?}");
                    for k in 0..of_field {
                        let whole = slots.chunk_place(c) + at + k;
                        assert_eq!(slots.slot_dest(whole), number + k, "{slots:?}");
                    }
                    place += of_field;
                }
                let begin = slots.chunk_place(c) * slots.slot();
                assert_eq!(begin, first * words, "{slots:?} chunk {c}");
                assert_eq!(place, (count * words).div_ceil(slots.slot()), "{slots:?} chunk {c}");
            }
            assert_eq!(slots.slot_dest(slots.count() - 1), slots.count() - 1);
        }
    }

    /// Fields of one word are columns of a matrix.
    #[test]
    fn of_single_words_they_are_those_of_a_matrix() {
        for (rows, cols, slot, chunk) in [(15, 5, 3, 6), (16, 7, 4, 8), (29, 3, 5, 5), (9, 4, 9, 9)]
        {
            let of_matrix = AlignedSlots::new(rows, cols, slot, chunk).unwrap();
            let fields = RecordSchema::new(rows, &vec![1; cols]).unwrap();
            let slots = FieldSlots::new(fields, 1, slot, chunk).unwrap();
            for offset in 0..rows * cols {
                assert_eq!(slots.gather_dest(offset), of_matrix.gather_dest(offset), "{slots:?}");
            }
        }
    }

    proptest! {
        #[test]
        fn any_records(records in 1usize..1 << 20, widths in prop::collection::vec(1usize..40, 1..9),
                       slot in 1usize..512, k in 1usize..64, tile in 0u32..8, at: usize) {
            let tile = 1 << tile;
            let fields = RecordSchema::new(records, &widths).unwrap();
            let step = FieldSlots::least_chunk(tile, slot).unwrap();
            prop_assume!(step <= records);
            let slots = FieldSlots::new(fields, tile, slot, step * k.min(records / step)).unwrap();
            check(&slots, at % fields.len());
            let least = slot.div_ceil(fields.widths().min().unwrap());
            let sections = slots.in_sections(least.next_multiple_of(slots.tile().max(1)) * k);
            check(&sections.unwrap(), at % fields.len());
        }
    }
}
