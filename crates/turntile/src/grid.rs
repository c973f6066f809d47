//! A grid whose layout is part of its type (thesis section 6.3.4).

use turntile_perm::{Flattening, FlatteningError, GridStep};

#[cfg(doc)]
use crate::ErrorKind;
use crate::mode::Leading;
use crate::run::{RunOptions, Workspace};
use crate::{Error, Transpose, Transposer};

/// Elements of a grid, and how they lie: what is assigned, swapped or lent takes its layout along, and only a conversion
/// changes it.
///
/// ```
/// use turntile::layout::{Flattening, Grid};
///
/// let (dims, mut buffer) = ([20, 3], vec![0; 96]);
/// buffer[..60].iter_mut().zip(0..).for_each(|(cell, k)| *cell = k);
/// let mut grid = Grid::new(&mut buffer, Flattening::row_major(&dims)?)?;
/// let strips = Flattening::row_major(&dims)?.strip_mined(0, 16)?.permuted(&[0, 2, 1])?;
/// grid.convert(&strips)?;
/// assert_eq!((grid.get(&[17, 2]), strips.span()), (Some(&53), 96));
/// # Ok::<(), turntile::Error>(())
/// ```
#[derive(Debug, PartialEq, Eq)]
pub struct Grid<'a, T> {
    data: &'a mut [T],
    layout: Flattening,
}

impl<'a, T: Copy> Grid<'a, T> {
    /// Of elements that lie so, at the start of `data`.
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

    /// How they lie.
    pub fn layout(&self) -> &Flattening {
        &self.layout
    }

    /// The element of an index.
    pub fn get(&self, index: &[usize]) -> Option<&T> {
        self.layout.offset(index).map(|at| &self.data[at])
    }

    /// The same to be changed.
    pub fn get_mut(&mut self, index: &[usize]) -> Option<&mut T> {
        self.layout.offset(index).map(|at| &mut self.data[at])
    }

    /// Elements from the `from`-th on, as a pointer into the grid has them: only where it is row-major. Elsewhere nothing is
    /// known of how they lie.
    pub fn tail(&self, from: usize) -> Option<&[T]> {
        self.data.get(from..self.layout.len()).filter(|_| self.layout.is_row_major())
    }

    /// Brings the elements into another layout, in place. What is in the padding of a layout means nothing.
    ///
    /// # Errors
    /// [`ErrorKind::Shape`] if the layout is of another grid, [`ErrorKind::Length`] if the buffer is
    /// shorter than the layout, and those of [`Transposer::run`].
    pub fn convert(&mut self, layout: &Flattening) -> Result<(), Error> {
        let steps = conversion(&self.layout, layout, size_of::<T>())?;
        let (need, got) = (layout.span().max(self.layout.span()), self.data.len());
        if got < need {
            return Err(FlatteningError::Short { need, got }.into());
        }
        if size_of::<T>() > 0 {
            // Everything that can fail comes before the first step.
            let plan = |(step, elements): (Transpose<Leading>, usize)| Ok((step.plan()?, elements));
            let planned: Vec<(Transposer<Leading>, usize)> =
                steps.into_iter().map(plan).collect::<Result<_, Error>>()?;
            let most = planned.iter().map(|(plan, _)| plan.workspace_bytes()).max();
            let mut workspace = Workspace::new(most.unwrap_or(0))?;
            for (plan, elements) in &planned {
                let options = RunOptions::new().workspace(&mut workspace);
                plan.run_with(&mut self.data[..*elements], options)?;
            }
        }
        self.layout = layout.clone();
        Ok(())
    }
}

/// What brings a grid of elements of `elem_bytes` bytes from layout to layout, to be planned on a host or a GPU: one after the
/// other, each on so many elements at the start of the buffer.
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
        Transpose::permute::<u8>(extents, &order).elem_bytes(elem_bytes)
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
