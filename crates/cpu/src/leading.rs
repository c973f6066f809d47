//! Transposition of matrices with leading dimensions, in place or through scratch. It touches only
//! source and result rows. Also saves and restores gaps.
#![allow(unsafe_code)]

use std::ops::Range;

use turntile_perm::{LeadingDims, PitchedRows};
use turntile_plan::SavedGaps;
use turntile_simd::{self as simd, BlockShape, Byte};

use crate::epilogue::Epilogue;
use crate::out_of_place::transpose_tiles;
use crate::parallel;
use crate::plane_tiling::PlaneTiling;
use crate::shared::SharedBytes;
use crate::square::SquareTiling;
use crate::swaps::turn_squares;

/// A matrix with leading dimensions and elements of `elem_bytes` bytes, before and after
/// transposition.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct LeadingMatrix {
    /// Shape and pitches of the source and the result.
    pub leading: LeadingDims,
    /// Bytes of an element.
    pub elem_bytes: usize,
}

impl LeadingMatrix {
    fn source(&self) -> PitchedRows {
        self.leading.source()
    }

    /// Returns the bytes from one row to the next, saturating: no byte depends on the pitch of a
    /// single row.
    fn pitch_bytes(&self, rows: PitchedRows) -> usize {
        rows.pitch().saturating_mul(self.elem_bytes)
    }

    /// Returns the tiles of the square that source and result share if their pitches are equal.
    fn square(&self) -> SquareTiling {
        let (source, elem_bytes) = (self.source(), self.elem_bytes);
        let side = source.rows().min(source.cols());
        SquareTiling::pitched(side, self.pitch_bytes(source), elem_bytes)
    }

    /// Returns the tiles of the remainder outside the square. The remainder moves from below the
    /// square to its right, or the reverse; source and destination are disjoint.
    fn remainder(&self) -> PlaneTiling {
        let ([rows, cols], offsets) = self.leading.remainder(self.elem_bytes);
        let pitch = self.source().pitch();
        let plane = BlockShape { rows, cols, from_pitch: pitch, to_pitch: pitch };
        PlaneTiling::of_pitched(plane, self.elem_bytes, offsets)
    }

    /// Returns the number of useful threads for a transposition in place, from 1 to `threads`.
    pub fn turning_parts(&self, threads: usize) -> usize {
        threads.clamp(1, self.square().pairs().max(self.remainder().count()).max(1))
    }

    /// Returns `true` if the matrix is transposed and both pitches are equal.
    fn is_in_place(&self) -> bool {
        let equal = self.source().pitch() == self.leading.result().pitch();
        equal && self.leading.is_transposed()
    }

    /// Returns the bytes of the buffers through which at most `threads` threads move the remainder.
    pub fn buffer_bytes(&self, threads: usize) -> usize {
        let remainder = self.remainder();
        if remainder.count() == 0 {
            0
        } else {
            remainder.parts(threads).saturating_mul(remainder.tile_bytes())
        }
    }

    /// Transposes the matrix in place: the square that source and result share, then the remainder.
    /// Bytes outside the result are unchanged. The epilogue is applied to every element of the
    /// result. `buffers` has [`buffer_bytes`](Self::buffer_bytes) bytes.
    ///
    /// # Panics
    /// If the pitches differ, or the matrix is not transposed.
    pub fn transpose(
        &self,
        data: &mut [Byte],
        threads: usize,
        epilogue: Option<&Epilogue>,
        buffers: &mut [Byte],
    ) {
        assert!(self.is_in_place(), "pitches differ, or the matrix is not transposed");
        turn_squares(data, self.square(), threads, epilogue);
        let remainder = self.remainder();
        if remainder.count() == 0 {
            return;
        }
        let threads = remainder.parts(threads);
        let shared = SharedBytes::new(data);
        parallel::for_each_thread(0..threads, buffers, remainder.tile_bytes(), |part, buffer| {
            // SAFETY: each tile belongs to one thread. The pitch is at least the rows and the
            // columns, so neither sources nor destinations share an element with another thread's
            // tiles.
            let worker = unsafe { shared.worker() };
            let own = parallel::split_evenly(remainder.count(), threads, part);
            transpose_tiles(&worker, None, &remainder, own, epilogue, buffer);
        });
    }

    /// Transposes the matrix through `buffer`, which has room for all its elements.
    pub fn turn_through(&self, data: &mut [Byte], buffer: &mut [Byte]) {
        let (source, elem_bytes) = (self.source(), self.elem_bytes);
        let (rows, cols) = (source.rows(), source.cols());
        let block = BlockShape { rows, cols, from_pitch: source.pitch(), to_pitch: rows };
        simd::transpose(data, buffer, block, elem_bytes);
        let pitch = self.pitch_bytes(self.leading.result());
        let (row, result) = (rows * elem_bytes, data.chunks_mut(pitch));
        for (from, to) in buffer.chunks_exact(row).zip(result).take(cols) {
            to[..row].copy_from_slice(from);
        }
    }
}

/// Copies to `saved` the gap elements that the dense matrix overwrites.
pub fn save(gaps: &SavedGaps, elem_bytes: usize, data: &[Byte], mut saved: &mut [Byte]) {
    for run in saved_runs(gaps, elem_bytes) {
        let to = saved.split_off_mut(..run.len()).expect("buffer of the saved gaps' length");
        to.copy_from_slice(&data[run]);
    }
}

/// Copies gap elements from `saved` back to `data`.
pub fn restore(gaps: &SavedGaps, elem_bytes: usize, data: &mut [Byte], mut saved: &[Byte]) {
    for run in saved_runs(gaps, elem_bytes) {
        let from = saved.split_off(..run.len()).expect("buffer of the saved gaps' length");
        data[run].copy_from_slice(from);
    }
}

/// Returns the byte ranges, in the data, of the saved gaps.
fn saved_runs(gaps: &SavedGaps, elem_bytes: usize) -> impl Iterator<Item = Range<usize>> + use<> {
    gaps.runs().map(move |run| run.start * elem_bytes..run.end * elem_bytes)
}
