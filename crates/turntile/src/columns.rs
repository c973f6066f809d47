//! Typed records, and tiles of records that give access to each field's column as a slice.

use std::fmt;
use std::marker::PhantomData;
use std::ops::Range;

use bytemuck::{Pod, TransparentWrapper, bytes_of, bytes_of_mut, cast_slice, cast_slice_mut};

/// Plain data without padding whose fields can be stored as columns.
///
/// Derive the trait, as [`turntile::layout`](crate::layout#records-of-a-type) shows. A wrong manual
/// implementation gives wrong columns, or panics if a column would be unaligned.
#[diagnostic::on_unimplemented(
    message = "`{Self}` is not a record",
    note = "derive it for a structure: #[derive(turntile::layout::Record, Clone, Copy)] #[repr(C)]"
)]
pub trait Record: Pod + Send + Sync {
    /// Fields of the record in declaration order.
    const FIELDS: &'static [Field];
}

/// Position of a field in a record and in the columns of a tile.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Field {
    /// Byte offset of the field in the record.
    pub offset: usize,
    /// Size of the field in bytes.
    pub bytes: usize,
    /// Alignment of the field's type in bytes.
    pub align: usize,
    /// Bytes per record of the columns before this one. In a tile of `n` records the column starts
    /// at byte `n * before`.
    pub before: usize,
}

impl Field {
    /// Creates a field of type `F` at byte `offset` of the record, with `before` 0.
    #[must_use]
    pub const fn new<F>(offset: usize) -> Self {
        Field { offset, bytes: size_of::<F>(), align: align_of::<F>(), before: 0 }
    }

    /// Returns `fields`, which must be all fields of a record, with their `before` set. Columns are
    /// sorted by decreasing alignment, so each is aligned for any number of records.
    #[must_use]
    pub const fn in_columns<const N: usize>(mut fields: [Field; N]) -> [Field; N] {
        let mut f = 0;
        while f < N {
            let mut other = 0;
            while other < N {
                let Field { bytes, align, .. } = fields[other];
                if align > fields[f].align || align == fields[f].align && other < f {
                    fields[f].before += bytes;
                }
                other += 1;
            }
            f += 1;
        }
        fields
    }

    /// Returns the byte range of the field in a record.
    fn in_record(&self) -> Range<usize> {
        self.offset..self.offset + self.bytes
    }

    /// Returns the byte range, in a tile of `records` records, of the field of record `record`.
    fn in_tile(&self, records: usize, record: usize) -> Range<usize> {
        let begin = self.before * records + self.bytes * record;
        begin..begin + self.bytes
    }
}

/// Selector of a column: a field of type `F` of records of type `R`. For field `rho` of `Cell`, the
/// derive macro defines the constant `Cell::RHO`.
pub struct Column<R, F> {
    /// Bytes per record of the columns before this one, as in [`Field`].
    before: usize,
    of: PhantomData<fn(R) -> F>,
}

impl<R: Record, F: Pod> Column<R, F> {
    /// Creates the selector of the column of field `field` of [`Record::FIELDS`].
    ///
    /// # Panics
    /// If the field does not exist or has another size. In a constant this is a compile error.
    #[must_use]
    pub const fn of_field(field: usize) -> Self {
        let Field { bytes, before, .. } = R::FIELDS[field];
        assert!(bytes == size_of::<F>(), "the column's type has another size than its field");
        Column { before, of: PhantomData }
    }

    /// Returns the byte range of the column in a tile of `records` records.
    fn bytes(self, records: usize) -> Range<usize> {
        self.before * records..(self.before + size_of::<F>()) * records
    }
}

impl<R, F> Clone for Column<R, F> {
    fn clone(&self) -> Self {
        *self
    }
}

impl<R, F> Copy for Column<R, F> {}

impl<R, F> fmt::Debug for Column<R, F> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "the column after {} bytes of each record", self.before)
    }
}

/// Records in SoA order: one tile of ASTA, or all records of SoA.
#[derive(TransparentWrapper)]
#[repr(transparent)]
pub struct RecordTile<R>([R]);

impl<R: Record> RecordTile<R> {
    /// Returns the number of records.
    pub fn len(&self) -> usize {
        self.0.len()
    }

    /// Returns `true` if the tile has no records.
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// Returns a column: one field of all records.
    pub fn column<F: Pod>(&self, column: Column<R, F>) -> &[F] {
        cast_slice(&cast_slice::<_, u8>(&self.0)[column.bytes(self.len())])
    }

    /// Returns a column, one field of all records, mutably.
    pub fn column_mut<F: Pod>(&mut self, column: Column<R, F>) -> &mut [F] {
        let bytes = column.bytes(self.len());
        cast_slice_mut(&mut self.bytes_mut()[bytes])
    }

    /// Returns mutable slices of several columns, in the given order. `columns` is a tuple of 2 to
    /// 8 columns, or an array of columns of one type.
    ///
    /// # Panics
    /// If a column is given twice.
    pub fn columns_mut<C: Columns<R>>(&mut self, columns: C) -> C::Slices<'_> {
        columns.of(self)
    }

    fn bytes_mut(&mut self) -> &mut [u8] {
        cast_slice_mut(&mut self.0)
    }

    /// Returns a copy of a record, or `None` if it does not exist. For many records, access by
    /// columns is faster.
    pub fn get(&self, record: usize) -> Option<R> {
        let (mut got, tile) = (*self.0.get(record)?, cast_slice::<_, u8>(&self.0));
        for field in R::FIELDS {
            let (in_record, in_tile) = (field.in_record(), field.in_tile(self.len(), record));
            bytes_of_mut(&mut got)[in_record].copy_from_slice(&tile[in_tile]);
        }
        Some(got)
    }

    /// Overwrites a record with `to`.
    ///
    /// # Panics
    /// If the record does not exist.
    pub fn set(&mut self, record: usize, to: R) {
        let records = self.len();
        assert!(record < records, "record {record} is out of range: {records} records");
        for field in R::FIELDS {
            let (in_record, in_tile) = (field.in_record(), field.in_tile(records, record));
            self.bytes_mut()[in_tile].copy_from_slice(&bytes_of(&to)[in_record]);
        }
    }
}

impl<R: Record> fmt::Debug for RecordTile<R> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "a tile of {} records", self.len())
    }
}

/// Several column selectors of records `R`, as taken by [`RecordTile::columns_mut`].
pub trait Columns<R: Record> {
    /// Tuple or array of the columns' mutable slices.
    type Slices<'a>;

    /// Returns the mutable slices of the columns of a tile.
    #[doc(hidden)]
    fn of(self, tile: &mut RecordTile<R>) -> Self::Slices<'_>;
}

/// Returns mutable slices of a tile at the byte ranges `bytes`. Panics if they overlap.
fn disjoint<R: Record, const N: usize>(
    tile: &mut RecordTile<R>,
    bytes: [Range<usize>; N],
) -> [&mut [u8]; N] {
    tile.bytes_mut().get_disjoint_mut(bytes).expect("each column is given once")
}

impl<R: Record, F: Pod, const N: usize> Columns<R> for [Column<R, F>; N] {
    type Slices<'a> = [&'a mut [F]; N];

    fn of(self, tile: &mut RecordTile<R>) -> Self::Slices<'_> {
        let records = tile.len();
        disjoint(tile, self.map(|column| column.bytes(records))).map(cast_slice_mut)
    }
}

macro_rules! tuples {
    ($($($F:ident $column:ident)+;)*) => {$(
        impl<R: Record, $($F: Pod),+> Columns<R> for ($(Column<R, $F>,)+) {
            type Slices<'a> = ($(&'a mut [$F],)+);

            fn of(self, tile: &mut RecordTile<R>) -> Self::Slices<'_> {
                let (records, ($($column,)+)) = (tile.len(), self);
                let [$($column),+] = disjoint(tile, [$($column.bytes(records)),+]);
                ($(cast_slice_mut($column),)+)
            }
        }
    )*};
}
tuples! {
    A a B b;
    A a B b C c;
    A a B b C c D d;
    A a B b C c D d E e;
    A a B b C c D d E e F f;
    A a B b C c D d E e F f G g;
    A a B b C c D d E e F f G g H h;
}
