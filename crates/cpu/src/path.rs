//! Where super-elements go: a stage's index map with its divisions prepared.

use turntile_perm::{FastDiv, Order, Slots};
use turntile_plan::{Direction, StageShape};
use turntile_simd::Block;

/// Super-elements to be moved along the cycles of a stage's permutation.
#[derive(Clone, Copy, Debug)]
pub struct Path {
    shape: StageShape,
    succ: Succ,
    elem_bytes: usize,
    unit_bytes: usize,
    /// Super-elements of an instance, when there are several.
    batch: Option<FastDiv>,
    instance_bytes: usize,
    tile: Option<Block>,
}

/// The successor of a super-element of an instance.
#[derive(Clone, Copy, Debug)]
enum Succ {
    /// `[outer][mid][inner]` to `[inner][mid][outer]`.
    Swap { inner: FastDiv, mid: FastDiv, outer: usize },
    /// Slots to their final places, or back.
    Slots(SlotPath),
    /// Anything else: as the shape says.
    Shape,
}

/// The slot pass with its divisions prepared; the last chunk, whose columns have slots of no one
/// number, is left to [`Slots`].
#[derive(Clone, Copy, Debug)]
struct SlotPath {
    slots: Slots,
    direction: Direction,
    /// Slots of a column in a full chunk, as a divisor.
    per_column: FastDiv,
    /// Slots of a full chunk.
    per_chunk: FastDiv,
    chunk: FastDiv,
    slot: FastDiv,
    rows: FastDiv,
    /// In row order: the columns, and the places after which columns come again.
    by_rows: Option<(FastDiv, FastDiv)>,
    /// Full chunks that have the common form: all but the last one.
    full: usize,
}

impl SlotPath {
    fn new(slots: Slots, direction: Direction) -> Option<Self> {
        let divide = |by: usize| FastDiv::new(by as u64);
        let per_column = slots.chunk() / slots.slot();
        Some(SlotPath {
            slots,
            direction,
            per_column: divide(per_column)?,
            per_chunk: divide(per_column * slots.cols())?,
            chunk: divide(slots.chunk())?,
            slot: divide(slots.slot())?,
            rows: divide(slots.rows())?,
            by_rows: match slots.order() {
                Order::Columns => None,
                Order::Rows => {
                    Some((divide(slots.cols())?, divide(slots.cols() / slots.strip_step())?))
                }
            },
            full: slots.chunks() - 1,
        })
    }

    /// The number of the first slot of column `j` that begins in the first chunk.
    #[inline]
    fn first(&self, j: usize) -> usize {
        let start = j * self.slots.rows() + self.slots.slot() - 1;
        self.slot.div(start as u64) as usize
    }

    #[inline]
    fn succ(&self, s: usize) -> usize {
        let k = self.per_column.divisor() as usize;
        match self.direction {
            Direction::Forward => {
                let (c, within) = self.per_chunk.div_rem(s as u64);
                if c as usize >= self.full {
                    return self.slots.slot_dest(s);
                }
                let (j, number) = match &self.by_rows {
                    None => self.per_column.div_rem(within),
                    Some((cols, period)) => {
                        (cols.rem(within * self.slots.slot() as u64) + period.div(within), 0)
                    }
                };
                self.first(j as usize) + c as usize * k + number as usize
            }
            Direction::Backward => {
                let (j, i) = self.rows.div_rem((s * self.slots.slot()) as u64);
                let c = self.chunk.div(i) as usize;
                if c >= self.full {
                    return self.slots.slot_source(s);
                }
                if self.by_rows.is_some() {
                    let (_, _, place) = self.slots.column(c, j as usize);
                    return c * self.per_chunk.divisor() as usize + place;
                }
                let number = s - self.first(j as usize) - c * k;
                c * self.per_chunk.divisor() as usize + j as usize * k + number
            }
        }
    }
}

impl Path {
    /// Of the super-elements of `shape`, whose elements have `elem_bytes` bytes.
    pub fn new(shape: StageShape, elem_bytes: usize) -> Self {
        let swap = |outer, mid, inner| {
            let divide = |by: usize| FastDiv::new(by as u64);
            Some(Succ::Swap { inner: divide(inner)?, mid: divide(mid)?, outer })
        };
        let succ = match shape {
            StageShape::Elementary(e) => swap(e.rows, e.mid, e.cols),
            StageShape::FusedTiles { rows, cols, .. } => swap(rows, 1, cols),
            StageShape::SlotMove { slots, direction, .. } => {
                SlotPath::new(slots, direction).map(Succ::Slots)
            }
            StageShape::SlotGather { .. } | StageShape::Pad { .. } => None,
        };
        let batch = FastDiv::new(shape.instance_units() as u64).filter(|_| shape.batch() > 1);
        Path {
            shape,
            succ: succ.unwrap_or(Succ::Shape),
            elem_bytes,
            unit_bytes: shape.unit() * elem_bytes,
            batch,
            instance_bytes: shape.instance_len() * elem_bytes,
            tile: match shape {
                StageShape::FusedTiles { m, n, .. } => {
                    Some(Block { rows: m, cols: n, from_pitch: n, to_pitch: m })
                }
                _ => None,
            },
        }
    }

    /// Bytes of a super-element.
    #[inline]
    pub fn unit_bytes(&self) -> usize {
        self.unit_bytes
    }

    /// Bytes of an element.
    pub fn elem_bytes(&self) -> usize {
        self.elem_bytes
    }

    /// The tile that moving transposes, if it does.
    #[inline]
    pub fn tile(&self) -> Option<Block> {
        self.tile
    }

    /// Super-elements of the whole batch.
    pub fn positions(&self) -> usize {
        self.shape.batch() * self.shape.instance_units()
    }

    /// The successor of a position counted over the whole batch.
    #[inline]
    pub fn succ(&self, p: usize) -> usize {
        let Some(batch) = self.batch else { return self.succ_in_instance(p) };
        let within = batch.rem(p as u64) as usize;
        p - within + self.succ_in_instance(within)
    }

    #[inline]
    fn succ_in_instance(&self, p: usize) -> usize {
        match self.succ {
            Succ::Swap { inner, mid, outer } => {
                let (rest, i) = inner.div_rem(p as u64);
                let (o, m) = mid.div_rem(rest);
                (i as usize * mid.divisor() as usize + m as usize) * outer + o as usize
            }
            Succ::Slots(slots) => slots.succ(p),
            Succ::Shape => self.shape.succ(p),
        }
    }

    /// Where the bytes of a position begin. The one partial slot, the last, is a fixed point.
    #[inline]
    pub fn offset(&self, p: usize) -> usize {
        let Some(batch) = self.batch else { return p * self.unit_bytes() };
        let (instance, within) = batch.div_rem(p as u64);
        instance as usize * self.instance_bytes + within as usize * self.unit_bytes()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use turntile_perm::Elementary;

    fn check(shape: StageShape) {
        let path = Path::new(shape, 4);
        assert_eq!(path.positions(), shape.batch() * shape.instance_units());
        for p in 0..path.positions() {
            let (from, to) = (path.offset(p) / 4, path.offset(path.succ(p)) / 4);
            let unit = shape.unit();
            // The first element of a super-element ends in its successor.
            assert_eq!(shape.dest(from) / unit * unit, to / unit * unit, "{shape} at {p}");
        }
    }

    #[test]
    fn paths_are_the_shapes_maps() {
        let slots = Slots::new(15, 5, 3, 6).unwrap();
        for shape in [
            StageShape::Elementary(Elementary { batch: 1, rows: 5, mid: 1, cols: 7, unit: 3 }),
            StageShape::Elementary(Elementary { batch: 3, rows: 4, mid: 5, cols: 6, unit: 2 }),
            StageShape::FusedTiles { batch: 2, rows: 3, cols: 4, m: 5, n: 2 },
            StageShape::SlotMove { batch: 2, slots, direction: Direction::Forward },
            StageShape::SlotMove { batch: 2, slots, direction: Direction::Backward },
        ] {
            check(shape);
        }
    }

    #[test]
    fn slots_of_any_extents() {
        for (rows, cols) in [(2, 2), (7, 5), (16, 9), (29, 12), (61, 7)] {
            for slot in 1..=rows {
                let by_columns = |k| Slots::new(rows, cols, slot, k * slot);
                for slots in
                    (1..=rows / slot).filter_map(by_columns).chain(Slots::by_rows(rows, cols, slot))
                {
                    for direction in [Direction::Forward, Direction::Backward] {
                        check(StageShape::SlotMove { batch: 1, slots, direction });
                    }
                }
            }
        }
    }
}
