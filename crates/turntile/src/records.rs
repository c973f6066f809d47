//! Records whose type states their layout.

use std::fmt;
use std::marker::PhantomData;
use std::ops::{Deref, DerefMut};

use bytemuck::{TransparentWrapper, cast_slice, cast_slice_mut};
use rayon::prelude::*;

#[cfg(doc)]
use crate::ErrorKind;
use crate::columns::{Record, RecordTile};
use crate::record_conversion::{RecordConversion, RecordOrder};
use crate::{Error, RawElements};

/// Array of structures, the type-level form of [`RecordOrder::Aos`].
#[derive(Clone, Copy, Debug)]
pub struct Aos;

/// Structure of arrays, the type-level form of [`RecordOrder::Soa`].
#[derive(Clone, Copy, Debug)]
pub struct Soa;

/// Tiles of `T` records, the type-level form of [`RecordOrder::Asta`]. `Asta<0>` does not compile.
#[derive(Clone, Copy, Debug)]
pub struct Asta<const T: usize>;

/// Record layout as a type: [`Aos`], [`Soa`] or [`Asta`].
pub trait RecordLayout {
    /// Layout as a value.
    const LAYOUT: RecordOrder;
}

impl RecordLayout for Aos {
    const LAYOUT: RecordOrder = RecordOrder::Aos;
}

impl RecordLayout for Soa {
    const LAYOUT: RecordOrder = RecordOrder::Soa;
}

impl<const T: usize> RecordLayout for Asta<T> {
    const LAYOUT: RecordOrder = {
        assert!(T > 0, "Asta<0> is not a layout: a tile has at least one record");
        RecordOrder::Asta(T)
    };
}

/// Array of records of type `R` in layout `L`, in the allocation of the vector from which they were
/// created.
///
/// In AoS they dereference to a slice of records, in SoA to one [`RecordTile`] of all records. In
/// ASTA they consist of [tiles](Self::tiles).
#[derive(Clone)]
pub struct Records<R, L> {
    /// Bytes of the records in layout `L`. Any bytes are valid values of `R`, which is `Pod`.
    memory: Vec<R>,
    layout: PhantomData<L>,
}

/// Error of a failed layout conversion, with the unchanged records.
pub struct RejectedRecords<R, L> {
    /// Reason of the failed conversion.
    pub error: Error,
    /// Unchanged records, in their former layout.
    pub records: Records<R, L>,
}

impl<R: Record, L: RecordLayout> Records<R, L> {
    /// Returns the number of records.
    pub fn len(&self) -> usize {
        self.memory.len()
    }

    /// Returns `true` if there are no records.
    pub fn is_empty(&self) -> bool {
        self.memory.is_empty()
    }

    /// Returns the bytes of the records in layout `L`, for copies to a GPU or a file.
    /// [`RecordConversion::of_record`] describes the records there.
    pub fn as_bytes(&self) -> &[u8] {
        cast_slice(&self.memory)
    }

    /// Returns the bytes of the records in layout `L`, mutably. Any bytes are valid records.
    pub fn as_bytes_mut(&mut self) -> &mut [u8] {
        cast_slice_mut(&mut self.memory)
    }

    /// Converts the records to an array of structures, in place.
    ///
    /// # Errors
    /// [`RejectedRecords`] with the unchanged records; its error is [`ErrorKind::OutOfMemory`] if
    /// the workspace cannot be allocated.
    pub fn into_aos(self) -> Result<Records<R, Aos>, RejectedRecords<R, L>> {
        self.into_layout()
    }

    /// Converts the records to tiles of `T` records, in place. The last tile is shorter if `T` does
    /// not divide their number. `T` is at least 1:
    ///
    /// ```compile_fail,E0080
    /// # use turntile::layout::{Record, Records};
    /// # #[derive(Record, Clone, Copy)]
    /// # #[repr(C)]
    /// # struct Cell { rho: f32 }
    /// let tiles = Records::from(vec![Cell { rho: 1.0 }]).into_asta::<0>();
    /// ```
    ///
    /// # Errors
    /// Those of [`into_aos`](Self::into_aos).
    pub fn into_asta<const T: usize>(self) -> Result<Records<R, Asta<T>>, RejectedRecords<R, L>> {
        self.into_layout()
    }

    /// Converts the records to a structure of arrays, in place.
    ///
    /// # Errors
    /// Those of [`into_aos`](Self::into_aos).
    pub fn into_soa(self) -> Result<Records<R, Soa>, RejectedRecords<R, L>> {
        self.into_layout()
    }

    fn into_layout<M: RecordLayout>(mut self) -> Result<Records<R, M>, RejectedRecords<R, L>> {
        let conversion = RecordConversion::of_record::<R>(self.len()).from(L::LAYOUT).to(M::LAYOUT);
        let run = |memory: &mut Vec<R>| {
            conversion.plan()?.run(&mut RawElements(cast_slice_mut::<R, u8>(memory)))
        };
        match run(&mut self.memory) {
            Ok(()) => Ok(Records { memory: self.memory, layout: PhantomData }),
            Err(error) => Err(RejectedRecords { error, records: self }),
        }
    }
}

impl<R: Record, const T: usize> Records<R, Asta<T>> {
    /// Returns the tiles, of `T` records each; the last may be shorter.
    pub fn tiles(&self) -> impl ExactSizeIterator<Item = &RecordTile<R>> + DoubleEndedIterator {
        self.memory.chunks(T).map(RecordTile::wrap_ref)
    }

    /// Returns the tiles mutably.
    pub fn tiles_mut(
        &mut self,
    ) -> impl ExactSizeIterator<Item = &mut RecordTile<R>> + DoubleEndedIterator {
        self.memory.chunks_mut(T).map(RecordTile::wrap_mut)
    }

    /// Returns a copy of a record, or `None` if it does not exist.
    pub fn get(&self, record: usize) -> Option<R> {
        self.tiles().nth(record / T)?.get(record % T)
    }

    /// Overwrites a record with `to`.
    ///
    /// # Panics
    /// If the record does not exist.
    pub fn set(&mut self, record: usize, to: R) {
        let records = self.len();
        let tile = self.tiles_mut().nth(record / T);
        tile.unwrap_or_else(|| panic!("record {record} is out of range: {records} records"))
            .set(record % T, to);
    }

    /// Returns a parallel iterator over the tiles, for rayon.
    pub fn par_tiles(&self) -> impl IndexedParallelIterator<Item = &RecordTile<R>> {
        self.memory.par_chunks(T).map(RecordTile::wrap_ref)
    }

    /// Returns a parallel iterator over mutable tiles, for rayon.
    pub fn par_tiles_mut(&mut self) -> impl IndexedParallelIterator<Item = &mut RecordTile<R>> {
        self.memory.par_chunks_mut(T).map(RecordTile::wrap_mut)
    }
}

impl<R: Record> From<Vec<R>> for Records<R, Aos> {
    /// Converts the vector without a copy.
    fn from(memory: Vec<R>) -> Self {
        Records { memory, layout: PhantomData }
    }
}

impl<R: Record> From<Records<R, Aos>> for Vec<R> {
    /// Returns the vector without a copy.
    fn from(records: Records<R, Aos>) -> Self {
        records.memory
    }
}

impl<R: Record> Deref for Records<R, Aos> {
    type Target = [R];

    fn deref(&self) -> &[R] {
        &self.memory
    }
}

impl<R: Record> DerefMut for Records<R, Aos> {
    fn deref_mut(&mut self) -> &mut [R] {
        &mut self.memory
    }
}

impl<R: Record> Deref for Records<R, Soa> {
    type Target = RecordTile<R>;

    fn deref(&self) -> &RecordTile<R> {
        RecordTile::wrap_ref(&self.memory)
    }
}

impl<R: Record> DerefMut for Records<R, Soa> {
    fn deref_mut(&mut self) -> &mut RecordTile<R> {
        RecordTile::wrap_mut(&mut self.memory)
    }
}

impl<R, L: RecordLayout> fmt::Debug for Records<R, L> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} records as {}", self.memory.len(), L::LAYOUT)
    }
}

impl<R, L: RecordLayout> fmt::Debug for RejectedRecords<R, L> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("RejectedRecords")
            .field("error", &self.error)
            .field("records", &self.records)
            .finish()
    }
}

impl<R, L> fmt::Display for RejectedRecords<R, L> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.error.fmt(f)
    }
}

impl<R, L: RecordLayout> std::error::Error for RejectedRecords<R, L> {}

impl<R, L> From<RejectedRecords<R, L>> for Error {
    fn from(rejected: RejectedRecords<R, L>) -> Self {
        rejected.error
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::columns::Field;
    use crate::layout::LayoutError;

    /// Wrong manual implementation, whose conversion fails with an error, without exhausting
    /// memory.
    impl Record for [u8; 3] {
        const FIELDS: &'static [Field] = &[];
    }

    #[test]
    fn failed_conversion_returns_unchanged_records() {
        let records = Records::from(b"abcdef".as_chunks().0.to_vec());
        let address = records.as_bytes().as_ptr();
        let rejected = records.into_soa().unwrap_err();
        assert_eq!(rejected.error, LayoutError::NoFields.into());
        assert_eq!(rejected.to_string(), rejected.error.to_string());
        assert!(format!("{rejected:?}").contains("2 records as aos"), "{rejected:?}");
        assert_eq!(
            (rejected.records.as_bytes(), rejected.records.as_ptr().cast()),
            (&b"abcdef"[..], address)
        );
        assert_eq!(Error::from(rejected), LayoutError::NoFields.into());
    }
}
