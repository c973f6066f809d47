//! How an axis is cut into parts, one for each of several memories: rank `r` has indices `begin(r) .. begin(r + 1)`.

use std::ops::Range;

/// Consecutive parts of an axis, in the order of ranks; any may be empty.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Partition {
    /// Where each begins, and the axis's extent.
    begins: Vec<usize>,
}

impl Partition {
    /// Parts of these sizes; `None` where their sum cannot be counted.
    pub fn new(sizes: &[usize]) -> Option<Self> {
        let mut begins = vec![0usize];
        for size in sizes {
            begins.push(begins.last()?.checked_add(*size)?);
        }
        Some(Partition { begins })
    }

    /// `ranks` parts that differ by at most one, the longer ones first, as NumPy's `array_split` cuts.
    pub fn balanced(extent: usize, ranks: usize) -> Self {
        let longer = extent.checked_rem(ranks).unwrap_or(0);
        let begin = |r: usize| extent / ranks.max(1) * r + r.min(longer);
        Partition { begins: (0..=ranks).map(begin).collect() }
    }

    /// `ranks` parts of `⌈extent / ranks⌉` until nothing is left, as `torch.chunk`, DTensor and FFTW cut.
    pub fn blocks(extent: usize, ranks: usize) -> Self {
        let block = extent.div_ceil(ranks.max(1));
        Partition { begins: (0..=ranks).map(|r| block.saturating_mul(r).min(extent)).collect() }
    }

    /// How many parts there are.
    pub fn ranks(&self) -> usize {
        self.begins.len() - 1
    }

    /// Indices of all parts: the axis's extent.
    pub fn extent(&self) -> usize {
        self.begins[self.ranks()]
    }

    /// The first index of part `r`; of the number of parts, the extent.
    pub fn begin(&self, r: usize) -> usize {
        self.begins[r]
    }

    /// Indices of part `r`.
    pub fn len(&self, r: usize) -> usize {
        self.begins[r + 1] - self.begins[r]
    }

    /// Whether no part has any.
    pub fn is_empty(&self) -> bool {
        self.extent() == 0
    }

    /// The indices of part `r`.
    pub fn range(&self, r: usize) -> Range<usize> {
        self.begins[r]..self.begins[r + 1]
    }

    /// The sizes of all parts.
    pub fn sizes(&self) -> impl ExactSizeIterator<Item = usize> + Clone + '_ {
        self.begins.windows(2).map(|pair| pair[1] - pair[0])
    }

    /// Whether all parts have one size.
    pub fn are_equal(&self) -> bool {
        self.sizes().all(|size| size == self.sizes().next().unwrap_or(0))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn parts_are_cut_as_numpy_and_torch_cut() {
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
    fn what_cannot_be_counted_is_no_cut() {
        assert_eq!(Partition::new(&[usize::MAX, 1]), None);
        let none = Partition::new(&[]).unwrap();
        assert!(none.is_empty() && none.ranks() == 0 && none.are_equal());
        assert!(!Partition::new(&[2, 0]).unwrap().are_equal());
    }
}
