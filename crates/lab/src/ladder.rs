//! The out-of-place transpositions of the literature, selectable by name, tile and block rows.
//!
//! Words of 4 bytes, any shape. A tile has `tile` x `tile` elements, a block `tile` x `block_rows`
//! threads, each of which moves `tile / block_rows` elements. Sources: *Harris*, "An Efficient Matrix
//! Transpose in CUDA C/C++"; *Khan*, "Padding free bank conflict resolution for CUDA-based matrix
//! transpose algorithm", its algorithms 1 and 2 and its section 4.3.
//!
//! ```no_run
//! use turntile::gpu::Gpu;
//! use turntile_lab::{ladder, watch::Watch};
//!
//! let (rows, cols) = (4096, 4096);
//! let mut watch = Watch::new(&Gpu::primary(0)?, 2 * 4 * rows * cols)?;
//! for rung in &ladder::RUNGS {
//!     for (tile, block_rows) in rung.sizes() {
//!         let program = ladder::program(rung, tile, block_rows, rows, cols)?;
//!         println!("{} {tile} x {block_rows}: {:?}", rung.name, watch.load(&program)?.time()?);
//!     }
//! }
//! # Ok::<(), turntile_lab::error::KernelError>(())
//! ```

use turntile_cuda::args::{Address, Divisor32};
use turntile_cuda::banks::{BankConflicts, WARP};
use turntile_cuda::{CudaError, LowerError};

use crate::code::Code;
use crate::error::KernelError;
use crate::params::{LadderArgs, Params};
use crate::program::{Launch, Program, Step};

/// Sides of the tiles.
pub const TILES: [usize; 5] = [8, 16, 32, 48, 64];

/// How a tile lies in shared memory.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Layout {
    /// Row by row.
    Plain,
    /// Rows one word longer than the tile.
    Padded,
    /// Diagonals as rows: element (y, x) in row x, column (x + y) mod T.
    Diagonal,
    /// Element (y, x) in row y, column x xor (the low bits of y).
    ExclusiveOr,
}

impl Layout {
    /// Words from the tile's start to element (y, x); `place` of `ladder.cu`.
    pub fn place(self, tile: usize, y: usize, x: usize) -> usize {
        let mask = (1 << tile.trailing_zeros().min(5)) - 1;
        match self {
            Layout::Plain => y * tile + x,
            Layout::Padded => y * (tile + 1) + x,
            Layout::Diagonal => x * tile + (x + y) % tile,
            Layout::ExclusiveOr => y * tile + (x ^ (y & mask)),
        }
    }

    /// Bytes of a tile.
    pub fn bytes(self, tile: usize) -> usize {
        4 * tile * (tile + usize::from(self == Layout::Padded))
    }
}

/// What a rung does with a tile.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Steps {
    /// Copies, without shared memory.
    Copy,
    /// Copies through a tile.
    CopyShared,
    /// Transposes without shared memory.
    Direct,
    /// Stores rows to the tile and reads columns.
    Through(Layout),
    /// Stores rows, transposes on chip, reads rows.
    Selective,
}

/// A kernel of the ladder.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Rung {
    /// Its name.
    pub name: &'static str,
    /// Where it is from.
    pub source: &'static str,
    steps: Steps,
    /// Entry points: tile, block rows, name.
    entries: &'static [(usize, usize, &'static str)],
}

/// Every tile and block rows of a kernel: Khan's table 2, tiles of 8, and of 64 (the unrolled ones of a
/// third source).
macro_rules! all_sizes {
    ($name:literal) => {
        all_sizes!($name, 8: 1 2 4 8, 16: 1 2 4 8 16, 32: 1 2 4 8 16 32, 48: 1 2 4 6 8 12 16, 64: 1 2 4 8 16)
    };
    ($name:literal, $($tile:literal: $($rows:literal)*),*) => {
        &[$($(($tile, $rows, concat!("ladder_", $name, "_", $tile, "_", $rows))),*),*]
    };
}

const UNROLLED: &[(usize, usize, &str)] = &[
    (8, 2, "ladder_unrolled_8_2"),
    (8, 4, "ladder_unrolled_8_4"),
    (16, 4, "ladder_unrolled_16_4"),
    (16, 8, "ladder_unrolled_16_8"),
    (32, 4, "ladder_unrolled_32_4"),
    (32, 8, "ladder_unrolled_32_8"),
    (32, 16, "ladder_unrolled_32_16"),
    (48, 6, "ladder_unrolled_48_6"),
    (48, 12, "ladder_unrolled_48_12"),
    (64, 4, "ladder_unrolled_64_4"),
    (64, 8, "ladder_unrolled_64_8"),
    (64, 16, "ladder_unrolled_64_16"),
];

const fn rung(
    name: &'static str,
    source: &'static str,
    steps: Steps,
    entries: &'static [(usize, usize, &'static str)],
) -> Rung {
    Rung { name, source, steps, entries }
}

/// From the copy that sets the mark to the latest idea.
#[rustfmt::skip]
pub const RUNGS: [Rung; 10] = [
    rung("copy", "Harris: copy", Steps::Copy, all_sizes!("copy")),
    rung("copy-shared", "Harris: copySharedMem", Steps::CopyShared, all_sizes!("copy_shared")),
    rung("naive", "Harris: transposeNaive (writes columns)", Steps::Direct, all_sizes!("naive")),
    rung("naive-read", "the same, reading columns", Steps::Direct, all_sizes!("naive_read")),
    rung("coalesced", "Harris: transposeCoalesced", Steps::Through(Layout::Plain), all_sizes!("coalesced")),
    rung("padded", "Harris: transposeNoBankConflicts", Steps::Through(Layout::Padded), all_sizes!("padded")),
    rung("selective-copying", "Khan: algorithm 1", Steps::Selective, all_sizes!("selective")),
    rung("parallel-write", "Khan: algorithm 2", Steps::Through(Layout::Diagonal), all_sizes!("parallel_write")),
    rung("exclusive-or", "Khan: section 4.3", Steps::Through(Layout::ExclusiveOr), all_sizes!("exclusive_or")),
    rung("unrolled", "parallel-write, loops unrolled", Steps::Through(Layout::Diagonal), UNROLLED),
];

impl Rung {
    /// The rung of that name.
    pub fn named(name: &str) -> Option<&'static Rung> {
        RUNGS.iter().find(|rung| rung.name == name)
    }

    /// Whether it transposes; else it copies.
    pub fn transposes(&self) -> bool {
        !matches!(self.steps, Steps::Copy | Steps::CopyShared)
    }

    /// All tiles and block rows that it has.
    pub fn sizes(&self) -> impl Iterator<Item = (usize, usize)> {
        self.entries.iter().map(|&(tile, block_rows, _)| (tile, block_rows))
    }

    /// Bytes of shared memory of a block.
    pub fn shared_bytes(&self, tile: usize) -> usize {
        match self.steps {
            Steps::Copy | Steps::Direct => 0,
            Steps::CopyShared | Steps::Selective => Layout::Plain.bytes(tile),
            Steps::Through(layout) => layout.bytes(tile),
        }
    }

    /// What the accesses to shared memory of a whole tile cost, computed: `(stores, loads)`.
    pub fn bank_cost(&self, tile: usize, block_rows: usize) -> (BankConflicts, BankConflicts) {
        let place = |layout: Layout| move |y, x| Some(layout.place(tile, y, x));
        let column = |layout: Layout| move |y, x| Some(layout.place(tile, x, y));
        let cost = |at: &dyn Fn(usize, usize) -> Option<usize>| warps(tile, block_rows, at);
        let plain = cost(&place(Layout::Plain));
        match self.steps {
            Steps::Copy | Steps::Direct => Default::default(),
            Steps::CopyShared => (plain, plain),
            Steps::Through(layout) => (cost(&place(layout)), cost(&column(layout))),
            Steps::Selective => {
                // Both halves of a swap are read, then both are written.
                let swapped = |y: usize, x: usize| ((x + y) % tile < x).then_some((x + y) % tile);
                let lower = cost(&|y, x| swapped(y, x).map(|across| x * tile + across));
                let upper = cost(&|y, x| swapped(y, x).map(|across| across * tile + x));
                let all = sum(sum(plain, lower), upper);
                (all, all)
            }
        }
    }
}

fn sum(a: BankConflicts, b: BankConflicts) -> BankConflicts {
    BankConflicts {
        accesses: a.accesses + b.accesses,
        wavefronts: a.wavefronts + b.wavefronts,
        worst: a.worst.max(b.worst),
    }
}

/// The cost of all accesses of a block that walks a tile: thread (y, x) wants word `at(y + k · block_rows, x)`,
/// or takes no part.
fn warps(
    tile: usize,
    block_rows: usize,
    at: &dyn Fn(usize, usize) -> Option<usize>,
) -> BankConflicts {
    let threads: Vec<usize> = (0..tile * block_rows).collect();
    let mut cost = BankConflicts::default();
    for k in (0..tile).step_by(block_rows) {
        for warp in threads.chunks(WARP) {
            let wanted: Vec<usize> = warp
                .iter()
                .filter_map(|t| at(t / tile + k, t % tile))
                .map(|word| 4 * word)
                .collect();
            cost = cost.and(&wanted, 4);
        }
    }
    cost
}

/// What `rung` does to a row-major `rows` x `cols` matrix of 4-byte elements: buffers `[destination, source]`, of
/// `4 · rows · cols` bytes each.
///
/// # Errors
/// [`KernelError::NoVariant`] for a tile or block rows that it has not, [`CudaError::Infeasible`] for a side of
/// 2^31 and more, or more tiles than a launch has blocks.
pub fn program(
    rung: &Rung,
    tile: usize,
    block_rows: usize,
    rows: usize,
    cols: usize,
) -> Result<Program, KernelError> {
    let launch = launch(rung, tile, block_rows, rows, cols)?;
    let start = Program::new(&[4 * rows * cols; 2]);
    Ok(if rows * cols == 0 { start } else { start.then(Step::Kernel(launch, [0, 1])) })
}

/// The launch of it. Both buffers have `4 · rows · cols` bytes.
pub(crate) fn launch(
    rung: &Rung,
    tile: usize,
    block_rows: usize,
    rows: usize,
    cols: usize,
) -> Result<Launch, KernelError> {
    let entry = rung.entries.iter().find(|&&(t, r, _)| (t, r) == (tile, block_rows));
    let what = || rung.name.to_owned();
    let no_variant = || KernelError::NoVariant { what: what(), tile, block_rows };
    let &(_, _, entry) = entry.ok_or_else(no_variant)?;
    let infeasible = |why| {
        KernelError::from(CudaError::Infeasible {
            stage: format!("{}, {rows}x{cols}", what()),
            why,
        })
    };
    if rows.max(cols) > i32::MAX as usize {
        return Err(infeasible(LowerError::NoKernel));
    }
    let across = cols.div_ceil(tile);
    let blocks = rows.div_ceil(tile) * across;
    if blocks > i32::MAX as usize {
        return Err(infeasible(LowerError::TooManyBlocks { blocks }));
    }
    Ok(Launch {
        code: Code::Ladder,
        entry,
        groups: blocks as u32,
        threads: (tile * block_rows) as u32,
        shared_bytes: 0,
        params: Params::Ladder(LadderArgs {
            to: Address::default(),
            from: Address::default(),
            rows: rows as u32,
            cols: cols as u32,
            across: Divisor32::new(across as u32),
        }),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn places_are_all_different() {
        for tile in TILES {
            for layout in [Layout::Plain, Layout::Padded, Layout::Diagonal, Layout::ExclusiveOr] {
                let mut taken = vec![false; layout.bytes(tile) / 4];
                for k in 0..tile * tile {
                    let place = layout.place(tile, k / tile, k % tile);
                    assert!(!std::mem::replace(&mut taken[place], true), "{layout:?} {tile} {k}");
                }
            }
        }
    }

    /// Khan's table 2, and a tile of 64 by 1 to 16.
    #[test]
    fn sizes_are_those_of_the_sources() {
        let padded = Rung::named("padded").unwrap();
        let rows = |tile| -> Vec<usize> {
            padded.sizes().filter(|size| size.0 == tile).map(|size| size.1).collect()
        };
        assert_eq!(rows(16), [1, 2, 4, 8, 16]);
        assert_eq!(rows(32), [1, 2, 4, 8, 16, 32]);
        assert_eq!(rows(48), [1, 2, 4, 6, 8, 12, 16]);
        assert_eq!(rows(64), [1, 2, 4, 8, 16]);
        assert!(program(padded, 32, 5, 100, 100).is_err());
        assert!(program(Rung::named("unrolled").unwrap(), 32, 2, 100, 100).is_err());
        assert_eq!(Rung::named("none"), None);
    }

    /// Khan's table 3.
    #[test]
    fn shared_memory_is_that_of_the_source() {
        let bytes = |name, tile| Rung::named(name).unwrap().shared_bytes(tile);
        for (tile, padded, proposed) in [(16, 1088, 1024), (32, 4224, 4096), (48, 9408, 9216)] {
            assert_eq!(bytes("padded", tile), padded);
            assert_eq!(bytes("parallel-write", tile), proposed);
            assert_eq!(bytes("selective-copying", tile), proposed);
        }
        assert_eq!(bytes("naive", 32), 0);
    }

    #[test]
    fn tiles_of_32_meet_no_bank_twice() {
        let conflicts = |name, tile, block_rows| {
            let (stores, loads) = Rung::named(name).unwrap().bank_cost(tile, block_rows);
            [stores.conflicts(), loads.conflicts()]
        };
        for name in ["padded", "parallel-write", "exclusive-or", "selective-copying", "copy-shared"]
        {
            assert_eq!(conflicts(name, 32, 8), [0, 0], "{name}");
        }
        // Every column of a plain tile lies in one bank.
        assert_eq!(conflicts("coalesced", 32, 8), [0, 32 * 31]);
    }
}
