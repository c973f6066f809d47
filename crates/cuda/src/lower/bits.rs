//! Transposition of elements of 1, 2 or 4 bits (`kernels/bits.cu`).
//!
//! Out of place takes one pass, and so do squares in place. Other matrices have two stages. The first transposes in place
//! each square of `g` by `g` elements, where `g` is the greatest common divisor of the sides. Each row of a square is then a
//! run of `g / p` bytes, where `p` elements are a byte. The second stage permutes these runs as an array of shape
//! `[rows / g, g, cols / g]` with axes `[2, 1, 0]`, which existing kernels do. Both sides are multiples of `p`, so that `g`
//! is too. Largest squares give the longest runs with the best alignment.
//!
//! Matrices of at most 8 bytes, of any sides, take one pass in place too: each is transposed by one thread.

use turntile_plan::{Problem, ProblemError};

use super::fit::{Lowered, Size, TargetParams, field, tile_order};
use crate::args::{BitsArgs, BitsIntoArgs, BitsSmallArgs, Divisor32, zeroed};
use crate::error::LowerError;
use crate::family::Family;
use crate::launch::{CheckedLaunch, widest_word};

/// Bytes of the words that move if all rows are whole words.
const WORD: usize = 4;
/// Rows of tiles in a swath (a guess). Neighbouring tiles share cache lines.
const SWATH: usize = 8;
/// Maximum number of bytes of a matrix that one thread transposes.
const SMALL: usize = 8;
/// Threads per block of a launch with a matrix per thread.
const SMALL_THREADS: usize = 256;

/// Contiguous row-major matrices of elements of 1, 2 or 4 bits. Each row starts at a byte.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct BitMatrix {
    /// Number of matrices.
    pub batch: usize,
    /// Rows of a matrix.
    pub rows: usize,
    /// Elements of a row.
    pub cols: usize,
    /// Elements per byte: 8, 4 or 2.
    pub per_byte: usize,
    /// Whether the first element of a byte is in its high bits.
    pub big: bool,
}

impl BitMatrix {
    /// Returns the bytes of all matrices and of the transposed ones, or `None` if a number overflows.
    pub fn bytes(&self) -> Option<[usize; 2]> {
        let of = |rows: usize, cols: usize| {
            self.batch.checked_mul(rows)?.checked_mul(cols.div_ceil(self.per_byte))
        };
        Some([of(self.rows, self.cols)?, of(self.cols, self.rows)?])
    }

    /// Returns the side of the squares that are transposed in place, in elements; 0 for empty matrices.
    pub fn square(&self) -> usize {
        let (mut a, mut b) = (self.rows, self.cols);
        while b > 0 {
            (a, b) = (b, a % b);
        }
        a
    }

    /// Returns the permutation of runs that follows the squares in place, for memory at multiples of `alignment` bytes, or `None`
    /// if they are in order already.
    ///
    /// # Errors
    /// [`ProblemError`]: the number of bytes overflows.
    pub fn runs(&self, alignment: usize) -> Result<Option<Problem>, ProblemError> {
        let &BitMatrix { batch, rows, cols, per_byte, .. } = self;
        let g = self.square();
        if rows == cols || [batch, rows, cols].contains(&0) || self.is_small() {
            return Ok(None);
        }
        let run = g / per_byte;
        let word = widest_word(&[run, alignment]);
        let shape = [batch, rows / g, g, cols / g, run / word];
        let problem = Problem::permuted(&shape, &[0, 3, 2, 1, 4], word)?;
        Ok(Some(problem.with_alignment(alignment)))
    }

    /// Returns the launch, or `None` for empty matrices.
    pub(crate) fn lower(
        &self,
        out_of_place: bool,
        at: TargetParams,
    ) -> Lowered<Option<CheckedLaunch>> {
        if self.batch == 0 || self.rows == 0 || self.cols == 0 {
            return Ok(None);
        }
        if !out_of_place && [self.rows, self.cols].iter().any(|n| !n.is_multiple_of(self.per_byte))
        {
            return Err(LowerError::NoKernel);
        }
        match (self.is_small(), out_of_place) {
            (true, _) => self.small(at),
            (false, true) => self.into(at),
            (false, false) => self.in_place(at),
        }
        .map(Some)
    }

    /// Returns the bytes of one matrix and of its transpose.
    fn matrix_bytes(&self) -> [usize; 2] {
        let &BitMatrix { rows, cols, per_byte, .. } = self;
        [(rows, cols), (cols, rows)]
            .map(|(rows, cols)| rows.saturating_mul(cols.div_ceil(per_byte)))
    }

    /// Returns whether one thread transposes a matrix.
    fn is_small(&self) -> bool {
        self.matrix_bytes().into_iter().all(|bytes| bytes <= SMALL)
    }

    fn small(&self, at: TargetParams) -> Lowered {
        let &BitMatrix { batch, rows, cols, per_byte, big } = self;
        let [from, to] = self.matrix_bytes();
        let whole = from == to && from.is_power_of_two() && from <= at.alignment;
        let entry = match per_byte {
            8 => "bits_small_1",
            4 => "bits_small_2",
            _ => "bits_small_4",
        };
        let blocks = batch.div_ceil(SMALL_THREADS);
        let size = Size { blocks, threads: SMALL_THREADS, shared_bytes: 0 };
        Ok(at.launch((Family::Bits, WORD, entry), size)?.with(BitsSmallArgs {
            matrices: batch as u64,
            rows: field(rows)?,
            cols: field(cols)?,
            from_bytes: field(from)?,
            to_bytes: field(to)?,
            word: field(if whole { from } else { 1 })?,
            big: u32::from(big),
            ..zeroed()
        }))
    }

    fn in_place(&self, at: TargetParams) -> Lowered {
        let &BitMatrix { batch, rows, cols, per_byte, big } = self;
        let (bytes, small, line) = (cols / per_byte, self.square() / per_byte, self.line());
        let words = small.is_multiple_of(WORD) && at.alignment >= WORD;
        // Squares that are smaller than a tile are in one tile with their neighbours.
        let side = if small < line { line / small * small } else { small };
        // So are those of the next matrices, which are one matrix with more rows.
        let (stacks, rows) = match batch.checked_mul(rows).filter(|&all| field(all).is_ok()) {
            Some(all) => (1, all),
            None => (batch, rows),
        };
        let tiles = side.div_ceil(line);
        let pairs = tiles * (tiles + 1) / 2;
        let (across, down) = (bytes.div_ceil(side), (rows / per_byte).div_ceil(side));
        let all = [across, down, pairs].into_iter().try_fold(stacks, usize::checked_mul);
        let blocks = all.ok_or(LowerError::TooManyBlocks { blocks: usize::MAX })?;
        let held = if tiles == 1 { 1 } else { 2 } * line * line * per_byte;
        let size = Size { blocks, threads: self.threads(), shared_bytes: held };
        Ok(at.launch((Family::Bits, WORD, self.entry(words, false)), size)?.with(BitsArgs {
            pitch: bytes as u64,
            matrix_bytes: (rows * bytes) as u64,
            rows: field(rows)?,
            cols: field(bytes)?,
            side: field(side)?,
            big: u32::from(big),
            pairs: Divisor32::new(field(pairs)?),
            across: Divisor32::new(field(across)?),
            down: Divisor32::new(field(down)?),
            small: Divisor32::new(field(if words { small / WORD } else { small })?),
            ..zeroed()
        }))
    }

    fn into(&self, at: TargetParams) -> Lowered {
        let &BitMatrix { batch, rows, cols, per_byte, big } = self;
        let [from, to] = [cols, rows].map(|side| side.div_ceil(per_byte));
        let words = from.is_multiple_of(WORD) && to.is_multiple_of(WORD) && at.alignment >= WORD;
        let (line, side) = (self.line(), self.line() * per_byte);
        let tiles = [rows.div_ceil(side), cols.div_ceil(side)];
        let (order, blocks) = tile_order(batch, tiles, SWATH)?;
        let size = Size { blocks, threads: self.threads(), shared_bytes: line * side };
        Ok(at.launch((Family::Bits, WORD, self.entry(words, true)), size)?.with(BitsIntoArgs {
            from_pitch: from as u64,
            to_pitch: to as u64,
            from_matrix_bytes: (rows * from) as u64,
            to_matrix_bytes: (cols * to) as u64,
            rows: field(rows)?,
            cols: field(cols)?,
            big: u32::from(big),
            order,
            ..zeroed()
        }))
    }

    /// Returns the bytes of a row of a tile: whole cache lines if two tiles fit three times in a multiprocessor.
    fn line(&self) -> usize {
        if self.per_byte == 2 { 128 } else { 64 }
    }

    fn threads(&self) -> usize {
        if self.per_byte == 2 { 512 } else { 256 }
    }

    fn entry(&self, words: bool, out_of_place: bool) -> &'static str {
        match (self.per_byte, words, out_of_place) {
            (8, true, false) => "bits_swap_1_words",
            (8, false, false) => "bits_swap_1_bytes",
            (4, true, false) => "bits_swap_2_words",
            (4, false, false) => "bits_swap_2_bytes",
            (_, true, false) => "bits_swap_4_words",
            (_, false, false) => "bits_swap_4_bytes",
            (8, true, true) => "bits_into_1_words",
            (8, false, true) => "bits_into_1_bytes",
            (4, true, true) => "bits_into_2_words",
            (4, false, true) => "bits_into_2_bytes",
            (_, true, true) => "bits_into_4_words",
            (_, false, true) => "bits_into_4_bytes",
        }
    }
}
