//! Where super-elements go: a stage's index map with its divisions prepared.

use turntile_perm::{Elementary, FastDiv, Order, Slots};
use turntile_plan::{Direction, StageShape};
use turntile_simd::Block;

/// Super-elements to be moved along the cycles of a stage's permutation.
#[derive(Clone, Copy, Debug)]
pub struct Path {
    shape: StageShape,
    succ: Map,
    pred: Map,
    elem_bytes: usize,
    unit_bytes: usize,
    /// Super-elements of an instance, when there are several.
    batch: Option<FastDiv>,
    instance_bytes: usize,
    tile: Option<Block>,
}

/// Where a super-element of an instance goes, or comes from.
#[derive(Clone, Copy, Debug)]
enum Map {
    /// `[outer][mid][inner]` to `[inner][mid][outer]`.
    Swap { inner: FastDiv, mid: FastDiv, outer: usize },
    /// Slots to their final places, or back.
    Slots(SlotPath),
}

/// A divisor: extents of shapes that move anything are positive.
fn divide(by: usize) -> FastDiv {
    FastDiv::new(by as u64).expect("extents are positive")
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
    fn new(slots: Slots, direction: Direction) -> Self {
        let per_column = slots.chunk() / slots.slot();
        SlotPath {
            slots,
            direction,
            per_column: divide(per_column),
            per_chunk: divide(per_column * slots.cols()),
            chunk: divide(slots.chunk()),
            slot: divide(slots.slot()),
            rows: divide(slots.rows()),
            by_rows: (slots.order() == Order::Rows)
                .then(|| (divide(slots.cols()), divide(slots.cols() / slots.strip_step()))),
            full: slots.chunks() - 1,
        }
    }

    /// The number of the first slot of column `j` that begins in the first chunk.
    #[inline]
    fn first(&self, j: usize) -> usize {
        let start = j * self.slots.rows() + self.slots.slot() - 1;
        self.slot.div(start as u64) as usize
    }

    #[inline]
    fn dest(&self, s: usize) -> usize {
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

impl Map {
    #[inline]
    fn dest(&self, p: usize) -> usize {
        match self {
            Map::Swap { inner, mid, outer } => {
                let (rest, i) = inner.div_rem(p as u64);
                let (o, m) = mid.div_rem(rest);
                (i as usize * mid.divisor() as usize + m as usize) * outer + o as usize
            }
            Map::Slots(slots) => slots.dest(p),
        }
    }
}

impl Path {
    /// Of the super-elements of `shape`, whose elements have `elem_bytes` bytes.
    ///
    /// # Panics
    /// For a shape that moves none.
    pub fn new(shape: StageShape, elem_bytes: usize) -> Self {
        let swap = |outer, mid, inner| Map::Swap { inner: divide(inner), mid: divide(mid), outer };
        let slots_to = |slots, direction| Map::Slots(SlotPath::new(slots, direction));
        let (succ, pred) = match shape {
            StageShape::Elementary(Elementary { rows, mid, cols, .. }) => {
                (swap(rows, mid, cols), swap(cols, mid, rows))
            }
            StageShape::FusedTiles { rows, cols, .. } => (swap(rows, 1, cols), swap(cols, 1, rows)),
            StageShape::SlotMove { slots, direction, .. } => {
                let back = match direction {
                    Direction::Forward => Direction::Backward,
                    Direction::Backward => Direction::Forward,
                };
                (slots_to(slots, direction), slots_to(slots, back))
            }
            StageShape::SlotGather { .. } | StageShape::Pad { .. } => {
                unreachable!("{shape} moves no super-elements")
            }
        };
        let batch = FastDiv::new(shape.instance_units() as u64).filter(|_| shape.batch() > 1);
        Path {
            shape,
            succ,
            pred,
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

    /// Bytes of the whole batch.
    #[inline]
    pub fn bytes(&self) -> usize {
        self.shape.batch() * self.instance_bytes
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

    /// Where the content of a position goes, both counted over the whole batch.
    #[inline]
    pub fn succ(&self, p: usize) -> usize {
        self.map(&self.succ, p)
    }

    /// Where the content of a position comes from: the inverse of [`succ`](Self::succ).
    #[inline]
    pub fn pred(&self, p: usize) -> usize {
        self.map(&self.pred, p)
    }

    #[inline]
    fn map(&self, map: &Map, p: usize) -> usize {
        let Some(batch) = self.batch else { return map.dest(p) };
        let within = batch.rem(p as u64) as usize;
        p - within + map.dest(within)
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

    fn check(shape: StageShape) {
        let path = Path::new(shape, 4);
        assert_eq!(path.positions(), shape.batch() * shape.instance_units());
        for p in 0..path.positions() {
            let (from, to) = (path.offset(p) / 4, path.offset(path.succ(p)) / 4);
            let unit = shape.unit();
            assert_eq!(path.pred(path.succ(p)), p, "{shape} at {p}");
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
