//! Bytes of an item by a type string, as NumPy's `dtype(str)` understands it: `<f4`, `d`, `float32`, `M8[25us]`, `2i4,(3,)f8`.

use crate::error::HeaderError;

/// NumPy counts the bytes of an item in a C int.
pub const MOST: usize = i32::MAX as usize;

/// Bytes of a C `long`, and of a `long double` as it lies in memory, which differ from system to system.
const LONG: usize = if cfg!(windows) { 4 } else { size_of::<usize>() };
const LONG_DOUBLE: usize =
    if cfg!(windows) || cfg!(all(target_vendor = "apple", target_arch = "aarch64")) {
        8
    } else if cfg!(target_arch = "x86") {
        12
    } else {
        16
    };
const WORD: usize = size_of::<usize>();

/// Types by one letter.
const LETTERS: [(&[u8], usize); 10] = [
    (b"?bBc", 1),
    (b"hHe", 2),
    (b"iIf", 4),
    (b"qQdFmM", 8),
    (b"D", 16),
    (b"lL", LONG),
    (b"pPnN", WORD),
    (b"g", LONG_DOUBLE),
    (b"G", 2 * LONG_DOUBLE),
    // Of a length that is not said.
    (b"SUV", 0),
];

/// Types by name; none has a byte order before it.
const NAMES: [(&str, usize); 11] = [
    ("bool bool_ int8 byte uint8 ubyte", 1),
    ("int16 short uint16 ushort float16 half", 2),
    ("int32 intc uint32 uintc float32 single", 4),
    ("int64 longlong uint64 ulonglong float64 double float complex64 csingle", 8),
    ("datetime64 timedelta64", 8),
    ("complex128 cdouble complex", 16),
    ("long ulong", LONG),
    ("int int_ intp uint uintp", WORD),
    ("longdouble", LONG_DOUBLE),
    ("clongdouble", 2 * LONG_DOUBLE),
    ("bytes bytes_ str str_ unicode void a", 0),
];

/// Bytes of the type that a type string names.
pub fn item_bytes(text: &[u8]) -> Result<usize, HeaderError> {
    if text.contains(&b',') || matches!(text.first(), Some(b'(' | b'0'..=b'9')) {
        return record(text);
    }
    single(text)
}

/// Whether it is of bytes without a meaning.
pub fn is_void(text: &[u8]) -> bool {
    let rest = match text {
        [b'<' | b'>' | b'|' | b'=', rest @ ..] => rest,
        rest => rest,
    };
    text == b"void" || matches!(rest, [b'V', size @ ..] if size.iter().all(u8::is_ascii_digit))
}

/// Whether it is of several things of one type, of which there are fields but no arrays.
pub fn is_several(text: &[u8]) -> bool {
    let repeated = matches!(text.first(), Some(b'(' | b'0'..=b'9'));
    let alone = || !text[text.iter().position(|&byte| byte == b')').unwrap_or(0)..].contains(&b',');
    repeated && alone() && !text.starts_with(b"()") && !text.starts_with(b"1")
}

fn unknown(text: &[u8]) -> HeaderError {
    HeaderError::UnknownType { name: String::from_utf8_lossy(text).into_owned() }
}

/// One type: byte order, kind, size, for dates a unit.
fn single(text: &[u8]) -> Result<usize, HeaderError> {
    let unknown = || unknown(text);
    let (ordered, rest) = match text {
        [b'<' | b'>' | b'|' | b'=', rest @ ..] => (true, rest),
        rest => (false, rest),
    };
    let found = match rest {
        [b'O', size @ ..] if size.iter().all(u8::is_ascii_digit) => {
            return Err(HeaderError::Object);
        }
        b"object" | b"object_" if !ordered => return Err(HeaderError::Object),
        [letter] => of_letter(*letter),
        _ => None,
    };
    let found = found.or_else(|| dates(rest)).or_else(|| sized(rest));
    let found = found.or_else(|| if ordered { None } else { named(rest) }).ok_or_else(unknown)?;
    if found > MOST { Err(HeaderError::ItemOverflow) } else { Ok(found) }
}

fn of_letter(letter: u8) -> Option<usize> {
    LETTERS.iter().find(|(letters, _)| letters.contains(&letter)).map(|&(_, bytes)| bytes)
}

fn named(name: &[u8]) -> Option<usize> {
    let long_double = match name {
        b"float128" => Some(16),
        b"float96" => Some(12),
        b"complex256" => Some(32),
        b"complex192" => Some(24),
        _ => None,
    };
    if let Some(bytes) = long_double {
        return [LONG_DOUBLE, 2 * LONG_DOUBLE].contains(&bytes).then_some(bytes);
    }
    let has = |names: &str| names.split(' ').any(|known| known.as_bytes() == name);
    NAMES.iter().find(|(names, _)| has(names)).map(|&(_, bytes)| bytes)
}

/// A kind and a size in bytes, of text in characters.
fn sized(text: &[u8]) -> Option<usize> {
    let (&kind, size) = text.split_first()?;
    let (size, rest) = number(size)?;
    let sizes: &[usize] = match kind {
        b'b' => &[1],
        b'i' | b'u' => &[1, 2, 4, 8],
        b'f' => &[2, 4, 8, LONG_DOUBLE],
        b'c' => &[8, 16, 2 * LONG_DOUBLE],
        b'm' | b'M' => &[8],
        b'S' | b'a' | b'V' => return rest.is_empty().then_some(size),
        b'U' => return rest.is_empty().then_some(size.saturating_mul(4)),
        _ => return None,
    };
    (rest.is_empty() && sizes.contains(&size)).then_some(size)
}

/// A number as C reads it, behind white space and a sign; the largest there is for those that are larger.
fn number(text: &[u8]) -> Option<(usize, &[u8])> {
    let text = text.trim_ascii_start();
    let text = text.strip_prefix(b"+").unwrap_or(text);
    let digits = text.iter().take_while(|byte| byte.is_ascii_digit()).count();
    let (digits, rest) = text.split_at(digits);
    let add =
        |sum: usize, digit: &u8| sum.saturating_mul(10).saturating_add(usize::from(digit - b'0'));
    (!digits.is_empty()).then(|| (digits.iter().fold(0, add), rest))
}

/// Dates and spans of time with their unit.
fn dates(text: &[u8]) -> Option<usize> {
    let unit = [&b"M8"[..], b"m8", b"datetime64", b"timedelta64"]
        .iter()
        .find_map(|name| text.strip_prefix(*name))?;
    let unit = unit.strip_prefix(b"[")?.strip_suffix(b"]")?;
    is_unit(unit).then_some(8)
}

/// Units from the longest to the shortest, each with what it is of those after it, by which it can be divided.
const UNITS: [(&[u8], &[u64]); 14] = [
    (b"Y", &[12, 52, 365]),
    (b"M", &[4, 30, 720]),
    (b"W", &[7, 168, 10_080]),
    (b"D", &[24, 1_440, 86_400]),
    (b"h", &[60, 3_600]),
    (b"m", &[60, 60_000]),
    (b"s", &[1_000, 1_000_000]),
    (b"ms", &[1_000, 1_000_000]),
    (b"us", &[1_000, 1_000_000]),
    (b"ns", &[1_000, 1_000_000]),
    (b"ps", &[1_000, 1_000_000]),
    (b"fs", &[1_000]),
    (b"as", &[]),
    (b"generic", &[]),
];

/// A number, a unit and what it is divided by; the unit alone must be there.
fn is_unit(text: &[u8]) -> bool {
    let (times, rest) = number(text).unwrap_or((1, text));
    let letters = rest.iter().take_while(|byte| byte.is_ascii_alphabetic()).count();
    let (unit, rest) = rest.split_at(letters);
    let Some((_, parts)) = UNITS.iter().find(|(name, _)| *name == unit) else { return false };
    let divided = match rest {
        [] => true,
        [b'/', by @ ..] => match number(by) {
            Some((by @ 1.., [])) => by == 1 || parts.iter().any(|part| part % by as u64 == 0),
            _ => false,
        },
        _ => false,
    };
    divided && times <= MOST
}

/// Types after one another, with how often each stands there: `2i4,(3,)f8`.
fn record(text: &[u8]) -> Result<usize, HeaderError> {
    let mut depth = 0;
    let mut parts: Vec<&[u8]> = text
        .split(|&byte| {
            depth +=
                i32::from(matches!(byte, b'(' | b'[')) - i32::from(matches!(byte, b')' | b']'));
            depth == 0 && byte == b','
        })
        .collect();
    // A comma at the end makes a record of one.
    if parts.len() > 1 && parts.last().is_some_and(|part| part.trim_ascii().is_empty()) {
        parts.pop();
    }
    parts.iter().try_fold(0usize, |sum, part| {
        let bytes = sum.checked_add(repeated(part.trim_ascii()).ok_or_else(|| unknown(text))??);
        bytes.filter(|&bytes| bytes <= MOST).ok_or(HeaderError::ItemOverflow)
    })
}

/// A type behind a number or a shape.
fn repeated(part: &[u8]) -> Option<Result<usize, HeaderError>> {
    let (times, rest) = match part {
        [b'(', ..] => {
            let end = part.iter().position(|&byte| byte == b')')?;
            (shape(&part[1..end])?, &part[end + 1..])
        }
        [b'0'..=b'9', ..] => number(part)?,
        _ => (1, part),
    };
    // The byte order may stand before the number, behind it, or both.
    let rest = match rest.trim_ascii_start() {
        [b'<' | b'>' | b'|' | b'=', rest @ ..] if rest.first() == part.first() => rest,
        rest => rest,
    };
    Some(single(rest).and_then(|bytes| {
        bytes.checked_mul(times).filter(|&all| all <= MOST).ok_or(HeaderError::ItemOverflow)
    }))
}

/// Items of a tuple, or of a single extent in brackets.
fn shape(text: &[u8]) -> Option<usize> {
    if text.trim_ascii().is_empty() {
        return Some(1);
    }
    let extents: Vec<&[u8]> = text.split(|&byte| byte == b',').map(<[u8]>::trim_ascii).collect();
    let (last, before) = extents.split_last()?;
    let counted = if last.is_empty() { before } else { &extents[..] };
    counted.iter().try_fold(1usize, |product, extent| match number(extent) {
        Some((extent, [])) => Some(product.saturating_mul(extent)),
        _ => None,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_and_letters() {
        for (text, want) in [
            ("?", 1),
            ("d", 8),
            ("<e", 2),
            (">D", 16),
            ("float32", 4),
            ("int8", 1),
            ("complex", 16),
            ("datetime64[ns]", 8),
            ("<M8[25us]", 8),
            ("m8[D/4]", 8),
            ("M8[generic]", 8),
            ("S", 0),
            ("a5", 5),
            ("f04", 4),
            ("f4,f8", 12),
            ("f4,", 4),
            ("(2,3)f4", 24),
            ("3f4", 12),
            ("2i4, (3,)<f8", 32),
            ("()f4", 4),
            ("(2)f4", 8),
            ("U536870911", 2_147_483_644),
        ] {
            assert_eq!(item_bytes(text.as_bytes()).unwrap(), want, "{text}");
        }
    }

    #[test]
    fn what_names_no_type() {
        for text in [
            "",
            "<",
            "1",
            "?1",
            "c1",
            "h2",
            "d8",
            "i3",
            "i16",
            "f0",
            "f4 ",
            " f4",
            "<float32",
            "Float32",
            "M8[]",
            "M8[foo]",
            "M8[us",
            "M8[-3s]",
            "M8[s/3]",
            "M8[as/2]",
            "M8[10/3s]",
            "m4",
            "T",
            "f4 f8",
            "(2",
            "2",
            "f4[2]",
            ",",
            "S-1",
        ] {
            let got = item_bytes(text.as_bytes());
            assert!(matches!(got, Err(HeaderError::UnknownType { .. })), "{text}: {got:?}");
        }
        for text in [
            "S2147483648",
            "U536870912",
            "V99999999999999999999999",
            "9999999999f4",
            "V2000000000,V2000000000",
        ] {
            let got = item_bytes(text.as_bytes());
            assert!(matches!(got, Err(HeaderError::ItemOverflow)), "{text}: {got:?}");
        }
        for text in ["O", "|O8", "object", "f4,O"] {
            assert!(matches!(item_bytes(text.as_bytes()), Err(HeaderError::Object)), "{text}");
        }
    }
}
