//! Values as the command line spells them.

use std::ffi::OsString;
use std::num::NonZeroUsize;
use std::path::PathBuf;
use std::str::FromStr;
use std::time::Duration;

use clap::builder::{PossibleValuesParser, TypedValueParser};
use turntile::bits::{BitOrder, Bits};
use turntile::layout::{PatternError, Rearrangement};

use crate::dtype;

/// Parses a span of seconds.
pub fn seconds(text: &str) -> Result<Duration, String> {
    let seconds = text.trim().parse().ok().and_then(|s| Duration::try_from_secs_f64(s).ok());
    seconds.ok_or_else(|| "expected a number of seconds, for example 5 or 0.5".to_string())
}

fn whole<T: FromStr>(text: &str, least: usize) -> Result<T, String> {
    let expected = || format!("expected an integer from {least} to {}, for example 4", usize::MAX);
    text.trim().parse().map_err(|_| expected())
}

/// Parses a positive integer.
pub fn positive(text: &str) -> Result<NonZeroUsize, String> {
    whole(text, 1)
}

/// Shape of an array: one extent per axis.
pub type Extents = Vec<usize>;

/// Joins numbers with a separator.
pub fn joined(numbers: impl IntoIterator<Item = impl ToString>, separator: &str) -> String {
    numbers.into_iter().map(|number| number.to_string()).collect::<Vec<_>>().join(separator)
}

/// Subject of a plan: a shape, or the array of a file.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Subject {
    /// A shape.
    Extents(Extents),
    /// A file that has one.
    File(PathBuf),
}

/// Parses a shape. A word of other characters than digits and `x` is a file name.
pub fn subject(word: OsString) -> Result<Subject, String> {
    let of_shape = |c: char| c.is_ascii_digit() || matches!(c, 'x' | 'X' | ' ' | '-');
    // Other spellings of products.
    let times = ['*', ',', '\u{d7}'];
    match word.to_str() {
        Some(text) if text.chars().all(of_shape) => extents(text).map(Subject::Extents),
        Some(text)
            if text.starts_with(|c: char| c.is_ascii_digit())
                && text.chars().all(|c| of_shape(c) || times.contains(&c)) =>
        {
            let shape = text.replace(times, "x").replace(' ', "");
            Err(format!("not a shape: write {shape}, or ./{text} for a file of that name"))
        }
        _ => Ok(Subject::File(word.into())),
    }
}

/// A permutation of axes as written: counted from 0, or backwards from -1, the last.
pub type Axes = Vec<isize>;

/// Parses a shape, `7200x1800`, with any number of axes.
pub fn extents(text: &str) -> Result<Extents, String> {
    let extent = |text: &str| {
        text.trim().parse().map_err(|_| {
            let most = usize::MAX;
            format!(
                "invalid extent '{text}': expected integers from 0 to {most}, for example 7200x1800"
            )
        })
    };
    text.split(['x', 'X']).map(extent).collect()
}

/// Shape of a headerless array. At most one extent is unknown (`None`, written -1).
pub type RawShape = Vec<Option<usize>>;

/// Parses a shape with at most one extent of -1.
pub fn raw_shape(text: &str) -> Result<RawShape, String> {
    let extent = |text: &str| match text.trim() {
        "-1" => Ok(None),
        other => extents(other).map(|extents| Some(extents[0])),
    };
    let shape: RawShape = text.split(['x', 'X']).map(extent).collect::<Result<_, _>>()?;
    match shape.iter().filter(|extent| extent.is_none()).count() {
        0 | 1 => Ok(shape),
        several => Err(format!("{several} extents are -1, at most one can be computed")),
    }
}

/// Parses the bits of an element of less than a byte.
pub fn bits(text: &str) -> Result<Bits, String> {
    let found = text.parse().ok().and_then(Bits::new);
    found.ok_or_else(|| format!("invalid number of bits '{text}': expected 1, 2 or 4"))
}

/// Parses the order of the elements in a byte.
pub fn bit_order() -> impl TypedValueParser<Value = BitOrder> {
    PossibleValuesParser::new(["big", "little"]).map(|name| match &*name {
        "big" => BitOrder::Big,
        _ => BitOrder::Little,
    })
}

/// Parses a permutation of axes, `2,0,1`.
pub fn axes(text: &str) -> Result<Axes, String> {
    let axis = |text: &str| {
        let expected = || format!("invalid axis '{text}': expected integers, for example 2,0,1");
        text.trim().parse().map_err(|_| expected())
    };
    text.split(',').map(axis).collect()
}

/// Returns the axes that `axes` writes for an array of `ndim` axes, counted from 0. None is repeated.
pub fn distinct(axes: &[isize], ndim: usize) -> Result<Vec<usize>, String> {
    let what = joined(axes, ",");
    let mut found = Vec::with_capacity(axes.len());
    for &axis in axes {
        let from_start = if axis < 0 { axis.checked_add_unsigned(ndim) } else { Some(axis) };
        let number = from_start.and_then(|axis| usize::try_from(axis).ok());
        match number.filter(|&number| number < ndim) {
            None => {
                return Err(format!(
                    "{what}: axis {axis} is out of bounds for an array of dimension {ndim}"
                ));
            }
            Some(number) if found.contains(&number) => {
                return Err(format!("{what}: repeated axis {number}"));
            }
            Some(number) => found.push(number),
        }
    }
    Ok(found)
}

/// Returns the permutation that `axes` writes for an array of `ndim` axes, counted from 0.
pub fn permutation(axes: &[isize], ndim: usize) -> Result<Vec<usize>, String> {
    let what = joined(axes, ",");
    if axes.len() != ndim {
        let count = axes.len();
        return Err(format!(
            "axes don't match array: --axes {what} has {count}, the array has {ndim}"
        ));
    }
    distinct(axes, ndim).map_err(|what| format!("--axes {what}"))
}

/// Parses the extent of a named axis, `p=16`.
pub fn size(text: &str) -> Result<(String, usize), String> {
    let (name, size) = text.split_once('=').unwrap_or_default();
    match size.trim().parse() {
        Ok(size) => Ok((name.trim().to_string(), size)),
        Err(_) => Err("expected the name of an axis and its extent, for example p=16".to_string()),
    }
}

/// A pattern, and the extents of some of its axes.
#[derive(Clone, Copy, Debug)]
pub struct PatternArg<'a> {
    /// The pattern as written.
    pub text: &'a str,
    /// Extents by name.
    pub sizes: &'a [(String, usize)],
}

impl PatternArg<'_> {
    /// Applies the pattern to an array of shape `shape`.
    pub fn of(&self, shape: &[usize]) -> Result<Rearrangement, PatternError> {
        let sizes: Vec<(&str, usize)> =
            self.sizes.iter().map(|(name, size)| (&**name, *size)).collect();
        Rearrangement::new(self.text, shape, &sizes)
    }
}

/// Parses a number of bytes. K, M, G and T are powers of 1024, with or without B or iB.
pub fn byte_count(text: &str) -> Result<usize, String> {
    let parsed = parse_size::Config::new().with_binary().parse_size(text);
    parsed.ok().and_then(|bytes| bytes.try_into().ok()).ok_or_else(|| {
        "expected a number of bytes with a unit of K, M, G or T, for example 64M or 1.5G"
            .to_string()
    })
}

/// An element type: its size, and how a .npy header describes it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Dtype {
    /// The type as a .npy header has it, without quotes: `<f4`, `|V12`.
    pub descr: String,
    /// Bytes of an element, at least 1.
    pub itemsize: usize,
}

/// Types by the names that libraries give them, and how NumPy stores them.
const NAMED: [(&str, &str); 8] = [
    ("bool", "b1"),
    ("half", "f2"),
    ("double", "f8"),
    ("bfloat16", "V2"),
    ("float", "f"),
    ("complex", "c"),
    ("uint", "u"),
    ("int", "i"),
];

/// Parses an element type: NumPy's codes (`f4`, `>i2`, `V12` for 12 bytes of any kind) and names (`float32`, `bfloat16`).
pub fn dtype(text: &str) -> Result<Dtype, String> {
    let text = text.trim();
    let order = text.chars().next().filter(|c| "<>|=".contains(*c));
    let rest = text.trim_start_matches(['<', '>', '|', '=']);
    // `float8_e4m3fn` and others of 8 bits differ in what no permutation looks at.
    let name = rest.split('_').next().unwrap_or_default();
    let (kind, bits) = name.split_at(name.find(|c: char| c.is_ascii_digit()).unwrap_or(name.len()));
    let bytes =
        bits.parse().ok().filter(|bits: &usize| bits.is_multiple_of(8)).map(|bits| bits / 8);
    let code = match NAMED.iter().find(|row| row.0 == rest || row.0 == kind) {
        Some((known, code)) if *known == rest => code.to_string(),
        Some((_, code)) => bytes.map_or(String::new(), |bytes| format!("{code}{bytes}")),
        None => rest.to_string(),
    };
    let one_byte = matches!(&*code, "b1" | "i1" | "u1") || code.starts_with(['V', 'S']);
    let native = if cfg!(target_endian = "big") { '>' } else { '<' };
    let order = if one_byte { '|' } else { order.filter(|c| "<>".contains(*c)).unwrap_or(native) };
    let descr = format!("{order}{code}");
    let expected = || {
        "expected a type of NumPy, for example f4, >i2, uint8, bfloat16, or V12 for any elements of 12 bytes"
            .to_string()
    };
    let itemsize = dtype::itemsize(&descr).ok().filter(|&bytes| bytes > 0).ok_or_else(expected)?;
    Ok(Dtype { descr, itemsize })
}

/// Parses a field of a headerless record: a type, a number of bytes, and how many follow each other: `240`, `i2`, `385*i2`.
pub fn field(text: &str) -> Result<(usize, Dtype), String> {
    let (count, kind) = text.split_once('*').unwrap_or(("1", text));
    let count = positive(count).map_err(|_| format!("invalid number of fields '{count}'"))?;
    let is_number = kind.trim().bytes().all(|byte| byte.is_ascii_digit());
    let kind = if is_number { dtype(&format!("V{}", kind.trim())) } else { dtype(kind) };
    Ok((count.get(), kind?))
}

/// Threads that rayon can have.
const MOST_THREADS: usize = 65_535;

/// Parses a number of threads.
pub fn threads(text: &str) -> Result<NonZeroUsize, String> {
    let number = positive(text).ok().filter(|number| number.get() <= MOST_THREADS);
    number.ok_or_else(|| format!("expected a number of threads from 1 to {MOST_THREADS}"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sizes_and_shapes_are_parsed() {
        for (text, want) in [
            ("0", 0),
            ("64MiB", 64 << 20),
            ("64M", 64 << 20),
            ("2g", 2 << 30),
            ("1.5MiB", 3 << 19),
            ("0.5K", 512),
            ("1T", 1 << 40),
            ("3KiB", 3 << 10),
            ("3 MB", 3 << 20),
        ] {
            assert_eq!(byte_count(text), Ok(want), "{text}");
        }
        for text in ["", "MiB", "-1", "3 furlongs", ".", "1.5.5M", "NaN", "99999999999GiB"] {
            assert!(byte_count(text).unwrap_err().contains("for example 64M"), "{text}");
        }
        assert_eq!(threads("2").map(usize::from), Ok(2));
        for text in ["0", "-1", "", "2.5", "many", "65536", "99999999999999999999"] {
            assert!(threads(text).unwrap_err().contains("from 1 to 65535"), "{text}");
        }
        assert_eq!(extents("3x5"), Ok(vec![3, 5]));
        assert_eq!(extents("20"), Ok(vec![20]));
        assert_eq!(extents("0 X 7x2"), Ok(vec![0, 7, 2]));
        for text in ["", "x", "3x", "3xx5", "-3x5", "3*5"] {
            assert!(extents(text).is_err(), "{text}");
        }
        assert_eq!(raw_shape("-1x385"), Ok(vec![None, Some(385)]));
        for text in ["-1x-1", "-2x3", "", "?x3"] {
            assert!(raw_shape(text).is_err(), "{text}");
        }
        for text in ["7200*1800", "7200, 1800", "7200\u{d7}1800"] {
            let error = subject(text.into()).unwrap_err();
            assert!(error.contains("write 7200x1800") && error.contains(&format!("./{text}")));
        }
        assert_eq!(subject("a*b".into()), Ok(Subject::File("a*b".into())));
    }

    #[test]
    fn types_have_the_names_that_numpy_gives_them() {
        for (text, descr, itemsize) in [
            ("f4", "<f4", 4),
            (">i2", ">i2", 2),
            ("<f1", "<f1", 1),
            ("uint8", "|u1", 1),
            ("float32", "<f4", 4),
            ("complex128", "<c16", 16),
            ("bfloat16", "|V2", 2),
            ("float8_e5m2", "<f1", 1),
            ("bool", "|b1", 1),
            ("double", "<f8", 8),
            ("V12", "|V12", 12),
            ("S5", "|S5", 5),
            ("U3", "<U3", 12),
            ("M8[ns]", "<M8[ns]", 8),
        ] {
            assert_eq!(dtype(text), Ok(Dtype { descr: descr.into(), itemsize }), "{text}");
        }
        for text in ["", "f3", "4", "float31", "int7", "O", "V0", "x4", "f4,f8", "int4"] {
            assert!(dtype(text).unwrap_err().contains("expected a type"), "{text}");
        }
        assert_eq!(field("385*i2").map(|(count, kind)| (count, kind.itemsize)), Ok((385, 2)));
        assert_eq!(field("240").map(|(count, kind)| (count, kind.descr)), Ok((1, "|V240".into())));
        for text in ["0*4", "*4", "4*", "0", "2*2*2", "-1"] {
            assert!(field(text).is_err(), "{text}");
        }
    }

    #[test]
    fn axes_are_named_as_in_numpy() {
        let order = |text: &str, ndim| permutation(&axes(text)?, ndim);
        assert_eq!(order("2,0, 1", 3), Ok(vec![2, 0, 1]));
        assert_eq!(order("-1,0,-2", 3), Ok(vec![2, 0, 1]));
        assert_eq!(order("0", 1), Ok(vec![0]));
        for (text, ndim, words) in [
            ("2,0", 3, "axes don't match array: --axes 2,0 has 2, the array has 3"),
            ("0", 0, "--axes 0 has 1, the array has 0"),
            ("1", 1, "axis 1 is out of bounds for an array of dimension 1"),
            ("0,-3", 2, "axis -3 is out of bounds for an array of dimension 2"),
            ("0,-9223372036854775808", 2, "axis -9"),
            ("2,-1,0", 3, "--axes 2,-1,0: repeated axis 2"),
        ] {
            let error = order(text, ndim).unwrap_err();
            assert!(error.contains(words), "{text}: {error}");
        }
        for text in ["", "0;1", "0,1,", "a"] {
            assert!(axes(text).unwrap_err().contains("for example 2,0,1"), "{text}");
        }
    }
}
