//! The bytes of one item, from the `descr` entry of a .npy header.

use std::borrow::Cow;
use std::collections::HashSet;

use crate::error::HeaderError;
use crate::literal::{Node, Value, unescaped};
use crate::scalar::{self, MOST};

/// Axes that an array may have.
const MOST_AXES: usize = 64;

/// Bytes of an item of an array whose type `descr` describes.
pub fn array_item_bytes(descr: &Value<'_>) -> Result<usize, HeaderError> {
    let several = match &descr.node {
        Node::Tuple(_) => true,
        Node::Str(name) => scalar::is_several(&unescaped(name)),
        _ => false,
    };
    if several {
        // NumPy adds its axes to the array's, and then finds too few data.
        return Err(malformed("an item with a shape of its own is for fields alone"));
    }
    item_bytes(descr)
}

/// Bytes of an item, or of a field of it.
///
/// A description is a type string (`'<f4'`), a list of fields `(name, description[, shape])` whose
/// name may be `(title, name)`, or a pair `(description, shape)`. Padding is a field with no name.
fn item_bytes(descr: &Value<'_>) -> Result<usize, HeaderError> {
    match &descr.node {
        Node::Str(name) => scalar::item_bytes(&unescaped(name)),
        Node::List(fields) => record_bytes(fields),
        Node::Tuple(pair) => match &pair[..] {
            [base, shape] => repeated(item_bytes(base)?, shape),
            _ => Err(malformed("a type with a shape is a pair")),
        },
        _ => Err(malformed("neither a type string nor a list of fields")),
    }
}

/// Bytes of all fields, no two of which share a name or a title.
fn record_bytes(fields: &[Value<'_>]) -> Result<usize, HeaderError> {
    let mut names = HashSet::new();
    let mut bytes = 0usize;
    for field in fields {
        let field = Field::of(field)?;
        bytes = bytes.saturating_add(field.bytes);
        if bytes > MOST {
            return Err(HeaderError::ItemOverflow);
        }
        if field.is_padding {
            continue;
        }
        for name in field.names {
            if !names.insert(name) {
                return Err(malformed("two fields or titles have one name"));
            }
        }
    }
    Ok(bytes)
}

struct Field<'a> {
    /// Its name, and its title if it has one.
    names: Vec<Cow<'a, [u8]>>,
    bytes: usize,
    is_padding: bool,
}

impl<'a> Field<'a> {
    fn of(field: &Value<'a>) -> Result<Self, HeaderError> {
        let Node::Tuple(parts) = &field.node else {
            return Err(malformed("a field is a tuple"));
        };
        let (name, base, shape) = match &parts[..] {
            [name, base] => (name, base, None),
            [name, base, shape] => (name, base, Some(shape)),
            _ => return Err(malformed("a field has a name, a type and perhaps a shape")),
        };
        let names = match &name.node {
            Node::Str(name) => Some(vec![unescaped(name)]),
            Node::Tuple(titled) => match &titled[..] {
                [title, name] => strings([title, name]),
                _ => None,
            },
            _ => None,
        };
        let wrong = || malformed("a field's name is a string or a title and a name");
        let names = names.ok_or_else(wrong)?;
        let base_bytes = item_bytes(base)?;
        let bytes = shape.map_or(Ok(base_bytes), |shape| repeated(base_bytes, shape))?;
        // NumPy leaves out fields of nothing but bytes that have no name.
        let void = matches!(&base.node, Node::Str(name) if scalar::is_void(&unescaped(name)));
        let is_padding = void && shape.is_none() && names.len() == 1 && names[0].is_empty();
        Ok(Field { names, bytes, is_padding })
    }
}

fn strings<'a>(values: [&Value<'a>; 2]) -> Option<Vec<Cow<'a, [u8]>>> {
    let string = |value: &Value<'a>| match value.node {
        Node::Str(name) => Some(unescaped(name)),
        _ => None,
    };
    values.map(string).into_iter().collect()
}

/// Bytes of `shape` items of `base` bytes; the shape is an extent or a tuple of them.
fn repeated(base: usize, shape: &Value<'_>) -> Result<usize, HeaderError> {
    let extents = match &shape.node {
        Node::Tuple(extents) => &extents[..],
        _ => std::slice::from_ref(shape),
    };
    if extents.len() > MOST_AXES {
        return Err(malformed("a field has more axes than NumPy's arrays"));
    }
    if base == 0 {
        return Err(malformed("a field with a shape has a type of some size"));
    }
    extents.iter().try_fold(base, |product, extent| match extent.node {
        Node::Int(extent) if extent >= 0 => usize::try_from(extent)
            .ok()
            .and_then(|extent| product.checked_mul(extent))
            .filter(|&bytes| bytes <= MOST)
            .ok_or(HeaderError::ItemOverflow),
        _ => Err(malformed("a field's shape is made of integers of 0 and more")),
    })
}

fn malformed(what: &'static str) -> HeaderError {
    HeaderError::Descr { what }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::literal::parse;

    fn bytes(descr: &str) -> Result<usize, HeaderError> {
        item_bytes(&parse(descr.as_bytes(), false).unwrap())
    }

    #[test]
    fn sizes() {
        for (descr, want) in [
            ("'|b1'", 1),
            ("'<f2'", 2),
            ("'\\x3cf4'", 4),
            ("'float64'", 8),
            ("'f4,f8'", 12),
            ("'>i4'", 4),
            ("'=u8'", 8),
            ("'f8'", 8),
            ("'<f16'", 16),
            ("'<c32'", 32),
            ("'|S5'", 5),
            ("'<U3'", 12),
            ("'|V7'", 7),
            ("'<V2'", 2),
            ("'<M8'", 8),
            ("'<M8[ns]'", 8),
            ("'>m8[25s]'", 8),
            ("[]", 0),
            ("[('a', '|u1'), ('', '|V7'), ('b', '<f8')]", 16),
            ("[(('title', 'a'), '|u1'), ('b', '<f8', (2, 3))]", 49),
            ("[('p', [('x', '<f4'), ('y', '>i2')], (2,)), ('q', '|S3')]", 15),
            ("[('a', '<f4', 2)]", 8),
            ("('<f4', (2, 3))", 24),
        ] {
            assert_eq!(bytes(descr).unwrap(), want, "{descr}");
        }
    }

    #[test]
    fn faults() {
        for descr in [
            "'<f3'",
            "'<i16'",
            "''",
            "'<'",
            "'<x'",
            "'<f4x'",
            "'<f4[s]'",
            "'<M8[s'",
            "'<q8'",
            "'<M8[foo]'",
        ] {
            assert!(matches!(bytes(descr), Err(HeaderError::UnknownType { .. })), "{descr}");
        }
        for descr in [
            "3",
            "True",
            "None",
            "{}",
            "['<f4']",
            "[('a',)]",
            "[(1, '<f4')]",
            "[('a', '<f4', -1)]",
            "[('a', '<f4', 'x')]",
            "[(('t', 1), '<f4')]",
            "('<f4',)",
            "[('a', '<f4'), ('a', '<f8')]",
            "[(('a', 'b'), '<f4'), ('a', '<f8')]",
            "[('a', '<f4', (1,), 2)]",
        ] {
            assert!(matches!(bytes(descr), Err(HeaderError::Descr { .. })), "{descr}");
        }
        for descr in ["'|O'", "'|O8'", "[('a', '<f4'), ('b', [('c', '|O')])]"] {
            assert!(matches!(bytes(descr), Err(HeaderError::Object)), "{descr}");
        }
        for descr in [
            "[('a', '<f8', (4294967296, 4294967296))]",
            "'<U9223372036854775807'",
            "'|S99999999999999999999999'",
            "[('a', '|V2000000000'), ('b', '|V2000000000')]",
            "[('a', '|V18446744073709551615'), ('b', '|V1')]",
        ] {
            assert!(matches!(bytes(descr), Err(HeaderError::ItemOverflow)), "{descr}");
        }
    }
}
