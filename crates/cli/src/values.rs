//! Values as the command line spells them.

use std::time::Duration;

/// A span of seconds.
pub fn seconds(text: &str) -> Result<Duration, String> {
    let seconds: f64 = text.parse().map_err(|error| format!("{error}"))?;
    Duration::try_from_secs_f64(seconds).map_err(|error| error.to_string())
}

/// Extents of the axes of an array: of a matrix rows and columns.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Extents(pub Vec<usize>);

/// An order of axes.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Axes(pub Vec<usize>);

/// Rows and columns, `MxN`, or the extents of more axes.
pub fn extents(text: &str) -> Result<Extents, String> {
    if !text.contains(['x', 'X']) {
        return Err("expected rows and columns, as in 7200x1800, or more extents".to_string());
    }
    let extent =
        |text: &str| text.trim().parse().map_err(|error| format!("extent '{text}': {error}"));
    Ok(Extents(text.split(['x', 'X']).map(extent).collect::<Result<_, _>>()?))
}

/// Axes counted from 0, `2,0,1`.
pub fn axes(text: &str) -> Result<Axes, String> {
    split_axes(text, ',')
}

/// Axes between separators of another kind.
pub fn split_axes(text: &str, separator: char) -> Result<Axes, String> {
    let axis = |text: &str| text.trim().parse().map_err(|error| format!("axis '{text}': {error}"));
    let axes = text.split(separator).map(axis).collect::<Result<Vec<usize>, String>>()?;
    let named = |axis| axes.iter().filter(|&&other| other == axis).count() == 1;
    if (0..axes.len()).all(named) {
        return Ok(Axes(axes));
    }
    Err(format!("expected each of the axes 0 to {} once", axes.len() - 1))
}

/// A number of bytes, with a suffix of powers of 1024 (KiB, MiB, GiB) or 1000 (KB, MB, GB), or none.
pub fn byte_count(text: &str) -> Result<usize, String> {
    const UNITS: [(&str, usize); 8] = [
        ("", 1),
        ("b", 1),
        ("kib", 1 << 10),
        ("mib", 1 << 20),
        ("gib", 1 << 30),
        ("kb", 1_000),
        ("mb", 1_000_000),
        ("gb", 1_000_000_000),
    ];
    let digits = text.find(|c: char| !c.is_ascii_digit()).unwrap_or(text.len());
    let (number, unit) = text.split_at(digits);
    let unit = unit.trim().to_ascii_lowercase();
    let scale = UNITS.iter().find(|(name, _)| *name == unit).map(|&(_, scale)| scale);
    let (Some(scale), false) = (scale, number.is_empty()) else {
        let expected = "expected a whole number of bytes, KiB, MiB, GiB, KB, MB or GB, as in 64MiB";
        return Err(expected.to_string());
    };
    let bytes = number.parse::<usize>().ok().and_then(|number| number.checked_mul(scale));
    bytes.ok_or_else(|| "more bytes than can be counted".to_string())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sizes_and_shapes() {
        assert_eq!(byte_count("0"), Ok(0));
        assert_eq!(byte_count("64MiB"), Ok(64 << 20));
        assert_eq!(byte_count("2 gb"), Ok(2_000_000_000));
        for text in ["", "MiB", "-1", "1.5GiB", "3 furlongs"] {
            assert!(byte_count(text).unwrap_err().contains("as in 64MiB"), "{text}");
        }
        for text in ["99999999999GiB", "18446744073709551616"] {
            assert!(byte_count(text).unwrap_err().contains("more bytes than"), "{text}");
        }
        assert_eq!(extents("3x5"), Ok(Extents(vec![3, 5])));
        assert_eq!(extents("0 X 7x2"), Ok(Extents(vec![0, 7, 2])));
        for text in ["", "3", "x", "3x", "3xx5", "-3x5", "3*5"] {
            assert!(extents(text).is_err(), "{text}");
        }
        assert_eq!(axes("2,0, 1"), Ok(Axes(vec![2, 0, 1])));
        assert_eq!(axes("0"), Ok(Axes(vec![0])));
        for text in ["", "1", "0,0", "0,2", "-1,0", "0;1", "0,1,"] {
            assert!(axes(text).is_err(), "{text}");
        }
    }
}
