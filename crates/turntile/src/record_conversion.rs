//! Records in place from one layout to another: what is asked, and why it cannot be.

use std::fmt;
use std::num::NonZeroUsize;
use std::ops::Range;
use std::str::FromStr;

use turntile_perm::{AOS, LayoutChange, RecordSchema};
use turntile_plan::Problem;

use crate::columns::Record;

/// How records lie.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum RecordOrder {
    /// Record after record: an array of structures.
    Aos,
    /// Field after field, each of all records: a structure of arrays.
    Soa,
    /// Tiles of so many records, field after field in each; the last tile has those that are left.
    Asta(usize),
}

impl RecordOrder {
    /// Records of a tile.
    fn tile(self, records: usize) -> Option<usize> {
        match self {
            RecordOrder::Aos => Some(AOS),
            RecordOrder::Soa => Some(records.max(1)),
            RecordOrder::Asta(tile) => NonZeroUsize::new(tile).map(usize::from),
        }
    }
}

impl fmt::Display for RecordOrder {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            RecordOrder::Aos => f.pad("aos"),
            RecordOrder::Soa => f.pad("soa"),
            RecordOrder::Asta(tile) => write!(f, "asta:{tile}"),
        }
    }
}

impl FromStr for RecordOrder {
    type Err = LayoutError;

    fn from_str(text: &str) -> Result<Self, LayoutError> {
        let unknown = || LayoutError::Unknown { text: text.to_owned() };
        match text {
            "aos" => Ok(RecordOrder::Aos),
            "soa" => Ok(RecordOrder::Soa),
            _ => match text.strip_prefix("asta:").map(str::parse) {
                Some(Ok(0)) => Err(LayoutError::EmptyTile),
                Some(Ok(tile)) => Ok(RecordOrder::Asta(tile)),
                _ => Err(unknown()),
            },
        }
    }
}

/// Why records have no such layout.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum LayoutError {
    /// A record without fields.
    #[error("a record has at least one field")]
    NoFields,
    /// A field of no bytes.
    #[error("field {field} has no bytes: leave it out")]
    EmptyField {
        /// Which field, from 0.
        field: usize,
    },
    /// Two fields share bytes.
    #[error(
        "fields {first} and {second} overlap: {second} begins at byte {begins}, {first} ends at {ends}"
    )]
    Overlap {
        /// The one that begins first.
        first: usize,
        /// The other.
        second: usize,
        /// Where the other begins.
        begins: usize,
        /// Where the first one ends.
        ends: usize,
    },
    /// A field ends after the record.
    #[error("field {field} ends at byte {ends} of a record of {record_bytes} bytes")]
    Beyond {
        /// Which field, from 0.
        field: usize,
        /// Where it ends.
        ends: usize,
        /// Bytes of a record.
        record_bytes: usize,
    },
    /// The bytes do not fit the address space.
    #[error("{records} records of such fields exceed {} bytes", isize::MAX)]
    TooLarge {
        /// Records.
        records: usize,
    },
    /// Tiles of no records.
    #[error("a tile has at least one record: asta:0 is no layout")]
    EmptyTile,
    /// No layout has that name.
    #[error("no layout is named {text:?}: aos, soa or asta:T, of tiles of T records")]
    Unknown {
        /// The name as given.
        text: String,
    },
    /// Something else was asked for that goes with axes alone.
    #[error("records change their layout in place, one array of them: not with {with}")]
    With {
        /// What they cannot go with.
        with: &'static str,
    },
}

/// Records that are to change their layout.
#[derive(Clone, Debug, PartialEq, Eq)]
#[must_use]
pub struct RecordConversion {
    records: usize,
    /// Bytes of each field as given, then of each gap: the columns.
    sizes: Vec<usize>,
    /// Where each lies in a record.
    places: Vec<usize>,
    from: RecordOrder,
    to: RecordOrder,
}

impl RecordConversion {
    /// `records` records of fields of so many bytes, one after the other without gaps. From AoS, until
    /// [`from`](Self::from) says else.
    pub fn new(records: usize, sizes: &[usize]) -> Self {
        let before = |end: &mut usize, &bytes: &usize| {
            let place = *end;
            *end = place.saturating_add(bytes);
            Some(place)
        };
        let places = sizes.iter().scan(0, before).collect();
        RecordConversion {
            records,
            sizes: sizes.to_vec(),
            places,
            from: RecordOrder::Aos,
            to: RecordOrder::Aos,
        }
    }

    /// `records` records of `record_bytes` bytes with fields anywhere, each given as its first byte and its bytes. Columns lie
    /// in the order in which the fields are given; give them by falling alignment, and every column is aligned where the
    /// memory is. What lies between fields, and behind the last, is moved like fields behind the others, so nothing is lost.
    ///
    /// ```
    /// use turntile::layout::Relayout;
    ///
    /// // #[repr(C)] struct { tag: u8, x: f64 }: seven bytes follow the tag.
    /// let layout = Relayout::by_offsets(100, 16, &[(8, 8), (0, 1)])?;
    /// assert_eq!((layout.column(0), layout.column(1)), (0..800, 800..900));
    /// # Ok::<(), turntile::layout::LayoutError>(())
    /// ```
    ///
    /// # Errors
    /// [`LayoutError`]: there are no fields; they overlap, are empty, or end after the record.
    pub fn by_offsets(
        records: usize,
        record_bytes: usize,
        fields: &[(usize, usize)],
    ) -> Result<Self, LayoutError> {
        if fields.is_empty() {
            return Err(LayoutError::NoFields);
        }
        let mut order: Vec<usize> = (0..fields.len()).collect();
        order.sort_by_key(|&f| fields[f]);
        let (mut gaps, mut at, mut last) = (Vec::new(), 0, 0);
        for f in order {
            let (begins, bytes) = fields[f];
            if bytes == 0 {
                return Err(LayoutError::EmptyField { field: f });
            }
            if begins < at {
                return Err(LayoutError::Overlap { first: last, second: f, begins, ends: at });
            }
            let ends = begins.saturating_add(bytes);
            if ends > record_bytes {
                return Err(LayoutError::Beyond { field: f, ends, record_bytes });
            }
            gaps.push((at, begins - at));
            (at, last) = (ends, f);
        }
        gaps.push((at, record_bytes - at));
        gaps.retain(|&(_, bytes)| bytes > 0);
        let (places, sizes) = fields.iter().chain(&gaps).copied().unzip();
        Ok(RecordConversion {
            records,
            sizes,
            places,
            from: RecordOrder::Aos,
            to: RecordOrder::Aos,
        })
    }

    /// `records` records of a type: its fields in the order of their columns, by falling alignment. For memory that is not a
    /// [`Records`](crate::layout::Records): a GPU's, by [`plan_on`](crate::Transpose::plan_on), a map of a file's.
    pub fn of_record<R: Record>(records: usize) -> Self {
        let mut fields = R::FIELDS.to_vec();
        fields.sort_by_key(|field| field.before);
        let (places, sizes) = fields.iter().map(|field| (field.offset, field.bytes)).unzip();
        RecordConversion { records, sizes, places, from: RecordOrder::Aos, to: RecordOrder::Aos }
    }

    /// From records that lie so.
    pub fn from(self, from: RecordOrder) -> Self {
        RecordConversion { from, ..self }
    }

    /// The same on their way to another layout.
    pub(crate) fn towards(self, to: RecordOrder) -> Self {
        RecordConversion { to, ..self }
    }

    /// Bytes of a record; `usize::MAX` where they are more, of records that no memory holds.
    pub fn record_bytes(&self) -> usize {
        saturating_sum(&self.sizes)
    }

    /// The bytes of field `field` of all records in SoA. An end that exceeds `usize::MAX` is given as that.
    ///
    /// # Panics
    /// When there is no such field.
    pub fn column(&self, field: usize) -> Range<usize> {
        let end = |fields| saturating_sum(&self.sizes[..fields]).saturating_mul(self.records);
        end(field)..end(field + 1)
    }

    /// Returns the first byte of field `field` of record `record` in a layout; `usize::MAX` where it is more, of records that no
    /// memory holds. Nothing is allocated or locked.
    ///
    /// # Panics
    /// When there is no such record or field, or the layout is of tiles of none.
    pub fn offset(&self, layout: RecordOrder, record: usize, field: usize) -> usize {
        assert!(record < self.records, "record {record} of {}", self.records);
        let tile = layout.tile(self.records).expect("tiles with records");
        let (first, within) = match tile {
            AOS => (record, self.places[field]),
            _ => {
                let first = record / tile * tile;
                let before = saturating_sum(&self.sizes[..field]);
                let records = tile.min(self.records - first);
                let in_column = self.sizes[field].saturating_mul(record - first);
                (first, before.saturating_mul(records).saturating_add(in_column))
            }
        };
        self.record_bytes().saturating_mul(first).saturating_add(within)
    }

    /// The fields in words of so many bytes.
    fn fields(&self, word: usize) -> Option<RecordSchema> {
        let words = |bytes: &[usize]| bytes.iter().map(|bytes| bytes / word).collect::<Vec<_>>();
        RecordSchema::new(self.records, &words(&self.sizes))?.with_places(&words(&self.places))
    }

    /// The problem: bytes in words that divide all fields.
    pub(crate) fn problem(&self) -> Result<Problem, LayoutError> {
        if self.sizes.is_empty() {
            return Err(LayoutError::NoFields);
        }
        if let Some(field) = self.sizes.iter().position(|&bytes| bytes == 0) {
            return Err(LayoutError::EmptyField { field });
        }
        let word = self.sizes.iter().copied().fold(0, num_integer::gcd);
        let too_large = || LayoutError::TooLarge { records: self.records };
        let fields = self.fields(word).ok_or_else(too_large)?;
        let tile = |layout: RecordOrder| layout.tile(self.records).ok_or(LayoutError::EmptyTile);
        let retile = LayoutChange::new(fields, tile(self.from)?, tile(self.to)?);
        Problem::of_records(retile, word).map_err(|_| too_large())
    }
}

/// The sum, or `usize::MAX` where that is less.
fn saturating_sum(sizes: &[usize]) -> usize {
    sizes.iter().fold(0, |sum, &bytes| sum.saturating_add(bytes))
}
