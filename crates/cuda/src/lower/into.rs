//! Out-of-place transposition of matrices.

use turntile_perm::Elementary;

use super::fit::{
    LaunchBuilder, Lowered, RUNS, Size, TargetParams, field, region_flags, threads_for, tile_order,
    vector_bytes,
};
use crate::args::{BlockArgs, Divisor32, IntoArgs, Stack, zeroed};
use crate::banks::{BankConflicts, WARP};
use crate::error::LowerError;
use crate::family::Family;
use crate::strategy::Tiling;

/// Bytes of a word, side of a tile of [`Tiling::Micro`], kernel. Words of 8 and 16 bytes are as fast by lines.
const MICRO: [(usize, usize, &str); 3] =
    [(1, 128, "into_micro_128"), (2, 128, "into_micro_128"), (4, 64, "into_micro_64")];

/// Bytes of a word, bytes of a column and of a row of a tile of [`Tiling::Lines`], kernel.
///
/// Percent of a copy for 16381 x 20011 f32 on an H200: columns aligned to 32 bytes 83, to 64 83, to 128 79, unaligned 71;
/// rows of 64, 128, 256 bytes 77, 83, 72; columns of 256 and 512 bytes 81, 83. With the rest of each line prefetched: 86
/// (rows of 256 bytes: 77). Words of 8 and 16 bytes: rows of 256 bytes 92-94, of 128 bytes 88 and 83.
const LINES: [(usize, [usize; 2], &str); 5] = [
    (1, [256, 128], "into_lines_256_128"),
    (2, [512, 128], "into_lines_512_128"),
    (4, [512, 128], "into_lines_512_128"),
    (8, [512, 256], "into_lines_512_256"),
    (16, [512, 256], "into_lines_512_256"),
];

/// Bytes to which columns of [`Tiling::Lines`] are aligned.
const SECTOR: usize = 32;

/// Bytes of a tile of [`Tiling::Band`], and of the matrices in a thread block of [`Tiling::Stack`].
const TILE_BYTES: usize = 24 << 10;

/// Bytes of a tile of [`Tiling::Band`] if the shorter side has at least 24 elements. 61 x 2 000 003 f32 ran at 82% of a
/// copy, and at 74% with tiles half as large; 10007 x 9973 elements of 12 bytes at 71% and 67%.
const LARGE_TILE_BYTES: usize = 48 << 10;

/// Maximum number of columns that a tile of [`Tiling::Band`] contains whole.
const SHORT_WORDS: usize = 48;

/// Maximum number of rows that a tile of [`Tiling::Band`] contains whole; its columns are then one run. 61 rows ran at 72%
/// of a copy by lines; 101 rows ran at 88% by lines and at 43% by such tiles.
const SHORT_ROWS: usize = 80;

/// Returns side and entry point of the tiles of [`Tiling::Micro`].
fn micro(word: usize) -> Option<(usize, &'static str)> {
    MICRO.iter().find(|tile| tile.0 == word).map(|tile| (tile.1, tile.2))
}

/// Matrices to transpose, in words.
#[derive(Clone, Copy, Debug)]
struct Words<'a> {
    batch: usize,
    rows: usize,
    cols: usize,
    /// Words per element.
    unit: usize,
    word: usize,
    at: TargetParams<'a>,
    /// Bytes from row to row in source and result, if rows are not contiguous.
    pitches: Option<[usize; 2]>,
}

impl<'a> Words<'a> {
    fn of(e: &Elementary, at: TargetParams<'a>) -> Self {
        let (word, unit) = at.words(e.unit);
        Words { batch: e.batch, rows: e.rows, cols: e.cols, unit, word, at, pitches: None }
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
    /// Returns the bytes from the source's first to its last.
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
    /// Returns `true` if a micro-block kernel exists and rows, columns and addresses are aligned to vectors.
    fn vectors(&self) -> bool {
        let vector = vector_bytes(self.word);
        self.unit == 1
            && micro(self.word).is_some()
            && [self.at.alignment, self.row_bytes(), self.column_bytes()]
                .iter()
                .all(|bytes| bytes.is_multiple_of(vector))
    }
}

/// Returns the tilings that have kernels for an elementary transposition.
pub fn tilings(e: &Elementary, at: TargetParams) -> Vec<Tiling> {
    let words = Words::of(e, at);
    let all = [Tiling::Micro, Tiling::Lines, Tiling::Band, Tiling::Stack];
    all.into_iter().filter(|&tiling| words.has(tiling)).collect()
}

impl Tiling {
    /// Returns the tile rows of a swath. 32 rows are 1 to 3 points faster than 1 if columns start between sectors, and up to
    /// 5 points slower for micro-blocks.
    pub fn swath(self) -> usize {
        if self == Tiling::Lines { 32 } else { 1 }
    }

    /// Returns the name of its kernel.
    pub fn entry(self, word: usize) -> &'static str {
        match self {
            Tiling::Micro => micro(word).map_or("", |tile| tile.1),
            Tiling::Lines => LINES[word.ilog2() as usize].2,
            Tiling::Band | Tiling::Stack if word >= 8 => "barrier_tile",
            Tiling::Band | Tiling::Stack => "barrier_block",
            // Lowered in `axes.rs`.
            Tiling::Units | Tiling::Axes { .. } => "",
        }
    }
}

/// Returns the launch that transposes by `tiling`, in swaths of `swath` tile rows.
///
/// # Errors
/// [`LowerError`], if the tiling does not support the matrix.
pub fn call(tiling: Tiling, swath: usize, e: &Elementary, at: TargetParams) -> Lowered {
    let words = Words::of(e, at);
    if !words.has(tiling) {
        return Err(LowerError::NoKernel);
    }
    words.call(tiling, swath)
}

/// Returns the launch that transposes a matrix with rows `pitches` bytes apart in source and result. Both buffers
/// and both pitches must be aligned to `at.alignment`.
///
/// # Errors
/// [`LowerError`], if the launch needs too many thread blocks or too much shared memory.
pub fn pitched([rows, cols]: [usize; 2], pitches: [usize; 2], at: TargetParams) -> Lowered {
    let e = Elementary { batch: 1, rows, mid: 1, cols, unit: 1 };
    let words = Words { pitches: Some(pitches), ..Words::of(&e, at) };
    let tiling = match words.unit {
        1 if words.vectors() => Tiling::Micro,
        1 => Tiling::Lines,
        _ => Tiling::Band,
    };
    words.call(tiling, tiling.swath())
}

impl Words<'_> {
    fn call(&self, tiling: Tiling, swath: usize) -> Lowered {
        match tiling {
            Tiling::Micro => {
                let (tile, _) = micro(self.word).ok_or(LowerError::NoKernel)?;
                let tiles = [self.rows, self.cols].map(|side| side.div_ceil(tile));
                self.one_form(tiling, tiles, swath, tile * tile * self.word)
            }
            Tiling::Lines => self.lines(swath),
            Tiling::Band => self.band(swath),
            Tiling::Stack => self.stack(),
            Tiling::Units | Tiling::Axes { .. } => Err(LowerError::NoKernel),
        }
    }

    fn launch(&self, tiling: Tiling, size: Size) -> Lowered<LaunchBuilder> {
        let family = match tiling {
            Tiling::Band | Tiling::Stack => Family::Barrier,
            _ => Family::OutOfPlace,
        };
        self.at.launch((family, self.word, tiling.entry(self.word)), size)
    }

    fn has(&self, tiling: Tiling) -> bool {
        match tiling {
            Tiling::Micro => self.vectors(),
            Tiling::Lines => self.unit == 1,
            Tiling::Band => true,
            Tiling::Stack => self.unit == 1 && self.matrix_bytes() <= TILE_BYTES,
            Tiling::Units | Tiling::Axes { .. } => false,
        }
    }

    /// Returns rows, columns, bytes from row to row of the source and of the result, and bytes of a matrix.
    fn extents(&self) -> [u64; 5] {
        let [from, to] = self.pitches.unwrap_or([self.row_bytes(), self.column_bytes()]);
        [self.rows, self.cols, from, to, self.matrix_bytes()].map(|extent| extent as u64)
    }

    /// Returns the launch of equal tiles, `tiles` down and across a matrix.
    fn one_form(
        &self,
        tiling: Tiling,
        tiles: [usize; 2],
        swath: usize,
        shared_bytes: usize,
    ) -> Lowered {
        let (order, blocks) = tile_order(self.batch, tiles, swath)?;
        let [rows, cols, from_pitch, to_pitch, matrix_bytes] = self.extents();
        let launch = self.launch(tiling, Size { blocks, threads: 256, shared_bytes })?;
        Ok(launch.with(IntoArgs {
            rows,
            cols,
            from_pitch,
            to_pitch,
            matrix_bytes,
            bytes: self.source_bytes() as u64,
            order,
            ..zeroed()
        }))
    }

    fn lines(&self, swath: usize) -> Lowered {
        let (_, [column, row], _) = LINES[self.word.ilog2() as usize];
        let [rows, cols, sector] = [column, row, SECTOR].map(|bytes| bytes / self.word);
        // Columns start up to `sector - 1` words above the tile's first row.
        let tiles = [(self.rows + sector - 1).div_ceil(rows), self.cols.div_ceil(cols)];
        // Equal to those of `into_lines`: words per lane, rows, and their pitch in shared memory.
        let (pack, high) = (rows / WARP, rows + sector - 1);
        let (granule, lead) = if self.word < 4 { (4, 1) } else { (self.word, 0) };
        let pitch = ((row / granule + lead) | 1) * granule;
        self.one_form(Tiling::Lines, tiles, swath, high.div_ceil(pack) * pack * pitch)
    }

    /// Returns rows and columns of a tile of [`Tiling::Band`] in elements. It contains a short side whole.
    fn band_tile(&self) -> [usize; 2] {
        let short = self.rows.min(self.cols);
        let bytes = if short >= 24 { LARGE_TILE_BYTES } else { TILE_BYTES };
        let elements = (bytes / self.unit_bytes()).max(1);
        let long = |short: usize, length: usize| {
            let most = (elements / short).max(1);
            // From 64 on, a multiple of 64: whole warps and lines.
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

    fn band(&self, swath: usize) -> Lowered {
        let tile @ [tile_rows, tile_cols] = self.band_tile();
        let held = self.held(tile, [tile_cols == self.cols, tile_rows == self.rows]);
        let tiles = [self.rows.div_ceil(tile_rows), self.cols.div_ceil(tile_cols)];
        let (order, blocks) = tile_order(self.batch, tiles, swath)?;
        let [rows, cols, from_pitch, to_pitch, matrix_bytes] = self.extents();
        let unit = Divisor32::new(field(self.unit)?);
        let threads = threads_for(tile_rows * tile_cols * self.unit_bytes(), 512);
        let size = Size { blocks, threads, shared_bytes: held.shared_bytes };
        let (down, along) = (tile_rows as u64, tile_cols as u64);
        let unit_bytes = self.unit_bytes() as u64;
        Ok(self.launch(Tiling::Band, size)?.with(BlockArgs {
            rows,
            cols,
            from_pitch,
            to_pitch,
            from_down: down * from_pitch,
            from_across: along * unit_bytes,
            to_down: down * unit_bytes,
            to_across: along * to_pitch,
            matrix_bytes,
            order,
            tile_rows: tile_rows as u32,
            tile_cols: tile_cols as u32,
            pitch: held.pitch as u32,
            wide: held.wide,
            unit,
            stack: Stack::of(tile_rows as u32, u32::MAX),
            ..zeroed()
        }))
    }

    /// Returns the launch for a batch as one matrix with all rows; a tile is several matrices.
    fn stack(&self) -> Lowered {
        let stacked = (TILE_BYTES / self.matrix_bytes().max(1)).clamp(1, self.batch.max(1));
        let lines = stacked * self.rows;
        let held = self.held([lines, self.cols], [true, true]);
        let (order, blocks) = tile_order(1, [self.batch.div_ceil(stacked), 1], 1)?;
        let size = Size {
            blocks,
            threads: threads_for(stacked * self.matrix_bytes(), 512),
            shared_bytes: held.shared_bytes,
        };
        let [rows, cols, from_pitch, to_pitch, matrix_bytes] = self.extents();
        let step = stacked as u64 * matrix_bytes;
        Ok(self.launch(Tiling::Stack, size)?.with(BlockArgs {
            rows: self.batch as u64 * rows,
            cols,
            from_pitch,
            to_pitch,
            from_down: step,
            to_down: step,
            matrix_bytes: self.batch as u64 * matrix_bytes,
            order,
            tile_rows: field(lines)?,
            tile_cols: field(self.cols)?,
            pitch: held.pitch as u32,
            wide: held.wide | RUNS,
            unit: Divisor32::new(1),
            stack: Stack::of(field(self.rows)?, field(self.rows * self.cols)?),
            ..zeroed()
        }))
    }

    /// Returns the layout of a tile in shared memory. `rows_together`: the tile is as wide as the matrix, so its rows are
    /// contiguous in the source. `columns_together`: it is as high, so its columns are contiguous in the result.
    fn held(&self, [rows, cols]: [usize; 2], [rows_together, columns_together]: [bool; 2]) -> Held {
        let narrow = self.word < 4 && self.unit == 1;
        let granules = |tile: usize, side: usize| {
            let whole = |words: usize| (words * self.word).is_multiple_of(4);
            narrow && self.at.alignment >= 4 && whole(tile) && whole(side)
        };
        let [wide_loads, wide_stores] = [granules(cols, self.cols), granules(rows, self.rows)];
        let runs = narrow && columns_together && !wide_stores;
        let row = cols * self.unit_bytes();
        let flat = self.bank_cost([rows, cols], row, 0);
        let run_loads = self.unit == 1
            && rows_together
            && if narrow { !wide_loads } else { flat.conflicts() * 4 <= flat.accesses };
        let wide = region_flags([wide_loads, wide_stores, runs, run_loads]);
        if run_loads {
            return Held { pitch: row, shared_bytes: rows * row + 16, wide };
        }
        let granule = if wide_loads { 4 } else { self.word };
        let first = row.next_multiple_of(granule.max(4));
        let room = self.at.limits.shared_bytes / rows.max(1);
        let pitch = (0..=WARP)
            .map(|more| first + more * granule.max(4))
            .filter(|&pitch| pitch <= room)
            .min_by_key(|&pitch| self.bank_cost([rows, cols], pitch, granule).wavefronts)
            .unwrap_or(row);
        Held { pitch, shared_bytes: rows * pitch, wide }
    }

    /// Returns the bank conflicts of the first 8 warps with this pitch. They read down columns and, if `granule` is not 0,
    /// store rows in granules of `granule` bytes.
    fn bank_cost(&self, [rows, cols]: [usize; 2], pitch: usize, granule: usize) -> BankConflicts {
        let mut cost = BankConflicts::default();
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

struct Held {
    pitch: usize,
    shared_bytes: usize,
    wide: u32,
}
