//! Where the elements of a row-major matrix go when it is transposed.

/// The transposition of a `rows` by `cols` row-major matrix, as a permutation of its offsets.
///
/// Thesis equation 4.3 writes it `k' = k·m mod (mn - 1)` for an `m x n` matrix, the last element
/// staying put; equation 4.2 is the same for a column-major matrix. The forms here divide instead
/// of multiplying, so that nothing exceeds the number of elements.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Transposition {
    /// Rows before.
    pub rows: usize,
    /// Columns before.
    pub cols: usize,
}

impl Transposition {
    /// Elements of the matrix.
    pub fn len(&self) -> usize {
        self.rows * self.cols
    }

    /// Whether the matrix has no element.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// Where the element at offset `k` goes (equation 4.3).
    pub fn dest(&self, k: usize) -> usize {
        k % self.cols * self.rows + k / self.cols
    }

    /// Where the element that ends at offset `k` comes from: the inverse of [`dest`](Self::dest).
    pub fn source(&self, k: usize) -> usize {
        self.inverse().dest(k)
    }

    /// The transposition back, of the `cols` by `rows` matrix; also what equation 4.2 is to 4.3,
    /// since a column-major `rows x cols` matrix is a row-major `cols x rows` one.
    pub fn inverse(&self) -> Self {
        Transposition { rows: self.cols, cols: self.rows }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    /// Equation 4.3 as printed.
    fn equation_4_3(m: usize, n: usize, k: usize) -> usize {
        let last = m * n - 1;
        if k == last { last } else { k * m % last }
    }

    /// Equation 4.2 as printed, for a column-major matrix.
    fn equation_4_2(m: usize, n: usize, k: usize) -> usize {
        let last = m * n - 1;
        if k == last { last } else { k * n % last }
    }

    #[test]
    fn matches_the_equations_as_printed() {
        for m in 1..40 {
            for n in 1..40 {
                let t = Transposition { rows: m, cols: n };
                for k in 0..m * n {
                    assert_eq!(t.dest(k), equation_4_3(m, n, k));
                    assert_eq!(t.inverse().dest(k), equation_4_2(m, n, k));
                    assert_eq!(t.source(t.dest(k)), k);
                    assert_eq!(t.dest(t.source(k)), k);
                }
            }
        }
    }

    #[test]
    fn element_at_row_and_column_goes_to_column_and_row() {
        let t = Transposition { rows: 7, cols: 11 };
        for i in 0..7 {
            for j in 0..11 {
                assert_eq!(t.dest(i * 11 + j), j * 7 + i);
            }
        }
    }

    proptest! {
        #[test]
        fn source_undoes_dest(rows in 1usize..1 << 31, cols in 1usize..1 << 31, k: usize) {
            let t = Transposition { rows, cols };
            let k = k % t.len();
            prop_assert_eq!(t.source(t.dest(k)), k);
            prop_assert_eq!(t.dest(t.source(k)), k);
        }
    }
}
