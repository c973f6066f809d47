//! Epilogue: an operation on elements in the pass that moves them, while they are cached.

use turntile_simd::Byte;

use crate::shared::Worker;

/// Operation on every element after it has moved. The function is called with slices of whole
/// elements, in any order and from several threads.
#[derive(Clone, Copy)]
pub struct Epilogue<'a> {
    work: &'a (dyn Fn(&mut [Byte]) + Sync),
}

/// Maximum bytes that [`Epilogue::row`] processes at a time.
const BLOCK_BYTES: usize = 2 << 10;

impl<'a> Epilogue<'a> {
    /// Creates an epilogue that calls `work` on elements of `elem_bytes` bytes. Returns `None`
    /// unless `elem_bytes` divides 2 KiB, as 1, 2, 4, 8 and 16 do.
    pub fn new(elem_bytes: usize, work: &'a (dyn Fn(&mut [Byte]) + Sync)) -> Option<Self> {
        BLOCK_BYTES.is_multiple_of(elem_bytes).then_some(Epilogue { work })
    }

    /// Applies the epilogue to `bytes` bytes at byte offset `at` of the worker's memory.
    pub fn row(&self, worker: &Worker, at: usize, bytes: usize) {
        let mut buffer = [Byte::uninit(); BLOCK_BYTES];
        for start in (0..bytes).step_by(BLOCK_BYTES) {
            let buffer = &mut buffer[..BLOCK_BYTES.min(bytes - start)];
            worker.read(at + start, buffer);
            (self.work)(buffer);
            worker.write(at + start, buffer);
        }
    }

    /// Applies the epilogue to elements in a buffer.
    pub fn bytes(&self, bytes: &mut [Byte]) {
        (self.work)(bytes);
    }
}
