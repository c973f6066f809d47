//! Address of a NumPy array by `__array_struct__`, ten times as fast as `__array_interface__`.
#![allow(unsafe_code)]

use std::ffi::{c_char, c_int, c_void};

use pyo3::prelude::*;
use pyo3::types::PyCapsule;

use crate::errors::value;

/// NumPy's `PyArrayInterface`, a part of its array interface protocol.
#[repr(C)]
struct ArrayInterface {
    two: c_int,
    rank: c_int,
    kind: c_char,
    itemsize: c_int,
    flags: c_int,
    shape: *const isize,
    strides: *const isize,
    data: *const c_void,
    descr: *mut c_void,
}

/// Returns the address of the elements of the array with this `__array_struct__`.
///
/// NumPy leaves the flags of structured types empty there: the package reads those of the array.
#[pyfunction]
pub fn address_of(array_struct: &Bound<'_, PyCapsule>) -> PyResult<usize> {
    let pointer = array_struct.pointer_checked(None)?.cast::<ArrayInterface>();
    // SAFETY: the package passes the unnamed capsule that a NumPy array returns. It holds this
    // structure, which lives as long as the capsule.
    let interface = unsafe { pointer.as_ref() };
    if interface.two != 2 {
        return value("not an __array_struct__");
    }
    Ok(interface.data.expose_provenance())
}
