//! The part of Python's literal syntax that .npy headers use, each value with its place in the text.
//!
//! Linear in the length of the text and bounded in depth, whatever the text holds.

use std::borrow::Cow;
use std::ops::Range;

use crate::error::HeaderError;

/// Brackets within brackets that a header may hold; NumPy's own record types stay far below.
const MAX_DEPTH: usize = 64;

/// A value and where it stands in the text.
#[derive(Clone, Debug, PartialEq)]
pub struct Value<'a> {
    /// What it is.
    pub node: Node<'a>,
    /// Its bytes in the text, quotes and brackets included.
    pub span: Range<usize>,
}

/// The kinds of value.
#[derive(Clone, Debug, PartialEq)]
pub enum Node<'a> {
    /// The bytes between the quotes, escapes as written.
    Str(&'a [u8]),
    /// The bytes between the quotes of `b'...'`, which is no string.
    Bytes(&'a [u8]),
    /// Integers past the ends of `i128` are held at its ends.
    Int(i128),
    Bool(bool),
    None,
    Tuple(Vec<Value<'a>>),
    List(Vec<Value<'a>>),
    Dict(Vec<(Value<'a>, Value<'a>)>),
}

/// Reads the one value that `text` holds, with white space around it, and integers as Python 2 wrote them if they may be `long`.
pub fn parse(text: &[u8], long: bool) -> Result<Value<'_>, HeaderError> {
    let mut parser = Parser { text, at: 0, long };
    let value = parser.value(0)?;
    parser.skip_space();
    if parser.at < text.len() {
        return Err(parser.expected("the end of the header"));
    }
    Ok(value)
}

struct Parser<'a> {
    text: &'a [u8],
    at: usize,
    long: bool,
}

/// A string's bytes with its escapes resolved, as far as Python knows them.
pub fn unescaped(written: &[u8]) -> Cow<'_, [u8]> {
    if !written.contains(&b'\\') {
        return Cow::Borrowed(written);
    }
    let (mut bytes, mut rest) = (Vec::with_capacity(written.len()), written);
    while let Some((&first, after)) = rest.split_first() {
        let (byte, taken) = if first == b'\\' { escape(after) } else { (Some(first), 0) };
        bytes.extend(byte);
        rest = &after[taken..];
    }
    Cow::Owned(bytes)
}

/// What an escape stands for, and its bytes behind the backslash; that of a letter without a meaning is the backslash.
fn escape(rest: &[u8]) -> (Option<u8>, usize) {
    let number = |text: &[u8], radix| {
        let text = std::str::from_utf8(text).ok()?;
        u8::from_str_radix(text, radix).ok()
    };
    let plain = |byte| (Some(byte), 1);
    let unknown = (Some(b'\\'), 0);
    match rest {
        [b'\n', ..] => (None, 1),
        [byte @ (b'\\' | b'\'' | b'"'), ..] => plain(*byte),
        [b'a', ..] => plain(7),
        [b'b', ..] => plain(8),
        [b'f', ..] => plain(12),
        [b'n', ..] => plain(b'\n'),
        [b'r', ..] => plain(b'\r'),
        [b't', ..] => plain(b'\t'),
        [b'v', ..] => plain(11),
        [b'x', digits @ ..] if digits.len() >= 2 => match number(&digits[..2], 16) {
            Some(byte) => (Some(byte), 3),
            None => unknown,
        },
        [b'0'..=b'7', ..] => {
            let len = rest.iter().take(3).take_while(|byte| matches!(byte, b'0'..=b'7')).count();
            number(&rest[..len], 8).map_or(unknown, |byte| (Some(byte), len))
        }
        _ => unknown,
    }
}

impl<'a> Parser<'a> {
    fn expected(&self, expected: &'static str) -> HeaderError {
        HeaderError::Syntax { at: self.at, expected }
    }

    fn skip_space(&mut self) {
        while let Some(byte) = self.text.get(self.at) {
            match byte {
                b'#' => self.at += self.text[self.at..].iter().take_while(|&&c| c != b'\n').count(),
                byte if byte.is_ascii_whitespace() => self.at += 1,
                _ => break,
            }
        }
    }

    /// The next byte that is not white space, not yet taken.
    fn peek(&mut self) -> Option<u8> {
        self.skip_space();
        self.text.get(self.at).copied()
    }

    fn take(&mut self, byte: u8) -> bool {
        let found = self.peek() == Some(byte);
        self.at += usize::from(found);
        found
    }

    fn value(&mut self, depth: usize) -> Result<Value<'a>, HeaderError> {
        if depth > MAX_DEPTH {
            return Err(HeaderError::Depth { max: MAX_DEPTH });
        }
        let first = self.peek();
        let start = self.at;
        let node = match first {
            Some(b'{') => Node::Dict(self.dict(depth)?),
            Some(b'[') => Node::List(self.items(b']', depth)?.0),
            Some(b'(') => match self.items(b')', depth)? {
                (mut items, false) if items.len() == 1 => items.remove(0).node,
                (items, _) => Node::Tuple(items),
            },
            Some(quote @ (b'\'' | b'"')) => Node::Str(self.string(quote)?),
            Some(b'-' | b'+' | b'0'..=b'9') => Node::Int(self.integer()?),
            Some(b'A'..=b'Z' | b'a'..=b'z') => self.word()?,
            _ => return Err(self.expected("a value")),
        };
        Ok(Value { node, span: start..self.at })
    }

    /// The values up to `close`, and whether a comma followed the last: `(1,)` is a tuple, `(1)` is not.
    fn items(&mut self, close: u8, depth: usize) -> Result<(Vec<Value<'a>>, bool), HeaderError> {
        self.at += 1;
        let (mut items, mut comma) = (Vec::new(), false);
        while !self.take(close) {
            if !items.is_empty() && !comma {
                return Err(self.expected("a comma or a closing bracket"));
            }
            items.push(self.value(depth + 1)?);
            comma = self.take(b',');
        }
        Ok((items, comma))
    }

    fn dict(&mut self, depth: usize) -> Result<Vec<(Value<'a>, Value<'a>)>, HeaderError> {
        self.at += 1;
        let (mut entries, mut comma) = (Vec::new(), false);
        while !self.take(b'}') {
            if !entries.is_empty() && !comma {
                return Err(self.expected("a comma or a closing brace"));
            }
            let key = self.value(depth + 1)?;
            if !self.take(b':') {
                return Err(self.expected("a colon"));
            }
            entries.push((key, self.value(depth + 1)?));
            comma = self.take(b',');
        }
        Ok(entries)
    }

    fn string(&mut self, quote: u8) -> Result<&'a [u8], HeaderError> {
        let start = self.at + 1;
        let mut end = start;
        loop {
            match self.text.get(end) {
                Some(&byte) if byte == quote => break,
                Some(b'\\') => end += 2,
                Some(b'\n') | None => return Err(self.expected("a string that ends")),
                Some(_) => end += 1,
            }
        }
        self.at = end + 1;
        Ok(&self.text[start..end])
    }

    fn integer(&mut self) -> Result<i128, HeaderError> {
        let negative = self.text[self.at] == b'-';
        if matches!(self.text[self.at], b'-' | b'+') {
            self.at += 1;
            self.skip_space();
        }
        let radix = match &self.text[self.at..] {
            [b'0', b'x' | b'X', ..] => 16,
            [b'0', b'o' | b'O', ..] => 8,
            [b'0', b'b' | b'B', ..] => 2,
            _ => 10,
        };
        let digit_at = |at: usize| {
            self.text.get(at).and_then(|&byte| char::from(byte).to_digit(radix)).map(i128::from)
        };
        let start = self.at;
        let mut at = if radix == 10 { start } else { start + 2 };
        let (mut value, mut digits) = (0i128, 0);
        loop {
            if let Some(digit) = digit_at(at) {
                value = value.saturating_mul(i128::from(radix)).saturating_add(digit);
                digits += 1;
            } else {
                // Between digits, and behind the letter of another base.
                let joins = digit_at(at + 1).is_some() && (digits > 0 || radix != 10);
                if !(self.text.get(at) == Some(&b'_') && joins && self.text[at - 1] != b'_') {
                    break;
                }
            }
            at += 1;
        }
        // What was octal for Python 2 is nothing for Python 3.
        if digits == 0 || radix == 10 && self.text[start] == b'0' && value != 0 {
            return Err(self.expected("a number as Python 3 writes it"));
        }
        self.at = at;
        // Python 2 wrote its long integers so.
        if self.long && self.peek() == Some(b'L') {
            self.at += 1;
        } else {
            self.at = at;
        }
        Ok(if negative { -value } else { value })
    }

    fn word(&mut self) -> Result<Node<'a>, HeaderError> {
        let rest = &self.text[self.at..];
        let len = rest.iter().take_while(|byte| byte.is_ascii_alphanumeric()).count();
        let node = match &rest[..len] {
            b"True" => Node::Bool(true),
            b"False" => Node::Bool(false),
            b"None" => Node::None,
            // A prefixed string, as Python 2 could write them.
            b"u" | b"U" if matches!(rest.get(len), Some(b'\'' | b'"')) => {
                self.at += len;
                return Ok(Node::Str(self.string(rest[len])?));
            }
            // Without escapes, of which there are none in it.
            b"r" | b"R" if matches!(rest.get(len), Some(b'\'' | b'"')) => {
                self.at += len;
                let string = self.string(rest[len])?;
                if string.contains(&b'\\') {
                    return Err(self.expected("a string without backslashes"));
                }
                return Ok(Node::Str(string));
            }
            b"b" | b"B" if matches!(rest.get(len), Some(b'\'' | b'"')) => {
                self.at += len;
                return Ok(Node::Bytes(self.string(rest[len])?));
            }
            _ => return Err(self.expected("True, False or None")),
        };
        self.at += len;
        Ok(node)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn ints(values: &[Value<'_>]) -> Vec<i128> {
        values
            .iter()
            .map(|value| match value.node {
                Node::Int(int) => int,
                ref other => panic!("{other:?}"),
            })
            .collect()
    }

    #[test]
    fn tuples_and_brackets() {
        for (text, want) in [("()", vec![]), ("(3,)", vec![3]), ("( 3 , 4L,-5 )", vec![3, 4, -5])] {
            let Node::Tuple(items) = parse(text.as_bytes(), true).unwrap().node else {
                panic!("{text}")
            };
            assert_eq!(ints(&items), want, "{text}");
        }
        assert_eq!(parse(b"(3)", true).unwrap().node, Node::Int(3));
        assert_eq!(
            parse(b"9999999999999999999999999999999999999999999", true).unwrap().node,
            Node::Int(i128::MAX)
        );
    }

    #[test]
    fn strings_keep_their_escapes_and_spans() {
        let text = br#" "it's" "#;
        assert_eq!(parse(text, true).unwrap(), Value { node: Node::Str(b"it's"), span: 1..7 });
        assert_eq!(parse(br"'a\'b'", true).unwrap().node, Node::Str(br"a\'b"));
        assert_eq!(parse(b"u'x'", true).unwrap().node, Node::Str(b"x"));
    }

    #[test]
    fn numbers_as_python_writes_them() {
        for (text, want) in [
            ("0x1F", 31),
            ("0o17", 15),
            ("0b101", 5),
            ("1_000", 1000),
            ("0x_f", 15),
            ("- 5", -5),
            ("000", 0),
            ("7 L", 7),
        ] {
            assert_eq!(parse(text.as_bytes(), true).unwrap().node, Node::Int(want), "{text}");
        }
        assert!(parse(b"7L", false).is_err());
        assert_eq!(parse(b"# one\n7 # two", false).unwrap().node, Node::Int(7));
        assert_eq!(parse(b"b'x'", false).unwrap().node, Node::Bytes(b"x"));
    }

    #[test]
    fn escapes_are_resolved() {
        for (written, want) in [
            (&br"\x3cf4"[..], &b"<f4"[..]),
            (br"\\x3cf4", br"\x3cf4"),
            (br"\74f\x34", b"<f4"),
            (br"a\'b\n\q", b"a'b\n\\q"),
            (b"a\\\nb", b"ab"),
            (br"\xzz", br"\xzz"),
            (br"\x", br"\x"),
        ] {
            assert_eq!(&*unescaped(written), want, "{}", String::from_utf8_lossy(written));
        }
    }

    #[test]
    fn faults_are_errors() {
        for text in [
            "", "(", "(1", "(1 2)", "[1,,2]", "{1 2}", "{1:}", "'a", "'a\\", "'a\n'", "-", "+",
            "1 2", "016", "0_1", "0x", "1_", "_1", "--5", "1__0", "Truth", "(,)", "}", "1.5",
            "{'a': 1", "u", "\u{e9}",
        ] {
            assert!(
                matches!(parse(text.as_bytes(), true), Err(HeaderError::Syntax { .. })),
                "{text:?}"
            );
        }
    }

    #[test]
    fn depth_is_bounded() {
        // What a level opens with and closes with: brackets, keys of dictionaries, values of them.
        for (open, close) in [("[", "]"), ("(", ",)"), ("{", ":0}"), ("{0:", "}")] {
            let nested = |depth: usize| {
                [&open.repeat(depth), "1", &close.repeat(depth)].concat().into_bytes()
            };
            assert!(parse(&nested(MAX_DEPTH), true).is_ok(), "{open}");
            for depth in [MAX_DEPTH + 1, 1 << 20] {
                let refused = Err(HeaderError::Depth { max: MAX_DEPTH });
                assert_eq!(parse(&nested(depth), true), refused, "{depth} of {open}");
            }
        }
        let mixed = "[({0:{".repeat(1 << 18).into_bytes();
        assert_eq!(parse(&mixed, true), Err(HeaderError::Depth { max: MAX_DEPTH }));
    }
}
