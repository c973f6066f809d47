//! Rows a pitch apart: transposed where they lie when both pitches are equal, or through workspace; gaps in the way
//! kept meanwhile. No byte is touched that is none of a row of the source or the result.
#![allow(unsafe_code)]

use std::ops::Range;

use turntile_perm::{LeadingDims, PitchedRows};
use turntile_simd::{self as simd, BlockShape, Byte};

use crate::epilogue::Epilogue;
use crate::parallel;
use crate::plane_tiling::{PlaneTile, PlaneTiling};
use crate::shared::{SharedBytes, Worker};
use crate::square::SquareTiling;
use crate::swaps::turn_squares;

/// A matrix of elements of so many bytes, before and after.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct LeadingMatrix {
    /// Where its elements lie.
    pub leading: LeadingDims,
    /// Bytes of one.
    pub elem_bytes: usize,
}

impl LeadingMatrix {
    fn source(&self) -> PitchedRows {
        self.leading.source()
    }

    /// Bytes from one row to the next. The pitch of a single row may be any number: no byte depends on it.
    fn pitch_bytes(&self, rows: PitchedRows) -> usize {
        rows.pitch().saturating_mul(self.elem_bytes)
    }

    /// The square that source and result share where their pitches are equal.
    fn square(&self) -> SquareTiling {
        let (source, elem_bytes) = (self.source(), self.elem_bytes);
        let side = source.rows().min(source.cols());
        SquareTiling::pitched(side, self.pitch_bytes(source), elem_bytes)
    }

    /// What is left of the longer side beside the square, and goes from below the square to its right, or the other way:
    /// places that have nothing in common.
    fn rest(&self) -> PlaneTiling {
        let (source, elem_bytes) = (self.source(), self.elem_bytes);
        let (rows, cols, pitch) = (source.rows(), source.cols(), source.pitch());
        let side = rows.min(cols);
        let below = self.pitch_bytes(source).saturating_mul(side);
        let right = side * elem_bytes;
        let tall = rows > cols;
        let (rows, cols) = if tall { (rows - side, cols) } else { (rows, cols - side) };
        let plane = BlockShape { rows, cols, from_pitch: pitch, to_pitch: pitch };
        PlaneTiling::of_pitched(
            plane,
            elem_bytes,
            if tall { [below, right] } else { [right, below] },
        )
    }

    /// Threads that transposing it where it lies pays, of at most `threads`; none where its pitches differ.
    pub fn turning_parts(&self, threads: usize) -> Option<usize> {
        let work = || self.square().pairs().max(self.rest().count());
        self.is_turned_in_place().then(|| threads.clamp(1, work().max(1)))
    }

    /// Whether rows become columns at the same pitch, which has room for either.
    fn is_turned_in_place(&self) -> bool {
        let equal = self.source().pitch() == self.leading.result().pitch();
        equal && self.leading.is_transposed()
    }

    /// Bytes of the buffers through which at most `threads` threads move what is left beside the square.
    pub fn buffer_bytes(&self, threads: usize) -> usize {
        let rest = self.rest();
        if rest.count() == 0 { 0 } else { rest.parts(threads).saturating_mul(rest.tile_bytes()) }
    }

    /// Transposes it where it lies, its pitches being equal: the square that source and result share, then the rest.
    /// What was the rest's place stays as it is. Elements are finished where they arrive. `buffers` holds
    /// [`buffer_bytes`](Self::buffer_bytes).
    pub fn turn(
        &self,
        data: &mut [Byte],
        parts: usize,
        finish: Option<&Epilogue>,
        buffers: &mut [Byte],
    ) {
        assert!(self.is_turned_in_place(), "rows become columns at the same pitch");
        turn_squares(data, self.square(), parts, finish);
        let rest = self.rest();
        if rest.count() == 0 {
            return;
        }
        let parts = rest.parts(parts);
        let shared = SharedBytes::new(data);
        parallel::for_each_thread(0..parts, buffers, rest.tile_bytes(), |part, buffer| {
            // SAFETY: a tile belongs to one part, and neither the places that tiles leave nor those that they go to
            // share an element with another's: the pitch is no less than the rows and columns.
            let worker = unsafe { shared.worker() };
            turn_tiles(&worker, &rest, parallel::share(rest.count(), parts, part), finish, buffer);
        });
    }

    /// Transposes it through `buffer`, which holds the whole of it.
    pub fn turn_through(&self, data: &mut [Byte], buffer: &mut [Byte]) {
        let (source, elem_bytes) = (self.source(), self.elem_bytes);
        let (rows, cols) = (source.rows(), source.cols());
        let block = BlockShape { rows, cols, from_pitch: source.pitch(), to_pitch: rows };
        simd::transpose(data, buffer, block, elem_bytes);
        let pitch = self.pitch_bytes(self.leading.result());
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
        self.leading.saved_gaps().map(move |run| run.start * elem_bytes..run.end * elem_bytes)
    }
}

/// Transposes tiles through a buffer, in which they are finished.
fn turn_tiles(
    worker: &Worker,
    tiles: &PlaneTiling,
    numbers: Range<usize>,
    finish: Option<&Epilogue>,
    buffer: &mut [Byte],
) {
    let unit_bytes = tiles.unit_bytes();
    for n in numbers.clone() {
        let PlaneTile { from, to, block } = tiles.nth(n);
        if n + 1 < numbers.end {
            tiles.nth(n + 1).for_lines(unit_bytes, |at| simd::prefetch(worker.address(at)));
        }
        let turned = BlockShape { to_pitch: block.rows, ..block };
        worker.read_transposed(from, buffer, turned, unit_bytes);
        let (row, pitch) = (block.rows * unit_bytes, block.to_pitch * unit_bytes);
        if let Some(finish) = finish {
            finish.bytes(&mut buffer[..block.cols * row]);
        }
        match tiles.streams() {
            true => worker.stream_rows(to, pitch, buffer, row, block.cols),
            false => worker.write_rows(to, pitch, buffer, row, block.cols),
        }
    }
}
