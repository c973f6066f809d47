//! What is done to elements in the pass that brings them to their places, while they are in the caches.

use turntile_simd::Byte;

use crate::shared::Worker;

/// Something done to every element in its place: called with whole elements of the data, some at a time, in any order
/// and from several threads.
#[derive(Clone, Copy)]
pub struct Epilogue<'a> {
    work: &'a (dyn Fn(&mut [Byte]) + Sync),
}

/// Bytes that are worked on at a time.
const PIECE: usize = 2 << 10;

impl<'a> Epilogue<'a> {
    /// By `work`, of elements of `elem_bytes` bytes; none where pieces do not hold them whole, as they do those of 1, 2,
    /// 4, 8 and 16 bytes.
    pub fn new(elem_bytes: usize, work: &'a (dyn Fn(&mut [Byte]) + Sync)) -> Option<Self> {
        PIECE.is_multiple_of(elem_bytes).then_some(Epilogue { work })
    }

    /// Finishes `bytes` bytes at `at`.
    pub fn row(&self, worker: &Worker, at: usize, bytes: usize) {
        let mut piece = [Byte::uninit(); PIECE];
        for start in (0..bytes).step_by(PIECE) {
            let piece = &mut piece[..PIECE.min(bytes - start)];
            worker.read(at + start, piece);
            (self.work)(piece);
            worker.write(at + start, piece);
        }
    }

    /// Finishes elements on their way.
    pub fn bytes(&self, bytes: &mut [Byte]) {
        (self.work)(bytes);
    }
}
