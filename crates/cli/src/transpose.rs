//! `turntile transpose`: the last two axes of an array change places.

use std::path::Path;

use turntile::plan::Problem;

use crate::args::{Common, TransposeArgs};
use crate::error::Error;
use crate::file::{Source, claim};
use crate::npy::{self, Header, Order};
use crate::progress::Progress;
use crate::report::{Array, Report};
use crate::work::{self, Change};

/// Runs the command.
pub fn run(args: &TransposeArgs) -> Result<Report, Error> {
    let of_npy = |header: &Header| Ok((of_npy(header, &args.file)?, swapped(header.shape())));
    rearrange("transpose", &args.file, &args.common, args.raw_problem()?, of_npy)
}

/// Changes a file: a headerless one as `raw` says, the array of a .npy file as `of_npy` does, which answers the shape that it
/// has then too.
pub fn rearrange(
    operation: &'static str,
    file: &Path,
    common: &Common,
    raw: Option<Problem>,
    of_npy: impl FnOnce(&Header) -> Result<(Change, Vec<usize>), Error>,
) -> Result<Report, Error> {
    let Common { settings, lock, quiet, .. } = common;
    settings.existing_wisdom()?;
    settings.rates.host(*quiet)?;
    let output = common.output();
    let (mut source, target) = claim(file, output, *lock)?;
    let (change, before, after) = match raw {
        Some(problem) => of_raw(problem, file, source.bytes())?,
        None => {
            let header = open_npy(&mut source)?;
            let (change, shape) = of_npy(&header)?;
            (change, Array::of(&header), Array { shape, ..Array::of(&header) })
        }
    };
    let progress = Progress::new(!quiet);
    let done = work::apply((source, target), &change, common, &progress)?;
    drop(progress);
    Ok(Report::new(operation, file, output, before, after, change.data_bytes, done))
}

/// Reads the header of the source.
pub fn open_npy(source: &mut Source) -> Result<Header, Error> {
    let bytes = source.bytes();
    Header::read(&mut source.file, bytes)
        .map_err(Error::io("read", &source.path))?
        .map_err(|error| Error::Header { path: source.path.clone(), source: error })
}

/// The shape with its last two axes swapped.
fn swapped(shape: &[usize]) -> Vec<usize> {
    let mut shape = shape.to_vec();
    let axes = shape.len();
    shape.swap(axes - 2, axes - 1);
    shape
}

/// The transposition of a .npy file's array, of at least two axes.
fn of_npy(header: &Header, path: &Path) -> Result<Change, Error> {
    let [leading @ .., rows, cols] = header.shape() else {
        return Err(Error::TooFewAxes { path: path.to_path_buf(), axes: header.shape().len() });
    };
    let bytes = header
        .rewritten(&swapped(header.shape()), header.order())
        .map_err(|source| Error::Header { path: path.to_path_buf(), source })?;
    let data_bytes = header.data_bytes();
    let mut step = None;
    if data_bytes > 0 {
        // Each divides a product that the header's check has found to fit.
        let leading = npy::volume(leading).expect("divides the array's volume");
        step = Some(match header.order() {
            Order::C => Problem::with_batch(leading, *rows, *cols, header.item_bytes())?,
            // In memory the axes run backwards, [N][M][leading]: the leading axes make an element.
            Order::Fortran => Problem::new(*cols, *rows, leading * header.item_bytes())?,
        });
    }
    Ok(Change { header: bytes, data_bytes, step })
}

/// The change of a headerless file, whose length must be the problem's.
fn of_raw(problem: Problem, path: &Path, got: u64) -> Result<(Change, Array, Array), Error> {
    let data_bytes = problem.bytes();
    if data_bytes as u64 != got {
        let problem = Box::new(problem);
        return Err(Error::RawLength { path: path.to_path_buf(), problem, got });
    }
    let step = Some(problem).filter(|problem| !problem.is_empty());
    let [before, after] = Array::of_raw(&problem);
    Ok((Change { header: Vec::new(), data_bytes, step }, before, after))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn header(shape: &str, order: &str, data: usize) -> Header {
        let text = format!("{{'descr': '<f4', 'fortran_order': {order}, 'shape': {shape}, }}\n");
        let mut bytes = b"\x93NUMPY\x01\x00".to_vec();
        bytes.extend_from_slice(&(text.len() as u16).to_le_bytes());
        bytes.extend_from_slice(text.as_bytes());
        bytes.resize(bytes.len() + data, 0);
        Header::read(&mut &bytes[..], bytes.len() as u64).unwrap().unwrap()
    }

    fn step_of(shape: &str, order: &str, data: usize) -> Option<Problem> {
        of_npy(&header(shape, order, data), Path::new("x")).unwrap().step
    }

    #[test]
    fn leading_axes_are_a_batch_or_an_element() {
        let step = |batch, rows, cols, elem_bytes| {
            Some(Problem::with_batch(batch, rows, cols, elem_bytes).unwrap())
        };
        assert_eq!(step_of("(3, 5)", "False", 60), step(1, 3, 5, 4));
        assert_eq!(step_of("(3, 5)", "True", 60), step(1, 5, 3, 4));
        assert_eq!(step_of("(2, 7, 3, 5)", "False", 840), step(14, 3, 5, 4));
        assert_eq!(step_of("(2, 7, 3, 5)", "True", 840), step(1, 5, 3, 56));
        assert_eq!(step_of("(0, 3, 5)", "True", 0), None);
    }

    #[test]
    fn fewer_than_two_axes_are_an_error() {
        for (shape, data, want) in [("()", 4, 0), ("(3,)", 12, 1)] {
            let error = of_npy(&header(shape, "False", data), Path::new("x")).unwrap_err();
            assert!(matches!(error, Error::TooFewAxes { axes, .. } if axes == want), "{error}");
        }
    }

    #[test]
    fn raw_lengths_are_checked() {
        let path = Path::new("x");
        let problem = Problem::with_batch(2, 3, 5, 12).unwrap();
        assert_eq!(of_raw(problem, path, 360).unwrap().0.step, Some(problem));
        let error = of_raw(problem, path, 361).unwrap_err();
        assert!(matches!(error, Error::RawLength { got: 361, .. }), "{error}");
        let empty = Problem::with_batch(0, 3, 5, 12).unwrap();
        assert_eq!(of_raw(empty, path, 0).unwrap().0.step, None);
    }
}
