//! What is asked for: arguments checked as OpenBLAS and MKL check them, and in row-major form.

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

/// What is done to the matrix.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Op {
    /// Whether it is transposed.
    pub transposed: bool,
    /// Whether its elements are conjugated.
    pub conjugated: bool,
}

impl Op {
    /// CBLAS's number.
    pub fn of_number(number: i32) -> Option<Self> {
        let letter = *b"NTCR".get(usize::try_from(number.checked_sub(111)?).ok()?)?;
        Self::of_letter(letter)
    }

    /// A letter, of either case: as it is, transposed, transposed and conjugated, conjugated.
    pub fn of_letter(letter: u8) -> Option<Self> {
        let (transposed, conjugated) = match letter.to_ascii_uppercase() {
            b'N' => (false, false),
            b'T' => (true, false),
            b'C' => (true, true),
            b'R' => (false, true),
            _ => return None,
        };
        Some(Op { transposed, conjugated })
    }
}

/// Arguments as they are given, of whatever type the numbers are.
#[derive(Clone, Copy, Debug)]
pub struct Arguments {
    /// None when it is none.
    pub order: Option<Order>,
    /// The same.
    pub op: Option<Op>,
    /// Rows.
    pub rows: i128,
    /// Columns.
    pub cols: i128,
    /// Elements from a row (column) to the next before.
    pub lda: i128,
    /// The same afterwards.
    pub ldb: i128,
    /// Bytes of an element.
    pub elem_bytes: usize,
    /// Whether there is no data.
    pub null: bool,
}

/// A row-major matrix with rows apart, and what is to be done to it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Request {
    /// Rows before.
    pub rows: usize,
    /// Columns before.
    pub cols: usize,
    /// Elements from a row to the next, before.
    pub from_pitch: usize,
    /// The same afterwards.
    pub to_pitch: usize,
    /// What is done.
    pub op: Op,
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
    /// The request, or the first argument that makes no sense, in the order of newer OpenBLAS; none when there is
    /// nothing to do.
    ///
    /// # Errors
    /// [`Illegal`].
    pub fn request(&self) -> Result<Option<Request>, Illegal> {
        let order = self.order.ok_or(Illegal::Choice { parameter: 1 })?;
        let op = self.op.ok_or(Illegal::Choice { parameter: 2 })?;
        let small = |parameter, what, value, least| match value < least {
            true => Err(Illegal::Small { parameter, what, value, least }),
            false => Ok(()),
        };
        small(3, "rows", self.rows, 0)?;
        small(4, "cols", self.cols, 0)?;
        // A column-major matrix is a row-major one with the sides exchanged.
        let (rows, cols) = match order {
            Order::Row => (self.rows, self.cols),
            Order::Column => (self.cols, self.rows),
        };
        let (to_rows, to_cols) = if op.transposed { (cols, rows) } else { (rows, cols) };
        small(7, "lda", self.lda, cols.max(1))?;
        small(8, "ldb", self.ldb, to_cols.max(1))?;
        if rows == 0 || cols == 0 {
            return Ok(None);
        }
        let number = |parameter, what, value: i128, rows: i128| {
            let bytes =
                value.checked_mul(rows).and_then(|all| all.checked_mul(self.elem_bytes as i128));
            let fits = bytes.is_some_and(|bytes| bytes <= isize::MAX as i128);
            usize::try_from(value).ok().filter(|_| fits).ok_or(Illegal::Large {
                parameter,
                what,
                value,
            })
        };
        let from_pitch = number(7, "lda", self.lda, rows)?;
        let to_pitch = number(8, "ldb", self.ldb, to_rows)?;
        if self.null {
            return Err(Illegal::Null);
        }
        // Both are no more than a pitch, which fits.
        Ok(Some(Request { rows: rows as usize, cols: cols as usize, from_pitch, to_pitch, op }))
    }
}

impl Request {
    /// Rows and columns afterwards.
    pub fn sides_after(&self) -> (usize, usize) {
        if self.op.transposed { (self.cols, self.rows) } else { (self.rows, self.cols) }
    }

    /// Elements from the first one on that hold the matrix, before and afterwards.
    pub fn span(&self) -> usize {
        let (rows, cols) = self.sides_after();
        let before = (self.rows - 1) * self.from_pitch + self.cols;
        before.max((rows - 1) * self.to_pitch + cols)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn arguments(order: u8, op: u8, [rows, cols, lda, ldb]: [i128; 4]) -> Arguments {
        let (order, op) = (Order::of_letter(order), Op::of_letter(op));
        Arguments { order, op, rows, cols, lda, ldb, elem_bytes: 4, null: false }
    }

    #[test]
    fn letters_and_numbers() {
        for (number, letters) in [(101, b"Rr"), (102, b"Cc")] {
            for &letter in letters {
                assert_eq!(Order::of_number(number), Order::of_letter(letter));
                assert!(Order::of_letter(letter).is_some());
            }
        }
        for (number, letters, transposed, conjugated) in [
            (111, b"Nn", false, false),
            (112, b"Tt", true, false),
            (113, b"Cc", true, true),
            (114, b"Rr", false, true),
        ] {
            let op = Some(Op { transposed, conjugated });
            assert_eq!(Op::of_number(number), op);
            letters.iter().for_each(|&letter| assert_eq!(Op::of_letter(letter), op));
        }
        for number in [i32::MIN, 0, 100, 103, 110, 115, i32::MAX] {
            assert_eq!((Order::of_number(number), Op::of_number(number)), (None, None));
        }
        assert_eq!((Order::of_letter(b'T'), Op::of_letter(b'X')), (None, None));
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
            let error = arguments(order, op, numbers).request().unwrap_err().to_string();
            assert!(error.starts_with(&format!("parameter number  {parameter} ")), "{error}");
        }
        for numbers in [[0, 4, 4, 1], [3, 0, 1, 3]] {
            assert_eq!(arguments(b'R', b'T', numbers).request(), Ok(None));
        }
    }

    #[test]
    fn column_major_is_row_major_with_the_sides_exchanged() {
        let op = Op { transposed: true, conjugated: false };
        let request = |order, numbers| arguments(order, b'T', numbers).request().unwrap().unwrap();
        let (rows, cols, from_pitch, to_pitch) = (3, 4, 5, 6);
        let same = Request { rows, cols, from_pitch, to_pitch, op };
        assert_eq!(request(b'R', [3, 4, 5, 6]), same);
        assert_eq!(request(b'C', [4, 3, 5, 6]), same);
        assert_eq!(same.sides_after(), (4, 3));
        assert_eq!(same.span(), 3 * 6 + 3);
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
            let error = arguments(b'R', b'T', numbers).request().unwrap_err();
            assert!(
                matches!(error, Illegal::Large { parameter: p, .. } if p == parameter),
                "{error}"
            );
        }
        let null = Arguments { null: true, ..arguments(b'R', b'T', [3, 4, 4, 3]) };
        assert_eq!(null.request(), Err(Illegal::Null));
        let nothing = Arguments { null: true, ..arguments(b'R', b'T', [3, 0, 4, 3]) };
        assert_eq!(nothing.request(), Ok(None));
    }
}
