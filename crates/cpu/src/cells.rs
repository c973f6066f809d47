//! Buffer in equal cells with run-time borrow checks, like `RefCell`: one writer or several readers
//! per cell.
#![allow(unsafe_code)]

use std::marker::PhantomData;
use std::ops::{Deref, DerefMut, Range};
use std::sync::atomic::{AtomicU32, Ordering};

use turntile_simd::Byte;

/// Buffer divided into cells of `each` bytes.
pub struct Cells<'a> {
    start: *mut Byte,
    each: usize,
    /// Number of readers of each cell, or [`WRITTEN`].
    borrowed: Box<[AtomicU32]>,
    life: PhantomData<&'a mut [Byte]>,
}

const WRITTEN: u32 = u32::MAX;

// SAFETY: `Cells` is a `&mut [Byte]` in parts. Bytes have no thread affinity, and a cell borrowed
// for writing is borrowed by no other thread.
unsafe impl Sync for Cells<'_> {}

/// A cell borrowed for reading.
pub struct CellRef<'a> {
    cells: &'a Cells<'a>,
    number: usize,
}

/// Consecutive cells borrowed for writing.
pub struct CellMut<'a> {
    cells: &'a Cells<'a>,
    numbers: Range<usize>,
}

impl<'a> Cells<'a> {
    /// Divides `data` into cells of `each` bytes. A shorter rest belongs to no cell.
    pub fn new(data: &'a mut [Byte], each: usize) -> Self {
        let count = data.len() / each;
        let borrowed = (0..count).map(|_| AtomicU32::new(0)).collect();
        Cells { start: data.as_mut_ptr(), each, borrowed, life: PhantomData }
    }

    /// Borrows a cell for reading.
    ///
    /// # Panics
    /// If the cell does not exist, or is borrowed for writing.
    pub fn read(&self, number: usize) -> CellRef<'_> {
        let one_more = |readers: u32| (readers < WRITTEN - 1).then_some(readers + 1);
        self.borrowed[number]
            .fetch_update(Ordering::Acquire, Ordering::Relaxed, one_more)
            .unwrap_or_else(|_| panic!("cell {number} is being written"));
        CellRef { cells: self, number }
    }

    /// Borrows cells for writing.
    ///
    /// # Panics
    /// If a cell does not exist, or is borrowed.
    pub fn write(&self, numbers: Range<usize>) -> CellMut<'_> {
        // Rejects empty ranges past the last cell too: they would start outside the memory.
        assert!(numbers.end <= self.borrowed.len(), "cells {numbers:?} out of range");
        let first = numbers.start.min(numbers.end);
        let mut written = CellMut { cells: self, numbers: first..first };
        for number in numbers {
            let free = self.borrowed[number].compare_exchange(
                0,
                WRITTEN,
                Ordering::Acquire,
                Ordering::Relaxed,
            );
            assert!(free.is_ok(), "cell {number} is borrowed");
            written.numbers.end = number + 1;
        }
        written
    }

    /// Returns the address of a cell's first byte.
    fn start(&self, number: usize) -> *mut Byte {
        debug_assert!(number <= self.borrowed.len());
        // SAFETY: cells are inside the slice that `start` was made from; so is the end of the last.
        unsafe { self.start.add(number * self.each) }
    }
}

impl Deref for CellRef<'_> {
    type Target = [Byte];

    fn deref(&self) -> &[Byte] {
        // SAFETY: no thread writes the cell before this borrow is dropped.
        unsafe { std::slice::from_raw_parts(self.cells.start(self.number), self.cells.each) }
    }
}

impl Drop for CellRef<'_> {
    fn drop(&mut self) {
        self.cells.borrowed[self.number].fetch_sub(1, Ordering::Release);
    }
}

impl CellMut<'_> {
    fn len(&self) -> usize {
        self.numbers.len() * self.cells.each
    }
}

impl Deref for CellMut<'_> {
    type Target = [Byte];

    fn deref(&self) -> &[Byte] {
        // SAFETY: no other borrow of these cells exists before this one is dropped. `write` checked
        // that they exist.
        unsafe { std::slice::from_raw_parts(self.cells.start(self.numbers.start), self.len()) }
    }
}

impl DerefMut for CellMut<'_> {
    fn deref_mut(&mut self) -> &mut [Byte] {
        // SAFETY: no other borrow of these cells exists before this one is dropped. `write` checked
        // that they exist.
        unsafe { std::slice::from_raw_parts_mut(self.cells.start(self.numbers.start), self.len()) }
    }
}

impl Drop for CellMut<'_> {
    fn drop(&mut self) {
        for number in self.numbers.clone() {
            self.cells.borrowed[number].store(0, Ordering::Release);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::panic::{AssertUnwindSafe, catch_unwind};

    #[test]
    fn borrow_panics_when_a_cell_has_a_writer_or_readers() {
        let mut data: Vec<Byte> = (0..32).map(Byte::new).collect();
        let cells = Cells::new(&mut data, 10);
        let panics = |work: &dyn Fn()| catch_unwind(AssertUnwindSafe(work)).is_err();
        {
            let (one, again, mut two) = (cells.read(0), cells.read(0), cells.write(1..3));
            assert_eq!((one.as_ptr(), one.len()), (again.as_ptr(), 10));
            assert_eq!((two.as_mut_ptr().cast_const(), two.len()), (one.as_ptr_range().end, 20));
            assert!(panics(&|| drop(cells.write(0..1))));
            assert!(panics(&|| drop(cells.read(1))));
            assert!(panics(&|| drop(cells.write(2..3))));
            drop(one);
            assert!(panics(&|| drop(cells.write(0..3))), "one reader is left");
        }
        drop(cells.write(0..3));
        drop(cells.read(2));
        // The last two bytes are in no cell.
        assert!(panics(&|| drop(cells.read(3))));
        assert!(panics(&|| drop(cells.write(2..4))));
        // A rejected borrow leaves the cells free.
        drop(cells.write(0..3));
        assert_eq!(<[Byte]>::len(&cells.write(3..3)), 0);
        assert!(panics(&|| drop(cells.write(9..9))), "past the end");
    }
}
