//! Human-readable sizes and durations.

/// Formats a number of bytes in powers of 1000: `512 B`, `937.8 KB`, `8.00 TB`.
pub fn bytes(count: usize) -> String {
    const UNITS: [&str; 4] = ["GB", "TB", "PB", "EB"];
    match count {
        0..1_000 => format!("{count} B"),
        1_000..1_000_000 => format!("{:.1} KB", count as f64 / 1e3),
        1_000_000..1_000_000_000 => format!("{:.1} MB", count as f64 / 1e6),
        _ => {
            let power = (count.ilog10() as usize / 3 - 3).min(UNITS.len() - 1);
            format!("{:.2} {}", count as f64 / 1e9 / 1e3f64.powi(power as i32), UNITS[power])
        }
    }
}

/// Formats seconds: `45 us`, `4.7 ms`, `12.3 s`, `4 min 57 s`, `2 h 5 min`.
pub fn duration(seconds: f64) -> String {
    let whole = seconds.round() as u64;
    match seconds {
        ..1e-3 => format!("{:.0} us", seconds * 1e6),
        ..1.0 => format!("{:.1} ms", seconds * 1e3),
        ..120.0 => format!("{seconds:.1} s"),
        ..7200.0 => format!("{} min {} s", whole / 60, whole % 60),
        _ => format!("{} h {} min", whole / 3600, whole / 60 % 60),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn units_follow_magnitude() {
        let sizes = [999, 1_000, 51_840_000, 8_000_000_000_000, usize::MAX].map(bytes);
        assert_eq!(sizes, ["999 B", "1.0 KB", "51.8 MB", "8.00 TB", "18.45 EB"]);
        let times = [0.0, 4.5e-5, 4.7e-3, 12.34, 297.1, 7500.0].map(duration);
        assert_eq!(times, ["0 us", "45 us", "4.7 ms", "12.3 s", "4 min 57 s", "2 h 5 min"]);
    }
}
