//! What a stage does to offsets.

use std::fmt;

use turntile_perm::{
    AlignedSlots, AxisPermutation, Elementary, FieldSlots, LayoutChange, LeadingDims, PitchedRows,
    RowSlide, SlotOrder, SwapKind, TileRows,
};

/// Which way a stage that is not its own mirror image runs.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Direction {
    /// As the index maps are written.
    Forward,
    /// The inverse: it undoes the forward stage of the transposed problem.
    Backward,
}

impl Direction {
    /// The other one.
    pub fn reversed(self) -> Self {
        match self {
            Direction::Forward => Direction::Backward,
            Direction::Backward => Direction::Forward,
        }
    }
}

/// What a stage does to the offsets of elements. Without gaps it is a permutation; with gaps, of what is in no gap.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum StageMap {
    /// The axes of an array permuted: 010!, 100!, 0100!, 0210!, 2100! and any other.
    Axes(AxisPermutation),
    /// Pass 1 of the aligned-slot route: every chunk's slots gathered into its own memory.
    SlotGather {
        /// Matrices.
        batch: usize,
        /// The index maps of one matrix.
        slots: AlignedSlots,
        /// Forward gathers; backward scatters.
        direction: Direction,
    },
    /// Pass 2 of the aligned-slot route: whole slots moved to their final places.
    SlotMove {
        /// Matrices.
        batch: usize,
        /// The index maps of one matrix.
        slots: AlignedSlots,
        /// Forward moves slots to final places; backward fetches them.
        direction: Direction,
    },
    /// Records go from tiles of one length to tiles of another.
    RecordTiles(LayoutChange),
    /// Pass 1 of records' aligned slots: every chunk's slots gathered into its own memory.
    RecordGather {
        /// The index maps.
        slots: FieldSlots,
        /// Forward gathers; backward scatters.
        direction: Direction,
    },
    /// Pass 2 of records' aligned slots: whole slots moved to their final places.
    RecordMove {
        /// The index maps.
        slots: FieldSlots,
        /// Forward moves slots to final places; backward fetches them.
        direction: Direction,
    },
    /// The first columns of a matrix packed, and the others behind them, column after column: what
    /// remains of a side when square tiles are cut off.
    Cut {
        /// The columns that are packed, as rows that lie as far apart as those of the matrix.
        rows: PitchedRows,
        /// Forward cuts; backward puts the columns back.
        direction: Direction,
    },
    /// Rows slid from one pitch to another, gaps left as they are: padded, unpadded (thesis section 4.1.1), or between
    /// leading dimensions.
    Slide(RowSlide),
    /// A whole matrix transposed from one leading dimension to another, gaps left as they are.
    TransposeRows(LeadingDims),
    /// Rows of square tiles moved from one leading dimension to another, gaps left as they are.
    TileRows(TileRows),
    /// What lies in the gaps of both leading dimensions and in the way while rows lie together, kept in the workspace.
    /// Offsets behind the matrix's span are the workspace's.
    Gaps {
        /// The matrix.
        leading: LeadingDims,
        /// Forward keeps; backward puts back.
        direction: Direction,
    },
    /// Rows change places with what lies between them.
    SwapGaps {
        /// The rows.
        rows: PitchedRows,
        /// Forward until they lie together; backward undoes that.
        direction: Direction,
    },
}

impl From<AxisPermutation> for StageMap {
    fn from(axes: AxisPermutation) -> Self {
        StageMap::Axes(axes)
    }
}

impl From<Elementary> for StageMap {
    fn from(e: Elementary) -> Self {
        StageMap::Axes(e.into())
    }
}

impl From<LayoutChange> for StageMap {
    fn from(retile: LayoutChange) -> Self {
        StageMap::RecordTiles(retile)
    }
}

impl From<RowSlide> for StageMap {
    fn from(slide: RowSlide) -> Self {
        StageMap::Slide(slide)
    }
}

impl StageMap {
    /// The shape as two groups of axes that change places, if that is what it is.
    #[inline]
    pub fn elementary(&self) -> Option<Elementary> {
        match self {
            StageMap::Axes(axes) => axes.elementary(),
            _ => None,
        }
    }

    /// What the order of its axes is, if axes are what it permutes.
    #[inline]
    pub fn swap_kind(&self) -> Option<SwapKind> {
        match self {
            StageMap::Axes(axes) => Some(axes.form()),
            _ => None,
        }
    }

    /// Independent instances, contiguous and equally long.
    #[inline]
    pub fn batch(&self) -> usize {
        match *self {
            StageMap::Axes(axes) => axes.batch(),
            StageMap::SlotGather { batch, .. } | StageMap::SlotMove { batch, .. } => batch,
            _ => 1,
        }
    }

    /// Elements of one instance.
    #[inline]
    pub fn instance_len(&self) -> usize {
        match *self {
            StageMap::Axes(axes) => axes.len() / axes.batch(),
            StageMap::SlotGather { slots, .. } | StageMap::SlotMove { slots, .. } => slots.len(),
            StageMap::RecordTiles(retile) => retile.fields().len(),
            StageMap::RecordGather { slots, .. } | StageMap::RecordMove { slots, .. } => {
                slots.fields().len()
            }
            StageMap::Cut { rows, .. } => rows.area(),
            StageMap::Slide(slide) => slide.len(),
            StageMap::TransposeRows(leading) => leading.len(),
            StageMap::TileRows(runs) => runs.len(),
            StageMap::Gaps { leading, .. } => leading.saved_gap_len(),
            StageMap::SwapGaps { rows, .. } => rows.len(),
        }
    }

    /// Elements from the first one to the last that the stage reads, and the same for what it
    /// writes: [`len`](Self::len) but where rows have gaps.
    pub fn spans(&self) -> (usize, usize) {
        match *self {
            StageMap::TransposeRows(leading) => (leading.source().span(), leading.result().span()),
            StageMap::Slide(slide) => (slide.from().span(), slide.to().span()),
            StageMap::TileRows(runs) => runs.spans().into(),
            StageMap::Gaps { leading, .. } => (leading.dense_len(), leading.dense_len()),
            StageMap::SwapGaps { rows, .. } => (rows.span(), rows.span()),
            _ => (self.len(), self.len()),
        }
    }

    /// Elements covered, and moved.
    #[inline]
    pub fn len(&self) -> usize {
        self.batch() * self.instance_len()
    }

    /// The same, if they can be counted: whoever puts a shape together may have given it any batch.
    pub fn counted_len(&self) -> Option<usize> {
        match *self {
            // Counted when it was made.
            StageMap::Axes(axes) => Some(axes.len()),
            _ => self.batch().checked_mul(self.instance_len()),
        }
    }

    /// Whether no element is covered.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// Elements of a super-element, which moves as one run; one where single elements move.
    #[inline]
    pub fn unit(&self) -> usize {
        match *self {
            StageMap::Axes(axes) => axes.unit(),
            StageMap::SlotGather { .. } | StageMap::TransposeRows(_) | StageMap::Gaps { .. } => 1,
            StageMap::RecordTiles(_) | StageMap::RecordGather { .. } => 1,
            StageMap::SlotMove { slots, .. } => slots.slot(),
            StageMap::RecordMove { slots, .. } => slots.slot(),
            StageMap::Cut { rows, .. } | StageMap::SwapGaps { rows, .. } => rows.cols().max(1),
            StageMap::Slide(slide) => slide.cols(),
            StageMap::TileRows(runs) => runs.side(),
        }
    }

    /// Super-elements of one instance, a partial last slot counted.
    #[inline]
    pub fn instance_units(&self) -> usize {
        self.instance_len().div_ceil(self.unit())
    }

    /// Where super-element `s` of an instance goes: its successor on its cycle. `s` itself where whole rows move, in order.
    #[inline]
    pub fn succ(&self, s: usize) -> usize {
        match *self {
            StageMap::Axes(axes) => match axes.elementary() {
                Some(e) => e.succ(s),
                // Of the first instance: they are all alike.
                None => axes.dest(s * axes.unit()) / axes.unit(),
            },
            StageMap::SlotGather { slots, direction: Direction::Forward, .. } => {
                slots.gather_dest(s)
            }
            StageMap::SlotGather { slots, direction: Direction::Backward, .. } => {
                slots.gather_source(s)
            }
            StageMap::SlotMove { slots, direction: Direction::Forward, .. } => slots.slot_dest(s),
            StageMap::SlotMove { slots, direction: Direction::Backward, .. } => {
                slots.slot_source(s)
            }
            StageMap::RecordTiles(retile) => retile.dest(s),
            StageMap::RecordGather { slots, direction } => match direction {
                Direction::Forward => slots.gather_dest(s),
                Direction::Backward => slots.gather_source(s),
            },
            StageMap::RecordMove { slots, direction } => match direction {
                Direction::Forward => slots.slot_dest(s),
                Direction::Backward => slots.slot_source(s),
            },
            StageMap::TileRows(runs) => runs.succ(s).unwrap_or(usize::MAX),
            // Rows keep their order; columns that are cut off are no super-elements.
            _ => s,
        }
    }

    /// Whether every one of a few cycles, from places all over an instance, closes within `most` steps.
    pub fn has_short_cycles(&self, most: usize) -> bool {
        const SAMPLES: usize = 8;
        let units = self.instance_units().max(1);
        // Worked out once.
        let swapped = self.elementary();
        let succ = |s| swapped.map_or_else(|| self.succ(s), |e| e.succ(s));
        (1..=SAMPLES).all(|k| {
            let start = (units / (SAMPLES + 1) * k + k % units) % units;
            let mut at = start;
            (0..most).any(|_| {
                at = succ(at);
                at == start
            })
        })
    }

    /// Where the element at `offset` goes; what lies in a gap between padded rows is none, and stays, as do
    /// elements behind those that the stage covers.
    pub fn dest(&self, offset: usize) -> usize {
        match *self {
            StageMap::TransposeRows(leading) => return leading.dest(offset),
            StageMap::Slide(slide) => return slide.dest(offset),
            StageMap::TileRows(runs) => return runs.dest(offset),
            StageMap::Gaps { leading, direction } => {
                return leading.saved_gap_dest(offset, direction == Direction::Backward);
            }
            StageMap::SwapGaps { rows, direction } => {
                return rows.swapped_with_gaps(offset, direction == Direction::Backward);
            }
            _ if offset >= self.len() => return offset,
            StageMap::Axes(axes) => return axes.dest(offset),
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
        instance * len + self.succ(k / unit) * unit + k % unit
    }

    /// The shape that undoes it.
    #[must_use]
    pub fn inverse(&self) -> Self {
        let mut shape = *self;
        match &mut shape {
            StageMap::Axes(axes) => *axes = axes.inverse(),
            StageMap::Slide(slide) => *slide = slide.inverse(),
            StageMap::TransposeRows(leading) => *leading = leading.inverse(),
            StageMap::TileRows(runs) => *runs = runs.inverse(),
            StageMap::RecordTiles(retile) => *retile = retile.inverse(),
            StageMap::SlotGather { direction, .. }
            | StageMap::SlotMove { direction, .. }
            | StageMap::RecordGather { direction, .. }
            | StageMap::RecordMove { direction, .. }
            | StageMap::Cut { direction, .. }
            | StageMap::Gaps { direction, .. }
            | StageMap::SwapGaps { direction, .. } => *direction = direction.reversed(),
        }
        shape
    }

    /// Rows that slide, whether or not what lies between them is lost.
    pub fn slide(&self) -> Option<RowSlide> {
        match *self {
            StageMap::Slide(slide) => Some(slide),
            StageMap::Cut { rows, direction: Direction::Forward } => RowSlide::together(rows),
            StageMap::Cut { rows, direction: Direction::Backward } => RowSlide::apart(rows),
            _ => None,
        }
    }

    /// Whether it goes around gaps between rows that are not the problem's to move.
    pub fn has_gaps(&self) -> bool {
        use StageMap::{Gaps, Slide, SwapGaps, TileRows, TransposeRows};
        matches!(self, TransposeRows(_) | Slide(_) | TileRows(_) | Gaps { .. } | SwapGaps { .. })
    }

    /// Whether nothing moves.
    #[inline]
    pub fn is_identity(&self) -> bool {
        match *self {
            StageMap::Axes(axes) => axes.is_identity(),
            // One row or column is the identity; a slot of one element leaves all work to pass 2.
            StageMap::SlotGather { slots, .. } => {
                slots.rows() == 1 || slots.cols() == 1 || slots.chunk() == 1
            }
            // One chunk is gathered in the final order.
            StageMap::SlotMove { slots, .. } => {
                slots.rows() == 1 || slots.cols() == 1 || slots.chunks() == 1
            }
            StageMap::RecordTiles(retile) => retile.is_identity(),
            // Records of one field lie in every layout as in the others.
            StageMap::RecordGather { slots, .. } => {
                let columns = slots.tile() == slots.fields().records();
                slots.fields().count() == 1 || columns && slots.section().is_none()
            }
            StageMap::RecordMove { slots, .. } => {
                slots.fields().count() == 1 || slots.chunks() == 1 && slots.section().is_none()
            }
            StageMap::Cut { rows, .. } => rows.is_dense(),
            StageMap::Slide(slide) => slide.is_identity(),
            StageMap::TileRows(runs) => runs.is_empty(),
            StageMap::TransposeRows(leading) => leading.is_identity(),
            StageMap::Gaps { leading, .. } => leading.saved_gap_len() == 0,
            StageMap::SwapGaps { rows, .. } => rows.is_dense(),
        }
    }
}

impl fmt::Display for StageMap {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let back = |direction| if direction == Direction::Backward { " back" } else { "" };
        match *self {
            StageMap::Axes(axes) => axes.fmt(f),
            StageMap::SlotGather { batch, slots, direction } => {
                write!(f, "slot-gather{}", back(direction))?;
                write_slots(f, batch, slots)
            }
            StageMap::SlotMove { batch, slots, direction } => {
                write!(f, "slot-move{}", back(direction))?;
                write_slots(f, batch, slots)
            }
            StageMap::RecordTiles(retile) => {
                write!(
                    f,
                    "retile({}, tiles of {} to {})",
                    retile.fields(),
                    retile.from(),
                    retile.to()
                )
            }
            StageMap::RecordGather { slots, direction } => {
                let (fields, tile, slot) = (slots.fields(), slots.tile(), slots.slot());
                write!(
                    f,
                    "field-gather{}({fields}, tiles of {tile}, slot {slot}, ",
                    back(direction)
                )?;
                write!(f, "chunk {}", slots.longest_chunk())?;
                slots.section().map_or(Ok(()), |section| write!(f, ", section {section}"))?;
                f.write_str(")")
            }
            StageMap::RecordMove { slots, direction } => {
                write!(
                    f,
                    "field-move{}({}, slot {})",
                    back(direction),
                    slots.fields(),
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
                let (from, to) = (slide.from(), slide.to());
                write!(f, "slide({}x{}, pitch {} to ", from.rows(), from.cols(), from.pitch())?;
                if !slide.is_alike() {
                    write!(f, "{}x{}, pitch ", to.rows(), to.cols())?;
                }
                write!(f, "{})", to.pitch())
            }
            StageMap::TileRows(runs) => write!(f, "tile-runs({runs})"),
            StageMap::Gaps { leading, direction } => {
                write!(f, "gaps{}({} elements)", back(direction), leading.saved_gap_len())
            }
            StageMap::SwapGaps { rows, direction } => {
                let (count, cols, pitch) = (rows.rows(), rows.cols(), rows.pitch());
                write!(f, "exchange{}({count}x{cols}, pitch {pitch})", back(direction))
            }
        }
    }
}

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

    fn slot_shapes(slots: AlignedSlots) -> impl Iterator<Item = StageMap> {
        [Direction::Forward, Direction::Backward].into_iter().flat_map(move |direction| {
            [
                StageMap::SlotGather { batch: 1, slots, direction },
                StageMap::SlotMove { batch: 1, slots, direction },
            ]
        })
    }

    #[test]
    fn identities_are_recognised_and_inverses_undo() {
        for rows in 1..7 {
            for cols in 1..7 {
                for slot in 1..=rows {
                    let by_columns = |k| AlignedSlots::new(rows, cols, slot, k * slot);
                    for shape in (1..=rows / slot)
                        .filter_map(by_columns)
                        .chain(AlignedSlots::by_rows(rows, cols, slot))
                        .flat_map(slot_shapes)
                    {
                        let moves = (0..shape.len()).any(|k| shape.dest(k) != k);
                        assert_eq!(shape.is_identity(), !moves, "{shape}");
                        let undone =
                            (0..shape.len()).all(|k| shape.inverse().dest(shape.dest(k)) == k);
                        assert!(undone, "{shape}");
                    }
                }
            }
        }
    }

    #[test]
    fn short_cycles_are_recognised() {
        let shape =
            |rows, mid, cols| StageMap::from(Elementary { batch: 1, rows, mid, cols, unit: 64 });
        assert!(shape(256, 64, 256).has_short_cycles(32));
        assert!(shape(256, 64, 128).has_short_cycles(32), "16384 x 8192 in tiles of 64");
        assert!(!shape(312, 64, 188).has_short_cycles(32));
        assert!(!shape(16_384, 1, 509).has_short_cycles(32));
        // General orders too.
        let axes = AxisPermutation::new(&[8, 8, 8, 8], &[2, 3, 1, 0]).unwrap();
        assert!(StageMap::Axes(axes).has_short_cycles(8));
    }
}
