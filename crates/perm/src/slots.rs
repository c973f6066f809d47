//! Aligned slots: the transposition of any shape as two passes that never follow single elements.
//!
//! See the transposed matrix, `rows · cols` elements long, as *slots* of `slot` elements aligned in
//! memory, whatever row ends fall inside them: slot `t` holds final positions `t·slot ..`, which are
//! rows `i = t·slot mod rows` onward of source column `j = t·slot div rows`, running on into column
//! `j + 1`. Cut the source into *chunks* of `chunk` rows, a multiple of `slot`. A slot belongs to the
//! chunk in which its first row lies, and a full chunk owns exactly `chunk/slot` slots of every
//! column, so its slots fill its own memory exactly, for any shape.
//!
//! 1. The *gather* pass writes every chunk's slots, column by column, into the chunk's own memory.
//!    It reads up to `slot - 1` rows beyond the chunk, or, past the last row, the matrix's first rows.
//! 2. The *slot* pass moves whole slots to their final places: a permutation of slots, in closed form.
//!
//! The last chunk takes the rows left over, from `slot` to `chunk + slot - 1` of them, so that the
//! one slot that may be partial, the last, is its last, and is a fixed point of pass 2.

/// The index maps of the aligned-slot transposition of a `rows` by `cols` matrix.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Slots {
    rows: usize,
    cols: usize,
    slot: usize,
    chunk: usize,
}

impl Slots {
    /// `None` unless `1 <= slot <= rows`, `cols >= 1`, `chunk` is a positive multiple of `slot` that
    /// does not exceed `rows`, and `rows · cols` can be counted.
    pub fn new(rows: usize, cols: usize, slot: usize, chunk: usize) -> Option<Self> {
        let fits =
            slot >= 1 && chunk >= slot && chunk.is_multiple_of(slot) && chunk <= rows && cols >= 1;
        let counted = rows.checked_mul(cols).is_some();
        (fits && counted).then_some(Slots { rows, cols, slot, chunk })
    }

    /// Rows of the source matrix.
    pub fn rows(&self) -> usize {
        self.rows
    }

    /// Columns of the source matrix.
    pub fn cols(&self) -> usize {
        self.cols
    }

    /// Elements of a slot.
    pub fn slot(&self) -> usize {
        self.slot
    }

    /// Rows of a full chunk.
    pub fn chunk(&self) -> usize {
        self.chunk
    }

    /// Elements of the matrix.
    pub fn len(&self) -> usize {
        self.rows * self.cols
    }

    /// Never: a matrix with slots has elements.
    pub fn is_empty(&self) -> bool {
        false
    }

    /// Number of slots, the last perhaps partial.
    pub fn count(&self) -> usize {
        self.len().div_ceil(self.slot)
    }

    /// Number of chunks.
    pub fn chunks(&self) -> usize {
        let (full, left) = (self.rows / self.chunk, self.rows % self.chunk);
        // Fewer rows than a slot cannot be a chunk of their own: the last full one takes them.
        full + usize::from(left >= self.slot)
    }

    /// Rows `first .. first + count` of chunk `c`, as `(first, count)`.
    pub fn chunk_rows(&self, c: usize) -> (usize, usize) {
        let first = c * self.chunk;
        let count = if c + 1 == self.chunks() { self.rows - first } else { self.chunk };
        (first, count)
    }

    /// Most rows that any chunk has.
    pub fn longest_chunk(&self) -> usize {
        let (_, last) = self.chunk_rows(self.chunks() - 1);
        if self.chunks() == 1 { last } else { last.max(self.chunk) }
    }

    /// Slots of column `j` in chunk `c`: the first one's final number, how many there are, and the
    /// place of the first within the chunk's memory, in slots, as `(first, count, place)`.
    pub fn column(&self, c: usize, j: usize) -> (usize, usize, usize) {
        let (first_row, rows) = self.chunk_rows(c);
        let first = (j * self.rows).div_ceil(self.slot) + first_row / self.slot;
        let place = (j * rows).div_ceil(self.slot);
        if c + 1 < self.chunks() {
            return (first, self.chunk / self.slot, j * (self.chunk / self.slot));
        }
        (first, ((j + 1) * rows).div_ceil(self.slot) - place, place)
    }

    /// Rows of chunk `c` before the first slot of column `j` begins: fewer than a slot's elements.
    pub fn lead(&self, c: usize, j: usize) -> usize {
        let (first, _, _) = self.column(c, j);
        first * self.slot - (j * self.rows + self.chunk_rows(c).0)
    }

    /// The first slot place of chunk `c`.
    pub fn chunk_place(&self, c: usize) -> usize {
        c * (self.chunk / self.slot) * self.cols
    }

    /// Pass 2: the final number of the slot that pass 1 left at `place`.
    pub fn slot_dest(&self, place: usize) -> usize {
        let per_chunk = self.chunk / self.slot * self.cols;
        let c = (place / per_chunk).min(self.chunks() - 1);
        let within = place - c * per_chunk;
        let (_, rows) = self.chunk_rows(c);
        // The column whose first slot is the last at or before `within`: the largest j with
        // ceil(j·rows/slot) <= within. In a full chunk slot divides rows, and this is exact division.
        let j = within * self.slot / rows;
        let (first, _, column_place) = self.column(c, j);
        first + (within - column_place)
    }

    /// Pass 2 backwards: the place at which pass 1 leaves the slot of final number `t`.
    pub fn slot_source(&self, t: usize) -> usize {
        let (j, i) = (t * self.slot / self.rows, t * self.slot % self.rows);
        let c = (i / self.chunk).min(self.chunks() - 1);
        let (first, _, place) = self.column(c, j);
        self.chunk_place(c) + place + (t - first)
    }

    /// Pass 1: where the element at `offset` goes.
    pub fn gather_dest(&self, offset: usize) -> usize {
        let position = offset % self.cols * self.rows + offset / self.cols;
        let (t, within) = (position / self.slot, position % self.slot);
        self.slot_source(t) * self.slot + within
    }

    /// Pass 1 backwards: where the element that it leaves at `offset` comes from.
    pub fn gather_source(&self, offset: usize) -> usize {
        let (place, within) = (offset / self.slot, offset % self.slot);
        let position = self.slot_dest(place) * self.slot + within;
        position % self.rows * self.cols + position / self.rows
    }

    /// Pass 2 on offsets: where the element at `offset` goes.
    pub fn move_dest(&self, offset: usize) -> usize {
        self.slot_dest(offset / self.slot) * self.slot + offset % self.slot
    }

    /// Pass 2 backwards on offsets.
    pub fn move_source(&self, offset: usize) -> usize {
        self.slot_source(offset / self.slot) * self.slot + offset % self.slot
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Transposition;
    use proptest::prelude::*;

    fn all_slots(rows: usize, cols: usize) -> impl Iterator<Item = Slots> {
        (1..=rows).flat_map(move |slot| {
            (1..=rows / slot).filter_map(move |k| Slots::new(rows, cols, slot, k * slot))
        })
    }

    #[test]
    fn both_passes_are_permutations_that_compose_to_the_transposition() {
        for rows in 1..22 {
            for cols in 1..16 {
                let t = Transposition { rows, cols };
                for slots in all_slots(rows, cols) {
                    for offset in 0..slots.len() {
                        let gathered = slots.gather_dest(offset);
                        assert!(gathered < slots.len(), "{slots:?} at {offset}");
                        assert_eq!(slots.gather_source(gathered), offset, "{slots:?}");
                        let moved = slots.move_dest(gathered);
                        assert_eq!(moved, t.dest(offset), "{slots:?} at {offset}");
                        assert_eq!(slots.move_source(moved), gathered, "{slots:?}");
                    }
                }
            }
        }
    }

    #[test]
    fn a_chunk_fills_its_own_memory_from_its_own_and_the_next_rows() {
        for rows in 1..22 {
            for cols in 1..12 {
                for slots in all_slots(rows, cols) {
                    for c in 0..slots.chunks() {
                        let (first, count) = slots.chunk_rows(c);
                        assert!(count >= slots.slot() && count <= slots.longest_chunk());
                        for offset in first * cols..(first + count) * cols {
                            let row = slots.gather_source(offset) / cols;
                            let halo = row >= first && row < first + count + slots.slot() - 1;
                            let wrapped = c + 1 == slots.chunks() && row < slots.slot() - 1;
                            assert!(halo || wrapped, "{slots:?} chunk {c} row {row}");
                        }
                    }
                }
            }
        }
    }

    #[test]
    fn the_last_slot_stays_and_columns_tile_the_chunk() {
        for rows in 1..22 {
            for cols in 1..12 {
                for slots in all_slots(rows, cols) {
                    assert_eq!(slots.slot_dest(slots.count() - 1), slots.count() - 1);
                    for c in 0..slots.chunks() {
                        let mut place = 0;
                        for j in 0..cols {
                            let (first, count, at) = slots.column(c, j);
                            assert!(slots.lead(c, j) < slots.slot(), "{slots:?}");
                            assert_eq!(at, place, "{slots:?} chunk {c} column {j}");
                            for k in 0..count {
                                let whole = slots.chunk_place(c) + at + k;
                                assert_eq!(slots.slot_dest(whole), first + k, "{slots:?}");
                            }
                            place += count;
                        }
                        let end = if c + 1 == slots.chunks() {
                            slots.count()
                        } else {
                            slots.chunk_place(c + 1)
                        };
                        assert_eq!(slots.chunk_place(c) + place, end, "{slots:?} chunk {c}");
                    }
                }
            }
        }
    }

    #[test]
    fn infeasible_extents_are_declined() {
        assert_eq!(Slots::new(5, 5, 0, 5), None);
        assert_eq!(Slots::new(5, 5, 6, 6), None);
        assert_eq!(Slots::new(5, 5, 2, 3), None);
        assert_eq!(Slots::new(5, 0, 1, 1), None);
        assert_eq!(Slots::new(5, 5, 2, 6), None);
        assert_eq!(Slots::new(usize::MAX, usize::MAX, 2, 2), None);
    }

    proptest! {
        #[test]
        fn any_size(rows in 1usize..1 << 20, cols in 1usize..1 << 20, slot in 1usize..2048,
                    k in 1usize..64, at: usize) {
            let slot = slot.min(rows);
            let chunk = slot * k.min(rows / slot);
            let slots = Slots::new(rows, cols, slot, chunk).unwrap();
            let offset = at % slots.len();
            let gathered = slots.gather_dest(offset);
            prop_assert_eq!(slots.gather_source(gathered), offset);
            let moved = slots.move_dest(gathered);
            prop_assert_eq!(moved, Transposition { rows, cols }.dest(offset));
            prop_assert_eq!(slots.move_source(moved), gathered);
        }
    }
}
