//! Moves of super-elements along the cycles of an index map.

use turntile_perm::{AlignedSlots, Elementary, FieldSlots, SlotOrder, TileRows};
use turntile_plan::{Direction, StageMap};

use super::fit::{Lowered, Size, TargetParams, field};
use super::maps::AxisDigit;
use super::{fields, maps};
use crate::args::{
    Args, Divisor32, MoveAxes32, MoveAxes64, MoveFields, MoveRuns, MoveSlots32, MoveSlots64,
    OnChipArgs, SmallSwap, zeroed,
};
use crate::error::LowerError;
use crate::family::Family;
use crate::launch::{WorkspacePart, widest_word};

/// Threads per block.
const THREADS: usize = 256;
/// Number of super-elements from which 64-bit numbers are used. Below it, 32 bits also fit the sums of the candidate search.
const FEW: usize = 1 << 31;
/// Maximum number of accesses per lane of `move_on_chip`.
const ON_CHIP_HELD: usize = 4;

/// Kernel that carries super-elements in registers: maximum accesses per lane, thread blocks per multiprocessor, entry point.
/// The device code is compiled for that number of blocks.
type Held = (usize, usize, &'static str);

const SLOTS32: &[Held] =
    &[(1, 8, "move_slots32_1"), (2, 6, "move_slots32_2"), (4, 4, "move_slots32_4")];
const SLOTS64: &[Held] = &[(1, 5, "move_slots64_1")];
const AXES32: &[Held] =
    &[(1, 8, "move_axes32_1"), (2, 6, "move_axes32_2"), (4, 4, "move_axes32_4")];
const AXES64: &[Held] = &[(1, 6, "move_axes64_1")];
const RUNS: &[Held] = &[(1, 8, "move_runs_1"), (4, 4, "move_runs_4")];
const FIELDS: &[Held] = &[(1, 8, "move_fields_1")];

/// Returns the number of threads that move one super-element of `vectors` accesses.
fn lanes(vectors: usize) -> usize {
    vectors.next_power_of_two().min(32)
}

/// Returns the first kernel whose registers fit a super-element.
fn in_registers(kernels: &[Held], vectors: usize) -> Option<Held> {
    kernels.iter().copied().find(|(each, ..)| each * lanes(vectors) >= vectors)
}

/// Super-elements and their index map.
struct Moved<'a> {
    /// Number of super-elements, all instances.
    units: usize,
    /// Bytes of a super-element.
    unit_bytes: usize,
    /// Bytes of an access.
    word: usize,
    map: Map<'a>,
}

/// Index map of super-elements.
enum Map<'a> {
    /// Slots of a batch of matrices.
    Slots(usize, AlignedSlots, Direction),
    /// Axes, except the last one, which is not permuted, as digits with a bit for each reversed one, and the number of
    /// instances.
    Axes(Vec<AxisDigit>, u32, usize),
    /// Rows of tiles between two pitches.
    Runs(TileRows),
    /// Slots of records.
    Fields(&'a FieldSlots, Direction),
}

/// Returns the number of 32-bit words that store one flag per super-element.
pub fn flag_words(units: usize) -> usize {
    units.div_ceil(32)
}

/// Returns `true` if shared memory fits two super-elements of `unit` elements: one is carried while the next is fetched.
pub fn carried(unit: usize, at: TargetParams) -> bool {
    at.limits.shared_bytes / (unit * at.elem_bytes) >= 2
}

impl<'a> Moved<'a> {
    fn new(shape: &'a StageMap, at: TargetParams) -> Lowered<Self> {
        let unit_bytes = shape.unit() * at.elem_bytes;
        let units = shape.batch() * shape.instance_units();
        match *shape {
            StageMap::Axes(axes) => {
                let (word, _) = at.words(shape.unit());
                let map = Map::Axes(maps::digits(&axes.without_unit()), 0, axes.batch());
                Ok(Moved { units, unit_bytes, word, map })
            }
            StageMap::Flipped(axes) => {
                let (word, _) = at.words(shape.unit());
                let (digits, reversed) = maps::flipped_digits(&axes.without_unit());
                // A first axis that stays first and is not reversed is a batch.
                let stays = axes.order().next() == Some(0) && !axes.is_reversed(0);
                let batch = if stays { axes.extents()[0] } else { 1 };
                Ok(Moved { units, unit_bytes, word, map: Map::Axes(digits, reversed, batch) })
            }
            // The kernels number slots column by column.
            StageMap::SlotMove { batch, slots, direction } if slots.order() != SlotOrder::Rows => {
                let instance_bytes = shape.instance_len() * at.elem_bytes;
                let stride = if batch == 1 { 0 } else { instance_bytes };
                let word = widest_word(&[unit_bytes, at.alignment, stride]);
                Ok(Moved { units, unit_bytes, word, map: Map::Slots(batch, slots, direction) })
            }
            StageMap::TileRows(runs) => {
                let [from, to] = runs.pitches();
                let places = [runs.rows().checked_mul(from), runs.cols().checked_mul(to)];
                if places.iter().any(|places| places.is_none_or(|places| places >= FEW)) {
                    return Err(LowerError::NoKernel);
                }
                let (word, vectors) = at.words(runs.side());
                let (units, unit_bytes) = (runs.places(), word * vectors);
                Ok(Moved { units, unit_bytes, word, map: Map::Runs(runs) })
            }
            StageMap::RecordMove { ref slots, direction } => {
                fields::check(slots, at)?;
                let (units, (word, vectors)) = (slots.count(), at.words(slots.slot()));
                if units > FEW {
                    return Err(LowerError::NoKernel);
                }
                let map = Map::Fields(slots, direction);
                Ok(Moved { units, unit_bytes: word * vectors, word, map })
            }
            _ => Err(LowerError::NoKernel),
        }
    }

    fn vectors(&self) -> usize {
        self.unit_bytes / self.word
    }

    /// Returns `true` if 32 bits number the super-elements, and for slots the elements.
    fn narrow(&self) -> bool {
        self.units < FEW
            && match self.map {
                Map::Slots(_, slots, _) => slots.len() + 2 * slots.rows() < u32::MAX as usize,
                _ => true,
            }
    }

    /// Returns the number of blocks of `threads` threads for all super-elements, at most `most`.
    fn blocks(&self, threads: usize, most: usize) -> usize {
        self.units.div_ceil(threads / lanes(self.vectors())).clamp(1, most)
    }

    /// Returns the kernel's parameter, with 32-bit numbers if `narrow`.
    fn params(&self, narrow: bool) -> Lowered<Args> {
        let (units, lanes) = (self.units as u64, lanes(self.vectors()) as u32);
        let (vectors, word) = (field(self.vectors())?, self.word as u32);
        macro_rules! moved {
            ($type:ident, $map:expr) => {
                $type { units, lanes, vectors, word, map: $map, ..zeroed() }.into()
            };
        }
        Ok(match &self.map {
            &Map::Slots(batch, slots, direction) => {
                let elem_bytes = self.unit_bytes / slots.slot();
                if narrow {
                    moved!(MoveSlots32, maps::slots32(batch, slots, direction, elem_bytes))
                } else {
                    moved!(MoveSlots64, maps::slots64(batch, slots, direction, elem_bytes))
                }
            }
            &Map::Axes(ref digits, reversed, batch) => {
                let digits = (&digits[..], reversed);
                if narrow {
                    moved!(MoveAxes32, maps::axes32(digits, batch, self.unit_bytes)?)
                } else {
                    moved!(MoveAxes64, maps::axes64(digits, batch, self.unit_bytes)?)
                }
            }
            Map::Runs(runs) => moved!(MoveRuns, maps::tile_rows(runs, self.unit_bytes)?),
            &Map::Fields(slots, direction) => {
                moved!(MoveFields, maps::field_slots(slots, direction, self.unit_bytes)?)
            }
        })
    }
}

/// Returns the launch of PTTWAC with flags in global memory. Registers carry a super-element if it fits, else shared memory.
pub fn global(shape: &StageMap, at: TargetParams) -> Lowered {
    let moved = Moved::new(shape, at)?;
    let (vectors, narrow) = (moved.vectors(), moved.narrow());
    let (family, kernels, in_shared) = match (&moved.map, narrow) {
        (Map::Slots(..), true) => (Family::MovesSlots, SLOTS32, Some("move_shared_slots")),
        (Map::Slots(..), false) => (Family::MovesSlots, SLOTS64, Some("move_shared_slots")),
        (Map::Axes(..), true) => (Family::Moves, AXES32, Some("move_shared_axes")),
        (Map::Axes(..), false) => (Family::Moves, AXES64, Some("move_shared_axes")),
        (Map::Runs(_), _) => (Family::MovesRuns, RUNS, None),
        (Map::Fields(..), _) => (Family::Fields, FIELDS, None),
    };
    let held = in_registers(kernels, vectors);
    let (entry, narrow, blocks, threads, shared_bytes) = match held {
        Some((_, blocks, entry)) => (entry, narrow, blocks, THREADS, 0),
        None => {
            // The number of warps, at least one, whose pairs of super-elements fit half the shared memory.
            let each = 2 * moved.unit_bytes;
            let lanes = lanes(vectors);
            let workers = (at.limits.shared_bytes / 2 / each).clamp(1, THREADS / lanes);
            let threads = ((workers + 1).next_power_of_two() / 2 * lanes).max(32);
            let shared_bytes = threads / lanes * each;
            let blocks = (at.limits.shared_bytes / (shared_bytes + 1024)).clamp(1, 32);
            (in_shared.ok_or(LowerError::NoKernel)?, false, blocks, threads, shared_bytes)
        }
    };
    let resident = blocks.min(at.limits.unit_threads / threads).max(1);
    let blocks = moved.blocks(threads, at.limits.units * resident);
    let flags = WorkspacePart::Flags(flag_words(moved.units) * 4);
    let launch = at.launch((family, moved.word, entry), Size { blocks, threads, shared_bytes })?;
    Ok(launch.using(flags, moved.params(narrow)?))
}

/// Returns the launch of PTTWAC with flags in shared memory, one thread block per instance.
pub fn on_chip(e: Elementary, threads: usize, at: TargetParams) -> Lowered {
    let (instance_bytes, unit_bytes) = (e.instance_len() * at.elem_bytes, e.unit * at.elem_bytes);
    let (word, vectors) = at.words(e.unit);
    let lanes = lanes(vectors);
    if instance_bytes > u32::MAX as usize || vectors > ON_CHIP_HELD * lanes {
        return Err(LowerError::NoKernel);
    }
    let words = flag_words(e.instance_units());
    let threads = threads.next_multiple_of(32).clamp(32, 1024);
    let size = Size { blocks: e.batch, threads, shared_bytes: words * 4 };
    let launch = at.launch((Family::MovesOnChip, word, "move_on_chip"), size)?;
    Ok(launch.with(OnChipArgs {
        instances: e.batch as u64,
        instance_bytes: instance_bytes as u64,
        flag_words: field(words)?,
        units: field(e.instance_units())?,
        lanes: lanes as u32,
        vectors: vectors as u32,
        word: word as u32,
        map: SmallSwap {
            cols: Divisor32::new(field(e.cols)?),
            rows: field(e.rows)?,
            unit_bytes: field(unit_bytes)?,
        },
        ..zeroed()
    }))
}

/// Returns the launch of P-IPT, one worker per cycle.
pub fn per_cycle(shape: &StageMap, at: TargetParams) -> Lowered {
    let moved = Moved::new(shape, at)?;
    let (entry, narrow) = match moved.map {
        Map::Slots(..) => ("per_cycle_slots", false),
        Map::Axes(..) if moved.narrow() => ("per_cycle_axes32", true),
        Map::Axes(..) => ("per_cycle_axes64", false),
        Map::Runs(_) | Map::Fields(..) => return Err(LowerError::NoKernel),
    };
    let blocks = moved.blocks(THREADS, at.limits.units * 32);
    let size = Size { blocks, threads: THREADS, shared_bytes: 0 };
    Ok(at.launch((Family::PerCycle, moved.word, entry), size)?.with(moved.params(narrow)?))
}
