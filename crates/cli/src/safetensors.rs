//! Headers of .safetensors files: one tensor found, and its shape rewritten.

use std::borrow::Cow;
use std::fmt;
use std::fs::File;
use std::io::{Read, Seek};
use std::ops::Range;

use anyhow::{Context, Result, anyhow, bail, ensure};
use serde::Deserialize;
use serde::de::{Deserializer, MapAccess, Visitor};
use serde_json::value::RawValue;

use crate::array::{Array, AxisOrder};
use crate::say::escaped;
use crate::values::joined;

/// Longest header accepted, as of the format's own library.
const MAX_HEADER: u64 = 100_000_000;

/// Bytes that hold the length of the header.
const LENGTH: usize = 8;

/// Name of the only entry that does not describe a tensor.
const METADATA: &str = "__metadata__";

/// The header of a .safetensors file, and one of its tensors.
#[derive(Debug)]
pub struct TensorHeader {
    text: String,
    /// Place in the text of the tensor's shape.
    shape: Range<usize>,
    /// The tensor.
    pub array: Array,
    /// Offset of its data in the file, in bytes.
    pub start: u64,
}

/// An entry of the header.
#[derive(Deserialize)]
struct Entry<'a> {
    dtype: String,
    #[serde(borrow)]
    shape: &'a RawValue,
    data_offsets: [u64; 2],
}

/// Entries in the order of the text. Names may repeat.
struct Entries<'a>(Vec<(Cow<'a, str>, &'a RawValue)>);

impl<'de> Deserialize<'de> for Entries<'de> {
    fn deserialize<D: Deserializer<'de>>(from: D) -> Result<Self, D::Error> {
        struct Pairs;
        impl<'de> Visitor<'de> for Pairs {
            type Value = Entries<'de>;
            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("an object of tensors")
            }
            fn visit_map<M: MapAccess<'de>>(self, mut map: M) -> Result<Self::Value, M::Error> {
                let mut all = Vec::new();
                while let Some(pair) = map.next_entry()? {
                    all.push(pair);
                }
                Ok(Entries(all))
            }
        }
        from.deserialize_map(Pairs)
    }
}

impl TensorHeader {
    /// Reads the header of a file of `all` bytes and finds the tensor `name`.
    ///
    /// # Errors
    /// The header is truncated or invalid, no tensor has that name, its size does not match its shape, or its data overlaps
    /// another tensor's.
    pub fn read(file: &mut File, all: u64, name: &str) -> Result<Self> {
        let mut length = [0; LENGTH];
        file.rewind()?;
        file.read_exact(&mut length)
            .ok()
            .with_context(|| format!("truncated: the file has {all} bytes"))?;
        let length = u64::from_le_bytes(length);
        ensure!(
            length <= MAX_HEADER,
            "not a .safetensors file: its header would have {length} bytes"
        );
        let data = length + LENGTH as u64;
        ensure!(data <= all, "truncated: the header takes {data} bytes, the file has {all}");
        let mut text = String::new();
        Read::take(file, length).read_to_string(&mut text).context("the header is not UTF-8")?;
        Self::parse(text, data, all - data, name)
    }

    fn parse(text: String, data: u64, held: u64, name: &str) -> Result<Self> {
        let entries: Entries<'_> = serde_json::from_str(&text).context("invalid header")?;
        let mut tensors = Vec::new();
        for (name, value) in entries.0.iter().filter(|(name, _)| name != METADATA) {
            let entry: Entry<'_> = serde_json::from_str(value.get())
                .with_context(|| format!("invalid entry of tensor '{}'", escaped(name)))?;
            tensors.push((&**name, entry));
        }
        let mut named = tensors.iter().filter(|(other, _)| *other == name);
        let Some((_, tensor)) = named.next() else {
            let names = joined(tensors.iter().map(|(name, _)| escaped(name)), ", ");
            bail!("there is no tensor '{}'; there are: {names}", escaped(name));
        };
        ensure!(named.next().is_none(), "tensor '{}' is in the header twice", escaped(name));
        let shape: Vec<usize> = serde_json::from_str(tensor.shape.get())
            .with_context(|| format!("invalid shape of tensor '{}'", escaped(name)))?;
        let dtype = tensor.dtype.clone();
        let itemsize = itemsize(&dtype)?;
        let array = Array { shape, dtype, itemsize, order: AxisOrder::C };
        let [begin, end] = tensor.data_offsets;
        let bytes = array.bytes()? as u64;
        let what = format!("tensor '{}', {array}, takes {bytes} bytes", escaped(name));
        ensure!(
            end.checked_sub(begin) == Some(bytes),
            "{what}, its data_offsets are [{begin}, {end}]"
        );
        ensure!(end <= held, "truncated: {what} up to {end}, the file has {held} after the header");
        let overlaps = |other: &Entry<'_>| {
            let [from, to] = other.data_offsets;
            from < end && begin < to
        };
        if let Some((other, _)) =
            tensors.iter().find(|(other, entry)| *other != name && overlaps(entry))
        {
            bail!("tensors '{}' and '{}' overlap", escaped(name), escaped(other));
        }
        // The shape is a slice of the text.
        let at = tensor.shape.get().as_ptr().addr() - text.as_ptr().addr();
        let shape = at..at + tensor.shape.get().len();
        Ok(TensorHeader { shape, array, start: data + begin, text })
    }

    /// Returns the bytes of the header, up to the data.
    pub fn bytes(&self) -> u64 {
        (LENGTH + self.text.len()) as u64
    }

    /// Returns the header with another shape of the tensor: of the same length if it fits, otherwise aligned anew. Offsets of
    /// the format count from the end of the header.
    pub fn rewritten(&self, shape: &[usize]) -> Vec<u8> {
        let old = &self.text[self.shape.clone()];
        let separator = if old.contains(", ") { ", " } else { "," };
        let new = format!("[{}]", joined(shape, separator));
        let mut text = self.text.clone();
        text.replace_range(self.shape.clone(), &new);
        let mut text = text.trim_end().as_bytes().to_vec();
        let is_longer = text.len() > self.text.len();
        let len = if is_longer { text.len().next_multiple_of(LENGTH) } else { self.text.len() };
        text.resize(len, b' ');
        [&(len as u64).to_le_bytes()[..], &text].concat()
    }
}

/// Returns the bytes of an element. The name has its bits: `F32`, `BF16`, `F8_E4M3`.
fn itemsize(dtype: &str) -> Result<usize> {
    if dtype == "BOOL" {
        return Ok(1);
    }
    let digits = dtype.trim_start_matches(|c: char| c.is_ascii_uppercase());
    let digits = digits.split('_').next().unwrap_or_default();
    let bits: usize = digits.parse().map_err(|_| anyhow!("unknown dtype '{}'", escaped(dtype)))?;
    ensure!(
        bits > 0 && bits.is_multiple_of(8),
        "elements of {bits} bits ({dtype}) are not supported"
    );
    Ok(bits / 8)
}

#[cfg(test)]
mod tests {
    use super::*;

    const TEXT: &str = r#"{"__metadata__":{"format":"pt"},"a":{"dtype":"F32","shape":[2,3],"data_offsets":[0,24]},
"b\u00e9":{"dtype":"BF16","data_offsets":[24,44],"shape":[10, 1]}}  "#;

    fn parse(text: &str, name: &str) -> Result<TensorHeader> {
        TensorHeader::parse(text.into(), 8 + text.len() as u64, 44, name)
    }

    #[test]
    fn a_tensor_is_found_and_its_shape_rewritten() {
        let header = parse(TEXT, "a").unwrap();
        assert_eq!((header.start, &*header.array.shape), (8 + TEXT.len() as u64, &[2, 3][..]));
        let new = header.rewritten(&[3, 2]);
        assert_eq!(new[8..], *TEXT.replace("[2,3]", "[3,2]").as_bytes());
        assert_eq!(new[..8], (TEXT.len() as u64).to_le_bytes());
        let header = parse(TEXT, "b\u{e9}").unwrap();
        assert_eq!((header.start, header.array.itemsize), (32 + TEXT.len() as u64, 2));
        let text = String::from_utf8(header.rewritten(&[1, 10])[8..].into()).unwrap();
        assert_eq!(text, TEXT.replace("[10, 1]", "[1, 10]"));
        // Shorter: padded. Longer: into the padding, as far as it goes.
        assert_eq!(header.rewritten(&[10]).len(), 8 + TEXT.len());
        assert_eq!(header.rewritten(&[1, 2, 5]).len(), 8 + TEXT.len());
        let long = (8 + TEXT.len() + 6).next_multiple_of(8);
        assert_eq!(header.rewritten(&[1, 1, 1, 2, 5]).len(), long);
    }

    #[test]
    fn bad_headers_are_rejected() {
        for (from, to, words) in [
            ("\"a\"", "\"c\"", "there is no tensor 'a'; there are: c, b\u{e9}"),
            ("b\\u00e9", "a", "is in the header twice"),
            ("F32", "F64", "takes 48 bytes, its data_offsets are [0, 24]"),
            ("F32", "F4", "elements of 4 bits"),
            ("F32", "X", "unknown dtype 'X'"),
            ("[24,44]", "[20,40]", "tensors 'a' and 'b\u{e9}' overlap"),
            ("[0,24]", "[30,54]", "the file has 44 after the header"),
            ("[0,24]", "[24,0]", "data_offsets"),
            ("[2,3]", "[-2,3]", "invalid shape of tensor 'a'"),
            ("[2,3]", "[9223372036854775807,3]", "more bytes than"),
            ("\"dtype\"", "\"type\"", "invalid entry"),
            ("}}", "}", "invalid header"),
        ] {
            let error = format!("{:#}", parse(&TEXT.replacen(from, to, 1), "a").unwrap_err());
            assert!(error.contains(words), "{error} {words}");
        }
    }
}
