//! Partition of an axis over ranks: rank `r` has the indices `begin(r) .. begin(r + 1)`.

use std::ops::Range;

/// Consecutive parts of an axis in rank order. Parts may be empty.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Partition {
    /// First index of each part, followed by the extent of the axis.
    begins: Vec<usize>,
}

impl Partition {
    /// Creates parts of these sizes. Returns `None` if their sum overflows `usize`.
    pub fn new(sizes: &[usize]) -> Option<Self> {
        let mut begins = vec![0usize];
        for size in sizes {
            begins.push(begins.last()?.checked_add(*size)?);
        }
        Some(Partition { begins })
    }

    /// Creates `ranks` parts whose sizes differ by at most one, longer ones first, as NumPy's
    /// `array_split`.
    pub fn balanced(extent: usize, ranks: usize) -> Self {
        let longer = extent.checked_rem(ranks).unwrap_or(0);
        let begin = |r: usize| extent / ranks.max(1) * r + r.min(longer);
        Partition { begins: (0..=ranks).map(begin).collect() }
    }

    /// Creates `ranks` parts of `⌈extent / ranks⌉` indices until the axis is exhausted, as
    /// `torch.chunk`, DTensor and FFTW do.
    pub fn blocks(extent: usize, ranks: usize) -> Self {
        let block = extent.div_ceil(ranks.max(1));
        Partition { begins: (0..=ranks).map(|r| block.saturating_mul(r).min(extent)).collect() }
    }

    /// Returns the number of parts.
    pub fn ranks(&self) -> usize {
        self.begins.len() - 1
    }

    /// Returns the extent of the axis.
    pub fn extent(&self) -> usize {
        self.begins[self.ranks()]
    }

    /// Returns the first index of part `r`. `r` may be the number of parts: the result is then the
    /// extent.
    pub fn begin(&self, r: usize) -> usize {
        self.begins[r]
    }

    /// Returns the number of indices of part `r`.
    pub fn len(&self, r: usize) -> usize {
        self.begins[r + 1] - self.begins[r]
    }

    /// Returns `true` if the extent is 0.
    pub fn is_empty(&self) -> bool {
        self.extent() == 0
    }

    /// Returns the indices of part `r`.
    pub fn range(&self, r: usize) -> Range<usize> {
        self.begins[r]..self.begins[r + 1]
    }

    /// Returns the sizes of all parts.
    pub fn sizes(&self) -> impl ExactSizeIterator<Item = usize> + Clone + '_ {
        self.begins.windows(2).map(|pair| pair[1] - pair[0])
    }

    /// Returns `true` if all parts have the same size.
    pub fn are_equal(&self) -> bool {
        self.sizes().all(|size| size == self.sizes().next().unwrap_or(0))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sizes_match_numpy_and_torch() {
        let sizes = |parts: Partition| parts.sizes().collect::<Vec<_>>();
        assert_eq!(sizes(Partition::balanced(10, 4)), [3, 3, 2, 2]);
        assert_eq!(sizes(Partition::blocks(10, 4)), [3, 3, 3, 1]);
        assert_eq!(sizes(Partition::blocks(9, 4)), [3, 3, 3, 0]);
        assert_eq!(sizes(Partition::balanced(2, 3)), [1, 1, 0]);
        assert_eq!(sizes(Partition::blocks(usize::MAX, 2)), [usize::MAX / 2 + 1, usize::MAX / 2]);
        for cut in [Partition::balanced, Partition::blocks] {
            for (extent, ranks) in (0..30).flat_map(|extent| (1..9).map(move |p| (extent, p))) {
                let parts = cut(extent, ranks);
                assert_eq!((parts.extent(), parts.ranks()), (extent, ranks));
                assert_eq!((0..ranks).map(|r| parts.len(r)).sum::<usize>(), extent);
                assert_eq!((0..ranks).flat_map(|r| parts.range(r)).count(), extent);
            }
        }
    }

    #[test]
    fn partition_is_rejected_when_the_extent_overflows() {
        assert_eq!(Partition::new(&[usize::MAX, 1]), None);
        let none = Partition::new(&[]).unwrap();
        assert!(none.is_empty() && none.ranks() == 0 && none.are_equal());
        assert!(!Partition::new(&[2, 0]).unwrap().are_equal());
    }
}
