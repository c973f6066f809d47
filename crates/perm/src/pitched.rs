//! Rows a pitch apart, as BLAS's leading dimensions have them: where their elements lie, what lies between them, and
//! where they go when gaps are cut off.

use std::ops::Range;

/// `rows` rows of `cols` elements, the beginnings of two `pitch` elements apart; the last one has no gap behind it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Pitched {
    rows: usize,
    cols: usize,
    pitch: usize,
}

impl Pitched {
    /// `None` where `pitch < cols`, and where a gap behind the last row could not be counted.
    pub fn new(rows: usize, cols: usize, pitch: usize) -> Option<Self> {
        rows.checked_mul(pitch)?;
        (cols <= pitch).then_some(Pitched { rows, cols, pitch })
    }

    /// Rows.
    pub fn rows(&self) -> usize {
        self.rows
    }

    /// Elements of a row.
    pub fn cols(&self) -> usize {
        self.cols
    }

    /// Elements from row to row: the leading dimension.
    pub fn pitch(&self) -> usize {
        self.pitch
    }

    /// The same in units of which an element has `bytes`; `None` where they cannot be counted.
    pub fn scaled(&self, bytes: usize) -> Option<Self> {
        Self::new(self.rows, self.cols.checked_mul(bytes)?, self.pitch.checked_mul(bytes)?)
    }

    /// Elements of all rows.
    pub fn len(&self) -> usize {
        self.rows * self.cols
    }

    /// Whether there are none.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// Elements from the first to the last, both included, and the gaps between: `(rows − 1) · pitch + cols`.
    pub fn span(&self) -> usize {
        if self.is_empty() { 0 } else { (self.rows - 1) * self.pitch + self.cols }
    }

    /// Whether there are no gaps.
    pub fn is_dense(&self) -> bool {
        self.rows <= 1 || self.cols == self.pitch
    }

    /// Where element `k` lies, row by row.
    #[inline]
    pub fn offset(&self, k: usize) -> usize {
        k / self.cols * self.pitch + k % self.cols
    }

    /// The element at an offset, counted row by row; `None` in a gap and behind the last row.
    #[inline]
    pub fn index(&self, offset: usize) -> Option<usize> {
        let inside = offset < self.span() && offset % self.pitch < self.cols;
        inside.then(|| offset / self.pitch * self.cols + offset % self.pitch)
    }

    /// Elements of all gaps, that behind the last row included.
    pub fn gaps(&self) -> usize {
        self.rows * (self.pitch - self.cols)
    }

    /// Elements of rows and gaps, that behind the last row included.
    pub fn area(&self) -> usize {
        self.rows * self.pitch
    }

    /// Where what lies at an offset goes when the gaps are cut off: the gaps' columns, one after the other, follow the
    /// rows.
    #[inline]
    pub fn cut(&self, offset: usize) -> usize {
        self.index(offset).unwrap_or_else(|| {
            let (row, col) = (offset / self.pitch, offset % self.pitch);
            self.len() + (col - self.cols) * self.rows + row
        })
    }

    /// Its inverse: where what lies at `k` of what was cut goes when columns are put back.
    #[inline]
    pub fn joined(&self, k: usize) -> usize {
        match k.checked_sub(self.len()) {
            None => self.offset(k),
            Some(k) => k % self.rows * self.pitch + self.cols + k / self.rows,
        }
    }

    /// Returns where what is at `offset` goes when all rows [change places](#method.exchanges) with their gaps until they
    /// are contiguous, or back. Takes time in proportion to the rows that move it, seldom more than a few.
    pub fn exchanged(&self, offset: usize, back: bool) -> usize {
        let (cols, pitch, mut at) = (self.cols, self.pitch, offset);
        if offset >= self.span() {
            return offset;
        }
        // A row of the matrix moves once. Each row that covers an element of a gap moves it by a multiple of `apart`, from
        // the row's place to behind it.
        if back {
            if offset < self.len() {
                return self.offset(offset);
            }
            while at % pitch < cols {
                let (place, apart) = (at / pitch * cols, at / pitch * (pitch - cols));
                at = place + (at - place) % apart;
            }
            return at;
        }
        if let Some(k) = self.index(offset) {
            return k;
        }
        while at / cols < self.rows {
            let apart = at / cols * (pitch - cols);
            at += apart * (cols - at % cols).div_ceil(apart);
        }
        at
    }

    /// The runs that change places, in order, when a row goes to where it lies once rows are together and what lies
    /// there goes the other way: two offsets and a length, in steps as long as the places are apart.
    pub fn exchanges(
        &self,
        row: usize,
    ) -> impl DoubleEndedIterator<Item = (usize, usize, usize)> + use<> {
        let (cols, place, apart) = (self.cols, row * self.cols, row * (self.pitch - self.cols));
        let steps = if apart == 0 { 0 } else { cols.div_ceil(apart) };
        (0..steps).map(move |step| {
            let start = step * apart;
            (place + start, place + start + apart, apart.min(cols - start))
        })
    }

    /// Elements that lie before an offset.
    #[inline]
    pub fn before(&self, offset: usize) -> usize {
        if self.is_empty() {
            return 0;
        }
        let within = (offset % self.pitch).min(self.cols);
        (offset / self.pitch * self.cols + within).min(self.len())
    }

    /// Elements from `k` on that lie one after the other.
    #[inline]
    pub(crate) fn run_from(&self, k: usize) -> usize {
        if self.is_dense() { self.len() - k } else { self.cols - k % self.cols }
    }

    /// The same that end before `k`.
    #[inline]
    pub(crate) fn run_before(&self, k: usize) -> usize {
        if self.is_dense() { k } else { (k - 1) % self.cols + 1 }
    }

    /// At an offset: where what lies there ends, and whether that is a row.
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

/// A matrix that lies at one leading dimension and is to lie at another, in place: transposed, or as it is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Leading {
    source: Pitched,
    result: Pitched,
    transposed: bool,
    /// Elements from the first one on among which gaps are kept, and how many are, which takes a while to count.
    covered: usize,
    kept: usize,
}

impl Leading {
    /// A matrix of `rows` by `cols` whose rows lie `lda` apart, to be transposed to rows `ldb` apart; `None` where
    /// `lda < cols` or `ldb < rows`, and where the elements cannot be counted.
    pub fn transposed(rows: usize, cols: usize, lda: usize, ldb: usize) -> Option<Self> {
        let (source, result) = (Pitched::new(rows, cols, lda)?, Pitched::new(cols, rows, ldb)?);
        let (covered, kept) = (source.len(), kept_len(source, result, source.len()));
        Some(Leading { source, result, transposed: true, covered, kept })
    }

    /// The same to stay as it is but for its pitch; `None` where `lda < cols` or `ldb < cols` and so on.
    pub fn slid(rows: usize, cols: usize, lda: usize, ldb: usize) -> Option<Self> {
        let (source, result) = (Pitched::new(rows, cols, lda)?, Pitched::new(rows, cols, ldb)?);
        Some(Leading { source, result, transposed: false, covered: 0, kept: 0 })
    }

    /// The same of which the first `covered` elements are moved as if they had no gaps: as many as it has, or more where
    /// gaps travel as elements. `None` where these reach beyond the span, or beyond a side's last gap.
    pub fn covering(&self, covered: usize) -> Option<Self> {
        let Leading { source, result, .. } = *self;
        let most = source.area().min(result.area()).min(self.span());
        let kept = (covered <= most).then(|| kept_len(source, result, covered))?;
        self.transposed.then_some(Leading { covered, kept, ..*self })
    }

    /// What undoes it.
    #[must_use]
    pub fn inverse(&self) -> Self {
        Leading { source: self.result, result: self.source, ..*self }
    }

    /// The rows before.
    pub fn source(&self) -> Pitched {
        self.source
    }

    /// The rows after.
    pub fn result(&self) -> Pitched {
        self.result
    }

    /// Whether rows become columns.
    pub fn is_transposed(&self) -> bool {
        self.transposed
    }

    /// Elements of the matrix.
    pub fn len(&self) -> usize {
        self.source.len()
    }

    /// Whether there are none.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// Elements from the first one on that hold the source and the result.
    pub fn span(&self) -> usize {
        self.source.span().max(self.result.span())
    }

    /// Where what lies at an offset goes: an element of the matrix to its place in the result; anything else stays.
    pub fn dest(&self, offset: usize) -> usize {
        let Leading { source, result, transposed, .. } = *self;
        let turned =
            |k: usize| if transposed { k % source.cols * source.rows + k / source.cols } else { k };
        source.index(offset).map_or(offset, |k| result.offset(turned(k)))
    }

    /// Where what lies at an offset goes when gaps are [kept](Self::kept) behind the [span](Self::span), or `back` where
    /// they are put back: anything else stays.
    pub fn kept_dest(&self, offset: usize, back: bool) -> usize {
        let (mut kept, span) = (self.kept(), self.span());
        let mut at = span;
        let found = kept.find_map(|run| {
            let (from, to) = if back { (at..at + run.len(), run.start) } else { (run.clone(), at) };
            at += run.len();
            from.contains(&offset).then(|| to + offset - from.start)
        });
        found.unwrap_or(offset)
    }

    /// Whether every element stays where it is.
    pub fn stays(&self) -> bool {
        let Leading { source, result, transposed, .. } = *self;
        // A row or a column alone is the same transposed where it lies in one piece.
        let line = source.rows <= 1 || source.cols <= 1;
        let turned = line && source.is_dense() && result.is_dense();
        let slid = source.pitch == result.pitch || source.rows <= 1;
        self.len() <= 1 || if transposed { turned } else { slid }
    }

    /// Elements that lie where the matrix has no gaps for a while: its own, or [more](Self::covering). None where rows
    /// slide, which never lie together.
    pub fn covered(&self) -> usize {
        self.covered
    }

    /// Offsets among the first [`covered`](Self::covered) that are in a gap of the source and of the result both: run by
    /// run.
    pub fn kept(&self) -> impl Iterator<Item = Range<usize>> + use<> {
        let Leading { source, result, covered: len, .. } = *self;
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

    /// How many those are.
    pub fn kept_len(&self) -> usize {
        self.kept
    }
}

/// Elements that are [kept](Leading::kept) of the first `len`, which end with a side's last gap at most, counted by the
/// fewer rows.
fn kept_len(source: Pitched, result: Pitched, len: usize) -> usize {
    if [source, result].iter().any(|rows| rows.is_dense() && len <= rows.span()) {
        return 0;
    }
    let (few, many) = if source.rows <= result.rows { (source, result) } else { (result, source) };
    if few.pitch == many.pitch {
        // The fewer rows are the longer ones and cover the others, which reach beyond `len`.
        return len - few.before(len);
    }
    let both: usize = (0..few.rows)
        .map(|row| {
            let start = (row * few.pitch).min(len);
            many.before((start + few.cols).min(len)) - many.before(start)
        })
        .sum();
    len + both - source.before(len) - result.before(len)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn small() -> impl Iterator<Item = Leading> {
        let sides = (0..6).flat_map(|rows| (0..6).map(move |cols| (rows, cols)));
        let gaps = (0..10).flat_map(|a| (0..10).map(move |b| (a, b)));
        sides.flat_map(move |(rows, cols)| {
            gaps.clone().flat_map(move |(a, b)| {
                let turned = Leading::transposed(rows, cols, cols + a, rows + b).unwrap();
                [turned, Leading::slid(rows, cols, cols + a, cols + b).unwrap()]
            })
        })
    }

    /// The offsets of all elements, by rows and columns.
    fn offsets(rows: Pitched) -> Vec<usize> {
        (0..rows.rows()).flat_map(|i| (0..rows.cols()).map(move |j| i * rows.pitch() + j)).collect()
    }

    #[test]
    fn extents_are_checked() {
        assert!(
            Leading::transposed(3, 5, 4, 3).is_none() && Leading::transposed(3, 5, 5, 2).is_none()
        );
        assert!(Leading::slid(3, 5, 5, 4).is_none());
        assert!(Pitched::new(3, 1, usize::MAX / 2).is_none());
        assert!(Pitched::new(2, 1, usize::MAX / 2).unwrap().scaled(2).is_none());
        assert_eq!(Pitched::new(3, 4, 5).unwrap().span(), 14);
        assert_eq!(Pitched::new(0, 4, 5).unwrap().span(), 0);
        assert_eq!(Pitched::new(4, 0, 5).unwrap().span(), 0);
    }

    #[test]
    fn elements_lie_in_rows() {
        for rows in small().map(|leading| leading.source()) {
            let all = offsets(rows);
            assert_eq!((all.len(), rows.is_empty()), (rows.len(), all.is_empty()));
            assert_eq!(rows.span(), all.last().map_or(0, |last| last + 1));
            assert_eq!(rows.is_dense(), rows.rows() <= 1 || rows.cols() == rows.pitch());
            all.iter().enumerate().for_each(|(k, &offset)| assert_eq!(rows.offset(k), offset));
            for offset in 0..rows.span() + 12 {
                assert_eq!(rows.before(offset), all.iter().filter(|&&at| at < offset).count());
                assert_eq!(rows.index(offset), all.iter().position(|&at| at == offset));
            }
            assert_eq!(rows.len() + rows.gaps(), rows.area());
            for offset in 0..rows.area() {
                let (row, col) = (offset / rows.pitch(), offset % rows.pitch());
                let there = match col < rows.cols() {
                    true => row * rows.cols() + col,
                    false => rows.len() + (col - rows.cols()) * rows.rows() + row,
                };
                assert_eq!((rows.cut(offset), rows.joined(there)), (there, offset));
            }
        }
    }

    #[test]
    fn exchanged_offsets_are_those_of_all_exchanges_made() {
        let larger = (1..9).flat_map(|rows| (1..12).map(move |cols| (rows, cols)));
        let all = larger.flat_map(|(rows, cols)| (0..30).map(move |gap| (rows, cols, cols + gap)));
        for rows in all.filter_map(|(rows, cols, pitch)| Pitched::new(rows, cols, pitch)) {
            let mut held: Vec<usize> = (0..rows.span() + 3).collect();
            for (first, second, run) in (0..rows.rows()).flat_map(|row| rows.exchanges(row)) {
                (0..run).for_each(|k| held.swap(first + k, second + k));
            }
            for (there, &here) in held.iter().enumerate() {
                assert_eq!(rows.exchanged(here, false), there, "{rows:?}");
                assert_eq!(rows.exchanged(there, true), here, "{rows:?}");
            }
        }
        let huge = Pitched::new(1 << 30, 7, 1 << 20).unwrap();
        assert_eq!(huge.exchanged(huge.exchanged(123_456_789, false), true), 123_456_789);
    }

    #[test]
    fn what_is_kept_lies_in_no_row() {
        for leading in small() {
            let [source, result] = [leading.source(), leading.result()].map(offsets);
            let together = if leading.is_transposed() { leading.len() } else { 0 };
            assert_eq!(leading.covered(), together);
            let areas = [leading.source().area(), leading.result().area()];
            let most = leading.span().min(areas[0]).min(areas[1]);
            assert!(leading.covering(most + 1).is_none(), "{leading:?}");
            for covered in [together].into_iter().chain(together..=most) {
                let covering = leading.covering(covered);
                assert_eq!(covering.is_some(), leading.is_transposed());
                let leading = covering.unwrap_or(leading);
                let free = |at: &usize| !source.contains(at) && !result.contains(at);
                let want: Vec<usize> = (0..leading.covered()).filter(free).collect();
                let kept: Vec<usize> = leading.kept().flatten().collect();
                assert_eq!((leading.kept_len(), &kept), (want.len(), &want), "{leading:?}");
                assert!(leading.kept().all(|run| !run.is_empty()));
            }
        }
    }

    #[test]
    fn what_stays_is_told() {
        for leading in small() {
            let (source, result) = (leading.source(), leading.result());
            let to = |k: usize| match leading.is_transposed() {
                true => result.offset(k % source.cols() * source.rows() + k / source.cols()),
                false => result.offset(k),
            };
            let stays = (0..leading.len()).all(|k| to(k) == source.offset(k));
            assert_eq!(leading.stays(), stays, "{leading:?}");
        }
    }
}
