//! The checked problem.

use std::fmt;

use turntile_perm::AxisPermutation;

/// `batch` row-major `rows` by `cols` matrices, one after the other, each to become `cols` by
/// `rows` in place. Elements are words of `elem_bytes` bytes; their type does not matter.
///
/// A column-major matrix is the same problem with `rows` and `cols` swapped.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Problem {
    batch: usize,
    rows: usize,
    cols: usize,
    elem_bytes: usize,
    cap: Option<usize>,
    room: usize,
    alignment: usize,
    out_of_place: bool,
}

/// `batch` equal matrices of `rows` x `cols` elements, as routes see a problem.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Matrices {
    /// Matrices.
    pub batch: usize,
    /// Rows of each.
    pub rows: usize,
    /// Columns of each.
    pub cols: usize,
}

impl Matrices {
    /// The problem that undoes this one.
    #[must_use]
    pub fn transposed(self) -> Self {
        Matrices { rows: self.cols, cols: self.rows, ..self }
    }
}

/// What memory's addresses are multiples of unless something else is said: those of every allocator here.
pub const ALIGNMENT: usize = 16;

/// Why extents do not make a problem.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum ProblemError {
    /// The bytes do not fit the address space.
    #[error("{batch} x {rows} x {cols} elements of {elem_bytes} bytes exceed {} bytes", isize::MAX)]
    TooLarge {
        /// Matrices.
        batch: usize,
        /// Rows of each.
        rows: usize,
        /// Columns of each.
        cols: usize,
        /// Bytes of an element.
        elem_bytes: usize,
    },
    /// Elements without bytes have nothing to move.
    #[error("an element has at least one byte")]
    ZeroSizedElement,
}

impl Problem {
    /// One matrix. Total bytes must not exceed `isize::MAX`.
    pub fn new(rows: usize, cols: usize, elem_bytes: usize) -> Result<Self, ProblemError> {
        Self::with_batch(1, rows, cols, elem_bytes)
    }

    /// `batch` equal matrices. Total bytes must not exceed `isize::MAX`.
    pub fn with_batch(
        batch: usize,
        rows: usize,
        cols: usize,
        elem_bytes: usize,
    ) -> Result<Self, ProblemError> {
        if elem_bytes == 0 {
            return Err(ProblemError::ZeroSizedElement);
        }
        // A zero extent must not hide an overflow of the others.
        [batch, rows, cols, elem_bytes]
            .iter()
            .try_fold(1usize, |bytes, &extent| bytes.checked_mul(extent.max(1)))
            .filter(|&bytes| bytes <= isize::MAX as usize)
            .map(|_| Problem {
                batch,
                rows,
                cols,
                elem_bytes,
                cap: None,
                room: 0,
                alignment: ALIGNMENT,
                out_of_place: false,
            })
            .ok_or(ProblemError::TooLarge { batch, rows, cols, elem_bytes })
    }

    /// The axes that it permutes.
    pub fn axes(&self) -> AxisPermutation {
        AxisPermutation::new(&[self.batch, self.rows, self.cols], &[0, 2, 1])
            .expect("its bytes were counted")
    }

    /// The problem as matrices, if that is what it is; none when nothing moves.
    pub fn matrices(&self) -> Option<Matrices> {
        let axes = self.axes();
        let e = axes.elementary().filter(|e| !axes.is_identity() && e.mid == 1 && e.unit == 1)?;
        Some(Matrices { batch: e.batch, rows: e.rows, cols: e.cols })
    }

    /// The same problem with at most `bytes` of workspace beyond the matrix.
    #[must_use]
    pub fn with_cap(self, bytes: usize) -> Self {
        Problem { cap: Some(bytes), ..self }
    }

    /// The same problem in memory that goes on behind the matrices, to `elements` elements in all: a
    /// plan may then use what lies there, and leave anything in it.
    #[must_use]
    pub fn with_room(self, elements: usize) -> Self {
        Problem { room: elements, ..self }
    }

    /// The same problem in memory whose address is a multiple of `bytes` bytes, a power of two: of
    /// [`ALIGNMENT`] where nothing is said.
    #[must_use]
    pub fn with_alignment(self, bytes: usize) -> Self {
        Problem { alignment: bytes.max(1), ..self }
    }

    /// The same problem with the result in another place, the source left as it is.
    #[must_use]
    pub fn out_of_place(self) -> Self {
        Problem { out_of_place: true, ..self }
    }

    /// Number of matrices.
    pub fn batch(&self) -> usize {
        self.batch
    }

    /// Rows of each matrix before.
    pub fn rows(&self) -> usize {
        self.rows
    }

    /// Columns of each matrix before.
    pub fn cols(&self) -> usize {
        self.cols
    }

    /// Bytes of an element.
    pub fn elem_bytes(&self) -> usize {
        self.elem_bytes
    }

    /// What the memory's address is a multiple of, in bytes.
    pub fn alignment(&self) -> usize {
        self.alignment
    }

    /// Whether the result goes to another place.
    pub fn is_out_of_place(&self) -> bool {
        self.out_of_place
    }

    /// The workspace cap in bytes, if one was asked for.
    pub fn cap(&self) -> Option<usize> {
        self.cap
    }

    /// Elements from the first one on that a plan may use: the matrices', or more.
    pub fn room(&self) -> usize {
        self.room.max(self.len())
    }

    /// Elements of one matrix.
    pub fn matrix_len(&self) -> usize {
        self.rows * self.cols
    }

    /// Elements of the whole batch.
    pub fn len(&self) -> usize {
        self.batch * self.matrix_len()
    }

    /// Whether there is no element.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// Bytes of the whole batch.
    pub fn bytes(&self) -> usize {
        self.len() * self.elem_bytes
    }

    /// Where the element at `offset` of the batch must end.
    pub fn dest(&self, offset: usize) -> usize {
        self.axes().dest(offset)
    }
}

impl fmt::Display for Problem {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if self.batch != 1 {
            write!(f, "{} * ", self.batch)?;
        }
        write!(f, "{}x{} w{}", self.rows, self.cols, self.elem_bytes)?;
        if self.alignment != ALIGNMENT {
            write!(f, " aligned {}", self.alignment)?;
        }
        if self.out_of_place { write!(f, " out of place") } else { Ok(()) }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn extents_are_checked() {
        assert_eq!(Problem::new(3, 4, 8).unwrap().bytes(), 96);
        assert_eq!(Problem::new(3, 4, 0), Err(ProblemError::ZeroSizedElement));
        let huge = usize::MAX / 2;
        for (batch, rows, cols, elem_bytes) in
            [(1, huge, 3, 1), (1, huge, 1, 2), (0, huge, huge, 1), (huge, 2, 2, 1)]
        {
            assert_eq!(
                Problem::with_batch(batch, rows, cols, elem_bytes),
                Err(ProblemError::TooLarge { batch, rows, cols, elem_bytes })
            );
        }
        assert!(Problem::with_batch(0, 5, 5, 1).unwrap().is_empty());
    }
}
