//! The checked problem.

use std::fmt;

use turntile_perm::{
    AxesError, AxisPermutation, Elementary, Form, FusedAxes, Leading, MOST_GIVEN, Pitched, Retile,
};

/// A row-major array whose axes are to be permuted, most often equal matrices to be transposed: axis `i` of the result
/// is axis `order[i]` of the source, and both are row-major. Elements are words of `elem_bytes` bytes; their type
/// does not matter.
///
/// A column-major matrix is a row-major one with `rows` and `cols` swapped.
#[derive(Clone, Copy, PartialEq, Eq, Hash)]
pub struct Problem {
    axes: GivenAxes,
    elem_bytes: usize,
    cap: Option<usize>,
    alignment: usize,
    out_of_place: bool,
    leading: Option<Leading>,
    retile: Option<Retile>,
}

/// Axes as they were given, those of one element included.
#[derive(Clone, Copy, PartialEq, Eq, Hash)]
struct GivenAxes {
    rank: u8,
    order: [u8; MOST_GIVEN],
    extents: [usize; MOST_GIVEN],
}

impl GivenAxes {
    fn extents(&self) -> &[usize] {
        &self.extents[..usize::from(self.rank)]
    }

    fn order(&self) -> impl ExactSizeIterator<Item = usize> + Clone + '_ {
        self.order[..usize::from(self.rank)].iter().map(|&axis| usize::from(axis))
    }
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
    /// Axes that are a transposition of matrices of single elements.
    pub fn of(axes: &AxisPermutation) -> Option<Self> {
        match axes.form() {
            Form::Matrices(Elementary { batch, rows, cols, unit: 1, .. })
                if !axes.is_identity() =>
            {
                Some(Matrices { batch, rows, cols })
            }
            _ => None,
        }
    }

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
    #[error("{} elements of {elem_bytes} bytes exceed {} bytes", by_x(extents), isize::MAX)]
    TooLarge {
        /// Extents of the axes; of matrices rows and columns, and before them how many there are if several.
        extents: Vec<usize>,
        /// Bytes of an element.
        elem_bytes: usize,
    },
    /// The axes cannot be permuted so.
    #[error(transparent)]
    Axes(#[from] AxesError),
    /// More axes than an array can have.
    #[error("{axes} axes, at most {MOST_GIVEN} can be given")]
    TooManyAxes {
        /// Axes given.
        axes: usize,
    },
    /// Elements without bytes have nothing to move.
    #[error("an element has at least one byte")]
    ZeroSizedElement,
    /// A leading dimension is shorter than a row.
    #[error("{name} is {got}, rows have {least} elements")]
    TooSmall {
        /// `lda` of the source or `ldb` of the result.
        name: &'static str,
        /// The least that it can be.
        least: usize,
        /// What it is.
        got: usize,
    },
    /// The bytes do not fit the address space at their leading dimensions.
    #[error(
        "{rows} x {cols} elements of {elem_bytes} bytes at leading dimensions {lda} and {ldb} exceed {} bytes",
        isize::MAX
    )]
    TooFarApart {
        /// Rows before.
        rows: usize,
        /// Columns before.
        cols: usize,
        /// Elements from row to row before.
        lda: usize,
        /// The same after.
        ldb: usize,
        /// Bytes of an element.
        elem_bytes: usize,
    },
    /// Only one matrix in place has leading dimensions.
    #[error("leading dimensions are for one matrix in place, not with {with}")]
    Leading {
        /// What they cannot go with.
        with: &'static str,
    },
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
        match batch {
            1 => Self::permuted(&[rows, cols], &[1, 0], elem_bytes),
            _ => Self::permuted(&[batch, rows, cols], &[0, 2, 1], elem_bytes),
        }
    }

    /// An array with these extents, whose axis `order[i]` is to become axis `i`: NumPy's `transpose(order)`. Total
    /// bytes must not exceed `isize::MAX`.
    pub fn permuted(
        extents: &[usize],
        order: &[usize],
        elem_bytes: usize,
    ) -> Result<Self, ProblemError> {
        let rank = extents.len();
        if rank > MOST_GIVEN {
            return Err(ProblemError::TooManyAxes { axes: rank });
        }
        AxisPermutation::check_order(rank, order)?;
        if elem_bytes == 0 {
            return Err(ProblemError::ZeroSizedElement);
        }
        // A zero extent must not hide an overflow of the others.
        extents
            .iter()
            .chain([&elem_bytes])
            .try_fold(1usize, |bytes, &extent| bytes.checked_mul(extent.max(1)))
            .filter(|&bytes| bytes <= isize::MAX as usize)
            .ok_or_else(|| ProblemError::TooLarge { extents: extents.to_vec(), elem_bytes })?;
        let mut axes =
            GivenAxes { rank: rank as u8, order: [0; MOST_GIVEN], extents: [0; MOST_GIVEN] };
        axes.extents[..rank].copy_from_slice(extents);
        axes.order.iter_mut().zip(order).for_each(|(to, &axis)| *to = axis as u8);
        let (alignment, out_of_place) = (ALIGNMENT, false);
        Ok(Problem {
            axes,
            elem_bytes,
            cap: None,
            alignment,
            out_of_place,
            leading: None,
            retile: None,
        })
    }

    /// Records of words of `word_bytes` bytes that go from tiles of one length to tiles of another: from one layout of
    /// AoS, ASTA and SoA to another. As axes they are records by words, and these stay. Total bytes must not exceed
    /// `isize::MAX`.
    pub fn of_records(retile: Retile, word_bytes: usize) -> Result<Self, ProblemError> {
        let fields = retile.fields();
        let stays = Self::permuted(&[fields.records(), fields.words()], &[0, 1], word_bytes)?;
        Ok(Problem { retile: Some(retile), ..stays })
    }

    /// Records and the tiles that they lie in before and after, if that is what is to change.
    pub fn records(&self) -> Option<&Retile> {
        self.retile.as_ref()
    }

    /// The same memory as an array with these axes, as many elements.
    pub(crate) fn as_axes(&self, extents: &[usize], order: &[usize]) -> Option<Self> {
        let axes = Self::permuted(extents, order, self.elem_bytes).ok()?.axes;
        Some(Problem { axes, leading: None, retile: None, ..*self })
    }

    /// Extents of the source's axes as given; of matrices rows and columns, and before them how many there are if several.
    pub fn extents(&self) -> &[usize] {
        self.axes.extents()
    }

    /// The source's axis that each axis of the result is, as given.
    pub fn order(&self) -> impl ExactSizeIterator<Item = usize> + Clone + '_ {
        self.axes.order()
    }

    /// The axes that it permutes, fused.
    ///
    /// # Errors
    /// [`AxesError::TooMany`]: more move apart than can be held at once.
    pub fn axes(&self) -> Result<AxisPermutation, AxesError> {
        let mut order = [0; MOST_GIVEN];
        order.iter_mut().zip(self.order()).for_each(|(to, axis)| *to = axis);
        AxisPermutation::new(self.extents(), &order[..self.extents().len()])
    }

    /// The same axes however many there are.
    pub fn fused(&self) -> FusedAxes {
        let order: Vec<usize> = self.order().collect();
        FusedAxes::new(self.extents(), &order).expect("they were checked")
    }

    /// The problem as matrices, if that is what it is; none when nothing moves.
    pub fn matrices(&self) -> Option<Matrices> {
        Matrices::of(&self.axes().ok()?)
    }

    /// The same problem with at most `bytes` of workspace beyond the matrix.
    #[must_use]
    pub fn with_cap(self, bytes: usize) -> Self {
        Problem { cap: Some(bytes), ..self }
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

    /// The same matrix with rows `lda` elements apart before and `ldb` after. Elements between rows are not part of it.
    /// Axes that stay, `[0, 1]` of [`permuted`](Self::permuted), are rows that slide from one to the other.
    ///
    /// # Errors
    /// [`ProblemError::TooSmall`]: `lda` or `ldb` is shorter than a row. [`ProblemError::TooFarApart`]: more bytes than
    /// `isize::MAX`. [`ProblemError::Leading`]: it is a batch, has other axes or is out of place.
    pub fn with_leading(self, lda: usize, ldb: usize) -> Result<Self, ProblemError> {
        let (rows, cols, transposed) = match (self.given_matrices(), self.extents()) {
            (Some(Matrices { batch: 1, rows, cols }), _) => (rows, cols, true),
            (None, &[rows, cols]) => (rows, cols, false),
            (given, _) if given.is_some() || self.order().eq(0..3) => {
                return Err(ProblemError::Leading { with: "a batch" });
            }
            _ => return Err(ProblemError::Leading { with: "other axes" }),
        };
        if self.out_of_place {
            return Err(ProblemError::Leading { with: "another place" });
        }
        let after = if transposed { rows } else { cols };
        for (name, least, got) in [("lda", cols, lda), ("ldb", after, ldb)] {
            if got < least {
                return Err(ProblemError::TooSmall { name, least, got });
            }
        }
        let elem_bytes = self.elem_bytes;
        let fits = |rows: Pitched| {
            let whole = rows.scaled(elem_bytes).and_then(|r| r.rows().checked_mul(r.pitch()));
            whole.is_some_and(|bytes| bytes <= isize::MAX as usize)
        };
        let make = if transposed { Leading::transposed } else { Leading::slid };
        let leading = make(rows, cols, lda, ldb)
            .filter(|leading| fits(leading.source()) && fits(leading.result()))
            .ok_or(ProblemError::TooFarApart { rows, cols, lda, ldb, elem_bytes })?;
        Ok(Problem { leading: Some(leading), ..self })
    }

    /// Where its rows lie before and after, if they have leading dimensions.
    pub fn leading(&self) -> Option<&Leading> {
        self.leading.as_ref()
    }

    /// Number of matrices; of a permutation that is no transposition of matrices, 1.
    pub fn batch(&self) -> usize {
        self.sides().batch
    }

    /// Rows of each matrix before; where there are none, 1.
    pub fn rows(&self) -> usize {
        self.sides().rows
    }

    /// Columns of each matrix before; where there are none, all elements.
    pub fn cols(&self) -> usize {
        self.sides().cols
    }

    /// The matrices that it was given as.
    fn given_matrices(&self) -> Option<Matrices> {
        match (self.extents(), &self.axes.order[..self.extents().len()]) {
            (&[rows, cols], [1, 0]) => Some(Matrices { batch: 1, rows, cols }),
            (&[batch, rows, cols], [0, 2, 1]) => Some(Matrices { batch, rows, cols }),
            _ => None,
        }
    }

    fn sides(&self) -> Matrices {
        let one_row = || Matrices { batch: 1, rows: 1, cols: self.len() };
        self.given_matrices().or_else(|| self.matrices()).unwrap_or_else(one_row)
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

    /// Elements in all.
    pub fn len(&self) -> usize {
        self.extents().iter().product()
    }

    /// Whether there is no element.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// Bytes of the whole batch.
    pub fn bytes(&self) -> usize {
        self.len() * self.elem_bytes
    }

    /// Elements from the first one on that hold it before and after: all, or with leading dimensions
    /// `max((rows − 1) · lda + cols, (cols − 1) · ldb + rows)`.
    pub fn span(&self) -> usize {
        self.leading.map_or(self.len(), |leading| leading.span())
    }

    /// Bytes of those.
    pub fn span_bytes(&self) -> usize {
        self.span() * self.elem_bytes
    }

    /// Bytes at the start of a workspace that hold what lies in the gaps of both leading dimensions where the rows lie
    /// while they are together: a multiple of 16.
    pub fn kept_bytes(&self) -> usize {
        self.leading.map_or(0, |leading| self.kept_bytes_of(&leading))
    }

    /// The same of rows that cover as many elements as `leading` says.
    pub(crate) fn kept_bytes_of(&self, leading: &Leading) -> usize {
        (leading.kept_len() * self.elem_bytes).next_multiple_of(ALIGNMENT)
    }

    /// Where what lies at `offset` must end; of leading dimensions, what lies in a gap stays.
    pub fn dest(&self, offset: usize) -> usize {
        if let Some(leading) = &self.leading {
            return leading.dest(offset);
        }
        if let Some(retile) = &self.retile {
            return retile.dest(offset);
        }
        let (mut digits, mut rest) = ([0; MOST_GIVEN], offset);
        for (axis, &extent) in self.extents().iter().enumerate().rev() {
            (rest, digits[axis]) = (rest / extent, rest % extent);
        }
        self.order().fold(0, |at, axis| at * self.extents()[axis] + digits[axis])
    }
}

/// `2x3x4`; a single element has no axes.
pub(crate) fn by_x(extents: &[usize]) -> String {
    let extents: Vec<String> = extents.iter().map(usize::to_string).collect();
    if extents.is_empty() { "1".to_owned() } else { extents.join("x") }
}

/// `1000 records of 4+12+1+8, aos to asta:32`.
fn write_records(f: &mut fmt::Formatter<'_>, retile: &Retile) -> fmt::Result {
    let fields = retile.fields();
    let aos = usize::from(fields.in_order());
    let layout = |tile: usize| match tile {
        tile if tile == aos => "aos".to_owned(),
        all if all == fields.records() => "soa".to_owned(),
        some => format!("asta:{some}"),
    };
    write!(f, "{fields}, {} to {}", layout(retile.from()), layout(retile.to()))
}

impl fmt::Display for Problem {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match (self.given_matrices(), self.extents()) {
            _ if let Some(retile) = &self.retile => write_records(f, retile)?,
            (Some(Matrices { batch: 1, rows, cols }), _) => write!(f, "{rows}x{cols}")?,
            (Some(Matrices { batch, rows, cols }), _) => write!(f, "{batch} * {rows}x{cols}")?,
            (None, [rows, cols]) if self.leading.is_some() => write!(f, "{rows}x{cols}")?,
            (None, extents) => {
                let order: Vec<String> = self.order().map(|axis| axis.to_string()).collect();
                write!(f, "{} axes {}", by_x(extents), order.join(","))?;
            }
        }
        write!(f, " w{}", self.elem_bytes)?;
        if let Some(leading) = &self.leading {
            let stays = if leading.is_transposed() { "" } else { " not transposed" };
            let (lda, ldb) = (leading.source().pitch(), leading.result().pitch());
            write!(f, ", lda {lda}, ldb {ldb}{stays}")?;
        }
        if self.alignment != ALIGNMENT {
            write!(f, " aligned {}", self.alignment)?;
        }
        if self.out_of_place { write!(f, " out of place") } else { Ok(()) }
    }
}

impl fmt::Debug for Problem {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Problem({self}, cap {:?})", self.cap)
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
            let extents = [batch, rows, cols];
            let extents = if batch == 1 { &extents[1..] } else { &extents }.to_vec();
            assert_eq!(
                Problem::with_batch(batch, rows, cols, elem_bytes),
                Err(ProblemError::TooLarge { extents, elem_bytes })
            );
        }
        assert!(Problem::with_batch(0, 5, 5, 1).unwrap().is_empty());
    }
    #[test]
    fn axes_are_checked() {
        let problem = Problem::permuted(&[2, 3, 4], &[2, 0, 1], 8).unwrap();
        assert_eq!((problem.len(), problem.bytes()), (24, 192));
        assert_eq!(problem.matrices(), Some(Matrices { batch: 1, rows: 6, cols: 4 }));
        assert_eq!(problem.to_string(), "2x3x4 axes 2,0,1 w8");
        for order in [&[0, 1][..], &[0, 1, 1], &[1, 2, 3], &[0, 1, 2, 3]] {
            assert!(matches!(Problem::permuted(&[2, 3, 4], order, 8), Err(ProblemError::Axes(_))));
        }
        let many = Problem::permuted(&[1; 65], &(0..65).collect::<Vec<_>>(), 1);
        assert_eq!(many, Err(ProblemError::TooManyAxes { axes: 65 }));
        let one = Problem::permuted(&[], &[], 3).unwrap();
        assert_eq!((one.len(), one.dest(0), one.axes().unwrap().is_identity()), (1, 0, true));
    }

    #[test]
    fn elements_end_where_numpy_puts_them() {
        // np.arange(24).reshape(2, 3, 4).transpose(2, 0, 1).ravel()
        let moved =
            [0, 4, 8, 12, 16, 20, 1, 5, 9, 13, 17, 21, 2, 6, 10, 14, 18, 22, 3, 7, 11, 15, 19, 23];
        let problem = Problem::permuted(&[2, 3, 4], &[2, 0, 1], 1).unwrap();
        (0..24).for_each(|k| assert_eq!(moved[problem.dest(k)], k));
    }
}
