//! Keys of the cost tables: the operation of a launch, and the quantities that decide its speed.

use turntile_perm::{AlignedSlots, Elementary, FieldSlots, PitchedRows};
use turntile_plan::{Direction, StageMap};

use super::fit::{TargetParams, VECTOR_BYTES};
use super::tiles::{LINE, small_tile};
use super::{barrier, teams, wide};
use crate::args::{Args, GridArgs};
use crate::family::Family;
use crate::launch::{CheckedLaunch, widest_word};
use crate::names::{Operation, Quantity as Q};
use crate::strategy::{Scope, Tiling};

/// Bytes of a sector of a cache line, and of a bank of shared memory.
const SECTOR_BYTES: usize = 32;
const BANK_BYTES: usize = 4;

/// Key of a cost table.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Cost {
    pub operation: Operation,
    pub quantities: Quantities,
}

/// Quantities of a launch; a quantity that does not matter is 1.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Quantities([f64; Q::NAMES.len()]);

impl Default for Quantities {
    fn default() -> Self {
        Quantities([1.0; Q::NAMES.len()])
    }
}

impl Quantities {
    /// Returns the quantities that every launch has.
    pub fn new(shape: &StageMap, call: &CheckedLaunch, at: TargetParams) -> Self {
        let busy = (f64::from(call.groups) / at.limits.units as f64).min(1.0);
        let unit_bytes = shape.unit() * at.elem_bytes;
        Self::default()
            .bytes(Q::ElemBytes, at.elem_bytes)
            .bytes(Q::Word, call.word)
            .is(Q::SeveralWords, unit_bytes != call.word)
            .bytes(Q::UnitBytes, unit_bytes)
            .bytes(Q::UnitWord, widest_word(&[unit_bytes]))
            .with(Q::Busy, busy)
    }

    /// Returns all quantities in the order of their names.
    pub fn all(&self) -> &[f64] {
        &self.0
    }

    /// Returns the key of `operation` with these quantities.
    pub fn of(self, operation: Operation) -> Cost {
        Cost { operation, quantities: self }
    }

    fn with(mut self, name: Q, value: impl Into<f64>) -> Self {
        self.0[name as usize] = value.into();
        self
    }

    fn bytes(self, name: Q, bytes: usize) -> Self {
        self.with(name, bytes.max(1) as f64)
    }

    pub fn is(self, name: Q, yes: bool) -> Self {
        self.with(name, u8::from(yes))
    }

    /// Sets the fraction of shared memory that a thread block uses. One that fills a multiprocessor does not overlap loads and
    /// stores.
    pub fn hold(self, bytes: usize, at: TargetParams) -> Self {
        self.with(Q::Held, bytes as f64 / at.limits.shared_bytes as f64)
    }

    /// Returns the key of a tile swap. Partial tiles at the edge take the time of whole ones; accesses other than vectors
    /// take longer.
    pub fn swap(self, e: &Elementary, call: &CheckedLaunch, at: TargetParams) -> Cost {
        let across = match call.params {
            Args::Square(args) => args.across,
            Args::SwapAxes(args) => args.across,
            _ => 1,
        };
        // Fraction of the tiles' sides inside the matrix; small squares leave most of a thread block idle.
        let side = match call.params {
            // The side of each of the two tiles in shared memory.
            Args::Square(_) if across == 1 => {
                (call.shared_bytes as usize / (2 * call.word)).isqrt()
            }
            _ => e.rows.div_ceil(across.max(1) as usize).next_power_of_two(),
        };
        let side = side.max(small_tile(at.elem_bytes));
        let used = e.rows as f64 / e.rows.next_multiple_of(side) as f64;
        let pitch = e.mid * e.cols * at.elem_bytes;
        self.with(Q::Used, used)
            .is(Q::Vectors, !call.entry.ends_with("_granules"))
            .with(Q::Straddle, if pitch.is_multiple_of(LINE) { 0 } else { 2 })
            .of(Operation::Swap)
    }

    /// Returns the key of a cube rotation: the fraction of the tiles' sides inside the cube, and the alignment of its rows.
    pub fn cube(self, e: &Elementary, tile: usize, call: &CheckedLaunch) -> Cost {
        let side = e.rows.min(e.cols);
        let used = side as f64 / side.next_multiple_of(tile) as f64;
        let cluster = call.family == Family::CubeCluster;
        let operation = if cluster { Operation::CubeCluster } else { Operation::Cube };
        self.with(Q::Used, used).straddle(side * call.word).of(operation)
    }

    /// Sets how many of cache line and sector do not divide a run of `bytes` bytes.
    fn straddle(self, bytes: usize) -> Self {
        let straddles = |parts: usize| u8::from(!bytes.is_multiple_of(parts));
        self.with(Q::Straddle, straddles(LINE) + straddles(SECTOR_BYTES))
    }

    /// Returns the key of a swap of axes: rows of a tile, bytes of a row, and whether rows are whole vectors.
    pub fn swap_axes(self, call: &CheckedLaunch) -> Cost {
        let Args::SwapAxes(args) = call.params else { return self.of(Operation::SwapAxes) };
        self.is(Q::Vectors, call.entry == "swap_axes_vectors")
            .with(Q::Depth, f64::from(args.rows))
            .bytes(Q::RowBytes, args.cols as usize * call.word)
            .of(Operation::SwapAxes)
    }

    /// Returns the key of a reversal of axes: whether granules of 16 bytes move whole.
    pub fn flip(self, call: &CheckedLaunch) -> Cost {
        let Args::Flip(args) = call.params else { return self.of(Operation::Flip) };
        let (unit, row) = (args.unit_bytes, args.unit_bytes.saturating_mul(args.units));
        let one_word = unit == call.word as u64 && row >= 4 * VECTOR_BYTES as u64;
        let whole = unit >= 4 * VECTOR_BYTES as u64 || unit.is_multiple_of(16) || one_word;
        self.is(Q::Vectors, whole).of(Operation::Flip)
    }

    /// Returns the key of a quarter turn of squares: whether rows are whole vectors, rows of a tile, and the fraction of the
    /// tiles' sides in the squares.
    pub fn turn(self, call: &CheckedLaunch) -> Cost {
        let Args::Turn(args) = call.params else { return self.of(Operation::Turn) };
        let half = args.side - if args.images == 1 { 0 } else { args.rows };
        let used = f64::from(half) / f64::from(half.next_multiple_of(args.tile));
        self.is(Q::Vectors, call.entry == "turn_squares")
            .with(Q::Used, used)
            .with(Q::Depth, args.tile)
            .is(Q::SeveralWords, args.unit > 1)
            .straddle(args.pitch as usize)
            .of(Operation::Turn)
    }

    /// Returns the key of `barrier_axes`: whether threads write whole vectors, whose words have one stride in the source.
    pub fn block_axes(self, call: &CheckedLaunch) -> Cost {
        let Args::Axes(args) = call.params else { return self.of(Operation::BlockAxes) };
        let (last, pack) = (args.source.d[0].by.divisor, args.pack.max(1));
        let vectors = args.pack as usize * call.word == VECTOR_BYTES && last.is_multiple_of(pack);
        self.is(Q::Vectors, vectors).of(Operation::BlockAxes)
    }

    /// Returns the key of a permutation of long runs by pieces of `piece` bytes.
    pub fn pieces(self, piece: usize) -> Cost {
        self.bytes(Q::RowBytes, piece).of(Operation::Pieces)
    }

    /// Returns the key of a transposition of adjacent square tiles.
    pub fn tiles(self, e: &Elementary, operation: Operation, at: TargetParams) -> Cost {
        let row_bytes = e.rows * at.elem_bytes;
        self.hold(e.cols * row_bytes, at).bytes(Q::RowBytes, row_bytes).of(operation)
    }

    pub fn barrier(
        self,
        e: &Elementary,
        scope: Scope,
        call: &CheckedLaunch,
        at: TargetParams,
    ) -> Cost {
        let unit_bytes = e.unit * at.elem_bytes;
        let word = widest_word(&[unit_bytes]);
        let narrow = word < BANK_BYTES && !(e.cols * unit_bytes).is_multiple_of(BANK_BYTES);
        let bytes = e.instance_len() * at.elem_bytes;
        let few = call.entry == barrier::FEW;
        let each = self
            .is(Q::Narrow, narrow && !few && call.entry != wide::TEAM_COLUMNS)
            .is(Q::Vectors, few || call.entry == wide::TEAM_MICRO);
        let operations = (Operation::Cluster, Operation::Team, Operation::Grid);
        match scope {
            Scope::Block => each.hold(bytes, at).of(Operation::Block),
            Scope::Cluster(blocks) => {
                each.hold(bytes / blocks, at).of_scope(operations, scope, call)
            }
            Scope::Team(_) | Scope::Grid => {
                let share = bytes as f64 / at.limits.units as f64;
                let each = each.with(Q::Held, share / at.limits.shared_bytes as f64);
                let each = match call.params {
                    Args::Team(team) if call.entry == wide::TEAM_COLUMNS => {
                        each.bytes(Q::RowBytes, team.rectangle.block_cols as usize * word)
                    }
                    Args::Grid(GridArgs { held_rows, rectangle, .. }) => {
                        let on_chip = f64::from(rectangle.shared_rows + held_rows);
                        each.with(Q::Used, on_chip / f64::from(rectangle.block_rows))
                    }
                    _ => each,
                };
                each.of_scope(operations, scope, call)
            }
        }
    }

    /// Returns the key of barrier-sync over a cluster, a team or the grid, with the number of instances in flight.
    pub fn of_scope(
        self,
        (cluster, team, grid): (Operation, Operation, Operation),
        scope: Scope,
        call: &CheckedLaunch,
    ) -> Cost {
        let share = match call.params {
            Args::Team(args) => args.share,
            Args::TeamAxes(args) => args.share,
            _ => return self.of(if scope == Scope::Grid { grid } else { cluster }),
        };
        self.with(Q::Depth, call.groups / share.blocks.max(1)).of(team)
    }

    /// Sets the contiguous runs of a slot gather: a row of the matrix, and a column of a chunk.
    pub fn slots(self, slots: &AlignedSlots, direction: Direction, at: TargetParams) -> Self {
        let word = widest_word(&[at.elem_bytes, at.alignment]);
        self.bytes(Q::RowBytes, slots.cols() * at.elem_bytes)
            .bytes(Q::ColumnBytes, slots.chunk() * at.elem_bytes)
            .is(Q::SeveralWords, at.elem_bytes != word)
            .is(Q::Backward, direction == Direction::Backward)
    }

    /// Sets the balance of the teams' shares, a thread block's part of a chunk, the granule at the ends of a strip's rows,
    /// and causes of slow or idle lanes.
    pub fn teams(
        self,
        batch: usize,
        slots: &AlignedSlots,
        call: &CheckedLaunch,
        at: TargetParams,
    ) -> Self {
        let Args::Gather(args) = call.params else { return self };
        let (runs, teams, cols) =
            (args.runs as usize, args.teams as usize, args.block_cols as usize);
        let word = widest_word(&[at.elem_bytes, at.alignment]);
        let most = slots.chunks().div_ceil(runs) * (batch * runs).div_ceil(teams);
        let even = (batch * slots.chunks()) as f64 / (teams * most) as f64;
        let whole_rows = (slots.cols() * at.elem_bytes).is_multiple_of(VECTOR_BYTES);
        self.with(Q::Even, even)
            .bytes(Q::RowBytes, cols * at.elem_bytes)
            .bytes(Q::PartBytes, slots.chunk() * cols * at.elem_bytes)
            .bytes(Q::ColumnBytes, slots.chunk() * at.elem_bytes)
            .with(Q::Depth, args.depth)
            .is(Q::Fills, teams::fills_warps(slots, word))
            .with(Q::Granule, args.granule)
            .is(Q::Alike, whole_rows)
    }

    /// Sets the quantities of moves along cycles, by words of at most `most` bytes.
    pub fn cycles(self, shape: &StageMap, most: usize, at: TargetParams) -> Self {
        let unit = shape.unit();
        let unit_bytes = unit * at.elem_bytes;
        // Runs of at most half a cache line share it with other runs.
        let run_bytes = if unit_bytes <= LINE / 2 { 0 } else { unit_bytes };
        self.bytes(Q::UnitBytes, unit_bytes)
            .bytes(Q::UnitWord, widest_word(&[unit_bytes]).min(most))
            .straddle(run_bytes)
            .bytes(Q::Units, shape.batch() * shape.instance_len().div_ceil(unit))
    }

    /// Sets for how many of source and result (0 to 2) rows do not start at whole vectors.
    pub fn slide(self, shape: &StageMap, at: TargetParams) -> Self {
        let Some(slide) = shape.slide() else { return self };
        let granule = |rows: PitchedRows| {
            let pitch = if rows.is_dense() { 0 } else { rows.pitch() * at.elem_bytes };
            widest_word(&[pitch, at.alignment])
        };
        let granules = [slide.from(), slide.to()].map(granule);
        let between = granules.iter().filter(|&&granule| granule < VECTOR_BYTES).count();
        self.with(Q::Straddle, between as u8)
    }

    /// Sets the bytes of a tile of records, and the average bytes of a field in it, which are contiguous.
    pub fn fields(self, slots: &FieldSlots, direction: Direction, at: TargetParams) -> Self {
        let (fields, tile) = (slots.schema().count(), slots.tile().max(1));
        let bytes = tile * slots.schema().words() * at.elem_bytes;
        self.bytes(Q::RowBytes, bytes)
            .bytes(Q::UnitBytes, bytes / fields)
            .is(Q::Backward, direction == Direction::Backward)
    }

    /// Returns the key of an out-of-place transposition.
    pub fn into(
        self,
        e: &Elementary,
        tiling: Tiling,
        swath: usize,
        word: usize,
        at: TargetParams,
    ) -> Cost {
        let elem_bytes = e.unit * at.elem_bytes;
        // Several small matrices of a batch share a thread block.
        let part = if e.batch > 1 { e.rows * e.cols * elem_bytes } else { usize::MAX };
        self.bytes(Q::ElemBytes, elem_bytes)
            .is(Q::SeveralWords, elem_bytes != word)
            .bytes(Q::ShortWords, e.rows.min(e.cols))
            .bytes(Q::ColumnWords, e.rows)
            .bytes(Q::PartBytes, part)
            .with(Q::Depth, swath as f64)
            .of(match tiling {
                Tiling::Micro => Operation::IntoMicro,
                Tiling::Lines => Operation::IntoLines,
                Tiling::Band => Operation::IntoBand,
                Tiling::Stack => Operation::IntoStack,
                Tiling::Units => Operation::IntoUnits,
                Tiling::Axes { .. } => Operation::IntoAxes,
            })
    }

    /// Sets the bytes of a tile's rows and of its runs in the result, and whether rows and columns are whole vectors.
    pub fn tiled_axes(self, call: &CheckedLaunch) -> Self {
        let map = match call.params {
            Args::AxesTile(args) => args.map,
            Args::TeamAxes(args) => args.map,
            _ => return self,
        };
        let (line, run) = (map.line_bytes(), map.run as usize * call.word);
        let stretch = map.stretch_words() * call.word;
        let vectors = map.granules as usize * VECTOR_BYTES == line
            && map.packs as usize * VECTOR_BYTES == run;
        self.bytes(Q::RowBytes, line).bytes(Q::ColumnBytes, stretch).is(Q::Vectors, vectors)
    }
}
