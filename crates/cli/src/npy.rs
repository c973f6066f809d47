//! Headers of .npy files, versions 1.0 to 3.0: read, checked against the file, rewritten.
//!
//! A rewritten header is the old text with a new shape and order spliced in, so the description of
//! the type, whatever it holds, stays as it is byte for byte, and the data as a rule at their place.
//!
//! No kept crate reads what is needed here. `npyz` 0.9 refuses titles, field names in Latin-1,
//! datetimes in multiples of a unit and Python 2's long integers; multiplies extents unchecked; hands
//! out no text of the type; and the grammar below it (`py_literal`, which `ndarray-npy` uses too)
//! takes time exponential in the depth of a record type. It is the independent reader of the tests.

use std::io::Read;
use std::ops::Range;

use crate::dtype;
use crate::error::HeaderError;
use crate::literal::{self, Node, Value};

const MAGIC: &[u8; 6] = b"\x93NUMPY";

/// Longest header accepted: far above NumPy's own limit for reading (10 000 characters).
const MAX_TEXT: u64 = 1 << 20;

/// NumPy starts the data at a multiple of this.
const ALIGN: usize = 64;

/// Which axis of an array runs fastest in memory.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Order {
    /// The last.
    C,
    /// The first.
    Fortran,
}

impl Order {
    /// `c` or `fortran`.
    pub fn name(self) -> &'static str {
        match self {
            Order::C => "c",
            Order::Fortran => "fortran",
        }
    }
}

/// The header of a .npy file.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Header {
    version: (u8, u8),
    /// The dictionary, without the padding after it.
    text: Vec<u8>,
    /// Bytes of the dictionary and its padding.
    text_len: usize,
    shape_span: Range<usize>,
    order_span: Range<usize>,
    descr_span: Range<usize>,
    shape: Vec<usize>,
    order: Order,
    item_bytes: usize,
    data_bytes: usize,
}

impl Header {
    /// Reads the header from the beginning of a file of `file_bytes` bytes, if that is known, and leaves `file` at the
    /// data. Allocates no more than the file can hold.
    ///
    /// The outer error is the system's, the inner one the file's.
    pub fn read(
        file: &mut (impl Read + ?Sized),
        file_bytes: impl Into<Option<u64>>,
    ) -> std::io::Result<Result<Self, HeaderError>> {
        let file_bytes = file_bytes.into();
        let mut bytes = Vec::new();
        Read::take(&mut *file, 12).read_to_end(&mut bytes)?;
        let (version, start, text_len) = match prefix(&bytes) {
            Ok(prefix) => prefix,
            Err(error) => return Ok(Err(error)),
        };
        let end = start as u64 + text_len;
        if let Some(have) = file_bytes
            && end > have
        {
            return Ok(Err(HeaderError::Truncated { need: end, have }));
        }
        if text_len > MAX_TEXT {
            return Ok(Err(HeaderError::TooLong { len: text_len, max: MAX_TEXT }));
        }
        Read::take(&mut *file, end.saturating_sub(bytes.len() as u64)).read_to_end(&mut bytes)?;
        if (bytes.len() as u64) < end {
            return Ok(Err(HeaderError::Truncated { need: end, have: bytes.len() as u64 }));
        }
        Ok(Self::parse(version, &bytes[start..end as usize], file_bytes.map(|bytes| bytes - end)))
    }

    /// Reads the text of a header that `data_bytes` bytes of data follow, if that is known.
    fn parse(
        version: (u8, u8),
        padded: &[u8],
        data_bytes: Option<u64>,
    ) -> Result<Self, HeaderError> {
        if version.0 == 3
            && let Err(error) = std::str::from_utf8(padded)
        {
            return Err(HeaderError::Encoding { at: error.valid_up_to() });
        }
        let text = padded.trim_ascii_end();
        let root = literal::parse(text, version.0 < 3)?;
        let Node::Dict(entries) = &root.node else {
            return Err(HeaderError::NotADict);
        };
        let [descr, order, shape] = entries_of(entries, text)?;
        let item_bytes = dtype::array_item_bytes(descr)?;
        let order_read = match order.node {
            Node::Bool(fortran) => {
                if fortran {
                    Order::Fortran
                } else {
                    Order::C
                }
            }
            _ => return Err(HeaderError::Order { got: shown(text, order) }),
        };
        let extents = shape_of(shape, text)?;
        let overflow = || HeaderError::SizeOverflow { shape: extents.clone(), item_bytes };
        // An axis that cannot be counted is none, even beside one of length 0.
        let counted = extents.iter().all(|&extent| extent <= isize::MAX as usize);
        let expected = volume(&extents)
            .filter(|_| counted)
            .and_then(|items| items.checked_mul(item_bytes))
            .filter(|&bytes| bytes <= isize::MAX as usize)
            .ok_or_else(overflow)?;
        if let Some(got) = data_bytes.filter(|&got| got != expected as u64) {
            return Err(HeaderError::DataLength {
                shape: extents,
                item_bytes,
                expected: expected as u64,
                got,
            });
        }
        Ok(Header {
            version,
            text: text.to_vec(),
            text_len: padded.len(),
            shape_span: shape.span.clone(),
            order_span: order.span.clone(),
            descr_span: descr.span.clone(),
            shape: extents,
            order: order_read,
            item_bytes,
            data_bytes: expected,
        })
    }

    /// Extents of the axes, as in the header.
    pub fn shape(&self) -> &[usize] {
        &self.shape
    }

    /// Order of the axes in memory.
    pub fn order(&self) -> Order {
        self.order
    }

    /// Bytes of an item.
    pub fn item_bytes(&self) -> usize {
        self.item_bytes
    }

    /// Bytes of the data.
    pub fn data_bytes(&self) -> usize {
        self.data_bytes
    }

    /// The type in a few characters: `f8`, `>f8`, `record of 24 bytes`.
    pub fn type_name(&self) -> String {
        let descr = &self.text[self.descr_span.clone()];
        match descr {
            [b'\'' | b'"', name @ .., _] if name.len() <= 16 => String::from_utf8_lossy(name)
                .trim_start_matches(if cfg!(target_endian = "big") {
                    ['|', '>']
                } else {
                    ['|', '<']
                })
                .to_string(),
            _ => format!("record of {} bytes", self.item_bytes),
        }
    }

    /// The bytes of this header with another shape and order, up to where the data begin.
    pub fn rewritten(&self, shape: &[usize], order: Order) -> Result<Vec<u8>, HeaderError> {
        let shape = match shape {
            [one] => format!("({one},)"),
            all => format!("({})", all.iter().map(usize::to_string).collect::<Vec<_>>().join(", ")),
        };
        let fortran = if order == Order::Fortran { "True" } else { "False" };
        let mut splices = [(&self.shape_span, &*shape), (&self.order_span, fortran)];
        splices.sort_by_key(|(span, _)| span.start);
        let mut text = Vec::with_capacity(self.text_len);
        let mut from = 0;
        for (span, new) in splices {
            text.extend_from_slice(&self.text[from..span.start]);
            text.extend_from_slice(new.as_bytes());
            from = span.end;
        }
        text.extend_from_slice(&self.text[from..]);
        self.padded(text)
    }

    /// The whole header around `text`: of the old length if that has room, else aligned anew, in
    /// version 2.0 if a version 1.0 header can no longer hold it.
    fn padded(&self, mut text: Vec<u8>) -> Result<Vec<u8>, HeaderError> {
        let mut version = self.version;
        let needed = text.len() + 1;
        let mut len = self.text_len;
        if needed > len {
            let aligned = |start: usize| (start + needed).next_multiple_of(ALIGN) - start;
            len = aligned(prefix_bytes(version));
            if version.0 == 1 && len > usize::from(u16::MAX) {
                version = (2, 0);
                len = aligned(prefix_bytes(version));
            }
        }
        if len as u64 > MAX_TEXT {
            return Err(HeaderError::NewTooLong { len, max: MAX_TEXT as usize });
        }
        text.resize(len - 1, b' ');
        text.push(b'\n');
        let mut bytes = MAGIC.to_vec();
        bytes.extend_from_slice(&[version.0, version.1]);
        // Version 1.0 holds the length in two bytes, the others in four; `len` fits either.
        bytes.extend_from_slice(&(len as u32).to_le_bytes()[..prefix_bytes(version) - 8]);
        bytes.extend_from_slice(&text);
        Ok(bytes)
    }
}

/// Elements of an array, `None` if they cannot be counted. An axis of length 0 leaves none.
pub fn volume(shape: &[usize]) -> Option<usize> {
    if shape.contains(&0) {
        return Some(0);
    }
    shape.iter().try_fold(1usize, |product, &extent| product.checked_mul(extent))
}

/// Bytes before the dictionary: magic, version, length.
fn prefix_bytes(version: (u8, u8)) -> usize {
    if version.0 == 1 { 10 } else { 12 }
}

/// Version, bytes before the dictionary, bytes of the dictionary and its padding.
fn prefix(bytes: &[u8]) -> Result<((u8, u8), usize, u64), HeaderError> {
    if !bytes.starts_with(MAGIC) {
        return Err(HeaderError::Magic { got: bytes[..bytes.len().min(MAGIC.len())].to_vec() });
    }
    let truncated = |need| HeaderError::Truncated { need, have: bytes.len() as u64 };
    let &[major, minor] = bytes.get(6..8).ok_or_else(|| truncated(8))? else {
        return Err(truncated(8));
    };
    if !(matches!(major, 1..=3) && minor == 0) {
        return Err(HeaderError::Version { major, minor });
    }
    let start = prefix_bytes((major, minor));
    let len = bytes.get(8..start).ok_or_else(|| truncated(start as u64))?;
    let len = len.iter().rev().fold(0u64, |len, &byte| len << 8 | u64::from(byte));
    Ok(((major, minor), start, len))
}

/// The values of `descr`, `fortran_order` and `shape`: all of them, once each, and no other.
fn entries_of<'a, 'v>(
    entries: &'v [(Value<'a>, Value<'a>)],
    text: &[u8],
) -> Result<[&'v Value<'a>; 3], HeaderError> {
    const KEYS: [&str; 3] = ["descr", "fortran_order", "shape"];
    let mut found = [None; 3];
    for (key, value) in entries {
        let place = match key.node {
            Node::Str(name) => {
                let name = literal::unescaped(name);
                KEYS.iter().position(|known| known.as_bytes() == &*name)
            }
            _ => None,
        };
        let place = place.ok_or_else(|| HeaderError::UnknownKey { key: shown(text, key) })?;
        if found[place].replace(value).is_some() {
            return Err(HeaderError::RepeatedKey { key: KEYS[place] });
        }
    }
    let entry = |place: usize| found[place].ok_or(HeaderError::MissingKey { key: KEYS[place] });
    Ok([entry(0)?, entry(1)?, entry(2)?])
}

fn shape_of(value: &Value<'_>, text: &[u8]) -> Result<Vec<usize>, HeaderError> {
    let malformed = || HeaderError::Shape { got: shown(text, value) };
    let Node::Tuple(extents) = &value.node else {
        return Err(malformed());
    };
    extents
        .iter()
        .enumerate()
        .map(|(axis, extent)| match extent.node {
            Node::Int(got) if got < 0 => Err(HeaderError::NegativeAxis { axis, got }),
            // Too large to count is too large for any file: the product says so.
            Node::Int(got) => Ok(usize::try_from(got).unwrap_or(usize::MAX)),
            _ => Err(malformed()),
        })
        .collect()
}

/// A value as written, cut to a length that suits a message.
fn shown(text: &[u8], value: &Value<'_>) -> String {
    let written = String::from_utf8_lossy(&text[value.span.clone()]);
    match written.char_indices().nth(60) {
        Some((end, _)) => format!("{}...", &written[..end]),
        None => written.into_owned(),
    }
}

#[cfg(test)]
#[path = "npy_tests.rs"]
mod tests;
