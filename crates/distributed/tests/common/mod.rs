//! Redistributions over ranks of any communicator. Every element is compared with the permutation of
//! the whole array.

use proptest::prelude::*;
use turntile_distributed::{Communicator, Partition, Redistribution, Schedule};

/// An array to redistribute, and its partitions before and after.
#[derive(Clone, Debug)]
pub struct Case {
    pub shape: Vec<usize>,
    pub axes: Vec<usize>,
    pub elem_bytes: usize,
    pub before: (usize, Partition),
    pub after: (usize, Partition),
}

impl Case {
    pub fn matrix(rows: Partition, cols: Partition, elem_bytes: usize) -> Self {
        let (shape, axes) = (vec![rows.extent(), cols.extent()], vec![1, 0]);
        Case { shape, axes, elem_bytes, before: (0, rows), after: (0, cols) }
    }

    pub fn change(&self) -> Redistribution {
        let (before, after) = (self.before.clone(), self.after.clone());
        Redistribution::of_axes(&self.shape, &self.axes, self.elem_bytes, before, after)
            .threads(1)
            .message_bytes(64)
    }

    /// Returns the bytes of a rank's part, for the array with its axes in `order`, partitioned
    /// along axis `cut`. Each element is derived from its index in the whole array.
    pub fn part(&self, order: &[usize], (cut, parts): &(usize, Partition), rank: usize) -> Vec<u8> {
        let extents: Vec<usize> = order.iter().map(|&axis| self.shape[axis]).collect();
        let mut numbers = Vec::new();
        for k in 0..extents.iter().product() {
            let (mut rest, mut index) = (k, vec![0; extents.len()]);
            for (axis, extent) in extents.iter().enumerate().rev() {
                (index[axis], rest) = (rest % extent, rest / extent);
            }
            if parts.range(rank).contains(&index[*cut]) {
                let position = |axis| order.iter().position(|&a| a == axis).unwrap();
                let indices = (0..extents.len()).map(|axis| index[position(axis)]);
                let number = indices.zip(&self.shape).fold(0, |all, (i, extent)| all * extent + i);
                numbers.push(number as u32);
            }
        }
        let bytes = |number: u32| {
            (0..self.elem_bytes).map(move |b| (number.rotate_right(8 * b as u32) as u8) ^ b as u8)
        };
        numbers.into_iter().flat_map(bytes).collect()
    }

    pub fn check(&self, rank: &mut impl Communicator) {
        let r = rank.rank();
        let identity: Vec<usize> = (0..self.shape.len()).collect();
        let (before, after) =
            (self.part(&identity, &self.before, r), self.part(&self.axes, &self.after, r));
        for schedule in [None, Some(Schedule::AxesFirst), Some(Schedule::PanelsFirst)] {
            let change =
                schedule.map_or(self.change(), |schedule| self.change().schedule(schedule));
            let planned = change.plan(r).unwrap();
            assert_eq!([planned.len_before(), planned.len_after()], [before.len(), after.len()]);
            // Bytes after the plan's capacity must not change.
            let mut data = before.clone();
            data.resize(planned.capacity(), 0xEE);
            data.extend([0xA5; 3]);
            planned.run(rank, &mut data).unwrap();
            assert!(data[..after.len()] == after[..], "rank {r} of {self:?} {schedule:?}");
            assert_eq!(data[planned.capacity()..], [0xA5; 3]);
        }
    }
}

/// Generates parts of any sizes, including empty ones.
fn parts(extent: usize, ranks: usize) -> impl Strategy<Value = Partition> {
    prop::collection::vec(0..=extent, ranks - 1).prop_map(move |mut cuts| {
        cuts.extend([0, extent]);
        cuts.sort_unstable();
        Partition::new(&cuts.windows(2).map(|pair| pair[1] - pair[0]).collect::<Vec<_>>()).unwrap()
    })
}

/// Generates arrays with 2 to 4 axes, partitioned along any axis before and another axis after.
pub fn cases(ranks: usize) -> impl Strategy<Value = Case> {
    let shape = prop::collection::vec(1usize..9, 2..5);
    shape.prop_flat_map(move |shape| {
        let axes = Just((0..shape.len()).collect::<Vec<_>>()).prop_shuffle();
        (Just(shape), axes, 0usize..24, 0usize..24).prop_flat_map(move |(shape, axes, i, q)| {
            let (i, mut q) = (i % shape.len(), q % shape.len());
            q = if axes[q] == i { (q + 1) % shape.len() } else { q };
            let both = (parts(shape[i], ranks), parts(shape[axes[q]], ranks));
            (Just((shape, axes, i, q)), both, prop::sample::select(vec![1usize, 3, 8, 16]))
                .prop_map(|((shape, axes, i, q), (before, after), elem_bytes)| Case {
                    shape,
                    axes,
                    elem_bytes,
                    before: (i, before),
                    after: (q, after),
                })
        })
    })
}
