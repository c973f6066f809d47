//! The text of a .npy header: a dictionary as NumPy writes it, and the bytes of an item.
//!
//! Parsing is linear in the length of the text and bounded in depth.

use std::ops::Range;

use anyhow::{Result, anyhow, bail, ensure};

/// Most levels of records within records; NumPy's own headers stay far below.
const DEPTH: usize = 64;

/// Most bytes of an item: NumPy counts them in a C int.
const MOST: usize = i32::MAX as usize;

/// Most characters shown of an invalid number.
const LONGEST: usize = 48;

/// Units of dates and spans of time.
const UNITS: &str = "Y M W D h m s ms us ns ps fs as generic";

/// Values of a header's dictionary, and their places in the text.
#[derive(Debug, Default)]
pub struct Entries {
    /// Bytes of an item, and the place of the type.
    pub descr: Option<(usize, Range<usize>)>,
    /// Whether the first axis runs fastest.
    pub fortran_order: Option<(bool, Range<usize>)>,
    /// The extents.
    pub shape: Option<(Vec<usize>, Range<usize>)>,
}

/// A field of records.
#[derive(Debug)]
pub struct DtypeField {
    /// Place of the name's characters.
    pub label: Range<usize>,
    /// Innermost element type; its type may be an array, `('<u4', (2,))`.
    pub base: Base,
    /// Extents of an array within a record.
    pub shape: Vec<usize>,
}

/// Element type of an array within records, or any other type with no extents.
#[derive(Debug)]
pub struct Base {
    /// Bytes of an element.
    pub bytes: usize,
    /// Place of its description.
    pub span: Range<usize>,
    /// Extents of the array.
    pub shape: Vec<usize>,
}

impl DtypeField {
    /// Returns the bytes of the field; saturates.
    pub fn bytes(&self) -> usize {
        let extents = self.shape.iter().chain(&self.base.shape);
        extents.fold(self.base.bytes, |bytes, &extent| bytes.saturating_mul(extent))
    }

    /// Returns whether NumPy reads it as a gap between fields.
    pub fn is_gap(&self, descr: &[u8]) -> bool {
        let base = descr[self.base.span.clone()].trim_ascii_start();
        self.label.is_empty()
            && matches!(base, [b'\'' | b'"', b'V', ..] | [_, b'<' | b'>' | b'|' | b'=', b'V', ..])
    }
}

/// Returns the bytes of the type that a type string names, `<f4`.
pub fn itemsize(descr: &str) -> Result<usize> {
    plain(descr.as_bytes())
}

/// Returns the fields of a type, `None` of a plain type.
pub fn fields(descr: &[u8]) -> Result<Option<Vec<DtypeField>>> {
    let mut cursor = Cursor { text: descr, at: 0 };
    Ok(if cursor.peek() == Some(b'[') { Some(cursor.fields(0)?) } else { None })
}

/// Parses the dictionary `text`.
pub fn entries(text: &[u8]) -> Result<Entries> {
    let mut entries = Entries::default();
    let mut cursor = Cursor { text, at: 0 };
    cursor.list(b'{', b'}', |cursor| {
        let key = cursor.string()?;
        cursor.want(b':')?;
        let is_new = match key {
            b"descr" => entries.descr.replace(cursor.spanned(|at| at.item_bytes(0))?).is_none(),
            b"fortran_order" => {
                entries.fortran_order.replace(cursor.spanned(Cursor::boolean)?).is_none()
            }
            b"shape" => entries.shape.replace(cursor.spanned(Cursor::shape)?).is_none(),
            _ => bail!("the header has an unknown entry '{}'", key.escape_ascii()),
        };
        ensure!(is_new, "the header has '{}' twice", key.escape_ascii());
        Ok(())
    })?;
    ensure!(cursor.peek().is_none(), cursor.expected("the end of the header"));
    Ok(entries)
}

struct Cursor<'a> {
    text: &'a [u8],
    at: usize,
}

impl<'a> Cursor<'a> {
    fn expected(&self, what: &str) -> String {
        format!("header: expected {what} at byte {}", self.at)
    }

    /// Returns the next byte that is not white space without consuming it.
    fn peek(&mut self) -> Option<u8> {
        while self.text.get(self.at).is_some_and(u8::is_ascii_whitespace) {
            self.at += 1;
        }
        self.text.get(self.at).copied()
    }

    fn take(&mut self, byte: u8) -> bool {
        let found = self.peek() == Some(byte);
        self.at += usize::from(found);
        found
    }

    fn want(&mut self, byte: u8) -> Result<()> {
        ensure!(self.take(byte), self.expected(&format!("'{}'", char::from(byte))));
        Ok(())
    }

    /// Returns what `read` parses, and its place.
    fn spanned<T>(
        &mut self,
        read: impl FnOnce(&mut Self) -> Result<T>,
    ) -> Result<(T, Range<usize>)> {
        self.peek();
        let start = self.at;
        Ok((read(self)?, start..self.at))
    }

    /// Parses items between brackets, separated by commas. Returns whether a comma followed the last.
    fn list(
        &mut self,
        open: u8,
        close: u8,
        mut item: impl FnMut(&mut Self) -> Result<()>,
    ) -> Result<bool> {
        self.want(open)?;
        let mut comma = true;
        while !self.take(close) {
            ensure!(comma, self.expected("a comma or a closing bracket"));
            item(self)?;
            comma = self.take(b',');
        }
        Ok(comma)
    }

    /// Parses a string. Escapes stay as written.
    fn string(&mut self) -> Result<&'a [u8]> {
        let quote = self.peek().filter(|quote| matches!(quote, b'\'' | b'"'));
        let quote = quote.ok_or_else(|| anyhow!(self.expected("a string")))?;
        let start = self.at + 1;
        let mut end = start;
        while self.text.get(end) != Some(&quote) {
            let ends_early = matches!(self.text.get(end), None | Some(b'\n' | b'\r'));
            ensure!(!ends_early, self.expected("a string that ends"));
            end += if self.text[end] == b'\\' { 2 } else { 1 };
        }
        self.at = end + 1;
        Ok(&self.text[start..end])
    }

    fn boolean(&mut self) -> Result<bool> {
        for (word, value) in [("True", true), ("False", false)] {
            if self.text[self.at..].starts_with(word.as_bytes()) {
                self.at += word.len();
                return Ok(value);
            }
        }
        bail!("'fortran_order' is not True or False")
    }

    /// Parses an integer of the tuple `name`.
    fn integer(&mut self, name: &str, axis: usize) -> Result<usize> {
        let negative = self.take(b'-');
        let rest = &self.text[self.at..];
        let digits = rest.iter().take_while(|byte| byte.is_ascii_digit()).count();
        let is_number = digits > 0 && (digits == 1 || rest[0] != b'0');
        if !is_number {
            let word = rest.split(|byte| b",)".contains(byte)).next().unwrap_or_default();
            let word = word[..word.len().min(LONGEST)].trim_ascii().escape_ascii();
            bail!(
                "'{name}' is not made of integers as Python 3 writes them: axis {axis} is '{word}'"
            );
        }
        let number = std::str::from_utf8(&rest[..digits])?;
        self.at += digits;
        // Long integers of Python 2.
        self.at += usize::from(self.text.get(self.at) == Some(&b'L'));
        ensure!(!negative, "axis {axis} has a negative length, -{number}");
        let shown = if digits > LONGEST {
            format!("{}... ({digits} digits)", &number[..8])
        } else {
            number.into()
        };
        let what =
            format!("more bytes than can be counted: axis {axis} of '{name}' has length {shown}");
        number.parse().map_err(|_| anyhow!(what))
    }

    /// Parses a tuple of extents.
    fn shape(&mut self) -> Result<Vec<usize>> {
        let mut extents = Vec::new();
        ensure!(self.peek() == Some(b'('), "'shape' is not a tuple of integers");
        let comma = self.list(b'(', b')', |cursor| {
            extents.push(cursor.integer("shape", extents.len())?);
            Ok(())
        })?;
        ensure!(comma || extents.len() > 1, "'shape' is not a tuple of integers");
        Ok(extents)
    }

    /// Parses a type, plain or a list of fields `(name, type[, shape])`. Returns the bytes of an item.
    fn item_bytes(&mut self, depth: usize) -> Result<usize> {
        ensure!(depth < DEPTH, "the header nests records more than {DEPTH} deep");
        let bytes = match self.peek() {
            Some(b'[') => {
                let fields = self.fields(depth)?;
                fields.iter().fold(0, |sum: usize, field| sum.saturating_add(field.bytes()))
            }
            Some(b'\'' | b'"') => plain(self.string()?)?,
            _ => bail!("'descr' is malformed: neither a type string nor a list of fields"),
        };
        ensure!(bytes <= MOST, "one item has more bytes than can be counted");
        Ok(bytes)
    }

    fn fields(&mut self, depth: usize) -> Result<Vec<DtypeField>> {
        let mut fields = Vec::new();
        self.list(b'[', b']', |cursor| {
            fields.push(cursor.field(depth)?);
            Ok(())
        })?;
        Ok(fields)
    }

    fn field(&mut self, depth: usize) -> Result<DtypeField> {
        ensure!(self.take(b'('), "'descr' is malformed: a field is a tuple");
        let mut label = 0..0;
        let mut string = |cursor: &mut Self| {
            let length = cursor.string()?.len();
            label = cursor.at - 1 - length..cursor.at - 1;
            Ok(())
        };
        if self.peek() == Some(b'(') {
            // A title and a name.
            self.list(b'(', b')', string)?;
        } else {
            string(self)?;
        }
        self.want(b',')?;
        let base = self.base(depth + 1)?;
        let is_array = self.take(b',') && self.peek() == Some(b'(');
        let shape = if is_array { self.shape()? } else { Vec::new() };
        self.want(b')')?;
        Ok(DtypeField { label, base, shape })
    }

    /// Parses the type of a field: an item, or an array `(type, shape)` of such types.
    fn base(&mut self, depth: usize) -> Result<Base> {
        if self.peek() != Some(b'(') {
            let (bytes, span) = self.spanned(|cursor| cursor.item_bytes(depth))?;
            return Ok(Base { bytes, span, shape: Vec::new() });
        }
        ensure!(depth < DEPTH, "the header nests records more than {DEPTH} deep");
        self.want(b'(')?;
        let mut base = self.base(depth + 1)?;
        self.want(b',')?;
        let outer = self.shape()?;
        base.shape.splice(0..0, outer);
        self.want(b')')?;
        Ok(base)
    }
}

/// Returns the bytes of a type string: byte order, kind, size, for dates a unit.
fn plain(text: &[u8]) -> Result<usize> {
    let name = String::from_utf8_lossy(text);
    let rest = name.strip_prefix(['<', '>', '|', '=']).unwrap_or(&name);
    let (kind, rest) = rest.split_at(rest.chars().next().map_or(0, char::len_utf8));
    let digits = rest.len() - rest.trim_start_matches(|c: char| c.is_ascii_digit()).len();
    let (digits, unit) = rest.split_at(digits);
    if kind == "O" {
        bail!("arrays of Python objects are stored as a pickle, which cannot be permuted");
    }
    let size = digits.parse().unwrap_or(usize::MAX);
    let is_date = matches!(kind, "m" | "M");
    let is_unit =
        unit.strip_prefix('[').and_then(|unit| unit.strip_suffix(']')).is_some_and(|unit| {
            let unit = unit.trim_start_matches(|c: char| c.is_ascii_digit());
            UNITS.split(' ').any(|known| known == unit)
        });
    let is_known = match kind {
        "b" => size == 1,
        "i" | "u" => matches!(size, 1 | 2 | 4 | 8),
        // 8-bit floats of ml_dtypes have 1 byte, long doubles 12 or 16.
        "f" => matches!(size, 1 | 2 | 4 | 8 | 12 | 16),
        "c" => matches!(size, 8 | 16 | 24 | 32),
        "m" | "M" => size == 8,
        "S" | "U" | "V" => !digits.is_empty(),
        _ => false,
    };
    ensure!(
        is_known && (unit.is_empty() || is_date && is_unit),
        "unsupported type '{name}': expected byte order, kind and bytes as NumPy writes them, for example '<f8'"
    );
    Ok(if kind == "U" { size.saturating_mul(4) } else { size })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn bytes(descr: &str) -> Result<usize, String> {
        let text = format!("{{'descr': {descr}}}");
        let entries = entries(text.as_bytes()).map_err(|error| error.to_string())?;
        let (bytes, span) = entries.descr.unwrap();
        assert_eq!(&text[span], descr);
        Ok(bytes)
    }

    #[test]
    fn sizes() {
        for (descr, want) in [
            ("'|b1'", 1),
            ("'<f1'", 1),
            ("'<f2'", 2),
            ("'>i4'", 4),
            ("'<f16'", 16),
            ("'<c32'", 32),
            ("'|S5'", 5),
            ("'<U3'", 12),
            ("'|V7'", 7),
            ("'<V2'", 2),
            ("'<M8'", 8),
            ("'<M8[ns]'", 8),
            ("'>m8[25s]'", 8),
            ("'<U536870911'", 2_147_483_644),
            ("[]", 0),
            ("[('a', '|u1'), ('', '|V7'), ('b', '<f8')]", 16),
            ("[(('title', 'a'), '|u1'), ('b', '<f8', (2, 3))]", 49),
            ("[('p', [('x', '<f4'), ('y', '>i2')], (2,)), ('q', '|S3')]", 15),
            ("[('a', ('<u4', (2,)), (2,)), ('b', '|u1')]", 17),
            ("[('a', (([('x', '<u4'), ('y', '|S0')], (2, 1)), (3,)))]", 24),
            ("[(\"it's\", '<f4'), ('a\\\\', '<f4', ())]", 8),
        ] {
            assert_eq!(bytes(descr), Ok(want), "{descr}");
        }
    }

    #[test]
    fn faults() {
        for (what, descrs) in [
            (
                "unsupported type",
                &[
                    "'<f3'",
                    "'bfloat16'",
                    "'<i16'",
                    "''",
                    "'<'",
                    "'<x'",
                    "'<f4x'",
                    "'<f4[s]'",
                    "'<M8[s'",
                    "'<q8'",
                ][..],
            ),
            ("unsupported type", &["'<M8[foo]'", "'float32'", "'f4,f8'", "'<S'", "'|T16'"]),
            (
                "malformed",
                &["3", "True", "{}", "['<f4']", "[1]", "('<f4', (2,))", "[('a', 3)]", "[('a',)]"],
            ),
            ("expected", &["[(1, '<f4')]", "[('a', '<f4', 2)]", "[('a', '<f4', (1,), 2)]"]),
            ("expected", &["[(('t', 1), '<f4')]", "'<f4", "[('a', '<f4') ('b', '<f4')]"]),
            ("expected", &["[('a', ('<u4', (2,), (2,)))]", "[('a', ('<u4'))]"]),
            ("integers", &["[('a', ('<u4', 2))]", "[('a', ('<u4',))]"]),
            ("negative", &["[('a', '<f4', (-1,))]"]),
            ("integers", &["[('a', '<f4', (x,))]", "[('a', '<f4', (016,))]"]),
            ("pickle", &["'|O'", "'|O8'", "[('a', '<f4'), ('b', [('c', '|O')])]"]),
            (
                "more bytes than",
                &[
                    "[('a', '<f8', (4294967296, 4294967296))]",
                    "'<U9223372036854775807'",
                    "'<U536870912'",
                    "'|S99999999999999999999999'",
                    "[('a', '|V2000000000'), ('b', '|V2000000000')]",
                ],
            ),
        ] {
            for descr in descrs {
                let error = bytes(descr).unwrap_err();
                assert!(error.contains(what), "{descr}: {error}");
            }
        }
        let nested = |open: &str, close: &str| {
            bytes(&format!("[('a', {}'<f4'{})]", open.repeat(9999), close.repeat(9999)))
        };
        for deep in [nested("[('a', ", ")]"), nested("(", ", (2,))")] {
            assert!(deep.unwrap_err().contains("more than 64 deep"));
        }
    }
}
