//! Rows a pitch apart: transposed where they lie when both pitches are equal, or through workspace; gaps in the way
//! kept meanwhile. No byte is touched that is none of a row of the source or the result.
#![allow(unsafe_code)]

use std::ops::Range;

use turntile_perm::{Leading, Pitched};
use turntile_simd::{self as simd, Block, Byte};

use crate::finish::Finish;
use crate::out_of_place::{OutOfPlace, TileMove};
use crate::parts;
use crate::shared::{Shared, Worker};
use crate::squares::Squares;
use crate::swaps::turn_squares;

/// A matrix of elements of so many bytes, before and after.
#[derive(Clone, Copy)]
pub struct Matrix {
    /// Where its elements lie.
    pub leading: Leading,
    /// Bytes of one.
    pub elem_bytes: usize,
}

/// What is left of the longer side beside a square, and goes from below the square to its right, or the other way:
/// places that have nothing in common.
struct Rest {
    /// The places, in bytes.
    from: usize,
    to: usize,
    /// What goes there, in tiles as from one buffer to another.
    tiles: OutOfPlace,
    /// Elements from row to row in both.
    pitch: usize,
}

impl Rest {
    fn of(matrix: &Matrix) -> Self {
        let (source, elem_bytes) = (matrix.leading.source(), matrix.elem_bytes);
        let (rows, cols, pitch) = (source.rows(), source.cols(), source.pitch());
        let side = rows.min(cols);
        let (below, right) = (side * pitch * elem_bytes, side * elem_bytes);
        let (from, to) = if rows > cols { (below, right) } else { (right, below) };
        let (rows, cols) = if rows > cols { (rows - side, cols) } else { (rows, cols - side) };
        Rest { from, to, tiles: OutOfPlace { batch: 1, rows, cols, elem_bytes, begins: 0 }, pitch }
    }

    /// Tile `n` where it lies, and where it goes.
    fn nth(&self, n: usize) -> TileMove {
        let OutOfPlace { rows, cols, elem_bytes, .. } = self.tiles;
        let TileMove { from, to, block } = self.tiles.nth(n);
        // Among rows without gaps, then with them.
        let apart = |at: usize, cols: usize| {
            let at = at / elem_bytes;
            (at / cols * self.pitch + at % cols) * elem_bytes
        };
        TileMove {
            from: self.from + apart(from, cols),
            to: self.to + apart(to, rows),
            block: Block { from_pitch: self.pitch, to_pitch: self.pitch, ..block },
        }
    }

    fn turn(&self, worker: &Worker, tiles: Range<usize>, finish: Option<&Finish>) {
        let elem_bytes = self.tiles.elem_bytes;
        let mut buffer = Box::new_uninit_slice(self.tiles.tile_bytes());
        for n in tiles.clone() {
            let TileMove { from, to, block } = self.nth(n);
            if n + 1 < tiles.end {
                self.nth(n + 1).for_lines(elem_bytes, |at| simd::prefetch(worker.address(at)));
            }
            let turned = Block { to_pitch: block.rows, ..block };
            worker.read_transposed(from, &mut buffer, turned, elem_bytes);
            let (row, pitch) = (block.rows * elem_bytes, self.pitch * elem_bytes);
            if let Some(finish) = finish {
                finish.bytes(&mut buffer[..block.cols * row]);
            }
            match self.tiles.streams() {
                true => worker.stream_rows(to, pitch, &buffer, row, block.cols),
                false => worker.write_rows(to, pitch, &buffer, row, block.cols),
            }
        }
    }
}

impl Matrix {
    fn source(&self) -> Pitched {
        self.leading.source()
    }

    /// Threads that transposing it where it lies pays, of at most `threads`.
    pub fn turning_parts(&self, threads: usize) -> usize {
        let (source, rest) = (self.source(), Rest::of(self));
        let side = source.rows().min(source.cols());
        let pitch = source.pitch() * self.elem_bytes;
        let squares = Squares::pitched(side, pitch, self.elem_bytes);
        threads.clamp(1, squares.pairs().max(rest.tiles.tiles()).max(1))
    }

    /// Transposes it where it lies, its pitches being equal: the square that source and result share, then the rest.
    /// What was the rest's place stays as it is. Elements are finished where they arrive.
    pub fn turn(&self, data: &mut [Byte], parts: usize, finish: Option<&Finish>) {
        let (source, elem_bytes) = (self.source(), self.elem_bytes);
        assert_eq!(source.pitch(), self.leading.result().pitch(), "pitches are equal");
        let side = source.rows().min(source.cols());
        let squares = Squares::pitched(side, source.pitch() * elem_bytes, elem_bytes);
        turn_squares(data, squares, parts, finish);
        let rest = Rest::of(self);
        let tiles = rest.tiles.tiles();
        if tiles == 0 {
            return;
        }
        let parts = rest.tiles.parts(parts);
        let shared = Shared::new(data);
        parts::run_on(0..parts, &mut [], 0, |part, _| {
            // SAFETY: a tile belongs to one part, and neither the places that tiles leave nor those that they go to
            // share an element with another's.
            let worker = unsafe { shared.worker() };
            rest.turn(&worker, parts::share(tiles, parts, part), finish);
        });
    }

    /// Transposes it through `buffer`, which holds the whole of it.
    pub fn turn_through(&self, data: &mut [Byte], buffer: &mut [Byte]) {
        let (source, elem_bytes) = (self.source(), self.elem_bytes);
        let (rows, cols) = (source.rows(), source.cols());
        let block = Block { rows, cols, from_pitch: source.pitch(), to_pitch: rows };
        simd::transpose(data, buffer, block, elem_bytes);
        let pitch = self.leading.result().pitch() * elem_bytes;
        let (row, places) = (rows * elem_bytes, data.chunks_mut(pitch));
        for (from, to) in buffer.chunks_exact(row).zip(places).take(cols) {
            to[..row].copy_from_slice(from);
        }
    }

    /// Copies what is kept out of the gaps.
    pub fn keep(&self, data: &[Byte], kept: &mut [Byte]) {
        let mut rest = kept;
        for run in self.kept_runs() {
            let to = rest.split_off_mut(..run.len()).expect("as long as what is kept");
            to.copy_from_slice(&data[run]);
        }
    }

    /// Copies it back.
    pub fn restore(&self, data: &mut [Byte], kept: &[Byte]) {
        let mut rest = kept;
        for run in self.kept_runs() {
            let from = rest.split_off(..run.len()).expect("as long as what is kept");
            data[run].copy_from_slice(from);
        }
    }

    fn kept_runs(&self) -> impl Iterator<Item = Range<usize>> + use<> {
        let elem_bytes = self.elem_bytes;
        self.leading.kept().map(move |run| run.start * elem_bytes..run.end * elem_bytes)
    }
}
