//! Records whose type says how they lie.

use std::fmt;
use std::marker::PhantomData;
use std::ops::{Deref, DerefMut};

use bytemuck::{TransparentWrapper, cast_slice, cast_slice_mut};
use rayon::prelude::*;

use crate::columns::{Record, RecordTile};
use crate::record_conversion::{RecordConversion, RecordOrder};
use crate::{Error, RawElements};

/// Record after record: [`RecordOrder::Aos`] as a type.
#[derive(Clone, Copy, Debug)]
pub struct Aos;

/// Field after field: [`RecordOrder::Soa`] as a type.
#[derive(Clone, Copy, Debug)]
pub struct Soa;

/// Tiles of `T` records: [`RecordOrder::Asta`] as a type. Tiles of none do not compile.
#[derive(Clone, Copy, Debug)]
pub struct Asta<const T: usize>;

/// A layout as a type: [`Aos`], [`Soa`] or [`Asta`].
pub trait RecordLayout {
    /// The same as a value.
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
        assert!(T > 0, "a tile has at least one record: Asta<0> is no layout");
        RecordOrder::Asta(T)
    };
}

/// Records of type `R` in layout `L`, in the memory of the vector that they came in.
///
/// In AoS they are a slice of records, in SoA a [`RecordTile`] of all of them, in ASTA [tiles](Self::tiles).
#[derive(Clone)]
pub struct Records<R, L> {
    /// The records' bytes as they lie, which are records of any content, since `R` accepts any bits.
    memory: Vec<R>,
    layout: PhantomData<L>,
}

/// Records whose layout was not changed, as they were, and why.
pub struct RejectedRecords<R, L> {
    /// Why.
    pub error: Error,
    /// The records.
    pub records: Records<R, L>,
}

impl<R: Record, L: RecordLayout> Records<R, L> {
    /// How many there are.
    pub fn len(&self) -> usize {
        self.memory.len()
    }

    /// Whether there are none.
    pub fn is_empty(&self) -> bool {
        self.memory.is_empty()
    }

    /// The bytes as they lie, for a GPU or a file, that knows the same records by [`RecordConversion::of_record`].
    pub fn as_bytes(&self) -> &[u8] {
        cast_slice(&self.memory)
    }

    /// The same to be changed: any bytes are records.
    pub fn as_bytes_mut(&mut self) -> &mut [u8] {
        cast_slice_mut(&mut self.memory)
    }

    /// Brings the records into one array of structures, in place.
    ///
    /// # Errors
    /// [`RejectedArray`] with the records as they were: [`Error::Run`] when there is no memory for the workspace.
    pub fn into_aos(self) -> Result<Records<R, Aos>, RejectedRecords<R, L>> {
        self.into_layout()
    }

    /// Brings the records into tiles of `T`, the last one shorter where `T` does not divide them, in place.
    ///
    /// # Errors
    /// As [`into_aos`](Self::into_aos).
    pub fn into_asta<const T: usize>(self) -> Result<Records<R, Asta<T>>, RejectedRecords<R, L>> {
        self.into_layout()
    }

    /// Brings the records into columns, in place.
    ///
    /// # Errors
    /// As [`into_aos`](Self::into_aos).
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
    /// The tiles, of `T` records each; the last may be shorter.
    pub fn tiles(&self) -> impl ExactSizeIterator<Item = &RecordTile<R>> + DoubleEndedIterator {
        self.memory.chunks(T).map(RecordTile::wrap_ref)
    }

    /// The same to be changed.
    pub fn tiles_mut(
        &mut self,
    ) -> impl ExactSizeIterator<Item = &mut RecordTile<R>> + DoubleEndedIterator {
        self.memory.chunks_mut(T).map(RecordTile::wrap_mut)
    }

    /// A record put together, as of a [`RecordTile`].
    pub fn get(&self, record: usize) -> Option<R> {
        self.tiles().nth(record / T)?.get(record % T)
    }

    /// Puts `to` in the place of a record, as in a [`RecordTile`].
    ///
    /// # Panics
    /// When there is no such record.
    pub fn set(&mut self, record: usize, to: R) {
        let records = self.len();
        let tile = self.tiles_mut().nth(record / T);
        tile.unwrap_or_else(|| panic!("record {record} of {records}")).set(record % T, to);
    }

    /// The tiles, on rayon's threads.
    pub fn par_tiles(&self) -> impl IndexedParallelIterator<Item = &RecordTile<R>> {
        self.memory.par_chunks(T).map(RecordTile::wrap_ref)
    }

    /// The same to be changed.
    pub fn par_tiles_mut(&mut self) -> impl IndexedParallelIterator<Item = &mut RecordTile<R>> {
        self.memory.par_chunks_mut(T).map(RecordTile::wrap_mut)
    }
}

impl<R: Record> From<Vec<R>> for Records<R, Aos> {
    /// No copy.
    fn from(memory: Vec<R>) -> Self {
        Records { memory, layout: PhantomData }
    }
}

impl<R: Record> From<Records<R, Aos>> for Vec<R> {
    /// No copy.
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
        f.debug_struct("Refused")
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
    fn from(refused: RejectedRecords<R, L>) -> Self {
        refused.error
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::columns::Field;
    use crate::layout::LayoutError;

    /// By hand, and wrong: the one error that can be had without filling the memory.
    impl Record for [u8; 3] {
        const FIELDS: &'static [Field] = &[];
    }

    #[test]
    fn what_is_refused_comes_back() {
        let records = Records::from(b"abcdef".as_chunks().0.to_vec());
        let address = records.as_bytes().as_ptr();
        let refused = records.into_soa().unwrap_err();
        assert_eq!(refused.error, Error::Layout(LayoutError::NoFields));
        assert_eq!(refused.to_string(), refused.error.to_string());
        assert!(format!("{refused:?}").contains("2 records as aos"), "{refused:?}");
        assert_eq!(
            (refused.records.as_bytes(), refused.records.as_ptr().cast()),
            (&b"abcdef"[..], address)
        );
        assert_eq!(Error::from(refused), Error::Layout(LayoutError::NoFields));
    }
}
