//! The checked problem.

use std::fmt;

use turntile_perm::{
    AxisPermutation, Elementary, FusedAxes, LayoutChange, LeadingDims, MOST_GIVEN,
    PermutationError, PitchedRows, SwapKind,
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
    kind: Kind,
}

/// What moves, and to where; each kind is planned in its own way.
#[derive(Clone, Copy, PartialEq, Eq, Hash)]
enum Kind {
    /// Axes, inside their memory.
    InPlace,
    /// Axes, to memory that does not overlap the source.
    OutOfPlace,
    /// One matrix with leading dimensions, inside its memory.
    Leading(LeadingDims),
    /// Records, from one layout to another, inside their memory.
    Records(LayoutChange),
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
pub struct MatrixBatch {
    /// Matrices.
    pub batch: usize,
    /// Rows of each.
    pub rows: usize,
    /// Columns of each.
    pub cols: usize,
}

impl MatrixBatch {
    /// Axes that are a transposition of matrices of single elements.
    pub fn of(axes: &AxisPermutation) -> Option<Self> {
        match axes.form() {
            SwapKind::Transpose(Elementary { batch, rows, cols, unit: 1, .. })
                if !axes.is_identity() =>
            {
                Some(MatrixBatch { batch, rows, cols })
            }
            _ => None,
        }
    }

    /// The problem that undoes this one.
    #[must_use]
    pub fn transposed(self) -> Self {
        MatrixBatch { rows: self.cols, cols: self.rows, ..self }
    }
}

/// What memory's addresses are multiples of unless something else is said: those of every allocator here.
pub const DEFAULT_ALIGNMENT: usize = 16;

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
    Axes(#[from] PermutationError),
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
    /// Only axes of an array without gaps are permuted into other memory.
    #[error("only axes of an array without gaps can be permuted out of place, not {what}")]
    OutOfPlace {
        /// What was to be moved out of place.
        what: &'static str,
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
        let (alignment, kind) = (DEFAULT_ALIGNMENT, Kind::InPlace);
        Ok(Problem { axes, elem_bytes, cap: None, alignment, kind })
    }

    /// Records of words of `word_bytes` bytes that go from tiles of one length to tiles of another: from one layout of
    /// AoS, ASTA and SoA to another. As axes they are records by words, and these stay. Total bytes must not exceed
    /// `isize::MAX`.
    pub fn of_records(retile: LayoutChange, word_bytes: usize) -> Result<Self, ProblemError> {
        let fields = retile.fields();
        let stays = Self::permuted(&[fields.records(), fields.words()], &[0, 1], word_bytes)?;
        Ok(Problem { kind: Kind::Records(retile), ..stays })
    }

    /// Records and the tiles that they lie in before and after, if that is what is to change.
    pub fn records(&self) -> Option<&LayoutChange> {
        match &self.kind {
            Kind::Records(retile) => Some(retile),
            _ => None,
        }
    }

    /// The same memory as an array with these axes, to be permuted in place.
    pub(crate) fn as_axes(&self, extents: &[usize], order: &[usize]) -> Option<Self> {
        let axes = Self::permuted(extents, order, self.elem_bytes).ok()?.axes;
        Some(Problem { axes, kind: Kind::InPlace, ..*self })
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
    /// [`PermutationError::TooMany`]: more move apart than can be held at once.
    pub fn axes(&self) -> Result<AxisPermutation, PermutationError> {
        let mut order = [0; MOST_GIVEN];
        order.iter_mut().zip(self.order()).for_each(|(to, axis)| *to = axis);
        AxisPermutation::new(self.extents(), &order[..self.extents().len()])
    }

    /// The same axes however many there are.
    pub fn fused(&self) -> FusedAxes {
        let order: Vec<usize> = self.order().collect();
        FusedAxes::new(self.extents(), &order).expect("they were checked")
    }

    /// The same problem in terms of its fused axes. Leading dimensions and records have none to fuse.
    pub(crate) fn with_fused_axes(&self) -> Self {
        let fused = self.fused();
        let axes = match self.kind {
            Kind::InPlace | Kind::OutOfPlace => {
                Self::permuted(fused.extents(), fused.order(), self.elem_bytes)
            }
            Kind::Leading(_) | Kind::Records(_) => Ok(*self),
        };
        Problem { axes: axes.expect("no more than there were").axes, ..*self }
    }

    /// The problem as matrices, if that is what it is; none when nothing moves.
    pub fn matrices(&self) -> Option<MatrixBatch> {
        MatrixBatch::of(&self.axes().ok()?)
    }

    /// The same problem with at most `bytes` of workspace beyond the matrix.
    #[must_use]
    pub fn with_cap(self, bytes: usize) -> Self {
        Problem { cap: Some(bytes), ..self }
    }

    /// Sets what the memory's address is a multiple of, in bytes; [`DEFAULT_ALIGNMENT`] by default. The largest power of two that
    /// divides `bytes` is what counts: 24 is planned as 8. 0 is taken as 1.
    #[must_use]
    pub fn with_alignment(self, bytes: usize) -> Self {
        Problem { alignment: 1 << bytes.max(1).trailing_zeros(), ..self }
    }

    /// Asks for the result in other memory, with the source unchanged.
    ///
    /// # Errors
    /// [`ProblemError::OutOfPlace`]: the problem has leading dimensions or is of records, which move in place only.
    pub fn out_of_place(self) -> Result<Self, ProblemError> {
        match self.kind {
            Kind::InPlace | Kind::OutOfPlace => Ok(Problem { kind: Kind::OutOfPlace, ..self }),
            Kind::Leading(_) => Err(ProblemError::OutOfPlace { what: "leading dimensions" }),
            Kind::Records(_) => Err(ProblemError::OutOfPlace { what: "records" }),
        }
    }

    /// The same matrix with rows `lda` elements apart before and `ldb` after. Elements between rows are not part of it.
    /// Axes that stay, `[0, 1]` of [`permuted`](Self::permuted), are rows that slide from one to the other.
    ///
    /// # Errors
    /// [`ProblemError::TooSmall`]: `lda` or `ldb` is shorter than a row. [`ProblemError::TooFarApart`]: more bytes than
    /// `isize::MAX`. [`ProblemError::Leading`]: it is a batch, has other axes, is out of place or of records.
    pub fn with_leading(self, lda: usize, ldb: usize) -> Result<Self, ProblemError> {
        match self.kind {
            Kind::InPlace | Kind::Leading(_) => {}
            Kind::OutOfPlace => return Err(ProblemError::Leading { with: "another place" }),
            Kind::Records(_) => return Err(ProblemError::Leading { with: "records" }),
        }
        let (rows, cols, transposed) = match (self.given_matrices(), self.extents()) {
            (Some(MatrixBatch { batch: 1, rows, cols }), _) => (rows, cols, true),
            (None, &[rows, cols]) => (rows, cols, false),
            (given, _) if given.is_some() || self.order().eq(0..3) => {
                return Err(ProblemError::Leading { with: "a batch" });
            }
            _ => return Err(ProblemError::Leading { with: "other axes" }),
        };
        let after = if transposed { rows } else { cols };
        for (name, least, got) in [("lda", cols, lda), ("ldb", after, ldb)] {
            if got < least {
                return Err(ProblemError::TooSmall { name, least, got });
            }
        }
        let elem_bytes = self.elem_bytes;
        let fits = |rows: PitchedRows| {
            let whole = rows.scaled(elem_bytes).and_then(|r| r.rows().checked_mul(r.pitch()));
            whole.is_some_and(|bytes| bytes <= isize::MAX as usize)
        };
        let make = if transposed { LeadingDims::transposed } else { LeadingDims::row_slide };
        let leading = make(rows, cols, lda, ldb)
            .filter(|leading| fits(leading.source()) && fits(leading.result()))
            .ok_or(ProblemError::TooFarApart { rows, cols, lda, ldb, elem_bytes })?;
        Ok(Problem { kind: Kind::Leading(leading), ..self })
    }

    /// Where its rows lie before and after, if they have leading dimensions.
    pub fn leading(&self) -> Option<&LeadingDims> {
        match &self.kind {
            Kind::Leading(leading) => Some(leading),
            _ => None,
        }
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
    fn given_matrices(&self) -> Option<MatrixBatch> {
        match (self.extents(), &self.axes.order[..self.extents().len()]) {
            (&[rows, cols], [1, 0]) => Some(MatrixBatch { batch: 1, rows, cols }),
            (&[batch, rows, cols], [0, 2, 1]) => Some(MatrixBatch { batch, rows, cols }),
            _ => None,
        }
    }

    fn sides(&self) -> MatrixBatch {
        let one_row = || MatrixBatch { batch: 1, rows: 1, cols: self.len() };
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
        self.kind == Kind::OutOfPlace
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
        self.leading().map_or(self.len(), LeadingDims::span)
    }

    /// Bytes of those.
    pub fn span_bytes(&self) -> usize {
        self.span() * self.elem_bytes
    }

    /// Bytes at the start of a workspace that hold what lies in the gaps of both leading dimensions where the rows lie
    /// while they are together: a multiple of 16.
    pub fn saved_gap_bytes(&self) -> usize {
        self.leading().map_or(0, |leading| self.kept_bytes_of(leading))
    }

    /// The same of rows that cover as many elements as `leading` says.
    pub(crate) fn kept_bytes_of(&self, leading: &LeadingDims) -> usize {
        (leading.saved_gap_len() * self.elem_bytes).next_multiple_of(DEFAULT_ALIGNMENT)
    }

    /// Where what lies at `offset` must end; offsets in gaps of leading dimensions and behind the end stay.
    pub fn dest(&self, offset: usize) -> usize {
        match &self.kind {
            Kind::Leading(leading) => return leading.dest(offset),
            Kind::Records(retile) => return retile.dest(offset),
            Kind::InPlace | Kind::OutOfPlace => {}
        }
        let (mut digits, mut rest) = ([0; MOST_GIVEN], offset);
        if self.is_empty() {
            return offset;
        }
        for (axis, &extent) in self.extents().iter().enumerate().rev() {
            (rest, digits[axis]) = (rest / extent, rest % extent);
        }
        if rest != 0 {
            return offset;
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
fn write_records(f: &mut fmt::Formatter<'_>, retile: &LayoutChange) -> fmt::Result {
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
            _ if let Some(retile) = self.records() => write_records(f, retile)?,
            (Some(MatrixBatch { batch: 1, rows, cols }), _) => write!(f, "{rows}x{cols}")?,
            (Some(MatrixBatch { batch, rows, cols }), _) => write!(f, "{batch} * {rows}x{cols}")?,
            (None, [rows, cols]) if self.leading().is_some() => write!(f, "{rows}x{cols}")?,
            (None, extents) => {
                let order: Vec<String> = self.order().map(|axis| axis.to_string()).collect();
                write!(f, "{} axes {}", by_x(extents), order.join(","))?;
            }
        }
        write!(f, " w{}", self.elem_bytes)?;
        if let Some(leading) = self.leading() {
            let stays = if leading.is_transposed() { "" } else { " not transposed" };
            let (lda, ldb) = (leading.source().pitch(), leading.result().pitch());
            write!(f, ", lda {lda}, ldb {ldb}{stays}")?;
        }
        if self.alignment != DEFAULT_ALIGNMENT {
            write!(f, " aligned {}", self.alignment)?;
        }
        if self.is_out_of_place() { write!(f, " out of place") } else { Ok(()) }
    }
}

impl fmt::Debug for Problem {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Problem({self}, cap {:?})", self.cap)
    }
}

#[cfg(test)]
#[path = "problem_tests.rs"]
mod tests;
