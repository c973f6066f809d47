//! The checked problem.

use std::fmt;

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
}

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
            .map(|_| Problem { batch, rows, cols, elem_bytes, cap: None, room: 0 })
            .ok_or(ProblemError::TooLarge { batch, rows, cols, elem_bytes })
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
        let (matrix, k) = (offset / self.matrix_len(), offset % self.matrix_len());
        matrix * self.matrix_len() + k % self.cols * self.rows + k / self.cols
    }
}

impl fmt::Display for Problem {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if self.batch != 1 {
            write!(f, "{} * ", self.batch)?;
        }
        write!(f, "{}x{} w{}", self.rows, self.cols, self.elem_bytes)
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
