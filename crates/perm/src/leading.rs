//! Matrices with a leading dimension, as in BLAS: offsets of their elements, gaps between rows, and
//! index maps that remove or restore the gaps.

/// A matrix of `rows` by `cols` elements whose rows start `pitch` elements apart. There is no gap
/// after the last row.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct PitchedRows {
    rows: usize,
    cols: usize,
    pitch: usize,
}

impl PitchedRows {
    /// Creates the matrix. Returns `None` if `pitch < cols` or if `rows · pitch` overflows `usize`.
    pub fn new(rows: usize, cols: usize, pitch: usize) -> Option<Self> {
        rows.checked_mul(pitch)?;
        (cols <= pitch).then_some(PitchedRows { rows, cols, pitch })
    }

    /// Returns the number of rows.
    pub fn rows(&self) -> usize {
        self.rows
    }

    /// Returns the number of elements of a row.
    pub fn cols(&self) -> usize {
        self.cols
    }

    /// Returns the leading dimension: the number of elements from the start of a row to the next.
    pub fn pitch(&self) -> usize {
        self.pitch
    }

    /// Converts all lengths from elements to bytes, with `bytes` bytes per element. Returns `None`
    /// on overflow.
    pub fn scaled(&self, bytes: usize) -> Option<Self> {
        Self::new(self.rows, self.cols.checked_mul(bytes)?, self.pitch.checked_mul(bytes)?)
    }

    /// Returns the number of elements of all rows, without gaps.
    pub fn len(&self) -> usize {
        self.rows * self.cols
    }

    /// Returns `true` if there are no elements.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// Returns the number of elements from the first to the last, including the gaps between rows:
    /// `(rows − 1) · pitch + cols`, or 0 if there are no elements.
    pub fn span(&self) -> usize {
        if self.is_empty() { 0 } else { (self.rows - 1) * self.pitch + self.cols }
    }

    /// Returns `true` if there are no gaps between rows.
    pub fn is_dense(&self) -> bool {
        self.rows <= 1 || self.cols == self.pitch
    }

    /// Returns the offset of element `k`. `k` counts elements row by row, without gaps.
    #[inline]
    pub fn offset(&self, k: usize) -> usize {
        k / self.cols * self.pitch + k % self.cols
    }

    /// Returns the index of the element at `offset`, counted row by row without gaps. Returns
    /// `None` if `offset` is in a gap or after the last row.
    #[inline]
    pub fn index(&self, offset: usize) -> Option<usize> {
        let inside = offset < self.span() && offset % self.pitch < self.cols;
        inside.then(|| offset / self.pitch * self.cols + offset % self.pitch)
    }

    /// Returns the number of elements of all gaps, including a gap after the last row.
    pub fn gaps(&self) -> usize {
        self.rows * (self.pitch - self.cols)
    }

    /// Returns the number of elements of rows and gaps, including a gap after the last row:
    /// `rows · pitch`.
    pub fn area(&self) -> usize {
        self.rows * self.pitch
    }

    /// Returns the new offset of the element at `offset` after all gap elements are moved behind
    /// the rows, column after column. The rows become contiguous.
    #[inline]
    pub fn with_gaps_last(&self, offset: usize) -> usize {
        self.index(offset).unwrap_or_else(|| {
            let (row, col) = (offset / self.pitch, offset % self.pitch);
            self.len() + (col - self.cols) * self.rows + row
        })
    }

    /// Returns the new offset of the element at offset `k` after the gaps are moved back between
    /// the rows: the inverse of [`with_gaps_last`](Self::with_gaps_last).
    #[inline]
    pub fn with_gaps_between(&self, k: usize) -> usize {
        match k.checked_sub(self.len()) {
            None => self.offset(k),
            Some(k) => k % self.rows * self.pitch + self.cols + k / self.rows,
        }
    }

    /// Returns the new offset of the element at `offset` after all rows [swap](Self::gap_swaps)
    /// with their gaps until they are contiguous, or after the inverse if `back`. Takes time
    /// proportional to the number of swaps of that element.
    pub fn swapped_with_gaps(&self, offset: usize, back: bool) -> usize {
        let (cols, pitch, mut at) = (self.cols, self.pitch, offset);
        if offset >= self.span() {
            return offset;
        }
        // A matrix element moves once. Each row whose dense position contains a gap element moves
        // that element by a multiple of `distance`, past the row's dense position.
        if back {
            if offset < self.len() {
                return self.offset(offset);
            }
            while at % pitch < cols {
                let (dense, distance) = (at / pitch * cols, at / pitch * (pitch - cols));
                at = dense + (at - dense) % distance;
            }
            return at;
        }
        if let Some(k) = self.index(offset) {
            return k;
        }
        while at / cols < self.rows {
            let distance = at / cols * (pitch - cols);
            at += distance * (cols - at % cols).div_ceil(distance);
        }
        at
    }

    /// Iterates over the swaps, in order, that move row `row` to its position in the dense matrix
    /// after all rows before it, as `(offset, other_offset, len)`.
    ///
    /// A swap is at most as long as the distance between the two positions of the row.
    pub fn gap_swaps(
        &self,
        row: usize,
    ) -> impl DoubleEndedIterator<Item = (usize, usize, usize)> + use<> {
        let (cols, dense, distance) = (self.cols, row * self.cols, row * (self.pitch - self.cols));
        let steps = if distance == 0 { 0 } else { cols.div_ceil(distance) };
        (0..steps).map(move |step| {
            let start = step * distance;
            (dense + start, dense + start + distance, distance.min(cols - start))
        })
    }

    /// Returns the number of matrix elements, without gap elements, stored before `offset`.
    #[inline]
    pub fn elements_before(&self, offset: usize) -> usize {
        if self.is_empty() {
            return 0;
        }
        let within = (offset % self.pitch).min(self.cols);
        (offset / self.pitch * self.cols + within).min(self.len())
    }

    /// Returns the length, in elements, of the contiguous run that starts with element `k`.
    #[inline]
    pub(crate) fn run_from(&self, k: usize) -> usize {
        if self.is_dense() { self.len() - k } else { self.cols - k % self.cols }
    }

    /// Returns the length, in elements, of the contiguous run that ends before element `k`.
    #[inline]
    pub(crate) fn run_before(&self, k: usize) -> usize {
        if self.is_dense() { k } else { (k - 1) % self.cols + 1 }
    }
}

/// An in-place change of the leading dimension of a matrix, transposed or with elements in order.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct LeadingDims {
    source: PitchedRows,
    result: PitchedRows,
    transposed: bool,
}

impl LeadingDims {
    /// Creates the transposition of a matrix of `rows` by `cols` from leading dimension `lda` to
    /// `ldb`. Returns `None` if `lda < cols`, `ldb < rows`, or a size with gaps overflows `usize`.
    pub fn transposed(rows: usize, cols: usize, lda: usize, ldb: usize) -> Option<Self> {
        let (source, result) =
            (PitchedRows::new(rows, cols, lda)?, PitchedRows::new(cols, rows, ldb)?);
        Some(LeadingDims { source, result, transposed: true })
    }

    /// Creates the change of the leading dimension of a matrix of `rows` by `cols` from `lda` to
    /// `ldb`, without transposition. Returns `None` if `lda < cols`, `ldb < cols`, or a size with
    /// gaps overflows `usize`.
    pub fn row_slide(rows: usize, cols: usize, lda: usize, ldb: usize) -> Option<Self> {
        Self::in_order(PitchedRows::new(rows, cols, lda)?, PitchedRows::new(rows, cols, ldb)?)
    }

    /// Creates the move of all elements, in order, from the rows of `source` to those of `result`.
    /// Returns `None` if the two have different numbers of elements.
    pub fn in_order(source: PitchedRows, result: PitchedRows) -> Option<Self> {
        (source.len() == result.len()).then_some(LeadingDims { source, result, transposed: false })
    }

    /// Converts all lengths from elements to bytes, with `bytes` bytes per element. Returns `None`
    /// on overflow, and if the matrix is transposed: its bytes do not keep their order.
    pub fn scaled(&self, bytes: usize) -> Option<Self> {
        let (source, result) = (self.source.scaled(bytes)?, self.result.scaled(bytes)?);
        (!self.transposed).then_some(LeadingDims { source, result, ..*self })
    }

    /// Returns the inverse change.
    #[must_use]
    pub fn inverse(&self) -> Self {
        LeadingDims { source: self.result, result: self.source, ..*self }
    }

    /// Returns the rows before the change.
    pub fn source(&self) -> PitchedRows {
        self.source
    }

    /// Returns the rows after the change.
    pub fn result(&self) -> PitchedRows {
        self.result
    }

    /// Returns `true` if rows become columns.
    pub fn is_transposed(&self) -> bool {
        self.transposed
    }

    /// Returns the number of elements of the matrix.
    pub fn len(&self) -> usize {
        self.source.len()
    }

    /// Returns `true` if there are no elements.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// Returns the length, in elements, of the memory that contains both the source and the result.
    pub fn span(&self) -> usize {
        self.source.span().max(self.result.span())
    }

    /// Returns the new offset of the element at `offset`. Offsets outside the source matrix are
    /// returned unchanged.
    pub fn dest(&self, offset: usize) -> usize {
        let LeadingDims { source, result, transposed, .. } = *self;
        let transpose =
            |k: usize| if transposed { k % source.cols * source.rows + k / source.cols } else { k };
        source.index(offset).map_or(offset, |k| result.offset(transpose(k)))
    }

    /// Returns `true` if no element moves.
    pub fn is_identity(&self) -> bool {
        let LeadingDims { source, result, transposed } = *self;
        // A single row or column that is contiguous equals its transpose.
        let line = source.rows <= 1 || source.cols <= 1;
        let dense = source.is_dense() && result.is_dense();
        self.len() <= 1 || if transposed { line && dense } else { dense || source == result }
    }

    /// With equal pitches, source and result have a square of min(rows, cols) rows and columns in
    /// common. Returns the remainder of the matrix outside it as `([rows, cols], [from, to])`: its
    /// extents in elements, and its byte offsets in the source and in the result. One is below the
    /// square, the other to its right, so they do not overlap.
    pub fn remainder(&self, elem_bytes: usize) -> ([usize; 2], [usize; 2]) {
        let PitchedRows { rows, cols, pitch } = self.source;
        let side = rows.min(cols);
        // The pitch of a single row is unlimited, so its bytes may overflow.
        let [below, right] = [side * pitch, side].map(|at| at.saturating_mul(elem_bytes));
        match rows > cols {
            true => ([rows - side, cols], [below, right]),
            false => ([rows, cols - side], [right, below]),
        }
    }

    /// Calls `move_run(from, to, len)` for each contiguous run that moves, in an order that never
    /// overwrites unread data. A run may overlap its own destination.
    ///
    /// Elements that move up in memory are moved last to first, others first to last. Elements keep
    /// their order, so an element at the destination of one that moves up also moves up. Stretches
    /// of one direction are therefore independent.
    ///
    /// # Panics
    /// If the matrix is transposed.
    pub fn run_by_run(&self, mut move_run: impl FnMut(usize, usize, usize)) {
        let LeadingDims { source: from, result: to, transposed } = *self;
        assert!(!transposed, "elements of a transposed matrix do not keep their order");
        let len = from.len();
        let up = |k: usize| to.offset(k) > from.offset(k);
        let mut k = 0;
        while k < len {
            let (start, moves_up) = (k, up(k));
            while k < len && up(k) == moves_up {
                let run = from.run_from(k).min(to.run_from(k));
                if !moves_up && to.offset(k) != from.offset(k) {
                    move_run(from.offset(k), to.offset(k), run);
                }
                k += run;
            }
            let mut end = if moves_up { k } else { start };
            while end > start {
                let run = from.run_before(end).min(to.run_before(end)).min(end - start);
                end -= run;
                move_run(from.offset(end), to.offset(end), run);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::RowSlide;

    fn small() -> impl Iterator<Item = LeadingDims> {
        let sides = (0..6).flat_map(|rows| (0..6).map(move |cols| (rows, cols)));
        let gaps = (0..10).flat_map(|a| (0..10).map(move |b| (a, b)));
        sides.flat_map(move |(rows, cols)| {
            gaps.clone().flat_map(move |(a, b)| {
                let transpose = LeadingDims::transposed(rows, cols, cols + a, rows + b).unwrap();
                [transpose, LeadingDims::row_slide(rows, cols, cols + a, cols + b).unwrap()]
            })
        })
    }

    /// Returns the offsets of all elements, row by row.
    fn offsets(rows: PitchedRows) -> Vec<usize> {
        (0..rows.rows()).flat_map(|i| (0..rows.cols()).map(move |j| i * rows.pitch() + j)).collect()
    }

    #[test]
    fn swapped_offsets_match_the_swaps_made_one_after_another() {
        let larger = (1..9).flat_map(|rows| (1..12).map(move |cols| (rows, cols)));
        let all = larger.flat_map(|(rows, cols)| (0..30).map(move |gap| (rows, cols, cols + gap)));
        for rows in all.filter_map(|(rows, cols, pitch)| PitchedRows::new(rows, cols, pitch)) {
            let mut array: Vec<usize> = (0..rows.span() + 3).collect();
            for (first, second, run) in (0..rows.rows()).flat_map(|row| rows.gap_swaps(row)) {
                (0..run).for_each(|k| array.swap(first + k, second + k));
            }
            for (there, &here) in array.iter().enumerate() {
                assert_eq!(rows.swapped_with_gaps(here, false), there, "{rows:?}");
                assert_eq!(rows.swapped_with_gaps(there, true), here, "{rows:?}");
            }
        }
        let huge = PitchedRows::new(1 << 30, 7, 1 << 20).unwrap();
        let there = huge.swapped_with_gaps(123_456_789, false);
        assert_eq!(huge.swapped_with_gaps(there, true), 123_456_789);
    }

    #[test]
    fn extents_are_checked() {
        assert!(
            LeadingDims::transposed(3, 5, 4, 3).is_none()
                && LeadingDims::transposed(3, 5, 5, 2).is_none()
        );
        assert!(LeadingDims::row_slide(3, 5, 5, 4).is_none());
        assert!(PitchedRows::new(3, 1, usize::MAX / 2).is_none());
        assert!(PitchedRows::new(2, 1, usize::MAX / 2).unwrap().scaled(2).is_none());
        assert_eq!(PitchedRows::new(3, 4, 5).unwrap().span(), 14);
        assert_eq!(PitchedRows::new(0, 4, 5).unwrap().span(), 0);
        assert_eq!(PitchedRows::new(4, 0, 5).unwrap().span(), 0);
    }

    #[test]
    fn offsets_match_rows_and_columns() {
        for rows in small().map(|leading| leading.source()) {
            let all = offsets(rows);
            assert_eq!((all.len(), rows.is_empty()), (rows.len(), all.is_empty()));
            assert_eq!(rows.span(), all.last().map_or(0, |last| last + 1));
            assert_eq!(rows.is_dense(), rows.rows() <= 1 || rows.cols() == rows.pitch());
            all.iter().enumerate().for_each(|(k, &offset)| assert_eq!(rows.offset(k), offset));
            for offset in 0..rows.span() + 12 {
                assert_eq!(
                    rows.elements_before(offset),
                    all.iter().filter(|&&at| at < offset).count()
                );
                assert_eq!(rows.index(offset), all.iter().position(|&at| at == offset));
            }
            assert_eq!(rows.len() + rows.gaps(), rows.area());
            for offset in 0..rows.area() {
                let (row, col) = (offset / rows.pitch(), offset % rows.pitch());
                let moved = match col < rows.cols() {
                    true => row * rows.cols() + col,
                    false => rows.len() + (col - rows.cols()) * rows.rows() + row,
                };
                assert_eq!(
                    (rows.with_gaps_last(offset), rows.with_gaps_between(moved)),
                    (moved, offset)
                );
            }
        }
    }

    #[test]
    fn identity_is_detected() {
        for leading in small() {
            let (source, result) = (leading.source(), leading.result());
            let to = |k: usize| match leading.is_transposed() {
                true => result.offset(k % source.cols() * source.rows() + k / source.cols()),
                false => result.offset(k),
            };
            let stays = (0..leading.len()).all(|k| to(k) == source.offset(k));
            assert_eq!(leading.is_identity(), stays, "{leading:?}");
        }
    }

    /// Checks that `run_by_run` in one array gives the result of an out-of-place copy, also for
    /// rows of another length.
    #[test]
    fn run_by_run_matches_out_of_place_copy() {
        let offsets = |rows: PitchedRows| (0..rows.len()).map(move |k| rows.offset(k));
        let mut both_ways = 0;
        let sides = (1..6).flat_map(|rows| (1..6).map(move |cols| (rows, cols)));
        for (rows, cols) in sides {
            for (a, b) in (0..10).flat_map(|a| (0..10).map(move |b| (a, b))) {
                let from = PitchedRows::new(rows, cols, cols + a).unwrap();
                let alike = PitchedRows::new(rows, cols, cols + b).unwrap();
                for to in [alike, PitchedRows::new(cols, rows, rows + b).unwrap()] {
                    let slide = LeadingDims::in_order(from, to).unwrap();
                    assert_eq!(RowSlide::of(slide).is_some(), to == alike || rows == cols);
                    let mut data: Vec<usize> = (1000..1000 + slide.span()).collect();
                    let mut want = data.clone();
                    offsets(from).zip(offsets(to)).for_each(|(from, to)| want[to] = 1000 + from);
                    let moved = || offsets(from).zip(offsets(to));
                    both_ways += usize::from(
                        moved().any(|(from, to)| to < from) && moved().any(|(from, to)| to > from),
                    );
                    slide.run_by_run(|from, to, run| data.copy_within(from..from + run, to));
                    assert!(data == want, "{slide:?}");
                }
            }
        }
        assert!(both_ways > 100);
        let [none, two] = [0, 2].map(|rows| PitchedRows::new(rows, 3, 3).unwrap());
        assert_eq!(LeadingDims::in_order(none, two), None);
        LeadingDims::in_order(none, none).unwrap().run_by_run(|_, _, _| unreachable!());
    }
}
