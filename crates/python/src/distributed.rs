//! Arrays that are cut over ranks, which an object of Python connects.
#![allow(unsafe_code)]

use std::os::raw::c_char;

use pyo3::exceptions::{PyBufferError, PyException, PyMemoryError, PyRuntimeError, PyValueError};
use pyo3::prelude::*;
use pyo3::types::PyMemoryView;
use pyo3::{create_exception, ffi};
use turntile::ErrorKind;
use turntile_distributed::{CommError, Communicator, Error, Partition, Redistribution};

use crate::errors::{PlanError, value};
use crate::host;
use crate::memory::Span;

create_exception!(
    turntile.distributed,
    RefusedError,
    PyValueError,
    "Nothing has moved, on no rank: ranks disagree, or one of them could not begin."
);
create_exception!(
    turntile.distributed,
    LostError,
    PyRuntimeError,
    "The transport failed in the middle: the data are incomplete."
);

/// An object with `rank`, `ranks`, `exchange(partner, send, receive)` and `gather(number)`.
pub struct Ranks {
    object: Py<PyAny>,
    pub rank: usize,
    ranks: usize,
    /// What the object raised.
    pub raised: Option<PyErr>,
}

impl Ranks {
    /// Of the object, which is asked who it is.
    pub fn new(object: Bound<'_, PyAny>) -> PyResult<Self> {
        let rank = object.getattr("rank")?.extract()?;
        let ranks = object.getattr("ranks")?.extract()?;
        Ok(Ranks { object: object.unbind(), rank, ranks, raised: None })
    }

    fn call<T>(
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
            let kept = |_| PyBufferError::new_err("the transport keeps what it was lent");
            released.into_iter().try_for_each(|end| end.map(|_| ()).map_err(kept))
        })
    }

    fn all_gather(&mut self, own: u64) -> Result<Vec<u64>, CommError> {
        let (rank, ranks) = (self.rank, self.ranks);
        self.call(rank, |object| {
            let all = object.call_method1("gather", (own,))?;
            let all: Vec<u64> =
                all.try_iter()?.map(|one| one?.extract()).collect::<PyResult<_>>()?;
            if all.len() == ranks {
                Ok(all)
            } else {
                value(format!("gather() answered {} numbers for {ranks} ranks", all.len()))
            }
        })
    }
}

/// Memory as a `memoryview`, to be released before the memory is used otherwise.
fn view(
    py: Python<'_>,
    start: *mut u8,
    bytes: usize,
    access: i32,
) -> PyResult<Bound<'_, PyMemoryView>> {
    // A slice has at most `isize::MAX` bytes.
    let (start, bytes) = (start.cast::<c_char>(), bytes as isize);
    // SAFETY: the memory is there until the view is released, and is written to by the view alone, if `access` lets it; a
    // transport that keeps the view, or what it made of it, breaks its contract, and its call is refused.
    let view = unsafe {
        Bound::from_owned_ptr_or_err(py, ffi::PyMemoryView_FromMemory(start, bytes, access))
    }?;
    Ok(view.cast_into()?)
}

/// What is asked for: shape, axes, bytes of an element, the axes that are cut, and the parts before and after.
pub type Asked = (Vec<usize>, Vec<usize>, usize, (usize, usize), Vec<usize>, Vec<usize>);

/// That, with a workspace and messages of at most so many bytes.
pub fn asked(
    (shape, axes, itemsize, cut, before, after): Asked,
    cap: Option<usize>,
    message: Option<usize>,
) -> PyResult<Redistribution> {
    let (Some(before), Some(after)) = (Partition::new(&before), Partition::new(&after)) else {
        return value("the parts have more indices than there can be");
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

/// Changes the layout of the array of which this rank's part begins at that address, in a buffer of so many bytes; all ranks
/// call it. `what` is that of `Redistribution::of_axes`.
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
    // SAFETY: the package holds the array for the time of the call; what other threads of Python do with it is the caller's
    // business, as of everything that changes arrays in place.
    let data = unsafe { span.write() };
    let done = py.detach(|| change.run(&mut ranks, data));
    done.map_err(|error| exception(py, error, ranks.raised))
}

/// The exception for an error; what the transport raised is its cause, or itself what ends a program (`KeyboardInterrupt`).
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
        (Error::Lost(_), _) => LostError::new_err(text),
        (_, Some(ErrorKind::OutOfMemory { .. })) => PyMemoryError::new_err(text),
        (_, Some(ErrorKind::NoPlan)) => PlanError::new_err(text),
        _ => RefusedError::new_err(text),
    };
    exception.set_cause(py, raised);
    exception
}
