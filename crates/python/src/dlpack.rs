//! Memory of arrays on any device, exchanged as DLPack capsules.
#![allow(unsafe_code)]

use std::ffi::{CStr, c_int, c_void};
use std::ptr::NonNull;

use pyo3::exceptions::{PyBufferError, PyTypeError};
use pyo3::ffi;
use pyo3::prelude::*;
use pyo3::types::{PyCapsule, PyTuple};

/// `DLTensor`: memory, and how an array is stored in it.
#[repr(C)]
#[derive(Clone, Copy)]
struct Tensor {
    data: *mut c_void,
    device: [c_int; 2],
    rank: c_int,
    code: u8,
    bits: u8,
    lanes: u16,
    shape: *const i64,
    /// In elements; null if C-contiguous.
    strides: *const i64,
    byte_offset: u64,
}

/// `DLManagedTensor`, of versions before 1.0.
#[repr(C)]
struct Legacy {
    tensor: Tensor,
    owner: *mut c_void,
    deleter: Option<unsafe extern "C" fn(*mut Legacy)>,
}

/// `DLManagedTensorVersioned`.
#[repr(C)]
struct Versioned {
    version: [u32; 2],
    owner: *mut c_void,
    deleter: Option<unsafe extern "C" fn(*mut Versioned)>,
    flags: u64,
    tensor: Tensor,
}

const LEGACY: &CStr = c"dltensor";
const USED_LEGACY: &CStr = c"used_dltensor";
const VERSIONED: &CStr = c"dltensor_versioned";
const USED_VERSIONED: &CStr = c"used_dltensor_versioned";

/// Bits of the flags of a versioned tensor.
const READ_ONLY: u64 = 1;
const COPIED: u64 = 2;

/// Structure of a capsule, which is owned here.
enum Managed {
    Legacy(NonNull<Legacy>),
    Versioned(NonNull<Versioned>),
}

/// Memory that an exporter shares until this object is dropped.
#[pyclass(frozen, module = "turntile._core")]
pub struct Dlpack {
    managed: Managed,
    tensor: Tensor,
    flags: u64,
}

// SAFETY: the structure is not changed, and DLPack lets any thread call the deleter.
unsafe impl Send for Dlpack {}
// SAFETY: as above.
unsafe impl Sync for Dlpack {}

#[pymethods]
impl Dlpack {
    /// Takes the memory of a capsule, which cannot be used again.
    #[new]
    fn new(capsule: &Bound<'_, PyCapsule>) -> PyResult<Self> {
        let (managed, tensor, flags, used) = if capsule.is_valid_checked(Some(VERSIONED)) {
            let managed = capsule.pointer_checked(Some(VERSIONED))?.cast::<Versioned>();
            // SAFETY: a capsule with this name points to the structure; the fields up to `flags`
            // are those of every version.
            let (version, flags) =
                unsafe { ((*managed.as_ptr()).version, (*managed.as_ptr()).flags) };
            if version[0] != 1 {
                let text = format!("DLPack {}.{} is not supported", version[0], version[1]);
                return Err(PyBufferError::new_err(text));
            }
            // SAFETY: this is version 1.
            let tensor = unsafe { (*managed.as_ptr()).tensor };
            (Managed::Versioned(managed), tensor, flags, USED_VERSIONED)
        } else if capsule.is_valid_checked(Some(LEGACY)) {
            let managed = capsule.pointer_checked(Some(LEGACY))?.cast::<Legacy>();
            // SAFETY: a capsule with this name points to the structure.
            (Managed::Legacy(managed), unsafe { managed.as_ref() }.tensor, 0, USED_LEGACY)
        } else {
            return Err(PyBufferError::new_err("not a DLPack capsule, or one that was used"));
        };
        // SAFETY: the capsule is valid, and the name is static. Its destructor leaves a structure
        // with this name to the new owner.
        if unsafe { ffi::PyCapsule_SetName(capsule.as_ptr(), used.as_ptr()) } != 0 {
            return Err(PyErr::fetch(capsule.py()));
        }
        Ok(Dlpack { managed, tensor, flags })
    }

    /// Type and number of the device.
    #[getter]
    fn device(&self) -> (c_int, c_int) {
        self.tensor.device.into()
    }

    /// Type code, bits and lanes of an element.
    #[getter]
    fn dtype(&self) -> (u8, u8, u16) {
        (self.tensor.code, self.tensor.bits, self.tensor.lanes)
    }

    /// Bytes per element.
    #[getter]
    fn itemsize(&self) -> PyResult<usize> {
        let bits = usize::from(self.tensor.bits) * usize::from(self.tensor.lanes);
        if bits == 0 || !bits.is_multiple_of(8) {
            return Err(PyTypeError::new_err(format!("elements of {bits} bits are not supported")));
        }
        Ok(bits / 8)
    }

    /// Address of the first element.
    #[getter]
    fn address(&self) -> usize {
        self.tensor.data.expose_provenance().wrapping_add(self.tensor.byte_offset as usize)
    }

    #[getter]
    fn shape<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyTuple>> {
        PyTuple::new(py, self.extents(self.tensor.shape))
    }

    /// Strides in elements; None if C-contiguous.
    #[getter]
    fn strides<'py>(&self, py: Python<'py>) -> PyResult<Option<Bound<'py, PyTuple>>> {
        let strides = self.tensor.strides;
        (!strides.is_null()).then(|| PyTuple::new(py, self.extents(strides))).transpose()
    }

    /// Whether the exporter said that the memory must not be written, or that it is a copy, whose
    /// change would be lost.
    #[getter]
    fn read_only(&self) -> bool {
        self.flags & (READ_ONLY | COPIED) != 0
    }

    /// Returns a capsule of DLPack 1.0 with the same memory, for an array of this shape and these
    /// strides, in elements.
    fn export<'py>(
        slf: &Bound<'py, Self>,
        shape: Vec<i64>,
        strides: Vec<i64>,
    ) -> PyResult<Bound<'py, PyAny>> {
        if shape.len() != strides.len() {
            return Err(PyBufferError::new_err("as many strides as extents are needed"));
        }
        let this = slf.get();
        let rank = shape.len() as c_int;
        let tensor =
            Tensor { rank, shape: shape.as_ptr(), strides: strides.as_ptr(), ..this.tensor };
        let managed = Versioned {
            version: [1, 0],
            owner: std::ptr::null_mut(),
            deleter: Some(delete),
            flags: this.flags & READ_ONLY,
            tensor,
        };
        let exported = Exported { managed, _lists: (shape, strides), _owner: slf.clone().unbind() };
        let exported = Box::into_raw(Box::new(exported));
        // SAFETY: the name is static. The destructor deletes the structure unless it was taken.
        let capsule = unsafe {
            let new = ffi::PyCapsule_New(exported.cast(), VERSIONED.as_ptr(), Some(destroy));
            Bound::from_owned_ptr_or_err(slf.py(), new)
        };
        // SAFETY: there is no capsule, so `exported` has no other owner.
        capsule.inspect_err(|_| unsafe { delete(exported.cast()) })
    }
}

impl Dlpack {
    /// Returns one number for each axis.
    fn extents(&self, start: *const i64) -> &[i64] {
        match usize::try_from(self.tensor.rank) {
            // SAFETY: the exporter keeps `rank` numbers there until the structure is deleted.
            Ok(rank) if rank > 0 => unsafe { std::slice::from_raw_parts(start, rank) },
            _ => &[],
        }
    }
}

impl Drop for Dlpack {
    fn drop(&mut self) {
        // SAFETY: the structure is owned here, and deleted once.
        unsafe {
            match self.managed {
                Managed::Legacy(managed) => {
                    if let Some(delete) = managed.as_ref().deleter {
                        delete(managed.as_ptr());
                    }
                }
                Managed::Versioned(managed) => {
                    if let Some(delete) = managed.as_ref().deleter {
                        delete(managed.as_ptr());
                    }
                }
            }
        }
    }
}

/// Structure of a capsule that is exported here, and what it refers to.
#[repr(C)]
struct Exported {
    managed: Versioned,
    _lists: (Vec<i64>, Vec<i64>),
    _owner: Py<Dlpack>,
}

/// Deletes an exported structure.
unsafe extern "C" fn delete(managed: *mut Versioned) {
    // SAFETY: it is the first field of an `Exported` that `export` allocated, and deleted once. A
    // consumer may call this on a thread without the interpreter, which the reference needs. Once
    // the interpreter has ended, the structure is leaked.
    Python::try_attach(|_| drop(unsafe { Box::from_raw(managed.cast::<Exported>()) }));
}

/// Deletes the structure of a capsule that no consumer took.
unsafe extern "C" fn destroy(capsule: *mut ffi::PyObject) {
    // SAFETY: Python calls it with the capsule, whose name a consumer changes.
    unsafe {
        if ffi::PyCapsule_IsValid(capsule, VERSIONED.as_ptr()) != 0 {
            delete(ffi::PyCapsule_GetPointer(capsule, VERSIONED.as_ptr()).cast());
        }
    }
}
