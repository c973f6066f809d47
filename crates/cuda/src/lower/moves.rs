//! Super-elements along cycles.

use turntile_perm::{AxisPermutation, Elementary, Order, Slots};
use turntile_plan::{Direction, StageShape};

use super::fit::{At, field, groups, shared};
use super::maps::{self, DeviceMap, Told};
use crate::args::divisor::Divisor32;
use crate::args::maps::SmallSwap;
use crate::args::moves::OnChipArgs;
use crate::args::{Address, flags as device};
use crate::call::{Call, WorkspacePart, widest_word};
use crate::error::LowerError;
use crate::family::Family;
use crate::flags::FlagLayout;

/// Threads of a block that moves super-elements.
const THREADS: usize = 256;

/// How workers hold super-elements.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Holding {
    /// Part of a warp a super-element, in registers.
    Registers,
    /// Part of a warp a super-element, in shared memory.
    Shared,
    /// A block a super-element (thesis Algorithm 2).
    Block,
}

/// A kernel of the register-held movers: vectors a lane, and blocks that fit a multiprocessor.
struct Registers {
    vectors: usize,
    blocks: usize,
    entry: &'static str,
}

const fn registers(vectors: usize, blocks: usize, entry: &'static str) -> Registers {
    Registers { vectors, blocks, entry }
}

const SWAP32: [Registers; 3] = [
    registers(1, 8, "move_swap32_1"),
    registers(2, 6, "move_swap32_2"),
    registers(4, 4, "move_swap32_4"),
];
const SWAP64: [Registers; 2] = [registers(1, 6, "move_swap64_1"), registers(4, 3, "move_swap64_4")];
const SLOTS32: [Registers; 3] = [
    registers(1, 8, "move_slots32_1"),
    registers(2, 6, "move_slots32_2"),
    registers(4, 4, "move_slots32_4"),
];
const SLOTS64: [Registers; 2] =
    [registers(1, 6, "move_slots64_1"), registers(4, 3, "move_slots64_4")];

const AXES32: [Registers; 3] = [
    registers(1, 8, "move_axes32_1"),
    registers(2, 6, "move_axes32_2"),
    registers(4, 4, "move_axes32_4"),
];
const AXES64: [Registers; 2] = [registers(1, 6, "move_axes64_1"), registers(4, 3, "move_axes64_4")];

/// Super-elements below which 32 bits number them, with room for the search for candidates.
const FEW: usize = 1 << 31;

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
    Swap(Elementary),
    Slots(usize, Slots, Direction),
    /// Axes that are neither of the other forms, without the one that stays last.
    Axes(AxisPermutation),
}

/// Whether a super-element of so many elements fits on chip twice, so that it can be carried while another is fetched.
pub fn carried(unit: usize, at: At) -> bool {
    at.limits.shared_bytes / (unit * at.elem_bytes) >= 2
}

impl Moved {
    fn of_axes(axes: &AxisPermutation, at: At) -> Self {
        let (unit_bytes, units) = (axes.unit() * at.elem_bytes, axes.len() / axes.unit());
        let word = widest_word(&[unit_bytes, at.alignment]);
        Moved { units, unit_bytes, word, map: Map::Axes(axes.without_unit()) }
    }

    fn new(shape: &StageShape, at: At) -> Result<Self, LowerError> {
        let unit_bytes = shape.unit() * at.elem_bytes;
        let units = shape.batch() * shape.instance_units();
        let instance_bytes = shape.instance_len() * at.elem_bytes;
        let moved = |word, map| Moved { units, unit_bytes, word, map };
        if let Some(e) = shape.elementary() {
            return Ok(moved(widest_word(&[unit_bytes, at.alignment]), Map::Swap(e)));
        }
        if let StageShape::Axes(axes) = shape {
            return Ok(Self::of_axes(axes, at));
        }
        let &StageShape::SlotMove { batch, slots, direction } = shape else {
            return Err(LowerError::NoKernel);
        };
        // The kernels know slots column by column.
        if slots.order() == Order::Rows {
            return Err(LowerError::NoKernel);
        }
        let stride = if batch == 1 { 0 } else { instance_bytes };
        let word = widest_word(&[unit_bytes, at.alignment, stride]);
        Ok(moved(word, Map::Slots(batch, slots, direction)))
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
                Map::Swap(_) | Map::Axes(_) => true,
                Map::Slots(_, slots, _) => slots.len() + 2 * slots.rows() < u32::MAX as usize,
            }
    }

    /// The kernels that hold it in registers.
    fn registers(&self) -> (Family, &'static [Registers]) {
        match (&self.map, self.narrow()) {
            (Map::Swap(_), true) => (Family::Moves, &SWAP32),
            (Map::Swap(_), false) => (Family::MovesWide, &SWAP64),
            (Map::Slots(..), true) => (Family::MovesSlots, &SLOTS32),
            (Map::Slots(..), false) => (Family::MovesSlots, &SLOTS64),
            (Map::Axes(_), true) => (Family::MovesAxes, &AXES32),
            (Map::Axes(_), false) => (Family::MovesAxes, &AXES64),
        }
    }

    /// The index map, numbers in 32 bits if `narrow`.
    fn map(&self, narrow: bool) -> Result<DeviceMap, LowerError> {
        Ok(match &self.map {
            &Map::Swap(e) if narrow => DeviceMap::Swap32(maps::swap32(e, self.unit_bytes)?),
            &Map::Swap(e) => DeviceMap::Swap64(maps::swap64(e, self.unit_bytes)),
            &Map::Slots(batch, slots, direction) => {
                let elem_bytes = self.unit_bytes / slots.slot();
                if narrow {
                    DeviceMap::Slots32(maps::slots32(batch, slots, direction, elem_bytes))
                } else {
                    DeviceMap::Slots64(maps::slots64(batch, slots, direction, elem_bytes))
                }
            }
            Map::Axes(axes) => {
                let (digits, batch) = (maps::digits(axes), axes.batch());
                if narrow {
                    DeviceMap::Axes32(maps::axes32(&digits, batch, self.unit_bytes)?)
                } else {
                    DeviceMap::Axes64(maps::axes64(&digits, batch, self.unit_bytes)?)
                }
            }
        })
    }
}

/// PTTWAC with flags in memory: in registers where a super-element fits them, else in shared memory.
pub fn global(shape: &StageShape, flags: FlagLayout, at: At) -> Result<Call, LowerError> {
    let moved = Moved::new(shape, at)?;
    let most = moved.registers().1.last().expect("not empty").vectors * moved.lanes();
    let holding = if moved.vectors() > most { Holding::Shared } else { Holding::Registers };
    held(moved, flags, holding, at)
}

/// [`lower`](super::lower) of PTTWAC with flags in memory, held as the caller says.
///
/// # Errors
/// [`LowerError`], when a super-element does not fit, or no kernel moves the shape.
pub fn move_held(
    shape: &StageShape,
    flags: FlagLayout,
    holding: Holding,
    at: At,
) -> Result<Call, LowerError> {
    held(Moved::new(shape, at)?, flags, holding, at)
}

fn held(moved: Moved, flags: FlagLayout, holding: Holding, at: At) -> Result<Call, LowerError> {
    let (units, vectors, lanes) = (moved.units, moved.vectors(), moved.lanes());
    if flags == FlagLayout::Remapped && units > u32::MAX as usize {
        return Err(LowerError::NoKernel);
    }
    let kernel = |entry, narrow, family, blocks, lanes: usize, threads: usize, shared_bytes| {
        let most = units.div_ceil(threads / lanes).max(1);
        let vectors = field(vectors)?;
        Ok(Call {
            family,
            word: moved.word,
            entry,
            groups: groups(most.min(at.limits.units * blocks))?,
            threads: threads as u32,
            shared_bytes: shared(shared_bytes, at.limits)?,
            params: moved
                .map(narrow)?
                .moved(device::FlagLayout::new(flags, units), Told { units, lanes, vectors }),
            workspace: WorkspacePart::Flags(flags.words(units) * 4),
        })
    };
    match holding {
        Holding::Registers => {
            let (family, table) = moved.registers();
            let mut fits = table.iter().filter(|k| k.vectors * lanes >= vectors);
            let k = fits.next().ok_or(LowerError::NoKernel)?;
            kernel(k.entry, moved.narrow(), family, k.blocks, lanes, THREADS, 0)
        }
        Holding::Shared => {
            // As many warps as hold two super-elements each in half the shared memory, one at least.
            let each = 2 * moved.unit_bytes;
            let workers = (at.limits.shared_bytes / 2 / each).clamp(1, THREADS / lanes);
            let threads = (workers.next_power_of_two() / 2).max(1) * lanes;
            let threads = if workers.is_power_of_two() { workers * lanes } else { threads };
            let threads = threads.max(32);
            let shared_bytes = threads / lanes * each;
            let blocks =
                (at.limits.shared_bytes / (shared_bytes + 1024)).clamp(1, 2048 / threads).min(32);
            let entry = match moved.map {
                Map::Swap(_) => "move_shared_swap",
                Map::Slots(..) => "move_shared_slots",
                Map::Axes(_) => "move_shared_axes",
            };
            kernel(entry, false, Family::MovesShared, blocks, lanes, threads, shared_bytes)
        }
        Holding::Block => {
            if vectors > 1024 || !matches!(moved.map, Map::Swap(_)) {
                return Err(LowerError::NoKernel);
            }
            let threads = vectors.next_multiple_of(32);
            let blocks = (2048 / threads).min(32);
            kernel("move_block", false, Family::MovesBlock, blocks, threads, threads, 0)
        }
    }
}

/// PTTWAC with flags on chip, a block an instance.
pub fn on_chip(
    e: Elementary,
    flags: FlagLayout,
    threads: usize,
    at: At,
) -> Result<Call, LowerError> {
    let instance_bytes = e.instance_len() * at.elem_bytes;
    let unit_bytes = e.unit * at.elem_bytes;
    let word = widest_word(&[unit_bytes, at.alignment]);
    let vectors = unit_bytes / word;
    let lanes = vectors.next_power_of_two().min(32);
    if e.mid != 1 || instance_bytes > u32::MAX as usize {
        return Err(LowerError::NoKernel);
    }
    let entry = match vectors.div_ceil(lanes) {
        1 if vectors == 1 => "move_on_chip_words",
        1 => "move_on_chip_1",
        2..=4 => "move_on_chip_4",
        _ => return Err(LowerError::NoKernel),
    };
    let words = flags.words(e.instance_units());
    let (flag_words, units) = (field(words)?, field(e.instance_units())?);
    Ok(Call {
        family: Family::MovesOnChip,
        word,
        entry,
        groups: groups(e.batch)?,
        threads: threads.next_multiple_of(32).clamp(32, 1024) as u32,
        shared_bytes: shared(words * 4, at.limits)?,
        params: OnChipArgs {
            data: Address::default(),
            instances: e.batch as u64,
            instance_bytes: instance_bytes as u64,
            layout: device::FlagLayout::new(flags, e.instance_units()),
            flag_words,
            units,
            lanes: lanes as u32,
            vectors: vectors as u32,
            map: SmallSwap {
                cols: Divisor32::new(field(e.cols)?),
                rows: field(e.rows)?,
                unit_bytes: field(unit_bytes)?,
            },
        }
        .into(),
        workspace: WorkspacePart::None,
    })
}

/// P-IPT.
pub fn per_cycle(shape: &StageShape, at: At) -> Result<Call, LowerError> {
    let moved = Moved::new(shape, at)?;
    let (units, lanes) = (moved.units, moved.lanes());
    let narrow = units < FEW && !matches!(moved.map, Map::Slots(..));
    let blocks = units.div_ceil(THREADS / lanes).clamp(1, at.limits.units * 32);
    let vectors = field(moved.vectors())?;
    Ok(Call {
        family: Family::PerCycle,
        word: moved.word,
        entry: match moved.map {
            Map::Swap(_) if narrow => "per_cycle_swap32",
            Map::Swap(_) => "per_cycle_swap64",
            Map::Slots(..) => "per_cycle_slots",
            Map::Axes(_) if narrow => "per_cycle_axes32",
            Map::Axes(_) => "per_cycle_axes64",
        },
        groups: groups(blocks)?,
        threads: THREADS as u32,
        shared_bytes: 0,
        params: moved.map(narrow)?.per_cycle(units, lanes, vectors)?,
        workspace: WorkspacePart::None,
    })
}
