//! Which axes an array's memory has, in which order.
//!
//! An array fills its memory when there is an order of its axes in which it is row-major, without gaps and with no element
//! at another's place: C's order, Fortran's, or that of any transposed view.

use pyo3::prelude::*;
use pyo3::types::PyTuple;

use crate::errors::value;

/// What is to be done to the memory of an array that is to become C-contiguous with axis `i` the array's axis `axes[i]`.
pub struct Arranged {
    /// The array's axes in the order in which memory has them; none when that is C's.
    pub order: Option<Vec<usize>>,
    /// The extents of memory's axes.
    pub extents: Vec<usize>,
    /// Which of memory's axes each of the result is.
    pub places: Vec<usize>,
    /// The shape of the result.
    pub shape: Vec<usize>,
}

impl Arranged {
    /// `strides` are in bytes, none of a C-contiguous array.
    ///
    /// # Errors
    /// `axes` do not name each axis once, or the array does not fill its memory.
    pub fn new(
        shape: Vec<usize>,
        strides: Option<Vec<isize>>,
        itemsize: usize,
        axes: Vec<usize>,
    ) -> PyResult<Self> {
        let rank = shape.len();
        if axes.len() != rank {
            return value(format!("{} axes are given, the array has {rank}", axes.len()));
        }
        let mut named = vec![false; rank];
        for &axis in &axes {
            match named.get_mut(axis) {
                Some(named) if !*named => *named = true,
                _ => return value(format!("axes {axes:?} do not name each of {rank} axes once")),
            }
        }
        let order = match strides {
            Some(strides) => order(&shape, &strides, itemsize)?,
            None => None,
        };
        let wanted = axes.iter().map(|&axis| shape[axis]).collect();
        let Some(order) = order else {
            return Ok(Arranged { order: None, extents: shape, places: axes, shape: wanted });
        };
        let mut place = vec![0; rank];
        for (at, &axis) in order.iter().enumerate() {
            place[axis] = at;
        }
        Ok(Arranged {
            extents: order.iter().map(|&axis| shape[axis]).collect(),
            places: axes.iter().map(|&axis| place[axis]).collect(),
            order: Some(order),
            shape: wanted,
        })
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
    axes: Vec<usize>,
) -> PyResult<Bound<'py, PyTuple>> {
    let arranged = Arranged::new(shape, strides, itemsize, axes)?;
    let order = arranged.order(py)?;
    let tuple = |values: Vec<usize>| PyTuple::new(py, values);
    (order, tuple(arranged.extents)?, tuple(arranged.places)?, tuple(arranged.shape)?)
        .into_pyobject(py)
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
