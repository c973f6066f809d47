//! Rows brought together and taken apart again by changing places with what lies between them, so that no byte is lost
//! and none is kept elsewhere: undone step by step, every gap is as it was.

use std::ops::Range;

use turntile_perm::row_slide::SlideRound;
use turntile_perm::{PitchedRows, RowSlide};

use crate::parallel;
use crate::rounds::{ROUND_BYTES, least_rows};

/// Rows that change places with their gaps.
pub struct GapSwap {
    rows: PitchedRows,
    /// Least that a round of several threads moves.
    least: usize,
    parts: usize,
}

impl GapSwap {
    /// The rows of `rows`, in bytes, by `parts` threads.
    pub fn new(rows: PitchedRows, parts: usize) -> Self {
        GapSwap { rows, least: least_rows(rows.cols(), ROUND_BYTES), parts }
    }

    /// Rounds of rows, as rows that slide together go: those of a round lie behind all their places.
    fn rounds(&self) -> impl Iterator<Item = SlideRound> + use<> {
        let GapSwap { rows, least, .. } = self;
        RowSlide::together(*rows).expect("rows are not empty").rounds(*least)
    }

    /// Brings the rows together; what lay between them is behind them, in some order.
    pub fn together<T: Send>(&self, data: &mut [T]) {
        for SlideRound { rows, together } in self.rounds() {
            if together && self.parts > 1 {
                self.round(data, rows);
            } else {
                rows.flat_map(|row| self.rows.gap_swaps(row)).for_each(|runs| swap(data, runs));
            }
        }
    }

    /// Undoes that.
    pub fn apart<T: Send>(&self, data: &mut [T]) {
        let rounds: Vec<SlideRound> = self.rounds().collect();
        for SlideRound { rows, together } in rounds.into_iter().rev() {
            if together && self.parts > 1 {
                self.round(data, rows);
            } else {
                let runs = rows.rev().flat_map(|row| self.rows.gap_swaps(row).rev());
                runs.for_each(|runs| swap(data, runs));
            }
        }
    }

    /// Rows that lie behind all their places, shared out: each swap undoes itself.
    fn round<T: Send>(&self, data: &mut [T], rows: Range<usize>) {
        let (cols, pitch) = (self.rows.cols(), self.rows.pitch());
        let (places, from) = data.split_at_mut(rows.start * pitch);
        let places = &mut places[rows.start * cols..rows.end * cols];
        let each = rows.len().div_ceil(self.parts);
        let shares = places.chunks_mut(each * cols).zip(from.chunks_mut(each * pitch));
        parallel::for_each_thread(shares, &mut [], 0, |(places, from), _| {
            let rows = places.chunks_exact_mut(cols).zip(from.chunks_mut(pitch));
            rows.for_each(|(place, row)| place.swap_with_slice(&mut row[..cols]));
        });
    }
}

/// A run changes places with another of as many.
fn swap<T>(data: &mut [T], (first, second, run): (usize, usize, usize)) {
    let (low, high) = data.split_at_mut(second);
    low[first..first + run].swap_with_slice(&mut high[..run]);
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(rows: usize, cols: usize, pitch: usize, least: usize, parts: usize) {
        let rows = PitchedRows::new(rows, cols, pitch).unwrap();
        let exchange = GapSwap { rows, least, parts };
        let mut data: Vec<usize> = (0..rows.span()).collect();
        exchange.together(&mut data);
        assert!((0..rows.len()).all(|k| data[k] == rows.offset(k)), "{rows:?} {least} {parts}");
        if data.len() < 500 {
            for from in 0..data.len() {
                let to = rows.swapped_with_gaps(from, false);
                assert_eq!((data[to], rows.swapped_with_gaps(to, true)), (from, from), "{rows:?}");
            }
        }
        exchange.apart(&mut data);
        assert!(data.iter().copied().eq(0..data.len()), "{rows:?} {least} {parts}");
    }

    #[test]
    fn rows_come_together_and_go_back() {
        for (rows, cols) in (1..9).flat_map(|rows| (1..9).map(move |cols| (rows, cols))) {
            for gap in 0..12 {
                check(rows, cols, cols + gap, 2, 1);
                check(rows, cols, cols + gap, 1, 3);
            }
        }
    }

    #[test]
    fn rounds_are_shared_out() {
        for (rows, cols, pitch) in [(300, 15, 40), (100, 70, 75), (500, 1, 2), (5, 1000, 1100)] {
            check(rows, cols, pitch, 4, 2);
            check(rows, cols, pitch, 7, 3);
        }
    }
}
