//! Which method and launch a stage's shape gets on a device.

use std::fmt;

use turntile_perm::{Elementary, Order, Padding, Slots};

use crate::bands::Bands;
use crate::flags::FlagLayout;
use crate::limits::{DeviceKind, Limits};
use crate::routes::Infeasible;
use crate::stage::{Direction, Stage, StageShape};
use crate::{runs, strips};

/// Who waits for whom in barrier-sync: everything within the scope is read before any of it is written.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Scope {
    /// One group (thread block, or one thread of a host) holds a whole instance.
    Group,
    /// So many groups of a cluster hold one together.
    Cluster(usize),
    /// All groups of the device hold one together.
    Grid,
    /// So many groups, side by side, walk down a matrix together (slot gather).
    Team(usize),
}

/// How a stage moves its data.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Method {
    /// Square: pairs of `tile x tile` tiles across the diagonal change places.
    TileSwap {
        /// Side of a tile.
        tile: usize,
    },
    /// Read everything on chip, wait, write everything (thesis section 4.5).
    BarrierSync {
        /// Who waits for whom.
        scope: Scope,
    },
    /// Cycles followed by many workers, flags on chip: an instance for each group (Algorithm 1).
    PttwacOnChip {
        /// Where the flags lie.
        flags: FlagLayout,
    },
    /// Cycles followed by many workers, flags in memory (Algorithm 2).
    PttwacGlobal {
        /// Where the flags lie.
        flags: FlagLayout,
    },
    /// One worker a cycle, leaders found by walking, no flags (P-IPT). Needs no workspace.
    PerCycle,
    /// Rows padded or unpadded in steps: at least `least` at a time while there is room for that, else
    /// one by one (equation 4.1).
    Rows {
        /// Fewest rows that are worth a step of many workers.
        least: usize,
    },
    /// Rows padded or unpadded one by one by each thread of a host, a share of them for each; those whose
    /// packed places are in another's share are set aside meanwhile.
    Shares,
    /// Rows padded or unpadded by data sliding: every block on chip, then written once the blocks
    /// have been read that lie where it goes, which a flag of each tells.
    Slide {
        /// Bytes of a block.
        block: usize,
    },
}

/// The launch of a stage.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Launch {
    /// Thread blocks, or threads of a host.
    pub groups: usize,
    /// Threads of a group.
    pub threads: usize,
    /// Threads that move one super-element together.
    pub lanes: usize,
    /// On-chip bytes of a group.
    pub on_chip_bytes: usize,
    /// 32-bit flag words in memory, all planes.
    pub flag_words: usize,
    /// Bytes in memory for what is set aside: rows (slot gather, shares) and columns (cut).
    pub kept_bytes: usize,
}

impl Launch {
    /// Workers in all: chains of super-elements moved at a time.
    pub fn workers(&self) -> usize {
        self.groups * (self.threads / self.lanes).max(1)
    }

    /// Bytes of device memory that the stage needs beyond the matrix: flags and kept rows.
    pub fn memory_bytes(&self) -> usize {
        self.flag_words.saturating_mul(4).saturating_add(self.kept_bytes)
    }

    /// Workspace of the stage: [`memory_bytes`](Self::memory_bytes), and on a host the on-chip
    /// scratch of every group too; a multiple of 8.
    pub fn workspace_bytes(&self, kind: DeviceKind) -> usize {
        let on_chip = match kind {
            DeviceKind::Host => self.groups.saturating_mul(self.on_chip_bytes),
            DeviceKind::Gpu => 0,
        };
        let bytes = self.memory_bytes().saturating_add(on_chip);
        bytes.checked_next_multiple_of(8).unwrap_or(usize::MAX)
    }
}

impl fmt::Display for Method {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let layout = |flags: &FlagLayout| match *flags {
            FlagLayout::PACKED => String::new(),
            FlagLayout::Spread { spreading, padded } => {
                format!(" spread {spreading}{}", if padded { " padded" } else { "" })
            }
            FlagLayout::Remapped => " remapped".to_owned(),
        };
        match self {
            Method::TileSwap { tile } => write!(f, "tile-swap {tile}"),
            Method::BarrierSync { scope: Scope::Group } => write!(f, "barrier"),
            Method::BarrierSync { scope: Scope::Cluster(n) } => write!(f, "barrier/cluster {n}"),
            Method::BarrierSync { scope: Scope::Grid } => write!(f, "barrier/grid"),
            Method::BarrierSync { scope: Scope::Team(n) } => write!(f, "barrier/team {n}"),
            Method::PttwacOnChip { flags } => write!(f, "pttwac/on-chip{}", layout(flags)),
            Method::PttwacGlobal { flags } => write!(f, "pttwac/global{}", layout(flags)),
            Method::PerCycle => write!(f, "p-ipt"),
            Method::Rows { .. } => write!(f, "rows"),
            Method::Shares => write!(f, "shares"),
            Method::Slide { .. } => write!(f, "slide"),
        }
    }
}

/// Threads of a group that moves super-elements, and groups a multiprocessor: 8 blocks of 256 keep
/// the H200 full at 32 registers a thread.
const MOVE_THREADS: usize = 256;
const MOVE_GROUPS_PER_UNIT: usize = 8;
/// Bytes that one lane moves at a time.
const LANE_BYTES: usize = 16;
/// Threads of a group in a grid-wide barrier (88 data registers each, see `Limits::h200`).
const GRID_THREADS: usize = 512;
/// Longest super-element of a grid-wide barrier: a matrix is split into rectangles of whole ones.
const GRID_UNIT_BYTES: usize = 4096;
/// Bytes of a tile row in a square's tile-pair swap, and elements at most: 128 bytes or words of 2
/// bytes, 64 floats, 32 words of 8 and 16 of 16 measured best on the H200.
const SWAP_ROW_BYTES: usize = 256;
const SWAP_SIDE: usize = 128;
/// Bytes of a block of a GPU that slides data, and its threads. What a kernel has besides must fit 48 KiB
/// with them.
const SLIDE_BYTES: usize = (48 << 10) - 256;
const SLIDE_THREADS: usize = 512;
/// The same of a host thread: its scratch and what it writes fit the second-level cache.
const HOST_SLIDE_BYTES: usize = 256 << 10;
/// Bytes that a step of several host threads moves at least.
const HOST_STEP_BYTES: usize = 1 << 20;
/// Segments that cycles are cut into for each of several host threads, as many as keep them busy to the end:
/// scratch for a super-element each, and one more.
const HOST_SEGMENTS: usize = 64;
/// Bytes of that scratch at most, while two super-elements are not more.
const HOST_KEPT_BYTES: usize = 512 << 10;

/// Everything that can move `shape`, each method with its launch; the caller drops what its
/// workspace does not allow and picks by cost.
///
/// On a host each method comes twice: over all threads, and over one, which needs less scratch.
///
/// # Errors
/// A gather that does not fit on chip is [`Infeasible::OnChip`]; P-IPT moves anything else.
pub fn stages(
    shape: StageShape,
    elem_bytes: usize,
    limits: &Limits,
) -> Result<Vec<Stage>, Infeasible> {
    let mut found = on_units(shape, elem_bytes, limits)?;
    if limits.kind == DeviceKind::Host && limits.units > 1 {
        found.extend(on_units(shape, elem_bytes, &Limits { units: 1, ..limits.clone() })?);
    }
    Ok(found.into_iter().map(|(method, launch)| Stage { shape, method, launch }).collect())
}

fn on_units(
    shape: StageShape,
    elem_bytes: usize,
    limits: &Limits,
) -> Result<Vec<(Method, Launch)>, Infeasible> {
    let mut found = match shape {
        StageShape::SlotGather { batch, slots, direction } => {
            return gather(batch, slots, direction, elem_bytes, limits);
        }
        StageShape::Cut { padding, .. } => return cut(padding, elem_bytes, limits),
        StageShape::Pad { padding, .. } => return pad(padding, elem_bytes, limits),
        StageShape::Elementary(e) => in_tiles(e, elem_bytes, limits),
        StageShape::FusedTiles { .. } | StageShape::SlotMove { .. } => Vec::new(),
    };
    found.extend(in_cycles(shape, elem_bytes, limits));
    Ok(found)
}

/// One launch over `work` independent instances.
fn over(work: usize, threads: usize, on_chip_bytes: usize, limits: &Limits) -> Launch {
    let groups = match limits.kind {
        DeviceKind::Host => limits.units.min(work),
        DeviceKind::Gpu => work,
    };
    let threads = threads.max(1).next_multiple_of(limits.warp).min(limits.group_threads);
    Launch { groups, threads, lanes: 1, on_chip_bytes, flag_words: 0, kept_bytes: 0 }
}

/// Methods that hold tiles on chip.
fn in_tiles(e: Elementary, elem_bytes: usize, limits: &Limits) -> Vec<(Method, Launch)> {
    let bytes = e.instance_len() * elem_bytes;
    let mut found = Vec::new();
    if e.is_involution() && e.unit == 1 {
        found.extend(square_tiles(e, elem_bytes, limits));
    }
    let barrier = |scope, groups_per_instance, threads| {
        let on_chip = bytes.div_ceil(groups_per_instance);
        let launch = over(e.batch * groups_per_instance, threads, on_chip, limits);
        (Method::BarrierSync { scope }, launch)
    };
    let one_group = limits.group_bytes;
    if bytes <= one_group {
        found.push(barrier(Scope::Group, 1, e.instance_len().div_ceil(8)));
    } else if e.mid == 1 && bytes <= limits.cluster_groups * one_group {
        // Two groups a multiprocessor overlap reading and writing: half of its memory each, if the
        // cluster can be so large (H200: 76-79% of copy, one group 62-70%).
        let least = bytes.div_ceil(one_group).next_power_of_two();
        let groups = (2 * least).min(limits.cluster_groups);
        if least <= limits.cluster_groups {
            found.push(barrier(Scope::Cluster(groups), groups, limits.group_threads));
        }
    }
    let whole_grid = e.batch == 1 && e.mid == 1 && e.unit * elem_bytes <= GRID_UNIT_BYTES;
    if whole_grid && bytes > one_group && bytes <= limits.grid_bytes() {
        found.push(barrier(Scope::Grid, limits.units, GRID_THREADS));
    }
    if e.mid == 1 {
        let positions = e.instance_units();
        let words = |flags: &FlagLayout| flags.words(positions);
        let spread = |log: u32| FlagLayout::Spread { spreading: 1 << log, padded: true };
        let layouts = match limits.kind {
            // A thread's flags are its own.
            DeviceKind::Host => vec![FlagLayout::PACKED],
            // The widest spreading whose words fit: fewest colliding atomics (thesis figure 4.16).
            DeviceKind::Gpu => (0..6).rev().map(spread).collect(),
        };
        if let Some(flags) = layouts.into_iter().find(|flags| words(flags) <= one_group / 4) {
            let launch = over(e.batch, positions.div_ceil(4), words(&flags) * 4, limits);
            let launch = match limits.kind {
                DeviceKind::Gpu => launch,
                // A host's flags lie in memory like all else, beside an element that is kept aside.
                DeviceKind::Host => Launch {
                    on_chip_bytes: e.unit * elem_bytes,
                    flag_words: launch.groups.saturating_mul(words(&flags)),
                    ..launch
                },
            };
            found.push((Method::PttwacOnChip { flags }, launch));
        }
    }
    found
}

/// Square tiles: swapped in pairs, or each where it lies (0210!).
fn square_tiles(e: Elementary, elem_bytes: usize, limits: &Limits) -> Option<(Method, Launch)> {
    let host = limits.kind == DeviceKind::Host;
    if e.mid > 1 {
        let bytes = e.rows * e.rows * elem_bytes;
        // A host thread swaps within the tile; a GPU group holds it.
        let on_chip = if host { 0 } else { bytes };
        let method = Method::BarrierSync { scope: Scope::Group };
        let launch = over(e.batch * e.mid, e.rows * e.rows / 8, on_chip, limits);
        return (host || bytes <= limits.group_bytes).then_some((method, launch));
    }
    let mut tile = (SWAP_ROW_BYTES / elem_bytes).clamp(1, SWAP_SIDE).min(e.rows.max(1));
    let held = |tile: usize| if host { 0 } else { 2 * tile * tile * elem_bytes };
    while tile > 1 && held(tile) > limits.group_bytes {
        tile /= 2;
    }
    let on_chip = held(tile);
    let across = e.rows.div_ceil(tile);
    let pairs = across * (across + 1) / 2;
    let launch = over(e.batch * pairs, MOVE_THREADS, on_chip, limits);
    (on_chip <= limits.group_bytes).then_some((Method::TileSwap { tile }, launch))
}

/// Methods that follow cycles of super-elements.
fn in_cycles(shape: StageShape, elem_bytes: usize, limits: &Limits) -> Vec<(Method, Launch)> {
    let unit_bytes = shape.unit() * elem_bytes;
    let units = shape.batch() * shape.instance_units();
    let flags = FlagLayout::PACKED;
    let held = limits.group_bytes / unit_bytes;
    let launch = match limits.kind {
        DeviceKind::Host => {
            let one = over(units, 1, unit_bytes, limits);
            let kept = (HOST_KEPT_BYTES / unit_bytes).clamp(2, HOST_SEGMENTS + 1);
            let several = Launch { on_chip_bytes: kept * unit_bytes, ..one };
            if one.groups > 1 { several } else { one }
        }
        DeviceKind::Gpu => {
            let lanes = unit_bytes.div_ceil(LANE_BYTES).next_power_of_two().min(limits.warp);
            let workers = (held / 2).clamp(1, MOVE_THREADS / lanes);
            let groups = units.div_ceil(workers).clamp(1, limits.units * MOVE_GROUPS_PER_UNIT);
            let (threads, on_chip_bytes) = (workers * lanes, 2 * workers * unit_bytes);
            let threads = threads.max(1).next_multiple_of(limits.warp);
            Launch { groups, threads, lanes, on_chip_bytes, flag_words: 0, kept_bytes: 0 }
        }
    };
    let planes = match limits.kind {
        // One of each thread.
        DeviceKind::Host => launch.groups,
        // A starter reads before it claims (`docs/gpu.md`).
        DeviceKind::Gpu => 1,
    };
    let flag_words = planes.saturating_mul(flags.words(units));
    let flagged = (Method::PttwacGlobal { flags }, Launch { flag_words, ..launch });
    // Without flags a worker swaps through the leader's own place: no scratch at all.
    let bare = (Method::PerCycle, Launch { on_chip_bytes: 0, ..launch });
    // A super-element that does not fit on chip twice cannot be carried on a GPU.
    let carried = limits.kind == DeviceKind::Host || held >= 2;
    // No GPU kernel transposes tiles while one worker a cycle moves them.
    let fused = matches!(shape, StageShape::FusedTiles { .. });
    let alone = limits.kind == DeviceKind::Host || !fused;
    [(carried, flagged), (alone, bare)]
        .into_iter()
        .filter_map(|(can, found)| can.then_some(found))
        .collect()
}

/// Rows moved apart or together, their gaps lost.
fn pad(
    padding: Padding,
    elem_bytes: usize,
    limits: &Limits,
) -> Result<Vec<(Method, Launch)>, Infeasible> {
    let host = limits.kind == DeviceKind::Host;
    let row_bytes = padding.cols() * elem_bytes;
    let least = if host { HOST_STEP_BYTES.div_ceil(row_bytes).max(2) } else { 2 };
    let rows = Launch { lanes: SLIDE_THREADS, ..over(padding.rows(), SLIDE_THREADS, 0, limits) };
    let block = if host { HOST_SLIDE_BYTES } else { SLIDE_BYTES }.min(limits.group_bytes.max(16));
    // Whole vectors, so that blocks begin as aligned as the matrix.
    let block = block / 16 * 16;
    let blocks = (padding.len() * elem_bytes).div_ceil(block);
    let slide = Launch {
        lanes: SLIDE_THREADS,
        flag_words: slide_flags(blocks),
        ..over(blocks, SLIDE_THREADS, block, limits)
    };
    let mut ways = vec![(Method::Rows { least }, rows), (Method::Slide { block }, slide)];
    if host {
        let shares = over(padding.rows(), 1, 0, limits);
        let kept_bytes = padding.heads(shares.groups).saturating_mul(elem_bytes);
        ways.push((Method::Shares, Launch { kept_bytes, ..shares }));
    }
    Ok(ways)
}

/// The same with the gaps set aside. Not in steps: a few columns that are cut leave room for steps of a few rows, and to
/// count those for every side of tiles took longer than the rest of planning.
fn cut(
    padding: Padding,
    elem_bytes: usize,
    limits: &Limits,
) -> Result<Vec<(Method, Launch)>, Infeasible> {
    if limits.kind == DeviceKind::Gpu {
        return Err(Infeasible::HostOnly);
    }
    let mut ways = pad(padding, elem_bytes, limits)?;
    ways.retain(|(method, _)| !matches!(method, Method::Rows { .. }));
    let gap_bytes = padding.gaps() * elem_bytes;
    ways.iter_mut().for_each(|(_, launch)| launch.kept_bytes += gap_bytes);
    Ok(ways)
}

/// Words of a flag for each of `blocks` blocks, and of a count of those that have begun.
pub fn slide_flags(blocks: usize) -> usize {
    blocks + 1
}

/// The gather pass: a chunk on chip, and the rows that it reads across its end kept aside.
fn gather(
    batch: usize,
    slots: Slots,
    direction: Direction,
    elem_bytes: usize,
    limits: &Limits,
) -> Result<Vec<(Method, Launch)>, Infeasible> {
    let chunk_bytes = slots.longest_chunk() * slots.cols() * elem_bytes;
    let halo_bytes = (slots.slot() - 1) * slots.cols() * elem_bytes;
    let barrier = |scope| Method::BarrierSync { scope };
    if limits.kind == DeviceKind::Host && slots.order() == Order::Rows {
        let (need, have) = (chunk_bytes, limits.group_bytes);
        let bands = Bands::within(&slots, direction, elem_bytes, have);
        let bands = bands.ok_or(Infeasible::OnChip { need, have })?;
        let scratch_bytes = bands.scratch_bytes(&slots, elem_bytes);
        let launch = over(Bands::most_parts(&slots), 1, scratch_bytes, limits);
        let kept_bytes = Bands::kept_bytes(&slots, direction, elem_bytes, launch.groups);
        return Ok(vec![(barrier(Scope::Group), Launch { kept_bytes, ..launch })]);
    }
    if limits.kind == DeviceKind::Host {
        // Every thread keeps the rows that follow its own run of chunks.
        let launch = over(slots.chunks(), 1, chunk_bytes, limits);
        let kept_bytes = launch.groups * halo_bytes;
        return Ok(vec![(barrier(Scope::Group), Launch { kept_bytes, ..launch })]);
    }
    let mut found: Vec<_> = runs::launches(&slots, elem_bytes, limits)
        .into_iter()
        .map(|launch| (barrier(Scope::Group), launch))
        .collect();
    found.extend(
        strips::launches(&slots, batch, direction, elem_bytes, limits)
            .into_iter()
            .map(|(launch, strips)| (barrier(Scope::Team(strips.blocks)), launch)),
    );
    let (need, have) = (chunk_bytes + halo_bytes, limits.gather_bytes());
    if found.is_empty() { Err(Infeasible::OnChip { need, have }) } else { Ok(found) }
}
