//! Where super-elements go: a stage's index map with its divisions prepared.

use turntile_perm::FastDiv;
use turntile_plan::StageShape;
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
    /// Anything else: as the shape says.
    Shape,
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
            StageShape::SlotGather { .. } | StageShape::SlotMove { .. } => None,
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
    use turntile_perm::{Elementary, Slots};
    use turntile_plan::Direction;

    #[test]
    fn paths_are_the_shapes_maps() {
        let slots = Slots::new(17, 5, 3, 6).unwrap();
        for shape in [
            StageShape::Elementary(Elementary { batch: 1, rows: 5, mid: 1, cols: 7, unit: 3 }),
            StageShape::Elementary(Elementary { batch: 3, rows: 4, mid: 5, cols: 6, unit: 2 }),
            StageShape::FusedTiles { batch: 2, rows: 3, cols: 4, m: 5, n: 2 },
            StageShape::SlotMove { batch: 2, slots, direction: Direction::Forward },
            StageShape::SlotMove { batch: 1, slots, direction: Direction::Backward },
        ] {
            let path = Path::new(shape, 4);
            assert_eq!(path.positions(), shape.batch() * shape.instance_units());
            for p in 0..path.positions() {
                let (from, to) = (path.offset(p) / 4, path.offset(path.succ(p)) / 4);
                let unit = shape.unit();
                // The first element of a super-element is the first of its successor.
                assert_eq!(shape.dest(from) / unit * unit, to / unit * unit, "{shape} at {p}");
            }
        }
    }
}
