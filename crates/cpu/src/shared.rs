//! Memory shared by several workers, each moving its own bytes.
//!
//! Every span is checked against the memory's length before its pointer is made, and no reference
//! to shared bytes leaves this file. Not checked: that no two workers touch the same byte. The
//! index maps guarantee that for any number of threads. The code that creates a worker promises it
//! once, for all calls of that worker ([`SharedBytes::worker`]). With debug assertions, the bytes
//! that workers touch are compared ([`RaceCheck`]).
#![allow(unsafe_code)]

use std::cell::Cell;
use std::marker::PhantomData;

use turntile_simd::{
    self as simd, BlockShape, Byte, CopyJob, PrefetchCursor, ReversedRows, SquareSwap,
};

use crate::race_check::{RaceCheck, WorkerId};
use crate::strided::{Strided, count};

/// Bytes that workers share. Positions are byte offsets into the matrix; offsets past its end are
/// in the side buffer.
pub struct SharedBytes<'a> {
    memory: Memory,
    race_check: RaceCheck,
    life: PhantomData<&'a mut [Byte]>,
}

// SAFETY: this is one or two `&mut [Byte]`. Bytes have no thread affinity. By the promise of
// `worker`, no two threads access the same byte at once.
unsafe impl Sync for SharedBytes<'_> {}

/// The matrix and the side buffer.
#[derive(Clone, Copy)]
struct Memory {
    start: *mut Byte,
    len: usize,
    side: *mut Byte,
    side_len: usize,
}

/// Access of one thread to shared bytes.
pub struct Worker<'a> {
    memory: Memory,
    /// Registration in the race check, or `None` for the only worker.
    registration: Option<(&'a RaceCheck, WorkerId)>,
    nontemporal: Cell<bool>,
}

impl<'a> SharedBytes<'a> {
    /// Shares the bytes of a matrix.
    pub fn new(data: &'a mut [Byte]) -> Self {
        SharedBytes::with_side_buffer(data, &mut [])
    }

    /// Shares the bytes of a matrix and of a side buffer.
    pub fn with_side_buffer(data: &'a mut [Byte], side: &'a mut [Byte]) -> Self {
        let memory = Memory {
            start: data.as_mut_ptr(),
            len: data.len(),
            side: side.as_mut_ptr(),
            side_len: side.len(),
        };
        SharedBytes {
            memory,
            race_check: RaceCheck::new(data.len() + side.len()),
            life: PhantomData,
        }
    }

    /// Creates the only worker of the bytes.
    #[cfg(test)]
    pub fn only_worker(&mut self) -> Worker<'_> {
        Worker { memory: self.memory, registration: None, nontemporal: Cell::new(false) }
    }

    /// Creates one of several workers.
    ///
    /// # Safety
    /// No byte that this worker reads or writes is touched by another thread's worker of the same
    /// memory during its life. Two workers may touch the same byte if the first is dropped before
    /// the second is made. The second worker's thread must then synchronise with that drop (through
    /// a flag, or through the end of a scope).
    pub unsafe fn worker(&self) -> Worker<'_> {
        let registration = Some((&self.race_check, self.race_check.enter()));
        Worker { memory: self.memory, registration, nontemporal: Cell::new(false) }
    }
}

impl Drop for Worker<'_> {
    #[inline(always)]
    fn drop(&mut self) {
        if self.nontemporal.get() {
            simd::fence();
        }
        if let Some((race_check, id)) = &self.registration {
            race_check.leave(id);
        }
    }
}

/// Every method except [`address`](Worker::address) panics if a span is neither inside the matrix
/// nor inside the side buffer, if two spans overlap that must not, or if a buffer is too short.
impl Worker<'_> {
    /// Returns the address of the byte at `at`, for prefetching. Offsets past the end are allowed.
    #[inline(always)]
    pub fn address(&self, at: usize) -> *const Byte {
        let Memory { start, len, side, .. } = self.memory;
        match at.checked_sub(len) {
            None => start.wrapping_add(at),
            Some(at) => side.wrapping_add(at),
        }
    }

    /// Checks that `bytes` bytes at `at` are in bounds and returns their address.
    #[inline(always)]
    fn span(&self, at: usize, bytes: usize) -> *mut Byte {
        let Memory { start, len, side, side_len } = self.memory;
        match at.checked_sub(len) {
            None => {
                assert!(bytes <= len - at, "span exceeds the matrix");
                // SAFETY: in bounds of the slice that `start` was made from, as checked above.
                unsafe { start.add(at) }
            }
            Some(at) => {
                assert!(at <= side_len && bytes <= side_len - at, "span exceeds the side buffer");
                // SAFETY: in bounds of the slice that `side` was made from, as checked above.
                unsafe { side.add(at) }
            }
        }
    }

    /// With debug assertions, records that this worker touches the bytes. Panics if another worker
    /// at work has touched them.
    #[inline(always)]
    fn touch(&self, at: usize, bytes: usize) {
        if cfg!(debug_assertions) {
            self.touch_rows(Strided { at, rows: 1, bytes, pitch: bytes });
        }
    }

    #[inline(always)]
    fn touch_rows(&self, rows: Strided) {
        if cfg!(debug_assertions)
            && let Some((race_check, id)) = &self.registration
        {
            (0..rows.rows).for_each(|r| {
                let at = rows.at + r * rows.pitch;
                race_check.touch(id, at..at + rows.bytes);
            });
        }
    }

    /// Swaps the spans of `bytes` bytes at offsets `a` and `b`.
    #[inline(always)]
    pub fn swap(&self, a: usize, b: usize, bytes: usize) {
        assert!(a.abs_diff(b) >= bytes, "spans overlap");
        let (first, second) = (self.span(a, bytes), self.span(b, bytes));
        self.touch(a, bytes);
        self.touch(b, bytes);
        // SAFETY: both are in bounds and disjoint. They belong to this worker, as its creator
        // promised.
        unsafe { std::ptr::swap_nonoverlapping(first, second, bytes) };
    }

    /// Swaps rows of units of `unit_bytes` bytes at offsets `a` and `b`, each row in reverse order.
    #[inline]
    pub fn swap_reversed(&self, a: usize, b: usize, rows: ReversedRows, unit_bytes: usize) {
        let ReversedRows { rows: count, pitch, .. } = rows;
        let strided =
            |at| Strided { at, rows: count, bytes: self::count(rows.count, unit_bytes), pitch };
        let [first, second] = [strided(a), strided(b)];
        assert!(first.disjoint(&second), "rows overlap");
        let (a, b) = (self.span(a, first.len()), self.span(b, second.len()));
        self.touch_rows(first);
        self.touch_rows(second);
        // SAFETY: both are in bounds and share no byte. They belong to this worker, as its creator
        // promised.
        unsafe { simd::swap_reversed_raw(a, b, rows, unit_bytes) };
    }

    /// Copies the span at offset `at` to the buffer `to`.
    #[inline]
    pub fn read(&self, at: usize, to: &mut [Byte]) {
        let from = self.span(at, to.len());
        self.touch(at, to.len());
        // SAFETY: in bounds, and this worker's, as its creator promised. `to` is borrowed
        // exclusively and so is the memory, so they cannot overlap.
        unsafe { to.as_mut_ptr().copy_from_nonoverlapping(from, to.len()) };
    }

    /// Copies the buffer `from` to the span at offset `at`.
    #[inline]
    pub fn write(&self, at: usize, from: &[Byte]) {
        let to = self.span(at, from.len());
        self.touch(at, from.len());
        // SAFETY: in bounds, and this worker's, as its creator promised. `from` cannot overlap the
        // memory, which is borrowed exclusively.
        unsafe { to.copy_from_nonoverlapping(from.as_ptr(), from.len()) };
    }

    /// Copies `rows` contiguous rows of `bytes` bytes from a buffer to spans `pitch` bytes apart,
    /// the first at `at`.
    #[inline]
    pub fn write_rows(&self, at: usize, pitch: usize, from: &[Byte], bytes: usize, rows: usize) {
        let (to, start) = self.rows(at, pitch, from, bytes, rows);
        for k in 0..rows {
            // SAFETY: `self.rows` checked that rows of `from` and of the span are in bounds. The
            // span is this worker's, and `from` cannot overlap the exclusively borrowed memory.
            unsafe { to.add(k * pitch).copy_from_nonoverlapping(start.add(k * bytes), bytes) };
        }
    }

    /// Copies rows like [`write_rows`](Self::write_rows), with nontemporal stores.
    #[inline]
    pub fn stream_rows(&self, at: usize, pitch: usize, from: &[Byte], bytes: usize, rows: usize) {
        let (to, _) = self.rows(at, pitch, from, bytes, rows);
        self.nontemporal.set(true);
        for k in 0..rows {
            // SAFETY: `self.rows` checked the bounds; the span is this worker's. Dropping the
            // worker issues a fence before another thread can learn of it.
            unsafe { simd::copy_nontemporal(&from[k * bytes..][..bytes], to.add(k * pitch)) };
        }
    }

    /// Checks the rows to be written and their sources. Returns the addresses of the first
    /// destination row and of `from`.
    #[inline(always)]
    fn rows(
        &self,
        at: usize,
        pitch: usize,
        from: &[Byte],
        bytes: usize,
        rows: usize,
    ) -> (*mut Byte, *const Byte) {
        assert!(count(rows, bytes) <= from.len(), "rows exceed their buffer");
        let rows = Strided { at, rows, bytes, pitch };
        let to = self.span(at, rows.len());
        self.touch_rows(rows);
        (to, from.as_ptr())
    }

    /// Copies spans of `bytes` bytes, each given by the offsets `[from, to, ahead]`, in order.
    /// Meanwhile prefetches `bytes` bytes at each `ahead`. `jobs` is a buffer for at least
    /// `moves.len()` jobs.
    #[inline(always)]
    pub fn copy(
        &self,
        moves: impl ExactSizeIterator<Item = [usize; 3]>,
        bytes: usize,
        jobs: &mut [CopyJob],
    ) {
        let jobs = &mut jobs[..moves.len()];
        for (job, [from, to, ahead]) in jobs.iter_mut().zip(moves) {
            assert!(from.abs_diff(to) >= bytes, "spans overlap");
            let ahead = self.address(ahead);
            *job = CopyJob { from: self.span(from, bytes), to: self.span(to, bytes), ahead };
            self.touch(from, bytes);
            self.touch(to, bytes);
        }
        // SAFETY: each span is in bounds of the matrix or of the side buffer, and source and
        // destination do not overlap. All belong to this worker, as its creator promised.
        unsafe { simd::copy_jobs_raw(jobs, bytes) };
    }

    /// Transposes a block of elements of `elem_bytes` bytes from offset `from` to offset `to`.
    #[inline]
    pub fn transpose(&self, from: usize, to: usize, block: BlockShape, elem_bytes: usize) {
        let (source, dest) = Strided::of(from, to, block, elem_bytes);
        assert!(source.disjoint(&dest), "blocks overlap");
        let (from, to) = (self.span(from, source.len()), self.span(to, dest.len()));
        self.touch_rows(source);
        self.touch_rows(dest);
        // SAFETY: both are in bounds and share no element. They belong to this worker, as its
        // creator promised.
        unsafe { simd::transpose_raw(from, to, block, elem_bytes) };
    }

    /// Transposes a block at offset `from` into a buffer.
    #[inline]
    pub fn read_transposed(
        &self,
        from: usize,
        to: &mut [Byte],
        block: BlockShape,
        elem_bytes: usize,
    ) {
        let (source, dest) = Strided::of(from, 0, block, elem_bytes);
        assert!(dest.len() <= to.len(), "block exceeds its buffer");
        let from = self.span(from, source.len());
        self.touch_rows(source);
        // SAFETY: in bounds, and this worker's, as its creator promised. `to` cannot overlap the
        // exclusively borrowed memory.
        unsafe { simd::transpose_raw(from, to.as_mut_ptr(), block, elem_bytes) };
    }

    /// Transposes a block of a buffer to offset `to`.
    #[inline]
    pub fn write_transposed(&self, from: &[Byte], to: usize, block: BlockShape, elem_bytes: usize) {
        let (source, dest) = Strided::of(0, to, block, elem_bytes);
        assert!(source.len() <= from.len(), "block exceeds its buffer");
        let to = self.span(to, dest.len());
        self.touch_rows(dest);
        // SAFETY: in bounds, and this worker's, as its creator promised. `from` cannot overlap the
        // exclusively borrowed memory.
        unsafe { simd::transpose_raw(from.as_ptr(), to, block, elem_bytes) };
    }

    /// Transposes a block from offset `from` to offset `to`, and reverses the rows of the result if
    /// `flips[0]`, and its columns if `flips[1]`.
    #[inline]
    pub fn turn(
        &self,
        from: usize,
        to: usize,
        block: BlockShape,
        elem_bytes: usize,
        flips: [bool; 2],
    ) {
        let (source, dest) = Strided::of(from, to, block, elem_bytes);
        assert!(source.disjoint(&dest), "blocks overlap");
        let (from, to) = (self.span(from, source.len()), self.span(to, dest.len()));
        self.touch_rows(source);
        self.touch_rows(dest);
        // SAFETY: both are in bounds and share no element. They belong to this worker, as its
        // creator promised.
        unsafe { simd::turn_raw(from, to, block, elem_bytes, flips) };
    }

    /// Transposes a block of a buffer to offset `to`, with reversals like [`turn`](Self::turn).
    #[inline]
    pub fn write_turned(
        &self,
        from: &[Byte],
        to: usize,
        block: BlockShape,
        elem_bytes: usize,
        flips: [bool; 2],
    ) {
        let (source, dest) = Strided::of(0, to, block, elem_bytes);
        assert!(source.len() <= from.len(), "block exceeds its buffer");
        let to = self.span(to, dest.len());
        self.touch_rows(dest);
        // SAFETY: in bounds, and this worker's, as its creator promised. `from` cannot overlap the
        // exclusively borrowed memory.
        unsafe { simd::turn_raw(from.as_ptr(), to, block, elem_bytes, flips) };
    }

    /// Returns a swapper for squares of `side` elements of `elem_bytes` bytes, in rows `pitch`
    /// bytes apart. Returns `None` if no kernel supports that size.
    pub fn squares(
        &self,
        pitch: usize,
        side: usize,
        elem_bytes: usize,
    ) -> Option<SquareSwapper<'_>> {
        let swap = SquareSwap::new(side, elem_bytes)?;
        let square = Strided { at: 0, rows: side, bytes: count(side, elem_bytes), pitch };
        let len = square.len();
        let last_offset = self.memory.len.checked_sub(len).expect("square exceeds the matrix");
        Some(SquareSwapper { worker: self, swap, square, len, last_offset })
    }
}

/// Swaps squares of a matrix. Checks that apply to all squares are made once, on creation.
pub struct SquareSwapper<'a> {
    worker: &'a Worker<'a>,
    swap: SquareSwap,
    /// Rows of a square at offset 0.
    square: Strided,
    len: usize,
    /// Largest byte offset at which a square fits into the matrix.
    last_offset: usize,
}

impl SquareSwapper<'_> {
    /// Returns the side of a square, in elements.
    #[inline(always)]
    pub fn side(&self) -> usize {
        self.swap.side()
    }

    /// Swaps the squares at two offsets of the matrix and transposes each. If the offsets are
    /// equal, transposes the square in place. Meanwhile prefetches the next cache lines of `lines`,
    /// the same number as the squares have.
    ///
    /// # Panics
    /// If a square is not inside the matrix, or if two different squares overlap.
    #[inline(always)]
    pub fn swap(&self, [a, b]: [usize; 2], lines: &mut PrefetchCursor) {
        assert!(a <= self.last_offset && b <= self.last_offset, "squares exceed the matrix");
        let (upper, lower) = (Strided { at: a, ..self.square }, Strided { at: b, ..self.square });
        let disjoint = a == b || a.abs_diff(b) >= self.len || upper.disjoint(&lower);
        assert!(disjoint, "squares overlap");
        self.worker.touch_rows(upper);
        self.worker.touch_rows(lower);
        let start = self.worker.memory.start;
        // SAFETY: both are in bounds, as checked above, and identical or disjoint. They belong to
        // the worker, as its creator promised.
        unsafe { self.swap.swap_raw([start.add(a), start.add(b)], self.square.pitch, lines) };
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn numbered() -> Vec<Byte> {
        (0..64).map(Byte::new).collect()
    }

    /// Checks that every call panics if it leaves the memory, or if spans overlap that must be
    /// disjoint.
    #[test]
    fn calls_panic_when_spans_are_out_of_bounds_or_overlap() {
        let panics = |call: &dyn Fn(&Worker)| {
            let (mut data, mut side) = (numbered(), numbered());
            let mut shared = SharedBytes::with_side_buffer(&mut data, &mut side[..10]);
            let worker = shared.only_worker();
            std::panic::catch_unwind(std::panic::AssertUnwindSafe(|| call(&worker))).is_err()
        };
        let block = |rows, from_pitch| BlockShape { rows, cols: 2, from_pitch, to_pitch: rows };
        let buffer = || [Byte::new(0); 16];
        let copy = |w: &Worker, from, to| {
            w.copy([[from, to, 0]].into_iter(), 8, &mut [CopyJob::default()])
        };
        let valid: &[&dyn Fn(&Worker)] = &[
            &|w| w.swap(0, 56, 8),
            &|w| w.read(48, &mut buffer()),
            &|w| w.write(48, &buffer()),
            &|w| w.write_rows(50, 6, &buffer(), 2, 3),
            &|w| w.stream_rows(50, 6, &buffer(), 2, 3),
            &|w| w.write_rows(64, 8, &buffer(), 2, 2),
            &|w| w.write_rows(64, usize::MAX, &buffer(), 9, 0),
            &|w| copy(w, 56, 64),
            &|w| copy(w, 66, 48),
            &|w| w.transpose(0, 16, block(8, 2), 1),
            &|w| w.transpose(40, 64, block(4, 7), 1),
            &|w| w.read_transposed(48, &mut buffer(), block(8, 2), 1),
            &|w| w.write_transposed(&buffer(), 48, block(8, 2), 1),
            &|w| w.turn(0, 16, block(8, 2), 1, [true; 2]),
            &|w| w.write_turned(&buffer(), 48, block(8, 2), 1, [true; 2]),
            &|w| _ = w.address(usize::MAX),
        ];
        for (k, call) in valid.iter().enumerate() {
            assert!(!panics(call), "call {k} panicked");
        }
        let invalid: &[&dyn Fn(&Worker)] = &[
            &|w| w.swap(0, 57, 8),
            &|w| w.swap(0, 7, 8),
            &|w| w.swap(usize::MAX, 0, 8),
            &|w| w.read(49, &mut buffer()),
            &|w| w.read(64, &mut buffer()),
            &|w| w.write(49, &buffer()),
            &|w| w.write(60, &buffer()),
            &|w| w.write_rows(51, 6, &buffer(), 2, 3),
            &|w| w.write_rows(0, 6, &buffer(), 6, 3),
            &|w| w.write_rows(64, 9, &buffer(), 2, 2),
            &|w| w.write_rows(0, usize::MAX / 2 + 1, &buffer(), 1, 3),
            &|w| w.stream_rows(51, 6, &buffer(), 2, 3),
            &|w| w.stream_rows(0, 6, &buffer(), 6, 3),
            &|w| copy(w, 57, 0),
            &|w| copy(w, 0, 67),
            &|w| copy(w, 0, 7),
            &|w| w.transpose(0, 15, block(8, 2), 1),
            &|w| w.transpose(0, 49, block(8, 2), 1),
            &|w| w.transpose(0, 48, block(3, usize::MAX / 2 + 1), 1),
            &|w| w.read_transposed(49, &mut buffer(), block(8, 2), 1),
            &|w| w.read_transposed(0, &mut buffer()[..15], block(8, 2), 1),
            &|w| w.write_transposed(&buffer(), 49, block(8, 2), 1),
            &|w| w.write_transposed(&buffer()[..15], 0, block(8, 2), 1),
            &|w| w.turn(0, 15, block(8, 2), 1, [true; 2]),
            &|w| w.turn(0, 49, block(8, 2), 1, [true; 2]),
            &|w| w.write_turned(&buffer(), 49, block(8, 2), 1, [true; 2]),
            &|w| w.write_turned(&buffer()[..15], 0, block(8, 2), 1, [true; 2]),
        ];
        for (k, call) in invalid.iter().enumerate() {
            assert!(panics(call), "call {k} did not panic");
        }
    }

    /// Checks swaps of squares of 16 x 16 elements of 4 bytes, two side by side, in a matrix of 33
    /// rows.
    #[test]
    fn square_swap_panics_when_squares_are_out_of_bounds_or_overlap() {
        let swaps = |offsets: [usize; 2], pitch: usize| {
            let mut data = vec![Byte::new(0); 33 * 128];
            let mut shared = SharedBytes::new(&mut data);
            let worker = shared.only_worker();
            let swap = || {
                let mut lines =
                    PrefetchCursor::new(simd::StridedRegion::NONE, simd::StridedRegion::NONE);
                let squares = worker.squares(pitch, 16, 4);
                squares.expect("a kernel").swap(offsets, &mut lines);
            };
            std::panic::catch_unwind(std::panic::AssertUnwindSafe(swap)).is_ok()
        };
        // If no kernel swaps squares of this size, every call fails.
        let some = SquareSwap::new(16, 4).is_some();
        for valid in [[0, 64], [0, 0], [64, 16 * 128], [16 * 128, 0], [17 * 128 + 64; 2]] {
            assert_eq!(swaps(valid, 128), some, "{valid:?}");
        }
        for invalid in [[0, 60], [0, 15 * 128], [60, 0], [17 * 128 + 65; 2], [0, usize::MAX]] {
            assert!(!swaps(invalid, 128), "{invalid:?}");
        }
        for pitch in [300, usize::MAX / 2, usize::MAX / 15 + 1] {
            assert!(!swaps([0, 0], pitch), "{pitch}");
        }
    }

    /// Checks that a worker records nontemporal stores, so that dropping it fences them for other
    /// threads.
    #[test]
    fn worker_fences_on_drop_after_nontemporal_stores() {
        let (mut data, rows) = (numbered(), numbered());
        let mut shared = SharedBytes::new(&mut data);
        let worker = shared.only_worker();
        worker.write_rows(0, 8, &rows, 2, 3);
        assert!(!worker.nontemporal.get());
        worker.stream_rows(32, 8, &rows, 2, 3);
        assert!(worker.nontemporal.get());
    }

    #[test]
    #[cfg(debug_assertions)]
    #[should_panic(expected = "byte 8 of workers")]
    fn race_check_panics_when_two_workers_touch_a_byte() {
        let mut data = numbered();
        let shared = SharedBytes::new(&mut data);
        // SAFETY: both workers belong to this thread.
        let [one, two] = unsafe { [shared.worker(), shared.worker()] };
        one.swap(0, 8, 8);
        two.write(8, &[Byte::new(0)]);
    }
}
