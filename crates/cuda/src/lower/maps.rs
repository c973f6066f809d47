//! Index maps as the device has them.

use turntile_perm::{AlignedSlots, AxisPermutation};
use turntile_plan::Direction;

use super::fit::Lowered;
use crate::args::{Axes32, Axes64, Digit32, Digit64, Divisor32, Divisor64, SlotMap32, SlotMap64};
use crate::error::LowerError;

/// Axes that kernels take.
const MOST_AXES: usize = 8;

/// An axis: its extent, and what each of it counts elsewhere.
pub type AxisDigit = (usize, usize);

/// The axes of the source from the last one on, each with what it counts in the result.
pub fn digits(axes: &AxisPermutation) -> Vec<AxisDigit> {
    axes.strided_axes().rev().map(|axis| (axis.extent, axis.dst_stride)).collect()
}

/// Axes as digits by numbers of either width, the last axis first; one that stands first is not divided off.
macro_rules! axes_map {
    ($name:ident, $map:ident, $digit:ident, $number:ty, $divisor:ident) => {
        pub fn $name(digits: &[AxisDigit], batch: usize, unit_bytes: usize) -> Lowered<$map> {
            let fits = |n: usize| <$number>::try_from(n).map_err(|_| LowerError::NoKernel);
            if digits.len() > MOST_AXES {
                return Err(LowerError::NoKernel);
            }
            let units: usize = digits.iter().map(|&(extent, _)| extent).product();
            let (first, others) = digits.split_last().unwrap_or((&(1, 1), &[]));
            let mut d = [$digit { by: $divisor::new(1), stride: 0 }; MOST_AXES - 1];
            for (digit, &(extent, stride)) in d.iter_mut().zip(others) {
                *digit = $digit { by: $divisor::new(fits(extent)?), stride: fits(stride)? };
            }
            Ok($map {
                d,
                first: fits(first.1)?,
                digits: others.len().max(1) as u32,
                batched: u32::from(batch > 1),
                instance: $divisor::new(fits(units / batch.max(1))?),
                batch: $divisor::new(fits(batch)?),
                unit_bytes: unit_bytes as u64,
            })
        }
    };
}
axes_map!(axes32, Axes32, Digit32, u32, Divisor32);
axes_map!(axes64, Axes64, Digit64, u64, Divisor64);

/// The maps of aligned slots by numbers of either width.
macro_rules! slot_map {
    ($name:ident, $map:ident, $number:ty, $divisor:ident) => {
        pub fn $name(
            batch: usize,
            slots: AlignedSlots,
            direction: Direction,
            elem_bytes: usize,
        ) -> $map {
            let last = slots.chunks() - 1;
            let (_, last_rows) = slots.chunk_rows(last);
            let (slot, chunk) = (slots.slot(), slots.chunk());
            let divisor = |n: usize| $divisor::new(n as $number);
            $map {
                rows: slots.rows() as $number,
                cols: slots.cols() as $number,
                slot: slot as $number,
                chunk: chunk as $number,
                last_chunk: last as $number,
                last_rows: last_rows as $number,
                rows_div: divisor(slots.rows()),
                slot_div: divisor(slot),
                last_rows_div: divisor(last_rows),
                chunk_div: divisor(chunk),
                per_chunk: divisor(chunk / slot * slots.cols()),
                count: divisor(slots.count()),
                unit_bytes: (slot * elem_bytes) as u64,
                instance_bytes: (slots.len() * elem_bytes) as u64,
                backward: u32::from(direction == Direction::Backward),
                batched: u32::from(batch > 1),
            }
        }
    };
}
slot_map!(slots32, SlotMap32, u32, Divisor32);
slot_map!(slots64, SlotMap64, u64, Divisor64);
