//! Sharded arrays, whose ranks a Python object connects.
#![allow(unsafe_code)]

use std::os::raw::c_char;
use std::time::Duration;

use pyo3::exceptions::{
    PyBufferError, PyException, PyMemoryError, PyRuntimeError, PyTimeoutError, PyValueError,
};
use pyo3::prelude::*;
use pyo3::types::{PyBytes, PyMemoryView};
use pyo3::{create_exception, ffi};
use turntile::ErrorKind;
use turntile_distributed::{CommError, Communicator, Error, Partition, Redistribution};

use crate::errors::{CaptureError, PlanError, value};
use crate::host;
use crate::memory::Span;

create_exception!(
    turntile.distributed,
    RefusedError,
    PyValueError,
    "No data has moved on any rank: the ranks disagree, or one of them could not begin."
);
create_exception!(
    turntile.distributed,
    LostError,
    PyRuntimeError,
    "The transport failed: during a run, and the data are incomplete; or at the end of a plan, and \
     another rank may still map this rank's memory."
);

/// Communicator over a Python object with `rank`, `ranks`, `exchange(partner, send, receive)`,
/// `gather(number)` and, for GPUs, `gather_bytes(bytes)`.
pub struct Ranks {
    object: Py<PyAny>,
    pub rank: usize,
    ranks: usize,
    /// Exception that the object raised.
    pub raised: Option<PyErr>,
    /// Exception that a signal handler raised while this rank waited in shared memory.
    pub signal: Option<PyErr>,
}

impl Ranks {
    /// Creates the communicator and reads the object's rank and number of ranks.
    pub fn new(object: Bound<'_, PyAny>) -> PyResult<Self> {
        let rank = object.getattr("rank")?.extract()?;
        let ranks = object.getattr("ranks")?.extract()?;
        Ok(Ranks { object: object.unbind(), rank, ranks, raised: None, signal: None })
    }

    /// Calls the object. Keeps the exception that it raises.
    pub fn call<T>(
        &mut self,
        partner: usize,
        call: impl FnOnce(&Bound<'_, PyAny>) -> PyResult<T>,
    ) -> Result<T, CommError> {
        Python::attach(|py| call(self.object.bind(py))).map_err(|error| {
            let why = error.to_string();
            self.raised = Some(error);
            CommError { rank: self.rank, partner, message: why }
        })
    }
}

impl Communicator for Ranks {
    fn rank(&self) -> usize {
        self.rank
    }

    fn size(&self) -> usize {
        self.ranks
    }

    fn exchange(
        &mut self,
        partner: usize,
        send: &[u8],
        receive: &mut [u8],
    ) -> Result<(), CommError> {
        self.call(partner, |object| {
            let py = object.py();
            let sent = view(py, send.as_ptr().cast_mut(), send.len(), ffi::PyBUF_READ)?;
            let got = view(py, receive.as_mut_ptr(), receive.len(), ffi::PyBUF_WRITE)?;
            let done = object.call_method1("exchange", (partner, &sent, &got));
            let released = [sent, got].map(|view| view.call_method0("release"));
            done?;
            let kept = |_| {
                PyBufferError::new_err(
                    "the transport keeps a reference to the memory that it was given",
                )
            };
            released.into_iter().try_for_each(|end| end.map(|_| ()).map_err(kept))
        })
    }

    fn all_gather(&mut self, own: u64) -> Result<Vec<u64>, CommError> {
        let (rank, ranks) = (self.rank, self.ranks);
        self.call(rank, |object| listed(object.call_method1("gather", (own,))?, ranks))
    }

    fn all_gather_bytes(&mut self, own: &[u8]) -> Result<Vec<Vec<u8>>, CommError> {
        let (rank, ranks) = (self.rank, self.ranks);
        self.call(rank, |object| {
            let own = PyBytes::new(object.py(), own);
            listed(object.call_method1("gather_bytes", (own,))?, ranks)
        })
    }

    fn keep_waiting(&mut self, waited: Duration) -> Result<(), CommError> {
        let rank = self.rank;
        if let Err(error) = Python::attach(|py| py.check_signals()) {
            let message = error.to_string();
            self.signal = Some(error);
            return Err(CommError { rank, partner: rank, message });
        }
        self.call(rank, |object| match object.getattr("timeout")?.extract::<Option<f64>>()? {
            Some(seconds) if waited.as_secs_f64() >= seconds => {
                Err(PyTimeoutError::new_err(format!("no response in {seconds} seconds")))
            }
            _ => Ok(()),
        })
    }
}

/// Returns an iterable of one value per rank as a list.
fn listed<T>(all: Bound<'_, PyAny>, ranks: usize) -> PyResult<Vec<T>>
where
    T: for<'a, 'py> FromPyObject<'a, 'py, Error = PyErr>,
{
    let all: Vec<T> = all.try_iter()?.map(|one| one?.extract()).collect::<PyResult<_>>()?;
    match all.len() == ranks {
        true => Ok(all),
        false => value(format!("gather() returned {} numbers for {ranks} ranks", all.len())),
    }
}

/// Returns memory as a `memoryview`, which must be released before the memory is used otherwise.
fn view(
    py: Python<'_>,
    start: *mut u8,
    bytes: usize,
    access: i32,
) -> PyResult<Bound<'_, PyMemoryView>> {
    // A slice has at most `isize::MAX` bytes.
    let (start, bytes) = (start.cast::<c_char>(), bytes as isize);
    // SAFETY: the memory is valid until the view is released, and meanwhile only the view writes to
    // it, if `access` permits. If the transport keeps an export of the view, releasing it fails and
    // the call returns an error.
    let view = unsafe {
        Bound::from_owned_ptr_or_err(py, ffi::PyMemoryView_FromMemory(start, bytes, access))
    }?;
    Ok(view.cast_into()?)
}

/// A redistribution: shape, axes, itemsize, the sharded axes, and the parts before and after.
pub type Asked = (Vec<usize>, Vec<usize>, usize, (usize, usize), Vec<usize>, Vec<usize>);

/// Creates the redistribution with limits for the workspace and for messages, in bytes.
pub fn asked(
    (shape, axes, itemsize, cut, before, after): Asked,
    cap: Option<usize>,
    message: Option<usize>,
) -> PyResult<Redistribution> {
    let (Some(before), Some(after)) = (Partition::new(&before), Partition::new(&after)) else {
        return value("the parts have too many indices");
    };
    let mut change =
        Redistribution::of_axes(&shape, &axes, itemsize, (cut.0, before), (cut.1, after));
    if let Some(cap) = cap {
        change = change.workspace_limit(cap);
    }
    if let Some(message) = message {
        change = change.message_bytes(message);
    }
    Ok(change)
}

/// Redistributes an array whose part on this rank is the buffer at `address`. All ranks call it,
/// with the arguments of `Redistribution::of_axes`.
#[pyfunction]
#[pyo3(signature = (exchange, what, address, nbytes, threads, cap, message, /))]
pub fn redistribute(
    exchange: Bound<'_, PyAny>,
    what: Asked,
    address: usize,
    nbytes: usize,
    threads: Option<usize>,
    cap: Option<usize>,
    message: Option<usize>,
) -> PyResult<()> {
    let py = exchange.py();
    let change = asked(what, cap, message)?.threads(host::threads(threads));
    let mut ranks = Ranks::new(exchange)?;
    let span = Span::new(address, nbytes)?;
    // SAFETY: the package keeps the array alive during the call. The caller must not use it on
    // other Python threads, as for every change in place.
    let data = unsafe { span.write() };
    let done = py.detach(|| change.run(&mut ranks, data));
    done.map_err(|error| exception(py, error, ranks.raised))
}

/// Returns the exception for an error. What the transport raised is its cause, or is returned
/// itself if it ends a program (`KeyboardInterrupt`).
pub fn exception(py: Python<'_>, error: Error, raised: Option<PyErr>) -> PyErr {
    if let Some(raised) = raised.as_ref().filter(|raised| !raised.is_instance_of::<PyException>(py))
    {
        return raised.clone_ref(py);
    }
    let text = error.to_string();
    let kind = match &error {
        Error::Local(error) => Some(error.kind()),
        _ => None,
    };
    let exception = match (error, kind) {
        (Error::Lost(_) | Error::StillMapped(_), _) => LostError::new_err(text),
        (Error::Capturing, _) => CaptureError::new_err(text),
        (_, Some(ErrorKind::OutOfMemory { .. })) => PyMemoryError::new_err(text),
        (_, Some(ErrorKind::NoPlan)) => PlanError::new_err(text),
        _ => RefusedError::new_err(text),
    };
    exception.set_cause(py, raised);
    exception
}
