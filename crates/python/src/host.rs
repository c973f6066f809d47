//! Plans for the host, and their workspace.
#![allow(unsafe_code)]

use std::sync::{Mutex, OnceLock};

use pyo3::exceptions::{PyMemoryError, PyOverflowError};
use pyo3::prelude::*;
use pyo3::types::PyTuple;
use turntile::error::RunError;
use turntile::mode::Dynamic;
use turntile::plan::Problem;
use turntile::run::RunOptions;
use turntile::{Transpose, Transposer, bytes};

use crate::errors::{exception, value};
use crate::layout::{Arranged, split_flips};
use crate::memory::Span;
use crate::moved::{Moved, once};
use crate::records;

/// Host memory for runs, allocated once and used by one run at a time.
///
/// Parameters
/// ----------
/// nbytes : int
///     Size in bytes, for example `Plan.workspace_bytes`.
#[pyclass(frozen, module = "turntile")]
pub struct Workspace(Mutex<turntile::run::Workspace>, usize);

#[pymethods]
impl Workspace {
    #[new]
    fn new(nbytes: &Bound<'_, PyAny>) -> PyResult<Self> {
        let number = match nbytes.extract::<i128>() {
            Err(error) if error.is_instance_of::<PyOverflowError>(nbytes.py()) => {
                return Err(PyMemoryError::new_err(format!("cannot allocate {nbytes} bytes")));
            }
            number => number?,
        };
        if number < 0 {
            return value(format!("nbytes is {number}: the minimum is 0"));
        }
        // The allocation of `usize::MAX` bytes fails.
        let nbytes = usize::try_from(number).unwrap_or(usize::MAX);
        let memory =
            turntile::run::Workspace::new(nbytes).map_err(|error| exception(error.into()))?;
        Ok(Workspace(Mutex::new(memory), nbytes))
    }

    /// Size in bytes.
    #[getter]
    fn nbytes(&self) -> usize {
        self.1
    }

    fn __repr__(&self) -> String {
        format!("turntile.Workspace({})", self.1)
    }
}

/// Permutes a small array without a plan. Returns the order of its axes in memory and the shape of
/// the result, or None, with the array unchanged, if it needs a plan.
#[pyfunction]
#[pyo3(signature = (address, shape, strides, itemsize, axes, moved=None, /))]
pub fn permute_if_small<'py>(
    py: Python<'py>,
    address: usize,
    shape: Vec<usize>,
    strides: Option<Vec<isize>>,
    itemsize: usize,
    axes: &Bound<'py, PyAny>,
    moved: Option<&Moved>,
) -> PyResult<Option<Bound<'py, PyTuple>>> {
    let arranged = Arranged::new(shape, strides, itemsize, axes)?;
    let problem = Problem::permuted(&arranged.extents, &arranged.places, itemsize)
        .and_then(|problem| problem.with_flip(&arranged.flip))
        .map_err(|error| exception(error.into()))?;
    if !bytes::is_small(&problem) {
        return Ok(None);
    }
    let order = arranged.order(py)?;
    let answer = (order, PyTuple::new(py, arranged.shape)?).into_pyobject(py)?;
    let span = Span::new(address, problem.bytes())?;
    once(moved, || permute_span(span, &problem))?;
    Ok(Some(answer))
}

/// Permutes the axes of a small array in this memory.
fn permute_span(span: Span, problem: &Problem) -> PyResult<()> {
    // SAFETY: the package keeps the array alive during the call and does not access it. The caller
    // must not use it on other Python threads, as for every change in place.
    let data = unsafe { span.write() };
    bytes::run(data, problem.clone()).map_err(exception)
}

/// Creates the builder of a permutation, for any device.
pub fn asked(
    shape: &[usize],
    axes: &[usize],
    itemsize: usize,
    cap: Option<usize>,
    into: bool,
) -> Transpose<Dynamic> {
    let mut what = Transpose::permute::<u8>(shape, axes).itemsize(itemsize).dynamic();
    if let Some(cap) = cap {
        what = what.workspace_limit(cap);
    }
    if into { what.out_of_place() } else { what }
}

/// Returns the number of threads of the pool, at most `asked`.
pub fn threads(asked: Option<usize>) -> usize {
    match asked {
        Some(1) => 1,
        Some(asked) => asked.min(turntile::run::pool::thread_count()),
        None => turntile::run::pool::thread_count(),
    }
}

/// Plan of a permutation or a record conversion for the host. It is made when first needed, since
/// small arrays need none.
#[pyclass(frozen, module = "turntile._core")]
pub struct HostPlan {
    what: Transpose<Dynamic>,
    problem: Problem,
    threads: Option<usize>,
    small: bool,
    planned: OnceLock<Transposer<Dynamic>>,
}

#[pymethods]
impl HostPlan {
    /// Plans for C-contiguous arrays of `shape`: axis `i` of the result is axis `axes[i]`, or
    /// `~axes[i]` reversed if that is negative. With `into`, the plan is out of place.
    #[new]
    #[pyo3(signature = (shape, axes, itemsize, threads=None, cap=None, into=false))]
    fn new(
        shape: Vec<usize>,
        axes: Vec<isize>,
        itemsize: usize,
        threads: Option<usize>,
        cap: Option<usize>,
        into: bool,
    ) -> PyResult<Self> {
        if threads == Some(0) {
            return value("threads is 0: the minimum is 1");
        }
        let (axes, flip) = split_flips(&axes);
        HostPlan::of(asked(&shape, &axes, itemsize, cap, into).flip(&flip), threads)
    }

    /// Plans a record conversion; arguments as for [`records::asked`].
    #[staticmethod]
    fn of_records(
        records: usize,
        record_bytes: usize,
        fields: Vec<(usize, usize)>,
        from: &str,
        to: &str,
        threads: Option<usize>,
    ) -> PyResult<Self> {
        HostPlan::of(records::asked(records, record_bytes, &fields, from, to)?, threads)
    }

    /// Bytes of workspace that a run needs.
    #[getter]
    fn workspace_bytes(&self, py: Python<'_>) -> PyResult<usize> {
        Ok(self.planned(py)?.workspace_bytes())
    }

    fn __str__(&self, py: Python<'_>) -> PyResult<String> {
        let planned = self.planned(py)?;
        Ok(format!("{}\n{planned}", planned.plan().summary()))
    }

    /// Makes the plan now. Raises an exception if no plan is feasible.
    fn prepare(&self, py: Python<'_>) -> PyResult<()> {
        self.planned(py).map(|_| ())
    }

    /// Runs in place on the bytes at `address`, at most once for each `moved`.
    #[pyo3(signature = (address, nbytes, workspace=None, moved=None, /))]
    fn run(
        &self,
        py: Python<'_>,
        address: usize,
        nbytes: usize,
        workspace: Option<&Workspace>,
        moved: Option<&Moved>,
    ) -> PyResult<()> {
        let span = self.span(address, nbytes)?;
        if self.small {
            return once(moved, || permute_span(span, &self.problem));
        }
        let planned = self.planned(py)?;
        let mut held = match workspace.map(|workspace| workspace.0.try_lock()) {
            Some(Err(_)) => return value("the workspace is in use by another run"),
            Some(Ok(held)) => Some(held),
            None => None,
        };
        let beside = held.as_deref_mut();
        // SAFETY: as in `permute_span`.
        let data = unsafe { span.write() };
        let run = || match beside {
            Some(memory) => planned.run(data, RunOptions::new().workspace(memory)),
            None => planned.run(data, RunOptions::new()),
        };
        once(moved, || py.detach(run).map_err(exception))
    }

    /// Runs out of place, between buffers of `nbytes` bytes.
    fn run_into(&self, py: Python<'_>, to: usize, from: usize, nbytes: usize) -> PyResult<()> {
        let (to, from) = (self.span(to, nbytes)?, self.span(from, nbytes)?);
        if to.overlaps(from) {
            return value("the arrays overlap in memory");
        }
        let planned = self.planned(py)?;
        let run = || {
            // SAFETY: as in `permute_span`; the buffers do not overlap.
            let (to, from) = unsafe { (to.write(), from.read()) };
            planned.run_into(from, to)
        };
        py.detach(run).map_err(exception)
    }
}

impl HostPlan {
    fn of(what: Transpose<Dynamic>, threads: Option<usize>) -> PyResult<Self> {
        let problem = what.problem().map_err(exception)?;
        let small = bytes::is_small(&problem);
        Ok(HostPlan { what, problem, threads, small, planned: OnceLock::new() })
    }

    /// Returns the plan, and makes it if necessary.
    fn planned(&self, py: Python<'_>) -> PyResult<&Transposer<Dynamic>> {
        if let Some(planned) = self.planned.get() {
            return Ok(planned);
        }
        let what = self.what.clone().threads(threads(self.threads));
        let planned = py.detach(|| what.plan()).map_err(exception)?;
        Ok(self.planned.get_or_init(|| planned))
    }

    /// Returns the memory at `address`, after checking that it has the length of the plan's array.
    fn span(&self, address: usize, nbytes: usize) -> PyResult<Span> {
        let (expected, got) = (self.problem.bytes(), nbytes);
        if expected != got {
            return Err(exception(RunError::Length { expected, got }.into()));
        }
        Span::new(address, nbytes)
    }
}
