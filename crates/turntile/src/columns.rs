//! Records of a type, and tiles of them whose columns are slices.

use std::fmt;
use std::marker::PhantomData;
use std::ops::Range;

use bytemuck::{Pod, TransparentWrapper, bytes_of, bytes_of_mut, cast_slice, cast_slice_mut};

/// Plain data without padding whose fields can be brought together in columns: derived, as [`turntile::layout`](crate::layout#records-of-a-type)
/// shows. An implementation by hand that is wrong gives wrong columns, or panics where they would be unaligned.
#[diagnostic::on_unimplemented(
    message = "`{Self}` is no record",
    note = "#[derive(turntile::layout::Record, Clone, Copy)] #[repr(C)] makes a structure one"
)]
pub trait Record: Pod + Send + Sync {
    /// The fields, in the order in which they lie in a record.
    const FIELDS: &'static [Field];
}

/// Where a field lies in a record, and in the columns of many.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Field {
    /// Bytes of a record before it.
    pub offset: usize,
    /// Its bytes.
    pub bytes: usize,
    /// Its alignment.
    pub align: usize,
    /// Bytes of a record in the columns before: in a tile of `n` records its column begins `n` times as many bytes on.
    pub before: usize,
}

impl Field {
    /// A field of type `F`, so many bytes into a record.
    #[must_use]
    pub const fn new<F>(offset: usize) -> Self {
        Field { offset, bytes: size_of::<F>(), align: align_of::<F>(), before: 0 }
    }

    /// All fields of a record, their columns by falling alignment, so that each is aligned for any number of records.
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

    /// Its bytes in a record.
    fn in_record(&self) -> Range<usize> {
        self.offset..self.offset + self.bytes
    }

    /// Its bytes of a record of a tile of so many.
    fn in_tile(&self, records: usize, record: usize) -> Range<usize> {
        let begin = self.before * records + self.bytes * record;
        begin..begin + self.bytes
    }
}

/// A field of type `F` of the records `R`, whose column is wanted: `Cell::RHO` of field `rho`, made by the derive.
pub struct Column<R, F> {
    /// As of [`Field`].
    before: usize,
    of: PhantomData<fn(R) -> F>,
}

impl<R: Record, F: Pod> Column<R, F> {
    /// Field `field` of [`Record::FIELDS`].
    ///
    /// # Panics
    /// When there is no such field of that size; where columns are constants, that does not compile.
    #[must_use]
    pub const fn of_field(field: usize) -> Self {
        let Field { bytes, before, .. } = R::FIELDS[field];
        assert!(bytes == size_of::<F>(), "a column of another type than its field");
        Column { before, of: PhantomData }
    }

    /// Its bytes in a tile of so many records.
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

/// Records that lie column after column: a tile of ASTA, or all records in SoA.
#[derive(TransparentWrapper)]
#[repr(transparent)]
pub struct RecordTile<R>([R]);

impl<R: Record> RecordTile<R> {
    /// How many records it has.
    pub fn len(&self) -> usize {
        self.0.len()
    }

    /// Whether it has none.
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// A field of all its records.
    pub fn column<F: Pod>(&self, column: Column<R, F>) -> &[F] {
        cast_slice(&cast_slice::<_, u8>(&self.0)[column.bytes(self.len())])
    }

    /// The same to be changed.
    pub fn column_mut<F: Pod>(&mut self, column: Column<R, F>) -> &mut [F] {
        let bytes = column.bytes(self.len());
        cast_slice_mut(&mut self.bytes_mut()[bytes])
    }

    /// Several columns at a time: a tuple of 2 to 8, or an array of columns of one type.
    ///
    /// # Panics
    /// When a column is named twice.
    pub fn columns_mut<C: Columns<R>>(&mut self, columns: C) -> C::Slices<'_> {
        columns.of(self)
    }

    fn bytes_mut(&mut self) -> &mut [u8] {
        cast_slice_mut(&mut self.0)
    }

    /// A record put together; `None` when there is no such record. Where many are wanted, columns are faster.
    pub fn get(&self, record: usize) -> Option<R> {
        let (mut got, tile) = (*self.0.get(record)?, cast_slice::<_, u8>(&self.0));
        for field in R::FIELDS {
            let (at, lies) = (field.in_record(), field.in_tile(self.len(), record));
            bytes_of_mut(&mut got)[at].copy_from_slice(&tile[lies]);
        }
        Some(got)
    }

    /// Puts `to` in the place of a record.
    ///
    /// # Panics
    /// When there is no such record.
    pub fn set(&mut self, record: usize, to: R) {
        let records = self.len();
        assert!(record < records, "record {record} of {records}");
        for field in R::FIELDS {
            let (at, lies) = (field.in_record(), field.in_tile(records, record));
            self.bytes_mut()[lies].copy_from_slice(&bytes_of(&to)[at]);
        }
    }
}

impl<R: Record> fmt::Debug for RecordTile<R> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "a tile of {} records", self.len())
    }
}

/// Columns of `R` that can be had at a time: see [`RecordTile::columns_mut`].
pub trait Columns<R: Record> {
    /// Their slices.
    type Slices<'a>;

    /// Those of a tile.
    #[doc(hidden)]
    fn of(self, tile: &mut RecordTile<R>) -> Self::Slices<'_>;
}

/// Disjoint bytes of a tile.
fn apart<R: Record, const N: usize>(
    tile: &mut RecordTile<R>,
    bytes: [Range<usize>; N],
) -> [&mut [u8]; N] {
    tile.bytes_mut().get_disjoint_mut(bytes).expect("a column is named once")
}

impl<R: Record, F: Pod, const N: usize> Columns<R> for [Column<R, F>; N] {
    type Slices<'a> = [&'a mut [F]; N];

    fn of(self, tile: &mut RecordTile<R>) -> Self::Slices<'_> {
        let records = tile.len();
        apart(tile, self.map(|column| column.bytes(records))).map(cast_slice_mut)
    }
}

macro_rules! tuples {
    ($($($F:ident $column:ident)+;)*) => {$(
        impl<R: Record, $($F: Pod),+> Columns<R> for ($(Column<R, $F>,)+) {
            type Slices<'a> = ($(&'a mut [$F],)+);

            fn of(self, tile: &mut RecordTile<R>) -> Self::Slices<'_> {
                let (records, ($($column,)+)) = (tile.len(), self);
                let [$($column),+] = apart(tile, [$($column.bytes(records)),+]);
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
