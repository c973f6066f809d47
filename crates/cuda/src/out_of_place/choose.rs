//! The default transposition from one place to another: which kernel, which tiles, in which order.

use turntile_plan::Problem;

use super::banks::{Cost, WARP};
use super::program::{Buffer, Program, Step};
use crate::call::{Call, Device, Workspace, widest_word};
use crate::error::{CudaError, Infeasible};
use crate::family::Family;
use crate::lower::{field, groups, shared, threads_for, vector_bytes};
use crate::params::Params;

/// A kernel of `kernels/out_of_place.cu` with its tiles.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Way {
    /// Micro-blocks through registers, 16 bytes an access.
    Micro,
    /// Any sides and alignment, destinations written in whole sectors.
    Lines,
    /// Tiles of any form: matrices with a short side, elements of several words.
    Band,
    /// Several small matrices to a block.
    Stack,
    /// Long elements, straight across.
    Units,
}

/// Bytes of a word, side of the tiles of [`Way::Micro`]. Words of 8 and 16 bytes pass as fast by lines.
const MICRO: [(usize, usize, &str); 3] =
    [(1, 128, "into_micro_128"), (2, 128, "into_micro_128"), (4, 64, "into_micro_64")];

/// A word's bytes, those of a column and of a row of a tile of [`Way::Lines`], and the kernel.
///
/// f32, 16381 x 20011, an H200: columns aligned to 32 bytes 83% of a copy, to 64 83, to 128 79, unaligned 71;
/// rows of 64, 128, 256 bytes 77, 83, 72; columns of 256 and 512 bytes 81, 83. With the rest of each
/// line asked for ahead of its use: 86 (rows of 256 bytes: 77). Words of 8 and 16 bytes: rows of 256 bytes
/// 92-94, of 128 bytes 88 and 83.
const LINES: [(usize, [usize; 2], &str); 5] = [
    (1, [256, 128], "into_lines_256_128"),
    (2, [512, 128], "into_lines_512_128"),
    (4, [512, 128], "into_lines_512_128"),
    (8, [512, 256], "into_lines_512_256"),
    (16, [512, 256], "into_lines_512_256"),
];

/// Bytes that columns of [`Way::Lines`] align to.
const SECTOR: usize = 32;

/// Bytes of a tile of [`Way::Band`] and of the matrices of a block of [`Way::Stack`].
const TILE_BYTES: usize = 24 << 10;

/// The same where neither rows nor columns are long runs of memory: 61 x 2 000 003 f32 at 82% of a copy, 74
/// with tiles half as large; 10007 x 9973 of 12 bytes at 71 and 67.
const LARGE_TILE_BYTES: usize = 48 << 10;

/// Matrices up to so many bytes share a block.
const SMALL_BYTES: usize = 12 << 10;

/// A side of so many bytes fills enough of a tile of micro-blocks.
const LINE_BYTES: usize = 128;

/// A side up to so many words is short: tiles have it whole.
const SHORT_WORDS: usize = 48;

/// The same for columns, which are then written as one run (61 of them: by lines 72%, 101: 88 and so 43).
const SHORT_ROWS: usize = 80;

/// Elements of several words and at least so many bytes need no tile to be read and written in whole sectors.
const LONG_BYTES: usize = 32;

/// Side and entry point.
fn micro(word: usize) -> Option<(usize, &'static str)> {
    MICRO.iter().find(|tile| tile.0 == word).map(|tile| (tile.1, tile.2))
}

/// What to move, in words.
#[derive(Clone, Copy, Debug)]
struct Words {
    batch: usize,
    rows: usize,
    cols: usize,
    /// Words of an element.
    unit: usize,
    word: usize,
    alignment: usize,
}

impl Words {
    fn of(problem: &Problem, alignment: usize) -> Self {
        let elem = problem.elem_bytes();
        let word = widest_word(&[elem, alignment]);
        let (batch, rows, cols) = (problem.batch(), problem.rows(), problem.cols());
        Words { batch, rows, cols, unit: elem / word, word, alignment }
    }

    fn unit_bytes(&self) -> usize {
        self.unit * self.word
    }
    fn matrix_bytes(&self) -> usize {
        self.rows * self.cols * self.unit_bytes()
    }
    fn row_bytes(&self) -> usize {
        self.cols * self.unit_bytes()
    }
    fn column_bytes(&self) -> usize {
        self.rows * self.unit_bytes()
    }
    /// Whether rows and columns are whole vectors, where they ought to be.
    fn vectors(&self) -> bool {
        let vector = vector_bytes(self.word);
        self.unit == 1
            && micro(self.word).is_some()
            && [self.alignment, self.row_bytes(), self.column_bytes()]
                .iter()
                .all(|bytes| bytes.is_multiple_of(vector))
    }

    /// The fastest way.
    fn best(&self) -> Way {
        let short = self.rows.min(self.cols);
        let small = self.batch > 1 && self.matrix_bytes() <= SMALL_BYTES;
        if self.unit > 1 {
            return if small || self.unit_bytes() >= LONG_BYTES { Way::Units } else { Way::Band };
        }
        if self.vectors() && short * self.word >= LINE_BYTES {
            return Way::Micro;
        }
        if small {
            return Way::Stack;
        }
        if short <= SHORT_WORDS || self.rows <= SHORT_ROWS {
            return Way::Band;
        }
        Way::Lines
    }
}

/// All ways that move `problem` in memory of this alignment, the fastest first.
pub fn ways(problem: &Problem, alignment: usize) -> Vec<Way> {
    let words = Words::of(problem, alignment);
    let best = words.best();
    let all = [Way::Micro, Way::Lines, Way::Band, Way::Stack, Way::Units];
    let others = all.into_iter().filter(|&way| way != best && words.serves(way));
    std::iter::once(best).chain(others).collect()
}

impl Way {
    /// Rows of tiles that a swath has: 32 are 1 to 3 points faster than 1 where columns begin between
    /// sectors, and up to 5 slower for micro-blocks.
    pub fn swath(self) -> usize {
        if self == Way::Lines { 32 } else { 1 }
    }

    /// Its kernel.
    pub fn entry(self, word: usize) -> &'static str {
        match self {
            Way::Micro => micro(word).map_or("", |tile| tile.1),
            Way::Lines => LINES[word.ilog2() as usize].2,
            Way::Band => "into_band",
            Way::Stack => "into_stack",
            Way::Units => "into_units",
        }
    }
}

/// The launch that transposes `problem` one way, in swaths of `swath` rows of tiles.
///
/// # Errors
/// [`Infeasible`], where that way cannot.
pub fn call(
    way: Way,
    swath: usize,
    problem: &Problem,
    alignment: usize,
    device: &Device,
) -> Result<Call, Infeasible> {
    let words = Words::of(problem, alignment);
    if !words.serves(way) {
        return Err(Infeasible::NoKernel);
    }
    let launch = match way {
        Way::Micro => words.micro(swath)?,
        Way::Lines => words.lines(swath)?,
        Way::Band => words.band(swath, device)?,
        Way::Stack => words.stack(device)?,
        Way::Units => words.units(device),
    };
    Ok(Call {
        family: Family::OutOfPlace,
        word: words.word,
        entry: way.entry(words.word),
        groups: groups(launch.blocks)?,
        threads: launch.threads as u32,
        shared_bytes: shared(launch.shared_bytes, device)?,
        params: launch.params,
        workspace: Workspace::None,
    })
}

/// The buffers of a transposition: destination, then source.
pub(super) fn buffers(bytes: usize) -> Vec<Buffer> {
    let buffer = |what, written| Buffer { what, bytes, written };
    vec![buffer("destination", true), buffer("source", false)]
}

/// The program of one [`call`]: buffers `[destination, source]`.
///
/// # Errors
/// [`Infeasible`], where that way cannot.
pub fn program(
    way: Way,
    swath: usize,
    problem: &Problem,
    alignment: usize,
    device: &Device,
) -> Result<Program, Infeasible> {
    let alignment = widest_word(&[alignment]);
    let steps = if problem.is_empty() {
        Vec::new()
    } else {
        let call = call(way, swath, problem, alignment, device)?;
        vec![Step { call, first: 0, second: Some(1) }]
    };
    Ok(Program { steps, buffers: buffers(problem.bytes()), alignment })
}

/// The default, for buffers aligned to 16 bytes and, where that is another launch, for those that only
/// have the alignment of an element: buffers `[destination, source]`.
///
/// # Errors
/// [`CudaError::Infeasible`]: more tiles than a launch can have blocks.
pub fn programs(problem: &Problem, device: &Device) -> Result<Vec<Program>, CudaError> {
    let program =
        |steps, alignment| Program { steps, buffers: buffers(problem.bytes()), alignment };
    let least = widest_word(&[problem.elem_bytes()]);
    if problem.is_empty() {
        return Ok(vec![program(Vec::new(), least)]);
    }
    let mut programs: Vec<Program> = Vec::new();
    for alignment in [16, least] {
        let way = Words::of(problem, alignment).best();
        let call = call(way, way.swath(), problem, alignment, device).map_err(|why| {
            let stage = format!("out of place, {}x{}", problem.rows(), problem.cols());
            CudaError::Infeasible { stage, why }
        })?;
        let steps = vec![Step { call, first: 0, second: Some(1) }];
        if programs.last().is_some_and(|stricter| stricter.steps == steps) {
            programs.pop();
        }
        programs.push(program(steps, alignment));
    }
    Ok(programs)
}

/// What a way comes to.
struct Launch {
    blocks: usize,
    threads: usize,
    shared_bytes: usize,
    params: Params,
}

impl Words {
    fn serves(&self, way: Way) -> bool {
        match way {
            Way::Micro => self.vectors(),
            Way::Lines => self.unit == 1,
            Way::Band | Way::Units => true,
            Way::Stack => self.unit == 1 && self.matrix_bytes() <= TILE_BYTES,
        }
    }

    /// The destination's address, which comes later, the source's, and what all tilings are told.
    fn params(&self) -> Params {
        Params::new()
            .u64(0)
            .u64(self.rows as u64)
            .u64(self.cols as u64)
            .u64(self.row_bytes() as u64)
            .u64(self.column_bytes() as u64)
            .u64(self.matrix_bytes() as u64)
    }

    /// Appends a `TileOrder`; `down` by `across` tiles a matrix.
    fn order(
        &self,
        params: Params,
        [down, across]: [usize; 2],
        swath: usize,
    ) -> Result<(Params, usize), Infeasible> {
        let swath = swath.clamp(1, down.max(1));
        let tiles = down.checked_mul(across).ok_or(Infeasible::NoKernel)?;
        let blocks = tiles
            .checked_mul(self.batch)
            .ok_or(Infeasible::TooManyBlocks { blocks: usize::MAX })?;
        groups(blocks)?;
        let params = params
            .div32(field(tiles)?)
            .div32(field(swath * across)?)
            .u32(field(down)?)
            .u32(field(swath)?);
        Ok((params, blocks))
    }

    fn micro(&self, swath: usize) -> Result<Launch, Infeasible> {
        let (tile, _) = micro(self.word).ok_or(Infeasible::NoKernel)?;
        let bytes = (self.batch * self.matrix_bytes()) as u64;
        let tiles = [self.rows.div_ceil(tile), self.cols.div_ceil(tile)];
        let (params, blocks) = self.order(self.params().u64(bytes), tiles, swath)?;
        Ok(Launch { blocks, threads: 256, shared_bytes: tile * tile * self.word, params })
    }

    fn lines(&self, swath: usize) -> Result<Launch, Infeasible> {
        let (_, [column, row], _) = LINES[self.word.ilog2() as usize];
        let [rows, cols, sector] = [column, row, SECTOR].map(|bytes| bytes / self.word);
        let bytes = (self.batch * self.matrix_bytes()) as u64;
        // The last sector of a column may begin `sector - 1` words above the tile's first row.
        let tiles = [(self.rows + sector - 1).div_ceil(rows), self.cols.div_ceil(cols)];
        let (params, blocks) = self.order(self.params().u64(bytes), tiles, swath)?;
        // As `into_lines` has them: words of a lane's pack, and rows and their pitch on chip.
        let (pack, high) = (rows / WARP, rows + sector - 1);
        let (granule, lead) = if self.word < 4 { (4, 1) } else { (self.word, 0) };
        let pitch = ((row / granule + lead) | 1) * granule;
        let shared_bytes = high.div_ceil(pack) * pack * pitch;
        Ok(Launch { blocks, threads: 256, shared_bytes, params })
    }

    /// Elements of a tile of [`Way::Band`] down and across: a short side is whole.
    fn band_tile(&self) -> [usize; 2] {
        let short = self.rows.min(self.cols);
        let bytes = if short >= 24 { LARGE_TILE_BYTES } else { TILE_BYTES };
        let elements = (bytes / self.unit_bytes()).max(1);
        let long = |short: usize, length: usize| {
            let most = (elements / short).max(1);
            // Whole warps of whole lines, where there are so many.
            let round = if most >= 64 { most / 64 * 64 } else { most };
            round.min(length)
        };
        let (rows, cols) = (self.rows, self.cols);
        let side = 1 << elements.isqrt().max(1).ilog2();
        if cols <= SHORT_WORDS && cols <= rows {
            [long(cols, rows), cols]
        } else if rows <= SHORT_ROWS {
            [rows, long(rows, cols)]
        } else {
            [side.clamp(1, rows), side.clamp(1, cols)]
        }
    }

    fn band(&self, swath: usize, device: &Device) -> Result<Launch, Infeasible> {
        let [rows, cols] = self.band_tile();
        let held = self.held([rows, cols], [cols == self.cols, rows == self.rows], device);
        let tiles = [self.rows.div_ceil(rows), self.cols.div_ceil(cols)];
        let (params, blocks) = self.order(self.params(), tiles, swath)?;
        let params = params
            .u32(rows as u32)
            .u32(cols as u32)
            .u32(held.pitch as u32)
            .u32(held.wide)
            .div32(field(self.unit)?)
            .div32(rows as u32)
            .div32(u32::MAX);
        let threads = threads_for(rows * cols * self.unit_bytes(), 512);
        Ok(Launch { blocks, threads, shared_bytes: held.shared_bytes, params })
    }

    fn stack(&self, device: &Device) -> Result<Launch, Infeasible> {
        let stacked = (TILE_BYTES / self.matrix_bytes().max(1)).clamp(1, self.batch.max(1));
        let lines = stacked * self.rows;
        let held = self.held([lines, self.cols], [true, true], device);
        let params = Params::new()
            .u64(0)
            .u64(self.batch as u64)
            .u32(field(self.rows)?)
            .u32(field(self.cols)?)
            .u32(field(stacked)?)
            .u32(held.pitch as u32)
            .u32(held.wide)
            .u32(0)
            .div32(field(self.rows)?)
            .div32(field(self.rows * self.cols)?);
        let threads = threads_for(stacked * self.matrix_bytes(), 512);
        let blocks = self.batch.div_ceil(stacked);
        Ok(Launch { blocks, threads, shared_bytes: held.shared_bytes, params })
    }

    fn units(&self, device: &Device) -> Launch {
        let words = self.batch * self.rows * self.cols * self.unit;
        let params = Params::new()
            .u64(0)
            .u64(words as u64)
            .u64(self.cols as u64)
            .div64(self.unit as u64)
            .div64(self.rows as u64)
            .div64((self.rows * self.cols) as u64);
        let blocks = words.div_ceil(256).min(device.units * 8);
        Launch { blocks, threads: 256, shared_bytes: 0, params }
    }

    /// How a tile lies on chip: its rows follow one another in memory where it is as wide as the
    /// matrix (`together`, first), its columns where it is as high (second).
    fn held(
        &self,
        [rows, cols]: [usize; 2],
        [rows_together, columns_together]: [bool; 2],
        device: &Device,
    ) -> Held {
        let narrow = self.word < 4 && self.unit == 1;
        let granules = |tile: usize, side: usize| {
            let whole = |words: usize| (words * self.word).is_multiple_of(4);
            narrow && self.alignment >= 4 && whole(tile) && whole(side)
        };
        let wide_loads = granules(cols, self.cols);
        let wide_stores = granules(rows, self.rows);
        let runs = narrow && columns_together && !wide_stores;
        let row = cols * self.unit_bytes();
        let flat = self.bank_cost([rows, cols], row, 0);
        let run_loads = self.unit == 1
            && rows_together
            && if narrow { !wide_loads } else { flat.conflicts() * 4 <= flat.accesses };
        if run_loads {
            let wide =
                RUN_LOADS | if runs { RUNS } else { 0 } | if wide_stores { WIDE_STORES } else { 0 };
            return Held { pitch: row, shared_bytes: rows * row + 16, wide };
        }
        let granule = if wide_loads { 4 } else { self.word };
        let first = row.next_multiple_of(granule.max(4));
        let room = device.shared_bytes / rows.max(1);
        let pitch = (0..=WARP)
            .map(|more| first + more * granule.max(4))
            .filter(|&pitch| pitch <= room)
            .min_by_key(|&pitch| self.bank_cost([rows, cols], pitch, granule).wavefronts)
            .unwrap_or(row);
        let wide = if wide_loads { WIDE_LOADS } else { 0 }
            | if wide_stores { WIDE_STORES } else { 0 }
            | if runs { RUNS } else { 0 };
        Held { pitch, shared_bytes: rows * pitch, wide }
    }

    /// What the first warps' accesses to a tile with such a pitch cost: reading down columns and, where
    /// rows are stored in granules of `granule` bytes, storing them.
    fn bank_cost(&self, [rows, cols]: [usize; 2], pitch: usize, granule: usize) -> Cost {
        let mut cost = Cost::default();
        for warp in 0..8 {
            let lanes = || (warp * WARP..(warp + 1) * WARP).filter(|&e| e < rows * cols);
            let read: Vec<usize> =
                lanes().map(|e| e % rows * pitch + e / rows * self.unit_bytes()).collect();
            cost = cost.and(&read, self.word);
            if granule > 0 {
                let across = (cols * self.unit_bytes()).div_ceil(granule);
                let stored: Vec<usize> =
                    lanes().map(|e| e / across * pitch + e % across * granule).collect();
                cost = cost.and(&stored, granule);
            }
        }
        cost
    }
}

/// The flags of `kernels/region.cuh`.
const WIDE_LOADS: u32 = 1;
const WIDE_STORES: u32 = 2;
const RUNS: u32 = 4;
const RUN_LOADS: u32 = 8;

struct Held {
    pitch: usize,
    shared_bytes: usize,
    wide: u32,
}
