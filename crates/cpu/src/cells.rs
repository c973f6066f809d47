//! Memory in equal pieces that threads borrow, found free or not when they ask: each by one to write, or by several to
//! read.
#![allow(unsafe_code)]

use std::marker::PhantomData;
use std::ops::{Deref, DerefMut, Range};
use std::sync::atomic::{AtomicU32, Ordering};

use turntile_simd::Byte;

/// Pieces of `each` bytes.
pub struct Cells<'a> {
    start: *mut Byte,
    each: usize,
    /// Of each piece how many read it, or [`WRITTEN`].
    borrowed: Box<[AtomicU32]>,
    life: PhantomData<&'a mut [Byte]>,
}

const WRITTEN: u32 = u32::MAX;

// SAFETY: it is a `&mut [Byte]` in parts; bytes have no thread affinity, and what is borrowed to be written is
// nobody else's as long.
unsafe impl Sync for Cells<'_> {}

/// A piece to be read.
pub struct CellRef<'a> {
    pieces: &'a Cells<'a>,
    number: usize,
}

/// Pieces one after the other to be written.
pub struct CellMut<'a> {
    pieces: &'a Cells<'a>,
    numbers: Range<usize>,
}

impl<'a> Cells<'a> {
    /// `data` cut in pieces of `each` bytes; what is left over is in none.
    pub fn new(data: &'a mut [Byte], each: usize) -> Self {
        let count = data.len() / each;
        let borrowed = (0..count).map(|_| AtomicU32::new(0)).collect();
        Cells { start: data.as_mut_ptr(), each, borrowed, life: PhantomData }
    }

    /// Borrows a piece to be read.
    ///
    /// # Panics
    /// When it is borrowed to be written.
    pub fn read(&self, number: usize) -> CellRef<'_> {
        let one_more = |readers: u32| (readers < WRITTEN - 1).then_some(readers + 1);
        self.borrowed[number]
            .fetch_update(Ordering::Acquire, Ordering::Relaxed, one_more)
            .unwrap_or_else(|_| panic!("piece {number} is being written"));
        CellRef { pieces: self, number }
    }

    /// Borrows pieces to be written.
    ///
    /// # Panics
    /// If there are fewer pieces, or one of them is borrowed.
    pub fn write(&self, numbers: Range<usize>) -> CellMut<'_> {
        // No pieces behind the last one, either: they would begin outside of the memory.
        assert!(numbers.end <= self.borrowed.len(), "pieces {numbers:?} are there");
        let first = numbers.start.min(numbers.end);
        let mut written = CellMut { pieces: self, numbers: first..first };
        for number in numbers {
            let free = self.borrowed[number].compare_exchange(
                0,
                WRITTEN,
                Ordering::Acquire,
                Ordering::Relaxed,
            );
            assert!(free.is_ok(), "piece {number} is borrowed");
            written.numbers.end = number + 1;
        }
        written
    }

    /// The first byte of a piece.
    fn start(&self, number: usize) -> *mut Byte {
        debug_assert!(number <= self.borrowed.len());
        // SAFETY: pieces lie in the slice that `start` was made from, and so does its end.
        unsafe { self.start.add(number * self.each) }
    }
}

impl Deref for CellRef<'_> {
    type Target = [Byte];

    fn deref(&self) -> &[Byte] {
        // SAFETY: a piece, which nobody writes before this is dropped.
        unsafe { std::slice::from_raw_parts(self.pieces.start(self.number), self.pieces.each) }
    }
}

impl Drop for CellRef<'_> {
    fn drop(&mut self) {
        self.pieces.borrowed[self.number].fetch_sub(1, Ordering::Release);
    }
}

impl CellMut<'_> {
    fn len(&self) -> usize {
        self.numbers.len() * self.pieces.each
    }
}

impl Deref for CellMut<'_> {
    type Target = [Byte];

    fn deref(&self) -> &[Byte] {
        // SAFETY: pieces one after the other, which nobody else touches before this is dropped; `write` has found
        // them there.
        unsafe { std::slice::from_raw_parts(self.pieces.start(self.numbers.start), self.len()) }
    }
}

impl DerefMut for CellMut<'_> {
    fn deref_mut(&mut self) -> &mut [Byte] {
        // SAFETY: as above.
        unsafe { std::slice::from_raw_parts_mut(self.pieces.start(self.numbers.start), self.len()) }
    }
}

impl Drop for CellMut<'_> {
    fn drop(&mut self) {
        for number in self.numbers.clone() {
            self.pieces.borrowed[number].store(0, Ordering::Release);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::panic::{AssertUnwindSafe, catch_unwind};

    #[test]
    fn a_piece_is_one_writer_s_or_many_readers() {
        let mut data: Vec<Byte> = (0..32).map(Byte::new).collect();
        let pieces = Cells::new(&mut data, 10);
        let refused = |work: &dyn Fn()| catch_unwind(AssertUnwindSafe(work)).is_err();
        {
            let (one, again, mut two) = (pieces.read(0), pieces.read(0), pieces.write(1..3));
            assert_eq!((one.as_ptr(), one.len()), (again.as_ptr(), 10));
            assert_eq!((two.as_mut_ptr().cast_const(), two.len()), (one.as_ptr_range().end, 20));
            assert!(refused(&|| drop(pieces.write(0..1))));
            assert!(refused(&|| drop(pieces.read(1))));
            assert!(refused(&|| drop(pieces.write(2..3))));
            drop(one);
            assert!(refused(&|| drop(pieces.write(0..3))), "one reader is left");
        }
        drop(pieces.write(0..3));
        drop(pieces.read(2));
        // Two bytes are left over.
        assert!(refused(&|| drop(pieces.read(3))));
        assert!(refused(&|| drop(pieces.write(2..4))));
        // What is refused borrows nothing.
        drop(pieces.write(0..3));
        assert_eq!(<[Byte]>::len(&pieces.write(3..3)), 0);
        assert!(refused(&|| drop(pieces.write(9..9))), "none behind the end");
    }
}
