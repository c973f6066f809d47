//! Strided copies from one storage to another, described by the axes of an array with their strides
//! in the source and in the result.

/// Axis of a strided copy in storage.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct CopyAxis {
    /// Number of elements along the axis.
    pub extent: u64,
    /// Stride in the source, in bytes.
    pub from: u64,
    /// Stride in the result, in bytes.
    pub to: u64,
    /// `true` if the axis is reversed in the result.
    pub reversed: bool,
}

/// Copy of an array in storage from one strided layout to another.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct StridedCopy {
    /// Bytes per element.
    pub elem_bytes: u64,
    /// Byte offset of the first element in the source.
    pub source: u64,
    /// Byte offset of the first element in the result.
    pub dest: u64,
    /// Axes in source order, outermost first.
    pub axes: Vec<CopyAxis>,
}

/// Returns the row-major strides of a dense array, in bytes.
pub fn dense(extents: &[u64], elem_bytes: u64) -> Vec<u64> {
    let mut pitches = vec![elem_bytes; extents.len()];
    for k in (1..extents.len()).rev() {
        pitches[k - 1] = pitches[k] * extents[k];
    }
    pitches
}

impl CopyAxis {
    /// Returns the first element in the result of the `count` elements from `first` on.
    pub fn first_after(&self, first: u64, count: u64) -> u64 {
        if self.reversed { self.extent - first - count } else { first }
    }
}

impl StridedCopy {
    /// Creates the copy that permutes the axes of a dense array: axis `i` of the result is axis
    /// `order[i]` of the source, reversed if `flipped[i]`. No extent may be 0.
    pub fn permuting(extents: &[u64], order: &[usize], flipped: &[bool], elem_bytes: u64) -> Self {
        let after: Vec<u64> = order.iter().map(|&axis| extents[axis]).collect();
        let (from, to) = (dense(extents, elem_bytes), dense(&after, elem_bytes));
        let position = |axis: usize| {
            order.iter().position(|&other| other == axis).expect("`order` is a permutation")
        };
        let axis = |k: usize| {
            let at = position(k);
            CopyAxis { extent: extents[k], from: from[k], to: to[at], reversed: flipped[at] }
        };
        let axes = (0..extents.len()).map(axis).collect();
        StridedCopy { elem_bytes, source: 0, dest: 0, axes }.fused()
    }

    /// Removes axes of extent 1, and fuses axes that are adjacent in the source and in the result if
    /// both are reversed or neither is.
    pub fn fused(mut self) -> Self {
        let mut fused: Vec<CopyAxis> = Vec::new();
        for axis in self.axes.iter().filter(|axis| axis.extent > 1) {
            match fused.last_mut() {
                Some(outer)
                    if outer.reversed == axis.reversed
                        && outer.from == axis.from * axis.extent
                        && outer.to == axis.to * axis.extent =>
                {
                    *outer = CopyAxis { extent: outer.extent * axis.extent, ..*axis };
                }
                _ => fused.push(*axis),
            }
        }
        self.axes = fused;
        self
    }

    /// Returns the bytes of all elements.
    pub fn bytes(&self) -> u64 {
        self.elem_bytes * self.axes.iter().map(|axis| axis.extent).product::<u64>()
    }

    /// Returns the axes in result order, outermost first, as indices into `axes`.
    pub fn order(&self) -> Vec<usize> {
        let mut order: Vec<usize> = (0..self.axes.len()).collect();
        order.sort_by_key(|&k| std::cmp::Reverse(self.axes[k].to));
        order
    }

    /// Returns the innermost axes along which elements are contiguous in the source, innermost
    /// first, as indices into `axes`. A run of a block spans these axes up to and including the
    /// first that the block does not cover completely.
    pub fn chain_from(&self) -> Vec<usize> {
        self.chain((0..self.axes.len()).rev(), |axis| axis.from)
    }

    /// Returns the innermost axes along which elements are contiguous in the result, innermost
    /// first, as indices into `axes`.
    pub fn chain_to(&self) -> Vec<usize> {
        self.chain(self.order().into_iter().rev(), |axis| axis.to)
    }

    fn chain(
        &self,
        inwards: impl Iterator<Item = usize>,
        pitch: impl Fn(&CopyAxis) -> u64,
    ) -> Vec<usize> {
        let (mut chain, mut next) = (Vec::new(), self.elem_bytes);
        for k in inwards {
            if pitch(&self.axes[k]) != next {
                break;
            }
            next *= self.axes[k].extent;
            chain.push(k);
        }
        chain
    }

    /// Returns the bytes of a contiguous run of a block with extents `block`. `chain` is that of
    /// [`chain_from`](Self::chain_from) or [`chain_to`](Self::chain_to).
    pub fn run(&self, block: &[u64], chain: &[usize]) -> u64 {
        let mut run = self.elem_bytes;
        for &k in chain {
            run *= block[k];
            if block[k] < self.axes[k].extent {
                break;
            }
        }
        run
    }
}

/// Creates the copy that permutes the axes of a dense array, without reversing any.
#[cfg(test)]
pub fn unreversed(extents: &[u64], order: &[usize], elem_bytes: u64) -> StridedCopy {
    StridedCopy::permuting(extents, order, &vec![false; order.len()], elem_bytes)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn axes_fuse_when_adjacent_on_both_sides() {
        let job = unreversed(&[3, 1, 4, 5, 2], &[2, 3, 0, 1, 4], 8);
        let axis = |extent, from, to| CopyAxis { extent, from, to, reversed: false };
        assert_eq!(job.axes, [axis(3, 320, 16), axis(20, 16, 48), axis(2, 8, 8)]);
        assert_eq!((job.bytes(), job.order()), (960, vec![1, 0, 2]));
        assert_eq!(unreversed(&[3, 4], &[0, 1], 8).axes, [axis(12, 8, 8)]);
        assert_eq!(unreversed(&[1, 1], &[1, 0], 8).axes, []);
    }

    #[test]
    fn run_continues_when_block_covers_axis() {
        let job = unreversed(&[3, 4, 5], &[2, 1, 0], 8);
        assert_eq!((job.chain_from(), job.chain_to()), (vec![2, 1, 0], vec![0, 1, 2]));
        for (block, from, to) in [
            ([1, 1, 1], 8, 8),
            ([1, 2, 4], 32, 8),
            ([2, 2, 5], 80, 16),
            ([3, 4, 5], 480, 480),
            ([3, 4, 2], 16, 192),
        ] {
            assert_eq!(job.run(&block, &job.chain_from()), from, "{block:?}");
            assert_eq!(job.run(&block, &job.chain_to()), to, "{block:?}");
        }
    }
}
