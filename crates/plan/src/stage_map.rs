//! Index maps of stages: the new offset of every element.

use std::fmt;

use turntile_perm::{
    AlignedSlots, AxisPermutation, Elementary, FieldSlots, FlippedAxes, LayoutChange, LeadingDims,
    PitchedRows, RowSlide, SlotOrder, SwapKind, TileRows,
};

use crate::saved_gaps::SavedGaps;

/// Direction of an index map that is not its own inverse.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Direction {
    /// The map as its type defines it.
    Forward,
    /// The inverse map.
    Backward,
}

impl Direction {
    /// Returns the opposite direction.
    pub fn reversed(self) -> Self {
        match self {
            Direction::Forward => Direction::Backward,
            Direction::Backward => Direction::Forward,
        }
    }
}

/// Index map of a stage: maps source offsets to result offsets, in elements.
///
/// Without gaps between rows it is a permutation. With gaps it moves only elements that are not in
/// a gap, except for [`Gaps`](Self::Gaps) and [`SwapGaps`](Self::SwapGaps).
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub enum StageMap {
    /// Axis permutation of an array: 010!, 100!, 0100!, 0210!, 2100! and any other.
    Axes(AxisPermutation),
    /// Axis permutation that reverses axes.
    Flipped(FlippedAxes),
    /// Pass 1 of the aligned-slot route: gathers the slots of each chunk into the chunk's memory.
    SlotGather {
        /// Number of matrices.
        batch: usize,
        /// The index maps of one matrix.
        slots: AlignedSlots,
        /// Forward gathers; backward scatters.
        direction: Direction,
    },
    /// Pass 2 of the aligned-slot route: moves whole slots to their final positions.
    SlotMove {
        /// Number of matrices.
        batch: usize,
        /// The index maps of one matrix.
        slots: AlignedSlots,
        /// Forward moves slots to their final positions; backward moves them back.
        direction: Direction,
    },
    /// Change of record layout, from tiles of one length to tiles of another.
    RecordTiles(LayoutChange),
    /// Pass 1 of aligned slots for records: gathers the slots of each chunk into the chunk's
    /// memory.
    RecordGather {
        /// The index maps.
        slots: FieldSlots,
        /// Forward gathers; backward scatters.
        direction: Direction,
    },
    /// Pass 2 of aligned slots for records: moves whole slots to their final positions.
    RecordMove {
        /// The index maps.
        slots: FieldSlots,
        /// Forward moves slots to their final positions; backward moves them back.
        direction: Direction,
    },
    /// Cuts a matrix at a column: packs the first columns row by row, then stores the other
    /// columns after them, column by column.
    Cut {
        /// The packed columns, as rows whose pitch is the row length of the matrix.
        rows: PitchedRows,
        /// Forward cuts; backward restores the columns.
        direction: Direction,
    },
    /// Moves rows from one pitch to another, in order. Elements in neither source nor result are
    /// unchanged.
    ///
    /// Pads or unpads rows (thesis section 4.1.1), or changes the leading dimension.
    Slide(RowSlide),
    /// Moves the elements of rows, in order, to rows of another length. Elements in neither source
    /// nor result are unchanged.
    Reshape(LeadingDims),
    /// Transposes a matrix from one leading dimension to another. Elements in neither source nor
    /// result are unchanged.
    TransposeRows(LeadingDims),
    /// Moves rows of square tiles from one leading dimension to another. Elements in neither source
    /// nor result are unchanged.
    TileRows(TileRows),
    /// Saves to the workspace the gap elements that the dense matrix overwrites.
    ///
    /// Covers elements that are in a gap of both the source and the result. Offsets past the
    /// matrix's span address the workspace.
    Gaps {
        /// The gaps.
        gaps: SavedGaps,
        /// Forward saves; backward restores.
        direction: Direction,
    },
    /// Swaps rows with the gaps between them.
    SwapGaps {
        /// The rows.
        rows: PitchedRows,
        /// Forward makes the rows contiguous; backward restores their pitch.
        direction: Direction,
    },
}

impl From<AxisPermutation> for StageMap {
    fn from(axes: AxisPermutation) -> Self {
        StageMap::Axes(axes)
    }
}

impl From<FlippedAxes> for StageMap {
    fn from(axes: FlippedAxes) -> Self {
        StageMap::Flipped(axes)
    }
}

impl From<Elementary> for StageMap {
    fn from(e: Elementary) -> Self {
        StageMap::Axes(e.into())
    }
}

impl From<LayoutChange> for StageMap {
    fn from(change: LayoutChange) -> Self {
        StageMap::RecordTiles(change)
    }
}

impl From<RowSlide> for StageMap {
    fn from(slide: RowSlide) -> Self {
        StageMap::Slide(slide)
    }
}

impl From<LeadingDims> for StageMap {
    fn from(change: LeadingDims) -> Self {
        match RowSlide::of(change) {
            _ if change.is_transposed() => StageMap::TransposeRows(change),
            Some(slide) => StageMap::Slide(slide),
            None => StageMap::Reshape(change),
        }
    }
}

impl StageMap {
    /// Returns the map as a swap of two groups of axes, or `None` if it is not such a swap.
    #[inline]
    pub fn elementary(&self) -> Option<Elementary> {
        match self {
            StageMap::Axes(axes) => axes.elementary(),
            _ => None,
        }
    }

    /// Returns the kind of axis permutation, or `None` for maps other than [`Axes`](Self::Axes).
    #[inline]
    pub fn swap_kind(&self) -> Option<SwapKind> {
        match self {
            StageMap::Axes(axes) => Some(axes.form()),
            _ => None,
        }
    }

    /// Returns the number of independent instances, which are contiguous and of equal length.
    #[inline]
    pub fn batch(&self) -> usize {
        match *self {
            StageMap::Axes(axes) => axes.batch(),
            StageMap::SlotGather { batch, .. } | StageMap::SlotMove { batch, .. } => batch,
            _ => 1,
        }
    }

    /// Returns the number of elements of one instance.
    #[inline]
    pub fn instance_len(&self) -> usize {
        match *self {
            StageMap::Axes(axes) => axes.len() / axes.batch(),
            StageMap::Flipped(axes) => axes.len(),
            StageMap::SlotGather { slots, .. } | StageMap::SlotMove { slots, .. } => slots.len(),
            StageMap::RecordTiles(ref change) => change.schema().len(),
            StageMap::RecordGather { ref slots, .. } | StageMap::RecordMove { ref slots, .. } => {
                slots.schema().len()
            }
            StageMap::Cut { rows, .. } => rows.area(),
            StageMap::Slide(slide) => slide.from().len(),
            StageMap::Reshape(dims) | StageMap::TransposeRows(dims) => dims.len(),
            StageMap::TileRows(rows) => rows.len(),
            StageMap::Gaps { gaps, .. } => gaps.count(),
            StageMap::SwapGaps { rows, .. } => rows.len(),
        }
    }

    /// Returns `(read, written)`: the lengths, in elements, of the ranges that the stage reads and
    /// writes.
    ///
    /// Both equal [`len`](Self::len) unless rows have gaps.
    pub fn spans(&self) -> (usize, usize) {
        match *self {
            StageMap::Reshape(dims) | StageMap::TransposeRows(dims) => {
                (dims.source().span(), dims.result().span())
            }
            StageMap::Slide(slide) => (slide.from().span(), slide.to().span()),
            StageMap::TileRows(rows) => rows.spans().into(),
            StageMap::Gaps { gaps, .. } => (gaps.dense_len(), gaps.dense_len()),
            StageMap::SwapGaps { rows, .. } => (rows.span(), rows.span()),
            _ => (self.len(), self.len()),
        }
    }

    /// Returns the number of elements that the map covers.
    #[inline]
    pub fn len(&self) -> usize {
        self.batch() * self.instance_len()
    }

    /// Returns the number of elements like [`len`](Self::len), or `None` on overflow.
    ///
    /// Maps that callers assemble may have any batch.
    pub fn counted_len(&self) -> Option<usize> {
        match *self {
            // The constructor rejects lengths that overflow.
            StageMap::Axes(axes) => Some(axes.len()),
            StageMap::Flipped(axes) => Some(axes.len()),
            _ => self.batch().checked_mul(self.instance_len()),
        }
    }

    /// Returns `true` if the map covers no element.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// Returns the number of elements of a super-element, which moves as one run.
    ///
    /// The result is 1 if single elements move.
    #[inline]
    pub fn unit(&self) -> usize {
        match *self {
            StageMap::Axes(axes) => axes.unit(),
            StageMap::Flipped(axes) => axes.unit(),
            StageMap::SlotGather { .. } | StageMap::TransposeRows(_) | StageMap::Gaps { .. } => 1,
            StageMap::RecordTiles(_) | StageMap::RecordGather { .. } => 1,
            StageMap::SlotMove { slots, .. } => slots.slot(),
            StageMap::RecordMove { ref slots, .. } => slots.slot(),
            StageMap::Cut { rows, .. } | StageMap::SwapGaps { rows, .. } => rows.cols().max(1),
            StageMap::Slide(slide) => slide.cols(),
            StageMap::Reshape(dims) => dims.source().cols().max(1),
            StageMap::TileRows(rows) => rows.side(),
        }
    }

    /// Returns the number of super-elements of one instance. Counts a partial last slot.
    #[inline]
    pub fn instance_units(&self) -> usize {
        self.instance_len().div_ceil(self.unit())
    }

    /// Returns the position to which super-element `s` of an instance moves: its successor on its
    /// cycle.
    ///
    /// Defined for axes, slots, records and tile rows. Returns `None` for all other maps: use
    /// [`dest`](Self::dest) for them. For [`TileRows`](Self::TileRows), returns `usize::MAX` if the
    /// tile row at `s` does not move.
    #[inline]
    pub fn succ(&self, s: usize) -> Option<usize> {
        use Direction::{Backward, Forward};
        Some(match *self {
            StageMap::Axes(axes) => match axes.elementary() {
                Some(e) => e.succ(s),
                // Evaluated in the first instance: all instances have the same map.
                None => axes.dest(s * axes.unit()) / axes.unit(),
            },
            StageMap::Flipped(axes) => axes.dest(s * axes.unit()) / axes.unit(),
            StageMap::SlotGather { slots, direction: Forward, .. } => slots.gather_dest(s),
            StageMap::SlotGather { slots, direction: Backward, .. } => slots.gather_source(s),
            StageMap::SlotMove { slots, direction: Forward, .. } => slots.slot_dest(s),
            StageMap::SlotMove { slots, direction: Backward, .. } => slots.slot_source(s),
            StageMap::RecordTiles(ref change) => change.dest(s),
            StageMap::RecordGather { ref slots, direction: Forward } => slots.gather_dest(s),
            StageMap::RecordGather { ref slots, direction: Backward } => slots.gather_source(s),
            StageMap::RecordMove { ref slots, direction: Forward } => slots.slot_dest(s),
            StageMap::RecordMove { ref slots, direction: Backward } => slots.slot_source(s),
            StageMap::TileRows(rows) => rows.succ(s).unwrap_or(usize::MAX),
            _ => return None,
        })
    }

    /// Returns `true` if 8 sampled cycles of an instance all close within `most` steps, or if the map
    /// has no [successors](Self::succ).
    ///
    /// The start positions are spread over the whole instance.
    pub fn has_short_cycles(&self, most: usize) -> bool {
        const SAMPLES: usize = 8;
        let units = self.instance_units().max(1);
        // The elementary swap is computed once, because it is the same for every step.
        let swap = self.elementary();
        let succ = |s| swap.map_or_else(|| self.succ(s), |e| Some(e.succ(s)));
        (1..=SAMPLES).all(|k| {
            let start = (units / (SAMPLES + 1) * k + k % units) % units;
            let mut at = start;
            (0..most).any(|_| {
                at = succ(at).unwrap_or(start);
                at == start
            })
        })
    }

    /// Returns the new offset of the element at `offset`.
    ///
    /// Offsets in gaps between rows, and offsets past the elements that the map covers, are
    /// returned unchanged. The exceptions are [`Gaps`](Self::Gaps) and
    /// [`SwapGaps`](Self::SwapGaps), which move gap elements.
    pub fn dest(&self, offset: usize) -> usize {
        match *self {
            StageMap::Slide(slide) => return slide.change().dest(offset),
            StageMap::Reshape(dims) | StageMap::TransposeRows(dims) => return dims.dest(offset),
            StageMap::TileRows(rows) => return rows.dest(offset),
            StageMap::Gaps { gaps, direction } => {
                return gaps.dest(offset, direction == Direction::Backward);
            }
            StageMap::SwapGaps { rows, direction } => {
                return rows.swapped_with_gaps(offset, direction == Direction::Backward);
            }
            _ if offset >= self.len() => return offset,
            StageMap::Axes(axes) => return axes.dest(offset),
            StageMap::Flipped(axes) => return axes.dest(offset),
            StageMap::Cut { rows, direction: Direction::Forward } => {
                return rows.with_gaps_last(offset);
            }
            StageMap::Cut { rows, direction: Direction::Backward } => {
                return rows.with_gaps_between(offset);
            }
            _ => (),
        }
        let (len, unit) = (self.instance_len(), self.unit());
        let (instance, k) = (offset / len, offset % len);
        let to = self.succ(k / unit).expect("the other maps have returned");
        instance * len + to * unit + k % unit
    }

    /// Returns the inverse map.
    #[must_use]
    pub fn inverse(&self) -> Self {
        let mut map = self.clone();
        match &mut map {
            StageMap::Axes(axes) => *axes = axes.inverse(),
            StageMap::Flipped(axes) => *axes = axes.inverse(),
            StageMap::Slide(slide) => *slide = slide.inverse(),
            StageMap::Reshape(dims) | StageMap::TransposeRows(dims) => *dims = dims.inverse(),
            StageMap::TileRows(rows) => *rows = rows.inverse(),
            StageMap::RecordTiles(change) => *change = change.inverse(),
            StageMap::SlotGather { direction, .. }
            | StageMap::SlotMove { direction, .. }
            | StageMap::RecordGather { direction, .. }
            | StageMap::RecordMove { direction, .. }
            | StageMap::Cut { direction, .. }
            | StageMap::Gaps { direction, .. }
            | StageMap::SwapGaps { direction, .. } => *direction = direction.reversed(),
        }
        map
    }

    /// Returns the row slide that the stage performs, or `None` for other maps.
    ///
    /// A [`Cut`](Self::Cut) contains one: its packed columns slide to or from their pitch.
    pub fn slide(&self) -> Option<RowSlide> {
        match *self {
            StageMap::Slide(slide) => Some(slide),
            StageMap::Cut { rows, direction: Direction::Forward } => RowSlide::unpadding(rows),
            StageMap::Cut { rows, direction: Direction::Backward } => RowSlide::padding(rows),
            _ => None,
        }
    }

    /// Returns `true` if the map has gaps between rows: elements that are not part of the problem.
    pub fn has_gaps(&self) -> bool {
        use StageMap::{Gaps, Reshape, Slide, SwapGaps, TileRows, TransposeRows};
        let is_of_rows = matches!(self, TransposeRows(_) | Slide(_) | Reshape(_) | TileRows(_));
        is_of_rows || matches!(self, Gaps { .. } | SwapGaps { .. })
    }

    /// Returns `true` if no element moves. May return `false` for records and tile rows that do not
    /// move.
    #[inline]
    pub fn is_identity(&self) -> bool {
        match *self {
            StageMap::Axes(axes) => axes.is_identity(),
            StageMap::Flipped(axes) => axes.is_identity(),
            // A single row or column is already transposed. Chunks of one row are already gathered.
            StageMap::SlotGather { slots, .. } => {
                slots.rows() == 1 || slots.cols() == 1 || slots.chunk() == 1
            }
            // A single chunk is gathered in the final order.
            StageMap::SlotMove { slots, .. } => {
                slots.rows() == 1 || slots.cols() == 1 || slots.chunks() == 1
            }
            StageMap::RecordTiles(ref change) => change.is_identity(),
            // Records of one field have the same offsets in every layout.
            StageMap::RecordGather { ref slots, .. } => {
                let columns = slots.tile() == slots.schema().records();
                slots.schema().count() == 1 || columns && slots.section().is_none()
            }
            StageMap::RecordMove { ref slots, .. } => {
                slots.schema().count() == 1 || slots.chunks() == 1 && slots.section().is_none()
            }
            StageMap::Cut { rows, .. } => rows.is_dense(),
            StageMap::Slide(slide) => slide.change().is_identity(),
            StageMap::TileRows(rows) => rows.is_empty(),
            StageMap::Reshape(dims) | StageMap::TransposeRows(dims) => dims.is_identity(),
            StageMap::Gaps { gaps, .. } => gaps.count() == 0,
            StageMap::SwapGaps { rows, .. } => rows.is_dense(),
        }
    }
}

impl fmt::Display for StageMap {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let back = |direction| if direction == Direction::Backward { " back" } else { "" };
        match *self {
            StageMap::Axes(axes) => axes.fmt(f),
            StageMap::Flipped(axes) => axes.fmt(f),
            StageMap::SlotGather { batch, slots, direction } => {
                write!(f, "slot-gather{}", back(direction))?;
                write_slots(f, batch, slots)
            }
            StageMap::SlotMove { batch, slots, direction } => {
                write!(f, "slot-move{}", back(direction))?;
                write_slots(f, batch, slots)
            }
            StageMap::RecordTiles(ref change) => {
                write!(
                    f,
                    "retile({}, tiles of {} to {})",
                    change.schema(),
                    change.from(),
                    change.to()
                )
            }
            StageMap::RecordGather { ref slots, direction } => {
                let (fields, tile, slot) = (slots.schema(), slots.tile(), slots.slot());
                write!(
                    f,
                    "field-gather{}({fields}, tiles of {tile}, slot {slot}, ",
                    back(direction)
                )?;
                write!(f, "chunk {}", slots.longest_chunk())?;
                slots.section().map_or(Ok(()), |section| write!(f, ", section {section}"))?;
                f.write_str(")")
            }
            StageMap::RecordMove { ref slots, direction } => {
                write!(
                    f,
                    "field-move{}({}, slot {})",
                    back(direction),
                    slots.schema(),
                    slots.slot()
                )
            }
            StageMap::Cut { rows, direction } => {
                let name = if direction == Direction::Forward { "cut" } else { "join" };
                let (count, cols, pitch) = (rows.rows(), rows.cols(), rows.pitch());
                write!(f, "{name}({count}x{pitch}, {cols} columns packed)")
            }
            StageMap::TransposeRows(leading) => {
                let (source, result) = (leading.source(), leading.result());
                let (rows, cols) = (source.rows(), source.cols());
                write!(f, "turn({rows}x{cols}, pitch {} to {})", source.pitch(), result.pitch())
            }
            StageMap::Slide(slide) => {
                let [from, to] = slide.pitches();
                write!(f, "slide({}x{}, pitch {from} to {to})", slide.rows(), slide.cols())
            }
            StageMap::Reshape(dims) => {
                let rows =
                    |of: PitchedRows| format!("{}x{}, pitch {}", of.rows(), of.cols(), of.pitch());
                write!(f, "slide({} to {})", rows(dims.source()), rows(dims.result()))
            }
            StageMap::TileRows(rows) => write!(f, "tile-runs({rows})"),
            StageMap::Gaps { gaps, direction } => {
                write!(f, "gaps{}({} elements)", back(direction), gaps.count())
            }
            StageMap::SwapGaps { rows, direction } => {
                let (count, cols, pitch) = (rows.rows(), rows.cols(), rows.pitch());
                write!(f, "exchange{}({count}x{cols}, pitch {pitch})", back(direction))
            }
        }
    }
}

/// Formats the parameters of aligned slots: `(2*3x4, slot 2, chunk 2)`.
fn write_slots(f: &mut fmt::Formatter<'_>, batch: usize, slots: AlignedSlots) -> fmt::Result {
    let many = if batch > 1 { format!("{batch}*") } else { String::new() };
    write!(f, "({many}{}x{}, slot {}, ", slots.rows(), slots.cols(), slots.slot())?;
    match slots.order() {
        SlotOrder::Columns => write!(f, "chunk {})", slots.chunk()),
        SlotOrder::Rows => write!(f, "by rows)"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn slot_maps(slots: AlignedSlots) -> impl Iterator<Item = StageMap> {
        [Direction::Forward, Direction::Backward].into_iter().flat_map(move |direction| {
            [
                StageMap::SlotGather { batch: 1, slots, direction },
                StageMap::SlotMove { batch: 1, slots, direction },
            ]
        })
    }

    #[test]
    fn is_identity_and_inverse_agree_with_dest() {
        for rows in 1..7 {
            for cols in 1..7 {
                for slot in 1..=rows {
                    let by_columns = |k| AlignedSlots::new(rows, cols, slot, k * slot);
                    for map in (1..=rows / slot)
                        .filter_map(by_columns)
                        .chain(AlignedSlots::by_rows(rows, cols, slot))
                        .flat_map(slot_maps)
                    {
                        let moves = (0..map.len()).any(|k| map.dest(k) != k);
                        assert_eq!(map.is_identity(), !moves, "{map}");
                        let undone = (0..map.len()).all(|k| map.inverse().dest(map.dest(k)) == k);
                        assert!(undone, "{map}");
                    }
                }
            }
        }
    }

    #[test]
    fn has_short_cycles_detects_short_cycles() {
        let map =
            |rows, mid, cols| StageMap::from(Elementary { batch: 1, rows, mid, cols, unit: 64 });
        assert!(map(256, 64, 256).has_short_cycles(32));
        assert!(map(256, 64, 128).has_short_cycles(32), "16384 x 8192 in tiles of 64");
        assert!(!map(312, 64, 188).has_short_cycles(32));
        assert!(!map(16_384, 1, 509).has_short_cycles(32));
        // A row slide has no successors.
        let slide = StageMap::from(RowSlide::new(40, 3, 3, 5).unwrap());
        assert_eq!((slide.succ(1), slide.has_short_cycles(1)), (None, true));
        // General axis orders are sampled too.
        let axes = AxisPermutation::new(&[8, 8, 8, 8], &[2, 3, 1, 0]).unwrap();
        assert!(StageMap::Axes(axes).has_short_cycles(8));
    }
}
