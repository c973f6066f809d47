//! The part of Python's literal syntax that .npy headers use, each value with its place in the text.
//!
//! Linear in the length of the text and bounded in depth, whatever the text holds.

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
    /// Integers past the ends of `i128` are held at its ends.
    Int(i128),
    Bool(bool),
    None,
    Tuple(Vec<Value<'a>>),
    List(Vec<Value<'a>>),
    Dict(Vec<(Value<'a>, Value<'a>)>),
}

/// Reads the one value that `text` holds, with white space around it.
pub fn parse(text: &[u8]) -> Result<Value<'_>, HeaderError> {
    let mut parser = Parser { text, at: 0 };
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
}

impl<'a> Parser<'a> {
    fn expected(&self, expected: &'static str) -> HeaderError {
        HeaderError::Syntax { at: self.at, expected }
    }

    fn skip_space(&mut self) {
        while self.text.get(self.at).is_some_and(u8::is_ascii_whitespace) {
            self.at += 1;
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
        self.at += usize::from(matches!(self.text[self.at], b'-' | b'+'));
        let (start, mut value) = (self.at, 0i128);
        while let Some(digit @ b'0'..=b'9') = self.text.get(self.at) {
            value = value.saturating_mul(10).saturating_add(i128::from(digit - b'0'));
            self.at += 1;
        }
        if self.at == start {
            return Err(self.expected("a digit"));
        }
        // Python 2 wrote its long integers so.
        self.at += usize::from(self.text.get(self.at) == Some(&b'L'));
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
            b"u" | b"b" if matches!(rest.get(len), Some(b'\'' | b'"')) => {
                self.at += len;
                return Ok(Node::Str(self.string(rest[len])?));
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
            let Node::Tuple(items) = parse(text.as_bytes()).unwrap().node else { panic!("{text}") };
            assert_eq!(ints(&items), want, "{text}");
        }
        assert_eq!(parse(b"(3)").unwrap().node, Node::Int(3));
        assert_eq!(
            parse(b"9999999999999999999999999999999999999999999").unwrap().node,
            Node::Int(i128::MAX)
        );
    }

    #[test]
    fn strings_keep_their_escapes_and_spans() {
        let text = br#" "it's" "#;
        assert_eq!(parse(text).unwrap(), Value { node: Node::Str(b"it's"), span: 1..7 });
        assert_eq!(parse(br"'a\'b'").unwrap().node, Node::Str(br"a\'b"));
        assert_eq!(parse(b"u'x'").unwrap().node, Node::Str(b"x"));
    }

    #[test]
    fn faults_are_errors() {
        for text in [
            "", "(", "(1", "(1 2)", "[1,,2]", "{1 2}", "{1:}", "'a", "'a\\", "'a\n'", "-", "+",
            "1 2", "Truth", "(,)", "}", "1.5", "{'a': 1", "u", "\u{e9}",
        ] {
            assert!(matches!(parse(text.as_bytes()), Err(HeaderError::Syntax { .. })), "{text:?}");
        }
    }

    #[test]
    fn depth_is_bounded() {
        // What a level opens with and closes with: brackets, keys of dictionaries, values of them.
        for (open, close) in [("[", "]"), ("(", ",)"), ("{", ":0}"), ("{0:", "}")] {
            let nested = |depth: usize| {
                [&open.repeat(depth), "1", &close.repeat(depth)].concat().into_bytes()
            };
            assert!(parse(&nested(MAX_DEPTH)).is_ok(), "{open}");
            for depth in [MAX_DEPTH + 1, 1 << 20] {
                let refused = Err(HeaderError::Depth { max: MAX_DEPTH });
                assert_eq!(parse(&nested(depth)), refused, "{depth} of {open}");
            }
        }
        let mixed = "[({0:{".repeat(1 << 18).into_bytes();
        assert_eq!(parse(&mixed), Err(HeaderError::Depth { max: MAX_DEPTH }));
    }
}
