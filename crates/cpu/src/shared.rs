//! Memory that several workers move bytes within, each its own.
//!
//! What a worker does is checked but for one thing, which index maps say and no count of threads changes: that the
//! bytes it touches are its own. Whoever makes it promises that, once and for all its calls
//! ([`SharedBytes::worker`]); debug assertions compare what workers touch ([`RaceCheck`]). Every span is checked
//! against the memory's length before its pointer is made, and no reference to shared bytes leaves this file.
#![allow(unsafe_code)]

use std::cell::Cell;
use std::marker::PhantomData;

use turntile_simd::{self as simd, BlockShape, Byte, CopyJob, PrefetchCursor, SquareSwap};

use crate::race_check::{RaceCheck, WorkerId};
use crate::strided::{Strided, count};

/// Bytes that workers share. Places are byte offsets: in the matrix, or beyond its end in what is kept beside it.
pub struct SharedBytes<'a> {
    memory: Memory,
    claims: RaceCheck,
    life: PhantomData<&'a mut [Byte]>,
}

// SAFETY: it is a `&mut [Byte]` or two in parts; bytes have no thread affinity, and which worker touches which of
// them is settled by the promise of `worker`.
unsafe impl Sync for SharedBytes<'_> {}

/// The matrix, and what is kept.
#[derive(Clone, Copy)]
struct Memory {
    start: *mut Byte,
    len: usize,
    kept: *mut Byte,
    kept_len: usize,
}

/// What one thread does with shared bytes.
pub struct Worker<'a> {
    memory: Memory,
    /// None when it is alone.
    claim: Option<(&'a RaceCheck, WorkerId)>,
    streamed: Cell<bool>,
}

impl<'a> SharedBytes<'a> {
    /// A matrix.
    pub fn new(data: &'a mut [Byte]) -> Self {
        SharedBytes::with_kept(data, &mut [])
    }

    /// A matrix, with what is kept beside it.
    pub fn with_kept(data: &'a mut [Byte], kept: &'a mut [Byte]) -> Self {
        let memory = Memory {
            start: data.as_mut_ptr(),
            len: data.len(),
            kept: kept.as_mut_ptr(),
            kept_len: kept.len(),
        };
        SharedBytes { memory, claims: RaceCheck::new(data.len() + kept.len()), life: PhantomData }
    }

    /// The one worker there is.
    #[cfg(test)]
    pub fn alone(&mut self) -> Worker<'_> {
        Worker { memory: self.memory, claim: None, streamed: Cell::new(false) }
    }

    /// One of several workers.
    ///
    /// # Safety
    /// No byte that it touches, to read it or to write it, is touched by another thread's worker of the same
    /// memory, unless that one has been dropped before it was made, or is made after it has been dropped, and
    /// the later one's thread knows of it (by a flag, or by the end of a scope).
    pub unsafe fn worker(&self) -> Worker<'_> {
        let claim = Some((&self.claims, self.claims.enter()));
        Worker { memory: self.memory, claim, streamed: Cell::new(false) }
    }
}

impl Drop for Worker<'_> {
    #[inline(always)]
    fn drop(&mut self) {
        if self.streamed.get() {
            simd::fence();
        }
        if let Some((claims, claimant)) = &self.claim {
            claims.leave(claimant);
        }
    }
}

/// Every method but [`address`](Worker::address) panics when a span is not within the matrix or within what is kept, or when spans
/// overlap that must not.
impl Worker<'_> {
    /// Where the byte at `at` lies, or would; to ask for its line.
    #[inline(always)]
    pub fn address(&self, at: usize) -> *const Byte {
        let Memory { start, len, kept, .. } = self.memory;
        match at.checked_sub(len) {
            None => start.wrapping_add(at),
            Some(at) => kept.wrapping_add(at),
        }
    }

    /// The start of `bytes` bytes at `at`, checked.
    #[inline(always)]
    fn span(&self, at: usize, bytes: usize) -> *mut Byte {
        let Memory { start, len, kept, kept_len } = self.memory;
        match at.checked_sub(len) {
            None => {
                assert!(bytes <= len - at, "a span lies in the matrix");
                // SAFETY: in bounds of the slice that `start` was made from, by the lines above.
                unsafe { start.add(at) }
            }
            Some(at) => {
                assert!(at <= kept_len && bytes <= kept_len - at, "a span lies in what is kept");
                // SAFETY: in bounds of the slice that `kept` was made from, by the line above.
                unsafe { kept.add(at) }
            }
        }
    }

    /// Bytes are touched: compared with what other workers have touched.
    #[inline(always)]
    fn touch(&self, at: usize, bytes: usize) {
        if cfg!(debug_assertions) {
            self.touch_rows(Strided { at, rows: 1, bytes, pitch: bytes });
        }
    }

    #[inline(always)]
    fn touch_rows(&self, rows: Strided) {
        if cfg!(debug_assertions)
            && let Some((claims, claimant)) = &self.claim
        {
            (0..rows.rows).for_each(|r| {
                let at = rows.at + r * rows.pitch;
                claims.touch(claimant, at..at + rows.bytes);
            });
        }
    }

    /// Swaps two spans.
    #[inline(always)]
    pub fn swap(&self, a: usize, b: usize, bytes: usize) {
        assert!(a.abs_diff(b) >= bytes, "spans do not overlap");
        let (first, second) = (self.span(a, bytes), self.span(b, bytes));
        self.touch(a, bytes);
        self.touch(b, bytes);
        // SAFETY: both are in bounds and apart, and this worker's by the promise of its maker.
        unsafe { std::ptr::swap_nonoverlapping(first, second, bytes) };
    }

    /// Copies a span to `to`.
    #[inline]
    pub fn read(&self, at: usize, to: &mut [Byte]) {
        let from = self.span(at, to.len());
        self.touch(at, to.len());
        // SAFETY: in bounds, and this worker's by the promise of its maker; `to` is borrowed exclusively, as
        // the memory is.
        unsafe { to.as_mut_ptr().copy_from_nonoverlapping(from, to.len()) };
    }

    /// Copies `from` to a span.
    #[inline]
    pub fn write(&self, at: usize, from: &[Byte]) {
        let to = self.span(at, from.len());
        self.touch(at, from.len());
        // SAFETY: as above; `from` is none of the memory, which is borrowed exclusively.
        unsafe { to.copy_from_nonoverlapping(from.as_ptr(), from.len()) };
    }

    /// Copies `rows` rows of `bytes` bytes to spans `pitch` bytes apart, the first at `at`.
    #[inline]
    pub fn write_rows(&self, at: usize, pitch: usize, from: &[Byte], bytes: usize, rows: usize) {
        let (to, start) = self.rows(at, pitch, from, bytes, rows);
        for k in 0..rows {
            // SAFETY: rows of `from` and of the span, both in bounds by the line above; as above.
            unsafe { to.add(k * pitch).copy_from_nonoverlapping(start.add(k * bytes), bytes) };
        }
    }

    /// The same past the caches.
    #[inline]
    pub fn stream_rows(&self, at: usize, pitch: usize, from: &[Byte], bytes: usize, rows: usize) {
        let (to, _) = self.rows(at, pitch, from, bytes, rows);
        self.streamed.set(true);
        for k in 0..rows {
            // SAFETY: as above; there is a fence before another thread can know that this worker is dropped.
            unsafe { simd::copy_nontemporal(&from[k * bytes..][..bytes], to.add(k * pitch)) };
        }
    }

    /// The starts of rows to be written and of those that they are copies of, all checked.
    #[inline(always)]
    fn rows(
        &self,
        at: usize,
        pitch: usize,
        from: &[Byte],
        bytes: usize,
        rows: usize,
    ) -> (*mut Byte, *const Byte) {
        assert!(count(rows, bytes) <= from.len(), "rows lie in their buffer");
        let rows = Strided { at, rows, bytes, pitch };
        let to = self.span(at, rows.len());
        self.touch_rows(rows);
        (to, from.as_ptr())
    }

    /// Copies spans of `bytes` bytes, each `[from, to, ahead]`, one after the other, and asks for as many bytes at
    /// `ahead` meanwhile. `transfers` is room for as many as there are.
    #[inline(always)]
    pub fn copy(
        &self,
        moves: impl ExactSizeIterator<Item = [usize; 3]>,
        bytes: usize,
        transfers: &mut [CopyJob],
    ) {
        let transfers = &mut transfers[..moves.len()];
        for (transfer, [from, to, ahead]) in transfers.iter_mut().zip(moves) {
            assert!(from.abs_diff(to) >= bytes, "spans do not overlap");
            let ahead = self.address(ahead);
            *transfer = CopyJob { from: self.span(from, bytes), to: self.span(to, bytes), ahead };
            self.touch(from, bytes);
            self.touch(to, bytes);
        }
        // SAFETY: each is in bounds of one memory or the other, does not overlap in it, and is this worker's by the
        // promise of its maker.
        unsafe { simd::copy_transfers_raw(transfers, bytes) };
    }

    /// Transposes a block of elements of `elem_bytes` bytes from one place to another.
    #[inline]
    pub fn transpose(&self, from: usize, to: usize, block: BlockShape, elem_bytes: usize) {
        let (source, dest) = Strided::of(from, to, block, elem_bytes);
        assert!(source.apart(&dest), "blocks do not overlap");
        let (from, to) = (self.span(from, source.len()), self.span(to, dest.len()));
        self.touch_rows(source);
        self.touch_rows(dest);
        // SAFETY: both are in bounds and share no element, and are this worker's by the promise of its maker.
        unsafe { simd::transpose_raw(from, to, block, elem_bytes) };
    }

    /// The same to a buffer.
    #[inline]
    pub fn read_transposed(
        &self,
        from: usize,
        to: &mut [Byte],
        block: BlockShape,
        elem_bytes: usize,
    ) {
        let (source, dest) = Strided::of(from, 0, block, elem_bytes);
        assert!(dest.len() <= to.len(), "a block fits its buffer");
        let from = self.span(from, source.len());
        self.touch_rows(source);
        // SAFETY: as above; `to` is borrowed exclusively, as the memory is.
        unsafe { simd::transpose_raw(from, to.as_mut_ptr(), block, elem_bytes) };
    }

    /// The same from a buffer.
    #[inline]
    pub fn write_transposed(&self, from: &[Byte], to: usize, block: BlockShape, elem_bytes: usize) {
        let (source, dest) = Strided::of(0, to, block, elem_bytes);
        assert!(source.len() <= from.len(), "a block lies in its buffer");
        let to = self.span(to, dest.len());
        self.touch_rows(dest);
        // SAFETY: as above; `from` is none of the memory, which is borrowed exclusively.
        unsafe { simd::transpose_raw(from.as_ptr(), to, block, elem_bytes) };
    }

    /// A way to have squares of `side` elements of `elem_bytes` bytes change places, in rows `pitch` bytes apart, if a
    /// kernel has one.
    pub fn squares(
        &self,
        pitch: usize,
        side: usize,
        elem_bytes: usize,
    ) -> Option<SquareSwapper<'_>> {
        let swap = SquareSwap::of(side, elem_bytes)?;
        let square = Strided { at: 0, rows: side, bytes: count(side, elem_bytes), pitch };
        let len = square.len();
        let last = self.memory.len.checked_sub(len).expect("a square fits the matrix");
        Some(SquareSwapper { worker: self, swap, square, len, last })
    }
}

/// Squares of a matrix that change places; what is the same for all of them is checked once.
pub struct SquareSwapper<'a> {
    worker: &'a Worker<'a>,
    swap: SquareSwap,
    /// One that begins at 0.
    square: Strided,
    len: usize,
    /// Where the last one may begin.
    last: usize,
}

impl SquareSwapper<'_> {
    /// Elements of a side.
    #[inline(always)]
    pub fn side(&self) -> usize {
        self.swap.side()
    }

    /// The squares at two places of the matrix change places, each transposed, or one is transposed in its own
    /// place when both are the same. As many `lines` are asked for as are worked on.
    ///
    /// # Panics
    /// When one is not within the matrix, or they overlap.
    #[inline(always)]
    pub fn swap(&self, [a, b]: [usize; 2], lines: &mut PrefetchCursor) {
        assert!(a <= self.last && b <= self.last, "squares lie in the matrix");
        let (upper, lower) = (Strided { at: a, ..self.square }, Strided { at: b, ..self.square });
        let apart = a == b || a.abs_diff(b) >= self.len || upper.apart(&lower);
        assert!(apart, "squares do not overlap");
        self.worker.touch_rows(upper);
        self.worker.touch_rows(lower);
        let start = self.worker.memory.start;
        // SAFETY: both are in bounds, by the lines above, the same or apart, and the worker's by the promise of its
        // maker.
        unsafe { self.swap.swap_raw([start.add(a), start.add(b)], self.square.pitch, lines) };
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn numbered() -> Vec<Byte> {
        (0..64).map(Byte::new).collect()
    }

    /// Every call that reaches out of the memory, or makes what overlaps of what must not, is refused.
    #[test]
    fn no_call_reaches_out_of_the_memory() {
        let refused = |call: &dyn Fn(&Worker)| {
            let (mut data, mut kept) = (numbered(), numbered());
            let mut shared = SharedBytes::with_kept(&mut data, &mut kept[..10]);
            let worker = shared.alone();
            std::panic::catch_unwind(std::panic::AssertUnwindSafe(|| call(&worker))).is_err()
        };
        let block = |rows, from_pitch| BlockShape { rows, cols: 2, from_pitch, to_pitch: rows };
        let buffer = || [Byte::new(0); 16];
        let copy = |w: &Worker, from, to| {
            w.copy([[from, to, 0]].into_iter(), 8, &mut [CopyJob::default()])
        };
        let fine: &[&dyn Fn(&Worker)] = &[
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
            &|w| _ = w.address(usize::MAX),
        ];
        for (k, call) in fine.iter().enumerate() {
            assert!(!refused(call), "call {k} is fine");
        }
        let wrong: &[&dyn Fn(&Worker)] = &[
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
        ];
        for (k, call) in wrong.iter().enumerate() {
            assert!(refused(call), "call {k} is refused");
        }
    }

    /// Squares of 16 elements of 4 bytes, two side by side in a matrix of 33 rows.
    #[test]
    fn squares_lie_in_the_matrix_and_apart() {
        let swaps = |places: [usize; 2], pitch: usize| {
            let mut data = vec![Byte::new(0); 33 * 128];
            let mut shared = SharedBytes::new(&mut data);
            let worker = shared.alone();
            let swap = || {
                let mut lines =
                    PrefetchCursor::new(simd::StridedRegion::NONE, simd::StridedRegion::NONE);
                let squares = worker.squares(pitch, 16, 4);
                squares.expect("a kernel").swap(places, &mut lines);
            };
            std::panic::catch_unwind(std::panic::AssertUnwindSafe(swap)).is_ok()
        };
        // Where no kernel swaps squares nothing is to be refused.
        let some = SquareSwap::of(16, 4).is_some();
        for fine in [[0, 64], [0, 0], [64, 16 * 128], [16 * 128, 0], [17 * 128 + 64; 2]] {
            assert_eq!(swaps(fine, 128), some, "{fine:?}");
        }
        for wrong in [[0, 60], [0, 15 * 128], [60, 0], [17 * 128 + 65; 2], [0, usize::MAX]] {
            assert!(!swaps(wrong, 128), "{wrong:?}");
        }
        for pitch in [300, usize::MAX / 2, usize::MAX / 15 + 1] {
            assert!(!swaps([0, 0], pitch), "{pitch}");
        }
    }

    /// What was written past the caches is fenced when its worker is dropped, which others may know from then on.
    #[test]
    fn rows_written_past_the_caches_are_to_be_fenced() {
        let (mut data, rows) = (numbered(), numbered());
        let mut shared = SharedBytes::new(&mut data);
        let worker = shared.alone();
        worker.write_rows(0, 8, &rows, 2, 3);
        assert!(!worker.streamed.get());
        worker.stream_rows(32, 8, &rows, 2, 3);
        assert!(worker.streamed.get());
    }

    #[test]
    #[cfg(debug_assertions)]
    #[should_panic(expected = "byte 8 of workers")]
    fn workers_that_share_a_byte_are_found() {
        let mut data = numbered();
        let shared = SharedBytes::new(&mut data);
        // SAFETY: of this thread both.
        let [one, two] = unsafe { [shared.worker(), shared.worker()] };
        one.swap(0, 8, 8);
        two.write(8, &[Byte::new(0)]);
    }
}
