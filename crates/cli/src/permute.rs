//! `turntile permute`: the axes of an array in another order.

use std::path::Path;

use turntile::plan::Problem;

use crate::args::PermuteArgs;
use crate::error::Error;
use crate::npy::{Header, Order};
use crate::rearrange::{Asked, rearrange};
use crate::report::Report;
use crate::work::Change;

/// Runs the command on a file.
pub fn run(args: &PermuteArgs, asked: &Asked<'_>) -> Result<Report, Error> {
    let of_npy = |header: &Header| of_npy(header, &args.axes.0, asked.file);
    rearrange("permute", asked, args.raw_problem()?, of_npy)
}

/// The permutation of a .npy file's array, and the shape that it has then.
pub fn of_npy(header: &Header, axes: &[usize], path: &Path) -> Result<(Change, Vec<usize>), Error> {
    let shape = header.shape();
    check(shape.len(), axes, path)?;
    let after: Vec<usize> = axes.iter().map(|&axis| shape[axis]).collect();
    let bytes = header
        .rewritten(&after, header.order())
        .map_err(|source| Error::Header { path: path.to_path_buf(), source })?;
    let step = match header.data_bytes() {
        0 => None,
        _ => Some(problem(header, axes, path)?),
    };
    Ok((Change { header: bytes, data_bytes: header.data_bytes(), step }, after))
}

/// What is to be done to the array of a .npy file, be it empty.
pub fn problem(header: &Header, axes: &[usize], path: &Path) -> Result<Problem, Error> {
    check(header.shape().len(), axes, path)?;
    in_memory(header.shape(), axes, header.order(), header.item_bytes().max(1))
}

fn check(rank: usize, axes: &[usize], path: &Path) -> Result<(), Error> {
    if axes.len() == rank {
        return Ok(());
    }
    Err(Error::OtherAxes { path: path.to_path_buf(), axes: rank, got: axes.len() })
}

/// The axes as they lie in memory: in Fortran order the last one first, before and after.
fn in_memory(
    shape: &[usize],
    axes: &[usize],
    order: Order,
    elem_bytes: usize,
) -> Result<Problem, Error> {
    let (mut extents, mut axes) = (shape.to_vec(), axes.to_vec());
    if order == Order::Fortran {
        extents.reverse();
        axes = axes.iter().rev().map(|axis| shape.len() - 1 - axis).collect();
    }
    Ok(Problem::permuted(&extents, &axes, elem_bytes)?)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn axes_of_fortran_arrays_lie_the_other_way_round() {
        let of = |order| in_memory(&[2, 3, 5], &[1, 2, 0], order, 4).unwrap();
        assert_eq!(of(Order::C).extents(), [2, 3, 5]);
        assert!(of(Order::C).order().eq([1, 2, 0]));
        // [5][3][2] in memory; the result, 3 x 5 x 2, lies as [2][5][3].
        assert_eq!(of(Order::Fortran).extents(), [5, 3, 2]);
        assert!(of(Order::Fortran).order().eq([2, 0, 1]));
    }
}
