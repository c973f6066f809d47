//! The array of a file: where its data is, and how the bytes before the data follow its shape.

use std::path::Path;

use anyhow::{Context, Result, anyhow, bail, ensure};

use crate::args::Place;
use crate::array::{Array, AxisOrder, NATIVE, volume};
use crate::npy::Header;
use crate::safetensors::TensorHeader;
use crate::source::Source;

/// Kind of the bytes before the data.
#[derive(Debug)]
enum Head {
    /// Bytes that say nothing of the array.
    Raw,
    /// The header of a .npy file.
    Npy(Header),
    /// The header of a .safetensors file.
    Tensor(TensorHeader),
}

/// An array in its file.
#[derive(Debug)]
pub struct StoredArray {
    /// The array.
    pub array: Array,
    head: Head,
    /// Bytes before the data.
    pub start: u64,
    /// Bytes of the data.
    pub bytes: usize,
    /// Bytes after the data.
    pub tail: u64,
}

impl StoredArray {
    /// Finds the array in its file. A headerless array gets the order `order`, by default C.
    pub fn find(source: &mut Source, place: &Place, order: Option<AxisOrder>) -> Result<Self> {
        if place.raw {
            return Self::raw(source.bytes()?, place, order.unwrap_or(AxisOrder::C));
        }
        let Some(name) = &place.tensor else {
            return Ok(Self::npy(source.header()?));
        };
        let all = source.bytes()?.context("--tensor needs a file, not standard input")?;
        let header = TensorHeader::read(source.file()?, all, name)?;
        let (array, start) = (header.array.clone(), header.start);
        let bytes = array.bytes()?;
        Ok(StoredArray {
            array,
            start,
            bytes,
            tail: all - start - bytes as u64,
            head: Head::Tensor(header),
        })
    }

    fn npy(header: Header) -> Self {
        let array = header.array();
        let (start, bytes) = (header.bytes() as u64, header.data_bytes);
        StoredArray { array, start, bytes, tail: 0, head: Head::Npy(header) }
    }

    fn raw(all: Option<u64>, place: &Place, order: AxisOrder) -> Result<Self> {
        let (Some(dtype), Some(shape)) = (&place.dtype, &place.shape) else {
            bail!("--raw needs --dtype and --shape");
        };
        let (start, itemsize) = (place.offset.unwrap_or(0) as u64, dtype.itemsize);
        let is_unknown = shape.contains(&None);
        let Some(all) = all else {
            let rest = place.offset.or(place.tail).is_some();
            ensure!(!rest, "--offset and --tail need a file, not standard input");
            ensure!(
                !is_unknown,
                "-1 in --shape needs a file: the size of standard input is unknown"
            );
            let shape = shape.iter().flatten().copied().collect();
            return Self::headerless(shape, dtype, order, (0, 0));
        };
        let have = all.checked_sub(start);
        let have = have
            .ok_or_else(|| anyhow!("offset {start} is beyond the end, the file has {all} bytes"))?;
        let have = match place.tail {
            None => have,
            Some(tail) => have.checked_sub(tail as u64).ok_or_else(|| {
                anyhow!("--tail {tail} is more than the {have} bytes after offset {start}")
            })?,
        };
        let known: Vec<usize> = shape.iter().flatten().copied().collect();
        let row = volume(&known).and_then(|items| items.checked_mul(itemsize));
        let row = row.context("the shape has more bytes than can be addressed")?;
        let shape = match row {
            _ if !is_unknown => known,
            0 => bail!("-1 in --shape is ambiguous if another extent is 0"),
            _ => {
                let of =
                    if shape.len() == 1 { "an element" } else { "one index of the axis of -1" };
                ensure!(
                    have.is_multiple_of(row as u64),
                    "{have} bytes are not a multiple of {row}, the bytes of {of}: {} remain; see --offset and --tail",
                    have % row as u64
                );
                let extent = usize::try_from(have / row as u64)?;
                shape.iter().map(|known| known.unwrap_or(extent)).collect()
            }
        };
        let mut found = Self::headerless(shape, dtype, order, (start, 0))?;
        let may_follow = place.offset.is_some() && place.tail.is_none();
        let (bytes, array) = (found.bytes, &found.array);
        let fits = have == bytes as u64 || may_follow && have > bytes as u64;
        let see =
            if place.offset.or(place.tail).is_some() { "" } else { "; see --offset and --tail" };
        ensure!(fits, "expected {bytes} bytes for {array}, got {have}{see}");
        found.tail = all - start - bytes as u64;
        Ok(found)
    }

    fn headerless(
        shape: Vec<usize>,
        dtype: &crate::values::Dtype,
        order: AxisOrder,
        (start, tail): (u64, u64),
    ) -> Result<Self> {
        let name = dtype.descr.trim_start_matches(NATIVE).to_string();
        let array = Array { shape, dtype: name, itemsize: dtype.itemsize, order };
        Ok(StoredArray { bytes: array.bytes()?, array, head: Head::Raw, start, tail })
    }

    /// Returns the header of a .npy file, if the array has one.
    pub fn npy_header(&self, path: &Path) -> Result<&Header> {
        match &self.head {
            Head::Npy(header) => Ok(header),
            _ => bail!("{} has no .npy header", crate::say::shown(path)),
        }
    }

    /// Returns the bytes that replace the header when the array becomes `result`, and the length of the header that they
    /// replace. What follows the header up to the data stays.
    pub fn rewritten(&self, result: &Array) -> Result<(Vec<u8>, u64)> {
        match &self.head {
            Head::Raw => Ok((Vec::new(), 0)),
            Head::Npy(header) => Ok((header.rewritten(&result.shape, result.order)?, self.start)),
            Head::Tensor(header) => {
                let what = "a .safetensors file stores arrays in C order only";
                ensure!(result.order == AxisOrder::C, "{what}");
                let bytes = result.bytes()?;
                ensure!(
                    bytes == self.bytes,
                    "the tensor has {} bytes, the result {bytes}: write it to a .npy file",
                    self.bytes
                );
                Ok((header.rewritten(&result.shape), header.bytes()))
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::values::{dtype, raw_shape};

    fn raw(
        all: Option<u64>,
        shape: &str,
        offset: Option<usize>,
        tail: Option<usize>,
    ) -> Result<(Vec<usize>, u64, u64)> {
        let place = Place {
            raw: true,
            dtype: Some(dtype("i2").unwrap()),
            shape: Some(raw_shape(shape).unwrap()),
            offset,
            tail,
            tensor: None,
        };
        let found = StoredArray::raw(all, &place, AxisOrder::C)?;
        Ok((found.array.shape, found.start, found.tail))
    }

    #[test]
    fn headerless_arrays_are_found_by_their_sizes() {
        for (all, shape, offset, tail, want) in [
            (Some(30), "3x5", None, None, (vec![3, 5], 0, 0)),
            (None, "3x5", None, None, (vec![3, 5], 0, 0)),
            (Some(40), "3x5", Some(10), None, (vec![3, 5], 10, 0)),
            (Some(43), "3x5", Some(10), None, (vec![3, 5], 10, 3)),
            (Some(43), "3x5", Some(10), Some(3), (vec![3, 5], 10, 3)),
            (Some(33), "-1x5", None, Some(3), (vec![3, 5], 0, 3)),
            (Some(40), "3x-1", Some(10), None, (vec![3, 5], 10, 0)),
            (Some(0), "-1x5", None, None, (vec![0, 5], 0, 0)),
            (Some(9), "0x5", Some(0), None, (vec![0, 5], 0, 9)),
        ] {
            assert_eq!(raw(all, shape, offset, tail).unwrap(), want, "{all:?} {shape}");
        }
        for (all, shape, offset, tail, words) in [
            (Some(31), "3x5", None, None, "expected 30 bytes for 3x5 i2, got 31; see --offset"),
            (Some(29), "3x5", Some(0), None, "expected 30 bytes for 3x5 i2, got 29"),
            (Some(44), "3x5", Some(10), Some(3), "expected 30 bytes for 3x5 i2, got 31"),
            (Some(9), "3x5", Some(10), None, "offset 10 is beyond the end, the file has 9 bytes"),
            (
                Some(12),
                "3x5",
                Some(10),
                Some(3),
                "--tail 3 is more than the 2 bytes after offset 10",
            ),
            (
                Some(31),
                "-1x5",
                None,
                None,
                "31 bytes are not a multiple of 10, the bytes of one index of the axis of -1: 1 remain",
            ),
            (Some(30), "-1x0", None, None, "ambiguous"),
            (None, "-1x5", None, None, "standard input"),
            (None, "3x5", Some(10), None, "standard input"),
            (Some(3), "9223372036854775807x9", None, None, "more bytes than"),
            (Some(3), "9223372036854775807", None, None, "more bytes than"),
        ] {
            let error = raw(all, shape, offset, tail).unwrap_err().to_string();
            assert!(error.contains(words), "{error} {words}");
        }
    }
}
