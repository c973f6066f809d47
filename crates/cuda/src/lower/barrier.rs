//! Barrier-sync at block scope.

use turntile_perm::Elementary;

use super::fit::{
    At, Lowered, STACK_BYTES, Size, VECTOR_BYTES, field, pitch, region_flags, threads_for,
    vector_bytes,
};
use super::tiles;
use crate::args::{BarrierArgs, Divisor32, Stack, zeroed};
use crate::family::Family;

/// Bytes that small instances are stacked to in a block by micro-blocks: 100000 of 64x48 floats at 73% of copy with
/// 24 KB, at 89 with 48 or 96.
const MICRO_STACK_BYTES: usize = 48 << 10;

/// Bytes of the tiles side by side that a block holds (0210!): longer runs of memory than one tile's.
const BESIDE_BYTES: usize = 56 << 10;

/// The kernel of two to four rows.
pub const FEW: &str = "barrier_few";

/// Whether an instance is two to four rows of whole vectors of narrow words, or as many columns.
fn few(e: &Elementary, word: usize) -> bool {
    let [least, most] = [e.rows.min(e.cols), e.rows.max(e.cols)];
    let vectors = (most * word).is_multiple_of(VECTOR_BYTES);
    word < 4 && e.mid == 1 && e.unit == 1 && (2..=4).contains(&least) && vectors
}

/// A block holds a whole instance, or several small ones: matrices, or squares side by side.
pub fn block(e: Elementary, at: At) -> Lowered {
    // A super-element of a word's size is a word.
    let (e, word) = at.in_words(e);
    if let Some(call) = tiles::in_place(e, word, at)? {
        return Ok(call);
    }
    let instances = e.batch * e.mid;
    let unit_bytes = e.unit * word;
    let bytes = e.rows * e.cols * unit_bytes;
    let side_by_side = e.mid > 1 && e.unit == 1;
    let stacked = |most: usize| match (e.mid, e.unit) {
        (1, 1) => (most / bytes).clamp(1, instances.max(1)),
        (mid, 1) => (BESIDE_BYTES / bytes).clamp(1, mid),
        _ => 1,
    };
    let (row_bytes, column_bytes) = (e.mid * e.cols * unit_bytes, e.mid * e.rows * unit_bytes);
    let instance_bytes = if e.mid > 1 { e.cols * unit_bytes } else { bytes };
    let one = |stacked| OnChip { e, word, stacked, side_by_side, row_bytes, column_bytes };
    let fits = |held: &Held| held.shared_bytes <= at.limits.shared_bytes;
    let (micro, words) = (stacked(MICRO_STACK_BYTES), stacked(STACK_BYTES));
    let (held, stacked) = match one(micro).micro(at).filter(fits) {
        Some(held) if side_by_side => (held, 1),
        Some(held) => (held, micro),
        None => (one(words).few(at).filter(fits).unwrap_or_else(|| one(words).by_words(at)), words),
    };
    let blocks =
        if side_by_side { e.batch * e.mid.div_ceil(stacked) } else { instances.div_ceil(stacked) };
    let Held { entry, threads, shared_bytes, .. } = held;
    let launch =
        at.launch((Family::Barrier, word, entry), Size { blocks, threads, shared_bytes })?;
    Ok(launch.with(BarrierArgs {
        instances: instances as u64,
        rows: field(e.rows)?,
        cols: field(e.cols)?,
        stacked: stacked as u32,
        pitch: held.pitch as u32,
        mid: field(e.mid)?,
        wide: held.wide,
        down: held.down,
        row_bytes: row_bytes as u64,
        column_bytes: column_bytes as u64,
        panel_bytes: (e.mid * bytes) as u64,
        instance_bytes: instance_bytes as u64,
        unit: Divisor32::new(field(e.unit)?),
        stack: match entry {
            FEW => Stack::of(field(e.rows.max(e.cols) * word / VECTOR_BYTES)?, 1),
            _ => Stack::of(field(e.rows)?, field(e.rows * e.cols)?),
        },
        ..zeroed()
    }))
}

/// Instances as a block holds them.
struct OnChip {
    e: Elementary,
    word: usize,
    stacked: usize,
    /// Stacked instances are square tiles of one panel; else they follow one another.
    side_by_side: bool,
    row_bytes: usize,
    column_bytes: usize,
}

/// A way to hold them: the kernel, and its parameters.
struct Held {
    entry: &'static str,
    threads: usize,
    shared_bytes: usize,
    pitch: usize,
    wide: u32,
    down: u32,
}

impl OnChip {
    fn bytes(&self) -> usize {
        self.stacked * self.e.rows * self.e.cols * self.e.unit * self.word
    }

    /// For words of 8 and 16 bytes more threads: 1 word in 16 each measured best.
    fn threads(&self) -> usize {
        let bytes = self.bytes();
        if self.word <= 4 { threads_for(bytes, 1024) } else { threads_for(bytes * 3 / 2, 1024) }
    }

    /// By micro-blocks, where rows and columns are whole ones and everything aligns.
    fn micro(&self, at: At) -> Option<Held> {
        let vector = vector_bytes(self.word);
        let micro = vector / self.word;
        let whole = self.e.rows.is_multiple_of(micro) && self.e.cols.is_multiple_of(micro);
        // Words of 8 and 16 bytes pass shared memory as fast on their own. Small tiles whose rows straddle
        // sectors too: T = 100 ran at 64% by micro-blocks and 74% by words, T = 200, of which an H200's
        // multiprocessor holds only one, at 84% and 65%.
        let narrow = self.word <= 4;
        let straddles = self.side_by_side && !(self.e.cols * self.word).is_multiple_of(64);
        let sectors = !straddles || self.bytes() / self.stacked > BESIDE_BYTES;
        // A column of one vector is half a sector, written as such: 4x320 floats ran at 52% of copy, by
        // words, in runs, at 68%.
        let columns = self.e.rows > micro;
        (self.e.unit == 1 && narrow && sectors && columns && whole && at.alignment >= vector)
            .then_some(())?;
        let stacked = if self.side_by_side { 1 } else { self.stacked };
        let bytes = self.bytes() / self.stacked * stacked;
        let (rows, cols) = (self.e.rows / micro, self.e.cols / micro);
        // Swaths 4 micro-blocks high: as fast as 8 where two blocks share a multiprocessor, and 8 to
        // 14 points faster where they do not (instances beyond half of shared memory).
        let down = rows.ilog2().min(2);
        let places = stacked * (rows.div_ceil(1 << down) << down) * cols;
        let threads = threads_for(bytes, 512);
        let slots = places.div_ceil(threads) * threads;
        let shared_bytes = slots * micro * vector;
        Some(Held { entry: "barrier_micro", threads, shared_bytes, pitch: 0, wide: 0, down })
    }

    /// By vectors, where narrow words lie in two to four rows of whole vectors, or in as many columns. Rows, once turned,
    /// pass through as many vectors a thread.
    fn few(&self, at: At) -> Option<Held> {
        let threads = threads_for(self.bytes(), 512);
        let turned =
            if self.e.rows < self.e.cols { threads * self.e.rows * VECTOR_BYTES } else { 0 };
        let shared_bytes = self.bytes() + turned;
        let is_few = few(&self.e, self.word) && at.alignment >= VECTOR_BYTES;
        is_few.then_some(Held { entry: FEW, threads, shared_bytes, pitch: 0, wide: 0, down: 0 })
    }

    /// Word by word, rows padded against bank conflicts where there is room.
    fn by_words(&self, at: At) -> Held {
        let Elementary { rows, cols, unit, .. } = self.e;
        let aligned = |quantities: [usize; 2]| {
            let whole = quantities.iter().all(|quantity| quantity.is_multiple_of(4));
            self.word < 4 && at.alignment >= 4 && whole
        };
        let wide_loads = aligned([cols * unit * self.word, self.row_bytes]);
        let wide_stores = aligned([rows * unit * self.word, self.column_bytes]);
        let (across, down) = if self.side_by_side { (self.stacked, 1) } else { (1, self.stacked) };
        let row = across * cols * unit * self.word;
        let lines = down * rows;
        let together = self.e.mid == 1 && unit == 1;
        // Narrow words in rows that are no whole granules of 4 bytes: everything as one run.
        let run_loads = together && self.word < 4 && !wide_loads;
        let runs = run_loads || (together && self.stacked > 1);
        let padded = pitch(row, self.word);
        let fits = lines * padded <= at.limits.shared_bytes;
        let pitch = if fits && !run_loads { padded } else { row };
        // The run begins where its address stands to 16.
        let skew = if run_loads { 16 } else { 0 };
        Held {
            entry: if self.side_by_side { "barrier_band" } else { "barrier_block" },
            threads: self.threads(),
            shared_bytes: lines * pitch + skew,
            pitch,
            wide: region_flags([wide_loads, wide_stores, runs, run_loads]),
            down: 0,
        }
    }
}
