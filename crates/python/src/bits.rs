//! Matrices of elements of 1, 2 or 4 bits on the host.
#![allow(unsafe_code)]

use pyo3::prelude::*;
use turntile::bits::{BitOrder, Bits, PackedMatrix};
use turntile::error::RunError;

use crate::errors::{exception, value};
use crate::host::Workspace;
use crate::memory::Span;
use crate::moved::{Moved, once};

/// Transposition of packed matrices.
#[pyclass(frozen, module = "turntile._core")]
pub struct BitPlan(PackedMatrix);

#[pymethods]
impl BitPlan {
    /// Describes `batch` matrices of `rows` by `cols` elements. Without `into`, they must allow a
    /// transposition in place.
    #[new]
    fn new(
        batch: usize,
        rows: usize,
        cols: usize,
        bits: usize,
        bitorder: &str,
        threads: Option<usize>,
        into: bool,
    ) -> PyResult<Self> {
        let Some(bits) = Bits::new(bits) else {
            return value(format!("bits is {bits}: expected 1, 2 or 4"));
        };
        let order = match bitorder {
            "big" => BitOrder::Big,
            "little" => BitOrder::Little,
            _ => return value("bitorder must be either 'little' or 'big'"),
        };
        let matrix = PackedMatrix::new(rows, cols, bits, order).batch(batch);
        let matrix = threads.map_or(matrix, |threads| matrix.threads(threads));
        if !into {
            matrix.byte_permutation().map(drop).map_err(exception)?;
        }
        Ok(BitPlan(matrix))
    }

    /// Runs in place on the bytes at `address`, at most once for each `moved`. The workspace must be
    /// None.
    fn run(
        &self,
        py: Python<'_>,
        address: usize,
        nbytes: usize,
        _workspace: Option<&Workspace>,
        moved: &Moved,
    ) -> PyResult<()> {
        let span = Span::new(address, nbytes)?;
        // SAFETY: the package keeps the array alive during the call and does not access it. The
        // caller must not use it on other Python threads, as for every change in place.
        let data = unsafe { span.write() };
        once(Some(moved), || py.detach(|| self.0.transpose_in_place(data)).map_err(exception))
    }

    /// Runs out of place, from `nbytes` bytes at `from` to the bytes of the result at `to`.
    fn run_into(&self, py: Python<'_>, to: usize, from: usize, nbytes: usize) -> PyResult<()> {
        let (expected, got) = (self.0.bytes().map_err(exception)?, nbytes);
        if expected != got {
            return Err(exception(RunError::Length { expected, got }.into()));
        }
        let after = self.0.transposed().bytes().map_err(exception)?;
        let (to, from) = (Span::new(to, after)?, Span::new(from, nbytes)?);
        if to.overlaps(from) {
            return value("out overlaps a");
        }
        // SAFETY: as in `run`; the buffers do not overlap.
        let (to, from) = unsafe { (to.write(), from.read()) };
        py.detach(|| self.0.transpose_into(from, to)).map_err(exception)
    }
}
