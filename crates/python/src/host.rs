//! Plans of the host, and a workspace for them.
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
use crate::layout::Arranged;
use crate::memory::Span;
use crate::moved::{Moved, once};
use crate::records;

/// Host memory that runs use beside an array, allocated once and used as often as wanted, by one run at a time.
#[pyclass(frozen, module = "turntile")]
pub struct Workspace(Mutex<turntile::run::Workspace>, usize);

#[pymethods]
impl Workspace {
    #[new]
    fn new(nbytes: &Bound<'_, PyAny>) -> PyResult<Self> {
        let number = match nbytes.extract::<i128>() {
            Err(error) if error.is_instance_of::<PyOverflowError>(nbytes.py()) => {
                return Err(PyMemoryError::new_err(format!(
                    "there is no memory of {nbytes} bytes"
                )));
            }
            number => number?,
        };
        if number < 0 {
            return value(format!("nbytes is {number}: no memory has fewer than 0 bytes"));
        }
        // More than there can be is more than there is.
        let nbytes = usize::try_from(number).unwrap_or(usize::MAX);
        let memory =
            turntile::run::Workspace::new(nbytes).map_err(|error| exception(error.into()))?;
        Ok(Workspace(Mutex::new(memory), nbytes))
    }

    /// Bytes there.
    #[getter]
    fn nbytes(&self) -> usize {
        self.1
    }

    fn __repr__(&self) -> String {
        format!("turntile.Workspace({})", self.1)
    }
}

/// Permutes the axes of a small array, which needs no plan: answers the order of its axes in memory and the shape of the
/// result. None when the array is not small, or too many of its axes move apart; nothing is done then.
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

/// Permutes the axes of a small array there.
fn permute_span(span: Span, problem: &Problem) -> PyResult<()> {
    // SAFETY: the array is Python's, which holds it for the time of the call and writes nowhere in it; what other
    // threads of Python do with it is the caller's business, as of everything that changes arrays in place.
    let data = unsafe { span.write() };
    let order: Vec<usize> = problem.order().collect();
    let done = bytes::permute_in_place(data, problem.extents(), &order, problem.itemsize());
    done.map_err(exception)
}

/// What a plan is asked for, on any device.
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

/// How many threads there are to run on, at most as many as asked for.
pub fn threads(asked: Option<usize>) -> usize {
    match asked {
        Some(1) => 1,
        Some(asked) => asked.min(turntile::run::pool::thread_count()),
        None => turntile::run::pool::thread_count(),
    }
}

/// An order of axes planned for the host; planned when first needed, since small arrays need no plan.
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
    /// Of a C-contiguous array of that shape: axis `i` of the result is axis `axes[i]`; from one buffer into another
    /// when `into`.
    #[new]
    #[pyo3(signature = (shape, axes, itemsize, threads=None, cap=None, into=false))]
    fn new(
        shape: Vec<usize>,
        axes: Vec<usize>,
        itemsize: usize,
        threads: Option<usize>,
        cap: Option<usize>,
        into: bool,
    ) -> PyResult<Self> {
        if threads == Some(0) {
            return value("threads is 0: at least one thread runs");
        }
        HostPlan::of(asked(&shape, &axes, itemsize, cap, into), threads)
    }

    /// Of records, as [`records::asked`] has them.
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

    /// Bytes of a run's workspace.
    #[getter]
    fn workspace_bytes(&self, py: Python<'_>) -> PyResult<usize> {
        Ok(self.planned(py)?.workspace_bytes())
    }

    fn __str__(&self, py: Python<'_>) -> PyResult<String> {
        let planned = self.planned(py)?;
        Ok(format!("{}\n{planned}", planned.plan().summary()))
    }

    /// Plans now. Raises when no plan is feasible.
    fn prepare(&self, py: Python<'_>) -> PyResult<()> {
        self.planned(py).map(|_| ())
    }

    /// Runs in place on the bytes at that address, once for each `moved`.
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
        // SAFETY: as of `permute_span`.
        let data = unsafe { span.write() };
        let run = || match beside {
            Some(memory) => planned.run(data, RunOptions::new().workspace(memory)),
            None => planned.run(data, RunOptions::new()),
        };
        once(moved, || py.detach(run).map_err(exception))
    }

    /// Runs from the bytes at one address to those at another; both are `nbytes` long.
    fn run_into(&self, py: Python<'_>, to: usize, from: usize, nbytes: usize) -> PyResult<()> {
        let (to, from) = (self.span(to, nbytes)?, self.span(from, nbytes)?);
        if to.overlaps(from) {
            return value("the arrays overlap in memory");
        }
        let planned = self.planned(py)?;
        let run = || {
            // SAFETY: as of `permute_span`; the two do not overlap.
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

    /// The plan, made now if it is not yet.
    fn planned(&self, py: Python<'_>) -> PyResult<&Transposer<Dynamic>> {
        if let Some(planned) = self.planned.get() {
            return Ok(planned);
        }
        let what = self.what.clone().threads(threads(self.threads));
        let planned = py.detach(|| what.plan()).map_err(exception)?;
        Ok(self.planned.get_or_init(|| planned))
    }

    /// Memory that is as long as the plan's array.
    fn span(&self, address: usize, nbytes: usize) -> PyResult<Span> {
        let (expected, got) = (self.problem.bytes(), nbytes);
        if expected != got {
            return Err(exception(RunError::Length { expected, got }.into()));
        }
        Span::new(address, nbytes)
    }
}
