//! Sharded arrays on GPUs: local stages run here, a Python object sends the messages.
#![allow(unsafe_code)]

use std::ops::Range;

use pyo3::exceptions::PyException;
use pyo3::prelude::*;
use turntile::Error as LocalError;
use turntile::error::RunError;
use turntile::gpu::GpuTransposer;
use turntile_distributed::Message;

use crate::distributed::{Asked, LostError, Ranks, asked, exception};
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
        agreed.map_err(|error| exception(py, error, ranks.raised.or(refused)))?;

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
    for transfer in stages.transfers() {
        let object = object.bind(py);
        let done = match transfer {
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
        };
        done.map_err(|raised| {
            if !raised.is_instance_of::<PyException>(py) {
                return raised;
            }
            let error = lost(raised.to_string());
            error.set_cause(py, Some(raised));
            error
        })?;
    }
    py.detach(|| run(&stages.local[1])).map_err(|error| lost(error.to_string()))
}
