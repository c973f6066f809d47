//! Records from one layout to another.
#![allow(unsafe_code)]

use pyo3::prelude::*;
use turntile::Bytes;
use turntile::layout::{Layout, Relayout};

use crate::errors::exception;
use crate::memory::Span;
use crate::pool;

/// Brings records of so many bytes from a layout to another (`aos`, `soa`, `asta:T`), in the memory there. A field is its first
/// byte in a record and its bytes; columns lie in the order of the fields, what is between fields behind them.
#[pyfunction]
pub fn relayout(
    py: Python<'_>,
    memory: (usize, usize),
    record_bytes: usize,
    fields: Vec<(usize, usize)>,
    layouts: (String, String),
    threads: Option<usize>,
) -> PyResult<()> {
    let layout = |name: String| name.parse::<Layout>().map_err(|error| exception(error.into()));
    let (from, to) = (layout(layouts.0)?, layout(layouts.1)?);
    let (address, nbytes) = memory;
    let span = Span::new(address, nbytes)?;
    let records = nbytes.checked_div(record_bytes).unwrap_or(0);
    let relayout = Relayout::by_offsets(records, record_bytes, &fields);
    let relayout = relayout.map_err(|error| exception(error.into()))?;
    let threads = pool::threads(threads);
    let planned = py.detach(|| relayout.from(from).to(to).threads(threads).plan());
    let planned = planned.map_err(exception)?;
    // SAFETY: the array is Python's, which holds it for the time of the call and writes nowhere in it; what other
    // threads of Python do with it is the caller's business, as of everything that changes arrays in place.
    let mut data = Bytes(unsafe { span.write() });
    py.detach(|| pool::run(planned.threads(), || planned.run(&mut data))).map_err(exception)
}
