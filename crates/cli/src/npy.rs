//! Headers of .npy files, versions 1.0 to 3.0: read, checked against the file, rewritten.
//!
//! A rewritten header is the old text with a new shape and order spliced in, so the description of
//! the type, whatever it holds, stays as it is byte for byte, and the data as a rule at their place.
//!
//! No kept crate hands out what is needed here, the place of the shape and of the order in the text; `npyz` is the
//! independent reader of the tests.

use std::io::Read;
use std::ops::Range;

use anyhow::{Result, anyhow, bail, ensure};
use clap::ValueEnum;
use serde::Serialize;

use crate::dtype::{self, Entries};
use crate::values::joined;

/// What a .npy file begins with.
pub const MAGIC: &[u8; 6] = b"\x93NUMPY";

/// Longest header accepted: far above NumPy's own limit for reading (10 000 characters).
const MAX_TEXT: u64 = 1 << 20;

/// Most axes of an array, in NumPy as here.
const MOST_AXES: usize = 64;

/// NumPy starts the data at a multiple of this.
const ALIGN: usize = 64;

/// Which axis of an array runs fastest in memory.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, ValueEnum)]
#[serde(rename_all = "lowercase")]
pub enum AxisOrder {
    /// The last axis runs fastest (row-major)
    C,
    /// The first axis runs fastest (column-major)
    Fortran,
}

impl AxisOrder {
    /// `c` or `fortran`.
    pub fn name(self) -> &'static str {
        match self {
            AxisOrder::C => "c",
            AxisOrder::Fortran => "fortran",
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
    /// Reads the header from the beginning of a file of `file_bytes` bytes, if that is known, and leaves `file` at the
    /// data. Allocates no more than the file can hold.
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
        let too_long = "more than the 1048576 that are accepted";
        ensure!(text_len <= MAX_TEXT, "the header takes {text_len} bytes, {too_long}");
        Read::take(&mut *file, end.saturating_sub(bytes.len() as u64)).read_to_end(&mut bytes)?;
        ensure!(bytes.len() as u64 >= end, truncated(end, bytes.len() as u64));
        Self::parse(version, &bytes[start..end as usize], file_bytes.map(|bytes| bytes - end))
    }

    /// Reads the text of a header that `data_bytes` bytes of data follow, if that is known.
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
        ensure!(axes <= MOST_AXES, "the header has {axes} axes, at most {MOST_AXES} can be given");
        // An axis too long to count is refused, even beside one of length 0.
        let counted = shape.iter().all(|&extent| extent <= isize::MAX as usize);
        let items = volume(&shape).filter(|_| counted);
        let data = items.and_then(|items| items.checked_mul(item_bytes));
        let items = format!("shape {shape:?}, items of {item_bytes} bytes");
        let data_here = data.filter(|&bytes| bytes <= isize::MAX as usize);
        let expected =
            data_here.ok_or_else(|| anyhow!("more bytes than can be counted ({items})"))?;
        if let Some(got) = data_bytes.filter(|&got| got != expected as u64) {
            bail!("the header announces {expected} bytes of data ({items}), the file has {got}");
        }
        Ok(Header {
            version,
            text: text.to_vec(),
            text_len: padded.len(),
            shape_span,
            order_span,
            descr_span,
            shape,
            order: if fortran { AxisOrder::Fortran } else { AxisOrder::C },
            item_bytes,
            data_bytes: expected,
        })
    }

    /// The type in a few characters: `f8`, `>f8`, `record of 24 bytes`.
    pub fn type_name(&self) -> String {
        match self.descr() {
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
    pub fn rewritten(&self, shape: &[usize], order: AxisOrder) -> Result<Vec<u8>> {
        let shape = tuple(shape);
        let fortran = if order == AxisOrder::Fortran { "True" } else { "False" };
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
        self.padded(text, self.text_len)
    }

    /// The text that describes the type.
    pub fn descr(&self) -> &[u8] {
        &self.text[self.descr_span.clone()]
    }

    /// The bytes of a header in C order with another type, that is described in the words of this one's.
    pub fn of_type(&self, descr: &[u8], shape: &[usize]) -> Result<Vec<u8>> {
        let shape = tuple(shape);
        let rest = format!(", 'fortran_order': False, 'shape': {shape}, }}");
        self.padded([b"{'descr': ", descr, rest.as_bytes()].concat(), 0)
    }

    /// Whether the text is UTF-8, and not Latin 1.
    pub fn is_utf8(&self) -> bool {
        self.version.0 == 3
    }

    /// The whole header around `text`: of length `len` if that has room, else aligned anew, in
    /// version 2.0 if a version 1.0 header can no longer hold it.
    fn padded(&self, mut text: Vec<u8>, mut len: usize) -> Result<Vec<u8>> {
        let mut version = self.version;
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
            bail!("the new header takes {len} bytes, more than the {MAX_TEXT} that can be written");
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

/// Extents as Python writes them.
pub fn tuple(shape: &[usize]) -> String {
    match shape {
        [one] => format!("({one},)"),
        all => format!("({})", joined(all, ", ")),
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
fn prefix(bytes: &[u8]) -> Result<((u8, u8), usize, u64)> {
    if !bytes.starts_with(MAGIC) {
        let begins = bytes[..bytes.len().min(MAGIC.len())].escape_ascii();
        let expected = format!("'{}' (see --raw for headerless files)", MAGIC.escape_ascii());
        bail!("not a .npy file: it begins with '{begins}', and not with {expected}");
    }
    let have = bytes.len() as u64;
    let &[major, minor] = bytes.get(6..8).ok_or_else(|| anyhow!(truncated(8, have)))? else {
        bail!(truncated(8, have));
    };
    if !(matches!(major, 1..=3) && minor == 0) {
        let expected = "expected 1.0, 2.0 or 3.0";
        bail!("version {major}.{minor} of the .npy format is not known, {expected}");
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
