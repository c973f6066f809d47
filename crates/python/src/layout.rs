//! Which axes an array's memory has, in which order.
//!
//! An array fills its memory when there is an order of its axes in which it is row-major, without gaps and with no element
//! at another's place: C's order, Fortran's, or that of any transposed view.

use pyo3::prelude::*;
use pyo3::types::PyTuple;

use crate::errors::value;

/// What is to be done to the memory of an array that is to become C-contiguous with axis `i` the array's axis `axes[i]`.
///
/// Answers the axes in the order in which memory has them (None: in C's), the extents of memory's axes, which of those
/// each of the result is, and the result's shape. `strides` are in bytes, None of a C-contiguous array. `axes` name each
/// axis once.
#[pyfunction]
#[pyo3(signature = (shape, strides, itemsize, axes))]
pub fn arrange<'py>(
    py: Python<'py>,
    shape: Vec<usize>,
    strides: Option<Vec<isize>>,
    itemsize: usize,
    axes: Vec<usize>,
) -> PyResult<Bound<'py, PyTuple>> {
    let rank = shape.len();
    let mut named = vec![false; rank];
    for &axis in &axes {
        match named.get_mut(axis) {
            Some(named) if !*named => *named = true,
            _ => return value(format!("axes {axes:?} do not name each of {rank} axes once")),
        }
    }
    if axes.len() != rank {
        return value(format!("{} axes are given, the array has {rank}", axes.len()));
    }
    let order = match strides {
        Some(strides) => order(&shape, &strides, itemsize)?,
        None => None,
    };
    let wanted = PyTuple::new(py, axes.iter().map(|&axis| shape[axis]))?;
    let Some(order) = order else {
        return (None::<Vec<usize>>, PyTuple::new(py, shape)?, PyTuple::new(py, axes)?, wanted)
            .into_pyobject(py);
    };
    let mut place = vec![0; rank];
    for (at, &axis) in order.iter().enumerate() {
        place[axis] = at;
    }
    let extents = PyTuple::new(py, order.iter().map(|&axis| shape[axis]))?;
    let places = PyTuple::new(py, axes.iter().map(|&axis| place[axis]))?;
    (Some(PyTuple::new(py, order)?), extents, places, wanted).into_pyobject(py)
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
