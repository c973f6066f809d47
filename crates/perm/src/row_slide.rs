//! In-place changes of the pitch of rows: padding, unpadding (thesis section 4.1.1), or a move
//! between two leading dimensions.
//!
//! Rows that slide up in memory move last to first; rows that slide down move first to last. Only
//! the destination rows are written. This module computes three parallel schedules:
//!
//! - *rounds* (from the thesis): each round moves all rows whose destinations do not overlap
//!   unmoved rows, by equation 4.1. If that is fewer than a minimum, rows move one by one.
//! - *shares*: each worker moves a range of rows one by one. It first saves the leading rows whose
//!   source or destination precedes the memory of the share.
//! - *blocks* (data sliding): every block is read, and written as soon as all blocks at its
//!   destination have been read.

use std::ops::Range;

use crate::leading::{LeadingDims, PitchedRows};

/// An in-place move of rows to another pitch, in order. Rows have at least one element.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct RowSlide(LeadingDims);

/// A round of a schedule: rows that move one by one or all at once.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SlideRound {
    /// Rows of the round.
    pub rows: Range<usize>,
    /// `true` if no source row of the round overlaps a destination row, so all may move at once.
    /// `false` if they move one by one: last to first if they slide up, else first to last.
    pub together: bool,
}

/// Returns share `part` of the items `0..items`, split into `parts` ranges whose lengths differ by
/// at most one. A `parts` of 0 counts as 1.
pub fn split_evenly(items: usize, parts: usize, part: usize) -> Range<usize> {
    let parts = parts.max(1);
    let (each, more) = (items / parts, items % parts);
    let start = part * each + part.min(more);
    start..start + each + usize::from(part < more)
}

impl RowSlide {
    /// Creates the slide of `rows` rows of `cols` elements from pitch `from` to pitch `to`. Returns
    /// `None` if a pitch is less than `cols`, `cols` is 0, or the size with gaps overflows `usize`.
    pub fn new(rows: usize, cols: usize, from: usize, to: usize) -> Option<Self> {
        LeadingDims::row_slide(rows, cols, from, to).and_then(Self::of)
    }

    /// Creates the slide that performs a change of the leading dimension. Returns `None` if the
    /// matrix is transposed, if the number or length of its rows changes, or if rows have no
    /// elements.
    pub fn of(change: LeadingDims) -> Option<Self> {
        let (from, to) = (change.source(), change.result());
        let alike = (from.rows(), from.cols()) == (to.rows(), to.cols());
        (alike && from.cols() > 0 && !change.is_transposed()).then_some(RowSlide(change))
    }

    /// Returns the change of the leading dimension.
    pub fn change(&self) -> LeadingDims {
        self.0
    }

    /// Creates the slide from dense rows to the pitch of `rows`. Returns `None` if rows have no
    /// elements.
    pub fn padding(rows: PitchedRows) -> Option<Self> {
        Self::new(rows.rows(), rows.cols(), rows.cols(), rows.pitch())
    }

    /// Creates the slide from the pitch of `rows` to dense rows. Returns `None` if rows have no
    /// elements.
    pub fn unpadding(rows: PitchedRows) -> Option<Self> {
        Self::padding(rows).map(|slide| slide.inverse())
    }

    /// Returns the rows before the slide.
    pub fn from(&self) -> PitchedRows {
        self.0.source()
    }

    /// Returns the rows after the slide.
    pub fn to(&self) -> PitchedRows {
        self.0.result()
    }

    /// Returns the number of rows.
    pub fn rows(&self) -> usize {
        self.from().rows()
    }

    /// Returns the number of elements of a row.
    pub fn cols(&self) -> usize {
        self.from().cols()
    }

    /// Returns the pitches before and after the slide, in elements.
    pub fn pitches(&self) -> [usize; 2] {
        [self.from().pitch(), self.to().pitch()]
    }

    /// Converts all lengths from elements to bytes, with `bytes` bytes per element. Returns `None`
    /// on overflow.
    pub fn scaled(&self, bytes: usize) -> Option<Self> {
        self.0.scaled(bytes).map(RowSlide)
    }

    /// Returns the inverse slide.
    #[must_use]
    pub fn inverse(&self) -> Self {
        RowSlide(self.0.inverse())
    }

    /// Returns `true` if rows slide up in memory because their pitch grows.
    pub fn is_up(&self) -> bool {
        let [from, to] = self.pitches();
        to > from
    }

    /// Returns the number of rows that can slide at once after `moved` rows have moved. Rows that
    /// slide up are taken from the end.
    ///
    /// For dense rows padded by `C` elements, this is equation 4.1 of the thesis:
    /// `((TotalRows − RowsMoved) · C) / (RowSize + C)`.
    #[doc(hidden)]
    pub fn movable(&self, moved: usize) -> usize {
        let (cols, [from, to]) = (self.cols(), self.pitches());
        let left = self.rows().saturating_sub(moved);
        if left == 0 || from == to {
            0
        } else if self.is_up() {
            // Counts the rows whose destination starts after the end of the last unmoved row.
            left - ((left - 1) * from + cols).div_ceil(to).min(left)
        } else if moved == 0 {
            0
        } else {
            // Counts the rows whose destination ends before the first unmoved row.
            ((moved * from - cols) / to + 1 - moved).min(left)
        }
    }

    /// Iterates over the rounds of a schedule. A round moves at least `least` rows at once, or rows
    /// one by one if that is impossible. The last round may have fewer rows.
    pub fn rounds(&self, least: usize) -> impl Iterator<Item = SlideRound> + use<> {
        let (slide, least, mut moved) = (*self, least.clamp(1, self.rows().max(1)), 0);
        std::iter::from_fn(move || {
            let (left, movable) = (slide.rows() - moved, slide.movable(moved));
            // When rows slide down, the last round may have fewer than `least` rows: no unmoved
            // rows follow them.
            let at_once = movable > 0 && movable >= least.min(left);
            let count = if at_once { movable } else { slide.singles_before(moved, least) };
            let start = if slide.is_up() { left - count } else { moved };
            moved += count;
            (count > 0).then_some(SlideRound { rows: start..start + count, together: at_once })
        })
    }

    /// Returns the number of rows that must slide one by one before `least` rows can move at once:
    /// all remaining rows if they slide up.
    fn singles_before(&self, moved: usize, least: usize) -> usize {
        let (left, [from, to]) = (self.rows() - moved, self.pitches());
        if to >= from {
            return left;
        }
        let enough = ((least - 1) * to + self.cols()) / (from - to) + 1;
        enough.saturating_sub(moved).clamp(left.min(1), left)
    }

    /// Returns the rows of share `part` of `parts`. The numbers of rows differ by at most one.
    pub fn share(&self, parts: usize, part: usize) -> Range<usize> {
        split_evenly(self.rows(), parts, part)
    }

    /// Returns the number of leading rows of `share` that must be saved because their source or
    /// destination starts before the memory of the share.
    ///
    /// The memory of a share is its range at the larger pitch. It contains the other rows of the
    /// share before and after the slide.
    pub fn saved_rows(&self, share: &Range<usize>) -> usize {
        let [from, to] = self.pitches();
        (share.start * from.abs_diff(to)).div_ceil(from.min(to)).min(share.len())
    }

    /// Returns the number of elements in the [saved rows](Self::saved_rows) of all shares.
    pub fn saved_elements(&self, parts: usize) -> usize {
        let rows: usize = (0..parts).map(|part| self.saved_rows(&self.share(parts, part))).sum();
        rows * self.cols()
    }

    /// Splits a range of elements, counted row by row, into runs within one row. Iterates over
    /// `(element, source_offset, destination_offset, len)`.
    pub fn runs(
        &self,
        elements: Range<usize>,
    ) -> impl Iterator<Item = (usize, usize, usize, usize)> + use<> {
        let (slide, mut at) = (*self, elements.start);
        std::iter::from_fn(move || {
            let run = slide.cols() - at % slide.cols();
            let (k, run) = (at, run.min(elements.end.saturating_sub(at)));
            at += run;
            (run > 0).then(|| (k, slide.from().offset(k), slide.to().offset(k), run))
        })
    }

    /// Returns the number of blocks of `block` elements. The last block may be shorter. A `block`
    /// of 0 counts as 1.
    pub fn blocks(&self, block: usize) -> usize {
        self.from().len().div_ceil(block.max(1))
    }

    /// Returns the elements of block `b` of `block` elements, counted row by row.
    pub fn block(&self, block: usize, b: usize) -> Range<usize> {
        b * block..self.from().len().min((b + 1) * block)
    }

    /// Returns the other blocks of `block` elements that must be read before block `b` is written:
    /// later blocks if rows slide up, else earlier ones. Block `b` must exist.
    ///
    /// # Panics
    /// If `block` is 0.
    pub fn waits_for(&self, block: usize, b: usize) -> Range<usize> {
        let (from, to, Range { start, end }) = (self.from(), self.to(), self.block(block, b));
        let first = from.elements_before(to.offset(start)) / block;
        let end = from.elements_before(to.offset(end - 1) + 1).div_ceil(block);
        let (first, end) = if self.is_up() { (first.max(b + 1), end) } else { (first, end.min(b)) };
        first..end.max(first)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn small() -> impl Iterator<Item = RowSlide> {
        let sides = (0..11).flat_map(|rows| (1..7).map(move |cols| (rows, cols)));
        sides.flat_map(|(rows, cols)| {
            // Dense rows to padded ones and back, and rows between two pitches.
            let pitches = move |most| cols..most;
            let between = pitches(2 * cols + 3)
                .flat_map(move |a| pitches(2 * cols + 3).map(move |b| (a, b)))
                .chain([(cols, 3 * cols + 1), (3 * cols + 1, cols)]);
            between.map(move |(from, to)| RowSlide::new(rows, cols, from, to).unwrap())
        })
    }

    #[test]
    fn shares_cover_all_items_once() {
        for items in 0..40 {
            for parts in 1..9 {
                let all: Vec<usize> =
                    (0..parts).flat_map(|part| split_evenly(items, parts, part)).collect();
                assert_eq!(all, (0..items).collect::<Vec<_>>());
            }
        }
    }

    #[test]
    fn invalid_extents_are_rejected() {
        assert!(RowSlide::new(3, 0, 4, 4).is_none() && RowSlide::new(3, 5, 5, 4).is_none());
        assert!(
            RowSlide::new(3, 5, 4, 5).is_none() && RowSlide::new(usize::MAX, 1, 1, 2).is_none()
        );
        assert!(RowSlide::new(3, 4, 4, 5).unwrap().scaled(usize::MAX / 4).is_none());
        let bytes = RowSlide::new(3, 4, 4, 5).unwrap().scaled(8).unwrap();
        assert_eq!((bytes.from().len(), bytes.change().span()), (96, 112));
        let rows = PitchedRows::new(3, 4, 5).unwrap();
        assert_eq!(RowSlide::padding(rows), RowSlide::new(3, 4, 4, 5));
        assert_eq!(RowSlide::unpadding(rows), RowSlide::new(3, 4, 5, 4));
        assert_eq!(RowSlide::padding(PitchedRows::new(3, 0, 5).unwrap()), None);
        let transposed = LeadingDims::transposed(4, 4, 5, 6).unwrap();
        let reshaped = LeadingDims::in_order(rows, PitchedRows::new(4, 3, 5).unwrap()).unwrap();
        assert_eq!([transposed, reshaped].map(RowSlide::of), [None, None]);
    }

    #[test]
    fn maps_and_runs_match_the_definition() {
        for slide in small() {
            let (cols, from, to) = (slide.cols(), slide.from().pitch(), slide.to().pitch());
            for offset in 0..slide.change().span() {
                let (row, col) = (offset / from, offset % from);
                let in_row = row < slide.rows() && col < cols;
                let want = if in_row { row * to + col } else { offset };
                assert_eq!(slide.change().dest(offset), want, "{slide:?}");
                assert!(!in_row || slide.inverse().change().dest(want) == offset);
            }
            let stays =
                (0..slide.change().span()).all(|offset| slide.change().dest(offset) == offset);
            assert!(!slide.change().is_identity() || stays, "{slide:?}");
            for (start, end) in
                [(0, slide.from().len()), (slide.from().len() / 3, slide.from().len() / 2), (1, 1)]
            {
                let mut next = start;
                for (k, before, after, run) in slide.runs(start..end) {
                    assert_eq!(k, next);
                    assert!((0..run).all(|i| slide.from().offset(k + i) == before + i));
                    assert!((0..run).all(|i| slide.to().offset(k + i) == after + i));
                    next += run;
                }
                assert_eq!(next, end);
            }
        }
    }

    /// Checks the example of thesis section 4.1.1: if 5000 rows of 4900 elements are padded to
    /// 5000, the first 99 rows, which move last, cannot move two at a time.
    #[test]
    fn movable_matches_equation_4_1() {
        let pad = RowSlide::new(5000, 4900, 4900, 5000).unwrap();
        assert_eq!([0, 4900, 4901].map(|moved| pad.movable(moved)), [100, 2, 1]);
        let rounds: Vec<SlideRound> = pad.rounds(2).collect();
        assert_eq!(rounds.last(), Some(&SlideRound { rows: 0..99, together: false }));
        for (rows, cols, pitch, moved) in [(5, 3, 6, 0), (300, 7, 11, 40), (1, 1, 1, 0)] {
            let movable = RowSlide::new(rows, cols, cols, pitch).unwrap().movable(moved);
            assert_eq!(movable, (rows - moved) * (pitch - cols) / pitch);
        }
    }

    /// Checks that each row is in one round, in order, and that no source row overlaps a
    /// destination row if a round moves its rows at once.
    fn check_rounds(slide: RowSlide, least: usize) {
        let (cols, from, to) = (slide.cols(), slide.from().pitch(), slide.to().pitch());
        let (mut moved, mut singles_seen) = (0, false);
        for SlideRound { rows, together } in slide.rounds(least) {
            assert!(!rows.is_empty());
            if slide.is_up() {
                assert_eq!(rows.end, slide.rows() - moved);
                assert!(!singles_seen, "rows that move one by one form the last round");
                singles_seen = !together;
            } else {
                assert_eq!(rows.start, moved);
            }
            moved += rows.len();
            let ends = |pitch| (rows.end - 1) * pitch + cols;
            let disjoint = ends(from) <= rows.start * to || ends(to) <= rows.start * from;
            assert!(!together || disjoint, "{slide:?} {least} {rows:?}");
            let last = !slide.is_up() && moved == slide.rows();
            assert!(!together || rows.len() >= least.max(1) || last, "{slide:?} {least} {rows:?}");
        }
        assert_eq!(moved, slide.rows());
    }

    /// Checks that every source element that a block overwrites is in the block itself or in a
    /// block that it waits for.
    fn check_waits(slide: RowSlide, block: usize) {
        let blocks = slide.blocks(block);
        for b in 0..blocks {
            let waits = slide.waits_for(block, b);
            let behind = if slide.is_up() { waits.start > b } else { waits.end <= b };
            assert!(waits.is_empty() || behind && waits.end <= blocks);
            for k in slide.block(block, b) {
                let read_by = slide.from().index(slide.to().offset(k)).map(|k| k / block);
                assert!(
                    read_by.is_none_or(|q| q == b || waits.contains(&q)),
                    "{slide:?} {block} {b}"
                );
            }
        }
    }

    /// Checks that each row is in one share, and that all its rows except the saved leading ones
    /// stay within the memory of the share.
    fn check_shares(slide: RowSlide, parts: usize) {
        let (mut rows, mut heads) = (0, 0);
        let (from, to) = (slide.from().pitch(), slide.to().pitch());
        let (low, high) = (from.min(to), from.max(to));
        for share in (0..parts).map(|part| slide.share(parts, part)) {
            assert_eq!(share.start, rows);
            rows = share.end;
            let head = slide.saved_rows(&share);
            let first = share.start + head;
            assert!(first == rows || first * low >= share.start * high);
            assert!(head == 0 || (first - 1) * low < share.start * high);
            heads += head;
        }
        assert_eq!((rows, heads * slide.cols()), (slide.rows(), slide.saved_elements(parts)));
    }

    #[test]
    fn schedules_are_valid_for_small_slides() {
        for slide in small() {
            (1..5).for_each(|parts| check_shares(slide, parts));
            (0..4).chain([usize::MAX]).for_each(|least| check_rounds(slide, least));
            (1..=slide.from().len().max(1)).for_each(|block| check_waits(slide, block));
        }
    }

    proptest! {
        #[test]
        fn schedules_are_valid_for_large_slides(
            rows in 1usize..5000, cols in 1usize..5000, a in 0usize..5000, b in 0usize..5000,
            least in 1usize..50,
        ) {
            for (a, b) in [(0, b), (a, 0), (a, b)] {
                let slide = RowSlide::new(rows, cols, cols + a, cols + b).unwrap();
                check_rounds(slide, least);
                check_shares(slide, least);
            }
        }

        #[test]
        fn waits_are_sufficient_for_large_blocks(
            rows in 1usize..60, cols in 1usize..60, a in 0usize..60, b in 0usize..60,
            block in 1usize..500,
        ) {
            for (a, b) in [(0, b), (a, 0), (a, b)] {
                check_waits(RowSlide::new(rows, cols, cols + a, cols + b).unwrap(), block);
            }
        }
    }
}
