//! Values as the command line spells them.

use std::time::Duration;

/// A span of seconds.
pub fn seconds(text: &str) -> Result<Duration, String> {
    let seconds: f64 = text.parse().map_err(|error| format!("{error}"))?;
    Duration::try_from_secs_f64(seconds).map_err(|error| error.to_string())
}

/// Rows and columns, `MxN`.
pub fn extents(text: &str) -> Result<(usize, usize), String> {
    let (rows, cols) =
        text.split_once(['x', 'X']).ok_or("expected rows and columns, as in 7200x1800")?;
    let extent =
        |what, text: &str| text.trim().parse().map_err(|error| format!("{what} '{text}': {error}"));
    Ok((extent("rows", rows)?, extent("columns", cols)?))
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
        assert_eq!(extents("3x5"), Ok((3, 5)));
        assert_eq!(extents("0 X 7"), Ok((0, 7)));
        for text in ["", "3", "x", "3x", "3x5x7", "-3x5", "3*5"] {
            assert!(extents(text).is_err(), "{text}");
        }
    }
}
