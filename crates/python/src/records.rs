//! Records from one layout to another.

use pyo3::prelude::*;
use turntile::Transpose;
use turntile::layout::{RecordConversion, RecordOrder};
use turntile::mode::Dynamic;

use crate::errors::exception;

/// What is asked: so many records of so many bytes, from a layout to another (`aos`, `soa`, `asta:T`). A field is its first byte in a
/// record and its bytes; columns lie in the order of the fields, what is between fields behind them.
pub fn asked(
    records: usize,
    record_bytes: usize,
    fields: &[(usize, usize)],
    from: &str,
    to: &str,
) -> PyResult<Transpose<Dynamic>> {
    let layout = |name: &str| name.parse::<RecordOrder>().map_err(|error| exception(error.into()));
    let (from, to) = (layout(from)?, layout(to)?);
    let relayout = RecordConversion::by_offsets(records, record_bytes, fields);
    let relayout = relayout.map_err(|error| exception(error.into()))?;
    Ok(relayout.from(from).to(to).dynamic())
}
