//! The sources' other movers of super-elements on a GPU, by kernels of the lab's (`kernels/moved.cu`).

use turntile_cuda::args::{Address, Divisor32, SmallSwap};
use turntile_cuda::launch::DeviceLimits;
use turntile_perm::Elementary;

use crate::code::Code;
use crate::flags::FlagLayout;
use crate::params::{Flags, LaidOutArgs, MovedArgs, Params};
use crate::program::{Launch, Program, Step};
use crate::turned::TurnedTiles;

/// How workers hold super-elements.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Held {
    /// Part of a warp a super-element, in shared memory.
    Shared,
    /// A block a super-element (thesis Algorithm 2).
    Block,
}

/// Threads of a block that moves super-elements through shared memory, and most of any.
const THREADS: usize = 256;
const MOST_THREADS: usize = 1024;
/// Threads that a multiprocessor has at a time, and blocks.
const RESIDENT: usize = 2048;
const MOST_BLOCKS: usize = 32;

/// A matrix's super-elements of whole words of 4 bytes, moved in place: buffers `[data, flags]`. None where they do not
/// fit, there are several instances, or 32 bits do not count the bytes.
pub fn program(
    e: Elementary,
    elem_bytes: usize,
    held: Held,
    limits: &DeviceLimits,
) -> Option<Program> {
    let steps = steps(e, elem_bytes, (1, 1), held, limits)?;
    Some(steps.into_iter().fold(buffers(e, elem_bytes), Program::then))
}

/// The same of tiles that are transposed on the way, elements of 4 bytes.
pub fn turned(t: TurnedTiles, limits: &DeviceLimits) -> Option<[Step; 2]> {
    let TurnedTiles { batch, rows, cols, m, n } = t;
    let moves = Elementary { batch, rows, mid: 1, cols, unit: m * n };
    steps(moves, 4, (m, n), Held::Shared, limits)
}

/// Instances of elements of 4 bytes, each moved by a block of so many threads with flags on chip: buffers `[data, none]`.
pub fn on_chip(
    e: Elementary,
    layout: FlagLayout,
    threads: usize,
    limits: &DeviceLimits,
) -> Option<Program> {
    let (units, instance_bytes) = (e.instance_units(), e.instance_len() * 4);
    let words = layout.words(units);
    let fits = e.mid == 1 && e.unit == 1 && words * 4 <= limits.shared_bytes;
    fits.then_some(())?;
    let params = LaidOutArgs {
        data: Address::default(),
        instances: e.batch as u64,
        instance_bytes: instance_bytes as u64,
        layout: Flags::new(layout, units),
        flag_words: words as u32,
        units: u32::try_from(units).ok()?,
        map: map(e, 4)?,
    };
    let launch = Launch {
        code: Code::Moved,
        entry: "moved_on_chip",
        groups: i32::try_from(e.batch).ok()?.try_into().ok()?,
        threads: threads.next_multiple_of(32).clamp(32, MOST_THREADS) as u32,
        shared_bytes: (words * 4) as u32,
        params: Params::LaidOut(params),
    };
    Some(Program::new(&[e.len() * 4, 0]).then(Step::Kernel(launch, [0, 1])))
}

fn buffers(e: Elementary, elem_bytes: usize) -> Program {
    Program::new(&[e.len() * elem_bytes, e.instance_units().div_ceil(32) * 4])
}

fn map(e: Elementary, elem_bytes: usize) -> Option<SmallSwap> {
    u32::try_from(e.instance_len() * elem_bytes).ok()?;
    let unit_bytes = (e.unit * elem_bytes) as u32;
    Some(SmallSwap { cols: Divisor32::new(e.cols as u32), rows: e.rows as u32, unit_bytes })
}

/// The flags cleared, the super-elements moved.
fn steps(
    e: Elementary,
    elem_bytes: usize,
    tile: (usize, usize),
    held: Held,
    limits: &DeviceLimits,
) -> Option<[Step; 2]> {
    let (units, unit_bytes) = (e.instance_units(), e.unit * elem_bytes);
    let wide = unit_bytes.is_multiple_of(16) && tile == (1, 1);
    let word = if wide { 16 } else { 4 };
    let one = e.batch == 1 && e.mid == 1 && unit_bytes.is_multiple_of(word);
    one.then_some(())?;
    let vectors = unit_bytes / word;
    let (lanes, threads, shared_bytes, blocks, entry) = match held {
        Held::Shared => {
            let lanes = vectors.next_power_of_two().min(32);
            // As many warps as hold two super-elements each in half the shared memory, one at least.
            let each = 2 * unit_bytes;
            let workers = (limits.shared_bytes / 2 / each).clamp(1, THREADS / lanes);
            let threads = ((workers + 1).next_power_of_two() / 2 * lanes).max(32);
            let shared_bytes = threads / lanes * each;
            let blocks = limits.shared_bytes / (shared_bytes + 1024);
            let blocks = blocks.clamp(1, RESIDENT / threads);
            (lanes, threads, shared_bytes, blocks, ["moved_shared_4", "moved_shared_16"])
        }
        Held::Block => {
            let threads = vectors.next_multiple_of(32);
            let blocks = RESIDENT / threads.min(RESIDENT);
            (threads, threads, 0, blocks, ["moved_block_4", "moved_block_16"])
        }
    };
    let fits = threads <= MOST_THREADS && shared_bytes <= limits.shared_bytes;
    fits.then_some(())?;
    let (units, vectors) = (u32::try_from(units).ok()?, u32::try_from(vectors).ok()?);
    let params = MovedArgs {
        data: Address::default(),
        flags: Address::default(),
        units,
        lanes: lanes as u32,
        vectors,
        rows: tile.0 as u32,
        cols: tile.1 as u32,
        pad: 0,
        map: map(e, elem_bytes)?,
    };
    let most = (units as usize).div_ceil(threads / lanes).max(1);
    let groups = most.min(limits.units * blocks.min(MOST_BLOCKS)) as u32;
    let launch = |entry, groups, threads: usize, shared_bytes: usize| Launch {
        code: Code::Moved,
        entry,
        groups,
        threads: threads as u32,
        shared_bytes: shared_bytes as u32,
        params: Params::Moved(params),
    };
    let clear = launch("moved_clear", limits.units as u32, 256, 0);
    let moves = launch(entry[usize::from(wide)], groups, threads, shared_bytes);
    Some([clear, moves].map(|launch| Step::Kernel(launch, [0, 1])))
}
