//! `turntile transpose`: the last two axes of an array change places.

use std::path::Path;

use turntile::plan::Problem;

use crate::args::TransposeArgs;
use crate::error::Error;
use crate::npy::{self, Header, Order};
use crate::rearrange::{Asked, rearrange};
use crate::report::Report;
use crate::work::Change;

/// Runs the command on a file.
pub fn run(args: &TransposeArgs, asked: &Asked<'_>) -> Result<Report, Error> {
    let of_npy = |header: &Header| of_npy(header, asked.file);
    rearrange("transpose", asked, args.raw_problem()?, of_npy)
}

/// The shape with its last two axes swapped.
fn swapped(shape: &[usize]) -> Vec<usize> {
    let mut shape = shape.to_vec();
    let axes = shape.len();
    shape.swap(axes - 2, axes - 1);
    shape
}

/// The transposition of a .npy file's array, of at least two axes, and the shape that it has then.
pub fn of_npy(header: &Header, path: &Path) -> Result<(Change, Vec<usize>), Error> {
    axes(header, path)?;
    let after = swapped(header.shape());
    let bytes = header
        .rewritten(&after, header.order())
        .map_err(|source| Error::Header { path: path.to_path_buf(), source })?;
    let data_bytes = header.data_bytes();
    let step = if data_bytes > 0 { Some(problem(header, path)?) } else { None };
    Ok((Change { header: bytes, data_bytes, step }, after))
}

/// The leading axes, rows and columns.
fn axes<'a>(header: &'a Header, path: &Path) -> Result<(&'a [usize], usize, usize), Error> {
    match header.shape() {
        &[ref leading @ .., rows, cols] => Ok((leading, rows, cols)),
        few => Err(Error::TooFewAxes { path: path.to_path_buf(), axes: few.len() }),
    }
}

/// What is to be done to the array of a .npy file, be it empty.
pub fn problem(header: &Header, path: &Path) -> Result<Problem, Error> {
    let (leading, rows, cols) = axes(header, path)?;
    // Each divides a product that the header's check has found to fit, but where that is zero.
    let leading = npy::volume(leading).unwrap_or(usize::MAX);
    let item = header.item_bytes().max(1);
    Ok(match header.order() {
        Order::C => Problem::with_batch(leading, rows, cols, item)?,
        // In memory the axes run backwards, [N][M][leading]: the leading axes make an element.
        Order::Fortran if leading > 0 => Problem::new(cols, rows, leading.saturating_mul(item))?,
        Order::Fortran => Problem::with_batch(0, cols, rows, item)?,
    })
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
        of_npy(&header(shape, order, data), Path::new("x")).unwrap().0.step
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
}
