//! Barrier-sync by a block, a cluster or the grid.

use super::Address;
use super::divisor::Divisor32;
use super::maps::Axes32;

mirror! {
    /// Instances that follow one another.
    Stack = "Stack", in "region.cuh" {
        rows: Divisor32, "Rows of an instance.";
        instance: Divisor32, "Words of an instance.";
    }
    /// Instances by a block.
    BarrierArgs = "BarrierArgs", in "barrier.cu" {
        data: Address, "The instances.";
        instances: u64, "All of them.";
        rows: u32, "Rows of an instance.";
        cols: u32, "Its columns, in super-elements.";
        stacked: u32, "Instances of a block: one after the other, or (`barrier_band`) side by side.";
        pitch: u32, "Bytes from row to row on chip.";
        mid: u32, "Instances side by side in memory.";
        wide: u32, "How narrow words are moved; see `kernels/region.cuh`.";
        down: u32, "Logarithm of a swath's height in micro-blocks.";
        pad: u32, "Not used.";
        row_bytes: u64, "Bytes from row to row in memory, before.";
        column_bytes: u64, "Bytes from column to column, after.";
        panel_bytes: u64, "Bytes from one set of `mid` instances to the next.";
        instance_bytes: u64, "Bytes from instance to instance within a set.";
        unit: Divisor32, "Words of a super-element.";
        stack: Stack, "The instances of a block.";
    }
    /// Axes in any order, instances by a block.
    AxesArgs = "AxesArgs", in "barrier_axes.cu" {
        data: Address, "The instances.";
        instances: u64, "All of them.";
        instance_bytes: u64, "Bytes of an instance.";
        words: u32, "Words of an instance.";
        stacked: u32, "Instances of a block.";
        row: u32, "Bytes that lie together on chip.";
        pitch: u32, "Bytes from one such run to the next.";
        granule: u32, "Bytes that runs are read by: 4 or 16; or 0, everything as one run.";
        pack: u32, "Words that a thread writes at a time: 16 bytes, or the least that are 4.";
        source: Axes32, "Bytes on chip where a word of the results comes from.";
    }
    /// An instance by several blocks, a rectangle each.
    WideArgs = "WideArgs", in "wide_barrier.cuh" {
        data: Address, "The instances.";
        instance_bytes: u64, "Bytes of an instance.";
        rows: u32, "Rows of an instance.";
        cols: u32, "Its columns, in super-elements.";
        block_rows: u32, "Rows of a rectangle.";
        block_cols: u32, "Its columns.";
        across: u32, "Rectangles across.";
        pitch: u32, "Bytes from row to row on chip.";
        shared_rows: u32, "Rows of a rectangle in shared memory; the others are in registers.";
        wide: u32, "How narrow words are moved; see `kernels/region.cuh`.";
        unit: Divisor32, "Words of a super-element.";
    }
}

impl Stack {
    /// Instances of `rows` rows and `words` words.
    pub fn of(rows: u32, words: u32) -> Self {
        Stack { rows: Divisor32::new(rows), instance: Divisor32::new(words) }
    }
}
