//! `turntile reorder`: the same array, its axes the other way round in memory.

use turntile::plan::{Problem, ProblemError};

use crate::args::{Common, ReorderArgs};
use crate::error::Error;
use crate::file::claim;
use crate::npy::Header;
use crate::progress::Progress;
use crate::report::{Array, Report};
use crate::transpose::open_npy;
use crate::work::{self, Change, Done};

/// Runs the command.
pub fn run(args: &ReorderArgs) -> Result<Report, Error> {
    let Common { settings, lock, quiet, .. } = &args.common;
    settings.existing_wisdom()?;
    settings.rates.host(*quiet)?;
    let output = args.common.output();
    let (mut source, target) = claim(&args.file, output, *lock)?;
    let header = open_npy(&mut source)?;
    let order = args.to.order();
    let (before, after) = (Array::of(&header), Array { order: Some(order), ..Array::of(&header) });
    let report =
        |bytes, done| Report::new("reorder", &args.file, output, before, after, bytes, done);
    if header.order() == order && output.is_none() {
        return Ok(report(header.data_bytes(), Done::default()).unchanged());
    }
    let rewritten = header
        .rewritten(header.shape(), order)
        .map_err(|source| Error::Header { path: args.file.clone(), source })?;
    let step = if header.order() == order { None } else { reversal(&header)? };
    let change = Change { header: rewritten, data_bytes: header.data_bytes(), step };
    let progress = Progress::new(!quiet);
    let done = work::apply((source, target), &change, &args.common, &progress)?;
    drop(progress);
    Ok(report(change.data_bytes, done))
}

/// The axes turned round in memory; none without data.
fn reversal(header: &Header) -> Result<Option<Problem>, ProblemError> {
    if header.data_bytes() == 0 {
        return Ok(None);
    }
    // The memory of a Fortran array is that of a C array with its axes reversed.
    let mut extents = header.shape().to_vec();
    if header.order() == crate::npy::Order::Fortran {
        extents.reverse();
    }
    let axes: Vec<usize> = (0..extents.len()).rev().collect();
    Problem::permuted(&extents, &axes, header.item_bytes()).map(Some)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn reversed(shape: &str, order: &str, items: usize) -> Option<Problem> {
        let text = format!("{{'descr': '<f4', 'fortran_order': {order}, 'shape': {shape}, }}\n");
        let mut bytes = b"\x93NUMPY\x01\x00".to_vec();
        bytes.extend_from_slice(&(text.len() as u16).to_le_bytes());
        bytes.extend_from_slice(text.as_bytes());
        bytes.resize(bytes.len() + 4 * items, 0);
        let header = Header::read(&mut &bytes[..], bytes.len() as u64).unwrap().unwrap();
        reversal(&header).unwrap()
    }

    #[test]
    fn axes_lie_as_they_are_stored() {
        let of = |extents: &[usize], axes: &[usize]| Problem::permuted(extents, axes, 4).ok();
        assert_eq!(reversed("(3, 5)", "False", 15), of(&[3, 5], &[1, 0]));
        assert_eq!(reversed("(2, 3, 5)", "True", 30), of(&[5, 3, 2], &[2, 1, 0]));
        assert_eq!(reversed("()", "False", 1), of(&[], &[]));
        assert_eq!(reversed("(3, 0, 5)", "False", 0), None);
    }
}
