//! Which axes an array's memory has, in which order.
//!
//! An array fills its memory when there is an order of its axes in which it is row-major, without gaps and with no element
//! at another's place: C's order, Fortran's, or that of any transposed view.

use pyo3::prelude::*;
use pyo3::types::PyTuple;
use turntile::layout::Rearrangement;

use crate::errors::{exception, value};

/// What a pattern makes of arrays of one shape.
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

/// What is to be done to the memory of an array that is to become C-contiguous with other axes.
pub struct Arranged {
    /// The array's axes in the order in which memory has them; none when that is C's.
    pub order: Option<Vec<usize>>,
    /// The extents of memory's axes, split.
    pub extents: Vec<usize>,
    /// Which of those each is afterwards.
    pub places: Vec<usize>,
    /// The shape of the result.
    pub shape: Vec<usize>,
}

impl Arranged {
    /// `strides` are in bytes, none of a C-contiguous array. `axes` are a [`Pattern`], or which of the array's axes each of
    /// the result is.
    ///
    /// # Errors
    /// `axes` do not name each axis once, or are a pattern of another shape; or the array does not fill its memory.
    pub fn new(
        shape: Vec<usize>,
        strides: Option<Vec<isize>>,
        itemsize: usize,
        axes: &Bound<'_, PyAny>,
    ) -> PyResult<Self> {
        let all = match axes.cast::<Pattern>().map(Bound::get) {
            Ok(pattern) if pattern.shape == shape => pattern.all.clone(),
            Ok(_) => return value("the pattern was read for another shape"),
            Err(_) => {
                let axes: Vec<usize> = axes.extract()?;
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
        Ok(Arranged { order, extents, places, shape })
    }

    /// The order as Python has it.
    pub fn order<'py>(&self, py: Python<'py>) -> PyResult<Option<Bound<'py, PyTuple>>> {
        self.order.as_ref().map(|order| PyTuple::new(py, order)).transpose()
    }
}

/// Answers order, extents, places and shape, as [`Arranged`] has them.
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
    (order, tuple(arranged.extents)?, tuple(arranged.places)?, tuple(arranged.shape)?)
        .into_pyobject(py)
}

/// Whether `axes` name each of `rank` axes once.
fn check(axes: &[usize], rank: usize) -> PyResult<()> {
    if axes.len() != rank {
        return value(format!("{} axes are given, the array has {rank}", axes.len()));
    }
    let mut named = vec![false; rank];
    for &axis in axes {
        match named.get_mut(axis) {
            Some(named) if !*named => *named = true,
            _ => return value(format!("axes {axes:?} do not name each of {rank} axes once")),
        }
    }
    Ok(())
}

/// The axes in the order in which memory has them; none when that is C's, or nothing is there.
fn order(shape: &[usize], strides: &[isize], itemsize: usize) -> PyResult<Option<Vec<usize>>> {
    if strides.len() != shape.len() {
        return value(format!("{} strides of {} axes", strides.len(), shape.len()));
    }
    if shape.contains(&0) || itemsize == 0 {
        return Ok(None);
    }
    // Axes of one place may have any stride.
    let (one, mut order): (Vec<usize>, Vec<usize>) =
        (0..shape.len()).partition(|&axis| shape[axis] == 1);
    if order.iter().any(|&axis| strides[axis] < 0) {
        return value("the array is not contiguous: an axis goes backwards in memory");
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
        return value("the array is larger than any memory");
    }
    if order.is_sorted() {
        return Ok(None);
    }
    order.extend(one);
    Ok(Some(order))
}
