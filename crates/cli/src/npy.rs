//! Headers of .npy files, versions 1.0 to 3.0: read, checked against the file, rewritten.
//!
//! A rewritten header is the old text with a new shape and order spliced in: the description of the type stays byte for byte,
//! and the data usually keeps its offset. The crates that parse Python literals return values, not places in the text, and
//! one of them needs a C compiler; `npyz` is the independent reader of the tests.

use std::io::Read;
use std::ops::Range;

use anyhow::{Result, anyhow, bail, ensure};

use crate::array::{Array, AxisOrder, NATIVE, volume};
use crate::dtype::{self, DtypeField, Entries};
use crate::values::joined;

/// First bytes of a .npy file.
pub const MAGIC: &[u8; 6] = b"\x93NUMPY";

/// Longest header accepted, in bytes: far above NumPy's own limit for reading (10 000 characters).
const MAX_TEXT: u64 = 1 << 20;

/// Most axes of an array, as in NumPy.
const MOST_AXES: usize = 64;

/// NumPy starts the data at a multiple of this.
const ALIGN: usize = 64;

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
    /// Extents of the axes, as in the header.
    pub shape: Vec<usize>,
    /// Order of the axes in memory.
    pub order: AxisOrder,
    /// Bytes of an item.
    pub item_bytes: usize,
    /// Bytes of the data.
    pub data_bytes: usize,
}

impl Header {
    /// Reads the header from the beginning of a file of `file_bytes` bytes, if known, and leaves `file` at the data.
    /// Allocates at most the file size.
    pub fn read(
        file: &mut (impl Read + ?Sized),
        file_bytes: impl Into<Option<u64>>,
    ) -> Result<Self> {
        let file_bytes = file_bytes.into();
        let mut bytes = Vec::new();
        Read::take(&mut *file, 12).read_to_end(&mut bytes)?;
        let (version, start, text_len) = prefix(&bytes)?;
        let end = start as u64 + text_len;
        let enough = file_bytes.is_none_or(|have| have >= end);
        ensure!(enough, truncated(end, file_bytes.unwrap_or(0)));
        ensure!(
            text_len <= MAX_TEXT,
            "the header takes {text_len} bytes, at most {MAX_TEXT} are accepted"
        );
        Read::take(&mut *file, end.saturating_sub(bytes.len() as u64)).read_to_end(&mut bytes)?;
        ensure!(bytes.len() as u64 >= end, truncated(end, bytes.len() as u64));
        Self::parse(version, &bytes[start..end as usize], file_bytes.map(|bytes| bytes - end))
    }

    /// Parses the text of a header that is followed by `data_bytes` bytes of data, if known.
    fn parse(version: (u8, u8), padded: &[u8], data_bytes: Option<u64>) -> Result<Self> {
        if version.0 == 3
            && let Err(error) = std::str::from_utf8(padded)
        {
            bail!("the header is not UTF-8 from byte {} on", error.valid_up_to());
        }
        let text = padded.trim_ascii_end();
        let Entries { descr, fortran_order, shape } = dtype::entries(text)?;
        let missing = |key| move || anyhow!("the header has no '{key}'");
        let (item_bytes, descr_span) = descr.ok_or_else(missing("descr"))?;
        let (fortran, order_span) = fortran_order.ok_or_else(missing("fortran_order"))?;
        let (shape, shape_span) = shape.ok_or_else(missing("shape"))?;
        let axes = shape.len();
        ensure!(axes <= MOST_AXES, "the header has {axes} axes, at most {MOST_AXES} are supported");
        // An axis that cannot be counted is rejected, even next to one of length 0.
        let counted = shape.iter().all(|&extent| extent <= isize::MAX as usize);
        let items = volume(&shape).filter(|_| counted);
        let data = items.and_then(|items| items.checked_mul(item_bytes));
        let items = format!("shape {shape:?}, items of {item_bytes} bytes");
        let data_here = data.filter(|&bytes| bytes <= isize::MAX as usize);
        let expected =
            data_here.ok_or_else(|| anyhow!("more bytes than can be addressed ({items})"))?;
        if let Some(got) = data_bytes.filter(|&got| got != expected as u64) {
            bail!("expected {expected} bytes of data ({items}), got {got}");
        }
        Ok(Header {
            version,
            text: text.to_vec(),
            text_len: padded.len(),
            shape_span,
            order_span,
            descr_span,
            shape,
            order: if fortran { AxisOrder::F } else { AxisOrder::C },
            item_bytes,
            data_bytes: expected,
        })
    }

    /// Returns the array that the header describes. Its type is short: `f8`, `>f8`, `V24` for records of 24 bytes.
    pub fn array(&self) -> Array {
        let dtype = match self.descr() {
            [b'\'' | b'"', name @ .., _] if name.len() <= 16 => {
                String::from_utf8_lossy(name).trim_start_matches(NATIVE).to_string()
            }
            _ => format!("V{}", self.item_bytes),
        };
        Array { shape: self.shape.clone(), dtype, itemsize: self.item_bytes, order: self.order }
    }

    /// Returns the bytes of the header, up to the data.
    pub fn bytes(&self) -> usize {
        prefix_bytes(self.version) + self.text_len
    }

    /// Returns the bytes of this header with another shape and order, up to the data.
    pub fn rewritten(&self, shape: &[usize], order: AxisOrder) -> Result<Vec<u8>> {
        let shape = tuple(shape);
        let fortran = if order == AxisOrder::F { "True" } else { "False" };
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
        padded(self.version, text, self.text_len)
    }

    /// Returns the text that describes the type.
    pub fn descr(&self) -> &[u8] {
        &self.text[self.descr_span.clone()]
    }

    /// Returns the bytes of a header in C order with another type, described as in this header.
    pub fn of_type(&self, descr: &[u8], shape: &[usize]) -> Result<Vec<u8>> {
        padded(self.version, dictionary(descr, shape), 0)
    }

    /// Returns the file name of a field, `NAME.npy`; `None` for a gap between fields.
    pub fn field_file(&self, field: &DtypeField) -> Result<Option<String>> {
        let bytes = &self.descr()[field.label.clone()];
        if field.is_gap(self.descr()) {
            return Ok(None);
        }
        let name = match std::str::from_utf8(bytes) {
            Ok(name) if self.version.0 == 3 => name.to_string(),
            // Latin 1.
            _ => bytes.iter().copied().map(char::from).collect(),
        };
        let is_name = !name.is_empty() && !name.contains(['/', '\\', '\0']);
        ensure!(is_name, "field '{}' is not a file name", bytes.escape_ascii());
        Ok(Some(format!("{name}.npy")))
    }
}

/// Returns a header in C order of version 1.0.
pub fn new_header(descr: &[u8], shape: &[usize]) -> Result<Vec<u8>> {
    padded((1, 0), dictionary(descr, shape), 0)
}

fn dictionary(descr: &[u8], shape: &[usize]) -> Vec<u8> {
    let rest = format!(", 'fortran_order': False, 'shape': {}, }}", tuple(shape));
    [b"{'descr': ", descr, rest.as_bytes()].concat()
}

/// Returns the whole header around `text`: of length `len` if `text` fits, otherwise aligned anew, in version 2.0 if
/// version 1.0 cannot hold it.
fn padded(mut version: (u8, u8), mut text: Vec<u8>, mut len: usize) -> Result<Vec<u8>> {
    let needed = text.len() + 1;
    if needed > len {
        let aligned = |start: usize| (start + needed).next_multiple_of(ALIGN) - start;
        len = aligned(prefix_bytes(version));
        if version.0 == 1 && len > usize::from(u16::MAX) {
            version = (2, 0);
            len = aligned(prefix_bytes(version));
        }
    }
    if len as u64 > MAX_TEXT {
        bail!("the new header takes {len} bytes, at most {MAX_TEXT} can be written");
    }
    text.resize(len - 1, b' ');
    text.push(b'\n');
    let mut bytes = MAGIC.to_vec();
    bytes.extend_from_slice(&[version.0, version.1]);
    // Version 1.0 stores the length in two bytes, the others in four; `len` fits either.
    bytes.extend_from_slice(&(len as u32).to_le_bytes()[..prefix_bytes(version) - 8]);
    bytes.extend_from_slice(&text);
    Ok(bytes)
}

/// Formats a shape as a Python tuple.
fn tuple(shape: &[usize]) -> String {
    match shape {
        [one] => format!("({one},)"),
        all => format!("({})", joined(all, ", ")),
    }
}

/// Returns the bytes before the dictionary: magic, version, length.
fn prefix_bytes(version: (u8, u8)) -> usize {
    if version.0 == 1 { 10 } else { 12 }
}

/// Returns the version, the bytes before the dictionary, and the bytes of the dictionary with its padding.
fn prefix(bytes: &[u8]) -> Result<((u8, u8), usize, u64)> {
    if !bytes.starts_with(MAGIC) {
        let begins = bytes[..bytes.len().min(MAGIC.len())].escape_ascii();
        let magic = MAGIC.escape_ascii();
        ensure!(!bytes.is_empty(), "empty: expected a .npy header");
        bail!(
            "not a .npy file: it begins with '{begins}' instead of '{magic}' (see --raw for headerless data)"
        );
    }
    let have = bytes.len() as u64;
    let &[major, minor] = bytes.get(6..8).ok_or_else(|| anyhow!(truncated(8, have)))? else {
        bail!(truncated(8, have));
    };
    if !(matches!(major, 1..=3) && minor == 0) {
        let expected = "expected 1.0, 2.0 or 3.0";
        bail!("version {major}.{minor} of the .npy format is not supported, {expected}");
    }
    let start = prefix_bytes((major, minor));
    let len = bytes.get(8..start).ok_or_else(|| anyhow!(truncated(start as u64, have)))?;
    let len = len.iter().rev().fold(0u64, |len, &byte| len << 8 | u64::from(byte));
    Ok(((major, minor), start, len))
}

fn truncated(need: u64, have: u64) -> String {
    format!("truncated: the header takes {need} bytes, the file has {have}")
}

#[cfg(test)]
#[path = "npy_tests.rs"]
mod tests;
