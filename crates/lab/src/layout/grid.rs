//! A grid whose layout is part of its type (thesis section 6.3.4).

use turntile::mode::Leading;
use turntile::run::{RunOptions, Workspace};
use turntile::{Error, Transpose, Transposer};

use super::{Flattening, FlatteningError, GridStep};

/// Error of the layout of a grid, or of a conversion to it.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum GridError {
    /// The layout is not valid for the grid or its buffer.
    #[error(transparent)]
    Flattening(#[from] FlatteningError),
    /// A step of the conversion could not be planned or run.
    #[error(transparent)]
    Step(#[from] Error),
}

/// Elements of a grid with their layout. Assignments, swaps and borrows keep the two together; only a conversion changes
/// the layout.
///
/// ```
/// use turntile_lab::layout::{Flattening, Grid};
///
/// let (dims, mut buffer) = ([20, 3], vec![0; 96]);
/// buffer[..60].iter_mut().zip(0..).for_each(|(cell, k)| *cell = k);
/// let mut grid = Grid::new(&mut buffer, Flattening::row_major(&dims)?)?;
/// let strips = Flattening::row_major(&dims)?.strip_mined(0, 16)?.permuted(&[0, 2, 1])?;
/// grid.convert(&strips)?;
/// assert_eq!((grid.get(&[17, 2]), strips.span()), (Some(&53), 96));
/// # Ok::<(), turntile_lab::layout::GridError>(())
/// ```
#[derive(Debug, PartialEq, Eq)]
pub struct Grid<'a, T> {
    data: &'a mut [T],
    layout: Flattening,
}

impl<'a, T: Copy> Grid<'a, T> {
    /// Creates a grid from elements in this layout at the start of `data`.
    ///
    /// # Errors
    /// [`FlatteningError::Short`].
    pub fn new(data: &'a mut [T], layout: Flattening) -> Result<Self, FlatteningError> {
        let (need, got) = (layout.span(), data.len());
        if got < need {
            Err(FlatteningError::Short { need, got })
        } else {
            Ok(Grid { data, layout })
        }
    }

    /// Returns the layout.
    pub fn layout(&self) -> &Flattening {
        &self.layout
    }

    /// Returns the element at an index.
    pub fn get(&self, index: &[usize]) -> Option<&T> {
        self.layout.offset(index).map(|at| &self.data[at])
    }

    /// Returns the element at an index, mutably.
    pub fn get_mut(&mut self, index: &[usize]) -> Option<&mut T> {
        self.layout.offset(index).map(|at| &mut self.data[at])
    }

    /// Returns the elements from element `from` on, like a pointer into the grid. Returns `None` unless the grid is row-major.
    pub fn tail(&self, from: usize) -> Option<&[T]> {
        self.data.get(from..self.layout.len()).filter(|_| self.layout.is_row_major())
    }

    /// Converts the elements to another layout, in place. The contents of padding are unspecified.
    ///
    /// # Errors
    /// [`GridError::Flattening`] if the layout belongs to another grid or the buffer is shorter than it; the errors of
    /// [`Transposer::run`]. Data and layout are then unchanged.
    pub fn convert(&mut self, layout: &Flattening) -> Result<(), GridError> {
        let steps = conversion(&self.layout, layout, size_of::<T>())?;
        let (need, got) = (layout.span().max(self.layout.span()), self.data.len());
        if got < need {
            return Err(FlatteningError::Short { need, got }.into());
        }
        if size_of::<T>() > 0 {
            // Everything that can fail comes before the first step.
            let plan = |(step, elements): (Transpose<Leading>, usize)| Ok((step.plan()?, elements));
            let planned: Vec<(Transposer<Leading>, usize)> =
                steps.into_iter().map(plan).collect::<Result<_, GridError>>()?;
            let most = planned.iter().map(|(plan, _)| plan.workspace_bytes()).max();
            let mut workspace = Workspace::new(most.unwrap_or(0)).map_err(Error::from)?;
            for (plan, elements) in &planned {
                let options = RunOptions::new().workspace(&mut workspace);
                plan.run_with(&mut self.data[..*elements], options)?;
            }
        }
        self.layout = layout.clone();
        Ok(())
    }
}

/// Returns the steps that convert a grid of elements of `elem_bytes` bytes between two layouts, for a host or a GPU. Each
/// step is a transposition and the number of elements at the start of the buffer to which it applies.
///
/// # Errors
/// [`FlatteningError`].
pub fn conversion(
    from: &Flattening,
    to: &Flattening,
    elem_bytes: usize,
) -> Result<Vec<(Transpose<Leading>, usize)>, FlatteningError> {
    if from.dims() != to.dims() {
        let (from, to) = (from.dims().to_vec(), to.dims().to_vec());
        return Err(FlatteningError::Dims { from, to });
    }
    if from == to {
        return Ok(Vec::new());
    }
    let axes = |extents: &[usize], order: Vec<usize>| {
        Transpose::permute::<u8>(extents, &order).itemsize(elem_bytes)
    };
    let step = |step: GridStep, back: bool| match step {
        GridStep::Permute(forth) => {
            let all = if back { forth.inverse() } else { forth };
            (axes(all.extents(), all.order().collect()).into(), all.len())
        }
        GridStep::Pad(rows) => {
            let (lda, ldb) =
                if back { (rows.pitch(), rows.cols()) } else { (rows.cols(), rows.pitch()) };
            (axes(&[rows.rows(), rows.cols()], vec![0, 1]).leading(lda, ldb), rows.span())
        }
    };
    let back = from.steps()?.into_iter().rev().map(|all| step(all, true));
    let forth = to.steps()?.into_iter().map(|all| step(all, false));
    Ok(back.chain(forth).collect())
}
