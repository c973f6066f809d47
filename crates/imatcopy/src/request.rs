//! Arguments of a call: validated as in OpenBLAS and MKL, and converted to row-major form.

use turntile::blas::MatrixOp;

/// Storage order of a matrix.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum StorageOrder {
    /// Row-major.
    Row,
    /// Column-major.
    Column,
}

impl StorageOrder {
    /// Converts the constant of CBLAS: 101 (row-major) or 102 (column-major).
    pub fn from_number(number: i32) -> Option<Self> {
        match number {
            101 => Some(StorageOrder::Row),
            102 => Some(StorageOrder::Column),
            _ => None,
        }
    }

    /// Converts a letter in upper or lower case: `R` (row-major) or `C` (column-major).
    pub fn from_letter(letter: u8) -> Option<Self> {
        match letter.to_ascii_uppercase() {
            b'R' => Some(StorageOrder::Row),
            b'C' => Some(StorageOrder::Column),
            _ => None,
        }
    }
}

/// Converts the constant of CBLAS for the operation: 111 to 114.
pub fn operation_from_number(number: i32) -> Option<MatrixOp> {
    let letter = *b"NTCR".get(usize::try_from(number.checked_sub(111)?).ok()?)?;
    operation_from_letter(letter)
}

/// Converts a letter in upper or lower case: `N` (none), `T` (transpose), `C` (conjugate transpose)
/// or `R` (conjugate).
pub fn operation_from_letter(letter: u8) -> Option<MatrixOp> {
    match letter.to_ascii_uppercase() {
        b'N' => Some(MatrixOp::Keep),
        b'T' => Some(MatrixOp::Transpose),
        b'C' => Some(MatrixOp::ConjugateTranspose),
        b'R' => Some(MatrixOp::Conjugate),
        _ => None,
    }
}

/// Arguments of a call. The four numbers are converted to `i128` from any integer type.
#[derive(Clone, Copy, Debug)]
pub struct Arguments {
    /// Storage order. `None` if the argument is not valid.
    pub order: Option<StorageOrder>,
    /// Operation. `None` if the argument is not valid.
    pub operation: Option<MatrixOp>,
    /// Rows and columns before, and the leading dimensions before (`lda`) and after (`ldb`).
    pub numbers: [i128; 4],
}

/// Operation on a row-major matrix with leading dimensions.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct MatrixRequest {
    /// Operation to apply.
    pub operation: MatrixOp,
    /// Number of rows before.
    pub rows: usize,
    /// Number of columns before.
    pub cols: usize,
    /// Leading dimension in elements, before.
    pub lda: usize,
    /// Leading dimension in elements, after.
    pub ldb: usize,
    /// Number of elements from the first to the last of the matrix: the maximum of before and after.
    pub span: usize,
}

/// Illegal argument: its position, counted from 1, and the reason.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum Illegal {
    /// An unknown letter or constant.
    #[error("parameter number {parameter:2} had an illegal value")]
    Choice { parameter: u32 },
    /// A number that is too small.
    #[error(
        "parameter number {parameter:2} had an illegal value ({what} is {value}, must be at least {least})"
    )]
    Small { parameter: u32, what: &'static str, value: i128, least: i128 },
    /// A matrix that exceeds the address space.
    #[error(
        "parameter number {parameter:2} had an illegal value ({what} is {value}: the matrix exceeds the address space)"
    )]
    Large { parameter: u32, what: &'static str, value: i128 },
    /// A null pointer.
    #[error("parameter number  6 had an illegal value (the matrix is NULL)")]
    Null,
}

impl Arguments {
    /// Validates the arguments for elements of `elem_bytes` bytes at `address`. Returns `None` if
    /// the matrix is empty.
    ///
    /// # Errors
    /// Returns the first illegal argument, in the order in which newer versions of OpenBLAS check.
    pub fn request(
        &self,
        elem_bytes: usize,
        address: usize,
    ) -> Result<Option<MatrixRequest>, Illegal> {
        let order = self.order.ok_or(Illegal::Choice { parameter: 1 })?;
        let operation = self.operation.ok_or(Illegal::Choice { parameter: 2 })?;
        let at_least = |parameter, what, value, least| match value < least {
            true => Err(Illegal::Small { parameter, what, value, least }),
            false => Ok(()),
        };
        let [rows, cols, lda, ldb] = self.numbers;
        at_least(3, "rows", rows, 0)?;
        at_least(4, "cols", cols, 0)?;
        // A column-major matrix is a row-major matrix with rows and columns swapped.
        let (rows, cols) = if order == StorageOrder::Row { (rows, cols) } else { (cols, rows) };
        let (to_rows, to_cols) = if operation.transposes() { (cols, rows) } else { (rows, cols) };
        at_least(7, "lda", lda, cols.max(1))?;
        at_least(8, "ldb", ldb, to_cols.max(1))?;
        if rows == 0 || cols == 0 {
            return Ok(None);
        }
        let leading = |parameter, what, value: i128, rows: i128| {
            let bytes = value.checked_mul(rows).and_then(|all| all.checked_mul(elem_bytes as i128));
            let fits = bytes.is_some_and(|bytes| bytes <= isize::MAX as i128);
            let value_fits = usize::try_from(value).ok().filter(|_| fits);
            value_fits.ok_or(Illegal::Large { parameter, what, value })
        };
        let (lda, ldb) = (leading(7, "lda", lda, rows)?, leading(8, "ldb", ldb, to_rows)?);
        if address == 0 {
            return Err(Illegal::Null);
        }
        // The products of rows and leading dimensions fit, so each of these numbers fits too.
        let [rows, cols, to_rows, to_cols] =
            [rows, cols, to_rows, to_cols].map(|side| side as usize);
        let span = ((rows - 1) * lda + cols).max((to_rows - 1) * ldb + to_cols);
        Ok(Some(MatrixRequest { operation, rows, cols, lda, ldb, span }))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Validates arguments for elements of 4 bytes.
    fn request(
        order: u8,
        operation: u8,
        numbers: [i128; 4],
    ) -> Result<Option<MatrixRequest>, Illegal> {
        request_at(64, order, operation, numbers)
    }

    fn request_at(
        address: usize,
        order: u8,
        operation: u8,
        numbers: [i128; 4],
    ) -> Result<Option<MatrixRequest>, Illegal> {
        let (order, operation) =
            (StorageOrder::from_letter(order), operation_from_letter(operation));
        Arguments { order, operation, numbers }.request(4, address)
    }

    #[test]
    fn letters_and_cblas_constants_are_converted() {
        for (number, letters) in [(101, b"Rr"), (102, b"Cc")] {
            for &letter in letters {
                assert_eq!(StorageOrder::from_number(number), StorageOrder::from_letter(letter));
                assert!(StorageOrder::from_letter(letter).is_some());
            }
        }
        for (number, letters, operation) in [
            (111, b"Nn", MatrixOp::Keep),
            (112, b"Tt", MatrixOp::Transpose),
            (113, b"Cc", MatrixOp::ConjugateTranspose),
            (114, b"Rr", MatrixOp::Conjugate),
        ] {
            assert_eq!(operation_from_number(number), Some(operation));
            letters.iter().for_each(|&letter| {
                assert_eq!(operation_from_letter(letter), Some(operation));
            });
        }
        for number in [i32::MIN, 0, 100, 103, 110, 115, i32::MAX] {
            assert_eq!(
                (StorageOrder::from_number(number), operation_from_number(number)),
                (None, None)
            );
        }
        assert_eq!((StorageOrder::from_letter(b'T'), operation_from_letter(b'X')), (None, None));
    }

    /// Checks that the parameter numbers in messages are those of OpenBLAS 0.3.34.
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
    fn column_major_request_equals_the_row_major_request_with_rows_and_columns_swapped() {
        let expected = MatrixRequest {
            operation: MatrixOp::Transpose,
            rows: 3,
            cols: 4,
            lda: 5,
            ldb: 6,
            span: 3 * 6 + 3,
        };
        assert_eq!(request(b'R', b'T', [3, 4, 5, 6]), Ok(Some(expected)));
        assert_eq!(request(b'C', b'T', [4, 3, 5, 6]), Ok(Some(expected)));
    }

    #[test]
    fn arguments_are_illegal_when_the_matrix_exceeds_the_address_space_or_is_null() {
        let huge = 1 << 62;
        for (numbers, parameter) in [
            ([3, 4, huge, 3], 7),
            ([3, 4, 4, huge], 8),
            ([huge, huge, huge, huge], 7),
            ([1, i128::MAX, i128::MAX, 1], 7),
            // One row becomes 2^40 rows with a leading dimension of 2^40.
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
