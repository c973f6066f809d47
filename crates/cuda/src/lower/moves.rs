//! Super-elements along cycles.

use turntile_perm::{AlignedSlots, AxisPermutation, Elementary, SlotOrder, TileRows};
use turntile_plan::{Direction, StageMap};

use super::fit::{At, Lowered, Size, field};
use super::maps;
use crate::args::{
    Args, Divisor32, MoveAxes32, MoveAxes64, MoveRuns, MoveSlots32, MoveSlots64, OnChipArgs,
    SmallSwap, TileRunMap, zeroed,
};
use crate::call::{WorkspacePart, widest_word};
use crate::error::LowerError;
use crate::family::Family;

/// Threads of a block that moves super-elements.
const THREADS: usize = 256;
/// Super-elements below which 32 bits number them, with room for the search for candidates.
const FEW: usize = 1 << 31;

/// Kernels that hold super-elements in registers: vectors a lane, blocks that fit a multiprocessor, for slots and for axes.
type Held = (usize, usize, [&'static str; 2]);

const NARROW: [Held; 3] = [
    (1, 8, ["move_slots32_1", "move_axes32_1"]),
    (2, 6, ["move_slots32_2", "move_axes32_2"]),
    (4, 4, ["move_slots32_4", "move_axes32_4"]),
];
const WIDE: [Held; 2] =
    [(1, 6, ["move_slots64_1", "move_axes64_1"]), (4, 3, ["move_slots64_4", "move_axes64_4"])];

/// A shape as the movers see it.
struct Moved {
    /// Super-elements, all instances.
    units: usize,
    unit_bytes: usize,
    /// Bytes of an access.
    word: usize,
    map: Map,
}

enum Map {
    Slots(usize, AlignedSlots, Direction),
    /// Axes without the one that stays last.
    Axes(AxisPermutation),
}

/// Words of 32 flags.
pub fn flag_words(units: usize) -> usize {
    units.div_ceil(32)
}

/// Whether a super-element of so many elements fits on chip twice, so that it can be carried while another is fetched.
pub fn carried(unit: usize, at: At) -> bool {
    at.limits.shared_bytes / (unit * at.elem_bytes) >= 2
}

impl Map {
    /// The first of these for slots, the second for axes.
    fn either<T>(&self, [slots, axes]: [T; 2]) -> T {
        match self {
            Map::Slots(..) => slots,
            Map::Axes(_) => axes,
        }
    }
}

impl Moved {
    fn new(shape: &StageMap, at: At) -> Lowered<Self> {
        let unit_bytes = shape.unit() * at.elem_bytes;
        let units = shape.batch() * shape.instance_units();
        match *shape {
            StageMap::Axes(axes) => {
                let (word, _) = at.words(shape.unit());
                Ok(Moved { units, unit_bytes, word, map: Map::Axes(axes.without_unit()) })
            }
            // The kernels know slots column by column.
            StageMap::SlotMove { batch, slots, direction } if slots.order() != SlotOrder::Rows => {
                let instance_bytes = shape.instance_len() * at.elem_bytes;
                let stride = if batch == 1 { 0 } else { instance_bytes };
                let word = widest_word(&[unit_bytes, at.alignment, stride]);
                Ok(Moved { units, unit_bytes, word, map: Map::Slots(batch, slots, direction) })
            }
            _ => Err(LowerError::NoKernel),
        }
    }

    fn vectors(&self) -> usize {
        self.unit_bytes / self.word
    }

    /// Threads that move one super-element together.
    fn lanes(&self) -> usize {
        self.vectors().next_power_of_two().min(32)
    }

    /// Whether 32 bits number the super-elements, and for slots the elements too.
    fn narrow(&self) -> bool {
        self.units < FEW
            && match self.map {
                Map::Axes(_) => true,
                Map::Slots(_, slots, _) => slots.len() + 2 * slots.rows() < u32::MAX as usize,
            }
    }

    /// The parameter, numbers in 32 bits if `narrow`.
    fn params(&self, narrow: bool) -> Lowered<Args> {
        let (units, lanes) = (self.units as u64, self.lanes() as u32);
        let vectors = field(self.vectors())?;
        macro_rules! moved {
            ($type:ident, $map:expr) => {
                $type { units, lanes, vectors, map: $map, ..zeroed() }.into()
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
            Map::Axes(axes) => {
                let (digits, batch) = (maps::digits(axes), axes.batch());
                if narrow {
                    moved!(MoveAxes32, maps::axes32(&digits, batch, self.unit_bytes)?)
                } else {
                    moved!(MoveAxes64, maps::axes64(&digits, batch, self.unit_bytes)?)
                }
            }
        })
    }
}

/// PTTWAC with flags in memory: in registers where a super-element fits them, else in shared memory.
pub fn global(shape: &StageMap, at: At) -> Lowered {
    let moved = Moved::new(shape, at)?;
    let (lanes, vectors) = (moved.lanes(), moved.vectors());
    let table = if moved.narrow() { &NARROW[..] } else { &WIDE };
    let in_registers = table.iter().find(|(each, ..)| each * lanes >= vectors);
    let (family, entry, narrow, blocks, threads, shared_bytes) = match in_registers {
        Some(&(_, blocks, entries)) => {
            let family = moved.map.either([Family::MovesSlots, Family::Moves]);
            (family, moved.map.either(entries), moved.narrow(), blocks, THREADS, 0)
        }
        None => {
            // As many warps as hold two super-elements each in half the shared memory, one at least.
            let each = 2 * moved.unit_bytes;
            let workers = (at.limits.shared_bytes / 2 / each).clamp(1, THREADS / lanes);
            let threads = ((workers + 1).next_power_of_two() / 2 * lanes).max(32);
            let shared_bytes = threads / lanes * each;
            let blocks =
                (at.limits.shared_bytes / (shared_bytes + 1024)).clamp(1, 2048 / threads).min(32);
            let entry = moved.map.either(["move_shared_slots", "move_shared_axes"]);
            (Family::MovesShared, entry, false, blocks, threads, shared_bytes)
        }
    };
    let most = moved.units.div_ceil(threads / lanes).max(1);
    let size = Size { blocks: most.min(at.limits.units * blocks), threads, shared_bytes };
    let flags = WorkspacePart::Flags(flag_words(moved.units) * 4);
    Ok(at.launch((family, moved.word, entry), size)?.using(flags, moved.params(narrow)?))
}

/// Kernels of rows of tiles: vectors a lane, blocks that fit a multiprocessor.
const RUNS: [(usize, usize, &str); 2] = [(1, 8, "move_runs_1"), (4, 4, "move_runs_4")];

/// Rows of tiles by PTTWAC, flags in memory.
pub fn runs(runs: &TileRows, at: At) -> Lowered {
    let [from, to] = runs.pitches();
    let places = [runs.rows().checked_mul(from), runs.cols().checked_mul(to)];
    if places.iter().any(|places| places.is_none_or(|places| places >= FEW)) {
        return Err(LowerError::NoKernel);
    }
    let (word, vectors) = at.words(runs.side());
    let lanes = vectors.next_power_of_two().min(32);
    let held = RUNS.into_iter().find(|(each, ..)| each * lanes >= vectors);
    let (_, blocks, entry) = held.ok_or(LowerError::NoKernel)?;
    let most = runs.places().div_ceil(THREADS / lanes).max(1);
    let blocks = most.min(at.limits.units * blocks);
    let size = Size { blocks, threads: THREADS, shared_bytes: 0 };
    let flags = WorkspacePart::Flags(flag_words(runs.places()) * 4);
    Ok(at.launch((Family::MovesRuns, word, entry), size)?.using(
        flags,
        MoveRuns {
            units: runs.places() as u64,
            lanes: lanes as u32,
            vectors: field(vectors)?,
            map: TileRunMap {
                from: Divisor32::new(field(from)?),
                side: Divisor32::new(field(runs.side())?),
                to: field(to)?,
                rows: field(runs.rows())?,
                cols: field(runs.cols())?,
                unit_bytes: (runs.side() * at.elem_bytes) as u64,
                ..zeroed()
            },
            ..zeroed()
        },
    ))
}

/// PTTWAC with flags on chip, a block an instance.
pub fn on_chip(e: Elementary, threads: usize, at: At) -> Lowered {
    let (instance_bytes, unit_bytes) = (e.instance_len() * at.elem_bytes, e.unit * at.elem_bytes);
    let (word, vectors) = at.words(e.unit);
    let lanes = vectors.next_power_of_two().min(32);
    if instance_bytes > u32::MAX as usize {
        return Err(LowerError::NoKernel);
    }
    let entry = match vectors.div_ceil(lanes) {
        1 if vectors == 1 => "move_on_chip_words",
        1 => "move_on_chip_1",
        2..=4 => "move_on_chip_4",
        _ => return Err(LowerError::NoKernel),
    };
    let words = flag_words(e.instance_units());
    let threads = threads.next_multiple_of(32).clamp(32, 1024);
    let size = Size { blocks: e.batch, threads, shared_bytes: words * 4 };
    let launch = at.launch((Family::MovesOnChip, word, entry), size)?;
    Ok(launch.with(OnChipArgs {
        instances: e.batch as u64,
        instance_bytes: instance_bytes as u64,
        flag_words: field(words)?,
        units: field(e.instance_units())?,
        lanes: lanes as u32,
        vectors: vectors as u32,
        map: SmallSwap {
            cols: Divisor32::new(field(e.cols)?),
            rows: field(e.rows)?,
            unit_bytes: field(unit_bytes)?,
        },
        ..zeroed()
    }))
}

/// P-IPT.
pub fn per_cycle(shape: &StageMap, at: At) -> Lowered {
    let moved = Moved::new(shape, at)?;
    let (entry, narrow) = match moved.map {
        Map::Slots(..) => ("per_cycle_slots", false),
        Map::Axes(_) if moved.narrow() => ("per_cycle_axes32", true),
        Map::Axes(_) => ("per_cycle_axes64", false),
    };
    let blocks = moved.units.div_ceil(THREADS / moved.lanes()).clamp(1, at.limits.units * 32);
    let size = Size { blocks, threads: THREADS, shared_bytes: 0 };
    Ok(at.launch((Family::PerCycle, moved.word, entry), size)?.with(moved.params(narrow)?))
}
