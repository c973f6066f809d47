//! In-place reversal of axes: runs swap with their mirror images, in one pass.
#![allow(unsafe_code)]

use turntile_perm::FlippedAxes;
use turntile_simd::{Byte, ReversedRows};

use crate::parallel::{self, WorkCounter};
use crate::shared::{SharedBytes, Worker};

/// Maximum bytes that a thread swaps at a time with their mirror image.
const PIECE_BYTES: usize = 32 << 10;

/// Reversal of the axes of an array `[heads][rows][units][unit_bytes]`. The units are reversed, and
/// heads are indices of further axes, some of them reversed.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct FlipTiling {
    /// Extents of the axes of the heads, outermost first, and whether each is reversed.
    heads: Vec<(usize, bool)>,
    rows: usize,
    units: usize,
    unit_bytes: usize,
    /// Rows, units and bytes of a unit in a piece.
    piece: [usize; 3],
}

impl FlipTiling {
    /// Creates the reversal of `axes`, which keep their order. At least one axis is reversed.
    pub fn new(axes: &FlippedAxes, elem_bytes: usize) -> Self {
        let mut heads: Vec<(usize, bool)> =
            axes.strided_axes().map(|(axis, reversed)| (axis.extent, reversed)).collect();
        let run = heads.pop_if(|axis| !axis.1).map_or(1, |axis| axis.0);
        let units = heads.pop().map_or(1, |axis| axis.0);
        let rows = heads.pop_if(|axis| !axis.1).map_or(1, |axis| axis.0);
        let unit_bytes = run * elem_bytes;
        let piece_units = (PIECE_BYTES / unit_bytes).clamp(1, units);
        let piece_rows = (PIECE_BYTES / (units * unit_bytes)).clamp(1, rows);
        let piece = [piece_rows, piece_units, unit_bytes.min(PIECE_BYTES)];
        FlipTiling { heads, rows, units, unit_bytes, piece }
    }

    /// Returns the number of pieces. A piece and its mirror image are two.
    pub fn pieces(&self) -> usize {
        let heads: usize = self.heads.iter().map(|axis| axis.0).product();
        heads * self.pieces_of_head().iter().product::<usize>()
    }

    fn pieces_of_head(&self) -> [usize; 3] {
        let [rows, units, bytes] = self.piece;
        [self.rows.div_ceil(rows), self.units.div_ceil(units), self.unit_bytes.div_ceil(bytes)]
    }

    /// Returns the mirror image of a head.
    fn mirror(&self, head: usize) -> usize {
        let (mut rest, mut stride, mut image) = (head, 1, 0);
        for &(extent, reversed) in self.heads.iter().rev() {
            let digit = rest % extent;
            image += stride * if reversed { extent - 1 - digit } else { digit };
            (rest, stride) = (rest / extent, stride * extent);
        }
        image
    }

    /// Reverses the axes of `data`, on `threads` threads.
    pub fn run(&self, data: &mut [Byte], threads: usize) {
        let shared = SharedBytes::new(data);
        let counter = WorkCounter::new(self.pieces(), threads);
        parallel::for_each_thread(0..threads, &mut [], 0, |_, _| {
            // SAFETY: each piece is claimed by one thread, and is swapped with its mirror image
            // only by the first of the two.
            let worker = unsafe { shared.worker() };
            while let Some(claimed) = counter.claim() {
                claimed.for_each(|piece| self.swap(&worker, piece));
            }
        });
    }

    /// Swaps piece `number` with its mirror image, if it is the first of the two.
    fn swap(&self, worker: &Worker, number: usize) {
        let [_, across, deep] = self.pieces_of_head();
        let [piece_rows, piece_units, piece_bytes] = self.piece;
        let (rest, byte) = (number / deep, number % deep * piece_bytes);
        let (rest, unit) = (rest / across, rest % across * piece_units);
        let row_pieces = self.rows.div_ceil(piece_rows);
        let (head, row) = (rest / row_pieces, rest % row_pieces * piece_rows);
        let image = self.mirror(head);
        // In a head that is its own mirror image, the first half of each row swaps with the other.
        let end = if head == image { self.units / 2 } else { self.units };
        if head > image || unit >= end {
            return;
        }
        let count = piece_units.min(end - unit);
        let rows = piece_rows.min(self.rows - row);
        let at = |head: usize, unit: usize| {
            ((head * self.rows + row) * self.units + unit) * self.unit_bytes + byte
        };
        let (a, b) = (at(head, unit), at(image, self.units - unit - count));
        if deep > 1 {
            worker.swap(a, b, piece_bytes.min(self.unit_bytes - byte));
        } else {
            let rows = ReversedRows { rows, pitch: self.units * self.unit_bytes, count };
            worker.swap_reversed(a, b, rows, self.unit_bytes);
        }
    }
}
