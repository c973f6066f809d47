//! Barrier-sync of transpositions at block scope.

use turntile_perm::Elementary;

use super::fit::{
    Lowered, SQUARES, STACK_BYTES, Size, TargetParams, VECTOR_BYTES, field, pitch, region_flags,
    threads_for, tile_order, vector_bytes,
};
use super::tiles;
use crate::args::{BlockArgs, Divisor32, MicroArgs, Stack, zeroed};
use crate::family::Family;

/// Bytes of small instances that a thread block holds and moves by micro-blocks. 100000 instances of 64x48 floats ran at
/// 73% of a copy with 24 KB, and at 89% with 48 or 96 KB.
const MICRO_STACK_BYTES: usize = 48 << 10;

/// Bytes of the adjacent tiles of a thread block (0210!), whose contiguous runs are longer than those of one tile.
const BESIDE_BYTES: usize = 56 << 10;

/// Name of the kernel for instances of two to four rows or columns.
pub const FEW: &str = "barrier_few";

/// Returns `true` if an instance is two to four rows, or columns, of whole vectors of 1- or 2-byte words.
fn few(e: &Elementary, word: usize) -> bool {
    let [least, most] = [e.rows.min(e.cols), e.rows.max(e.cols)];
    let vectors = (most * word).is_multiple_of(VECTOR_BYTES);
    word < 4 && e.mid == 1 && e.unit == 1 && (2..=4).contains(&least) && vectors
}

/// Returns the launch in which a thread block holds one instance, or several small ones: contiguous matrices, or squares
/// adjacent in a row.
pub fn block(e: Elementary, at: TargetParams) -> Lowered {
    // A super-element as large as a word is a word.
    let (e, word) = at.in_words(e);
    if let Some(call) = tiles::in_place(e, word, at)? {
        return Ok(call);
    }
    let instances = e.batch * e.mid;
    let bytes = e.rows * e.cols * e.unit * word;
    let side_by_side = e.mid > 1 && e.unit == 1;
    let stacked = |most: usize| match (e.mid, e.unit) {
        (1, 1) => (most / bytes).clamp(1, instances.max(1)),
        (mid, 1) => (BESIDE_BYTES / bytes).clamp(1, mid),
        _ => 1,
    };
    let [row_bytes, column_bytes] = [e.cols, e.rows].map(|side| e.mid * side * e.unit * word);
    let one = |stacked| OnChip { e, word, stacked, side_by_side, row_bytes, column_bytes };
    let fits = |held: &Held| held.shared_bytes <= at.limits.shared_bytes;
    let (micro, words) = (one(stacked(MICRO_STACK_BYTES)), one(stacked(STACK_BYTES)));
    if let Some(held) = micro.micro(at).filter(fits) {
        let stacked = if side_by_side { 1 } else { micro.stacked };
        return micro.in_vectors(stacked, held, at);
    }
    match words.few(at).filter(fits) {
        Some(held) => words.in_vectors(words.stacked, held, at),
        None => words.in_words(at),
    }
}

/// Instances of one thread block.
struct OnChip {
    e: Elementary,
    word: usize,
    stacked: usize,
    /// Stacked instances are square tiles of one panel; otherwise they are contiguous.
    side_by_side: bool,
    row_bytes: usize,
    column_bytes: usize,
}

/// Kernel that moves instances by vectors, and its parameters.
struct Held {
    entry: &'static str,
    threads: usize,
    shared_bytes: usize,
    down: u32,
}

impl OnChip {
    fn bytes(&self) -> usize {
        self.stacked * self.e.rows * self.e.cols * self.e.unit * self.word
    }

    /// Returns the number of threads per block. For words of 8 and 16 bytes, 1.5 times the usual number measured best.
    fn threads(&self) -> usize {
        let bytes = self.bytes();
        if self.word <= 4 { threads_for(bytes, 1024) } else { threads_for(bytes * 3 / 2, 1024) }
    }

    /// Returns the micro-block kernel if rows and columns are whole, aligned micro-blocks, and words are not faster.
    fn micro(&self, at: TargetParams) -> Option<Held> {
        let vector = vector_bytes(self.word);
        let micro = vector / self.word;
        let whole = self.e.rows.is_multiple_of(micro) && self.e.cols.is_multiple_of(micro);
        // Words of 8 and 16 bytes gain nothing from micro-blocks. Small tiles whose rows straddle sectors are slower:
        // T = 100 ran at 64% by micro-blocks and 74% by words. T = 200 ran at 84% and 65%: a multiprocessor of an H200 holds
        // only one.
        let narrow = self.word <= 4;
        let straddles = self.side_by_side && !(self.e.cols * self.word).is_multiple_of(64);
        let sectors = !straddles || self.bytes() / self.stacked > BESIDE_BYTES;
        // A column of one vector is written as half a sector: 4x320 floats ran at 52% of a copy, and at 68% by words,
        // which are written in longer runs.
        let columns = self.e.rows > micro;
        (self.e.unit == 1 && narrow && sectors && columns && whole && at.alignment >= vector)
            .then_some(())?;
        let stacked = if self.side_by_side { 1 } else { self.stacked };
        let bytes = self.bytes() / self.stacked * stacked;
        let (rows, cols) = (self.e.rows / micro, self.e.cols / micro);
        // Swaths of at most 4 rows of micro-blocks: as fast as 8 rows if two thread blocks share a multiprocessor, and 8 to
        // 14 points faster if not (instances larger than half of shared memory).
        let down = rows.ilog2().min(2);
        let places = stacked * (rows.div_ceil(1 << down) << down) * cols;
        let threads = threads_for(bytes, 512);
        let slots = places.div_ceil(threads) * threads;
        let shared_bytes = slots * micro * vector;
        Some(Held { entry: "barrier_micro", threads, shared_bytes, down })
    }

    /// Returns the kernel for two to four rows or columns of whole vectors of narrow words. If an instance has fewer rows than
    /// columns, each thread stores its transposed vectors in `rows` vectors of shared memory.
    fn few(&self, at: TargetParams) -> Option<Held> {
        let threads = threads_for(self.bytes(), 512);
        let turned =
            if self.e.rows < self.e.cols { threads * self.e.rows * VECTOR_BYTES } else { 0 };
        let shared_bytes = self.bytes() + turned;
        let is_few = few(&self.e, self.word) && at.alignment >= VECTOR_BYTES;
        is_few.then_some(Held { entry: FEW, threads, shared_bytes, down: 0 })
    }

    /// Returns the launch of a kernel that moves vectors, with `stacked` instances per thread block.
    fn in_vectors(&self, stacked: usize, held: Held, at: TargetParams) -> Lowered {
        let Elementary { batch, rows, mid, cols, .. } = self.e;
        let (bytes, instances) = (rows * cols * self.word, batch * mid);
        let Held { entry, threads, shared_bytes, down } = held;
        let size = Size { blocks: instances.div_ceil(stacked), threads, shared_bytes };
        let launch = at.launch((Family::Barrier, self.word, entry), size)?;
        Ok(launch.with(MicroArgs {
            instances: instances as u64,
            rows: field(rows)?,
            cols: field(cols)?,
            stacked: stacked as u32,
            mid: field(mid)?,
            down,
            row_bytes: self.row_bytes as u64,
            column_bytes: self.column_bytes as u64,
            panel_bytes: (mid * bytes) as u64,
            instance_bytes: if mid > 1 { cols * self.word } else { bytes } as u64,
            vectors: Divisor32::new(field(rows.max(cols) * self.word / VECTOR_BYTES)?.max(1)),
            ..zeroed()
        }))
    }

    /// Returns the launch that moves single words. Rows are padded against bank conflicts if shared memory fits them.
    fn in_words(&self, at: TargetParams) -> Lowered {
        let Elementary { batch, rows, mid, cols, unit } = self.e;
        let aligned = |quantities: [usize; 2]| {
            let whole = quantities.iter().all(|quantity| quantity.is_multiple_of(4));
            self.word < 4 && at.alignment >= 4 && whole
        };
        let unit_bytes = unit * self.word;
        let wide_loads = aligned([cols * unit_bytes, self.row_bytes]);
        let wide_stores = aligned([rows * unit_bytes, self.column_bytes]);
        // Several instances are adjacent in a row, or contiguous and count as one matrix with all their rows.
        let (across, down) = if self.side_by_side { (self.stacked, 1) } else { (1, self.stacked) };
        let (tile_rows, tile_cols) = (down * rows, across * cols);
        let row = tile_cols * unit_bytes;
        let contiguous = mid == 1 && unit == 1;
        // Narrow words in rows that are not whole granules of 4 bytes: all instances are loaded as one run.
        let run_loads = contiguous && self.word < 4 && !wide_loads;
        let runs = run_loads || (contiguous && self.stacked > 1);
        let padded = pitch(row, self.word);
        let fits = tile_rows * padded <= at.limits.shared_bytes;
        let pitch = if fits && !run_loads { padded } else { row };
        // A run starts at its address modulo 16.
        let skew = if run_loads { 16 } else { 0 };
        let (batch, tiles, rows_of_all) = match mid {
            1 => (1, [batch.div_ceil(down), 1], batch * rows),
            _ => (batch, [1, mid.div_ceil(across)], rows),
        };
        let (order, blocks) = tile_order(batch, tiles, 1)?;
        let (threads, shared_bytes) = (self.threads(), tile_rows * pitch + skew);
        let size = Size { blocks, threads, shared_bytes };
        let launch = at.launch((Family::Barrier, self.word, "barrier_block"), size)?;
        let (step_down, step_across) = ((tile_rows * self.row_bytes) as u64, row as u64);
        let squares = if self.side_by_side { SQUARES } else { 0 };
        Ok(launch.with(BlockArgs {
            rows: rows_of_all as u64,
            cols: (mid * cols) as u64,
            from_pitch: self.row_bytes as u64,
            to_pitch: self.column_bytes as u64,
            from_down: step_down,
            from_across: step_across,
            to_down: step_down,
            to_across: step_across,
            matrix_bytes: (rows_of_all * mid * cols * unit_bytes) as u64,
            order,
            tile_rows: field(tile_rows)?,
            tile_cols: field(tile_cols)?,
            pitch: field(pitch)?,
            wide: region_flags([wide_loads, wide_stores, runs, run_loads]) | squares,
            unit: Divisor32::new(field(unit)?),
            stack: Stack::of(field(rows)?, field(rows * cols)?),
            ..zeroed()
        }))
    }
}
