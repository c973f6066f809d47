//! Elements that move once.

use std::mem;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;

use pyo3::prelude::*;

use crate::errors::value;

/// Flag that a run has moved the elements of an array. It is true once a run begins, and false again
/// if the run returns an error. The elements are then unchanged, except after an error that says that
/// some launches have run. A second run is rejected, also
/// from another thread and after a panic, which leaves them in any order.
#[pyclass(frozen, module = "turntile._core")]
#[derive(Default)]
pub struct Moved(AtomicBool);

#[pymethods]
impl Moved {
    #[new]
    fn new() -> Self {
        Moved::default()
    }

    fn __bool__(&self) -> bool {
        self.0.load(Ordering::Acquire)
    }
}

/// Calls `run`, which moves the elements or fails, and records in `moved` that they have moved.
pub fn once<T>(moved: Option<&Moved>, run: impl FnOnce() -> PyResult<T>) -> PyResult<T> {
    let Some(moved) = moved else { return run() };
    if moved.0.swap(true, Ordering::AcqRel) {
        return value("the elements have moved already, or are being moved by another thread");
    }
    let begun = Begun(&moved.0);
    let done = run()?;
    mem::forget(begun);
    Ok(done)
}

/// A run that has not ended: dropped by an error, it has moved nothing.
struct Begun<'a>(&'a AtomicBool);

impl Drop for Begun<'_> {
    fn drop(&mut self) {
        if !thread::panicking() {
            self.0.store(false, Ordering::Release);
        }
    }
}
