//! Matrices with a leading dimension, as in BLAS: offsets of their elements, gaps between rows, and
//! index maps that remove or restore the gaps.

use std::ops::Range;

/// A matrix of `rows` by `cols` elements whose rows start `pitch` elements apart. There is no gap
/// after the last row.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct PitchedRows {
    rows: usize,
    cols: usize,
    pitch: usize,
}

impl PitchedRows {
    /// Creates the view. Returns `None` if `pitch < cols` or if `rows · pitch` overflows `usize`.
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

    /// Returns the leading dimension: the number of elements from one row to the next.
    pub fn pitch(&self) -> usize {
        self.pitch
    }

    /// Converts all lengths from elements to bytes, with `bytes` bytes per element. Returns `None`
    /// on overflow.
    pub fn scaled(&self, bytes: usize) -> Option<Self> {
        Self::new(self.rows, self.cols.checked_mul(bytes)?, self.pitch.checked_mul(bytes)?)
    }

    /// Returns the number of elements of all rows.
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

    /// Returns the offset of element `k`, counted row by row.
    #[inline]
    pub fn offset(&self, k: usize) -> usize {
        k / self.cols * self.pitch + k % self.cols
    }

    /// Returns the number of the element at an offset, counted row by row. Returns `None` in a gap
    /// and after the last row.
    #[inline]
    pub fn index(&self, offset: usize) -> Option<usize> {
        let inside = offset < self.span() && offset % self.pitch < self.cols;
        inside.then(|| offset / self.pitch * self.cols + offset % self.pitch)
    }

    /// Returns the number of elements of all gaps, including one after the last row.
    pub fn gaps(&self) -> usize {
        self.rows * (self.pitch - self.cols)
    }

    /// Returns the number of elements of rows and gaps, including a gap after the last row:
    /// `rows · pitch`.
    pub fn area(&self) -> usize {
        self.rows * self.pitch
    }

    /// Returns the new offset of the element at `offset` when the gaps are moved after the rows.
    /// The columns of the gaps then follow the rows, column after column.
    #[inline]
    pub fn with_gaps_last(&self, offset: usize) -> usize {
        self.index(offset).unwrap_or_else(|| {
            let (row, col) = (offset / self.pitch, offset % self.pitch);
            self.len() + (col - self.cols) * self.rows + row
        })
    }

    /// Returns the new offset of the element at `k` when the gaps are restored: the inverse of
    /// [`with_gaps_last`](Self::with_gaps_last).
    #[inline]
    pub fn with_gaps_between(&self, k: usize) -> usize {
        match k.checked_sub(self.len()) {
            None => self.offset(k),
            Some(k) => k % self.rows * self.pitch + self.cols + k / self.rows,
        }
    }

    /// Returns the new offset of the element at `offset` after all rows [swap](Self::gap_swaps)
    /// with their gaps until they are contiguous, or after the inverse if `back`. Takes time
    /// proportional to the number of rows that move the element, usually a few.
    pub fn swapped_with_gaps(&self, offset: usize, back: bool) -> usize {
        let (cols, pitch, mut at) = (self.cols, self.pitch, offset);
        if offset >= self.span() {
            return offset;
        }
        // A row of the matrix moves once. Each row that overlaps an element of a gap moves it by a
        // multiple of `distance`, from the row's dense position to after it.
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

    /// Returns the swaps, in order, that move row `row` to its position in the dense matrix. Each
    /// is two offsets and a length.
    ///
    /// The elements in that position move in the opposite direction. Each swap is at most as long
    /// as the distance between the two positions of the row.
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

    /// Returns the number of matrix elements stored before an offset.
    #[inline]
    pub(crate) fn elements_before(&self, offset: usize) -> usize {
        if self.is_empty() {
            return 0;
        }
        let within = (offset % self.pitch).min(self.cols);
        (offset / self.pitch * self.cols + within).min(self.len())
    }

    /// Returns the number of contiguous elements that start with element `k`.
    #[inline]
    pub(crate) fn run_from(&self, k: usize) -> usize {
        if self.is_dense() { self.len() - k } else { self.cols - k % self.cols }
    }

    /// Returns the number of contiguous elements that end before element `k`.
    #[inline]
    pub(crate) fn run_before(&self, k: usize) -> usize {
        if self.is_dense() { k } else { (k - 1) % self.cols + 1 }
    }

    /// Returns the end of the row or gap that contains an offset, and `true` if it is a row.
    fn at(&self, offset: usize) -> (usize, bool) {
        if self.is_empty() || offset >= self.span() {
            return (usize::MAX, false);
        }
        let start = offset / self.pitch * self.pitch;
        if offset < start + self.cols {
            (start + self.cols, true)
        } else {
            (start + self.pitch, false)
        }
    }
}

/// A change of the leading dimension of a matrix in place, transposed or not.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct LeadingDims {
    source: PitchedRows,
    result: PitchedRows,
    transposed: bool,
    /// Elements at the start whose saved gaps are counted, and the number of saved elements. The
    /// number is cached because counting takes time proportional to the rows.
    dense_len: usize,
    saved_gap_len: usize,
}

impl LeadingDims {
    /// Creates the transposition of a matrix of `rows` by `cols` from leading dimension `lda` to
    /// `ldb`. Returns `None` if `lda < cols`, `ldb < rows`, or the size overflows `usize`.
    pub fn transposed(rows: usize, cols: usize, lda: usize, ldb: usize) -> Option<Self> {
        let (source, result) =
            (PitchedRows::new(rows, cols, lda)?, PitchedRows::new(cols, rows, ldb)?);
        let (dense_len, saved_gap_len) =
            (source.len(), count_saved_gaps(source, result, source.len()));
        Some(LeadingDims { source, result, transposed: true, dense_len, saved_gap_len })
    }

    /// Creates the change of the leading dimension of a matrix of `rows` by `cols` from `lda` to
    /// `ldb`, without transposition. Returns `None` if `lda < cols`, `ldb < cols`, or the size
    /// overflows `usize`.
    pub fn row_slide(rows: usize, cols: usize, lda: usize, ldb: usize) -> Option<Self> {
        let (source, result) =
            (PitchedRows::new(rows, cols, lda)?, PitchedRows::new(rows, cols, ldb)?);
        Some(LeadingDims { source, result, transposed: false, dense_len: 0, saved_gap_len: 0 })
    }

    /// Returns this change with a dense intermediate matrix of `dense_len` elements. It has more
    /// elements than the matrix if gaps are moved as elements.
    ///
    /// Returns `None` if these elements exceed the span or the [area](PitchedRows::area) of a side,
    /// or if the matrix is not transposed.
    pub fn with_dense_len(&self, dense_len: usize) -> Option<Self> {
        let LeadingDims { source, result, .. } = *self;
        let most = source.area().min(result.area()).min(self.span());
        let saved_gap_len =
            (dense_len <= most).then(|| count_saved_gaps(source, result, dense_len))?;
        self.transposed.then_some(LeadingDims { dense_len, saved_gap_len, ..*self })
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

    /// Returns the number of elements, from the first on, that contain both the source and the
    /// result.
    pub fn span(&self) -> usize {
        self.source.span().max(self.result.span())
    }

    /// Returns the new offset of the element at `offset`. Elements outside the matrix are
    /// unchanged.
    pub fn dest(&self, offset: usize) -> usize {
        let LeadingDims { source, result, transposed, .. } = *self;
        let transpose =
            |k: usize| if transposed { k % source.cols * source.rows + k / source.cols } else { k };
        source.index(offset).map_or(offset, |k| result.offset(transpose(k)))
    }

    /// Returns the new offset of the element at `offset` when gaps are [saved](Self::saved_gaps)
    /// after the [span](Self::span), or restored if `back`. Other elements are unchanged.
    pub fn saved_gap_dest(&self, offset: usize, back: bool) -> usize {
        let (mut saved, span) = (self.saved_gaps(), self.span());
        let mut at = span;
        let found = saved.find_map(|run| {
            let (from, to) = if back { (at..at + run.len(), run.start) } else { (run.clone(), at) };
            at += run.len();
            from.contains(&offset).then(|| to + offset - from.start)
        });
        found.unwrap_or(offset)
    }

    /// Returns `true` if no element moves.
    pub fn is_identity(&self) -> bool {
        let LeadingDims { source, result, transposed, .. } = *self;
        // A single row or column that is contiguous equals its transpose.
        let line = source.rows <= 1 || source.cols <= 1;
        let fixed_transpose = line && source.is_dense() && result.is_dense();
        let fixed_slide = source.pitch == result.pitch || source.rows <= 1;
        self.len() <= 1 || if transposed { fixed_transpose } else { fixed_slide }
    }

    /// Returns the length of the dense intermediate matrix, in elements: the matrix itself, or
    /// [more](Self::with_dense_len). 0 without transposition: such rows are never dense in between.
    pub fn dense_len(&self) -> usize {
        self.dense_len
    }

    /// Returns the runs of offsets below [`dense_len`](Self::dense_len) that are in a gap of both
    /// the source and the result. The dense matrix overwrites them, so they must be saved.
    pub fn saved_gaps(&self) -> impl Iterator<Item = Range<usize>> + use<> {
        let LeadingDims { source, result, dense_len: len, .. } = *self;
        let mut offset = 0;
        std::iter::from_fn(move || {
            while offset < len {
                let ((a, in_source), (b, in_result)) = (source.at(offset), result.at(offset));
                let end = match (in_source, in_result) {
                    (true, true) => a.max(b),
                    (true, false) => a,
                    (false, true) => b,
                    (false, false) => a.min(b).min(len),
                };
                let start = std::mem::replace(&mut offset, end);
                if !in_source && !in_result {
                    return Some(start..end);
                }
            }
            None
        })
    }

    /// Returns the total length of the [saved gaps](Self::saved_gaps), in elements.
    pub fn saved_gap_len(&self) -> usize {
        self.saved_gap_len
    }
}

/// Counts the [saved gaps](LeadingDims::saved_gaps) among the first `len` elements, which do not
/// exceed the area of either side. Loops over the side with fewer rows.
fn count_saved_gaps(source: PitchedRows, result: PitchedRows, len: usize) -> usize {
    if [source, result].iter().any(|rows| rows.is_dense() && len <= rows.span()) {
        return 0;
    }
    let (fewer, more) =
        if source.rows <= result.rows { (source, result) } else { (result, source) };
    if fewer.pitch == more.pitch {
        // The side with fewer rows has the longer rows. They cover the rows of the other side,
        // which reach beyond `len`.
        return len - fewer.elements_before(len);
    }
    let both: usize = (0..fewer.rows)
        .map(|row| {
            let start = (row * fewer.pitch).min(len);
            more.elements_before((start + fewer.cols).min(len)) - more.elements_before(start)
        })
        .sum();
    len + both - source.elements_before(len) - result.elements_before(len)
}

#[cfg(test)]
mod tests {
    use super::*;

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
    fn saved_gaps_are_outside_all_rows() {
        for leading in small() {
            let [source, result] = [leading.source(), leading.result()].map(offsets);
            let default_len = if leading.is_transposed() { leading.len() } else { 0 };
            assert_eq!(leading.dense_len(), default_len);
            let areas = [leading.source().area(), leading.result().area()];
            let most = leading.span().min(areas[0]).min(areas[1]);
            assert!(leading.with_dense_len(most + 1).is_none(), "{leading:?}");
            for dense_len in [default_len].into_iter().chain(default_len..=most) {
                let covering = leading.with_dense_len(dense_len);
                assert_eq!(covering.is_some(), leading.is_transposed());
                let leading = covering.unwrap_or(leading);
                let free = |at: &usize| !source.contains(at) && !result.contains(at);
                let want: Vec<usize> = (0..leading.dense_len()).filter(free).collect();
                let saved: Vec<usize> = leading.saved_gaps().flatten().collect();
                assert_eq!((leading.saved_gap_len(), &saved), (want.len(), &want), "{leading:?}");
                assert!(leading.saved_gaps().all(|run| !run.is_empty()));
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
}
