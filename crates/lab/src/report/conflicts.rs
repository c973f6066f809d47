//! Figures 4.11 to 4.13: what spreading and padding do to the flags' accesses, counted.

use anyhow::Result;

use super::asta::PROBLEMS;
use super::bench::{Bench, number};
use super::table::Table;
use crate::flags::FlagLayout;
use crate::transposition::Transposition;

pub const COLUMNS: &[&str] = &[
    "problem",
    "width",
    "tile",
    "layout",
    "spreading",
    "position_conflicts",
    "bank_conflicts",
    "lock_conflicts",
    "divergent_percent",
];

/// Work-items that access flags together, banks of the memory, and locks of the thesis's GPU (Fermi).
const WARP: usize = 32;
const BANKS: usize = 32;
const LOCKS: usize = 1024;
/// Steps of the cycles that are counted: figure 4.12 shows the first four.
const STEPS: usize = 4;

/// Accesses that one access of a warp takes when only some resource is in the way.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Degrees {
    /// Most work-items at one word: each waits for the others' operation.
    pub position: f64,
    /// Most different words in one bank.
    pub bank: f64,
    /// Most different words under one lock.
    pub lock: f64,
    /// Of the branches of a loop in which those go on that took no lock: the share where some did and some did not.
    pub divergent: f64,
}

/// Degrees of the flag words that the warps of a `tile x width` tile's work-items access, averaged over
/// all warps and the first steps of the cycles that they follow.
pub fn degrees(tile: usize, width: usize, layout: FlagLayout) -> Degrees {
    let (map, len) = (Transposition { rows: tile, cols: width }, tile * width);
    let mut sum = Degrees::default();
    let (mut accesses, mut rounds) = (0.0, 0.0);
    for first in (0..len).step_by(WARP) {
        let mut at: Vec<usize> = (first..len.min(first + WARP)).collect();
        for _ in 0..STEPS {
            let mut words: Vec<usize> = at.iter().map(|&p| layout.place(p, len).0).collect();
            words.sort_unstable();
            sum.position += most_alike(&words);
            // One work-item of a lock gets it in a round; only in the last round all that are left do.
            let waits = most_alike(&sorted(&words, LOCKS));
            rounds += waits;
            sum.divergent += waits - 1.0;
            words.dedup();
            sum.bank += most_alike(&sorted(&words, BANKS));
            sum.lock += most_alike(&sorted(&words, LOCKS));
            accesses += 1.0;
            at.iter_mut().for_each(|p| *p = map.dest(*p));
        }
    }
    Degrees {
        position: sum.position / accesses,
        bank: sum.bank / accesses,
        lock: sum.lock / accesses,
        divergent: 100.0 * sum.divergent / rounds,
    }
}

fn sorted(words: &[usize], modulus: usize) -> Vec<usize> {
    let mut places: Vec<usize> = words.iter().map(|word| word % modulus).collect();
    places.sort_unstable();
    places
}

/// The length of the longest run of equal items of a sorted list.
fn most_alike(sorted: &[usize]) -> f64 {
    sorted.chunk_by(|a, b| a == b).map(<[usize]>::len).max().unwrap_or(0) as f64
}

/// Every layout of the thesis's tests, by arithmetic alone.
pub fn figures_4_11_to_4_13(bench: &mut Bench, table: &mut Table) -> Result<()> {
    for (name, _, width) in PROBLEMS {
        let tiles: &[usize] = if bench.quick() { &[16] } else { &[16, 32, 64] };
        for &tile in tiles {
            for (label, spreading, layout) in layouts() {
                let Degrees { position, bank, lock, divergent } = degrees(tile, width, layout);
                table.push([
                    name.to_owned(),
                    width.to_string(),
                    tile.to_string(),
                    label.to_owned(),
                    spreading.to_string(),
                    number(position),
                    number(bank),
                    number(lock),
                    number(divergent),
                ]);
            }
        }
    }
    Ok(())
}

/// The layouts: spread by 1 to 32, the same padded, and remapped.
pub fn layouts() -> impl Iterator<Item = (&'static str, u32, FlagLayout)> {
    let spread = |padded| {
        let label = if padded { "padded" } else { "spread" };
        let layout = move |spreading| FlagLayout::Spread { spreading, padded };
        [1, 2, 4, 8, 16, 32].into_iter().map(move |s| (label, s, layout(s)))
    };
    spread(false).chain(spread(true)).chain([("remapped", 1, FlagLayout::Remapped)])
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Figure 4.12: packed flags of a warp share a word at first; spread by 32 none do, but they meet in
    /// banks and locks where the width is a power of two, which padding ends.
    #[test]
    fn figure_4_12() {
        let spread = |spreading, padded| FlagLayout::Spread { spreading, padded };
        let packed = degrees(16, 215, spread(1, false));
        let wide = degrees(16, 215, spread(32, false));
        assert!(packed.position > 8.0, "{packed:?}");
        assert_eq!(wide.position, 1.0);
        // Packed, a warp's flags lie in few words: nearly every branch has work-items that go on and some that do not.
        assert!(
            packed.divergent > 80.0 && wide.divergent < packed.divergent / 2.0,
            "{packed:?} {wide:?}"
        );
        let unpadded = degrees(32, 64, spread(32, false));
        let padded = degrees(32, 64, spread(32, true));
        assert!(unpadded.bank > 4.0 * padded.bank, "{unpadded:?} {padded:?}");
        assert!(padded.bank < 2.0 && padded.lock <= unpadded.lock);
        assert_eq!(most_alike(&[1, 1, 2, 2, 2, 7]), 3.0);
    }
}
