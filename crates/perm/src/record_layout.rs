//! Records whose fields have any widths, and the layouts between an array of structures and a structure of arrays.
//!
//! A record has fields of `k_f` words, `c_f` words before field `f`, `K` words in all. In *tiles* of `T` records, the last
//! one shorter, every tile holds its fields one after the other, and each field its records: with `L` the records of the
//! tile, word `u` of field `f` of its record `i` lies `L·c_f + i·k_f + u` words on. That is
//!
//! | layout | tile |
//! |---|---|
//! | AoS, array of structures | 1; [`AOS`] where fields lie in another order in a record than in tiles |
//! | ASTA, array of structures of tiled arrays (thesis section 5.4.1) | `T` |
//! | SoA, structure of arrays | all records |
//!
//! In AoS, field `f` lies `p_f` words into its record, its *place*: a structure's fields stay where its compiler put them, and
//! its columns may lie in an order that keeps them aligned.
//!
//! Rows cut into panels of unequal width are such records too: the panels are their fields.

use std::collections::BTreeSet;
use std::fmt;
use std::sync::{Mutex, PoisonError};

/// The tile of records that lie one by one, every field at its place. Of fields that lie in order it is a tile of one.
pub const AOS: usize = 0;

/// So many records of fields of so many words each.
#[derive(Clone, Copy, PartialEq, Eq, Hash)]
pub struct RecordSchema {
    records: usize,
    record: &'static Record,
}

#[derive(PartialEq, Eq, PartialOrd, Ord, Hash)]
struct Record {
    /// The words before each field in tiles, and those of all.
    begins: Vec<usize>,
    /// The words before each field in a record.
    places: Vec<usize>,
    /// The fields as they lie in a record.
    order: Vec<usize>,
}

/// Every record that was asked for, kept as long as the process lives: so `RecordSchema` is `Copy`, as all index maps are. A
/// program has as many as it has types of records.
static KNOWN: Mutex<BTreeSet<&'static Record>> = Mutex::new(BTreeSet::new());

fn kept(record: Record) -> &'static Record {
    let mut known = KNOWN.lock().unwrap_or_else(PoisonError::into_inner);
    known.get(&record).copied().unwrap_or_else(|| {
        let record: &'static Record = Box::leak(Box::new(record));
        known.insert(record);
        record
    })
}

/// The records of one step through tiles.
#[inline]
fn step(tile: usize) -> usize {
    tile.max(1)
}

impl RecordSchema {
    /// `records` records whose fields have these widths, in words; `None` unless there is a field, each has a word, and
    /// all words can be counted.
    pub fn new(records: usize, widths: &[usize]) -> Option<Self> {
        let mut begins = vec![0usize];
        for &width in widths {
            let end = begins.last()?.checked_add(width).filter(|_| width > 0)?;
            begins.push(end);
        }
        let places = begins[..begins.len() - 1].to_vec();
        let order = (0..places.len()).collect();
        let words = *begins.last()?;
        let counted = records.max(1).checked_mul(words).is_some_and(|all| all > 0);
        counted.then(|| RecordSchema { records, record: kept(Record { begins, places, order }) })
    }

    /// The same with each field so many words into a record. `None` unless they fill it, none over another.
    #[must_use]
    pub fn with_places(self, places: &[usize]) -> Option<Self> {
        let mut order: Vec<usize> = (0..self.count()).collect();
        if places.len() != order.len() {
            return None;
        }
        order.sort_by_key(|&f| places[f]);
        let mut end = 0;
        for &f in &order {
            (places[f] == end).then_some(())?;
            end += self.width(f);
        }
        let (begins, places) = (self.record.begins.clone(), places.to_vec());
        Some(RecordSchema { record: kept(Record { begins, places, order }), ..self })
    }

    /// As many records of fields of these widths as there are.
    #[must_use]
    pub fn with_records(self, records: usize) -> Option<Self> {
        records.max(1).checked_mul(self.words())?;
        Some(RecordSchema { records, ..self })
    }

    /// Records.
    pub fn records(&self) -> usize {
        self.records
    }

    /// Fields of a record.
    pub fn count(&self) -> usize {
        self.record.places.len()
    }

    /// Words of a record.
    pub fn words(&self) -> usize {
        self.record.begins[self.count()]
    }

    /// Words of a record before field `f`; of the number of fields, all.
    #[inline]
    pub fn begin(&self, f: usize) -> usize {
        self.record.begins[f]
    }

    /// Words of a record before field `f` in tiles of so many: in AoS, those before its place.
    #[inline]
    pub fn begin_in(&self, tile: usize, f: usize) -> usize {
        if tile == AOS { self.record.places[f] } else { self.begin(f) }
    }

    /// Whether fields lie in a record in the order of tiles.
    pub fn in_order(&self) -> bool {
        self.record.order.is_sorted()
    }

    /// The tile of so many records: AoS is of one where fields lie in order, and more than all records are all.
    pub fn tile(&self, tile: usize) -> usize {
        let least = usize::from(self.in_order());
        tile.max(least).min(self.records.max(1))
    }

    /// Words of field `f`.
    #[inline]
    pub fn width(&self, f: usize) -> usize {
        self.record.begins[f + 1] - self.record.begins[f]
    }

    /// The widths of all fields.
    pub fn widths(&self) -> impl ExactSizeIterator<Item = usize> + Clone + '_ {
        self.record.begins.windows(2).map(|pair| pair[1] - pair[0])
    }

    /// Whether every field is one word: a matrix, whose layouts are permutations of axes where tiles divide the records.
    pub fn is_matrix(&self) -> bool {
        self.words() == self.count()
    }

    /// Words of all records.
    pub fn len(&self) -> usize {
        self.records * self.words()
    }

    /// Whether there are none.
    pub fn is_empty(&self) -> bool {
        self.records == 0
    }

    /// The field that word `c` of a record is of.
    #[inline]
    pub fn field_of(&self, c: usize) -> usize {
        self.record.begins.partition_point(|&begin| begin <= c) - 1
    }

    /// The field at word `c` of a record in AoS.
    #[inline]
    fn field_at(&self, c: usize) -> usize {
        let Record { places, order, .. } = self.record;
        order[order.partition_point(|&f| places[f] <= c) - 1]
    }

    /// In tiles of `tile` records, where word `c` of record `i` lies: words count as they lie in tiles.
    #[inline]
    pub fn offset(&self, tile: usize, i: usize, c: usize) -> usize {
        let f = self.field_of(c);
        let first = i / step(tile) * step(tile);
        let records = step(tile).min(self.records - first);
        let lies = first * self.words() + records * self.begin_in(tile, f);
        lies + (i - first) * self.width(f) + c - self.begin(f)
    }

    /// In tiles of `tile` records, the record and its word that lie at `offset`.
    #[inline]
    pub fn at(&self, tile: usize, offset: usize) -> (usize, usize) {
        let first = offset / self.words() / step(tile) * step(tile);
        let records = step(tile).min(self.records - first);
        let within = offset - first * self.words();
        let f = if tile == AOS { self.field_at(within) } else { self.field_of(within / records) };
        let word = within - records * self.begin_in(tile, f);
        (first + word / self.width(f), self.begin(f) + word % self.width(f))
    }
}

impl fmt::Debug for RecordSchema {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Fields({self})")
    }
}

/// `1000 records of 4+12+1+8`; many fields of one width as `19*1`; fields that lie elsewhere in a record as `8@4+4@0`.
impl fmt::Display for RecordSchema {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} records of ", self.records)?;
        if !self.in_order() {
            let fields = self.widths().zip(&self.record.places);
            return f.write_str(
                &fields.map(|(w, place)| format!("{w}@{place}")).collect::<Vec<_>>().join("+"),
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

/// Records that go from tiles of one length to tiles of another.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct LayoutChange {
    fields: RecordSchema,
    from: usize,
    to: usize,
}

impl LayoutChange {
    /// From tiles of `from` records to tiles of `to`, [`AOS`] among them; more than there are count as all.
    pub fn new(fields: RecordSchema, from: usize, to: usize) -> Self {
        LayoutChange { fields, from: fields.tile(from), to: fields.tile(to) }
    }

    /// The records.
    pub fn fields(&self) -> RecordSchema {
        self.fields
    }

    /// Records of a tile before, or [`AOS`].
    pub fn from(&self) -> usize {
        self.from
    }

    /// Records of a tile after, or [`AOS`].
    pub fn to(&self) -> usize {
        self.to
    }

    /// Whether nothing moves: tiles are alike, or records have one field.
    pub fn is_identity(&self) -> bool {
        // Of one record, or one field, tiles of any length are the same.
        let one = self.fields.count() == 1 || self.fields.records() <= 1;
        self.from == self.to || self.fields.is_empty() || one && self.from.min(self.to) > AOS
    }

    /// The other way round.
    #[must_use]
    pub fn inverse(self) -> Self {
        LayoutChange { from: self.to, to: self.from, ..self }
    }

    /// The least records that whole tiles before and whole tiles after have in common, or all: what moves by itself.
    /// The last may be shorter.
    pub fn period(&self) -> usize {
        let most = self.fields.records().max(1);
        let least = num_integer::lcm(step(self.from) as u128, step(self.to) as u128);
        usize::try_from(least).unwrap_or(most).min(most)
    }

    /// Where the word at `offset` goes; offsets behind the end stay.
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

    /// Every list of at most `most` widths of these.
    pub fn all_widths(of: &[usize], most: usize) -> Vec<Vec<usize>> {
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

    /// Tile by tile, field by field, record by record: the words in the order in which they lie.
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
    fn words_lie_as_they_are_listed() {
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

    /// Fields in every order in a record: AoS is another order of each record's words, tiles are as they were.
    #[test]
    fn records_keep_their_fields_in_their_places() {
        for widths in all_widths(&[1, 2, 3], 4) {
            let fields = RecordSchema::new(5, &widths).unwrap();
            for turn in 0..2 * widths.len() {
                // Rotated, and back to front.
                let mut order: Vec<usize> = (0..widths.len()).collect();
                order.rotate_left(turn / 2);
                if turn % 2 == 1 {
                    order.reverse();
                }
                let mut places = vec![0; widths.len()];
                order.iter().fold(0, |end, &f| {
                    places[f] = end;
                    end + widths[f]
                });
                let placed = fields.with_places(&places).unwrap();
                assert_eq!(placed.in_order(), placed == fields);
                for (i, f) in (0..5).flat_map(|i| (0..widths.len()).map(move |f| (i, f))) {
                    for u in 0..widths[f] {
                        let (c, lies) = (fields.begin(f) + u, i * fields.words() + places[f] + u);
                        assert_eq!(placed.offset(AOS, i, c), lies, "{placed}");
                        assert_eq!(placed.at(AOS, lies), (i, c), "{placed}");
                        assert_eq!(placed.offset(2, i, c), fields.offset(2, i, c), "{placed}");
                    }
                }
                for (from, to) in [(AOS, 1), (AOS, 2), (5, AOS), (1, 5)] {
                    let retile = LayoutChange::new(placed, from, to);
                    let stays = (0..placed.len()).all(|k| retile.dest(k) == k);
                    assert_eq!(retile.is_identity(), stays, "{retile:?}");
                    for k in 0..placed.len() {
                        assert_eq!(retile.inverse().dest(retile.dest(k)), k, "{retile:?}");
                    }
                }
            }
        }
    }

    /// The formulas of the thesis's section 5.4.1, for fields of a word.
    #[test]
    fn equal_fields_lie_as_the_thesis_says() {
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
    fn whole_tiles_move_by_themselves() {
        for (records, from, to) in [(24, 1, 4), (24, 4, 6), (25, 8, 2), (7, 3, 100), (9, 2, 5)] {
            let fields = RecordSchema::new(records, &[1, 3, 2]).unwrap();
            let retile = LayoutChange::new(fields, from, to);
            let period = retile.period() * fields.words();
            for offset in 0..fields.len() {
                let to = retile.dest(offset);
                assert_eq!(to / period, offset / period, "{retile:?}");
                assert_eq!(retile.inverse().dest(to), offset, "{retile:?}");
            }
        }
    }

    #[test]
    fn what_moves_nothing_is_known() {
        for (records, widths, from, to) in [
            (5, &[1, 2][..], 2, 2),
            (5, &[7], 1, 5),
            (1, &[1, 2], 1, 3),
            (5, &[1, 2], 5, 9),
            (0, &[1, 2], 1, 4),
            (5, &[1, 2], 1, 2),
            (2, &[1, 1], 1, 2),
        ] {
            let retile = LayoutChange::new(RecordSchema::new(records, widths).unwrap(), from, to);
            let stays = (0..records * widths.iter().sum::<usize>()).all(|k| retile.dest(k) == k);
            assert_eq!(retile.is_identity(), stays, "{retile:?}");
        }
    }

    #[test]
    fn what_is_no_record_is_declined() {
        for widths in [&[][..], &[0], &[1, 0, 2], &[usize::MAX, 1]] {
            assert_eq!(RecordSchema::new(3, widths), None, "{widths:?}");
        }
        assert_eq!(RecordSchema::new(usize::MAX, &[1, 1]), None);
        let fields = RecordSchema::new(3, &[1, 2]).unwrap();
        assert_eq!(fields.with_records(usize::MAX / 2), None);
        for places in [&[0][..], &[0, 0], &[1, 0], &[0, 2], &[2, 3]] {
            assert_eq!(fields.with_places(places), None, "{places:?}");
        }
    }

    #[test]
    fn the_same_fields_are_kept_once() {
        let [a, b] = [3, 4].map(|records| RecordSchema::new(records, &[9, 8, 7]).unwrap());
        assert!(std::ptr::eq(a.record, b.record));
        let turned = a.with_places(&[15, 7, 0]).unwrap();
        assert_eq!(turned.to_string(), "3 records of 9@15+8@7+7@0");
        assert_eq!(a.with_records(4), Some(b));
        assert_eq!(a.to_string(), "3 records of 9+8+7");
        assert_eq!(
            RecordSchema::new(2, &[1, 1, 1, 4, 1]).unwrap().to_string(),
            "2 records of 3*1+4+1"
        );
    }

    proptest! {
        #[test]
        fn any_records(records in 1usize..1 << 20, widths in prop::collection::vec(1usize..40, 1..9),
                       from in 1usize..5000, to in 1usize..5000, at: usize) {
            let retile = LayoutChange::new(RecordSchema::new(records, &widths).unwrap(), from, to);
            let offset = at % retile.fields().len();
            let moved = retile.dest(offset);
            prop_assert!(moved < retile.fields().len());
            prop_assert_eq!(retile.inverse().dest(moved), offset);
        }
    }
}
