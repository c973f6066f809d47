//! The unit of every speed that the command prints.

/// GB/s (10^9 bytes) of a transposition or a copy of `bytes` bytes: each is read once and written once.
pub fn gb_per_s(bytes: f64, seconds: f64) -> f64 {
    2.0 * bytes / seconds / 1e9
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn bytes_are_read_and_written() {
        assert_eq!(gb_per_s(1.5e9, 2.0), 1.5);
        assert_eq!(gb_per_s(4e9, 0.5), 16.0);
        assert_eq!(gb_per_s(0.0, 1.0), 0.0);
    }
}
