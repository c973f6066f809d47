//! Sharded arrays on GPUs: local stages and swaps with mapped memory run here, a Python object sends
//! messages.
#![allow(unsafe_code)]

use std::ops::Range;
use std::sync::{Mutex, PoisonError};

use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;
use turntile::Error as LocalError;
use turntile::error::RunError;
use turntile::gpu::GpuTransposer;
use turntile_distributed::{CommError, Connection, Error, MappedRank, Message};

use crate::distributed::{Asked, LostError, Ranks, asked, exception};
use crate::errors::value;
use crate::gpu::{gpu, handle};
use crate::memory::Span;

/// Redistributes like `redistribute`, with parts on a GPU, queued on a stream. The object also has
/// `begin(workspace, bounce)`, which allocates these bytes and returns the workspace's address, and
/// `swap`, `slide`, `send` and `receive`, which move bytes of the part.
#[pyfunction]
#[pyo3(signature = (exchange, what, device, address, nbytes, stream, cap, message, /))]
#[expect(clippy::too_many_arguments, reason = "only the package calls it")]
pub fn redistribute_on_gpu(
    exchange: Bound<'_, PyAny>,
    what: Asked,
    device: usize,
    address: usize,
    nbytes: usize,
    stream: usize,
    cap: Option<usize>,
    message: Option<usize>,
) -> PyResult<()> {
    let (py, object) = (exchange.py(), exchange.clone().unbind());
    let change = asked(what, cap, message)?;
    let mut ranks = Ranks::new(exchange)?;
    Span::new(address, nbytes)?;
    let rank = ranks.rank;
    let stages = py.detach(|| change.stages(rank, |stage| stage.plan_on(&gpu(device)?)));
    let need = stages.as_ref().map_or(0, |stages| stages.bytes[0].max(stages.bytes[1]));
    let mut refused = None;
    let begin = |_, _| {
        let stages = stages?;
        let of = |stages: &[(Range<usize>, GpuTransposer)]| {
            stages.iter().map(|(_, stage)| stage.workspace_bytes()).max().unwrap_or(0)
        };
        let bytes = of(&stages.local[0]).max(of(&stages.local[1]));
        let workspace = Python::attach(|py| {
            object.call_method1(py, "begin", (bytes, stages.bounce_bytes()))?.extract::<usize>(py)
        });
        let workspace = workspace.map_err(|error| {
            refused = Some(error);
            LocalError::from(RunError::OutOfMemory { bytes: bytes + stages.bounce_bytes() })
        })?;
        Ok((stages, (workspace as u64, bytes)))
    };
    let agreed = py.detach(|| change.agree(&mut ranks, [need, nbytes], begin));
    let (stages, workspace) =
        agreed.map_err(|error| exception(py, error, ranks.raised.take().or(refused)))?;

    let run = |stages: &[(Range<usize>, GpuTransposer)]| {
        stages.iter().try_for_each(|(range, stage)| {
            let part = ((address + range.start) as u64, range.len());
            // SAFETY: part, workspace and stream belong to the plan's device and its primary
            // context, as PyTorch reported. PyTorch does not reuse freed memory before the stream is done.
            unsafe { stage.run_with(part, handle(stream), workspace) }
        })
    };
    let lost = |text: String| LostError::new_err(format!("the data are incomplete: {text}"));
    py.detach(|| run(&stages.local[0])).map_err(|error| lost(error.to_string()))?;
    let moved =
        py.detach(|| stages.transfers().try_for_each(|message| transfer(&mut ranks, &message)));
    moved.map_err(|error| exception(py, Error::Lost(error), ranks.raised))?;
    py.detach(|| run(&stages.local[1])).map_err(|error| lost(error.to_string()))
}

/// Lets the object move the bytes of one message.
fn transfer(ranks: &mut Ranks, message: &Message) -> Result<(), CommError> {
    let partner = match message {
        Message::Slide { .. } => ranks.rank,
        Message::Swap { partner, .. }
        | Message::Send { partner, .. }
        | Message::Receive { partner, .. } => *partner,
    };
    ranks.call(partner, |object| {
        match message {
            Message::Swap { partner, at } => {
                object.call_method1("swap", (partner, at.start, at.end))
            }
            Message::Send { partner, at } => {
                object.call_method1("send", (partner, at.start, at.end))
            }
            Message::Receive { partner, at } => {
                object.call_method1("receive", (partner, at.start, at.end))
            }
            Message::Slide { from, to, bytes } => object.call_method1("slide", (from, to, bytes)),
        }
        .map(|_| ())
    })
}

/// A rank whose GPU maps the memory of all other ranks, until it is closed.
#[pyclass(frozen, module = "turntile._core")]
pub struct Mapped(Mutex<Option<MappedRank>>);

/// Maps the memory of all ranks, or returns the reason why they exchange messages. All ranks call
/// it. The object is as for `redistribute_on_gpu`; its `timeout` is the number of seconds for which
/// runs wait for other ranks, or None.
#[pyfunction]
#[pyo3(signature = (exchange, what, device, address, nbytes, cap, message, /))]
pub fn connect_on_gpu<'py>(
    exchange: Bound<'py, PyAny>,
    what: Asked,
    device: usize,
    address: usize,
    nbytes: usize,
    cap: Option<usize>,
    message: Option<usize>,
) -> PyResult<Bound<'py, PyAny>> {
    let (py, object) = (exchange.py(), exchange.clone().unbind());
    let change = asked(what, cap, message)?;
    let mut ranks = Ranks::new(exchange)?;
    Span::new(address, nbytes)?;
    let mut refused = None;
    let begin = |workspace: usize, bounce: usize| {
        let begun = Python::attach(|py| object.call_method1(py, "begin", (workspace, bounce)));
        begun.map(|_| ()).map_err(|error| {
            refused = Some(error);
            LocalError::from(RunError::OutOfMemory { bytes: workspace + bounce })
        })
    };
    let connected =
        py.detach(|| change.connect(&mut ranks, || gpu(device), (address as u64, nbytes), begin));
    match connected.map_err(|error| exception(py, error, ranks.raised.or(refused)))? {
        Connection::Mapped(rank) => Ok(Bound::new(py, Mapped(Mutex::new(Some(*rank))))?.into_any()),
        Connection::Messages(why) => Ok(why.into_pyobject(py)?.into_any()),
    }
}

/// Returns the exception for an error, or the one of a signal handler. A time limit that passes as
/// the last rank arrives raises nothing: the run is complete on every rank.
fn finished(py: Python<'_>, result: Result<(), Error>, ranks: Ranks) -> PyResult<()> {
    match result {
        Err(error) => Err(exception(py, error, ranks.signal.or(ranks.raised))),
        Ok(()) => ranks.signal.map_or(Ok(()), Err),
    }
}

#[pymethods]
impl Mapped {
    /// Queues a run on the stream. All ranks call it. Buffer and workspace are addresses and bytes.
    #[pyo3(signature = (exchange, buffer, stream, workspace, /))]
    fn run(
        &self,
        exchange: Bound<'_, PyAny>,
        buffer: (usize, usize),
        stream: usize,
        workspace: (usize, usize),
    ) -> PyResult<()> {
        let (py, mut ranks) = (exchange.py(), Ranks::new(exchange)?);
        let (buffer, beside) = ((buffer.0 as u64, buffer.1), Span::new(workspace.0, workspace.1)?);
        let beside = (beside.address() as u64, beside.bytes());
        let done = py.detach(|| {
            let mut mapped = self.0.lock().unwrap_or_else(PoisonError::into_inner);
            let stream = handle(stream);
            // SAFETY: buffer, workspace and stream belong to this device and its primary context,
            // as PyTorch reported. The package keeps the buffer alive until all ranks have closed
            // their mappings, and PyTorch does not reuse freed memory before the stream is done.
            mapped
                .as_mut()
                .map(|mapped| unsafe { mapped.run(&mut ranks, buffer, stream, beside, transfer) })
        });
        let done = done.ok_or_else(|| PyValueError::new_err("the mappings are closed"))?;
        finished(py, done, ranks)
    }

    /// Unmaps the memory of other ranks and waits until all ranks have done so.
    fn close(&self, exchange: Bound<'_, PyAny>) -> PyResult<()> {
        let (py, mut ranks) = (exchange.py(), Ranks::new(exchange)?);
        let closed = py.detach(|| {
            let mapped = self.0.lock().unwrap_or_else(PoisonError::into_inner).take();
            mapped.map_or(Ok(()), |mapped| mapped.close(&mut ranks))
        });
        finished(py, closed, ranks)
    }

    fn __str__(&self, py: Python<'_>) -> PyResult<String> {
        // A run on another thread has the lock while its gathers wait for the interpreter.
        let text = py.detach(|| {
            let mapped = self.0.lock().unwrap_or_else(PoisonError::into_inner);
            mapped.as_ref().map(ToString::to_string)
        });
        text.map_or_else(|| value("the mappings are closed"), Ok)
    }
}
