//! Where the elements of a grid lie: dimensions strip-mined and permuted (thesis section 6.2).

use std::fmt;

use turntile_perm::{AxisPermutation, PermutationError, PitchedRows};

/// An axis of a layout: of index `i` of a dimension, `⌊i / over⌋ mod extent`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct LayoutAxis {
    /// The dimension.
    pub dim: usize,
    /// Indices that one step goes over.
    pub over: usize,
    /// Steps there are.
    pub extent: usize,
}

/// A layout of a grid: its dimensions, and the axes that they are cut into, the last one innermost.
///
/// Two are equal that have the same dimensions and the same axes in the same order.
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

/// A step from a row-major grid to another layout, in place.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[expect(clippy::large_enum_variant, reason = "steps are few, and are copied")]
pub enum GridStep {
    /// Rows that lay together are moved this pitch apart: the last strip of a dimension is padded.
    Pad(PitchedRows),
    /// Axes are permuted.
    Permute(AxisPermutation),
}

/// Why a grid has no such layout.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum FlatteningError {
    /// There is no such axis.
    #[error("axis {axis} of {axes}")]
    Axis {
        /// As given.
        axis: usize,
        /// Axes there are.
        axes: usize,
    },
    /// Strips of no index, or of an axis that has an outer one and would not be cut evenly.
    #[error(
        "an axis of {extent} is not cut into strips of {strip}: 1 or more, evenly inside a strip"
    )]
    Strip {
        /// As given.
        strip: usize,
        /// The axis's extent.
        extent: usize,
    },
    /// The order is none of the axes, or more of them move apart than can.
    #[error(transparent)]
    Axes(#[from] PermutationError),
    /// The elements cannot be counted.
    #[error("a grid of {dims:?} has a span that cannot be counted")]
    TooLarge {
        /// The grid's dimensions.
        dims: Vec<usize>,
    },
    /// The buffer is shorter than the layout.
    #[error("the layout spans {need} elements, the buffer has {got}")]
    Short {
        /// The layout's span.
        need: usize,
        /// Elements given.
        got: usize,
    },
    /// Layouts of different grids.
    #[error("a grid of {from:?} has no layout of one of {to:?}")]
    Dims {
        /// The grid's dimensions.
        from: Vec<usize>,
        /// Those of the layout.
        to: Vec<usize>,
    },
}

impl Flattening {
    /// The dimensions one inside the other, the last one innermost.
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

    /// Axis `axis` cut into strips of `strip`: it becomes two, the number of the strip and the place in it. The last strip is
    /// padded.
    ///
    /// # Errors
    /// [`FlatteningError`].
    pub fn strip_mined(mut self, axis: usize, strip: usize) -> Result<Self, FlatteningError> {
        let axes = self.parts.len();
        let part = *self.parts.get(axis).ok_or(FlatteningError::Axis { axis, axes })?;
        let LayoutAxis { dim, over, extent } = part;
        // Below an outer axis indices wrap around, and a last strip that is shorter would be met again and again.
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

    /// The axes in another order: axis `k` is axis `order[k]` of before.
    ///
    /// # Errors
    /// [`FlatteningError::Axes`].
    pub fn permuted(self, order: &[usize]) -> Result<Self, FlatteningError> {
        AxisPermutation::check_order(self.parts.len(), order)?;
        let parts = order.iter().map(|&axis| self.parts[axis]).collect();
        Ok(Flattening { parts, ..self })
    }

    /// The grid's dimensions.
    pub fn dims(&self) -> &[usize] {
        &self.dims
    }

    /// The axes, the last one innermost; their extents are the layout's vector of dimensions.
    pub fn parts(&self) -> &[LayoutAxis] {
        &self.parts
    }

    /// Elements of the grid.
    pub fn len(&self) -> usize {
        self.dims.iter().product()
    }

    /// Whether there are none.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// Elements that the layout takes, padding included.
    pub fn span(&self) -> usize {
        self.parts.iter().map(|part| part.extent).product()
    }

    /// Whether it is [`row_major`](Self::row_major).
    pub fn is_row_major(&self) -> bool {
        let plain = |(k, part): (usize, &LayoutAxis)| (part.dim, part.over) == (k, 1);
        self.parts.len() == self.dims.len() && self.parts.iter().enumerate().all(plain)
    }

    /// Where the element of an index lies; `None` outside the grid.
    #[inline]
    pub fn offset(&self, index: &[usize]) -> Option<usize> {
        let inside =
            index.len() == self.dims.len() && index.iter().zip(&self.dims).all(|(i, d)| i < d);
        let fold =
            |at, part: &LayoutAxis| at * part.extent + index[part.dim] / part.over % part.extent;
        inside.then(|| self.parts.iter().fold(0, fold))
    }

    /// The index of the element at an offset; `None` in the padding and behind it.
    pub fn index(&self, offset: usize) -> Option<Vec<usize>> {
        (offset < self.span()).then_some(())?;
        let (mut index, mut rest) = (vec![0; self.dims.len()], offset);
        for part in self.parts.iter().rev() {
            index[part.dim] += rest % part.extent * part.over;
            rest /= part.extent;
        }
        index.iter().zip(&self.dims).all(|(i, d)| i < d).then_some(index)
    }

    /// What two ways to one place have in common: the layout where both have the same, else none.
    #[must_use]
    pub fn meet(&self, other: &Self) -> Option<Self> {
        (self == other).then(|| self.clone())
    }

    /// What brings a row-major grid into this layout, in place within [`span`](Self::span) elements: padding from the innermost
    /// dimension outwards, then axes permuted two groups at a time, from the innermost place outwards.
    ///
    /// # Errors
    /// [`FlatteningError::Axes`] where more axes move apart than can.
    pub fn steps(&self) -> Result<Vec<GridStep>, FlatteningError> {
        if self.is_empty() {
            return Ok(Vec::new());
        }
        // The axes as they lie in a row-major grid, each dimension's from the outermost inwards.
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

/// The step that puts the axis of the innermost place that is not right there, and what is left to do.
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
    /// `010!(128*128x4)`, `pad(64x500 to 512)`.
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
