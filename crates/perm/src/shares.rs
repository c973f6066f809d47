//! Items shared out evenly.

use std::ops::Range;

/// Items `0..items` cut into `parts` runs of nearly equal length: the one of `part`.
pub fn share(items: usize, parts: usize, part: usize) -> Range<usize> {
    let (each, more) = (items / parts, items % parts);
    let start = part * each + part.min(more);
    start..start + each + usize::from(part < more)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn shares_cover_all_items_once() {
        for items in 0..40 {
            for parts in 1..9 {
                let all: Vec<usize> =
                    (0..parts).flat_map(|part| share(items, parts, part)).collect();
                assert_eq!(all, (0..items).collect::<Vec<_>>());
            }
        }
    }
}
