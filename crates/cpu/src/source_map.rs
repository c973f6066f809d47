//! Where super-elements go: a stage's index map with its divisions prepared.

use turntile_perm::{AlignedSlots, AxisPermutation, FastDiv, FieldSlots, LayoutChange, SlotOrder};
use turntile_plan::{Direction, StageMap};

/// Super-elements to be moved along the cycles of a stage's permutation.
#[derive(Clone, Debug)]
pub struct SourceMap {
    shape: StageMap,
    /// Of the shape that undoes the stage's.
    source: Map,
    unit_bytes: usize,
    /// Super-elements of an instance, when there are several.
    batch: Option<Divisor>,
    instance_bytes: usize,
}

/// Where a super-element of an instance goes.
#[derive(Clone, Debug)]
enum Map {
    /// `[outer][mid][inner]` to `[inner][mid][outer]`.
    Swap { inner: Divisor, mid: Divisor, outer: usize },
    /// Slots to their final places, or back.
    Slots(Box<SlotPath>),
    /// Axes in any order.
    Axes(AxesPath),
    /// Units of records in tiles.
    Retile(LayoutChange),
    /// Records' slots to their final places, or back.
    FieldSlots(FieldSlots, Direction),
}

/// Axes in any order with their divisions prepared.
#[derive(Clone, Debug)]
struct AxesPath {
    /// Axes that are divided off, from the last one of the source on, each with what its numbers count in the result.
    axes: Box<[(Divisor, usize)]>,
    /// What the first axis' numbers, the last quotient, count.
    first: usize,
}

impl AxesPath {
    /// Of the super-elements of all instances.
    fn new(axes: &AxisPermutation, divide: impl Fn(usize) -> Divisor) -> Self {
        let units = axes.without_unit();
        let (extents, [_, steps]) = (units.extents(), units.strides());
        let axes = (1..extents.len()).rev().map(|axis| (divide(extents[axis]), steps[axis]));
        AxesPath { axes: axes.collect(), first: steps[0] }
    }

    #[inline]
    fn dest(&self, p: usize) -> usize {
        let (mut rest, mut at) = (p, 0);
        for (extent, stride) in &self.axes {
            let (quotient, digit) = extent.div_rem(rest);
            at += digit * stride;
            rest = quotient;
        }
        at + rest * self.first
    }
}

/// A divisor of positions and offsets. The next place on a cycle is known only once this one's has been divided
/// twice, so that what a division takes is waited for.
#[derive(Clone, Copy, Debug)]
enum Divisor {
    /// Of dividends below 2^32: one high multiply, by 2^64 over the divisor, rounded up. `one` is all bits for the
    /// divisor 1, whose factor would be too long.
    Short { divisor: u64, factor: u64, one: u64 },
    /// Of any.
    Any(FastDiv),
}

impl Divisor {
    /// Of dividends up to `most`; extents of shapes that move anything are positive.
    fn new(divisor: usize, most: usize) -> Self {
        let divisor = divisor as u64;
        if most as u64 <= u64::from(u32::MAX) && divisor <= u64::from(u32::MAX) {
            let factor = (u64::MAX / divisor).wrapping_add(1);
            return Divisor::Short {
                divisor,
                factor,
                one: if divisor == 1 { u64::MAX } else { 0 },
            };
        }
        Divisor::Any(FastDiv::new(divisor).expect("extents are positive"))
    }

    #[inline(always)]
    fn get(&self) -> usize {
        match self {
            Divisor::Short { divisor, .. } => *divisor as usize,
            Divisor::Any(any) => any.divisor() as usize,
        }
    }

    #[inline(always)]
    fn div(&self, n: usize) -> usize {
        let n = n as u64;
        match self {
            Divisor::Short { factor, one, .. } => {
                let high = (u128::from(*factor) * u128::from(n)) >> 64;
                (high as u64 | (n & one)) as usize
            }
            Divisor::Any(any) => any.div(n) as usize,
        }
    }

    #[inline(always)]
    fn div_rem(&self, n: usize) -> (usize, usize) {
        let quotient = self.div(n);
        (quotient, n - quotient * self.get())
    }
}

/// The slot pass with its divisions prepared; the last chunk, whose columns have slots of no one
/// number, is left to [`AlignedSlots`].
#[derive(Clone, Copy, Debug)]
struct SlotPath {
    slots: AlignedSlots,
    direction: Direction,
    /// Slots of a column in a full chunk.
    per_column: Divisor,
    /// Slots of a full chunk.
    per_chunk: Divisor,
    chunk: Divisor,
    slot: Divisor,
    rows: Divisor,
    by_rows: Option<RowOrder>,
    /// Full chunks that have the common form: all but the last one.
    full: usize,
}

/// The divisions of row order.
#[derive(Clone, Copy, Debug)]
struct RowOrder {
    cols: Divisor,
    /// Places after which columns come again: `cols / g`.
    period: Divisor,
}

impl RowOrder {
    /// The column whose slot lies at a place of a full chunk.
    #[inline]
    fn column(&self, place: usize, slot: usize) -> usize {
        self.cols.div_rem(place * slot).1 + self.period.div(place)
    }
}

impl SlotPath {
    fn new(slots: AlignedSlots, direction: Direction) -> Self {
        let per_column = slots.chunk() / slots.slot();
        // Positions of the first element of the last slot and of the last one before a column's first slot.
        let most = slots.len() + slots.slot();
        let divide = |by: usize| Divisor::new(by, most);
        let g = slots.strip_step();
        let by_rows = || RowOrder { cols: divide(slots.cols()), period: divide(slots.cols() / g) };
        SlotPath {
            slots,
            direction,
            per_column: divide(per_column),
            per_chunk: divide(per_column * slots.cols()),
            chunk: divide(slots.chunk()),
            slot: divide(slots.slot()),
            rows: divide(slots.rows()),
            by_rows: (slots.order() == SlotOrder::Rows).then(by_rows),
            full: slots.chunks() - 1,
        }
    }

    /// The number of the first slot of column `j` that begins in the first chunk.
    #[inline]
    fn first(&self, j: usize) -> usize {
        let start = j * self.slots.rows() + self.slots.slot() - 1;
        self.slot.div(start)
    }

    #[inline]
    fn dest(&self, s: usize) -> usize {
        let (k, slot) = (self.per_column.get(), self.slots.slot());
        match self.direction {
            Direction::Forward => {
                let (c, within) = self.per_chunk.div_rem(s);
                if c >= self.full {
                    return self.slots.slot_dest(s);
                }
                let (j, number) = match &self.by_rows {
                    None => self.per_column.div_rem(within),
                    Some(order) => (order.column(within, slot), 0),
                };
                self.first(j) + c * k + number
            }
            Direction::Backward => {
                let (j, i) = self.rows.div_rem(s * slot);
                let c = self.chunk.div(i);
                if c >= self.full {
                    return self.slots.slot_source(s);
                }
                let place = match &self.by_rows {
                    None => j * k + (s - self.first(j) - c * k),
                    Some(_) => self.slots.row_place(j),
                };
                c * self.per_chunk.get() + place
            }
        }
    }
}

impl Map {
    #[inline(always)]
    fn dest(&self, p: usize) -> usize {
        match self {
            Map::Swap { inner, mid, outer } => {
                let (rest, i) = inner.div_rem(p);
                let (o, m) = mid.div_rem(rest);
                (i * mid.get() + m) * outer + o
            }
            Map::Slots(slots) => slots.dest(p),
            Map::Axes(axes) => axes.dest(p),
            Map::Retile(retile) => retile.dest(p),
            Map::FieldSlots(slots, Direction::Forward) => slots.slot_dest(p),
            Map::FieldSlots(slots, Direction::Backward) => slots.slot_source(p),
        }
    }
}

impl SourceMap {
    /// Of the super-elements of `shape`, whose elements have `elem_bytes` bytes.
    ///
    /// # Panics
    /// For a shape that moves none.
    pub fn new(shape: StageMap, elem_bytes: usize) -> Self {
        let positions = shape.batch() * shape.instance_units();
        let divide = |by: usize| Divisor::new(by, positions);
        let source = match shape.inverse() {
            StageMap::Axes(axes) => match axes.elementary() {
                Some(e) => Map::Swap { inner: divide(e.cols), mid: divide(e.mid), outer: e.rows },
                None => Map::Axes(AxesPath::new(&axes, divide)),
            },
            StageMap::SlotMove { slots, direction, .. } => {
                Map::Slots(Box::new(SlotPath::new(slots, direction)))
            }
            StageMap::RecordTiles(retile) => Map::Retile(retile),
            StageMap::RecordMove { slots, direction } => Map::FieldSlots(slots, direction),
            _ => unreachable!("{shape} moves no super-elements"),
        };
        // Any axes are divided off one by one, the batch among them.
        let batch = (shape.batch() > 1 && !matches!(source, Map::Axes(_)))
            .then(|| divide(shape.instance_units()));
        SourceMap {
            shape,
            source,
            unit_bytes: shape.unit() * elem_bytes,
            batch,
            instance_bytes: shape.instance_len() * elem_bytes,
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

    /// Equal instances, one after the other.
    pub fn instances(&self) -> usize {
        self.shape.batch()
    }

    /// Super-elements of the whole batch.
    pub fn positions(&self) -> usize {
        self.shape.batch() * self.shape.instance_units()
    }

    /// Where the content of a position comes from, both counted over the whole batch.
    // Of every step of a cycle; called instead, super-elements of 600 bytes take 9% longer.
    #[inline(always)]
    pub fn pred(&self, p: usize) -> usize {
        let Some(batch) = self.batch else { return self.source.dest(p) };
        let (_, within) = batch.div_rem(p);
        p - within + self.source.dest(within)
    }

    /// Where the bytes of a position begin. The one partial slot, the last, is a fixed point.
    #[inline]
    pub fn offset(&self, p: usize) -> usize {
        let Some(batch) = self.batch else { return p * self.unit_bytes() };
        let (instance, within) = batch.div_rem(p);
        instance * self.instance_bytes + within * self.unit_bytes()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use turntile_perm::Elementary;

    fn check(shape: StageMap) {
        let path = SourceMap::new(shape, 4);
        assert_eq!(path.positions(), shape.batch() * shape.instance_units());
        for p in 0..path.positions() {
            let (to, from) = (path.offset(p) / 4, path.offset(path.pred(p)) / 4);
            let unit = shape.unit();
            // The first element of a super-element ends in its successor.
            assert_eq!(shape.dest(from) / unit * unit, to / unit * unit, "{shape} at {p}");
        }
    }

    #[test]
    fn paths_are_the_shapes_maps() {
        let slots = AlignedSlots::new(15, 5, 3, 6).unwrap();
        for shape in [
            StageMap::from(Elementary { batch: 1, rows: 5, mid: 1, cols: 7, unit: 3 }),
            StageMap::from(Elementary { batch: 3, rows: 4, mid: 5, cols: 6, unit: 2 }),
            StageMap::SlotMove { batch: 2, slots, direction: Direction::Forward },
            StageMap::SlotMove { batch: 2, slots, direction: Direction::Backward },
        ] {
            check(shape);
        }
        for (extents, order) in [
            (&[2, 3, 4, 5][..], &[2, 3, 1, 0][..]),
            (&[2, 3, 4, 5, 2], &[0, 3, 1, 2, 4]),
            (&[3, 2, 4, 3, 5, 6], &[0, 4, 2, 3, 1, 5]),
            (&[2, 3, 2, 3, 2, 3, 2, 3], &[7, 6, 5, 4, 3, 2, 1, 0]),
        ] {
            check(AxisPermutation::new(extents, order).unwrap().into());
        }
    }

    #[test]
    fn divisors_divide() {
        let edges = [1, 2, 3, 5, 7, 641, 65_535, 65_536, (1 << 31) - 1, 1 << 31, (1 << 32) - 1];
        for divisor in edges {
            for most in [u32::MAX as usize, usize::MAX] {
                let by = Divisor::new(divisor, most);
                assert_eq!(by.get(), divisor);
                let around =
                    edges.iter().flat_map(|&edge| [edge - 1, edge, edge + 1, edge * divisor]);
                for n in around.chain([0]).filter(|&n| n <= most) {
                    assert_eq!(by.div_rem(n), (n / divisor, n % divisor), "{n} / {divisor}");
                    let last = (n / divisor + 1).saturating_mul(divisor) - 1;
                    assert_eq!(by.div(last.min(most)), last.min(most) / divisor);
                }
            }
        }
    }

    #[test]
    fn slots_of_any_extents() {
        for (rows, cols) in [(2, 2), (7, 5), (16, 9), (29, 12), (61, 7)] {
            for slot in 1..=rows {
                let by_columns = |k| AlignedSlots::new(rows, cols, slot, k * slot);
                for slots in (1..=rows / slot)
                    .filter_map(by_columns)
                    .chain(AlignedSlots::by_rows(rows, cols, slot))
                {
                    for direction in [Direction::Forward, Direction::Backward] {
                        check(StageMap::SlotMove { batch: 1, slots, direction });
                    }
                }
            }
        }
    }
}
