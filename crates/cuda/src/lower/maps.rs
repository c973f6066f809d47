//! Conversion of index maps to the structures of the device code.

use turntile_perm::{
    AlignedSlots, AxisPermutation, FieldSlots, FlippedAxes, StridedAxis, TileRows,
};
use turntile_plan::Direction;

use super::fit::{Lowered, field};
use crate::args::{
    Axes32, Axes64, Digit32, Digit64, Divisor32, Divisor64, FieldMap, FieldSlot, SlotMap32,
    SlotMap64, TileRunMap, zeroed,
};
use crate::error::LowerError;

/// Maximum number of axes that kernels take.
const MOST_AXES: usize = 8;

/// Extent of an axis, and its stride on the other side of the index map.
pub type AxisDigit = (usize, usize);

/// Returns the axes of the source, the last one first, with their strides in the result.
pub fn digits(axes: &AxisPermutation) -> Vec<AxisDigit> {
    axes.strided_axes().rev().map(|axis| (axis.extent, axis.dst_stride)).collect()
}

/// Returns the axes like [`digits`], and a number with one bit per axis in this order: 1 if it is reversed.
pub fn flipped_digits(axes: &FlippedAxes) -> (Vec<AxisDigit>, u32) {
    let bit = |(k, (_, reversed)): (usize, (_, bool))| u32::from(reversed) << k;
    let reversed = axes.strided_axes().rev().enumerate().map(bit).sum();
    let digit = |(axis, _): (StridedAxis, bool)| (axis.extent, axis.dst_stride);
    (axes.strided_axes().rev().map(digit).collect(), reversed)
}

/// Declares the conversion of axes, the last one first, to digits. The first axis needs no division. Bit `k` of `reversed`
/// reverses axis `k`.
macro_rules! axes_map {
    ($name:ident, $map:ident, $digit:ident, $number:ty, $divisor:ident) => {
        pub fn $name(
            (digits, reversed): (&[AxisDigit], u32),
            batch: usize,
            unit_bytes: usize,
        ) -> Lowered<$map> {
            let fits = |n: usize| <$number>::try_from(n).map_err(|_| LowerError::NoKernel);
            if digits.len() > MOST_AXES {
                return Err(LowerError::NoKernel);
            }
            let (mut units, mut start, mut first) = (1, 0, 1);
            let mut d = [$digit { by: $divisor::new(1), stride: 0 }; MOST_AXES - 1];
            for (k, &(extent, stride)) in digits.iter().enumerate() {
                let is_reversed = reversed >> k & 1 == 1;
                let step = fits(stride)?;
                let step = if is_reversed { step.wrapping_neg() } else { step };
                start += if is_reversed { stride * (extent - 1) } else { 0 };
                units *= extent;
                if k + 1 < digits.len() {
                    d[k] = $digit { by: $divisor::new(fits(extent)?), stride: step };
                } else {
                    first = step;
                }
            }
            Ok($map {
                d,
                first,
                start: fits(start)?,
                digits: digits.len().saturating_sub(1).max(1) as $number,
                instance: $divisor::new(fits(units / batch.max(1))?),
                batch: $divisor::new(fits(batch)?),
                unit_bytes: unit_bytes as u64,
            })
        }
    };
}
axes_map!(axes32, Axes32, Digit32, u32, Divisor32);
axes_map!(axes64, Axes64, Digit64, u64, Divisor64);

/// Declares the conversion of the aligned slots of a batch.
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

/// Converts the index map of the rows of square tiles between two pitches.
pub fn tile_rows(runs: &TileRows, unit_bytes: usize) -> Lowered<TileRunMap> {
    let [from, to] = runs.pitches();
    Ok(TileRunMap {
        from: Divisor32::new(field(from)?),
        side: Divisor32::new(field(runs.side())?),
        to: field(to)?,
        rows: field(runs.rows())?,
        cols: field(runs.cols())?,
        unit_bytes: unit_bytes as u64,
        ..zeroed()
    })
}

/// Converts the index map of the aligned slots of records.
pub fn field_slots(
    slots: &FieldSlots,
    direction: Direction,
    unit_bytes: usize,
) -> Lowered<FieldMap> {
    let (fields, last) = (slots.schema(), slots.chunks() - 1);
    let place = |f: usize| slots.chunk() / slots.slot() * fields.field_start(f);
    let mut map = FieldMap {
        fields: fields.count() as u32,
        chunks: field(last)?,
        backward: u32::from(direction == Direction::Backward),
        unit_bytes: field(unit_bytes)?,
        per_chunk: Divisor32::new(field(place(fields.count()))?),
        ..zeroed()
    };
    for (f, entry) in (0..fields.count()).zip(&mut map.field) {
        let (number, _, last_place) = slots.column(last, f);
        let of_chunk = place(f + 1) - place(f);
        *entry = FieldSlot {
            first: field(number - last * of_chunk)?,
            place: field(place(f))?,
            last: field(last_place)?,
        };
    }
    Ok(map)
}
