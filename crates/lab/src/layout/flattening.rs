//! Layouts of grids: dimensions strip-mined and permuted (thesis section 6.2).

use std::fmt;

use turntile_perm::{AxisPermutation, PermutationError, PitchedRows};

/// Axis of a layout. Index `i` of dimension `dim` has the coordinate `⌊i / over⌋ mod extent` on it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct LayoutAxis {
    /// Dimension of the grid.
    pub dim: usize,
    /// Number of indices per step.
    pub over: usize,
    /// Number of steps.
    pub extent: usize,
}

/// Layout of a grid: its dimensions, and the axes into which they are cut, innermost axis last.
///
/// Layouts are equal if they have the same dimensions and the same axes in the same order.
///
/// ```
/// use turntile_lab::layout::Flattening;
///
/// // A[j][i] to A[j / 16][i][j % 16].
/// let layout = Flattening::row_major(&[40, 5])?.strip_mined(0, 16)?.permuted(&[0, 2, 1])?;
/// assert_eq!(layout.offset(&[17, 3]), Some(5 * 16 + 3 * 16 + 1));
/// assert_eq!((layout.len(), layout.span()), (200, 240));
/// # Ok::<(), turntile_lab::layout::FlatteningError>(())
/// ```
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Flattening {
    dims: Vec<usize>,
    parts: Vec<LayoutAxis>,
}

/// Step from a row-major grid to another layout, in place.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[expect(clippy::large_enum_variant, reason = "steps are few, and are copied")]
pub enum GridStep {
    /// Moves contiguous rows to this pitch: pads the last strip of a dimension.
    Pad(PitchedRows),
    /// Permutes axes.
    Permute(AxisPermutation),
}

/// Error: the layout is not valid.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum FlatteningError {
    /// The axis does not exist.
    #[error("axis {axis} of {axes}")]
    Axis {
        /// Axis given.
        axis: usize,
        /// Number of axes.
        axes: usize,
    },
    /// The strip is 0, or does not divide an axis that is inside a strip.
    #[error(
        "an axis of {extent} is not cut into strips of {strip}: 1 or more, evenly inside a strip"
    )]
    Strip {
        /// Indices per strip, as given.
        strip: usize,
        /// Extent of the axis.
        extent: usize,
    },
    /// The order is not a permutation of the axes, or too many axes move apart.
    #[error(transparent)]
    Axes(#[from] PermutationError),
    /// The span overflows `usize`.
    #[error("a grid of {dims:?} has a span that cannot be counted")]
    TooLarge {
        /// Dimensions of the grid.
        dims: Vec<usize>,
    },
    /// The buffer is shorter than the layout.
    #[error("the layout spans {need} elements, the buffer has {got}")]
    Short {
        /// Span of the layout, in elements.
        need: usize,
        /// Number of elements given.
        got: usize,
    },
    /// The layouts belong to different grids.
    #[error("a grid of {from:?} has no layout of one of {to:?}")]
    Dims {
        /// Dimensions of the grid.
        from: Vec<usize>,
        /// Dimensions of the layout.
        to: Vec<usize>,
    },
}

impl Flattening {
    /// Creates the row-major layout.
    ///
    /// # Errors
    /// [`FlatteningError::TooLarge`].
    pub fn row_major(dims: &[usize]) -> Result<Self, FlatteningError> {
        let part = |(dim, &extent)| LayoutAxis { dim, over: 1, extent };
        let parts = dims.iter().enumerate().map(part).collect();
        Flattening { dims: dims.to_vec(), parts }.counted()
    }

    fn counted(self) -> Result<Self, FlatteningError> {
        let all = |all: usize, part: &LayoutAxis| all.checked_mul(part.extent.max(1));
        match self.parts.iter().try_fold(1, all) {
            Some(_) => Ok(self),
            None => Err(FlatteningError::TooLarge { dims: self.dims }),
        }
    }

    /// Cuts axis `axis` into strips of `strip` indices. The axis becomes two: the number of the strip and the position in
    /// it. The last strip is padded.
    ///
    /// # Errors
    /// [`FlatteningError`].
    pub fn strip_mined(mut self, axis: usize, strip: usize) -> Result<Self, FlatteningError> {
        let axes = self.parts.len();
        let part = *self.parts.get(axis).ok_or(FlatteningError::Axis { axis, axes })?;
        let LayoutAxis { dim, over, extent } = part;
        // Inside an outer axis indices wrap around: a shorter last strip would recur in each of its steps.
        let whole = extent.checked_mul(over).is_none_or(|all| all >= self.dims[dim]);
        if strip == 0 || !(whole || extent.is_multiple_of(strip)) {
            return Err(FlatteningError::Strip { strip, extent });
        }
        let Some(outer) = over.checked_mul(strip) else {
            return Err(FlatteningError::TooLarge { dims: self.dims });
        };
        self.parts[axis] = LayoutAxis { dim, over: outer, extent: extent.div_ceil(strip) };
        self.parts.insert(axis + 1, LayoutAxis { dim, over, extent: strip });
        self.counted()
    }

    /// Permutes the axes: axis `k` of the result is axis `order[k]`.
    ///
    /// # Errors
    /// [`FlatteningError::Axes`].
    pub fn permuted(self, order: &[usize]) -> Result<Self, FlatteningError> {
        AxisPermutation::check_order(self.parts.len(), order)?;
        let parts = order.iter().map(|&axis| self.parts[axis]).collect();
        Ok(Flattening { parts, ..self })
    }

    /// Returns the dimensions of the grid.
    pub fn dims(&self) -> &[usize] {
        &self.dims
    }

    /// Returns the axes, innermost last.
    pub fn parts(&self) -> &[LayoutAxis] {
        &self.parts
    }

    /// Returns the number of elements of the grid.
    pub fn len(&self) -> usize {
        self.dims.iter().product()
    }

    /// Returns `true` if the grid has no elements.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// Returns the number of elements of the layout, including padding.
    pub fn span(&self) -> usize {
        self.parts.iter().map(|part| part.extent).product()
    }

    /// Returns `true` if the layout is [`row_major`](Self::row_major).
    pub fn is_row_major(&self) -> bool {
        let plain = |(k, part): (usize, &LayoutAxis)| (part.dim, part.over) == (k, 1);
        self.parts.len() == self.dims.len() && self.parts.iter().enumerate().all(plain)
    }

    /// Returns the offset of the element at an index; `None` outside the grid.
    #[inline]
    pub fn offset(&self, index: &[usize]) -> Option<usize> {
        let inside =
            index.len() == self.dims.len() && index.iter().zip(&self.dims).all(|(i, d)| i < d);
        let fold =
            |at, part: &LayoutAxis| at * part.extent + index[part.dim] / part.over % part.extent;
        inside.then(|| self.parts.iter().fold(0, fold))
    }

    /// Returns the index of the element at an offset; `None` in the padding and after the end.
    pub fn index(&self, offset: usize) -> Option<Vec<usize>> {
        (offset < self.span()).then_some(())?;
        let (mut index, mut rest) = (vec![0; self.dims.len()], offset);
        for part in self.parts.iter().rev() {
            index[part.dim] += rest % part.extent * part.over;
            rest /= part.extent;
        }
        index.iter().zip(&self.dims).all(|(i, d)| i < d).then_some(index)
    }

    /// Returns the common layout of two control flow paths: the layout if both are equal, else `None`.
    #[must_use]
    pub fn meet(&self, other: &Self) -> Option<Self> {
        (self == other).then(|| self.clone())
    }

    /// Returns the steps that convert a row-major grid to this layout, in place within [`span`](Self::span) elements: padding
    /// from the innermost dimension outwards, then permutations of two groups of axes, from the innermost position outwards.
    ///
    /// # Errors
    /// [`FlatteningError::Axes`] if too many axes move apart.
    pub fn steps(&self) -> Result<Vec<GridStep>, FlatteningError> {
        if self.is_empty() {
            return Ok(Vec::new());
        }
        // Axes in row-major order: by dimension, outermost axis of a dimension first.
        let mut source: Vec<usize> = (0..self.parts.len()).collect();
        let inwards = |part: &LayoutAxis| (part.dim, usize::MAX - part.over);
        source.sort_by_key(|&axis| inwards(&self.parts[axis]));
        let mut steps = self.padding();
        let extents: Vec<usize> = source.iter().map(|&axis| self.parts[axis].extent).collect();
        let place = |axis| source.iter().position(|&other| other == axis);
        let order: Vec<usize> = (0..self.parts.len()).filter_map(place).collect();
        let mut left = AxisPermutation::new(&extents, &order)?;
        while let Some((step, rest)) = innermost(&left)? {
            steps.push(GridStep::Permute(step));
            left = rest;
        }
        Ok(steps)
    }

    fn padding(&self) -> Vec<GridStep> {
        let padded = |dim| {
            let extents = self.parts.iter().filter(|part| part.dim == dim).map(|part| part.extent);
            extents.product::<usize>()
        };
        let (mut steps, mut inner) = (Vec::new(), 1);
        for (dim, &extent) in self.dims.iter().enumerate().rev() {
            let rows = self.dims[..dim].iter().product();
            let pitched = PitchedRows::new(rows, extent * inner, padded(dim) * inner);
            inner *= padded(dim);
            steps.extend(pitched.filter(|rows| !rows.is_dense()).map(GridStep::Pad));
        }
        steps
    }
}

/// Returns the step that moves the correct axis to the innermost wrong position, and the remaining permutation.
fn innermost(
    all: &AxisPermutation,
) -> Result<Option<(AxisPermutation, AxisPermutation)>, PermutationError> {
    let (extents, order): (_, Vec<usize>) = (all.extents(), all.order().collect());
    let Some(place) = (0..order.len()).rfind(|&place| order[place] != place) else {
        return Ok(None);
    };
    let mut moved: Vec<usize> = (0..order.len()).collect();
    let axis = moved.remove(order[place]);
    moved.insert(place, axis);
    let step = AxisPermutation::new(extents, &moved)?;
    let extents: Vec<usize> = moved.iter().map(|&axis| extents[axis]).collect();
    let now = |axis: &usize| moved.iter().position(|other| other == axis);
    let order: Vec<usize> = order.iter().filter_map(now).collect();
    Ok(Some((step, AxisPermutation::new(&extents, &order)?)))
}

impl fmt::Display for GridStep {
    /// Writes `010!(128*128x4)` or `pad(64x500 to 512)`.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            GridStep::Permute(axes) => axes.fmt(f),
            GridStep::Pad(rows) => {
                write!(f, "pad({}x{} to {})", rows.rows(), rows.cols(), rows.pitch())
            }
        }
    }
}

#[cfg(test)]
#[path = "flattening_tests.rs"]
mod tests;
