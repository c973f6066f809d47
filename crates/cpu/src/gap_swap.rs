//! Rows packed and unpacked by swaps with the contents of the gaps between them. No byte is lost;
//! undoing every swap restores all gaps.

use std::ops::Range;

use turntile_perm::row_slide::SlideRound;
use turntile_perm::{PitchedRows, RowSlide};

use crate::parallel;
use crate::rounds::{ROUND_BYTES, least_rows};

/// Packing of rows by swaps with their gaps, and its inverse.
pub struct GapSwap {
    rows: PitchedRows,
    /// Minimum number of rows of a parallel round.
    least: usize,
    threads: usize,
}

impl GapSwap {
    /// Creates the packing of `rows`, with lengths in bytes, for `threads` threads.
    pub fn new(rows: PitchedRows, threads: usize) -> Self {
        GapSwap { rows, least: least_rows(rows.cols(), ROUND_BYTES), threads }
    }

    /// Returns the rounds in which rows become contiguous. In a parallel round, all rows are stored
    /// after all their destinations.
    fn rounds(&self) -> impl Iterator<Item = SlideRound> + use<> {
        let GapSwap { rows, least, .. } = self;
        RowSlide::unpadding(*rows).expect("at least one row").rounds(*least)
    }

    /// Makes the rows contiguous. The contents of their gaps then follow them, permuted.
    pub fn together<T: Send>(&self, data: &mut [T]) {
        for SlideRound { rows, together } in self.rounds() {
            if together && self.threads > 1 {
                self.round(data, rows);
            } else {
                rows.flat_map(|row| self.rows.gap_swaps(row)).for_each(|runs| swap(data, runs));
            }
        }
    }

    /// Inverts [`together`](Self::together).
    pub fn apart<T: Send>(&self, data: &mut [T]) {
        let rounds: Vec<SlideRound> = self.rounds().collect();
        for SlideRound { rows, together } in rounds.into_iter().rev() {
            if together && self.threads > 1 {
                self.round(data, rows);
            } else {
                let runs = rows.rev().flat_map(|row| self.rows.gap_swaps(row).rev());
                runs.for_each(|runs| swap(data, runs));
            }
        }
    }

    /// Swaps each of `rows` with the contents of its packed position, on all threads. All packed
    /// positions precede the rows. Each swap is its own inverse.
    fn round<T: Send>(&self, data: &mut [T], rows: Range<usize>) {
        let (cols, pitch) = (self.rows.cols(), self.rows.pitch());
        let (dests, from) = data.split_at_mut(rows.start * pitch);
        let dests = &mut dests[rows.start * cols..rows.end * cols];
        let each = rows.len().div_ceil(self.threads);
        let shares = dests.chunks_mut(each * cols).zip(from.chunks_mut(each * pitch));
        parallel::for_each_thread(shares, &mut [], 0, |(dests, from), _| {
            let rows = dests.chunks_exact_mut(cols).zip(from.chunks_mut(pitch));
            rows.for_each(|(dest, row)| dest.swap_with_slice(&mut row[..cols]));
        });
    }
}

/// Swaps two runs, given by their offsets and length.
fn swap<T>(data: &mut [T], (first, second, run): (usize, usize, usize)) {
    let (low, high) = data.split_at_mut(second);
    low[first..first + run].swap_with_slice(&mut high[..run]);
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(rows: usize, cols: usize, pitch: usize, least: usize, threads: usize) {
        let rows = PitchedRows::new(rows, cols, pitch).unwrap();
        let gap_swap = GapSwap { rows, least, threads };
        let mut data: Vec<usize> = (0..rows.span()).collect();
        gap_swap.together(&mut data);
        assert!((0..rows.len()).all(|k| data[k] == rows.offset(k)), "{rows:?} {least} {threads}");
        if data.len() < 500 {
            for from in 0..data.len() {
                let to = rows.swapped_with_gaps(from, false);
                assert_eq!((data[to], rows.swapped_with_gaps(to, true)), (from, from), "{rows:?}");
            }
        }
        gap_swap.apart(&mut data);
        assert!(data.iter().copied().eq(0..data.len()), "{rows:?} {least} {threads}");
    }

    #[test]
    fn apart_restores_what_together_packed() {
        for (rows, cols) in (1..9).flat_map(|rows| (1..9).map(move |cols| (rows, cols))) {
            for gap in 0..12 {
                check(rows, cols, cols + gap, 2, 1);
                check(rows, cols, cols + gap, 1, 3);
            }
        }
    }

    #[test]
    fn rounds_run_in_parallel() {
        for (rows, cols, pitch) in [(300, 15, 40), (100, 70, 75), (500, 1, 2), (5, 1000, 1100)] {
            check(rows, cols, pitch, 4, 2);
            check(rows, cols, pitch, 7, 3);
        }
    }
}
