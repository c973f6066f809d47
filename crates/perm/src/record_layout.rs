//! Records with fields of any width, and layouts between an array of structures and a structure of
//! arrays.
//!
//! Field `f` of a record has `k_f` words; `c_f` words precede it, and a record has `K` words. In
//! *tiles* of `T` records (the last tile may be shorter), every tile stores its fields one after
//! another, and each field stores its records. Let `L` be the number of records of a tile. Then
//! word `u` of field `f` of record `i` of the tile is at word `L·c_f + i·k_f + u` of the tile. The
//! layouts are:
//!
//! | layout | tile |
//! |---|---|
//! | AoS, array of structures | 1, or [`AOS`] if a record stores its fields in a different order than a tile |
//! | ASTA, array of structures of tiled arrays (thesis section 5.4.1) | `T` |
//! | SoA, structure of arrays | all records |
//!
//! In AoS, field `f` starts at word `p_f` of its record: the *offset* of the field. The compiler
//! fixes the field offsets of a structure. Tiles may store the fields in another order that keeps
//! them aligned.
//!
//! Matrix rows cut into column panels of unequal width are such records too: the panels are the
//! fields.

use std::fmt;
use std::sync::Arc;

/// Tile length that denotes AoS, with every field at its offset in the record. If the fields are in
/// tile order, AoS equals tiles of one record.
pub const AOS: usize = 0;

/// Schema of an array of records: their number, and their field widths and AoS field offsets in
/// words.
#[derive(Clone, PartialEq, Eq, Hash)]
pub struct RecordSchema {
    records: usize,
    record: Arc<Record>,
}

#[derive(PartialEq, Eq, Hash)]
struct Record {
    /// Number of words of a record before each field, in tile order, then of the whole record.
    starts: Vec<usize>,
    /// Offset of each field in an AoS record, in words.
    aos_offsets: Vec<usize>,
    /// Fields in the order in which an AoS record stores them.
    order: Vec<usize>,
}

/// Returns the number of records in a tile of length `tile`: 1 for [`AOS`].
#[inline]
fn records_per_tile(tile: usize) -> usize {
    tile.max(1)
}

impl RecordSchema {
    /// Creates a schema of `records` records with these field widths, in words. Returns `None` if
    /// there is no field, a width is 0, or the number of words overflows `usize`.
    pub fn new(records: usize, widths: &[usize]) -> Option<Self> {
        let mut starts = vec![0usize];
        for &width in widths {
            let end = starts.last()?.checked_add(width).filter(|_| width > 0)?;
            starts.push(end);
        }
        let aos_offsets = starts[..starts.len() - 1].to_vec();
        let order = (0..aos_offsets.len()).collect();
        let words = *starts.last()?;
        let counted = records.max(1).checked_mul(words).is_some_and(|all| all > 0);
        counted.then(|| RecordSchema {
            records,
            record: Arc::new(Record { starts, aos_offsets, order }),
        })
    }

    /// Returns this schema with the offset of each field in an AoS record, in words. Returns `None`
    /// unless the fields cover the record exactly once.
    #[must_use]
    pub fn with_aos_offsets(&self, aos_offsets: &[usize]) -> Option<Self> {
        let mut order: Vec<usize> = (0..self.count()).collect();
        if aos_offsets.len() != order.len() {
            return None;
        }
        order.sort_by_key(|&f| aos_offsets[f]);
        let mut end = 0;
        for &f in &order {
            (aos_offsets[f] == end).then_some(())?;
            end += self.width(f);
        }
        let (starts, aos_offsets) = (self.record.starts.clone(), aos_offsets.to_vec());
        let record = Arc::new(Record { starts, aos_offsets, order });
        Some(RecordSchema { records: self.records, record })
    }

    /// Returns this schema with `records` records. Returns `None` if the number of words overflows
    /// `usize`.
    #[must_use]
    pub fn with_records(&self, records: usize) -> Option<Self> {
        records.max(1).checked_mul(self.words())?;
        Some(RecordSchema { records, record: self.record.clone() })
    }

    /// Returns the number of records.
    pub fn records(&self) -> usize {
        self.records
    }

    /// Returns the number of fields of a record.
    pub fn count(&self) -> usize {
        self.record.aos_offsets.len()
    }

    /// Returns the number of words of a record.
    pub fn words(&self) -> usize {
        self.record.starts[self.count()]
    }

    /// Returns the number of words of a record that precede field `f` in tile order. If `f` is the
    /// number of fields, returns the length of a record.
    #[inline]
    pub fn field_start(&self, f: usize) -> usize {
        self.record.starts[f]
    }

    /// Returns the number of words of a record that precede field `f` in tiles of `tile` records;
    /// for [`AOS`], the offset of the field in the record.
    #[inline]
    pub fn begin_in(&self, tile: usize, f: usize) -> usize {
        if tile == AOS { self.record.aos_offsets[f] } else { self.field_start(f) }
    }

    /// Returns `true` if an AoS record stores its fields in the order of tiles.
    pub fn in_order(&self) -> bool {
        self.record.order.is_sorted()
    }

    /// Returns `tile` in canonical form: at most the number of records, and 1 instead of [`AOS`] if
    /// the fields are in order.
    pub fn tile(&self, tile: usize) -> usize {
        let least = usize::from(self.in_order());
        tile.max(least).min(self.records.max(1))
    }

    /// Returns the number of words of field `f`.
    #[inline]
    pub fn width(&self, f: usize) -> usize {
        self.record.starts[f + 1] - self.record.starts[f]
    }

    /// Returns the widths of all fields, in words.
    pub fn widths(&self) -> impl ExactSizeIterator<Item = usize> + Clone + '_ {
        self.record.starts.windows(2).map(|pair| pair[1] - pair[0])
    }

    /// Returns `true` if every field is one word. The records are then a matrix. Its layouts are
    /// axis permutations if the tiles divide the records.
    pub fn is_matrix(&self) -> bool {
        self.words() == self.count()
    }

    /// Returns the number of words of all records.
    pub fn len(&self) -> usize {
        self.records * self.words()
    }

    /// Returns `true` if there are no records.
    pub fn is_empty(&self) -> bool {
        self.records == 0
    }

    /// Returns the field that contains word `c` of a record, counted in tile order.
    #[inline]
    pub(crate) fn field_of(&self, c: usize) -> usize {
        self.record.starts.partition_point(|&begin| begin <= c) - 1
    }

    /// Returns the field that contains word `c` of an AoS record.
    #[inline]
    fn field_at(&self, c: usize) -> usize {
        let Record { aos_offsets, order, .. } = &*self.record;
        order[order.partition_point(|&f| aos_offsets[f] <= c) - 1]
    }

    /// Returns the offset, in words, of word `c` of record `i` in tiles of `tile` records. `c`
    /// counts words in the order of tiles.
    #[inline]
    pub fn offset(&self, tile: usize, i: usize, c: usize) -> usize {
        let f = self.field_of(c);
        let first = i / records_per_tile(tile) * records_per_tile(tile);
        let records = records_per_tile(tile).min(self.records - first);
        let start = first * self.words() + records * self.begin_in(tile, f);
        start + (i - first) * self.width(f) + c - self.field_start(f)
    }

    /// Returns the record and its word that tiles of `tile` records store at `offset`: the inverse
    /// of [`offset`](Self::offset).
    #[inline]
    pub fn at(&self, tile: usize, offset: usize) -> (usize, usize) {
        let first = offset / self.words() / records_per_tile(tile) * records_per_tile(tile);
        let records = records_per_tile(tile).min(self.records - first);
        let within = offset - first * self.words();
        let f = if tile == AOS { self.field_at(within) } else { self.field_of(within / records) };
        let word = within - records * self.begin_in(tile, f);
        (first + word / self.width(f), self.field_start(f) + word % self.width(f))
    }
}

impl fmt::Debug for RecordSchema {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "RecordSchema({self})")
    }
}

/// Formats as `1000 records of 4+12+1+8`. A run of equal widths is written `19*1`. Fields that are
/// out of order in a record are written with their offsets, as `8@4+4@0`.
impl fmt::Display for RecordSchema {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} records of ", self.records)?;
        if !self.in_order() {
            let fields = self.widths().zip(&self.record.aos_offsets);
            return f.write_str(
                &fields.map(|(w, offset)| format!("{w}@{offset}")).collect::<Vec<_>>().join("+"),
            );
        }
        let (mut widths, mut first) = (self.widths().peekable(), true);
        while let Some(width) = widths.next() {
            let mut times = 1;
            while widths.next_if_eq(&width).is_some() {
                times += 1;
            }
            f.write_str(if first { "" } else { "+" })?;
            first = false;
            if times > 1 { write!(f, "{times}*{width}")? } else { write!(f, "{width}")? }
        }
        Ok(())
    }
}

/// A conversion of records from tiles of one length to tiles of another.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct LayoutChange {
    fields: RecordSchema,
    from: usize,
    to: usize,
}

impl LayoutChange {
    /// Creates the conversion from tiles of `from` records to tiles of `to` records, either of
    /// which may be [`AOS`]. A tile longer than the number of records counts as all of them.
    pub fn new(fields: RecordSchema, from: usize, to: usize) -> Self {
        LayoutChange { from: fields.tile(from), to: fields.tile(to), fields }
    }

    /// Returns the record schema.
    pub fn schema(&self) -> &RecordSchema {
        &self.fields
    }

    /// Returns the number of records of a tile before the conversion, or [`AOS`].
    pub fn from(&self) -> usize {
        self.from
    }

    /// Returns the number of records of a tile after the conversion, or [`AOS`].
    pub fn to(&self) -> usize {
        self.to
    }

    /// Returns `true` if no word moves, for example because the tile lengths are equal.
    pub fn is_identity(&self) -> bool {
        // With one record or one field, all tiles of at least one record are the same layout.
        let one = self.fields.count() == 1 || self.fields.records() <= 1;
        self.from == self.to || self.fields.is_empty() || one && self.from.min(self.to) > AOS
    }

    /// Returns the conversion in the other direction.
    #[must_use]
    pub fn inverse(&self) -> Self {
        LayoutChange { fields: self.fields.clone(), from: self.to, to: self.from }
    }

    /// Returns the smallest number of records that is a multiple of both tile lengths, or the
    /// number of all records if that is smaller. Each group of that many records moves within its
    /// own memory; the last group may be shorter.
    pub fn period(&self) -> usize {
        let most = self.fields.records().max(1);
        let least = num_integer::lcm(
            records_per_tile(self.from) as u128,
            records_per_tile(self.to) as u128,
        );
        usize::try_from(least).unwrap_or(most).min(most)
    }

    /// Returns the offset to which the word at `offset` moves. Offsets past the end are returned
    /// unchanged.
    #[inline]
    pub fn dest(&self, offset: usize) -> usize {
        if offset >= self.fields.len() {
            return offset;
        }
        let (i, c) = self.fields.at(self.from, offset);
        self.fields.offset(self.to, i, c)
    }
}

#[cfg(test)]
pub(crate) mod tests {
    use super::*;
    use proptest::prelude::*;

    /// Returns every non-empty list of at most `most` widths from `of`.
    pub(crate) fn all_widths(of: &[usize], most: usize) -> Vec<Vec<usize>> {
        let mut all = vec![Vec::new()];
        let mut last = all.clone();
        for _ in 0..most {
            let longer = |widths: &Vec<usize>| {
                of.iter().map(|&w| [&widths[..], &[w]].concat()).collect::<Vec<_>>()
            };
            last = last.iter().flat_map(longer).collect();
            all.extend(last.clone());
        }
        all.into_iter().filter(|widths| !widths.is_empty()).collect()
    }

    /// Lists the words (record, word) in memory order: tile by tile, field by field, record by
    /// record.
    fn listed(records: usize, widths: &[usize], tile: usize) -> Vec<(usize, usize)> {
        let mut words = Vec::new();
        for first in (0..records).step_by(tile) {
            let mut begin = 0;
            for width in widths {
                for i in first..records.min(first + tile) {
                    words.extend((begin..begin + width).map(|c| (i, c)));
                }
                begin += width;
            }
        }
        words
    }

    #[test]
    fn offsets_match_listed_order() {
        for widths in all_widths(&[1, 2, 3, 5], 4) {
            for records in 0..9 {
                let fields = RecordSchema::new(records, &widths).unwrap();
                assert_eq!(fields.widths().collect::<Vec<_>>(), widths);
                for tile in 1..11 {
                    let words = listed(records, &widths, tile);
                    assert_eq!(words.len(), fields.len());
                    for (offset, &(i, c)) in words.iter().enumerate() {
                        assert_eq!(fields.at(tile, offset), (i, c), "{fields} in {tile}");
                        assert_eq!(fields.offset(tile, i, c), offset, "{fields} in {tile}");
                    }
                }
            }
        }
    }

    /// Checks AoS with fields in every rotated or reversed order: only the words of each record are
    /// permuted, and tiled layouts are unchanged.
    #[test]
    fn aos_records_use_given_field_offsets() {
        for widths in all_widths(&[1, 2, 3], 4) {
            let fields = RecordSchema::new(5, &widths).unwrap();
            for variant in 0..2 * widths.len() {
                // Rotated; reversed if the variant is odd.
                let mut order: Vec<usize> = (0..widths.len()).collect();
                order.rotate_left(variant / 2);
                if variant % 2 == 1 {
                    order.reverse();
                }
                let mut aos_offsets = vec![0; widths.len()];
                order.iter().fold(0, |end, &f| {
                    aos_offsets[f] = end;
                    end + widths[f]
                });
                let placed = fields.with_aos_offsets(&aos_offsets).unwrap();
                assert_eq!(placed.in_order(), placed == fields);
                for (i, f) in (0..5).flat_map(|i| (0..widths.len()).map(move |f| (i, f))) {
                    for u in 0..widths[f] {
                        let (c, offset) =
                            (fields.field_start(f) + u, i * fields.words() + aos_offsets[f] + u);
                        assert_eq!(placed.offset(AOS, i, c), offset, "{placed}");
                        assert_eq!(placed.at(AOS, offset), (i, c), "{placed}");
                        assert_eq!(placed.offset(2, i, c), fields.offset(2, i, c), "{placed}");
                    }
                }
                for (from, to) in [(AOS, 1), (AOS, 2), (5, AOS), (1, 5)] {
                    let change = LayoutChange::new(placed.clone(), from, to);
                    let stays = (0..placed.len()).all(|k| change.dest(k) == k);
                    assert_eq!(change.is_identity(), stays, "{change:?}");
                    for k in 0..placed.len() {
                        assert_eq!(change.inverse().dest(change.dest(k)), k, "{change:?}");
                    }
                }
            }
        }
    }

    /// Checks the formulas of thesis section 5.4.1, for fields of one word.
    #[test]
    fn equal_fields_match_the_thesis() {
        let (records, words) = (70, 5);
        let fields = RecordSchema::new(records, &[1; 5]).unwrap();
        for (i, f) in (0..records).flat_map(|i| (0..words).map(move |f| (i, f))) {
            assert_eq!(fields.offset(1, i, f), i * words + f, "AoS");
            assert_eq!(fields.offset(records, i, f), f * records + i, "SoA");
            let asta = |t: usize| i / t * words * t + f * t.min(records - i / t * t) + i % t;
            assert_eq!(fields.offset(32, i, f), asta(32), "ASTA");
        }
    }

    #[test]
    fn words_stay_within_their_period() {
        for (records, from, to) in [(24, 1, 4), (24, 4, 6), (25, 8, 2), (7, 3, 100), (9, 2, 5)] {
            let fields = RecordSchema::new(records, &[1, 3, 2]).unwrap();
            let change = LayoutChange::new(fields.clone(), from, to);
            let period = change.period() * fields.words();
            for offset in 0..fields.len() {
                let to = change.dest(offset);
                assert_eq!(to / period, offset / period, "{change:?}");
                assert_eq!(change.inverse().dest(to), offset, "{change:?}");
            }
        }
    }

    #[test]
    fn identity_is_detected() {
        for (records, widths, from, to) in [
            (5, &[1, 2][..], 2, 2),
            (5, &[7], 1, 5),
            (1, &[1, 2], 1, 3),
            (5, &[1, 2], 5, 9),
            (0, &[1, 2], 1, 4),
            (5, &[1, 2], 1, 2),
            (2, &[1, 1], 1, 2),
        ] {
            let change = LayoutChange::new(RecordSchema::new(records, widths).unwrap(), from, to);
            let stays = (0..records * widths.iter().sum::<usize>()).all(|k| change.dest(k) == k);
            assert_eq!(change.is_identity(), stays, "{change:?}");
        }
    }

    #[test]
    fn invalid_schemas_are_rejected() {
        for widths in [&[][..], &[0], &[1, 0, 2], &[usize::MAX, 1]] {
            assert_eq!(RecordSchema::new(3, widths), None, "{widths:?}");
        }
        assert_eq!(RecordSchema::new(usize::MAX, &[1, 1]), None);
        let fields = RecordSchema::new(3, &[1, 2]).unwrap();
        assert_eq!(fields.with_records(usize::MAX / 2), None);
        for aos_offsets in [&[0][..], &[0, 0], &[1, 0], &[0, 2], &[2, 3]] {
            assert_eq!(fields.with_aos_offsets(aos_offsets), None, "{aos_offsets:?}");
        }
    }

    #[test]
    fn schemas_are_equal_by_content() {
        let [a, b] = [3, 4].map(|records| RecordSchema::new(records, &[9, 8, 7]).unwrap());
        assert_eq!(RecordSchema::new(3, &[9, 8, 7]).as_ref(), Some(&a));
        assert_ne!(a, b);
        let reversed = a.with_aos_offsets(&[15, 7, 0]).unwrap();
        assert_ne!(reversed, a);
        assert_eq!(reversed.with_aos_offsets(&[0, 9, 17]).as_ref(), Some(&a));
        assert_eq!(reversed.to_string(), "3 records of 9@15+8@7+7@0");
        assert_eq!(a.with_records(4), Some(b));
        assert_eq!(a.to_string(), "3 records of 9+8+7");
        assert_eq!(
            RecordSchema::new(2, &[1, 1, 1, 4, 1]).unwrap().to_string(),
            "2 records of 3*1+4+1"
        );
    }

    proptest! {
        #[test]
        fn layout_changes_are_inverse_for_large_records(
            records in 1usize..1 << 20, widths in prop::collection::vec(1usize..40, 1..9),
            from in 1usize..5000, to in 1usize..5000, at: usize,
        ) {
            let change = LayoutChange::new(RecordSchema::new(records, &widths).unwrap(), from, to);
            let offset = at % change.schema().len();
            let moved = change.dest(offset);
            prop_assert!(moved < change.schema().len());
            prop_assert_eq!(change.inverse().dest(moved), offset);
        }
    }
}
