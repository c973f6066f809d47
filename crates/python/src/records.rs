//! Record conversions.

use pyo3::prelude::*;
use turntile::Transpose;
use turntile::layout::{RecordConversion, RecordOrder};
use turntile::mode::Dynamic;

use crate::errors::exception;

/// Creates the builder of a conversion between two layouts (`aos`, `soa`, `asta:T`). A field is its
/// offset in the record and its bytes. Columns are stored in the order of the fields, followed by
/// the bytes between fields.
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
