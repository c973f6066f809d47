//! In-place conversion of records between layouts.

use std::fmt;
use std::num::NonZeroUsize;
use std::ops::Range;
use std::str::FromStr;

use turntile_perm::{AOS, LayoutChange, RecordSchema};
use turntile_plan::Problem;

use crate::columns::Record;

/// Order in which the fields of an array of records are stored in memory.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum RecordOrder {
    /// Array of structures: each record is contiguous.
    Aos,
    /// Structure of arrays: each field of all records is contiguous.
    Soa,
    /// Array of structures of tiled arrays: tiles of the given number of records, each in SoA
    /// order. The last tile has the remaining records.
    Asta(usize),
}

impl RecordOrder {
    /// Returns the number of records per tile: all for SoA, or the constant [`AOS`] for AoS.
    /// Returns `None` for tiles of 0 records.
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
            // A number parses with a sign too.
            _ => match text.strip_prefix("asta:").filter(|t| !t.starts_with('+')).map(str::parse) {
                Some(Ok(0)) => Err(LayoutError::EmptyTile),
                Some(Ok(tile)) => Ok(RecordOrder::Asta(tile)),
                _ => Err(unknown()),
            },
        }
    }
}

/// Reason why a record layout is not valid.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum LayoutError {
    /// The record has no fields.
    #[error("the record has no fields")]
    NoFields,
    /// A field has 0 bytes.
    #[error("field {field} has 0 bytes: omit it")]
    EmptyField {
        /// Index of the field, from 0.
        field: usize,
    },
    /// Two fields share bytes of the record.
    #[error(
        "fields {first} and {second} overlap: {second} begins at byte {begins}, {first} ends at {ends}"
    )]
    Overlap {
        /// Index of the field that begins first in the record.
        first: usize,
        /// Index of the other field.
        second: usize,
        /// Byte offset at which the other field begins.
        begins: usize,
        /// Byte offset at which the first field ends.
        ends: usize,
    },
    /// A field ends beyond the record.
    #[error("field {field} ends at byte {ends} of a record of {record_bytes} bytes")]
    Beyond {
        /// Index of the field, from 0.
        field: usize,
        /// Byte offset in the record at which the field ends.
        ends: usize,
        /// Bytes per record.
        record_bytes: usize,
    },
    /// The records exceed the address space.
    #[error("{records} records of these fields exceed {} bytes", isize::MAX)]
    TooLarge {
        /// Number of records.
        records: usize,
    },
    /// The tiles have 0 records.
    #[error("a tile has at least one record: asta:0 is not a layout")]
    EmptyTile,
    /// The layout name is unknown.
    #[error("no layout is named {text:?}: use aos, soa or asta:T for tiles of T records")]
    Unknown {
        /// Layout name as given.
        text: String,
    },
    /// The conversion was combined with an option that only axis permutations support.
    #[error("record conversion cannot be combined with {with}")]
    With {
        /// Option that it was combined with, such as `a batch`.
        with: &'static str,
    },
}

/// Conversion of an array of records from one layout to another.
#[derive(Clone, Debug, PartialEq, Eq)]
#[must_use]
pub struct RecordConversion {
    records: usize,
    /// Bytes per record of each column: of the fields in the given order, then of the gaps between
    /// and after fields.
    sizes: Vec<usize>,
    /// Byte offset of each column's field or gap in an AoS record.
    offsets: Vec<usize>,
    from: RecordOrder,
    to: RecordOrder,
}

impl RecordConversion {
    /// Creates a conversion of `records` records whose fields have `sizes` bytes, without gaps
    /// between them. The source order is AoS unless [`from`](Self::from) sets another.
    pub fn new(records: usize, sizes: &[usize]) -> Self {
        let before = |end: &mut usize, &bytes: &usize| {
            let offset = *end;
            *end = offset.saturating_add(bytes);
            Some(offset)
        };
        let offsets = sizes.iter().scan(0, before).collect();
        RecordConversion {
            records,
            sizes: sizes.to_vec(),
            offsets,
            from: RecordOrder::Aos,
            to: RecordOrder::Aos,
        }
    }

    /// Creates a conversion of `records` records of `record_bytes` bytes, with fields given as
    /// `(offset, bytes)`.
    ///
    /// Columns are stored in the order of `fields`. If fields are given by decreasing alignment and
    /// the memory is aligned, every column is aligned. Gaps before, between and after the
    /// fields are moved like extra fields that follow the others, so no byte is lost.
    ///
    /// ```
    /// use turntile::layout::RecordConversion;
    ///
    /// // #[repr(C)] struct { tag: u8, x: f64 }: the tag is followed by seven bytes of padding.
    /// let layout = RecordConversion::by_offsets(100, 16, &[(8, 8), (0, 1)])?;
    /// assert_eq!((layout.column(0), layout.column(1)), (0..800, 800..900));
    /// # Ok::<(), turntile::layout::LayoutError>(())
    /// ```
    ///
    /// # Errors
    /// [`LayoutError`] if there are no fields, or if fields overlap, are empty, or end beyond the
    /// record.
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
        let (offsets, sizes) = fields.iter().chain(&gaps).copied().unzip();
        Ok(RecordConversion {
            records,
            sizes,
            offsets,
            from: RecordOrder::Aos,
            to: RecordOrder::Aos,
        })
    }

    /// Creates a conversion of `records` records of type `R`. The columns are the fields of `R`,
    /// sorted by decreasing alignment.
    ///
    /// Use it for memory that is not [`Records`](crate::layout::Records): GPU memory
    /// ([`plan_on`](crate::Transpose::plan_on)) or a memory-mapped file.
    pub fn of_record<R: Record>(records: usize) -> Self {
        let mut fields = R::FIELDS.to_vec();
        fields.sort_by_key(|field| field.before);
        let (offsets, sizes) = fields.iter().map(|field| (field.offset, field.bytes)).unzip();
        RecordConversion { records, sizes, offsets, from: RecordOrder::Aos, to: RecordOrder::Aos }
    }

    /// Sets the record order of the source; the default is AoS.
    pub fn from(self, from: RecordOrder) -> Self {
        RecordConversion { from, ..self }
    }

    /// Sets the record order of the result.
    pub(crate) fn with_target(self, to: RecordOrder) -> Self {
        RecordConversion { to, ..self }
    }

    /// Returns the bytes per record, or `usize::MAX` if the sum overflows.
    pub fn record_bytes(&self) -> usize {
        saturating_sum(&self.sizes)
    }

    /// Returns the byte range of the column of field `field` in SoA order. A bound that overflows
    /// is `usize::MAX`.
    ///
    /// # Panics
    /// If the field does not exist.
    pub fn column(&self, field: usize) -> Range<usize> {
        let end = |fields| saturating_sum(&self.sizes[..fields]).saturating_mul(self.records);
        end(field)..end(field + 1)
    }

    /// Returns the byte offset of field `field` of record `record` in `layout`, or `usize::MAX` if
    /// the offset overflows. Does not allocate or lock.
    ///
    /// # Panics
    /// If the record or field does not exist, or the layout has tiles of 0 records.
    pub fn offset(&self, layout: RecordOrder, record: usize, field: usize) -> usize {
        assert!(record < self.records, "record {record} is out of range: {} records", self.records);
        let tile = layout.tile(self.records).expect("the tile has at least one record");
        let (first, within) = match tile {
            AOS => (record, self.offsets[field]),
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

    /// Returns the record schema, with column sizes in words of `word` bytes, or `None` if it
    /// overflows.
    fn fields(&self, word: usize) -> Option<RecordSchema> {
        let words = |bytes: &[usize]| bytes.iter().map(|bytes| bytes / word).collect::<Vec<_>>();
        RecordSchema::new(self.records, &words(&self.sizes))?
            .with_aos_offsets(&words(&self.offsets))
    }

    /// Returns the planner's problem. Its elements are words, whose size is the greatest common
    /// divisor of all column sizes.
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
        let change = LayoutChange::new(fields, tile(self.from)?, tile(self.to)?);
        Problem::for_records(change, word).map_err(|_| too_large())
    }
}

/// Returns the sum of `sizes`, or `usize::MAX` if it overflows.
fn saturating_sum(sizes: &[usize]) -> usize {
    sizes.iter().fold(0, |sum, &bytes| sum.saturating_add(bytes))
}
