//! Order of an array's axes in memory.
//!
//! An array fills its memory if it is row-major, without gaps or overlaps, in some order of its
//! axes: C-contiguous, Fortran-contiguous, or a transposed view of such an array.

use pyo3::prelude::*;
use pyo3::types::PyTuple;
use turntile::layout::Rearrangement;

use crate::errors::{exception, value};

/// Pattern applied to one shape.
#[pyclass(frozen, module = "turntile._core")]
pub struct Pattern {
    shape: Vec<usize>,
    all: Rearrangement,
}

#[pymethods]
impl Pattern {
    #[new]
    fn new(pattern: &str, shape: Vec<usize>, sizes: Vec<(String, usize)>) -> PyResult<Self> {
        let sizes: Vec<(&str, usize)> = sizes.iter().map(|(name, size)| (&**name, *size)).collect();
        let all = Rearrangement::new(pattern, &shape, &sizes);
        Ok(Pattern { shape, all: all.map_err(|error| exception(error.into()))? })
    }
}

/// Permutation of an array's memory that makes the array C-contiguous with other axes.
pub struct Arranged {
    /// Axes of the array in memory order; `None` if it is C-contiguous.
    pub order: Option<Vec<usize>>,
    /// Extents of the memory axes, after splitting.
    pub extents: Vec<usize>,
    /// Memory axis of each axis of the result.
    pub places: Vec<usize>,
    /// Axes of the result that are reversed.
    pub flip: Vec<usize>,
    /// Shape of the result.
    pub shape: Vec<usize>,
}

impl Arranged {
    /// Finds the permutation. `strides` are in bytes, `None` for a C-contiguous array. `axes` are a
    /// [`Pattern`] or a permutation of the array's axes, with [reversed axes](split_flips).
    ///
    /// # Errors
    /// `axes` is not a permutation, or is a pattern for another shape; or the array does not fill
    /// its memory.
    pub fn new(
        shape: Vec<usize>,
        strides: Option<Vec<isize>>,
        itemsize: usize,
        axes: &Bound<'_, PyAny>,
    ) -> PyResult<Self> {
        let mut flip = Vec::new();
        let all = match axes.cast::<Pattern>().map(Bound::get) {
            Ok(pattern) if pattern.shape == shape => pattern.all.clone(),
            Ok(_) => return value("the pattern is for another shape"),
            Err(_) => {
                let (axes, flips) = split_flips(&axes.extract::<Vec<isize>>()?);
                flip = flips;
                check(&axes, shape.len())?;
                Rearrangement::of_axes(&shape, &axes)
            }
        };
        let order = match strides {
            Some(strides) => order(&shape, &strides, itemsize)?,
            None => None,
        };
        let shape = all.shape();
        let all = match &order {
            Some(order) => all.in_memory(order, &Vec::from_iter(0..shape.len())),
            None => all,
        };
        let (extents, places) = (all.extents().to_vec(), all.order().to_vec());
        Ok(Arranged { order, extents, places, flip, shape })
    }

    /// Returns the memory axis of each axis of the result, with [reversed axes](split_flips).
    fn marked(&self) -> Vec<isize> {
        let mark = |(to, &place): (usize, &usize)| {
            let place = place as isize;
            if self.flip.contains(&to) { !place } else { place }
        };
        self.places.iter().enumerate().map(mark).collect()
    }

    /// Returns the order as a Python tuple.
    pub fn order<'py>(&self, py: Python<'py>) -> PyResult<Option<Bound<'py, PyTuple>>> {
        self.order.as_ref().map(|order| PyTuple::new(py, order)).transpose()
    }
}

/// Returns order, extents, places and shape, as in [`Arranged`].
#[pyfunction]
#[pyo3(signature = (shape, strides, itemsize, axes, /))]
pub fn arrange<'py>(
    py: Python<'py>,
    shape: Vec<usize>,
    strides: Option<Vec<isize>>,
    itemsize: usize,
    axes: &Bound<'py, PyAny>,
) -> PyResult<Bound<'py, PyTuple>> {
    let arranged = Arranged::new(shape, strides, itemsize, axes)?;
    let order = arranged.order(py)?;
    let tuple = |values: Vec<usize>| PyTuple::new(py, values);
    let places = PyTuple::new(py, arranged.marked())?;
    (order, tuple(arranged.extents)?, places, tuple(arranged.shape)?).into_pyobject(py)
}

/// Returns the source axes of a permutation, and the axes of the result that it reverses. A reversed
/// axis is passed as its bitwise complement, `!axis`.
pub fn split_flips(axes: &[isize]) -> (Vec<usize>, Vec<usize>) {
    let source = |&axis: &isize| if axis < 0 { !axis } else { axis }.unsigned_abs();
    let flip = (0..axes.len()).filter(|&to| axes[to] < 0);
    (axes.iter().map(source).collect(), flip.collect())
}

/// Checks that `axes` is a permutation of `0..rank`.
fn check(axes: &[usize], rank: usize) -> PyResult<()> {
    if axes.len() != rank {
        return value(format!("axes don't match array: {} axes for {rank} dimensions", axes.len()));
    }
    let mut named = vec![false; rank];
    for &axis in axes {
        match named.get_mut(axis) {
            Some(named) if !*named => *named = true,
            _ => return value(format!("{axes:?} is not a permutation of {rank} axes")),
        }
    }
    Ok(())
}

/// Returns the axes in memory order; `None` if that is C order, or there are no elements.
fn order(shape: &[usize], strides: &[isize], itemsize: usize) -> PyResult<Option<Vec<usize>>> {
    if strides.len() != shape.len() {
        return value(format!("{} strides for {} axes", strides.len(), shape.len()));
    }
    if shape.contains(&0) || itemsize == 0 {
        return Ok(None);
    }
    // Axes of extent 1 may have any stride.
    let (one, mut order): (Vec<usize>, Vec<usize>) =
        (0..shape.len()).partition(|&axis| shape[axis] == 1);
    if order.iter().any(|&axis| strides[axis] < 0) {
        return value("the array is not contiguous: an axis has a negative stride");
    }
    order.sort_by_key(|&axis| std::cmp::Reverse(strides[axis]));
    let mut filled = Some(itemsize);
    for &axis in order.iter().rev() {
        let stride = strides[axis].unsigned_abs();
        match filled {
            Some(bytes) if stride == bytes => filled = bytes.checked_mul(shape[axis]),
            Some(bytes) if stride < bytes => {
                return value("elements of the array overlap in memory");
            }
            _ => return value("the array is not contiguous: there are gaps between its elements"),
        }
    }
    if filled.is_none() {
        return value("the array is larger than the address space");
    }
    if order.is_sorted() {
        return Ok(None);
    }
    order.extend(one);
    Ok(Some(order))
}
