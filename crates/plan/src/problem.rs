//! Validated problem descriptions.

use std::fmt;

use turntile_perm::{
    AxisPermutation, Elementary, FlippedAxes, FusedAxes, LayoutChange, LeadingDims, MAX_RANK,
    PermutationError, PitchedRows, SwapKind,
};

use crate::saved_gaps::SavedGaps;

/// Description of an axis permutation of a row-major array, such as a batched matrix transposition.
///
/// Axis `i` of the result is axis `order[i]` of the source. Source and result are row-major.
/// Elements are opaque blocks of `elem_bytes` bytes; their type does not matter.
///
/// Describe a column-major matrix as the row-major matrix with `rows` and `cols` swapped.
#[derive(Clone, PartialEq, Eq, Hash)]
pub struct Problem {
    axes: GivenAxes,
    /// One bit per axis of the result: 1 if the axis is reversed. Only axes of 2 or more.
    flipped: u64,
    elem_bytes: usize,
    cap: Option<usize>,
    alignment: usize,
    kind: Kind,
}

/// Kind of a problem: the objects to move and the destination.
#[derive(Clone, PartialEq, Eq, Hash)]
enum Kind {
    /// Axis permutation inside the source buffer.
    InPlace,
    /// Axis permutation into a buffer that does not overlap the source.
    OutOfPlace,
    /// One matrix with leading dimensions, in place.
    Leading(SavedGaps),
    /// Change of record layout, in place.
    Records(LayoutChange),
}

/// Axes as given by the caller, before fusion. Includes axes of extent 1.
#[derive(Clone, Copy, PartialEq, Eq, Hash)]
struct GivenAxes {
    rank: u8,
    order: [u8; MAX_RANK],
    extents: [usize; MAX_RANK],
}

impl GivenAxes {
    fn extents(&self) -> &[usize] {
        &self.extents[..usize::from(self.rank)]
    }

    fn order(&self) -> impl ExactSizeIterator<Item = usize> + Clone + '_ {
        self.order[..usize::from(self.rank)].iter().map(|&axis| usize::from(axis))
    }
}

/// Batch of `batch` matrices, each of `rows` x `cols` elements.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct MatrixBatch {
    /// Number of matrices.
    pub batch: usize,
    /// Rows of each matrix.
    pub rows: usize,
    /// Columns of each matrix.
    pub cols: usize,
}

impl MatrixBatch {
    /// Returns the matrices that `axes` transposes.
    ///
    /// Returns `None` if `axes` is the identity, or is not a transposition of matrices of single
    /// elements.
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

    /// Returns the matrices of the inverse transposition: swaps `rows` and `cols`.
    #[must_use]
    pub fn transposed(self) -> Self {
        MatrixBatch { rows: self.cols, cols: self.rows, ..self }
    }
}

/// Default alignment of buffers, in bytes. Common allocators guarantee it.
pub const DEFAULT_ALIGNMENT: usize = 16;

/// Reason why a problem description is invalid.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum ProblemError {
    /// The array exceeds the address space.
    #[error("{} elements of {elem_bytes} bytes exceed {} bytes", by_x(extents), isize::MAX)]
    TooLarge {
        /// Extents of the axes. For matrices: the batch if it is not 1, then rows and columns.
        extents: Vec<usize>,
        /// Bytes of an element.
        elem_bytes: usize,
    },
    /// The axis order is invalid.
    #[error(transparent)]
    Axes(#[from] PermutationError),
    /// The rank exceeds the supported maximum.
    #[error("{axes} axes, at most {MAX_RANK} are supported")]
    TooManyAxes {
        /// Rank of the array.
        axes: usize,
    },
    /// Elements have zero bytes.
    #[error("an element must have at least one byte")]
    ZeroSizedElement,
    /// A leading dimension is shorter than a row.
    #[error("{name} is {got}, must be at least the row length {least}")]
    TooSmall {
        /// `"lda"` for the source or `"ldb"` for the result.
        name: &'static str,
        /// Elements of a row: the minimum.
        least: usize,
        /// The rejected value.
        got: usize,
    },
    /// The matrix exceeds the address space at its leading dimensions.
    #[error(
        "{rows} x {cols} elements of {elem_bytes} bytes at leading dimensions {lda} and {ldb} exceed {} bytes",
        isize::MAX
    )]
    TooFarApart {
        /// Rows of the source.
        rows: usize,
        /// Columns of the source.
        cols: usize,
        /// Leading dimension of the source, in elements.
        lda: usize,
        /// Leading dimension of the result, in elements.
        ldb: usize,
        /// Bytes of an element.
        elem_bytes: usize,
    },
    /// Leading dimensions are set for a problem other than one matrix in place.
    #[error(
        "leading dimensions cannot be combined with {with}: they apply to one matrix, in place"
    )]
    Leading {
        /// The conflicting property.
        with: &'static str,
    },
    /// Axes to reverse are repeated or do not exist.
    #[error("flip {axes:?}: each axis must be in 0..{rank}, and occur once")]
    FlippedAxes {
        /// The axes as given.
        axes: Vec<usize>,
        /// Rank of the result.
        rank: usize,
    },
    /// Axes are reversed in a problem other than an in-place permutation of a contiguous array.
    #[error(
        "reversed axes cannot be combined with {with}: they apply to a contiguous array, in place"
    )]
    Flip {
        /// The conflicting property.
        with: &'static str,
    },
    /// A problem of a kind that runs only in place was made out-of-place.
    #[error("{what} cannot run out of place: only permutations of a contiguous array can")]
    OutOfPlace {
        /// The property that requires in-place execution.
        what: &'static str,
    },
}

impl Problem {
    /// Describes the transposition of one matrix.
    ///
    /// # Errors
    /// Same as [`permuted`](Self::permuted).
    pub fn new(rows: usize, cols: usize, elem_bytes: usize) -> Result<Self, ProblemError> {
        Self::with_batch(1, rows, cols, elem_bytes)
    }

    /// Describes the transposition of `batch` contiguous matrices of equal extents.
    ///
    /// # Errors
    /// Same as [`permuted`](Self::permuted).
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

    /// Describes the permutation with `result.shape[i] == extents[order[i]]`, as NumPy's
    /// `transpose(order)`.
    ///
    /// # Errors
    /// [`ProblemError::TooManyAxes`]: more than [`MAX_RANK`] axes. [`ProblemError::Axes`]:
    /// `order` is not a permutation of the axes. [`ProblemError::ZeroSizedElement`]: `elem_bytes`
    /// is 0. [`ProblemError::TooLarge`]: the array has more than `isize::MAX` bytes.
    pub fn permuted(
        extents: &[usize],
        order: &[usize],
        elem_bytes: usize,
    ) -> Result<Self, ProblemError> {
        let rank = extents.len();
        if rank > MAX_RANK {
            return Err(ProblemError::TooManyAxes { axes: rank });
        }
        AxisPermutation::check_order(rank, order)?;
        if elem_bytes == 0 {
            return Err(ProblemError::ZeroSizedElement);
        }
        // Extents of 0 count as 1: an empty array is still rejected if its other extents overflow.
        extents
            .iter()
            .chain([&elem_bytes])
            .try_fold(1usize, |bytes, &extent| bytes.checked_mul(extent.max(1)))
            .filter(|&bytes| bytes <= isize::MAX as usize)
            .ok_or_else(|| ProblemError::TooLarge { extents: extents.to_vec(), elem_bytes })?;
        let mut axes = GivenAxes { rank: rank as u8, order: [0; MAX_RANK], extents: [0; MAX_RANK] };
        axes.extents[..rank].copy_from_slice(extents);
        axes.order.iter_mut().zip(order).for_each(|(to, &axis)| *to = axis as u8);
        let (alignment, kind) = (DEFAULT_ALIGNMENT, Kind::InPlace);
        Ok(Problem { axes, flipped: 0, elem_bytes, cap: None, alignment, kind })
    }

    /// Describes a change of record layout between AoS, ASTA and SoA.
    ///
    /// Field widths are counted in words of `word_bytes` bytes. [`extents`](Self::extents) are then
    /// `[records, words]` and [`order`](Self::order) is the identity.
    ///
    /// # Errors
    /// Same as [`permuted`](Self::permuted).
    pub fn for_records(change: LayoutChange, word_bytes: usize) -> Result<Self, ProblemError> {
        let fields = change.schema();
        let identity = Self::permuted(&[fields.records(), fields.words()], &[0, 1], word_bytes)?;
        Ok(Problem { kind: Kind::Records(change), ..identity })
    }

    /// Returns the change of record layout, or `None` for problems of other kinds.
    pub fn records(&self) -> Option<&LayoutChange> {
        match &self.kind {
            Kind::Records(change) => Some(change),
            _ => None,
        }
    }

    /// Returns this problem with the axes of an in-place permutation of `extents` instead of its
    /// own.
    ///
    /// Returns `None` if the axes are invalid. Element size, cap and alignment are unchanged.
    pub(crate) fn as_axes(&self, extents: &[usize], order: &[usize]) -> Option<Self> {
        let axes = Self::permuted(extents, order, self.elem_bytes).ok()?.axes;
        Some(Problem { axes, flipped: 0, kind: Kind::InPlace, ..*self })
    }

    /// Returns the extents of the source axes as given.
    ///
    /// For matrices: `[rows, cols]`, preceded by the batch if it is not 1.
    pub fn extents(&self) -> &[usize] {
        self.axes.extents()
    }

    /// Iterates over the result axes as given: yields the source axis of each.
    pub fn order(&self) -> impl ExactSizeIterator<Item = usize> + Clone + '_ {
        self.axes.order()
    }

    /// Returns the permutation after axis fusion, without reversals of axes
    /// ([`flipped_axes`](Self::flipped_axes)).
    ///
    /// # Errors
    /// [`PermutationError::TooMany`]: the fused rank exceeds the supported maximum.
    pub fn axes(&self) -> Result<AxisPermutation, PermutationError> {
        let mut order = [0; MAX_RANK];
        order.iter_mut().zip(self.order()).for_each(|(to, axis)| *to = axis);
        AxisPermutation::new(self.extents(), &order[..self.extents().len()])
    }

    /// Returns the fused axes, at any rank.
    pub fn fused(&self) -> FusedAxes {
        let order: Vec<usize> = self.order().collect();
        FusedAxes::new(self.extents(), &order).expect("the axes were validated on construction")
    }

    /// Returns this problem with its fused axes as the given axes. With leading dimensions or
    /// records it is unchanged.
    pub(crate) fn with_fused_axes(&self) -> Self {
        let mut problem = self.clone();
        if self.is_flipped() {
            let Ok(fused) = self.flipped_axes() else { return problem };
            let order: Vec<usize> = fused.order().collect();
            let axes = Self::permuted(fused.extents(), &order, self.elem_bytes);
            problem.axes = axes.expect("fusion does not increase the rank").axes;
            let bit = |(to, &from): (usize, &usize)| u64::from(fused.is_reversed(from)) << to;
            problem.flipped = order.iter().enumerate().map(bit).sum();
        } else if let Kind::InPlace | Kind::OutOfPlace = self.kind {
            let fused = self.fused();
            let axes = Self::permuted(fused.extents(), fused.order(), self.elem_bytes);
            problem.axes = axes.expect("fusion does not increase the rank").axes;
        }
        problem
    }

    /// Returns the matrices that the problem transposes.
    ///
    /// Returns `None` if nothing moves, if the permutation is not a transposition of matrices, or if
    /// axes are reversed.
    pub fn matrices(&self) -> Option<MatrixBatch> {
        if self.is_flipped() {
            return None;
        }
        MatrixBatch::of(&self.axes().ok()?)
    }

    /// Reverses the axes `axes` of the result, as NumPy's `flip(result, axes)`. Replaces axes that
    /// were set before.
    ///
    /// # Errors
    /// [`ProblemError::FlippedAxes`]: an axis is repeated or does not exist. [`ProblemError::Flip`]:
    /// the problem is out-of-place, has leading dimensions or is a change of record layout.
    pub fn with_flip(&self, axes: &[usize]) -> Result<Self, ProblemError> {
        let with = match self.kind {
            Kind::InPlace => None,
            Kind::OutOfPlace => Some("an out-of-place result"),
            Kind::Leading(_) => Some("leading dimensions"),
            Kind::Records(_) => Some("records"),
        };
        if let Some(with) = with.filter(|_| !axes.is_empty()) {
            return Err(ProblemError::Flip { with });
        }
        let rank = self.extents().len();
        let distinct = |(k, axis): (usize, &usize)| *axis < rank && !axes[..k].contains(axis);
        if !axes.iter().enumerate().all(distinct) {
            return Err(ProblemError::FlippedAxes { axes: axes.to_vec(), rank });
        }
        let order: Vec<usize> = self.order().collect();
        let reversed = axes.iter().filter(|&&axis| self.extents()[order[axis]] > 1);
        Ok(Problem { flipped: reversed.map(|axis| 1 << axis).sum(), ..self.clone() })
    }

    /// Returns `true` if the result has reversed axes.
    pub fn is_flipped(&self) -> bool {
        self.flipped != 0
    }

    /// Returns, for each axis of the result as given, whether it is reversed.
    pub fn flipped(&self) -> Vec<bool> {
        (0..self.extents().len()).map(|axis| self.flipped >> axis & 1 == 1).collect()
    }

    /// Returns the permutation with its reversed axes, after axis fusion.
    ///
    /// # Errors
    /// [`PermutationError::TooMany`]: the fused rank exceeds the supported maximum.
    pub fn flipped_axes(&self) -> Result<FlippedAxes, PermutationError> {
        let order: Vec<usize> = self.order().collect();
        FlippedAxes::new(self.extents(), &order, &self.flipped())
    }

    /// Sets the workspace cap: plans use at most `bytes` bytes in addition to the data.
    #[must_use]
    pub fn with_cap(&self, bytes: usize) -> Self {
        Problem { cap: Some(bytes), ..self.clone() }
    }

    /// Sets the alignment of the buffers, in bytes. The default is 16.
    ///
    /// Rounds down to the largest power of two that divides `bytes`: 24 becomes 8. 0 becomes 1.
    #[must_use]
    pub fn with_alignment(&self, bytes: usize) -> Self {
        Problem { alignment: 1 << bytes.max(1).trailing_zeros(), ..self.clone() }
    }

    /// Makes the problem out-of-place: the result is written to another buffer, and the source is
    /// unchanged.
    ///
    /// # Errors
    /// [`ProblemError::OutOfPlace`]: the problem has leading dimensions or is a change of record
    /// layout. Both run only in place.
    pub fn out_of_place(&self) -> Result<Self, ProblemError> {
        match self.kind {
            _ if self.is_flipped() => Err(ProblemError::OutOfPlace { what: "reversed axes" }),
            Kind::InPlace | Kind::OutOfPlace => Ok(Problem { kind: Kind::OutOfPlace, ..*self }),
            Kind::Leading(_) => Err(ProblemError::OutOfPlace { what: "leading dimensions" }),
            Kind::Records(_) => Err(ProblemError::OutOfPlace { what: "records" }),
        }
    }

    /// Sets the leading dimensions: `lda` of the source and `ldb` of the result, in elements.
    ///
    /// Elements between rows are not part of the matrix. If the order is the identity `[0, 1]`,
    /// the matrix is not transposed: its rows move from pitch `lda` to pitch `ldb`.
    ///
    /// # Errors
    /// [`ProblemError::TooSmall`]: `lda` or `ldb` is less than the row length.
    /// [`ProblemError::TooFarApart`]: the rows with their gaps take more than `isize::MAX` bytes.
    /// [`ProblemError::Leading`]: the problem is a batch, has other axes, is out-of-place or is a
    /// change of record layout.
    pub fn with_leading(&self, lda: usize, ldb: usize) -> Result<Self, ProblemError> {
        match self.kind {
            _ if self.is_flipped() => return Err(ProblemError::Leading { with: "reversed axes" }),
            Kind::InPlace | Kind::Leading(_) => {}
            Kind::OutOfPlace => {
                return Err(ProblemError::Leading { with: "an out-of-place result" });
            }
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
        let result_cols = if transposed { rows } else { cols };
        for (name, least, got) in [("lda", cols, lda), ("ldb", result_cols, ldb)] {
            if got < least {
                return Err(ProblemError::TooSmall { name, least, got });
            }
        }
        let elem_bytes = self.elem_bytes;
        let fits = |rows: PitchedRows| {
            let bytes = rows.scaled(elem_bytes).and_then(|r| r.rows().checked_mul(r.pitch()));
            bytes.is_some_and(|bytes| bytes <= isize::MAX as usize)
        };
        let make = if transposed { LeadingDims::transposed } else { LeadingDims::row_slide };
        let leading = make(rows, cols, lda, ldb)
            .filter(|leading| fits(leading.source()) && fits(leading.result()))
            .ok_or(ProblemError::TooFarApart { rows, cols, lda, ldb, elem_bytes })?;
        Ok(Problem { kind: Kind::Leading(SavedGaps::new(leading)), ..*self })
    }

    /// Returns the leading dimensions, or `None` for contiguous problems.
    pub fn leading(&self) -> Option<&LeadingDims> {
        self.saved_gaps().map(SavedGaps::leading)
    }

    /// Returns the gap elements that the dense intermediate matrix overwrites, or `None` for
    /// contiguous problems.
    pub fn saved_gaps(&self) -> Option<&SavedGaps> {
        match &self.kind {
            Kind::Leading(gaps) => Some(gaps),
            _ => None,
        }
    }

    /// Returns the number of matrices, or 1 if the problem is not a transposition of matrices.
    pub fn batch(&self) -> usize {
        self.matrices_or_one_row().batch
    }

    /// Returns the rows of each source matrix, or 1 if the problem is not a transposition of
    /// matrices.
    pub fn rows(&self) -> usize {
        self.matrices_or_one_row().rows
    }

    /// Returns the columns of each source matrix, or the number of elements if the problem is not
    /// a transposition of matrices.
    pub fn cols(&self) -> usize {
        self.matrices_or_one_row().cols
    }

    /// Returns the matrices if the axes were given as matrices, before fusion.
    fn given_matrices(&self) -> Option<MatrixBatch> {
        match (self.extents(), &self.axes.order[..self.extents().len()]) {
            (&[rows, cols], [1, 0]) => Some(MatrixBatch { batch: 1, rows, cols }),
            (&[batch, rows, cols], [0, 2, 1]) => Some(MatrixBatch { batch, rows, cols }),
            _ => None,
        }
    }

    /// Returns the matrices as given, else after fusion, else one row of all elements.
    fn matrices_or_one_row(&self) -> MatrixBatch {
        let one_row = || MatrixBatch { batch: 1, rows: 1, cols: self.len() };
        self.given_matrices().or_else(|| self.matrices()).unwrap_or_else(one_row)
    }

    /// Returns the element size in bytes.
    pub fn itemsize(&self) -> usize {
        self.elem_bytes
    }

    /// Returns the alignment of the buffers in bytes, a power of two.
    pub fn alignment(&self) -> usize {
        self.alignment
    }

    /// Returns `true` if the result is written to another buffer.
    pub fn is_out_of_place(&self) -> bool {
        self.kind == Kind::OutOfPlace
    }

    /// Returns the workspace cap in bytes, if set.
    pub fn cap(&self) -> Option<usize> {
        self.cap
    }

    /// Returns the total number of elements.
    pub fn len(&self) -> usize {
        self.extents().iter().product()
    }

    /// Returns `true` if an extent is 0.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// Returns the total number of bytes, without gaps between rows.
    pub fn bytes(&self) -> usize {
        self.len() * self.elem_bytes
    }

    /// Returns the buffer length in elements that the source and the result need.
    ///
    /// Equals [`len`](Self::len) if the problem is contiguous. For a transposition with leading
    /// dimensions:
    /// `max((rows − 1) · lda + cols, (cols − 1) · ldb + rows)`.
    pub fn span(&self) -> usize {
        self.leading().map_or(self.len(), LeadingDims::span)
    }

    /// Returns the buffer length in bytes that the source and the result need.
    pub fn span_bytes(&self) -> usize {
        self.span() * self.elem_bytes
    }

    /// Returns the bytes of all [saved gap elements](Self::saved_gaps) in the workspace, rounded up
    /// to a multiple of 16.
    pub fn saved_gap_bytes(&self) -> usize {
        self.saved_gaps().map_or(0, |gaps| self.saved_gap_bytes_of(gaps))
    }

    /// Returns the bytes of the saved elements of `gaps` in the workspace, rounded up to a multiple
    /// of 16.
    pub(crate) fn saved_gap_bytes_of(&self, gaps: &SavedGaps) -> usize {
        (gaps.count() * self.elem_bytes).next_multiple_of(DEFAULT_ALIGNMENT)
    }

    /// Returns the offset in the result of the element at `offset`.
    ///
    /// Offsets in gaps between rows and offsets past the end are returned unchanged.
    pub fn dest(&self, offset: usize) -> usize {
        match &self.kind {
            Kind::Leading(gaps) => return gaps.leading().dest(offset),
            Kind::Records(change) => return change.dest(offset),
            Kind::InPlace | Kind::OutOfPlace => {}
        }
        let (mut digits, mut rest) = ([0; MAX_RANK], offset);
        if self.is_empty() {
            return offset;
        }
        for (axis, &extent) in self.extents().iter().enumerate().rev() {
            (rest, digits[axis]) = (rest / extent, rest % extent);
        }
        if rest != 0 {
            return offset;
        }
        self.order().enumerate().fold(0, |at, (to, axis)| {
            let extent = self.extents()[axis];
            let flip = self.flipped >> to & 1 == 1;
            at * extent + if flip { extent - 1 - digits[axis] } else { digits[axis] }
        })
    }
}

/// Formats extents: `2x3x4`, or `1` for rank 0.
pub(crate) fn by_x(extents: &[usize]) -> String {
    let extents: Vec<String> = extents.iter().map(usize::to_string).collect();
    if extents.is_empty() { "1".to_owned() } else { extents.join("x") }
}

/// Formats a change of record layout: `1000 records of 4+12+1+8, aos to asta:32`.
fn write_records(f: &mut fmt::Formatter<'_>, change: &LayoutChange) -> fmt::Result {
    let fields = change.schema();
    let aos = usize::from(fields.in_order());
    let layout = |tile: usize| match tile {
        tile if tile == aos => "aos".to_owned(),
        all if all == fields.records() => "soa".to_owned(),
        some => format!("asta:{some}"),
    };
    write!(f, "{fields}, {} to {}", layout(change.from()), layout(change.to()))
}

impl fmt::Display for Problem {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match (self.given_matrices(), self.extents()) {
            _ if let Some(change) = self.records() => write_records(f, change)?,
            (Some(MatrixBatch { batch: 1, rows, cols }), _) => write!(f, "{rows}x{cols}")?,
            (Some(MatrixBatch { batch, rows, cols }), _) => write!(f, "{batch} * {rows}x{cols}")?,
            (None, [rows, cols]) if self.leading().is_some() => write!(f, "{rows}x{cols}")?,
            (None, extents) => {
                let order: Vec<String> = self.order().map(|axis| axis.to_string()).collect();
                write!(f, "{} axes {}", by_x(extents), order.join(","))?;
            }
        }
        let flips = (0..u64::BITS).filter(|axis| self.flipped >> axis & 1 == 1);
        for (k, axis) in flips.enumerate() {
            write!(f, "{}{axis}", if k == 0 { " flip " } else { "," })?;
        }
        write!(f, " w{}", self.elem_bytes)?;
        if let Some(leading) = self.leading() {
            let note = if leading.is_transposed() { "" } else { " not transposed" };
            let (lda, ldb) = (leading.source().pitch(), leading.result().pitch());
            write!(f, ", lda {lda}, ldb {ldb}{note}")?;
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
