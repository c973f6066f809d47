//! The bytes of one item, from the `descr` entry of a .npy header.

use crate::error::HeaderError;
use crate::literal::{Node, Value};

/// Bytes of an item of the type that `descr` describes.
///
/// A description is a type string (`'<f4'`), a list of fields `(name, description[, shape])` whose
/// name may be `(title, name)`, or a pair `(description, shape)`. Padding is a field with no name.
pub fn item_bytes(descr: &Value<'_>) -> Result<usize, HeaderError> {
    match &descr.node {
        Node::Str(name) => scalar_bytes(name),
        Node::List(fields) => fields.iter().try_fold(0usize, |sum, field| {
            sum.checked_add(field_bytes(field)?).ok_or(HeaderError::ItemOverflow)
        }),
        Node::Tuple(pair) => match &pair[..] {
            [base, shape] => repeated(item_bytes(base)?, shape),
            _ => Err(malformed("a type with a shape is a pair")),
        },
        _ => Err(malformed("neither a type string nor a list of fields")),
    }
}

fn field_bytes(field: &Value<'_>) -> Result<usize, HeaderError> {
    let Node::Tuple(parts) = &field.node else {
        return Err(malformed("a field is a tuple"));
    };
    let (name, base, shape) = match &parts[..] {
        [name, base] => (name, base, None),
        [name, base, shape] => (name, base, Some(shape)),
        _ => return Err(malformed("a field has a name, a type and perhaps a shape")),
    };
    let named = match &name.node {
        Node::Str(_) => true,
        Node::Tuple(titled) => {
            matches!(&titled[..], [title, name] if is_string(title) && is_string(name))
        }
        _ => false,
    };
    if !named {
        return Err(malformed("a field's name is a string or a title and a name"));
    }
    let base = item_bytes(base)?;
    shape.map_or(Ok(base), |shape| repeated(base, shape))
}

fn is_string(value: &Value<'_>) -> bool {
    matches!(value.node, Node::Str(_))
}

/// Bytes of `shape` items of `base` bytes; the shape is an extent or a tuple of them.
fn repeated(base: usize, shape: &Value<'_>) -> Result<usize, HeaderError> {
    let extents = match &shape.node {
        Node::Tuple(extents) => &extents[..],
        _ => std::slice::from_ref(shape),
    };
    extents.iter().try_fold(base, |product, extent| match extent.node {
        Node::Int(extent) if extent >= 0 => usize::try_from(extent)
            .ok()
            .and_then(|extent| product.checked_mul(extent))
            .ok_or(HeaderError::ItemOverflow),
        _ => Err(malformed("a field's shape is made of integers of 0 and more")),
    })
}

/// Bytes of the type that a type string names: byte order, kind, size, for dates a unit.
fn scalar_bytes(name: &[u8]) -> Result<usize, HeaderError> {
    let unknown = || HeaderError::UnknownType { name: String::from_utf8_lossy(name).into_owned() };
    let rest = match name {
        [b'<' | b'>' | b'|' | b'=', rest @ ..] => rest,
        rest => rest,
    };
    let (&kind, rest) = rest.split_first().ok_or_else(unknown)?;
    if kind == b'O' {
        return Err(HeaderError::Object);
    }
    let digits = rest.iter().take_while(|byte| byte.is_ascii_digit()).count();
    let (size, unit) = rest.split_at(digits);
    let size: usize =
        std::str::from_utf8(size).ok().and_then(|size| size.parse().ok()).ok_or_else(unknown)?;
    let sizes: &[usize] = match kind {
        b'b' => &[1],
        b'i' | b'u' => &[1, 2, 4, 8],
        b'f' => &[2, 4, 8, 12, 16],
        b'c' => &[8, 16, 24, 32],
        b'm' | b'M' => &[8],
        b'S' | b'a' | b'U' | b'V' => &[],
        _ => return Err(unknown()),
    };
    if !(sizes.is_empty() || sizes.contains(&size)) {
        return Err(unknown());
    }
    let dated = matches!(kind, b'm' | b'M') && unit.starts_with(b"[") && unit.ends_with(b"]");
    if !(unit.is_empty() || dated) {
        return Err(unknown());
    }
    if kind == b'U' { size.checked_mul(4).ok_or(HeaderError::ItemOverflow) } else { Ok(size) }
}

fn malformed(what: &'static str) -> HeaderError {
    HeaderError::Descr { what }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::literal::parse;

    fn bytes(descr: &str) -> Result<usize, HeaderError> {
        item_bytes(&parse(descr.as_bytes()).unwrap())
    }

    #[test]
    fn sizes() {
        for (descr, want) in [
            ("'|b1'", 1),
            ("'<f2'", 2),
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
            "'<f'",
            "'f4,f8'",
            "'float64'",
            "'<f4x'",
            "'<f4[s]'",
            "'<M8[s'",
            "'|S99999999999999999999999'",
            "'<q8'",
            "'\\x3cf4'",
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
            "[('a', '|V18446744073709551615'), ('b', '|V1')]",
        ] {
            assert!(matches!(bytes(descr), Err(HeaderError::ItemOverflow)), "{descr}");
        }
    }
}
