//! The `turntile` command, and its transposition of .npy files.

use std::ffi::OsString;
use std::io;
use std::path::PathBuf;

use pyo3::exceptions::{PyMemoryError, PyOSError, PyValueError};
use pyo3::prelude::*;
use turntile::ErrorKind;

/// Runs the command with these words, the program's name first, and returns its exit code.
#[pyfunction]
pub fn command(py: Python<'_>, words: Vec<OsString>) -> u8 {
    py.detach(|| turntile_cli::run(&words))
}

/// Transposes a .npy file in place, or into the file `out`.
#[pyfunction]
pub fn transpose_file(
    py: Python<'_>,
    path: PathBuf,
    axes: Option<Vec<isize>>,
    out: Option<PathBuf>,
) -> PyResult<()> {
    let done = py.detach(|| turntile_cli::transpose_file(&path, axes.as_deref(), out.as_deref()));
    done.map_err(|error| {
        let text = turntile_cli::error::line(&error);
        let io_error = error.chain().find_map(|cause| cause.downcast_ref::<io::Error>());
        let kind = error.chain().find_map(|cause| cause.downcast_ref::<turntile::Error>());
        match (io_error.map(io::Error::raw_os_error), kind.map(turntile::Error::kind)) {
            (Some(Some(code)), _) => PyOSError::new_err((code, text)),
            (Some(None), _) => PyOSError::new_err(text),
            (None, Some(ErrorKind::OutOfMemory { .. })) => PyMemoryError::new_err(text),
            (None, _) => PyValueError::new_err(text),
        }
    })
}
