//! From one place to another.

use turntile_perm::Elementary;

use super::fit::{At, field, groups, shared, threads_for, vector_bytes};
use crate::args::barrier::Stack;
use crate::args::divisor::{Divisor32, Divisor64};
use crate::args::out_of_place::{BandArgs, IntoArgs, StackArgs, TileOrder, UnitArgs};
use crate::args::{Address, Args};
use crate::banks::{Cost, WARP};
use crate::call::{Call, Limits, WorkspacePart, widest_word};
use crate::error::LowerError;
use crate::family::Family;
use crate::way::Tiling;

/// Bytes of a word, side of the tiles of [`Tiling::Micro`]. Words of 8 and 16 bytes pass as fast by lines.
const MICRO: [(usize, usize, &str); 3] =
    [(1, 128, "into_micro_128"), (2, 128, "into_micro_128"), (4, 64, "into_micro_64")];

/// A word's bytes, those of a column and of a row of a tile of [`Tiling::Lines`], and the kernel.
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

/// Bytes that columns of [`Tiling::Lines`] align to.
const SECTOR: usize = 32;

/// Bytes of a tile of [`Tiling::Band`] and of the matrices of a block of [`Tiling::Stack`].
const TILE_BYTES: usize = 24 << 10;

/// The same where neither rows nor columns are long runs of memory: 61 x 2 000 003 f32 at 82% of a copy, 74
/// with tiles half as large; 10007 x 9973 of 12 bytes at 71 and 67.
const LARGE_TILE_BYTES: usize = 48 << 10;

/// A side up to so many words is short: tiles have it whole.
const SHORT_WORDS: usize = 48;

/// The same for columns, which are then written as one run (61 of them: by lines 72%, 101: 88 and so 43).
const SHORT_ROWS: usize = 80;

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
    /// Bytes from row to row before and after, where rows do not lie together.
    pitches: Option<[usize; 2]>,
}

impl Words {
    fn of(e: &Elementary, at: At) -> Self {
        let (elem, alignment) = (e.unit * at.elem_bytes, at.alignment);
        let word = widest_word(&[elem, alignment]);
        let (unit, pitches) = (elem / word, None);
        Words { batch: e.batch, rows: e.rows, cols: e.cols, unit, word, alignment, pitches }
    }

    fn unit_bytes(&self) -> usize {
        self.unit * self.word
    }
    fn matrix_bytes(&self) -> usize {
        match self.pitches {
            None => self.rows * self.cols * self.unit_bytes(),
            Some([from, to]) => (self.rows * from).max(self.cols * to),
        }
    }
    /// Bytes of the source, from its first to its last.
    fn source_bytes(&self) -> usize {
        match self.pitches {
            None => self.batch * self.matrix_bytes(),
            Some([from, _]) => self.rows.saturating_sub(1) * from + self.row_bytes(),
        }
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
}

/// All tilings that serve an elementary transposition.
pub fn tilings(e: &Elementary, at: At) -> Vec<Tiling> {
    let words = Words::of(e, at);
    let all = [Tiling::Micro, Tiling::Lines, Tiling::Band, Tiling::Stack, Tiling::Units];
    all.into_iter().filter(|&tiling| e.mid == 1 && words.serves(tiling)).collect()
}

impl Tiling {
    /// Rows of tiles that a swath has: 32 are 1 to 3 points faster than 1 where columns begin between
    /// sectors, and up to 5 slower for micro-blocks.
    pub fn swath(self) -> usize {
        if self == Tiling::Lines { 32 } else { 1 }
    }

    /// Its kernel.
    pub fn entry(self, word: usize) -> &'static str {
        match self {
            Tiling::Micro => micro(word).map_or("", |tile| tile.1),
            Tiling::Lines => LINES[word.ilog2() as usize].2,
            Tiling::Band => "into_band",
            Tiling::Stack => "into_stack",
            Tiling::Units => "into_units",
            // Of `into_axes.rs`.
            Tiling::Axes { .. } => "into_axes",
        }
    }
}

/// The launch that transposes by `tiling`, in swaths of `swath` rows of tiles.
///
/// # Errors
/// [`LowerError`], where that tiling cannot.
pub fn call(tiling: Tiling, swath: usize, e: &Elementary, at: At) -> Result<Call, LowerError> {
    let words = Words::of(e, at);
    if e.mid != 1 || !words.serves(tiling) {
        return Err(LowerError::NoKernel);
    }
    words.call(tiling, swath, at.limits)
}

/// The launch that transposes a matrix whose rows lie `pitches` bytes apart before and after. Both places, and both
/// pitches, are as aligned as `at` says.
///
/// # Errors
/// [`LowerError`]: more blocks or more on chip than there can be.
pub fn pitched([rows, cols]: [usize; 2], pitches: [usize; 2], at: At) -> Result<Call, LowerError> {
    let e = Elementary { batch: 1, rows, mid: 1, cols, unit: 1 };
    let words = Words { pitches: Some(pitches), ..Words::of(&e, at) };
    let tiling = match words.unit {
        1 if words.vectors() => Tiling::Micro,
        1 => Tiling::Lines,
        _ => Tiling::Band,
    };
    words.call(tiling, tiling.swath(), at.limits)
}

/// What a way comes to.
struct Launch {
    blocks: usize,
    threads: usize,
    shared_bytes: usize,
    params: Args,
}

impl Words {
    fn call(&self, tiling: Tiling, swath: usize, limits: &Limits) -> Result<Call, LowerError> {
        let launch = match tiling {
            Tiling::Micro => self.micro(swath)?,
            Tiling::Lines => self.lines(swath)?,
            Tiling::Band => self.band(swath, limits)?,
            Tiling::Stack => self.stack(limits)?,
            Tiling::Units => self.units(limits),
            Tiling::Axes { .. } => return Err(LowerError::NoKernel),
        };
        Ok(Call {
            family: Family::OutOfPlace,
            word: self.word,
            entry: tiling.entry(self.word),
            groups: groups(launch.blocks)?,
            threads: launch.threads as u32,
            shared_bytes: shared(launch.shared_bytes, limits)?,
            params: launch.params,
            workspace: WorkspacePart::None,
        })
    }

    fn serves(&self, tiling: Tiling) -> bool {
        match tiling {
            Tiling::Micro => self.vectors(),
            Tiling::Lines => self.unit == 1,
            Tiling::Band | Tiling::Units => true,
            Tiling::Stack => self.unit == 1 && self.matrix_bytes() <= TILE_BYTES,
            Tiling::Axes { .. } => false,
        }
    }

    /// Which block takes which of `down` by `across` tiles a matrix, and how many blocks there are.
    fn order(
        &self,
        [down, across]: [usize; 2],
        swath: usize,
    ) -> Result<(TileOrder, usize), LowerError> {
        let swath = swath.clamp(1, down.max(1));
        let tiles = down.checked_mul(across).ok_or(LowerError::NoKernel)?;
        let blocks = tiles
            .checked_mul(self.batch)
            .ok_or(LowerError::TooManyBlocks { blocks: usize::MAX })?;
        groups(blocks)?;
        let order = TileOrder {
            matrix: Divisor32::new(field(tiles)?),
            swath: Divisor32::new(field(swath * across)?),
            down: field(down)?,
            high: field(swath)?,
        };
        Ok((order, blocks))
    }

    /// What kernels that take tiles are told of the matrices: rows, columns, bytes from row to row of the source and
    /// of the destination, bytes of a matrix.
    fn extents(&self) -> [u64; 5] {
        let [from, to] = self.pitches.unwrap_or([self.row_bytes(), self.column_bytes()]);
        [self.rows, self.cols, from, to, self.matrix_bytes()].map(|extent| extent as u64)
    }

    /// The parameter of tiles of one form.
    fn one_form(&self, order: TileOrder) -> Args {
        let (to, from) = (Address::default(), Address::default());
        let [rows, cols, from_pitch, to_pitch, matrix_bytes] = self.extents();
        let args = IntoArgs {
            to,
            from,
            rows,
            cols,
            from_pitch,
            to_pitch,
            matrix_bytes,
            bytes: self.source_bytes() as u64,
            order,
        };
        args.into()
    }

    fn micro(&self, swath: usize) -> Result<Launch, LowerError> {
        let (tile, _) = micro(self.word).ok_or(LowerError::NoKernel)?;
        let tiles = [self.rows.div_ceil(tile), self.cols.div_ceil(tile)];
        let (order, blocks) = self.order(tiles, swath)?;
        let params = self.one_form(order);
        Ok(Launch { blocks, threads: 256, shared_bytes: tile * tile * self.word, params })
    }

    fn lines(&self, swath: usize) -> Result<Launch, LowerError> {
        let (_, [column, row], _) = LINES[self.word.ilog2() as usize];
        let [rows, cols, sector] = [column, row, SECTOR].map(|bytes| bytes / self.word);
        // The last sector of a column may begin `sector - 1` words above the tile's first row.
        let tiles = [(self.rows + sector - 1).div_ceil(rows), self.cols.div_ceil(cols)];
        let (order, blocks) = self.order(tiles, swath)?;
        let params = self.one_form(order);
        // As `into_lines` has them: words of a lane's pack, and rows and their pitch on chip.
        let (pack, high) = (rows / WARP, rows + sector - 1);
        let (granule, lead) = if self.word < 4 { (4, 1) } else { (self.word, 0) };
        let pitch = ((row / granule + lead) | 1) * granule;
        let shared_bytes = high.div_ceil(pack) * pack * pitch;
        Ok(Launch { blocks, threads: 256, shared_bytes, params })
    }

    /// Elements of a tile of [`Tiling::Band`] down and across: a short side is whole.
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

    fn band(&self, swath: usize, limits: &Limits) -> Result<Launch, LowerError> {
        let tile @ [tile_rows, tile_cols] = self.band_tile();
        let held = self.held(tile, [tile_cols == self.cols, tile_rows == self.rows], limits);
        let tiles = [self.rows.div_ceil(tile_rows), self.cols.div_ceil(tile_cols)];
        let (order, blocks) = self.order(tiles, swath)?;
        let (to, from) = (Address::default(), Address::default());
        let [rows, cols, from_pitch, to_pitch, matrix_bytes] = self.extents();
        let params = Args::from(BandArgs {
            to,
            from,
            rows,
            cols,
            from_pitch,
            to_pitch,
            matrix_bytes,
            order,
            tile_rows: tile_rows as u32,
            tile_cols: tile_cols as u32,
            pitch: held.pitch as u32,
            wide: held.wide,
            unit: Divisor32::new(field(self.unit)?),
            stack: Stack::of(tile_rows as u32, u32::MAX),
        });
        let threads = threads_for(tile_rows * tile_cols * self.unit_bytes(), 512);
        Ok(Launch { blocks, threads, shared_bytes: held.shared_bytes, params })
    }

    fn stack(&self, limits: &Limits) -> Result<Launch, LowerError> {
        let stacked = (TILE_BYTES / self.matrix_bytes().max(1)).clamp(1, self.batch.max(1));
        let lines = stacked * self.rows;
        let held = self.held([lines, self.cols], [true, true], limits);
        let (to, from) = (Address::default(), Address::default());
        let params = Args::from(StackArgs {
            to,
            from,
            matrices: self.batch as u64,
            rows: field(self.rows)?,
            cols: field(self.cols)?,
            stacked: field(stacked)?,
            pitch: held.pitch as u32,
            wide: held.wide,
            pad: 0,
            stack: Stack::of(field(self.rows)?, field(self.rows * self.cols)?),
        });
        let threads = threads_for(stacked * self.matrix_bytes(), 512);
        let blocks = self.batch.div_ceil(stacked);
        Ok(Launch { blocks, threads, shared_bytes: held.shared_bytes, params })
    }

    fn units(&self, limits: &Limits) -> Launch {
        let words = self.batch * self.rows * self.cols * self.unit;
        let (to, from) = (Address::default(), Address::default());
        let params = Args::from(UnitArgs {
            to,
            from,
            words: words as u64,
            cols: self.cols as u64,
            unit: Divisor64::new(self.unit as u64),
            rows: Divisor64::new(self.rows as u64),
            matrix: Divisor64::new((self.rows * self.cols) as u64),
        });
        let blocks = words.div_ceil(256).min(limits.units * 8);
        Launch { blocks, threads: 256, shared_bytes: 0, params }
    }

    /// How a tile lies on chip: its rows follow one another in memory where it is as wide as the
    /// matrix (`together`, first), its columns where it is as high (second).
    fn held(
        &self,
        [rows, cols]: [usize; 2],
        [rows_together, columns_together]: [bool; 2],
        limits: &Limits,
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
        let room = limits.shared_bytes / rows.max(1);
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
