//! Rows moved apart and together where they lie: padding and unpadding (thesis section 4.1.1).
//!
//! *Packed*, row `r` of `cols` elements begins at `r · cols`; *padded*, at `r · pitch`. Padding moves
//! every row up, so that the last row must go first; unpadding is the same backwards. What the gaps
//! between padded rows hold does not matter.
//!
//! Three ways to do it with many workers, all in equations here:
//!
//! - *rounds* (the thesis's): as many rows at a time as lie wholly in front of the places that they go
//!   to, by equation 4.1; when that is fewer than is worth a round, row after row;
//! - *blocks* (data sliding): every block is read before it is written, and written as soon as the
//!   blocks have been read that lie where it goes;
//! - *shares*: a run of rows for each worker, who moves them one by one; the first few, whose packed
//!   places are another's, are set aside meanwhile.
//!
//! *Cutting* unpads a matrix of which the gaps are columns too: these follow the packed rows, column
//! after column.

use std::ops::Range;

use crate::shares;

/// `rows` rows of `cols` elements, and `pitch` elements from row to row when padded.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Padding {
    rows: usize,
    cols: usize,
    pitch: usize,
}

/// Rows that move one after the other or all at a time.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Round {
    /// The rows.
    pub rows: Range<usize>,
    /// Whether none of them lies where another goes. If not, they move one by one: last to first when
    /// padded, first to last when unpadded.
    pub together: bool,
}

impl Padding {
    /// `None` where `pitch < cols`, where a row is empty or where the padded rows cannot be counted.
    pub fn new(rows: usize, cols: usize, pitch: usize) -> Option<Self> {
        rows.checked_mul(pitch)?;
        (1..=pitch).contains(&cols).then_some(Padding { rows, cols, pitch })
    }

    /// Rows.
    pub fn rows(&self) -> usize {
        self.rows
    }

    /// Elements of a row.
    pub fn cols(&self) -> usize {
        self.cols
    }

    /// Elements from row to row when padded.
    pub fn pitch(&self) -> usize {
        self.pitch
    }

    /// The same rows in units of which an element has `bytes`; `None` where they cannot be counted.
    pub fn scaled(&self, bytes: usize) -> Option<Self> {
        Self::new(self.rows, self.cols.checked_mul(bytes)?, self.pitch.checked_mul(bytes)?)
    }

    /// Elements that are kept.
    pub fn len(&self) -> usize {
        self.rows * self.cols
    }

    /// Whether there are none.
    pub fn is_empty(&self) -> bool {
        self.rows == 0
    }

    /// Elements from the first to the end of the last padded row, its gap counted.
    pub fn span(&self) -> usize {
        self.rows * self.pitch
    }

    /// Whether nothing moves.
    pub fn is_identity(&self) -> bool {
        self.rows <= 1 || self.cols == self.pitch
    }

    /// Where packed element `k` lies when padded.
    #[inline]
    pub fn padded(&self, k: usize) -> usize {
        k / self.cols * self.pitch + k % self.cols
    }

    /// The element at a padded offset, by its packed offset; `None` in a gap.
    #[inline]
    pub fn packed(&self, offset: usize) -> Option<usize> {
        let (row, col) = (offset / self.pitch, offset % self.pitch);
        (col < self.cols).then_some(row * self.cols + col)
    }

    /// Elements that lie before a padded offset.
    #[inline]
    pub fn before(&self, offset: usize) -> usize {
        offset / self.pitch * self.cols + (offset % self.pitch).min(self.cols)
    }

    /// Elements of all gaps.
    pub fn gaps(&self) -> usize {
        self.rows * (self.pitch - self.cols)
    }

    /// Where the element at a padded offset goes when the gaps are cut off: the gaps' columns, one
    /// after the other, follow the packed rows.
    #[inline]
    pub fn cut(&self, offset: usize) -> usize {
        self.packed(offset).unwrap_or_else(|| {
            let (row, col) = (offset / self.pitch, offset % self.pitch);
            self.len() + (col - self.cols) * self.rows + row
        })
    }

    /// Its inverse: where the element at `k` of what was cut goes when columns are put back.
    #[inline]
    pub fn joined(&self, k: usize) -> usize {
        match k.checked_sub(self.len()) {
            None => self.padded(k),
            Some(k) => k % self.rows * self.pitch + self.cols + k / self.rows,
        }
    }

    /// Equation 4.1: rows that can be padded at a time when the last `moved` already are.
    ///
    /// The thesis's `((TotalRows − RowsMoved) · C) / (RowSize + C)`, with `C = pitch − cols`.
    pub fn async_movable(&self, moved: usize) -> usize {
        (self.rows - moved) * (self.pitch - self.cols) / self.pitch
    }

    /// The same for unpadding, when the first `moved` already are.
    pub fn async_movable_back(&self, moved: usize) -> usize {
        (moved * (self.pitch - self.cols) / self.cols).min(self.rows - moved)
    }

    /// Rounds that pad: at least `least` rows at a time while there is room, then the rest one by one.
    pub fn pad_rounds(&self, least: usize) -> impl Iterator<Item = Round> + use<> {
        let (padding, least, mut left) = (*self, least.max(1), self.rows);
        std::iter::from_fn(move || {
            let movable = padding.async_movable(padding.rows - left);
            let together = movable >= least;
            let rows = if together { left - movable..left } else { 0..left };
            left = rows.start;
            (!rows.is_empty()).then_some(Round { rows, together })
        })
    }

    /// Rounds that unpad: one by one until `least` rows can move at a time.
    pub fn unpad_rounds(&self, least: usize) -> impl Iterator<Item = Round> + use<> {
        let (padding, least, mut moved) = (*self, least.clamp(1, self.rows.max(1)), 0);
        std::iter::from_fn(move || {
            let movable = padding.async_movable_back(moved);
            // The last rows may be fewer; they lie in front of nothing.
            let together = movable >= least.min(padding.rows - moved);
            let rows = if together {
                moved..moved + movable
            } else {
                let gap = padding.pitch - padding.cols;
                let alone = (least * padding.cols).checked_div(gap).map_or(padding.rows, |a| a + 1);
                moved..alone.clamp(moved + 1, padding.rows)
            };
            moved = rows.end;
            (!rows.is_empty()).then_some(Round { rows, together })
        })
    }

    /// The rows of share `part` of `parts`, as many in each but for one.
    pub fn share(&self, parts: usize, part: usize) -> Range<usize> {
        shares::share(self.rows, parts, part)
    }

    /// How many rows of a share begin, packed, in front of where its first one does when padded: all the
    /// others are, packed or padded, between the padded share's ends.
    pub fn head(&self, share: &Range<usize>) -> usize {
        (share.start * (self.pitch - self.cols)).div_ceil(self.cols).min(share.len())
    }

    /// Elements of the heads of all shares.
    pub fn heads(&self, parts: usize) -> usize {
        let rows: usize = (0..parts).map(|part| self.head(&self.share(parts, part))).sum();
        rows * self.cols
    }

    /// Packed elements row by row: packed offset, padded offset and number of those of each row.
    pub fn row_by_row(
        &self,
        packed: Range<usize>,
    ) -> impl Iterator<Item = (usize, usize, usize)> + use<> {
        let (padding, mut at) = (*self, packed.start);
        std::iter::from_fn(move || {
            let run = padding.cols - at % padding.cols;
            let (k, run) = (at, run.min(packed.end.saturating_sub(at)));
            at += run;
            (run > 0).then(|| (k, padding.padded(k), run))
        })
    }

    /// Blocks of `block` packed elements, the last one's perhaps less.
    pub fn blocks(&self, block: usize) -> usize {
        self.len().div_ceil(block)
    }

    /// Packed elements of block `b`.
    pub fn block(&self, block: usize, b: usize) -> Range<usize> {
        b * block..self.len().min((b + 1) * block)
    }

    /// The other blocks that must have been read before block `b` is written when padded: all of
    /// them later in memory.
    pub fn pad_waits(&self, block: usize, b: usize) -> Range<usize> {
        let Range { start, end } = self.block(block, b);
        let first = self.padded(start) / block;
        let end = self.len().min(self.padded(end - 1) + 1).div_ceil(block);
        let first = first.max(b + 1);
        first..end.max(first)
    }

    /// The same when unpadded: all of them earlier in memory.
    pub fn unpad_waits(&self, block: usize, b: usize) -> Range<usize> {
        let Range { start, end } = self.block(block, b);
        let (first, end) = (self.before(start) / block, self.before(end).div_ceil(block).min(b));
        first.min(end)..end
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn small() -> impl Iterator<Item = Padding> {
        let sides = (0..14).flat_map(|rows| (1..9).map(move |cols| (rows, cols)));
        sides.flat_map(|(rows, cols)| {
            (cols..3 * cols + 2).map(move |pitch| Padding::new(rows, cols, pitch).unwrap())
        })
    }

    #[test]
    fn extents_are_checked() {
        assert!(Padding::new(3, 0, 4).is_none() && Padding::new(3, 5, 4).is_none());
        assert!(Padding::new(usize::MAX, 1, 2).is_none());
        assert!(Padding::new(3, 4, 5).unwrap().scaled(usize::MAX / 4).is_none());
        let bytes = Padding::new(3, 4, 5).unwrap().scaled(8).unwrap();
        assert_eq!((bytes.len(), bytes.span()), (96, 120));
    }

    #[test]
    fn offsets_are_those_of_the_rows() {
        for p in small() {
            let mut seen = 0;
            for offset in 0..p.span() {
                assert_eq!(p.before(offset), seen);
                if offset % p.pitch() < p.cols() {
                    assert_eq!(p.packed(offset), Some(seen));
                    assert_eq!(p.padded(seen), offset);
                    seen += 1;
                } else {
                    assert_eq!(p.packed(offset), None);
                }
            }
            assert_eq!(seen, p.len());
            assert_eq!(p.len() + p.gaps(), p.span());
            for offset in 0..p.span() {
                // The packed rows, then the gaps as columns.
                let (row, col) = (offset / p.pitch(), offset % p.pitch());
                let there = match col < p.cols() {
                    true => row * p.cols() + col,
                    false => p.len() + (col - p.cols()) * p.rows() + row,
                };
                assert_eq!((p.cut(offset), p.joined(there)), (there, offset));
            }
            for (start, end) in (0..=seen).flat_map(|end| (0..=end).map(move |start| (start, end)))
            {
                let mut next = start;
                for (k, offset, run) in p.row_by_row(start..end) {
                    assert_eq!(k, next);
                    assert!((0..run).all(|i| p.padded(k + i) == offset + i));
                    next += run;
                }
                assert_eq!(next, end);
            }
        }
    }

    /// Thesis section 4.1.1: rows of 4900 padded to 5000 leave 99 that cannot move two at a time.
    #[test]
    fn equation_4_1_as_the_thesis_has_it() {
        let p = Padding::new(5000, 4900, 5000).unwrap();
        assert_eq!(p.async_movable(0), 100);
        assert_eq!(p.async_movable(4900), 2);
        assert_eq!(p.async_movable(4901), 1);
        let rounds: Vec<Round> = p.pad_rounds(2).collect();
        assert_eq!(rounds.last(), Some(&Round { rows: 0..99, together: false }));
        // Figure 4.3: of five rows with room for two and a half, two move, then one by one.
        let p = Padding::new(5, 3, 6).unwrap();
        assert_eq!(p.async_movable(0), 2);
    }

    fn rounds_are_right(p: Padding, least: usize) {
        let (mut left, mut alone) = (p.rows(), false);
        for Round { rows, together } in p.pad_rounds(least) {
            assert_eq!(rows.end, left);
            assert!(!alone, "the rest is the last round");
            left = rows.start;
            // Sources end before destinations begin.
            assert!(!together || rows.end * p.cols() <= rows.start * p.pitch());
            assert!(!together || rows.len() >= least.max(1));
            alone = !together;
        }
        assert_eq!(left, 0);
        let mut moved = 0;
        for Round { rows, together } in p.unpad_rounds(least) {
            assert_eq!(rows.start, moved);
            moved = rows.end;
            assert!(!together || rows.end * p.cols() <= rows.start * p.pitch());
            assert!(!together || rows.len() >= least.max(1) || moved == p.rows());
        }
        assert_eq!(moved, p.rows());
    }

    /// Every block read before it is written, the waits obeyed, in any order that they allow: each
    /// block is written as early as it may be, all others as late as they may be read.
    fn waits_are_enough(p: Padding, block: usize) {
        let blocks = p.blocks(block);
        let owner = |k: usize| k / block;
        for b in 0..blocks {
            let waits = p.pad_waits(block, b);
            assert!(waits.is_empty() || waits.start > b && waits.end <= blocks);
            for k in p.block(block, b) {
                let to = p.padded(k);
                let there = (to < p.len()).then(|| owner(to));
                assert!(there.is_none_or(|q| q == b || waits.contains(&q)), "{p:?} {block} {b}");
            }
            let waits = p.unpad_waits(block, b);
            assert!(waits.end <= b || waits.is_empty());
            for to in p.block(block, b) {
                let there = p.packed(to).map(owner);
                assert!(there.is_none_or(|q| q == b || waits.contains(&q)), "{p:?} {block} {b}");
            }
        }
    }

    /// Every row is in one share, and what is no head stays within its share's padded rows.
    fn shares_are_right(p: Padding, parts: usize) {
        let (mut rows, mut heads) = (0, 0);
        for share in (0..parts).map(|part| p.share(parts, part)) {
            assert_eq!(share.start, rows);
            rows = share.end;
            let head = p.head(&share);
            let first = share.start + head;
            assert!(first == rows || first * p.cols() >= share.start * p.pitch());
            assert!(head == 0 || (first - 1) * p.cols() < share.start * p.pitch());
            heads += head;
        }
        assert_eq!((rows, heads * p.cols()), (p.rows(), p.heads(parts)));
    }

    #[test]
    fn all_small_paddings() {
        for p in small() {
            (1..5).for_each(|parts| shares_are_right(p, parts));
            (0..4).chain([usize::MAX]).for_each(|least| rounds_are_right(p, least));
            (1..=p.len().max(1)).for_each(|block| waits_are_enough(p, block));
        }
    }

    proptest! {
        #[test]
        fn larger_paddings(
            rows in 1usize..5000, cols in 1usize..5000, gap in 0usize..5000, least in 1usize..50,
        ) {
            let p = Padding::new(rows, cols, cols + gap).unwrap();
            rounds_are_right(p, least);
            shares_are_right(p, least);
        }

        #[test]
        fn larger_blocks(
            rows in 1usize..60, cols in 1usize..60, gap in 0usize..60, block in 1usize..500,
        ) {
            waits_are_enough(Padding::new(rows, cols, cols + gap).unwrap(), block);
        }
    }
}
