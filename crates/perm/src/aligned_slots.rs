//! Aligned slots: transposition of a matrix of any shape in two passes that move whole slots.
//!
//! Divide the transposed matrix, `rows · cols` elements long, into *slots* of `slot` elements
//! aligned in memory, regardless of row ends inside them. Slot `t` holds the final positions from
//! `t·slot` on. These are rows `i = t·slot mod rows` onward of source column `j = t·slot div rows`,
//! continued in column `j + 1`. Cut the source into *chunks* of `chunk` rows, a multiple of
//! `slot`. A slot belongs to the chunk that contains its first row. A full chunk owns exactly
//! `chunk/slot` slots of every column, so its slots fill its own memory exactly, for any shape.
//!
//! 1. The *gather* pass writes the slots of every chunk into the memory of that chunk, in a
//!    [`SlotOrder`]. It reads a halo of up to `slot - 1` rows after the chunk. After the last row,
//!    the halo wraps around to the first rows of the matrix.
//! 2. The *slot* pass moves whole slots to their final positions: a permutation of slots, in closed
//!    form.
//!
//! The last chunk includes the remaining rows: it has from `slot` to `chunk + slot - 1` of them.
//! The only slot that may be partial is therefore the last slot of this chunk, and a fixed point of
//! pass 2. The slots of the last chunk are stored column by column in either order.
//!
//! With column order, let `T` be the slot length, `b` the first row of a chunk, `L` its number of
//! rows and `r` a slot position in it. The first slot of column `j` is at position `⌈jL/T⌉`.
//! Position `r` holds a slot of column `j = ⌊rT/L⌋`, and the number of that slot in the result is
//! `⌈j·rows/T⌉ + b/T + (r − ⌈jL/T⌉)`.

use num_integer::Integer;

/// Order of the slots of a full chunk in its memory.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum SlotOrder {
    /// Column by column: the slots of column `j` start at position `j·chunk/slot`.
    Columns,
    /// Each slot is stored near its source column. Chunks have `slot` rows.
    ///
    /// With `g = gcd(cols, slot)`, position `s` begins in column `c = s·slot mod cols` of the
    /// chunk. It holds the slot of column `c + ⌊s·g/cols⌋`. `c` is a multiple of `g`, and the
    /// second term is less than `g`. Columns cut at multiples of `g` therefore form strips whose
    /// slots begin in the strip. A strip can be read and written separately, except for the ends of
    /// its slots: they reach fewer than `slot` elements into the next strip. If `slot` divides
    /// `cols`, the strips are square tiles (0210!).
    Rows,
}

/// Index maps of the aligned-slot transposition of a `rows` by `cols` matrix.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct AlignedSlots {
    rows: usize,
    cols: usize,
    slot: usize,
    chunk: usize,
    order: SlotOrder,
    /// `g` of [`SlotOrder::Rows`].
    strip_step: usize,
    /// `-(cols/g)⁻¹` modulo `slot/g` for [`SlotOrder::Rows`], else 0.
    neg_inverse: usize,
}

impl AlignedSlots {
    /// Creates the maps for column order. Returns `None` unless `1 <= slot <= rows`, `cols >= 1`,
    /// `chunk` is a positive multiple of `slot` that does not exceed `rows`, and `rows · cols` fits
    /// `usize`.
    pub fn new(rows: usize, cols: usize, slot: usize, chunk: usize) -> Option<Self> {
        let fits =
            slot >= 1 && chunk >= slot && chunk.is_multiple_of(slot) && chunk <= rows && cols >= 1;
        let counted = rows.checked_mul(cols).is_some();
        (fits && counted).then_some(AlignedSlots {
            rows,
            cols,
            slot,
            chunk,
            order: SlotOrder::Columns,
            strip_step: cols.gcd(&slot),
            neg_inverse: 0,
        })
    }

    /// Creates the maps for [`SlotOrder::Rows`], with chunks of `slot` rows. Returns `None` unless
    /// `slot` is a power of two and [`new`](Self::new) accepts the arguments.
    pub fn by_rows(rows: usize, cols: usize, slot: usize) -> Option<Self> {
        let slots = AlignedSlots::new(rows, cols, slot, slot).filter(|_| slot.is_power_of_two())?;
        let g = slots.strip_step();
        let (period, steps) = (cols / g, slot / g);
        // Newton's iteration doubles the correct bits of the inverse of an odd number. Wrapping
        // products are correct modulo `steps`, a power of two.
        let inverse =
            (0..6).fold(1usize, |x, _| x.wrapping_mul(2usize.wrapping_sub(period.wrapping_mul(x))));
        let neg_inverse = if steps == 1 { 0 } else { inverse.wrapping_neg() % steps };
        Some(AlignedSlots { order: SlotOrder::Rows, neg_inverse, ..slots })
    }

    /// Returns the order of the slots of a full chunk.
    pub fn order(&self) -> SlotOrder {
        self.order
    }

    /// Returns `gcd(cols, slot)`: strips of columns of [`SlotOrder::Rows`] begin at multiples of
    /// it.
    pub fn strip_step(&self) -> usize {
        self.strip_step
    }

    /// Returns the position, in slots, of the slot of column `j` in a full chunk of
    /// [`SlotOrder::Rows`].
    ///
    /// Needs no division: `slot` and the strip step are powers of two.
    #[inline]
    pub fn row_place(&self, j: usize) -> usize {
        let (g, slot) = (self.strip_step.trailing_zeros(), self.slot.trailing_zeros());
        let (period, steps) = (self.cols >> g, (1 << (slot - g)) - 1);
        let (c, copy) = (j >> g, j & (self.strip_step - 1));
        // Row `a` of the chunk in which a slot begins at column g·c: slot divides a·cols + g·c.
        let a = ((c & steps) * self.neg_inverse) & steps;
        copy * period + ((a * period + c) >> (slot - g))
    }

    /// Returns the column whose slot is at position `s` in a full chunk of [`SlotOrder::Rows`].
    fn row_column(&self, s: usize) -> usize {
        s * self.slot % self.cols + s / (self.cols / self.strip_step)
    }

    /// Returns the number of rows of the source matrix.
    pub fn rows(&self) -> usize {
        self.rows
    }

    /// Returns the number of columns of the source matrix.
    pub fn cols(&self) -> usize {
        self.cols
    }

    /// Returns the number of elements of a slot.
    pub fn slot(&self) -> usize {
        self.slot
    }

    /// Returns the number of rows of a full chunk.
    pub fn chunk(&self) -> usize {
        self.chunk
    }

    /// Returns the number of elements of the matrix.
    pub fn len(&self) -> usize {
        self.rows * self.cols
    }

    /// Returns `false`: slots exist only for non-empty matrices.
    pub fn is_empty(&self) -> bool {
        false
    }

    /// Returns the number of slots, including a partial last slot.
    pub fn count(&self) -> usize {
        self.len().div_ceil(self.slot)
    }

    /// Returns the number of chunks.
    pub fn chunks(&self) -> usize {
        let (full, left) = (self.rows / self.chunk, self.rows % self.chunk);
        // Fewer than `slot` rows cannot form a chunk: they are added to the last full one.
        full + usize::from(left >= self.slot)
    }

    /// Returns the rows `first .. first + count` of chunk `c`, as `(first, count)`.
    pub fn chunk_rows(&self, c: usize) -> (usize, usize) {
        let first = c * self.chunk;
        let count = if c + 1 == self.chunks() { self.rows - first } else { self.chunk };
        (first, count)
    }

    /// Returns the largest number of rows of any chunk.
    pub fn longest_chunk(&self) -> usize {
        let (_, last) = self.chunk_rows(self.chunks() - 1);
        if self.chunks() == 1 { last } else { last.max(self.chunk) }
    }

    /// Returns the slots of column `j` in chunk `c`, as `(first, count, position)`.
    ///
    /// `first` is the number of the first slot in the result, and `position` its position in the
    /// memory of the chunk, in slots. `count` is the number of slots.
    pub fn column(&self, c: usize, j: usize) -> (usize, usize, usize) {
        let (first_row, rows) = self.chunk_rows(c);
        let first = (j * self.rows).div_ceil(self.slot) + first_row / self.slot;
        let position = (j * rows).div_ceil(self.slot);
        if c + 1 < self.chunks() {
            return match self.order {
                SlotOrder::Columns => (first, self.chunk / self.slot, j * (self.chunk / self.slot)),
                SlotOrder::Rows => (first, 1, self.row_place(j)),
            };
        }
        (first, ((j + 1) * rows).div_ceil(self.slot) - position, position)
    }

    /// Returns the number of rows of chunk `c` before the first slot of column `j` begins: less
    /// than `slot`.
    pub fn lead(&self, c: usize, j: usize) -> usize {
        let (first, _, _) = self.column(c, j);
        first * self.slot - (j * self.rows + self.chunk_rows(c).0)
    }

    /// Returns the position of the first slot of chunk `c` in the array, in slots.
    fn chunk_start(&self, c: usize) -> usize {
        c * (self.chunk / self.slot) * self.cols
    }

    /// Returns the index map of the slot pass: the number in the result of the slot that is at
    /// position `position` after the gather pass. Both are counted in slots.
    pub fn slot_dest(&self, position: usize) -> usize {
        let per_chunk = self.chunk / self.slot * self.cols;
        let c = (position / per_chunk).min(self.chunks() - 1);
        let within = position - c * per_chunk;
        let (_, rows) = self.chunk_rows(c);
        // The column whose first slot is the last one at or before `within`: the largest j with
        // ceil(j·rows/slot) <= within. In a full chunk, slot divides rows and the division is
        // exact.
        let j = match self.order {
            SlotOrder::Rows if c + 1 < self.chunks() => self.row_column(within),
            _ => within * self.slot / rows,
        };
        let (first, _, column_place) = self.column(c, j);
        first + (within - column_place)
    }

    /// Returns the position, in slots, at which the gather pass writes slot `t` of the result.
    pub fn slot_source(&self, t: usize) -> usize {
        let (j, i) = (t * self.slot / self.rows, t * self.slot % self.rows);
        let c = (i / self.chunk).min(self.chunks() - 1);
        let (first, _, position) = self.column(c, j);
        self.chunk_start(c) + position + (t - first)
    }

    /// Returns the offset to which the gather pass moves the element at `offset`.
    pub fn gather_dest(&self, offset: usize) -> usize {
        let final_position = offset % self.cols * self.rows + offset / self.cols;
        let (t, within) = (final_position / self.slot, final_position % self.slot);
        self.slot_source(t) * self.slot + within
    }

    /// Returns the offset from which the gather pass reads the element that it writes at `offset`.
    pub fn gather_source(&self, offset: usize) -> usize {
        let (position, within) = (offset / self.slot, offset % self.slot);
        let final_position = self.slot_dest(position) * self.slot + within;
        final_position % self.rows * self.cols + final_position / self.rows
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    /// Returns the new offset of an element after a map of slot positions.
    fn with_slot(slots: &AlignedSlots, offset: usize, map: impl Fn(usize) -> usize) -> usize {
        map(offset / slots.slot()) * slots.slot() + offset % slots.slot()
    }

    fn transposed(slots: &AlignedSlots, offset: usize) -> usize {
        offset % slots.cols() * slots.rows() + offset / slots.cols()
    }

    fn all_slots(rows: usize, cols: usize) -> impl Iterator<Item = AlignedSlots> {
        let by_columns = move |slot| {
            (1..=rows / slot).filter_map(move |k| AlignedSlots::new(rows, cols, slot, k * slot))
        };
        let by_rows = (1..=rows).filter_map(move |slot| AlignedSlots::by_rows(rows, cols, slot));
        (1..=rows).flat_map(by_columns).chain(by_rows)
    }

    #[test]
    fn both_passes_compose_to_the_transposition() {
        for rows in 1..22 {
            for cols in 1..16 {
                for slots in all_slots(rows, cols) {
                    for offset in 0..slots.len() {
                        let gathered = slots.gather_dest(offset);
                        assert!(gathered < slots.len(), "{slots:?} at {offset}");
                        assert_eq!(slots.gather_source(gathered), offset, "{slots:?}");
                        let moved = with_slot(&slots, gathered, |t| slots.slot_dest(t));
                        assert_eq!(moved, transposed(&slots, offset), "{slots:?} at {offset}");
                        let back = with_slot(&slots, moved, |t| slots.slot_source(t));
                        assert_eq!(back, gathered, "{slots:?}");
                    }
                }
            }
        }
    }

    #[test]
    fn chunk_gathers_only_its_own_rows_and_halo() {
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
    fn slots_of_all_columns_cover_each_chunk() {
        for rows in 1..22 {
            for cols in 1..12 {
                for slots in all_slots(rows, cols) {
                    assert_eq!(slots.slot_dest(slots.count() - 1), slots.count() - 1);
                    for c in 0..slots.chunks() {
                        let mut position = 0;
                        let last = c + 1 == slots.chunks();
                        for j in 0..cols {
                            let (first, count, at) = slots.column(c, j);
                            assert!(slots.lead(c, j) < slots.slot(), "{slots:?}");
                            if last || slots.order() == SlotOrder::Columns {
                                assert_eq!(at, position, "{slots:?} chunk {c} column {j}");
                            }
                            for k in 0..count {
                                let whole = slots.chunk_start(c) + at + k;
                                assert_eq!(slots.slot_dest(whole), first + k, "{slots:?}");
                            }
                            position += count;
                        }
                        let end = if last { slots.count() } else { slots.chunk_start(c + 1) };
                        assert_eq!(slots.chunk_start(c) + position, end, "{slots:?} chunk {c}");
                    }
                }
            }
        }
    }

    #[test]
    fn row_ordered_slots_begin_in_their_strip() {
        for rows in 1..40 {
            for cols in 1..40 {
                for slots in (0..6).filter_map(|log| AlignedSlots::by_rows(rows, cols, 1 << log)) {
                    let g = slots.strip_step();
                    for c in 0..slots.chunks() - 1 {
                        for j in 0..cols {
                            let (_, count, position) = slots.column(c, j);
                            let begins = position * slots.slot() % cols;
                            assert_eq!((count, begins), (1, j / g * g), "{slots:?} column {j}");
                        }
                    }
                    if cols % slots.slot() == 0 && slots.chunks() > 1 {
                        let tile = |j: usize| j / slots.slot();
                        let position = |j: usize| slots.column(0, j).2;
                        let square = |j: usize| j % slots.slot() * (cols / slots.slot()) + tile(j);
                        assert!((0..cols).all(|j| position(j) == square(j)), "{slots:?}");
                    }
                }
            }
        }
    }

    #[test]
    fn invalid_extents_are_rejected() {
        assert_eq!(AlignedSlots::by_rows(5, 5, 3), None);
        assert_eq!(AlignedSlots::by_rows(3, 5, 4), None);
        assert_eq!(AlignedSlots::new(5, 5, 0, 5), None);
        assert_eq!(AlignedSlots::new(5, 5, 6, 6), None);
        assert_eq!(AlignedSlots::new(5, 5, 2, 3), None);
        assert_eq!(AlignedSlots::new(5, 0, 1, 1), None);
        assert_eq!(AlignedSlots::new(5, 5, 2, 6), None);
        assert_eq!(AlignedSlots::new(usize::MAX, usize::MAX, 2, 2), None);
    }

    proptest! {
        #[test]
        fn maps_are_inverse_for_large_matrices(
            rows in 1usize..1 << 20, cols in 1usize..1 << 20, slot in 1usize..2048,
            k in 1usize..64, by_rows: bool, at: usize,
        ) {
            let slot = slot.min(rows);
            let chunk = slot * k.min(rows / slot);
            let slots = match by_rows {
                true => AlignedSlots::by_rows(rows, cols, 1 << slot.ilog2()).unwrap(),
                false => AlignedSlots::new(rows, cols, slot, chunk).unwrap(),
            };
            let offset = at % slots.len();
            let gathered = slots.gather_dest(offset);
            prop_assert_eq!(slots.gather_source(gathered), offset);
            let moved = with_slot(&slots, gathered, |t| slots.slot_dest(t));
            prop_assert_eq!(moved, transposed(&slots, offset));
            prop_assert_eq!(with_slot(&slots, moved, |t| slots.slot_source(t)), gathered);
        }
    }
}
