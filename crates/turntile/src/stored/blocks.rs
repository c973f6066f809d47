//! Blocks of an array in storage, which fit in memory and have long contiguous runs in the source
//! and in the result.

use crate::stored::job::StridedCopy;

/// Tiling of an array by blocks. All blocks have the same extents, except that the last along each
/// axis may be shorter.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct BlockTiling {
    /// Extents of a full block along each axis of the copy, in elements.
    pub extents: Vec<u64>,
    /// Bytes of a full block.
    pub bytes: u64,
    /// Bytes of each contiguous run of a full block in the source.
    pub run_from: u64,
    /// Bytes of each contiguous run of a full block in the result.
    pub run_to: u64,
}

impl BlockTiling {
    /// Creates the tiling of the array of `job` by blocks of at most `memory` bytes, but at least
    /// one element.
    pub fn of(job: &StridedCopy, memory: u64) -> Self {
        let chains = [job.chain_from(), job.chain_to()];
        let mut block = vec![1; job.axes.len()];
        let mut bytes = job.elem_bytes;
        loop {
            // Try the axes of the side with the shorter runs first, then any axis, innermost first.
            let mut sides = [0, 1];
            sides.sort_by_key(|&side| job.run(&block, &chains[side]));
            let chained = sides.iter().flat_map(|&side| &chains[side]).copied();
            let all = chained.chain((0..block.len()).rev());
            let grown = all.filter_map(|k| {
                let (now, most) = (block[k], job.axes[k].extent);
                // Grow by a quarter at a time, to keep the runs of both sides balanced.
                let fits = memory / (bytes / now);
                let next = most.min(now + (now / 4).max(1)).min(fits);
                (next > now).then_some((k, next))
            });
            let Some((k, next)) = grown.into_iter().next() else { break };
            bytes = bytes / block[k] * next;
            block[k] = next;
        }
        let [run_from, run_to] = chains.map(|chain| job.run(&block, &chain));
        BlockTiling { extents: block, bytes, run_from, run_to }
    }

    /// Returns the bytes of a full block's runs in the source or in the result, whichever are
    /// shorter.
    pub fn shortest_run(&self) -> u64 {
        self.run_from.min(self.run_to)
    }

    /// Returns an iterator over the origin and the extents of each block, in elements, by
    /// increasing offset in the result.
    pub fn each(&self, job: &StridedCopy) -> impl Iterator<Item = (Vec<u64>, Vec<u64>)> {
        let extents: Vec<u64> = job.axes.iter().map(|axis| axis.extent).collect();
        let reversed: Vec<bool> = job.axes.iter().map(|axis| axis.reversed).collect();
        let (order, block) = (job.order(), self.extents.clone());
        let counts: Vec<u64> = order.iter().map(|&k| extents[k].div_ceil(block[k])).collect();
        let all: u64 = counts.iter().product();
        (0..all).map(move |number| {
            let (mut first, mut size) = (vec![0; extents.len()], vec![0; extents.len()]);
            let mut rest = number;
            for (&k, &count) in order.iter().zip(&counts).rev() {
                let index = rest % count;
                let index = if reversed[k] { count - 1 - index } else { index };
                first[k] = index * block[k];
                size[k] = block[k].min(extents[k] - first[k]);
                rest /= count;
            }
            (first, size)
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::stored::job::unreversed;

    #[test]
    fn blocks_cover_each_element_once_when_memory_is_limited() {
        for (extents, order) in [
            (vec![7, 5], vec![1, 0]),
            (vec![3, 4, 5], vec![2, 1, 0]),
            (vec![2, 3, 4, 5], vec![2, 0, 3, 1]),
            (vec![30], vec![0]),
            (vec![1, 1], vec![1, 0]),
        ] {
            let job = unreversed(&extents, &order, 3);
            let lengths: Vec<u64> = job.axes.iter().map(|axis| axis.extent).collect();
            for memory in [1, 3, 6, 20, 47, 100, 1000] {
                let blocks = BlockTiling::of(&job, memory);
                assert!(blocks.bytes <= memory.max(3), "{extents:?} {memory}: {blocks:?}");
                let mut seen = vec![0; lengths.iter().product::<u64>() as usize];
                for (first, size) in blocks.each(&job) {
                    for k in 0..size.iter().product() {
                        let (mut rest, mut at, mut pitch) = (k, 0, 1);
                        for axis in (0..lengths.len()).rev() {
                            at += (first[axis] + rest % size[axis]) * pitch;
                            rest /= size[axis];
                            pitch *= lengths[axis];
                        }
                        seen[at as usize] += 1;
                    }
                }
                assert!(seen.iter().all(|&times| times == 1), "{extents:?} {memory}");
            }
        }
    }

    #[test]
    fn runs_are_balanced_when_blocks_are_large() {
        // 1 GiB blocks of a 160 GB matrix.
        let job = unreversed(&[200_000, 200_000], &[1, 0], 4);
        let blocks = BlockTiling::of(&job, 1 << 30);
        assert!(blocks.shortest_run() >= 32 << 10 && blocks.bytes >= 7 << 27, "{blocks:?}");
        // Blocks consist of whole rows if rows are short.
        let job = unreversed(&[1 << 30, 3], &[1, 0], 4);
        assert!(BlockTiling::of(&job, 1 << 30).shortest_run() > 300 << 20);
        // Blocks consist of whole matrices if the matrices of a batch are small.
        let job = unreversed(&[1 << 24, 30, 20], &[0, 2, 1], 4);
        let blocks = BlockTiling::of(&job, 1 << 30);
        assert_eq!(blocks.extents[1..], [30, 20]);
        assert!(blocks.shortest_run() > 1 << 29, "{blocks:?}");
    }
}
