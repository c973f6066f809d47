//! Values as the command line spells them.

use std::ffi::OsString;
use std::num::NonZeroUsize;
use std::path::PathBuf;
use std::str::FromStr;
use std::time::Duration;

use turntile::layout::{PatternError, Rearrangement};

/// A span of seconds.
pub fn seconds(text: &str) -> Result<Duration, String> {
    let seconds = text.trim().parse().ok().and_then(|s| Duration::try_from_secs_f64(s).ok());
    seconds.ok_or_else(|| "expected a number of seconds, as in 5 or 0.5".to_string())
}

fn whole<T: FromStr>(text: &str, least: usize) -> Result<T, String> {
    let expected = || format!("expected a whole number from {least} to {}, as in 4", usize::MAX);
    text.trim().parse().map_err(|_| expected())
}

/// A whole number.
pub fn count(text: &str) -> Result<usize, String> {
    whole(text, 0)
}

/// A whole number above zero.
pub fn positive(text: &str) -> Result<NonZeroUsize, String> {
    whole(text, 1)
}

/// Extents of the axes of an array: of a matrix rows and columns.
pub type Extents = Vec<usize>;

/// Numbers with separators between.
pub fn joined(numbers: impl IntoIterator<Item = impl ToString>, separator: &str) -> String {
    numbers.into_iter().map(|number| number.to_string()).collect::<Vec<_>>().join(separator)
}

/// What is to be planned: a shape, or the array of a file.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Subject {
    /// Extents as given.
    Extents(Extents),
    /// The file's.
    File(PathBuf),
}

/// Extents, or whatever else is not made of digits and `x` alone: a file's name.
pub fn subject(word: OsString) -> Result<Subject, String> {
    let of_shape = |c: char| c.is_ascii_digit() || matches!(c, 'x' | 'X' | ' ' | '-');
    // As others write products.
    let times = ['*', ',', '\u{d7}'];
    match word.to_str() {
        Some(text) if text.chars().all(of_shape) => extents(text).map(Subject::Extents),
        Some(text)
            if text.starts_with(|c: char| c.is_ascii_digit())
                && text.chars().all(|c| of_shape(c) || times.contains(&c)) =>
        {
            let shape = text.replace(times, "x").replace(' ', "");
            Err(format!("it is no shape: write {shape}; a file of that name is ./{text}"))
        }
        _ => Ok(Subject::File(word.into())),
    }
}

/// An order of axes as it is written: counted from 0, or from the last backwards, which is -1.
pub type Axes = Vec<isize>;

/// Rows and columns, `MxN`, or the extents of any number of axes.
pub fn extents(text: &str) -> Result<Extents, String> {
    let extent = |text: &str| {
        let extent = text.trim().parse().ok();
        extent.ok_or_else(|| {
            format!(
                "'{text}' is no extent: expected whole numbers from 0 to {}, as in 7200x1800",
                usize::MAX
            )
        })
    };
    text.split(['x', 'X']).map(extent).collect()
}

/// Axes, `2,0,1`.
pub fn axes(text: &str) -> Result<Axes, String> {
    split_axes(text, ',')
}

/// Axes between separators of another kind.
pub fn split_axes(text: &str, separator: char) -> Result<Axes, String> {
    let axis = |text: &str| {
        let axis = text.trim().parse().ok();
        axis.ok_or_else(|| {
            format!("'{text}' is no axis: expected their numbers, as in 2{separator}0{separator}1")
        })
    };
    text.split(separator).map(axis).collect()
}

/// The axes of an array of so many in the order that is written, counted from 0.
pub fn order_of(axes: &[isize], rank: usize) -> Result<Vec<usize>, String> {
    let what = joined(axes, ",");
    let has = match rank {
        0 => "none".to_string(),
        1 => "1, axis 0".to_string(),
        _ => format!("{rank}, axes 0 to {}", rank - 1),
    };
    if axes.len() != rank {
        return Err(format!("{what} names {} axes, the array has {has}", axes.len()));
    }
    let mut order = Vec::with_capacity(rank);
    for &axis in axes {
        let from_start = if axis < 0 { axis.checked_add_unsigned(rank) } else { Some(axis) };
        let number = from_start.and_then(|axis| usize::try_from(axis).ok());
        match number.filter(|&number| number < rank) {
            None => return Err(format!("{what}: there is no axis {axis}, the array has {has}")),
            Some(number) if order.contains(&number) => {
                return Err(format!("{what} names axis {number} twice; the array has {has}"));
            }
            Some(number) => order.push(number),
        }
    }
    Ok(order)
}

/// The size of a named axis, `p=16`.
pub fn size(text: &str) -> Result<(String, usize), String> {
    let (name, size) = text.split_once('=').unwrap_or_default();
    match size.trim().parse() {
        Ok(size) => Ok((name.trim().to_string(), size)),
        Err(_) => Err("expected the name of an axis and its size, as in p=16".to_string()),
    }
}

/// A pattern, with the sizes of some of its axes.
#[derive(Clone, Copy, Debug)]
pub struct PatternArg<'a> {
    /// As it was written.
    pub text: &'a str,
    /// The sizes, by name.
    pub sizes: &'a [(String, usize)],
}

impl PatternArg<'_> {
    /// What it makes of an array of that shape.
    pub fn of(&self, shape: &[usize]) -> Result<Rearrangement, PatternError> {
        let sizes: Vec<(&str, usize)> =
            self.sizes.iter().map(|(name, size)| (&**name, *size)).collect();
        Rearrangement::new(self.text, shape, &sizes)
    }
}

/// A number of bytes, or a share of something that is known later.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Amount {
    /// So many bytes.
    Bytes(usize),
    /// So many hundredths.
    Percent(f64),
}

impl Amount {
    /// Bytes, of a whole of so many where it is a share.
    pub fn of(self, whole: usize) -> usize {
        match self {
            Amount::Bytes(bytes) => bytes,
            // Past the largest number it stays at it.
            Amount::Percent(percent) => (whole as f64 * percent / 100.0) as usize,
        }
    }
}

/// A number of bytes or a share, `10%`.
pub fn amount(text: &str) -> Result<Amount, String> {
    let Some(number) = text.trim().strip_suffix('%') else {
        return byte_count(text).map(Amount::Bytes);
    };
    match number.trim().parse::<f64>() {
        Ok(percent) if percent.is_finite() && percent >= 0.0 => Ok(Amount::Percent(percent)),
        _ => Err("expected a number of hundredths, as in 10%".to_string()),
    }
}

/// A number of bytes or a share of what is free.
pub fn share(text: &str) -> Result<Amount, String> {
    match amount(text)? {
        Amount::Percent(percent) if percent > 100.0 => {
            Err("expected at most 100%, which is all that is free".to_string())
        }
        amount => Ok(amount),
    }
}

/// A number of bytes, with a suffix of powers of 1024 (K, M, G, T, or KiB and so on) or 1000 (KB, MB, GB, TB), or none.
pub fn byte_count(text: &str) -> Result<usize, String> {
    let text = text.trim();
    let digits = text.find(|c: char| !c.is_ascii_digit() && c != '.').unwrap_or(text.len());
    let (number, unit) = text.split_at(digits);
    let unit = unit.trim().to_ascii_lowercase();
    let (prefix, base) = match unit.strip_suffix('b') {
        None => (&*unit, 1024),
        Some(prefix) => prefix.strip_suffix('i').map_or((prefix, 1000), |prefix| (prefix, 1024)),
    };
    let power = ["", "k", "m", "g", "t"].iter().position(|known| *known == prefix);
    let scale = power.and_then(|power| usize::checked_pow(base, power as u32));
    let expected =
        || "expected a number of bytes, K, M, G, T, KiB, KB and so on, as in 64M or 1.5GiB";
    let too_many = || "more bytes than can be counted".to_string();
    let scale = scale.ok_or_else(expected)?;
    match (number.parse::<usize>(), number.parse::<f64>()) {
        (Ok(number), _) => number.checked_mul(scale).ok_or_else(too_many),
        // Digits alone, and too many of them.
        (Err(_), Ok(_)) if !number.contains('.') => Err(too_many()),
        (Err(_), Ok(number)) if scale > 1 && number * scale as f64 <= isize::MAX as f64 => {
            Ok((number * scale as f64) as usize)
        }
        (Err(_), Ok(_)) if scale > 1 => Err(too_many()),
        _ => Err(expected().to_string()),
    }
}

/// Threads that rayon can have.
const MOST_THREADS: usize = 65_535;

/// A number of threads.
pub fn threads(text: &str) -> Result<NonZeroUsize, String> {
    let number = positive(text).ok().filter(|number| number.get() <= MOST_THREADS);
    number.ok_or_else(|| format!("expected a number of threads from 1 to {MOST_THREADS}"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sizes_and_shapes() {
        assert_eq!(byte_count("0"), Ok(0));
        assert_eq!(byte_count("64MiB"), Ok(64 << 20));
        assert_eq!(byte_count("2 gb"), Ok(2_000_000_000));
        for (text, want) in [
            ("64M", 64 << 20),
            ("2g", 2 << 30),
            ("1.5MiB", 3 << 19),
            ("0.5K", 512),
            ("1.5 kb", 1500),
            ("1T", 1 << 40),
            ("3KiB", 3 << 10),
            ("3MiB", 3 << 20),
            ("3GiB", 3 << 30),
            ("3TiB", 3 << 40),
            ("3kb", 3000),
            ("3MB", 3_000_000),
            ("3TB", 3_000_000_000_000),
            ("3b", 3),
        ] {
            assert_eq!(byte_count(text), Ok(want), "{text}");
        }
        for text in ["", "MiB", "-1", "3 furlongs", "1.5", ".", "1.5.5M", "NaN", "1e3", "inf M"] {
            assert!(byte_count(text).unwrap_err().contains("as in 64M"), "{text}");
        }
        assert_eq!(amount("10%").map(|share| share.of(1000)), Ok(100));
        assert_eq!(amount("0.5 %").map(|share| share.of(1000)), Ok(5));
        assert_eq!(amount("2M").map(|bytes| bytes.of(1000)), Ok(2 << 20));
        for text in ["%", "-1%", "NaN%", "inf%", "x%"] {
            assert!(amount(text).unwrap_err().contains("as in 10%"), "{text}");
        }
        assert_eq!(threads("2").map(usize::from), Ok(2));
        for text in ["0", "-1", "", "2.5", "many", "65536", "99999999999999999999"] {
            assert!(threads(text).unwrap_err().contains("from 1 to 65535"), "{text}");
        }
        for text in ["99999999999GiB", "18446744073709551616", "9999999999.5G"] {
            assert!(byte_count(text).unwrap_err().contains("more bytes than"), "{text}");
        }
        assert_eq!(share("100%"), Ok(Amount::Percent(100.0)));
        assert!(share("100.1%").unwrap_err().contains("at most 100%"));
        assert_eq!(extents("3x5"), Ok(vec![3, 5]));
        assert_eq!(extents("20"), Ok(vec![20]));
        assert_eq!(extents("0 X 7x2"), Ok(vec![0, 7, 2]));
        for text in ["", "x", "3x", "3xx5", "-3x5", "3*5"] {
            assert!(extents(text).is_err(), "{text}");
        }
        for text in ["7200*1800", "7200, 1800", "7200\u{d7}1800"] {
            let error = subject(text.into()).unwrap_err();
            assert!(error.contains("write 7200x1800") && error.contains(&format!("./{text}")));
        }
        assert_eq!(subject("a*b".into()), Ok(Subject::File("a*b".into())));
    }

    #[test]
    fn axes_are_named_as_in_numpy() {
        let order = |text: &str, rank| order_of(&axes(text)?, rank);
        assert_eq!(order("2,0, 1", 3), Ok(vec![2, 0, 1]));
        assert_eq!(order("-1,0,-2", 3), Ok(vec![2, 0, 1]));
        assert_eq!(order("0", 1), Ok(vec![0]));
        for (text, rank, words) in [
            ("2,0", 3, "2,0 names 2 axes, the array has 3, axes 0 to 2"),
            ("0", 0, "0 names 1 axes, the array has none"),
            ("1", 1, "1: there is no axis 1, the array has 1, axis 0"),
            ("0,-3", 2, "0,-3: there is no axis -3, the array has 2, axes 0 to 1"),
            ("0,-9223372036854775808", 2, "there is no axis -9"),
        ] {
            let error = order(text, rank).unwrap_err();
            assert!(error.contains(words), "{text}: {error}");
        }
        assert!(order("2,-1,0", 3).unwrap_err().contains("names axis 2 twice"));
        for text in ["", "0;1", "0,1,", "a"] {
            assert!(axes(text).unwrap_err().contains("as in 2,0,1"), "{text}");
        }
    }
}
