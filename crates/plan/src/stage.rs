//! A pass over the matrix.

use std::fmt;

use turntile_perm::{Elementary, Order, Padding, Slots};

use crate::method::{Launch, Method};

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

/// What a stage does to offsets: always a closed form, always a permutation.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum StageShape {
    /// Two axes change places: 010!, 100!, 0100!, 0210!, 2100!.
    Elementary(Elementary),
    /// 0010! and 1000! in one pass: `[batch][rows][cols][m][n]` to `[batch][cols][rows][n][m]`,
    /// tiles moved and transposed on the way (thesis section 4.8.3, "+fusion").
    FusedTiles {
        /// Independent instances.
        batch: usize,
        /// Tiles down, M'.
        rows: usize,
        /// Tiles across, N'.
        cols: usize,
        /// Rows of a tile.
        m: usize,
        /// Columns of a tile.
        n: usize,
    },
    /// Pass 1 of the aligned-slot route: every chunk's slots gathered into its own memory.
    SlotGather {
        /// Matrices.
        batch: usize,
        /// The index maps of one matrix.
        slots: Slots,
        /// Forward gathers; backward scatters.
        direction: Direction,
    },
    /// Pass 2 of the aligned-slot route: whole slots moved to their final places.
    SlotMove {
        /// Matrices.
        batch: usize,
        /// The index maps of one matrix.
        slots: Slots,
        /// Forward moves slots to final places; backward fetches them.
        direction: Direction,
    },
    /// The first columns of a matrix packed, and the others behind them, column after column: what
    /// remains of a side when square tiles are cut off.
    Cut {
        /// The columns that are packed, as rows padded by the others.
        padding: Padding,
        /// Forward cuts; backward puts the columns back.
        direction: Direction,
    },
    /// Rows moved apart (thesis section 4.1.1): into the room behind the matrices, which end further
    /// on in memory than they did.
    Pad {
        /// The rows, of all matrices.
        padding: Padding,
        /// Forward pads; backward unpads.
        direction: Direction,
    },
}

impl StageShape {
    /// Independent instances, contiguous and equally long.
    pub fn batch(&self) -> usize {
        match *self {
            StageShape::Elementary(e) => e.batch,
            StageShape::FusedTiles { batch, .. }
            | StageShape::SlotGather { batch, .. }
            | StageShape::SlotMove { batch, .. } => batch,
            StageShape::Cut { .. } | StageShape::Pad { .. } => 1,
        }
    }

    /// Elements of one instance.
    pub fn instance_len(&self) -> usize {
        match *self {
            StageShape::Elementary(e) => e.instance_len(),
            StageShape::FusedTiles { rows, cols, m, n, .. } => rows * cols * m * n,
            StageShape::SlotGather { slots, .. } | StageShape::SlotMove { slots, .. } => {
                slots.len()
            }
            StageShape::Cut { padding, .. } => padding.span(),
            StageShape::Pad { padding, .. } => padding.len(),
        }
    }

    /// Elements from the first one to the last that the stage reads, and the same for what it
    /// writes: [`len`](Self::len) but where rows are padded.
    pub fn spans(&self) -> (usize, usize) {
        match *self {
            StageShape::Pad { padding, direction: Direction::Forward } => {
                (padding.len(), padding.span())
            }
            StageShape::Pad { padding, direction: Direction::Backward } => {
                (padding.span(), padding.len())
            }
            _ => (self.len(), self.len()),
        }
    }

    /// Elements covered, and moved.
    pub fn len(&self) -> usize {
        self.batch() * self.instance_len()
    }

    /// Whether no element is covered.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// Elements of a super-element, which moves as one run (the gather pass moves single elements).
    pub fn unit(&self) -> usize {
        match *self {
            StageShape::Elementary(e) => e.unit,
            StageShape::FusedTiles { m, n, .. } => m * n,
            StageShape::SlotGather { .. } => 1,
            StageShape::SlotMove { slots, .. } => slots.slot(),
            StageShape::Cut { padding, .. } | StageShape::Pad { padding, .. } => padding.cols(),
        }
    }

    /// Super-elements of one instance, a partial last slot counted.
    pub fn instance_units(&self) -> usize {
        self.instance_len().div_ceil(self.unit())
    }

    /// Where super-element `s` of an instance goes: its successor on its cycle.
    #[inline]
    pub fn succ(&self, s: usize) -> usize {
        match *self {
            StageShape::Elementary(e) => e.succ(s),
            StageShape::FusedTiles { rows, cols, .. } => s % cols * rows + s / cols,
            StageShape::SlotGather { slots, direction: Direction::Forward, .. } => {
                slots.gather_dest(s)
            }
            StageShape::SlotGather { slots, direction: Direction::Backward, .. } => {
                slots.gather_source(s)
            }
            StageShape::SlotMove { slots, direction: Direction::Forward, .. } => slots.slot_dest(s),
            StageShape::SlotMove { slots, direction: Direction::Backward, .. } => {
                slots.slot_source(s)
            }
            // Rows keep their order; columns that are cut off are no super-elements.
            StageShape::Cut { .. } | StageShape::Pad { .. } => s,
        }
    }

    /// Where the element at `within` of a super-element goes inside it.
    fn within_dest(&self, within: usize) -> usize {
        match *self {
            StageShape::FusedTiles { m, n, .. } => within % n * m + within / n,
            _ => within,
        }
    }

    /// Where the element at `offset` goes; what lies in a gap between padded rows is none, and stays, as do
    /// elements behind those that the stage covers.
    pub fn dest(&self, offset: usize) -> usize {
        match *self {
            StageShape::Pad { padding, direction: Direction::Forward } => {
                return padding.padded(offset);
            }
            StageShape::Pad { padding, direction: Direction::Backward } => {
                return padding.packed(offset).unwrap_or(offset);
            }
            _ if offset >= self.len() => return offset,
            StageShape::Cut { padding, direction: Direction::Forward } => {
                return padding.cut(offset);
            }
            StageShape::Cut { padding, direction: Direction::Backward } => {
                return padding.joined(offset);
            }
            _ => (),
        }
        let (len, unit) = (self.instance_len(), self.unit());
        let (instance, k) = (offset / len, offset % len);
        instance * len + self.succ(k / unit) * unit + self.within_dest(k % unit)
    }

    /// Rows that are moved apart (forward) or together, whether or not their gaps are lost.
    pub fn padding(&self) -> Option<(Padding, Direction)> {
        match *self {
            StageShape::Pad { padding, direction } => Some((padding, direction)),
            StageShape::Cut { padding, direction } => Some((padding, direction.reversed())),
            _ => None,
        }
    }

    /// Whether nothing moves.
    pub fn is_identity(&self) -> bool {
        match *self {
            StageShape::Elementary(e) => e.is_identity(),
            StageShape::FusedTiles { rows, cols, m, n, .. } => {
                (rows == 1 || cols == 1) && (m == 1 || n == 1)
            }
            // One row or column is the identity; a slot of one element leaves all work to pass 2.
            StageShape::SlotGather { slots, .. } => {
                slots.rows() == 1 || slots.cols() == 1 || slots.chunk() == 1
            }
            // One chunk is gathered in the final order.
            StageShape::SlotMove { slots, .. } => {
                slots.rows() == 1 || slots.cols() == 1 || slots.chunks() == 1
            }
            StageShape::Cut { padding, .. } | StageShape::Pad { padding, .. } => {
                padding.is_identity()
            }
        }
    }
}

/// A stage of a plan: what moves where, how, and with which launch.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Stage {
    /// What it does to offsets.
    pub shape: StageShape,
    /// How it does it.
    pub method: Method,
    /// The launch: groups, threads, memory.
    pub launch: Launch,
}

impl fmt::Display for StageShape {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let slots = |f: &mut fmt::Formatter<'_>, name, batch, slots: Slots, direction| {
            let back = if direction == Direction::Backward { " back" } else { "" };
            let many = if batch > 1 { format!("{batch}*") } else { String::new() };
            let (rows, cols) = (slots.rows(), slots.cols());
            write!(f, "{name}{back}({many}{rows}x{cols}, slot {}, ", slots.slot())?;
            match slots.order() {
                Order::Columns => write!(f, "chunk {})", slots.chunk()),
                Order::Rows => write!(f, "by rows)"),
            }
        };
        match *self {
            StageShape::Elementary(e) => e.fmt(f),
            StageShape::FusedTiles { batch, rows, cols, m, n } => {
                let name = if batch > 1 { "01010!" } else { "1010!" };
                let many = if batch > 1 { format!("{batch}*") } else { String::new() };
                write!(f, "{name}({many}{rows}x{cols}, tile {m}x{n})")
            }
            StageShape::SlotGather { batch, slots: s, direction } => {
                slots(f, "slot-gather", batch, s, direction)
            }
            StageShape::SlotMove { batch, slots: s, direction } => {
                slots(f, "slot-move", batch, s, direction)
            }
            StageShape::Cut { padding, direction } => {
                let name = if direction == Direction::Forward { "cut" } else { "join" };
                let (rows, cols, pitch) = (padding.rows(), padding.cols(), padding.pitch());
                write!(f, "{name}({rows}x{pitch}, {cols} columns packed)")
            }
            StageShape::Pad { padding, direction } => {
                let name = if direction == Direction::Forward { "pad" } else { "unpad" };
                let (rows, cols, pitch) = (padding.rows(), padding.cols(), padding.pitch());
                write!(f, "{name}({rows}x{cols}, pitch {pitch})")
            }
        }
    }
}

impl fmt::Display for Stage {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} {}", self.shape, self.method)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn fused_tiles_are_0010_then_1000() {
        let (batch, rows, cols, m, n) = (2, 3, 4, 5, 2);
        let fused = StageShape::FusedTiles { batch, rows, cols, m, n };
        let tiles = Elementary { batch: batch * rows * cols, rows: m, mid: 1, cols: n, unit: 1 };
        let moves = Elementary { batch, rows, mid: 1, cols, unit: m * n };
        for offset in 0..fused.len() {
            assert_eq!(fused.dest(offset), moves.dest(tiles.dest(offset)));
        }
    }

    #[test]
    fn identities_are_recognised() {
        let shapes = |slots: Slots| {
            [Direction::Forward, Direction::Backward].into_iter().flat_map(move |direction| {
                [
                    StageShape::SlotGather { batch: 1, slots, direction },
                    StageShape::SlotMove { batch: 1, slots, direction },
                ]
            })
        };
        for rows in 1..7 {
            for cols in 1..7 {
                for slot in 1..=rows {
                    let by_columns = |k| Slots::new(rows, cols, slot, k * slot);
                    for shape in (1..=rows / slot)
                        .filter_map(by_columns)
                        .chain(Slots::by_rows(rows, cols, slot))
                        .flat_map(shapes)
                    {
                        let moves = (0..shape.len()).any(|k| shape.dest(k) != k);
                        assert_eq!(shape.is_identity(), !moves, "{shape}");
                    }
                }
            }
        }
    }
}
