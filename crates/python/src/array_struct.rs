//! Where a NumPy array is, by `__array_struct__`, in a tenth of the time that `__array_interface__` takes.
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

/// Where the elements are of the array whose `__array_struct__` this is.
///
/// (Of structured types NumPy leaves the flags empty there, so they are asked of the array.)
#[pyfunction]
pub fn address_of(array_struct: &Bound<'_, PyCapsule>) -> PyResult<usize> {
    let pointer = array_struct.pointer_checked(None)?.cast::<ArrayInterface>();
    // SAFETY: the package hands over what NumPy's own arrays answer, an unnamed capsule of this structure, which lives as
    // long as the capsule. Its first member says that it is one.
    let said = unsafe { pointer.as_ref() };
    if said.two != 2 {
        return value("not an __array_struct__");
    }
    Ok(said.data.expose_provenance())
}
