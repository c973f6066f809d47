//! Gap elements that a dense intermediate matrix overwrites. They are saved in the workspace.

use std::ops::Range;

use turntile_perm::{LeadingDims, PitchedRows};

/// Elements in a gap of both the source and the result, which the dense intermediate overwrites.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct SavedGaps {
    leading: LeadingDims,
    dense_len: usize,
    /// Number of saved elements. Cached because counting takes time proportional to the rows.
    count: usize,
}

impl SavedGaps {
    /// Creates the saved gaps for a dense intermediate that is the matrix itself. Without
    /// transposition nothing is saved.
    pub fn new(leading: LeadingDims) -> Self {
        let nothing = SavedGaps { leading, dense_len: 0, count: 0 };
        Self::with_dense_len(leading, leading.len()).unwrap_or(nothing)
    }

    /// Creates the saved gaps for a dense intermediate matrix of `dense_len` elements. It has more
    /// elements than the matrix if gaps are moved as elements.
    ///
    /// Returns `None` if `dense_len` exceeds the span or the [area](PitchedRows::area) of the source
    /// or the result, or if the matrix is not transposed.
    pub fn with_dense_len(leading: LeadingDims, dense_len: usize) -> Option<Self> {
        let (source, result) = (leading.source(), leading.result());
        let most = source.area().min(result.area()).min(leading.span());
        (leading.is_transposed() && dense_len <= most).then(|| SavedGaps {
            leading,
            dense_len,
            count: count(source, result, dense_len),
        })
    }

    /// Returns the leading dimensions of the matrix.
    pub fn leading(&self) -> &LeadingDims {
        &self.leading
    }

    /// Returns the length of the dense intermediate matrix, in elements: the matrix itself, or
    /// [more](Self::with_dense_len). 0 without transposition: the rows then move without a dense
    /// intermediate.
    pub fn dense_len(&self) -> usize {
        self.dense_len
    }

    /// Returns the number of saved elements.
    pub fn count(&self) -> usize {
        self.count
    }

    /// Returns the runs of offsets below [`dense_len`](Self::dense_len) that are in a gap of both
    /// the source and the result.
    pub fn runs(&self) -> impl Iterator<Item = Range<usize>> + use<> {
        let (source, result) = (self.leading.source(), self.leading.result());
        let (len, mut offset) = (self.dense_len, 0);
        std::iter::from_fn(move || {
            while offset < len {
                match [source, result].map(|rows| end_of_run(rows, offset)) {
                    [Ok(a), Ok(b)] => offset = a.max(b),
                    [Ok(a), Err(_)] | [Err(_), Ok(a)] => offset = a,
                    [Err(a), Err(b)] => {
                        let start = std::mem::replace(&mut offset, a.min(b).min(len));
                        return Some(start..offset);
                    }
                }
            }
            None
        })
    }

    /// Returns the new offset of the element at `offset` when gaps are saved after the
    /// [span](LeadingDims::span), or restored if `back`. Other elements are unchanged.
    pub fn dest(&self, offset: usize, back: bool) -> usize {
        let (mut saved, span) = (self.runs(), self.leading.span());
        let mut at = span;
        let found = saved.find_map(|run| {
            let (from, to) = if back { (at..at + run.len(), run.start) } else { (run.clone(), at) };
            at += run.len();
            from.contains(&offset).then(|| to + offset - from.start)
        });
        found.unwrap_or(offset)
    }
}

/// Returns the end of the row that contains an offset, or `Err` with the end of the gap that
/// contains it.
fn end_of_run(rows: PitchedRows, offset: usize) -> Result<usize, usize> {
    if offset >= rows.span() {
        return Err(usize::MAX);
    }
    let start = offset / rows.pitch() * rows.pitch();
    let end = start + rows.cols();
    if offset < end { Ok(end) } else { Err(start + rows.pitch()) }
}

/// Counts the saved elements among the first `len`, at most the area of `source` and of `result`.
/// Loops over the rows of `source` or `result`, whichever has fewer.
fn count(source: PitchedRows, result: PitchedRows, len: usize) -> usize {
    if [source, result].iter().any(|rows| rows.is_dense() && len <= rows.span()) {
        return 0;
    }
    let (fewer, more) =
        if source.rows() <= result.rows() { (source, result) } else { (result, source) };
    if fewer.pitch() == more.pitch() {
        // The matrix is transposed, so the layout with fewer rows has the longer rows. Pitches are
        // equal and `len` is at most its area: below `len`, every row of the other layout is inside
        // a row of this one. Only its own gaps are saved.
        return len - fewer.elements_before(len);
    }
    let both: usize = (0..fewer.rows())
        .map(|row| {
            let start = (row * fewer.pitch()).min(len);
            more.elements_before((start + fewer.cols()).min(len)) - more.elements_before(start)
        })
        .sum();
    len + both - source.elements_before(len) - result.elements_before(len)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn small() -> impl Iterator<Item = SavedGaps> {
        let sides = (0..6).flat_map(|rows| (0..6).map(move |cols| (rows, cols)));
        let gaps = (0..10).flat_map(|a| (0..10).map(move |b| (a, b)));
        sides.flat_map(move |(rows, cols)| {
            gaps.clone().flat_map(move |(a, b)| {
                let transpose = LeadingDims::transposed(rows, cols, cols + a, rows + b).unwrap();
                let slide = LeadingDims::row_slide(rows, cols, cols + a, cols + b).unwrap();
                [transpose, slide].map(SavedGaps::new)
            })
        })
    }

    /// Returns the offsets of all elements in rows.
    fn offsets(rows: PitchedRows) -> Vec<usize> {
        (0..rows.len()).map(|k| rows.offset(k)).collect()
    }

    #[test]
    fn saved_gaps_are_outside_all_rows() {
        for gaps in small() {
            let leading = *gaps.leading();
            let [source, result] = [leading.source(), leading.result()].map(offsets);
            let default_len = if leading.is_transposed() { leading.len() } else { 0 };
            assert_eq!(gaps.dense_len(), default_len);
            let areas = [leading.source().area(), leading.result().area()];
            let most = leading.span().min(areas[0]).min(areas[1]);
            assert!(SavedGaps::with_dense_len(leading, most + 1).is_none(), "{gaps:?}");
            for dense_len in [default_len].into_iter().chain(default_len..=most) {
                let covering = SavedGaps::with_dense_len(leading, dense_len);
                assert_eq!(covering.is_some(), leading.is_transposed());
                let gaps = covering.unwrap_or(gaps);
                let free = |at: &usize| !source.contains(at) && !result.contains(at);
                let want: Vec<usize> = (0..gaps.dense_len()).filter(free).collect();
                let saved: Vec<usize> = gaps.runs().flatten().collect();
                assert_eq!((gaps.count(), &saved), (want.len(), &want), "{gaps:?}");
                assert!(gaps.runs().all(|run| !run.is_empty()));
            }
        }
    }
}
