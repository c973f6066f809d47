//! `turntile reorder`: the same array, its axes the other way round in memory.

use turntile::plan::{Problem, ProblemError};

use crate::args::{Common, ReorderArgs};
use crate::error::Error;
use crate::npy::Header;
use crate::progress::Progress;
use crate::report::{Array, Report};
use crate::transpose::open_npy;
use crate::work::{self, Change, Done, Source};

/// Runs the command.
pub fn run(args: &ReorderArgs) -> Result<Report, Error> {
    let Common { output, settings, quiet, .. } = &args.common;
    settings.existing_wisdom()?;
    let mut source = Source::open(&args.file)?;
    let header = open_npy(&mut source)?;
    let order = args.to.order();
    let (before, after) = (Array::of(&header), Array { order: Some(order), ..Array::of(&header) });
    let output = output.as_deref();
    let report =
        |bytes, done| Report::new("reorder", &args.file, output, before, after, bytes, done);
    if header.order() == order && output.is_none() {
        return Ok(report(header.data_bytes(), Done::default()).unchanged());
    }
    let rewritten = header
        .rewritten(header.shape(), order)
        .map_err(|source| Error::Header { path: args.file.clone(), source })?;
    let steps = if header.order() == order { Vec::new() } else { reversal(&header)? };
    let change = Change { header: rewritten, data_bytes: header.data_bytes(), steps };
    let progress = Progress::new(!quiet);
    let done = work::apply(source, &change, output, settings, &progress)?;
    drop(progress);
    Ok(report(change.data_bytes, done))
}

/// The transpositions that turn the axes round in memory.
///
/// From the outermost axis on, each goes inside all those not yet moved, `[a][rest][moved]` to
/// `[rest][a][moved]`: elements grow with every step, so the later ones move longer runs.
fn reversal(header: &Header) -> Result<Vec<Problem>, ProblemError> {
    if header.data_bytes() == 0 {
        return Ok(Vec::new());
    }
    // An axis of length 1 may stand anywhere. Reversed back to front, the memory of a Fortran array
    // is that of a C array, so the steps differ in the order of the extents only.
    let mut extents: Vec<usize> =
        header.shape().iter().copied().filter(|&extent| extent > 1).collect();
    if header.order() == crate::npy::Order::Fortran {
        extents.reverse();
    }
    let mut rest: usize = extents.iter().product();
    let mut elem_bytes = header.item_bytes();
    let mut steps = Vec::new();
    for rows in extents {
        rest /= rows;
        if rest > 1 {
            steps.push(Problem::new(rows, rest, elem_bytes)?);
        }
        elem_bytes *= rows;
    }
    Ok(steps)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn steps(shape: &str, order: &str, items: usize) -> Vec<(usize, usize, usize)> {
        let text = format!("{{'descr': '<f4', 'fortran_order': {order}, 'shape': {shape}, }}\n");
        let mut bytes = b"\x93NUMPY\x01\x00".to_vec();
        bytes.extend_from_slice(&(text.len() as u16).to_le_bytes());
        bytes.extend_from_slice(text.as_bytes());
        bytes.resize(bytes.len() + 4 * items, 0);
        let header = Header::read(&mut &bytes[..], bytes.len() as u64).unwrap().unwrap();
        let steps = reversal(&header).unwrap();
        steps.iter().map(|step| (step.rows(), step.cols(), step.elem_bytes())).collect()
    }

    #[test]
    fn one_step_less_than_axes() {
        assert_eq!(steps("(3, 5)", "False", 15), [(3, 5, 4)]);
        assert_eq!(steps("(3, 5)", "True", 15), [(5, 3, 4)]);
        assert_eq!(steps("(2, 3, 5)", "False", 30), [(2, 15, 4), (3, 5, 8)]);
        assert_eq!(steps("(2, 3, 5)", "True", 30), [(5, 6, 4), (3, 2, 20)]);
        assert_eq!(steps("(2, 1, 3, 1)", "False", 6), [(2, 3, 4)]);
        for (shape, items) in [("()", 1), ("(5,)", 5), ("(1, 5, 1)", 5), ("(3, 0, 5)", 0)] {
            assert_eq!(steps(shape, "False", items), [], "{shape}");
        }
    }
}
