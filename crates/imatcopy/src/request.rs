//! What is asked for: arguments checked as OpenBLAS and MKL check them, and in row-major form.

use turntile::MatrixOp;

/// How a matrix lies in memory.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Order {
    /// Rows one after the other.
    Row,
    /// Columns one after the other.
    Column,
}

impl Order {
    /// CBLAS's number.
    pub fn of_number(number: i32) -> Option<Self> {
        match number {
            101 => Some(Order::Row),
            102 => Some(Order::Column),
            _ => None,
        }
    }

    /// A letter, of either case.
    pub fn of_letter(letter: u8) -> Option<Self> {
        match letter.to_ascii_uppercase() {
            b'R' => Some(Order::Row),
            b'C' => Some(Order::Column),
            _ => None,
        }
    }
}

/// CBLAS's number of what is done to the matrix.
pub fn operation_of_number(number: i32) -> Option<MatrixOp> {
    let letter = *b"NTCR".get(usize::try_from(number.checked_sub(111)?).ok()?)?;
    operation_of_letter(letter)
}

/// A letter, of either case: as it is, transposed, transposed and conjugated, conjugated.
pub fn operation_of_letter(letter: u8) -> Option<MatrixOp> {
    match letter.to_ascii_uppercase() {
        b'N' => Some(MatrixOp::Keep),
        b'T' => Some(MatrixOp::Transpose),
        b'C' => Some(MatrixOp::ConjugateTranspose),
        b'R' => Some(MatrixOp::Conjugate),
        _ => None,
    }
}

/// Arguments as they are given, of whatever type the numbers are.
#[derive(Clone, Copy, Debug)]
pub struct Arguments {
    /// None when there is no such order.
    pub order: Option<Order>,
    /// The same.
    pub operation: Option<MatrixOp>,
    /// Rows, columns, and elements from a row (column) to the next, before (`lda`) and afterwards (`ldb`).
    pub numbers: [i128; 4],
}

/// A row-major matrix with rows apart, and what is to be done to it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Request {
    /// What is done.
    pub operation: MatrixOp,
    /// Rows before.
    pub rows: usize,
    /// Columns before.
    pub cols: usize,
    /// Elements from a row to the next, before.
    pub lda: usize,
    /// The same afterwards.
    pub ldb: usize,
    /// Elements from the first one on that hold the matrix, before and afterwards.
    pub span: usize,
}

/// An argument that makes no sense: its number, counted from 1, and what was wanted.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum Illegal {
    /// No such letter or number.
    #[error("parameter number {parameter:2} had an illegal value")]
    Choice { parameter: u32 },
    /// A number too small.
    #[error(
        "parameter number {parameter:2} had an illegal value ({what} is {value}, at least {least} is wanted)"
    )]
    Small { parameter: u32, what: &'static str, value: i128, least: i128 },
    /// Memory that there cannot be.
    #[error(
        "parameter number {parameter:2} had an illegal value ({what} is {value}: the matrix exceeds the address space)"
    )]
    Large { parameter: u32, what: &'static str, value: i128 },
    /// No memory.
    #[error("parameter number  6 had an illegal value (the matrix is NULL)")]
    Null,
}

impl Arguments {
    /// The request for elements of so many bytes at an address, or the first argument that makes no sense, in the order of
    /// newer OpenBLAS; none when there is nothing to do.
    ///
    /// # Errors
    /// [`Illegal`].
    pub fn request(&self, elem_bytes: usize, address: usize) -> Result<Option<Request>, Illegal> {
        let order = self.order.ok_or(Illegal::Choice { parameter: 1 })?;
        let operation = self.operation.ok_or(Illegal::Choice { parameter: 2 })?;
        let least = |parameter, what, value, least| match value < least {
            true => Err(Illegal::Small { parameter, what, value, least }),
            false => Ok(()),
        };
        let [rows, cols, lda, ldb] = self.numbers;
        least(3, "rows", rows, 0)?;
        least(4, "cols", cols, 0)?;
        // A column-major matrix is a row-major one with the sides exchanged.
        let (rows, cols) = if order == Order::Row { (rows, cols) } else { (cols, rows) };
        let (to_rows, to_cols) = if operation.transposes() { (cols, rows) } else { (rows, cols) };
        least(7, "lda", lda, cols.max(1))?;
        least(8, "ldb", ldb, to_cols.max(1))?;
        if rows == 0 || cols == 0 {
            return Ok(None);
        }
        let pitch = |parameter, what, value: i128, rows: i128| {
            let bytes = value.checked_mul(rows).and_then(|all| all.checked_mul(elem_bytes as i128));
            let fits = bytes.is_some_and(|bytes| bytes <= isize::MAX as i128);
            let pitch = usize::try_from(value).ok().filter(|_| fits);
            pitch.ok_or(Illegal::Large { parameter, what, value })
        };
        let (lda, ldb) = (pitch(7, "lda", lda, rows)?, pitch(8, "ldb", ldb, to_rows)?);
        if address == 0 {
            return Err(Illegal::Null);
        }
        // No side is more than a pitch times the other, which fits.
        let [rows, cols, to_rows, to_cols] =
            [rows, cols, to_rows, to_cols].map(|side| side as usize);
        let span = ((rows - 1) * lda + cols).max((to_rows - 1) * ldb + to_cols);
        Ok(Some(Request { operation, rows, cols, lda, ldb, span }))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Of floats.
    fn request(order: u8, operation: u8, numbers: [i128; 4]) -> Result<Option<Request>, Illegal> {
        request_at(64, order, operation, numbers)
    }

    fn request_at(
        address: usize,
        order: u8,
        operation: u8,
        numbers: [i128; 4],
    ) -> Result<Option<Request>, Illegal> {
        let (order, operation) = (Order::of_letter(order), operation_of_letter(operation));
        Arguments { order, operation, numbers }.request(4, address)
    }

    #[test]
    fn letters_and_numbers() {
        for (number, letters) in [(101, b"Rr"), (102, b"Cc")] {
            for &letter in letters {
                assert_eq!(Order::of_number(number), Order::of_letter(letter));
                assert!(Order::of_letter(letter).is_some());
            }
        }
        for (number, letters, operation) in [
            (111, b"Nn", MatrixOp::Keep),
            (112, b"Tt", MatrixOp::Transpose),
            (113, b"Cc", MatrixOp::ConjugateTranspose),
            (114, b"Rr", MatrixOp::Conjugate),
        ] {
            assert_eq!(operation_of_number(number), Some(operation));
            letters.iter().for_each(|&letter| {
                assert_eq!(operation_of_letter(letter), Some(operation));
            });
        }
        for number in [i32::MIN, 0, 100, 103, 110, 115, i32::MAX] {
            assert_eq!((Order::of_number(number), operation_of_number(number)), (None, None));
        }
        assert_eq!((Order::of_letter(b'T'), operation_of_letter(b'X')), (None, None));
    }

    /// What OpenBLAS 0.3.34 answers to the same.
    #[test]
    fn the_first_illegal_argument_is_named() {
        for (order, op, numbers, parameter) in [
            (b'X', b'X', [-1, -1, 0, 0], 1),
            (b'R', b'X', [-1, -1, 0, 0], 2),
            (b'R', b'T', [-1, -1, 0, 0], 3),
            (b'R', b'T', [3, -1, 0, 0], 4),
            (b'R', b'T', [3, 4, 3, 2], 7),
            (b'R', b'T', [3, 4, 4, 2], 8),
            (b'R', b'N', [3, 4, 4, 3], 8),
            (b'C', b'T', [3, 4, 2, 4], 7),
            (b'C', b'T', [3, 4, 3, 3], 8),
            (b'C', b'N', [3, 4, 3, 2], 8),
            (b'R', b'T', [0, 4, 4, 0], 8),
            (b'R', b'T', [3, 0, 0, 3], 7),
            (b'R', b'T', [0, 4, 3, 3], 7),
        ] {
            let error = request(order, op, numbers).unwrap_err().to_string();
            assert!(error.starts_with(&format!("parameter number  {parameter} ")), "{error}");
        }
        for numbers in [[0, 4, 4, 1], [3, 0, 1, 3]] {
            assert_eq!(request(b'R', b'T', numbers), Ok(None));
        }
    }

    #[test]
    fn column_major_is_row_major_with_the_sides_exchanged() {
        let same = Request {
            operation: MatrixOp::Transpose,
            rows: 3,
            cols: 4,
            lda: 5,
            ldb: 6,
            span: 3 * 6 + 3,
        };
        assert_eq!(request(b'R', b'T', [3, 4, 5, 6]), Ok(Some(same)));
        assert_eq!(request(b'C', b'T', [4, 3, 5, 6]), Ok(Some(same)));
    }

    #[test]
    fn what_memory_cannot_hold_is_illegal() {
        let huge = 1 << 62;
        for (numbers, parameter) in [
            ([3, 4, huge, 3], 7),
            ([3, 4, 4, huge], 8),
            ([huge, huge, huge, huge], 7),
            ([1, i128::MAX, i128::MAX, 1], 7),
            // One row becomes a great many, each as far from the next as ldb says.
            ([1, 1 << 40, 1 << 40, 1 << 40], 8),
        ] {
            let error = request(b'R', b'T', numbers).unwrap_err();
            assert!(
                matches!(error, Illegal::Large { parameter: p, .. } if p == parameter),
                "{error}"
            );
        }
        assert_eq!(request_at(0, b'R', b'T', [3, 4, 4, 3]), Err(Illegal::Null));
        assert_eq!(request_at(0, b'R', b'T', [3, 0, 4, 3]), Ok(None));
    }
}
